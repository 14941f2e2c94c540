"""The graph tool: what the documents that are linked to the agent name, and how it is related."""

from typing import Any

from cluster.basics.errors import Invalid, Unavailable
from cluster.models.messages import ToolSpec
from skills.framework.contract import CallEffect, ToolInvocation
from skills.framework.dependencies import SkillDependencies
from skills.framework.manifest import Manifest
from skills.framework.passage_source import EntitySource

MOST, USUAL = 25, 8  # entities of one call


class GraphTool:
    """Looks names up in the graph."""

    effect = CallEffect.READ

    def __init__(self, spec: ToolSpec, entities: EntitySource | None) -> None:
        """`entities` is None where this process has no graph."""
        self.spec = spec
        self._entities = entities

    async def run(self, call: ToolInvocation) -> Any:
        """Result of `EntitySource.find`. Raises Invalid: nothing is asked, or by no agent; Unavailable: no graph."""
        query = str(call.arguments.get("query") or "").strip()
        if not query:
            raise Invalid("the query is empty")
        if call.agent is None:
            raise Invalid("documents are linked to agents, and no agent asks")
        if self._entities is None:
            raise Unavailable("there is no graph here")
        limit = int(call.arguments.get("limit") or USUAL)
        return await self._entities.find(call.scope, call.agent, query, max(1, min(limit, MOST)))


def build(manifest: Manifest, ground: SkillDependencies) -> GraphTool:
    """See `Build`."""
    return GraphTool(manifest.spec, ground.entities)
