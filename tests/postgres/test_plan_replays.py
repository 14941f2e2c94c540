"""Planned turns, metrics and document answers on a real journal: approved, carried on, replayed byte for byte."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path as File
from typing import Any

import pytest

from cluster.basics.errors import Forbidden
from cluster.models.messages import ChatRequest
from cluster.state.approvals import ReviewVerdict
from serve_apps.agents.analytics.handler import AnalyticsHandler
from serve_apps.agents.analytics.metric_catalogue import read_catalogue
from serve_apps.agents.analytics.metric_reader import MetricReader
from serve_apps.agents.durable.replay import Replayer
from serve_apps.agents.memory.redis_memo import RedisMemo
from serve_apps.agents.planning.planned_path import GeneralHandler
from serve_apps.agents.turn.documents_path import DocumentsHandler
from serve_apps.agents.turn_ports import Turn, TurnHandler, TurnPath
from skills.framework.contract import CallEffect
from tests.fakes.agents import ScriptedModels
from tests.fakes.crew import ASK, AUTO, FakeTool, crew, hit
from tests.fakes.http import ScriptedAnswerer
from tests.fakes.runs import Stage, stage

CATALOGUE = read_catalogue(File(__file__).resolve().parents[2] / "configs" / "metrics.yaml")
STEPS = [
    {"id": "l", "executor": "retrieval", "args": {"query": "lease"}},
    {"id": "w", "executor": "action", "tool": "note", "args": {"text": "x"}},
    {"id": "f", "executor": "formula", "args": {"formula": "1 + 1 = 3"}},
    {"id": "a", "executor": "reasoning"},
    {"id": "c", "executor": "critique"},
]


def said(_: Turn, task: str, request: ChatRequest) -> str:
    """A model that plans, reasons, reviews and supervises by the book."""
    if task == "planning":
        return json.dumps({"steps": STEPS})
    if task == "classify":
        return json.dumps({"outcome": "SUCCESS", "reason": ""})
    if "You review" in request.messages[0].content:
        return json.dumps({"verdict": "approved", "confidence": 0.9})
    answer = 'It ends in May [1: "The lease ends in May"].'
    return json.dumps({"answer": answer, "context_adequacy": "sufficient", "confidence": 0.8})


async def at_once(_: float) -> None:
    """Nobody waits in a test."""


@pytest.fixture
async def here(app_dsn: str, admin_dsn: str) -> AsyncIterator[Stage]:
    async with stage(app_dsn, admin_dsn) as made:
        yield made


async def replayed(here: Stage, turn: Turn, handler: TurnHandler) -> dict[str, Any]:
    report = await Replayer(here.desk, dict.fromkeys(TurnPath, handler)).replay(here.scope, turn.run)
    assert report["same"], report["diverged"]
    return dict(report)


def general(tool: FakeTool, *, silent: bool = False, **other: Any) -> GeneralHandler:
    models = ScriptedModels() if silent else ScriptedModels(otherwise=said)
    return GeneralHandler(crew(models, tool, hits=[hit("The lease ends in May.")], **other), at_once)


async def test_a_planned_turn_waits_is_approved_and_replayed(here: Stage) -> None:
    """PL-05: plan, approval, specialists and citations survive a database; a replay performs nothing."""
    tool = FakeTool(effect=CallEffect.WRITE)
    turn = await here.begin("/plan note it and tell me when the lease ends")
    events = await here.carry(turn, general(tool, policy=ASK))
    assert str(events[-1].kind) == "approval_required"
    (row,) = await here.pending(turn)
    await here.approvals.decide(here.scope, str(row["id"]), ReviewVerdict.APPROVED)
    events = await here.carry(turn, general(tool, policy=ASK))
    done = events[-1].data
    assert (done["answer"], done["confidence"], len(tool.ran)) == ("It ends in May [1].", 0.8, 1)
    assert [one["step"] for one in done["agent_trace"]] == ["mode", "l", "w", "f", "a", "c"]
    await replayed(here, turn, general(tool, silent=True, policy=ASK))
    assert len(tool.ran) == 1


async def test_new_plans_and_their_waits_are_replayed(here: Stage) -> None:
    """PL-06: waits are recorded, not waited for again."""
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    tool = FakeTool(answer=Forbidden("no entry"))
    made = crew(ScriptedModels(otherwise=said), tool, hits=[hit("The lease ends in May.")], policy=AUTO)
    turn = await here.begin("/agent note it")
    events = await here.carry(turn, GeneralHandler(made, sleep))
    assert slept == [0.5, 1.0, 2.0]
    assert "did not succeed" in events[-1].data["answer"]
    await replayed(here, turn, GeneralHandler(replace(made, models=ScriptedModels()), sleep))
    assert (len(slept), len(tool.ran)) == (3, 4)


async def test_metrics_and_documents_are_replayed_without_their_sources(here: Stage) -> None:
    """OR-02, OR-03: the figures and quotes of then, not those of now."""
    measures = MetricReader(here.database, CATALOGUE, RedisMemo(None, "", 1, lambda: 0.0))
    metrics = AnalyticsHandler(CATALOGUE, measures, lambda: datetime.now(UTC))
    turn = await here.begin("How many runs were there by status this year?", path=TurnPath.ANALYTICS)
    events = await here.carry(turn, metrics)
    assert "| running | 1 |" in events[-1].data["answer"]
    later = AnalyticsHandler(CATALOGUE, measures, lambda: datetime(2031, 1, 1, tzinfo=UTC))
    await replayed(here, turn, later)

    answers = ScriptedAnswerer()
    turn = await here.begin("When does the lease end?", path=TurnPath.DOCUMENTS)
    events = await here.carry(turn, DocumentsHandler(answers, GeneralHandler(crew(ScriptedModels()))))
    assert events[-1].data["citations"][0]["quote"] == "The lease ends in May."
    await replayed(here, turn, DocumentsHandler(ScriptedAnswerer(), GeneralHandler(crew(ScriptedModels()))))
    assert len(answers.asked) == 1
