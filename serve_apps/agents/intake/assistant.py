"""The agent that every workspace has."""

from cluster.basics.scope import Scope
from cluster.state.agent_store import DefaultAgent, NewAgent
from cluster.state.audit import AuditLog
from cluster.state.db.postgres import Transaction

ASSISTANT = NewAgent(
    name="assistant",
    description="Answers questions about this workspace's documents and does small tasks with tools.",
    system_prompt=(
        "You are a helpful assistant for the people of this workspace. You search its documents, calculate, look up"
        " the time, and act only through your tools. Say so when you do not know."
    ),
    whole_workspace=True,
)


def standing_assistant(audit: AuditLog) -> DefaultAgent:
    """It comes to be when somebody first asks for it; the trail says who that was."""

    async def opened(tx: Transaction, scope: Scope, agent: str) -> None:
        await audit.record(tx, scope, "agent.add", agent, detail={"name": ASSISTANT.name})

    return DefaultAgent(ASSISTANT, opened)
