"""Counts for operators: of the whole system without saying whose, and of a workspace's last day."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from cluster.basics.scope import Scope
from cluster.state.db.postgres import Row, SqlStore

DAY = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class LaneLoad:
    """The load of a lane of the ledger, of everybody together: jobs waiting and running; `oldest` in seconds."""

    name: str
    waiting: int
    running: int
    oldest: float


@dataclass(frozen=True, slots=True)
class WorkspaceDay:
    """A workspace's last 24 hours.

    Attributes:
        jobs: the newest that wait or run, and `jobs_total` how many there are.
        approvals: how many wait for a decision, and since when the oldest does.
        failures: pages and files that failed: reason, count and the newest job.
        broken: turns that failed: code, count and the newest run.
        hours: turns, tokens and cost; `pages`: how many were read; both by hour, oldest first.
    """

    jobs: list[Row]
    jobs_total: int
    approvals: int
    approvals_since: datetime | None
    failures: list[Row]
    broken: list[Row]
    hours: list[Row]
    pages: list[Row]


class SystemQueries(SqlStore, queries="system.sql"):
    """Reads; every figure is counted when it is asked for."""

    async def lanes(self) -> list[LaneLoad]:
        """The load of each lane; one that is empty is not there."""
        async with self._db.transaction() as tx:
            rows = await tx.all(self._sql["lanes"])
        return [LaneLoad(row["lane"], row["waiting"], row["running"], float(row["oldest_seconds"])) for row in rows]

    async def counts(self) -> dict[str, dict[str, float]]:
        """Figure to label to value: jobs by kind and state, pages by engine, and so on."""
        async with self._db.transaction() as tx:
            rows = await tx.all(self._sql["counts"])
        found: dict[str, dict[str, float]] = {}
        for row in rows:
            found.setdefault(row["figure"], {})[row["label"] or ""] = float(row["value"] or 0)
        return found

    async def day(self, scope: Scope, now: datetime, most: int = 10) -> WorkspaceDay:
        """The workspace's failures, approvals, usage and pages of the last 24 hours, and what runs there now."""
        values: dict[str, Any] = {**scope.keys, "since": now - DAY, "until": now, "limit": most}
        async with self._db.transaction(scope) as tx:
            jobs = await tx.all(self._sql["running_jobs"], **values)
            waiting = await tx.only(self._sql["pending_approvals"], **values)
            return WorkspaceDay(
                jobs=jobs,
                jobs_total=int(jobs[0]["total"]) if jobs else 0,
                approvals=int(waiting["total"]),
                approvals_since=waiting["oldest"],
                failures=await tx.all(self._sql["page_failures"], **values),
                broken=await tx.all(self._sql["run_failures"], **values),
                hours=await tx.all(self._sql["hours"], **values),
                pages=await tx.all(self._sql["pages_done"], **values),
            )

    async def store(self, scope: Scope) -> Row | None:
        """The workspace's live generation: its number, embedder, dimension and how many chunks it holds."""
        rows = await self._db.read(scope, self._sql["store"], **scope.keys)
        return rows[0] if rows else None
