"""The stream of a job's events, each with a gapless number."""

from collections.abc import Mapping
from typing import Any

from psycopg.types.json import Jsonb

from cluster.state.db.postgres import Transaction


async def append_event(tx: Transaction, query: str, job: str, kind: str, payload: Mapping[str, Any]) -> int:
    """Append to the job's stream and return the event's gapless number."""
    row = await tx.one(query, stream=f"job:{job}", type=kind, payload=Jsonb(payload))
    return 0 if row is None else int(row["seq"])
