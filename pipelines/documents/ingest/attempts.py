"""Attempts of units: counted before the work begins, and given back for what was not touched."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress

from cluster.basics.errors import AosError, DiskFull, Transient
from cluster.state.work.jobs import JobLease, JobLedger, WorkUnit
from pipelines.documents.ingest.job_cost import TooSlow

REFUND_SECONDS = 1.0  # between two looks whether Postgres can write again


class CountedAttempts:
    """Attempts of a batch, counted for the units that are next in line.

    Attributes:
        untouched: keys of units whose attempt is counted and that have not ended.
    """

    def __init__(self, jobs: JobLedger, lease: JobLease, stage: str, units: Sequence[WorkUnit], ahead: int) -> None:
        self._jobs, self._lease, self._stage, self._ahead = jobs, lease, stage, ahead
        self._left = deque(units)
        self.untouched: set[str] = set()

    async def touch(self, keys: Iterable[str]) -> None:
        """These have ended; others are in line now."""
        self.untouched.difference_update(keys)
        await self.count_next()

    async def count_next(self) -> None:
        """Count an attempt for those that may be begun now, some hundreds at once."""
        room = self._ahead - len(self.untouched)
        if not self._left or room < self._ahead / 2:
            return
        units = [self._left.popleft() for _ in range(min(room, len(self._left)))]
        await self._jobs.begin(self._lease, self._stage, units)
        self.untouched.update(unit.key for unit in units)


@asynccontextmanager
async def count_attempts(
    jobs: JobLedger, lease: JobLease, stage: str, units: Sequence[WorkUnit], ahead: int | None = None
) -> AsyncIterator[CountedAttempts]:
    """Count attempts before the work; whoever stops in good order gives back what was not touched.

    Args:
        units: in the order in which they are begun.
        ahead: so many at most have their attempt counted before they end; None for all at once. A worker that dies in
            a batch of thousands must not make all of them look as if they had ended it.
    """
    attempts = CountedAttempts(jobs, lease, stage, units, ahead or len(units))
    await attempts.count_next()
    try:
        yield attempts
    except (Transient, TooSlow):
        await _refund(jobs, lease, stage, sorted(attempts.untouched))
        raise
    except asyncio.CancelledError:  # what went on beside it has failed, and these have done nothing
        with suppress(AosError):
            await jobs.refund(lease, stage, sorted(attempts.untouched))
        raise
    await jobs.refund(lease, stage, sorted(attempts.untouched))


async def _refund(jobs: JobLedger, lease: JobLease, stage: str, keys: Sequence[str]) -> None:
    """Also once Postgres has room again: a disk that was full has cost no page an attempt."""
    while True:
        try:
            await jobs.refund(lease, stage, keys)
            return
        except DiskFull:
            await asyncio.sleep(REFUND_SECONDS)
