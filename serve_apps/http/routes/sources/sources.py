"""Sources: folders, buckets and the like, whose documents come by themselves and leave when they left."""

import asyncio
from typing import Annotated, Final, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Response

from cluster.basics.errors import Unavailable
from cluster.state.db.postgres import Transaction
from cluster.state.work.jobs import EnqueuedJob
from pipelines.documents.sources.source_port import Source
from pipelines.documents.sync.source_store import ItemFilter, NewSource
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import ADMINISTER, OPERATE
from serve_apps.http.fields import Limit, Skip
from serve_apps.http.response_shapes import Started
from serve_apps.http.routes.documents.uploads import check_readers, named_groups
from serve_apps.http.routes.sources.source_shapes import (
    ApprovalRequest,
    Removed,
    SourceItems,
    SourceItemShape,
    SourceKinds,
    SourceKindShape,
    SourceRequest,
    Sources,
    SourceShape,
    Tested,
)
from serve_apps.http.routes.sources.started_sync import start_sync

router = APIRouter(route_class=GuardedRoute, tags=["sources"])

TEST_SECONDS: Final = 15.0
LOOK_SECONDS: Final = 12.0  # of these, for a listing that has begun
TEST_ITEMS: Final = 10


@router.get("/api/sources", dependencies=[OPERATE])
async def sources(me: Me, parts: Its, skip: Skip = 0, limit: Limit = 100) -> Sources:
    """List the sources of the workspace with what is here of each."""
    rows, total = await parts.sources.store.page(me.scope, skip=skip, limit=limit)
    return Sources(items=[SourceShape.of(row) for row in rows], total=total)


@router.get("/api/sources/kinds", dependencies=[OPERATE])
async def source_kinds(me: Me, parts: Its) -> SourceKinds:
    """The kinds of sources there are, with their settings."""
    return SourceKinds(
        items=[
            SourceKindShape(
                name=kind.name,
                title=kind.title,
                settings={name.rstrip("*"): text for name, text in kind.settings.items()},
                required=[name[:-1] for name in kind.settings if name.endswith("*")],
                has_rights=kind.has_rights,
                takes_credential=kind.takes_credential,
            )
            for kind in parts.sources.opener.kinds.values()
        ]
    )


@router.post("/api/sources", status_code=201, dependencies=[ADMINISTER])
async def add_source(body: SourceRequest, me: Me, parts: Its) -> SourceShape:
    """Add a source. It is opened once, so that what cannot work is refused; nothing is read before its first sync."""
    readers = check_readers(body.readers)
    await parts.groups.require_names(me.scope, named_groups(readers))
    kind = parts.sources.opener.kind(body.kind)
    async with asyncio.timeout(TEST_SECONDS):
        opened = await parts.sources.opener.open(me.scope, body.kind, body.settings, body.credential)
        await opened.close()
    given = body.model_dump(exclude={"tenant_id", "workspace_id"}) | {"readers": readers}
    new = NewSource(**given, has_rights=kind.has_rights)
    detail = {name: given[name] for name in ("name", "kind", "settings", "credential", "readers", "every_minutes")}
    async with parts.database.transaction(me.scope) as tx:
        id_ = await parts.sources.store.add(tx, me.scope, new)
        await parts.audit.record(tx, me.scope, "source.add", id_, detail=detail)
    return SourceShape.of(await parts.sources.store.show(me.scope, id_))


@router.get("/api/sources/{source_id}", dependencies=[OPERATE])
async def source(source_id: UUID, me: Me, parts: Its) -> SourceShape:
    """One source: its last sync, its last error, and what waits for a person."""
    return SourceShape.of(await parts.sources.store.show(me.scope, str(source_id)))


@router.get("/api/sources/{source_id}/items", dependencies=[OPERATE])
async def source_items(
    source_id: UUID,
    me: Me,
    parts: Its,
    only: Annotated[ItemFilter, Query(description="failed, gone or waiting ones alone.")] = "all",
    skip: Skip = 0,
    limit: Limit = 100,
) -> SourceItems:
    """What is remembered of the source's items, by path."""
    row = await parts.sources.store.show(me.scope, str(source_id))
    rows, total = await parts.sources.store.items(me.scope, str(row["id"]), only, skip=skip, limit=limit)
    return SourceItems(items=[SourceItemShape.of(row) for row in rows], total=total)


@router.post("/api/sources/{source_id}/test", dependencies=[OPERATE])
async def test_source(source_id: UUID, me: Me, parts: Its) -> Tested:
    """Open the source and list its first items; no document is read, and nothing changes."""
    row = await parts.sources.store.show(me.scope, str(source_id))
    try:
        async with asyncio.timeout(TEST_SECONDS):
            opened = await parts.sources.opener.open(me.scope, row["kind"], row["settings"], row["credential"])
            try:
                return await _look_at(opened)
            finally:
                await opened.close()
    except TimeoutError as error:
        raise Unavailable(f"the source did not answer within {TEST_SECONDS:g} s") from error


@router.post("/api/sources/{source_id}/sync", status_code=202, dependencies=[OPERATE])
async def sync_source(
    source_id: UUID,
    me: Me,
    parts: Its,
    dry_run: Annotated[bool, Query(description="Only say what a sync would do: `last_plan`.")] = False,
) -> Started:
    """Synchronise it now: a job. While one is under way that one is the answer, and `fresh` is false."""

    async def start(tx: Transaction) -> EnqueuedJob:
        return await parts.sources.starter.sync(tx, me.scope, str(source_id), dry_run=dry_run)

    return await start_sync(parts, me, "source.sync", str(source_id), start, {"dry_run": dry_run})


@router.post("/api/sources/{source_id}/approve", status_code=202, dependencies=[OPERATE])
async def approve_removals(source_id: UUID, body: ApprovalRequest, me: Me, parts: Its) -> Started:
    """Let the removals go that wait: the documents leave search. What is there again by then stays.

    409 where another number waits by now than you have seen.
    """

    async def start(tx: Transaction) -> EnqueuedJob:
        return await parts.sources.starter.approve(tx, me.scope, str(source_id), body.removals)

    return await start_sync(parts, me, "source.approve", str(source_id), start, {"removals": body.removals})


@router.delete("/api/sources/{source_id}", dependencies=[ADMINISTER])
async def remove_source(
    source_id: UUID,
    me: Me,
    parts: Its,
    response: Response,
    documents: Annotated[
        Literal["keep", "delete"], Query(description="Whether its documents stay, as if they were uploaded.")
    ] = "keep",
) -> Removed:
    """Remove a source. Its documents stay, or are deleted by a job (202), but for those that a legal hold keeps.

    409 for `keep` where the source says who may see its documents: nobody would confirm that any more.
    """
    id_ = str(source_id)
    if documents == "delete":

        async def start(tx: Transaction) -> EnqueuedJob:
            return await parts.sources.starter.remove(tx, me.scope, id_)

        response.status_code = 202
        job = await start_sync(parts, me, "source.remove", id_, start, {"documents": documents})
        return Removed(status="removing", job_id=job.job_id)
    async with parts.audited(me, "source.remove", id_, {"documents": documents}) as tx:
        await parts.sources.starter.keep(tx, me.scope, id_)
    return Removed(status="removed", job_id=None)


async def _look_at(opened: Source) -> Tested:
    paths: list[str] = []
    faults: list[str] = []
    answered = cut = False
    try:
        async with asyncio.timeout(LOOK_SECONDS):
            async for page in opened.list_changes(None):
                answered = True
                paths += [item.path for item in page.items]
                faults += [f"{one.path}: {one.why}" for one in page.faults]
                if len(paths) > TEST_ITEMS:
                    break
    except TimeoutError:
        if not answered:
            raise
        cut = True  # one that takes its time, such as a site that is asked politely: what came is shown
    more = cut or len(paths) > TEST_ITEMS
    return Tested(ok=not faults, paths=paths[:TEST_ITEMS], more=more, faults=faults[:TEST_ITEMS])
