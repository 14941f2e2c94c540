"""Ways in: upload a file, index the stored text again, link to agents."""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Form, Query, Response, UploadFile
from pydantic import AfterValidator, BaseModel, Field

from cluster.basics.errors import Conflict, DiskFull, Invalid, NotFound, Overloaded
from cluster.state.identity.identity import WorkspaceMember
from cluster.state.limits.limit_errors import RateLimited
from cluster.state.work.jobs import JobId, JobLane
from configs.sections import ChunkStrategy
from pipelines.documents.document import Status
from pipelines.documents.store.chunk_strategies import ChunkStrategies, with_strategy
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import BUILD, OPERATE
from serve_apps.http.deps import AppDependencies
from serve_apps.http.fields import (
    AgentInQuery,
    ChunkStrategyField,
    DocumentKey,
    IdempotencyKey,
    Name,
    RequestBody,
    storable_text,
)
from serve_apps.http.response_shapes import Started
from serve_apps.http.routes.documents.accept_upload import (
    accept_upload,
    check_options,
    describe_upload,
    require_pages,
    split_tags,
)
from serve_apps.http.routes.documents.uploads import clean_name, hash_upload, start_job, store_upload, wait_for_job

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
    filename = clean_name(file.filename)
    options = await check_options(
        parts,
        me,
        readers=split_tags(readers),
        team_access=split_tags(team_access),
        agent_id=agent_id,
        languages=languages,
        tags=split_tags(tags),
        description=description,
        chunk_strategy=chunking_strategy,
    )
    file_hash = await hash_upload(file, parts.http.max_upload_bytes)
    if known := await parts.library.same_bytes(me.scope, file_hash):
        response.status_code = 200
        return await _link_duplicate(parts, me, known, options.agent)
    await require_pages(parts, me)
    stored = await store_upload(parts.blobs, me, file, filename)
    new = describe_upload(me, filename, stored, options)
    try:
        job = await accept_upload(parts, me, new, options, file.size or 0)
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
