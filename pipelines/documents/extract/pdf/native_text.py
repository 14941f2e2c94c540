"""A PDF page's own text: its characters as words with boxes, in the order in which they are read."""

from collections.abc import Sequence
from dataclasses import dataclass

import pypdfium2 as pdfium

from pipelines.documents.extract.pdf.bidi import FIRST_RTL, has_rtl, in_reading_order
from pipelines.documents.extract.pdf.blanks import with_drawn_minus
from pipelines.documents.extract.pdf.glyphs import Glyph, read_glyphs, with_advances, with_drawn_rules
from pipelines.documents.extract.pdf.page_words import PageMapper, is_unread
from pipelines.documents.extract.pdf.raised_runs import set_apart
from pipelines.documents.extract.pdf.text_lines import (
    DIVIDED,
    joined_words,
    with_bullets,
    with_paragraphs,
    without_steps,
)
from pipelines.documents.layout.page_tokens import PageToken


@dataclass(frozen=True, slots=True)
class NativeText:
    """A page's own text."""

    tokens: tuple[PageToken, ...]  # its words, in the order of its content
    characters: int  # how many it has, white space aside
    damaged: float  # the share of them that no person can read (0 to 1)
    unsure_lines: int = 0  # how many lines of right-to-left text may stand in the wrong order


def native_text(page: pdfium.PdfPage) -> NativeText:
    """Read the text objects of a page; characters are kept exactly as they are, repeats included (B-01)."""
    text = page.get_textpage()
    try:
        glyphs = read_glyphs(text)
        rtl = any(glyph.char >= FIRST_RTL and has_rtl(glyph.char) for glyph in glyphs)
        if rtl:
            glyphs = with_advances(text, glyphs)
    finally:
        text.close()
    mapper = PageMapper(page)
    if not mapper.shows_all:
        glyphs = [glyph for glyph in glyphs if mapper.shows(glyph)]
    glyphs = with_drawn_minus(page, mapper, with_drawn_rules(glyphs))
    glyphs, unsure = in_reading_order(glyphs) if rtl else (glyphs, 0)
    tokens = with_bullets(joined_words(_glyph_tokens(set_apart(glyphs), mapper)))
    shown = [glyph for glyph in glyphs if not glyph.char.isspace()]
    damaged = sum([glyph.doubtful or (glyph.char >= "\ue000" and is_unread(glyph.char)) for glyph in shown])
    return NativeText(
        tuple(with_paragraphs(without_steps(tokens))), len(shown), damaged / len(shown) if shown else 0.0, unsure
    )


def _glyph_tokens(glyphs: Sequence[Glyph], mapper: PageMapper) -> list[PageToken]:
    """Words with boxes; a word that goes on after a hyphen at the end of a line is two tokens, `-` its first's end."""
    tokens: list[PageToken] = []
    letters: list[Glyph] = []
    gap = ""

    def end() -> None:
        nonlocal gap
        if letters:
            tokens.append(_build_token(letters, gap, mapper))
            letters.clear()
            gap = ""

    for glyph in glyphs:
        char = glyph.char
        if char == " " or char == "\n":
            end()
            gap = "\n" if gap == "\n" or char == "\n" else " "
        else:
            letters.append(glyph)
            if glyph.ends_line:
                end()
                gap = DIVIDED
    end()
    return tokens


def _build_token(letters: Sequence[Glyph], gap: str, mapper: PageMapper) -> PageToken:
    chars, lefts, bottoms, rights, tops, _, doubts, *_ = zip(*letters, strict=True)
    text = "".join(chars)
    if 0.0 in rights and len(letters) > 1:  # letters that pdfium knows no box of
        drawn = [glyph for glyph in letters if glyph.right > glyph.left or glyph.top > glyph.bottom] or letters
        _, lefts, bottoms, rights, tops, *_ = zip(*drawn, strict=True)
    box = mapper.box(min(lefts), min(bottoms), max(rights), max(tops))
    run = letters[0].run
    if run is None:
        return PageToken(text, box, gap)
    # OCR guesses the sizes of what it writes behind a picture.
    return PageToken(text, box, gap, 0.0 if run.hidden else run.size, run.bold, run.hidden, run.source, any(doubts))
