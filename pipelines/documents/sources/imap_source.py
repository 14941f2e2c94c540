"""A mailbox as a source, read over IMAP: every message is an item, with what is attached to it."""

import asyncio
import re
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, date, datetime, timedelta
from imaplib import IMAP4
from typing import Any, Final

from pipelines.documents.sources.imap.imap_connection import ImapClient, MailLine, MailServer
from pipelines.documents.sources.imap.imap_folders import MailboxListing, value_of
from pipelines.documents.sources.imap.imap_items import choose_folders, split_id
from pipelines.documents.sources.source_port import (
    ItemGone,
    ListingPage,
    Source,
    SourceAway,
    SourceDependencies,
    SourceInvalid,
    SourceItem,
    SourceKind,
    SourceOpening,
    SourceRefused,
)

_AT_ONCE: Final = 2  # connections: some servers grant a handful to all of a mailbox's programs together
_FOLDERS_BYTES: Final = 1 << 22
_BLOCK: Final = 1 << 22  # of a message
_BLOCK_BYTES: Final = _BLOCK + (1 << 16)
_BLOCK_SECONDS: Final = 180.0
_PORTS: Final = {"tls": 993, "starttls": 143, "none": 143}


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
                line.cut()
                raise SourceAway(f"{self._server.host} does not list its folders") from error
            folders, faults = choose_folders(rows, self._patterns)
            yield ListingPage(faults=faults)
            listing = MailboxListing(line, self._since, participants=self._participants)
            for folder in folders:
                async for page in listing.list_folder(folder):
                    yield page
            async for page in listing.list_arrivals():
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
            if not block and not at and item.size:
                raise SourceRefused(f"{item.path}: the server gives nothing of it")
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
        shown_before = line.folder == folder
        line.last = item.id
        try:
            block = await self._ask_for_block(line, item, folder, uid, start, size)
            if not block and shown_before:  # of a message that has gone since, servers show an empty one
                line.folder = None
                block = await self._ask_for_block(line, item, folder, uid, start, size)
        except IMAP4.error as error:
            raise SourceRefused(f"{item.path}: the server does not give it") from error
        if block is None:
            raise ItemGone(item.path)
        return block

    async def _ask_for_block(
        self, line: MailLine, item: SourceItem, folder: tuple[bytes, int], uid: int, start: int, size: int
    ) -> bytes | None:
        if line.folder != folder:
            line.folder = None
            found = await line.call(lambda client: client.select_folder(folder[0], readonly=True))
            if found.get(b"UIDVALIDITY") != folder[1]:
                raise ItemGone(f"{item.path}: its folder is another one by now")
            line.folder = folder
        return await line.call(lambda client: _fetch_block(client, uid, start, size), _BLOCK_BYTES, _BLOCK_SECONDS)


def _fetch_block(client: ImapClient, uid: int, start: int, size: int) -> bytes | None:
    """Part of a message; None if it is not there."""
    client.use_uid = True
    rows = client.fetch([uid], [f"BODY.PEEK[]<{start}.{size}>"])
    if uid not in rows:
        return None
    block = value_of(rows[uid], f"BODY[]<{start}>".encode())
    if block is None or len(block) > size:
        raise IMAP4.abort("it gives another part of a message than was asked for")
    return block


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


async def _server_of(opening: SourceOpening, dependencies: SourceDependencies) -> MailServer:
    settings = opening.settings
    host, port = str(settings["host"]).strip(), str(settings.get("port") or "")
    if not re.fullmatch(r"[\w.:-]{1,253}", host, re.ASCII) or not re.fullmatch(r"|\d{1,5}", port, re.ASCII):
        raise SourceInvalid("host is a name or an address alone, and port a number", fix="host=mail.corp.example")
    security = _one_of(settings, "security", *_PORTS) or ("starttls" if port == "143" else "tls")
    number = int(port or _PORTS[security])
    if not 0 < number < 65_536:
        raise SourceInvalid("there is no such port")
    context = None if security == "none" else await asyncio.to_thread(_context_of, settings.get("ca"))
    address = await dependencies.check_host(host, number)
    server = MailServer(host, number, address, context, security == "starttls", opening.secret)
    server.check()
    return server


async def _open_imap(opening: SourceOpening, dependencies: SourceDependencies) -> Source:
    settings = opening.settings
    participants = _one_of(settings, "participants", "yes", "no") == "yes"
    patterns = [one for part in str(settings.get("folders") or "").split(",") if (one := part.strip())]
    since = _since_of(settings.get("since"))
    source = ImapSource(await _server_of(opening, dependencies), patterns, since, participants=participants)
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
        "folders": "With commas between; `*` and `?` stand for others, `!` before one leaves it out. All but trash, "
        "spam, drafts and views such as All Mail where none is named.",
        "since": "Only messages that came in the last so many days, or since a date: 365, or 2025-01-31.",
        "participants": "yes: who a message is from, to or copied to may see it, and nobody else.",
        "ca": "The certificate of the server's CA, as PEM, where it is none that everybody trusts.",
    },
    open=_open_imap,
    takes_credential=True,
    rights_setting="participants",
)
