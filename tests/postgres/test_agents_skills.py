"""Skills in whole turns: only what an agent was given, as it was when the turn began, and replayed as it was then."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import Any

import pytest

from cluster.basics.scope import Role
from cluster.state.agent_store import NewAgent
from cluster.state.approvals import ReviewVerdict
from cluster.state.work.run_queries import RunQueries
from configs.settings import load_settings
from serve_apps.agents.events import EventKind
from serve_apps.agents.intake.toolset import attached_skills, recorded_specs
from serve_apps.agents.intake.turn import load_turn as thaw
from serve_apps.agents.turn_ports import IncomingMessage, TurnPath
from serve_apps.wiring.agents import Container, TurnRuntime, build_container, build_turn_intake
from skills.framework.manifest import Kind, Manifest, Risk
from skills.sandbox.layers import IsolationLayer
from tests.fakes import agents_contract as contract
from tests.fakes.model_server import ModelServer, serve_model
from tests.fakes.model_wires import Say, Use
from tests.fakes.models import FakeEmbedder

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
DOUBLE = Manifest(
    "double", "Doubles a number.", Kind.PYTHON, SCHEMA, code="def run(payload):\n    return {'is': payload['n'] * 2}\n"
)
CALL = Say(calls=(Use("double", {"n": 21}),))


@dataclass
class Here(contract.Bench):
    """A bench whose agents can be given skills."""

    base: Container
    workshop: TurnRuntime

    async def agent(self, name: str, *skills: Manifest, version: int | None = None) -> str:
        """A new agent that was given these, registered as they are."""
        base, scope = self.base, self.scope
        async with base.database.transaction(scope) as tx:
            made = str((await base.agents.add(tx, scope, NewAgent(name, system_prompt="Be exact.")))["id"])
            for skill in skills:
                await base.skills.register(tx, scope, skill)
                await base.skills.attach(tx, scope, made, skill.name, version)
        return made

    async def register(self, skill: Manifest) -> None:
        async with self.base.database.transaction(self.scope) as tx:
            await self.base.skills.register(tx, self.scope, skill)

    async def say(self, agent: str, message: str = "/chat Double it.", scope: Any = None) -> list[Any]:
        way_in = self.orchestrator.process(scope or self.scope, IncomingMessage(agent, message))
        return [event async for event in way_in if not event.piece]

    def offered(self, asked: int = -1) -> set[str]:
        """Names of the tools that the model was told of."""
        return {tool["function"]["name"] for tool in self.model.chats[asked].body.get("tools", ())}


def results(events: list[Any]) -> list[dict[str, Any]]:
    return [dict(event.data) for event in events if event.kind is EventKind.TOOL_RESULT]


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with serve_model(Say("ok")) as served:
        yield served


@pytest.fixture
async def here(
    app_dsn: str, admin_dsn: str, redis_url: str, tmp_path: FilePath, model: ModelServer
) -> AsyncIterator[Here]:
    settings = load_settings(
        {
            "AOS_STATE_DIR": str(tmp_path),
            "DATABASE_URL": app_dsn,
            "REDIS_URL": redis_url,
            "LLM_BASE_URL": model.url,
            "LLM_DEFAULT_MODEL": "scripted-1",
            "AOS_LLM_SUPPORTS_TOOLS": "true",
            "AOS_AGENTS_POLL_SECONDS": "0.1",
            "AOS_SANDBOX_WARM": "0",
            "AOS_SANDBOX_UNTRUSTED_WITHOUT": ",".join(IsolationLayer),
        }
    )
    base = build_container(settings, FakeEmbedder(), None)
    workshop = TurnRuntime(settings, base)
    await base.database.open()
    await workshop.open()
    try:
        way_in = build_turn_intake(settings, base, dict.fromkeys(TurnPath, workshop.carrier))
        runs, scope = RunQueries(base.database, base.governance.seals), contract.person(admin_dsn)
        yield Here(way_in, runs, base.approvals, model, "", scope, base, workshop)
    finally:
        await workshop.close()
        await base.close()
        await base.database.close()


async def test_a_skill_that_an_agent_was_given_is_called_fenced_and_recorded(here: Here) -> None:
    """SK-10, EX-15: offered with its schema, run in the sandbox, and a line in the trail without what was said."""
    agent = await here.agent("clerk", DOUBLE)
    here.model.replies[:] = [CALL, Say("It is 42.")]
    events = await here.say(agent)
    assert [one["result"] for one in results(events)] == [{"is": 42}], events
    assert events[-1].data["answer"] == "It is 42."
    assert here.offered() >= {"double", "calculator", "delegate"}
    (_, line, *_) = await here.base.audit.page(here.scope)  # the newest is the execution itself
    assert (line["action"], line["object"], line["outcome"]) == ("skill.call", "double", "done")
    assert {**line["detail"], "ms": 0} == {
        "skill": "double",
        "kind": "python",
        "version": 1,
        "code": "ok",
        "ms": 0,
        "agent": agent,
    }


async def test_b_11_without_a_row_there_is_no_tool(here: Here) -> None:
    """B-11, MT-02, MT-03: another agent of the workspace was given it; this one has not, and may not call it."""
    await here.agent("clerk", DOUBLE)
    here.model.replies[:] = [CALL, Say("There is no such thing.")]
    events = await here.say(await here.agent("other"))
    assert "double" not in here.offered(0) and "calculator" in here.offered(0)
    assert "There is no tool named 'double'" in results(events)[0]["error"]


async def test_sk_17_the_callers_role_decides(here: Here) -> None:
    """SK-17: the agent has the skill; who asks may not use it, and the trail says so."""
    agent = await here.agent("clerk", replace(DOUBLE, permissions=(Role.ADMIN,)))
    here.model.replies[:] = [CALL, Say("You may not.")]
    (result,) = results(await here.say(agent))
    assert result["error"].startswith("skill_not_permitted: double is for the role admin")
    (_, line, *_) = await here.base.audit.page(here.scope)  # the newest is the execution itself
    assert (line["action"], line["outcome"]) == ("skill.call", "denied")


async def test_sk_01_an_internal_skill_is_in_the_prompt_and_is_no_tool(here: Here) -> None:
    """SK-01: instructions under their name; a call of it is answered with the tools that there are."""
    agent = await here.agent("clerk", Manifest("tone", "How we speak.", text="Never say sorry."))
    here.model.replies[:] = [Say(calls=(Use("tone", {}),)), Say("Fine.")]
    events = await here.say(agent)
    system = here.model.chats[0].body["messages"][0]["content"]
    assert "#### tone\nNever say sorry." in system and "tone" not in here.offered()
    assert "There is no tool named 'tone'" in results(events)[0]["error"]


async def test_a_list_of_tools_leaves_out_what_everybody_has_and_nothing_that_was_given(here: Here) -> None:
    """SK-17: only what is listed or was given."""
    agent = await here.agent("clerk", DOUBLE)
    async with here.base.database.transaction(here.scope) as tx:
        await tx.run('update agents set config = \'{"tools": ["calculator"]}\' where id = %(id)s', id=agent)
    here.model.replies[:] = [Say("Good day.")]
    await here.say(agent, "/chat Good day.")
    assert here.offered() == {"calculator", "double"}


async def test_a_run_keeps_the_version_that_it_began_with_and_so_does_its_replay(here: Here) -> None:
    """SK-09: while a person decides the skill gets new code; what was approved is what runs, also in a replay."""
    first = replace(DOUBLE, risk=Risk.DESTRUCTIVE)
    agent = await here.agent("clerk", first)
    here.model.replies[:] = [CALL, Say("Done.")]
    events = await here.say(agent)
    assert events[-1].kind is EventKind.APPROVAL_REQUIRED, events
    run, approval = events[0].data["run_id"], events[-1].data["approval"]
    assert approval["reason"] == "What this takes away does not come back."
    tripled = replace(
        first, description="Triples a number.", code="def run(payload):\n    return {'is': payload['n'] * 3}\n"
    )
    await here.register(tripled)
    async with here.base.database.transaction(here.scope) as tx:
        await here.base.skills.detach(tx, here.scope, agent, "double")
    await here.approvals.decide(here.scope, approval["id"], ReviewVerdict.APPROVED)
    assert await here.state(run, "completed", "failed") == "completed"
    recording = await here.runs.recording(here.scope, run)
    assert [told.payload["result"] for told in recording.events if told.type == "tool_result"] == [{"is": 42}]
    assert [one.version for one in attached_skills(thaw(recording.input).agent.config)] == [1]
    report = await here.workshop.replays.replay(here.scope, run)
    assert report["same"], report["diverged"]
    assert [spec.description for spec in recorded_specs(recording)] == ["Doubles a number."]
    here.model.replies[:] = [Say("I have nothing for that.")]
    await here.say(agent, "/chat Good day.")
    assert "double" not in here.offered(), "the next turn has what the agent has now"


async def test_a_pinned_version_stays_and_another_agent_follows(here: Here) -> None:
    """SK-09: versions are kept for those who stay with them."""
    pinned, follows = await here.agent("pinned", DOUBLE, version=1), await here.agent("follows", DOUBLE)
    await here.register(replace(DOUBLE, code="def run(payload):\n    return {'is': payload['n'] * 3}\n"))
    for agent, expected in ((pinned, 42), (follows, 63)):
        here.model.replies[:] = [CALL, Say("Done.")]
        assert [one["result"] for one in results(await here.say(agent))] == [{"is": expected}]


async def test_who_is_delegated_to_has_its_own_skills(here: Here) -> None:
    """MT-03: the clerk has none; the expert's are frozen when it is asked, and a replay has them."""
    await here.agent("expert", DOUBLE)
    clerk = await here.agent("clerk")
    ask = Say(calls=(Use("delegate", {"agent": "expert", "task": "Double 21."}),))
    here.model.replies[:] = [ask, CALL, Say("It is 42."), Say("The expert says 42.")]
    events = await here.say(clerk)
    assert {"is": 42} in [one.get("result") for one in results(events)]
    assert "double" not in here.offered(0) and "double" in here.offered(1) and "double" not in here.offered(3)
    await here.register(replace(DOUBLE, description="Changed.", code="def run(payload):\n    return {}\n"))
    run = events[0].data["run_id"]
    report = await here.workshop.replays.replay(here.scope, run)
    assert report["same"], report["diverged"]
    recording = await here.runs.recording(here.scope, run)
    assert [spec.description for spec in recorded_specs(recording)] == ["Doubles a number."]


async def test_arguments_that_do_not_fit_never_reach_the_script(here: Here) -> None:
    agent = await here.agent("clerk", DOUBLE)
    here.model.replies[:] = [Say(calls=(Use("double", {"n": "many"}),)), Say("I cannot.")]
    (result,) = results(await here.say(agent))
    assert "n: 'many' is not of type 'integer'" in result["error"]
    assert "skill.call" not in [line["action"] for line in await here.base.audit.page(here.scope)]
