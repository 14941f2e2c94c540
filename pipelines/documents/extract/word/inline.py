"""The text of a DOCX paragraph: runs, raised ones apart, signs, boxes to tick, notes, equations, pictures."""

import re
from collections.abc import Iterator

from lxml import etree

from pipelines.documents.document import CaveatKind
from pipelines.documents.extract.office.embedded_objects import DrawingObjects
from pipelines.documents.extract.text.raised import as_subscript, as_superscript
from pipelines.documents.extract.word.equations import linear_equation
from pipelines.documents.extract.word.form_fields import EMPTY, TICKED, W, field_state, is_on
from pipelines.documents.extract.word.styles import DocxStyles

_WINGDINGS = {
    0x22: "✂", 0x28: "☎", 0x2A: "✉", 0x36: "⌛", 0x4A: "☺", 0x4C: "☹", 0x6C: "●", 0x6E: "■", 0x6F: "☐", 0x71: "☐",
    0x72: "☐", 0x73: "◆", 0x75: "◆", 0x76: "❖", 0x77: "◆", 0x9F: "•", 0xA1: "○", 0xA7: "▪", 0xA8: "☐", 0xAB: "★",
    0xD8: "➢", 0xDF: "←", 0xE0: "→", 0xE1: "↑", 0xE2: "↓", 0xE8: "➔", 0xF0: "⇨", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒",
    0xFE: "☑",
}  # fmt: skip
_WINGDINGS_2 = {0x4F: "✗", 0x50: "✓", 0x51: "☒", 0x52: "☑", 0x53: "☒", 0x54: "☒", 0xA3: "☐", 0x2A: "☐", 0x97: "•"}
_SYMBOL_LETTERS = dict(
    zip(
        "ABGDEZHQIKLMNXOPRSTUFCYWabgdezhqiklmnxoprstufcyw",
        (*"ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩ", *"αβγδεζηθικλμνξοπρστυφχψω"),
        strict=True,
    )
)
_SYMBOL = {
    **{ord(latin): greek for latin, greek in _SYMBOL_LETTERS.items()},
    0x4A: "ϑ", 0x56: "ς", 0x6A: "ϕ", 0x76: "ϖ", 0x22: "∀", 0x24: "∃", 0x27: "∋", 0x2A: "∗", 0x2D: "−", 0x40: "≅",
    0x5C: "∴", 0x5E: "⊥", 0xA2: "′", 0xA3: "≤", 0xA5: "∞", 0xAB: "↔", 0xAC: "←", 0xAD: "↑", 0xAE: "→", 0xAF: "↓",
    0xB0: "°", 0xB1: "±", 0xB2: "″", 0xB3: "≥", 0xB4: "×", 0xB5: "∝", 0xB6: "∂", 0xB7: "•", 0xB8: "÷", 0xB9: "≠",
    0xBA: "≡", 0xBB: "≈", 0xBC: "…", 0xC5: "⊕", 0xC6: "∅", 0xC7: "∩", 0xC8: "∪", 0xCE: "∈", 0xCF: "∉", 0xD0: "∠",
    0xD1: "∇", 0xD2: "®", 0xD3: "©", 0xD4: "™", 0xD5: "∏", 0xD6: "√", 0xD7: "⋅", 0xD8: "¬", 0xD9: "∧", 0xDA: "∨",
    0xDB: "⇔", 0xDE: "⇒", 0xE5: "∑", 0xF2: "∫",
}  # fmt: skip
_FONTS = {"wingdings": _WINGDINGS, "wingdings 2": _WINGDINGS_2, "symbol": _SYMBOL}


def is_symbol_font(font: str) -> bool:
    """True for a font in which letters stand for signs."""
    return font.lower() in _FONTS


def symbol_sign(font: str, code: int) -> str | None:
    """The sign at a place of a font, also where it is written in the private area (U+F000 and on); None if unknown."""
    place = code - 0xF000 if 0xF000 <= code <= 0xF0FF else code
    signs = _FONTS.get(font.lower())
    if signs is None:
        return None if 0xE000 <= code <= 0xF8FF else chr(place)
    found = signs.get(place)
    if found is None and signs is _SYMBOL and 0x20 <= place < 0x7F:
        return chr(place)
    return found


M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
ALTERNATIVES = frozenset((f"{_MC}AlternateContent", f"{_MC}Choice"))
FALLBACK = f"{_MC}Fallback"
_CHECKBOX = "{http://schemas.microsoft.com/office/word/2010/wordml}checkbox"
_BREAKS = {f"{W}tab": "\t", f"{W}ptab": "\t", f"{W}br": "\n", f"{W}cr": "\n", f"{W}noBreakHyphen": "-"}
_UNSEEN = frozenset(
    (
        *(
            f"{W}{name}"
            for name in ("del", "moveFrom", "instrText", "delText", "pPr", "rPr", "rt", "sdtPr", "txbxContent")
        ),
    )
) | {FALLBACK}
_TRACKED = frozenset(f"{W}{name}" for name in ("del", "ins", "moveFrom", "moveTo"))
_AS_ACCEPTED = "changes that are tracked, read as if they were accepted: what is struck out is left out"
_LEAST_SHIFT = 3  # half points that a run is moved up or down before it counts as raised or lowered
_PRIVATE = re.compile("[\uf020-\uf0ff]")
Piece = tuple[str, str]  # "" | "raised" | "lowered", and the text


class InlineReader:
    """Reads paragraphs; knows the document's styles and how its notes are numbered."""

    def __init__(self, styles: DocxStyles, objects: DrawingObjects) -> None:
        self._styles, self._objects = styles, objects
        self.notes: dict[tuple[str, str], int] = {}

    def text(self, paragraph: etree._Element) -> str:
        """The text without what is deleted, hidden in field codes, or set in a box of its own."""
        return join_pieces(self._text_pieces(paragraph))

    def number(self, kind: str, note: str) -> int:
        """The number of a note: in the order in which the text refers to them."""
        count = sum(one == kind for one, _ in self.notes)
        return self.notes.setdefault((kind, note), count + 1)

    def _text_pieces(self, node: etree._Element, shift: str = "") -> Iterator[Piece]:
        for child in node:
            tag = child.tag
            if tag in _TRACKED:
                self._objects.gathered.note(CaveatKind.TRACKED_CHANGES, _AS_ACCEPTED)
            if not isinstance(tag, str) or tag in _UNSEEN:
                continue
            if tag == f"{W}t":
                yield shift, self._symbol_text(child.text or "", node)
            elif tag in _BREAKS:
                yield "", _BREAKS[tag]
            elif tag == f"{W}r":
                yield from self._run_pieces(child)
            elif tag in (f"{M}oMath", f"{M}oMathPara"):
                yield "", linear_equation(child)
            elif tag == f"{W}sdt" and (box := child.find(f"{W}sdtPr/{_CHECKBOX}")) is not None:
                yield "", TICKED if is_on(box, "checked") else EMPTY
            elif tag in (f"{W}footnoteReference", f"{W}endnoteReference"):
                yield "", self._note_reference(child, tag.removeprefix(W).removesuffix("Reference"))
            elif tag == f"{W}sym":
                yield shift, self._hex_sign(child.get(f"{W}font", ""), child.get(f"{W}char", ""))
            elif tag == f"{W}fldChar":
                yield "", field_state(child)
            elif tag in (f"{W}drawing", f"{W}pict", f"{W}object"):
                yield "", self._objects.text(child)
            else:
                yield from self._text_pieces(child, shift)

    def _run_pieces(self, run: etree._Element) -> Iterator[Piece]:
        properties = run.find(f"{W}rPr")
        if properties is not None and self._is_hidden(properties):
            self._objects.gathered.note(CaveatKind.HIDDEN_CONTENT, "text that is formatted as hidden, read here")
        yield from self._text_pieces(run, self._run_shift(properties) if properties is not None else "")

    def _run_shift(self, properties: etree._Element) -> str:
        align, position = properties.find(f"{W}vertAlign"), properties.find(f"{W}position")
        style = properties.find(f"{W}rStyle")
        named = align.get(f"{W}val") if align is not None else None
        if named is None and style is not None:
            named = self._styles.run_property(style.get(f"{W}val"), "vertAlign")
        if named in ("superscript", "subscript"):
            return "raised" if named == "superscript" else "lowered"
        found = re.match(r"(-?)(\d+)", position.get(f"{W}val", "")) if position is not None and named is None else None
        if found is None or int(found[2]) < _LEAST_SHIFT:
            return ""
        return "lowered" if found[1] else "raised"

    def _is_hidden(self, properties: etree._Element) -> bool:
        return is_on(properties, "vanish")

    def _note_reference(self, node: etree._Element, kind: str) -> str:
        number = self.number(kind, node.get(f"{W}id", ""))
        return "" if node.get(f"{W}customMarkFollows") in ("1", "true", "on") else f"[{kind} {number}]"

    def _symbol_text(self, text: str, run: etree._Element) -> str:
        """Text whose font makes signs of its letters."""
        fonts = run.find(f"{W}rPr/{W}rFonts")
        font = fonts.get(f"{W}ascii", "") if fonts is not None else ""
        if is_symbol_font(font) and (_PRIVATE.search(text) or font.lower() == "symbol"):
            return "".join(self._known_sign(font, ord(char)) if not char.isspace() else char for char in text)
        return _PRIVATE.sub(lambda match: self._known_sign("Symbol", ord(match[0])), text)

    def _hex_sign(self, font: str, code: str) -> str:
        return self._known_sign(font, int(code, 16)) if re.fullmatch(r"[0-9A-Fa-f]{1,5}", code) else ""

    def _known_sign(self, font: str, code: int) -> str:
        found = symbol_sign(font, code)
        if found is None:
            self._objects.gathered.note(
                CaveatKind.GLYPHS_UNMAPPED, f"signs of the font {font} whose meaning is not known"
            )
        return found if found is not None else "\ufffd"


def join_pieces(pieces: Iterator[Piece]) -> str:
    """The text of pieces; neighbours that are raised or lowered alike are taken together."""
    groups: list[list[str]] = []
    for shift, text in pieces:
        if not text:
            continue
        if groups and groups[-1][0] == shift:
            groups[-1][1] += text
        else:
            groups.append([shift, text])
    return "".join(
        as_superscript(text) if shift == "raised" else as_subscript(text) if shift else text for shift, text in groups
    )
