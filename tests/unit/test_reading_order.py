"""Reading order of what an engine finds on a page: rows, columns of prose, and headlines over both."""

import numpy as np

from pipelines.documents.ocr.compose import compose_page
from pipelines.documents.ocr.preprocess import unrepaired_page
from pipelines.documents.ocr.reading import OcrToken, PixelArea, TextLine
from pipelines.documents.ocr.reading_order import arrange_found, arrange_lines

HIGH = 20.0


def piece(text: str, x: float, y: float, wide: float | None = None) -> TextLine:
    """Words of one run from (x, y) on; `wide` pixels, or ten a character."""
    words, at = text.split(), x
    letter = (10.0 * len(text) if wide is None else wide) / len(text)
    tokens = []
    for word in words:
        tokens.append(OcrToken(word, PixelArea(at, y, at + letter * len(word), y + HIGH), 0.9))
        at += letter * (len(word) + 1)
    return TextLine(tuple(tokens))


def texts(*pieces: TextLine) -> list[str]:
    return [line.text for line in arrange_lines(pieces)]


def test_pieces_at_one_height_are_one_line_from_left_to_right() -> None:
    found = texts(piece("12.00", 400, 43), piece("Total", 10, 70), piece("Two teas", 10, 40), piece("24.00", 400, 72))
    assert found == ["Two teas 12.00", "Total 24.00"]


def test_columns_of_prose_are_read_one_after_the_other() -> None:
    left = [piece(f"the left column goes on in line {n}", 10, 30 * n, 350) for n in range(8)]
    right = [piece(f"and the right one does so in {n}", 400, 30 * n + 3, 350) for n in range(8)]
    found = texts(*[one for pair in zip(right, left, strict=True) for one in pair])
    assert found == [one.text for one in (*left, *right)]


def test_a_headline_over_two_columns_parts_what_is_above_and_below() -> None:
    def column(x: float, top: int, name: str) -> list[TextLine]:
        return [piece(f"{name} has some words in its line {n}", x, top + 30 * n, 350) for n in range(6)]

    first, second = column(10, 0, "first"), column(400, 0, "second")
    third, fourth = column(10, 300, "third"), column(400, 300, "fourth")
    headline = piece("A headline that goes over the whole page", 10, 240, 740)
    found = [line.split()[0] for line in texts(*fourth, *second, headline, *third, *first)]
    assert found == ["first"] * 6 + ["second"] * 6 + ["A"] + ["third"] * 6 + ["fourth"] * 6


def test_a_table_is_read_row_by_row() -> None:
    cells = [piece(text, x, 30 * row) for row in range(8) for x, text in ((10, f"Item {row}"), (300, f"{row}.50"))]
    assert texts(*cells) == [f"Item {row} {row}.50" for row in range(8)]


def test_a_gap_opens_a_paragraph() -> None:
    lines = arrange_lines([piece("one", 0, 0), piece("two", 0, 25), piece("three", 0, 90)])
    assert [line.opens for line in lines] == [False, False, True]


def test_nothing_gives_no_line_and_each_word_comes_once() -> None:
    assert arrange_lines([]) == () == arrange_lines([TextLine(())])
    pieces = [piece(f"word{n}", 37 * n % 500, 17 * n % 900) for n in range(400)]
    assert sorted(" ".join(texts(*pieces)).split()) == sorted(f"word{n}" for n in range(400))


def column(text: str, x: float, y: float) -> TextLine:
    """Signs of 20 × 20 pixels one below the other."""
    tokens = (OcrToken(sign, PixelArea(x, y + 20 * at, x + 20, y + 20 * at + 20), 0.9) for at, sign in enumerate(text))
    return TextLine(tuple(tokens))


def test_columns_that_run_downwards_are_read_from_right_to_left() -> None:
    """Vertical Japanese: the signs keep their places on the page."""
    first, second = column("吾輩は猫である", 500, 40), column("名前はまだ無い", 460, 40)
    third = column("どこで生れたか", 420, 40)
    found = arrange_found((third, first, second))
    assert [line.text.replace(" ", "") for line in found] == ["吾輩は猫である", "名前はまだ無い", "どこで生れたか"]
    assert found[0].tokens == first.tokens


def test_a_tall_mark_beside_rows_changes_nothing() -> None:
    rows = [piece(f"a line of prose number {n}", 60, 30 * n, 300) for n in range(6)]
    assert arrange_found((*rows, column("縦書", 10, 0))) == arrange_lines((*rows, column("縦書", 10, 0)))
    assert arrange_found(()) == ()


def test_signs_of_east_asia_are_joined_without_blanks_and_words_index_the_text() -> None:
    read = ["第", "49", "届", "超级", "碗", "。", "NFL", "Super"]
    tokens = [OcrToken(text, PixelArea(20 * at, 0, 20 * at + 20, 20), 0.9) for at, text in enumerate(read)]
    view = unrepaired_page(np.full((100, 400), 255, dtype=np.uint8), None)
    text, words = compose_page((TextLine(tuple(tokens)),), view, 400, 100)
    assert text == "第 49 届超级碗。 NFL Super"
    assert all(text[word.start :].startswith(word.text) for word in words) and len(words) == len(tokens)
