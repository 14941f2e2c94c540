"""Agents: their configuration, the approval rules of their tools, and the documents linked to them."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator

from cluster.basics.errors import Invalid
from cluster.models.routing.fallback_order import Routing
from cluster.state.agent_store import AgentChange, NewAgent
from configs.sections import AgentSettings
from serve_apps.agents.approval import ApprovalPolicy, Decision
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import OPERATE, READ
from serve_apps.http.fields import AnyJson, JsonObject, Limit, Name, Prose, RequestBody, Skip, Text, storable_json
from serve_apps.http.response_shapes import Agent, AgentList, copy_fields
from skills.framework.builtin import BASE, shipped_skill
from skills.framework.manifest import Kind, Manifest, Risk

router = APIRouter(route_class=GuardedRoute, tags=["agents"])

Metadata = Annotated[JsonObject, Field(max_length=100)]


class Skill(BaseModel):
    """Instructions that are always in the agent's prompt, under a name."""

    model_config = ConfigDict(extra="forbid")

    name: Name
    type: Literal["internal"] = "internal"
    instructions: Prose


class AgentConfig(BaseModel):
    """Configuration of an agent; what is left out follows the settings, and an unknown key is refused."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    llm_routing: Routing | None = None
    tools: Annotated[list[Name] | None, Field(max_length=128, description="Names; left out: all there are.")] = None
    skills: Annotated[list[Skill] | None, Field(max_length=100)] = None
    credentials: Annotated[
        dict[Name, Name] | None, Field(max_length=100, description="Names of credentials by skill, kind or type.")
    ] = None
    temperature: Annotated[float | None, Field(ge=0, le=2)] = None
    max_tokens: Annotated[int | None, Field(ge=1, le=1_000_000)] = None
    max_iterations: Annotated[int | None, Field(ge=1, le=50)] = None
    timeout_seconds: Annotated[float | None, Field(gt=0, le=3600)] = None
    rag_top_k: Annotated[int | None, Field(ge=0, le=100)] = None
    deep_planning_enabled: bool | None = None
    deep_planning_max_steps: Annotated[int | None, Field(ge=1, le=50)] = None
    deep_planning_style: Literal["structured", "concise"] | None = None
    budget_usd: Annotated[float | None, Field(ge=0, description="A month.")] = None

    @model_validator(mode="before")
    @classmethod
    def _check_storable(cls, value: Any) -> Any:
        return storable_json(value)

    def given(self) -> dict[str, Any]:
        """The keys that were sent, as JSON."""
        found = self.model_dump(mode="json", exclude_unset=True)
        if self.skills is not None:
            found["skills"] = [skill.model_dump() for skill in self.skills]  # `type` also where it was left out
        return found


def _one_place(value: Any) -> Any:
    """`extra_config` is another name of `config`, in which `auto_link_uploads` may stand, too."""
    if not isinstance(value, dict):
        return value
    value = dict(value)
    if "extra_config" in value:
        if "config" in value:
            raise ValueError("config and extra_config are two names of one thing; send one of them")
        value["config"] = value.pop("extra_config")
    if isinstance(value.get("config"), dict) and "auto_link_uploads" in value["config"]:
        inside = dict(value["config"])
        value.setdefault("auto_link_uploads", inside.pop("auto_link_uploads"))
        inside.pop("auto_link_uploads", None)
        value["config"] = inside
    return value


class AgentRequest(RequestBody):
    """An agent; `auto_link_uploads` links every later upload to it, with `whole_workspace` it may search them all."""

    name: Name
    description: Prose = ""
    system_prompt: Prose = ""
    auto_link_uploads: bool = False
    whole_workspace: bool = False
    config: AgentConfig = AgentConfig()
    metadata: Metadata = Field(default_factory=dict)

    _config = model_validator(mode="before")(_one_place)


class AgentPatch(RequestBody):
    """Changes to an agent. Keys of `config` and `metadata` are merged; null takes one away (RFC 7396)."""

    name: Name | None = None
    description: Prose | None = None
    system_prompt: Prose | None = None
    auto_link_uploads: bool | None = None
    whole_workspace: bool | None = None
    config: AgentConfig = AgentConfig()
    metadata: Metadata = Field(default_factory=dict)

    _config = model_validator(mode="before")(_one_place)


class BeyondCap(Invalid):
    """An agent may have less than the settings allow, not more."""

    code = "beyond_cap"


def _within_caps(config: AgentConfig, settings: AgentSettings) -> None:
    """Refuse what a turn would be held to all the same, instead of cutting it down in silence."""
    caps = {"max_iterations": settings.max_rounds, "timeout_seconds": settings.seconds}
    names = {"max_iterations": "AOS_AGENTS_MAX_ROUNDS", "timeout_seconds": "AOS_AGENTS_SECONDS"}
    for name, cap in caps.items():
        wanted = getattr(config, name)
        if wanted is not None and wanted > cap:
            raise BeyondCap(f"{name}: {wanted:g} is more than {cap:g}", fix=f"Take less, or raise {names[name]}.")


@router.get("/api/agents", dependencies=[READ])
async def agents(me: Me, parts: Its, skip: Skip = 0, limit: Limit = 100) -> AgentList:
    """The workspace's agents by name."""
    rows, total = await parts.agent_store.page(me.scope, skip, limit)
    return AgentList(items=[Agent(**row) for row in rows], total=total)


@router.post("/api/agents", status_code=201, dependencies=[OPERATE])
async def add_agent(body: AgentRequest, me: Me, parts: Its) -> Agent:
    """Make an agent. Without `whole_workspace` it sees no document until one is linked to it."""
    _within_caps(body.config, parts.agents)
    config = {key: value for key, value in body.config.given().items() if value is not None}
    wanted = copy_fields(NewAgent, body, config=config)
    async with parts.database.transaction(me.scope) as tx:
        row = await parts.agent_store.add(tx, me.scope, wanted)
        await parts.audit.record(tx, me.scope, "agent.add", str(row["id"]), detail={"name": body.name})
    return Agent(**row)


@router.get("/api/agents/{agent_id}", dependencies=[READ])
async def agent(agent_id: UUID, me: Me, parts: Its) -> Agent:
    """One agent."""
    return Agent(**await parts.agent_store.show(me.scope, str(agent_id)))


@router.patch("/api/agents/{agent_id}", dependencies=[OPERATE])
@router.patch("/api/universal-agents/{agent_id}", dependencies=[OPERATE])
async def change_agent(agent_id: UUID, body: AgentPatch, me: Me, parts: Its) -> Agent:
    """Change an agent; turns that have begun go on with the one they began with."""
    _within_caps(body.config, parts.agents)
    config = body.config.given()
    wanted = copy_fields(AgentChange, body, config=config)
    detail = {"fields": sorted(body.model_fields_set), "config": sorted(config), "metadata": sorted(body.metadata)}
    async with parts.audited(me, "agent.change", str(agent_id), detail) as tx:
        row = await parts.agent_store.change(tx, me.scope, str(agent_id), wanted)
    return Agent(**row)


@router.delete("/api/agents/{agent_id}", status_code=204, dependencies=[OPERATE])
async def delete_agent(agent_id: UUID, me: Me, parts: Its) -> Response:
    """Delete an agent with its conversations; its documents stay."""
    async with parts.audited(me, "agent.delete", str(agent_id)) as tx:
        await parts.agent_store.delete(tx, me.scope, str(agent_id))
    return Response(status_code=204)


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
        decision = "refuse" if last is None else last.decision
        reason = "Nothing in the approval list allows it." if last is None else last.reason
        conditions = [copy_fields(Condition, one) for one in some]
        what = {"tool": manifest.name, "source": source, "type": manifest.kind, "risk": manifest.risk}
        return cls(**what, decision=decision, reason=reason, conditions=conditions)


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


@router.get("/api/agents/{agent_id}/rules", dependencies=[READ])
async def rules(agent_id: UUID, me: Me, parts: Its) -> Rules:
    """List which calls of an agent's tools run, wait or are refused. A call that was recovered from what a
    model only said it did waits for a person wherever it changes something, whatever stands here."""
    row = await parts.agent_store.show(me.scope, str(agent_id))
    listed = row["config"].get("tools")
    held = await parts.skills.attached(me.scope, str(agent_id))
    given = [one.stored.manifest for one in held if one.stored is not None]
    base = [shipped_skill(name) for name in BASE if listed is None or name in listed]
    found = [Rule.of(parts.policy, one, "base") for one in base]
    found += [Rule.of(parts.policy, one, "attached") for one in given if one.kind is not Kind.INTERNAL]
    return Rules(items=found)


@router.get("/api/agents/{agent_id}/documents", dependencies=[READ])
async def agent_documents(
    agent_id: UUID,
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
