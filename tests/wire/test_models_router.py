"""The router: what it falls back from, what it does not, what is counted, and that nothing is said twice."""

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from cluster.basics.errors import AosError, Invalid, Overloaded, Unavailable
from cluster.models.chat.factory import open_model
from cluster.models.connections.egress import model_client
from cluster.models.connections.endpoint_connection import ModelConnection
from cluster.models.messages import ConnectionFallback, ModelReply, ReplyDelta, TokenUsage, ToolSpec
from cluster.models.model_errors import NoModel, OverBudget, Unusable
from cluster.models.routing.router import ModelRouter
from cluster.models.routing.spend import MonthlySpend, budget_of
from tests.fakes.model_server import serve_model
from tests.fakes.model_wires import Say, failing
from tests.fakes.routing import HELLO, SCOPE, MemoryPurse, ScriptedModel, Shelf, connection
from tests.fakes.routing import failing as fails

AGENT = "00000000-0000-0000-0000-0000000000cc"
A, B, C = connection("a", price=2), connection("b", price=4), connection("c")
CHAIN = {"llm_routing": {"primary_connection_id": "a", "fallback_chain": ["b", "c"]}}
THRIFTY = {"llm_routing": {**CHAIN["llm_routing"], "cost_aware": True}}


def shelf(a: ScriptedModel, b: ScriptedModel | None = None, c: ScriptedModel | None = None, **other: Any) -> Shelf:
    return Shelf({A: a, B: b or ScriptedModel(("from b",)), C: c or ScriptedModel(("from c",))}, **other)


async def hear(
    models: Shelf, purse: MemoryPurse | None = None, config: Mapping[str, Any] = CHAIN, task: str = "chat"
) -> list[ReplyDelta | ConnectionFallback | ModelReply]:
    router = ModelRouter(models, purse or MemoryPurse())
    return [piece async for piece in router.stream(SCOPE, AGENT, config, task, HELLO)]


async def test_the_reply_names_its_connection_and_its_cost() -> None:
    purse = MemoryPurse()
    *pieces, reply = await hear(shelf(ScriptedModel()), purse)
    assert pieces == [ReplyDelta("Hello"), ReplyDelta(" there")]
    assert isinstance(reply, ModelReply) and (reply.connection, reply.content) == ("a", "Hello there")
    assert reply.cost_usd == pytest.approx(1500 * 2 / 1e6) and reply.fallbacks == ()
    assert purse.added == [(AGENT, TokenUsage(1000, 500), reply.cost_usd)]


@pytest.mark.parametrize(
    "error", [Unavailable("no answer in 120 s"), Unavailable("failed with 503"), Overloaded(), Unusable("401")]
)
async def test_it_falls_back_and_tells_why(error: AosError) -> None:
    """MR-04: a timeout, a 5xx, a rate limit, or a connection whose key is wrong."""
    purse = MemoryPurse()
    said = await hear(shelf(fails(error), fails(Unavailable("b is down"))), purse)
    first, second, delta, reply = said
    assert isinstance(first, ConnectionFallback) and (first.left, first.taken) == ("a", "b")
    assert first.why == f"{error.code}: {error.detail or error.title}"
    assert isinstance(second, ConnectionFallback) and (second.left, second.taken, second.why) == (
        "b",
        "c",
        "unavailable: b is down",
    )
    assert delta == ReplyDelta("from c")
    assert isinstance(reply, ModelReply) and reply.connection == "c" and reply.fallbacks == (first, second)
    assert [cost for _, _, cost in purse.added] == [0.0], "what failed before it spoke costs nothing; no price is 0"


async def test_never_after_a_piece_was_given_away() -> None:
    """MR-04: two beginnings of two models would stand one after the other."""
    purse, b = MemoryPurse(), ScriptedModel()
    heard: list[Any] = []
    with pytest.raises(Unavailable, match="the line broke"):
        async with aclosing(
            ModelRouter(shelf(ScriptedModel(("Hel", "lo"), Unavailable("the line broke")), b), purse).stream(
                SCOPE, AGENT, CHAIN, "chat", HELLO
            )
        ) as stream:
            async for piece in stream:
                heard.append(piece)
    assert heard == [ReplyDelta("Hel"), ReplyDelta("lo")] and b.asked == []
    ((_, usage, cost),) = purse.added
    assert usage.estimated and usage.completion_tokens == 2 and cost > 0, "what was written is paid for"


async def test_a_wrong_request_is_not_sent_elsewhere() -> None:
    b = ScriptedModel()
    with pytest.raises(Invalid, match="temperature"):
        await hear(shelf(fails(Invalid("temperature is 3")), b))
    assert b.asked == []


async def test_the_last_error_rises() -> None:
    """X-16: after the last connection there is none."""
    down = [fails(Unavailable(f"{name} is down")) for name in "abc"]
    with pytest.raises(Unavailable, match="c is down"):
        await hear(shelf(*down))
    assert [len(model.asked) for model in down] == [1, 1, 1]


async def test_a_key_that_cannot_be_read_is_fallen_back_from() -> None:
    first, *_ = await hear(shelf(ScriptedModel(), locked={"a": Unusable("its key is sealed with a lost key")}))
    assert isinstance(first, ConnectionFallback) and "lost key" in first.why


async def test_a_model_that_ends_without_a_reply_is_broken() -> None:
    first, *_ = await hear(shelf(ScriptedModel((), replies=False)))
    assert isinstance(first, ConnectionFallback) and "without a reply" in first.why


async def test_who_leaves_stops_the_model_and_pays_for_what_was_said() -> None:
    purse, model = MemoryPurse(), ScriptedModel(("Once", " upon a time"), stalls=True)
    async with aclosing(ModelRouter(shelf(model), purse).stream(SCOPE, AGENT, CHAIN, "chat", HELLO)) as stream:
        assert await anext(stream) == ReplyDelta("Once")
    assert model.closed == 1
    ((_, usage, _),) = purse.added
    assert usage == TokenUsage(1, 1, estimated=True)


async def test_a_cancelled_turn_stops_the_model() -> None:
    purse, model = MemoryPurse(), ScriptedModel(("Once",), stalls=True)
    task = asyncio.create_task(hear(shelf(model), purse))
    await asyncio.wait_for(model.begun.wait(), 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert model.closed == 1 and len(purse.added) == 1


async def test_nothing_configured_says_so_at_use() -> None:
    """X-36: a clear error at use, with its fix."""
    for models, config in ((Shelf({}), {}), (Shelf({replace(A, enabled=False): ScriptedModel()}, "a"), CHAIN)):
        with pytest.raises(NoModel) as missing:
            await hear(models, config=config)
        assert "LLM_BASE_URL" in missing.value.hint
    assert "disabled" in missing.value.detail and "no such connection" in missing.value.detail
    with pytest.raises(NoModel):
        await ModelRouter(Shelf({}), MemoryPurse()).choose(SCOPE, AGENT, {}, "chat")


async def test_a_spent_budget_refuses_before_any_call() -> None:
    """MR-06: budgets by month, of the agent and of the tenant."""
    model, ten = ScriptedModel(), Decimal(10)
    for spent, whose in (
        (MonthlySpend(ten, ten, ten, None), "agent"),
        (MonthlySpend(Decimal(1), Decimal(11), None, ten), "tenant"),
        (MonthlySpend(Decimal(0), Decimal(0), Decimal(0), None), "agent"),
    ):
        purse = MemoryPurse(spent)
        with pytest.raises(OverBudget) as over:
            await hear(shelf(model), purse)
        assert whose in over.value.detail and f"of the {whose}" in over.value.hint
        with pytest.raises(OverBudget):
            await ModelRouter(shelf(model), purse).choose(SCOPE, AGENT, THRIFTY, "chat")
    assert model.asked == []
    await hear(shelf(model), MemoryPurse(MonthlySpend(Decimal("9.99"), ten, ten, Decimal(11))))
    assert len(model.asked) == 1


async def test_the_purse_is_asked_once_for_a_reply() -> None:
    """MR-06: by the call that pays; by the choice before it only where money decides the order."""
    for config, count in ((CHAIN, 1), (THRIFTY, 2)):
        purse, models = MemoryPurse(), shelf(ScriptedModel())
        await ModelRouter(models, purse).choose(SCOPE, AGENT, config, "chat")
        await hear(models, purse, config=config)
        assert purse.asked == count and len(purse.added) == 1


async def test_choose_tells_what_stream_would_ask() -> None:
    models = shelf(ScriptedModel())
    pick = await ModelRouter(models, MemoryPurse()).choose(SCOPE, AGENT, CHAIN, "chat")
    assert (pick.connection, pick.model, pick.task) == ("a", "model-of-a", "chat")
    assert pick.reason == "primary_connection_id" and pick.supports_tools
    routed = {"llm_routing": {"task_routing": {"planning": "b"}, "primary_connection_id": "a"}}
    assert (await ModelRouter(models, MemoryPurse()).choose(SCOPE, AGENT, routed, "planning")).connection == "b"
    thrifty = MonthlySpend(Decimal(8), Decimal(8), Decimal(10), None)
    careful = {"llm_routing": {"primary_connection_id": "b", "fallback_chain": ["a"], "cost_aware": True}}
    assert (await ModelRouter(models, MemoryPurse(thrifty)).choose(SCOPE, AGENT, careful, "chat")).connection == "a"
    with pytest.raises(Invalid, match="cooking"):
        await ModelRouter(models, MemoryPurse()).choose(SCOPE, AGENT, CHAIN, "cooking")


async def test_tools_are_not_taken_to_a_connection_that_would_not_hear_of_them() -> None:
    plain = replace(B, tools=False)
    models = Shelf({A: fails(Unavailable("down")), plain: ScriptedModel(), C: ScriptedModel(("from c",))})
    request = replace(HELLO, tools=(ToolSpec("calculator", "reckons"),))
    router = ModelRouter(models, MemoryPurse())
    said = [piece async for piece in router.stream(SCOPE, AGENT, CHAIN, "tool_call", request)]
    assert isinstance(said[-1], ModelReply) and said[-1].connection == "c" and models.models[plain].asked == []


@pytest.mark.parametrize("value", ["much", -1, True, float("nan"), float("inf"), [], {}])
def test_a_budget_is_an_amount(value: Any) -> None:
    with pytest.raises(Invalid, match="budget_usd"):
        budget_of({"budget_usd": value})
    assert budget_of({}) is None and budget_of({"budget_usd": None}) is None
    assert budget_of({"budget_usd": 2.5}) == Decimal("2.5") and budget_of({"budget_usd": "0"}) == 0


class RealModels(Shelf):
    """Connections to servers, opened by the real clients without retries."""

    async def open(self, scope: Any, connection: ModelConnection) -> Any:
        async def no_sleep(_: float) -> None: ...

        return open_model(connection, None, self.client, no_sleep, waits=())

    client: Any = None


async def test_over_real_http_a_failing_server_is_left_for_a_working_one() -> None:
    """MR-04: a server that answers 503, one that refuses the key, one that answers; over real HTTP."""
    with (
        serve_model(failing(503)) as broken,
        serve_model(Say("Hello."), key="k") as closed,
        serve_model(Say("Hello from the third.")) as working,
    ):
        three = [replace(c, base_url=s.url) for c, s in ((A, broken), (B, closed), (C, working))]
        models = RealModels({c: ScriptedModel() for c in three})
        async with model_client() as client:
            models.client = client
            said = await hear(models)
        reply = said[-1]
        assert isinstance(reply, ModelReply) and reply.content == "Hello from the third."
        assert [f.why.partition(":")[0] for f in reply.fallbacks] == ["unavailable", "unusable"]
        assert [f for f in said if isinstance(f, ConnectionFallback)] == list(reply.fallbacks)
