"""Jupyter notebooks: their cells as text and code, with what the code has said; no pictures as letters."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pipelines.documents.document import Caveat, CaveatKind
from pipelines.documents.extract.opened import (
    ExtractionContext,
    OpenedDocument,
    UnpagedDocument,
    join_blocks,
    split_text,
    storable_text,
)
from pipelines.documents.extract.text.plain_text import read_text
from pipelines.documents.extract.text.web_page import html_parts

_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")
_EMBEDDED: Final = re.compile(r"\(data:image/[^)]*\)")
_OLD_FORMS: Final = {"png", "jpeg", "svg", "image/png", "image/jpeg", "image/gif", "image/svg+xml"}


def open_notebook(path: Path, context: ExtractionContext) -> OpenedDocument:
    """The cells in parts; a file that is no notebook (nbformat 3 or 4) is shown as it is."""
    read, limit = read_text(path, context), context.read.part_chars
    try:
        book = json.loads(read.text)
        cells = [cell for sheet in book.get("worksheets") or [book] for cell in sheet["cells"]]
        language = str(book.get("metadata", {}).get("kernelspec", {}).get("language", "python"))
        blocks = [storable_text(block) for cell in cells for block in _cell_blocks(cell, language, limit)]
        pictures = sum(_count_pictures(cell) for cell in cells)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return UnpagedDocument(split_text(storable_text(read.text), limit), read.caveats)
    unread = f"{pictures} pictures that the code has drawn were not read"
    drawn = [Caveat(CaveatKind.PICTURES_UNREAD, unread, pictures)] if pictures else []
    return UnpagedDocument(join_blocks(blocks, limit), (*read.caveats, *drawn))


def _cell_blocks(cell: Mapping[str, Any], language: str, limit: int) -> Iterator[str]:
    source = _join_text(cell.get("source", cell.get("input", "")))
    if cell["cell_type"] == "code":
        if source.strip():
            yield f"```{language}\n{source}\n```"
        for output in cell.get("outputs", ()):
            yield from _output_blocks(output, limit)
    elif cell["cell_type"] == "heading":
        yield f"{'#' * int(cell.get('level', 1))} {source}"
    elif source.strip():
        yield _EMBEDDED.sub("()", source)


def _output_blocks(output: Mapping[str, Any], limit: int) -> Iterator[str]:
    """The printed or returned output of a cell: its words, a table where there is one."""
    data = output.get("data", output)
    if output.get("output_type") in ("error", "pyerr"):
        yield f"{output.get('ename', '')}: {output.get('evalue', '')}"
    elif "text/markdown" in data:
        yield _join_text(data["text/markdown"])
    elif "<table" in (html := _join_text(data.get("text/html", data.get("html", "")))):
        yield from html_parts(html, limit)
    elif plain := _join_text(data.get("text/plain", data.get("text", ""))).strip("\n"):
        if not (_OLD_FORMS & set(data) and plain.startswith("<")):  # <Figure size 640x480 with 1 Axes>
            yield f"```\n{_COLOURS.sub('', plain)}\n```"
    elif html:
        yield from html_parts(html, limit)


def _count_pictures(cell: Mapping[str, Any]) -> int:
    drawn = sum(bool(_OLD_FORMS & set(output.get("data", output))) for output in cell.get("outputs", ()))
    return drawn + len(cell.get("attachments", ())) + len(_EMBEDDED.findall(_join_text(cell.get("source", ""))))


def _join_text(value: object) -> str:
    return "".join(map(str, value)) if isinstance(value, list) else str(value)
