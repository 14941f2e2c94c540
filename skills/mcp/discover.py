"""From a server's list of tools to skills of a workspace: named, described as data, with a risk, bound to it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cluster.basics.errors import AosError
from skills.framework.contract import ToolInvocation
from skills.framework.dependencies import SkillDependencies, SkillDisabled
from skills.framework.manifest import Kind, Manifest, Risk
from skills.framework.skill_store import SkillStore
from skills.mcp.options import McpServerSpec
from skills.mcp.sanitize import plain_line, quoted_description, sanitize_schema, skill_name

if TYPE_CHECKING:
    from mcp.types import Tool as RemoteTool

CATEGORY = "Own/MCP"


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool of a server."""

    tool: str  # its name there, as far as it can be shown
    manifest: Manifest | None  # the skill that it would be; None where it can be none
    problem: str = ""  # why not


async def discover_tools(
    ground: SkillDependencies, call: ToolInvocation, like: Manifest, place: McpServerSpec, prefix: str
) -> list[OfferedTool]:
    """List the server's tools, in its own order.

    `like`: the credential's type, the permissions and the seconds that each skill will have; `prefix`: of their names.

    Raises SkillDisabled: skills of this kind are off; AosError: those of `Session.tools`.
    """
    if Kind.MCP in ground.settings.off:
        raise SkillDisabled("skills of type mcp are off")
    # The SDK takes a second to import, and most processes never call an MCP server.
    from skills.mcp.session import McpSession

    tools = await McpSession(like, place, ground).tools(call)
    host = place.url.split("/")[2] if place.url else place.argv[0].rpartition("/")[2]
    return list(_unique_names(_offer_tool(one, like, place, prefix, host) for one in tools))


def tool_risk(tool: "RemoteTool") -> Risk:
    """Risk from the server's hints. Without hints a tool writes; with contradictory ones it is destructive."""
    hints = tool.annotations
    if hints is not None and hints.destructive_hint:
        return Risk.DESTRUCTIVE
    return Risk.READ if hints is not None and hints.read_only_hint is True else Risk.WRITE


def _offer_tool(tool: "RemoteTool", like: Manifest, place: McpServerSpec, prefix: str, server: str) -> OfferedTool:
    from skills.mcp.results import tool_identity  # it is there already: `discover_tools` has called the server

    shown = plain_line(tool.name, 100)
    try:
        options: dict[str, Any] = place.model_dump(mode="json", exclude_defaults=True)
        options |= {"tool": tool.name, "sha256": tool_identity(tool)}
        name, said = skill_name(prefix, tool.name), quoted_description(server, tool.name, tool.description)
        manifest = replace(like, name=name, description=said, parameters=sanitize_schema(tool.input_schema))
        manifest = replace(manifest, kind=Kind.MCP, risk=tool_risk(tool), category=CATEGORY, options=options)
        SkillStore.check(manifest)
    except AosError as error:
        return OfferedTool(shown, None, error.detail or error.title)
    return OfferedTool(shown, manifest)


def _unique_names(offered: Iterable[OfferedTool]) -> Iterable[OfferedTool]:
    """A second one of a name is none: which of them a call meant nobody could tell."""
    seen: set[str] = set()
    for one in offered:
        name = one.manifest and one.manifest.name
        yield OfferedTool(one.tool, None, "another tool of this server has this name") if name in seen else one
        seen |= {name} if name else set()
