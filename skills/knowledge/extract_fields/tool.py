"""The extraction tool: values of one of the agent's documents in the form of a JSON schema."""

from collections.abc import Mapping
from typing import Any

from cluster.basics.errors import Invalid, Unavailable
from cluster.models.messages import ToolSpec
from skills.framework.contract import CallEffect, KnowledgeSearch, ToolInvocation
from skills.framework.dependencies import SkillDependencies
from skills.framework.manifest import Manifest
from skills.framework.passage_source import FieldSource


class ExtractionTool(KnowledgeSearch):
    """Extracts by a schema; the lines that hold the values may be quoted."""

    effect = CallEffect.READ

    def __init__(self, spec: ToolSpec, fields: FieldSource | None) -> None:
        """`fields` is None where this process has no documents."""
        self.spec = spec
        self._fields = fields

    async def run(self, call: ToolInvocation) -> Any:
        """Result of `FieldSource`. Raises Invalid: an argument is missing, or no agent asks; Unavailable: no documents.

        What a schema is refused for is raised by its own name.
        """
        if call.agent is None:
            raise Invalid("documents are linked to agents, and no agent asks")
        if self._fields is None:
            raise Unavailable("there are no documents here")
        document = str(call.arguments.get("document") or "").strip()
        schema = call.arguments.get("schema")
        if not document:
            raise Invalid("document is empty", fix="Name it by its id or its file name, as a search shows them.")
        if not isinstance(schema, Mapping):
            fix = 'Write it as {"type": "object", "properties": {"total": {"type": "number"}}}.'
            raise Invalid("schema is no JSON object", fix=fix)
        return await self._fields.extract(call.scope, call.agent, document, schema)


def build(manifest: Manifest, ground: SkillDependencies) -> ExtractionTool:
    """See `Build`."""
    return ExtractionTool(manifest.spec, ground.fields)
