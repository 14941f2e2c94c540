"""Blocks of pages: running lines told from the rest, titles with levels, lists; and fields of a PDF form as facts."""

from pathlib import Path
from typing import Any

from configs.sections import OcrSettings, ReadSettings
from pipelines.documents.chunk.headings import find_running_lines
from pipelines.documents.document import Box, Page, Word
from pipelines.documents.extract.extraction_worker import ExtractionWorker
from pipelines.documents.facts.find_facts import find_tables
from pipelines.documents.facts.page_blocks import edge_lines, page_blocks
from tests.fakes import files
from tests.fakes.files import Transcriber

BODY = (
    "## Terms of carriage\n\nThe carrier takes the goods at the quay\nand signs for them.\n\n"
    "- fragile goods\n- liquids in casks\n  of oak\n- live animals\n\n"
    "| Class | Fee |\n| --- | --- |\n| one | 12 |\n\n1. Pay the fee.\n2. Sign the note."
)


def pages() -> list[Page]:
    return [Page(n, f"Harbour rules {n}\n\n{BODY}\n\nPage {n} of 3\n") for n in (1, 2, 3)]


def test_running_lines_titles_lists_and_tables_are_told_apart() -> None:
    running = find_running_lines([edge_lines(page) for page in pages()])
    (found, *_) = ([*page_blocks(page, running)] for page in pages())
    kinds = ["header", "title", "prose", "list", "table", "list", "footer"]
    assert [str(block.kind) for block in found] == kinds and [block.level for block in found] == [0, 2, 0, 0, 0, 0, 0]
    text = pages()[0].text
    assert text[found[0].start : found[0].end] == "Harbour rules 1" and text[found[-1].start :] == "Page 1 of 3\n"
    assert text[found[3].start : found[3].end].endswith("- live animals")
    covered = "".join(text[block.start : block.end] for block in found)
    assert "".join(covered.split()) == "".join(text.split())


def test_one_page_alone_has_no_running_lines_and_an_empty_one_no_blocks() -> None:
    page = pages()[0]
    kinds = {str(block.kind) for block in page_blocks(page, find_running_lines([edge_lines(page)]))}
    assert not kinds & {"header", "footer"}
    assert list(page_blocks(Page(1, " \n \n"), frozenset({"x"}))) == []


def test_a_page_of_nothing_but_a_running_line_has_that() -> None:
    (only,) = page_blocks(Page(4, "Harbour rules 4\n"), frozenset({"Harbour rules"}))
    assert str(only.kind) == "header"


def test_a_block_has_the_box_of_its_words() -> None:
    words = (Word("One", 0, Box(0.1, 0.1, 0.2, 0.12)), Word("two", 4, Box(0.3, 0.1, 0.4, 0.13)))
    (block,) = page_blocks(Page(1, "One two", words), frozenset())
    assert block.box == Box(0.1, 0.1, 0.4, 0.13)


def test_fields_of_a_pdf_form_stand_in_place_and_are_facts_with_boxes(tmp_path: Path) -> None:
    def draw(sheet: Any) -> None:
        form = sheet.acroForm
        for at, label in enumerate(("Name:", "Harbour:", "Insured:", "Class:")):
            sheet.drawString(40, 560 - 40 * at, label)
        form.textfield(name="name", value="Ingrid Solheim", x=120, y=554, width=200, height=18)
        options = ["Bergen", "Hull", "Emden"]
        form.choice(name="harbour", value="Bergen", options=options, x=120, y=514, width=120, height=18)
        form.checkbox(name="insured", checked=True, x=120, y=476, size=14)
        sheet.drawString(140, 480, "yes")
        for at, name in enumerate(("first", "second")):
            form.radio(name="class", value=name, selected=name == "second", x=120 + 80 * at, y=436, size=14)
            sheet.drawString(140 + 80 * at, 440, name)

    worker = ExtractionWorker(ReadSettings(), OcrSettings(), lambda _: Transcriber())
    kind, _ = worker.survey(files.pdf(tmp_path / "a.pdf", draw), None)
    (form,) = find_tables(worker.page(tmp_path / "a.pdf", kind, 1))
    assert [row.cells for row in form.rows] == [
        ("Name", "Ingrid Solheim"),
        ("Harbour", "Bergen"),
        ("Insured", "[x] yes"),
        ("Class", "[ ] first [x] second"),
    ]
    for row in form.rows:
        label, value = row.boxes
        assert label and value and label.x1 <= value.x0 and abs(label.y0 - value.y0) < 0.03
