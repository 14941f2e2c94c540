"""HTML: what a browser would show, as Markdown."""

import re
from collections.abc import Iterator
from pathlib import Path

from bs4 import BeautifulSoup, CData, Comment, Declaration, Doctype, ProcessingInstruction
from bs4.dammit import EncodingDetector
from bs4.element import NavigableString, PageElement, Tag

from pipelines.documents.document import Reason, Unreadable
from pipelines.documents.extract.opened import Context, Opened, Parts, join_blocks, markdown_table, table_parts
from pipelines.documents.extract.text import decode

_UNSEEN = frozenset(
    ("script", "style", "noscript", "template", "svg", "head", "iframe", "object", "select", "canvas", "audio", "video")
)
_BLOCKS = frozenset(
    (
        *("p", "div", "section", "article", "main", "aside", "header", "footer", "nav", "form", "fieldset", "address"),
        *("figure", "figcaption", "dl", "dt", "dd", "details", "summary", "center", "body", "html", "caption"),
    )
)
_HEADINGS = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}
_NOT_TEXT = (Comment, Declaration, Doctype, ProcessingInstruction, CData)
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_DECLARED_BYTES = 4096


def open_html(path: Path, context: Context) -> Opened:
    """The visible text of a page in parts."""
    if path.stat().st_size > context.read.max_unpacked_bytes:
        raise Unreadable(Reason.TOO_LARGE, f"more than {context.read.max_unpacked_bytes} bytes")
    return Parts(html_parts(path.read_bytes(), context.read.part_chars))


def html_parts(data: bytes | str, limit: int) -> list[str]:
    """Markdown parts of at most `limit` characters of an HTML document.

    Raises:
        Unreadable: BOMB, when it is nested deeper than any page is.
    """
    try:
        return join_blocks(fitting(markdown_blocks(_decoded(data)), limit), limit)
    except RecursionError as error:
        raise Unreadable(Reason.BOMB, "its elements are nested without end") from error


def markdown_blocks(html: str) -> list[str]:
    """Paragraphs, headings, lists, quotes, code and tables of a document, in order, as Markdown."""
    soup = BeautifulSoup(html, "lxml")
    writer = _Writer()
    if soup.title is not None and (title := _squeeze(soup.title.get_text())):
        writer.title(title)
    writer.children(soup)
    writer.flush()
    return writer.blocks


def fitting(blocks: list[str], limit: int) -> Iterator[str]:
    """Long tables keep their head row in every part."""
    for block in blocks:
        if len(block) > limit and block.startswith("| "):
            yield from table_parts(block.split("\n"), limit)
        else:
            yield block


def _decoded(data: bytes | str) -> str:
    """The declared encoding if it fits, else what the bytes tell."""
    if isinstance(data, str):
        return data
    declared = EncodingDetector.find_declared_encoding(
        data[:_DECLARED_BYTES], is_html=True, search_entire_document=True
    )
    try:
        return data.decode(declared) if declared else decode(data)
    except (LookupError, UnicodeDecodeError):
        return decode(data)


class _Writer:
    """Walks the tree once, collecting inline text until a block ends."""

    def __init__(self) -> None:
        self.blocks: list[str] = []
        self._inline: list[str] = []

    def title(self, text: str) -> None:
        self.blocks.append(f"# {text}")

    def flush(self) -> None:
        text = _lines("".join(self._inline))
        self._inline.clear()
        if text and f"# {text}" != (self.blocks[0] if len(self.blocks) == 1 else None):
            self.blocks.append(text)

    def children(self, node: Tag) -> None:
        for child in node.children:
            self._visit(child)

    def _visit(self, node: PageElement) -> None:
        if isinstance(node, NavigableString):
            if not isinstance(node, _NOT_TEXT):
                self._inline.append(re.sub(r"\s+", " ", str(node)))
            return
        if not isinstance(node, Tag) or node.name in _UNSEEN or _is_hidden(node):
            return
        if node.name in _HEADINGS:
            self._heading(node)
        elif node.name == "br":
            self._inline.append("\n")
        elif node.name == "pre":
            self.flush()
            self.blocks.append(f"```\n{node.get_text().strip(chr(10))}\n```")
        elif node.name in ("ul", "ol", "menu"):
            self._block("\n".join(_list_lines(node, 0)))
        elif node.name == "blockquote":
            self._block("\n".join(f"> {line}" for block in _inner(node) for line in block.split("\n")))
        elif node.name == "table":
            self._table(node)
        elif node.name in _BLOCKS or node.name == "hr":
            self.flush()
            self.children(node)
            self.flush()
        elif node.name in ("input", "textarea", "button"):
            self._inline.append(f" {node.get('value') or node.get_text()} " if node.get("type") != "hidden" else "")
        elif node.name == "img":
            self._inline.append(f" {node.get('alt')} " if node.get("alt") else "")
        else:
            self.children(node)

    def _block(self, text: str) -> None:
        self.flush()
        if text.strip():
            self.blocks.append(text)

    def _heading(self, node: Tag) -> None:
        self.flush()
        if text := _squeeze(node.get_text(" ")):
            mark = "#" * _HEADINGS[node.name]
            if self.blocks[:1] == [f"# {text}"] and len(self.blocks) == 1:
                return
            self.blocks.append(f"{mark} {text}")

    def _table(self, node: Tag) -> None:
        """A table of data becomes Markdown; one that only lays the page out is walked through."""
        self.flush()
        rows = [row for row in node.find_all("tr") if row.find_parent("table") is node]
        cells = [list(row.find_all(("td", "th"), recursive=False)) for row in rows]
        if node.find("table") is not None or max(map(len, cells), default=0) < 2:
            self.children(node)
            self.flush()
            return
        caption = node.find("caption")
        if isinstance(caption, Tag):
            self._block(_squeeze(caption.get_text(" ")))
        self._block("\n".join(markdown_table(_spread(cells))))


def _spread(cells: list[list[Tag]]) -> list[list[str]]:
    """Rows of texts with spanning cells repeated in place, so that every column keeps its position."""
    rows: list[list[str]] = []
    waiting: dict[int, tuple[int, str]] = {}
    for row in cells:
        texts: list[str] = []
        queue = list(row)
        while queue or len(texts) in waiting:
            column = len(texts)
            if column in waiting:
                left, text = waiting.pop(column)
                if left > 1:
                    waiting[column] = (left - 1, text)
                texts.append(text)
                continue
            cell = queue.pop(0)
            text = " ".join(_inner(cell))
            for offset in range(_span(cell, "colspan")):
                if (down := _span(cell, "rowspan")) > 1:
                    waiting[column + offset] = (down - 1, text)
                texts.append(text if offset == 0 else "")
        if any(texts):
            rows.append(texts)
    return rows


def _span(cell: Tag, name: str) -> int:
    value = str(cell.get(name) or "1")
    return min(int(value), 100) if value.isdecimal() and int(value) > 0 else 1


def _list_lines(node: Tag, depth: int) -> list[str]:
    lines = []
    number = 0
    for item in node.children:
        if not isinstance(item, Tag) or item.name in _UNSEEN or _is_hidden(item):
            continue
        if item.name in ("ul", "ol"):
            lines += _list_lines(item, depth + 1)
            continue
        number += 1
        nested = [child for child in item.find_all(("ul", "ol"), recursive=False) if isinstance(child, Tag)]
        for child in nested:
            child.extract()
        mark = f"{number}." if node.name == "ol" else "-"
        own = " ".join(" ".join(block.split()) for block in _inner(item))
        if own:
            lines.append(f"{'  ' * depth}{mark} {own}")
        for child in nested:
            lines += _list_lines(child, depth + 1)
    return lines


def _inner(node: Tag) -> list[str]:
    writer = _Writer()
    writer.children(node)
    writer.flush()
    return writer.blocks


def _is_hidden(node: Tag) -> bool:
    return node.has_attr("hidden") or bool(_HIDDEN.search(str(node.get("style") or "")))


def _squeeze(text: str) -> str:
    return " ".join(text.split())


def _lines(text: str) -> str:
    return "\n".join(filter(None, (_squeeze(line) for line in text.split("\n"))))
