"""EPUB: the chapters in reading order, each as the HTML it is."""

import posixpath
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from lxml import etree

from pipelines.documents.document import Caveat, CaveatKind, FailureReason, Unreadable
from pipelines.documents.extract.mail.letter import SMALL_PICTURE, merge_caveats
from pipelines.documents.extract.office.zip_package import DAMAGED, check_package, classify_package_error, parse_part
from pipelines.documents.extract.opened import ExtractionContext, OpenedDocument, UnpagedDocument
from pipelines.documents.extract.text.web_page import decode_html, html_parts


def open_epub(path: Path, context: ExtractionContext) -> OpenedDocument:
    """The book's title and authors, then every chapter, which begins a part of its own."""
    check_package(path, context.read.max_unpacked_bytes)
    try:
        with zipfile.ZipFile(path) as archive:
            container = parse_part(archive, "META-INF/container.xml")
            package = str(container.find(".//{*}rootfile").get("full-path"))
            book = parse_part(archive, package)
            parts = [_title_block(book)]
            caveats: list[Caveat] = []
            for name in _spine_paths(book, posixpath.dirname(package)):
                read = decode_html(archive.read(name), context)
                caveats += read.caveats
                parts += html_parts(read.text, context.read.part_chars)
            caveats += _picture_caveats(archive, book)
    except DAMAGED as error:
        raise classify_package_error(error) from error
    if len(parts) == 1:
        raise Unreadable(FailureReason.EMPTY, "the book has no chapters")
    return UnpagedDocument((part for part in parts if part), merge_caveats(caveats))


def _picture_caveats(archive: zipfile.ZipFile, book: etree._Element) -> Iterator[Caveat]:
    """Pictures that may say something: no ornaments, and not the cover."""
    sizes = {name.filename: name.file_size for name in archive.infolist()}
    count = sum(
        str(item.get("media-type", "")).startswith("image/")
        and "cover" not in f"{item.get('properties', '')} {item.get('id', '')}".lower()
        and max((size for name, size in sizes.items() if name.endswith(unquote(item.get("href", "?")))), default=0)
        > SMALL_PICTURE
        for item in book.iterfind(".//{*}manifest/{*}item")
    )
    if count:
        yield Caveat(CaveatKind.PICTURES_UNREAD, f"{count} pictures of the book were not read", count)


def _title_block(book: etree._Element) -> str:
    """The publisher's metadata of the book: title, authors, description."""

    def said(name: str) -> list[str]:
        return [text for item in book.iterfind(f".//{{*}}metadata/{{*}}{name}") if (text := (item.text or "").strip())]

    lines = [f"# {title}" for title in said("title")]
    if authors := said("creator"):
        lines.append("Authors: " + ", ".join(authors))
    return "\n\n".join([*lines, *said("description")])


def _spine_paths(book: etree._Element, folder: str) -> list[str]:
    items = {item.get("id"): item.get("href", "") for item in book.iterfind(".//{*}manifest/{*}item")}
    names = [items[ref.get("idref")] for ref in book.iterfind(".//{*}spine/{*}itemref") if ref.get("idref") in items]
    return [posixpath.normpath(posixpath.join(folder, unquote(name))) for name in names]
