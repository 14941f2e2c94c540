"""Progress of a job: its counters by stage, and the events that its readers follow."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from psycopg.types.json import Jsonb

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


async def append_event(tx: Transaction, query: str, job: str, kind: str, payload: Mapping[str, Any]) -> int:
    """Append to the job's stream and return the event's gapless number."""
    row = await tx.one(query, stream=f"job:{job}", type=kind, payload=Jsonb(payload))
    return 0 if row is None else int(row["seq"])


async def read_job_counters(tx: Transaction, query: str, scope: Scope, job: str) -> JobCounters:
    """All counters of a job."""
    rows = await tx.all(query, job=job, workspace=scope.workspace)
    return JobCounters(
        {r["stage"]: {k: int(r[k]) for k in ("expected", "done", "failed", "unchanged")} for r in rows},
        {r["stage"]: {k: int(r[f"ended_{k}"]) for k in ("degraded", "partial", "failed")} for r in rows},
    )
