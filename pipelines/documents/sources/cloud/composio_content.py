"""A file's bytes out of a tool's answer: a link comes before what is inline, and no piece or receipt counts as it."""

import base64
import binascii
import hashlib
import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, Final

from pipelines.documents.sources.cloud.composio_apps import ComposioApp
from pipelines.documents.sources.cloud.composio_client import WHO, ComposioClient
from pipelines.documents.sources.source_port import SourceItem, SourceRefused

URL_KEYS: Final = (
    *("s3url", "s3_url", "downloadUrl", "download_url", "@microsoft.graph.downloadUrl", "webContentLink"),
)
CONTENT_KEYS: Final = ("file_content_bytes", "downloaded_file_content", "content", "file_content")
RECEIPT_BYTES: Final = 16 * 1024
"""What is longer is no receipt."""
_RECEIPT_KEYS: Final = frozenset(
    {
        *(*URL_KEYS, "url", "link", "uri", "path", "file_path", "s3key", "webUrl", "webViewLink", "location"),
        *("id", "kind", "name", "mimetype", "mimeType", "size", "status", "successful", "success", "error", "message"),
        *("code", "detail", "details", "data", "log_id", "title", "request_id"),
    }
)
_HTML_NAMES: Final = frozenset({".html", ".htm", ".xhtml", ".mhtml"})
_PAGE_NAMES: Final = _HTML_NAMES | {".txt", ".md", ".php", ".asp", ".aspx", ".jsp", ".vue", ".eml", ".mht"}
_MARKUP_NAMES: Final = _HTML_NAMES | {".xml", ".svg", ".rss", ".atom", ".xsd", ".xsl", ".kml", ".gpx"}
_PAGE: Final = (b"<!doctype html", b"<html")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/\r\n]+={0,2}[\r\n]*")
_RECEIPT: Final = f"{WHO} gives a link or a status instead of the file"
_DEEPEST, _MOST_PARTS = 5, 500  # of an answer that is looked through
_DIGEST: Final = re.compile(r"[0-9a-f]{32}")


async def read_content(
    client: ComposioClient, app: ComposioApp, data: Mapping[str, Any], item: SourceItem, start: int, length: int | None
) -> AsyncIterator[bytes]:
    """The file's bytes from `start` on, at most `length`. Where a link gives none, the next layer may.

    Raises SourceRefused: the answer holds a piece or a receipt, or nothing; what `ComposioClient.fetch` raises.
    """
    refused: SourceRefused | None = None
    for url in urls_in(data):
        is_begun = False
        try:
            async for block in _linked(client, app, url, item, start, length):
                is_begun = True
                yield block
            return
        except SourceRefused as error:
            if is_begun:
                raise
            refused = refused or error
    body = inline_bytes(data, item.size)
    if body is None:
        raise refused or SourceRefused(f"{WHO} answers without the bytes of the file")
    check_whole(app, body, item)
    yield body[start : None if length is None else start + length]


def urls_in(data: Mapping[str, Any]) -> list[str]:
    """Links of an answer to the file, the best first; empty ones are none."""
    found = dict[str, list[str]]()
    for name, value in _texts_in(data):
        if name in URL_KEYS and value.strip():
            found.setdefault(name, []).append(value.strip())
    return [url for name in URL_KEYS for url in dict.fromkeys(found.get(name, ()))]


def inline_bytes(data: Mapping[str, Any], size: int | None) -> bytes | None:
    """What an answer holds inline; None where nothing is. Base64 where it can be nothing else."""
    found = dict[str, str]()
    for name, value in _texts_in(data):
        found.setdefault(name, value)
    text = next((found[name] for name in CONTENT_KEYS if name in found), None)
    if text is None:
        return None
    plain = text.encode()
    if size is not None and len(plain) == size:
        return plain
    packed = from_base64(text)
    return plain if packed is None else packed


def from_base64(text: str) -> bytes | None:
    """None for what is no base64 to the last character: of full length, padded, and nothing hidden in spare bits."""
    if not _BASE64.fullmatch(text):
        return None
    joined = text.replace("\r", "").replace("\n", "")
    if not joined or len(joined) % 4:
        return None
    try:
        found = base64.b64decode(joined, validate=True)
    except binascii.Error:
        return None
    return found if base64.b64encode(found).decode() == joined else None


def check_whole(app: ComposioApp, body: bytes, item: SourceItem) -> None:
    """Raises SourceRefused: an inline answer is a receipt, or a piece of the file."""
    check_receipt(body, item)
    _check_page(app, body, item)
    if item.size is not None:
        check_size(app, len(body), item.size, is_inline=True)
    if len(body) < app.inline_least and not _is_told(body, item):
        raise SourceRefused(
            f"truncated: {app.title} gives {len(body)} bytes inline, as it does of longer files",
            fix="Only a server that gives links gives such files whole.",
        )


def check_size(app: ComposioApp, given: int, size: int, *, is_inline: bool) -> None:
    """Raises SourceRefused: fewer or more bytes than the listing says, where its sizes are exact."""
    if given < size and (is_inline or app.has_sizes):
        raise SourceRefused(f"truncated: {given} bytes of {size} came")
    if given > size and app.has_sizes:
        raise SourceRefused(f"{given} bytes came, and the listing says {size}")


def check_receipt(body: bytes, item: SourceItem) -> None:
    """Raises SourceRefused: it is a link or a status instead of the file."""
    if len(body) > RECEIPT_BYTES or len(body) == item.size:
        return
    text, ending = body.strip(), PurePosixPath(item.path).suffix.lower()
    lowered = text[:200].lower()
    is_page = lowered.startswith(_PAGE) and ending not in _HTML_NAMES
    is_error = lowered.startswith((b"<?xml", b"<error")) and b"<Error>" in text and ending not in _MARKUP_NAMES
    is_link = re.fullmatch(rb"https?://\S+", text) is not None
    if is_page or is_error or is_link or _is_status(text):
        raise SourceRefused(_RECEIPT)


def _check_page(app: ComposioApp, head: bytes, item: SourceItem) -> None:
    """A page that asks people to sign in is long; where a size cannot tell, its beginning does."""
    is_sized = item.size is not None and app.has_sizes
    ending = PurePosixPath(item.path).suffix.lower()
    if not is_sized and ending not in _PAGE_NAMES and head.lstrip()[:200].lower().startswith(_PAGE):
        raise SourceRefused(_RECEIPT)


async def _linked(
    client: ComposioClient, app: ComposioApp, url: str, item: SourceItem, start: int, length: int | None
) -> AsyncIterator[bytes]:
    """What a link gives; of a whole file nothing comes before it is longer than a receipt, or at its end."""
    is_whole, held, came = not start and length is None, bytearray(), 0
    is_held = is_whole
    async for block in client.fetch(url, start, length):
        came += len(block)
        if not is_held:
            yield block
            continue
        held += block
        if len(held) > RECEIPT_BYTES:
            is_held = False
            _check_page(app, bytes(held), item)
            yield bytes(held)
    if is_held:
        check_receipt(bytes(held), item)
    if is_whole and item.size is not None:
        check_size(app, came, item.size, is_inline=False)
    if is_held:
        yield bytes(held)


def _is_told(body: bytes, item: SourceItem) -> bool:
    """True where the listing's MD5 is that of these bytes."""
    told = item.version.partition(" ")[0]
    return bool(_DIGEST.fullmatch(told)) and hashlib.md5(body, usedforsecurity=False).hexdigest() == told


def _is_status(text: bytes) -> bool:
    if not text.startswith(b"{"):
        return False
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and bool(found) and found.keys() <= _RECEIPT_KEYS


def _texts_in(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Names and texts of an answer, the outer ones first, as far as is worth looking."""
    waiting, seen = [(data, 0)], 0
    for part, depth in waiting:
        for name, value in part.items():
            seen += 1
            if seen > _MOST_PARTS:
                return
            if isinstance(value, str):
                yield name, value
            elif isinstance(value, dict) and depth < _DEEPEST:
                waiting.append((value, depth + 1))
