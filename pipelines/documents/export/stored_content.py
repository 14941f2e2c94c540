"""Stored pages, tables and chunks, read in batches for an export: no transaction is as long as a document."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cluster.basics.scope import Scope
from cluster.state.db.postgres import Row, SqlStore
from pipelines.documents.document import DocumentId, Page, VersionId
from pipelines.documents.facts.find_facts import find_tables
from pipelines.documents.facts.page_table import PageTable, table_from_json
from pipelines.documents.store.page_codec import page_from_json

PAGES: Final = 25  # of one batch
CHUNKS: Final = 200
TABLES: Final = 20
DOCUMENTS: Final = 100
_BEFORE_ALL: Final = -1


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """The version of a document that readers see; `file_hash` is the SHA-256 of its bytes in hex."""

    document_id: DocumentId
    filename: str
    status: str
    version_id: VersionId
    kind: str
    file_hash: str
    page_count: int
    has_known_tables: bool


class StoredContent(SqlStore, queries="stored_content.sql"):
    """Reads versions, and pages, tables and chunks of one; under the scope's row-level security."""

    async def versions(self, scope: Scope, document: str | None = None) -> AsyncIterator[StoredVersion]:
        """Every version that its readers see, or that of one document; none where it was never read."""
        after = ""
        while True:
            named: dict[str, Any] = {"document": document, "after": after, "limit": DOCUMENTS}
            rows = await self._db.read(scope, self._sql["versions"], **_keys(scope), **named)
            for row in rows:
                yield StoredVersion(**row)
            if len(rows) < DOCUMENTS:
                return
            after = rows[-1]["document_id"]

    async def pages(self, scope: Scope, version: StoredVersion) -> AsyncIterator[list[Page]]:
        """The pages of a version in order, some at a time."""
        async for rows in self._batches(scope, "pages", version, PAGES, "number"):
            yield await asyncio.to_thread(_pages_of, rows)

    async def tables(self, scope: Scope, version: StoredVersion) -> AsyncIterator[list[PageTable]]:
        """The tables of a version, some at a time; found in its pages where they are not stored."""
        if version.has_known_tables:
            async for rows in self._batches(scope, "tables", version, TABLES, "ordinal"):
                yield [table_from_json(row["content"]) for row in rows]
            return
        async for pages in self.pages(scope, version):
            yield await asyncio.to_thread(_tables_in, pages)

    async def chunks(self, scope: Scope, version: StoredVersion, *, vectors: bool) -> AsyncIterator[list[Row]]:
        """The chunks of a version that are searched, some at a time; `embedding` is pgvector's text, null without
        `vectors`."""
        async for rows in self._batches(scope, "chunks", version, CHUNKS, "number", vectors=vectors):
            yield rows

    async def _batches(
        self, scope: Scope, query: str, version: StoredVersion, size: int, key: str, **more: Any
    ) -> AsyncIterator[list[Row]]:
        after = _BEFORE_ALL
        named = {**_keys(scope), **more, "version": version.version_id, "limit": size}
        while True:
            rows = await self._db.read(scope, self._sql[query], **named, after=after)
            if rows:
                yield rows
            if len(rows) < size:
                return
            after = rows[-1][key]


def _pages_of(rows: Sequence[Row]) -> list[Page]:
    return [page_from_json(row) for row in rows]


def _tables_in(pages: Sequence[Page]) -> list[PageTable]:
    return [table for page in pages for table in find_tables(page)]


def _keys(scope: Scope) -> dict[str, Any]:
    return {"tenant": scope.tenant, "workspace": scope.workspace}
