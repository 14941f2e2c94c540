"""Searches ask models through the router: whose connections, whose money, and nothing where there is no model."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import psycopg
import pytest

from cluster.basics.errors import NotFound, Unavailable
from cluster.basics.scope import Scope
from cluster.models.connections.endpoint_connection import ModelConnection
from cluster.models.model_errors import NoModel, OverBudget
from cluster.models.routing.router import ModelRouter
from cluster.models.routing.spend import SpendStore
from cluster.models.routing.tasks import Task
from cluster.state.agent_store import AgentStore
from cluster.state.audit import AuditLog
from cluster.state.db.postgres import Database
from serve_apps.agents.intake.assistant import standing_assistant
from serve_apps.wiring.search import RoutedWriter
from tests.fakes import corpus
from tests.fakes.routing import HELLO, ScriptedModel, connection, failing

NOW = datetime(2026, 3, 4, tzinfo=UTC)


@dataclass
class Offered:
    """`ConnectionSource` of every scope."""

    models: dict[ModelConnection, ScriptedModel] = field(default_factory=dict)

    async def offered(self, scope: Scope) -> tuple[Sequence[ModelConnection], str | None]:
        return tuple(self.models), next((one.id for one in self.models), None)

    async def open(self, scope: Scope, connection: ModelConnection) -> ScriptedModel:
        return self.models[connection]


@dataclass
class House:
    admin: psycopg.Connection[tuple[object, ...]]
    database: Database
    scope: Scope

    def writer(self, *models: tuple[ModelConnection, ScriptedModel]) -> RoutedWriter:
        offered = Offered(dict(models))
        router = ModelRouter(offered, SpendStore(self.database, lambda: NOW))
        return RoutedWriter(router, offered, AgentStore(self.database, standing_assistant(AuditLog(self.database))))

    def rows(self, query: str) -> list[tuple[object, ...]]:
        return self.admin.execute(query).fetchall()


@pytest.fixture
async def house(admin_dsn: str, app_dsn: str) -> AsyncIterator[House]:
    database = Database(app_dsn, size=1, timeout=5)
    await database.open()
    with psycopg.connect(admin_dsn, autocommit=True) as admin:
        yield House(admin, database, corpus.open_home(admin))
    await database.close()


async def test_the_agents_own_money_pays(house: House) -> None:
    """RE-06: what enhancing or judging costs is counted where its agent's turns are."""
    agent = corpus.open_agent(house.admin, house.scope, "reader")
    writer = house.writer((connection("a", price=2), ScriptedModel()))
    written = await writer.write(house.scope, agent, Task.EXTRACT, HELLO)
    assert (written.text, written.model) == ("Hello there", "as-named-by-the-provider")
    assert house.rows("select agent_id::text, calls, prompt_tokens from spend") == [(agent, 1, 1000)]


async def test_without_an_agent_the_workspaces_assistant_pays(house: House) -> None:
    """RE-06: a search over HTTP names none."""
    writer = house.writer((connection("a"), ScriptedModel()))
    for _ in range(2):
        await writer.write(house.scope, None, Task.EXTRACT, HELLO)
    paid = house.rows("select a.name, s.calls from spend s join agents a on a.id = s.agent_id")
    assert paid == [("assistant", 2)]


async def test_without_a_model_nothing_is_made(house: House) -> None:
    """RE-01: to search is to read; no agent comes to be where there is nothing to ask."""
    for models in ([], [(connection("a", enabled=False), ScriptedModel())]):
        with pytest.raises(NoModel):
            await house.writer(*models).write(house.scope, None, Task.EXTRACT, HELLO)
    assert house.rows("select name from agents") == []


async def test_a_spent_budget_and_a_foreign_agent_are_refused(house: House) -> None:
    model = ScriptedModel()
    writer = house.writer((connection("a"), model))
    other = corpus.open_agent(house.admin, corpus.open_home(house.admin, "other"), "foreign")
    with pytest.raises(NotFound):
        await writer.write(house.scope, other, Task.EXTRACT, HELLO)
    house.admin.execute("update tenants set budget_usd = 0 where id = %s", (house.scope.tenant,))
    with pytest.raises(OverBudget):
        await writer.write(house.scope, None, Task.EXTRACT, HELLO)
    assert model.asked == []


async def test_a_model_that_fails_is_an_error_by_name(house: House) -> None:
    with pytest.raises(Unavailable, match="gone"):
        await house.writer((connection("a"), failing(Unavailable("gone")))).write(
            house.scope, None, Task.EXTRACT, HELLO
        )
