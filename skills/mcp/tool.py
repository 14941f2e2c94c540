"""Skills of type mcp: one skill is one tool of somebody's MCP server."""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from skills.framework.contract import ToolInvocation
from skills.framework.dependencies import SkillDependencies
from skills.framework.manifest import BadManifest, Manifest, options_of
from skills.mcp.options import McpOptions

if TYPE_CHECKING:
    from skills.mcp.session import McpSession


class RemoteSkill:
    """A tool that another server carries out."""

    def __init__(self, manifest: Manifest, ground: SkillDependencies) -> None:
        """Raises BadManifest, CommandNotAllowed, Disallowed and Invalid: where it could never be called."""
        self._how = options_of(manifest, McpOptions)
        if (self._how.env or self._how.oauth) and manifest.credential is None:
            raise BadManifest(f"{manifest.name}: options want a credential, and the skill names no type")
        self.spec, self.effect = manifest.spec, manifest.effect
        self._manifest, self._ground = manifest, ground
        self._make_session  # noqa: B018  # where it may not be called is said now

    async def run(self, call: ToolInvocation) -> Mapping[str, Any]:
        """Give {data} or else {text}; and {parts} of what is neither. Raises AosError: those of `McpSession.call`."""
        return await self._make_session.call(call, self._how.tool, self._how.sha256)

    @cached_property
    def _make_session(self) -> "McpSession":
        # The SDK takes a second to import, and most processes never call an MCP server.
        from skills.mcp.session import McpSession

        return McpSession(self._manifest, self._how.place, self._ground)


build = RemoteSkill
