"""Runs of every kind, carried out by the real loop on a real database, come out of a replay byte for byte."""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from cluster.basics.errors import Invalid, Overloaded, Unavailable
from cluster.models.messages import ConnectionFallback, ModelMessage, ModelReply, TokenUsage
from cluster.state.approvals import ReviewVerdict
from cluster.state.canonical_json import dump_canonical
from pipelines.documents.privacy.answer_rules import AnswerRule, rules_to_json
from serve_apps.agents.durable.replay import Replayer
from serve_apps.agents.planning.planned_path import GeneralHandler
from serve_apps.agents.streams.masked_answer import ANSWERS
from serve_apps.agents.turn.general_path import ToolLoopHandler
from serve_apps.agents.turn_ports import AgentId, AgentSnapshot, Journal, Turn, TurnOutcome, TurnPath
from skills.framework.contract import CallEffect
from tests.fakes.agents import Line, ScriptedModels, calls
from tests.fakes.crew import ASK, AUTO, FakeAgents, FakeSearch, FakeTool, crew, hit
from tests.fakes.runs import Stage, stage

REACT = 'THOUGHT: I look.\nACTION: note\nACTION_INPUT: {"text": "a"}\n'
OTHER = AgentSnapshot(AgentId("66666666-6666-4666-8666-666666666666"), "other", "Help.")


@dataclass
class Case:
    """One kind of turn; `decide` is what a person says of each thing that is asked."""

    name: str
    lines: Sequence[Line]
    message: str = "Do it."
    tools: Callable[[], Sequence[FakeTool]] = lambda: [FakeTool()]
    native: bool = True
    decide: Sequence[ReviewVerdict | dict[str, Any]] = ()
    ends: str = "completed"
    planned: bool = False
    crew: dict[str, Any] = field(default_factory=dict)
    turn: dict[str, Any] = field(default_factory=dict)


def odd() -> Sequence[FakeTool]:
    return [FakeTool(answer={"z": [1.0, 1e22, -0.0], "a": {"\u2028": "nul\x00", "n": None}, "b": True})]


def write() -> Sequence[FakeTool]:
    return [FakeTool(effect=CallEffect.WRITE)]


CASES = [
    Case("a plain answer", ["Good day to you."]),
    Case("umlauts and signs", ["Grüße, 你好, \N{ROCKET}: \u2028 and \u202e."], "Größe?"),
    Case("a native call", [calls(("note", {"text": "milk"})), "Noted."]),
    Case("calls in a row", [calls(("note", {"text": "1"}), ("note", {"text": "2"})), "Both."]),
    Case("several rounds", [calls(("note", {"text": str(n)})) for n in range(4)] + ["Done."]),
    Case("ReAct", [REACT, "THOUGHT: So.\nFINAL ANSWER: It is a."], native=False),
    Case("a result of odd values", [calls(("note", {})), "Odd."], tools=odd),
    Case("a tool that fails", [calls(("note", {})), "Away."], tools=lambda: [FakeTool(answer=Unavailable("away"))]),
    Case("a tool that breaks", [calls(("note", {})), "Broken."], tools=lambda: [FakeTool(answer=KeyError("k"))]),
    Case("a tool that nobody knows", [calls(("nope", {})), "There is none."]),
    Case("arguments that are no JSON", [calls(("note", "{text")), "I could not."]),
    Case("rounds that never end", [calls(("note", {"text": "x"})) for _ in range(12)]),
    Case("a claim without an act", ["I have noted it down for you."] * 6),
    Case(
        "reasoning and a fallback",
        [
            ModelReply(
                "Seven.",
                usage=TokenUsage(3, 2),
                reasoning="hm",
                fallbacks=(ConnectionFallback("a", "b", "unavailable: x"),),
            )
        ],
    ),
    Case(
        "passages with quotes",
        ["The lease ends in May [1]."],
        "When does the lease end?",
        crew={"search": FakeSearch([hit("The lease ends in May.")])},
    ),
    Case("a search that fails", ["I do not know."], crew={"search": FakeSearch(failing=Overloaded("busy"))}),
    Case("a model that is away", [Unavailable("no route")], ends="failed"),
    Case("a request that is wrong", [Invalid("too long")], ends="failed"),
    Case("approved", [calls(("note", {"text": "b"})), "Done."], tools=write, decide=[ReviewVerdict.APPROVED]),
    Case("rejected", [calls(("note", {"text": "b"})), "As you wish."], tools=write, decide=[ReviewVerdict.REJECTED]),
    Case("edited", [calls(("note", {"text": "b"})), "Done."], tools=write, decide=[{"text": "c"}]),
    Case(
        "asked twice",
        [calls(("note", {"text": "b"}), ("note", {"text": "c"})), "Both."],
        tools=write,
        decide=[ReviewVerdict.APPROVED, ReviewVerdict.REJECTED],
    ),
    Case(
        "a client's own tool",
        [calls(("theirs", {"x": 1}))],
        turn={"options": {"tools": [{"name": "theirs", "description": "", "parameters": {"type": "object"}}]}},
    ),
    Case(
        "delegated",
        [calls(("delegate", {"agent": "other", "task": "Say seven."})), "Seven.", "It says seven."],
        crew={"agents": FakeAgents(OTHER)},
    ),
    Case(
        "a history", ["As before."], turn={"history": (ModelMessage("user", "Hi"), ModelMessage("assistant", "Hello"))}
    ),
    Case("a plan that nobody can read", ["I would rather not."] * 30, "Find the lease and note its end.", planned=True),
]


@pytest.fixture
async def here(app_dsn: str, admin_dsn: str) -> AsyncIterator[Stage]:
    async with stage(app_dsn, admin_dsn) as made:
        yield made


async def test_varied_runs_are_replayed_byte_for_byte(here: Stage) -> None:
    """Each run ends, is decided where it waits, and its replay asks no model and no tool and tells the same events."""
    replays = {}
    for case in CASES:
        tools = case.tools()
        models = ScriptedModels(*case.lines, supports_tools=case.native)
        policy = ASK if case.decide else AUTO
        made = crew(models, *tools, policy=policy, **case.crew)
        handler = (GeneralHandler if case.planned else ToolLoopHandler)(made)
        turn = await here.begin(case.message, path=TurnPath.GENERAL, **case.turn)
        await here.carry(turn, handler)
        for said in case.decide:
            (row,) = await here.pending(turn)
            edited = said if isinstance(said, dict) else None
            verdict = ReviewVerdict.APPROVED if isinstance(said, dict) else said
            await here.approvals.decide(here.scope, str(row["id"]), verdict, arguments=edited)
            await here.carry(turn, handler)
        assert await here.state(turn) == case.ends, case.name
        silent = replace(made, models=ScriptedModels())
        ran = sum(len(tool.ran) for tool in tools)
        replayer = Replayer(
            here.desk, {TurnPath.GENERAL: (GeneralHandler if case.planned else ToolLoopHandler)(silent)}
        )
        report = await replayer.replay(here.scope, turn.run)
        assert report["same"], (case.name, report["diverged"])
        assert report["events"] == len(await here.stored(turn)) > 2, case.name
        assert sum(len(tool.ran) for tool in tools) == ran, case.name
        replays[case.name] = dump_canonical([[event[1], event[2]] for event in await here.stored(turn)]).replace(
            turn.run, ""
        )
    assert len(set(replays.values())) == len(CASES) >= 20, "they are varied"


async def test_another_model_is_compared_with_the_run_as_it_was(here: Stage) -> None:
    """`--with model=`: the first step where another model decides otherwise; the tools are not run again."""
    tool = FakeTool()
    made = crew(ScriptedModels(calls(("note", {"text": "milk"})), "Noted."), tool)
    turn = await here.begin("note milk")
    await here.carry(turn, ToolLoopHandler(made))
    for lines, step in (
        ([calls(("note", {"text": "milk"})), "It is noted."], None),
        ([calls(("note", {"text": "beer"})), "Noted."], 3),
        (["I cannot."], 3),
        ([calls(("note", {"text": "milk"})), calls(("note", {"text": "more"}))], 5),
    ):
        other = ToolLoopHandler(replace(made, models=ScriptedModels(*lines)))
        report = await Replayer(here.desk, {TurnPath.GENERAL: other}).replay(here.scope, turn.run, model="other")
        steps = {s["kind"]: s["seq"] for s in await here.desk.steps(here.scope, turn.run)}
        assert steps["model"] == 5
        assert (report["diverged"] or {}).get("step") == step, lines
    assert len(tool.ran) == 1


async def test_an_error_is_stored_as_it_is_told(here: Stage) -> None:
    """What an error says may be of a person; the row of a run has it no more than the event."""

    async def fails(turn: Turn, journal: Journal) -> TurnOutcome:
        raise Invalid("there is no mailbox a.b@example.org")

    turn = await here.begin(options={ANSWERS: rules_to_json([AnswerRule("mask")])})
    told = await here.carry(turn, fails)
    assert told[-1].data["detail"] == "there is no mailbox [email]"
    (row,) = await here.rows("select error from runs where id = %(run)s", run=turn.run)
    assert row["error"] == told[-1].data
