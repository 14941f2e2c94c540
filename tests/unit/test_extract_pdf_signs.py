"""Signs of a PDF: raised and lowered ones, those that its font does not explain, hyphens, what is cut off."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from configs.sections import OcrSettings, ReadSettings
from pipelines.documents.document import Box, CaveatKind, Page, Word
from pipelines.documents.extract.extraction_worker import ExtractionWorker
from pipelines.documents.extract.pdf.hyphens import keeps_hyphen
from pipelines.documents.ocr.reading import Picture
from tests.fakes import files
from tests.fakes.files import Dictated, Transcriber

Sheet = Any
Piece = tuple[str, int]  # a text, and 1 where it is raised, -1 where it is lowered


def read(path: Path, engine: Transcriber | None = None) -> Page:
    desk = ExtractionWorker(ReadSettings(), OcrSettings(), lambda _: engine or Transcriber())
    kind, _ = desk.survey(path, None)
    page = desk.page(path, kind, 1)
    assert all(page.text[word.start : word.start + len(word.text)] == word.text for word in page.words)
    return page


def written(*pieces: Piece, font: str, size: float, rise: bool) -> Callable[[Sheet], None]:
    """Pieces side by side; raised ones by the text's own rise, or at another height."""

    def draw(sheet: Sheet) -> None:
        x = 40.0
        for text, shift in pieces:
            letters = size * 0.6 if shift else size
            up = {0: 0.0, 1: 0.35, -1: -0.15}[shift] * size
            line = sheet.beginText(x, 540 if rise else 540 + up)
            line.setFont(font, letters)
            line.setRise(up if rise else 0)
            line.textOut(text)
            sheet.drawText(line)
            x += sheet.stringWidth(text, font, letters)

    return draw


RAISED = [
    ([("stock 1250", 0), ("2", 1), (" pieces", 0)], "stock 1250² pieces"),
    ([("rose to 48", 0), ("1)", 1), (" in May", 0)], "rose to 48¹⁾ in May"),
    ([("some 10", 0), ("6", 1), (" litres", 0)], "some 10⁶ litres"),
    ([("some 10", 0), ("-3", 1), (" mol", 0)], "some 10⁻³ mol"),
    ([("CO", 0), ("2", -1), (" and H", 0), ("2", -1), ("O", 0)], "CO₂ and H₂O"),
    ([("area 75 m", 0), ("2", 1), (", wall", 0)], "area 75 m², wall"),
    ([("sold 4711", 0), ("a", 1), (" pieces", 0)], "sold 4711 [a] pieces"),
    ([("notes 300", 0), ("1,2", 1), (" tons", 0)], "notes 300 [1,2] tons"),
    ([("on the 25", 0), ("th", 1), (" of May", 0)], "on the 25th of May"),
    ([("cost 99", 0), ("*", 1), (" crowns", 0)], "cost 99* crowns"),
    ([("a Brand", 0), ("TM", 1), (" pump", 0)], "a Brand™ pump"),
    ([("14", 1), ("C dating", 0)], "¹⁴C dating"),
    ([("the speed V", 0), ("max", -1), (" of it", 0)], "the speed Vmax of it"),
]


@pytest.mark.parametrize(("pieces", "text"), RAISED)
@pytest.mark.parametrize("font", ["Helvetica", "Times-Roman"])
@pytest.mark.parametrize("rise", [True, False])
def test_raised_and_lowered_runs_do_not_fuse(
    tmp_path: Path, pieces: list[Piece], text: str, font: str, rise: bool
) -> None:
    for size in (8, 12):
        draw = written(*pieces, font=font, size=size, rise=rise)
        assert read(files.pdf(tmp_path / "a.pdf", draw)).text == text


def test_larger_figures_beside_smaller_ones_on_one_base_line_are_not_raised(tmp_path: Path) -> None:
    def draw(sheet: Sheet) -> None:
        sheet.setFont("Helvetica", 14)
        sheet.drawString(40, 540, "12")
        sheet.setFont("Helvetica", 8)
        sheet.drawString(41 + sheet.stringWidth("12", "Helvetica", 14), 540, "34")

    assert read(files.pdf(tmp_path / "a.pdf", draw)).text.replace(" ", "") == "1234"


# A font of one sign, which is drawn as a bar (a minus), a box or a cross, and called what no sign is called.
SHAPES = {
    "minus": b"520 0 0 250 500 320 d1 0 250 500 70 re f",
    "box": b"520 0 50 0 450 600 d1 50 0 400 600 re f",
    "rule": b"520 0 0 -30 520 0 d1 0 -30 520 30 re f",
    "cross": b"520 0 0 50 500 550 d1 0 270 500 60 re f 220 50 60 500 re f",
}


def strange(
    path: Path, shape: str, unicode: str, text: str = "Day 1 ", figure: str = "18.4 degrees", times: int = 1
) -> Path:
    """A line with one sign of that font, set so many times, between text and figure."""
    cmap = (
        b"/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def /CMapType 2 def\n"
        b"1 begincodespacerange <00> <FF> endcodespacerange\n"
        b"1 beginbfchar <61> <" + unicode.encode() + b"> endbfchar\nendcmap end end"
    )
    drawn = SHAPES[shape]
    to_unicode = b"/ToUnicode 8 0 R" if unicode else b""
    font = (
        b"<</Type/Font/Subtype/Type3/FontBBox[0 0 500 600]/FontMatrix[.001 0 0 .001 0 0]/CharProcs<</g 7 0 R>>"
        b"/Encoding<</Type/Encoding/Differences[97/g]>>/FirstChar 97/LastChar 97/Widths[520]/Resources<<>>"
        + to_unicode
        + b">>"
    )
    content = f"BT /F1 12 Tf 40 540 Td ({text}) Tj /F2 12 Tf ({'a' * times}) Tj /F1 12 Tf ({figure}) Tj ET".encode()
    objects = [font, b"<</Length %d>>\nstream\n" % len(drawn) + drawn + b"\nendstream"]
    if unicode:
        objects.append(b"<</Length %d>>\nstream\n" % len(cmap) + cmap + b"\nendstream")
    return files.raw_pdf(path, content, *objects)


@pytest.mark.parametrize("unicode", ["0003", "0000", "0007", "001F", "0085", "FFFD", "E012", "200B"])
def test_a_minus_without_meaning_is_told_by_its_shape(tmp_path: Path, unicode: str) -> None:
    """A figure must not lose its sign."""
    page = read(strange(tmp_path / "a.pdf", "minus", unicode))
    assert page.text == "Day 1 -18.4 degrees" and not page.caveats


def test_flat_signs_that_touch_are_a_line_to_write_on_and_no_engine_is_asked(tmp_path: Path) -> None:
    engine = Dictated("what OCR reads")
    page = read(strange(tmp_path / "a.pdf", "rule", "", "Signed ", " (date)", times=24), engine)
    assert page.text == f"Signed {'_' * 24} (date)" and not page.caveats and page.engine == "native"
    upright = read(strange(tmp_path / "b.pdf", "box", "", "Signed ", " (date)", times=24), engine)
    assert upright.text == "what OCR reads", "signs as high as letters may be some"


@pytest.mark.parametrize("unicode", ["0003", "0000", "FFFD", "2028"])
@pytest.mark.parametrize("shape", ["box", "cross"])
def test_another_sign_without_meaning_leaves_its_mark(tmp_path: Path, shape: str, unicode: str) -> None:
    page = read(strange(tmp_path / "a.pdf", shape, unicode), Dictated("Day 1 18.4 degrees"))
    assert page.text == "Day 1 \ufffd18.4 degrees"
    assert [caveat.kind for caveat in page.caveats] == [CaveatKind.GLYPHS_UNMAPPED]


def test_a_word_with_a_sign_without_meaning_is_read_by_ocr_where_it_is_sure(tmp_path: Path) -> None:
    path = strange(tmp_path / "a.pdf", "box", "0003", "The o", "ce is shut.")
    sure = Dictated()
    sure.read = lambda image, number, dpi=None: _at_its_ink("office", image)  # type: ignore[method-assign]
    page = read(path, sure)
    assert page.text == "The office is shut."
    assert [caveat.kind for caveat in page.caveats] == [CaveatKind.GLYPHS_UNMAPPED]


BLANK = 10  # pixels, between words of 12 points at 300 dots per inch


def _at_its_ink(word: str, image: Picture) -> Page:
    """The second word of a line, in the rows and columns of a picture of a part of the page that hold its ink."""
    dark = image < 128 if image.ndim == 2 else (image < 128).any(axis=2)
    rows, columns = np.flatnonzero(dark.any(axis=1)) / len(image), np.flatnonzero(dark.any(axis=0))
    _, second, *_ = np.split(columns, np.flatnonzero(np.diff(columns) > BLANK) + 1)
    box = Box(second[0] / image.shape[1], float(rows.min()), second[-1] / image.shape[1], float(rows.max()))
    return Page(1, word, (Word(word, 0, box, 0.9),), "tesseract", 0.9)


def test_a_sign_that_begins_several_lines_is_a_bullet(tmp_path: Path) -> None:
    first = strange(tmp_path / "a.pdf", "box", "0084", "", "")
    data = first.read_bytes()
    at = data.index(b"BT /F1")
    lines = b"".join(
        b"BT /F2 12 Tf 40 %d Td (a) Tj /F1 12 Tf 20 0 Td (Words of a line) Tj ET " % (540 - 14 * n) for n in range(3)
    )
    end = data.index(b"ET", at) + 2
    path = tmp_path / "b.pdf"
    path.write_bytes(data[:at] + lines + data[end:])  # pdfium mends the table of contents
    page = read(path)
    assert page.text.splitlines() == ["• Words of a line"] * 3 and not page.caveats


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        ("the part KX-", "4471 is listed", "KX-4471"),
        ("after DIN-EN-", "1717 of it", "DIN-EN-1717"),
        ("die E-Mail-", "Adresse des", "E-Mail-Adresse"),
        ("model ABC-", "DEF is not", "ABC-DEF"),
        ("an inter-", "national treaty", "international treaty"),
        ("der Kündi-", "gungsfrist von", "Kündigungsfrist"),
        ("a well-", "known fact", "well-known fact"),
        ("the state-of-", "the-art pump", "state-of-the-art pump"),
        ("in den Jahren 2025-", "2026 und", "2025-2026"),
        ("with the X-", "ray image", "X-ray image"),
        ("die Haupt- und Neben-", "anlagen sind", "Haupt- und Nebenanlagen"),
        ("high-", "er than", "higher than"),
    ],
)
def test_a_hyphen_at_a_line_end_stays_where_it_belongs_to_the_word(
    tmp_path: Path, before: str, after: str, text: str
) -> None:
    def draw(sheet: Sheet) -> None:
        sheet.setFont("Helvetica", 11)
        sheet.drawString(40, 540, f"Some words come first here, then {before}")
        sheet.drawString(40, 525, f"{after} and more words follow on the next line.")

    assert text in read(files.pdf(tmp_path / "a.pdf", draw)).text


def test_other_words_of_the_page_decide_about_a_hyphen() -> None:
    assert keeps_hyphen("drop", "down", {"drop-down"}) and not keeps_hyphen("drop", "down", {"dropdown"})


def test_each_half_of_a_divided_word_has_its_own_box(tmp_path: Path) -> None:
    def draw(sheet: Sheet) -> None:
        sheet.drawString(200, 540, "This is an inter-")
        sheet.drawString(40, 525, "national agreement of the parties.")

    page = read(files.pdf(tmp_path / "a.pdf", draw))
    assert "international" in page.text
    halves = [word for word in page.words if word.text in ("inter", "national")]
    assert len(halves) == 2 and halves[0].box.y1 < halves[1].box.y1 and halves[1].box.x1 < halves[0].box.x0


def test_ligatures_are_letters_and_what_lies_outside_the_crop_box_is_no_text(tmp_path: Path) -> None:
    def draw(sheet: Sheet) -> None:
        from reportlab.pdfbase import pdfmetrics
        from reportlab.pdfbase.ttfonts import TTFont

        pdfmetrics.registerFont(TTFont("Vera", "Vera.ttf"))
        sheet.setCropBox((30, 100, 380, 560))
        sheet.setFont("Vera", 12)
        sheet.drawString(40, 540, "The \ufb01ne \ufb02ag")
        sheet.drawString(40, 580, "old price 100 crowns")
        sheet.drawString(40, 20, "slug 0394 cyan")

    assert read(files.pdf(tmp_path / "a.pdf", draw)).text == "The fine flag"
