"""Costs of a job in its lane: what is left of it by measured seconds a page, and when that is for another lane."""

from collections.abc import Sequence
from typing import Final

from cluster.state.db.postgres import Database, Row, SqlStore
from cluster.state.work.jobs import ClaimedJob, JobLane
from pipelines.documents.document import Failure, FailureReason
from pipelines.documents.sources.sniff import Kind

MEASURED_PAGES: Final = 3  # so many of a format tell what the next one costs
TEXT_SECONDS: Final = 0.02  # a page that has text; what a page costs at least, before any was read
PICTURE_SECONDS: Final = 1.0  # a page that is a picture, as OCR reads it on one core
INDEX_SECONDS: Final = 0.03  # a page's chunks and vectors
UNIT_SECONDS: Final = 0.25  # a file to open, a version to index
MOST_SLOW_UNITS: Final = 40  # for the one reader of the slow lane; more of them are read by all of the cluster's


class TooSlow(Exception):
    """A file or page costs more than those that wait beside it should wait for."""


def refuse_slow(job: ClaimedJob, failure: Failure | None) -> None:
    """In the small lane a limit that was overrun is no answer yet: raises TooSlow."""
    if job.lane is JobLane.SMALL and failure is not None and failure.reason is FailureReason.TIMEOUT:
        raise TooSlow(failure.detail)


def seconds_left(kinds: Sequence[Row], units: int) -> float:
    """Of work on one core: pages by format with the mean milliseconds of those that the job has read, and other units.

    A format of which it has read too few costs the least that it may: whether a PDF is scanned shows in its first
    slice, and a long text that went to the bulk lane for nothing would wait there.
    """
    return UNIT_SECONDS * units + sum(row["pages"] * (INDEX_SECONDS + _page_seconds(row)) for row in kinds)


def _page_seconds(row: Row) -> float:
    if row["measured"] >= MEASURED_PAGES:
        return float(row["ms"]) / 1000
    return PICTURE_SECONDS if row["kind"] == Kind.IMAGE else TEXT_SECONDS


class JobCosts(SqlStore, queries="job_cost.sql"):
    """Estimates from the ledger."""

    def __init__(self, database: Database, most_seconds: float) -> None:
        """`most_seconds` of work may be left of a job among small ones."""
        super().__init__(database)
        self._most = most_seconds

    async def why_bulk(self, job: ClaimedJob) -> str | None:
        """Why the rest of a job is for the bulk lane; None where it is not, or is there already."""
        if job.lane not in (JobLane.SMALL, JobLane.SLOW):
            return None
        async with self._db.transaction(job.lease.scope) as tx:
            kinds = await tx.all(self._sql["pages_left"], **job.lease.values)
            units = int((await tx.only(self._sql["units_left"], **job.lease.values))["units"])
        pages = sum(row["pages"] for row in kinds)
        if job.lane is JobLane.SLOW:  # there the dearest are, however few
            many = pages + units > MOST_SLOW_UNITS
            return f"{pages + units:,} units are left, more than {MOST_SLOW_UNITS} for one reader" if many else None
        left = seconds_left(kinds, units)
        if left <= self._most:
            return None
        return f"about {left:,.0f} s of work are left ({pages:,} pages), more than {self._most:g} s"
