"""Office packages: what a person sees in them, and the bombs that they may be."""

import datetime
import io
from pathlib import Path

import docx
import openpyxl
import pptx
import pytest
from openpyxl.comments import Comment
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from configs.sections import OcrSettings, ReadSettings
from pipelines.documents.document import CaveatKind, CaveatWeight, FailureReason, Unreadable
from pipelines.documents.extract.extraction_worker import ExtractionWorker
from pipelines.documents.sources.sniff import Kind
from tests.fakes import files

_TYPES = "[Content_Types].xml"


def read(path: Path, settings: ReadSettings | None = None) -> list[str]:
    desk = ExtractionWorker(settings or ReadSettings(), OcrSettings(), files.transcriber)
    kind, count = desk.survey(path, None)
    return [desk.page(path, kind, number).text for number in range(1, count + 1)]


def refused(path: Path, settings: ReadSettings | None = None) -> FailureReason:
    with pytest.raises(Unreadable) as error:
        read(path, settings)
    return error.value.reason


def test_docx_in_the_order_of_the_document_with_what_surrounds_it(tmp_path: Path) -> None:
    """IN-04: paragraphs, and headings, lists, tables, header, footer and comments with them."""
    document = docx.Document()
    document.sections[0].header.paragraphs[0].text = "Head"
    document.sections[0].footer.paragraphs[0].text = "Foot"
    document.add_heading("Title", 0)
    document.add_heading("Section", 2)
    paragraph = document.add_paragraph("Before the table.")
    table = document.add_table(2, 2)
    for cell, text in zip((cell for row in table.rows for cell in row.cells), ("A|a", "B", "1\n2", "4"), strict=True):
        cell.text = text
    document.add_paragraph("one", style="List Bullet")
    document.add_paragraph("first", style="List Number")
    document.add_paragraph("second", style="List Number")
    document.add_comment(paragraph.runs, "Is that so?", author="Ines")
    document.save(str(tmp_path / "a.docx"))
    assert read(tmp_path / "a.docx") == [
        "Head\n\n# Title\n\n## Section\n\nBefore the table.\n\n| A\\|a | B |\n| --- | --- |\n| 1 2 | 4 |\n\n"
        "- one\n1. first\n2. second\n\n[comment 0] Is that so?\n\nFoot"
    ]


def test_docx_deleted_text_is_gone_and_text_boxes_are_read_once(tmp_path: Path) -> None:
    from docx.oxml import parse_xml

    names = (
        'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
        'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    )
    box = "<w:txbxContent><w:p><w:r><w:t>boxed</w:t></w:r></w:p></w:txbxContent>"
    document = docx.Document()
    document.element.body.insert(
        0,
        parse_xml(
            f"<w:p {names}><w:r><w:t>kept</w:t></w:r><w:del><w:r><w:delText>struck</w:delText></w:r></w:del>"
            f"<w:ins><w:r><w:t> added</w:t></w:r></w:ins><w:r><mc:AlternateContent><mc:Choice>{box}</mc:Choice>"
            f"<mc:Fallback>{box}</mc:Fallback></mc:AlternateContent></w:r></w:p>"
        ),
    )
    document.save(str(tmp_path / "a.docx"))
    assert read(tmp_path / "a.docx") == ["kept added\n\nboxed"]
    desk = ExtractionWorker(ReadSettings(), OcrSettings(), files.transcriber)
    (noted,) = desk.page(tmp_path / "a.docx", Kind.DOCX, 1).caveats
    assert (noted.kind, noted.count, noted.kind.weight) == (CaveatKind.TRACKED_CHANGES, 2, CaveatWeight.NOTE)


def test_docx_is_cut_into_parts_that_lose_nothing(tmp_path: Path) -> None:
    document = docx.Document()
    for number in range(300):
        document.add_paragraph(f"Paragraph {number} of the long document.")
    document.save(str(tmp_path / "a.docx"))
    parts = read(tmp_path / "a.docx", ReadSettings(part_chars=1_000))
    assert len(parts) > 9 and max(map(len, parts)) <= 1_000
    assert "\n\n".join(parts).count("Paragraph ") == 300


def test_pptx_has_a_page_a_slide_with_tables_charts_and_notes(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])
    slide.shapes.title.text = "Sales"
    table = slide.shapes.add_table(2, 2, *[Inches(1)] * 4).table
    for at, text in enumerate(("Year", "Sum", "2025", "7")):
        table.cell(at // 2, at % 2).text = text
    data = CategoryChartData()  # type: ignore[no-untyped-call]
    data.categories = ["North", "South"]
    data.add_series("2025", (3.5, 4))  # type: ignore[no-untyped-call]
    slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *[Inches(1)] * 4, data)
    slide.notes_slide.notes_text_frame.text = "Speak slowly."
    group = presentation.slides.add_slide(presentation.slide_layouts[6]).shapes.add_group_shape()
    group.shapes.add_textbox(*[Inches(1)] * 4).text_frame.text = "in a group"
    presentation.save(str(tmp_path / "a.pptx"))
    first, second = read(tmp_path / "a.pptx")
    assert first == (
        "# Sales\n\n| Year | Sum |\n| --- | --- |\n| 2025 | 7 |\n\n"
        "|  | 2025 |\n| --- | --- |\n| North | 3.5 |\n| South | 4 |\n\nNotes: Speak slowly."
    )
    assert second == "in a group"


def test_pptx_titles_stand_below_the_decks_also_where_they_are_only_bold(tmp_path: Path) -> None:
    """As converters write slides: a bold first line in place of a title."""
    presentation = pptx.Presentation()
    presentation.slides.add_slide(presentation.slide_layouts[5]).shapes.title.text = "Gold Loan"
    for lines, bold in (
        (("Interest rate", "It is 9.5 % a year."), True),
        (("Just a line", "and another"), False),
        (("Alone",), True),
        (("It is bold and ends.", "It goes on"), True),
    ):
        slide = presentation.slides.add_slide(presentation.slide_layouts[6])
        frame = slide.shapes.add_textbox(*[Inches(1)] * 4).text_frame
        frame.text = "\n".join(lines)
        frame.paragraphs[0].runs[0].font.bold = bold
    presentation.slides.add_slide(presentation.slide_layouts[5]).shapes.title.text = "How to apply"
    presentation.save(str(tmp_path / "a.pptx"))
    assert read(tmp_path / "a.pptx") == [
        "# Gold Loan",
        "## Interest rate\n\nIt is 9.5 % a year.",
        "Just a line\nand another",
        "Alone",
        "It is bold and ends.\nIt goes on",
        "## How to apply",
    ]


def test_xlsx_has_a_page_a_sheet_with_values_and_comments(tmp_path: Path) -> None:
    """IN-05: each sheet is a Markdown table under its name."""
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Q1"
    sheet.append(["Name", None, "Share", "Day"])
    sheet.append([])
    sheet.append(["a|b", None, 0.125, datetime.date(2026, 1, 2)])
    sheet["C3"].number_format = "0.0%"
    sheet["A3"].comment = Comment("checked", "Ines")
    book.create_sheet("Empty")
    book.save(tmp_path / "a.xlsx")
    assert read(tmp_path / "a.xlsx") == [
        "## Sheet: Q1\n\n| Name | Share | Day |\n| --- | --- | --- |\n| a\\|b | 12.5% | 2026-01-02 |\n\n"
        "Comments:\n[A3] checked",
        "## Sheet: Empty",
    ]


def test_a_long_sheet_is_cut_between_rows_with_its_head_repeated(tmp_path: Path) -> None:
    """IN-05."""
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["Number", "Square"])
    for number in range(400):
        sheet.append([number, number * number])
    book.save(tmp_path / "a.xlsx")
    parts = read(tmp_path / "a.xlsx", ReadSettings(part_chars=1_000))
    assert len(parts) > 5 and max(map(len, parts)) <= 1_000
    assert all(part.startswith("## Sheet: Sheet\n\n| Number | Square |\n| --- | --- |\n| ") for part in parts)
    assert sum(part.count("\n") - 3 for part in parts) == 400


def test_a_package_that_unpacks_to_more_than_allowed_is_a_bomb(tmp_path: Path) -> None:
    path = files.package(tmp_path / "a.docx", {"word/document.xml": b"<x>" + b" " * 5_000_000})
    assert path.stat().st_size < 10_000
    assert refused(path, ReadSettings(max_unpacked_bytes=1_000_000)) is FailureReason.BOMB


def test_xml_that_declares_entities_is_a_bomb(tmp_path: Path) -> None:
    laughs = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><x>&b;</x>'
    for part, name in (("word/document.xml", "a.docx"), ("xl/workbook.xml", "a.xlsx"), ("content.xml", "a.odt")):
        parts = {"mimetype": "application/vnd.oasis.opendocument.text", part: laughs}
        assert refused(files.package(tmp_path / name, parts)) is FailureReason.BOMB


def test_damaged_packages_are_corrupt(tmp_path: Path) -> None:
    document = docx.Document()
    document.add_paragraph("x" * 5_000)
    buffer = io.BytesIO()
    document.save(buffer)
    cut = tmp_path / "cut.docx"
    cut.write_bytes(buffer.getvalue()[:-400])
    assert refused(cut) is FailureReason.CORRUPT
    for part, name in (
        ("word/document.xml", "a.docx"),
        ("ppt/presentation.xml", "a.pptx"),
        ("xl/workbook.xml", "a.xlsx"),
    ):
        assert refused(files.package(tmp_path / name, {_TYPES: "<Types/>", part: "<open>"})) is FailureReason.CORRUPT
