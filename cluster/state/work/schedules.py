"""Schedules as people see them: what runs when, for whom, and what became of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from psycopg.types.json import Jsonb

from cluster.basics.errors import NotFound
from cluster.basics.ids import scoped_id, uuid_of
from cluster.basics.scope import Role, Scope
from cluster.state.db.postgres import Row, SqlStore, Transaction, field_values, unique_or_conflict
from cluster.state.work.cron import next_after


class Action(StrEnum):
    """The action of a schedule: send a message to an agent, or let it study and examine it."""

    MESSAGE = "message"
    ACADEMY = "academy"


class ScheduleOutcome(StrEnum):
    """The outcome of a due time; a turn that waits for a person goes on without the schedule."""

    COMPLETED = "completed"
    FAILED = "failed"
    WAITING = "waiting"
    CANCELLED = "cancelled"
    TIMEOUT = "timeout"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class NewSchedule:
    """A schedule to be; `cron` has five fields of the wall clock of `timezone` (IANA), `agent` is an id."""

    name: str
    agent: str
    cron: str
    action: Action
    timezone: str = "UTC"
    payload: Mapping[str, Any] = field(default_factory=dict)
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class ScheduleChange:
    """A change of a schedule; None stays."""

    name: str | None = None
    cron: str | None = None
    timezone: str | None = None
    payload: Mapping[str, Any] | None = None
    enabled: bool | None = None

    @property
    def moves(self) -> bool:
        """True where it changes the due times."""
        return self.cron is not None or self.timezone is not None or self.enabled is True


class ScheduleStore(SqlStore, queries="schedules.sql"):
    """Every statement of people about schedules."""

    async def add(self, tx: Transaction, scope: Scope, new: NewSchedule, now: datetime) -> str:
        """Add one that runs as its owner, with no more rights than `scope` has now.

        Raises BadCron or BadTimezone where it would never be due, Conflict where the name is taken.
        """
        values = {**scope.keys, "user": scope.user, "role": scope.role, "next": next_after(new.cron, new.timezone, now)}
        values |= field_values(new) | {"agent": uuid_of(new.agent, "agent"), "payload": Jsonb(dict(new.payload))}
        with unique_or_conflict(f"the schedule {new.name} exists already"):
            row = await tx.only(self._sql["add"], **values)
        return str(row["id"])

    async def show(self, scope: Scope, schedule: str) -> Row:
        """One schedule. Raises NotFound where there is none."""
        async with self._db.transaction(scope) as tx:
            return await self._require_schedule(tx, "show", scope, schedule)

    async def page(self, scope: Scope, skip: int, limit: int) -> tuple[list[Row], int]:
        """A page of the workspace's schedules by name, and how many there are."""
        async with self._db.transaction(scope) as tx:
            return await tx.page(self._sql["list"], self._sql["count"], **scope.keys, skip=skip, limit=limit)

    async def change(
        self, tx: Transaction, scope: Scope, schedule: str, change: ScheduleChange, now: datetime, role: Role | None
    ) -> None:
        """Change one; `role` is its new ceiling, None leaves the old. A due time that has begun is ended as it began.

        Raises as `add`, and NotFound where there is none of this id here.
        """
        await self._require_schedule(tx, "lock", scope, schedule)
        old = await self._require_schedule(tx, "show", scope, schedule)
        due = next_after(change.cron or old["cron"], change.timezone or old["timezone"], now) if change.moves else None
        values = field_values(change) | scoped_id(scope, "schedule", schedule) | {"next": due, "role": role}
        values["payload"] = None if change.payload is None else Jsonb(dict(change.payload))
        with unique_or_conflict(f"the schedule {change.name} exists already"):
            await tx.run(self._sql["change"], **values)

    async def ask(self, tx: Transaction, scope: Scope, schedule: str) -> datetime:
        """Make it due now, enabled or not; returns the due time. Raises NotFound where there is none."""
        asked: datetime = (await self._require_schedule(tx, "ask", scope, schedule))["asked_at"]
        return asked

    async def remove(self, tx: Transaction, scope: Scope, schedule: str) -> None:
        """Take it away with its history. Raises NotFound where there is none."""
        if not await tx.run(self._sql["remove"], **scoped_id(scope, "schedule", schedule)):
            raise NotFound(f"schedule {schedule}")

    async def runs(self, scope: Scope, schedule: str, skip: int, limit: int) -> tuple[list[Row], int]:
        """A page of what became of its due times, latest first, and how many there were.

        Raises NotFound where there is none.
        """
        named = scoped_id(scope, "schedule", schedule)
        async with self._db.transaction(scope) as tx:
            await self._require_schedule(tx, "show", scope, schedule)
            return await tx.page(self._sql["runs"], self._sql["count_runs"], **named, skip=skip, limit=limit)

    async def _require_schedule(self, tx: Transaction, query: str, scope: Scope, schedule: str) -> Row:
        return await tx.required(f"schedule {schedule}", self._sql[query], **scoped_id(scope, "schedule", schedule))
