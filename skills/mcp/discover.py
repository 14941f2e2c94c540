"""From a server's list of tools to skills of a workspace: named, described as data, with a risk, bound to it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cluster.basics.errors import AosError
from skills.framework.contract import Call
from skills.framework.dependencies import Disabled, Ground
from skills.framework.manifest import Kind, Manifest, Risk
from skills.framework.skill_store import Skills
from skills.mcp.options import Place
from skills.mcp.sanitize import plain, schema, skill_name, told

if TYPE_CHECKING:
    from mcp.types import Tool as RemoteTool

CATEGORY = "Own/MCP"


@dataclass(frozen=True, slots=True)
class Offered:
    """A tool of a server.

    Attributes:
        tool: its name there, as far as it can be shown.
        manifest: the skill that it would be; None where it can be none.
        problem: why not.
    """

    tool: str
    manifest: Manifest | None
    problem: str = ""


async def discover(ground: Ground, call: Call, like: Manifest, place: Place, prefix: str) -> list[Offered]:
    """List the server's tools, in its own order.

    Args:
        ground: whose credentials, allow-lists and connections.
        call: who asks.
        like: the credential's type, the permissions and the seconds that each skill will have.
        place: the server.
        prefix: of the skills' names.

    Raises:
        Disabled: skills of this kind are off.
        AosError: those of `Session.tools`.
    """
    if Kind.MCP in ground.settings.off:
        raise Disabled("skills of type mcp are off")
    # The SDK takes a second to import, and most processes never call an MCP server.
    from skills.mcp.session import Session

    tools = await Session(like, place, ground).tools(call)
    host = place.url.split("/")[2] if place.url else place.argv[0].rpartition("/")[2]
    return list(_once(_offered(one, like, place, prefix, host) for one in tools))


def risk(tool: "RemoteTool") -> Risk:
    """Risk from the server's hints. Without hints a tool writes; with contradictory ones it is destructive."""
    hints = tool.annotations
    if hints is not None and hints.destructive_hint:
        return Risk.DESTRUCTIVE
    return Risk.READ if hints is not None and hints.read_only_hint is True else Risk.WRITE


def _offered(tool: "RemoteTool", like: Manifest, place: Place, prefix: str, server: str) -> Offered:
    from skills.mcp.results import identity  # it is there already: `discover` has called the server

    shown = plain(tool.name, 100)
    try:
        options: dict[str, Any] = place.model_dump(mode="json", exclude_defaults=True)
        manifest = replace(
            like,
            name=skill_name(prefix, tool.name),
            description=told(server, tool.name, tool.description),
            kind=Kind.MCP,
            parameters=schema(tool.input_schema),
            risk=risk(tool),
            category=CATEGORY,
            options={**options, "tool": tool.name, "sha256": identity(tool)},
        )
        Skills.check(manifest)
    except AosError as error:
        return Offered(shown, None, error.detail or error.title)
    return Offered(shown, manifest)


def _once(offered: Iterable[Offered]) -> Iterable[Offered]:
    """A second one of a name is none: which of them a call meant nobody could tell."""
    seen: set[str] = set()
    for one in offered:
        if one.manifest is not None and one.manifest.name in seen:
            yield Offered(one.tool, None, "another tool of this server has this name")
            continue
        if one.manifest is not None:
            seen.add(one.manifest.name)
        yield one
