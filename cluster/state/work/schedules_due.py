"""Due schedules: claimed by lease, carried out under a fencing token, each due time ended once."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from cluster.basics.errors import LeaseLost
from cluster.basics.scope import Role, Scope, TenantId, UserId, WorkspaceId
from cluster.state.db.postgres import Database, Row, Transaction, load_queries
from cluster.state.work.cron import next_after
from cluster.state.work.schedules import Action, ScheduleOutcome


@dataclass(frozen=True, slots=True)
class ScheduleLease:
    """The right to carry out what is due of a schedule, until somebody else claims it."""

    schedule: str
    scope: Scope
    fence: int


@dataclass(frozen=True, slots=True)
class DueTime:
    """A due time that is being carried out.

    Attributes:
        id: of its row in the history; the same at every attempt, so whatever carries it can be done once.
        owner, role: whose it is, and the ceiling of what it may.
        attempts: how often it was begun, from 1.
    """

    id: str
    lease: ScheduleLease
    at: datetime
    agent: str
    owner: UserId
    role: Role
    name: str
    action: Action
    payload: Mapping[str, Any]
    attempts: int


@dataclass(frozen=True, slots=True)
class DueTimeResult:
    """The result of a due time: its outcome, the turn or the job that it led to, and why it did not go well."""

    status: ScheduleOutcome
    run: str | None = None
    job: str | None = None
    error: str | None = None


class DueSchedules:
    """Every statement of those who carry schedules out."""

    def __init__(self, database: Database) -> None:
        """Queries are those of schedules.sql."""
        self._db = database
        self._sql = load_queries(Path(__file__).with_name("schedules.sql"))

    async def claim(self, owner: str, lease_seconds: float, most: int) -> list[ScheduleLease]:
        """Take what is due, so that no more than `most` are carried anywhere."""
        async with self._db.transaction() as tx:
            rows = await tx.all(self._sql["claim"], owner=owner, lease=lease_seconds, most=most)
        return [_read_lease(row) for row in rows]

    async def begin(self, lease: ScheduleLease) -> DueTime:
        """Write down that an attempt begins.

        Raises:
            LeaseLost: somebody else has it, or the schedule is gone.
        """
        async with self._db.transaction(lease.scope) as tx:
            held = await self.hold(tx, lease)
            row = await tx.one(self._sql["begin"], **_schedule_values(lease))
        assert row is not None
        return DueTime(
            id=str(row["id"]),
            lease=lease,
            at=held["due_at"],
            agent=str(held["agent_id"]),
            owner=UserId(str(held["owner_id"])),
            role=Role(held["role"]),
            name=held["name"],
            action=Action(held["action"]),
            payload=held["payload"],
            attempts=row["attempts"],
        )

    async def hold(self, tx: Transaction, lease: ScheduleLease) -> Row:
        """Lock the schedule for a transaction that writes what its due time leads to.

        Raises:
            LeaseLost: the fencing token is stale; nothing may be written.
        """
        row = await tx.one(self._sql["held"], **_schedule_values(lease), fence=lease.fence)
        if row is None:
            raise LeaseLost(f"schedule {lease.schedule}, token {lease.fence}")
        return row

    async def heartbeat(self, lease: ScheduleLease, lease_seconds: float) -> None:
        """Extend the lease.

        Raises:
            LeaseLost: somebody else has it, or the schedule is gone.
        """
        async with self._db.transaction(lease.scope) as tx:
            row = await tx.one(
                self._sql["heartbeat"], **_schedule_values(lease), fence=lease.fence, lease=lease_seconds
            )
        if row is None:
            raise LeaseLost(f"schedule {lease.schedule}, token {lease.fence}")

    async def finish(self, due: DueTime, ending: DueTimeResult) -> None:
        """End the due time; the next one is in the future, however many were missed.

        Raises:
            LeaseLost: somebody else has it, or the schedule is gone; nothing was written.
        """
        lease = due.lease
        scoped = {"tenant": lease.scope.tenant, "workspace": lease.scope.workspace}
        async with self._db.transaction(lease.scope) as tx:
            held = await self.hold(tx, lease)
            following = next_after(held["cron"], held["timezone"], held["now"])
            await tx.run(
                self._sql["end_run"],
                **scoped,
                id=due.id,
                status=ending.status,
                error=ending.error,
                run=ending.run,
                job=ending.job,
            )
            await tx.run(
                self._sql["done"], **_schedule_values(lease), fence=lease.fence, status=ending.status, next=following
            )

    async def release(self, lease: ScheduleLease) -> None:
        """Give a due time back that was not ended."""
        async with self._db.transaction(lease.scope) as tx:
            await tx.run(self._sql["release"], **_schedule_values(lease), fence=lease.fence)


def _read_lease(row: Row) -> ScheduleLease:
    scope = Scope.of_worker(TenantId(str(row["tenant_id"])), WorkspaceId(str(row["workspace_id"])))
    return ScheduleLease(str(row["id"]), scope, row["fence"])


def _schedule_values(lease: ScheduleLease) -> dict[str, str]:
    return {"schedule": lease.schedule, "tenant": lease.scope.tenant, "workspace": lease.scope.workspace}
