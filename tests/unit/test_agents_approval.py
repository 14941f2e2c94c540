"""The list of approvals: first match, no match is no, conditions on arguments, and what recovery may never do."""

from pathlib import Path
from typing import Any

import pytest

from cluster.basics.errors import InvalidSettings
from serve_apps.agents.approval import ApprovalPolicy, load_policy
from serve_apps.agents.events import EventKind
from serve_apps.agents.turn.tool_call import SHOWN, ToolRequest, run_tool
from serve_apps.agents.turn_errors import ApprovalPending
from skills.framework.contract import CallEffect
from tests.fakes.agents import MemoryJournal, turn
from tests.fakes.crew import AUTO, SHIPPED, FakeTool


def policy(folder: Path, text: str) -> ApprovalPolicy:
    path = folder / "approvals.yaml"
    path.write_text(text, encoding="utf-8")
    return load_policy(path)


def decide(
    of: ApprovalPolicy,
    tool: str,
    arguments: dict[str, Any] | None = None,
    tier: int = 1,
    effect: CallEffect = CallEffect.READ,
) -> str:
    return of.decide(tool, arguments or {}, effect, tier).decision


def test_the_list_that_is_shipped() -> None:
    """HI-07: what only reads what the user may read runs; an address is asked for; the unknown is refused (B-11)."""
    shipped = load_policy(SHIPPED)
    tools = [
        "search_knowledge",
        "semantic_search",
        "search_graph",
        "query_tables",
        "calculator",
        "get_time",
        "delegate",
        "http_get",
        "ssh_exec",
        "",
    ]
    assert [decide(shipped, tool) for tool in tools] == ["auto"] * 7 + ["ask", "refuse", "refuse"]
    assert shipped.decide("http_get", {}, CallEffect.READ).reason == "The address is sent to another machine."


def test_the_first_pattern_that_matches_decides(tmp_path: Path) -> None:
    """HI-07: order counts, * stands for any characters, names are compared with their case."""
    found = policy(tmp_path, "patterns: [{tool: ssh_reboot, decision: refuse}, {tool: 'ssh_*', decision: ask}]")
    assert [decide(found, tool) for tool in ("ssh_reboot", "ssh_ls", "SSH_ls", "xssh_ls")] == [
        "refuse",
        "ask",
        "refuse",
        "refuse",
    ]


@pytest.mark.parametrize(
    ("kind", "risk", "expected"),
    [
        ("python", "read", "auto"),
        ("python", "destructive", "ask"),
        ("ssh", "read", "ask"),
        ("sql", "write", "ask"),
        ("shell", "read", "ask"),
        ("mcp", "read", "ask"),
        ("knowledge", "read", "auto"),
        ("", "read", "refuse"),
        ("", "write", "refuse"),
        ("brandnew", "read", "refuse"),
        ("brandnew", "destructive", "ask"),
    ],
)
def test_hi_07_the_list_that_is_shipped_goes_by_kind_and_risk(kind: str, risk: str, expected: str) -> None:
    """HI-07: a skill that nobody named is judged by its kind and what it may do; an unknown kind is refused."""
    shipped = load_policy(SHIPPED)
    assert shipped.decide("some_skill", {}, CallEffect.READ, 1, (kind, risk)).decision == expected


def test_a_pattern_names_a_tool_a_kind_or_a_risk(tmp_path: Path) -> None:
    """HI-07: all that are named have to fit; the question says which pattern asks."""
    text = "{kind: 'ope*', risk: read, decision: auto}, {tool: 'nova_*', kind: openstack, decision: ask}"
    found = policy(tmp_path, f"patterns: [{text}]")
    kinds = [("openstack", "read"), ("openstack", "write"), ("sql", "read"), ("sql", "write")]
    verdicts = [found.decide("nova_stop", {}, CallEffect.WRITE, 1, nature) for nature in kinds]
    assert [verdict.decision for verdict in verdicts] == ["auto", "ask", "refuse", "refuse"]
    assert verdicts[1].reason == "The approval list says ask for tool nova_*, kind openstack."
    assert found.decide("glance_list", {}, CallEffect.WRITE, 1, ("openstack", "write")).decision == "refuse"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"url": "https://docs.example.org/a", "count": 3, "deep": {"kind": "b"}}, "auto"),
        ({"url": "https://docs.example.org.evil.net/", "count": 3, "deep": {"kind": "b"}}, "refuse"),
        ({"url": "https://docs.example.org/a", "count": 3.0, "deep": {"kind": "a"}}, "auto"),
        ({"url": "https://docs.example.org/a", "count": True, "deep": {"kind": "a"}}, "refuse"),
        ({"url": "https://docs.example.org/a", "count": "3", "deep": {"kind": "a"}}, "refuse"),
        ({"url": ["https://docs.example.org/a"], "count": 3, "deep": {"kind": "a"}}, "refuse"),
        ({"url": "https://docs.example.org/a", "count": 3, "deep": "a"}, "refuse"),
        ({"count": 3, "deep": {"kind": "a"}}, "refuse"),
        ({}, "refuse"),
    ],
)
def test_conditions_hold_all_or_not(tmp_path: Path, arguments: dict[str, Any], expected: str) -> None:
    """HI-07: an argument that is missing, or of another type, holds no condition."""
    when = '{url: "https://docs.example.org/*", count: 3, deep.kind: [a, b]}'
    text = f"patterns: [{{tool: get, decision: auto, when: {when}}}]"
    assert decide(policy(tmp_path, text), "get", arguments) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "patterns: {}",
        "patterns: [{tool: a}]",
        "patterns: [{tool: a, decision: yes}]",
        "patterns: [{tool: a, decision: allow}]",
        "patterns: [{tool: '', decision: auto}]",
        "pattern: []",
        "patterns: [{tool: a, decision: auto, if: {}}]",
        "patterns: [{tool: 1, decision: auto}]",
        "patterns: [",
        "\x00",
        "patterns: [{decision: auto}]",
        "patterns: [{kind: '', decision: auto}]",
        "patterns: [{risk: low, decision: ask}]",
        "patterns: [{tool: a, decision: auto, when: {b: {c: 1}}}]",
        "patterns: [{tool: a, decision: auto, when: [b]}]",
    ],
)
def test_a_list_of_another_form_is_refused(tmp_path: Path, text: str) -> None:
    """B-11: a list that cannot be read allows nothing; starting with it is an error."""
    with pytest.raises(InvalidSettings):
        policy(tmp_path, text)
    with pytest.raises(InvalidSettings):
        load_policy(tmp_path / "nowhere.yaml")


@pytest.mark.parametrize("tier", [3, 4])
def test_recovery_never_runs_what_changes_something(tmp_path: Path, tier: int) -> None:
    """TC-05: what the list says auto for is asked for; what it refuses stays refused."""
    found = policy(tmp_path, "patterns: [{tool: never, decision: refuse}, {tool: '*', decision: auto}]")
    for effect in (CallEffect.WRITE, CallEffect.KEYED):
        assert decide(found, "save", tier=tier, effect=effect) == "ask"
        assert decide(found, "save", tier=2, effect=effect) == "auto"
        assert decide(found, "never", tier=tier, effect=effect) == "refuse"
    assert decide(found, "read", tier=tier) == "auto"


ASKING = "patterns: [{tool: note, decision: refuse, when: {text: '*forbidden*'}}, {tool: note, decision: ask}]"


async def approved(tmp_path: Path, edits: dict[str, Any] | None) -> tuple[FakeTool, dict[str, Any]]:
    tool, found, asked = FakeTool(effect=CallEffect.WRITE), policy(tmp_path, ASKING), turn()
    wanted = ToolRequest("1", "note", {"text": "milk"})
    journal = MemoryJournal()
    with pytest.raises(ApprovalPending):
        await run_tool(asked, journal, found, tool, wanted, 10)
    assert tool.ran == [] and journal.of(EventKind.APPROVAL_REQUIRED)[0]["approval"]["tool"] == "note"
    journal.decide("approved", edits)
    resumed = journal.again()
    await run_tool(asked, resumed, found, tool, wanted, 10)
    await run_tool(asked, journal.again(), found, tool, wanted, 10)
    return tool, dict(resumed.of(EventKind.TOOL_RESULT)[0])


@pytest.mark.parametrize(("edits", "ran"), [(None, {"text": "milk"}), ({"text": "oat"}, {"text": "oat"}), ({}, {})])
async def test_what_was_approved_runs_once(tmp_path: Path, edits: dict[str, Any] | None, ran: dict[str, Any]) -> None:
    """HI-01, HI-04: every call passes the gate; once approved it is carried out without being asked for again."""
    tool, result = await approved(tmp_path, edits)
    assert [dict(call.arguments) for call in tool.ran] == [ran]
    assert result["approved"] and result["result"] == "noted"


@pytest.mark.parametrize(("edits", "code"), [({"text": 7}, "bad_arguments"), ({"text": "a forbidden word"}, "refused")])
async def test_edits_are_judged_again(tmp_path: Path, edits: dict[str, Any], code: str) -> None:
    """HI-04: edited arguments have to fit the schema, and the list still refuses what it refuses."""
    tool, result = await approved(tmp_path, edits)
    assert tool.ran == [] and result["error"].startswith(code)


async def test_a_long_result_is_cut_and_says_of_which_classes_it_was() -> None:
    long = {"passages": [{"content": "x" * SHOWN, "classification": "restricted"}, {"classification": None}]}
    journal = MemoryJournal()
    await run_tool(turn(), journal, AUTO, FakeTool(answer=long), ToolRequest("1", "note", {"text": "milk"}), 10)
    (told,) = journal.of(EventKind.TOOL_RESULT)
    assert isinstance(told["result"], str) and told["classes"] == [{"classification": "restricted"}]
