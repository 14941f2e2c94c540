"""Parts of office files that are cut, missing or in another file: never left out without a word."""

import io
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import docx
import openpyxl
import pptx
import pytest
from openpyxl.chart import BarChart, Reference

from configs.sections import OcrSettings, ReadSettings
from pipelines.documents.document import CaveatKind
from pipelines.documents.extract.opened import ExtractionContext
from pipelines.documents.extract.sheets.workbook import open_xls, unread_objects_in
from tests.fakes import files
from tests.fakes.office import marks, pages, related, rewritten, text, word

CHART = "http://schemas.openxmlformats.org/drawingml/2006/chart"
IDS = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
SKIPPED = {CaveatKind.PARTS_SKIPPED: 1}
SLIDE, SHEET = "ppt/slides/slide1.xml", "xl/worksheets/sheet1.xml"


def series(points: int, name: str = "Tonnes", cells: str = "") -> str:
    values = "".join(f'<c:pt idx="{at}"><c:v>{at + 1}</c:v></c:pt>' for at in range(points))
    reference = f"<c:numRef><c:f>{cells}</c:f><c:numCache>{values}</c:numCache></c:numRef>" if cells else ""
    literal = reference or f"<c:numLit>{values}</c:numLit>"
    return f"<c:ser><c:tx><c:v>{name}</c:v></c:tx><c:val>{literal}</c:val></c:ser>"


def chart(*parts: str) -> bytes:
    return f'<c:chartSpace xmlns:c="{CHART}"><c:barChart>{"".join(parts)}</c:barChart></c:chartSpace>'.encode()


def charted(path: Path, xml: bytes) -> Path:
    return related(
        word(path, "<w:p/>"), "word/document.xml", {"c": ("chart", "charts/c.xml")}, {"word/charts/c.xml": xml}
    )


def book(path: Path) -> Path:
    made = openpyxl.Workbook()
    made["Sheet"].append(["Item", "Qty"])
    made["Sheet"].append(["Bolt", 7])
    made.save(path)
    return path


def book_with_chart(path: Path) -> Path:
    made = openpyxl.Workbook()
    made["Sheet"].append(["Qty"])
    made["Sheet"].append([7])
    bars = BarChart()
    bars.add_data(Reference(made["Sheet"], min_col=1, min_row=1, max_row=2), titles_from_data=True)
    made["Sheet"].add_chart(bars, "D4")
    made.save(path)
    return path


def deck(path: Path) -> Path:
    made: Any = pptx.Presentation()
    made.slides.add_slide(made.slide_layouts[5]).shapes.title.text = "Berths"
    made.save(str(path))
    return path


def letter(path: Path) -> Path:
    docx.Document().save(str(path))
    return path


def added(tag: str, element: str) -> Callable[[str, str], str]:
    """Put an element in front of the closing tag, wherever that stands."""
    return lambda name, xml: xml.replace(f"</{tag}>", f"{element}</{tag}>")


def caveats(path: Path) -> str:
    return "\n".join(caveat.detail for page in pages(path) for caveat in page.caveats)


def test_a_chart_within_the_limits_is_read_whole_and_says_nothing(tmp_path: Path) -> None:
    path = charted(tmp_path / "a.docx", chart(series(5_000)))
    assert "|  | 5000 |" in text(path) and marks(path) == {}


def test_points_and_series_that_a_chart_has_too_many_of_are_counted(tmp_path: Path) -> None:
    path = charted(tmp_path / "a.docx", chart(series(5_003), *[series(1, f"S{at}") for at in range(201)]))
    assert marks(path) == {CaveatKind.CUT_SHORT: 1}
    assert "2 further series and 3 further points of each are left out" in caveats(path)
    assert "| 5000 |" in text(path) and "| 5001 |" not in text(path)


def test_numbers_of_another_workbook_are_read_from_the_chart(tmp_path: Path) -> None:
    path = rewritten(
        book_with_chart(tmp_path / "a.xlsx"),
        lambda name, xml: chart(series(3, cells="[1]Plan!$A$1:$A$3")).decode() if "charts/chart" in name else xml,
    )
    assert "|  | Tonnes |\n| --- | --- |\n|  | 1 |" in text(path)


@pytest.mark.parametrize("kind", ["oleObject", "package", "drawing", "comments", "control"])
def test_parts_of_a_sheet_that_are_not_in_the_file_are_told(tmp_path: Path, kind: str) -> None:
    path = related(book(tmp_path / "a.xlsx"), SHEET, {"o": (kind, "../gone.bin")}, {})
    assert marks(path) == SKIPPED and "| Bolt | 7 |" in text(path)


@pytest.mark.parametrize(
    ("element", "told"),
    [
        (f'<drawing {IDS} r:id="none"/>', "drawing of sheet"),
        (
            f'<oleObjects {IDS}><oleObject progId="Word.Document" shapeId="9" r:id="none"/></oleObjects>',
            "oleObject of sheet",
        ),
        ('<oleObjects><oleObject progId="Word.Document" link="[1]!A" shapeId="9"/></oleObjects>', "linked objects"),
    ],
)
def test_objects_that_a_sheet_names_and_the_file_does_not_hold_are_told(
    tmp_path: Path, element: str, told: str
) -> None:
    path = rewritten(book(tmp_path / "a.xlsx"), lambda name, xml: xml.replace("</worksheet>", f"{element}</worksheet>"))
    assert marks(path) == SKIPPED and told in caveats(path)


def test_a_chart_that_a_drawing_names_and_the_file_does_not_hold_is_told(tmp_path: Path) -> None:
    path = rewritten(
        book_with_chart(tmp_path / "a.xlsx"),
        lambda name, xml: xml.replace("chart1.xml", "gone.xml") if "drawings/_rels" in name else xml,
    )
    assert marks(path) == SKIPPED
    path = rewritten(
        book_with_chart(tmp_path / "b.xlsx"),
        lambda name, xml: xml.replace('r:id="rId1"', 'r:id="none"') if "drawings/drawing" in name else xml,
    )
    assert marks(path) == SKIPPED


def test_a_sheet_whose_part_is_missing_is_told(tmp_path: Path) -> None:
    path = rewritten(
        book(tmp_path / "a.xlsx"),
        lambda name, xml: xml.replace("sheet1.xml", "gone.xml") if name.endswith("workbook.xml.rels") else xml,
    )
    assert marks(path) == SKIPPED


def test_a_chart_sheet_is_read(tmp_path: Path) -> None:
    made = openpyxl.Workbook()
    made["Sheet"].append(["Qty"])
    made["Sheet"].append([7])
    bars = BarChart()
    bars.title = "Cranes in service"
    bars.add_data(Reference(made["Sheet"], min_col=1, min_row=1, max_row=2), titles_from_data=True)
    made.create_chartsheet("Plot").add_chart(bars)
    made.save(tmp_path / "a.xlsx")
    assert "## Sheet: Plot\n\nChart: Cranes in service" in text(tmp_path / "a.xlsx")
    assert marks(tmp_path / "a.xlsx") == {}


def test_values_of_dde_links_are_read_as_their_cells_show_them(tmp_path: Path) -> None:
    cell = "<c r='A3'><f>[1]!'Rate'</f><v>{}</v></c></row></sheetData>"
    path = rewritten(
        book(tmp_path / "a.xlsx"), lambda name, xml: xml.replace("</row></sheetData>", cell.format("4.25"))
    )
    assert "| 4.25 |" in text(path) and marks(path) == {}
    path = rewritten(book(tmp_path / "b.xlsx"), lambda name, xml: xml.replace("</row></sheetData>", cell.format("")))
    assert marks(path) == {CaveatKind.FORMULAS_UNCALCULATED: 1}


@pytest.mark.parametrize("kind", ["oleObject", "package", "control", "chart", "diagramData", "notesSlide", "comments"])
def test_parts_of_a_slide_that_are_not_in_the_file_are_told(tmp_path: Path, kind: str) -> None:
    path = related(deck(tmp_path / "a.pptx"), SLIDE, {"o": (kind, "../gone.bin")}, {})
    assert marks(path) == SKIPPED and "# Berths" in text(path)


def test_parts_that_a_slide_names_by_unknown_ids_are_told(tmp_path: Path) -> None:
    frame = (
        "<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id='9' name='o'/></p:nvGraphicFramePr>"
        "<a:graphic><a:graphicData>{}</a:graphicData></a:graphic></p:graphicFrame>"
    )
    for at, element in enumerate((f"<p:oleObj {IDS} r:id='none'/>", f"<c:chart xmlns:c='{CHART}' {IDS} r:id='none'/>")):
        path = rewritten(deck(tmp_path / f"{at}.pptx"), added("p:spTree", frame.format(element)))
        assert marks(path) == SKIPPED


def test_linked_videos_are_told(tmp_path: Path) -> None:
    path = related(deck(tmp_path / "a.pptx"), SLIDE, {"v": ("video", "https://films.example/v")}, {})
    path = rewritten(path, lambda name, xml: xml.replace('films.example/v"', 'films.example/v" TargetMode="External"'))
    assert marks(path) == SKIPPED


@pytest.mark.parametrize("kind", ["footnotes", "comments", "header", "footer", "chart", "control", "oleObject"])
def test_parts_of_a_text_that_are_not_in_the_file_are_told(tmp_path: Path, kind: str) -> None:
    path = related(letter(tmp_path / "a.docx"), "word/document.xml", {"o": (kind, "gone.bin")}, {})
    assert marks(path) == SKIPPED


def test_two_objects_that_are_not_in_the_file_are_two(tmp_path: Path) -> None:
    shown = f"<w:p><w:r><w:object {IDS}><o:OLEObject xmlns:o='o' r:id='{{}}'/></w:object></w:r></w:p>"
    path = word(tmp_path / "a.docx", shown.format("n1") + shown.format("n2"))
    assert marks(path) == {CaveatKind.PARTS_SKIPPED: 2}


def test_what_people_wrote_over_a_chart_is_read(tmp_path: Path) -> None:
    run = "<p><r><t>{}</t></r></p>"
    labels = "".join(f"<c:dLbl><c:tx>{run.format(said)}</c:tx></c:dLbl>" for said in ("Peak of May", "[CELL RANGE]"))
    box = f"<c:userShapes xmlns:c='x'><sp><txBody>{run.format('Source: harbour office')}</txBody></sp></c:userShapes>"
    path = charted(tmp_path / "a.docx", chart(series(2), labels))
    shapes = {"word/drawings/d.xml": box.encode()}
    path = related(path, "word/charts/c.xml", {"d": ("chartUserShapes", "../drawings/d.xml")}, shapes)
    assert "Peak of May\n\nSource: harbour office" in text(path) and "RANGE" not in text(path)


def test_handwriting_is_told(tmp_path: Path) -> None:
    ink = f"<p:graphicFrame><p:contentPart {IDS} r:id='ink'/></p:graphicFrame>"
    path = related(
        deck(tmp_path / "a.pptx"), SLIDE, {"ink": ("customXml", "../ink/i.xml")}, {"ppt/ink/i.xml": b"<ink/>"}
    )
    assert marks(rewritten(path, added("p:spTree", ink))) == {CaveatKind.PICTURES_UNREAD: 1}
    drawing = {"xl/drawings/d.xml": b"<w><a><x:contentPart xmlns:x='x'/></a></w>"}
    path = related(book(tmp_path / "a.xlsx"), SHEET, {"d": ("drawing", "../drawings/d.xml")}, drawing)
    assert marks(path) == {CaveatKind.PICTURES_UNREAD: 1}


def test_a_workbook_without_its_formats_says_so(tmp_path: Path) -> None:
    path = rewritten(
        book(tmp_path / "a.xlsx"),
        lambda name, xml: xml.replace("styles.xml", "gone.xml") if name.endswith("workbook.xml.rels") else xml,
    )
    assert marks(path) == SKIPPED and "| Bolt | 7 |" in text(path)


def object_record(kind: int) -> tuple[int, bytes]:
    return 0x005D, struct.pack("<HHHH", 0x15, 0x12, kind, 1) + bytes(14)


def text_record(length: int) -> tuple[int, bytes]:
    return 0x01B6, bytes(10) + struct.pack("<H", length) + bytes(6)


@pytest.mark.parametrize(
    ("records", "count"),
    [
        ((object_record(0x06), text_record(9)), 1),
        ((object_record(0x06), text_record(0)), 0),
        ((object_record(0x19), text_record(9)), 0),  # a comment, which is read
        ((object_record(0x0B), text_record(9)), 1),  # a box to tick with its label
        ((object_record(0x14),), 0),  # the arrow of a filter
        (((0x0809, struct.pack("<HH", 0x600, 0x20)),), 1),  # a chart
        (((0x0809, struct.pack("<HH", 0x600, 0x10)), (0x005D, b""), (0x01B6, b"")), 0),
    ],
)
def test_objects_of_old_workbooks_are_counted(records: tuple[tuple[int, bytes], ...], count: int) -> None:
    assert unread_objects_in(biff(*records)) == count


def biff(*records: tuple[int, bytes]) -> bytes:
    return b"".join(struct.pack("<HH", kind, len(content)) + content for kind, content in records)


def test_objects_of_old_workbooks_are_told() -> None:
    def begin(kind: int) -> tuple[int, bytes]:
        return 0x0809, struct.pack("<HHHHII", 0x600, kind, 0, 0x07CC, 0, 6)

    end = (0x000A, b"")
    name = b"\0\0\x05\0Stock"
    place = len(biff(begin(0x05), (0x0085, bytes(4) + name), end))
    sheet = (begin(0x10), object_record(0x06), text_record(9), (0x003C, b"\0Mind step"), end)
    listed = (0x0085, struct.pack("<I", place) + name)
    context = ExtractionContext(ReadSettings(), OcrSettings(), files.transcriber(OcrSettings()))
    page = open_xls(io.BytesIO(biff(begin(0x05), listed, end, *sheet)), context).page(1)
    assert page.text == "## Sheet: Stock" and [one.kind for one in page.caveats] == [CaveatKind.PARTS_SKIPPED]
