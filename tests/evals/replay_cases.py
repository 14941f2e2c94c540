"""Turns of many kinds for eval_replay: what is asked, what the scripted model says, what a person decides."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import yaml

from cluster.connect import free_port
from cluster.state.approvals import ReviewVerdict
from tests.fakes.model_server import Answer
from tests.fakes.model_wires import Say, Use

Ending = Literal["completed", "failed", "cancelled"]
Way = Literal["through", "interrupted", "killed", "cancelled"]

# Agents by name, with their configs; `native`, `text` and `away` are connections.
AGENTS: Mapping[str, Mapping[str, Any]] = {
    "writer": {"llm_routing": {"primary_connection_id": "text"}},
    "cautious": {"llm_routing": {"primary_connection_id": "away", "fallback_chain": ["native"]}},
    "poor": {"budget_usd": 0},
    "brief": {"max_iterations": 3},
    "helper": {},
}
PAGE = "The pump in hall four weighs twelve kilograms and is painted red."


@dataclass(frozen=True)
class Case:
    """One kind of turn; `decide` is what a person says of each thing that is asked: a verdict, other arguments, or
    nothing in time."""

    name: str
    replies: Sequence[Answer]
    message: str = "/chat Do what is needed."
    agent: str = ""
    decide: Sequence[ReviewVerdict | Mapping[str, Any] | None] = ()
    way: Way = "through"
    ends: Ending = "completed"
    tools: bool = False  # the client brings one
    holds: Sequence[str] = field(default_factory=tuple)  # kinds of events that make this case what it is


def add(*terms: int) -> Use:
    """A sum."""
    return Use("calculator", {"expression": " + ".join(map(str, terms))})


def planned(body: Any) -> Say:
    """A model that plans a sum that cannot be done, plans anew when told so, and reviews by the book."""
    rules, asked = body["messages"][0]["content"], body["messages"][-1]["content"]
    if "You check whether" in rules:
        return Say(json.dumps({"outcome": "REPLAN", "reason": "this can never be computed"}))
    if "You carry out one step" in rules:
        return Say(json.dumps({"answer": "It is four.", "context_adequacy": "sufficient", "confidence": 0.8}))
    answer = {"id": "a", "label": "answer", "executor": "reasoning", "action": "synthesize"}
    if "Plan only what is left" in asked:
        return Say(json.dumps({"steps": [answer]}))
    args = {"expression": "two plus two"}
    bad = {"id": "s", "label": "add", "executor": "action", "action": "call_tool", "tool": "calculator", "args": args}
    return Say(json.dumps({"steps": [bad, {**answer, "depends_on": ["s"]}]}))


def environment(state: Path, site: str, model: str, other: str) -> dict[str, str]:
    """Settings with the connections that the cases name."""
    entry = {"model": "scripted-1", "provider": "custom"}
    connections = [
        {**entry, "name": "native", "base_url": model, "supports_tools": True},
        {**entry, "name": "text", "base_url": model, "supports_tools": False},
        {**entry, "name": "other", "base_url": other, "supports_tools": True},
        {**entry, "name": "away", "base_url": f"http://127.0.0.1:{free_port()}/v1", "supports_tools": True},
    ]
    file = state / "connections.yaml"
    file.write_text(yaml.safe_dump({"connections": connections, "default": "native"}), encoding="utf-8")
    return {
        "AOS_STATE_DIR": str(state),
        "AOS_MODELS_CONNECTIONS_FILE": str(file),
        "LLM_BASE_URL": model,
        "LLM_DEFAULT_MODEL": "scripted-1",
        "AOS_AGENTS_HTTP_ALLOW": site.removeprefix("http://"),
        "AOS_AGENTS_LEASE_SECONDS": "2",
        "AOS_AGENTS_HEARTBEAT_SECONDS": "0.3",
        "AOS_AGENTS_POLL_SECONDS": "0.1",
    }


def cases(site: str) -> list[Case]:
    """`site` is an address that http_get may read and for which it asks first."""
    look = Say(calls=(Use("http_get", {"url": f"{site}/gauge"}),))
    other = {"url": f"{site}/other"}
    react = 'THOUGHT: I add.\nACTION: calculator\nACTION_INPUT: {"expression": "20 + 22"}\n'
    long = " ".join(f"Sentence number {at} is about the pump in hall {at % 7}." for at in range(1500))
    return [
        Case("chat", [Say("Good morning, and welcome.")], "/chat Good morning", holds=["text"]),
        Case(
            "documents",
            [Say('It weighs twelve kilograms [1: "weighs twelve kilograms"].')],
            "/search How much does the pump in hall four weigh?",
            holds=["citation"],
        ),
        Case("analytics", [], "How many documents do we have by status?", holds=["route"]),
        Case("a native tool", [Say(calls=(add(2, 2),)), Say("It is 4.")], "/chat Add 2 and 2.", holds=["tool_result"]),
        Case(
            "a ReAct tool",
            [Say(react), Say("THOUGHT: Done.\nFINAL ANSWER: It is 42.")],
            "/chat Add 20 and 22.",
            "writer",
            holds=["tool_result"],
        ),
        Case(
            "several tools",
            [
                Say(calls=(add(1, 2), Use("get_time", {"timezone": "UTC"}))),
                Say(calls=(add(3, 4),)),
                Say("3, now, and 7."),
            ],
            holds=["tool_result"],
        ),
        Case(
            "a failing tool",
            [Say(calls=(Use("calculator", {"expression": "1 / 0"}),)), Say("That has no value.")],
            holds=["tool_result"],
        ),
        Case(
            "approved",
            [look, Say("The gauge shows 4.2 bar.")],
            decide=[ReviewVerdict.APPROVED],
            holds=["approval_decided", "tool_result"],
        ),
        Case("edited", [look, Say("The other gauge shows 4.2 bar.")], decide=[other], holds=["approval_decided"]),
        Case(
            "rejected",
            [look, Say("As you wish: I did not look.")],
            decide=[ReviewVerdict.REJECTED],
            holds=["approval_decided"],
        ),
        Case("expired", [look, Say("Nobody allowed me to look.")], decide=[None], holds=["approval_decided"]),
        Case(
            "delegation",
            [
                Say(calls=(Use("delegate", {"agent": "helper", "task": "Add 2 and 3."}),)),
                Say(calls=(add(2, 3),)),
                Say("It is 5."),
                Say("The helper says 5."),
            ],
            holds=["tool_result"],
        ),
        Case("a plan and another plan", [planned], "/plan Add two and two and tell me.", holds=["plan", "step_start"]),
        Case("a fallback", [Say("Here I am instead.")], agent="cautious", holds=["fallback"]),
        Case(
            "arguments that nobody can read",
            [Say(calls=(Use("calculator", '{"expression": "1 +'),)), Say(calls=(add(1, 1),)), Say("It is 2.")],
            holds=["tool_result"],
        ),
        Case("a claim without an act", [Say("I have computed the sum and saved it for you.")], "/chat Compute 3 + 4."),
        Case("the budget is over", [Say("never said")], agent="poor", ends="failed", holds=["error"]),
        Case("the rounds are over", [Say(calls=(add(1, 1),))], agent="brief", holds=["tool_result"]),
        Case("a tool of the client", [Say(calls=(Use("their_lamp", {"on": True}),))], tools=True, holds=["done"]),
        Case(
            "interrupted and resumed",
            [Say(calls=(add(5, 5),)), Say("All is well. ", size=14, after="forever", between=0.02), Say("It is 10.")],
            way="interrupted",
            holds=["tool_result"],
        ),
        Case(
            "killed and resumed",
            [Say(calls=(add(6, 6),)), Say("All is well. ", size=14, after="forever", between=0.02), Say("It is 12.")],
            way="killed",
            holds=["tool_result"],
        ),
        Case(
            "cancelled", [Say("On and on. ", size=11, after="forever", between=0.02)], way="cancelled", ends="cancelled"
        ),
        Case("a long text", [Say(long, size=200)], "/chat Tell me about all pumps.", holds=["text"]),
        Case(
            "reasoning, umlauts and signs",
            [Say("Grüße aus 北京 \N{ROCKET}: \u2028 done.", reasoning="Hm, so …")],
            "/chat Größe?",
            holds=["text"],
        ),
        Case(
            "a model that fails",
            [Say(status=400, body={"error": {"message": "too long"}})],
            ends="failed",
            holds=["error"],
        ),
    ]
