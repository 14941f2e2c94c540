"""A look at what can be searched: chunks as they lie in the index, within what the asker may see."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database, load_queries

SQL = load_queries(Path(__file__).with_suffix(".sql"))


@dataclass(frozen=True, slots=True)
class ChunkSample:
    """A chunk of the live generation; `text` is cut at 500 characters, `embedded` says whether it has a vector.

    `method` cut it; `metrics` are those of `ChunkMetrics`, None of one that was cut before there were any.
    """

    chunk_id: str
    document_id: str
    filename: str
    page: int
    chunk_index: int
    text: str
    characters: int
    embedded: bool
    method: str | None
    metrics: Mapping[str, float | None] | None
    parent: int | None


async def sample_index(database: Database, scope: Scope, agent: str, most: int) -> tuple[ChunkSample, ...]:
    """Some chunks of what an agent may search and the scope may read, newest document first.

    Raises Unavailable where Postgres cannot be reached.
    """
    rows = await database.read(scope, SQL["sample"], **scope.keys, agent=agent, most=most)
    return tuple(ChunkSample(**row) for row in rows)
