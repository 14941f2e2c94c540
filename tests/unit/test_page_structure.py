"""Structure of scanned and drawn pages: rules, tables of scans, rows between column rules, and what overload costs."""

import time
import tracemalloc
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pypdfium2 as pdfium
import pypdfium2.raw as raw
import pytest
from PIL import Image, ImageDraw, ImageFont

from pipelines.documents.document import Box, Page, Word
from pipelines.documents.extract.pdf.merge import as_tokens, insert_tokens
from pipelines.documents.extract.pdf.shapes import straight_lines
from pipelines.documents.facts.find_facts import find_facts, find_tables
from pipelines.documents.layout.column_tables import find_columns
from pipelines.documents.layout.page_tokens import PageToken, compose_text
from pipelines.documents.layout.reading_order import LinePiece, column_blocks
from pipelines.documents.layout.row_bands import divided_bands
from pipelines.documents.layout.ruled_grids import RuleLine, grids_of_lines
from pipelines.documents.layout.table_grids import place_tables
from pipelines.documents.layout.table_heads import lacks_head
from pipelines.documents.layout.text_rows import is_figure
from pipelines.documents.ocr.page_layout import page_slope, with_tables
from pipelines.documents.ocr.preprocess import needs_whitening, prepare_page, unrepaired_page, whiten_paper
from pipelines.documents.ocr.reading import OcrToken, Picture, PixelArea, TextLine, inked_lines
from pipelines.documents.ocr.ruling_lines import find_rules
from tests.evals.cases.drawn import FONTS

ROWS = (
    ("Article", "Stock", "Price"),
    ("Hawser", "12", "3.50"),
    ("Shackle", "220", "1.20"),
    ("Fender", "4", "85.00"),
    ("Anchor", "7", "410.00"),
)
SIZE, STEP, TOP = 20.0, 40.0, 100.0
XS = (80.0, 320.0, 480.0)


def word(text: str, x: float, y: float, lean: float = 0.0) -> OcrToken:
    y += lean * x
    return OcrToken(text, PixelArea(x - lean * y, y, x - lean * y + 11 * len(text), y + SIZE), 0.95)


def table_lines(rows: Sequence[Sequence[str]] = ROWS, lean: float = 0.0) -> list[TextLine]:
    return [
        TextLine(tuple(word(text, x, TOP + STEP * at, lean) for x, text in zip(XS, row, strict=True) if text))
        for at, row in enumerate(rows)
    ]


def white(width: int = 800, height: int = 1000) -> Picture:
    return np.full((height, width), 255, np.uint8)


def ruled_picture(skew: float = 0.0, letter: bool = True) -> Picture:
    image = Image.new("L", (800, 1000), 255)
    draw = ImageDraw.Draw(image)
    for at in range(len(ROWS) + 1):
        draw.line((60, 90 + STEP * at, 620, 90 + STEP * at), fill=0, width=2)
    for x in (60, 300, 460, 620):
        draw.line((x, 90, x, 90 + STEP * len(ROWS)), fill=0, width=2)
    if letter:
        font = ImageFont.truetype(str(FONTS / "DejaVuSans.ttf"), 24)
        for at, row in enumerate(ROWS):
            for x, text in zip(XS, row, strict=True):
                draw.text((x, TOP + STEP * at), text, fill=0, font=font)
    return np.asarray(image.rotate(skew, fillcolor=255), dtype=np.uint8)


def markdown(tokens: Sequence[PageToken]) -> str:
    return compose_text(tokens)[0]


@pytest.mark.parametrize("lean", [0.0, 0.012, -0.012])
def test_words_of_a_scan_that_stand_under_each_other_are_a_table(lean: float) -> None:
    text = markdown(with_tables(table_lines(lean=lean), unrepaired_page(white(), 200)))
    assert text.splitlines()[0] == "| Article | Stock | Price |" and "| Anchor | 7 | 410.00 |" in text
    assert page_slope(table_lines(lean=lean), 800) == pytest.approx(lean, abs=0.002)


def test_a_pair_of_columns_on_a_receipt_stays_lines() -> None:
    lines = [TextLine((line.tokens[0], line.tokens[2])) for line in table_lines()]
    assert "|" not in markdown(with_tables(lines, unrepaired_page(white(), 200)))


def test_a_scanned_table_without_a_head_keeps_its_first_row() -> None:
    rows = (("2", "Milk", "2.18"), ("1", "Bread", "3.20"), ("6", "Eggs", "1.95"), ("1", "Rice", "0.99"))
    text, words = compose_text(with_tables(table_lines(rows), unrepaired_page(white(), 200)))
    (table,) = find_tables(Page(1, text, words))
    assert [row.cells for row in table.rows] == list(rows) and not any(table.columns)


@pytest.mark.parametrize(
    ("head", "below", "lacks"),
    [
        (("2", "Milk", "2.18"), ("1", "Bread", "3.20"), True),
        (("Milk", "£2.18"), ("Bread", "£3.20"), True),
        (("Item", "2023", "2024/25"), ("Rent", "1200", "1300"), False),
        (("Item", "-", "n/a"), ("Rent", "1", "2"), False),
        (("Team", "1", "2", "3"), ("Reds", "4", "0", "2"), False),
        (("Size", "36", "38", "40"), ("Stock", "4", "0", "2"), False),
        (("Parcel", "5 kg", "10 kg"), ("Abroad", "12.50", "19.00"), False),
        (("Item", "Price"), ("Rent", "12"), False),
        (("", ""), ("Rent", "12"), False),
    ],
)
def test_a_head_is_told_from_a_first_row_of_data(head: Sequence[str], below: Sequence[str], lacks: bool) -> None:
    assert lacks_head([head, below]) is lacks


def test_fields_side_by_side_on_a_scan_stay_fields() -> None:
    rows = (("Name: Smith", "Born: 1990", "Sex: F"), ("Town: Ely", "Tel: 1234", "Job: Cook"))
    lines = [
        TextLine(tuple(word(part, x + at, TOP + STEP * n) for x, text in places for part, at in parts_of(text)))
        for n, row in enumerate((*rows, *rows))
        for places in [tuple(zip(XS, row, strict=True))]
    ]
    text, words = compose_text(with_tables(lines, unrepaired_page(white(), 200)))
    fields = [(one.label, one.value) for one in find_facts(text, words)]
    assert "|" not in text and fields[:3] == [("Name", "Smith"), ("Born", "1990"), ("Sex", "F")] and len(fields) == 12


def parts_of(text: str) -> list[tuple[str, float]]:
    first, second = text.split()
    return [(first, 0.0), (second, 11.0 * len(first) + 8)]


def test_a_long_run_of_digits_is_no_figure_and_costs_nothing() -> None:
    began = time.process_time()
    assert not is_figure("1" * 50_000 + "!") and not is_figure("1" * 41) and is_figure("12,345.60 EUR")
    assert bounded(1, began)


def test_an_unsure_reading_gets_no_structure() -> None:
    lines = [TextLine(tuple(replace(one, confidence=0.3) for one in line.tokens)) for line in table_lines()]
    assert "|" not in markdown(with_tables(lines, unrepaired_page(white(), 200)))


@pytest.mark.parametrize("skew", [0.0, 0.7, -0.7])
def test_rules_are_found_and_painted_over_and_letters_stay(skew: float) -> None:
    found = find_rules(ruled_picture(skew), 20.0)
    assert found is not None
    levels = [line for line in found.lines if line.level]
    assert (len(levels), len(found.lines) - len(levels)) == (6, 4)
    letters_only = 255 - ruled_picture(skew).astype(int) - (255 - ruled_picture(skew, letter=False).astype(int))
    kept = (255 - found.image.astype(int))[letters_only > 128]
    assert kept.size and (kept > 128).mean() > 0.97
    rules = (255 - ruled_picture(skew, letter=False).astype(int)) > 128
    assert (found.image[rules] < 128).mean() < 0.02


def test_a_ruled_scan_is_a_table_by_its_rules() -> None:
    page = prepare_page(ruled_picture(), 200)
    assert "rules" in page.steps
    sparse = (ROWS[0], *((name, "", price) for name, _, price in ROWS[1:]))
    text = markdown(with_tables(table_lines(sparse), page))
    assert "| Hawser | | 3.50 |" in text


def test_text_without_rules_and_large_letters_are_left_alone() -> None:
    image = Image.new("L", (900, 500), 255)
    draw = ImageDraw.Draw(image)
    font = ImageFont.truetype(str(FONTS / "DejaVuSans-Bold.ttf"), 90)
    draw.text((40, 40), "HELTEI", fill=0, font=font)
    assert find_rules(np.asarray(image), 16.0) is None


def test_grain_and_light_shades_become_white_and_faint_ink_stays() -> None:
    rng = np.random.default_rng(1)
    page = np.clip(rng.normal(240, 5, (400, 400)), 0, 255)
    page[100:200, 100:110], page[250:300] = 20.0, np.clip(rng.normal(215, 5, (50, 400)), 0, 255)
    levels = needs_whitening(page.astype(np.uint8))
    assert levels is not None
    clean = whiten_paper(page.astype(np.uint8), levels)
    assert (clean[260:290, 200:] == 255).mean() > 0.99 and clean[150, 105] < 20
    page[100:200, 100:110] = 170
    assert needs_whitening(page.astype(np.uint8)) is None
    assert needs_whitening(np.where(page < 100, 0, 255).astype(np.uint8)) is None


def test_signs_that_an_engine_sees_where_no_ink_is_are_dropped() -> None:
    image = white()
    image[100:120, 300:310] = 0
    line = TextLine((word("=", 200, 100), word("-", 298, 100), word("Ink", 400, 100)))
    assert [one.text for one in inked_lines([line], image)] == ["- Ink"]
    assert inked_lines([TextLine((word("~", 200, 100),))], image) == ()
    assert inked_lines([line], np.zeros((0, 0), np.uint8))[0].text == "Ink"


def tokens_of(rows: Sequence[tuple[float, Sequence[tuple[float, str]]]]) -> list[PageToken]:
    """Words at (x, y) in points of a page 600 by 800."""
    return [
        PageToken(part, Box(left / 600, y / 800, (left + 5 * len(part)) / 600, (y + 8) / 800), "\n" if at == 0 else " ")
        for y, cells in rows
        for at, (left, part) in enumerate(
            (x + 5 * len(" ".join(text.split()[:n])) + (3 if n else 0), one)
            for x, text in cells
            for n, one in enumerate(text.split())
        )
    ]


def test_heads_over_several_columns_and_cells_of_several_lines_keep_their_places() -> None:
    rows: list[tuple[float, Sequence[tuple[float, str]]]] = [
        (100, [(225, "2023"), (345, "2024")]),
        (116, [(50, "Item"), (200, "Plan"), (260, "Actual"), (320, "Plan"), (380, "Actual")]),
        (132, [(50, "Rent of the"), (200, "1,200"), (260, "1,180"), (320, "1,250"), (380, "1,230")]),
        (142, [(50, "workshop")]),
        (158, [(50, "Water"), (200, "300"), (260, "310"), (320, "320"), (380, "290")]),
        (174, [(50, "Travel"), (200, "90"), (260, "75"), (320, "80"), (380, "60")]),
        (190, [(50, "Total"), (200, "1,590"), (260, "1,565"), (320, "1,650"), (380, "1,580")]),
    ]
    tokens = tokens_of(rows)
    grids, unsure = find_columns(tokens, [], 800 / 600)
    text = markdown(place_tables(tokens, grids)).strip().splitlines()
    assert "| Item | Plan | Actual | Plan | Actual |" in text and not unsure
    assert "| Rent of the workshop | 1,200 | 1,180 | 1,250 | 1,230 |" in text
    years = [cell.strip() for cell in text[0].strip("|").split("|")]
    assert years[1:3].count("2023") == 1 and years[3:5].count("2024") == 1 and not years[0]


def test_a_last_cell_of_three_lines_keeps_them() -> None:
    rows: list[tuple[float, Sequence[tuple[float, str]]]] = [(100, [(50, "No."), (100, "Work"), (260, "Cost")])]
    rows += [(100 + 20 * n, [(50, f"{n}"), (100, f"Task {n}"), (260, f"{n}20.00")]) for n in range(1, 5)]
    rows += [(190, [(100, "in the")]), (200, [(100, "north wing")])]
    tokens = tokens_of(rows)
    grids, _ = find_columns(tokens, [], 800 / 600)
    assert "| 4 | Task 4 in the north wing | 420.00 |" in markdown(place_tables(tokens, grids))


def grid_lines(rows: int, columns: int, width: float = 500, height: float = 700) -> list[RuleLine]:
    levels = [RuleLine(50, 50 + height * at / rows, 50 + width, 50 + height * at / rows) for at in range(rows + 1)]
    uprights = [
        RuleLine(50 + width * at / columns, 50, 50 + width * at / columns, 50 + height) for at in range(columns + 1)
    ]
    return [*levels, *uprights]


def test_rows_between_column_rules_are_rows_and_lines_of_prose_there_are_none() -> None:
    lines = [RuleLine(x, 90, x, 300) for x in (40, 190, 290, 400)] + [RuleLine(40, y, 400, y) for y in (90, 112, 300)]
    rows = [(95.0, [(50.0, "Item"), (200.0, "Stock"), (300.0, "Price")])]
    rows += [(120.0 + 20 * n, [(50.0, f"Part {n}"), (200.0, f"{n}20"), (300.0, f"{n}.50")]) for n in range(1, 8)]
    tokens = tokens_of(rows)
    (grid,) = divided_bands(grids_of_lines(lines, 600, 800), tokens, 800 / 600)
    assert len(grid.rows) == 8 and "| Part 3 | 320 | 3.50 |" in markdown(place_tables(tokens, [grid]))
    prose = tokens_of(
        [(95.0, [(50.0, "Item"), (200.0, "Text")])]
        + [(120.0 + 11 * n, [(50.0, "a long line of words in it"), (200.0, "and more words here")]) for n in range(8)]
    )
    (same,) = divided_bands(grids_of_lines(lines, 600, 800), prose, 800 / 600)
    assert len(same.rows) == 2


def test_a_table_that_ocr_read_stays_one_among_the_words_of_a_page() -> None:
    text = "| a | b |\n| --- | --- |\n| c | |"
    words = tuple(Word(text[at], at, Box(0.1, 0.1, 0.2, 0.2)) for at in (2, 6, text.index("c")))
    tokens = as_tokens(Page(1, text, words), Box(0, 0, 1, 1))
    made, placed = compose_text(tokens)
    assert made == text and [made[one.start] for one in placed] == ["a", "b", "c"]


def test_own_words_of_a_page_are_put_before_a_table_that_ocr_read_and_not_into_it() -> None:
    rows = (("Article", "Stock", "Price"), ("Hawser", "12", "3.50"), ("Shackle", "220", "1.20"))
    read = with_tables(table_lines((*rows, *ROWS[3:])), unrepaired_page(white(), 200))
    own = [PageToken(text, Box(0.1, y, 0.3, y + 0.01), "\n") for text, y in (("Copy", 0.125), ("Paid", 0.165))]
    text, words = compose_text(insert_tokens(own, read, Box(0, 0, 1, 1), leading=True))
    (table,) = find_tables(Page(1, text, words))
    assert table.columns == rows[0] and len(table.rows) == 4
    assert [line for line in text.splitlines() if line and "|" not in line] == ["Copy", "Paid"]


def bounded(seconds: float, began: float) -> bool:
    """Generous: what is meant are minutes, not milliseconds."""
    return time.process_time() - began < seconds


def test_a_table_of_thousands_of_cells_is_placed_in_seconds() -> None:
    began = time.process_time()
    (grid,) = grids_of_lines(grid_lines(500, 60, 2_500, 5_000), 2_600, 5_200)
    assert len(grid.rows) == 500 and len(grid.rows[0]) == 60
    boxes = [box for row in grid.rows for box in row if box]
    tokens = [PageToken("7", box, " ") for box in boxes]
    text = markdown(place_tables(tokens, [grid]))
    assert text.count("7") == 30_000 and bounded(20, began)


def test_thousands_of_lines_that_are_no_table_cost_little() -> None:
    began = time.process_time()
    rng = np.random.default_rng(2)
    ends = rng.uniform(0, 600, (5_000, 3))
    lines = [
        RuleLine(a, b, a + c / 3, b) if at % 2 else RuleLine(a, b, a, b + c / 3)
        for at, (a, b, c) in enumerate(ends.tolist())
    ]
    grids_of_lines(lines, 600, 800)
    grids_of_lines(lines[:1_400], 600, 800)
    assert bounded(20, began)


def test_a_page_of_twenty_thousand_words_is_looked_through_in_seconds() -> None:
    began = time.process_time()
    tokens = [
        PageToken(f"{n}", Box(x / 100, y / 200, (x + 0.6) / 100, (y + 0.5) / 200), " ")
        for n, (y, x) in enumerate((y, x) for y in range(200) for x in range(100))
    ]
    find_columns(tokens, [], 1.4)
    pieces = [LinePiece(n, Box(n % 7, n, n % 7 + 3, n + 1), 4) for n in range(20_000)]
    assert sum(map(len, column_blocks(pieces))) == 20_000
    assert bounded(30, began)


def test_a_drawing_of_a_hundred_thousand_strokes_is_not_held_in_memory() -> None:
    path = raw.FPDFPageObj_CreateNewPath(0, 0)
    for at in range(100_000):
        raw.FPDFPath_LineTo(path, at % 500, at % 700)
    raw.FPDFPath_SetDrawMode(path, raw.FPDF_FILLMODE_NONE, True)
    tracemalloc.start()
    try:
        assert straight_lines([pdfium.PdfObject(path)]) == ([], [])
        assert tracemalloc.get_traced_memory()[1] < 12_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", ["noise", "black", "stripes", "tiny", "empty"])
def test_a_picture_of_garbage_has_no_table(kind: str) -> None:
    rng = np.random.default_rng(3)
    pictures: dict[str, Picture] = {
        "noise": rng.integers(0, 256, (1500, 1200)).astype(np.uint8),
        "black": np.zeros((900, 700), np.uint8),
        "stripes": np.where(np.arange(1200)[:, None] % 6 < 3, 0, 255).astype(np.uint8).repeat(900, axis=1),
        "tiny": np.full((3, 2), 200, np.uint8),
        "empty": white(40, 1),
    }
    began = time.process_time()
    page = prepare_page(pictures[kind], 200)
    assert page.image.shape and "|" not in markdown(with_tables([], page)) and bounded(20, began)
