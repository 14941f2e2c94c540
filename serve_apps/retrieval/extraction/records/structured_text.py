"""The values of an XML or JSON text as a tree of named nodes, each with its place in the text."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final
from xml.parsers import expat

from pipelines.documents.document import Page
from serve_apps.retrieval.extraction.extraction_result import TextPlace

MOST_NODES: Final = 200_000
DEEPEST: Final = 100
_XML = re.compile(r"\s*(?:<\?xml\b|<!--|<[A-Za-z_][\w:.\-]*[\s/>])")
_SCALAR = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null")
_STRINGS = json.JSONDecoder(strict=False)
_SPACE = re.compile(r"\s*")


@dataclass(slots=True, eq=False)
class TextNode:
    """A named value, or nodes under a name; characters [start, end) of the joined text hold its value."""

    name: str
    parent: "TextNode | None" = None
    text: str = ""
    start: int = 0
    end: int = 0
    children: list["TextNode"] = field(default_factory=list)

    def leaves(self) -> Iterator["TextNode"]:
        """The nodes below that have a value, in the order of the text."""
        for one in self.children:
            if one.text:
                yield one
            yield from one.leaves()

    def walk(self) -> Iterator["TextNode"]:
        """All nodes below."""
        for one in self.children:
            yield one
            yield from one.walk()

    def above(self) -> Iterator["TextNode"]:
        """Its parents, the nearest first."""
        at = self.parent
        while at is not None:
            yield at
            at = at.parent


@dataclass(frozen=True, slots=True)
class StructuredText:
    """A tree, and the pages that its text was joined of."""

    root: TextNode
    pages: tuple[Page, ...]
    starts: tuple[int, ...]  # of each page in the joined text

    def place(self, node: TextNode) -> TextPlace | None:
        """Where a value stands; None where it goes over the end of a page."""
        at = max((n for n, start in enumerate(self.starts) if start <= node.start), default=0)
        page, offset = self.pages[at], self.starts[at]
        end = node.end - offset
        return TextPlace(page.number, node.start - offset, end) if end <= len(page.text) else None


def read_structure(pages: Sequence[Page]) -> StructuredText | None:
    """The tree of a document whose text is XML or JSON; what is broken off holds what stands before the break."""
    if not pages:
        return None
    text = "\n".join(page.text for page in pages)
    starts = tuple(accumulate((len(page.text) + 1 for page in pages[:-1]), initial=0))
    if _XML.match(text):
        root = _XmlReader(text).read()
    elif text.lstrip()[:1] in ("{", "["):
        root = _JsonReader(text).read()
    else:
        return None
    return StructuredText(root, tuple(pages), starts) if any(root.leaves()) else None


class _XmlReader:
    """Reads XML with the places of its texts; entities that the text declares are left alone."""

    def __init__(self, text: str) -> None:
        self._text, self._count = text, 0
        self.root = TextNode("")
        self._at, self._depth = self.root, 0
        self._pieces: list[list[str]] = [[]]  # of the texts of the elements that are open
        # From bytes of the text to its characters: expat counts the first.
        self._lengths: list[int] | None = None
        if not text.isascii():
            self._lengths = list(accumulate((len(char.encode("utf-8", "replace")) for char in text), initial=0))

    def read(self) -> TextNode:
        parser = expat.ParserCreate("utf-8")
        parser.buffer_text = False
        parser.specified_attributes = True  # those that the text only declares stand nowhere in it
        self._parser = parser
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.EntityDeclHandler = self._refuse
        with suppress(expat.ExpatError, _TooMuch):  # what was read until then is kept
            parser.Parse(self._text.encode("utf-8", "replace"), True)
        while self._at.parent is not None:
            self._close_element()
        return self.root

    def _offset(self) -> int:
        at = self._parser.CurrentByteIndex
        if self._lengths is None:
            return at
        low, high = 0, len(self._lengths) - 1
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self._lengths[middle] < at else (low, middle)
        return low

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._count += 1 + len(attributes)
        self._depth += 1
        if self._count > MOST_NODES or self._depth > DEEPEST:
            raise _TooMuch
        node = TextNode(_local(name), self._at)
        self._at.children.append(node)
        self._at = node
        self._pieces.append([])
        begin = self._offset()
        for key, value in attributes.items():
            found = re.compile(rf"\s{re.escape(key)}\s*=\s*[\"']").search(self._text, begin)
            if value.strip() and found and not key.startswith("xmlns"):
                inner = self._text[found.end() : found.end() + len(value)]
                if inner == value:
                    node.children.append(TextNode(_local(key), node, value, found.end(), found.end() + len(value)))

    def _characters(self, data: str) -> None:
        node, at, pieces = self._at, self._offset(), self._pieces[-1]
        if pieces:
            pieces.append(data)
            node.end = max(node.end, at + len(data))
        elif data.strip():
            lead = len(data) - len(data.lstrip())
            pieces.append(data[lead:])
            node.start, node.end = at + lead, at + len(data)

    def _end(self, _: str) -> None:
        self._depth -= 1
        self._close_element()

    def _close_element(self) -> None:
        node, text = self._at, "".join(self._pieces.pop())
        node.text = text.rstrip()
        node.end -= len(text) - len(node.text)
        self._at = node.parent or self.root

    def _refuse(self, *_: object) -> None:
        raise _TooMuch


class _JsonReader:
    """Reads JSON with the places of its values."""

    def __init__(self, text: str) -> None:
        self._text, self._count = text, 0

    def read(self) -> TextNode:
        root = TextNode("")
        with suppress(ValueError, IndexError, _TooMuch):  # what was read until then is kept
            self._value(root, "", self._skip(0), 0)
        return root

    def _skip(self, at: int) -> int:
        found = _SPACE.match(self._text, at)
        return found.end() if found else at

    def _value(self, parent: TextNode, name: str, at: int, depth: int) -> int:
        self._count += 1
        if self._count > MOST_NODES or depth > DEEPEST:
            raise _TooMuch
        text, node = self._text, TextNode(name, parent)
        first = text[at]
        if first == "{":
            parent.children.append(node)
            return self._members(node, self._skip(at + 1), depth)
        if first == "[":
            # The items of a list are nodes of one name side by side, as in XML.
            at = self._skip(at + 1)
            while text[at] != "]":
                at = self._skip(self._value(parent, name, at, depth + 1))
                at = self._skip(at + 1) if text[at] == "," else at
            return at + 1
        if first == '"':
            value, end = _STRINGS.raw_decode(text, at)
            node.text, node.start, node.end = value.strip(), at + 1, end - 1
        elif found := _SCALAR.match(text, at):
            end = found.end()
            node.text = "" if found[0] == "null" else found[0]
            node.start, node.end = at, end
        else:
            raise json.JSONDecodeError("no value", text, at)
        parent.children.append(node)
        return end

    def _members(self, node: TextNode, at: int, depth: int) -> int:
        text = self._text
        while text[at] != "}":
            if text[at] != '"':
                raise json.JSONDecodeError("no name", text, at)
            name, at = _STRINGS.raw_decode(text, at)
            at = self._skip(at)
            if text[at] != ":":
                raise json.JSONDecodeError("no colon", text, at)
            at = self._skip(self._value(node, name, self._skip(at + 1), depth + 1))
            at = self._skip(at + 1) if text[at] == "," else at
        return at + 1


class _TooMuch(Exception):
    """More than is read."""


def _local(name: str) -> str:
    return name.rpartition(":")[2]
