"""Sources: folders, buckets and the like, whose documents come by themselves and leave when they left."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Response

from cluster.state.db.postgres import Transaction
from cluster.state.work.jobs import EnqueuedJob
from pipelines.documents.sync.source_store import ItemFilter, NewSource
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import ADMINISTER, OPERATE
from serve_apps.http.fields import Limit, Skip
from serve_apps.http.response_shapes import Started
from serve_apps.http.routes.documents.uploads import check_readers, named_groups
from serve_apps.http.routes.sources.source_shapes import (
    RemovalsRequest,
    Removed,
    SourceItems,
    SourceKinds,
    SourceKindShape,
    SourceRequest,
    Sources,
    SourceShape,
    Tested,
)
from serve_apps.http.routes.sources.source_views import list_items
from serve_apps.http.routes.sources.started_sync import WhatBecomes, remove, start_sync

router = APIRouter(route_class=GuardedRoute, tags=["sources"])


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
                rights_setting=kind.rights_setting,
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
    await parts.sources.trials.check(me.scope, body.kind, body.settings, body.credential)
    agent = await parts.agent_store.resolve(me.scope, body.agent_id)
    given = body.model_dump(exclude={"tenant_id", "workspace_id"}) | {"readers": readers, "agent_id": agent}
    given["watch"] = body.watch and kind.watch_root is not None
    new = NewSource(**given, has_rights=kind.says_rights(body.settings))
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
    q: Annotated[str | None, Query(max_length=300, description="Those with this in their path.")] = None,
    skip: Skip = 0,
    limit: Limit = 100,
) -> SourceItems:
    """What is remembered of the source's items, by path, with who may see each."""
    row = await parts.sources.store.show(me.scope, str(source_id))
    return await list_items(parts, me, row, only, skip=skip, limit=limit, q=q)


@router.post("/api/sources/{source_id}/test", dependencies=[OPERATE])
async def test_source(source_id: UUID, me: Me, parts: Its) -> Tested:
    """Open the source and list its first items; no document is read, and nothing changes."""
    row = await parts.sources.store.show(me.scope, str(source_id))
    return Tested.of(await parts.sources.trials.test(me.scope, row["kind"], row["settings"], row["credential"]))


@router.post("/api/sources/{source_id}/sync", status_code=202, dependencies=[OPERATE])
async def sync_source(
    source_id: UUID,
    me: Me,
    parts: Its,
    dry_run: Annotated[bool, Query(description="Only say what a sync would do: `last_plan`.")] = False,
) -> Started:
    """Synchronise it now: a job. While one is under way that one is the answer, and `fresh` is false.

    Its listing may have passed what has changed since: where it had begun, another sync follows by itself. While
    one reads what it has listed, the job is a pass that lists once more, and writes at once who may see what and what
    is gone; a whole sync follows.
    """

    async def start(tx: Transaction) -> EnqueuedJob:
        return await parts.sources.starter.sync(tx, me.scope, str(source_id), dry_run=dry_run)

    return await start_sync(parts, me, "source.sync", str(source_id), start, {"dry_run": dry_run})


@router.post("/api/sources/{source_id}/approve", status_code=202, dependencies=[OPERATE])
async def approve_removals(source_id: UUID, body: RemovalsRequest, me: Me, parts: Its) -> Started:
    """Let the removals go that wait: the documents leave search. What is there again by then stays.

    409 where another number waits by now than you have seen.
    """

    async def start(tx: Transaction) -> EnqueuedJob:
        return await parts.sources.starter.approve(tx, me.scope, str(source_id), body.removals)

    return await start_sync(parts, me, "source.approve", str(source_id), start, {"removals": body.removals})


@router.delete("/api/sources/{source_id}", dependencies=[ADMINISTER])
async def remove_source(
    source_id: UUID, me: Me, parts: Its, response: Response, documents: WhatBecomes = "keep"
) -> Removed:
    """Remove a source. Its documents stay, or are deleted by a job (202), but for those that a legal hold keeps.

    Documents that had left the source are hidden from everybody, and do not stay: then `keep` is a job, too.

    409 for `keep` where the source says who may see its documents: nobody would confirm that any more.
    """
    return await remove(parts, me, "source.remove", str(source_id), response, documents)
