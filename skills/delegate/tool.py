"""`delegate`: another agent of the workspace carries a task out; and skills that a model carries out."""

from collections.abc import Mapping
from typing import Any, Protocol

from cluster.models.messages import ToolSpec
from skills.framework.contract import CallEffect, ToolInvocation, TurnBound
from skills.framework.execution_scope import ExecutionScope, scope_of
from skills.framework.manifest import Manifest
from skills.framework.skill_guard import check_permission


class TaskExecutor(Protocol):
    """Port that carries out delegated tasks: bound to the turn that delegates."""

    async def carry_out(self, agent: str, task: str) -> Any:
        """The other agent's answer as JSON; `task` is all that it is told, as it does not see the conversation.

        Raises NotFound: no agent has this name or id; ToolRefused: too deep, or the agent is already at work above.
        """


class DelegateTool(TurnBound):
    """Delegation as a tool. Each step of the other agent is recorded, not the call as a whole."""

    effect = CallEffect.READ  # what the other agent does passes the approval list, call by call

    def __init__(self, spec: ToolSpec, delegations: TaskExecutor) -> None:
        """`delegations` belongs to one turn."""
        self.spec, self._delegations = spec, delegations

    async def run(self, call: ToolInvocation) -> Any:
        """Result and errors of `TaskExecutor.carry_out`."""
        return await self._delegations.carry_out(str(call.arguments["agent"]), str(call.arguments["task"]))


class SkillExecutor(TaskExecutor, Protocol):
    """Port that carries out such skills: bound to one turn."""

    async def carry_out_skill(self, skill: Manifest, scope: ExecutionScope, arguments: Mapping[str, Any]) -> Any:
        """The answer as JSON. Raises Refused: it goes no deeper."""


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
