"""Registered paths: folders below NFS_BASE_PATH that are sources, as the API of documents calls them."""

import asyncio
from uuid import UUID

from fastapi import APIRouter, Response

from cluster.basics.errors import Invalid, NotFound
from pipelines.documents.sync.registered_paths import FOLDER, PathRegistrar, relative_path
from pipelines.documents.sync.source_store import NewSource
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import OPERATE
from serve_apps.http.fields import Limit, Skip
from serve_apps.http.routes.documents.uploads import check_readers, named_groups
from serve_apps.http.routes.scans.scan_paths import base_of, resolve_scan_path
from serve_apps.http.routes.sources.source_shapes import PathRegistration, RegisteredPath, RegisteredPaths, Removed
from serve_apps.http.routes.sources.started_sync import WhatBecomes, remove

router = APIRouter(route_class=GuardedRoute, tags=["documents"])


@router.post("/api/documents/register-path", status_code=201, dependencies=[OPERATE])
async def register_path(body: PathRegistration, me: Me, parts: Its, response: Response) -> RegisteredPath:
    """Let the files of a folder be documents from now on, and follow what becomes of them; they stay where they are.

    Registered again with the same options it is the same (200); 409 with others.
    """
    base = base_of(parts.read)
    root = await asyncio.to_thread(resolve_scan_path, base, body.path)
    if not await asyncio.to_thread(root.is_dir):
        raise Invalid(
            "that is a file", fix="Register the folder it lies in, or scan it: POST /api/documents/batch-scan."
        )
    readers = check_readers(body.readers)
    await parts.groups.require_names(me.scope, named_groups(readers))
    agent = await parts.agent_store.resolve(me.scope, body.agent_id)
    path = relative_path(base, str(root))
    new = NewSource(
        name=body.name or path[-200:],
        kind=FOLDER,
        settings={"path": path},
        has_rights=False,
        readers=readers,
        every_minutes=body.every_minutes,
        watch=True,
        tags=list(dict.fromkeys(body.tags)),
        agent_id=agent,
    )
    store = parts.sources.store
    async with parts.database.transaction(me.scope) as tx:
        found = await PathRegistrar(store, base).register(tx, me.scope, new, named=body.name is not None)
        if found.fresh:
            detail = {name: getattr(new, name) for name in ("name", "readers", "tags", "agent_id", "every_minutes")}
            await parts.audit.record(tx, me.scope, "path.register", found.id, detail={"path": path, **detail})
    response.status_code = 201 if found.fresh else 200
    return RegisteredPath.of(await store.show(me.scope, found.id))


@router.get("/api/documents/registered-paths", dependencies=[OPERATE])
async def registered_paths(me: Me, parts: Its, skip: Skip = 0, limit: Limit = 100) -> RegisteredPaths:
    """List the folders that are sources, with how each is watched."""
    rows, total = await parts.sources.store.page(me.scope, kind=FOLDER, skip=skip, limit=limit)
    return RegisteredPaths(items=[RegisteredPath.of(row) for row in rows], total=total)


@router.delete("/api/documents/registered-paths/{source_id}", dependencies=[OPERATE])
async def remove_registered_path(
    source_id: UUID, me: Me, parts: Its, response: Response, documents: WhatBecomes = "keep"
) -> Removed:
    """Follow a folder no longer. Its documents stay, or are deleted by a job (202), as those are that had left it."""
    row = await parts.sources.store.show(me.scope, str(source_id))
    if row["kind"] != FOLDER:
        raise NotFound(f"registered path {source_id}")
    return await remove(parts, me, "path.remove", str(row["id"]), response, documents)
