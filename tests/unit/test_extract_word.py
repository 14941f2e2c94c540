"""DOCX: what Word shows and other programs leave in it."""

import io
from collections.abc import Mapping
from pathlib import Path

import docx
import openpyxl
import pytest
from docx.shared import Inches
from PIL import Image

from configs.sections import ReadSettings
from pipelines.documents.document import CaveatKind, FailureReason, Unreadable
from tests.fakes import files
from tests.fakes.office import WORD, marks, pages, related, rewritten, strict, text, word

RAISED = '<w:rPr><w:vertAlign w:val="superscript"/></w:rPr>'
LOWERED = '<w:rPr><w:vertAlign w:val="subscript"/></w:rPr>'


def runs(*pieces: tuple[str, str]) -> str:
    inner = "".join(f'<w:r>{style}<w:t xml:space="preserve">{said}</w:t></w:r>' for style, said in pieces)
    return f"<w:p>{inner}</w:p>"


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        ((("", "Stock 1250"), (RAISED, "2"), ("", " pieces")), "Stock 1250² pieces"),
        (
            (("", "Stock 1250"), (RAISED, "2"), (RAISED, ", "), (RAISED, "3"), ("", " pieces")),
            "Stock 1250 [2, 3] pieces",
        ),
        ((("", "10"), (RAISED, "-6"), ("", " m")), "10⁻⁶ m"),
        ((("", "CO"), (LOWERED, "2"), ("", " and H"), (LOWERED, "2"), ("", "O")), "CO₂ and H₂O"),
        ((("", "F"), (LOWERED, "max "), ("", "is 5")), "Fₘₐₓ is 5"),
        ((("", "the 5"), (RAISED, "th"), ("", " lock")), "the 5th lock"),
        ((("", "8"), ('<w:rPr><w:position w:val="12"/></w:rPr>', "4")), "8⁴"),
        ((("", "8"), ('<w:rPr><w:position w:val="1"/></w:rPr>', "4")), "84"),
    ],
)
def test_raised_and_lowered_runs_never_fuse_with_what_stands_before(
    tmp_path: Path, pieces: tuple[tuple[str, str], ...], shown: str
) -> None:
    assert text(word(tmp_path / "a.docx", runs(*pieces))) == shown


def test_runs_that_a_style_raises_stay_apart(tmp_path: Path) -> None:
    document = docx.Document()
    style = document.styles.add_style("Noted", 2)
    style.font.superscript = True
    paragraph = document.add_paragraph("481")
    paragraph.add_run("3", style=style)
    document.save(str(tmp_path / "a.docx"))
    assert text(tmp_path / "a.docx") == "481³"


def math(inner: str) -> str:
    return f"<w:p><m:oMath>{inner}</m:oMath></w:p>"


def t(said: str) -> str:
    return f"<m:r><m:t>{said}</m:t></m:r>"


@pytest.mark.parametrize(
    ("inner", "shown"),
    [
        (
            f"{t('A=')}<m:f><m:num>{t('π')}<m:sSup><m:e>{t('d')}</m:e><m:sup>{t('2')}</m:sup></m:sSup></m:num>"
            f"<m:den>{t('4')}</m:den></m:f>",
            "A=πd²/4",
        ),
        (
            f"{t('x=')}<m:f><m:num>{t('−b±')}<m:rad><m:radPr><m:degHide m:val='1'/></m:radPr><m:deg/>"
            f"<m:e>{t('b²−4ac')}</m:e></m:rad></m:num><m:den>{t('2a')}</m:den></m:f>",
            "x=(−b±√(b²−4ac))/(2a)",
        ),
        (
            f"<m:nary><m:naryPr><m:chr m:val='∑'/></m:naryPr><m:sub>{t('i=1')}</m:sub><m:sup>{t('n')}</m:sup>"
            f"<m:e>{t('i')}</m:e></m:nary>",
            "∑_(i=1)^n i",
        ),
        (f"<m:rad><m:deg>{t('3')}</m:deg><m:e>{t('27')}</m:e></m:rad>", "∛27"),
        (f"<m:sSub><m:e>{t('v')}</m:e><m:sub>{t('0')}</m:sub></m:sSub>{t('t')}", "v₀t"),
        (f"<m:sSup><m:e>{t('e')}</m:e><m:sup>{t('−x/T')}</m:sup></m:sSup>", "e^(−x/T)"),
        (f"<m:func><m:fName>{t('sin')}</m:fName><m:e><m:d><m:e>{t('α')}</m:e></m:d></m:e></m:func>", "sin(α)"),
        (
            f"<m:d><m:dPr><m:begChr m:val='['/><m:endChr m:val=']'/></m:dPr><m:e><m:m><m:mr><m:e>{t('1')}</m:e>"
            f"<m:e>{t('2')}</m:e></m:mr><m:mr><m:e>{t('3')}</m:e><m:e>{t('4')}</m:e></m:mr></m:m></m:e></m:d>",
            "[[1, 2; 3, 4]]",
        ),
        (
            f"<m:f><m:fPr><m:type m:val='noBar'/></m:fPr><m:num>{t('n')}</m:num><m:den>{t('k')}</m:den></m:f>",
            "(n over k)",
        ),
    ],
)
def test_equations_are_linear(tmp_path: Path, inner: str, shown: str) -> None:
    assert text(word(tmp_path / "a.docx", math(inner))) == shown


def test_boxes_show_their_state(tmp_path: Path) -> None:
    control = (
        "<w:sdt><w:sdtPr><w14:checkbox><w14:checked w14:val='{}'/></w14:checkbox>"
        "</w:sdtPr><w:sdtContent><w:r><w:t>?</w:t></w:r></w:sdtContent></w:sdt>"
    )
    field = "<w:r><w:fldChar w:fldCharType='begin'><w:ffData><w:checkBox>{}</w:checkBox></w:ffData></w:fldChar></w:r>"
    said = "<w:r><w:t xml:space='preserve'> {}</w:t></w:r>"
    boxes = (
        (control.format(1), "☒"),
        (control.format(0), "☐"),
        (field.format("<w:checked/>"), "☒"),
        (field.format('<w:default w:val="1"/>'), "☒"),
        (field.format('<w:default w:val="1"/><w:checked w:val="0"/>'), "☐"),
        ("<w:r><w:sym w:font='Wingdings' w:char='F0FD'/></w:r>", "☒"),
        ("<w:r><w:sym w:font='Wingdings' w:char='F0A8'/></w:r>", "☐"),
    )
    body = "".join(f"<w:p>{box}{said.format(number)}</w:p>" for number, (box, _) in enumerate(boxes))
    assert text(word(tmp_path / "a.docx", body)) == "\n\n".join(
        f"{sign} {number}" for number, (_, sign) in enumerate(boxes)
    )


def test_the_chosen_entry_of_a_list_field_is_read(tmp_path: Path) -> None:
    field = (
        "<w:p><w:r><w:fldChar w:fldCharType='begin'><w:ffData><w:ddList><w:result w:val='1'/><w:listEntry w:val='red'/>"
        "<w:listEntry w:val='green'/></w:ddList></w:ffData></w:fldChar></w:r></w:p>"
    )
    assert text(word(tmp_path / "a.docx", field)) == "green"


def test_signs_of_symbol_fonts_and_those_nobody_knows(tmp_path: Path) -> None:
    body = (
        "<w:p><w:r><w:sym w:font='Symbol' w:char='F0B3'/></w:r><w:r><w:t> 5 </w:t></w:r>"
        "<w:r><w:rPr><w:rFonts w:ascii='Symbol'/></w:rPr><w:t>a</w:t>"
        "</w:r><w:r><w:sym w:font='Webdings' w:char='F021'/></w:r></w:p>"
    )
    path = word(tmp_path / "a.docx", body)
    assert text(path) == "≥ 5 α\ufffd" and marks(path) == {CaveatKind.GLYPHS_UNMAPPED: 1}


def imported(path: Path, parts: Mapping[str, bytes]) -> Path:
    docx.Document().save(str(path))
    relations = {f"c{at}": ("aFChunk", name) for at, name in enumerate(parts)}
    changed = related(path, "word/document.xml", relations, {f"word/{name}": data for name, data in parts.items()})
    chunks = "".join(f'<w:altChunk r:id="c{at}"/>' for at in range(len(parts)))
    return rewritten(
        changed, lambda name, xml: xml.replace("<w:body>", f"<w:body>{chunks}") if name == "word/document.xml" else xml
    )


def inner(body: str, folder: Path) -> bytes:
    return word(folder / "inner.docx", body).read_bytes()


def test_imported_parts_stand_in_the_text(tmp_path: Path) -> None:
    parts = {
        "a.html": b"<html><h1>Record</h1><p>Key number 88.</p></html>",
        "b.txt": "Wärme: 53 bar.".encode(),
        "c.rtf": b"\xef\xbb\xbf\r\n" + rb"{\rtf1\ansi The letter says 54.\par}",
        "d.docx": inner("<w:p><w:r><w:t>Inner: 55.</w:t></w:r></w:p>", tmp_path),
        "e.mht": b"MIME-Version: 1.0\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<p>Archived: 56.</p>",
    }
    path = imported(tmp_path / "a.docx", parts)
    assert (
        text(path)
        == "# Record\n\nKey number 88.\n\nWärme: 53 bar.\n\nThe letter says 54.\n\nInner: 55.\n\nArchived: 56."
    )
    assert marks(path) == {}


def test_imported_parts_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    path = imported(tmp_path / "a.docx", {"a.docx": b"PK\x03\x04 nothing", "b.html": b"<p>kept</p>"})
    assert text(path) == "kept" and marks(path) == {CaveatKind.PARTS_SKIPPED: 1}
    gone = rewritten(
        path, lambda name, xml: xml.replace('Target="b.html"', 'Target="gone.html"') if "_rels" in name else xml
    )
    assert text(gone) == "" and marks(gone) == {CaveatKind.PARTS_SKIPPED: 2}


def test_documents_imported_into_themselves_end(tmp_path: Path) -> None:
    deep = inner("<w:p><w:r><w:t>core</w:t></w:r></w:p>", tmp_path)
    for level in range(6):
        deep = imported(tmp_path / f"{level}.docx", {"a.docx": deep}).read_bytes()
    (tmp_path / "deep.docx").write_bytes(deep)
    assert marks(tmp_path / "deep.docx") == {CaveatKind.PARTS_SKIPPED: 1}


def test_strict_documents_are_read(tmp_path: Path) -> None:
    document = docx.Document()
    document.add_heading("Rules", 1)
    document.add_paragraph("The lock opens at 5.")
    document.save(str(tmp_path / "a.docx"))
    assert text(strict(tmp_path / "a.docx")) == "# Rules\n\nThe lock opens at 5."


def test_cells_merged_downwards_repeat(tmp_path: Path) -> None:
    document = docx.Document()
    table = document.add_table(rows=5, cols=2)
    for row, said in enumerate(("Part", "W1", "W2", "W3", "W4")):
        table.cell(row, 1).text = said
    table.cell(0, 0).text = "Yard"
    table.cell(1, 0).merge(table.cell(3, 0)).text = "North"
    table.cell(4, 0).text = "South"
    document.save(str(tmp_path / "a.docx"))
    assert text(tmp_path / "a.docx").endswith("| North | W1 |\n| North | W2 |\n| North | W3 |\n| South | W4 |")


def test_notes_are_numbered_as_the_text_refers_to_them(tmp_path: Path) -> None:
    body = runs(("", "Flow 12")).replace(
        "</w:p>", '<w:r><w:footnoteReference w:id="7"/></w:r><w:r><w:endnoteReference w:id="3"/></w:r></w:p>'
    )
    path = word(tmp_path / "a.docx", body)
    note = (
        f"<w:footnotes {WORD}><w:footnote w:id='2'><w:p/></w:footnote>"
        f"<w:footnote w:id='7'>{runs(('', 'litres'))}</w:footnote></w:footnotes>"
    )
    end = f"<w:endnotes {WORD}><w:endnote w:id='3'>{runs(('', 'dry season'))}</w:endnote></w:endnotes>"
    related(
        path,
        "word/document.xml",
        {"f": ("footnotes", "footnotes.xml"), "e": ("endnotes", "endnotes.xml")},
        {"word/footnotes.xml": note.encode(), "word/endnotes.xml": end.encode()},
    )
    assert text(path) == "Flow 12[footnote 1][endnote 1]\n\n[footnote 1] litres\n\n[endnote 1] dry season"


LEVELS = (("decimal", "Article %1"), ("decimal", "%1.%2"), ("lowerLetter", "(%3)"), ("lowerRoman", "%4."))


def numbered(path: Path, paragraphs: list[tuple[int, int, str]], more: str = "") -> Path:
    levels = "".join(
        f'<w:lvl w:ilvl="{at}"><w:start w:val="1"/><w:numFmt w:val="{form}"/><w:lvlText w:val="{said}"/></w:lvl>'
        for at, (form, said) in enumerate(LEVELS)
    )
    numbering = (
        f'<w:numbering {WORD}><w:abstractNum w:abstractNumId="0">{levels}</w:abstractNum>'
        f'<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>{more}</w:numbering>'
    )
    body = "".join(
        f'<w:p><w:pPr><w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr></w:pPr>'
        f"<w:r><w:t>{said}</w:t></w:r></w:p>"
        for number, level, said in paragraphs
    )
    made = word(path, body)
    return related(
        made, "word/document.xml", {"n": ("numbering", "numbering.xml")}, {"word/numbering.xml": numbering.encode()}
    )


def test_clauses_have_the_numbers_of_all_their_levels(tmp_path: Path) -> None:
    clauses = [
        (1, 0, "Scope"),
        (1, 1, "a"),
        (1, 1, "b"),
        (1, 2, "c"),
        (1, 2, "d"),
        (1, 3, "e"),
        (1, 0, "Terms"),
        (1, 1, "f"),
    ]
    assert text(numbered(tmp_path / "a.docx", clauses)).split("\n") == [
        "Article 1 Scope",
        "1.1 a",
        "1.2 b",
        "    (a) c",
        "    (b) d",
        "      i. e",
        "Article 2 Terms",
        "2.1 f",
    ]


def test_lists_of_one_definition_count_on_unless_told_to_start_anew(tmp_path: Path) -> None:
    more = (
        '<w:num w:numId="2"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="3"><w:abstractNumId w:val="0"/>'
        '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/></w:lvlOverride></w:num>'
    )
    path = numbered(tmp_path / "a.docx", [(1, 0, "a"), (2, 0, "b"), (3, 0, "c"), (3, 0, "d")], more)
    assert text(path).split("\n") == ["Article 1 a", "Article 2 b", "Article 5 c", "Article 6 d"]


def test_numbers_of_headings_stand_in_them(tmp_path: Path) -> None:
    document = docx.Document()
    for said in ("Scope", "Terms"):
        document.add_heading(said, 1)
    document.save(str(tmp_path / "a.docx"))
    levels = '<w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/><w:lvlText w:val="%1"/><w:pStyle w:val="Heading1"/></w:lvl>'

    def change(name: str, xml: str) -> str:
        if name == "word/numbering.xml":
            return (
                f'<w:numbering {WORD}><w:abstractNum w:abstractNumId="0">{levels}</w:abstractNum>'
                '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num></w:numbering>'
            )
        if name == "word/styles.xml":
            return xml.replace(
                '<w:outlineLvl w:val="0"/>', '<w:numPr><w:numId w:val="1"/></w:numPr><w:outlineLvl w:val="0"/>', 1
            )
        return xml

    assert text(rewritten(tmp_path / "a.docx", change)) == "# 1 Scope\n\n# 2 Terms"


def drawn(path: Path, *images: Image.Image, descr: str = "") -> Path:
    document = docx.Document()
    document.add_paragraph("See below.")
    for image in images:
        buffer = io.BytesIO()
        image.save(buffer, "PNG")
        buffer.seek(0)
        document.add_picture(buffer, width=Inches(4))
    document.save(str(path))
    return (
        rewritten(path, lambda name, xml: xml.replace('name="Picture 1"', f'name="Picture 1" descr="{descr}"'))
        if descr
        else path
    )


def test_pictures_are_read_where_they_stand_and_only_once(tmp_path: Path) -> None:
    path = drawn(tmp_path / "a.docx", files.picture("x"), files.picture("x"), files.picture("y", (500, 200)))
    (page,) = pages(path)
    assert (
        page.text == "See below.\n\n[picture]\npicture of 400 x 300 at None\n\n[picture]\npicture of 500 x 200 at None"
    )
    assert page.confidence == 0.9 and page.engine == "native" and marks(path) == {}


def test_alternative_texts_are_read_and_icons_are_not(tmp_path: Path) -> None:
    path = drawn(tmp_path / "a.docx", Image.new("L", (24, 20), 255), descr="Map: berth nine lies east")
    assert text(path) == "See below.\n\n[alt text] Map: berth nine lies east"


def test_pictures_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    """A drawing of Windows, a damaged one, one that is only linked."""
    path = drawn(tmp_path / "a.docx", files.picture("x"))
    wmf = b"\xd7\xcd\xc6\x9a\0\0\0\0\0\0\x10\x20\x10\x20\x60\0\0\0\0\0\0\0" + b"\1\0\x09\0\0\3" + b"\0" * 60
    for data in (wmf, b"\x89PNG\r\n\x1a\n cut"):
        changed = rewritten(path, lambda name, xml: xml, {"word/media/image1.png": data})
        assert text(changed) == "See below." and marks(changed) == {CaveatKind.PICTURES_UNREAD: 1}
    linked = rewritten(
        path,
        lambda name, xml: xml.replace('Target="media/image1.png"', 'Target="http://x/y.png" TargetMode="External"'),
    )
    assert marks(linked) == {CaveatKind.PICTURES_UNREAD: 1}


def test_many_pictures_are_spread_over_parts(tmp_path: Path) -> None:
    path = drawn(tmp_path / "a.docx", *(files.picture(str(at), (400 + at, 300)) for at in range(25)))
    read = pages(path)
    assert len(read) == 3 and sum(page.text.count("[picture]") for page in read) == 25


def test_embedded_workbooks_are_read_behind_the_text(tmp_path: Path) -> None:
    docx.Document().save(str(tmp_path / "a.docx"))
    book = openpyxl.Workbook()
    assert book.active is not None
    book.active.append(["Item", "Qty"])
    buffer = io.BytesIO()
    book.save(buffer)
    path = related(
        tmp_path / "a.docx",
        "word/document.xml",
        {"o": ("package", "embeddings/Stock.xlsx")},
        {"word/embeddings/Stock.xlsx": buffer.getvalue()},
    )
    assert "[embedded document Stock.xlsx]\n\n## Sheet: Sheet\n\n| Item | Qty |" in text(path) and marks(path) == {}


def test_embedded_objects_nobody_can_open_are_told(tmp_path: Path) -> None:
    docx.Document().save(str(tmp_path / "a.docx"))
    path = related(
        tmp_path / "a.docx",
        "word/document.xml",
        {"o": ("oleObject", "embeddings/o.bin"), "p": ("package", "embeddings/p.xlsx")},
        {
            "word/embeddings/o.bin": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 900,
            "word/embeddings/p.xlsx": b"PK\x03\x04 cut",
        },
    )
    assert marks(path) == {CaveatKind.PARTS_SKIPPED: 2}


def test_documents_embedded_in_one_another_end(tmp_path: Path) -> None:
    deep = inner("<w:p><w:r><w:t>core</w:t></w:r></w:p>", tmp_path)
    for level in range(6):
        path = word(tmp_path / f"{level}.docx", "<w:p/>")
        deep = related(path, "word/document.xml", {"o": ("package", "e.docx")}, {"word/e.docx": deep}).read_bytes()
    (tmp_path / "deep.docx").write_bytes(deep)
    assert marks(tmp_path / "deep.docx") == {CaveatKind.PARTS_SKIPPED: 1}


def test_damaged_notes_do_not_cost_the_text(tmp_path: Path) -> None:
    path = word(tmp_path / "a.docx", runs(("", "kept")))
    related(path, "word/document.xml", {"f": ("footnotes", "footnotes.xml")}, {"word/footnotes.xml": b"<open>"})
    assert text(path) == "kept" and marks(path) == {CaveatKind.PARTS_SKIPPED: 1}


def test_a_part_that_unpacks_to_more_than_allowed_is_a_bomb(tmp_path: Path) -> None:
    big = inner("<w:p><w:r><w:t>" + " " * 3_000_000 + "</w:t></w:r></w:p>", tmp_path)
    path = imported(tmp_path / "a.docx", {"a.docx": big})
    assert marks(path, ReadSettings(max_unpacked_bytes=1_000_000)) == {CaveatKind.PARTS_SKIPPED: 1}
    with pytest.raises(Unreadable) as error:
        pages(path, ReadSettings(max_unpacked_bytes=1_000))
    assert error.value.reason is FailureReason.BOMB
