"""The native text of a PDF page as words with boxes, in the order of the content stream."""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from pipelines.documents.document import Box, Word
from pipelines.documents.extract.pdf_bidi import FIRST_RTL, has_rtl, in_reading_order
from pipelines.documents.extract.pdf_glyphs import UNKNOWN, Glyph, advances, read_glyphs
from pipelines.documents.extract.pdf_hyphens import stays
from pipelines.documents.extract.pdf_raised import set_apart

_DEVICE = 1_000_000  # page coordinates as integers of this many steps, to get fractions from pdfium's own rotation
_MIN_BOX = 1e-4
_FAR = 10_000  # points
_MARGIN = 0.002  # of the page: letters on its very edge are shown
_DIVIDED = "-"  # the gap of a token that goes on what a hyphen at a line end divided, until that is decided
_NEXT_LINE = 0.06  # of the page's height: the next line of the same text stands no lower
_PUNCTUATION = ".,:;!?()[]{}\"'«»“”„‘’"
_NEAR = 0.01  # of the page's width: closer than two columns or two cells are
_PARAGRAPH_GAP = 0.8  # of the usual height of a line, between two lines


@dataclass(frozen=True, slots=True)
class Token:
    """A word before its offset is known.

    Attributes:
        box: None for marks of Markdown, which stand nowhere on the page.
        gap: what separates it from the word before.
        size: of its type in points, 0 where that is not known or it is not shown.
        bold: its font says so.
        hidden: it is drawn invisibly, as OCR writes its text behind a picture.
        source: the text object that its first letter belongs to; 0 where it has none.
        doubtful: the font has no Unicode for one of its signs, and its code was taken instead.
        confidence: 0 to 1.
    """

    text: str
    box: Box | None
    gap: str
    size: float = 0.0
    bold: bool = False
    hidden: bool = False
    source: int = 0
    doubtful: bool = False
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class Native:
    """A page's own text.

    Attributes:
        tokens: its words, in the order of its content.
        characters: how many it has, white space aside.
        damaged: the share of them that no person can read (0 to 1).
        unsure_lines: how many lines of right-to-left text may stand in the wrong order.
    """

    tokens: tuple[Token, ...]
    characters: int
    damaged: float
    unsure_lines: int = 0


def native_text(page: pdfium.PdfPage) -> Native:
    """Read the text objects of a page; characters are kept exactly as they are, repeats included (B-01)."""
    text = page.get_textpage()
    try:
        glyphs = list(read_glyphs(text))
        rtl = any([glyph.char >= FIRST_RTL and has_rtl(glyph.char) for glyph in glyphs])
        if rtl:
            glyphs = advances(text, glyphs)
    finally:
        text.close()
    mapper = Mapper(page)
    if not mapper.shows_all:
        glyphs = [glyph for glyph in glyphs if mapper.shows(glyph)]
    glyphs, unsure = in_reading_order(glyphs) if rtl else (glyphs, 0)
    tokens = _with_bullets(_divided(_tokens(set_apart(glyphs), mapper)))
    shown = [glyph for glyph in glyphs if not glyph.char.isspace()]
    damaged = sum([glyph.doubtful or (glyph.char >= "\ue000" and is_unread(glyph.char)) for glyph in shown])
    return Native(
        tuple(_with_paragraphs(_without_steps(tokens))),
        len(shown),
        damaged / len(shown) if shown else 0.0,
        unsure,
    )


def compose(tokens: Sequence[Token]) -> tuple[str, tuple[Word, ...]]:
    """The page's text, and its words with the offsets at which they stand in it."""
    pieces: list[str] = []
    words: list[Word] = []
    length = 0
    for token in tokens:
        gap = token.gap if pieces else ""
        if token.box is not None:
            words.append(Word(token.text, length + len(gap), token.box, token.confidence))
        pieces += (gap, token.text)
        length += len(gap) + len(token.text)
    return "".join(pieces), tuple(words)


class Mapper:
    """Page coordinates to fractions of the page as it is shown: cropped, rotated, origin top left."""

    def __init__(self, page: pdfium.PdfPage) -> None:
        """Map the points of this page."""
        x, y = ctypes.c_int(), ctypes.c_int()

        def device(px: float, py: float) -> tuple[float, float]:
            raw.FPDF_PageToDevice(page, 0, 0, _DEVICE, _DEVICE, 0, px, py, x, y)
            return x.value / _DEVICE, y.value / _DEVICE

        # pdfium is asked for three points only: the map is affine, and a page has thousands.
        self._x0, self._y0 = device(0, 0)
        (x1, y1), (x2, y2) = device(_FAR, 0), device(0, _FAR)
        self._ax, self._ay = (x1 - self._x0) / _FAR, (y1 - self._y0) / _FAR
        self._bx, self._by = (x2 - self._x0) / _FAR, (y2 - self._y0) / _FAR
        media, shown = page.get_mediabox(), page.get_bbox()
        self.shows_all = all(abs(a - b) < 1 for a, b in zip(media, shown, strict=True)) if media else False

    def point(self, x: float, y: float) -> tuple[float, float]:
        """A point in PDF units as fractions of width and height."""
        return self._x0 + self._ax * x + self._bx * y, self._y0 + self._ay * x + self._by * y

    def box(self, left: float, bottom: float, right: float, top: float) -> Box:
        """A rectangle in PDF units, kept on the page and never empty."""
        (ax, ay), (bx, by) = self.point(left, bottom), self.point(right, top)
        x0, x1 = sorted((_clip(ax), _clip(bx)))
        y0, y1 = sorted((_clip(ay), _clip(by)))
        return Box(x0, y0, max(x1, x0 + _MIN_BOX), max(y1, y0 + _MIN_BOX))

    def shows(self, glyph: Glyph) -> bool:
        """Whether the middle of a character lies on the page as it is shown, and not in what is cut off."""
        x, y = self.point((glyph.left + glyph.right) / 2, (glyph.bottom + glyph.top) / 2)
        return glyph.run is None or (-_MARGIN <= x <= 1 + _MARGIN and -_MARGIN <= y <= 1 + _MARGIN)


def _clip(value: float) -> float:
    return min(1.0, max(0.0, value))


def is_unread(char: str) -> bool:
    """Whether a character tells a person nothing."""
    return char == UNKNOWN or "\ue000" <= char < "\uf900" or char >= "\U000f0000"


def _tokens(glyphs: Sequence[Glyph], mapper: Mapper) -> list[Token]:
    """Words with boxes; a word that goes on after a hyphen at the end of a line is two tokens, `-` its first's end."""
    tokens: list[Token] = []
    letters: list[Glyph] = []
    gap = ""

    def end() -> None:
        nonlocal gap
        if letters:
            tokens.append(_token(letters, gap, mapper))
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
                gap = _DIVIDED
    end()
    return tokens


def _token(letters: Sequence[Glyph], gap: str, mapper: Mapper) -> Token:
    chars, lefts, bottoms, rights, tops, _, doubts, *_ = zip(*letters, strict=True)
    text = "".join(chars)
    if 0.0 in rights and len(letters) > 1:  # letters that pdfium knows no box of
        drawn = [glyph for glyph in letters if glyph.right > glyph.left or glyph.top > glyph.bottom] or letters
        _, lefts, bottoms, rights, tops, *_ = zip(*drawn, strict=True)
    box = mapper.box(min(lefts), min(bottoms), max(rights), max(tops))
    run = letters[0].run
    if run is None:
        return Token(text, box, gap)
    # OCR guesses the sizes of what it writes behind a picture.
    return Token(text, box, gap, 0.0 if run.hidden else run.size, run.bold, run.hidden, run.source, any(doubts))


def _with_bullets(tokens: list[Token]) -> list[Token]:
    """A sign without meaning that begins several lines of words is a bullet; before a figure it may be a minus."""
    found = [
        at
        for at, (token, after) in enumerate(pairwise(tokens))
        if token.text == UNKNOWN and (at == 0 or "\n" in token.gap) and after.gap == " " and after.text[0].isalpha()
    ]
    for at in found if len(found) > 1 else ():
        tokens[at] = replace(tokens[at], text="•", doubtful=False)
    return tokens


def _divided(tokens: list[Token]) -> list[Token]:
    """Words divided at a line end joined again, with their hyphen where it is theirs."""
    if not any(token.gap == _DIVIDED or token.text.endswith("-") for token in tokens):
        return tokens
    known = {token.text.lower().strip(_PUNCTUATION) for token in tokens}
    result: list[Token] = []
    for token in tokens:
        last = result[-1] if result else None
        divided = token.gap == _DIVIDED
        if last is not None and (divided or _goes_on_below(last, token)):
            before = last.text[:-1]
            if stays(_whole(result), token.text, known):
                token = replace(token, gap="")
            elif divided:
                result[-1] = replace(last, text=before)
                token = replace(token, gap="")
        result.append(token)
    return result


def _goes_on_below(last: Token, token: Token) -> bool:
    """A number or a capital after a hyphen at the end of a line, which pdfium leaves on a line of its own."""
    if token.gap != "\n" or len(last.text) < 2 or last.text[-1] != "-" or not last.box or not token.box:
        return False
    near = last.text[-2].isalnum() and token.text[0].isalnum()
    digit = last.text[-2].isdigit() or token.text[0].isdigit() or token.text[0].isupper()
    return near and digit and token.box.x0 < last.box.x0 and 0 < token.box.y0 - last.box.y0 < _NEXT_LINE


def _whole(tokens: Sequence[Token]) -> str:
    """The word that the last token ends, without its last sign."""
    first = len(tokens) - 1
    while first and not tokens[first].gap:
        first -= 1
    return "".join(token.text for token in tokens[first:])[:-1]


def _without_steps(tokens: list[Token]) -> list[Token]:
    """A raised or lowered letter does not end its line, though pdfium takes the step for a line end."""
    result = tokens[:1]
    for last, token in pairwise(tokens):
        if token.gap == "\n" and last.box and token.box and _goes_on(last.box, token.box):
            token = replace(token, gap="" if token.text[0] in ",.;:)]" else " ")
        result.append(token)
    return result


def _goes_on(last: Box, box: Box) -> bool:
    overlap = min(last.y1, box.y1) - max(last.y0, box.y0)
    near = -_NEAR / 2 <= box.x0 - last.x1 <= _NEAR
    return near and overlap > -max(last.y1 - last.y0, box.y1 - box.y0) / 2


def _with_paragraphs(tokens: list[Token]) -> list[Token]:
    """A blank line where two lines stand further apart than lines of one paragraph do."""
    lines: list[list[int]] = []
    for index, token in enumerate(tokens):
        if token.gap == "\n" or not lines:
            lines.append([])
        lines[-1].append(index)
    boxes = [[box for index in line if (box := tokens[index].box)] for line in lines]
    tops = [min(box.y0 for box in line) for line in boxes]
    bottoms = [max(box.y1 for box in line) for line in boxes]
    if len(lines) < 3:
        return tokens
    usual = median(bottom - top for top, bottom in zip(tops, bottoms, strict=True))
    result = list(tokens)
    for line in range(1, len(lines)):
        above = tops[line] - bottoms[line - 1]
        if above > _PARAGRAPH_GAP * usual or above < -3 * usual:
            first = lines[line][0]
            result[first] = replace(tokens[first], gap="\n\n")
    return result
