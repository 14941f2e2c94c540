"""The native text of a PDF page as words with boxes, in the order of the content stream."""

import ctypes
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from pipelines.documents.document import Box, Word

_DEVICE = 1_000_000  # page coordinates as integers of this many steps, to get fractions from pdfium's own rotation
_MIN_BOX = 1e-4
_PRIVATE, _PRIVATE_END = 0xE000, 0xF900  # code points that mean something in one font only
_FONT_NAME = 200  # bytes
_HEAVY = (b"bold", b"black", b"heavy")
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
    """

    text: str
    box: Box | None
    gap: str
    size: float = 0.0
    bold: bool = False


@dataclass(frozen=True, slots=True)
class Native:
    """A page's own text; `damaged` is the share of its characters that no person can read (0 to 1)."""

    tokens: tuple[Token, ...]
    characters: int
    damaged: float


def native_text(page: pdfium.PdfPage) -> Native:
    """Read the text objects of a page; characters are kept exactly as they are, repeats included (B-01)."""
    text = page.get_textpage()
    try:
        tokens, characters, damaged = _tokens(page, text)
    finally:
        text.close()
    return Native(
        tuple(_with_paragraphs(_without_steps(tokens))), characters, damaged / characters if characters else 0.0
    )


def compose(tokens: Sequence[Token]) -> tuple[str, tuple[Word, ...]]:
    """The page's text, and its words with the offsets at which they stand in it."""
    pieces: list[str] = []
    words: list[Word] = []
    length = 0
    for token in tokens:
        gap = token.gap if pieces else ""
        if token.box is not None:
            words.append(Word(token.text, length + len(gap), token.box))
        pieces += (gap, token.text)
        length += len(gap) + len(token.text)
    return "".join(pieces), tuple(words)


class Mapper:
    """Page coordinates to fractions of the page as it is shown: cropped, rotated, origin top left."""

    def __init__(self, page: pdfium.PdfPage) -> None:
        """Map the points of this page."""
        self._page = page
        self._x, self._y = ctypes.c_int(), ctypes.c_int()

    def point(self, x: float, y: float) -> tuple[float, float]:
        """A point in PDF units as fractions of width and height."""
        raw.FPDF_PageToDevice(self._page, 0, 0, _DEVICE, _DEVICE, 0, x, y, self._x, self._y)
        return self._x.value / _DEVICE, self._y.value / _DEVICE

    def box(self, left: float, bottom: float, right: float, top: float) -> Box:
        """A rectangle in PDF units, kept on the page and never empty."""
        (ax, ay), (bx, by) = self.point(left, bottom), self.point(right, top)
        x0, x1 = sorted((_clip(ax), _clip(bx)))
        y0, y1 = sorted((_clip(ay), _clip(by)))
        return Box(x0, y0, max(x1, x0 + _MIN_BOX), max(y1, y0 + _MIN_BOX))


def _clip(value: float) -> float:
    return min(1.0, max(0.0, value))


class _Kind:
    """How large and heavy a character's type is."""

    def __init__(self, text: pdfium.PdfTextPage) -> None:
        self._text = text
        self._matrix, self._flags = raw.FS_MATRIX(), ctypes.c_int()
        self._name = ctypes.create_string_buffer(_FONT_NAME)

    def of(self, index: int) -> tuple[float, bool]:
        """Size of the type in points, as it is shown, 0 where it is not; and whether it is bold.

        A character's box would not do: fonts fill it differently, and turned text has its width for its height.
        """
        drawn = raw.FPDFText_GetTextObject(self._text, index)
        if drawn and raw.FPDFTextObj_GetTextRenderMode(drawn) == raw.FPDF_TEXTRENDERMODE_INVISIBLE:
            return 0.0, False  # what OCR wrote behind a picture: it guesses sizes
        if not raw.FPDFText_GetMatrix(self._text, index, self._matrix):
            return 0.0, False
        size = raw.FPDFText_GetFontSize(self._text, index) * math.hypot(self._matrix.c, self._matrix.d)
        length = raw.FPDFText_GetFontInfo(self._text, index, self._name, _FONT_NAME, self._flags)
        name = self._name.value.lower() if 0 < length <= _FONT_NAME else b""
        return size, any(heavy in name for heavy in _HEAVY)


def _tokens(page: pdfium.PdfPage, text: pdfium.PdfTextPage) -> tuple[list[Token], int, int]:
    """Tokens, the number of visible characters, and how many of them are damaged."""
    mapper, kind = Mapper(page), _Kind(text)
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    tokens: list[Token] = []
    letters: list[str] = []
    box: list[float] = []
    gap = ""
    visible = damaged = first = 0

    def end() -> None:
        nonlocal gap
        if letters:
            tokens.append(Token("".join(letters), mapper.box(*box), gap, *kind.of(first)))
            letters.clear()
            box.clear()
            gap = ""

    for index in range(raw.FPDFText_CountChars(text)):
        code = raw.FPDFText_GetUnicode(text, index)
        char = _printable(code)
        if char is None:
            damaged += 1
            visible += 1
            continue
        if char == "" or char.isspace():
            end()
            if char:
                gap = "\n" if gap == "\n" or char in "\r\n\f" else " "
            continue
        visible += 1
        first = first if letters else index
        damaged += _PRIVATE <= code < _PRIVATE_END or raw.FPDFText_HasUnicodeMapError(text, index) == 1
        letters.append(char)
        if raw.FPDFText_GetCharBox(text, index, left, right, bottom, top):
            _grow(box, left.value, bottom.value, right.value, top.value)
        elif not box:
            box.extend((0.0, 0.0, 0.0, 0.0))
    end()
    return tokens, visible, damaged


def _printable(code: int) -> str | None:
    """The character; "" where pdfium took a line-end hyphen out (the word goes on); None if damaged."""
    if code in (0x2, 0xFFFE):
        return ""
    if code in (0x9, 0xA, 0xC, 0xD):
        return chr(code)
    if code < 0x20 or 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000 or 0xFFFD <= code <= 0xFFFF:
        return None
    return chr(code) if code <= 0x10FFFF else None


def _grow(box: list[float], left: float, bottom: float, right: float, top: float) -> None:
    if not box:
        box.extend((left, bottom, right, top))
        return
    box[:] = min(box[0], left), min(box[1], bottom), max(box[2], right), max(box[3], top)


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
