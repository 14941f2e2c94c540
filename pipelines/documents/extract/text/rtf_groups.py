"""Groups beside the text of an RTF file: headers, notes, boxes, pictures, objects and form fields."""

import re
from collections.abc import Iterator
from typing import Final

from pipelines.documents.document import CaveatKind
from pipelines.documents.extract.office.embedded import EmbeddedDocuments, packaged_file
from pipelines.documents.extract.pictures.embedded_pictures import PictureCollector

PICTURE: Final = re.compile("\ue006(\\d+)\ue007")  # the place of a picture: no text holds these letters
_GROUP: Final = re.compile(
    r"\{\s*(?:\\\*)?\s*\\(footnote|annotation|shptxt|dptxbxtext|header[lrf]?|footer[lrf]?|shp|do|shppict|pict|object"
    r"|fldinst|moMath|nonshppict|listpicture|shprslt|mmathPict)(?![a-zA-Z])"
)
_SHAPE_TEXT: Final = re.compile(r"\{\\sn (gtextUNICODE|wzDescription)\}\s*\{\\sv ([^{}]*)\}")
_BINARY: Final = re.compile(r"(?<!\\)\\bin(\d{1,10}) ?")
_NO_HEX: Final = re.compile(r"\\[a-zA-Z]+-?\d* ?|[^0-9a-fA-F]")
_MARKUP: Final = re.compile(r"\\[a-zA-Z]+-?\d* ?|[{}\s]")
_LINKED: Final = re.compile(r"\\obj(?:autlink|link)(?![a-z])")
_CONTROL: Final = re.compile(r"\\objocx(?![a-z])")
_CLASS: Final = re.compile(r"\\objclass ([^{}\\]*)")
_PROLOG: Final = re.compile(r"\{[^{}]*\\fonttbl")
_CODE_PAGE: Final = re.compile(r"\\ansicpg\d+")
_UNSET = 25  # `\ffres` of a field that nobody has filled in
_DEEPEST = 8


class RtfGroups:
    """Takes a source apart: the text with notes and pictures in it, and the sources of what stands beside it."""

    def __init__(self, source: str, gathered: PictureCollector, embedding: EmbeddedDocuments) -> None:
        self._gathered, self._embedding = gathered, embedding
        start, page = _PROLOG.search(source), _CODE_PAGE.search(source)
        fonts = source[start.start() : _group_end(source, start.start())] if start else ""
        self._prolog = "{\\rtf1\\ansi" + (page[0] if page else "") + fonts
        self.headers: list[str] = []
        self.footers: list[str] = []
        self.asides: list[str] = []  # remarks and boxes
        self.pictures: list[str] = []  # the places of all of them
        self.body = self._split(source, 0)

    def _split(self, source: str, depth: int) -> str:
        """The source without the groups that stand beside it."""
        if depth > _DEEPEST:
            self._gathered.note(CaveatKind.PARTS_SKIPPED, "notes and boxes nested too deep")
            return ""
        kept, at = [], 0
        while (found := _GROUP.search(source, at)) is not None:
            end = _group_end(source, found.start())
            kept.append(source[at : found.start()])
            inner = source[found.end() : end - 1]
            if found[1] == "fldinst":
                kept.append(_field_text(inner, source, end) or source[found.start() : end])
            else:
                kept.append(self._replacement(found[1], inner, depth + 1))
            at = end
        return "".join([*kept, source[at:]])

    def _replacement(self, kind: str, inner: str, depth: int) -> str:
        """The text in place of a group. Copies for old programs have none."""
        if kind == "pict":
            return self._picture_place(inner)
        if kind == "object":
            return self._object_text(inner, depth)
        if kind == "moMath":
            self._gathered.note(CaveatKind.PARTS_SKIPPED, "equations")
        elif kind == "footnote":
            return "{ [" + self._split(inner, depth).lstrip() + "]}"
        elif kind == "shppict":
            return self._split(inner, depth)
        elif kind in ("shp", "do"):
            self._split(inner, depth)  # its boxes and pictures go behind the text
            for named, text in _SHAPE_TEXT.findall(inner):
                self.asides.append(f"{self._prolog} {'[alt text] ' if named == 'wzDescription' else ''}{text}}}")
        elif kind in ("annotation", "shptxt", "dptxbxtext") or kind[:6] in ("header", "footer"):
            beside = {"header": self.headers, "footer": self.footers}.get(kind[:6], self.asides)
            beside.append(f"{self._prolog} {self._split(inner, depth)}}}")
        return ""

    def _picture_place(self, inner: str) -> str:
        if not (data := _hex_bytes(inner)) or not (mark := self._gathered.picture(data)):
            return ""
        place = mark.replace("\0", "\ue006", 1).replace("\0", "\ue007")
        self.pictures.append(place)
        return f"{{{place}}}"

    def _object_text(self, inner: str, depth: int) -> str:
        """Nothing for an object that is read; else the text or the picture by which it is shown."""
        named, data = _CLASS.search(inner), _named_group(inner, "objdata")
        if _CONTROL.search(inner):
            self._gathered.note(CaveatKind.PARTS_SKIPPED, "a form control (ActiveX)")
        elif _LINKED.search(inner) or data is None:
            self._gathered.note(CaveatKind.PARTS_SKIPPED, "a linked object that is not in the file")
        elif self._embedding.add(packaged_file(_hex_bytes(data)), named[1].strip() if named else "object"):
            return ""
        shown = _named_group(inner, "result")
        return f"{{{self._split(shown, depth)}}}" if shown else ""


def without_binaries(source: str) -> str:
    """The source with what it holds as bytes in hex, as the rest of it is: bytes may look like braces."""
    kept, at = [], 0
    while (found := _BINARY.search(source, at)) is not None:
        end = found.end() + int(found[1])
        kept += [source[at : found.start()], " ", source[found.end() : end].encode("latin-1").hex()]
        at = end
    return "".join([*kept, source[at:]])


def _group_end(source: str, start: int) -> int:
    """The offset after the group that begins at `start`."""
    depth = 0
    for brace in re.compile(r"\\.|[{}]", re.DOTALL).finditer(source, start):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if depth == 0:
            return brace.end()
    return len(source)


def _named_group(source: str, name: str) -> str | None:
    """The content of the first group of a name."""
    found = re.search(rf"\{{\s*(?:\\\*)?\s*\\{name}(?![a-z]) ?", source)
    return source[found.end() : _group_end(source, found.start()) - 1] if found else None


def _hex_bytes(inner: str) -> bytes:
    """The bytes that a group holds as hex digits, without those of groups within it."""
    digits = _NO_HEX.sub("", " ".join(_own_pieces(inner)))
    return bytes.fromhex(digits[: len(digits) // 2 * 2])


def _own_pieces(inner: str) -> Iterator[str]:
    at = 0
    while (opened := inner.find("{", at)) >= 0:
        yield inner[at:opened]
        at = _group_end(inner, opened)
    yield inner[at:]


def _field_text(instruction: str, source: str, end: int) -> str:
    """The state of a form field whose result shows none; `end` is where its instruction ends in the source."""
    field = _named_group(instruction, "formfield")
    result = re.compile(r"\s*\{\\fldrslt(?![a-z])").match(source, end)
    if field is None or (result and _MARKUP.sub("", source[result.end() : _group_end(source, result.start())])):
        return ""
    numbers = dict(re.findall(r"\\(fftype|ffres|ffdefres)(\d{1,4})", field))
    chosen = int(numbers.get("ffres", _UNSET))
    at = int(numbers.get("ffdefres", 0)) if chosen == _UNSET else chosen
    kind = numbers.get("fftype")
    if kind == "1":
        return "{\\u9746 ?}" if at else "{\\u9744 ?}"
    if kind == "2":
        entries = re.findall(r"\\ffl(?![a-z]) ?([^{}]*)", field)
        return f"{{{entries[at]}}}" if at < len(entries) else ""
    default = None if result else _named_group(field, "ffdeftext")
    return f"{{{default}}}" if default else ""
