"""Answers to PROPFIND (RFC 4918, 207 Multi-Status), parsed as they come: no DTD, no entities, bounded sizes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote_from_bytes, unquote_to_bytes, urlsplit
from xml.parsers import expat

DAV: Final = "DAV:"
OC: Final = "http://owncloud.org/ns"
NC: Final = "http://nextcloud.org/ns"
LONGEST_TEXT: Final = 8192  # characters of one property
MOST_NESTED: Final = 32
MOST_ENTRIES: Final = 100_000  # of one folder
MOST_SHAREES: Final = 5_000  # of one item
_PLAIN: Final = (
    (DAV, "getetag"),
    (DAV, "getlastmodified"),
    (DAV, "getcontentlength"),
    (OC, "id"),
    (OC, "fileid"),
    (OC, "owner-id"),
    (NC, "mount-type"),
    (NC, "acl-enabled"),
)
_PLAIN_NAMES: Final = {f"{space} {name}": name for space, name in _PLAIN}
PROPFIND_BODY: Final = (
    '<?xml version="1.0" encoding="utf-8"?>'
    f'<d:propfind xmlns:d="{DAV}" xmlns:oc="{OC}" xmlns:nc="{NC}"><d:prop><d:resourcetype/><d:getetag/>'
    "<d:getlastmodified/><d:getcontentlength/><oc:id/><oc:fileid/><oc:checksums/><oc:owner-id/><nc:sharees/>"
    "<nc:mount-type/><nc:acl-enabled/></d:prop></d:propfind>"
).encode()


class BrokenAnswer(Exception):
    """A 207 that cannot be believed; its text says why."""


class HrefRefused(Exception):
    """A reference that leads elsewhere than below the folder that was asked for, or may be read in two ways."""


@dataclass(slots=True)
class Response:
    """One resource of an answer. `props` has those with status 200; `known` is True where there are such."""

    href: str = ""
    status: int | None = None
    known: bool = False
    is_folder: bool = False
    props: dict[str, str] = field(default_factory=dict)
    checksums: list[str] = field(default_factory=list)
    users: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)


class MultistatusParser:
    """Fed with bytes, it gives the responses that are whole."""

    def __init__(self) -> None:
        """Of one answer."""
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.StartDoctypeDeclHandler = self._refuse_doctype
        self._names: list[str] = []
        self._pieces: list[str] = []
        self._length = 0
        self._count = 0
        self._done: list[Response] = []
        self._one = Response()
        self._stat = Response()  # of the propstat that is open
        self._sharee: dict[str, str] = {}

    def feed(self, block: bytes) -> list[Response]:
        """Raises BrokenAnswer."""
        return self._parse(block, last=False)

    def close(self) -> list[Response]:
        """The rest. Raises BrokenAnswer: it ends in the middle."""
        return self._parse(b"", last=True)

    def _parse(self, block: bytes, *, last: bool) -> list[Response]:
        try:
            self._parser.Parse(block, last)
        except expat.ExpatError as error:
            raise BrokenAnswer(f"its answer is no whole XML: {expat.ErrorString(error.code)}") from error
        except (LookupError, ValueError) as error:  # a charset that is none, or of several bytes; an endless number
            raise BrokenAnswer("its answer is in no charset, or has numbers, that can be read") from error
        done, self._done = self._done, []
        return done

    def _refuse_doctype(self, *_: object) -> None:
        raise BrokenAnswer("its answer has a document type, which none needs")

    def _start(self, name: str, _: dict[str, str]) -> None:
        if not self._names and name != f"{DAV} multistatus":
            raise BrokenAnswer("its answer is no multistatus")
        self._names.append(name)
        if len(self._names) > MOST_NESTED:
            raise BrokenAnswer("its answer is nested too deep")
        self._pieces, self._length = [], 0
        if name == f"{DAV} response":
            self._one, self._count = Response(), self._count + 1
            if self._count > MOST_ENTRIES:
                raise BrokenAnswer(f"it names more than {MOST_ENTRIES} entries")
        elif name == f"{DAV} propstat":
            self._stat = Response()
        elif name == f"{NC} sharee":
            self._sharee = {}
        elif name == f"{DAV} collection" and self._names[-2] == f"{DAV} resourcetype":
            self._stat.is_folder = True

    def _text(self, text: str) -> None:
        self._length += len(text)
        if self._length > LONGEST_TEXT:
            raise BrokenAnswer("a property of its answer is too long")
        self._pieces.append(text)

    def _end(self, name: str) -> None:
        text, self._pieces = "".join(self._pieces).strip(), []
        self._names.pop()
        parent = self._names[-1] if self._names else ""
        one, stat = self._one, self._stat
        if name == f"{DAV} response":
            self._done.append(one)
        elif name == f"{DAV} propstat":
            if stat.status == 200:
                one.known, one.is_folder, one.props = True, stat.is_folder or one.is_folder, one.props | stat.props
                one.checksums += stat.checksums
                one.users += stat.users
                one.groups += stat.groups
        elif name == f"{DAV} status":
            (one if parent == f"{DAV} response" else stat).status = _code_of(text)
        elif name == f"{DAV} href" and parent == f"{DAV} response":
            one.href = text
        elif name in _PLAIN_NAMES and parent == f"{DAV} prop":
            stat.props[_PLAIN_NAMES[name]] = text
        elif name == f"{OC} checksum":
            stat.checksums += text.split()[:10]
        elif parent == f"{NC} sharee":
            self._sharee[name.partition(" ")[2]] = text
        elif name == f"{NC} sharee":
            self._add_sharee()

    def _add_sharee(self) -> None:
        """Type 0 is a person, 1 a group; links, circles and other servers' people are nobody that is known here."""
        id_ = self._sharee.get("id")
        kinds = {"0": self._stat.users, "1": self._stat.groups}
        found = kinds.get(self._sharee.get("type", ""))
        if id_ and found is not None:
            found.append(id_)
            if len(found) > MOST_SHAREES:
                raise BrokenAnswer("an item is shared with more people than can be told")


def segments_of(path: str) -> tuple[str, ...]:
    """Names of a path of a URL, one decoding deep. A name that is no UTF-8 has surrogates.

    Raises HrefRefused: a name that another reader may take for a way up, two names, or none.
    """
    names = [unquote_to_bytes(one) for one in path.split("/") if one]
    for name in names:
        is_way = name in (b".", b"..") or b"/" in name or b"\\" in name
        if is_way or any(byte < 32 or byte == 127 for byte in name):
            raise HrefRefused(f"a name that is no name: {quote_from_bytes(name)[:100]}")
    return tuple(name.decode("utf-8", "surrogateescape") for name in names)


def path_of_segments(segments: Sequence[str], *, folder: bool = False) -> str:
    """And back."""
    quoted = "/".join(quote_from_bytes(one.encode("utf-8", "surrogateescape"), safe="") for one in segments)
    return f"/{quoted}/" if folder and quoted else f"/{quoted}"


def child_name(href: str, folder: Sequence[str], hosts: frozenset[str]) -> str | None:
    """The name of what a response is about, in the folder that was asked for; None for that itself.

    `hosts`: by which an absolute reference may call the server. Raises HrefRefused.
    """
    try:
        parts = urlsplit(href)
        host = (parts.hostname or "").lower()
    except ValueError as error:
        raise HrefRefused("a reference that is none") from error
    if parts.query or parts.fragment or parts.username is not None or "?" in href or "#" in href:
        raise HrefRefused("a reference that is more than a path")
    if (parts.scheme or parts.netloc) and (parts.scheme not in ("http", "https") or host not in hosts):
        raise HrefRefused("a reference to another host")
    if not parts.netloc and not href.startswith("/"):
        raise HrefRefused("a reference that is no absolute path")
    found, asked = segments_of(parts.path), tuple(folder)
    if found == asked:
        return None
    if found[:-1] != asked:
        raise HrefRefused("a reference to somewhere outside of the folder")
    return found[-1]


def _code_of(text: str) -> int | None:
    words = text.split()
    return int(words[1]) if len(words) > 1 and words[1].isascii() and words[1].isdigit() else None
