"""Schedulers over real Postgres: one that keeps its word, and one that is killed in the middle (run as a module)."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any
from uuid import uuid4

from cluster.basics.scope import Scope
from cluster.state.audit import Audit
from cluster.state.conversations import Conversations
from cluster.state.identity import Identity
from cluster.state.postgres import Database
from cluster.state.runs import Runs
from cluster.state.schedules import Action, Schedules
from cluster.state.schedules_due import Due, DueSchedules, Ending
from configs.sections import AgentSettings
from configs.sections_skills import ScheduleSettings
from pipelines.documents.links import Links
from serve_apps.agents.desk import Desk, Records
from serve_apps.agents.route import read_rules
from serve_apps.agents.route_cache import CachedRouter
from serve_apps.agents.schedule import Carries, Scheduler
from serve_apps.agents.schedule_message import Messages
from skills.store import Skills
from tests.fakes.http import make_memory

QUICK = ScheduleSettings(poll_seconds=0.05, seconds=20, lease_seconds=0.6)


@dataclass
class Clockwork:
    """Everything of a scheduler over one database."""

    database: Database
    schedules: Schedules
    due: DueSchedules
    runs: Runs
    messages: Messages

    def scheduler(
        self, actions: Mapping[Action, Carries] | None = None, settings: ScheduleSettings = QUICK, owner: str = "s1"
    ) -> Scheduler:
        known: dict[Action, Carries] = {Action.MESSAGE: self.messages}
        database = self.database
        return Scheduler(
            self.due, Identity(database), Audit(database), known if actions is None else actions, settings, owner=owner
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


def make_desk(database: Database) -> Desk:
    """The ordinary way in; nothing is carried here."""
    records = Records(
        database, Runs(database), Links(database), Conversations(database), make_memory(database), Audit(database),
        Skills(database),
    )  # fmt: skip
    router = CachedRouter(read_rules(Path(str(files("configs"))) / "routing.yaml"), None, time.monotonic)
    return Desk(records, router, {}, AgentSettings(), uuid4)


@asynccontextmanager
async def clockwork(app_dsn: str) -> AsyncIterator[Clockwork]:
    database = Database(app_dsn, size=6, timeout=20)
    await database.open()
    due, runs = DueSchedules(database), Runs(database)
    try:
        messages = Messages(database, due, runs, make_desk(database), look_seconds=0.05)
        yield Clockwork(database, Schedules(database), due, runs, messages)
    finally:
        await database.close()


@dataclass
class Doomed:
    """Ends its process before or after it stored the turn."""

    messages: Messages
    moment: str

    async def __call__(self, scope: Scope, due: Due, seconds: float) -> Ending:
        if self.moment == "after":
            await self.messages._accept(scope, due)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("it lives")


async def main(app_dsn: str, moment: str) -> None:
    async with clockwork(app_dsn) as made:
        doomed = made.scheduler({Action.MESSAGE: Doomed(made.messages, moment)}, owner="doomed")
        await doomed.sweep(asyncio.Event())


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
