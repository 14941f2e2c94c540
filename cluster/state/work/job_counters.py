"""Counters of a job's units by stage, as the ledger keeps them beside the units."""

from dataclasses import dataclass

from cluster.basics.scope import Scope
from cluster.state.db.postgres import Transaction


@dataclass(frozen=True, slots=True)
class JobCounters:
    """The counters of a job by stage.

    Attributes:
        progress: expected, done, failed and unchanged units.
        ended: of those that are done or unchanged, how many came to something degraded, partial or failed.
    """

    progress: dict[str, dict[str, int]]
    ended: dict[str, dict[str, int]]

    @property
    def open_units(self) -> int:
        """The number of units that are neither done, failed nor unchanged."""
        return sum(c["expected"] - c["done"] - c["failed"] - c["unchanged"] for c in self.progress.values())


async def read_job_counters(tx: Transaction, query: str, scope: Scope, job: str) -> JobCounters:
    """All counters of a job."""
    rows = await tx.all(query, job=job, workspace=scope.workspace)
    return JobCounters(
        {r["stage"]: {k: int(r[k]) for k in ("expected", "done", "failed", "unchanged")} for r in rows},
        {r["stage"]: {k: int(r[f"ended_{k}"]) for k in ("degraded", "partial", "failed")} for r in rows},
    )
