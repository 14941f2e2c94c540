"""The scheduler: looks for due schedules, carries a few at a time, and gives each due time one end on record."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from cluster.basics.errors import AosError, LeaseLost, Transient
from cluster.basics.scope import Scope
from cluster.state.audit import AuditLog
from cluster.state.identity.identity import IdentityStore, least_role
from cluster.state.work.schedules import Action, ScheduleOutcome
from cluster.state.work.schedules_due import DueSchedules, DueTime, DueTimeResult, ScheduleLease
from configs.sections_skills import ScheduleSettings
from serve_apps.agents.intake.rights import NoMember

MOST_ATTEMPTS = 8  # what ends its process each time must not end every process that there is
_CUT = frozenset({ScheduleOutcome.FAILED, ScheduleOutcome.TIMEOUT, ScheduleOutcome.REFUSED})
_log = logging.getLogger("aos.schedules")


class ScheduledAction(Protocol):
    """Carries one action out."""

    async def __call__(self, scope: Scope, due: DueTime, seconds: float) -> DueTimeResult:
        """Do it, or go on with it where another process left it: `due.id` is the same at every attempt.

        Args:
            scope: the owner's, with the rights that are left now.
            due: what is due.
            seconds: until it has to be over; what is not then ends as TIMEOUT.

        Raises:
            AosError: it cannot be done; LeaseLost where somebody else does it; after a Transient it is begun again.
        """
        ...

    async def leave(self, due: DueTime) -> str | None:
        """Stop what an attempt has begun, as the due time ends without it; returns the turn that it had led to."""
        ...


class Scheduler:
    """Runs in every replica that carries turns; leases decide who does what."""

    def __init__(
        self,
        due: DueSchedules,
        identity: IdentityStore,
        audit: AuditLog,
        actions: Mapping[Action, ScheduledAction],
        settings: ScheduleSettings,
        *,
        owner: str,
    ) -> None:
        """Collaborators are injected.

        Args:
            due: the record.
            identity, audit: the owner's rights of now, and where a refusal is told.
            actions: what each does.
            settings: how often, how many, how long.
            owner: who claims, for people.
        """
        self._due, self._identity, self._audit, self._actions = due, identity, audit, actions
        self._settings, self._owner = settings, owner
        self._wake = asyncio.Event()

    def wake(self) -> None:
        """Look now: somebody asked for something in this process."""
        self._wake.set()

    async def sweep(self, stop: asyncio.Event) -> None:
        """Carry out what is due until told to stop; what has not ended then is given back."""
        carried = set[asyncio.Task[None]]()
        stopping = asyncio.create_task(stop.wait())
        while not stop.is_set():
            self._wake.clear()
            for lease in await self._claim_due():
                task = asyncio.create_task(self._execute_due(lease))
                carried.add(task)
                task.add_done_callback(carried.discard)
                task.add_done_callback(_log_failure)
            woken = asyncio.create_task(self._wake.wait())
            # What ended made room for what waits.
            await asyncio.wait(
                {stopping, woken, *carried}, timeout=self._settings.poll_seconds, return_when=asyncio.FIRST_COMPLETED
            )
            woken.cancel()
        for task in carried:
            task.cancel()
        if carried:
            await asyncio.wait(set(carried))

    async def _claim_due(self) -> list[ScheduleLease]:
        try:
            return await self._due.claim(self._owner, self._settings.lease_seconds, self._settings.at_once)
        except Transient as error:
            _log.warning("nothing that is due can be claimed now: %s", error)
            return []

    async def _execute_due(self, lease: ScheduleLease) -> None:
        """One due time to its end; a process that stops gives it back."""
        due = await self._due.begin(lease)
        acting = asyncio.create_task(self._run_action(due))
        beating = asyncio.create_task(self._keep_lease(lease))
        try:
            await asyncio.wait({acting, beating}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            cut = not acting.done()
            for task in (acting, beating):
                task.cancel()
            await asyncio.wait({acting, beating})
            if cut and not _is_lease_lost(beating):
                await self._due.release(lease)
        if not cut:
            await self._due.finish(due, acting.result())

    async def _run_action(self, due: DueTime) -> DueTimeResult:
        """Ending of a due action. Transient errors are raised: the lease lapses, and its next owner begins again."""
        ending = await self._attempt_action(due)
        if ending.run is None and ending.status in _CUT:
            return replace(ending, run=await self._actions[due.action].leave(due))
        return ending

    async def _attempt_action(self, due: DueTime) -> DueTimeResult:
        """One attempt. Each has its own seconds: an outage between two of them is nobody's running time."""
        seconds = self._settings.seconds
        if due.attempts > MOST_ATTEMPTS:
            return DueTimeResult(
                ScheduleOutcome.FAILED, error=f"crashes: none of {due.attempts - 1} attempts came to an end"
            )
        try:
            scope = await self._owner_scope(due)
            async with asyncio.timeout(seconds + self._settings.lease_seconds):
                return await self._actions[due.action](scope, due, seconds)
        except NoMember as error:
            return DueTimeResult(ScheduleOutcome.REFUSED, error=f"{error.code}: {error.title}")
        except LeaseLost:
            raise
        except TimeoutError:
            return DueTimeResult(ScheduleOutcome.TIMEOUT, error=f"it took longer than {seconds:g} s")
        except Transient as error:
            if due.attempts < MOST_ATTEMPTS:
                raise
            return DueTimeResult(ScheduleOutcome.FAILED, error=f"{error.code}: {error}")
        except AosError as error:
            return DueTimeResult(ScheduleOutcome.FAILED, error=f"{error.code}: {error}")

    async def _owner_scope(self, due: DueTime) -> Scope:
        """The owner as they are now, below the ceiling that the schedule was written with.

        Raises:
            NoMember: the owner is gone, disabled, or no member of the workspace; the refusal is in the audit trail.
        """
        scope = due.lease.scope
        member = await self._identity.member(scope.tenant, due.owner, scope.workspace)
        if member is None:
            who = replace(scope, user=due.owner, principals=())
            await self._audit.denied(who, "schedule.carry", due.lease.schedule, {"reason": NoMember.code})
            raise NoMember(f"user {due.owner}")
        return replace(member, role=least_role(due.role, member.role)).scope

    async def _keep_lease(self, lease: ScheduleLease) -> None:
        """Keep the lease; ends when it is lost."""
        missed = 0
        while missed < 3:  # of three beats a lease
            await asyncio.sleep(self._settings.lease_seconds / 4)
            try:
                await self._due.heartbeat(lease, self._settings.lease_seconds)
                missed = 0
            except Transient:
                missed += 1
        raise LeaseLost(f"schedule {lease.schedule}, token {lease.fence}")


def _is_lease_lost(beating: asyncio.Task[None]) -> bool:
    return not beating.cancelled() and beating.exception() is not None


def _log_failure(task: asyncio.Task[None]) -> None:
    """Logs a due time that could not be carried on; its lease runs out, and the next claim takes it up."""
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.warning("a due time was left: %s", error, exc_info=not isinstance(error, AosError) and error)
