"""Plans as models write them: read tolerantly, judged strictly; hostile ones do no harm."""

import itertools
import json
import time
from typing import Any

import pytest

from serve_apps.agents.planning import supervise
from serve_apps.agents.planning.aloud import Reasoned
from serve_apps.agents.planning.check import PlanCheck, PlanVerdict, check_plan
from serve_apps.agents.planning.shape import Plan, PlanStep, UnreadableReply, read_as, read_plan, wants_to_be_plan
from serve_apps.agents.planning.specialists import CritiqueReply
from serve_apps.agents.planning.supervise import StepOutcome, SupervisorReply, after_failure, from_model, rule_step
from skills.framework.contract import CallEffect

EFFECTS = {"get_time": CallEffect.READ, "send": CallEffect.WRITE, "put": CallEffect.KEYED}


def step(id_: str, executor: str = "reasoning", *after: str, tool: str | None = None, action: str = "") -> PlanStep:
    return PlanStep(id_, id_, executor, action, tool, depends_on=after)


def judged(*steps: PlanStep, most: int = 6, grounded: bool = False, **other: Any) -> PlanCheck:
    return check_plan(Plan(steps), EFFECTS, max_steps=most, grounded=grounded, **other)


def test_a_plan_has_every_field_of_its_schema() -> None:
    """PL-09."""
    wanted = {
        "id": "s1",
        "label": "Ask the clock",
        "executor": "action",
        "action": "call",
        "tool": "get_time",
        "args": {"zone": "UTC"},
        "description": "d",
        "depends_on": ["s0"],
    }
    found = read_plan(json.dumps({"steps": [wanted]}))
    assert isinstance(found, Plan)
    assert dict(found.steps[0].data) == wanted


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"steps": [{"executor": "reasoning"}]}\n```',
        'Here is my plan:\n{"steps": [{"executor": "Reasoning", "id": 1, "depends_on": null}]} I hope it helps.',
        '{"plan": {"steps": [{"agent": "ReasoningAgent", "input": {"a": 1}}]}}',
        '{"plan": [{"executor": "reasoning", "tool": null}]}',
        '[{"executor": "reasoning", "args": {}}]',
        '{"thought": "hm"} {"steps": [{"executor": "reasoning", "depends_on": "s0"}]}',
        '{broken {"steps": [{"executor": "reasoning"}]}',
    ],
)
def test_a_plan_is_found_in_what_stands_around_it(text: str) -> None:
    """PL-09."""
    found = read_plan(text)
    assert isinstance(found, Plan)
    assert found.steps[0].executor == "reasoning"
    assert found.steps[0].id


@pytest.mark.parametrize(
    "text",
    [
        "",
        "No plan is needed.",
        "{",
        '{"steps": 5}',
        '{"steps": [5]}',
        '{"steps": [{"executor": null}]}',
        '{"steps": [{"executor": "reasoning", "args": []}]}',
        "[" * 50_000,
        '{"a":' * 30_000,
        "null",
        '{"steps": [' + ",".join(['{"executor": "reasoning"}'] * 1_000) + "]}",
        '{"steps": {"0": {}}}',
        '{"steps": [{"executor": "' + "x" * 9_000 + '"}]}',
        "\x00" * 100,
        '{"steps": [{"executor": "r", "depends_on": ' + "[" * 900,
    ],
)
def test_garbage_is_no_plan_and_says_why(text: str) -> None:
    """PL-09."""
    began = time.perf_counter()
    found = read_plan(text)
    assert isinstance(found, UnreadableReply)
    assert found.why
    assert time.perf_counter() - began < 1


def test_a_text_about_json_is_not_taken_for_a_plan() -> None:
    assert not wants_to_be_plan("You could follow these steps: first open the door.")
    assert not wants_to_be_plan('{"answer": 42}')
    assert wants_to_be_plan('```json\n{"steps": [')
    assert wants_to_be_plan('Sure!\n{"steps": []}')


def test_no_steps_is_abort() -> None:
    """PL-08."""
    assert judged().verdict is PlanVerdict.ABORT


def test_a_good_plan_is_ok() -> None:
    found = judged(step("a", "action", tool="get_time"), step("b", "reasoning", "a"))
    assert (found.verdict, found.notes, found.risks) == (PlanVerdict.OK, (), ())


@pytest.mark.parametrize(
    "steps",
    [
        (step("a", "reasoning", "b"), step("b", "reasoning", "a")),
        (step("a", "reasoning", "a"),),
        (step("a"), step("a")),
        (step("a", "hacker"),),
        (step("a", "action"),),
        tuple(step(f"s{n}", "reasoning", f"s{(n + 1) % 1000}") for n in range(1_000)),
    ],
    ids=["cycle", "itself", "twice", "executor", "no tool", "a circle of a thousand"],
)
def test_what_cannot_be_mended_is_made_again(steps: tuple[PlanStep, ...]) -> None:
    """PL-08: cycles, doubled ids and unknown executors."""
    assert judged(*steps).verdict is PlanVerdict.REDO


def test_an_unknown_tool_is_a_warning() -> None:
    """PL-08."""
    found = judged(step("a", "action", tool="teleport"), step("b"))
    assert found.verdict is PlanVerdict.OK
    assert found.notes == ("a: there is no tool 'teleport'",)


def test_a_thousand_steps_are_cut_to_the_limit_and_still_answer() -> None:
    """PL-02: the limit holds with the steps that are put in."""
    many = [step(f"s{n}", "action", *([f"s{n - 1}"] if n else []), tool="get_time") for n in range(1_000)]
    began = time.perf_counter()
    for most, grounded in itertools.product((2, 6, 50), (False, True)):
        found = judged(*many, most=most, grounded=grounded)
        assert found.verdict is PlanVerdict.ADJUST
        assert len(found.plan.steps) <= most
        assert found.plan.steps[-1].executor == "reasoning"
    assert time.perf_counter() - began < 3


def test_executors_do_what_they_can() -> None:
    """PL-08: executor-action pairs."""
    found = judged(step("a", "reasoning", action="fly"), step("b", "critique", action="review"))
    assert found.verdict is PlanVerdict.ADJUST
    assert [one.action for one in found.plan.steps] == ["answer", "review"]


def test_with_passages_a_plan_retrieves_and_reasons() -> None:
    """PL-09: forced by S2 when RAG is on."""
    found = judged(step("a", "action", tool="get_time"), grounded=True)
    assert [one.executor for one in found.plan.steps] == ["retrieval", "action", "reasoning"]
    assert found.verdict is PlanVerdict.ADJUST


def test_steps_come_after_what_they_depend_on_and_wrong_ids_fall_out() -> None:
    found = judged(step("b", "reasoning", "a", "ghost"), step("a", "action", tool="get_time"))
    assert [one.id for one in found.plan.steps] == ["a", "b"]
    assert found.plan.steps[1].depends_on == ("a",)
    assert "b: it cannot depend on ghost" in found.notes


def test_later_plans_keep_the_names_of_results_apart() -> None:
    found = judged(
        step("a", "action", tool="get_time"), step("b", "reasoning", "a", "x"), done=("a", "x"), attempt="r1_"
    )
    assert [one.id for one in found.plan.steps] == ["r1_a", "b"]
    assert found.plan.steps[1].depends_on == ("r1_a", "x")


def test_risks_are_named_before_anything_runs() -> None:
    """PL-01: risk checks."""
    found = judged(step("a", "action", tool="send"), step("b", "action", tool="put"), step("c"))
    assert [name for name, _ in found.risks] == ["a", "b"]
    assert "each time" in found.risks[0][1]


def test_the_same_plan_is_judged_alike() -> None:
    steps = [step(f"s{n}", "reasoning", *(f"s{m}" for m in range(n))) for n in range(6)]
    for mixed in itertools.islice(itertools.permutations(steps), 0, 720, 60):
        assert [one.id for one in judged(*mixed).plan.steps] == [f"s{n}" for n in range(6)]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        ("forbidden: no", "REPLAN"),
        ("unauthenticated: sign in", "REPLAN"),
        ("not_found: page", "REPLAN"),
        ("invalid: the server answered 404", "REPLAN"),
        ("invalid: HTTP 401", "REPLAN"),
        ("refused: not allowed", "REPLAN"),
        ("out_of_time: get did not end within the 3 s that were left", "REPLAN"),
        ("unavailable: it did not answer within 5 s", "REPLAN"),
        ("tool_broken: timed out", "REPLAN"),
        ("unavailable: no connection", "RETRY"),
        ("overloaded: later", "RETRY"),
        ("tool_broken: ValueError", None),
        (None, None),
    ],
)
def test_rules_come_before_models(error: str | None, outcome: str | None) -> None:
    """PL-06: 401, 403, 404 and timeouts need no model; PL-07."""
    found = rule_step(error)
    assert (None if found is None else str(found.outcome)) == outcome


def test_low_retrieval_is_replanned_and_a_rejection_ends_it() -> None:
    """PL-06."""
    found, rejected = rule_step(None, passages=0), rule_step("Action rejected: REJECTED", rejected=True)
    assert found is not None
    assert rejected is not None
    assert (found.outcome, rejected.outcome) == (StepOutcome.REPLAN, StepOutcome.ABORT)
    assert rule_step(None, passages=3) is None


def test_a_retry_is_made_once_and_never_of_what_writes() -> None:
    """PL-06: RETRY one time, then REPLAN."""
    assert after_failure("", repeatable=True, attempt=1).outcome is StepOutcome.RETRY
    assert after_failure("", repeatable=True, attempt=2).outcome is StepOutcome.REPLAN
    assert after_failure("", repeatable=False, attempt=1).outcome is StepOutcome.REPLAN
    again = rule_step("unavailable: no connection", attempt=2)
    assert again is not None
    assert again.outcome is StepOutcome.REPLAN


@pytest.mark.parametrize("said", ["", "yes", "SUCCESS", '{"outcome": "GREAT"}', '{"outcome": ["SUCCESS"]}', "{}", "[]"])
def test_a_supervisor_that_is_not_understood_is_no_success(said: str) -> None:
    """B-17, PL-07: an unparsable reply counts as not verified."""
    read = read_as(SupervisorReply, said)
    assert isinstance(read, UnreadableReply)
    assert from_model(None, failed=False, repeatable=True, attempt=1).outcome is StepOutcome.NOT_VERIFIED
    assert from_model(None, failed=True, repeatable=True, attempt=2).outcome is StepOutcome.REPLAN


def test_a_supervisor_cannot_turn_a_failure_into_a_success() -> None:
    """PL-07."""
    read = read_as(SupervisorReply, 'I think {"outcome": "success", "reason": "fine"}')
    assert isinstance(read, SupervisorReply)
    assert from_model(read, failed=False, repeatable=True, attempt=1).outcome is StepOutcome.SUCCESS
    assert from_model(read, failed=True, repeatable=False, attempt=1).outcome is StepOutcome.REPLAN
    assert supervise.REPLAN_WAITS == (0.5, 1.0, 2.0)


@pytest.mark.parametrize(
    "said", ['{"verdict": "fine"}', "approved", '{"verdict": "approved", "confidence": NaN}', "{}"]
)
def test_a_critique_that_is_not_understood_is_none(said: str) -> None:
    """B-17."""
    assert isinstance(read_as(CritiqueReply, said), UnreadableReply)


def test_schemas_of_specialists() -> None:
    """EX-11: as the documents give them."""
    found = read_as(Reasoned, '{"answer": "a", "steps": [], "context_adequacy": "sufficient", "confidence": 0.8}')
    assert isinstance(found, Reasoned)
    assert isinstance(read_as(Reasoned, '{"answer": "a", "context_adequacy": "perhaps"}'), UnreadableReply)
    assert isinstance(
        read_as(Reasoned, '{"answer": "a", "context_adequacy": "sufficient", "confidence": 7}'), UnreadableReply
    )
