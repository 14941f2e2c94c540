"""Listing of a mailbox, folder by folder: in batches, counted, and looked at again for what came meanwhile."""

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from imaplib import IMAP4
from typing import Any, Final

from pipelines.documents.sources.imap.imap_connection import ImapClient, MailLine
from pipelines.documents.sources.imap.imap_items import HEADERS, MOST_HEADER, ListedMessage, MailFolder, message_items
from pipelines.documents.sources.source_port import ListingFault, ListingPage, SourceItem

_BATCH: Final = 200  # messages that are asked for together
_BATCH_BYTES: Final = _BATCH * (MOST_HEADER + 512)
_HEADER_ITEM: Final = f"BODY.PEEK[HEADER.FIELDS ({' '.join(HEADERS)})]<0.{MOST_HEADER}>"
_MOST_BROKEN: Final = 100  # messages of a mailbox that the server tells nothing of
_STATES: Final = ("MESSAGES", "UIDNEXT", "UIDVALIDITY")


class FolderUnlisted(Exception):
    """A folder cannot be listed, or what the server says of it does not fit together."""


@dataclass(slots=True)
class _Folder:
    """A folder under way: how far it is listed, and the fingerprints of what is in it."""

    folder: MailFolder
    validity: int
    next_uid: int
    seen: Counter[str]


class MailboxListing:
    """Folders of one listing, over one connection. A folder that cannot be listed is a fault, and the next one goes on;
    a connection that breaks is SourceAway.
    """

    def __init__(self, line: MailLine, since: date | None, *, participants: bool) -> None:
        """`since`: messages that came before it are counted, and are no items."""
        self._line, self._since, self._participants = line, since, participants
        self._listed: list[_Folder] = []
        self._broken = 0

    async def list_folder(self, folder: MailFolder) -> AsyncIterator[ListingPage]:
        """All of a folder, or why it is not all. Raises SourceAway."""
        try:
            one, count = await self._examine(folder)
            found = 0
            for first in range(1, count + 1, _BATCH):
                rows = await self._fetch_batch(range(first, min(first + _BATCH, count + 1)))
                found += len(rows)
                one.next_uid = max([one.next_uid, *(row.uid + 1 for row in rows)])
                yield ListingPage(items=self._items_of(one, rows))
            if found < count and found < count - await self._line.call(_count_expunged):
                raise FolderUnlisted(f"it holds {count} messages, and {found} of them were listed")
            self._listed.append(one)
        except (FolderUnlisted, IMAP4.error) as error:
            yield ListingPage(faults=[ListingFault(folder.place, _why(error))])

    async def list_arrivals(self) -> AsyncIterator[ListingPage]:
        """What was moved meanwhile from a folder that came later into one that was through: by now it is in neither."""
        for one in self._listed:
            async for page in self._arrivals_of(one):
                yield page

    async def _arrivals_of(self, one: _Folder) -> AsyncIterator[ListingPage]:
        """What came into a folder after it was listed: the last messages of it, from the newest on."""
        try:
            state = await self._line.call(lambda client: client.folder_status(one.folder.raw, _STATES))
            if state.get(b"UIDVALIDITY") == one.validity and _number(state, b"UIDNEXT") <= one.next_uid:
                return
            again, last = await self._examine(one.folder)
            if again.validity != one.validity:
                raise FolderUnlisted("it became another folder while it was listed")
            while last > 0:
                rows = await self._fetch_batch(range(max(1, last - _BATCH + 1), last + 1))
                fresh = [row for row in rows if row.uid >= one.next_uid]
                yield ListingPage(items=self._items_of(one, fresh))
                last = last - _BATCH if len(fresh) == len(rows) else 0
        except (FolderUnlisted, IMAP4.error) as error:
            yield ListingPage(faults=[ListingFault(one.folder.place, _why(error))])

    async def _examine(self, folder: MailFolder) -> tuple[_Folder, int]:
        """A folder, opened for reading alone, and how many messages it holds. What is said of it twice has to agree:
        an empty folder that is none would take its documents along. Raises FolderUnlisted, IMAP4.error.
        """
        for _ in range(2):  # a message may be deleted between the two
            self._line.folder = None
            state = await self._line.call(lambda client: client.folder_status(folder.raw, _STATES))
            found = await self._line.call(lambda client: client.select_folder(folder.raw, readonly=True))
            validity, count = _number(found, b"UIDVALIDITY"), _number(found, b"EXISTS")
            self._line.folder = (folder.raw, validity)
            said = _number(state, b"MESSAGES")
            if count >= said and validity == _number(state, b"UIDVALIDITY"):
                next_uid = int(found.get(b"UIDNEXT") or 1)
                return _Folder(folder, validity, next_uid, Counter()), count
        raise FolderUnlisted(f"the server says that it holds {said} messages, and shows {count}")

    async def _fetch_batch(self, numbers: range) -> list[ListedMessage]:
        """What the server tells of messages by their place in the folder, which stays while nothing else is asked.

        Where it cannot tell it of all, each half is asked for, down to the message that is to blame.
        """
        try:
            return await self._line.call(lambda client: self._fetch(client, numbers), _BATCH_BYTES)
        except IMAP4.error:
            if len(numbers) == 1:
                self._broken += 1
                if self._broken > _MOST_BROKEN:
                    raise
                return await self._line.call(lambda client: _fetch_uid(client, numbers[0]))
        middle = numbers.start + len(numbers) // 2
        halves = (range(numbers.start, middle), range(middle, numbers.stop))
        return [row for half in halves for row in await self._fetch_batch(half)]

    def _fetch(self, client: ImapClient, numbers: range) -> list[ListedMessage]:
        client.use_uid = False
        found: dict[int, Mapping[bytes, Any]] = client.fetch(list(numbers), ["UID", "INTERNALDATE", "RFC822.SIZE"])
        wanted = [number for number, row in found.items() if b"UID" in row and self._is_wanted(row)]
        wanted_numbers = frozenset(wanted)
        headers: dict[int, Mapping[bytes, Any]] = client.fetch(wanted, [_HEADER_ITEM]) if wanted else {}
        rows = []
        for number, row in found.items():
            header = value_of(headers.get(number, {}), b"BODY[HEADER")
            is_wanted = number in wanted_numbers
            if b"UID" in row and (header is not None or not is_wanted):  # without one it is gone, or not told
                size, came = _size_of(row), row.get(b"INTERNALDATE")
                rows.append(ListedMessage(int(row[b"UID"]), size, header, came, is_wanted=is_wanted))
        return rows

    def _is_wanted(self, row: Mapping[bytes, Any]) -> bool:
        came = row.get(b"INTERNALDATE")
        if self._since is None or not isinstance(came, datetime):
            return True
        try:
            return came.astimezone(UTC).date() >= self._since
        except (ValueError, OverflowError):  # no time that there is
            return True

    def _items_of(self, one: _Folder, rows: Sequence[ListedMessage]) -> list[SourceItem]:
        wanted = [row for row in rows if row.is_wanted]
        return list(message_items(one.folder, one.validity, wanted, one.seen, participants=self._participants))


def _size_of(row: Mapping[bytes, Any]) -> int | None:
    size = row.get(b"RFC822.SIZE")
    return size if isinstance(size, int) and 0 <= size < 2**63 else None


def _fetch_uid(client: ImapClient, number: int) -> list[ListedMessage]:
    """The least there is to know of a message that the server cannot tell anything else of."""
    client.use_uid = False
    rows = client.fetch([number], ["UID"])
    return [ListedMessage(int(row[b"UID"])) for row in rows.values() if b"UID" in row]


def _count_expunged(client: ImapClient) -> int:
    """How many messages are gone since the folder was opened: said only now, so that numbers stay."""
    _, said = client.noop()
    return sum(1 for one in said if b"EXPUNGE" in one or b"VANISHED" in one)


def value_of(row: Mapping[bytes, Any], name: bytes) -> bytes | None:
    """What a message's row says under a name that begins like this; None if it does not say it."""
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
