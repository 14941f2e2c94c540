"""The invisible text layer of a PDF page: words of our own where they stand, without doubling what is there."""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

import pikepdf
import pypdfium2 as pdfium
import pypdfium2.raw as raw
from pikepdf import Array, Dictionary, Name, Stream

from pipelines.documents.document import Box, Word
from pipelines.documents.export.glyphless_font import ADVANCE, EM, NAME, glyphless_truetype, unicode_cmap
from pipelines.documents.export.text_runs import InvisibleRun, page_runs, reading_turn, turned_words

_CODES: Final = 1 << 16
_NEAR: Final = 0.25  # of a word's height: so far around its box a word of the page is the same one
_DEEPEST: Final = 64  # of the tree of pages
_LETTER: Final = (0.0, 0.0, 612.0, 792.0)  # where a page does not tell its size
_SHOWING: Final = ("Tj", "TJ", "'", '"')
_INVISIBLE: Final = 3  # text render mode; PDF 32000-1, 9.3.6


@dataclass(frozen=True, slots=True)
class PageFrame:
    """A page's place in its own coordinates: its top left corner as it is looked at, and its two sides from there.

    Rotation, crop box and an origin elsewhere are in it.
    """

    x: float
    y: float
    right: tuple[float, float]
    down: tuple[float, float]

    def at(self, x: float, y: float) -> tuple[float, float]:
        """The point at these fractions of the page."""
        return self.x + x * self.right[0] + y * self.down[0], self.y + x * self.right[1] + y * self.down[1]

    def turned(self, turn: int) -> "PageFrame":
        """The page as it is looked at from where its writing is upright, which has so many quarter turns, clockwise."""
        (rx, ry), (dx, dy) = self.right, self.down
        match turn:
            case 1:
                return PageFrame(*self.at(1.0, 0.0), (dx, dy), (-rx, -ry))
            case 3:
                return PageFrame(*self.at(0.0, 1.0), (-dx, -dy), (rx, ry))
            case _:
                return self

    def run_matrix(self, run: InvisibleRun) -> tuple[float, ...]:
        """The text matrix with which text of size 1 fills the run's box."""
        wide, high = run.box.x1 - run.box.x0, run.box.y1 - run.box.y0
        along = wide / (len(run.text) * ADVANCE / EM)
        (rx, ry), (dx, dy) = self.right, self.down
        return along * rx, along * ry, -high * dx, -high * dy, *self.at(run.box.x0, run.box.y1)

    def bounds(self, box: Box) -> tuple[float, float, float, float]:
        """Left, bottom, right and top of a box."""
        xs, ys = zip(*(self.at(x, y) for x in (box.x0, box.x1) for y in (box.y0, box.y1)), strict=True)
        return min(xs), min(ys), max(xs), max(ys)


def page_frame(page: pikepdf.Page) -> PageFrame:
    """As PDFium draws the page, so that boxes of a drawn page fit."""
    media = _rectangle(_inherited(page, "/MediaBox")) or _LETTER
    crop = _rectangle(_inherited(page, "/CropBox")) or media
    x0, y0, x1, y1 = max(media[0], crop[0]), max(media[1], crop[1]), min(media[2], crop[2]), min(media[3], crop[3])
    if x1 <= x0 or y1 <= y0:
        x0, y0, x1, y1 = media
    wide, high = x1 - x0, y1 - y0
    turned = _inherited(page, "/Rotate")
    match int(turned) // 90 % 4 if isinstance(turned, int) else 0:
        case 1:
            return PageFrame(x0, y0, (0.0, high), (wide, 0.0))
        case 2:
            return PageFrame(x1, y0, (-wide, 0.0), (0.0, high))
        case 3:
            return PageFrame(x1, y1, (0.0, -high), (-wide, 0.0))
        case _:
            return PageFrame(x0, y1, (wide, 0.0), (0.0, -high))


def _inherited(page: pikepdf.Page, name: str) -> Any:
    node: Any = page.obj
    for _ in range(_DEEPEST):
        if not isinstance(node, Dictionary):
            return None
        if (found := node.get(name)) is not None:
            return found
        node = node.get("/Parent")
    return None


def _rectangle(value: Any) -> tuple[float, float, float, float] | None:
    try:
        x0, y0, x1, y1 = map(float, value)
    except (TypeError, ValueError):
        return None
    left, bottom, right, top = min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)
    return (left, bottom, right, top) if right > left and top > bottom else None


class InvisibleTextWriter:
    """Writes invisible text into the pages of one open PDF, which holds the font once."""

    def __init__(self, pdf: pikepdf.Pdf) -> None:
        """Nothing is put into the document before its first word."""
        self._pdf = pdf
        self._plain: _LayerFont | None = None

    def write_page(self, page: pikepdf.Page, text: str, words: Sequence[Word]) -> int:
        """Put the words on a page, and the text as it is where nothing has a box; how many runs were written."""
        turn = reading_turn(text, words)
        geometry, runs = page_frame(page).turned(turn), page_runs(text, turned_words(words, turn))
        if not runs:
            return 0
        # Letters outside of the basic plane have no 16-bit code of their own: a page of them has a font of its own.
        beyond = list(dict.fromkeys(char for run in runs if _is_beyond(run.text) for char in run.text))[: _CODES - 1]
        rare = self._load_font(beyond) if beyond else None
        lines = [f"q BT {_INVISIBLE} Tr"]
        used: Any = None
        for run in runs:
            font = rare if rare is not None and _is_beyond(run.text) else self._plain_font()
            if font is not used:
                lines.append(f"{font.name} 1 Tf")
                page.add_resource(font.font, Name.Font, font.name)
                used = font
            matrix = " ".join(f"{number:.4f}" for number in geometry.run_matrix(run))
            lines.append(f"{matrix} Tm <{font.encoded(run.text)}> Tj")
        drawn = "\n".join([*lines, "ET Q\n"]).encode("ascii")
        # What the page draws may leave its coordinates moved: they are put back before ours.
        page.contents_add(self._pdf.make_stream(b"q\n"), prepend=True)
        page.contents_add(self._pdf.make_stream(b"\nQ\n"))
        page.contents_add(compressed_stream(self._pdf, drawn))
        return len(runs)

    def _plain_font(self) -> "_LayerFont":
        if self._plain is None:
            self._plain = self._load_font([])
        return self._plain

    def _load_font(self, beyond: Sequence[str]) -> "_LayerFont":
        # The name tells what its codes mean: programs take two fonts of one name for the same.
        name = f"{NAME}-{blake2b(''.join(beyond).encode(), digest_size=6).hexdigest()}" if beyond else NAME
        pdf, data = self._pdf, glyphless_truetype(name)
        count = len(beyond) + 1 if beyond else _CODES
        # A space that is drawn is taken for a sign whose meaning its font does not tell.
        blank = ord(" ") if not beyond else beyond.index(" ") + 1 if " " in beyond else 0
        file = compressed_stream(pdf, data, Length1=len(data))
        glyphs = compressed_stream(pdf, b"".join(b"\0\0" if code == blank else b"\0\1" for code in range(count)))
        descriptor = Dictionary(
            Type=Name.FontDescriptor,
            FontName=Name(f"/{name}"),
            Flags=5,  # of one width, and no letters of the Latin alphabet as such
            FontBBox=Array([0, 0, ADVANCE, EM]),
            ItalicAngle=0,
            Ascent=EM,
            Descent=0,
            CapHeight=EM,
            StemV=80,
            FontFile2=file,
        )
        descendant = Dictionary(
            Type=Name.Font,
            Subtype=Name.CIDFontType2,
            BaseFont=Name(f"/{name}"),
            CIDSystemInfo=Dictionary(Registry=b"Adobe", Ordering=b"Identity", Supplement=0),
            FontDescriptor=pdf.make_indirect(descriptor),
            DW=ADVANCE,
            CIDToGIDMap=glyphs,
        )
        font = Dictionary(
            Type=Name.Font,
            Subtype=Name.Type0,
            BaseFont=Name(f"/{name}"),
            Encoding=Name("/Identity-H"),
            DescendantFonts=Array([pdf.make_indirect(descendant)]),
            ToUnicode=compressed_stream(pdf, unicode_cmap(beyond)),
        )
        codes = {char: code for code, char in enumerate(beyond, 1)}
        return _LayerFont(Name(f"/{name}"), pdf.make_indirect(font), codes)


@dataclass(frozen=True, slots=True)
class _LayerFont:
    name: Name
    font: Any
    codes: Mapping[str, int]  # of its letters; empty where their codes are those of UTF-16

    def encoded(self, text: str) -> str:
        """The text as a hexadecimal string."""
        return "".join(f"{self.codes[char] if self.codes else ord(char):04X}" for char in text)


def compressed_stream(pdf: pikepdf.Pdf, data: bytes, **more: Any) -> pikepdf.Stream:
    """A stream that takes no more memory than it will take in the file."""
    return pdf.make_stream(zlib.compress(data), Filter=Name.FlateDecode, **more)


def may_hold_text(page: pikepdf.Page) -> bool:
    """False where the page has neither a font nor a form, in which there may be one."""
    resources = _inherited(page, "/Resources")
    if not isinstance(resources, Dictionary):
        return False
    forms = resources.get("/XObject")
    inner = forms.values() if isinstance(forms, Dictionary) else ()
    return bool(resources.get("/Font")) or any(
        isinstance(one, Dictionary | Stream) and one.get("/Subtype") == Name.Form for one in inner
    )


def missing_words(page: pdfium.PdfPage, words: Sequence[Word], geometry: PageFrame) -> list[Word]:
    """The words that the page's own text does not have at their place: a text that is there is not doubled."""
    own = page.get_textpage()
    try:
        if not own.count_chars():
            return list(words)
        return [word for word in words if not _has_word(own, word, geometry)]
    finally:
        own.close()


def forget_invisible_text(page: pdfium.PdfPage) -> None:
    """Take invisible text out of a loaded page, so that only what is seen counts; the file stays as it is."""
    for item in list(page.get_objects(max_depth=1)):
        if item.type == raw.FPDF_PAGEOBJ_TEXT and raw.FPDFTextObj_GetTextRenderMode(item.raw) == _INVISIBLE:
            page.remove_obj(item)


def remove_invisible_text(pdf: pikepdf.Pdf, page: pikepdf.Page) -> bool:
    """Take the invisible text away that another program wrote behind a scan; False where none is found.

    All else that the page draws stays as it is written. Text in forms is not looked for.
    """
    instructions = list(pikepdf.parse_content_stream(page))
    kept = list(_visible(instructions))
    if len(kept) == len(instructions):
        return False
    page.Contents = compressed_stream(pdf, pikepdf.unparse_content_stream(kept))
    return True


def _visible(instructions: Sequence[Any]) -> Iterator[Any]:
    mode, saved = 0, list[int]()
    for one in instructions:
        match str(one.operator):
            case "q":
                saved.append(mode)
            case "Q":
                mode = saved.pop() if saved else 0
            case "Tr":
                mode = one.operands[0] if one.operands and isinstance(one.operands[0], int) else mode
            case operator if operator in _SHOWING and mode == _INVISIBLE:
                continue
        yield one


def _has_word(own: pdfium.PdfTextPage, word: Word, geometry: PageFrame) -> bool:
    box = word.box
    more = _NEAR * (box.y1 - box.y0)
    left, bottom, right, top = geometry.bounds(Box(box.x0 - more, box.y0 - more, box.x1 + more, box.y1 + more))
    there = own.get_text_bounded(left, bottom, right, top)
    letters = _plain_letters(word.text)
    return letters in _plain_letters(there) if letters else word.text in there


def _plain_letters(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


def _is_beyond(text: str) -> bool:
    return any(ord(char) >= _CODES for char in text)
