"""`delegate`: another agent of the workspace carries a task out and answers."""

from typing import Any, Protocol

from cluster.models.messages import ToolSpec
from skills.framework.contract import CallEffect, ToolInvocation, TurnBound


class TaskExecutor(Protocol):
    """Port that carries out delegated tasks: bound to the turn that delegates."""

    async def carry_out(self, agent: str, task: str) -> Any:
        """The other agent's answer as JSON.

        Args:
            agent: its name or id.
            task: all that it is told; it does not see the conversation.

        Raises:
            NotFound: the workspace has no such agent.
            ToolRefused: too deep, or the agent is already at work above.
        """
        ...


class DelegateTool(TurnBound):
    """Delegation as a tool. Each step of the other agent is recorded, not the call as a whole."""

    effect = CallEffect.READ  # what the other agent does passes the approval list, call by call

    def __init__(self, spec: ToolSpec, delegations: TaskExecutor) -> None:
        """`delegations` belongs to one turn."""
        self.spec, self._delegations = spec, delegations

    async def run(self, call: ToolInvocation) -> Any:
        """Result and errors of `TaskExecutor.carry_out`."""
        return await self._delegations.carry_out(str(call.arguments["agent"]), str(call.arguments["task"]))
