"""HTML: what a browser would show, as Markdown."""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final

from bs4 import BeautifulSoup, CData, Comment, Declaration, Doctype, ProcessingInstruction
from bs4.dammit import EncodingDetector
from bs4.element import NavigableString, PageElement, Tag

from pipelines.documents.document import Caveat, CaveatKind, FailureReason, Unreadable
from pipelines.documents.extract.opened import (
    ExtractionContext,
    OpenedDocument,
    UnpagedDocument,
    join_blocks,
    table_parts,
)
from pipelines.documents.extract.text.charset import DecodedText, decode_bytes
from pipelines.documents.extract.text.html_table import table_blocks
from pipelines.documents.extract.text.plain_text import read_bounded
from pipelines.documents.extract.text.raised import as_subscript, as_superscript

_FORMATS: Final = frozenset(
    (
        *("b", "i", "em", "strong", "u", "s", "strike", "small", "big", "font", "mark", "ins", "del", "sub", "sup"),
        *("tt", "code", "kbd", "samp", "var", "wbr", "bdo", "bdi", "nobr", "ruby", "rb", "dfn"),
    )
)
_ALWAYS_APART: Final = frozenset(("a", "label", "button", "time", "legend", "option"))
_BOXED: Final = re.compile(
    r"display\s*:\s*(block|flex|grid|inline-block|inline-flex|table-cell|list-item)", re.IGNORECASE
)


def needs_space(before: Tag, node: Tag) -> bool:
    """True if a space belongs between two elements that follow each other without one.

    Formatting may begin within a word (`<b>W</b>ort`); other elements are things of their own, such as a label and
    its value, unless the text around them shows that its spaces are written.
    """
    left, right = before.get_text(), node.get_text()
    if not left or not right:
        return False
    last, first = left[-1], right[0]
    if not (last.isalnum() and first.isalnum()):
        return False
    if _is_box(before) or _is_box(node) or (before.name in _ALWAYS_APART and node.name in _ALWAYS_APART):
        return True
    if len(left.strip()) == 1 and len(right.strip()) == 1:
        return False  # letter by letter
    if last.isdigit() or first.isdigit() or (last.islower() and first.isupper() and len(left.strip()) > 1):
        return not {before.name, node.name} & {"sub", "sup"}
    if before.name in _FORMATS or node.name in _FORMATS or len(left.strip()) == 1 or len(right.strip()) == 1:
        return False
    return not _has_written_spaces(node)


def _is_box(node: Tag) -> bool:
    return bool(_BOXED.search(str(node.get("style") or "")))


def _has_written_spaces(node: Tag) -> bool:
    """True if the elements beside this one are separated by spaces of their own, as in running text."""
    texts = [str(one) if isinstance(one, NavigableString) else one.get_text() for one in _sibling_nodes(node)]
    return any(a[-1:].isspace() or b[:1].isspace() for a, b in pairwise(texts))


def _sibling_nodes(node: Tag) -> list[Tag | NavigableString]:
    parent = node.parent
    return [one for one in parent.children if isinstance(one, Tag | NavigableString)] if parent is not None else []


_UNSEEN = frozenset(
    (
        *("script", "style", "noscript", "template", "head", "iframe", "object", "select", "canvas", "audio", "video"),
        *("rp", "rt", "rtc"),  # readings beside a word would tear it
    )
)
_BLOCKS = frozenset(
    (
        *("p", "div", "section", "article", "main", "aside", "header", "footer", "nav", "form", "fieldset", "address"),
        *("figure", "figcaption", "dl", "dt", "dd", "details", "summary", "center", "body", "html", "caption"),
        *("li", "tr", "td", "th", "thead", "tbody", "tfoot", "legend", "dialog", "hgroup", "search", "option"),
    )
)
_HEADINGS = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}
_NOT_TEXT = (Comment, Declaration, Doctype, ProcessingInstruction, CData)
_SPACE = re.compile(r"\s+")
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_RAISED = re.compile(r"vertical-align\s*:\s*(super|sub)\b", re.IGNORECASE)
_LOWERED = re.compile(r"vertical-align\s*:\s*sub\b", re.IGNORECASE)
_EMBEDDED = re.compile(r"src\s*=\s*[\"']?data:image/(?!svg)[^\"'>]*", re.IGNORECASE)
_SMALL_PICTURE = 4096  # an icon, a line, a pixel that counts readers
_DECLARED_BYTES = 4096


def open_html(path: Path, context: ExtractionContext) -> OpenedDocument:
    """The visible text of a page in parts."""
    read = decode_html(read_bounded(path, context), context)
    return UnpagedDocument(html_parts(read.text, context.read.part_chars), (*read.caveats, *pictures_in(read.text)))


def html_parts(html: str, limit: int) -> list[str]:
    """Markdown parts of at most `limit` characters of an HTML document.

    Raises Unreadable: BOMB, when it is nested deeper than any page is.
    """
    try:
        return join_blocks(fit_tables(markdown_blocks(html), limit), limit)
    except RecursionError as error:
        raise Unreadable(FailureReason.BOMB, "its elements are nested without end") from error


def markdown_blocks(html: str) -> list[str]:
    """Paragraphs, headings, lists, quotes, code and tables of a document, in order, as Markdown."""
    soup = BeautifulSoup(html, "lxml")
    writer = _Writer()
    titled = soup.find("title")
    if isinstance(titled, Tag) and titled.find_parent("svg") is None and (title := _squeeze_spaces(titled.get_text())):
        writer.title(title)
    writer.children(soup)
    writer.flush()
    return writer.blocks


def fit_tables(blocks: list[str], limit: int) -> Iterator[str]:
    """Long tables keep their head row in every part."""
    for block in blocks:
        if len(block) > limit and block.startswith("| "):
            yield from table_parts(block.split("\n"), limit)
        else:
            yield block


def decode_html(data: bytes, context: ExtractionContext, declared: str | None = None) -> DecodedText:
    """The text of a page; what it, or the letter around it, declares of its encoding weighs in."""
    said = declared or EncodingDetector.find_declared_encoding(
        data[:_DECLARED_BYTES], is_html=True, search_entire_document=True
    )
    return decode_bytes(data, chosen=context.encoding, language=context.language, declared=said)


def pictures_in(html: str) -> Iterator[Caveat]:
    """Pictures that the text itself carries and that were not read; those elsewhere are no part of it."""
    count = sum(len(found[0]) > _SMALL_PICTURE for found in _EMBEDDED.finditer(html))
    if count:
        yield Caveat(CaveatKind.PICTURES_UNREAD, f"{count} pictures inside the page were not read", count)


class _Writer:
    """Walks the tree once, collecting inline text until a block ends."""

    def __init__(self) -> None:
        self.blocks: list[str] = []
        self._inline: list[str] = []

    def title(self, text: str) -> None:
        self.blocks.append(f"# {text}")

    def flush(self) -> None:
        text = _text_lines("".join(self._inline))
        self._inline.clear()
        if text and f"# {text}" != (self.blocks[0] if len(self.blocks) == 1 else None):
            self.blocks.append(text)

    def children(self, node: Tag) -> None:
        before: PageElement | None = None
        for child in node.children:
            if isinstance(before, Tag) and isinstance(child, Tag) and self._inline and needs_space(before, child):
                self._inline.append(" ")
            self._visit_node(child)
            before = child

    def _visit_node(self, node: PageElement) -> None:
        if isinstance(node, NavigableString):
            if not isinstance(node, _NOT_TEXT):
                self._inline.append(_SPACE.sub(" ", str(node).replace("\xad", "")))
            return
        if not isinstance(node, Tag) or node.name in _UNSEEN or _is_hidden(node):
            return
        if node.name in _HEADINGS:
            self._write_heading(node)
        elif node.name == "br":
            self._inline.append("\n")
        elif node.name in ("sup", "sub") or _RAISED.search(_style_text(node)):
            self._write_shifted(node)
        elif node.name == "svg":
            self._inline.append(f" {' '.join(svg_lines(node))} ")
        elif node.name == "pre":
            self.flush()
            self.blocks.append(f"```\n{node.get_text().strip(chr(10))}\n```")
        elif node.name in ("ul", "ol", "menu"):
            self._append_block("\n".join(_list_lines(node, 0)))
        elif node.name == "blockquote":
            self._append_block("\n".join(f"> {line}" for block in _inner_blocks(node) for line in block.split("\n")))
        elif node.name == "table":
            self._write_table(node)
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

    def _append_block(self, text: str) -> None:
        self.flush()
        if text.strip():
            self.blocks.append(text)

    def _write_heading(self, node: Tag) -> None:
        self.flush()
        if text := _squeeze_spaces(" ".join(_inner_blocks(node))):
            mark = "#" * _HEADINGS[node.name]
            if self.blocks[:1] == [f"# {text}"] and len(self.blocks) == 1:
                return
            self.blocks.append(f"{mark} {text}")

    def _write_table(self, node: Tag) -> None:
        self.flush()
        caption = node.find("caption")
        if isinstance(caption, Tag) and caption.find_parent("table") is node:
            self._append_block(_squeeze_spaces(caption.get_text(" ")))
        for block in table_blocks(node, _inner_blocks, _is_hidden):
            self._append_block(block)

    def _write_shifted(self, node: Tag) -> None:
        text = " ".join(" ".join(_inner_blocks(node)).split())
        self._inline.append(
            as_subscript(text) if node.name == "sub" or _LOWERED.search(_style_text(node)) else as_superscript(text)
        )


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
        own = " ".join(" ".join(block.split()) for block in _inner_blocks(item))
        if own:
            lines.append(f"{'  ' * depth}{mark} {own}")
        for child in nested:
            lines += _list_lines(child, depth + 1)
    return lines


def _inner_blocks(node: Tag) -> list[str]:
    writer = _Writer()
    writer.children(node)
    writer.flush()
    return writer.blocks


def svg_lines(node: Tag) -> list[str]:
    """The words of a drawing: its title, description and the texts in it."""
    return [text for one in node.find_all(("title", "desc", "text")) if (text := _squeeze_spaces(one.get_text(" ")))]


def _is_hidden(node: Tag) -> bool:
    return node.has_attr("hidden") or bool(_HIDDEN.search(_style_text(node)))


def _style_text(node: Tag) -> str:
    return str(node.get("style") or "")


def _squeeze_spaces(text: str) -> str:
    return " ".join(text.split())


def _text_lines(text: str) -> str:
    return "\n".join(filter(None, (_squeeze_spaces(line) for line in text.split("\n"))))
