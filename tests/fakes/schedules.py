"""Schedulers over real Postgres: one that keeps its word, and one that is killed in the middle (run as a module)."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg

from cluster.basics.scope import Scope
from cluster.basics.telemetry import Telemetry
from cluster.state.agent_store import AgentStore
from cluster.state.approvals import ApprovalStore
from cluster.state.audit import AuditLog
from cluster.state.conversations import ConversationStore
from cluster.state.db.postgres import Database
from cluster.state.identity.identity import IdentityStore
from cluster.state.work.runs import RunLedger
from cluster.state.work.schedules import Action, NewSchedule, ScheduleOutcome, ScheduleStore
from cluster.state.work.schedules_due import DueSchedules, DueTime, DueTimeResult
from configs.sections import AgentSettings
from configs.sections_skills import ScheduleSettings
from serve_apps.agents.durable.run_loop import RunTiming, TurnRunner
from serve_apps.agents.intake.path_router import read_rules
from serve_apps.agents.intake.route_cache import CachedRouter
from serve_apps.agents.intake.turn_intake import TurnIntake, TurnStores
from serve_apps.agents.schedules.scheduled_message import ScheduledMessage
from serve_apps.agents.schedules.scheduler import ScheduledAction, Scheduler
from serve_apps.agents.turn_ports import Journal, Turn, TurnOutcome
from serve_apps.agents.turn_ports import TurnPath as Way
from skills.framework.skill_store import SkillStore
from tests.fakes.http import make_memory
from tests.fakes.runs import remember

QUICK = ScheduleSettings(poll_seconds=0.05, seconds=20, lease_seconds=0.6)


@dataclass
class Clockwork:
    """Everything of a scheduler over one database."""

    database: Database
    schedules: ScheduleStore
    due: DueSchedules
    runs: RunLedger
    messages: ScheduledMessage

    def scheduler(
        self,
        actions: Mapping[Action, ScheduledAction] | None = None,
        settings: ScheduleSettings = QUICK,
        owner: str = "s1",
    ) -> Scheduler:
        known: dict[Action, ScheduledAction] = {Action.MESSAGE: self.messages}
        database = self.database
        return Scheduler(
            self.due,
            IdentityStore(database),
            AuditLog(database),
            known if actions is None else actions,
            settings,
            owner=owner,
        )

    @asynccontextmanager
    async def sweeping(self, *schedulers: Scheduler) -> AsyncIterator[None]:
        stop = asyncio.Event()
        tasks = [asyncio.create_task(one.sweep(stop)) for one in schedulers]
        try:
            yield
        finally:
            stop.set()
            await asyncio.gather(*tasks)

    async def until(self, scope: Scope, schedule: str, ended: int = 1, seconds: float = 20) -> list[dict[str, Any]]:
        """The history, as soon as so many due times have ended."""
        async with asyncio.timeout(seconds):
            while True:
                rows, _ = await self.schedules.runs(scope, schedule, 0, 100)
                if sum(row["status"] != "running" for row in rows) >= ended:
                    return rows
                await asyncio.sleep(0.05)


def make_desk(database: Database) -> TurnIntake:
    """The ordinary way in; nothing is carried here."""
    records = TurnStores(
        database,
        RunLedger(database),
        AgentStore(database),
        ConversationStore(database),
        make_memory(database),
        AuditLog(database),
        SkillStore(database),
        ApprovalStore(database, AuditLog(database)),
    )
    router = CachedRouter(read_rules(Path(str(files("configs"))) / "routing.yaml"), None, time.monotonic)
    return TurnIntake(records, router, {}, AgentSettings(), uuid4)


@asynccontextmanager
async def clockwork(app_dsn: str) -> AsyncIterator[Clockwork]:
    database = Database(app_dsn, size=6, timeout=20)
    await database.open()
    due, runs = DueSchedules(database), RunLedger(database)
    try:
        messages = ScheduledMessage(database, due, runs, make_desk(database), look_seconds=0.05)
        yield Clockwork(database, ScheduleStore(database), due, runs, messages)
    finally:
        await database.close()


@dataclass
class Noted:
    """An action that remembers when it was called for what, and for whom."""

    seconds: float = 0
    begun: list[DueTime] = field(default_factory=list)
    scopes: list[Scope] = field(default_factory=list)
    now: int = 0
    most: int = 0

    async def __call__(self, scope: Scope, due: DueTime, seconds: float) -> DueTimeResult:
        self.begun.append(due)
        self.scopes.append(scope)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(self.seconds)
        finally:
            self.now -= 1
        return DueTimeResult(ScheduleOutcome.COMPLETED)

    async def leave(self, due: DueTime) -> str | None:
        return None


async def agent_of(clocks: Clockwork, scope: Scope) -> str:
    async with clocks.database.transaction(scope) as tx:
        row = await tx.one(
            "insert into agents (tenant_id, workspace_id, name) values (%(t)s, %(w)s, 'keeper')"
            " on conflict (workspace_id, name) do update set name = 'keeper' returning id",
            t=scope.tenant,
            w=scope.workspace,
        )
    assert row is not None
    return str(row["id"])


async def add(clocks: Clockwork, scope: Scope, name: str = "morning", **other: Any) -> str:
    agent = await agent_of(clocks, scope)
    new = NewSchedule(name, agent, "0 6 * * *", Action.MESSAGE, payload={"message": "count the gauges"}, **other)
    async with clocks.database.transaction(scope) as tx:
        return await clocks.schedules.add(tx, scope, new, datetime.now(UTC))


def make_due(admin_dsn: str, schedule: str, hours: int = 30) -> None:
    with psycopg.connect(admin_dsn) as admin:
        admin.execute(
            "update schedules set next_at = now() - make_interval(hours => %s) where id = %s", (hours, schedule)
        )


async def ask(clocks: Clockwork, scope: Scope, schedule: str) -> None:
    async with clocks.database.transaction(scope) as tx:
        await clocks.schedules.ask(tx, scope, schedule)


async def answer(turn: Turn, journal: Journal) -> TurnOutcome:
    return TurnOutcome(f"heard: {turn.message}")


def runner(clocks: Clockwork) -> TurnRunner:
    return TurnRunner(
        clocks.runs,
        ApprovalStore(clocks.database, AuditLog(clocks.database)),
        dict.fromkeys(Way, answer),
        AgentSettings(lease_seconds=2, heartbeat_seconds=0.3, poll_seconds=0.05),
        owner="r",
        timing=RunTiming(time.monotonic, lambda: datetime.now(UTC)),
        remember=remember,
        audit=AuditLog(clocks.database),
        telemetry=Telemetry.off(),
    )


@dataclass
class Doomed:
    """Ends its process before or after it stored the turn."""

    messages: ScheduledMessage
    moment: str

    async def __call__(self, scope: Scope, due: DueTime, seconds: float) -> DueTimeResult:
        if self.moment == "after":
            await self.messages._accept(scope, due)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("it lives")

    async def leave(self, due: DueTime) -> str | None:
        return None


async def main(app_dsn: str, moment: str) -> None:
    async with clockwork(app_dsn) as made:
        doomed = made.scheduler({Action.MESSAGE: Doomed(made.messages, moment)}, owner="doomed")
        await doomed.sweep(asyncio.Event())


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
