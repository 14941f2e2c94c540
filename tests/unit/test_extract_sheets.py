"""Workbooks: what is stored costs, what a person sees is read, and what is not read is told."""

import datetime
import io
import struct
import time
import zipfile
from pathlib import Path

import openpyxl
import pytest
import xlsxwriter
from openpyxl.chart import BarChart, Reference
from openpyxl.comments import Comment
from openpyxl.drawing.image import Image
from openpyxl.worksheet.worksheet import Worksheet

from configs.sections import ReadSettings
from pipelines.documents.document import CaveatKind, FailureReason, Unreadable
from pipelines.documents.extract.sheets.grid import CellGrid
from pipelines.documents.extract.sheets.workbook import uncalculated_in
from pipelines.documents.extract.sheets.xlsx import open_book, read_cells
from tests.fakes import files
from tests.fakes.office import marks, pages, related, rewritten, strict, text


def sheet_of(book: openpyxl.Workbook) -> Worksheet:
    assert isinstance(book.active, Worksheet)
    return book.active


def saved(book: openpyxl.Workbook, path: Path) -> Path:
    book.save(path)
    return path


@pytest.mark.parametrize("far", ["A1048576", "XFD1", "XFD1048576", "ZZ900000"])
def test_a_stray_cell_far_away_costs_nothing(tmp_path: Path, far: str) -> None:
    book = openpyxl.Workbook()
    for row in range(30):
        sheet_of(book).append([f"K{row}", row * 3])
    sheet_of(book)[far] = "stray"
    started = time.process_time()
    read = text(saved(book, tmp_path / "a.xlsx"))
    assert "| K29 | 87 |" in read and "stray" in read
    assert time.process_time() - started < 1.0


def test_a_range_merged_over_the_whole_sheet_costs_nothing(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet_of(book).append(["Site", "Part"])
    sheet_of(book).append(["a", "b"])
    path = rewritten(
        saved(book, tmp_path / "a.xlsx"),
        lambda name, xml: xml.replace(
            "</sheetData>", '</sheetData><mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells>'
        ),
    )
    started = time.process_time()
    assert "| a | b |" in text(path)
    assert time.process_time() - started < 1.0


def test_cells_merged_downwards_repeat_in_every_row_of_every_part(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = sheet_of(book)
    sheet.append(["Yard", "Part", "Count"])
    for row in range(200):
        sheet.append(["Leith" if row == 0 else "Oban" if row == 150 else None, f"P-{row:03}", row])
    sheet.merge_cells("A2:A151")
    sheet.merge_cells("A152:A201")
    read = pages(saved(book, tmp_path / "a.xlsx"), ReadSettings(part_chars=1_000))
    whole = "\n".join(page.text for page in read)
    assert len(read) > 3 and whole.count("| Leith | P-") == 150 and whole.count("| Oban | P-") == 50


def test_heads_merged_across_name_each_of_their_columns(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = sheet_of(book)
    for row in (
        ["Site", "2025", None, "2026", None],
        [None, "Q1", "Q2", "Q1", "Q2"],
        ["Leith", 1, 2, 3, 4],
        ["Oban", 5, 6, 7, 8],
    ):
        sheet.append(row)
    for where in ("A1:A2", "B1:C1", "D1:E1"):
        sheet.merge_cells(where)
    assert text(saved(book, tmp_path / "a.xlsx")) == (
        "## Sheet: Sheet\n\n| Site | 2025 Q1 | 2025 Q2 | 2026 Q1 | 2026 Q2 |\n| --- | --- | --- | --- | --- |\n"
        "| Leith | 1 | 2 | 3 | 4 |\n| Oban | 5 | 6 | 7 | 8 |"
    )


def test_a_row_of_words_below_a_merged_head_is_not_taken_for_a_second_head(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = sheet_of(book)
    for row in (["Part", "Fit", None], ["R1", "yes", "no"], ["R2", "yes", "yes"], ["R3", "no", "no"]):
        sheet.append(row)
    sheet.merge_cells("B1:C1")
    assert "| R1 | yes | no |" in text(saved(book, tmp_path / "a.xlsx"))


def test_titles_above_a_table_are_no_head(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = sheet_of(book)
    for row in (["Stock list of Hestnes"], [], ["Date", "3 March"], ["Part", "Shelf", "Units", "Reorder"]):
        sheet.append(row)
    sheet.merge_cells("A1:D1")
    for number in range(60):
        sheet.append([f"P-{number}", f"S{number}", number, 50])
    first, *others = pages(saved(book, tmp_path / "a.xlsx"), ReadSettings(part_chars=1_000))
    head = "| Part | Shelf | Units | Reorder |\n| --- | --- | --- | --- |\n"
    assert first.text.startswith(
        f"## Sheet: Sheet\n\nStock list of Hestnes\nDate: 3 March\n\n{head}| P-0 | S0 | 0 | 50 |"
    )
    assert others and all(page.text.startswith(f"## Sheet: Sheet\n\n{head}") for page in others)


def test_tables_below_one_another_keep_their_own_heads(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (
        ["Part", "Units"],
        ["a", 1],
        ["b", 2],
        [],
        ["Pier", "Depth", "Ships"],
        ["north", 9, 4],
        ["south", 7, 2],
    ):
        sheet_of(book).append(row)
    read = text(saved(book, tmp_path / "a.xlsx"))
    assert "| Part | Units |\n| --- | --- |\n| a | 1 |" in read
    assert "| Pier | Depth | Ships |\n| --- | --- | --- |\n| north | 9 | 4 |" in read


def test_formulas_without_a_value_stand_themselves_and_are_counted(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (["item", "price"], ["rope", 12], ["total", "=SUM(B2:B2)"], ["note", '=CONCATENATE(A2," x")']):
        sheet_of(book).append(row)
    path = saved(book, tmp_path / "a.xlsx")
    assert "| total | =SUM(B2:B2) |" in text(path) and '| note | =CONCATENATE(A2," x") |' in text(path)
    assert marks(path) == {CaveatKind.FORMULAS_UNCALCULATED: 2}


def test_zeros_that_a_library_wrote_for_values_it_cannot_calculate_are_not_believed(tmp_path: Path) -> None:
    """XlsxWriter stores 0 for every formula, and asks for a calculation on opening."""
    writer = xlsxwriter.Workbook(str(tmp_path / "a.xlsx"))
    sheet = writer.add_worksheet()
    sheet.write_row(0, 0, ["item", "price"])
    sheet.write_row(1, 0, ["rope", 12])
    sheet.write(2, 0, "total")
    sheet.write_formula(2, 1, "=SUM(B2:B2)")
    sheet.write(3, 0, "known")
    sheet.write_formula(3, 1, "=B2*2", None, 24)
    writer.close()
    assert "| total | =SUM(B2:B2) |\n| known | 24 |" in text(tmp_path / "a.xlsx")
    assert marks(tmp_path / "a.xlsx") == {CaveatKind.FORMULAS_UNCALCULATED: 1}


def test_shared_formulas_are_written_for_each_cell(tmp_path: Path) -> None:
    cells = '<c r="B2"><f t="shared" ref="B2:B3" si="0">A2*2</f></c>', '<c r="B3"><f t="shared" si="0"/></c>'
    book = openpyxl.Workbook()
    for row in (["a", "b"], [1, None], [2, None]):
        sheet_of(book).append(row)
    path = rewritten(
        saved(book, tmp_path / "a.xlsx"),
        lambda name, xml: xml.replace('<c r="A2" t="n"><v>1</v></c>', '<c r="A2"><v>1</v></c>' + cells[0]).replace(
            '<c r="A3" t="n"><v>2</v></c>', '<c r="A3"><v>2</v></c>' + cells[1]
        ),
    )
    assert "| 1 | =A2*2 |\n| 2 | =A3*2 |" in text(path)


def test_hidden_sheets_rows_and_columns_are_read_and_told(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = sheet_of(book)
    for row in (["Name", "Margin"], ["rope", 17], ["lamp", 9]):
        sheet.append(row)
    sheet.row_dimensions[3].hidden = True
    sheet.column_dimensions["B"].hidden = True
    other = book.create_sheet("Secret")
    other.append(["x"])
    other.sheet_state = "veryHidden"
    first, second = pages(saved(book, tmp_path / "a.xlsx"))
    assert "| lamp | 9 |" in first.text and "| x |" in second.text
    assert [caveat.kind for page in (first, second) for caveat in page.caveats] == [CaveatKind.HIDDEN_CONTENT] * 2
    assert "column(s) B" in first.caveats[0].detail and "row(s) from 3" in first.caveats[0].detail


def test_raised_and_lowered_runs_in_a_cell_stay_apart(tmp_path: Path) -> None:
    writer = xlsxwriter.Workbook(str(tmp_path / "a.xlsx"))
    sheet, up, down = (
        writer.add_worksheet(),
        writer.add_format({"font_script": 1}),
        writer.add_format({"font_script": 2}),
    )
    sheet.write_row(0, 0, ["what", "size"])
    sheet.write(1, 0, "hall")
    sheet.write_rich_string(1, 1, "1250 m", up, "2", " of CO", down, "2", " ")
    writer.close()
    assert "1250 m² of CO₂" in text(tmp_path / "a.xlsx")


def test_comments_text_boxes_and_charts_titles_are_read(tmp_path: Path) -> None:
    writer = xlsxwriter.Workbook(str(tmp_path / "a.xlsx"))
    sheet = writer.add_worksheet()
    for row in range(3):
        sheet.write_row(row, 0, [f"berth {row}", row])
    sheet.write_comment("B2", "counted twice")
    sheet.insert_textbox("D2", "Closed in winter")
    chart = writer.add_chart({"type": "bar"})
    chart.add_series({"values": "=Sheet1!$B$1:$B$3"})
    chart.set_title({"name": "Berths in use"})
    sheet.insert_chart("D9", chart)
    writer.close()
    read = text(tmp_path / "a.xlsx")
    assert "[B2] counted twice" in read and "Closed in winter" in read and "Chart: Berths in use" in read
    assert marks(tmp_path / "a.xlsx") == {}


def test_threads_of_comments_replace_the_notes_that_repeat_them(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet_of(book)["A1"] = "x"
    sheet_of(book)["A1"].comment = Comment("[Threaded comment] Your version of Excel…", "Ines")
    thread = (
        '<ThreadedComments xmlns="http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments">'
        '<threadedComment ref="A1" id="1"><text>Is that so?</text></threadedComment>'
        '<threadedComment ref="A1" id="2" parentId="1"><text>It is.</text></threadedComment></ThreadedComments>'
    )
    kind = "http://schemas.microsoft.com/office/2017/10/relationships/threadedComment"
    path = related(
        saved(book, tmp_path / "a.xlsx"),
        "xl/worksheets/sheet1.xml",
        {"t1": (kind, "/xl/threadedComments/t.xml")},
        {"xl/threadedComments/t.xml": thread.encode()},
    )
    assert text(path).endswith("Comments:\n[A1] Is that so?\n[A1] It is.")


def test_a_comment_longer_than_a_part_is_read_to_its_end(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    words = " ".join(f"word{number}" for number in range(400))
    sheet_of(book)["A1"] = "Checked"
    sheet_of(book)["A1"].comment = Comment(words, "Ines")
    read = pages(saved(book, tmp_path / "a.xlsx"), ReadSettings(part_chars=1_000))
    assert set(words.split()) <= set(" ".join(page.text for page in read).split())


def test_pictures_in_sheets_are_read(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet_of(book).append(["a", "b"])
    files.picture("x").save(tmp_path / "p.png")
    sheet_of(book).add_image(Image(tmp_path / "p.png"), "D4")
    chart = BarChart()
    chart.add_data(Reference(sheet_of(book), min_col=1, min_row=1, max_row=2))
    sheet_of(book).add_chart(chart, "D20")
    assert "picture of 400 x 300" in text(saved(book, tmp_path / "a.xlsx"))


def test_a_workbook_of_more_cells_than_allowed_says_where_it_was_cut(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in range(60):
        sheet_of(book).append([row, row])
    grid = CellGrid("Counts")
    with zipfile.ZipFile(saved(book, tmp_path / "a.xlsx")) as archive:
        opened = open_book(archive)
        opened.cells_left = 49
        read_cells(opened, "xl/worksheets/sheet1.xml", grid)
    assert len(grid.rows) == 25
    assert [caveat.kind for caveat in grid.caveats] == [CaveatKind.CUT_SHORT] and "row 25" in grid.caveats[0].detail


def test_strict_workbooks_are_read(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet_of(book).append(["day", "sum"])
    sheet_of(book).append([datetime.date(2031, 3, 2), 41])
    assert "| 2031-03-02 | 41 |" in text(strict(saved(book, tmp_path / "a.xlsx")))


def test_dates_written_as_iso_8601(tmp_path: Path) -> None:
    book = openpyxl.Workbook(iso_dates=True)
    sheet_of(book).append(["day", "sum"])
    sheet_of(book).append([datetime.date(2031, 3, 2), 41])
    assert "| 2031-03-02 | 41 |" in text(saved(book, tmp_path / "a.xlsx"))


def test_a_damaged_comment_does_not_cost_the_cells(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet_of(book)["A1"] = "kept"
    sheet_of(book)["A1"].comment = Comment("lost", "Ines")
    path = rewritten(saved(book, tmp_path / "a.xlsx"), lambda name, xml: xml[:40] if "comments/" in name else xml)
    assert "kept" in text(path) and marks(path) == {CaveatKind.PARTS_SKIPPED: 1}


HTML = (
    "<html><body><table><tr><th>Part</th><th>Stock</th></tr><tr><td>Hawser</td><td>14</td></tr></table></body></html>"
)
XML = (
    '<?xml version="1.0"?><Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet"'
    ' xmlns:ss="urn:schemas-microsoft-com:office:spreadsheet">'
    '<Styles><Style ss:ID="z"><NumberFormat ss:Format="00000"/>'
    '</Style></Styles><Worksheet ss:Name="T"><Table><Row><Cell><Data ss:Type="String">Town</Data></Cell><Cell>'
    '<Data ss:Type="String">Code</Data></Cell></Row><Row><Cell'
    ' ss:MergeDown="1"><Data ss:Type="String">Ulm</Data></Cell>'
    '<Cell ss:StyleID="z"><Data ss:Type="Number">1067</Data></Cell></Row><Row><Cell ss:Index="2" ss:Formula="=R[-1]C">'
    "</Cell></Row></Table></Worksheet></Workbook>"
)


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (HTML.encode(), "| Hawser | 14 |"),
        (HTML.replace("<html><body>", "").encode(), "| Hawser | 14 |"),
        (("\ufeff" + HTML).encode("utf-16-le"), "| Hawser | 14 |"),
        (XML.encode(), "| Ulm | 01067 |\n| Ulm | =R[-1]C |"),
        (b"Part\tStock\nHawser\t14\nRope\t3\n", "| Hawser | 14 |"),
    ],
)
def test_exports_that_only_bear_the_name_of_a_workbook(tmp_path: Path, content: bytes, wanted: str) -> None:
    path = tmp_path / "a.xls"
    path.write_bytes(content)
    assert wanted in text(path) and marks(path)[CaveatKind.READ_AS] == 1


def test_a_newer_workbook_under_the_old_name_is_read(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet_of(book).append(["a", "b"])
    buffer = io.BytesIO()
    book.save(buffer)
    (tmp_path / "a.xls").write_bytes(buffer.getvalue())
    assert "| a | b |" in text(tmp_path / "a.xls") and marks(tmp_path / "a.xls") == {CaveatKind.READ_AS: 1}


def test_a_letter_under_the_name_of_a_workbook_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.xls").write_text("Dear all,\nnothing to count here.\n")
    with pytest.raises(Unreadable) as error:
        pages(tmp_path / "a.xls")
    assert error.value.reason is FailureReason.UNSUPPORTED


def test_xml_workbooks_that_declare_entities_are_bombs(tmp_path: Path) -> None:
    (tmp_path / "a.xls").write_text('<!DOCTYPE x [<!ENTITY a "ha">]>' + XML.removeprefix('<?xml version="1.0"?>'))
    with pytest.raises(Unreadable) as error:
        pages(tmp_path / "a.xls")
    assert error.value.reason is FailureReason.BOMB


def biff(*records: tuple[int, bytes]) -> bytes:
    return b"".join(struct.pack("<HH", kind, len(content)) + content for kind, content in records)


def formula(result: bytes, options: int = 0) -> tuple[int, bytes]:
    return 0x0006, struct.pack("<HHH8sH", 1, 0, 17, result, options) + b"\0" * 6


EMPTY, SEVEN = b"\x03\0\0\0\0\0\xff\xff", struct.pack("<d", 7.0)


@pytest.mark.parametrize(
    ("records", "count"),
    [
        ((formula(EMPTY), formula(EMPTY)), 2),
        ((formula(EMPTY), formula(SEVEN)), 0),  # `=""` is a value
        ((formula(EMPTY, 2), formula(SEVEN)), 1),
        ((formula(SEVEN), (0x0006, b"\0")), 0),
        ((), 0),
    ],
)
def test_old_formulas_that_nobody_has_calculated(records: tuple[tuple[int, bytes], ...], count: int) -> None:
    assert uncalculated_in(biff(*records)) == count
