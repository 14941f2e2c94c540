"""A person's next message as the answer to what their agent has asked: the run that waits goes on with it."""

from dataclasses import dataclass

from cluster.basics.errors import Conflict
from cluster.basics.scope import Scope
from cluster.state.approvals import ApprovalStore
from cluster.state.db.postgres import Database, Row
from cluster.state.work.run_record import RunState
from cluster.state.work.runs import RunLedger
from serve_apps.agents.intake.turn import load_turn
from serve_apps.agents.memory.memory_guard import guard_text
from serve_apps.agents.memory.remember import ConversationMemory
from serve_apps.agents.turn_ports import AgentSnapshot, IncomingMessage, Turn

_UNDER_WAY = frozenset({RunState.QUEUED, RunState.RUNNING})


class AlreadyAnswered(Conflict):
    """This question was answered already."""

    code = "already_answered"
    fix = "Wait for the answer; GET /api/runs/{run_id}/events follows it."


@dataclass(frozen=True, slots=True)
class Resumed:
    """The turn that goes on, and the number of the last event that was told before."""

    turn: Turn
    told: int


class Replies:
    """Finds what a conversation waits for, and hands the answer over in one transaction with the message."""

    def __init__(
        self, database: Database, runs: RunLedger, approvals: ApprovalStore, memory: ConversationMemory, lease: float
    ) -> None:
        """`lease`: seconds for which the resumed run is kept for whoever sent the answer."""
        self._db, self._runs, self._approvals, self._memory, self._lease = database, runs, approvals, memory, lease

    async def pending(self, scope: Scope, incoming: IncomingMessage) -> Row | None:
        """The question that a message answers; None where it begins a turn of its own.

        Raises AlreadyAnswered where the same words did and their turn is under way: the message was sent twice.
        """
        if not incoming.person or incoming.session is None or scope.user is None or incoming.options.get("trailing"):
            return None
        row = await self._approvals.question(scope, incoming.session, scope.user)
        if row is None:
            return None
        if row["state"] == "pending" and row["run_state"] == RunState.WAITING:
            return row
        again = (row["decided_arguments"] or {}).get("reply") == incoming.message
        if again and row["run_state"] in _UNDER_WAY:
            raise AlreadyAnswered(f"run {row['run_id']} goes on with it")
        return None

    async def take(
        self, scope: Scope, question: Row, agent: AgentSnapshot, incoming: IncomingMessage
    ) -> Resumed | None:
        """Store the message and wake the run up; None where it is for another agent than the one that asked.

        Raises AlreadyAnswered where somebody was faster, Conflict where the conversation is closed.
        """
        if str(question["agent_id"]) != agent.id:
            return None
        session, run = str(question["session_id"]), str(question["run_id"])
        guarded = await guard_text(incoming.message, scope.tenant, session)
        async with self._db.transaction(scope) as tx:
            try:
                await self._approvals.reply(tx, scope, str(question["id"]), incoming.message, self._lease)
            except Conflict as error:
                raise AlreadyAnswered(error.detail) from None
            stored = await self._memory.keep(tx, scope, session, "user", guarded, run)
        await self._memory.kept(scope, session, stored)
        loaded = await self._runs.load(scope, run)
        return Resumed(load_turn(loaded.input), loaded.last_event)
