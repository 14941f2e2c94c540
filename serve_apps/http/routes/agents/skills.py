"""Skills: what ships, what a workspace registered, what each agent has, and skills that are written on the spot."""

from collections import Counter
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Response

from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import OPERATE, READ
from serve_apps.http.routes.agents import skill_checks
from serve_apps.http.routes.agents.skill_checks import check_skill, register_skill
from serve_apps.http.routes.agents.skill_shapes import (
    AgentSkill,
    AgentSkills,
    AttachRequest,
    OnTheSpot,
    SkillCounts,
    SkillDetail,
    SkillInPath,
    SkillList,
    SkillRequest,
    SkillShape,
    WrittenOnTheSpot,
)
from skills.framework.builtin import BASE, shipped_skills
from skills.framework.skill_store import StoredSkill

router = APIRouter(route_class=GuardedRoute, tags=["skills"])


@router.get("/api/skills", dependencies=[READ])
async def skills(me: Me, parts: Its) -> SkillList:
    """Everything that ships and the newest version of everything registered here, and how many that are, truly."""
    found = [*(StoredSkill(one) for one in shipped_skills()), *await parts.skills.newest(me.scope)]
    kinds = Counter(str(one.manifest.kind) for one in found)
    categories = Counter(one.manifest.category or "Other" for one in found)
    ours = sum(one.ships for one in found)
    by_type, by_category = dict(sorted(kinds.items())), dict(sorted(categories.items()))
    counts = SkillCounts(shipped=ours, stored=len(found) - ours, by_type=by_type, by_category=by_category)
    return SkillList(items=[SkillShape.of(one) for one in found], total=len(found), counts=counts)


@router.post(
    "/api/skills",
    status_code=201,
    responses={200: {"model": SkillDetail, "description": "As it was."}},
    dependencies=[OPERATE],
)
async def add_skill(body: SkillRequest, me: Me, parts: Its, response: Response) -> SkillDetail:
    """Register a skill. The same content again changes nothing (200); new content is a version, the old one is kept."""
    manifest = body.manifest()
    await check_skill(parts, me, manifest)
    async with parts.database.transaction(me.scope) as tx:
        _, new = await register_skill(parts, tx, me, manifest)
    response.status_code = 201 if new else 200
    return SkillDetail.of_all(await parts.skills.versions(me.scope, manifest.name))


@router.get("/api/skills/{skill_name}", dependencies=[READ])
async def skill(skill_name: SkillInPath, me: Me, parts: Its) -> SkillDetail:
    """One skill with its text, its code and all its versions."""
    return SkillDetail.of_all(await parts.skills.versions(me.scope, skill_name))


@router.delete("/api/skills/{skill_name}", status_code=204, dependencies=[OPERATE])
async def remove_skill(
    skill_name: SkillInPath,
    me: Me,
    parts: Its,
    detach: Annotated[bool, Query(description="Take it away from the agents that have it.")] = False,
) -> Response:
    """Forget a registered skill with all its versions (409 while agents have it); turns that have begun keep it."""
    async with parts.database.transaction(me.scope) as tx:
        had = await parts.skills.remove(tx, me.scope, skill_name, detach=detach)
        await parts.audit.record(tx, me.scope, "skill.remove", skill_name, detail={"skill": skill_name, "agents": had})
    return Response(status_code=204)


@router.get("/api/agents/{agent_id}/skills", dependencies=[READ])
@router.get("/api/universal-agents/{agent_id}/skills", dependencies=[READ])
async def agent_skills(agent_id: UUID, me: Me, parts: Its) -> AgentSkills:
    """List the skills attached to an agent, beside the tools that every agent has."""
    found = await parts.skills.attached(me.scope, str(agent_id))
    return AgentSkills(base=list(BASE), items=[AgentSkill.of(one) for one in found], total=len(found))


@router.post("/api/agents/{agent_id}/skills", dependencies=[OPERATE])
@router.post("/api/universal-agents/{agent_id}/skills", dependencies=[OPERATE])
async def attach_skill(agent_id: UUID, body: AttachRequest, me: Me, parts: Its) -> AgentSkills:
    """Give an agent a skill, from its next turn on. Without a version it follows the newest."""
    async with parts.database.transaction(me.scope) as tx:
        await skill_checks.attach_skill(parts, tx, me, str(agent_id), body.name, body.version)
    return await agent_skills(agent_id, me, parts)


@router.delete("/api/agents/{agent_id}/skills/{skill_name}", status_code=204, dependencies=[OPERATE])
@router.delete("/api/universal-agents/{agent_id}/skills/{skill_name}", status_code=204, dependencies=[OPERATE])
async def detach_skill(agent_id: UUID, skill_name: SkillInPath, me: Me, parts: Its) -> Response:
    """Take a skill away from an agent; turns that have begun keep it, and so does the workspace."""
    async with parts.audited(me, "skill.detach", str(agent_id), {"skill": skill_name}) as tx:
        await parts.skills.detach(tx, me.scope, str(agent_id), skill_name)
    return Response(status_code=204)


@router.post("/api/agents/{agent_id}/skills:create_and_attach", dependencies=[OPERATE])
@router.post("/api/universal-agents/{agent_id}/skills:create_and_attach", dependencies=[OPERATE])
async def create_and_attach(agent_id: UUID, body: OnTheSpot, me: Me, parts: Its) -> WrittenOnTheSpot:
    """Write a Python skill, try it in the sandbox, and give it to an agent: one call, no restart.

    The sandbox is not optional, whatever `sandbox` says. The same name with the same code changes nothing; with other
    code it is the next version. Where the sample fails nothing is kept (422).
    """
    await parts.skills.attached(me.scope, str(agent_id))  # no code is tried for an agent that is not there
    manifest = body.manifest()
    how, given = await check_skill(parts, me, manifest, body.sample_payload)
    async with parts.database.transaction(me.scope) as tx:
        stored, new = await parts.skills.register(tx, me.scope, manifest)
        _, changed = await parts.skills.attach(tx, me.scope, str(agent_id), manifest.name)
        if new or changed:
            detail = {**skill_checks.skill_detail(stored), "agent": str(agent_id), "attached": changed}
            action, about = ("skill.register", manifest.name) if new else ("skill.attach", str(agent_id))
            await parts.audit.record(tx, me.scope, action, about, detail=detail)
    assert how is not None
    return WrittenOnTheSpot(
        agent_id=agent_id, skill=SkillShape.of(stored), created=new, attached=changed, tried=how, sample_result=given
    )
