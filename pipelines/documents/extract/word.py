"""DOCX: body, tables, lists, text boxes, notes, comments, headers and footers, in the order a person reads them."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import docx
from docx.document import Document
from docx.opc.part import Part
from docx.oxml import parse_xml
from lxml import etree

from pipelines.documents.extract.html import fitting
from pipelines.documents.extract.opened import Context, Opened, Parts, join_blocks, markdown_table
from pipelines.documents.extract.package import DAMAGED, check_package, damaged
from pipelines.documents.extract.word_lists import Lists

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_ITEM = re.compile(r" *(-|\d+\.) ")
_LONG_LIST = 2_000
_NOTES = (("footnotes", "footnote"), ("endnotes", "endnote"), ("comments", "comment"))
_BREAKS = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}
_INLINE_PARTS = (f"{_W}del", f"{_W}moveFrom", f"{_W}instrText", f"{_W}pPr", f"{_W}rPr", _FALLBACK)


def open_docx(path: Path, context: Context) -> Opened:
    """The document as Markdown in parts."""
    check_package(path, context.read.max_unpacked_bytes)
    try:
        document = docx.Document(str(path))
        limit = context.read.part_chars
        return Parts(join_blocks(fitting(_tight_lists(_Reader(document).blocks()), limit), limit))
    except DAMAGED as error:
        raise damaged(error) from error


def _tight_lists(blocks: Iterable[str]) -> list[str]:
    """Items that follow one another as one block, so that a list is not torn into paragraphs."""
    result: list[str] = []
    for block in blocks:
        if result and _ITEM.match(block) and _ITEM.match(result[-1]) and len(result[-1]) < _LONG_LIST:
            result[-1] += "\n" + block
        else:
            result.append(block)
    return result


class _Reader:
    """Walks the XML itself: python-docx leaves out text boxes, content controls, notes and broken table grids."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._lists = Lists(document)
        self._styles = {style.style_id: style for style in document.styles}

    def blocks(self) -> Iterator[str]:
        yield from self._edges("header")
        body = self._document.element.body
        yield from self._children(body)
        for name, tag in _NOTES:
            yield from self._notes(name, tag)
        yield from self._edges("footer")

    def _children(self, parent: etree._Element) -> Iterator[str]:
        for child in parent:
            if child.tag == f"{_W}p":
                yield from self._paragraph(child)
            elif child.tag == f"{_W}tbl":
                yield from self._table(child)
            elif child.tag in (f"{_W}sdt", f"{_W}sdtContent", f"{_W}customXml", f"{_W}ins", f"{_W}moveTo"):
                yield from self._children(child)

    def _paragraph(self, paragraph: etree._Element) -> Iterator[str]:
        text = _inline(paragraph).strip()
        if text:
            yield self._mark(paragraph) + text
        for box in _boxes(paragraph):
            yield from self._children(box)

    def _mark(self, paragraph: etree._Element) -> str:
        """`#` for headings by their outline level, `-` or a number for list items."""
        properties = paragraph.find(f"{_W}pPr")
        style = properties.find(f"{_W}pStyle") if properties is not None else None
        name = style.get(f"{_W}val") if style is not None else None
        if level := self._heading_level(name):
            return "#" * level + " "
        return self._lists.mark(properties, name)

    def _heading_level(self, style_id: str | None) -> int:
        """1 to 6, or 0 for a style that is no heading; styles inherit."""
        style = self._styles.get(style_id) if style_id else None
        seen = 0
        while style is not None and seen < 10:
            name = (style.name or "").lower()
            if name == "title":
                return 1
            if name.startswith("heading ") and name[8:].isdecimal():
                return min(6, int(name[8:]))
            style, seen = getattr(style, "base_style", None), seen + 1
        return 0

    def _table(self, table: etree._Element) -> Iterator[str]:
        """Rows as they stand; a cell merged downwards is empty in the rows below, one merged across fills its width."""
        rows = []
        for row in _direct(table, f"{_W}tr"):
            cells: list[str] = []
            for cell in _direct(row, f"{_W}tc"):
                cells.append("" if _continues(cell) else " ".join(self._children(cell)))
                cells += [""] * (_width(cell) - 1)
            rows.append(cells)
        framed = len(rows) == 1 and len(rows[0]) == 1  # a frame around a text, not a table
        text = rows[0][0] if framed else "\n".join(markdown_table(rows))
        if text.strip():
            yield text

    def _notes(self, name: str, tag: str) -> Iterator[str]:
        part = _related(self._document, name)
        if part is None:
            return
        for note in parse_xml(part.blob).iter(f"{_W}{tag}"):
            text = " ".join(self._children(note)).strip()
            if text:
                yield f"[{tag} {note.get(f'{_W}id')}] {text}"

    def _edges(self, kind: str) -> Iterator[str]:
        """Each different header or footer once."""
        seen = set()
        for name, relation in self._document.part.rels.items():
            if not relation.is_external and relation.reltype.endswith(f"/{kind}") and name:
                text = "\n".join(self._children(parse_xml(relation.target_part.blob)))
                if text.strip() and text not in seen:
                    seen.add(text)
                    yield text


def _inline(node: etree._Element) -> str:
    """The text of a paragraph without what is deleted, hidden in field codes, or set in a box of its own."""
    pieces: list[str] = []
    for child in node:
        if child.tag in (f"{_W}t", f"{_M}t"):
            pieces.append(child.text or "")
        elif child.tag in _BREAKS:
            pieces.append(_BREAKS[child.tag])
        elif child.tag == f"{_W}footnoteReference":
            pieces.append(f"[footnote {child.get(f'{_W}id')}]")
        elif child.tag not in _INLINE_PARTS and child.tag != f"{_W}txbxContent" and isinstance(child.tag, str):
            pieces.append(_inline(child))
    return "".join(pieces)


def _boxes(node: etree._Element) -> Iterator[etree._Element]:
    """Text boxes below a node, outermost first, without the copies kept for old versions of Word."""
    for child in node:
        if child.tag == f"{_W}txbxContent":
            yield child
        elif child.tag != _FALLBACK:
            yield from _boxes(child)


def _direct(parent: etree._Element, tag: str) -> Iterator[etree._Element]:
    """Children with a tag, content controls looked through."""
    for child in parent:
        if child.tag == tag:
            yield child
        elif child.tag in (f"{_W}sdt", f"{_W}sdtContent", f"{_W}customXml"):
            yield from _direct(child, tag)


def _continues(cell: etree._Element) -> bool:
    merge = cell.find(f"{_W}tcPr/{_W}vMerge")
    return merge is not None and merge.get(f"{_W}val", "continue") == "continue"


def _width(cell: etree._Element) -> int:
    span = cell.find(f"{_W}tcPr/{_W}gridSpan")
    value = span.get(f"{_W}val", "1") if span is not None else "1"
    return min(int(value), 100) if value.isdecimal() else 1


def _related(document: Document, name: str) -> Part | None:
    for relation in document.part.rels.values():
        if not relation.is_external and relation.reltype.endswith(f"/{name}"):
            return relation.target_part
    return None
