"""Trials of sources: test and dry run of one that is not defined yet, rights as understood, and its syncs."""

from uuid import UUID

from fastapi import APIRouter

from pipelines.documents.sync.rights_summary import summarize_rights
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import ADMINISTER, OPERATE
from serve_apps.http.fields import Limit, Skip
from serve_apps.http.response_shapes import JobList, JobShape
from serve_apps.http.routes.documents.uploads import check_readers, named_groups
from serve_apps.http.routes.sources.source_shapes import (
    SourcePreviewRequest,
    SourcePreviewShape,
    SourceRights,
    SourceTrialRequest,
    Tested,
)
from serve_apps.http.routes.sources.source_views import reader_rules

router = APIRouter(route_class=GuardedRoute, tags=["sources"])


@router.post("/api/sources/test", dependencies=[ADMINISTER])
async def test_new_source(body: SourceTrialRequest, me: Me, parts: Its) -> Tested:
    """Open a source that is not defined yet and list its first items; nothing is stored, no document is read."""
    settings = await parts.sources.opener.pin(body.kind, body.settings)
    return Tested.of(await parts.sources.trials.test(me.scope, body.kind, settings, body.credential))


@router.post("/api/sources/dry-run", dependencies=[ADMINISTER])
async def preview_source(body: SourcePreviewRequest, me: Me, parts: Its) -> SourcePreviewShape:
    """Say what the first sync of a source would bring and who would see it; nothing is stored, no document is read.

    It lists for 20 seconds at most, or 20,000 items: `more` says that there are others.
    """
    readers = check_readers(body.readers)
    await parts.groups.require_names(me.scope, named_groups(readers))
    settings = await parts.sources.opener.pin(body.kind, body.settings)
    has_rights = parts.sources.opener.kind(body.kind).says_rights(settings)
    rules = await parts.sources.store.reader_rules(me.scope, has_rights, readers, body.group_names)
    seen = await parts.sources.trials.preview(me.scope, body.kind, settings, body.credential, rules)
    return SourcePreviewShape.of(seen, has_rights)


@router.get("/api/sources/{source_id}/rights", dependencies=[OPERATE])
async def source_rights(source_id: UUID, me: Me, parts: Its) -> SourceRights:
    """The source's rights as they are understood: how many items each reader gets, and who is unknown here."""
    row = await parts.sources.store.show(me.scope, str(source_id))
    counted = await parts.sources.store.rights(me.scope, str(row["id"]))
    return SourceRights.of(summarize_rights(counted, await reader_rules(parts, me, row)), row["has_rights"])


@router.get("/api/sources/{source_id}/jobs", dependencies=[OPERATE])
async def source_jobs(source_id: UUID, me: Me, parts: Its, skip: Skip = 0, limit: Limit = 50) -> JobList:
    """Its syncs, newest first, dry runs among them."""
    row = await parts.sources.store.show(me.scope, str(source_id))
    rows, total = await parts.job_queries.page(
        me.scope, state=None, kind="sync", source=str(row["id"]), skip=skip, limit=limit
    )
    return JobList(items=[JobShape.of(row) for row in rows], total=total)
