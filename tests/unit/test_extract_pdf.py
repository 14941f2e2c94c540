"""PDF pages: their own text with boxes, tables, and when OCR is asked instead."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from configs.sections import OcrSettings, ReadSettings
from pipelines.documents.document import FailureReason, Page, Unreadable
from pipelines.documents.extract.extraction_worker import ExtractionWorker, find_opener
from pipelines.documents.sources.sniff import Kind
from tests.fakes import files
from tests.fakes.files import Transcriber

LONG = "The quick brown fox jumps over the lazy dog and rests, then 1000 aaaa 110011."
Sheet = Any


def text_at(x: float, y: float, *lines: str) -> Callable[[Sheet], None]:
    def draw(sheet: Sheet) -> None:
        for number, line in enumerate(lines):
            sheet.drawString(x, y - 14 * number, line)

    return draw


def scan(text: str = "") -> Callable[[Sheet], None]:
    """A picture that covers the page, and a native text if one is given."""

    def draw(sheet: Sheet) -> None:
        sheet.drawInlineImage(files.picture("scanned"), 0, 0, 400, 600)
        if text:
            sheet.drawString(20, 580, text)

    return draw


def nothing(sheet: Sheet) -> None:
    """An empty page."""


class Reading:
    """A desk with an engine that remembers what it was asked."""

    def __init__(self, read: ReadSettings | None = None, ocr: OcrSettings | None = None) -> None:
        self.engine = Transcriber()
        self.desk = ExtractionWorker(read or ReadSettings(), ocr or OcrSettings(), lambda _: self.engine)

    def pages(self, path: Path) -> list[Page]:
        kind, count = self.desk.survey(path, None)
        return [self.desk.page(path, kind, number) for number in range(1, count + 1)]


def test_native_text_keeps_repeated_characters_and_every_word_stands_where_it_says(tmp_path: Path) -> None:
    """IN-03, B-01: nothing is collapsed; offsets index the text; boxes are fractions from the top left."""
    page = Reading().pages(files.pdf(tmp_path / "a.pdf", text_at(40, 540, LONG, "Second line")))[0]
    assert page.text == f"{LONG}\nSecond line"
    assert page.engine == "native" and page.confidence is None
    assert [word.text for word in page.words] == page.text.split()
    assert all(page.text[word.start : word.start + len(word.text)] == word.text for word in page.words)
    first = page.words[0].box
    assert first.x0 == pytest.approx(0.1, abs=0.01)
    assert 0.08 < first.y0 < first.y1 < 0.11


def test_paragraphs_are_told_by_their_distance_and_hyphens_at_line_ends_are_joined(tmp_path: Path) -> None:
    def draw(sheet: Sheet) -> None:
        text_at(40, 540, "This is an inter-", "national agreement", "of the parties.")(sheet)
        text_at(40, 440, "Another paragraph.")(sheet)

    text = Reading().pages(files.pdf(tmp_path / "a.pdf", draw))[0].text
    assert text == "This is an international agreement\nof the parties.\n\nAnother paragraph."


def test_a_raised_number_does_not_break_its_line(tmp_path: Path) -> None:
    def draw(sheet: Sheet) -> None:
        sheet.setFont("Times-Roman", 12)
        sheet.drawString(40, 540, "as seen in practice")
        x = 40 + sheet.stringWidth("as seen in practice", "Times-Roman", 12)
        sheet.setFont("Times-Roman", 7)
        sheet.drawString(x, 545, "2")
        sheet.setFont("Times-Roman", 12)
        sheet.drawString(x + 4, 540, ", and so on")

    text = Reading().pages(files.pdf(tmp_path / "a.pdf", draw))[0].text
    assert text == "as seen in practice², and so on"


def test_a_ruled_table_becomes_markdown_and_its_words_keep_their_places(tmp_path: Path) -> None:
    """IN-03: tables as Markdown."""

    def draw(sheet: Sheet) -> None:
        text_at(40, 550, "Prices of this year are in the table below, with the tax of ten per cent in them.")(sheet)
        sheet.grid([40, 140, 240], [430, 460, 490, 520])
        for row, cells in enumerate((("Item", "Price"), ("Left|right", "1000"), ("Pear", ""))):
            for column, cell in enumerate(cells):
                sheet.drawString(50 + 100 * column, 500 - 30 * row, cell)
        text_at(40, 400, "After the table.")(sheet)

    page = Reading().pages(files.pdf(tmp_path / "a.pdf", draw))[0]
    assert "\n\n| Item | Price |\n| --- | --- |\n| Left\\|right | 1000 |\n| Pear | |\n\nAfter the table." in page.text
    assert all(page.text[word.start : word.start + len(word.text)] == word.text for word in page.words)
    assert [word.text for word in page.words if word.box.y0 > 0.1][:4] == ["Item", "Price", "Left\\|right", "1000"]


def test_a_frame_around_a_text_is_no_table(tmp_path: Path) -> None:
    def draw(sheet: Sheet) -> None:
        sheet.grid([20, 380, 390], [20, 30, 580])
        text_at(30, 560, *[LONG[:60]] * 6)(sheet)
        text_at(30, 22, "foot")(sheet)

    assert "|" not in Reading().pages(files.pdf(tmp_path / "a.pdf", draw))[0].text


def test_ocr_is_asked_for_pictures_that_may_hold_text(tmp_path: Path) -> None:
    """IN-10, IN-08: by what the pictures show, not by how many characters the page has; at 300 dpi."""
    draws = (text_at(40, 540, LONG), scan(), scan("Page 4 of 9"), text_at(40, 540, "Chapter 1"), nothing, scan(LONG))
    reading = Reading()
    pages = reading.pages(files.pdf(tmp_path / "a.pdf", *draws))
    assert reading.engine.asked == [2, 3, 6]
    assert pages[1].text == "picture of 1667 x 2500 at 300"
    assert (pages[1].engine, pages[1].confidence) == ("tesseract", 0.9)
    assert [page.text for page in pages[3:5]] == ["Chapter 1", ""]
    for page, own in ((pages[2], "Page 4 of 9"), (pages[5], LONG)):
        assert own in page.text and "picture of 1667 x 2500 at 300" in page.text
    assert all(page.failure is None for page in pages)


def test_a_large_picture_beside_little_text_is_read_whatever_it_looks_like(tmp_path: Path) -> None:
    """IN-10: `min_useful_text` characters are little; beside more, a picture without letters is none to read."""

    def draw(sheet: Sheet) -> None:
        sheet.drawInlineImage(files.picture(), 0, 0, 400, 600)
        sheet.drawString(20, 580, "Page 4 of 9")

    path = files.pdf(tmp_path / "a.pdf", draw)
    shy, eager = Reading(ReadSettings(min_useful_text=5)), Reading()
    assert shy.pages(path)[0].text == "Page 4 of 9" and shy.engine.asked == []
    eager.pages(path)
    assert eager.engine.asked == [1]


def test_dpi_follows_the_settings(tmp_path: Path) -> None:
    """IN-08."""
    pages = Reading(ocr=OcrSettings(dpi=72)).pages(files.pdf(tmp_path / "a.pdf", scan()))
    assert pages[0].text == "picture of 400 x 600 at 72"


def test_a_page_of_letters_without_meaning_is_read_by_ocr(tmp_path: Path) -> None:
    def draw(sheet: Sheet) -> None:
        from reportlab.pdfbase import pdfmetrics
        from reportlab.pdfbase.ttfonts import TTFont

        pdfmetrics.registerFont(TTFont("Vera", "Vera.ttf"))
        sheet.setFont("Vera", 12)
        sheet.drawString(40, 540, "\ue001\ue002\ue003\ue004 " * 20)

    reading = Reading()
    reading.pages(files.pdf(tmp_path / "a.pdf", draw))
    assert reading.engine.asked == [1]


def test_a_huge_page_is_rendered_smaller_instead_of_filling_the_memory(tmp_path: Path) -> None:
    reading = Reading(ocr=OcrSettings(max_pixels=60_000))
    assert reading.pages(files.pdf(tmp_path / "a.pdf", scan()))[0].text.startswith("picture of 200 x 300")


def test_boxes_of_a_turned_page_are_those_of_the_page_as_shown(tmp_path: Path) -> None:
    def draw(sheet: Sheet) -> None:
        sheet.setPageRotation(90)
        text_at(40, 540, LONG)(sheet)

    first = Reading().pages(files.pdf(tmp_path / "a.pdf", draw))[0].words[0].box
    assert first.x0 > 0.85 and first.y0 < 0.15
    assert first.y1 - first.y0 > first.x1 - first.x0


def test_a_password_that_is_empty_opens_and_another_one_is_named(tmp_path: Path) -> None:
    from reportlab.lib.pdfencrypt import StandardEncryption

    free = files.pdf(tmp_path / "a.pdf", text_at(40, 540, LONG), encrypt=StandardEncryption("", "owner", strength=128))
    assert Reading().pages(free)[0].text == LONG
    locked = files.pdf(tmp_path / "b.pdf", nothing, encrypt=StandardEncryption("user", "owner", strength=128))
    with pytest.raises(Unreadable) as refused:
        Reading().pages(locked)
    assert refused.value.reason is FailureReason.ENCRYPTED


def test_a_broken_pdf_is_corrupt(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(b"%PDF-1.7\n" + b"garbage " * 50)
    with pytest.raises(Unreadable) as refused:
        Reading().pages(path)
    assert refused.value.reason is FailureReason.CORRUPT


def test_a_document_is_opened_once_for_all_its_pages_and_again_when_it_changed(tmp_path: Path) -> None:
    opened = []

    def find(kind: Kind) -> Any:
        opened.append(kind)
        return find_opener(kind)

    desk = ExtractionWorker(ReadSettings(), OcrSettings(), files.transcriber, find)
    path = files.pdf(tmp_path / "a.pdf", *[text_at(40, 540, LONG)] * 3)
    desk.survey(path, None)
    for number in (1, 2, 3):
        desk.page(path, Kind.PDF, number)
    assert len(opened) == 1
    files.pdf(path, text_at(40, 540, "Chapter 2"))
    assert desk.page(path, Kind.PDF, 1).text == "Chapter 2"
    with pytest.raises(Unreadable) as refused:
        desk.page(path, Kind.PDF, 2)
    assert refused.value.reason is FailureReason.CHANGED


def test_the_picture_of_a_page_has_the_asked_resolution(tmp_path: Path) -> None:
    reading = Reading()
    path = files.pdf(tmp_path / "a.pdf", text_at(40, 540, LONG))
    image = Image.open(io.BytesIO(reading.desk.picture(path, Kind.PDF, 1, 144)))
    assert (image.format, image.size) == ("PNG", (800, 1200))


def test_what_was_filled_into_a_form_is_text(tmp_path: Path) -> None:
    def draw(sheet: Sheet) -> None:
        text_at(40, 540, LONG)(sheet)
        sheet.acroForm.textfield(name="who", value="Philippa Osei", x=40, y=400, width=200, height=20)

    assert "Philippa Osei" in Reading().pages(files.pdf(tmp_path / "a.pdf", draw))[0].text
