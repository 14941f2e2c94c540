"""Titles of a PDF, told by their type, lead to chunks that know their section."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from configs.sections import ChunkSettings, OcrSettings, ReadSettings
from pipelines.documents.chunk import headings
from pipelines.documents.chunk.split import split_pages
from pipelines.documents.document import Box, Page
from pipelines.documents.extract.extraction_worker import ExtractionWorker
from pipelines.documents.extract.pdf.titles import mark_titles
from pipelines.documents.layout.page_tokens import PageToken
from tests.fakes import files
from tests.fakes.files import Transcriber

Sheet = Any
PLAIN, BOLD = "Helvetica", "Helvetica-Bold"
PROSE = (
    "The pump in the northern hall is serviced every nineteen weeks, and its",
    "bearing is greased with what its maker recommends, as was said before.",
)


def set_in(*lines: tuple[str, float, float, str]) -> Callable[[Sheet], None]:
    """Draws lines, each as font, size, distance from the top of the page, and text."""

    def draw(sheet: Sheet) -> None:
        for font, size, down, text in lines:
            sheet.setFont(font, size)
            sheet.drawString(20, 580 - down, text)

    return draw


def prose(down: float) -> list[tuple[str, float, float, str]]:
    return [(PLAIN, 10, down + 12 * at, line) for at, line in enumerate(PROSE)]


def read(path: Path, draw: Callable[[Sheet], None]) -> Page:
    desk = ExtractionWorker(ReadSettings(), OcrSettings(), lambda _: Transcriber())
    kind, _ = desk.survey(files.pdf(path / "a.pdf", draw), None)
    return desk.page(path / "a.pdf", kind, 1)


def titles(page: Page) -> list[str]:
    return [line for line in page.text.splitlines() if line.startswith("#")]


def test_larger_lines_are_titles_by_how_much_larger_they_are(tmp_path: Path) -> None:
    """IN-03, CH-01: chunks begin at them; words stand where they say, and marks are no words."""
    draw = set_in(
        (BOLD, 18, 20, "Halls of the north"),
        *prose(50),
        (BOLD, 14, 110, "Pumps"),
        *prose(130),
        (PLAIN, 12, 190, "Bearings of pumps"),
        *prose(210),
    )
    page = read(tmp_path, draw)
    assert titles(page) == ["# Halls of the north", "## Pumps", "### Bearings of pumps"]
    assert all(page.text[word.start : word.start + len(word.text)] == word.text for word in page.words)
    assert "".join(word.text for word in page.words) == page.text.replace("#", "").replace(" ", "").replace("\n", "")
    chunks = split_pages([page], ChunkSettings())
    assert [chunk.headings for chunk in chunks][-1] == ("Halls of the north", "Pumps", "Bearings of pumps")


def test_a_bold_line_is_a_title_only_where_it_stands_alone(tmp_path: Path) -> None:
    draw = set_in(
        (BOLD, 10, 20, "Bearings of pumps"),
        *prose(50),
        (BOLD, 10, 74, "Never mix greases"),
        *prose(86),
        (BOLD, 10, 140, "This is a sentence in bold type."),
        *prose(170),
    )
    assert titles(read(tmp_path, draw)) == ["#### Bearings of pumps"]


def test_a_title_over_two_lines_is_one(tmp_path: Path) -> None:
    draw = set_in((BOLD, 16, 20, "What is done in the halls"), (BOLD, 16, 38, "of the north"), *prose(70), *prose(100))
    assert titles(read(tmp_path, draw)) == ["## What is done in the halls of the north"]


def test_where_every_line_has_another_size_none_is_a_title(tmp_path: Path) -> None:
    """As in what scanners write behind their pictures."""
    guessed = [(PLAIN, 7 + 1.5 * at, 30 + 40 * at, f"What a scanner believes to read {at}") for at in range(7)]
    assert titles(read(tmp_path, set_in(*guessed))) == []
    few_alike = [(PLAIN, 10, 30 + 30 * at, f"What a scanner takes for {at}") for at in range(4)]
    sizes = (5, 6, 7, 8, 9, 9.5, 12, 14, 16)
    others = [(PLAIN, size, 200 + 30 * at, f"What a scanner takes for {at}") for at, size in enumerate(sizes)]
    assert titles(read(tmp_path, set_in(*few_alike, *others))) == []


def test_what_ocr_wrote_behind_a_picture_makes_none(tmp_path: Path) -> None:
    def draw(sheet: Sheet) -> None:
        set_in(*prose(20), *prose(60), *prose(100))(sheet)
        hidden = sheet.beginText(20, 400)
        hidden.setTextRenderMode(3)
        hidden.setFont(PLAIN, 16)
        hidden.textLine("What it guessed too large")
        sheet.drawText(hidden)

    page = read(tmp_path, draw)
    assert "What it guessed too large" in page.text and titles(page) == []


def test_type_is_as_large_as_it_is_set_whatever_its_font_and_however_it_is_turned(tmp_path: Path) -> None:
    """Boxes of characters tell something else: a turned line's are as high as its letters are wide."""
    lines = [("Courier", 10, 20 + 12 * at, f"Prose of a typewriter, line {at}") for at in range(9)]
    others = [(PLAIN, 10, 140, "Helvetica among it"), ("Times-Roman", 10, 170, "And Times among it")]
    assert titles(read(tmp_path, set_in(*lines, *others))) == []

    def turned(sheet: Sheet) -> None:
        sheet.setPageRotation(90)
        sheet.rotate(90)
        sheet.translate(0, -600)
        set_in(*prose(60), *prose(100), (PLAIN, 10, 150, "Total Revenue"), *prose(180), *prose(270))(sheet)
        sheet.scale(1.5, 1.5)
        sheet.setFont(BOLD, 10)
        sheet.drawString(20, 230, "Cash Flow")

    assert titles(read(tmp_path, turned)) == ["## Cash Flow"]


def test_large_type_alone_makes_no_title(tmp_path: Path) -> None:
    """Not a sentence, not a number, not a lead of many lines, and nothing on a poster."""
    lead = [(PLAIN, 14, 20 + 20 * at, "A lead in large type goes on and on over lines") for at in range(4)]
    draw = set_in(
        *lead,
        *prose(120),
        (BOLD, 14, 150, "1,204.50"),
        *prose(180),
        (BOLD, 14, 220, "It ends here."),
        *prose(250),
        *prose(290),
        *prose(330),
    )
    assert titles(read(tmp_path, draw)) == []
    poster = set_in(
        (BOLD, 40, 60, "Summer fair"),
        (BOLD, 30, 140, "Harrow Mill"),
        (BOLD, 24, 180, "Music, cakes and a lake"),
        (PLAIN, 10, 240, "Doors open at ten, by the old gate"),
    )
    assert titles(read(tmp_path, poster)) == []


def test_sentences_in_large_type_are_no_titles_wherever_their_lines_end(tmp_path: Path) -> None:
    lead = (
        "It was decided by the council of the county,",
        "after a night of talks.",
        "The new contract begins in March and it",
        "ends in December of the same year.",
    )
    draw = set_in(
        *[(PLAIN, 14, 20 + 17 * at, line) for at, line in enumerate(lead)],
        *prose(120),
        *prose(160),
        *prose(200),
        *prose(240),
        *prose(280),
    )
    assert titles(read(tmp_path, draw)) == []


def line(text: str, size: float) -> list[PageToken]:
    words = text.split(" ")
    return [PageToken(word, Box(0, 0, 0.1, 0.1), " " if at else "\n\n", size) for at, word in enumerate(words)]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("The new hall", True),
        ("“The new hall” of Harrow", True),
        ("What is it?", True),
        ("Pumps.", False),
        ("It ended badly for the mill.”", False),
        ("これは大きな文字の文です。", False),
        ("هذه جملة كاملة بخط كبير،", False),
        ("x" * 115, True),
        ("x" * 116, False),
        ("14", False),
        ("1,204.50 EUR", False),
    ],
)
def test_a_title_is_short_and_no_sentence_in_any_script(text: str, title: bool) -> None:
    page = "".join(token.gap + token.text for token in mark_titles([*line(text, 15), *line("prose " * 60, 10)]))
    marked = page.lstrip().startswith("#")
    assert marked is title
    assert not marked or headings.heading_level(page.split("\n")[2], before="", after="", shouting=False) == 2


def test_the_lines_of_a_title_count_with_what_joins_them() -> None:
    def marked(last: str) -> bool:
        large = [PageToken("x" * 57, Box(0, 0, 1, 0.02), "", 15.0), PageToken(last, Box(0, 0.02, 1, 0.04), "\n", 15.0)]
        return mark_titles([*large, *line("prose " * 60, 10)])[0].text == "##"

    assert marked("y" * 57) and not marked("y" * 58)


def test_a_page_of_forms_has_titles_over_its_tables(tmp_path: Path) -> None:
    """Hardly any text stands outside the tables: the page's type is that of their cells."""

    def draw(sheet: Sheet) -> None:
        for top, title, cells in (
            (560, "Pilot", ("Age:", "44")),
            (460, "Aircraft", ("Seats:", "4")),
            (360, "Hall", ("Gate:", "9")),
        ):
            sheet.setFont(BOLD, 14)
            sheet.drawString(20, top, title)
            sheet.grid([20, 200, 380], [top - 60, top - 35, top - 10])
            sheet.setFont(PLAIN, 10)
            for row in range(2):
                sheet.drawString(30, top - 27 - 25 * row, f"{cells[0]} of row {row + 1} of this table")
                sheet.drawString(210, top - 27 - 25 * row, f"{cells[1]} and some more words {row}")

    assert titles(read(tmp_path, draw)) == ["## Pilot", "## Aircraft", "## Hall"]


def test_what_a_table_is_made_of_makes_no_title(tmp_path: Path) -> None:
    def draw(sheet: Sheet) -> None:
        set_in(*prose(20), *prose(60))(sheet)
        sheet.grid([20, 120, 220], [400, 430, 460])
        sheet.setFont(BOLD, 14)
        for x, y, text in ((30, 440, "Hall"), (130, 440, "Pumps"), (30, 410, "North"), (130, 410, "Seven")):
            sheet.drawString(x, y, text)

    page = read(tmp_path, draw)
    assert "| Hall | Pumps |" in page.text and titles(page) == []
