"""Intake of uploaded events: each is taken once, and leads to one document and one job, or to the one that is known."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster.basics.errors import Conflict, Forbidden
from cluster.basics.scope import Role
from cluster.state.audit import AuditLog
from cluster.state.db.postgres import Database, Row, SqlStore, Transaction
from cluster.state.identity.identity import WorkspaceMember
from cluster.state.limits.limiter import Limiter
from cluster.state.limits.rules import LimitedCaller, LimitedResource
from cluster.state.work.jobs import JobLane, JobLease, JobLedger, WorkUnit
from configs.sections import ReadSettings
from pipelines.documents.document import Unreadable, document_id
from pipelines.documents.ingest.job_plan import SURVEY
from pipelines.documents.sources.files import hash_file
from pipelines.documents.sources.sniff import sniff_kind
from pipelines.documents.store.agent_links import AgentLinks
from pipelines.documents.store.blobs import BlobStore
from pipelines.documents.store.chunk_strategies import ChunkStrategies
from pipelines.documents.store.library import DocumentLibrary, NewUpload
from pipelines.documents.store.page_quota import OverQuota, pages_left
from serve_apps.events.event_places import EventPlace, KeyRefused, find_place, require_unlinked
from serve_apps.events.uploaded_event import DocumentUploaded, EventRefused, TakenEvent

BUILDERS = frozenset(Role) - {Role.VIEWER}
SCANNERS = frozenset({Role.OPERATOR, Role.ADMIN})
MOST_HASHED = 2**28  # bytes of a file that nobody gave a hash of: larger ones are not read twice to find a double


class OtherEvent(Conflict):
    """Another event was taken under this id."""

    code = "other_event"
    fix = "Give each event an id of its own."


@dataclass(frozen=True, slots=True)
class LookedAtFile:
    """The file that an event points at, as it is."""

    place: EventPlace
    filename: str
    kind: str
    size: int
    file_hash: str | None


@dataclass(frozen=True, slots=True)
class IntakeParts:
    """What an event goes into."""

    database: Database
    jobs: JobLedger
    library: DocumentLibrary
    links: AgentLinks
    limits: Limiter
    audit: AuditLog
    blobs: BlobStore


class UploadedEventIntake(SqlStore, queries="uploaded_intake.sql"):
    """Takes events, whichever way they came."""

    def __init__(self, parts: IntakeParts, read: ReadSettings) -> None:
        """`read` names the folder that may be scanned."""
        super().__init__(parts.database)
        self._parts, self._read = parts, read
        self._base = None if read.nfs_base_path is None else Path(read.nfs_base_path)

    async def take(self, member: WorkspaceMember, event: DocumentUploaded) -> TakenEvent:
        """Let the document be read, with the member's rights; a line in the audit trail, but for what was taken before.

        Raises:
            Forbidden, KeyRefused: the member's role, or the key, does not allow it.
            NotFound: there is no such file.
            TooLarge: the file has more bytes than any may have.
            EventRefused: the file is not what the event says, or cannot be read.
            OtherEvent: its id was another event's.
            OverQuota, RateLimited: the tenant or the member has no room.
        """
        scope = member.scope
        if member.role not in BUILDERS:
            raise Forbidden("this needs the role developer, operator or admin")
        if (before := await self._taken_before(member, event)) is not None:
            return before
        file = await asyncio.to_thread(self._look_at, member, event)
        await self._parts.limits.require_left(_caller(member), scope, LimitedResource.PAGES)
        known = None if file.file_hash is None else await self._parts.library.same_bytes(scope, file.file_hash)
        if known is None and not await pages_left(self._db, scope, self._read.tenant_pages):
            raise OverQuota(f"this tenant has all of the {self._read.tenant_pages} pages that it may have")
        async with self._db.transaction(scope) as tx:
            new = {"event": event.id, "hash": event.fingerprint}
            if await tx.one(self._sql["receive"], **scope.keys, **new) is None:
                return _same_event(event, await self._receipt(tx, member, event))
            document, job = (known["id"], None) if known else await self._accept(tx, member, event, file)
            await tx.run(self._sql["settle"], **scope.keys, event=event.id, about=document, job=job)
            detail = {"event": event.id, "filename": file.filename, "by": event.user_id}
            await self._parts.audit.record(tx, scope, "document.upload", document, detail=detail)
        return TakenEvent(event.id, document, job, "duplicate" if known else "queued")

    async def _taken_before(self, member: WorkspaceMember, event: DocumentUploaded) -> TakenEvent | None:
        """Before the file is looked at, which may be gone or another by now."""
        async with self._db.transaction(member.scope) as tx:
            row = await self._receipt(tx, member, event)
        return None if row is None else _same_event(event, row)

    async def _receipt(self, tx: Transaction, member: WorkspaceMember, event: DocumentUploaded) -> Row | None:
        return await tx.one(self._sql["receipt"], **member.scope.keys, event=event.id)

    def _look_at(self, member: WorkspaceMember, event: DocumentUploaded) -> LookedAtFile:
        place = find_place(self._parts.blobs, self._base, member.scope, event.document_key)
        if place.scanned and member.role not in SCANNERS:
            raise KeyRefused("files of a folder are for operators and administrators, as scans are")
        filename = event.name or place.name.encode("utf-8", "backslashreplace").decode()
        try:
            with self._parts.blobs.open_local(place.location, self._read.max_file_bytes) as path:
                require_unlinked(path, place)
                return _looked_at(path, place, filename, event)
        except Unreadable as error:
            raise EventRefused(f"the file cannot be read: {error}") from error
        except OSError as error:
            raise EventRefused(f"the file cannot be read: {error.strerror}") from error

    async def _accept(
        self, tx: Transaction, member: WorkspaceMember, event: DocumentUploaded, file: LookedAtFile
    ) -> tuple[str, str]:
        """The document's id and its job's; a document in a folder is there once it was looked at by the job."""
        scope, place, parts = member.scope, file.place, self._parts
        caller = _caller(member)
        await parts.limits.take(tx, caller, scope, LimitedResource.UPLOAD_BYTES, 0 if place.scanned else file.size)
        await parts.limits.require_job(tx, caller)
        document = document_id(member.workspace, place.origin)
        tags = () if event.course_id is None else (f"course:{event.course_id}",)
        if not place.scanned:
            where_to = (document, place.origin, place.location, file.filename, file.kind)
            new = NewUpload(*where_to, tags=tags, chunk_strategy=event.strategy)
            await parts.library.announce(tx, scope, new)
            if event.strategy is not None:
                await ChunkStrategies(self._db).change_document(tx, scope, document, event.strategy)
            await parts.links.auto_link(tx, scope, document)
        where = {"origin": place.origin, "filename": file.filename, "location": place.location}
        said = {name: getattr(event, name) for name in ("job_id", "course_id", "user_id", "type", "metadata")}
        payload: dict[str, Any] = {"files": [where], "tags": list(tags), "event": {"event_id": event.id, **said}}
        job = await parts.jobs.enqueue(tx, scope, "upload", JobLane.SMALL, payload)
        waiting = JobLease(job.job, scope, fence=0)
        unit = WorkUnit(place.origin, place.origin, payload=where)
        await parts.jobs.expect(tx, waiting, SURVEY, [unit])
        return document, job.job


def _looked_at(path: Path, place: EventPlace, filename: str, event: DocumentUploaded) -> LookedAtFile:
    size = path.stat().st_size
    if event.size is not None and event.size != size:
        raise EventRefused(f"the file has {size} bytes, and the event says {event.size}")
    file_hash = hash_file(path) if event.sha256 or size <= MOST_HASHED else None
    if event.sha256 is not None and event.sha256 != file_hash:
        raise EventRefused("the file has another SHA-256 than the event says")
    return LookedAtFile(place, filename, str(sniff_kind(path, filename)), size, file_hash)


def _caller(member: WorkspaceMember) -> LimitedCaller:
    groups, by_service = member.groups, member.by_service
    return LimitedCaller(member.tenant, member.workspace, member.user, member.key, groups, by_service=by_service)


def _same_event(event: DocumentUploaded, row: Row | None) -> TakenEvent:
    if row is None or row["request_hash"] != event.fingerprint:
        raise OtherEvent(f"event {event.id}")
    return TakenEvent(event.id, row["about"], None if row["job_id"] is None else str(row["job_id"]), "duplicate")
