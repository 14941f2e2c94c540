"""Due schedules: claimed by lease, carried out under a fencing token, each due time ended once."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cluster.basics.scope import Role, UserId
from cluster.state.db.postgres import field_values
from cluster.state.work.cron import next_after
from cluster.state.work.lease import Lease, LeaseLedger
from cluster.state.work.schedules import Action, ScheduleOutcome


class ScheduleLease(Lease):
    """The right to carry out what is due of a schedule."""

    __slots__ = ()
    noun = "schedule"

    @property
    def schedule(self) -> str:
        """The schedule's id."""
        return self.id


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


class DueSchedules(LeaseLedger[ScheduleLease], queries="schedules.sql"):
    """Every statement of those who carry schedules out."""

    _lease_type = ScheduleLease

    async def claim(self, owner: str, lease_seconds: float, most: int) -> list[ScheduleLease]:
        """Take what is due, so that no more than `most` are carried anywhere."""
        return await self._claim_leases(owner=owner, lease=lease_seconds, most=most)

    async def begin(self, lease: ScheduleLease) -> DueTime:
        """Write down that an attempt begins. Raises LeaseLost where somebody else has it, or the schedule is gone."""
        async with self._db.transaction(lease.scope) as tx:
            held = await self.hold(tx, lease)
            row = await tx.only(self._sql["begin"], **lease.values)
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

    async def finish(self, due: DueTime, ending: DueTimeResult) -> None:
        """End the due time; the next one is in the future, however many were missed.

        Raises LeaseLost where somebody else has it, or the schedule is gone; nothing was written.
        """
        lease = due.lease
        async with self._db.transaction(lease.scope) as tx:
            held = await self.hold(tx, lease)
            following = next_after(held["cron"], held["timezone"], held["now"])
            await tx.run(self._sql["end_run"], **lease.values, id=due.id, **field_values(ending))
            await tx.run(self._sql["done"], **lease.values, status=ending.status, next=following)
