"""Reading rate of documents: one job's stages, engines, pace and end, and the time of recent jobs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cluster.basics.errors import NotFound
from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database, Row, load_queries
from cluster.state.work.jobs import JobState

WINDOW_SECONDS: Final = 60.0
ORDER: Final = ("survey", "read", "index", "graph")
OPEN: Final = frozenset({JobState.QUEUED, JobState.RUNNING})


@dataclass(frozen=True, slots=True)
class ReadingRate:
    """Pages and time of `jobs` recent jobs; `per_second` is None where none has read a page."""

    pages: int
    seconds: float
    jobs: int

    @property
    def per_second(self) -> float | None:
        """Pages a second, from a job's start to its end."""
        return self.pages / self.seconds if self.pages and self.seconds else None


@dataclass(frozen=True, slots=True)
class JobPace:
    """Progress and pace of a job."""

    about: str | None  # the folder or the document; None where the reader may not see it
    elapsed: float | None  # seconds since it began
    per_second: float | None  # pages a second of the last minute, or of the whole job once it has ended
    left: float | None  # seconds until all known pages are read, at that pace
    stages: Sequence[Row]
    engines: Sequence[Row] | None  # None where they were not asked for
    failures: Sequence[Row]


class JobPaces:
    """Reads the ledger; nothing is measured here."""

    def __init__(self, database: Database) -> None:
        self._db, self._sql = database, load_queries(Path(__file__).with_suffix(".sql"))

    async def of(self, scope: Scope, job: str, *, engines: bool) -> JobPace:
        """Progress and pace of a job. Raises NotFound: no such job in this workspace."""
        named = {"job": job, "workspace": scope.workspace}
        async with self._db.transaction(scope) as tx:
            row = await tx.one(self._sql["job"], **named)
            if row is None:
                raise NotFound(f"job {job}")
            stages = sorted(await tx.all(self._sql["stages"], **named), key=_stage_order)
            lately = await tx.one(self._sql["lately"], **named, seconds=WINDOW_SECONDS)
            failures = await tx.all(self._sql["failures"], **named)
            used = await tx.all(self._sql["engines"], **named) if engines else None
        elapsed = _elapsed_seconds(row)
        read = next((stage for stage in stages if stage["stage"] == "read"), None)
        pace = per_second(row["state"], elapsed, read, int(lately["pages"]) if lately else 0)
        return JobPace(row["about"], elapsed, pace, _seconds_left(row["state"], read, pace), stages, used, failures)

    async def about(self, scope: Scope, jobs: Sequence[str]) -> Mapping[str, str | None]:
        """The folders or documents that several jobs are about, by the jobs' ids."""
        async with self._db.transaction(scope) as tx:
            rows = await tx.all(self._sql["about"], jobs=list(jobs), workspace=scope.workspace)
        return {str(row["id"]): row["about"] for row in rows}

    async def recent(self, scope: Scope) -> ReadingRate:
        """Reading rate of the workspace's newest jobs."""
        async with self._db.transaction(scope) as tx:
            row = await tx.one(self._sql["recent"], workspace=scope.workspace)
        known = row or {"pages": 0, "seconds": 0.0, "jobs": 0}
        return ReadingRate(int(known["pages"]), float(known["seconds"]), int(known["jobs"]))


def per_second(state: str, elapsed: float | None, read: Row | None, lately: int) -> float | None:
    """Pages a second: of the last minute while it runs, of the whole once it has ended."""
    if elapsed is None or elapsed <= 0 or read is None:
        return None
    if state in OPEN:
        return lately / min(WINDOW_SECONDS, elapsed) if lately else None
    settled = int(read["done"]) + int(read["failed"])
    return settled / elapsed if settled else None


def _seconds_left(state: str, read: Row | None, pace: float | None) -> float | None:
    if state not in OPEN or read is None or not pace:
        return None
    return max(0, read["expected"] - read["done"] - read["failed"] - read["unchanged"]) / pace


def _elapsed_seconds(row: Row) -> float | None:
    began, ended = row["started_at"], row["finished_at"] or row["now"]
    return None if began is None else float((ended - began).total_seconds())


def _stage_order(stage: Row) -> int:
    return ORDER.index(stage["stage"]) if stage["stage"] in ORDER else len(ORDER)
