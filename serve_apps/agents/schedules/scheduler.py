"""The scheduler: looks for due schedules, carries a few at a time, and gives each due time one end on record."""

import asyncio
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from cluster.basics.errors import AosError, LeaseLost, Transient
from cluster.basics.scope import Scope
from cluster.state.audit import AuditLog
from cluster.state.identity.identity import IdentityStore, least_role
from cluster.state.work.lease import Heartbeat, LeaseSweep
from cluster.state.work.schedules import Action, ScheduleOutcome
from cluster.state.work.schedules_due import DueSchedules, DueTime, DueTimeResult, ScheduleLease
from configs.sections_skills import ScheduleSettings
from serve_apps.agents.intake.rights import NoMember

MOST_ATTEMPTS = 8  # what ends its process each time must not end every process that there is
_CUT = frozenset({ScheduleOutcome.FAILED, ScheduleOutcome.TIMEOUT, ScheduleOutcome.REFUSED})


class ScheduledAction(Protocol):
    """Carries one action out."""

    async def __call__(self, scope: Scope, due: DueTime, seconds: float) -> DueTimeResult:
        """Do it, or go on with it where another process left it: `due.id` is the same at every attempt.

        `scope`: the owner's, with the rights that are left now. `seconds`: until it has to be over; what is not then
        ends as TIMEOUT. Raises AosError where it cannot be done, LeaseLost where somebody else does it; after a
        Transient it is begun again.
        """

    async def leave(self, due: DueTime) -> str | None:
        """Stop what an attempt has begun, as the due time ends without it; returns the turn that it had led to."""


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
        """`identity`, `audit`: the owner's rights of now, where a refusal is told. `owner`: who claims, for people."""
        self._due, self._identity, self._audit, self._actions = due, identity, audit, actions
        self._settings, self._owner = settings, owner
        # However many are carried here: the claim counts those of all processes.
        self._sweep = LeaseSweep(self._claim_due, self._execute_due, sys.maxsize, lambda: settings.poll_seconds)

    def wake(self) -> None:
        """Look now: somebody asked for something in this process."""
        self._sweep.wake()

    async def sweep(self, stop: asyncio.Event) -> None:
        """Carry out what is due until told to stop; what has not ended then is given back."""
        await self._sweep.run(stop)

    async def _claim_due(self, room: int) -> list[ScheduleLease]:
        return await self._due.claim(self._owner, self._settings.lease_seconds, self._settings.at_once)

    async def _execute_due(self, lease: ScheduleLease, stop: asyncio.Event) -> None:
        """One due time to its end; a process that stops gives it back."""
        due = await self._due.begin(lease)
        seconds = self._settings.lease_seconds
        heartbeat = Heartbeat(self._due.heartbeat, lease, seconds, seconds / 4)
        acting = await heartbeat.run(self._run_action(due), stop)
        if not acting.cancelled():
            await self._due.finish(due, acting.result())
        elif not heartbeat.lost:
            await self._due.release(lease)

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
            why = f"crashes: none of {due.attempts - 1} attempts came to an end"
            return DueTimeResult(ScheduleOutcome.FAILED, error=why)
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

        Raises NoMember where they are gone, disabled, or no member of the workspace; the refusal is in the audit trail.
        """
        scope = due.lease.scope
        member = await self._identity.member(scope.tenant, due.owner, scope.workspace)
        if member is None:
            who = replace(scope, user=due.owner, principals=())
            await self._audit.denied(who, "schedule.carry", due.lease.schedule, {"reason": NoMember.code})
            raise NoMember(f"user {due.owner}")
        return replace(member, role=least_role(due.role, member.role)).scope
