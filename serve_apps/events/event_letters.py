"""Letters of a stream of uploaded events: what waits and why, what was given up, and giving that another try."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal

from redis.asyncio import Redis

from cluster.basics.errors import NotFound
from configs.sections_events import EventStreamSettings

DEAD: Final = ":dead"
WAITING: Final = ":waiting"  # a hash of entries by id: since when each waits, and for what
BATCH: Final = 100
TRIMMED: Final = "trimmed before it was taken"
MOST_TEXT: Final = 300  # characters of what others wrote, of each name
NAMES: Final = ("event_id", "job_id", "document_key", "name", "user_id")
MOST_FIELDS: Final = 1_000  # of an entry that is written again; a script cannot pass many more
_ADDED: Final = (b"dead_id", b"dead_why")

# Only while the entry is pending: another consumer may have ended it meanwhile, and with it its note.
_NOTE: Final = """
if #redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[2], ARGV[2], 1) > 0 then
    redis.call('HSET', KEYS[2], ARGV[2], ARGV[3])
end
"""
# A claim ends that an entry is pending which is not in the stream any more. Its letter is written in the same step:
# else nobody knows of it where this process ends in between. A note that cannot be read ends no step half-way.
_CLAIM: Final = """
local claimed = redis.call('XAUTOCLAIM', KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4], 'COUNT', 1)
for _, id in ipairs(claimed[3] or {}) do
    local why, kept = ARGV[5], redis.call('HGET', KEYS[3], id)
    local fits, note = pcall(cjson.decode, kept or '')
    if fits and type(note) == 'table' then why = why .. '; it waited: ' .. tostring(note.why) end
    redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[6], '*', 'dead_id', id, 'dead_why', why)
    redis.call('HDEL', KEYS[3], id)
end
return claimed
"""
# A claim of an entry that is not in the stream any more ends that it is pending, so it is looked for first.
_PUT_BACK: Final = """
if #redis.call('XRANGE', KEYS[1], ARGV[3], ARGV[3]) == 0 then return 0 end
redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[3], 'RETRYCOUNT', ARGV[4], 'JUSTID')
return 1
"""
# Two who retry at once: who finds the letter writes it. It goes last, as a script that fails undoes nothing.
_REVIVE: Final = """
if #redis.call('XRANGE', KEYS[2], ARGV[1], ARGV[1]) == 0 then return 0 end
redis.call('XADD', KEYS[1], '*', unpack(ARGV, 2))
return redis.call('XDEL', KEYS[2], ARGV[1])
"""


@dataclass(frozen=True, slots=True)
class StreamEntry:
    """An entry that this consumer has now; `tries` is how often it was handed out, this time too."""

    id: bytes
    fields: Mapping[bytes, bytes]
    tries: int


@dataclass(frozen=True, slots=True)
class ClaimedEntry:
    """What a search for entries that others had found: one, or none; ids of those that were trimmed; where to go on."""

    entry: StreamEntry | None
    trimmed: Sequence[bytes]
    cursor: bytes


@dataclass(frozen=True, slots=True)
class EventLetter:
    """An event that was not taken: since when it waits or is dead, and why; `said`: some of what it says of itself."""

    id: str
    state: Literal["waiting", "dead"]
    since: datetime
    why: str
    said: Mapping[str, str]


class UploadedEventLetters:
    """Where entries are that could not be taken at once; without a stream there are none."""

    def __init__(self, redis: Redis, settings: EventStreamSettings, clock: Callable[[], float] = time.time) -> None:
        """`clock`: seconds since the epoch."""
        self._redis: Any = redis  # its answers have the types of another client too
        self._settings, self._clock = settings, clock
        self._stream, self._group = settings.stream or "", settings.group

    async def waits_since(self, entry: StreamEntry, cause: str, why: str) -> float:
        """Note that an entry waits, and for what; the moment since which it waits for this."""
        kept = await self._redis.hget(self._stream + WAITING, entry.id.decode())
        known = {} if kept is None else json.loads(kept)
        since = float(known["since"]) if known.get("cause") == cause else self._clock()
        note = json.dumps({"cause": cause, "since": since, "why": why})
        keys = (self._stream, self._stream + WAITING)
        await self._redis.eval(_NOTE, len(keys), *keys, self._group, entry.id.decode(), note)
        return since

    async def end(self, entry: StreamEntry) -> None:
        """It was taken."""
        async with self._redis.pipeline(transaction=True) as together:
            self._end(together, entry)
            await together.execute()

    async def bury(self, entry: StreamEntry, why: str) -> None:
        """To the dead letters, and out of what waits, in one step."""
        fields: dict[Any, Any] = {**entry.fields, b"dead_id": entry.id, b"dead_why": why.encode()}
        async with self._redis.pipeline(transaction=True) as together:
            together.xadd(self._stream + DEAD, fields, maxlen=self._settings.dead_letters, approximate=True)
            self._end(together, entry)
            await together.execute()

    async def claim(self, consumer: str, idle_seconds: float, cursor: bytes) -> ClaimedEntry:
        """The next entry after `cursor` that somebody had for so long; those that were trimmed become dead letters."""
        keys = (self._stream, self._stream + DEAD, self._stream + WAITING)
        search = (self._group, consumer, round(idle_seconds * 1000), cursor)
        found: Any = await self._redis.eval(_CLAIM, len(keys), *keys, *search, TRIMMED, self._settings.dead_letters)
        trimmed = found[2] if len(found) > 2 else []
        for id_, said in found[1] or ():
            fields = dict(zip(said[::2], said[1::2], strict=True)) if said else {}
            pending: Any = await self._redis.xpending_range(self._stream, self._group, id_, id_, 1)
            tries = pending[0]["times_delivered"] if pending else 1
            return ClaimedEntry(StreamEntry(id_, fields, tries), trimmed, found[0])
        return ClaimedEntry(None, trimmed, found[0])

    async def put_back(self, consumer: str, entry: StreamEntry, why: str) -> bool:
        """It waits, and this time does not count as tried; False where it was trimmed, and is a dead letter now."""
        search = (self._group, consumer, entry.id, entry.tries - 1)
        if await self._redis.eval(_PUT_BACK, 1, self._stream, *search):
            return True
        await self.bury(entry, f"{TRIMMED}; it waited: {why}")
        return False

    def _end(self, together: Any, entry: StreamEntry) -> None:
        together.xack(self._stream, self._group, entry.id)
        together.hdel(self._stream + WAITING, entry.id)

    async def counts(self) -> tuple[int, int]:
        """How many wait, and how many are dead."""
        if not self._stream:
            return 0, 0
        waiting = int(await self._redis.hlen(self._stream + WAITING))
        return waiting, int(await self._redis.xlen(self._stream + DEAD))

    async def newest(self, state: Literal["waiting", "dead"], most: int) -> list[EventLetter]:
        """Some of them, the newest first."""
        if not self._stream:
            return []
        if state == "dead":
            found: Any = await self._redis.xrevrange(self._stream + DEAD, count=most)
            return [_dead_letter(id_, fields) for id_, fields in found]
        notes: dict[bytes, bytes] = await self._redis.hgetall(self._stream + WAITING)
        newest = sorted(notes, key=_order, reverse=True)[:most]
        return [await self._waiting_letter(id_, notes[id_]) for id_ in newest]

    async def retry(self, letter: str | None = None) -> int:
        """Send dead letters into the stream again, in their order: one, or all that are there now; how many.

        An event that was taken meanwhile is known by its id, and leads to nothing new. One that was trimmed stays, as
        nothing is left to try. Raises NotFound: there is no such letter.
        """
        if not self._stream:
            return 0
        last: Any = await self._redis.xrevrange(self._stream + DEAD, count=1)
        if letter is not None:
            wanted: Any = await self._redis.xrange(self._stream + DEAD, letter, letter) if _is_id(letter) else []
            if not wanted:
                raise NotFound(f"dead letter {letter}", fix="aos events list --dead shows their ids.")
            return await self._revive(wanted)
        count, since = 0, "-"
        while last:  # what dies again meanwhile comes after the last one
            found: Any = await self._redis.xrange(self._stream + DEAD, since, last[0][0], count=BATCH)
            if not found:
                break
            count += await self._revive(found)
            since = f"({found[-1][0].decode()}"
        return count

    async def _revive(self, letters: list[tuple[bytes, dict[bytes, bytes]]]) -> int:
        count, keys = 0, (self._stream, self._stream + DEAD)
        for id_, fields in letters:
            said = [part for name, value in fields.items() if name not in _ADDED for part in (name, value)]
            if 0 < len(said) <= 2 * MOST_FIELDS:
                count += int(await self._redis.eval(_REVIVE, len(keys), *keys, id_, *said))
        return count

    async def _waiting_letter(self, id_: bytes, note: bytes) -> EventLetter:
        told = json.loads(note)
        found: Any = await self._redis.xrange(self._stream, id_, id_)
        since = datetime.fromtimestamp(float(told["since"]), UTC)
        return EventLetter(id_.decode(), "waiting", since, str(told["why"]), _said(found[0][1] if found else {}))


def _dead_letter(id_: bytes, fields: Mapping[bytes, bytes]) -> EventLetter:
    since = datetime.fromtimestamp(_order(id_)[0] / 1000, UTC)
    why = fields.get(b"dead_why", b"").decode("utf-8", "replace")
    return EventLetter(id_.decode(), "dead", since, why, _said(fields))


def _said(fields: Mapping[bytes, bytes]) -> dict[str, str]:
    """What an event says of itself, as far as it can be read."""
    said: Any = {name.decode("utf-8", "replace"): value.decode("utf-8", "replace") for name, value in fields.items()}
    if "event" in said:
        try:
            said = json.loads(said["event"])
        except (ValueError, RecursionError):
            return {}
    return dict(_some_of(said)) if isinstance(said, dict) else {}


def _some_of(said: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name in NAMES:
        if isinstance(said.get(name), str):
            yield name, said[name][:MOST_TEXT].encode("utf-8", "replace").decode()


def _order(id_: bytes) -> tuple[int, int]:
    moment, _, count = id_.decode().partition("-")
    return int(moment), int(count or 0)


def _is_id(text: str) -> bool:
    moment, _, count = text.partition("-")
    return all(part.isascii() and part.isdigit() and len(part) < 20 for part in (moment, count))
