"""The table tool: lists tables of the agent's documents, and runs a SELECT over them."""

from typing import Any

from cluster.basics.errors import Invalid, Unavailable
from cluster.models.messages import ToolSpec
from skills.framework.contract import CallEffect, KnowledgeSearch, ToolInvocation
from skills.framework.dependencies import SkillDependencies
from skills.framework.manifest import Manifest
from skills.framework.passage_source import TableSource


class TableTool(KnowledgeSearch):
    """Calculates from tables; the rows it used may be quoted."""

    effect = CallEffect.READ

    def __init__(self, spec: ToolSpec, tables: TableSource | None) -> None:
        """`tables` is None where this process has no documents."""
        self.spec = spec
        self._tables = tables

    async def run(self, call: ToolInvocation) -> Any:
        """Result of `TableSource`. Raises Invalid: an argument is missing, or no agent asks; Unavailable: no tables."""
        if call.agent is None:
            raise Invalid("documents are linked to agents, and no agent asks")
        if self._tables is None:
            raise Unavailable("there are no tables here")
        action = call.arguments.get("action")
        if action == "list":
            question = str(call.arguments.get("question") or "").strip()
            return await self._tables.list_tables(call.scope, call.agent, question)
        if action == "insights":
            return await self._tables.find_insights(call.scope, call.agent, _argument(call, "table"))
        return await self._tables.query(call.scope, call.agent, _argument(call, "sql"))


def _argument(call: ToolInvocation, name: str) -> str:
    said = str(call.arguments.get(name) or "").strip()
    if not said:
        raise Invalid(f"{name} is empty", fix="List the tables first, then ask them by name.")
    return said


def build(manifest: Manifest, ground: SkillDependencies) -> TableTool:
    """See `Build`."""
    return TableTool(manifest.spec, ground.tables)
