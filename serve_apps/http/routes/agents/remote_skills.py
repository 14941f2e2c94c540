"""POST /api/skills/mcp:discover: what an MCP server has, looked at first, and registered as skills in one go."""

from dataclasses import replace
from typing import Annotated, Any
from uuid import UUID, uuid4

from fastapi import APIRouter
from pydantic import BaseModel, Field, StringConstraints

from cluster.basics.scope import Role
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import OPERATE
from serve_apps.http.fields import JsonObject, RequestBody, Text
from serve_apps.http.response_shapes import copy_fields
from serve_apps.http.routes.agents.skill_checks import skill_detail
from serve_apps.http.routes.agents.skill_shapes import MOST_SECONDS
from skills.framework.contract import ToolInvocation
from skills.framework.manifest import CredentialType, Risk, manifest_of, options_of
from skills.mcp.discover import CATEGORY, OfferedTool, discover_tools
from skills.mcp.options import McpServerSpec

# No skill can be called so: what is bound to one is not for a server that somebody just named.
PROBE = "MCP discovery"

router = APIRouter(route_class=GuardedRoute, tags=["skills"])


class DiscoverRequest(RequestBody):
    """An MCP server: `url`, or `command` and `args`. With `add` its tools become skills of the workspace."""

    url: Annotated[Text | None, Field(max_length=2_000, description="Of its endpoint over streamable HTTP.")] = None
    command: Annotated[Text | None, Field(min_length=1, max_length=1_000, description="One that settings name.")] = None
    args: Annotated[list[Annotated[Text, Field(max_length=2_000)]], Field(max_length=50)] = Field(default_factory=list)
    env: Annotated[JsonObject, Field(description="Variables of the program: name to field of the credential.")] = Field(
        default_factory=dict
    )
    header: Annotated[str | None, Field(max_length=60, description="For the key of a credential api_key.")] = None
    oauth: Annotated[JsonObject | None, Field(description="{url, scope}: where client credentials get a token.")] = None
    credential: Annotated[CredentialType | None, Field(description="What it needs to be let in.")] = None
    prefix: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{0,30}$")] = ""
    permissions: Annotated[list[Role], Field(max_length=len(Role))] = Field(default_factory=lambda: list(Role))
    timeout: Annotated[float, Field(gt=0, le=MOST_SECONDS, description="A call may take so long.")] = 30
    tools: Annotated[list[Text] | None, Field(max_length=200, description="Only these; null for all.")] = None
    add: bool = False
    agent_id: Annotated[UUID | None, Field(description="Its config.credentials names the credential.")] = None

    def options(self) -> dict[str, Any]:
        """Of the skills."""
        given = self.model_dump(include=set(McpServerSpec.model_fields), exclude_none=True)
        return {name: value for name, value in given.items() if value not in ([], {})}


class FoundTool(BaseModel):
    """A tool; `name` is the skill's, null with a `problem` that keeps it from being one."""

    tool: str
    name: str | None
    description: str
    risk: Risk | None
    parameters: dict[str, Any] | None
    problem: str
    version: Annotated[int | None, Field(description="Of the skill, where it was added; else null.")]

    @classmethod
    def of(cls, one: OfferedTool, version: int | None) -> "FoundTool":
        """From the value."""
        skill = one.manifest
        if skill is None:
            nothing = dict.fromkeys(("name", "risk", "parameters"))
            return cls(tool=one.tool, description="", problem=one.problem, version=version, **nothing)
        return copy_fields(cls, skill, tool=one.tool, problem=one.problem, version=version)


class FoundTools(BaseModel):
    """Tools of the server, in its order; `added` counts new skills and new versions."""

    items: list[FoundTool]
    total: int
    added: int


@router.post("/api/skills/mcp:discover", dependencies=[OPERATE])
async def discover_mcp(body: DiscoverRequest, me: Me, parts: Its) -> FoundTools:
    """List an MCP server's tools. What it says of them is data: cut, without markup, and never less than it asks for.
    Bindings do not count here: the server gets the credential that the agent's config names, or none.

    A tool reads only where its server says so; one that says nothing writes. What a skill stands on is kept with it: a
    server that changes a tool later is not called until the tool is added anew.
    """
    agent = None if body.agent_id is None else str(body.agent_id)
    if agent is not None:
        await parts.agent_store.show(me.scope, agent)
    front = body.model_dump(include={"permissions", "timeout", "credential"})
    front |= {"name": "mcp", "description": "An MCP server.", "type": "mcp", "category": CATEGORY}
    front["options"] = body.options()
    like = replace(manifest_of(front), name=PROBE)
    call = ToolInvocation(me.scope, agent, uuid4().hex, {})
    found = await discover_tools(parts.ground, call, like, options_of(like, McpServerSpec), body.prefix)
    if body.tools is not None:
        found = [one for one in found if one.tool in body.tools]
    versions: dict[str, int] = {}
    added: list[dict[str, Any]] = []
    if body.add:
        async with parts.database.transaction(me.scope) as tx:
            for one in found:
                if one.manifest is not None:
                    stored, new = await parts.skills.register(tx, me.scope, one.manifest)
                    versions[one.tool] = stored.manifest.version
                    added += [skill_detail(stored)] if new else []
            if added:
                detail = {"agent": agent, "registered": added}
                await parts.audit.record(tx, me.scope, "skill.discover", body.prefix or PROBE, detail=detail)
    shown = [FoundTool.of(one, versions.get(one.tool)) for one in found]
    return FoundTools(items=shown, total=len(shown), added=len(added))
