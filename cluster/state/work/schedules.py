"""Schedules as people see them: what runs when, for whom, and what became of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from cluster.basics.errors import Conflict, NotFound
from cluster.basics.ids import uuid_of
from cluster.basics.scope import Role, Scope
from cluster.state.db.postgres import Database, Row, Transaction, load_queries
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


class ScheduleStore:
    """Every statement of people about schedules."""

    def __init__(self, database: Database) -> None:
        """Queries are read from schedules.sql beside this file."""
        self._db = database
        self._sql = load_queries(Path(__file__).with_suffix(".sql"))

    async def add(self, tx: Transaction, scope: Scope, new: NewSchedule, now: datetime) -> str:
        """Add one that runs as its owner, with no more rights than `scope` has now.

        Raises:
            BadCron, BadTimezone: it would never be due.
            Conflict: the name is taken.
        """
        due = next_after(new.cron, new.timezone, now)
        try:
            row = await tx.one(
                self._sql["add"],
                **scope.keys,
                agent=uuid_of(new.agent, "agent"),
                user=scope.user,
                role=scope.role,
                name=new.name,
                cron=new.cron,
                timezone=new.timezone,
                action=new.action,
                payload=Jsonb(dict(new.payload)),
                enabled=new.enabled,
                next=due,
            )
        except psycopg.errors.UniqueViolation as error:
            raise Conflict(f"the schedule {new.name} exists already") from error
        assert row is not None
        return str(row["id"])

    async def show(self, scope: Scope, schedule: str) -> Row:
        """One schedule.

        Raises:
            NotFound: there is none of this id here.
        """
        async with self._db.transaction(scope) as tx:
            return _require_row(await tx.one(self._sql["show"], **_schedule_values(scope, schedule)), schedule)

    async def page(self, scope: Scope, skip: int, limit: int) -> tuple[list[Row], int]:
        """A page of the workspace's schedules by name, and how many there are."""
        async with self._db.transaction(scope) as tx:
            rows = await tx.all(self._sql["list"], **scope.keys, skip=skip, limit=limit)
            total = await tx.one(self._sql["count"], **scope.keys)
        return rows, int(total["total"]) if total else 0

    async def change(
        self, tx: Transaction, scope: Scope, schedule: str, change: ScheduleChange, now: datetime, role: Role | None
    ) -> None:
        """Change one; `role` is its new ceiling, None leaves the old. A due time that has begun is ended as it began.

        Raises:
            NotFound, Conflict: there is none of this id here, or the name is taken.
            BadCron, BadTimezone: it would never be due.
        """
        _require_row(await tx.one(self._sql["lock"], **_schedule_values(scope, schedule)), schedule)
        old = _require_row(await tx.one(self._sql["show"], **_schedule_values(scope, schedule)), schedule)
        due = next_after(change.cron or old["cron"], change.timezone or old["timezone"], now) if change.moves else None
        try:
            await tx.run(
                self._sql["change"],
                **_schedule_values(scope, schedule),
                name=change.name,
                cron=change.cron,
                timezone=change.timezone,
                payload=None if change.payload is None else Jsonb(dict(change.payload)),
                enabled=change.enabled,
                next=due,
                role=role,
            )
        except psycopg.errors.UniqueViolation as error:
            raise Conflict(f"the schedule {change.name} exists already") from error

    async def ask(self, tx: Transaction, scope: Scope, schedule: str) -> datetime:
        """Make it due now, enabled or not; returns the due time.

        Raises:
            NotFound: there is none of this id here.
        """
        row = _require_row(await tx.one(self._sql["ask"], **_schedule_values(scope, schedule)), schedule)
        asked: datetime = row["asked_at"]
        return asked

    async def remove(self, tx: Transaction, scope: Scope, schedule: str) -> None:
        """Take it away with its history.

        Raises:
            NotFound: there is none of this id here.
        """
        if not await tx.run(self._sql["remove"], **_schedule_values(scope, schedule)):
            raise NotFound(f"schedule {schedule}")

    async def runs(self, scope: Scope, schedule: str, skip: int, limit: int) -> tuple[list[Row], int]:
        """A page of what became of its due times, latest first, and how many there were.

        Raises:
            NotFound: there is none of this id here.
        """
        named = _schedule_values(scope, schedule)
        async with self._db.transaction(scope) as tx:
            _require_row(await tx.one(self._sql["show"], **named), schedule)
            rows = await tx.all(self._sql["runs"], **named, skip=skip, limit=limit)
            total = await tx.one(self._sql["count_runs"], **named)
        return rows, int(total["total"]) if total else 0


def _require_row(row: Row | None, schedule: str) -> Row:
    if row is None:
        raise NotFound(f"schedule {schedule}")
    return row


def _schedule_values(scope: Scope, schedule: str) -> dict[str, str]:
    """The schedule within its scope.

    Raises:
        NotFound: an id that is no UUID names no schedule.
    """
    return {"schedule": uuid_of(schedule, "schedule"), **scope.keys}
