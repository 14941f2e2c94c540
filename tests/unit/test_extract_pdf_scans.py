"""Pictures of a PDF beside its own text, and the invisible text behind scans."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from configs.sections import OcrSettings, ReadSettings
from pipelines.documents.document import CaveatKind, FailureReason, Page, Unreadable
from pipelines.documents.extract.extraction_worker import ExtractionWorker
from pipelines.documents.extract.pdf.ocr_layer import odd_share
from pipelines.documents.ocr.reading import EngineMissing
from tests.fakes import files
from tests.fakes.files import Dictated, Transcriber

Sheet = Any
STAMP = "Downloaded from archive.example.org on 12 March, for personal use only, copy 17 of 40"
SCANNED = ("The rent is 3,275 euros a month.", "It is due on the third day.", "The deposit is 9,825 euros.")
PROSE = [f"The valve number {n} in the south dock is tested every {n % 40} weeks." for n in range(260, 275)]


def picture_of(*lines: str, size: tuple[int, int] = (1000, 1500), letters: int = 36) -> Image.Image:
    image = Image.new("L", size, 255)
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(letters)
    for number, line in enumerate(lines):
        draw.text((60, 80 + 2 * letters * number), line, fill=0, font=font)
    return image


def over_scan(y: float, *lines: str) -> Callable[[Sheet], None]:
    def draw(sheet: Sheet) -> None:
        sheet.drawInlineImage(picture_of(*lines), 0, 0, 400, 600)
        sheet.setFont("Helvetica", 8)
        sheet.drawString(20, y, STAMP)

    return draw


def layered(*lines: str, down: float = 40, behind: bool = False) -> Callable[[Sheet], None]:
    """A scan with a text that is not seen: drawn invisibly, or under the picture."""

    def draw(sheet: Sheet) -> None:
        text = sheet.beginText()
        text.setTextRenderMode(0 if behind else 3)
        text.setFont("Helvetica", 14)
        for number, line in enumerate(lines):
            text.setTextOrigin(24, 600 - down - 28.8 * number)
            text.textLine(line)
        if behind:
            sheet.drawText(text)
        sheet.drawInlineImage(picture_of(*SCANNED), 0, 0, 400, 600)
        if not behind:
            sheet.drawText(text)

    return draw


def read(path: Path, draw: Callable[[Sheet], None], engine: Transcriber) -> Page:
    desk = ExtractionWorker(ReadSettings(), OcrSettings(), lambda _: engine)
    kind, _ = desk.survey(files.pdf(path / "a.pdf", draw), None)
    page = desk.page(path / "a.pdf", kind, 1)
    assert all(page.text[word.start : word.start + len(word.text)] == word.text for word in page.words)
    return page


def kinds(page: Page) -> list[CaveatKind]:
    return [caveat.kind for caveat in page.caveats]


@pytest.mark.parametrize(("lines", "found"), [(SCANNED, [CaveatKind.PICTURES_UNREAD]), ((), [])])
def test_a_whole_page_on_which_ocr_finds_nothing_says_so_where_letters_stand_on_it(
    tmp_path: Path, lines: tuple[str, ...], found: list[CaveatKind]
) -> None:
    def draw(sheet: Sheet) -> None:
        sheet.drawInlineImage(picture_of(*lines), 0, 0, 400, 600)
        sheet.circle(200, 100, 40)

    page = read(tmp_path, draw, Dictated())
    assert not page.text and kinds(page) == found


@pytest.mark.parametrize(("y", "first"), [(580, True), (12, False)])
def test_a_scan_under_a_line_of_digital_text_is_read_too(tmp_path: Path, y: float, first: bool) -> None:
    """IN-10: stamps, fax heads, Bates footers; both are text, in the order they stand, no word twice."""
    page = read(tmp_path, over_scan(y, *SCANNED), Dictated(*SCANNED))
    assert page.text.count("3,275 euros") == page.text.count(STAMP) == 1
    assert page.text.startswith(STAMP) is first
    assert page.engine == "tesseract" and page.confidence == 0.9 and not page.caveats
    sure = {word.text: word.confidence for word in page.words}
    assert (sure["archive.example.org"], sure["copy"], sure["9,825"]) == (1.0, 1.0, 0.9)


def test_what_ocr_reads_of_the_digital_line_itself_is_not_there_twice(tmp_path: Path) -> None:
    class Seeing(Dictated):
        def read(self, image: NDArray[np.uint8], number: int, dpi: int | None = None) -> Page:
            self.dark_above = int((image[:100] < 128).sum())
            return super().read(image, number, dpi)

    engine = Seeing(*SCANNED)
    read(tmp_path, over_scan(580, *SCANNED), engine)
    assert engine.dark_above == 0  # the picture that is read does not show it


def test_a_picture_in_a_text_is_read_where_it_stands_and_a_scan_in_strips_is_one(tmp_path: Path) -> None:
    def draw(sheet: Sheet) -> None:
        sheet.setFont("Helvetica", 8)
        for number, line in enumerate(PROSE):
            sheet.drawString(20, 580 - 10 * number, line)
        table = picture_of("North 4100 t", "South 3870 t", size=(600, 240))
        for strip in range(4):
            piece = table.crop((0, 60 * strip, 600, 60 * strip + 60))
            sheet.drawInlineImage(piece, 20, 400 - 25 * strip, 250, 25)
        sheet.drawString(20, 300, "After the figure the text goes on.")

    engine = Dictated("North 4100 t", "South 3870 t")
    text = read(tmp_path, draw, engine).text
    assert engine.asked == [1]
    assert text.index(PROSE[-1]) < text.index("North 4100 t\nSouth 3870 t") < text.index("After the figure")


def test_a_photo_without_text_is_not_sent_to_ocr_and_a_logo_on_each_page_is_read_once(tmp_path: Path) -> None:
    grain = np.random.default_rng(3).normal(128, 40, (300, 400)).clip(0, 255).astype(np.uint8)
    logo = picture_of("KESTREL", size=(400, 120), letters=60)

    def photo(sheet: Sheet) -> None:
        sheet.drawInlineImage(Image.fromarray(grain), 40, 100, 300, 220)
        sheet.drawString(20, 560, STAMP)

    def head(sheet: Sheet) -> None:
        sheet.drawInlineImage(logo, 20, 560, 100, 30)
        sheet.drawString(20, 500, STAMP)

    engine = Dictated("KESTREL")
    assert read(tmp_path, photo, engine).text == STAMP and engine.asked == []
    desk = ExtractionWorker(ReadSettings(), OcrSettings(), lambda _: engine)
    path = files.pdf(tmp_path / "b.pdf", head, head, head)
    kind, count = desk.survey(path, None)
    texts = [desk.page(path, kind, number).text for number in range(1, count + 1)]
    assert engine.asked == [1] and all(text == f"KESTREL\n\n{STAMP}" for text in texts)


def outline(sheet: Sheet, *lines: str, one: bool = False) -> None:
    """Draw lines as the outlines of their letters: a shape each, or one of all."""
    ink = 255 - np.array(picture_of(*lines))
    contours, nested = cv2.findContours(ink, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_SIMPLE)
    letters: dict[int, list[int]] = {}
    for number, (_, _, _, outer) in enumerate(nested[0]):
        letters.setdefault(outer if outer >= 0 else number, []).append(number)
    for group in [range(len(contours))] if one else letters.values():
        path = sheet.beginPath()
        for number in group:
            points = [(0.4 * x, 600 - 0.4 * y) for ((x, y),) in contours[number].tolist()]
            path.moveTo(*points[0])
            for point in points[1:]:
                path.lineTo(*point)
            path.close()
        sheet.drawPath(path, stroke=0, fill=1, fillMode=0)


@pytest.mark.parametrize("one", [False, True])
def test_letters_drawn_as_shapes_beside_a_text_are_read(tmp_path: Path, one: bool) -> None:
    def draw(sheet: Sheet) -> None:
        outline(sheet, *SCANNED, one=one)
        sheet.setFont("Helvetica", 8)
        sheet.drawString(20, 12, STAMP)

    page = read(tmp_path, draw, Dictated(*SCANNED))
    assert page.text == "\n".join(SCANNED) + f"\n\n{STAMP}" and not page.caveats
    page = read(tmp_path, draw, Dictated())
    assert page.text == STAMP and kinds(page) == [CaveatKind.PICTURES_UNREAD]


def test_charts_rules_and_scattered_shapes_are_not_sent_to_ocr(tmp_path: Path) -> None:
    def chart(sheet: Sheet) -> None:
        sheet.drawString(20, 560, STAMP)
        for number in range(60):
            sheet.circle(20 + 6 * number, 300 + number % 7, 2.5, stroke=0, fill=1)
            sheet.rect(20 + 6 * number, 100, 4, 3 * number, stroke=0, fill=1)
            sheet.line(20, 20 + number, 380, 20 + number)

    places = np.random.default_rng(5).uniform((20, 20), (370, 540), (40, 2)).tolist()

    def drawing(sheet: Sheet) -> None:
        sheet.drawString(20, 560, STAMP)
        for number in range(40):  # unlike shapes that stand nowhere as letters do
            path = sheet.beginPath()
            x, y = places[number]
            path.moveTo(x + 6, y)
            for turn in np.linspace(0, 2 * np.pi, 10 + number % 9):
                path.lineTo(x + 6 * np.cos(turn), y + 9 * np.sin(turn))
            sheet.drawPath(path, stroke=0, fill=1)

    engine = Dictated("noise")
    for draw in (chart, drawing):
        assert read(tmp_path, draw, engine).text == STAMP and engine.asked == []


def test_light_letters_on_a_dark_band_count_as_letters(tmp_path: Path) -> None:
    def draw(sheet: Sheet) -> None:
        dark = Image.eval(picture_of("North 4100 t", size=(600, 240)), lambda value: 255 - value)
        sheet.drawInlineImage(dark, 20, 300, 250, 100)
        sheet.drawString(20, 560, STAMP)

    engine = Dictated("North 4100 t")
    assert "North 4100 t" in read(tmp_path, draw, engine).text


@pytest.mark.parametrize(
    "error", [EngineMissing("tesseract is not installed"), Unreadable(FailureReason.CRASHED, "it died")]
)
def test_where_ocr_fails_the_own_text_stays_and_the_page_says_what_is_missing(tmp_path: Path, error: Exception) -> None:
    class Failing(Transcriber):
        def read(self, image: NDArray[np.uint8], number: int, dpi: int | None = None) -> Page:
            raise error

    page = read(tmp_path, over_scan(580, *SCANNED), Failing())
    assert page.text == STAMP and kinds(page) == [CaveatKind.PICTURES_UNREAD]


def test_a_picture_full_of_letters_that_ocr_cannot_read_is_said(tmp_path: Path) -> None:
    def draw(sheet: Sheet) -> None:
        sheet.drawInlineImage(picture_of(*SCANNED, size=(1000, 500)), 20, 300, 300, 150)
        sheet.drawString(20, 560, STAMP)

    page = read(tmp_path, draw, Dictated("xq wv", confidence=0.2))
    assert page.text == STAMP and kinds(page) == [CaveatKind.PICTURES_UNREAD]


def test_a_good_ocr_layer_is_kept_and_not_read_again(tmp_path: Path) -> None:
    engine = Dictated("something else")
    page = read(tmp_path, layered(*SCANNED), engine)
    assert engine.asked == [] and page.text.split() == " ".join(SCANNED).split()
    assert [attempt.engine for attempt in page.attempts] == ["ocr layer"] and not page.caveats


GARBLED = ("Tl1e r~nt 1s 3,Z7S eur0s o rn0nlh.", "lt 1s dU~ 0n tl1e lh1rd doy.", "Tl1e d~p0s1t 1s 9,8Z5 eur0s.")


@pytest.mark.parametrize("behind", [False, True])
def test_a_bad_ocr_layer_is_told_by_its_language_and_read_again(tmp_path: Path, behind: bool) -> None:
    page = read(tmp_path, layered(*GARBLED, behind=behind), Dictated(*SCANNED))
    assert page.text.split() == " ".join(SCANNED).split()
    assert page.engine == "tesseract" and not page.caveats


def test_a_layer_that_does_not_stand_on_the_ink_or_leaves_most_of_it_out_is_read_again(tmp_path: Path) -> None:
    other = ("Minutes of the harbour council", "held in the town hall in May")
    for draw in (layered(*other, down=400), layered("The rent is", down=40)):
        page = read(tmp_path, draw, Dictated(*SCANNED))
        assert page.text.split() == " ".join(SCANNED).split()


def test_a_layer_in_doubt_that_ocr_cannot_better_is_marked(tmp_path: Path) -> None:
    page = read(tmp_path, layered(*GARBLED), Dictated("rn xq", confidence=0.3))
    assert "rn0nlh" in page.text and kinds(page) == [CaveatKind.OCR_LAYER_UNSURE]


def test_what_ocr_cannot_read_either_is_not_tried_on_every_page(tmp_path: Path) -> None:
    """Handwriting: each page would cost the engine's whole time."""
    engine = Dictated("rn xq", confidence=0.3)
    desk = ExtractionWorker(ReadSettings(), OcrSettings(), lambda _: engine)
    path = files.pdf(tmp_path / "a.pdf", *[layered(*GARBLED)] * 4)
    kind, count = desk.survey(path, None)
    pages = [desk.page(path, kind, number) for number in range(1, count + 1)]
    assert engine.asked == [1, 2]
    assert all(kinds(page) == [CaveatKind.OCR_LAYER_UNSURE] for page in pages)


def test_squared_paper_is_not_sent_to_ocr_again(tmp_path: Path) -> None:
    """It has thousands of dashes; OCR would try them for minutes, and the page would end without any text."""
    paper = Image.new("L", (1000, 1500), 255)
    pen = ImageDraw.Draw(paper)
    for y in range(0, 1500, 15):
        for x in range(0, 1000, 12):
            pen.line((x, y, x + 5, y), fill=0)

    def draw(sheet: Sheet) -> None:
        sheet.drawInlineImage(paper, 0, 0, 400, 600)
        text = sheet.beginText(40, 300)
        text.setTextRenderMode(3)
        text.textLine(GARBLED[0])
        sheet.drawText(text)

    engine = Dictated("something")
    page = read(tmp_path, draw, engine)
    assert engine.asked == [] and kinds(page) == [CaveatKind.OCR_LAYER_UNSURE]


@pytest.mark.parametrize(
    ("text", "odd"),
    [
        ("The monthly rent for the cold store is 3,275 euros and is due on the 3rd day of each month", False),
        ("Die monatliche Miete für die Kühlhalle beträgt 3.275 Euro, Nr. KX-4471 vom 12.03.2031", False),
        ("Le loyer mensuel de l'entrepôt est de 3 275 euros, payable le troisième jour ouvré", False),
        ("Ежемесячная плата за холодильный склад составляет 3275 евро и вносится третьего числа", False),
        ("Part DIN-EN-1717 of type RS485, 12mm, 24V, H2O, see www.example.org or a.b@example.org", False),
        ("lJ~~ n~ rnnlhly r~nl lor tl1e co1d slor~ 1s 3,Z7S eur0s", True),
        ("Die KÃ¼hlhalle fÃ¼r monatlich 3.275 Euro betrÃ¤gt", True),
        ("T h e m o n t h l y r e n t f o r t h e", True),
        ("Thе mоnthly rеnt fоr thе cоld stоrе", True),  # Cyrillic letters among Latin ones
    ],
)
def test_what_no_language_writes_so_is_told(text: str, odd: bool) -> None:
    assert (odd_share(text.split()) > 0.12) is odd
