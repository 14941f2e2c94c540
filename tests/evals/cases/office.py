"""Variants in office formats: sheets, Word, slides, OpenDocument."""

import datetime
import io
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

import docx
import openpyxl
import xlsxwriter
from docx.shared import Inches
from pptx import Presentation
from pptx.util import Inches as SlideInches

from pipelines.documents.document import CaveatKind
from tests.evals.cases.drawn import lines_picture
from tests.evals.cases.given import PICTURES, SKIPPED
from tests.evals.cases.model import Case, Wanted


def office_cases(folder: Path) -> Iterable[Case]:
    """All of them, written below `folder`."""
    for made in (_shown_cells, _merged, _stray, _formulas, _words, _chunks, _strict, _slides, _open_documents):
        yield from made(folder)


_FORMATS: tuple[tuple[str, object, str, tuple[str, ...]], ...] = (
    ("postcode", 501, "00000", ("00501",)),
    ("customer", 77, '"C-"00000', ("C-00077",)),
    ("hours", datetime.timedelta(hours=51, minutes=15), "[h]:mm", ("51:15",)),
    ("percent", 0.0725, "0.00%", ("7.25%", "7.25 %")),
    ("whole percent", 0.5, "0%", ("50%", "50 %")),
    ("thousands", 1234567.5, "#,##0.00", ("1,234,567.50",)),
    ("euro", 98.5, '#,##0.00 "€"', ("98.50 €",)),
    ("date", datetime.date(2027, 3, 9), "dd.mm.yyyy", ("09.03.2027",)),
    ("iso date", datetime.date(2027, 3, 9), "yyyy-mm-dd", ("2027-03-09",)),
    ("time", datetime.time(7, 5), "hh:mm", ("07:05", "7:05")),
    ("negative in brackets", -12, "#,##0;(#,##0)", ("(12)",)),
    ("phone", 5551234, "000-0000", ("555-1234",)),
)


def _shown_cells(folder: Path) -> Iterable[Case]:
    for number, (name, value, form, wanted) in enumerate(_FORMATS):
        path = folder / f"shown-{number}.xlsx"
        if number % 2:
            book = openpyxl.Workbook()
            book.active.append(["name", "value"])
            book.active.append([name, value])
            book.active["B2"].number_format = form
            book.save(path)
        else:
            writer = xlsxwriter.Workbook(str(path))
            sheet, style = writer.add_worksheet(), writer.add_format({"num_format": form})
            sheet.write_row(0, 0, ["name", "value"])
            sheet.write(1, 0, name)
            sheet.write(1, 1, value, style)
            writer.close()
        yield Case("cells as shown", name, path, (tuple(f"{name} | {one}" for one in wanted),), clean=True)


def _merged(folder: Path) -> Iterable[Case]:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["Yard", "Part", "Count"])
    for row in range(400):
        sheet.append(["Grimsby" if row == 0 else "Leith" if row == 200 else None, f"P-{row:03d}", row])
    sheet.merge_cells("A2:A201")
    sheet.merge_cells("A202:A401")
    book.save(folder / "merged.xlsx")
    yield Case(
        "merged cells",
        "two long blocks",
        folder / "merged.xlsx",
        ("Grimsby | P-001 | 1", "Grimsby | P-199", "Leith | P-201", "Leith | P-399"),
        clean=True,
    )
    writer = xlsxwriter.Workbook(str(folder / "merged2.xlsx"))
    sheet2 = writer.add_worksheet()
    sheet2.write_row(0, 0, ["Group", "Item"])
    sheet2.merge_range(1, 0, 3, 0, "Seals")
    for row in range(1, 4):
        sheet2.write(row, 1, f"S{row}")
    writer.close()
    yield Case("merged cells", "xlsxwriter", folder / "merged2.xlsx", ("Seals | S1", "Seals | S2", "Seals | S3"))
    document = docx.Document()
    table = document.add_table(rows=4, cols=2)
    for row in range(4):
        table.cell(row, 1).text = f"W{row}"
    table.cell(0, 0).merge(table.cell(2, 0)).text = "North"
    table.cell(3, 0).text = "South"
    document.save(str(folder / "merged.docx"))
    yield Case("merged cells", "word", folder / "merged.docx", ("North | W0", "North | W1", "North | W2", "South | W3"))
    deck = Presentation()
    frame = deck.slides.add_slide(deck.slide_layouts[6]).shapes.add_table(
        3, 2, SlideInches(1), SlideInches(1), SlideInches(6), SlideInches(2)
    )
    for row in range(3):
        frame.table.cell(row, 1).text = f"D{row}"
    frame.table.cell(0, 0).merge(frame.table.cell(2, 0))
    frame.table.cell(0, 0).text = "East"
    deck.save(str(folder / "merged.pptx"))
    yield Case("merged cells", "slide", folder / "merged.pptx", ("East | D0", "East | D1", "East | D2"))


def _stray(folder: Path) -> Iterable[Case]:
    for name, far in (
        ("last row", "A1048576"),
        ("last column", "XFD1"),
        ("last corner", "XFD1048576"),
        ("H900000", "H900000"),
    ):
        book = openpyxl.Workbook()
        for row in range(30):
            book.active.append([f"K{row}", row * 3])
        book.active[far] = "x"
        path = folder / f"stray-{far}.xlsx"
        book.save(path)
        yield Case("stray cell", name, path, ("K29 | 87",), clean=True, seconds=6.0)


def _formulas(folder: Path) -> Iterable[Case]:
    needs = frozenset({CaveatKind.FORMULAS_UNCALCULATED})
    for name, formula in (("sum", "=SUM(B2:B3)"), ("product", "=B2*1.19"), ("text", '=CONCATENATE(A2," ",A3)')):
        book = openpyxl.Workbook()
        for row in (["item", "price"], ["rope", 12], ["lamp", 7], ["total", formula]):
            book.active.append(row)
        path = folder / f"formula-{name}.xlsx"
        book.save(path)
        yield Case("formula without value", name, path, (f"total | {formula}",), needs=needs)
    writer = xlsxwriter.Workbook(str(folder / "formula-cached.xlsx"))
    sheet = writer.add_worksheet()
    sheet.write_row(0, 0, ["item", "price"])
    sheet.write(1, 0, "total")
    sheet.write_formula(1, 1, "=SUM(C1:C9)", None, 4711)
    writer.close()
    yield Case(
        "formula without value", "cached", folder / "formula-cached.xlsx", ("total | 4711",), ("=SUM",), clean=True
    )


def _words(folder: Path) -> Iterable[Case]:
    raised: tuple[tuple[str, str, str, Wanted, str], ...] = (
        ("footnote sign", "Stock 640", "2", ("640²", "640 [2]"), "6402"),
        ("power", "some 10", "7", ("10⁷", "10 [7]"), "107"),
        ("ordinal", "the 5", "th", ("5ᵗʰ", "5 [th]", "5th"), "|||"),
    )
    for name, before, run, wanted, wrong in raised:
        document = docx.Document()
        paragraph = document.add_paragraph(before)
        paragraph.add_run(run).font.superscript = True
        paragraph.add_run(" pieces")
        path = folder / f"raised-{name.replace(' ', '-')}.docx"
        document.save(str(path))
        yield Case("raised runs", f"word {name}", path, (wanted,), (wrong,), clean=True)
    document = docx.Document()
    paragraph = document.add_paragraph("CO")
    paragraph.add_run("2").font.subscript = True
    paragraph.add_run(" 400 ppm")
    document.save(str(folder / "lowered.docx"))
    yield Case("raised runs", "word lowered", folder / "lowered.docx", (("CO₂ 400", "CO [2] 400"),))
    for name, text in (
        ("picture with text", "The mast lamp burns till dawn."),
        ("second picture", "Berth 12 is closed."),
    ):
        document = docx.Document()
        document.add_paragraph("See the picture.")
        document.add_picture(lines_picture([text, "Ask the keeper at the lock."], 1400), width=Inches(6))
        path = folder / f"{name.replace(' ', '-')}.docx"
        document.save(str(path))
        yield Case("pictures in office files", name, path, ("See the picture.", text), instead=PICTURES)
    document = docx.Document()
    document.add_picture(lines_picture(["Only a picture says 31 tonnes."], 1400), width=Inches(6))
    document.save(str(folder / "only-picture.docx"))
    yield Case(
        "pictures in office files",
        "nothing else",
        folder / "only-picture.docx",
        ("Only a picture says 31 tonnes",),
        instead=PICTURES | {CaveatKind.NO_TEXT},
    )


def _chunks(folder: Path) -> Iterable[Case]:
    inner = docx.Document()
    inner.add_paragraph("The inner file says the valve is 9 mm.")
    held = io.BytesIO()
    inner.save(held)
    kinds = (
        ("html", b"<html><p>The imported page: 52 bars.</p></html>", "text/html", "The imported page: 52 bars."),
        ("txt", b"The imported text says 53 bars.", "text/plain", "The imported text says 53 bars."),
        ("rtf", rb"{\rtf1\ansi The letter says 54 bars.\par}", "application/rtf", "The letter says 54 bars."),
        (
            "docx",
            held.getvalue(),
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml",
            "The inner file says the valve is 9 mm.",
        ),
        ("mht", b"Content-Type: text/html\r\n\r\n<p>Archived: 55 bars.</p>", "message/rfc822", "Archived: 55 bars."),
    )
    for suffix, data, mime, sentence in kinds:
        path = folder / f"chunk-{suffix}.docx"
        _with_chunk(path, suffix, data, mime)
        yield Case("imported part", suffix, path, (sentence,), instead=SKIPPED)


def _with_chunk(path: Path, suffix: str, data: bytes, mime: str) -> None:
    document = docx.Document()
    document.save(str(path))

    def changed(name: str, text: str) -> str:
        if name == "[Content_Types].xml":
            return text.replace("</Types>", f'<Override PartName="/word/part.{suffix}" ContentType="{mime}"/></Types>')
        if name == "word/_rels/document.xml.rels":
            kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/aFChunk"
            return text.replace(
                "</Relationships>", f'<Relationship Id="rChunk" Type="{kind}" Target="part.{suffix}"/></Relationships>'
            )
        if name == "word/document.xml":
            return text.replace("<w:body>", '<w:body><w:altChunk r:id="rChunk"/>')
        return text

    _rewritten(path, changed, {f"word/part.{suffix}": data})


_STRICT = (
    ("http://schemas.openxmlformats.org/officeDocument/2006", "http://purl.oclc.org/ooxml/officeDocument"),
    (
        "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "http://purl.oclc.org/ooxml/wordprocessingml/main",
    ),
    ("http://schemas.openxmlformats.org/spreadsheetml/2006/main", "http://purl.oclc.org/ooxml/spreadsheetml/main"),
    ("http://schemas.openxmlformats.org/presentationml/2006/main", "http://purl.oclc.org/ooxml/presentationml/main"),
    ("http://schemas.openxmlformats.org/drawingml/2006", "http://purl.oclc.org/ooxml/drawingml"),
)


def _strict(folder: Path) -> Iterable[Case]:
    def changed(name: str, text: str) -> str:
        for usual, strict in _STRICT:
            text = text.replace(usual, strict)
        return text

    document = docx.Document()
    document.add_heading("Rules")
    document.add_paragraph("Strict text: the lock opens at 5.")
    document.save(str(folder / "strict.docx"))
    book = openpyxl.Workbook()
    book.active.append(["a", "b"])
    book.active.append(["strict", 41])
    book.save(folder / "strict.xlsx")
    deck = Presentation()
    deck.slides.add_slide(deck.slide_layouts[5]).shapes.title.text = "Strict slide 42"
    deck.save(str(folder / "strict.pptx"))
    for name, wanted in (
        ("strict.docx", "the lock opens at 5"),
        ("strict.xlsx", "strict | 41"),
        ("strict.pptx", "Strict slide 42"),
    ):
        _rewritten(folder / name, changed, {})
        yield Case("strict office files", name, folder / name, (wanted,), clean=True)


def _slides(folder: Path) -> Iterable[Case]:
    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "Output"
    body = slide.placeholders[1].text_frame
    for text, baseline in (
        ("It rose to 310", None),
        ("4", "30000"),
        (" units; NO", None),
        ("2", "-25000"),
        (" fell", None),
    ):
        run = body.paragraphs[0].add_run()
        run.text = text
        if baseline:
            run.font._element.set("baseline", baseline)
    deck.save(str(folder / "raised.pptx"))
    yield Case(
        "raised runs",
        "slide",
        folder / "raised.pptx",
        (("310⁴ units", "310 [4] units"), ("NO₂ fell", "NO [2] fell")),
        ("3104",),
        clean=True,
    )
    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    slide.shapes.add_picture(
        lines_picture(["The slide picture says 88 knots."], 1400), SlideInches(0.5), SlideInches(1)
    )
    deck.save(str(folder / "picture.pptx"))
    yield Case(
        "pictures in office files",
        "slide",
        folder / "picture.pptx",
        ("The slide picture says 88 knots",),
        instead=PICTURES | {CaveatKind.NO_TEXT},
    )


_ODF = (
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"'
    ' xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
    ' xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:dc="http://purl.org/dc/elements/1.1/"'
    ' xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0"'
)


def _open_documents(folder: Path) -> Iterable[Case]:
    text = (
        '<office:text><text:p>The pump stands<text:note text:note-class="footnote">'
        "<text:note-citation>3</text:note-citation>"
        "<text:note-body><text:p>Since 1990.</text:p></text:note-body></text:note> in hall 4.</text:p>"
        "<text:p>Checked<office:annotation><dc:creator>Bo</dc:creator><text:p>By whom?</text:p></office:annotation>"
        " twice.</text:p></office:text>"
    )
    _odf(folder / "notes.odt", "text", text)
    yield Case(
        "open documents",
        "notes",
        folder / "notes.odt",
        ("Since 1990.", "By whom?", "twice."),
        ("stands3Since", "standsSince", "CheckedBo", "CheckedBy"),
    )

    def cell(shown: str, more: str = "") -> str:
        return f"<table:table-cell {more}><text:p>{shown}</text:p></table:table-cell>"

    rows = "".join(
        f"<table:table-row>{cell(a)}{cell(b)}</table:table-row>" for a, b in (("Item", "Count"), ("Chain", "019"))
    )
    empty = (
        '<table:table-row table:number-rows-repeated="1048000"><table:table-cell'
        ' table:number-columns-repeated="16384"/></table:table-row>'
    )
    sheet = f'<office:spreadsheet><table:table table:name="Stock">{rows}{empty}</table:table></office:spreadsheet>'
    _odf(folder / "sheet.ods", "spreadsheet", sheet)
    yield Case("open documents", "sheet", folder / "sheet.ods", ("Chain | 019",), seconds=6.0)


def _odf(path: Path, kind: str, body: str) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", f"application/vnd.oasis.opendocument.{kind}")
        archive.writestr(
            "content.xml",
            f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {_ODF} office:version="1.2">'
            f"<office:body>{body}</office:body></office:document-content>",
        )
        archive.writestr(
            "META-INF/manifest.xml",
            '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
            '<manifest:file-entry manifest:full-path="/"'
            f' manifest:media-type="application/vnd.oasis.opendocument.{kind}"/>'
            "</manifest:manifest>",
        )


def _rewritten(path: Path, changed: Callable[[str, str], str], more: dict[str, bytes]) -> None:
    """The package with its XML changed, and parts added."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            text = name.endswith((".xml", ".rels"))
            archive.writestr(name, changed(name, data.decode()).encode() if text else data)
        for name, data in more.items():
            archive.writestr(name, data)
