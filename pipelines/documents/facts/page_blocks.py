"""Blocks of a page in their order: running headers and footers, titles with levels, lists, prose, tables and code."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pipelines.documents.chunk import headings
from pipelines.documents.chunk.blocks import BlockKind, TextBlock, find_blocks
from pipelines.documents.document import Box, Page
from pipelines.documents.facts.find_facts import words_box

_ITEM = re.compile(r"[ \t]*(?:[•▪■●◦‣·*+–-]|\(?(?:\d{1,3}|[a-zA-Z]|[ivxlc]{1,5})[.)])[ \t]+\S")
_ITEMS = 0.5  # of the lines of a block begin an item: others go on what is above them
_LEAST_ITEMS = 2


class PageBlockKind(StrEnum):
    """What a block of a page is."""

    HEADER = "header"  # a first line that returns on other pages
    FOOTER = "footer"  # a last one that does
    TITLE = "title"
    LIST = "list"
    PROSE = "prose"
    TABLE = "table"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class PageBlock:
    """Characters [start, end) of a page's text."""

    kind: PageBlockKind
    start: int
    end: int
    level: int = 0  # of a title, 1 outermost; else 0
    box: Box | None = None  # around its words, as far as the page has a geometry


def page_blocks(page: Page, running: frozenset[str]) -> Iterator[PageBlock]:
    """The blocks of a page in the order of its text.

    Args:
        running: lines that return at the edge of pages, as `chunk.headings.find_running_lines` gives them.
    """
    text = page.text
    begin = len(text) - len(text.lstrip())
    end = len(text.rstrip())
    first = _line_end(text, begin, end)
    last = text.rfind("\n", begin, end) + 1
    if begin < end and headings.without_digits(text[begin:first].strip()) in running:
        yield _placed_block(page, PageBlockKind.HEADER, begin, first)
        begin = first
    footer = last > begin and headings.without_digits(text[last:end].strip()) in running
    body = text[begin : last if footer else end]
    for block in find_blocks(body, running):
        kind = _block_kind(body, block)
        stop = block.start + len(body[block.start : block.end].rstrip())
        yield _placed_block(page, kind, begin + block.start, begin + stop, block.level)
    if footer:
        yield _placed_block(page, PageBlockKind.FOOTER, last, end)


def edge_lines(page: Page) -> str:
    """The first and the last line of a page, which is all that tells its running lines."""
    lines = page.text.strip().split("\n")
    return f"{lines[0]}\n{lines[-1]}"


def _block_kind(text: str, block: TextBlock) -> PageBlockKind:
    if block.kind is not BlockKind.PROSE:
        return PageBlockKind(str(block.kind))
    lines = [line for line in text[block.start : block.end].splitlines() if line.strip()]
    return PageBlockKind.LIST if _reads_as_list(lines) else PageBlockKind.PROSE


def _reads_as_list(lines: Sequence[str]) -> bool:
    items = sum(bool(_ITEM.match(line)) for line in lines)
    return bool(lines) and bool(_ITEM.match(lines[0])) and items >= max(_LEAST_ITEMS, _ITEMS * len(lines))


def _placed_block(page: Page, kind: PageBlockKind, start: int, end: int, level: int = 0) -> PageBlock:
    return PageBlock(kind, start, end, level, words_box(page.words, start, end))


def _line_end(text: str, start: int, end: int) -> int:
    found = text.find("\n", start, end)
    return end if found < 0 else found
