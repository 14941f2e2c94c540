"""Sitemaps (sitemaps.org): URLs and when they changed, out of indexes, XML, plain text and gzip, all bounded."""

import asyncio
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Final

import lxml.etree

from pipelines.documents.sources.checked_http import origin_of
from pipelines.documents.sources.site.site_client import SiteClient
from pipelines.documents.sources.site.site_urls import SiteScope, normal_url
from pipelines.documents.sources.source_port import ListingFault

MOST_BYTES: Final = 50 << 20  # of one, unpacked, as the protocol says
_MOST_URLS: Final = 50_000
_MOST_FILES: Final = 50
_DEPTH: Final = 2  # indexes within an index


@dataclass(frozen=True, slots=True)
class Sitemap:
    """What one file says: pages with their `lastmod`, as it stands there or empty, and further sitemaps."""

    pages: tuple[tuple[str, str], ...] = ()
    indexes: tuple[str, ...] = ()


def parse_sitemap(body: bytes) -> Sitemap:
    """Raises ValueError: it is none, or too large."""
    if body.startswith(b"\x1f\x8b"):
        unpacker = zlib.decompressobj(wbits=31)
        try:
            body = unpacker.decompress(body, MOST_BYTES)
        except zlib.error as error:
            raise ValueError("its gzip is damaged") from error
        if unpacker.unconsumed_tail:
            raise ValueError(f"it has more than {MOST_BYTES} bytes")
    if not body.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        lines = [one.strip() for one in body.decode("utf-8", "replace").splitlines()]
        return Sitemap(tuple((one, "") for one in lines if one.startswith(("http://", "https://")))[:_MOST_URLS])
    pages: list[tuple[str, str]] = []
    indexes: list[str] = []
    try:
        found = lxml.etree.iterparse(
            BytesIO(body), resolve_entities=False, no_network=True, load_dtd=False, recover=False, huge_tree=False
        )
        for _, element in found:
            if not isinstance(element.tag, str):
                continue
            name = lxml.etree.QName(element).localname
            if name not in ("url", "sitemap"):
                continue
            told = {lxml.etree.QName(one).localname: (one.text or "").strip() for one in element if _is_element(one)}
            if location := told.get("loc"):
                if name == "url":
                    pages.append((location, told.get("lastmod", "")))
                else:
                    indexes.append(location)
            element.clear()
            if len(pages) >= _MOST_URLS:
                break
    except lxml.etree.LxmlError as error:
        raise ValueError("it is no XML") from error
    return Sitemap(tuple(pages), tuple(indexes))


def _is_element(one: object) -> bool:
    return isinstance(getattr(one, "tag", None), str)


async def read_sitemaps(
    client: SiteClient, scope: SiteScope, named: Sequence[str]
) -> tuple[dict[str, str], list[ListingFault]]:
    """URLs within the scope with their `lastmod`, and what could not be read.

    `named`: sitemaps that robots.txt names; /sitemap.xml is looked at too. A sitemap only proposes: one that does not
    come makes no page go.
    """
    usual = f"{scope.origin}/sitemap.xml"
    queue = [(one, 0) for one in dict.fromkeys([*(normal_url(name, usual) for name in named), usual]) if one]
    found: dict[str, str] = {}
    faults: list[ListingFault] = []
    seen = set[str]()
    for url, depth in queue:
        if url in seen or origin_of(url) != scope.origin or len(seen) >= _MOST_FILES or len(found) >= _MOST_URLS:
            continue
        seen.add(url)
        answer = await client.get(url, most=MOST_BYTES)
        if answer.status != 200 or answer.body is None:
            if url != usual or answer.failed:
                faults.append(ListingFault(url, f"this sitemap does not come ({answer.why or answer.status})"))
            continue
        try:
            sitemap = await asyncio.to_thread(parse_sitemap, answer.body)
        except ValueError as error:
            if url != usual:
                faults.append(ListingFault(url, f"this sitemap cannot be read: {error}"))
            continue
        for location, lastmod in sitemap.pages:
            page = normal_url(location)
            if page is not None and scope.is_wanted(page):
                found[page] = lastmod
        if depth < _DEPTH:
            queue += [(one, depth + 1) for one in (normal_url(name) for name in sitemap.indexes) if one]
    return found, faults
