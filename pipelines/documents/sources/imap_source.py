"""A mailbox as a source, read over IMAP: every message is an item, with what is attached to it."""

import asyncio
import re
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from imaplib import IMAP4
from typing import Any, Final

from pipelines.documents.sources.imap_connection import ImapClient, MailLine, MailServer
from pipelines.documents.sources.imap_listing import (
    HEADERS,
    MOST_HEADER,
    ListedMessage,
    MailFolder,
    choose_folders,
    message_items,
    split_id,
)
from pipelines.documents.sources.source_port import (
    ItemGone,
    ListingFault,
    ListingPage,
    Source,
    SourceAway,
    SourceGround,
    SourceInvalid,
    SourceItem,
    SourceKind,
    SourceOpening,
    SourceRefused,
)

_AT_ONCE: Final = 4  # connections to one server
_BATCH: Final = 200  # messages that are asked for together
_BATCH_BYTES: Final = _BATCH * (MOST_HEADER + 512)
_FOLDERS_BYTES: Final = 1 << 24
_BLOCK: Final = 1 << 22  # of a message
_BLOCK_BYTES: Final = _BLOCK + (1 << 16)
_BLOCK_SECONDS: Final = 180.0
_HEADER_ITEM: Final = f"BODY.PEEK[HEADER.FIELDS ({' '.join(HEADERS)})]<0.{MOST_HEADER}>"
_STATES: Final = ("MESSAGES", "UIDNEXT", "UIDVALIDITY")
_PORTS: Final = {"tls": 993, "starttls": 143, "none": 143}


class FolderUnlisted(Exception):
    """A folder cannot be listed, or what the server says of it does not fit together."""


@dataclass(slots=True)
class _Folder:
    """A folder under way: how far it is listed, and the fingerprints of what is in it."""

    folder: MailFolder
    validity: int
    next_uid: int
    seen: Counter[str]


class ImapSource:
    """Ids are a folder's UIDs; a message that was moved has the same headers and size. Nothing is ever marked as read:
    folders are examined, not selected.
    """

    def __init__(self, server: MailServer, patterns: Sequence[str], since: date | None, *, participants: bool) -> None:
        """`patterns` of folders, see `choose_folders`; `since`: messages that came before it are not there."""
        self._server, self._patterns, self._since = server, patterns, since
        self._participants = participants
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._idle: list[MailLine] = []
        self._lines: set[MailLine] = set()
        self._closed = False

    async def look(self) -> None:
        """Sign in. Raises SourceRefused, SourceAway."""
        async with self._line() as line:
            await line.connect()

    async def list_changes(self, cursor: str | None) -> AsyncIterator[ListingPage]:
        """Always everything: IMAP's own lists of changes (RFC 7162) do not say where a message went."""
        async with self._line() as line:
            try:
                rows = await line.call(lambda client: client.every_folder(), _FOLDERS_BYTES)
            except IMAP4.error as error:
                raise SourceAway(f"{self._server.host} does not list its folders") from error
            folders, faults = choose_folders(rows, self._patterns)
            yield ListingPage(faults=faults)
            listed: list[_Folder] = []
            for folder in folders:
                async for page in self._list_folder(line, folder, listed):
                    yield page
            # What was moved meanwhile from a folder that came later into one that was through is in neither by now.
            for one in listed:
                async for page in self._list_arrivals(line, one):
                    yield page

    async def read(self, item: SourceItem, start: int = 0, length: int | None = None) -> AsyncIterator[bytes]:
        """See `Source`. In parts, and no connection is held between them."""
        try:
            folder, validity, uid = split_id(item.id)
        except ValueError as error:
            raise ItemGone(f"{item.path}: this id is none of a message") from error
        at, end = start, None if length is None else start + length
        while end is None or at < end:
            wanted = _BLOCK if end is None else min(_BLOCK, end - at)
            block = await self._read_block(item, (folder, validity), uid, at, wanted)
            if block:
                yield block
            at += len(block)
            # Some servers count a message's size differently from what they send: only an empty part is its end.
            if not block or at == item.size:
                return

    def local_path(self, item: SourceItem) -> None:
        """None: its bytes are fetched."""

    async def close(self) -> None:
        """Hang up."""
        self._closed = True
        idle, self._idle = self._idle, []
        await asyncio.gather(*(line.close() for line in idle))
        for line in self._lines.difference(idle):
            line.cut()
        self._lines.clear()

    @asynccontextmanager
    async def _line(self, of: str | None = None, *, new: bool = False) -> AsyncIterator[MailLine]:
        """A connection, best the one that was last used for the same item; one that broke is not used again."""
        async with self._places:
            if self._closed:
                raise SourceAway(f"{self._server.host}: the source is closed")
            idle = [] if new else self._idle
            line = next((one for one in idle if one.last == of), idle[-1] if idle else MailLine(self._server))
            if line in idle:
                idle.remove(line)
            self._lines.add(line)
            try:
                yield line
            finally:
                if line.is_cut or self._closed:
                    line.cut()
                    self._lines.discard(line)
                else:
                    self._idle.append(line)

    async def _read_block(self, item: SourceItem, folder: tuple[bytes, int], uid: int, start: int, size: int) -> bytes:
        """Once more over a new connection, where it was one that servers may have closed because nobody used it."""
        async with self._line(item.id) as line:
            fresh = line.is_new
            try:
                return await self._read_over(line, item, folder, uid, start, size)
            except SourceAway:
                if fresh:
                    raise
        async with self._line(new=True) as line:
            return await self._read_over(line, item, folder, uid, start, size)

    async def _read_over(
        self, line: MailLine, item: SourceItem, folder: tuple[bytes, int], uid: int, start: int, size: int
    ) -> bytes:
        try:
            if line.folder != folder:
                line.folder = None
                found = await line.call(lambda client: client.select_folder(folder[0], readonly=True))
                if found.get(b"UIDVALIDITY") != folder[1]:
                    raise ItemGone(f"{item.path}: its folder is another one by now")
                line.folder = folder
            line.last = item.id
            block = await line.call(lambda client: _fetch_block(client, uid, start, size), _BLOCK_BYTES, _BLOCK_SECONDS)
        except IMAP4.error as error:
            raise SourceRefused(f"{item.path}: the server does not give it") from error
        if block is None:
            line.folder = None  # what it shows may be old
            raise ItemGone(item.path)
        return block

    async def _list_folder(
        self, line: MailLine, folder: MailFolder, listed: list[_Folder]
    ) -> AsyncIterator[ListingPage]:
        try:
            one, count = await self._examine(line, folder)
            found = 0
            for first in range(1, count + 1, _BATCH):
                rows = await self._fetch_batch(line, range(first, min(first + _BATCH, count + 1)))
                found += len(rows)
                one.next_uid = max([one.next_uid, *(row.uid + 1 for row in rows)])
                yield ListingPage(items=self._items_of(one, rows))
            if found < count and found < count - await line.call(_count_expunged):
                raise FolderUnlisted(f"it holds {count} messages, and {found} of them were listed")
            listed.append(one)
        except (FolderUnlisted, IMAP4.error) as error:
            yield ListingPage(faults=[ListingFault(folder.place, _why(error))])

    async def _list_arrivals(self, line: MailLine, one: _Folder) -> AsyncIterator[ListingPage]:
        """What came into a folder after it was listed: the last messages of it, from the newest on."""
        try:
            state = await line.call(lambda client: client.folder_status(one.folder.raw, _STATES))
            if state.get(b"UIDVALIDITY") == one.validity and _number(state, b"UIDNEXT") <= one.next_uid:
                return
            again, last = await self._examine(line, one.folder)
            if again.validity != one.validity:
                raise FolderUnlisted("it became another folder while it was listed")
            while last > 0:
                rows = await self._fetch_batch(line, range(max(1, last - _BATCH + 1), last + 1))
                fresh = [row for row in rows if row.uid >= one.next_uid]
                yield ListingPage(items=self._items_of(one, fresh))
                last = last - _BATCH if len(fresh) == len(rows) else 0
        except (FolderUnlisted, IMAP4.error) as error:
            yield ListingPage(faults=[ListingFault(one.folder.place, _why(error))])

    async def _examine(self, line: MailLine, folder: MailFolder) -> tuple[_Folder, int]:
        """A folder, opened for reading alone, and how many messages it holds. What is said of it twice has to agree:
        an empty folder that is none would take its documents along. Raises FolderUnlisted, IMAP4.error.
        """
        for _ in range(2):  # a message may be deleted between the two
            line.folder = None
            state = await line.call(lambda client: client.folder_status(folder.raw, _STATES))
            found = await line.call(lambda client: client.select_folder(folder.raw, readonly=True))
            validity, count = _number(found, b"UIDVALIDITY"), _number(found, b"EXISTS")
            line.folder = (folder.raw, validity)
            said = _number(state, b"MESSAGES")
            if count >= said and validity == _number(state, b"UIDVALIDITY"):
                next_uid = int(found.get(b"UIDNEXT") or 1)
                return _Folder(folder, validity, next_uid, Counter()), count
        raise FolderUnlisted(f"the server says that it holds {said} messages, and shows {count}")

    async def _fetch_batch(self, line: MailLine, numbers: range) -> list[ListedMessage]:
        """What the server tells of messages by their place in the folder, which stays while nothing else is asked.

        Where it cannot tell it of all, each half is asked for, down to the message that is to blame.
        """
        try:
            return await line.call(lambda client: self._fetch(client, numbers), _BATCH_BYTES)
        except IMAP4.error:
            if len(numbers) == 1:
                return await line.call(lambda client: _fetch_uid(client, numbers[0]))
        middle = numbers.start + len(numbers) // 2
        halves = (range(numbers.start, middle), range(middle, numbers.stop))
        return [row for half in halves for row in await self._fetch_batch(line, half)]

    def _fetch(self, client: ImapClient, numbers: range) -> list[ListedMessage]:
        client.use_uid = False
        found: dict[int, Mapping[bytes, Any]] = client.fetch(list(numbers), ["UID", "INTERNALDATE", "RFC822.SIZE"])
        wanted = [number for number, row in found.items() if b"UID" in row and self._is_wanted(row)]
        wanted_numbers = frozenset(wanted)
        headers: dict[int, Mapping[bytes, Any]] = client.fetch(wanted, [_HEADER_ITEM]) if wanted else {}
        rows = []
        for number, row in found.items():
            header = _value_of(headers.get(number, {}), b"BODY[HEADER")
            is_wanted = number in wanted_numbers
            if b"UID" in row and (header is not None or not is_wanted):  # without one it is gone, or not told
                size, came = row.get(b"RFC822.SIZE"), row.get(b"INTERNALDATE")
                rows.append(ListedMessage(int(row[b"UID"]), size, header, came, is_wanted=is_wanted))
        return rows

    def _is_wanted(self, row: Mapping[bytes, Any]) -> bool:
        came = row.get(b"INTERNALDATE")
        return self._since is None or not isinstance(came, datetime) or came.astimezone(UTC).date() >= self._since

    def _items_of(self, one: _Folder, rows: Sequence[ListedMessage]) -> list[SourceItem]:
        wanted = [row for row in rows if row.is_wanted]
        return list(message_items(one.folder, one.validity, wanted, one.seen, participants=self._participants))


def _fetch_block(client: ImapClient, uid: int, start: int, size: int) -> bytes | None:
    """Part of a message; None if it is not there."""
    client.use_uid = True
    rows = client.fetch([uid], [f"BODY.PEEK[]<{start}.{size}>"])
    if uid not in rows:
        return None
    block = _value_of(rows[uid], b"BODY[]")
    if block is None or len(block) > size:
        raise IMAP4.abort("it gives another part of a message than was asked for")
    return block


def _fetch_uid(client: ImapClient, number: int) -> list[ListedMessage]:
    """The least there is to know of a message that the server cannot tell anything else of."""
    client.use_uid = False
    rows = client.fetch([number], ["UID"])
    return [ListedMessage(int(row[b"UID"])) for row in rows.values() if b"UID" in row]


def _count_expunged(client: ImapClient) -> int:
    """How many messages are gone since the folder was opened: said only now, so that numbers stay."""
    _, said = client.noop()
    return sum(1 for one in said if b"EXPUNGE" in one or b"VANISHED" in one)


def _value_of(row: Mapping[bytes, Any], name: bytes) -> bytes | None:
    for key, value in row.items():
        if key.startswith(name):
            return b"" if value is None else value if isinstance(value, bytes) else str(value).encode()
    return None


def _number(answer: Mapping[bytes, Any], name: bytes) -> int:
    value = answer.get(name)
    if not isinstance(value, int):
        raise FolderUnlisted(f"the server does not say its {name.decode()}")
    return value


def _why(error: Exception) -> str:
    return str(error) if isinstance(error, FolderUnlisted) else f"the server does not open it: {_plain(error)}"


def _plain(error: Exception) -> str:
    return "".join(one if one.isprintable() else " " for one in str(error)[:200])


def _since_of(text: str | None) -> date | None:
    """Days back from today, or a date. Raises SourceInvalid."""
    if not text:
        return None
    try:
        if re.fullmatch(r"\d{1,5}", text):
            return datetime.now(UTC).date() - timedelta(days=int(text))
        return date.fromisoformat(text)
    except (ValueError, OverflowError) as error:
        raise SourceInvalid(f"since is neither days nor a date: {text}", fix="Write 365 or 2025-01-31.") from error


def _one_of(settings: Mapping[str, Any], name: str, *allowed: str) -> str | None:
    value = settings.get(name)
    if value is not None and value not in allowed:
        raise SourceInvalid(f"{name} is none of {', '.join(allowed)}: {value}")
    return value


def _context_of(ca: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cadata=ca or None)
    except (ssl.SSLError, ValueError) as error:
        raise SourceInvalid("ca is no certificate in PEM") from error


async def _server_of(opening: SourceOpening, ground: SourceGround) -> MailServer:
    settings = opening.settings
    host, port = str(settings["host"]).strip(), str(settings.get("port") or "")
    if not re.fullmatch(r"[\w.:-]{1,253}", host, re.ASCII) or not re.fullmatch(r"|\d{1,5}", port, re.ASCII):
        raise SourceInvalid("host is a name or an address alone, and port a number", fix="host=mail.corp.example")
    security = _one_of(settings, "security", *_PORTS) or ("starttls" if port == "143" else "tls")
    number = int(port or _PORTS[security])
    if not 0 < number < 65_536:
        raise SourceInvalid("there is no such port")
    context = None if security == "none" else await asyncio.to_thread(_context_of, settings.get("ca"))
    address = await ground.check_host(host, number)
    server = MailServer(host, number, address, context, security == "starttls", opening.secret)
    server.check()
    return server


async def _open_imap(opening: SourceOpening, ground: SourceGround) -> Source:
    settings = opening.settings
    participants = _one_of(settings, "participants", "yes", "no") == "yes"
    patterns = [one for part in str(settings.get("folders") or "").split(",") if (one := part.strip())]
    since = _since_of(settings.get("since"))
    source = ImapSource(await _server_of(opening, ground), patterns, since, participants=participants)
    try:
        with suppress(SourceAway):  # whoever lists or reads asks it again, and counts that
            await source.look()
    except SourceRefused:
        await source.close()
        raise
    return source


KIND: Final = SourceKind(
    name="imap",
    title="Mailbox (IMAP)",
    settings={
        "host*": "The server.",
        "port": "993 for TLS, or 143; the one of `security` where none is named.",
        "security": "tls, starttls, or none on this machine alone; by the port where it is not named.",
        "folders": "With commas between them; `*` and `?` stand for others, `!` before one leaves it out. All but trash, "
        "spam, drafts and views such as All Mail where none is named.",
        "since": "Only messages that came in the last so many days, or since a date: 365, or 2025-01-31.",
        "participants": "yes: who a message is from, to or copied to may see it, and nobody else.",
        "ca": "The certificate of the server's CA, as PEM, where it is none that everybody trusts.",
    },
    open=_open_imap,
    takes_credential=True,
    rights_setting="participants",
)
