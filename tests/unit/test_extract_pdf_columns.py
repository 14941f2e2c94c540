"""Tables without rules, columns of prose and double spacing in a PDF."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from configs.sections import OcrSettings, ReadSettings
from pipelines.documents.document import CaveatKind, Page
from pipelines.documents.extract.extraction_worker import ExtractionWorker
from tests.fakes import files
from tests.fakes.files import Transcriber

Sheet = Any
Rows = Sequence[Sequence[str]]
FULL = [
    ["Item", "Qty", "Price", "Sum"],
    ["Hawser 40 mm", "12", "3.50", "42.00"],
    ["Shackle", "220", "1.20", "264.00"],
    ["Fender, used", "4", "85.00", "340.00"],
]
SPARSE = [
    ["Part", "Expected", "Found", "Variance"],
    ["Hawser", "450", "", ""],
    ["Fender", "", "289", "-23"],
    ["Anchor", "780", "", "+15"],
    ["Lamp", "", "", "-24"],
]


def table(rows: Rows, xs: Sequence[float], right: bool = False, by_column: bool = False) -> Callable[[Sheet], None]:
    cells = [(row, column, text) for row, line in enumerate(rows) for column, text in enumerate(line) if text]
    if by_column:
        cells.sort(key=lambda cell: (cell[1], cell[0]))

    def draw(sheet: Sheet) -> None:
        sheet.setFont("Helvetica", 10)
        sheet.drawString(20, 560, "The table below lists what was counted in the warehouse.")
        for row, column, text in cells:
            put = sheet.drawRightString if right and column else sheet.drawString
            put(xs[column], 520 - 16 * row, text)
        sheet.drawString(20, 500 - 16 * len(rows), "After the table the text goes on as before.")

    return draw


def markdown(rows: Rows) -> str:
    head, *body = ["| " + " | ".join(cell for cell in row) + " |" for row in rows]
    lines = [head, "|" + " --- |" * len(rows[0]), *body]
    return "\n".join(" ".join(line.split()) for line in lines)


def read(path: Path, draw: Callable[[Sheet], None]) -> Page:
    desk = ExtractionWorker(ReadSettings(), OcrSettings(), lambda _: Transcriber())
    kind, _ = desk.survey(files.pdf(path / "a.pdf", draw), None)
    page = desk.page(path / "a.pdf", kind, 1)
    assert all(page.text[word.start : word.start + len(word.text)] == word.text for word in page.words)
    return page


@pytest.mark.parametrize("rows", [FULL, SPARSE], ids=["full", "sparse"])
@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("by_column", [False, True])
def test_a_table_without_rules_keeps_its_rows_and_its_empty_cells(
    tmp_path: Path, rows: Rows, right: bool, by_column: bool
) -> None:
    xs = [20, 190, 270, 360] if right else [20, 140, 220, 300]
    page = read(tmp_path, table(rows, xs, right, by_column))
    assert f"\n\n{markdown(rows)}\n\nAfter the table" in page.text and not page.caveats


def test_where_a_figure_has_no_head_the_table_is_marked(tmp_path: Path) -> None:
    rows = [
        ["Part", "Expected", "", "Found"],
        ["Hawser", "450", "17", "3"],
        ["Fender", "20", "18", "4"],
        ["Lamp", "7", "19", "5"],
    ]
    page = read(tmp_path, table(rows, [20, 140, 220, 300]))
    assert [caveat.kind for caveat in page.caveats] == [CaveatKind.TABLE_UNSURE]


def test_a_head_that_stands_beside_its_figures_is_theirs(tmp_path: Path) -> None:
    rows = [["Part", "Found", "", ""], ["Hawser", "", "", "450"], ["Fender", "", "", "20"], ["Lamp", "", "", "7"]]
    page = read(tmp_path, table(rows, [20, 140, 220, 300]))
    assert "| Part | Found |" in page.text and "| Hawser | 450 |" in page.text and not page.caveats


LEFT = (
    "The harbour of Hestnes was founded",
    "in the year 1744 by a merchant who",
    "came from the south with two ships",
    "and a crew of forty men, of whom",
    "only a few stayed for the winter",
    "that followed the first summer.",
)
RIGHT = (
    "The northern quay was added later,",
    "when the fishing fleet had grown to",
    "more than sixty boats, and a crane",
    "of oak was put up at its far end,",
    "which stood until the great storm",
    "of the year 1881 took it away.",
)


@pytest.mark.parametrize("mixed", [True, False])
def test_columns_of_prose_are_read_one_after_the_other(tmp_path: Path, mixed: bool) -> None:
    lines = [(side, row, text) for side, column in ((20, LEFT), (220, RIGHT)) for row, text in enumerate(column)]
    if mixed:
        lines.sort(key=lambda line: (line[1], line[0]))

    def draw(sheet: Sheet) -> None:
        sheet.setFont("Times-Roman", 10)
        for x, row, text in lines:
            sheet.drawString(x, 550 - 13 * row, text)

    assert " ".join(read(tmp_path, draw).text.split()) == " ".join((*LEFT, *RIGHT))


def test_lists_and_contents_are_no_tables(tmp_path: Path) -> None:
    def draw(sheet: Sheet) -> None:
        for row, text in enumerate(("Take the key", "Open the valve", "Start the pump", "Wait")):
            sheet.drawString(40, 550 - 16 * row, f"{row + 1}.")
            sheet.drawString(70, 550 - 16 * row, text)
        for row in range(4):
            sheet.drawString(40, 400 - 16 * row, f"Chapter {row} ...................")
            sheet.drawString(340, 400 - 16 * row, str(7 * row + 1))

    assert "|" not in read(tmp_path, draw).text


def test_lines_set_with_double_spacing_are_one_paragraph(tmp_path: Path) -> None:
    words = (
        "The conveyor in the tank farm has been certified for another year by",
        "the crew that came from the east hall, which has its own filters and a",
        "panel that is inspected in each of the months when the boiler is not in",
        "use, and a crane that is lifted out of the way when the dock is full at",
    )

    def draw(sheet: Sheet) -> None:
        sheet.setFont("Helvetica", 11)
        for row, line in enumerate(words * 2):
            sheet.drawString(20, 560 - 30 * row - (40 if row > 3 else 0), line)

    paragraphs = read(tmp_path, draw).text.split("\n\n")
    assert [len(paragraph.splitlines()) for paragraph in paragraphs] == [4, 4]
