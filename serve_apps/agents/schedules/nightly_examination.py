"""The nightly examination: changed references are read again, the agent is examined again, and demoted if it fails."""

import time
from collections.abc import Callable

from cluster.basics.scope import Role, Scope
from cluster.state.work.schedules import Ended
from cluster.state.work.schedules_due import Due, Ending
from serve_apps.agents.academy.school import School

_EXAMINERS = frozenset({Role.OPERATOR, Role.ADMIN})


class Examinations:
    """The action `academy`. Jobs and report of a due time are there once, however often it is begun."""

    def __init__(self, school: School, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` gives seconds that grow."""
        self._school, self._clock = school, clock

    async def __call__(self, scope: Scope, due: Due, seconds: float) -> Ending:
        """As `Carries`.

        Raises:
            NotFound, NotEnrolled, NothingToStudy: the agent cannot be examined.
        """
        if scope.role not in _EXAMINERS:
            return Ending(
                Ended.REFUSED, error=f"examinations need the role operator or admin; its owner is {scope.role}"
            )
        if (known := await self._school.reported(scope, due.id)) is not None:
            return _ending(known["passed"], known["score"])
        until = self._clock() + seconds
        jobs = await self._school.study(scope, due.agent, due.id)
        if open_ := await self._school.wait(scope, due.agent, seconds):
            return Ending(Ended.TIMEOUT, job=open_[0], error="the references are still being read")
        made = await self._school.examine(scope, due.agent, due.id, max(until - self._clock(), 0.0))
        return _ending(made.result.passed, made.result.score, jobs[0])

    async def leave(self, due: Due) -> str | None:
        """As `Carries`: its jobs go on, they read what has changed whoever asked; there is no turn."""
        return None


def _ending(passed: bool, score: float, job: str | None = None) -> Ending:
    """A failed examination is a completed run: what it found stands in the report."""
    return Ending(Ended.COMPLETED, job=job, error=None if passed else f"not passed: {score:.2f}")
