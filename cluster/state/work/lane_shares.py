"""Shares of a lane: tells the jobs at work in this process when they are to give their place back to another tenant."""

import asyncio
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from cluster.basics.errors import Transient
from cluster.state.db.postgres import Database, SqlStore
from cluster.state.work.jobs import JobId, JobLane
from cluster.state.work.work_bell import WorkBell

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.1  # between two looks, however often it rings
REST = 5.0  # times what a look takes: it has a small part of a core, whoever is in the lane
MOST_PAUSE_SECONDS = 3.0  # by then it has waited for as long as a slice
SWEEP_SECONDS = 2.0  # it looks where nothing was told, too: places come and go with workers


class LaneShares(SqlStore, queries="lane_shares.sql"):
    """Asks the ledger whenever something changes in the lane, for all jobs that this process has at work there.

    A slice is for the jobs of one tenant among each other. Between tenants it would be too long: whoever comes with one
    small upload would wait for it behind somebody's hundred.
    """

    def __init__(self, database: Database, lane: JobLane, bell: WorkBell) -> None:
        """Nothing is asked before `watch`."""
        super().__init__(database)
        self._lane, self._bell = lane, bell
        self._at_work: set[JobId] = set()
        self._beyond: frozenset[JobId] = frozenset()
        self._looked = asyncio.Event()  # set by the next look, and then another one

    def place(self) -> "LanePlace":
        """A place of this lane in this process."""
        return LanePlace(self)

    async def look(self) -> None:
        """Ask once."""
        jobs = list(self._at_work)
        async with self._db.transaction() as tx:
            rows = await tx.all(self._sql["beyond_share"], lane=self._lane, jobs=jobs)
        self._beyond = frozenset(JobId(str(row["job_id"])) for row in rows) & self._at_work
        self._looked.set()
        self._looked = asyncio.Event()

    async def watch(self) -> None:
        """Until cancelled. While Postgres is away nobody gives a place back before its slice is over."""
        queue = f"job:{self._lane}"
        while True:
            since, began = self._bell.count(queue), time.monotonic()
            if self._at_work:
                try:
                    await self.look()
                except Transient as error:
                    log.warning("nobody knows the shares of lane %s: %s", self._lane, error)
            await asyncio.sleep(max(LOOK_SECONDS, REST * (time.monotonic() - began)))
            await self._bell.wait(queue, since, poll=SWEEP_SECONDS, sweep=SWEEP_SECONDS)


class LanePlace:
    """A place in a lane: one job at a time works there."""

    def __init__(self, shares: LaneShares) -> None:
        self._shares = shares
        self._job: JobId | None = None

    @contextmanager
    def working(self, job: JobId) -> Iterator[None]:
        """Around the work at a job."""
        self._job = job
        self._shares._at_work.add(job)
        try:
            yield
        finally:
            self._job = None
            self._shares._at_work.discard(job)
            self._shares._beyond -= {job}

    @property
    def is_beyond(self) -> bool:
        """True where the job's tenant has more places than its share, this one among them, and another has work."""
        return self._job in self._shares._beyond

    async def pause(self) -> None:
        """Between parts of what cannot be given back half done: wait for as long as it is beyond, but not for ever."""
        with suppress(TimeoutError):
            async with asyncio.timeout(MOST_PAUSE_SECONDS):
                while self.is_beyond:
                    await self._shares._looked.wait()
