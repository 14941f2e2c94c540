"""Read-only views of an agent's permissions: the approval rule of each of its tools, and its documents."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from serve_apps.agents.approval import ApprovalPattern, ApprovalPolicy, Decision
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.fields import AnyJson, Limit, Skip, Text
from skills.framework.builtin import BASE, shipped_skill
from skills.framework.manifest import Kind, Manifest, Risk

router = APIRouter(route_class=GuardedRoute, tags=["agents"])

AgentInPath = Annotated[UUID, Path()]


class Condition(BaseModel):
    """A rule for some calls only: all of `when` has to hold, each an argument's path with the values that hold."""

    when: dict[str, list[AnyJson]]
    decision: Decision
    reason: str


class Rule(BaseModel):
    """Approval rule of a tool: the decision of the first condition that holds, or else `decision`."""

    tool: str
    source: Annotated[Literal["base", "attached"], Field(description="Every agent has it, or this one was given it.")]
    type: Kind
    risk: Risk
    decision: Decision
    reason: str
    conditions: list[Condition]

    @classmethod
    def of(cls, policy: ApprovalPolicy, manifest: Manifest, source: Literal["base", "attached"]) -> "Rule":
        """From the list of approvals, which reads from top to bottom."""
        kind, risk = str(manifest.kind), str(manifest.risk)
        found = policy.about(manifest.name, kind, risk)
        some = [one for one in found if one.when]
        # Where no entry holds for all calls, one that none holds for is refused.
        last = next((one for one in found if not one.when), None)
        return cls(
            tool=manifest.name,
            source=source,
            type=manifest.kind,
            risk=manifest.risk,
            decision="refuse" if last is None else last.decision,
            reason="Nothing in the approval list allows it." if last is None else last.reason,
            conditions=[_condition_shape(one) for one in some],
        )


class Rules(BaseModel):
    """The tools of an agent in the order in which models are told of them; internal skills are never called."""

    items: list[Rule]


class LinkedDocument(BaseModel):
    """A document that one may see; `linked` says whether the agent searches it."""

    id: str
    filename: str
    file_type: str
    status: str
    page_count: int | None
    upload_date: datetime
    linked: bool


class LinkedDocuments(BaseModel):
    """A page of them by name."""

    items: list[LinkedDocument]
    total: int


@router.get("/api/agents/{agent_id}/rules")
async def rules(agent_id: AgentInPath, me: Me, parts: Its) -> Rules:
    """List which calls of an agent's tools run, wait or are refused. A call that was recovered from what a
    model only said it did waits for a person wherever it changes something, whatever stands here."""
    row = await parts.agent_store.show(me.scope, str(agent_id))
    listed = row["config"].get("tools")
    held = await parts.skills.attached(me.scope, str(agent_id))
    given = [one.stored.manifest for one in held if one.stored is not None]
    base = [shipped_skill(name) for name in BASE if listed is None or name in listed]
    found = [Rule.of(parts.policy, one, "base") for one in base]
    return Rules(
        items=found + [Rule.of(parts.policy, one, "attached") for one in given if one.kind is not Kind.INTERNAL]
    )


@router.get("/api/agents/{agent_id}/documents")
async def agent_documents(
    agent_id: AgentInPath,
    me: Me,
    parts: Its,
    skip: Skip = 0,
    limit: Limit = 100,
    search: Annotated[Text | None, Query(max_length=200, description="In the name.")] = None,
    linked: Annotated[bool, Query(description="Those that are linked to it, or those that are not.")] = True,
) -> LinkedDocuments:
    """The documents that are linked to an agent, or that could be."""
    await parts.agent_store.show(me.scope, str(agent_id))
    rows, total = await parts.links.documents(me.scope, str(agent_id), search, skip, limit, linked=linked)
    return LinkedDocuments(items=[LinkedDocument(**row, linked=linked) for row in rows], total=total)


def _condition_shape(pattern: ApprovalPattern) -> Condition:
    when = {path: list(values) for path, values in pattern.when.items()}
    return Condition(when=when, decision=pattern.decision, reason=pattern.reason)
