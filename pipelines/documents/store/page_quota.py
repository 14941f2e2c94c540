"""Page quota: the limit of pages over all files of a tenant."""

from pathlib import Path

from cluster.basics.errors import TooLarge
from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database, Transaction, load_queries

SQL = load_queries(Path(__file__).with_suffix(".sql"))


class OverQuota(TooLarge):
    """The tenant may have no more pages."""

    fix = "Delete documents, or raise read.tenant_pages (AOS_READ_TENANT_PAGES)."


async def used_pages(tx: Transaction, scope: Scope) -> int:
    """Pages of the tenant's documents, with those that `tx` has written; its row is locked by whoever writes some."""
    row = await tx.one(SQL["used"], tenant=scope.tenant)
    return int(row["pages"]) if row else 0


async def pages_left(database: Database, scope: Scope, most: int) -> int:
    """Pages that the tenant may still add; 0 where there is no room."""
    async with database.transaction(scope) as tx:
        return max(0, most - await used_pages(tx, scope))


async def refuse_beyond(tx: Transaction, scope: Scope, most: int, pages: int, document: str) -> None:
    """Raise OverQuota if the pages of a file that were just written are too many, which undoes that write.

    What is written counts for its period, too; whoever has a limit of pages there brings no further file.
    """
    await tx.run(SQL["count"], **scope.keys, document=document, pages=pages)
    total = await used_pages(tx, scope)
    if total > most:
        raise OverQuota(f"{pages} pages; this tenant has {total - pages} of the {most} that it may have")
