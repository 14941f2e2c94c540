"""Generations of the index over HTTP: which one readers use, the way back, and what the gate said."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel

from cluster.basics.errors import Transient
from cluster.basics.scope import Scope
from cluster.state.identity.identity import WorkspaceMember
from cluster.state.work.jobs import JobLane
from configs.sections import ChunkSettings
from pipelines.documents.chunk import split
from pipelines.documents.index.generations import IndexRecipe
from pipelines.documents.index.switch import SwitchResult
from pipelines.documents.store.chunk_strategies import ChunkStrategies, with_strategy
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import BUILD, OPERATE
from serve_apps.http.deps import AppDependencies
from serve_apps.http.response_shapes import copy_fields

router = APIRouter(route_class=GuardedRoute, tags=["generations"])

GenerationInPath = Annotated[int, Path(ge=1, le=2**31 - 1)]


class GenerationShape(BaseModel):
    """A generation: `role` is live, previous, building, ready (it may be switched to) or refused (by the gate).

    `documents` and `chunks` count what it holds of what you may see, `embedded` the documents with vectors; `graph`
    says that it has an index of its vectors. `report` is what the gate found before readers were to use it.
    """

    id: int
    role: str
    embedder: str
    dimension: int
    chunker: str
    documents: int
    chunks: int
    embedded: int
    graph: bool
    made_at: datetime
    checked_at: datetime | None
    switched_at: datetime | None
    forced_by: UUID | None
    job_id: UUID | None
    report: dict[str, Any] | None


class GenerationList(BaseModel):
    """Newest first.

    `configured` says what an index made now would be made with, null while the embedder is away; its `live` whether the
    live one was made with the same.
    """

    live: int | None
    previous: int | None
    configured: dict[str, Any] | None
    items: list[GenerationShape]


class SwitchShape(BaseModel):
    """A switch that was made, by one row: every query since then uses `generation`.

    `carried` documents had arrived since it was built. They were taken over and are found by their words; `job_id`
    embeds them, and where there is none although some were carried, `note` says what is to be done.
    """

    generation: int
    previous: int | None
    carried: int
    job_id: UUID | None
    note: str | None


@router.get("/api/generations", dependencies=[BUILD])
async def generations(me: Me, parts: Its) -> GenerationList:
    """The generations of the workspace's index that are there."""
    rows = await parts.switchover.overview(me.scope)
    held = {role: next((row["id"] for row in rows if row[role]), None) for role in ("live", "previous")}
    chunking = await _workspace_chunking(me, parts)
    recipe = await _current_recipe(parts, chunking)
    configured = recipe and {
        "embedder": recipe.embedder.name,
        "dimension": recipe.embedder.dimension,
        "chunker": recipe.chunker,
        "chunk_strategy": chunking.strategy,
        "chunk_size": chunking.size,
        "chunk_overlap": chunking.overlap,
        "live": any(row["live"] and recipe.made(row) for row in rows),
    }
    return GenerationList(**held, configured=configured, items=[_generation_shape(row) for row in rows])


@router.post("/api/generations/rollback", dependencies=[OPERATE])
async def rollback(me: Me, parts: Its) -> SwitchShape:
    """Let readers use the generation before, at once. A second call leads forward again. 409 where there is none."""
    async with parts.database.transaction(_all_readers(me)) as tx:
        made = await parts.switchover.back(tx, _all_readers(me))
        await parts.audit.record(tx, me.scope, "generation.rollback", str(made.generation), detail=_switch_detail(made))
    return await _switch_shape(me, parts, made)


@router.post("/api/generations/{generation_id}/switch", dependencies=[OPERATE])
async def switch(
    generation_id: GenerationInPath,
    me: Me,
    parts: Its,
    force: Annotated[bool, Query(description="Even where the gate refused it.")] = False,
) -> SwitchShape:
    """Let readers use a complete generation: one that was held back, the one before, or with `force` a refused one."""
    scope = Scope(me.scope.tenant, me.scope.workspace, _all_readers(me).principals, me.scope.user, me.scope.role)
    async with parts.database.transaction(scope) as tx:
        made = await parts.switchover.forward(tx, scope, generation_id, force=force)
        detail = _switch_detail(made) | {"force": force}
        await parts.audit.record(tx, me.scope, "generation.switch", str(generation_id), detail=detail)
    return await _switch_shape(me, parts, made)


def _all_readers(me: WorkspaceMember) -> Scope:
    """As the worker would: documents that the caller may not see belong to the index, too."""
    return Scope.of_worker(me.scope.tenant, me.scope.workspace)


def _switch_detail(made: SwitchResult) -> dict[str, Any]:
    return {"before": made.previous, "carried": made.carried}


async def _workspace_chunking(me: WorkspaceMember, parts: AppDependencies) -> ChunkSettings:
    return with_strategy(parts.chunk, await ChunkStrategies(parts.database).of_workspace(me.scope))


async def _current_recipe(parts: AppDependencies, chunking: ChunkSettings) -> IndexRecipe | None:
    """Recipe of an index built now; None while the embedder is away, as a rollback must not need it."""
    try:
        facts = await parts.embedder.facts()
    except Transient:
        return None
    return IndexRecipe(facts, split.chunker_fingerprint(chunking, facts.fingerprint))


async def _switch_shape(me: WorkspaceMember, parts: AppDependencies, made: SwitchResult) -> SwitchShape:
    """Enqueue the embedding of carried documents, where the configured embedder is the generation's."""
    recipe = await _current_recipe(parts, await _workspace_chunking(me, parts))
    wanted = await parts.switchover.recipe(me.scope, made.generation)
    job, note = None, None
    if recipe is None:
        note = "the embedder is away; once it is back: POST /api/documents/embed-pending"
    elif not recipe.made(wanted):
        note = (
            f"generation {made.generation} was made with {wanted['embedder']} and settings that are others now. Set "
            "EMBEDDING_MODEL, RAG_CHUNK_SIZE, RAG_CHUNK_OVERLAP and the strategy (PUT /api/documents/chunking) back, "
            "or new documents are refused; then POST /api/documents/embed-pending"
        )
    elif made.carried:
        async with parts.database.transaction(me.scope) as tx:
            queued = await parts.jobs.enqueue(tx, me.scope, "embed", JobLane.BULK, {"agent_id": None})
            await parts.audit.record(tx, me.scope, "job.embed", queued.job)
        job = UUID(queued.job)
    return copy_fields(SwitchShape, made, job_id=job, note=note)


def _generation_shape(row: dict[str, Any]) -> GenerationShape:
    role = "live" if row["live"] else "previous" if row["previous"] else row["state"]
    return GenerationShape(role=role, **{name: row[name] for name in GenerationShape.model_fields if name != "role"})
