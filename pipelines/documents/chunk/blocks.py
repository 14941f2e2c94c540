"""A page's text as blocks: titles, paragraphs, tables and code, in the order they stand."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate

from pipelines.documents.chunk import headings

_FENCE = re.compile(r"(```+|~~~+)")
_RULE = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?")
_CODE_START = re.compile(
    r"(?:def|class|import|from|return|if|elif|else|for|while|try|except|func|fn|let|var|const|public|private|static"
    r"|void|int|#include|package|using|namespace|export|module|async|struct|enum|interface|type)\b.*[({:;=>\"'\])]$"
    r"|(?:import|from|package|using|#include)\s\S+$"
)
_CODE_ENDS = ("{", "}", ";", ");", "},", "(", "):")


class BlockKind(StrEnum):
    """The kind of a block; it decides at which borders the block may be cut."""

    TITLE = "title"
    PROSE = "prose"
    TABLE = "table"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Lines of a page that belong together: characters [start, end) of its text."""

    kind: BlockKind  # what the lines are
    start: int  # offset of the first character
    end: int  # offset after the last one, its newline included
    level: int = 0  # depth of a title, 1 outermost; else 0
    body: int = 0  # where a table's rows begin, after its header and rule; else `start`


def find_blocks(text: str, running: frozenset[str] = frozenset()) -> Iterator[TextBlock]:
    """Cut a page into blocks that cover all of its non-space text, in linear time.

    Args:
        running: page headers and footers (`headings.running`), which are never titles.
    """
    whole = text.splitlines(keepends=True)
    offsets = [0, *accumulate(map(len, whole))]
    stripped = [line.strip() for line in whole]
    code = _is_code(text, stripped)
    shouting = headings.is_shouting(stripped)
    at, after_title = 0, False
    while at < len(stripped):
        if not stripped[at]:
            at += 1
            continue
        level = None if code else _title_level(stripped, at, after_title, shouting, running)
        if level is not None:
            until = at + 2 if _is_underline(stripped, at) else at + 1
            yield TextBlock(BlockKind.TITLE, offsets[at], offsets[until], level, offsets[at])
        else:
            kind, until = (BlockKind.CODE, _paragraph_end(stripped, at)) if code else _block_extent(stripped, at)
            headed = kind is BlockKind.TABLE and until - at > 2 and _RULE.fullmatch(stripped[at + 1])
            yield TextBlock(kind, offsets[at], offsets[until], 0, offsets[at + 2 if headed else at])
        after_title = level is not None
        at = until


def _title_level(lines: list[str], at: int, after_title: bool, shouting: bool, running: frozenset[str]) -> int | None:
    line = lines[at]
    if running and headings.without_digits(line) in running:
        return None
    before = lines[at - 1] if at and not after_title else ""
    if _is_underline(lines, at) and not before:
        return 1 if lines[at + 1][0] == "=" else 2
    return headings.heading_level(line, before=before, after=_line_at(lines, at + 1), shouting=shouting)


def _is_underline(lines: list[str], at: int) -> bool:
    below = _line_at(lines, at + 1)
    return len(below) >= 3 and below[0] in "=-" and not below.strip(below[0]) and len(lines[at]) <= 120


def _block_extent(lines: list[str], at: int) -> tuple[BlockKind, int]:
    """The kind of the block that begins at line `at`, and the line after its last."""
    if fence := _FENCE.match(lines[at]):
        return BlockKind.CODE, _fence_end(lines, at, fence[1])
    if lines[at].startswith("|"):
        return BlockKind.TABLE, next((n for n in range(at, len(lines)) if not lines[n].startswith("|")), len(lines))
    end = at + 1
    while end < len(lines) and lines[end] and not lines[end].startswith(("|", "```", "~~~", "#")):
        end += 1
    return BlockKind.PROSE, end


def _fence_end(lines: list[str], at: int, fence: str) -> int:
    ends = (n + 1 for n in range(at + 1, len(lines)) if lines[n].startswith(fence) and not lines[n].strip(fence[0]))
    return next(ends, len(lines))


def _paragraph_end(lines: list[str], at: int) -> int:
    return next((n for n in range(at, len(lines)) if not lines[n]), len(lines))


def _line_at(lines: list[str], at: int) -> str:
    return lines[at] if at < len(lines) else ""


def _is_code(text: str, lines: list[str]) -> bool:
    """At least half of the page's lines end or begin as statements do (comments would look like Markdown titles)."""
    if "```" in text or "~~~" in text:
        return False
    filled = [line for line in lines if line and not line.startswith(("#", "//", "*", "/*", "--"))]
    codelike = sum(1 for line in filled if line.endswith(_CODE_ENDS) or _CODE_START.match(line))
    return len(filled) >= 3 and 2 * codelike >= len(filled)
