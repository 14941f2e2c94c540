"""Messages of a mailbox as items, and the choice of folders that are read. Pure: it asks no server."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.errors import MessageError
from email.header import decode_header
from email.message import Message
from email.parser import BytesHeaderParser
from email.utils import getaddresses, parsedate_to_datetime
from fnmatch import fnmatchcase
from typing import Any, Final
from urllib.parse import quote_from_bytes, unquote_to_bytes

from imapclient.imap_utf7 import decode as decode_utf7

from pipelines.documents.sources.source_port import ItemRights, ListingFault, SourceItem, SourceRefused

HEADERS: Final = ("MESSAGE-ID", "DATE", "SUBJECT", "FROM", "TO", "CC")
MOST_HEADER: Final = 32_768  # bytes of these headers that are asked for
_VERSION: Final = "1"  # the bytes of a message never change (RFC 3501, 2.3.1.1), and flags are none of them
_LONGEST_SUBJECT: Final = 80
_LONGEST_PART: Final = 100  # of a folder's name, between two delimiters
_LONGEST_NAME: Final = 1000  # bytes of a whole one
_MOST_PEOPLE: Final = 1000
_UNREAD: Final = frozenset({b"\\TRASH", b"\\JUNK", b"\\DRAFTS"})
# Views of what other folders hold (RFC 6154, RFC 8457): each message would be there twice.
_VIEWS: Final = frozenset({b"\\ALL", b"\\FLAGGED", b"\\IMPORTANT"})
_CLOSED: Final = frozenset({b"\\NOSELECT", b"\\NONEXISTENT"})
# As they are mostly called where the server does not say what folders are for.
_UNREAD_NAMES: Final = frozenset(
    {"trash", "deleted items", "deleted messages", "junk", "junk e-mail", "spam", "drafts", "bin"}
)
_ADDRESS: Final = re.compile(r"[^\s@<>\"(),:;\\]+@[^\s@<>\"(),:;\\]+")


@dataclass(frozen=True, slots=True)
class MailFolder:
    """A folder: its name as the server wrote it, and as people read it, with `/` between parts."""

    raw: bytes
    name: str

    @property
    def place(self) -> str:
        """Its name as the beginning of paths."""
        return "/".join(_safe_name(part, _LONGEST_PART) or "_" for part in self.name.split("/"))


@dataclass(frozen=True, slots=True)
class ListedMessage:
    """What a server tells of one message; `header` are some of its header lines, None where it could not tell."""

    uid: int
    size: int | None = None
    header: bytes | None = None
    received: datetime | None = None
    is_wanted: bool = True  # it counts, and is no item, where it came too early


def choose_folders(
    rows: Iterable[tuple[Any, Any, Any]], patterns: Sequence[str]
) -> tuple[list[MailFolder], list[ListingFault]]:
    """Folders to read, by name, and those that should be read and cannot.

    Args:
        rows: attributes, delimiter and name of each, as imapclient gives them.
        patterns: with `*` and `?`; a `!` before one leaves out what it fits. None at all: whatever is no trash, spam,
            draft or view.

    Raises SourceRefused: patterns fit nothing.
    """
    open_: dict[str, tuple[MailFolder, frozenset[bytes]]] = {}
    faults: list[ListingFault] = []
    for attributes, delimiter, name in rows:
        raw = name if isinstance(name, bytes) else str(name).encode()
        told = attributes if isinstance(attributes, tuple) else ()
        shown, known = _folder_name(raw, delimiter), frozenset(one.upper() for one in told if isinstance(one, bytes))
        if len(raw) > _LONGEST_NAME or re.search(rb"[\x00-\x1f\x7f]", raw):
            faults.append(ListingFault(_safe_name(shown, _LONGEST_PART), "this name of a folder cannot be asked for"))
        elif not known & _CLOSED:
            open_[shown] = (MailFolder(raw, shown), known)
    wanted = [one for one in patterns if not one.startswith("!")]
    unwanted = [one[1:] for one in patterns if one.startswith("!")]
    left_out = set() if wanted else _usually_left_out(open_)
    chosen = [
        folder
        for name, (folder, _) in sorted(open_.items())
        if name not in left_out and (not wanted or _fits_any(name, wanted)) and not _fits_any(name, unwanted)
    ]
    missing = [one for one in wanted if not any(fits(name, one) for name in open_)]
    if not chosen and not faults:
        raise SourceRefused("no folder of the mailbox is to be read", fix=f"It has: {', '.join(sorted(open_))[:300]}.")
    faults += [ListingFault(one, "there is no such folder") for one in missing]
    return chosen, faults


def fits(name: str, pattern: str) -> bool:
    """True if a folder's name is one of a pattern's; INBOX is it in any case (RFC 3501, 5.1)."""
    if pattern.upper() == "INBOX":
        return name.upper() == "INBOX"
    return fnmatchcase(name, pattern.replace("[", "[[]"))


def _fits_any(name: str, patterns: Iterable[str]) -> bool:
    return any(fits(name, one) for one in patterns)


def _usually_left_out(folders: dict[str, tuple[MailFolder, frozenset[bytes]]]) -> set[str]:
    """With what lies below them: folders that are deleted are mostly moved into the trash."""
    told = any(known & (_UNREAD | _VIEWS) for _, known in folders.values())
    tops = {
        name
        for name, (_, known) in folders.items()
        if known & (_UNREAD | _VIEWS) or (not told and name.rpartition("/")[2].lower() in _UNREAD_NAMES)
    }
    below = tuple(f"{name}/" for name in tops)
    return tops | {name for name in folders if name.startswith(below)}


def _folder_name(raw: bytes, delimiter: Any) -> str:
    """As people read it. Modified UTF-7 (RFC 3501, 5.1.3), or UTF-8 where a server writes that; else byte by byte."""
    try:
        text = raw.decode() if any(one > 127 for one in raw) else decode_utf7(raw)
    except (UnicodeError, ValueError):
        text = raw.decode("latin-1")
    mark = delimiter.decode("latin-1") if isinstance(delimiter, bytes) else ""
    if mark and mark != "/":
        text = text.replace("/", "_").replace(mark, "/")
    return text


def item_id(folder: MailFolder, validity: int, uid: int) -> str:
    """UIDs are unique in a folder for as long as its UIDVALIDITY is the same."""
    return f"{validity}:{uid}:{quote_from_bytes(folder.raw, safe='/ &,')}"


def split_id(id_: str) -> tuple[bytes, int, int]:
    """The folder's name, its UIDVALIDITY and the UID. Raises ValueError."""
    validity, uid, folder = id_.split(":", 2)
    return unquote_to_bytes(folder), int(validity), int(uid)


def message_items(
    folder: MailFolder, validity: int, messages: Iterable[ListedMessage], seen: Counter[str], *, participants: bool
) -> Iterator[SourceItem]:
    """Messages as items. `seen` counts fingerprints of the folder: of copies in it each has its own, in order."""
    for one in messages:
        header = _parse_header(one.header)
        mark = _fingerprint_of(header, one.size)
        if mark is not None:
            seen[mark] += 1
            if (copies := seen[mark] - 1) > 0:
                mark = f"{mark}-{copies}"
        path = f"{folder.place}/{_file_name(header, one)}"
        rights = ItemRights(_people_of(header)) if participants else None
        yield SourceItem(item_id(folder, validity, one.uid), _VERSION, path, one.size, mark, rights)


def _parse_header(raw: bytes | None) -> Message:
    if raw is not None and len(raw) >= MOST_HEADER:  # cut: of a list of addresses the last one may be half of another
        raw = raw[: max(raw.rfind(b","), raw.rfind(b"\n"), 0)]
    return BytesHeaderParser().parsebytes(raw or b"")


def _fingerprint_of(header: Message, size: int | None) -> str | None:
    """The same for the message in another folder; None for one that says too little of itself."""
    values = [_raw_value(header, name) for name in HEADERS]
    if not values[0] and not (values[1] and values[3]):
        return None
    whole = "\0".join(["mail", str(size), *values])
    return hashlib.sha256(whole.encode("utf-8", "surrogateescape")).hexdigest()[:40]


def _raw_value(header: Message, name: str) -> str:
    for field, value in header.raw_items():
        if field.upper() == name:
            return " ".join(str(value).split())
    return ""


def _file_name(header: Message, one: ListedMessage) -> str:
    """Its subject, shortened, with when it was sent, or came."""
    subject = _safe_name(_decoded(_raw_value(header, "SUBJECT")), _LONGEST_SUBJECT)
    when = _sent_at(header) or one.received
    parts = [subject or ("message" if when else f"message {one.uid}"), f"{when:%Y-%m-%d %H%M}" if when else ""]
    return f"{' '.join(part for part in parts if part)}.eml"


def _sent_at(header: Message) -> datetime | None:
    try:
        return parsedate_to_datetime(_raw_value(header, "DATE"))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _decoded(value: str) -> str:
    """Encoded words (RFC 2047) in any charset, and raw bytes."""
    value = value[: _LONGEST_SUBJECT * 40]
    try:
        pieces = decode_header(value)
    except (MessageError, ValueError, LookupError):
        pieces = [(value, None)]
    return "".join(_text_of(piece, charset) for piece, charset in pieces)


def _text_of(piece: bytes | str, charset: str | None) -> str:
    raw = piece if isinstance(piece, bytes) else piece.encode("utf-8", "surrogateescape")
    for name in (charset, "utf-8"):
        if name and name != "unknown-8bit":
            try:
                return raw.decode(name)
            except (LookupError, ValueError):
                continue
    return raw.decode("cp1252", "replace")


def _people_of(header: Message) -> tuple[str, ...]:
    found: list[str] = []
    for name in ("FROM", "TO", "CC"):
        try:
            found += [address.lower() for _, address in getaddresses([_raw_value(header, name)])]
        except (ValueError, IndexError, RecursionError):  # who cannot be read is nobody
            continue
    return tuple(dict.fromkeys(one for one in found if _ADDRESS.fullmatch(one)))[:_MOST_PEOPLE]


def _safe_name(text: str, longest: int) -> str:
    """Printable, on one line, nothing that a file system or a reader of paths takes for something else."""
    kept = "".join(one if one.isprintable() and one not in '\\/:*?"<>|' else " " for one in text)
    return " ".join(kept.split())[:longest].strip(" .")
