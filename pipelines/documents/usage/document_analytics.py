"""Figures of the documents of a workspace: how many stand where, what they weigh, how much of them answers use."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from cluster.basics.scope import Scope
from cluster.state.db.postgres import ReadQuery, Row, SqlStore
from pipelines.documents.document import Status

DAY: Final = timedelta(hours=24)
MOST_USED: Final = 5
# All rows are wanted: to look each version up by itself takes four times as long at 100,000 documents.
_PLANNER: Final = {"enable_nestloop": "off"}
# What `grouping()` says of a row: which columns it is not grouped by.
_ALL, _BY_STATUS, _BY_TYPE, _BY_ORIGIN = 0b111, 0b011, 0b101, 0b110
# Their reading has ended; those whose text only waits for vectors are not counted as either.
_ENDED: Final = (Status.COMPLETED, Status.DEGRADED, Status.PARTIAL, Status.FAILED)


@dataclass(frozen=True, slots=True)
class DocumentFigures:
    """Figures of the documents that a reader sees.

    Attributes:
        totals: documents, chunks, pages, storage_bytes (of the files that readers see now), uploads_24h.
        by_status, by_type, by_origin: documents by state, by kind of file, and by upload, folder or source.
        success_rate: share of completed ones among those whose reading has ended; None while there are none.
        use: used_documents, never_used, rag_query_count, cited_count, last_accessed.
        most_used: id, filename and counts of the first few.
        sources: figures of each source; None where they were not asked for.
        workspaces: figures of each workspace of the tenant; None where they were not asked for.
    """

    totals: Mapping[str, int]
    by_status: Mapping[str, int]
    by_type: Mapping[str, int]
    by_origin: Mapping[str, int]
    success_rate: float | None
    use: Mapping[str, Any]
    most_used: Sequence[Row]
    sources: Sequence[Row] | None
    workspaces: Sequence[Row] | None


class DocumentAnalytics(SqlStore, queries="document_analytics.sql"):
    """Counts as row-level security shows the documents: who may not see one does not count it either."""

    async def figures(self, scope: Scope, now: datetime, *, sources: bool, workspaces: bool) -> DocumentFigures:
        """All of it, in one read-only transaction.

        `sources`: by their names, too, for who may see those. `workspaces`: of the whole tenant, for an administrator
        of it: numbers of all documents, whoever reads them. Raises Unavailable, Overloaded.
        """
        named = {**scope.keys, "since": now - DAY, "most": MOST_USED}
        wanted = ["totals", "use", "most_used"]
        wanted += ["by_source"] * sources + ["by_workspace"] * workspaces
        found = await self._db.read_all(scope, *(ReadQuery(self._sql[name], named, _PLANNER) for name in wanted))
        rows: dict[str, list[Row]] = dict(zip(wanted, found, strict=True))
        (all_of_them,) = [row for row in rows["totals"] if row["of"] == _ALL]
        totals = {name: all_of_them[name] for name in ("documents", "chunks", "pages", "storage_bytes", "uploads_24h")}
        by_status = _counts(rows["totals"], _BY_STATUS, "status")
        ended = sum(by_status.get(status, 0) for status in _ENDED)
        return DocumentFigures(
            totals,
            by_status,
            _counts(rows["totals"], _BY_TYPE, "file_type"),
            _counts(rows["totals"], _BY_ORIGIN, "source_type"),
            by_status.get(Status.COMPLETED, 0) / ended if ended else None,
            {**rows["use"][0], "never_used": totals["documents"] - rows["use"][0]["used_documents"]},
            rows["most_used"],
            rows.get("by_source"),
            rows.get("by_workspace"),
        )


def _counts(rows: Sequence[Row], grouped: int, column: str) -> dict[str, int]:
    """Counts by a column, the largest first."""
    found = [(row[column], row["documents"]) for row in rows if row["of"] == grouped]
    return dict(sorted(found, key=lambda pair: (-pair[1], pair[0])))
