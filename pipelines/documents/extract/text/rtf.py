"""RTF: its text, tables as tables, raised and lowered runs apart from numbers, notes where they are called."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from striprtf.striprtf import remove_pict_groups as without_binaries
from striprtf.striprtf import rtf_to_text

from pipelines.documents.document import Caveat, CaveatKind, FailureReason, Unreadable
from pipelines.documents.extract.opened import (
    ExtractionContext,
    OpenedDocument,
    UnpagedDocument,
    join_blocks,
    markdown_table,
    storable_text,
    table_parts,
)
from pipelines.documents.extract.text.plain_text import read_bounded
from pipelines.documents.extract.text.raised import as_subscript, as_superscript

# Marks that pass through the library as letters: none of these is in any text.
_CELL, _ROW, _TABLE, _HIGH, _LOW, _LEVEL = "\ue000", "\ue001", "\ue002", "\ue003", "\ue004", "\ue005"
_MARKED: Final = {
    "cell": _CELL,
    "row": _ROW,
    "trowd": _TABLE,
    "super": _HIGH,
    "sub": _LOW,
    "nosupersub": _LEVEL,
    "plain": _LEVEL,
}
_WORDS: Final = re.compile(r"\\(cell|row|trowd|super|sub|nosupersub|plain)(0?)(?![a-z0-9-]) ?")
_SHIFTED: Final = re.compile(r"\{[^{}]*\\(?:super|sub)(?![a-z0-9])[^{}]*(?=\})")
_RUN: Final = re.compile(f"([{_HIGH}{_LOW}])([^{_HIGH}{_LOW}{_LEVEL}\n{_CELL}]*){_LEVEL}?")
_RAW: Final = re.compile("[\x80-\xff]")
_PICTURE: Final = re.compile(r"\\pict(?![a-z])")
_COPY: Final = re.compile(r"\\nonshppict(?![a-z])")
_ASIDE: Final = re.compile(r"\{\s*(?:\\\*)?\s*\\(footnote|annotation|shptxt)(?![a-z])")
_PROLOG: Final = re.compile(r"\{[^{}]*\\fonttbl")
_CODE_PAGE: Final = re.compile(r"\\ansicpg\d+")


def open_rtf(path: Path, context: ExtractionContext) -> OpenedDocument:
    """The text in parts. Raises Unreadable: TOO_LARGE or CORRUPT."""
    # The format itself is ASCII; its letters beyond are escaped in the code page that it names, or should be.
    given = read_bounded(path, context).decode("latin-1")
    pictures = len(_PICTURE.findall(given)) - len(_COPY.findall(given))
    try:
        source = _RAW.sub(lambda found: f"\\'{ord(found[0]):02x}", without_binaries(given))  # type: ignore[no-untyped-call]
        source, asides = _split_asides(source)
        text = _plain_text(source)
        blocks = list(_text_blocks(text, context.read.part_chars))
        blocks += [block for aside in asides for block in _text_blocks(_plain_text(aside), context.read.part_chars)]
    except (LookupError, ValueError, TypeError, AttributeError) as error:
        raise Unreadable(FailureReason.CORRUPT, f"not readable as RTF: {error}"[:200]) from error
    return UnpagedDocument(join_blocks(blocks, context.read.part_chars), _text_caveats(pictures, text))


def _text_caveats(pictures: int, text: str) -> Iterator[Caveat]:
    if pictures > 0:
        yield Caveat(CaveatKind.PICTURES_UNREAD, f"{pictures} pictures in the text were not read", pictures)
    if bad := text.count("\ufffd"):
        yield Caveat(CaveatKind.ENCODING_UNSURE, f"{bad} letters do not fit the code page that the file names", bad)


def _split_asides(source: str) -> tuple[str, list[str]]:
    """The text with its notes in brackets, and what the library leaves out as texts of their own: remarks, boxes."""
    start = _PROLOG.search(source)
    fonts = source[start.start() : _group_end(source, start.start())] if start else ""
    page = _CODE_PAGE.search(source)
    prolog = "{\\rtf1\\ansi" + (page[0] if page else "") + fonts
    kept, asides, at = [], [], 0
    while (found := _ASIDE.search(source, at)) is not None:
        end = _group_end(source, found.start())
        inner = source[found.end() : end - 1]
        kept.append(source[at : found.start()])
        if found[1] == "footnote":
            kept.append("{ [" + inner.lstrip() + "]}")
        else:
            asides.append(f"{prolog} {inner}}}")
        at = end
    return "".join([*kept, source[at:]]), asides


def _group_end(source: str, start: int) -> int:
    """The offset after the group that begins at `start`."""
    depth = 0
    for brace in re.compile(r"\\.|[{}]", re.DOTALL).finditer(source, start):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if depth == 0:
            return brace.end()
    return len(source)


def _plain_text(source: str) -> str:
    """The library's text, with marks where it knows of none."""
    # A run that is raised within a group of its own ends with the group.
    ended = _SHIFTED.sub(lambda found: f"{found[0]}\\aos {_LEVEL}", source)
    marked = _WORDS.sub(lambda found: f"\\aos {_LEVEL if found[2] else _MARKED[found[1]]}", ended)
    text = storable_text(str(rtf_to_text(marked, errors="replace")))  # type: ignore[no-untyped-call]
    shifted = _RUN.sub(lambda run: (as_superscript if run[1] == _HIGH else as_subscript)(run[2]), text)
    return shifted.replace(_LEVEL, "")


def _text_blocks(text: str, limit: int) -> Iterator[str]:
    """Paragraphs and tables: rows that follow each other are one table."""
    rows: list[list[str]] = []
    for piece in text.split(_ROW):
        before, _, row = piece.partition(_TABLE)
        cells = (row or before).replace(_TABLE, "").split(_CELL)
        if len(cells) == 1:
            before, cells = piece.replace(_TABLE, ""), []
        elif not row:  # cells without a definition of their row: it begins on a line of its own
            before, _, cells[0] = cells[0].rpartition("\n")
        if before.strip():
            yield from _table_blocks(rows, limit)
            rows = []
            yield from filter(str.strip, before.strip().split("\n\n"))
        if cells:
            rows.append([" ".join(cell.split()) for cell in cells[:-1]])
    yield from _table_blocks(rows, limit)


def _table_blocks(rows: list[list[str]], limit: int) -> Iterator[str]:
    if rows:
        yield from table_parts(markdown_table(rows), limit)
