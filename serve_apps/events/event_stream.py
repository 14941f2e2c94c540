"""The consumer of a Redis stream of uploaded events: one at a time, again after a crash, then a dead letter."""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import psycopg
from redis.asyncio import Redis
from redis.exceptions import RedisError, ResponseError

from cluster.basics.errors import AosError, Forbidden, NotFound, Transient, Unavailable
from cluster.basics.ids import as_uuid
from cluster.basics.scope import UserId, WorkspaceId
from cluster.state.identity.identity import IdentityStore, WorkspaceMember, least_role
from configs.sections_events import EventStreamSettings
from pipelines.documents.store.page_quota import OverQuota
from serve_apps.events.event_letters import StreamEntry, UploadedEventLetters
from serve_apps.events.uploaded_event import DocumentUploaded, parse_fields
from serve_apps.events.uploaded_intake import UploadedEventIntake

_log = logging.getLogger("aos.events")
_AWAY = (RedisError, OSError, TimeoutError)
_START: Final = b"0-0"
SCANS: Final = 100  # of ten pending entries each, before somebody looks for new ones
QUOTA_SECONDS: Final = 24 * 3600.0  # an event waits so long for room before its attempts are counted


class UploadedEventStream:
    """Runs in every replica of the gateway, as consumers of one group: each entry is handed to one of them."""

    def __init__(
        self,
        redis: Redis,
        intake: UploadedEventIntake,
        identity: IdentityStore,
        settings: EventStreamSettings,
        *,
        consumer: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`consumer` is the name within the group; `clock`: seconds since the epoch. Nothing runs before `open`."""
        self._redis, self._intake, self._identity, self._settings = redis, intake, identity, settings
        self._consumer, self._clock, self._stop = consumer, clock, asyncio.Event()
        self.letters = UploadedEventLetters(redis, settings, clock)
        self._grouped = False
        self._cursor, self._new_first = _START, False
        self._running: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Begin to read, if there is a stream."""
        if self._settings.stream is not None:
            self._running = asyncio.create_task(self.run())

    async def close(self) -> None:
        """End; an event that is being taken is waited for."""
        self._stop.set()
        if self._running is not None:
            await asyncio.wait({self._running})

    def check(self) -> None:
        """Raises Unavailable where nobody reads any more in this process, with the reason."""
        if self._running is not None and self._running.done() and not self._stop.is_set():
            raise Unavailable(f"uploaded events are not read: {self._running.exception()!r}")

    async def run(self) -> None:
        """Read until told to stop."""
        while not self._stop.is_set():
            try:
                worked = await self.step()
            except _AWAY as error:  # also where Redis has lost the stream, and the group with it
                self._grouped, worked = False, False
                _log.warning("uploaded events wait: %s: %s", type(error).__name__, error)
            if not worked:
                await self._rest()

    async def step(self) -> bool:
        """Take the next entry; False where there is none, or it has to wait."""
        if not self._grouped:
            await self._make_group()
        entry = await self._next_entry()
        if entry is None:
            return False
        if entry.tries > self._settings.attempts:
            await self._bury(entry, "whoever took it ended before it was done")
            return True
        try:
            event = parse_fields(entry.fields)
            taken = await self._intake.take(await self._member_of(event), event)
        except OverQuota as error:
            return await self._wait_for_room(entry, error)
        except Transient as error:
            await self._put_off(entry, error)
            return False
        except NotFound as error:  # the file may come a moment later than its event
            await self._note_or_bury(entry, error)
            return True
        except AosError as error:
            await self._bury(entry, _why(error))
            return True
        except psycopg.Error:  # no part of ours has a name for it: one entry must not end whoever reads the next
            _log.exception("event %s cannot be taken", entry.id.decode())
            if entry.tries >= self._settings.attempts:
                await self._bury(entry, "it cannot be stored; the log of the gateway says why")
            return True
        await self.letters.end(entry)
        _log.info("event %s: document %s, %s", taken.event, taken.document, taken.status)
        return True

    async def workspace(self) -> WorkspaceId | None:
        """Where the stream's documents go; None where there is no stream, or its account is no member there."""
        member = None if self._settings.stream is None else await self._account()
        return None if member is None else member.workspace

    async def _put_off(self, entry: StreamEntry, error: AosError) -> None:
        """Something is away, full or used up: the event is not at fault, and not counted."""
        _log.warning("event %s waits: %s", entry.id.decode(), error)
        if await self.letters.put_back(self._consumer, entry, _why(error)):
            await self.letters.waits_since(entry, error.code, _why(error))

    async def _wait_for_room(self, entry: StreamEntry, error: OverQuota) -> bool:
        """Somebody may delete documents or raise the quota; after a day of waiting its attempts are counted."""
        since = await self.letters.waits_since(entry, "over_quota", _why(error))
        if self._clock() - since > QUOTA_SECONDS:
            await self._note_or_bury(entry, error, "over_quota")
            return True
        _log.warning("event %s waits for room: %s", entry.id.decode(), error)
        await self.letters.put_back(self._consumer, entry, _why(error))
        return False

    async def _note_or_bury(self, entry: StreamEntry, error: AosError, cause: str | None = None) -> None:
        """It is tried again later, or was tried often enough."""
        if entry.tries >= self._settings.attempts:
            await self._bury(entry, _why(error))
        else:
            await self.letters.waits_since(entry, cause or error.code, _why(error))

    @property
    def _names(self) -> tuple[str, str]:
        return self._settings.stream or "", self._settings.group

    async def _make_group(self) -> None:
        """From the stream's beginning: what was written before this program ran is read as well."""
        try:
            await self._redis.xgroup_create(*self._names, id="0", mkstream=True)
        except ResponseError as error:
            if "BUSYGROUP" not in str(error):
                raise
        self._grouped = True

    async def _next_entry(self) -> StreamEntry | None:
        """One that somebody had for too long, or was put off, and a new one by turns: neither holds up the other."""
        self._new_first = not self._new_first
        if self._new_first:
            return await self._new_entry() or await self._claimed_entry()
        return await self._claimed_entry() or await self._new_entry()

    async def _claimed_entry(self) -> StreamEntry | None:
        """The next one from where the last search ended: what waits again and again is not the only one to be tried."""
        for _ in range(SCANS):
            found = await self.letters.claim(self._consumer, self._settings.retry_seconds, self._cursor)
            self._cursor = found.cursor
            for id_ in found.trimmed:
                _log.warning("event %s is a dead letter: it was trimmed before it was taken", id_.decode())
            if found.entry is not None:
                return found.entry
            if self._cursor == _START:
                break
        return None

    async def _new_entry(self) -> StreamEntry | None:
        stream, group = self._names
        read: Any = await self._redis.xreadgroup(group, self._consumer, {stream: ">"}, count=1)
        if not read:
            return None
        entries = read[0][1] if isinstance(read, list) else next(iter(read.values()))[0]
        ((id_, fields),) = entries
        return StreamEntry(id_, fields, 1)

    async def _member_of(self, event: DocumentUploaded) -> WorkspaceMember:
        """Whose rights the event has.

        Raises:
            Unavailable: the settings name no account that may act here.
            Forbidden: it names somebody else, and may not, or nobody who belongs to the workspace.
        """
        settings, member = self._settings, await self._account()
        if member is None:
            raise Unavailable("event_stream.account is no member of its workspace")
        if event.user_id is None or event.user_id.lower() in (member.user, member.email):
            return member
        if not settings.impersonate:
            raise Forbidden("the event acts for somebody else", fix="Set AOS_EVENT_STREAM_IMPERSONATE to allow it.")
        person = await self._person(member, event.user_id)
        if person is None:
            raise Forbidden("the event's user_id is nobody of this workspace")
        return replace(person, role=least_role(person.role, member.role))

    async def _account(self) -> WorkspaceMember | None:
        settings = self._settings
        found = None if settings.account is None else await self._identity.credentials(settings.account)
        workspace = None if settings.workspace is None else WorkspaceId(str(settings.workspace))
        return None if found is None else await self._identity.member(found.tenant, found.user, workspace)

    async def _person(self, member: WorkspaceMember, named: str) -> WorkspaceMember | None:
        user = as_uuid(named)
        if user is None:
            found = await self._identity.credentials(named)
            if found is None or found.tenant != member.tenant:
                return None
            user = found.user
        return await self._identity.member(member.tenant, UserId(user), member.workspace)

    async def _bury(self, entry: StreamEntry, why: str) -> None:
        await self.letters.bury(entry, why)
        _log.warning("event %s is a dead letter: %s", entry.id.decode(), why)

    async def _rest(self) -> None:
        stopping = asyncio.create_task(self._stop.wait())
        await asyncio.wait({stopping}, timeout=self._settings.poll_seconds)
        stopping.cancel()


def _why(error: AosError) -> str:
    return f"{error.code}: {error.detail or error.title}"[:500]
