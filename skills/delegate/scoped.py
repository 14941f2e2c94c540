"""A skill that a model carries out: its text is the prompt, and only the tools that it lists are at hand (SK-17)."""

from collections.abc import Mapping
from typing import Any, Protocol

from skills.delegate.tool import DelegateTool, TaskExecutor
from skills.framework.contract import ToolInvocation
from skills.framework.execution_scope import ExecutionScope, scope_of
from skills.framework.manifest import Manifest
from skills.framework.skill_guard import check_permission


class SkillExecutor(TaskExecutor, Protocol):
    """Port that carries out such skills: bound to one turn."""

    async def carry_out_skill(self, skill: Manifest, scope: ExecutionScope, arguments: Mapping[str, Any]) -> Any:
        """The answer as JSON. Raises Refused: it goes no deeper."""
        ...


class ScopedSkill(DelegateTool):
    """Such a skill as a tool. Like a delegation it is no step of its own: each call inside is recorded and fenced."""

    def __init__(self, manifest: Manifest, executions: SkillExecutor) -> None:
        """`executions` belongs to one turn. Raises BadManifest: as `scope_of`."""
        super().__init__(manifest.spec, executions)
        self._manifest, self._scope, self._executions = manifest, scope_of(manifest), executions

    async def run(self, call: ToolInvocation) -> Any:
        """Result and errors of `Executions.carry_out_skill`; NotPermitted for a role that is not the skill's."""
        check_permission(call, self._manifest)
        return await self._executions.carry_out_skill(self._manifest, self._scope, call.arguments)
