"""Ways in: upload a file, index the stored text again, link to agents."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Form, Query, Response, UploadFile
from pydantic import AfterValidator, BaseModel, Field

from cluster.basics.errors import Conflict, DiskFull, Invalid, NotFound, Overloaded
from cluster.state.identity.identity import WorkspaceMember
from cluster.state.limits.limit_errors import RateLimited
from cluster.state.limits.rules import LimitedResource
from cluster.state.work.jobs import JobId, JobLane, JobLease, WorkUnit
from configs.sections import ChunkStrategy
from pipelines.documents.document import Status, document_id
from pipelines.documents.ingest.job_plan import SURVEY
from pipelines.documents.store.chunk_strategies import ChunkStrategies, with_strategy
from pipelines.documents.store.library import NewUpload
from pipelines.documents.store.page_quota import OverQuota, pages_left
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import BUILD, OPERATE
from serve_apps.http.auth.request_limits import caller_of
from serve_apps.http.deps import AppDependencies
from serve_apps.http.fields import (
    AgentInQuery,
    ChunkStrategyField,
    DocumentKey,
    IdempotencyKey,
    Name,
    RequestBody,
    split_comma_list,
    storable_text,
)
from serve_apps.http.response_shapes import Started
from serve_apps.http.routes.documents.uploads import (
    as_reader,
    clean_name,
    hash_upload,
    named_groups,
    named_readers,
    origin_of,
    start_job,
    store_upload,
    wait_for_job,
)
from serve_apps.http.routes.scans.scan_languages import check_languages

router = APIRouter(route_class=GuardedRoute, tags=["documents"])

Listed = Annotated[str, Form(max_length=5_000, description="Comma-separated."), AfterValidator(storable_text)]


class Uploaded(BaseModel):
    """An upload: `status` is `duplicate` where the workspace has the same bytes, and then there is no job."""

    document_id: str
    job_id: UUID | None
    filename: str
    status: str
    message: str


class LinkRequest(RequestBody):
    """Documents that an agent may search from now on, or no longer."""

    agent_id: Name
    document_ids: Annotated[list[DocumentKey], Field(min_length=1, max_length=1_000)]
    action: Literal["link", "unlink"] = "link"


class Linked(BaseModel):
    """`changed` counts the documents whose link is new or gone."""

    agent_id: UUID
    action: str
    changed: int


class Reindexing(Started):
    """A re-index that was accepted, and how it will cut (in `chunk.unit`)."""

    chunk_strategy_used: ChunkStrategy
    chunk_size_used: int
    chunk_overlap_used: int


@router.post("/api/documents/upload", status_code=202, dependencies=[BUILD])
async def upload(
    file: UploadFile,
    me: Me,
    parts: Its,
    response: Response,
    agent_id: AgentInQuery = None,
    wait: Annotated[float, Query(ge=0, le=60, allow_inf_nan=False, description="Seconds to wait for the end.")] = 0,
    description: Annotated[str, Form(max_length=2_000), AfterValidator(storable_text)] = "",
    tags: Listed = "",
    readers: Listed = "",
    team_access: Listed = "",
    chunking_strategy: Annotated[ChunkStrategyField | None, Form()] = None,
    languages: Annotated[str, Form(max_length=300), AfterValidator(storable_text)] = "",
) -> Uploaded:
    """Store a file and let it be read. 202 with a job; 200 where it is known already or the wait saw the end.

    `readers` and `team_access` are one: who may see it, beside whoever sends it; none for the whole workspace. With a
    `chunking_strategy` this document is cut by it, whatever the workspace's is; one that is there already is not.
    `languages` are of its scans, by Tesseract's names (`deu,eng`, `auto`), instead of the workspace's.
    """
    read_in = await check_languages(parts.ocr, languages)
    filename = clean_name(file.filename)
    seen_by = named_readers([*_parse_tags(readers), *map(as_reader, _parse_tags(team_access))], me)
    await parts.groups.require_names(me.scope, named_groups(seen_by))
    agent = await parts.agent_store.resolve(me.scope, agent_id)
    file_hash = await hash_upload(file, parts.http.max_upload_bytes)
    if known := await parts.library.same_bytes(me.scope, file_hash):
        response.status_code = 200
        return await _link_duplicate(parts, me, known, agent)
    if not await pages_left(parts.database, me.scope, parts.read.tenant_pages):
        raise OverQuota(f"this tenant has all of the {parts.read.tenant_pages} pages that it may have")
    stored = await store_upload(parts.blobs, me, file, filename)
    origin = origin_of(filename, seen_by)
    id_ = document_id(me.workspace, origin)
    about = (seen_by, tuple(_parse_tags(tags)), description, chunking_strategy)
    new = NewUpload(id_, origin, stored.location, filename, stored.kind, *about)
    try:
        job = await _accept_upload(parts, me, new, agent, read_in, file.size or 0)
    # Nothing was accepted; after any other end the job may exist and need the bytes.
    except (DiskFull, NotFound, Overloaded, RateLimited):
        await asyncio.to_thread(parts.blobs.delete, stored.location)
        raise
    status = await _wait_for_status(parts, me, job, new.document, wait)
    response.status_code = 202 if status in (Status.PENDING, Status.PROCESSING) else 200
    message = "accepted; follow the job" if response.status_code == 202 else f"the document is {status}"
    return Uploaded(document_id=new.document, job_id=job, filename=filename, status=status, message=message)


@router.post("/api/documents/reindex-all", status_code=202, dependencies=[OPERATE])
async def reindex_all(
    me: Me,
    parts: Its,
    agent_id: AgentInQuery = None,
    hold: Annotated[bool, Query(description="Build and check it; POST /api/generations/{id}/switch uses it.")] = False,
    force: Annotated[bool, Query(description="Use it whatever the gate finds.")] = False,
    strategy: Annotated[
        ChunkStrategyField | None, Query(description="Cut the workspace's documents so from now on.")
    ] = None,
    idempotency_key: IdempotencyKey = None,
) -> Reindexing:
    """Cut and embed the stored text again into a new generation; nothing is read a second time.

    Readers keep the index they have until the new one is complete and the gate has let it pass. For one agent, its
    documents are done again in the index that is there. A re-index of the whole that has not ended ends with this one,
    which goes on where that stood.
    """
    agent = await parts.agent_store.resolve(me.scope, agent_id)
    asked: dict[str, Any] = {name: True for name, wanted in (("hold", hold), ("force", force)) if wanted}
    asked |= {} if strategy is None else {"chunk_strategy": strategy}
    if agent is not None and asked:
        fix = "Leave agent_id, or hold, force and strategy."
        raise Invalid("an agent's documents have no generation of their own", fix=fix)
    strategies, also = ChunkStrategies(parts.database), None
    if strategy is not None:
        also = partial(strategies.change_workspace, scope=me.scope, strategy=strategy)
    job = await start_job(parts, me, "reindex", JobLane.BULK, {"agent_id": agent, **asked}, idempotency_key, also)
    used = with_strategy(parts.chunk, await strategies.of_workspace(me.scope))
    sizes = {"chunk_size_used": used.size, "chunk_overlap_used": used.overlap}
    return Reindexing(job_id=job.job_id, fresh=job.fresh, chunk_strategy_used=used.strategy, **sizes)


@router.post("/api/documents/embed-pending", status_code=202, dependencies=[OPERATE])
async def embed_pending(
    me: Me, parts: Its, agent_id: AgentInQuery = None, idempotency_key: IdempotencyKey = None
) -> Started:
    """Embed what still lacks vectors."""
    agent = await parts.agent_store.resolve(me.scope, agent_id)
    return await start_job(parts, me, "embed", JobLane.BULK, {"agent_id": agent}, idempotency_key)


@router.post("/api/documents/links", dependencies=[BUILD])
async def links(body: LinkRequest, me: Me, parts: Its) -> Linked:
    """Link documents to an agent or take them from it: all of them, or none where one is not there."""
    agent = await parts.agent_store.resolve(me.scope, body.agent_id)
    assert agent is not None
    change = parts.links.link if body.action == "link" else parts.links.unlink
    async with parts.database.transaction(me.scope) as tx:
        changed = await change(tx, me.scope, agent, body.document_ids)
        detail = {"documents": body.document_ids[:100], "changed": changed}
        await parts.audit.record(tx, me.scope, f"document.{body.action}", agent, detail=detail)
    return Linked(agent_id=UUID(agent), action=body.action, changed=changed)


async def _accept_upload(
    parts: AppDependencies, me: WorkspaceMember, new: NewUpload, agent: str | None, languages: Sequence[str], size: int
) -> JobId:
    """The document becomes visible, is linked and gets its job, all or nothing."""
    file = {"origin": new.origin, "filename": new.filename, "location": new.location}
    payload: dict[str, Any] = {"files": [file], "agent_id": agent, "description": new.description}
    payload |= {"tags": list(new.tags), "readers": list(new.readers)}
    payload |= {"ocr": list(languages)} if languages else {}
    async with parts.audited(me, "document.upload", new.document, {"filename": new.filename}) as tx:
        await parts.limits.take(tx, caller_of(me), me.scope, LimitedResource.UPLOAD_BYTES, size)
        await parts.limits.require_job(tx, caller_of(me))
        await parts.library.announce(tx, me.scope, new)
        if new.chunk_strategy is not None:
            await ChunkStrategies(parts.database).change_document(tx, me.scope, new.document, new.chunk_strategy)
        await parts.links.auto_link(tx, me.scope, new.document)
        if agent is not None:
            await parts.links.link(tx, me.scope, agent, [new.document])
        job = await parts.jobs.enqueue(tx, me.scope, "upload", JobLane.SMALL, payload)
        # The unit that the plan would write: a job that ends before it is planned still names its document.
        waiting = JobLease(job.job, me.scope, fence=0)
        await parts.jobs.expect(tx, waiting, SURVEY, [WorkUnit(new.origin, new.origin, payload=file)])
    return job.job


async def _link_duplicate(
    parts: AppDependencies, me: WorkspaceMember, known: Mapping[str, Any], agent: str | None
) -> Uploaded:
    if agent is not None:
        async with parts.audited(me, "document.link", agent, {"documents": [known["id"]]}) as tx:
            await parts.links.link(tx, me.scope, agent, [known["id"]])
    message = f"the workspace has these bytes as {known['filename']}"
    return Uploaded(
        document_id=known["id"], job_id=None, filename=known["filename"], status="duplicate", message=message
    )


async def _wait_for_status(
    parts: AppDependencies, me: WorkspaceMember, job: JobId, document: str, seconds: float
) -> str:
    """The document's status once its job has ended, or what it is when the time is up."""
    if seconds == 0:
        return Status.PENDING
    await wait_for_job(parts, me, job, seconds)
    try:
        return str((await parts.library.require(me.scope, document))["status"])
    except NotFound as error:
        raise Conflict("the document was deleted meanwhile") from error


def _parse_tags(text: str) -> list[str]:
    try:
        return split_comma_list(text)
    except ValueError as error:
        raise Invalid(str(error)) from error
