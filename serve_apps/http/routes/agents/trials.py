"""Skills tried by a person: a reading skill behind the same fence as an agent's call, a script before it is kept."""

import time
from typing import Annotated, Any
from uuid import UUID, uuid4

from fastapi import APIRouter
from pydantic import BaseModel, Field

from cluster.basics.errors import Conflict, Forbidden
from cluster.state.audit import Outcome
from cluster.state.identity.identity import WorkspaceMember
from serve_apps.agents.skill_audit import SkillCallAudit
from serve_apps.agents.turn.limits import in_time
from serve_apps.agents.turn.tool_call import BadArguments, schema_error
from serve_apps.agents.turn_errors import ToolRefused
from serve_apps.http.auth.guard import IN_TRAIL, GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import BUILD, OPERATE
from serve_apps.http.deps import AppDependencies
from serve_apps.http.fields import JsonObject, RequestBody
from serve_apps.http.routes.agents.skill_checks import check_skill, on_record
from serve_apps.http.routes.agents.skill_shapes import OnTheSpot, SkillInPath
from skills.framework.contract import CallEffect, ToolInvocation
from skills.framework.manifest import Kind, Manifest, Risk
from skills.framework.skill_guard import SkillGuard, tool_nature
from skills.python.trial import Tried

router = APIRouter(route_class=GuardedRoute, tags=["skills"])

ACTION = "skill.test"
# What a command, a playbook or another server does, only its author's word says: their `read` is no proof.
UNPROVEN = frozenset({Kind.SSH, Kind.SHELL, Kind.ANSIBLE, Kind.MCP})
MOST_SECONDS = 50.0  # somebody waits for the answer, whatever the skill's own time is


class ChangesSomething(Conflict):
    """A skill that changes something is not tried out here: its calls wait for approval in a run."""

    code = "needs_approval"
    fix = "Give it to an agent and ask for it in a chat: the call is put before a person with its arguments."


class TestRequest(RequestBody):
    """Arguments of one call. `agent_id`: with whose documents and credentials; left out: with nobody's."""

    arguments: JsonObject = Field(default_factory=dict)
    agent_id: Annotated[UUID | None, Field(description="As if this agent called.")] = None


class TestedSkill(BaseModel):
    """Result of the call: the JSON that an agent would get, without secrets, and cut where that is too long."""

    skill: str
    version: int
    result: Any
    ms: int


class TriedScript(BaseModel):
    """A script that works: `tried` with the sample, or only `loaded`; `parameters` are what models would be told."""

    tried: Tried
    sample_result: dict[str, Any] | None
    parameters: dict[str, Any]


@router.post("/api/skills/{skill_name}:test", dependencies=[OPERATE])
async def test_skill(skill_name: SkillInPath, body: TestRequest, me: Me, parts: Its) -> TestedSkill:
    """Call a skill that only reads, with one's own rights. Where the approval list refuses it, so does this; where the
    list asks a person, that person is whoever calls this. What writes or takes away is refused (409): it needs an
    approval in a run. Every call is in the audit trail, without its arguments."""
    manifest = (await parts.skills.versions(me.scope, skill_name))[0].manifest
    agent = None if body.agent_id is None else str(body.agent_id)
    if agent is not None:
        await parts.agent_store.show(me.scope, agent)
    tool = SkillGuard(parts.ground, SkillCallAudit(parts.database, parts.audit)).around(manifest)
    await _check_trial_allowed(parts, me, manifest, body.arguments)
    if (found := schema_error(tool.spec, body.arguments)) is not None:
        raise BadArguments(found)
    call = ToolInvocation(me.scope, agent, uuid4().hex, body.arguments)
    begun = time.monotonic()
    try:
        result = await in_time(tool.run(call), MOST_SECONDS, skill_name)
    except Forbidden as error:
        error.add_note(IN_TRAIL)  # the fence has recorded the call, however it ended
        raise
    ms = round((time.monotonic() - begun) * 1000)
    return TestedSkill(skill=manifest.name, version=manifest.version, result=result, ms=ms)


@router.post("/api/skills/python:try", dependencies=[BUILD])
async def try_script(body: OnTheSpot, me: Me, parts: Its) -> TriedScript:
    """Dry run of `skills:create_and_attach` for a script, with nothing kept: it is tried in the sandbox with its
    sample, or only loaded where there is none (422 with the script's own error)."""
    manifest = body.manifest()
    how, given = await check_skill(parts, me, manifest, body.sample_payload)
    await on_record(parts, me, manifest, Outcome.DONE, {"tried": how})
    assert how is not None
    return TriedScript(tried=how, sample_result=given, parameters=dict(manifest.parameters))


async def _check_trial_allowed(
    parts: AppDependencies, me: WorkspaceMember, manifest: Manifest, arguments: dict[str, Any]
) -> None:
    """Raises ChangesSomething or Refused, which the trail keeps: never for what the arguments are."""
    tool = SkillGuard(parts.ground, SkillCallAudit(parts.database, parts.audit)).around(manifest)
    detail = {"skill": manifest.name, "version": manifest.version, "risk": str(manifest.risk)}
    if manifest.risk is not Risk.READ:
        await parts.audit.denied(me.scope, ACTION, manifest.name, {**detail, "code": ChangesSomething.code})
        raise ChangesSomething(f"{manifest.name} is of risk {manifest.risk}")
    verdict = parts.policy.decide(manifest.name, arguments, CallEffect.READ, nature=tool_nature(tool))
    if verdict.decision == "refuse":
        await parts.audit.denied(me.scope, ACTION, manifest.name, {**detail, "code": ToolRefused.code})
        raise ToolRefused(verdict.reason)
    if manifest.kind in UNPROVEN and verdict.decision != "auto":
        await parts.audit.denied(me.scope, ACTION, manifest.name, {**detail, "code": ChangesSomething.code})
        raise ChangesSomething(f"that {manifest.name} only reads is its author's word: it is of kind {manifest.kind}")
