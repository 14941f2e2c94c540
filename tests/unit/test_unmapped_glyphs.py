"""Signs that a font does not explain: only the rows they stand in are read, and their words are taken from there."""

from pipelines.documents.document import Box, Page, Word
from pipelines.documents.extract.pdf.glyphs import UNKNOWN
from pipelines.documents.extract.pdf.unmapped_glyphs import glyph_band, resolve_glyphs
from pipelines.documents.layout.page_tokens import PageToken


def token(text: str, y: float, x: float = 0.1) -> PageToken:
    return PageToken(text, Box(x, y, x + 0.1, y + 0.01), " ")


def test_only_the_rows_around_a_word_in_question_are_read() -> None:
    band = glyph_band([token("plain", 0.1), token(f"{UNKNOWN}18", 0.4), token(f"3{UNKNOWN}", 0.45), token("end", 0.9)])
    assert (band.x0, band.x1) == (0, 1)
    assert 0.36 < band.y0 < 0.4 and 0.46 < band.y1 < 0.5
    assert glyph_band([token(f"{UNKNOWN}1", 0.001)]).y0 == 0


def test_where_they_stand_all_over_the_page_all_of_it_is_read() -> None:
    everywhere = [token(f"{UNKNOWN}1", 0.1), token(f"{UNKNOWN}2", 0.8)]
    assert glyph_band(everywhere) == Box(0, 0, 1, 1)


def test_words_of_the_rows_are_placed_on_the_page() -> None:
    """The picture holds rows .4 to .5 of the page: what stands in its middle stands at .45 there."""
    asked, band = token(f"{UNKNOWN}18", 0.445), Box(0, 0.4, 1, 0.5)
    read = Page(1, "α18", (Word("α18", 0, Box(0.1, 0.45, 0.2, 0.55), 0.9),), "tesseract", 0.9)
    found, caveat = resolve_glyphs([token("x", 0.1), asked], read, band)
    assert [one.text for one in found] == ["x", "α18"] and "1 of them read by OCR" in caveat.detail
    missed, _ = resolve_glyphs([asked], read)
    assert missed[0].text == f"{UNKNOWN}18", "as a picture of the whole page its words stand elsewhere"
