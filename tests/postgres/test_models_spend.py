"""What agents spend: counted without loss, by calendar month, seen by nobody else, and held against budgets."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from uuid import uuid4

import psycopg
import pytest

from cluster.basics.errors import NotFound
from cluster.basics.scope import Scope
from cluster.models.connections.endpoint_connection import ModelConnection
from cluster.models.messages import TokenUsage
from cluster.models.model_errors import OverBudget
from cluster.models.routing.router import ModelRouter
from cluster.models.routing.spend import SpendStore
from cluster.state.db.postgres import Database
from tests.fakes.ledger import new_workspace
from tests.fakes.routing import HELLO, ScriptedModel, Shelf, connection

NOVEMBER = datetime(2026, 11, 30, 23, 59, tzinfo=UTC)


@dataclass
class Moment:
    now: datetime = field(default=NOVEMBER)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
async def pool(app_dsn: str) -> AsyncIterator[Database]:
    made = Database(app_dsn, size=3)
    await made.open()
    yield made
    await made.close()


def new_agent(admin_dsn: str, scope: Scope, name: str = "keeper") -> str:
    agent = str(uuid4())
    with psycopg.connect(admin_dsn) as owner:
        owner.execute(
            "insert into agents (id, tenant_id, workspace_id, name) values (%s, %s, %s, %s)",
            (agent, scope.tenant, scope.workspace, name),
        )
    return agent


async def test_replies_at_once_are_all_counted(pool: Database, admin_dsn: str, scope: Scope) -> None:
    """MR-06: forty replies over three connections to the database; none is lost, none is doubled."""
    agent, spend = new_agent(admin_dsn, scope), SpendStore(pool, Moment())
    await asyncio.gather(*(spend.add(scope, agent, TokenUsage(100, 10), 0.0000123) for _ in range(40)))
    (row,) = await spend.by_agent(scope)
    assert (row["calls"], row["prompt_tokens"], row["completion_tokens"]) == (40, 4000, 400)
    assert row["cost_usd"] == Decimal("0.0000123") * 40 and row["name"] == "keeper"
    state = await spend.state(scope, agent, {"budget_usd": 5})
    assert (state.agent, state.tenant, state.agent_budget) == (row["cost_usd"], row["cost_usd"], 5)
    state.check()


async def test_a_month_is_a_calendar_month_of_utc(pool: Database, admin_dsn: str, scope: Scope) -> None:
    moment = Moment()
    agent, spend = new_agent(admin_dsn, scope), SpendStore(pool, moment)
    await spend.add(scope, agent, TokenUsage(1, 1), 3.0)
    config = {"budget_usd": 3}
    with pytest.raises(OverBudget, match="the agent has spent"):
        (await spend.state(scope, agent, config)).check()
    moment.now = datetime(2026, 12, 1, 1, 0, tzinfo=timezone(timedelta(hours=2)))  # still November in UTC
    with pytest.raises(OverBudget):
        (await spend.state(scope, agent, config)).check()
    moment.now = NOVEMBER + timedelta(minutes=1)
    (await spend.state(scope, agent, config)).check()
    assert await spend.by_agent(scope) == []


async def test_a_tenant_budget_counts_all_its_workspaces(pool: Database, admin_dsn: str) -> None:
    """MR-06: and no other tenant's; each workspace sees only its own rows."""
    first, stranger = await new_workspace(admin_dsn, "acme"), await new_workspace(admin_dsn)
    second = await new_workspace(admin_dsn, "acme")
    spend = SpendStore(pool, Moment())
    agents = {scope.workspace: new_agent(admin_dsn, scope) for scope in (first, second, stranger)}
    for scope, cost in ((first, 2.0), (second, 3.0), (stranger, 50.0)):
        await spend.add(scope, agents[scope.workspace], TokenUsage(1, 1), cost)
    with psycopg.connect(admin_dsn) as owner:
        owner.execute("update tenants set budget_usd = 5.5 where id = %s", (first.tenant,))
    state = await spend.state(first, agents[first.workspace], {})
    assert (state.agent, state.tenant, state.tenant_budget, state.nearly) == (2, 5, Decimal("5.5"), True)
    await spend.add(second, agents[second.workspace], TokenUsage(1, 1), 0.5)
    with pytest.raises(OverBudget, match=r"tenant has spent 5\.5000 of 5\.50 USD"):
        (await spend.state(first, agents[first.workspace], {})).check()
    (await spend.state(stranger, agents[stranger.workspace], {})).check()
    assert [row["cost_usd"] for row in await spend.by_agent(first)] == [2]
    async with pool.transaction(first) as tx:
        rows = await tx.all("select workspace_id from spend")
    assert [str(row["workspace_id"]) for row in rows] == [first.workspace], "the second wall holds without the first"


async def test_another_tenant_cannot_add_to_an_agent(pool: Database, admin_dsn: str, scope: Scope) -> None:
    other = await new_workspace(admin_dsn)
    agent, spend = new_agent(admin_dsn, scope), SpendStore(pool, Moment())
    await spend.add(scope, agent, TokenUsage(1, 1), 1.0)
    forged = Scope(other.tenant, scope.workspace)
    with pytest.raises(NotFound):
        await spend.add(forged, agent, TokenUsage(1, 1), 100.0)
    assert (await spend.state(scope, agent, {})).agent == 1


async def test_the_router_stops_at_the_budget(pool: Database, admin_dsn: str, scope: Scope) -> None:
    """MR-06: through the database: the call that reaches the budget is answered, the next one is not made."""
    model = ScriptedModel(usage=TokenUsage(500_000, 500_000))

    class Here(Shelf):
        async def offered(self, scope: Scope) -> tuple[Sequence[ModelConnection], str | None]:
            return tuple(self.models), self.by_default

    agent, config = new_agent(admin_dsn, scope), {"budget_usd": 1.5}
    router = ModelRouter(Here({connection("a", price=1): model}, "a"), SpendStore(pool, Moment()))
    for _ in range(2):
        assert [piece async for piece in router.stream(scope, agent, config, "chat", HELLO)]
    with pytest.raises(OverBudget):
        await anext(router.stream(scope, agent, config, "chat", HELLO))
    assert len(model.asked) == 2
