"""Many turns on few database connections: all end whole, and a turn asks for a connection no oftener than it must."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cluster.models.connections.configured import ConfiguredConnections
from cluster.models.connections.connection_store import ConnectionStore
from cluster.state.agent_store import AgentStore, NewAgent
from cluster.state.db.postgres import Connection, Database
from cluster.state.vault import Vault, VaultKey
from configs.settings import load_settings
from serve_apps.agents import turn_ports
from serve_apps.agents.events import EventKind
from serve_apps.agents.turn.delegation import StoredAgents
from serve_apps.agents.turn_ports import IncomingMessage
from serve_apps.wiring.agents import TurnRuntime, build_container, build_turn_intake
from skills.framework.skill_store import SkillStore
from tests.bench import agent_servers
from tests.fakes import agents_contract as contract
from tests.fakes.model_server import ModelServer, serve_model
from tests.fakes.models import FakeEmbedder

pytestmark = pytest.mark.postgres


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with serve_model(agent_servers.reply) as served:
        yield served


async def test_forty_turns_at_once_share_five_connections(
    app_dsn: str, admin_dsn: str, redis_url: str, tmp_path: Path, model: ModelServer
) -> None:
    """A pool of five: each stream tells its own answer once, every event has its number, and nobody is turned away."""
    stores = {"DATABASE_URL": app_dsn, "REDIS_URL": redis_url}
    settings = load_settings({**agent_servers.environment(tmp_path, model.url), **stores})
    assert settings.postgres.pool_size == 5
    base, scope = build_container(settings, FakeEmbedder(), None), contract.person(admin_dsn)
    workshop = TurnRuntime(settings, base)
    way_in = build_turn_intake(settings, base, dict.fromkeys(turn_ports.TurnPath, workshop.carrier))

    async def ask(number: int) -> None:
        said = way_in.process(scope, IncomingMessage("", agent_servers.question(number)))
        events = [event async for event in said]
        whole = [event for event in events if not event.piece]
        assert [event.seq for event in whole] == list(range(1, len(whole) + 1))
        (text,) = [event for event in whole if event.kind is EventKind.TEXT]
        pieces = "".join(event.data["text"] for event in events if event.piece)
        assert pieces + text.data["text"][text.sent :] == agent_servers.answer(number)
        assert (whole[-1].kind, whole[-1].data["answer"]) == (EventKind.DONE, agent_servers.answer(number))

    await base.database.open()
    await workshop.open()
    try:
        await asyncio.gather(*map(ask, range(40)))
    finally:
        await workshop.close()
        await base.close()
        await base.database.close()


@dataclass
class Lent:
    """How often a connection was lent."""

    times: int = field(default=0)


class CountingDatabase(Database):
    """Counts."""

    def __init__(self, dsn: str, lent: Lent) -> None:
        super().__init__(dsn, size=1)
        self.lent = lent

    @asynccontextmanager
    async def _lent(self) -> AsyncIterator[Connection]:
        self.lent.times += 1
        async with super()._lent() as connection:
            yield connection


async def test_what_every_turn_looks_up_is_one_transaction(app_dsn: str, admin_dsn: str) -> None:
    """Regression: the connections took three for each call of a model, the agent two."""
    scope, lent = contract.person(admin_dsn), Lent()
    database = CountingDatabase(app_dsn, lent)
    await database.open()
    try:
        agents = AgentStore(database)
        async with database.transaction(scope) as tx:
            await agents.add(tx, scope, NewAgent("keeper"))
        lent.times = 0
        found = await StoredAgents(database, agents, SkillStore(database)).find(scope, "keeper")
        assert (found.name, lent.times) == ("keeper", 1)
        assert await StoredAgents(database, agents, SkillStore(database)).find(scope, found.id) == found
        lent.times = 0
        stored = ConnectionStore(database, Vault([VaultKey(b"k" * 32)]), ConfiguredConnections())
        assert await stored.offered(scope) == ([], None)
        assert lent.times == 1
    finally:
        await database.close()
