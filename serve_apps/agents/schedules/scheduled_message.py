"""A scheduled message: comes in as any other, is carried out as any other; the schedule waits for how it ends."""

import asyncio
from collections.abc import Awaitable, Callable

from cluster.basics.errors import Conflict, NotFound
from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database, Transaction
from cluster.state.work.run_record import RunState
from cluster.state.work.runs import RunLedger
from cluster.state.work.schedules import ScheduleOutcome
from cluster.state.work.schedules_due import DueSchedules, DueTime, DueTimeResult
from serve_apps.agents.intake.turn_intake import TurnIntake
from serve_apps.agents.turn_ports import IncomingMessage

LOOK_SECONDS = 0.5

_ENDS = {
    RunState.COMPLETED: ScheduleOutcome.COMPLETED,
    RunState.FAILED: ScheduleOutcome.FAILED,
    RunState.CANCELLED: ScheduleOutcome.CANCELLED,
    RunState.WAITING: ScheduleOutcome.WAITING,
}


class ScheduledMessage:
    """The action `message`; its payload is {message}. The turn's id is the due time's: begun again, it is the same."""

    def __init__(
        self,
        database: Database,
        due: DueSchedules,
        runs: RunLedger,
        intake: TurnIntake,
        *,
        look_seconds: float = LOOK_SECONDS,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`intake` stores the turn; the runners carry it, as everything that nobody reads."""
        self._db, self._due, self._runs, self._intake = database, due, runs, intake
        self._look, self._sleep = look_seconds, sleep

    async def __call__(self, scope: Scope, due: DueTime, seconds: float) -> DueTimeResult:
        """As `ScheduledAction`; raises NotFound if its agent is gone, Conflict, LeaseLost: another has it."""
        state = await self._run_state(scope, due.id)
        if state is None:
            await self._accept(scope, due)
            state = RunState.QUEUED
        waited = 0.0
        while state not in _ENDS and waited < seconds:
            await self._sleep(self._look)
            waited += self._look
            state = await self._run_state(scope, due.id) or RunState.CANCELLED  # its agent was deleted
        if state in _ENDS:
            return DueTimeResult(_ENDS[state], run=due.id)
        await self._cancel_run(scope, due.id)
        return DueTimeResult(ScheduleOutcome.TIMEOUT, run=due.id, error="its turn took too long and was cancelled")

    async def leave(self, due: DueTime) -> str | None:
        """As `ScheduledAction`: its turn is cancelled, also where the owner has no rights any more."""
        scope = due.lease.scope
        if await self._run_state(scope, due.id) is None:
            return None
        await self._cancel_run(scope, due.id)
        return due.id

    async def _accept(self, scope: Scope, due: DueTime) -> None:
        async def hold(tx: Transaction) -> None:
            await self._due.hold(tx, due.lease)

        incoming = IncomingMessage(due.agent, str(due.payload["message"]), session=f"schedule:{due.id}")
        await self._intake.accept(scope, incoming, run=due.id, attended=False, hold=hold)

    async def _run_state(self, scope: Scope, run: str) -> RunState | None:
        try:
            return (await self._runs.load(scope, run)).state
        except NotFound:
            return None

    async def _cancel_run(self, scope: Scope, run: str) -> None:
        try:
            async with self._db.transaction(scope) as tx:
                await self._runs.cancel(tx, scope, run)
        except (Conflict, NotFound):
            return  # it has ended at this moment, or its agent was deleted
