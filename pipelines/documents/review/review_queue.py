"""The review queue of a workspace: pages that somebody should look at, and what has become of them."""

from dataclasses import dataclass
from typing import Literal

from cluster.basics.errors import Conflict, Invalid
from cluster.basics.scope import Scope
from cluster.state.db.postgres import Row, SqlStore, Transaction
from pipelines.documents.store.library import like_literal

WEIGHED_PAGES = 200  # at a look at the queue, of those that were read before an update: a tenth of a second

Reason = Literal["confidence", "caveat", "correction", "field"]


class PageChanged(Conflict):
    """The page says something else than what you saw."""

    code = "page_changed"
    fix = "Look at it again, and send its new page_version."


@dataclass(frozen=True, slots=True)
class PageVersion:
    """The text of a page at a moment: the document's version, and how often the page's text has changed in it."""

    version: str
    revision: int

    def __str__(self) -> str:
        return f"{self.version}.{self.revision}"

    @classmethod
    def parse(cls, text: str) -> "PageVersion":
        """From what `str` gives. Raises Invalid: it is nothing of that form."""
        version, _, revision = text.partition(".")
        if len(version) != 32 or not (revision.isascii() and revision.isdigit() and len(revision) < 10):
            raise Invalid("page_version is not one", fix="Send the one that the page's lines came with.")
        return cls(version, int(revision))

    @classmethod
    def of_row(cls, row: Row) -> "PageVersion":
        """From a row of `pages`."""
        return cls(row["version_id"], row["revision"])


@dataclass(frozen=True, slots=True)
class ReviewFilter:
    """A filter of the queue: lines below this confidence; None leaves a field out."""

    below: float
    document: str | None = None
    reason: Reason | None = None
    search: str | None = None  # in the file's name
    reviewed: bool = False  # those that somebody has marked as fine, in place of the others


class ReviewQueue(SqlStore, queries="review_queue.sql"):
    """Reads the queue and marks pages; corrections are the page corrector's."""

    async def waiting(self, scope: Scope, wanted: ReviewFilter, skip: int, limit: int) -> tuple[list[Row], int]:
        """Some pages, the least sure first, and how many there are."""
        search = None if wanted.search is None else f"%{like_literal(wanted.search)}%"
        named = {"below": wanted.below, "document": wanted.document, "reason": wanted.reason, "search": search}
        named |= {"reviewed": wanted.reviewed, "workspace": scope.workspace}
        if not skip:
            async with self._db.transaction(scope) as tx:
                await tx.run(self._sql["weigh_lines"], workspace=scope.workspace, limit=WEIGHED_PAGES)
        rows = await self._db.read(scope, self._sql["waiting"], **named, skip=skip, limit=limit)
        if not rows and skip:
            _, total = await self.waiting(scope, wanted, 0, 1)
            return [], total
        return rows, int(rows[0]["total"]) if rows else 0

    async def page(self, scope: Scope, document: str, number: int) -> Row:
        """A page that readers see. Raises NotFound: no such document or page, or nothing of it was read yet."""
        async with self._db.transaction(scope) as tx:
            return await self.page_in(tx, scope, document, number)

    async def page_in(self, tx: Transaction, scope: Scope, document: str, number: int) -> Row:
        """As `page`, in the caller's transaction."""
        named = {"document": document, "number": number, "workspace": scope.workspace}
        return await tx.required(f"page {number} of document {document}", self._sql["page"], **named)

    async def mark_reviewed(
        self, tx: Transaction, scope: Scope, document: str, number: int, seen: PageVersion, *, fine: bool
    ) -> Row:
        """Mark the page as fine as it is, or no longer so.

        Raises NotFound: no such page; PageChanged: it is another than was seen.
        """
        named = {"document": document, "number": number, "workspace": scope.workspace, "user": scope.user}
        named |= {"version": seen.version, "revision": seen.revision, "fine": fine}
        row = await tx.one(self._sql["mark_reviewed"], **named)
        if row is None:
            await self.page_in(tx, scope, document, number)
            raise PageChanged(f"page {number} of document {document}")
        return row

    async def history(self, scope: Scope, document: str, number: int, skip: int, limit: int) -> tuple[list[Row], int]:
        """Corrections of a page, the newest first, and how many there are; none where there is no such page."""
        named = {"document": document, "number": number, "workspace": scope.workspace}
        rows = await self._db.read(scope, self._sql["history"], **named, skip=skip, limit=limit)
        return rows, int(rows[0]["total"]) if rows else 0
