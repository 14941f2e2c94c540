"""A page of HTML as a crawl needs it: links, canonical URL, what robots are told, and digests of what people see."""

import codecs
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit

import lxml.etree
import lxml.html

from pipelines.documents.sources.site.site_urls import normal_url

_LINKS: Final = 5000  # of one page
_UNSEEN: Final = ("script", "style", "noscript", "template", "link", "iframe", "svg")
_TOKENS: Final = re.compile(r"csrf|nonce|token", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class HtmlPage:
    """What one page says.

    Attributes:
        digest: of the page without what changes with each request (scripts, hidden fields, tokens).
        shape: of its words alone, without its own address: the same for pages that say the same.
        words: how many there are.
    """

    links: tuple[str, ...] = ()
    canonical: str | None = None
    is_indexed: bool = True
    digest: str = ""
    shape: str = ""
    words: int = 0


def decode_html(body: bytes, content_type: str) -> bytes:
    """The same bytes; in UTF-8 with its mark where only the header told how they are coded, which nobody keeps."""
    found = re.search(r"charset\s*=\s*[\"']?([\w.:-]+)", content_type, re.IGNORECASE)
    if found is None or body.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return body
    try:
        name = codecs.lookup(found[1]).name
        if name in ("utf-8", "ascii", "utf-7"):
            return body
        return codecs.BOM_UTF8 + body.decode(name, "replace").encode()
    except (LookupError, ValueError):  # no such charset, or one that codes no text or no whole one
        return body


def parse_html(body: bytes, url: str, robots_header: str = "") -> HtmlPage:
    """Whatever the bytes are, something comes out. `robots_header`: of the answer, X-Robots-Tag."""
    text = body.decode("utf-8", "replace") if _is_utf8(body) else None
    parser = lxml.html.HTMLParser(encoding="utf-8" if text is not None else None, huge_tree=False)
    try:
        return _read_page(lxml.html.document_fromstring(body, parser=parser), url, robots_header)
    except (lxml.etree.LxmlError, ValueError, AssertionError):  # what was parsed may hold what cannot be told, too
        digest = hashlib.sha256(body).hexdigest()[:32]
        return HtmlPage(digest=digest, shape=digest)


def _read_page(root: lxml.html.HtmlElement, url: str, robots_header: str) -> HtmlPage:
    """Raises LxmlError, ValueError."""
    base = next((one for one in root.xpath("//base/@href")), "")
    base = normal_url(base, url) or url
    told = ",".join([robots_header, *root.xpath("//meta[translate(@name,'ROBTS','robts')='robots']/@content")]).lower()
    told += "," + ",".join(root.xpath("//meta[translate(@name,'AOS','aos')='aos']/@content")).lower()
    words = {one.strip().rpartition(":")[2].strip() for one in told.split(",")}
    links = () if words & {"nofollow", "none"} else tuple(dict.fromkeys(_links(root, base)))[:_LINKS]
    canonical = next(
        (normal_url(one.get("href") or "", base) for one in root.iter("link") if _rel(one, "canonical")), None
    )
    is_indexed = not words & {"noindex", "none"}
    _drop_unseen(root)
    seen = " ".join(" ".join(root.itertext()).split())
    digest = hashlib.sha256(lxml.etree.tostring(root, encoding="utf-8", method="html")).hexdigest()[:32]
    return HtmlPage(links, canonical, is_indexed, digest, _shape(seen, url), len(seen.split()))


def _links(root: lxml.html.HtmlElement, base: str) -> Iterator[str]:
    for one in root.iter("a", "area", "frame", "iframe", "link"):
        if one.tag == "link" and not (_rel(one, "next") or _rel(one, "prev")):
            continue
        href = one.get("src") if one.tag in ("frame", "iframe") else one.get("href")
        if href and not _rel(one, "nofollow") and (found := normal_url(href, base)) is not None:
            yield found


def _rel(element: lxml.html.HtmlElement, word: str) -> bool:
    return word in (element.get("rel") or "").lower().split()


def _drop_unseen(root: lxml.html.HtmlElement) -> None:
    gone = [*root.iter(*_UNSEEN, lxml.etree.Comment, lxml.etree.ProcessingInstruction)]
    gone += [one for one in root.iter("input") if (one.get("type") or "").lower() == "hidden"]
    gone += [one for one in root.iter("meta") if _TOKENS.search(one.get("name") or "")]
    for one in gone:
        if one.getparent() is not None:
            one.drop_tree()
    for one in root.iter():
        for name in [name for name in one.attrib if _TOKENS.search(name)]:
            del one.attrib[name]


def _shape(seen: str, url: str) -> str:
    parts = urlsplit(url)
    for own in (url, parts.path, unquote(parts.path), unquote(parts.path).rpartition("/")[2]):
        if len(own) > 3:
            seen = seen.replace(own, "")
    return hashlib.sha256(seen.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True
