"""The characters that a PDF page draws: each with its place, its type, and whether its font tells what it means."""

import ctypes
import math
import struct
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import pypdfium2 as pdfium
import pypdfium2.raw as raw

UNKNOWN = "\ufffd"
"""Stands for a sign that is drawn and whose meaning the font does not tell."""

_UINT, _INT, _POINTER = ctypes.c_uint, ctypes.c_int, ctypes.c_void_p
_NOWHERE = (0.0, 0.0, 0.0, 0.0)
_PLACES = struct.Struct("4d")
_FONT_NAME = 200  # bytes
_HEAVY = (b"bold", b"black", b"heavy")
_HYPHEN = (0x2, 0xFFFE)  # what pdfium makes of a hyphen at a line end
_SOFT_HYPHEN = 0xAD
_UNSEEN = frozenset((_SOFT_HYPHEN, *range(0x200B, 0x2010), *range(0x2028, 0x2030), *range(0x2060, 0x2065), 0xFEFF))
"""Codes that stand for nothing that is seen; where something is drawn for one all the same, the font is wrong."""

_PRIVATE, _PRIVATE_END = 0xE000, 0xF900  # code points that mean something in one font only
_INK = 0.02  # of the type's size, in both directions: less is not drawn
_DASH_THIN, _DASH_LEAST, _DASH_MOST = 0.15, 0.25, 0.75  # of the type's size: the height and widths of a minus
_DASH_LOW, _DASH_HIGH = 0.1, 0.5  # of the type's size, above the line: a minus stands neither under nor over figures
_LEAST_OF_RULE = 4  # signs side by side
_RULE_HIGH, _RULE_STEP = 0.5, 0.05  # of a sign's width: its height at most, and the step to the next

_PLAIN = {code: chr(code) for code in (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x590))}
"""Letters, figures and signs that are what their code says."""

_SYMBOL = dict(
    zip(
        (0x2D, 0xA3, 0xA5, 0xB0, 0xB1, 0xB2, 0xB3, 0xB4, 0xB7, 0xB8, 0xB9, 0xBA, 0xBB, 0x44, 0x53, 0x57, 0x61, 0x62,
         0x64, 0x6C, 0x6D, 0x70, 0x73, 0x77),
        "−≤∞°±″≥×•÷≠≡≈ΔΣΩαβδλμπσω",
        strict=True,
    )
)  # fmt: skip
"""What is most used of Adobe's Symbol encoding (PDF 32000-1, annex D.5), by code."""

_WINGDINGS = dict(
    zip(
        (0x6C, 0x6E, 0x6F, 0x71, 0x76, 0x9F, 0xA7, 0xA8, 0xD8, 0xE0, 0xFB, 0xFC, 0xFD, 0xFE),
        "●■☐❑❖•▪☐➢→✗✓☒☑",
        strict=True,
    )
)


@dataclass(frozen=True, slots=True)
class TextRun:
    """Typographic properties that the characters of one text object share."""

    size: float  # of the type in points as it is shown; 0 where that is not known
    bold: bool  # its font says so
    hidden: bool  # drawn in no colour at all (text render mode 3), as OCR writes its text behind a picture
    along: tuple[float, float]  # the direction of writing as a unit vector, in page points
    level: float  # how far its base line is from the origin, square to that direction and growing upwards
    source: int  # which text object of the page; 0 for what pdfium adds
    font: int  # which font
    symbol: str = ""  # `symbol`, `wingdings` or empty


class Glyph(NamedTuple):
    """A character, or several that one sign stands for; a separator has no run.

    Attributes:
        char: the text; UNKNOWN where nobody knows it.
        left, bottom, right, top: in page points.
        doubtful: the font has no Unicode for it, and its code was taken instead.
        ends_line: a hyphen at a line end.
        at: where pdfium counts it.
    """

    char: str
    left: float
    bottom: float
    right: float
    top: float
    run: TextRun | None
    doubtful: bool = False
    ends_line: bool = False
    at: int = -1


def read_glyphs(text: pdfium.PdfTextPage) -> list[Glyph]:
    """The page's characters in the order of its content; white space as ` ` and line ends as `\\n`."""
    reader = _Reader(text)
    handle, unicode_of, object_of = reader.handle, reader.unicode_of, reader.object_of
    is_unmapped, box_of, box, places = reader.is_unmapped, reader.box_of, reader.box, reader.places
    read_places = _PLACES.unpack
    plain, new = _PLAIN.get, tuple.__new__  # without the checks of the constructor: a page has thousands
    result: list[Glyph] = []
    last, run, high = 0, None, 0
    mapped = reader.mapped_by(None)
    for index in range(raw.FPDFText_CountChars(text)):
        code = unicode_of(handle, index)
        source = object_of(handle, index) or 0
        if source != last:
            last, run = source, reader.run_of(source, index) if source else None
            mapped = reader.mapped_by(run)
        if not box_of(handle, index, *places):
            box[:] = list(_NOWHERE)
        left, right, bottom, top = read_places(box)
        char = plain(code)
        if char is not None:
            unmapped = code not in mapped and is_unmapped(handle, index) == 1
            if not unmapped:
                mapped.add(code)
            result.append(new(Glyph, (char, left, bottom, right, top, run, unmapped, False, index)))
        elif 0xD800 <= code < 0xDC00:
            high = code  # the first half of a character beyond the first 65,536
        else:
            if 0xDC00 <= code < 0xE000 and high:
                code = 0x10000 + ((high - 0xD800) << 10) + code - 0xDC00
            high = 0
            before = result[-1] if result else None
            glyph = reader.look(code, Glyph("", left, bottom, right, top, run, at=index), before)
            if glyph.char:
                result.append(glyph)
    return result


def with_advances(text: pdfium.PdfTextPage, glyphs: Sequence[Glyph]) -> list[Glyph]:
    """The glyphs with their left and right as their font advances, not as they are inked.

    Of letters that are joined by hand the ink tells nothing of where a word ends.
    """
    box = raw.FS_RECTF()
    return [
        glyph._replace(left=min(box.left, box.right), right=max(box.left, box.right))
        if glyph.run and raw.FPDFText_GetLooseCharBox(text, glyph.at, box)
        else glyph
        for glyph in glyphs
    ]


def with_drawn_rules(glyphs: list[Glyph]) -> list[Glyph]:
    """The glyphs with `_` for one flat sign that is set over and over, each touching the next: a line to write on.

    Forms of the Federal Register have theirs from a font of ornaments, whose code is that of an `l`.
    """
    if not any(glyph.doubtful for glyph in glyphs):
        return glyphs
    result: list[Glyph] = []
    for (char, doubtful, _), group in groupby(
        glyphs, key=lambda one: (one.char, one.doubtful, one.run and one.run.font)
    ):
        signs = list(group)
        wide, high = signs[0].right - signs[0].left, signs[0].top - signs[0].bottom
        alike = doubtful and char not in (UNKNOWN, " ", "\n") and len(signs) >= _LEAST_OF_RULE
        flat = alike and 0 < high <= _RULE_HIGH * wide
        if flat and all(abs(after.left - one.right) <= _RULE_STEP * wide for one, after in pairwise(signs)):
            signs = [one._replace(char="_", doubtful=False) for one in signs]
        result += signs
    return result


def _plain_function(function: object, result: Any, *more: Any) -> Callable[..., Any]:
    """A function of pdfium that takes a text page, an index and `more`, called with plain numbers.

    What takes and gives objects would make some for every character, which takes longer than all the rest.
    """
    address = ctypes.cast(function, ctypes.c_void_p).value  # type: ignore[arg-type]  # a function is a pointer
    assert address is not None
    return ctypes.PYFUNCTYPE(result, ctypes.c_void_p, ctypes.c_int, *more)(address)


def _code_text(code: int, run: TextRun | None) -> str:
    """The text of a code, white space as ` ` or `\\n`."""
    if code == 0x20 or 0x9 <= code <= 0xD or code == 0xA0:
        return "\n" if code in (0xA, 0xC, 0xD) else " "
    if code in _HYPHEN:
        return "-"
    if _PRIVATE <= code < _PRIVATE_END:
        known = {"symbol": _SYMBOL, "wingdings": _WINGDINGS}.get(run.symbol, {}) if run else {}
        return known.get(code & 0xFF, chr(code))
    if code < 0x20 or 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000 or 0xFFFD <= code <= 0xFFFF or code > 0x10FFFF:
        return UNKNOWN
    if 0xFB00 <= code <= 0xFDFF or 0xFE70 <= code <= 0xFEFC:
        # Ligatures and the forms that letters take inside an Arabic word: the letters that they stand for.
        return unicodedata.normalize("NFKC", chr(code))
    return " " if chr(code).isspace() else chr(code)


def sign_by_shape(left: float, bottom: float, right: float, top: float, run: TextRun | None) -> str:
    """Meaning of an unmapped sign by its shape: nothing, a minus, or unknown."""
    if run is None or run.size <= 0:
        return UNKNOWN
    if not _is_inked(left, bottom, right, top, run):
        return ""
    wide, high = (right - left) / run.size, (top - bottom) / run.size
    above = ((top + bottom) / 2 - run.level) / run.size
    upright = run.along == (1.0, 0.0)
    flat = high <= _DASH_THIN and _DASH_LEAST <= wide <= _DASH_MOST
    return "-" if upright and flat and _DASH_LOW <= above <= _DASH_HIGH else UNKNOWN


def _is_inked(left: float, bottom: float, right: float, top: float, run: TextRun | None) -> bool:
    least = _INK * (run.size if run and run.size > 0 else 1.0)
    return right - left >= least and top - bottom >= least


class _Reader:
    """A text page as pdfium has it: its functions, called with plain numbers, and its text objects by address."""

    def __init__(self, text: pdfium.PdfTextPage) -> None:
        self._text = text.raw
        self.handle = ctypes.cast(text.raw, ctypes.c_void_p).value
        self.unicode_of = _plain_function(raw.FPDFText_GetUnicode, _UINT)
        self.object_of = _plain_function(raw.FPDFText_GetTextObject, _POINTER)
        self.is_unmapped = _plain_function(raw.FPDFText_HasUnicodeMapError, _INT)
        self.is_generated = _plain_function(raw.FPDFText_IsGenerated, _INT)
        self.box_of = _plain_function(raw.FPDFText_GetCharBox, _INT, *[_POINTER] * 4)
        self.box = (ctypes.c_double * 4)()
        start = ctypes.addressof(self.box)
        self.places = (start, start + 8, start + 16, start + 24)
        self._known: dict[int, TextRun] = {}
        self._mapped: dict[int, set[int]] = {}
        self._matrix, self._flags = raw.FS_MATRIX(), ctypes.c_int()
        self._name = ctypes.create_string_buffer(_FONT_NAME)
        self._x, self._y = ctypes.c_double(), ctypes.c_double()

    def look(self, code: int, place: Glyph, before: Glyph | None) -> Glyph:
        """A character that is not simply what its code says; empty where nothing is seen.

        Args:
            code: Unicode as pdfium tells it.
            place: its place and its run, without a character.
            before: what comes before it: letters of one sign have one place.
        """
        char = _code_text(code, place.run)
        if code == _HYPHEN[0] and raw.FPDFText_IsHyphen(self._text, place.at) != 1:
            char = UNKNOWN
        run, box = place.run, place[1:5]
        if char in ("", " ", "\n") or code in _UNSEEN:
            if run is not None and self.is_generated(self.handle, place.at) == 1:
                run = None
            elif run is not None and (before is None or before[1:5] != box) and _is_inked(*box, run):
                char = "-" if code == _SOFT_HYPHEN else UNKNOWN  # drawn, though it is said to be a blank
            elif code == _SOFT_HYPHEN:
                char = ""
        doubtful = char > " " and self.is_unmapped(self.handle, place.at) == 1
        if doubtful and code < 0x20:
            char = UNKNOWN
        if char == UNKNOWN or (_PRIVATE <= code < _PRIVATE_END and char == chr(code)):
            shape = sign_by_shape(*box, place.run)
            char = shape if char == UNKNOWN or shape == "-" else char
        return Glyph(char, *box, run, doubtful, char == "-" and code in _HYPHEN, place.at)

    def mapped_by(self, run: TextRun | None) -> set[int]:
        """The codes that a font is known to tell itself: they need not be asked for again."""
        return self._mapped.setdefault(run.font if run else 0, set())

    def run_of(self, source: int, index: int) -> TextRun:
        """The run of a text object, whose first character is at `index`."""
        if source not in self._known:
            self._known[source] = self._read_run(source, index)
        return self._known[source]

    def _read_run(self, source: int, index: int) -> TextRun:
        """A character's box would not tell the size: fonts fill it differently, and turned text has its width for its
        height."""
        drawn = ctypes.cast(source, raw.FPDF_PAGEOBJECT)
        hidden = raw.FPDFTextObj_GetTextRenderMode(drawn) == raw.FPDF_TEXTRENDERMODE_INVISIBLE
        size, along = 0.0, (1.0, 0.0)
        if raw.FPDFText_GetMatrix(self._text, index, self._matrix):
            size = raw.FPDFText_GetFontSize(self._text, index) * math.hypot(self._matrix.c, self._matrix.d)
            along = _writing_direction(self._matrix.a, self._matrix.b)
        level = 0.0
        if raw.FPDFText_GetCharOrigin(self._text, index, self._x, self._y):
            level = self._y.value * along[0] - self._x.value * along[1]
        length = raw.FPDFText_GetFontInfo(self._text, index, self._name, _FONT_NAME, self._flags)
        name = self._name.value.lower() if 0 < length <= _FONT_NAME else b""
        font = ctypes.cast(raw.FPDFTextObj_GetFont(drawn), ctypes.c_void_p).value or 0
        symbol = "wingdings" if b"wingding" in name else "symbol" if b"symbol" in name else ""
        return TextRun(size, any(heavy in name for heavy in _HEAVY), hidden, along, level, source, font, symbol)


def _writing_direction(a: float, b: float) -> tuple[float, float]:
    length = math.hypot(a, b)
    if length == 0 or abs(b) < 1e-3 * length:
        return (1.0, 0.0)  # upright, or mirrored, which is written from left to right as well
    return a / length, b / length
