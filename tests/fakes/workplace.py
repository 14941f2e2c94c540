"""A whole way in: desk, workshop and memory over real Postgres and Redis, a scripted model over HTTP, and people."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from cluster.basics.scope import Role, Scope, UserId
from cluster.models.ports import Embedder
from cluster.state.work.run_queries import RunQueries
from configs.settings import load_settings
from serve_apps.agents import turn_ports
from serve_apps.agents.events import Event
from serve_apps.agents.intake.turn_intake import TurnIntake
from serve_apps.agents.turn_ports import IncomingMessage
from serve_apps.wiring.agents import Container, TurnRuntime, build_container, build_turn_intake
from tests.fakes.http import Office, open_office
from tests.fakes.model_server import ModelServer
from tests.fakes.models import FakeEmbedder


@dataclass
class Workplace:
    """A workspace with its people, and the way in; a workshop is a process that may be thrown away."""

    office: Office
    base: Container
    desk: TurnIntake
    runs: RunQueries
    model: ModelServer
    settings: Any
    people: dict[Role, Scope]

    @property
    def ann(self) -> Scope:
        return self.people[Role.OPERATOR]

    async def tell(self, message: str, session: str = "trip", **more: Any) -> list[Event]:
        scope = more.pop("scope", self.ann)
        incoming = IncomingMessage("", message, session, **{"person": True, **more})
        return [event async for event in self.desk.process(scope, incoming)]

    async def until(self, run: str, *states: str) -> str:
        async with asyncio.timeout(20):
            while True:
                if (state := str((await self.runs.show(self.ann, run))["state"])) in states:
                    return state
                await asyncio.sleep(0.03)


@asynccontextmanager
async def workplace(
    app_dsn: str,
    admin_dsn: str,
    redis_url: str,
    folder: Path,
    model: ModelServer,
    embedder: Embedder | None = None,
    **more: str,
) -> AsyncIterator[Workplace]:
    """Open for as long as it is used; `more` is environment."""
    given: Mapping[str, str] = {
        "AOS_STATE_DIR": str(folder),
        "DATABASE_URL": app_dsn,
        "REDIS_URL": redis_url,
        "LLM_BASE_URL": model.url,
        "LLM_DEFAULT_MODEL": "scripted-1",
        "AOS_LLM_SUPPORTS_TOOLS": "true",
        "AOS_AGENTS_HEARTBEAT_SECONDS": "0.3",
        "AOS_AGENTS_POLL_SECONDS": "0.1",
        "AOS_AGENTS_PLANNING_ENABLED": "false",
    }
    settings = load_settings({**given, **more})
    base = build_container(settings, embedder or FakeEmbedder(), None)
    await base.database.open()
    workshop = TurnRuntime(settings, base)
    await workshop.open()
    office = open_office(admin_dsn)
    try:
        scopes = {role: scope_of(admin_dsn, office, role) for role in (Role.OPERATOR, Role.ADMIN)}
        turns = build_turn_intake(settings, base, dict.fromkeys(turn_ports.TurnPath, workshop.carrier))
        yield Workplace(office, base, turns, RunQueries(base.database, base.governance.seals), model, settings, scopes)
    finally:
        await workshop.close()
        await base.close()
        await base.database.close()


def scope_of(admin_dsn: str, office: Office, role: Role) -> Scope:
    email = office.emails[role]
    with psycopg.connect(admin_dsn) as connection:
        row = connection.execute("select id from users where email = %s", (email,)).fetchone()
    assert row is not None
    return Scope(office.scope.tenant, office.scope.workspace, (f"user:{email}",), UserId(str(row[0])), role)
