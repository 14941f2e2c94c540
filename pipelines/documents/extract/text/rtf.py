"""RTF: its text, tables as tables, raised and lowered runs apart from numbers, notes where they are called."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from striprtf.striprtf import rtf_to_text

from pipelines.documents.document import CaveatKind, FailureReason, Unreadable
from pipelines.documents.extract.office.embedded import EmbeddedDocuments
from pipelines.documents.extract.opened import (
    DocumentPart,
    ExtractionContext,
    OpenedDocument,
    markdown_table,
    storable_text,
    table_parts,
)
from pipelines.documents.extract.pictures.embedded_pictures import PictureCollector, split_blocks
from pipelines.documents.extract.text.plain_text import read_bounded
from pipelines.documents.extract.text.raised import as_subscript, as_superscript
from pipelines.documents.extract.text.rtf_groups import PICTURE, RtfGroups, without_binaries

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
_DAMAGED = (LookupError, ValueError, TypeError, AttributeError)


def open_rtf(path: Path, context: ExtractionContext) -> OpenedDocument:
    """The text in parts, embedded documents behind them. Raises Unreadable: TOO_LARGE or CORRUPT."""
    gathered = PictureCollector(context)
    embedding = EmbeddedDocuments(gathered, None)
    try:
        blocks = rtf_blocks(read_bounded(path, context), gathered, embedding)
    except _DAMAGED as error:
        raise Unreadable(FailureReason.CORRUPT, f"not readable as RTF: {error}"[:200]) from error
    first, *others = split_blocks(blocks, context.read.part_chars) or [""]
    caveats = tuple(replace(one, whole=True) for one in gathered.take_caveats())
    return embedding.behind(gathered.document([DocumentPart(first, caveats), *others]))


def rtf_blocks(data: bytes, gathered: PictureCollector, embedding: EmbeddedDocuments) -> list[str]:
    """Headers, the text, remarks and boxes, footers: each different one of what stands beside the text once.

    Raises LookupError, ValueError, TypeError or AttributeError for what is damaged.
    """
    # The format itself is ASCII; its letters beyond are escaped in the code page that it names, or should be.
    source = without_binaries(data.decode("latin-1"))
    groups = RtfGroups(_RAW.sub(lambda found: f"\\'{ord(found[0]):02x}", source), gathered, embedding)
    headers, boxes, footers = (
        dict.fromkeys(map(_plain_text, sources)) for sources in (groups.headers, groups.asides, groups.footers)
    )
    texts = [*headers, _plain_text(groups.body), *boxes]
    every = "".join((*texts, *footers))
    if bad := every.count("\ufffd"):
        detail = f"{bad} letters do not fit the code page that the file names"
        gathered.note(CaveatKind.ENCODING_UNSURE, detail, bad)
    there = {found[0] for found in PICTURE.finditer(every)}
    lost = [place for place in groups.pictures if place not in there]  # those of boxes go behind the text
    limit = gathered.context.read.part_chars
    blocks = [block for text in (*texts, *lost, *footers) for block in _text_blocks(text, limit)]
    return [PICTURE.sub("\0\\1\0", block) for block in blocks]


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
