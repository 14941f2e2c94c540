"""EPUB: the chapters in reading order, each as the HTML it is."""

import posixpath
import zipfile
from pathlib import Path
from urllib.parse import unquote

from lxml import etree

from pipelines.documents.document import Reason, Unreadable
from pipelines.documents.extract.html import html_parts
from pipelines.documents.extract.opened import Context, Opened, Parts
from pipelines.documents.extract.package import DAMAGED, check_package, damaged, parse_part


def open_epub(path: Path, context: Context) -> Opened:
    """The book's title and authors, then every chapter, which begins a part of its own."""
    check_package(path, context.read.max_unpacked_bytes)
    try:
        with zipfile.ZipFile(path) as archive:
            container = parse_part(archive, "META-INF/container.xml")
            package = str(container.find(".//{*}rootfile").get("full-path"))
            book = parse_part(archive, package)
            parts = [_title(book)]
            for name in _spine(book, posixpath.dirname(package)):
                parts += html_parts(archive.read(name), context.read.part_chars)
    except DAMAGED as error:
        raise damaged(error) from error
    if len(parts) == 1:
        raise Unreadable(Reason.EMPTY, "the book has no chapters")
    return Parts(part for part in parts if part)


def _title(book: etree._Element) -> str:
    """What the publisher says of the book."""

    def said(name: str) -> list[str]:
        return [text for item in book.iterfind(f".//{{*}}metadata/{{*}}{name}") if (text := (item.text or "").strip())]

    lines = [f"# {title}" for title in said("title")]
    if authors := said("creator"):
        lines.append("Authors: " + ", ".join(authors))
    return "\n\n".join([*lines, *said("description")])


def _spine(book: etree._Element, folder: str) -> list[str]:
    items = {item.get("id"): item.get("href", "") for item in book.iterfind(".//{*}manifest/{*}item")}
    names = [items[ref.get("idref")] for ref in book.iterfind(".//{*}spine/{*}itemref") if ref.get("idref") in items]
    return [posixpath.normpath(posixpath.join(folder, unquote(name))) for name in names]
