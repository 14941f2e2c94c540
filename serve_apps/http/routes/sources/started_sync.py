"""Jobs of sources that somebody starts, with the line in the audit trail that says so."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import Query, Response

from cluster.state.db.postgres import Transaction
from cluster.state.identity.identity import WorkspaceMember
from cluster.state.work.jobs import EnqueuedJob
from serve_apps.http.auth.request_limits import caller_of
from serve_apps.http.deps import AppDependencies
from serve_apps.http.response_shapes import Started
from serve_apps.http.routes.sources.source_shapes import Removed

WhatBecomes = Annotated[
    Literal["keep", "delete"], Query(description="Whether its documents stay, as if they were uploaded.")
]


async def start_sync(
    parts: AppDependencies,
    me: WorkspaceMember,
    action: str,
    source_id: str,
    start: Callable[[Transaction], Awaitable[EnqueuedJob]],
    detail: dict[str, Any],
) -> Started:
    """Start a job of a source's, and write down who did; a job that is under way already is nobody's doing."""
    async with parts.database.transaction(me.scope) as tx:
        job = await start(tx)
        if job.fresh:
            await parts.limits.require_job(tx, caller_of(me), added=1)
            await parts.audit.record(tx, me.scope, action, source_id, detail={**detail, "job": job.job})
    return Started(job_id=UUID(job.job), fresh=job.fresh)


async def remove(
    parts: AppDependencies,
    me: WorkspaceMember,
    action: str,
    source_id: str,
    response: Response,
    documents: Literal["keep", "delete"],
) -> Removed:
    """Remove a source; its documents stay, or a job deletes them (202): all, or those alone that had left it."""
    if documents == "delete":

        async def start(tx: Transaction) -> EnqueuedJob:
            return await parts.sources.starter.remove(tx, me.scope, source_id)

        response.status_code = 202
        job = await start_sync(parts, me, action, source_id, start, {"documents": documents})
        return Removed(status="removing", job_id=job.job_id)
    async with parts.audited(me, action, source_id, {"documents": documents}) as tx:
        left = await parts.sources.starter.keep(tx, me.scope, source_id)
        if left is not None:
            await parts.limits.require_job(tx, caller_of(me), added=1)
    if left is None:
        return Removed(status="removed", job_id=None)
    response.status_code = 202
    return Removed(status="removing", job_id=UUID(left.job))
