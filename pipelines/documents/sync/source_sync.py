"""A sync in its job: documents are altered, leave, are erased and come, each unit settled with what it wrote."""

import asyncio
import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from cluster.basics.disk import full_at, means_full
from cluster.basics.errors import LegalHold, NotFound, Transient
from cluster.state.work.jobs import ClaimedJob, JobLease, JobLedger, UnitOutcome, UnitStatus, WorkUnit
from pipelines.documents.document import Failure, FailureReason, document_id, fingerprint_parts
from pipelines.documents.sources.source_port import ItemGone, Source, SourceAway, SourceItem, SourceRefused
from pipelines.documents.store.blobs import BlobStore, Location, location_of
from pipelines.documents.store.page_codec import failure_to_json
from pipelines.documents.sync.listing_watch import closing_pages
from pipelines.documents.sync.rights_pass import AMEND, RightsPasses
from pipelines.documents.sync.source_opener import SourceOpener
from pipelines.documents.sync.source_store import SourceDefinition, SourceStore
from pipelines.documents.sync.start_sync import RIGHTS_ONLY, SyncStarter
from pipelines.documents.sync.sync_planner import SyncPlanner, describe_error
from pipelines.documents.sync.sync_units import ALTER, ERASE, FETCH, LEAVE, filename_of, item_from_json
from pipelines.documents.sync.synced_documents import SyncedDocuments

ROWS_A_WRITE: Final = 200
FETCHED_A_TURN: Final = 64
AT_ONCE: Final = 3  # items of a source that are fetched side by side
ATTEMPTS: Final = 3  # at one item that the source does not give, while it gives others


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """`max_bytes` of one item; a sync goes on with the next."""

    max_bytes: int


class SyncCutOff(Transient):
    """The source does not answer; the job waits for it."""

    code = "source_away"
    fix = "Try its settings: aos sources test NAME. The sync goes on by itself."


class TooManyBytes(Exception):
    """An item is larger than its source said, or than a file may be."""


class SourceSync:
    """The steps of a sync's job before its files are surveyed. Everything is written under the job's lease."""

    def __init__(
        self,
        jobs: JobLedger,
        store: SourceStore,
        documents: SyncedDocuments,
        passes: RightsPasses,
        opener: SourceOpener,
        planner: SyncPlanner,
        blobs: BlobStore,
        limits: FetchLimits,
        survey_stage: str,
    ) -> None:
        """Collaborators are injected; `survey_stage` is where fetched files go on."""
        self._jobs, self._store, self._documents, self._opener = jobs, store, documents, opener
        self._passes = passes
        self._planner, self._blobs, self._limits, self._survey = planner, blobs, limits, survey_stage

    async def plan(self, job: ClaimedJob, ended: Callable[[], bool] = bool) -> Mapping[str, Any] | None:
        """See `SyncPlanner.plan`. Raises SyncCutOff: the source is away."""
        try:
            return await self._planner.plan(job, ended)
        except SourceAway as error:
            raise SyncCutOff(error.detail) from error

    async def apply(self, job: ClaimedJob, stopped: Callable[[], bool]) -> int:
        """Write rights, names and removals, and fetch nothing; how many units were settled."""
        source = await self._definition(job)
        return await (self._pass_over_all(job.lease) if source is None else self._apply(job.lease, source, stopped))

    async def run(self, job: ClaimedJob, stopped: Callable[[], bool]) -> int:
        """Do what is pending, and fetch some items; how many units were settled.

        Rights come first: what narrows who may see something does not wait for bytes. Raises SyncCutOff, SourceRefused.
        """
        source = await self._definition(job)
        if source is None:
            return await self._pass_over_all(job.lease)
        done = await self._apply(job.lease, source, stopped)
        if not stopped() and (units := await self._jobs.pending(job.lease, FETCH, FETCHED_A_TURN)):
            done += await self._fetch(job.lease, source, units)
        return done

    async def _definition(self, job: ClaimedJob) -> SourceDefinition | None:
        try:
            return await self._store.definition(job.lease.scope, str(job.payload["source"]))
        except NotFound:
            return None

    async def _apply(self, lease: JobLease, source: SourceDefinition, stopped: Callable[[], bool]) -> int:
        done = 0
        stages = ((AMEND, self._amend), (ALTER, self._alter), (LEAVE, self._leave), (ERASE, self._erase))
        for stage, act in stages:
            while not stopped() and (units := await self._jobs.pending(lease, stage, ROWS_A_WRITE)):
                await act(lease, source, units)
                done += len(units)
        return done

    async def close(self, lease: JobLease, payload: Mapping[str, Any]) -> None:
        """All units are settled: the cursor moves on, and rights count as confirmed since the listing began."""
        source = str(payload["source"])
        async with self._jobs.writing(lease) as tx:
            if payload.get("dry_run") or not await self._documents.hold_current(tx, lease.scope, source, lease.job):
                return
            if payload.get("remove"):
                await self._store.remove_if_empty(tx, lease.scope, source, gone_only=bool(payload.get("keep")))
                return
            listed_at, faults = payload.get("listed_at"), payload["plan"]["samples"].get("faults")
            error = None if not faults else {"code": "incomplete", "detail": faults[0], "at": payload["plan"]["at"]}
            if payload.get(RIGHTS_ONLY):
                await self._passes.confirm(tx, lease, source, listed_at, error)
                return
            cursor = payload.get("cursor")
            await self._store.close(tx, lease.scope, source, cursor=cursor, listed_at=listed_at, error=error)

    async def follow(self, job: ClaimedJob) -> None:
        """The job has ended: what passes saw while it was under way is read now. See `SyncStarter.follow`."""
        starter = SyncStarter(self._jobs, self._store)
        await self._passes.follow(job.lease.scope, str(job.payload["source"]), starter)

    async def _pass_over_all(self, lease: JobLease) -> int:
        """The source was removed while its job waited."""
        done = 0
        for stage in (AMEND, ALTER, LEAVE, ERASE, FETCH):
            while units := await self._jobs.pending(lease, stage, ROWS_A_WRITE):
                async with self._jobs.writing(lease) as tx:
                    await self._jobs.settle(tx, lease, stage, _settled(units, UnitStatus.UNCHANGED))
                done += len(units)
        return done

    async def _amend(self, lease: JobLease, source: SourceDefinition, units: Sequence[WorkUnit]) -> None:
        async with self._jobs.writing(lease) as tx:
            done: Collection[str] = ()
            if await self._documents.is_current(tx, lease.scope, source.id, lease.job):
                done = await self._passes.amend(tx, lease.scope, source, units)
            settled = [UnitOutcome(u.key, UnitStatus.DONE if u.key in done else UnitStatus.UNCHANGED) for u in units]
            await self._jobs.settle(tx, lease, AMEND, settled)

    async def _alter(self, lease: JobLease, source: SourceDefinition, units: Sequence[WorkUnit]) -> None:
        async with self._jobs.writing(lease) as tx:
            done = set[str]()
            if await self._documents.is_current(tx, lease.scope, source.id, lease.job):
                changes = {unit.key: unit.payload for unit in units}
                done = await self._documents.alter(tx, lease.scope, source, changes)
            settled = [UnitOutcome(u.key, UnitStatus.DONE if u.key in done else UnitStatus.UNCHANGED) for u in units]
            await self._jobs.settle(tx, lease, ALTER, settled)

    async def _leave(self, lease: JobLease, source: SourceDefinition, units: Sequence[WorkUnit]) -> None:
        async with self._jobs.writing(lease) as tx:
            current = await self._documents.is_current(tx, lease.scope, source.id, lease.job)
            if current:
                items = {unit.key: unit.payload["document"] for unit in units}
                await self._documents.leave(tx, lease.scope, source, items)
            status = UnitStatus.DONE if current else UnitStatus.UNCHANGED
            await self._jobs.settle(tx, lease, LEAVE, _settled(units, status))

    async def _erase(self, lease: JobLease, source: SourceDefinition, units: Sequence[WorkUnit]) -> None:
        """One by one: each takes its members along, and one that is held keeps no other."""
        for unit in units:
            locations: list[str] | None = None
            try:
                async with self._jobs.writing(lease) as tx:
                    if await self._documents.is_current(tx, lease.scope, source.id, lease.job):
                        locations = await self._documents.erase(tx, lease.scope, source, unit.key, unit.payload)
                    status = UnitStatus.UNCHANGED if locations is None else UnitStatus.DONE
                    await self._jobs.settle(tx, lease, ERASE, _settled([unit], status))
            except LegalHold as error:
                why = Failure(ERASE, FailureReason.HELD, f"{error.detail}. {error.hint}")
                async with self._jobs.writing(lease) as tx:
                    outcome = UnitOutcome(unit.key, UnitStatus.FAILED, failure_to_json(why))
                    await self._jobs.settle(tx, lease, ERASE, [outcome])
            for location in locations or ():
                await asyncio.to_thread(self._blobs.delete, Location(location))

    async def _fetch(self, lease: JobLease, source: SourceDefinition, units: Sequence[WorkUnit]) -> int:
        """Fetch items, some side by side. Where the source is away, no item is to blame, and none used an attempt."""
        try:
            opened = await self._opener.open(lease.scope, source.kind, source.settings, source.credential)
        except (SourceAway, SourceRefused) as error:  # it let us in when it was listed
            raise await self._cut_off(lease, source, error) from error
        places = asyncio.Semaphore(AT_ONCE)
        away: dict[str, SourceAway] = {}

        async def one(unit: WorkUnit) -> None:
            async with places:
                try:
                    await self._fetch_item(lease, source, opened, unit)
                except SourceAway as error:
                    away[unit.key] = error

        try:
            await self._jobs.begin(lease, FETCH, units)
            async with asyncio.TaskGroup() as tasks:
                for unit in units:
                    tasks.create_task(one(unit))
            cut_off = bool(away) and not await _answers(opened, source.cursor)
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None
        finally:
            await opened.close()
        if cut_off:
            await self._jobs.refund(lease, FETCH, list(away))
            raise await self._cut_off(lease, source, next(iter(away.values())))
        given_up = [unit for unit in units if unit.key in away and unit.attempts + 1 >= ATTEMPTS]
        for unit in given_up:
            why = Failure(FETCH, FailureReason.TIMEOUT, str(away[unit.key]), retryable=True)
            await self._miss(lease, source, unit, why)
        return len(units) - len(away) + len(given_up)

    async def require_source(self, job: ClaimedJob) -> None:
        """A file that stays in place cannot be opened. Raises SyncCutOff: nor can its source: no file is to blame."""
        try:
            source = await self._store.definition(job.lease.scope, str(job.payload["source"]))
            opened = await self._opener.open(job.lease.scope, source.kind, source.settings, source.credential)
        except NotFound:
            return
        except (SourceAway, SourceRefused) as error:
            raise await self._cut_off(job.lease, source, error) from error
        await opened.close()

    async def _cut_off(
        self, lease: JobLease, source: SourceDefinition, error: SourceAway | SourceRefused
    ) -> SyncCutOff:
        """The source's row says so, too, until a sync was done to its end."""
        await self._store.set_error(lease.scope, source.id, describe_error(error, datetime.now(UTC)))
        return SyncCutOff(error.detail)

    async def _fetch_item(self, lease: JobLease, source: SourceDefinition, opened: Source, unit: WorkUnit) -> None:
        item = item_from_json(unit.payload["item"])
        try:
            if unit.payload.get("left"):  # so a pass found it
                raise ItemGone(item.path)
            path = opened.local_path(item)
            location = location_of(path) if path else await self._keep_bytes(lease, opened, item, unit)
        except ItemGone:  # between the listing and now: the next listing tells what became of it
            async with self._jobs.writing(lease) as tx:
                await self._jobs.settle(tx, lease, FETCH, _settled([unit], UnitStatus.UNCHANGED))
            return
        except TooManyBytes:
            why = f"it is larger than {self._limits.max_bytes} bytes (AOS_READ_MAX_FILE_BYTES)"
            await self._miss(lease, source, unit, Failure(FETCH, FailureReason.TOO_LARGE, why))
            return
        except SourceRefused as error:
            await self._miss(lease, source, unit, Failure(FETCH, FailureReason.CHANGED, str(error), retryable=True))
            return
        async with self._jobs.writing(lease) as tx:
            origin = None
            spare = unit.payload["document"] is None
            if await self._documents.is_current(tx, lease.scope, source.id, lease.job):
                payload = await self._passes.fetch_now(tx, lease, unit.key)
                if not payload.get("left"):
                    # Its bytes are those of the version that was asked for, whatever a pass has seen since.
                    now = item_from_json(payload["item"])
                    item = replace(now, version=item.version, fingerprint=item.fingerprint)
                    origin = await self._documents.take(tx, lease.scope, source, item, payload, location, lease.job)
                spare = not await self._passes.is_used(tx, lease.scope, unit.payload["document"], location)
            status = UnitStatus.UNCHANGED if origin is None else UnitStatus.DONE
            await self._jobs.settle(tx, lease, FETCH, _settled([unit], status))
            if origin is not None:
                file = {"origin": origin, "filename": filename_of(item), "location": location}
                await self._jobs.expect(tx, lease, self._survey, [WorkUnit(origin, origin, payload=file)])
        # A document that is there may have the same bytes, also by a newer sync; of one that is not, nobody has them.
        if origin is None and spare:
            await asyncio.to_thread(self._blobs.delete, location)

    async def _keep_bytes(self, lease: JobLease, opened: Source, item: SourceItem, unit: WorkUnit) -> Location:
        """Under a key of document and content: who does it again comes to the same. Raises TooManyBytes, DiskFull."""
        scope = lease.scope
        if item.size is not None and item.size > self._limits.max_bytes:
            raise TooManyBytes
        folder = self._blobs.staging(
            scope.tenant, scope.workspace, fingerprint_parts(lease.job, lease.fence, FETCH, unit.key)
        )
        try:
            staged, digest = await self._download(opened, item, folder)
            document = unit.payload["document"] or document_id(scope.workspace, unit.payload["origin"])
            key = f"{document}-{digest}"
            handed = await asyncio.to_thread(self._blobs.hand_over, folder, str(staged))
            return await asyncio.to_thread(self._blobs.adopt, scope.tenant, scope.workspace, handed, key)
        except OSError as error:
            if means_full(error):
                raise full_at(folder.parent) from error
            raise
        finally:
            await asyncio.to_thread(self._blobs.discard, folder)

    async def _download(self, opened: Source, item: SourceItem, folder: Path) -> tuple[Path, str]:
        await asyncio.to_thread(folder.mkdir, mode=0o700, parents=True, exist_ok=True)
        staged, digest, size = folder / "bytes", hashlib.sha256(), 0
        with staged.open("wb") as file:
            async for block in opened.read(item):
                size += len(block)
                if size > self._limits.max_bytes:
                    raise TooManyBytes
                digest.update(block)
                await asyncio.to_thread(file.write, block)
        return staged, digest.hexdigest()

    async def _miss(self, lease: JobLease, source: SourceDefinition, unit: WorkUnit, why: Failure) -> None:
        failure = failure_to_json(why) or {}
        async with self._jobs.writing(lease) as tx:
            outcome = UnitOutcome(unit.key, UnitStatus.FAILED, failure)
            if await self._documents.is_current(tx, lease.scope, source.id, lease.job):
                payload = await self._passes.fetch_now(tx, lease, unit.key)
                if payload.get("left"):
                    outcome = UnitOutcome(unit.key, UnitStatus.UNCHANGED)
                else:
                    item = item_from_json(payload["item"])
                    await self._documents.miss(tx, lease.scope, source.id, item, failure)
            await self._jobs.settle(tx, lease, FETCH, [outcome])


async def _answers(opened: Source, cursor: str | None) -> bool:
    """Whether the source still lists anything: then what it does not give is the item's fault."""
    try:
        async with closing_pages(opened, cursor) as pages:
            async for _ in pages:
                break
    except SourceAway:
        return False
    return True


def _settled(units: Sequence[WorkUnit], status: UnitStatus) -> list[UnitOutcome]:
    return [UnitOutcome(unit.key, status) for unit in units]
