"""URLs of one site: one spelling for each page, what lies within, and what looks like a trap."""

import posixpath
import re
from collections import Counter
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlencode, urljoin, urlsplit, urlunsplit

from pipelines.documents.sources.checked_http import origin_of

LONGEST_URL: Final = 2000
_DEEPEST_PATH: Final = 20
_REPEATED: Final = 3  # times that one part of a path may come: relative links that go round add the same ones for ever
# What tells who came from where, or whose session it is, and not which page.
_TRACKING: Final = re.compile(
    r"utm_\w+|gclid|fbclid|msclkid|dclid|yclid|mc_[ce]id|_ga|_gl|phpsessid|jsessionid|aspsessionid\w*|sessionid|sid|cfid"
    r"|cftoken|igshid",
    re.IGNORECASE,
)
_PATH_SESSION: Final = re.compile(r";jsessionid=[^/;]*", re.IGNORECASE)
_ASSETS: Final = re.compile(
    r"7z|avi|bmp|css|dmg|eot|exe|gif|gz|ico|iso|jar|jpe?g|js|json|m4[av]|map|mjs|mov|mp[34]|mpeg|og[gv]|otf|png|rar|rss"
    r"|svg|tar|tgz|tiff?|ttf|wasm|wav|web[mp]|webmanifest|woff2?|xml|zip"
)
_FILES: Final = re.compile(r"csv|doc[mx]?|epub|md|od[pst]|pdf|pptx?|rtf|tsv|txt|xls[mx]?")


def normal_url(url: str, base: str = "") -> str | None:
    """The one spelling of a URL, without its fragment and without what only tracks; None: it is none of http(s)."""
    try:
        return _normalised(url, base)
    except ValueError:  # also one with more parameters than anybody writes, or characters that cannot be sent
        return None


def _normalised(url: str, base: str) -> str | None:
    """Raises ValueError."""
    joined = urljoin(base, url.strip()) if base else url.strip()
    parts = urlsplit(joined)
    origin = origin_of(joined)
    if not origin or parts.username is not None or "\\" in url:
        return None
    path = _PATH_SESSION.sub("", parts.path) or "/"
    path = quote(_decoded(path), safe="/%:@!$&'()*+,;=~-._")
    folder = path.endswith(("/", "/.", "/.."))
    path = posixpath.normpath("/" + path.lstrip("/"))
    path = path + "/" if folder and path != "/" else path
    pairs = sorted(
        (name, value)
        for name, value in parse_qsl(parts.query, keep_blank_values=True, max_num_fields=200)
        if not _TRACKING.fullmatch(name)
    )
    normal = origin + urlunsplit(("", "", path, urlencode(pairs), ""))
    return normal if len(normal) <= LONGEST_URL else None


def _decoded(path: str) -> str:
    """Percent signs stay where they stand for what would change the path's meaning."""

    def one(found: re.Match[str]) -> str:
        char = chr(int(found[1], 16))
        return char if char.isascii() and (char.isalnum() or char in "-._~") else found[0].upper()

    return re.sub(r"%([0-9A-Fa-f]{2})", one, re.sub(r"%(?![0-9A-Fa-f]{2})", "%25", path))


def extension_of(url: str) -> str:
    """The ending of the last part of its path, in lower case and without the dot; empty where there is none."""
    return posixpath.splitext(urlsplit(url).path)[1].lower().lstrip(".")


def is_file_url(url: str) -> bool:
    """True where a URL ends as documents do that are no pages."""
    return _FILES.fullmatch(extension_of(url)) is not None


def path_of(url: str, *, is_page: bool) -> str:
    """Where people find it, as a path whose last part is a name for a document."""
    parts = urlsplit(url)
    path = unquote(parts.path, errors="replace")
    if path.endswith("/"):
        path += "index"
    if parts.query:
        path += f"?{unquote(parts.query, errors='replace')}".replace("/", "_")
    if is_page and not path.lower().endswith((".html", ".htm", ".xhtml")):
        path += ".html"
    return parts.netloc + path


@dataclass(frozen=True, slots=True)
class SiteScope:
    """What belongs to the site: one scheme and host, and paths below one of the prefixes."""

    origin: str
    prefixes: tuple[str, ...]
    exclude: tuple[str, ...] = ()

    def holds(self, url: str) -> bool:
        """True for a URL that may be asked for."""
        if origin_of(url) != self.origin:
            return False
        path = urlsplit(url).path
        if not any(path == one.rstrip("/") or path.startswith(one.rstrip("/") + "/") for one in self.prefixes):
            return False
        return not any(fnmatchcase(path, one) for one in self.exclude)

    def is_wanted(self, url: str) -> bool:
        """True where it may be a page or a document: pictures, styles and programs are none."""
        return self.holds(url) and _ASSETS.fullmatch(extension_of(url)) is None


def prefix_of(url: str) -> str:
    """The part of a site that a start URL means: its folder, or itself where it looks like one."""
    path = urlsplit(url).path
    return path if "." not in path.rpartition("/")[2] else path.rpartition("/")[0] + "/"


def is_trap(url: str) -> bool:
    """True for a URL as only programs make them: one part again and again, or nested without end."""
    parts = [one for one in urlsplit(url).path.split("/") if one]
    return len(parts) > _DEEPEST_PATH or any(count > _REPEATED for count in Counter(parts).values())
