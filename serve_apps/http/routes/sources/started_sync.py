"""Jobs of sources that somebody starts, with the line in the audit trail that says so."""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

from cluster.state.db.postgres import Transaction
from cluster.state.identity.identity import WorkspaceMember
from cluster.state.work.jobs import EnqueuedJob
from serve_apps.http.auth.request_limits import caller_of
from serve_apps.http.deps import AppDependencies
from serve_apps.http.response_shapes import Started


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
