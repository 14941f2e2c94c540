"""Edits of sources: other settings, readers and periods, pause and resume, and saying no to removals."""

from typing import Any, Final
from uuid import UUID

from fastapi import APIRouter

from cluster.basics.errors import Invalid
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import ADMINISTER, OPERATE
from serve_apps.http.routes.documents.uploads import check_readers, named_groups
from serve_apps.http.routes.sources.source_shapes import RemovalsRequest, SourcePatch, SourceShape

router = APIRouter(route_class=GuardedRoute, tags=["sources"])

MAY_BE_NULL: Final = frozenset({"credential", "every_minutes", "erase_after_days"})


@router.patch("/api/sources/{source_id}", dependencies=[ADMINISTER])
async def change_source(source_id: UUID, body: SourcePatch, me: Me, parts: Its) -> SourceShape:
    """Change a source. Readers follow with the next sync, which is due at once where it has a period.

    Other settings, or another credential, are tried before they are stored. 409 while a sync works with them.
    """
    row = await parts.sources.store.show(me.scope, str(source_id))
    values: dict[str, Any] = body.model_dump(exclude_unset=True, exclude={"tenant_id", "workspace_id"})
    if empty := sorted(name for name, value in values.items() if value is None and name not in MAY_BE_NULL):
        raise Invalid(f"{empty[0]} cannot be null")
    if "readers" in values:
        values["readers"] = check_readers(values["readers"])
        await parts.groups.require_names(me.scope, named_groups(values["readers"]))
    if values.get("settings", row["settings"]) != row["settings"]:
        values["settings"] = await parts.sources.opener.pin(row["kind"], values["settings"])
    if values.keys() & {"settings", "credential"}:
        wanted = {**row, **values}
        await parts.sources.trials.check(me.scope, wanted["kind"], wanted["settings"], wanted["credential"])
    about = {"changed": sorted(values)}
    if "settings" in values:
        values["has_rights"] = parts.sources.opener.kind(row["kind"]).says_rights(values["settings"])
    async with parts.audited(me, "source.change", str(row["id"]), about) as tx:
        await parts.sources.editor.change(tx, me.scope, str(row["id"]), values)
    return SourceShape.of(await parts.sources.store.show(me.scope, str(row["id"])))


@router.post("/api/sources/{source_id}/pause", dependencies=[OPERATE])
async def pause_source(source_id: UUID, me: Me, parts: Its) -> SourceShape:
    """No sync begins by itself from now on; one that is under way goes on.

    Documents of a source with rights are hidden `stale_after_hours` after its last success, paused or not.
    """
    async with parts.audited(me, "source.pause", str(source_id)) as tx:
        await parts.sources.editor.pause(tx, me.scope, str(source_id))
    return SourceShape.of(await parts.sources.store.show(me.scope, str(source_id)))


@router.post("/api/sources/{source_id}/resume", dependencies=[OPERATE])
async def resume_source(source_id: UUID, me: Me, parts: Its) -> SourceShape:
    """Syncs begin by themselves again, the first one at once where it has a period."""
    async with parts.audited(me, "source.resume", str(source_id)) as tx:
        await parts.sources.editor.resume(tx, me.scope, str(source_id))
    return SourceShape.of(await parts.sources.store.show(me.scope, str(source_id)))


@router.post("/api/sources/{source_id}/decline", dependencies=[OPERATE])
async def decline_removals(source_id: UUID, body: RemovalsRequest, me: Me, parts: Its) -> SourceShape:
    """Keep the documents whose removal waits. A sync that still misses them asks again; pause it meanwhile.

    409 where another number waits by now than you have seen.
    """
    async with parts.audited(me, "source.decline", str(source_id), {"removals": body.removals}) as tx:
        await parts.sources.editor.decline(tx, me.scope, str(source_id), body.removals)
    return SourceShape.of(await parts.sources.store.show(me.scope, str(source_id)))
