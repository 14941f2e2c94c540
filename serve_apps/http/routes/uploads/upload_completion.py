"""The end of an upload in parts: set and checksums compared, the whole put together, and a document made of it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final
from uuid import UUID

from cluster.basics.errors import AosError, Invalid, Permanent, Transient
from cluster.state.db.postgres import Transaction
from cluster.state.identity.identity import WorkspaceMember
from cluster.state.limits.rules import LimitedResource
from cluster.state.work.jobs import JobId
from pipelines.documents.store.blobs import Location
from pipelines.documents.store.library import NewUpload
from pipelines.documents.store.uploads.upload_sessions import (
    ClaimLost,
    UploadClaim,
    UploadPart,
    UploadSession,
    UploadState,
    missing_text,
)
from serve_apps.agents.streams.cancellation import run_to_completion
from serve_apps.http.auth.request_limits import caller_of
from serve_apps.http.deps import AppDependencies
from serve_apps.http.routes.documents.accept_upload import UploadOptions, accept_upload, describe_upload, require_pages
from serve_apps.http.routes.documents.uploads import StoredUpload, sniff_stored
from serve_apps.http.routes.uploads.kept_claim import KeptClaim
from serve_apps.http.routes.uploads.part_intake import WrongChecksum
from serve_apps.http.routes.uploads.upload_shapes import UploadCompleted

EVENT: Final = "DocumentUploadedEvent"


class MissingParts(Permanent):
    """Parts of this upload are missing."""

    code, status = "missing_parts", 409
    fix = "Send them, and complete the upload again."


@dataclass(frozen=True, slots=True)
class WholeUpload:
    """A file that was put together: where it is, and its SHA-256 in hex."""

    location: Location
    file_hash: str


class UploadAssembly:
    """Puts one upload together, under a claim that it keeps."""

    def __init__(self, parts: AppDependencies, me: WorkspaceMember, session: UploadSession, claim: KeptClaim) -> None:
        """Nothing is read yet."""
        self._parts, self._me, self._session, self._claim = parts, me, session, claim
        self._state = sha256()

    async def assemble(self, expected: str | None) -> WholeUpload:
        """Write the whole from its parts; where it is not what was announced, nothing of it stays.

        Raises MissingParts: with the numbers; WrongChecksum: the whole is another one; ClaimLost.
        """
        arrived = await self._parts.upload_sessions.parts(self._me.scope, self._session.id)
        self._require_all(arrived)
        put = self._parts.blobs.put
        name = self._claim.held.whole
        location = await put(self._me.tenant, self._me.workspace, self._blocks(arrived, expected), name)
        return WholeUpload(location, self._state.hexdigest())

    def _require_all(self, arrived: list[UploadPart]) -> None:
        if self._session.protocol == "tus":
            here = sum(one.size for one in arrived)
            if here != self._session.total_bytes:
                raise MissingParts(f"{here} of {self._session.total_bytes} bytes have come")
        elif missing := self._session.missing(arrived):
            raise MissingParts(missing_text(missing))

    async def _blocks(self, arrived: list[UploadPart], expected: str | None) -> AsyncIterator[bytes]:
        for part in arrived:
            state, count = sha256(), 0
            try:
                async for block in self._parts.part_store.read(part.location):
                    if count + len(block) > part.size:  # it was replaced by way of its signed address, by any length
                        count = -1
                        break
                    state.update(block)
                    self._state.update(block)
                    count += len(block)
                    yield block
                    self._claim.require_kept()
            except FileNotFoundError:
                count = -1
            if (count, state.hexdigest()) != (part.size, part.sha256):
                for location in await self._parts.upload_sessions.drop_part(self._me.scope, self._session, part):
                    await asyncio.to_thread(self._parts.part_store.delete, location)
                raise MissingParts(f"{missing_text([part.number])}: its bytes are not those of its checksum")
        whole = self._state.hexdigest()
        if expected is not None and whole != expected:
            raise WrongChecksum(f"the whole file has {whole}", fix="Abort it, and upload the file as it is now.")


async def complete_upload(
    parts: AppDependencies,
    me: WorkspaceMember,
    session: UploadSession,
    *,
    total_parts: int | None = None,
    file_hash: str | None = None,
) -> UploadCompleted:
    """Make a document of it; one that is a document already is told again.

    Raises MissingParts, WrongChecksum, FileRefused: with the reason, which its status shows, too; Invalid: other parts
    or another file were announced; UploadEnded, UploadBusy; DiskFull, OverQuota, RateLimited: not now.
    """
    if session.state is UploadState.COMPLETED:
        return _completed(session, session.document_id or "", session.job_id, None)
    session.require_alive(parts.clock())
    if total_parts is not None and total_parts != session.part_count:
        raise Invalid(f"the upload has {session.part_count} parts, not {total_parts}")
    if None not in (file_hash, session.file_hash) and file_hash != session.file_hash:
        raise Invalid(f"the upload was begun for a file with SHA-256 {session.file_hash}")
    claim = await parts.upload_sessions.claim(me.scope, session.id, parts.clock())
    return await run_to_completion(_carry_out(parts, me, session, claim, file_hash or session.file_hash))


async def _carry_out(
    parts: AppDependencies, me: WorkspaceMember, session: UploadSession, claim: UploadClaim, file_hash: str | None
) -> UploadCompleted:
    where = parts.blobs.location(me.tenant, me.workspace, claim.whole)

    async def give_back(_: object, error: BaseException | None, __: object) -> None:
        if error is None:
            return
        # A commit that was not confirmed may have been one: then it is a document, and needs the bytes.
        if isinstance(error, ClaimLost) or not await _was_finished(parts, me, session):
            await asyncio.to_thread(parts.blobs.delete, where)
        lasting = isinstance(error, AosError) and not isinstance(error, Transient | ClaimLost)
        with suppress(AosError):  # then the claim runs out
            await parts.upload_sessions.release(me.scope, session.id, claim, _told(error) if lasting else "")

    async with AsyncExitStack() as claimed:
        claimed.push_async_exit(give_back)
        kept = await claimed.enter_async_context(KeptClaim(parts, me, session, claim))
        done, keep = await _put_together(parts, me, session, kept, file_hash)
    if not keep:
        await asyncio.to_thread(parts.blobs.delete, where)
    await asyncio.to_thread(parts.part_store.drop, me.tenant, me.workspace, session.id)
    return done


async def _put_together(
    parts: AppDependencies, me: WorkspaceMember, session: UploadSession, kept: KeptClaim, file_hash: str | None
) -> tuple[UploadCompleted, bool]:
    await parts.limits.require_left(caller_of(me), me.scope, LimitedResource.UPLOAD_BYTES, session.total_bytes)
    await require_pages(parts, me)
    whole = await UploadAssembly(parts, me, session, kept).assemble(file_hash)
    return await _make_document(parts, me, session, kept.held, whole)


async def _make_document(
    parts: AppDependencies, me: WorkspaceMember, session: UploadSession, claim: UploadClaim, whole: WholeUpload
) -> tuple[UploadCompleted, bool]:
    """What became of it, and whether that needs the bytes."""
    options = UploadOptions.from_json(session.options)
    if known := await parts.library.same_bytes(me.scope, whole.file_hash):
        async with parts.audited(me, "upload.duplicate", known["id"], {"upload": session.id}) as tx:
            if options.agent is not None:
                await parts.links.link(tx, me.scope, options.agent, [known["id"]])
            await parts.upload_sessions.finish(tx, me.scope, session.id, claim, known["id"], None)
        return _completed(session, known["id"], None, None), False
    kind = await sniff_stored(parts.blobs, whole.location, session.filename)
    new = describe_upload(me, session.filename, StoredUpload(whole.location, kind), options)

    async def finish(tx: Transaction, job: JobId) -> None:
        await parts.upload_sessions.finish(tx, me.scope, session.id, claim, new.document, job)
        await parts.jobs.append(tx, job, "uploaded", _event(me, session, new, whole, job))

    job = await accept_upload(parts, me, new, options, session.total_bytes, finish)
    return _completed(session, new.document, job, whole.location), True


def _event(me: WorkspaceMember, session: UploadSession, new: NewUpload, whole: WholeUpload, job: str) -> dict[str, Any]:
    """What whoever follows the job is told of the file."""
    return {
        "event_type": EVENT,
        "job_id": job,
        "document_id": new.document,
        "document_key": whole.location.removeprefix("blob:"),
        "name": new.filename,
        "type": session.content_type,
        "size": session.total_bytes,
        "hash": f"sha256:{whole.file_hash}",
        "strategy": new.chunk_strategy,
        "user_id": me.user,
        "metadata": {"tags": list(new.tags), "description": new.description, "upload_session_id": session.id},
    }


async def _was_finished(parts: AppDependencies, me: WorkspaceMember, session: UploadSession) -> bool:
    try:
        now = await parts.upload_sessions.require(me.scope, session.id)
    except AosError:  # nobody knows: the sweep looks again, and keeps what is a document
        return True
    return now.state is UploadState.COMPLETED


def _completed(session: UploadSession, document: str, job: str | None, location: str | None) -> UploadCompleted:
    key = None if location is None else location.removeprefix("blob:")
    status = "duplicate" if job is None else "queued"
    job_id = None if job is None else UUID(job)
    return UploadCompleted(
        upload_session_id=UUID(session.id),
        document_id=document,
        document_key=key,
        ingestion_job_id=job_id,
        status=status,
    )


def _told(error: BaseException) -> str:
    detail = getattr(error, "detail", "") or str(error)
    return detail or type(error).__name__
