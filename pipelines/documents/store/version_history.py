"""A document's versions, and the pages of any of them: what an earlier answer cited can still be looked at."""

from pathlib import Path

from cluster.basics.errors import NotFound
from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database, Row, Transaction, load_queries


class VersionHistory:
    """Reads versions; what readers see at first is the library's."""

    def __init__(self, database: Database) -> None:
        self._db, self._sql = database, load_queries(Path(__file__).with_suffix(".sql"))

    async def versions(self, scope: Scope, document: str, skip: int, limit: int) -> list[Row]:
        """Newest first; none where the document is not there, or was never read."""
        named = {"document": document, "workspace": scope.workspace, "skip": skip, "limit": limit}
        return await self._db.read(scope, self._sql["versions"], **named)

    async def pages(
        self, scope: Scope, document: str, version: str, *, failed: bool, caveats: bool = False, skip: int, limit: int
    ) -> tuple[list[Row], int]:
        """Pages of a version and their number, only those that failed or have caveats if that is asked.

        Raises NotFound: no such version of this document.
        """
        named = {"version": version, "workspace": scope.workspace, "failed": failed, "caveats": caveats}
        async with self._db.transaction(scope) as tx:
            await self._version_row(tx, scope, document, version)
            rows = await tx.all(self._sql["pages"], **named, skip=skip, limit=limit)
            total = await tx.one(self._sql["count"], **named)
        return rows, int(total["total"]) if total else 0

    async def page(self, scope: Scope, document: str, version: str, number: int) -> Row:
        """The version's row with `page`, the page as it was read. Raises NotFound: no such version or page."""
        async with self._db.transaction(scope) as tx:
            row = await self._version_row(tx, scope, document, version)
            page = await tx.one(self._sql["page"], version=version, number=number, workspace=scope.workspace)
        if page is None:
            raise NotFound(f"page {number} of version {version}")
        return {**row, "page": page}

    async def version(self, scope: Scope, document: str, version: str) -> Row:
        """One version, with where its bytes are. Raises NotFound: no such version of this document."""
        async with self._db.transaction(scope) as tx:
            return await self._version_row(tx, scope, document, version)

    async def _version_row(self, tx: Transaction, scope: Scope, document: str, version: str) -> Row:
        row = await tx.one(self._sql["version"], document=document, version=version, workspace=scope.workspace)
        if row is None:
            raise NotFound(f"version {version} of document {document}")
        return row
