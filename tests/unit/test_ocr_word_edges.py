"""Words that an engine places roughly stand where their ink is, and columns of numbers keep the blanks between them."""

import numpy as np
import pytest
from numpy.typing import NDArray

from pipelines.documents.ocr.paddle import LEAST_SIDE, LETTER_HEIGHT, LONGEST_SIDE, detector_side
from pipelines.documents.ocr.reading import OcrToken, PixelArea, TextLine
from pipelines.documents.ocr.word_edges import fit_edges

PAPER, INK = 240, 40


def page(*inked: tuple[int, int], height: int = 40, width: int = 400) -> NDArray[np.uint8]:
    """Paper with letters of six pixels, two apart, on rows 10 to 30 of the columns that are given."""
    picture = np.full((height, width), PAPER, np.uint8)
    for start, end in inked:
        for at in range(start, end, 8):
            picture[10:30, at : min(at + 6, end)] = INK
    return picture


def line(*words: tuple[str, float, float]) -> TextLine:
    return TextLine(tuple(OcrToken(text, PixelArea(x0, 6, x1, 34), 0.9) for text, x0, x1 in words), opens=True)


def edges(found: TextLine) -> list[tuple[float, float]]:
    return [(token.area.x0, token.area.x1) for token in found.tokens]


def test_two_words_are_parted_where_the_paper_is_blank() -> None:
    """IN-07: CTC tells the place of a letter by a step of its network, which is some pixels wide."""
    picture = page((20, 82), (150, 212))
    found = fit_edges(line(("Net", 15, 125), ("97.55", 125, 220)), picture)
    assert edges(found) == [(20, 82), (150, 212)]
    assert found.opens and [token.text for token in found.tokens] == ["Net", "97.55"]
    assert {(token.area.y0, token.area.y1, token.confidence) for token in found.tokens} == {(10, 30, 0.9)}


def test_each_of_many_numbers_keeps_its_own_column() -> None:
    columns = [(20, 34), (100, 114), (180, 194), (260, 274)]
    found = fit_edges(line(*((str(n), x0 - 12, x1 + 18) for n, (x0, x1) in enumerate(columns))), page(*columns))
    assert edges(found) == columns


def test_boxes_that_reach_into_the_next_line_end_with_their_own() -> None:
    """Of narrow rows the boxes would overlap, and no table be found."""
    picture = page((20, 82), height=80)
    picture[:4, 20:82], picture[40:60, 20:82] = INK, INK  # of the lines above and below
    picture[8, 60:64] = INK  # a dot, near to its letter
    rough = TextLine((OcrToken("lit", PixelArea(14, 2, 95, 44), 0.9),))
    (word,) = fit_edges(rough, picture).tokens
    assert word.area == PixelArea(20, 8, 82, 30)


def test_grain_is_no_ink_and_a_line_that_is_faint_has_edges_all_the_same() -> None:
    rng = np.random.default_rng(3)
    picture = np.clip(page((20, 82), (150, 212)) + rng.normal(0, 8, (40, 400)), 0, 255).astype(np.uint8)
    assert edges(fit_edges(line(("Net", 15, 125), ("97.55", 125, 220)), picture)) == [(20, 82), (150, 212)]
    faint = np.where(page((20, 82), (150, 212)) == INK, 200, PAPER).astype(np.uint8)
    assert edges(fit_edges(line(("Net", 15, 125), ("97.55", 125, 220)), faint)) == [(20, 82), (150, 212)]


@pytest.mark.parametrize(
    "words",
    [
        pytest.param((("合", 20, 60), ("计", 60, 100)), id="signs without blanks"),
        pytest.param((("Net", 300, 340), ("due", 350, 390)), id="no ink under them"),
        pytest.param((("Net", 500, 540), ("due", 550, 590)), id="beside the picture"),
        pytest.param((("Net", 10, 10), ("due", 10, 10)), id="without a width"),
    ],
)
def test_what_cannot_be_told_stays_as_it_was_said(words: tuple[tuple[str, float, float], ...]) -> None:
    given = line(*words)
    assert fit_edges(given, page((20, 100))) == given


def test_a_line_of_one_word_and_a_coloured_picture_are_fitted_and_no_line_is_none() -> None:
    colours = np.repeat(page((20, 82))[:, :, None], 3, axis=2)
    assert edges(fit_edges(line(("Net", 10, 95)), colours)) == [(20, 82)]
    assert fit_edges(TextLine(()), colours) == TextLine(())


def test_lines_of_large_letters_are_sought_in_a_smaller_picture() -> None:
    """IN-07: letters as high as the detector needs them; a page without letters, or of small ones, as it is."""
    large = page(*((20 + 40 * n, 46 + 40 * n) for n in range(30)), height=1600, width=1200)  # letters of 20 pixels
    assert detector_side(large) == round(1600 * LETTER_HEIGHT / 20)
    assert detector_side(np.repeat(np.repeat(large, 4, 0), 4, 1)[:, :1200]) < LONGEST_SIDE
    small = np.full((1600, 1200), PAPER, np.uint8)
    for at in range(20, 1100, 12):
        small[20:28, at : at + 6] = INK
    assert detector_side(small) == 1600
    assert detector_side(np.full((3000, 2000), PAPER, np.uint8)) == LONGEST_SIDE
    assert detector_side(large[:100, :200]) == LEAST_SIDE
