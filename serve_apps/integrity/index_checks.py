"""Checks of indexes: broken off while they were made, worn, or missing from a generation's partition."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from psycopg import sql

from cluster.state.db.postgres import load_queries
from serve_apps.integrity.examination import Examination
from serve_apps.integrity.integrity_finding import Family, IntegrityFinding, some

_SQL: Final = load_queries(Path(__file__).with_suffix(".sql"))
# As `open_generation` makes them; the key is an index too.
PARTITION_INDEXES: Final = ("workspace_id,chunk_id", "chunk_id", "document_id")
_BY_WORKER: Final = "A worker makes it within minutes: `aos up`."


class InvalidIndexes:
    """Indexes that are there and never asked, but written with every row."""

    family, name = Family.INDEXES, "invalid_index"

    async def examine(self, work: Examination) -> Sequence[IntegrityFinding]:
        """A repair makes them anew beside their tables' readers and writers; what a making left behind goes."""
        found = await work.rows(_SQL["invalid"])
        mended = 0
        for row in found if work.apply else ():
            work.tell(f"{self.name}, {row['name']}")
            name = sql.SQL(row["name"])  # quoted by Postgres where it has to be
            if row["leftover"] and not row["of_key"]:
                await work.owner.execute(sql.SQL("drop index concurrently if exists {}").format(name))
            else:
                await work.owner.execute(sql.SQL("reindex index concurrently {}").format(name))
            await _record(work, self.name, row["name"])
            mended += 1
        return _finding(self, "indexes that are not valid", [row["name"] for row in found], mended)


@dataclass(frozen=True, slots=True)
class KeywordIndex:
    """The index for BM25; `fresh` says that Postgres was started just for this, after which it never is believed."""

    fresh: bool
    family: Family = Family.INDEXES
    name: str = "keyword_index_worn"

    async def examine(self, work: Examination) -> Sequence[IntegrityFinding]:
        """A repair makes it anew, as a worker does."""
        (row,) = await work.rows(_SQL["worn"])
        if not row["worn"] or self.fresh:
            return []
        mended = 0
        if work.apply:
            await work.rows(_SQL["drop_worn"])
            await work.rows(_SQL["make"])
            (row,) = await work.rows(_SQL["worn"])
            if not row["worn"]:
                await _record(work, self.name, "document_chunks_bm25")
                mended = 1
        return _finding(
            self, "the index for BM25 is missing or cannot be believed", ["document_chunks_bm25"], mended, _BY_WORKER
        )


@dataclass(frozen=True, slots=True)
class PartitionIndexes:
    """What every partition of vectors has; from `exact_scope` vectors on also a graph."""

    exact_scope: int
    family: Family = Family.INDEXES
    name: str = "partition_without_index"

    async def examine(self, work: Examination) -> Sequence[IntegrityFinding]:
        """A repair makes what is missing; a generation without a table is only told."""
        names, lost, mended = list[str](), list[str](), 0
        for row in await work.rows(_SQL["partitions"]):
            if row["name"] is None:
                lost.append(f"generation {row['generation']}")
                continue
            for columns in PARTITION_INDEXES:
                if columns not in row["indexed"]:
                    names.append(f"{row['name']} ({columns})")
                    mended += await self._make(work, row["name"], columns)
            if await self._lacks_graph(work, row):
                names.append(f"{row['name']}_hnsw")
                mended += await self._grow(work, row)
        fix = "Build another: aos generations build --wait"
        return [
            *_finding(self, "partitions of vectors without one of their indexes", names, mended),
            *_finding(self, "generations without a table of vectors", lost, 0, fix, mends=False),
        ]

    async def _make(self, work: Examination, table: str, columns: str) -> int:
        if not work.apply:
            return 0
        work.tell(f"{self.name}, {table} ({columns})")
        listed = sql.SQL(", ").join(map(sql.Identifier, columns.split(",")))
        await work.owner.execute(sql.SQL("create index concurrently on {} ({})").format(sql.Identifier(table), listed))
        await _record(work, self.name, f"{table} ({columns})")
        return 1

    async def _lacks_graph(self, work: Examination, row: dict[str, Any]) -> bool:
        most = max(self.exact_scope, 1)
        if row["graph"] or row["filling"]:
            return False
        (size,) = await work.rows(_SQL["size"], generation=row["generation"], most=most)
        return bool(size["rows"] >= most)

    async def _grow(self, work: Examination, row: dict[str, Any]) -> int:
        if not work.apply:
            return 0
        work.tell(f"{self.name}, {row['name']}_hnsw: half an hour a million vectors")
        (built,) = await work.rows(_SQL["index_generation"], generation=row["generation"], rows=self.exact_scope)
        if built["built"]:
            await _record(work, self.name, f"{row['name']}_hnsw")
        return int(built["built"])


async def _record(work: Examination, check: str, index: str) -> None:
    async with work.mending(None):
        await work.record(check, index, {"indexes": [index]})


def _finding(
    check: Any, what: str, names: Sequence[str], mended: int, fix: str = "", *, mends: bool = True
) -> Sequence[IntegrityFinding]:
    if not names:
        return []
    place = "indexes"
    return [IntegrityFinding(check.family, check.name, what, place, len(names), some(names), mends, mended, fix=fix)]
