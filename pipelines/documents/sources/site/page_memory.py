"""Memory of a crawl: each URL with its validators, kept as the source's cursor, so that nothing depends on a disk."""

import base64
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass
from enum import StrEnum
from typing import Final

_LEAD: Final = "1:"
_MOST_BYTES: Final = 1 << 28


class PageState(StrEnum):
    """What a URL came to."""

    PAGE = "page"  # an item, a page of HTML
    FILE = "file"  # an item of another kind
    ALIAS = "alias"  # a page that names another as its canonical one
    PASSED = "passed"  # looked at for its links alone
    ABSENT = "absent"  # nothing there, or nothing that we get; some page links it


@dataclass(frozen=True, slots=True)
class PageMemory:
    """One URL.

    Attributes:
        depth: links from a start URL.
        etag, modified: validators as the server gave them.
        digest: of what its readers see; empty where it is no item.
        seen: the day, counted from 1970, on which its bytes came last.
        lastmod: as the sitemap said then.
        other: the canonical URL of an alias, or the page that links what is absent.
    """

    url: str
    state: PageState
    depth: int
    etag: str = ""
    modified: str = ""
    digest: str = ""
    size: int = 0
    seen: int = 0
    lastmod: str = ""
    other: str = ""

    @property
    def is_item(self) -> bool:
        """True where it is listed."""
        return self.state in (PageState.PAGE, PageState.FILE)


def pack_memory(signature: str, pages: Iterable[PageMemory]) -> str:
    """As text. `signature` tells under which settings the crawl was made."""
    rows = [astuple(one) for one in sorted(pages, key=lambda one: one.url)]
    raw = json.dumps([signature, rows], separators=(",", ":")).encode()
    return _LEAD + base64.b85encode(zlib.compress(raw, 6)).decode()


def unpack_memory(cursor: str | None) -> tuple[str, Mapping[str, PageMemory]]:
    """And back. What cannot be read is nothing remembered: then each page is read again."""
    if not cursor or not cursor.startswith(_LEAD):
        return "", {}
    try:
        raw = zlib.decompressobj().decompress(base64.b85decode(cursor[len(_LEAD) :]), _MOST_BYTES)
        signature, rows = json.loads(raw)
        pages = [PageMemory(url, PageState(state), *rest) for url, state, *rest in rows]
    except (ValueError, TypeError, zlib.error):
        return "", {}
    return signature, {one.url: one for one in pages}
