"""ODT: headings, paragraphs, lists, tables and notes of an OpenDocument text as Markdown."""

import zipfile
from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from pipelines.documents.extract.html import fitting
from pipelines.documents.extract.opened import Context, Opened, Parts, join_blocks, markdown_table
from pipelines.documents.extract.package import DAMAGED, check_package, damaged, parse_part

_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_UNSEEN = (f"{_TEXT}tracked-changes", f"{_OFFICE}annotation-end", f"{_TEXT}sequence-decls")
_MAX_REPEAT = 100  # spaces and columns say how often they repeat; a file may say a billion


def open_odt(path: Path, context: Context) -> Opened:
    """The text in parts."""
    check_package(path, context.read.max_unpacked_bytes)
    try:
        with zipfile.ZipFile(path) as archive:
            body = parse_part(archive, "content.xml").find(f"{_OFFICE}body")
        limit = context.read.part_chars
        blocks = list(_blocks(body, 0)) if body is not None else []
        return Parts(join_blocks(fitting(blocks, limit), limit))
    except DAMAGED as error:
        raise damaged(error) from error


def _blocks(parent: etree._Element, depth: int) -> Iterator[str]:
    for child in parent:
        if child.tag == f"{_TEXT}h":
            level = child.get(f"{_TEXT}outline-level", "1")
            if text := _inline(child).strip():
                yield "#" * min(6, int(level) if level.isdecimal() else 1) + " " + text
        elif child.tag == f"{_TEXT}p":
            if text := _inline(child).strip():
                yield text
        elif child.tag == f"{_TEXT}list":
            yield "\n".join(_items(child, depth))
        elif child.tag == f"{_TABLE}table":
            rows = [_row(row) for row in child.iter(f"{_TABLE}table-row")]
            if table := markdown_table([row for row in rows if any(row)]):
                yield "\n".join(table)
        elif child.tag not in _UNSEEN and isinstance(child.tag, str):
            yield from _blocks(child, depth)


def _items(items: etree._Element, depth: int) -> Iterator[str]:
    for item in items:
        for child in item:
            if child.tag == f"{_TEXT}list":
                yield from _items(child, depth + 1)
            elif text := _inline(child).strip():
                yield f"{'  ' * depth}- {text}"


def _row(row: etree._Element) -> list[str]:
    cells: list[str] = []
    for cell in row:
        repeat = cell.get(f"{_TABLE}number-columns-repeated", "1")
        count = min(int(repeat), _MAX_REPEAT) if repeat.isdecimal() else 1
        cells += [" ".join(_blocks(cell, 0))] * count
    while cells and not cells[-1]:
        cells.pop()
    return cells


def _inline(node: etree._Element) -> str:
    pieces = [node.text or ""]
    for child in node:
        if child.tag == f"{_TEXT}s":
            count = child.get(f"{_TEXT}c", "1")
            pieces.append(" " * (min(int(count), _MAX_REPEAT) if count.isdecimal() else 1))
        elif child.tag == f"{_TEXT}tab":
            pieces.append("\t")
        elif child.tag == f"{_TEXT}line-break":
            pieces.append("\n")
        elif child.tag not in _UNSEEN and isinstance(child.tag, str):
            pieces.append(_inline(child))
        pieces.append(child.tail or "")
    return "".join(pieces)
