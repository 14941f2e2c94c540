"""The catalogue, the clock, the search tools."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from cluster.basics.errors import Invalid, NotFound
from cluster.basics.scope import Scope
from serve_apps.agents.intake.tool_offer import offer_tools
from serve_apps.agents.turn.knowledge import AgentKnowledge
from skills.clock.tool import GetTime
from skills.framework.builtin import BASE, build_tool, shipped_skill
from skills.framework.catalogue import DuplicateTool, ToolCatalog, ToolNotFound
from skills.framework.contract import CallEffect, Tool, ToolInvocation
from tests.fakes.agents import SCOPE, turn
from tests.fakes.crew import FakeSearch, FakeTool, hit
from tests.fakes.ground import ground

NOON = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)


def base() -> list[Tool]:
    on = ground(passages=AgentKnowledge(FakeSearch()))
    return [build_tool(shipped_skill(name), on) for name in BASE if name not in ("delegate", "request_user_input")]


def clock() -> GetTime:
    return GetTime(shipped_skill("get_time").spec, lambda: NOON)


def call(arguments: Mapping[str, Any], agent: str | None = "a1") -> ToolInvocation:
    return ToolInvocation(SCOPE, agent, "key", arguments)


def test_a_name_is_there_once() -> None:
    """EX-15: a duplicate is a ValueError, a miss a ToolNotFoundError that names what there is."""
    catalog = ToolCatalog([FakeTool("a"), FakeTool("b")])
    with pytest.raises(ValueError, match="b"):
        catalog.add(FakeTool("b"))
    with pytest.raises(DuplicateTool):
        catalog.plus(FakeTool("a"))
    with pytest.raises(ToolNotFound, match="there are: a, b"):
        catalog.get("c")
    assert issubclass(ToolNotFound, NotFound)
    assert [spec.name for spec in catalog.plus(FakeTool("c")).specs()] == ["a", "b", "c"]
    assert [spec.name for spec in catalog.only({"b", "x"}).specs()] == ["b"] and len(catalog) == 2


@pytest.mark.parametrize(
    "tool",
    [
        FakeTool(""),
        FakeTool("no blank"),
        FakeTool("x" * 65),
        FakeTool("é"),
        FakeTool(parameters={"type": "array"}),
        FakeTool(parameters={}),
        FakeTool(parameters={"type": "object", "properties": {"a": {"type": "odd"}}}),
    ],
)
def test_a_tool_that_models_cannot_be_told_of_is_refused(tool: FakeTool) -> None:
    """EX-15: names and schemas are those that every provider takes."""
    with pytest.raises(Invalid):
        ToolCatalog([tool])


def test_the_tools_that_ship() -> None:
    """EX-15: nine, all of them in every turn with a person; none of them changes anything by itself."""
    catalog = ToolCatalog(base())
    names = [
        *(spec.name for spec in catalog.specs()),
        shipped_skill("delegate").name,
        shipped_skill("request_user_input").name,
    ]
    assert names == [
        "search_knowledge",
        "semantic_search",
        "search_graph",
        "query_tables",
        "calculator",
        "get_time",
        "http_get",
        "delegate",
        "request_user_input",
    ]
    assert {tool.effect for tool in catalog} == {CallEffect.READ}


@pytest.mark.parametrize(
    ("zone", "time", "offset"),
    [(None, "12:00:00", "+0000"), ("Europe/Berlin", "14:00:00", "+0200"), ("Asia/Kolkata", "17:30:00", "+0530")],
)
async def test_the_time_is_the_clocks(zone: str | None, time: str, offset: str) -> None:
    """EX-06: in a named zone; UTC where none is named."""
    given = await clock().run(call({} if zone is None else {"timezone": zone}))
    assert (given["time"], given["utc_offset"], given["weekday"]) == (time, offset, "Wednesday")


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../../etc/passwd", "/etc/passwd", "Europe", "a\x00b", "x" * 5_000])
async def test_an_unknown_zone_is_an_error(zone: str) -> None:
    """EX-06: by name, whatever it is."""
    with pytest.raises(Invalid):
        await clock().run(call({"timezone": zone}))


@pytest.mark.parametrize("name", ["search_knowledge", "semantic_search"])
async def test_search_tools_ask_for_the_agents_documents(name: str) -> None:
    """EX-06: only linked documents; no least similarity unless the call names one."""
    search = FakeSearch([hit("The lease ends in May.")])
    tool = build_tool(shipped_skill(name), ground(passages=AgentKnowledge(search)))
    given = await tool.run(call({"query": "lease"}))
    assert [one["content"] for one in given["passages"]] == ["The lease ends in May."]
    scope, query = search.asked[0]
    assert isinstance(scope, Scope) and scope is SCOPE
    assert (query.text, query.agent_id, query.limit, query.min_similarity) == ("lease", "a1", 5, None)
    await tool.run(call({"query": "lease", "top_k": 2, "min_similarity": 0.0}))
    assert (search.asked[1][1].limit, search.asked[1][1].min_similarity) == (2, 0.0)


@pytest.mark.parametrize(("query", "agent"), [(" ", "a1"), ("lease", None)])
async def test_search_without_a_question_or_an_agent(query: str, agent: str | None) -> None:
    """EX-06: documents are linked to agents; nobody searches them all."""
    with pytest.raises(Invalid):
        await build_tool(shipped_skill("search_knowledge"), ground()).run(call({"query": query}, agent))


class Watched(Mapping[str, Any]):
    """A schema that counts how often it is read as a whole."""

    def __init__(self) -> None:
        self.read = 0

    def __getitem__(self, key: str) -> Any:
        return {"type": "object"}[key]

    def __iter__(self) -> Iterator[str]:
        self.read += 1
        return iter(("type",))

    def __len__(self) -> int:
        return 1


def test_a_schema_is_checked_once_however_many_catalogues_are_made() -> None:
    """Regression: each turn checked every schema twice, a quarter of the time that a short turn takes."""
    schema, catalog = Watched(), ToolCatalog([])
    catalog.add(FakeTool("a", parameters=schema))
    assert schema.read == 1
    for _ in range(3):
        made = catalog.plus(FakeTool("b")).only({"a", "b"})
        assert offer_tools(turn(), made).own.get("a").spec.parameters is schema
    assert schema.read == 1
    with pytest.raises(Invalid):  # another tool of that name is looked at
        ToolCatalog([FakeTool("a")]).only(()).plus(FakeTool("a", parameters={"type": "nothing"}))
