"""The order in which connections are asked: a pure function of config, task, connections and budget."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.basics.errors import Invalid
from cluster.models.connections.endpoint_connection import ConnectionId, ModelConnection
from cluster.models.routing.fallback_order import CallRequirements, ModelRoute, Routing, plan_route, routing_of
from cluster.models.routing.tasks import SIMPLE, Task
from tests.fakes.routing import connection

A, B, C, D, E = (connection(name) for name in "abcde")
CHAT = CallRequirements(Task.CHAT)


def names(route: ModelRoute) -> list[str]:
    return [stop.connection.name for stop in route.stops]


def ordered(
    config: dict[str, Any],
    wanted: CallRequirements = CHAT,
    known: Any = (A, B, C, D, E),
    default: str | None = "e",
    most: int = 3,
) -> ModelRoute:
    return plan_route(routing_of({"llm_routing": config}), wanted, known, default, most)


def test_task_then_primary_then_chain_then_default() -> None:
    """MR-03, MR-04: the documents' order, each stop with what put it there."""
    config = {"primary_connection_id": "id-b", "fallback_chain": ["c"], "task_routing": {"code_gen": "id-a"}}
    route = ordered(config, CallRequirements(Task.CODE_GEN))
    assert [(stop.connection.name, stop.reason) for stop in route.stops] == [
        ("a", "task_routing.code_gen"),
        ("b", "primary_connection_id"),
        ("c", "fallback_chain[0]"),
        ("e", "system default"),
    ]
    assert names(ordered(config)) == ["b", "c", "e"], "another task takes no such way"


def test_without_routing_the_system_default_is_asked() -> None:
    """MR-03: an agent that says nothing."""
    assert [(s.connection.name, s.reason) for s in ordered({}).stops] == [("e", "system default")]
    assert plan_route(Routing(), CHAT, (), None) == ModelRoute(())
    assert names(plan_route(Routing(), CHAT, (A,), "gone")) == []


def test_at_most_three_fallbacks_and_the_default_is_the_last() -> None:
    """X-16: a chain of any length is cut; the system's default keeps the last place."""
    config = {"primary_connection_id": "a", "fallback_chain": ["b", "c", "d"]}
    route = ordered(config)
    assert names(route) == ["a", "b", "c", "e"]
    assert route.skipped == (("d", "fallback_chain[2]: beyond 3 fallbacks"),)
    assert names(ordered(config | {"max_fallback_attempts": 1})) == ["a", "e"]
    assert names(ordered(config | {"max_fallback_attempts": 0})) == ["a"]
    assert names(ordered(config | {"max_fallback_attempts": 9})) == ["a", "b", "c", "e"], "the system's limit holds"
    assert names(ordered(config | {"max_fallback_attempts": 9}, most=9)) == ["a", "b", "c", "d", "e"]
    assert names(ordered({"primary_connection_id": "a", "fallback_chain": ["e", "b"]})) == ["a", "b", "e"]
    assert names(ordered({"primary_connection_id": "e", "fallback_chain": ["b"]})) == ["e", "b"]


def test_what_cannot_be_asked_is_left_out_with_the_reason() -> None:
    off = connection("off", enabled=False)
    route = ordered({"primary_connection_id": "off", "fallback_chain": ["gone", "a"]}, known=(off, A, E))
    assert names(route) == ["a", "e"]
    assert route.skipped == (
        ("off", "primary_connection_id: it is disabled"),
        ("gone", "fallback_chain[0]: there is no such connection"),
    )
    assert names(ordered({}, known=(off,), default="off")) == []


@pytest.mark.parametrize("task", Task)
def test_cost_aware_asks_the_cheapest_for_simple_tasks_only(task: Task) -> None:
    """MR-06: translate, summarize, classify and extract go to the cheapest connection that the agent names."""
    dear, cheap, stranger = connection("dear", price=10), connection("cheap", price=1), connection("x", price=0.1)
    config = {"primary_connection_id": "dear", "fallback_chain": ["cheap"], "cost_aware": True}
    route = ordered(config, CallRequirements(task), known=(dear, cheap, stranger), default=None)
    assert names(route) == (["cheap", "dear"] if task in SIMPLE else ["dear", "cheap"])
    assert ("cost_aware" in route.stops[0].reason) is (task in SIMPLE)
    assert (
        names(ordered(config | {"cost_aware": False}, CallRequirements(task), known=(dear, cheap), default=None))[0]
        == "dear"
    )


def test_cost_aware_bows_to_a_route_of_the_task_and_to_tools() -> None:
    dear, cheap = connection("dear", price=10), connection("cheap", price=1, tools=False)
    config = {"primary_connection_id": "dear", "fallback_chain": ["cheap"], "cost_aware": True}
    both = (dear, cheap)
    own = config | {"task_routing": {"summarize": "dear"}}
    assert names(ordered(own, CallRequirements(Task.SUMMARIZE), known=both, default=None))[0] == "dear"
    with_tools = ordered(config, CallRequirements(Task.SUMMARIZE, tools=True), known=both, default=None)
    assert names(with_tools) == ["dear"], "the other would never hear of the tools"
    assert ("cheap", "fallback_chain[0]: takes no tools") in with_tools.skipped
    assert names(ordered(config, CallRequirements(Task.CHAT, thrifty=True), known=both, default=None))[0] == "cheap"
    assert "nearly spent" in ordered(config, CallRequirements(Task.CHAT, thrifty=True), known=both).stops[0].reason
    free = ordered({"primary_connection_id": "a", "cost_aware": True}, CallRequirements(Task.EXTRACT), default=None)
    assert "no price is known" in free.stops[0].reason


def test_a_name_cannot_pass_for_another_id() -> None:
    sly = replace(connection("sly"), name="id-a")
    assert names(ordered({"primary_connection_id": "id-a"}, known=(sly, A), default=None)) == ["a"]
    twin = replace(A, id=ConnectionId("id-of-the-file"))
    assert ordered({"primary_connection_id": "a"}, known=(A, twin)).stops[0].connection is A, "rows come first"


def test_tools_in_words_may_fall_back_to_anything() -> None:
    plain = connection("plain", tools=False)
    config = {"primary_connection_id": "plain", "fallback_chain": ["a"]}
    assert names(ordered(config, known=(plain, A), default=None)) == ["plain", "a"]
    alone = {"primary_connection_id": "plain"}
    assert names(ordered(alone, CallRequirements(Task.CHAT, tools=True), known=(plain,), default=None)) == ["plain"]


@pytest.mark.parametrize(
    ("config", "named"),
    [
        ({"primary": "a"}, "llm_routing.primary"),
        ({"task_routing": {"cooking": "a"}}, "llm_routing.task_routing.cooking"),
        ({"fallback_chain": "a"}, "llm_routing.fallback_chain"),
        ({"max_fallback_attempts": -1}, "llm_routing.max_fallback_attempts"),
        ({"cost_aware": "perhaps"}, "llm_routing.cost_aware"),
        ([], None),
        (["a"], "llm_routing"),
        ("a", "llm_routing"),
    ],
)
def test_a_wrong_routing_is_refused_by_key(config: Any, named: str | None) -> None:
    """MR-05: the schema of llm_routing."""
    if named is None:
        assert routing_of({"llm_routing": config}) == Routing()
        return
    with pytest.raises(Invalid) as refused:
        routing_of({"llm_routing": config})
    assert named in refused.value.detail


REFS = st.sampled_from(["a", "id-a", "b", "id-b", "c", "d", "off", "gone"])
ROUTINGS = st.builds(
    Routing,
    primary_connection_id=st.none() | REFS,
    fallback_chain=st.lists(REFS, max_size=8).map(tuple),
    task_routing=st.dictionaries(st.sampled_from(Task), REFS, max_size=3),
    cost_aware=st.booleans(),
    max_fallback_attempts=st.integers(0, 5),
)
KNOWN: tuple[ModelConnection, ...] = (
    connection("a", price=3),
    connection("b", price=2),
    connection("c", price=1, tools=False),
    connection("d"),
    connection("off", enabled=False),
)


@settings(max_examples=60)
@given(ROUTINGS, st.sampled_from(Task), st.booleans(), st.booleans(), st.sampled_from([None, "a", "d", "off", "gone"]))
def test_every_order_keeps_the_rules(
    routing: Routing, task: Task, tools: bool, thrifty: bool, default: str | None
) -> None:
    """MR-04, X-16: nothing twice, nothing disabled, no more than allowed, the default last, each with its reason."""
    route = plan_route(routing, CallRequirements(task, tools, thrifty), KNOWN, default)
    asked = names(route)
    assert route == plan_route(routing, CallRequirements(task, tools, thrifty), KNOWN, default)
    assert len(asked) == len(set(asked)) <= 1 + min(routing.max_fallback_attempts, 3)
    assert "off" not in asked and "gone" not in asked
    assert all(stop.reason for stop in route.stops) and all(why for _, why in route.skipped)
    named = {routing.primary_connection_id, *routing.fallback_chain, routing.task_routing.get(task), default}
    assert all({stop.connection.name, stop.connection.id} & named for stop in route.stops), "only what is named"
    if default in ("a", "d"):
        assert asked, "a usable default is always there to be asked"
        if routing.max_fallback_attempts > 0:
            early = {routing.task_routing.get(task), routing.primary_connection_id}
            cheapest = any("cost_aware" in stop.reason for stop in route.stops if stop.connection.name == default)
            assert asked[-1] == default or early & {default, f"id-{default}"} or cheapest
    told = {ref for ref, _ in route.skipped} | set(asked)
    for ref in named - {None, default}:
        assert ref is not None and ref.removeprefix("id-") in told, "whatever is not asked is told of"
