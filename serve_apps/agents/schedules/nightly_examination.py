"""The nightly examination: changed references are read again, the agent is examined again, and demoted if it fails."""

import time
from collections.abc import Callable

from cluster.basics.scope import Role, Scope
from cluster.state.work.schedules import ScheduleOutcome
from cluster.state.work.schedules_due import DueTime, DueTimeResult
from serve_apps.agents.academy.school import Academy

_EXAMINERS = frozenset({Role.OPERATOR, Role.ADMIN})


class NightlyExamination:
    """The action `academy`. Jobs and report of a due time are there once, however often it is begun."""

    def __init__(self, school: Academy, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` gives seconds that grow."""
        self._school, self._clock = school, clock

    async def __call__(self, scope: Scope, due: DueTime, seconds: float) -> DueTimeResult:
        """As `ScheduledAction`; raises NotFound, NotEnrolled, NothingToStudy where the agent cannot be examined."""
        if scope.role not in _EXAMINERS:
            return DueTimeResult(
                ScheduleOutcome.REFUSED,
                error=f"examinations need the role operator or admin; its owner is {scope.role}",
            )
        if (known := await self._school.reported(scope, due.id)) is not None:
            return _examination_ending(known["passed"], known["score"])
        until = self._clock() + seconds
        jobs = await self._school.study(scope, due.agent, due.id)
        if open_ := await self._school.wait(scope, due.agent, seconds):
            return DueTimeResult(ScheduleOutcome.TIMEOUT, job=open_[0], error="the references are still being read")
        made = await self._school.examine(scope, due.agent, due.id, max(until - self._clock(), 0.0))
        return _examination_ending(made.result.passed, made.result.score, jobs[0])

    async def leave(self, due: DueTime) -> str | None:
        """As `ScheduledAction`: its jobs go on, they read what has changed whoever asked; there is no turn."""
        return None


def _examination_ending(passed: bool, score: float, job: str | None = None) -> DueTimeResult:
    """A failed examination is a completed run: what it found stands in the report."""
    return DueTimeResult(ScheduleOutcome.COMPLETED, job=job, error=None if passed else f"not passed: {score:.2f}")
