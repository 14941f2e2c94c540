"""Signs that a font does not explain: only what is around them is read, and their words are taken from there."""

from pipelines.documents.document import Box, Page, Word
from pipelines.documents.extract.pdf.glyphs import UNKNOWN
from pipelines.documents.extract.pdf.unmapped_glyphs import glyph_area, resolve_glyphs
from pipelines.documents.layout.page_tokens import PageToken


def token(text: str, y: float, x: float = 0.1) -> PageToken:
    return PageToken(text, Box(x, y, x + 0.1, y + 0.01), " ")


def test_only_what_stands_around_a_word_in_question_is_read() -> None:
    asked = [token(f"{UNKNOWN}18", 0.4, x=0.5), token(f"3{UNKNOWN}", 0.45, x=0.55)]
    area = glyph_area([token("plain", 0.1), *asked, token("end", 0.9)], aspect=1.4)
    assert 0.36 < area.y0 < 0.4 and 0.46 < area.y1 < 0.5
    assert 0.3 < area.x0 < 0.4 and 0.75 < area.x1 < 0.85, "some words beside it, and no other column"
    corner = glyph_area([token(f"{UNKNOWN}1", 0.001, x=0.001)], aspect=1.4)
    assert (corner.x0, corner.y0) == (0, 0)


def test_where_they_stand_all_over_the_page_all_of_it_is_read() -> None:
    everywhere = [token(f"{UNKNOWN}1", 0.1), token(f"{UNKNOWN}2", 0.8)]
    assert glyph_area(everywhere, aspect=1.4) == Box(0, 0, 1, 1)


def test_words_of_the_rows_are_placed_on_the_page() -> None:
    """The picture holds rows .4 to .5 of the page: what stands in its middle stands at .45 there."""
    asked, band = token(f"{UNKNOWN}18", 0.445), Box(0, 0.4, 1, 0.5)
    read = Page(1, "α18", (Word("α18", 0, Box(0.1, 0.45, 0.2, 0.55), 0.9),), "tesseract", 0.9)
    found, caveat = resolve_glyphs([token("x", 0.1), asked], read, band)
    assert [one.text for one in found] == ["x", "α18"] and "1 of them read by OCR" in caveat.detail
    missed, _ = resolve_glyphs([asked], read)
    assert missed[0].text == f"{UNKNOWN}18", "as a picture of the whole page its words stand elsewhere"
