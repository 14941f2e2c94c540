"""Documents of agents: which documents each agent may search."""

from collections.abc import Sequence
from pathlib import Path

from cluster.basics.errors import NotFound
from cluster.basics.scope import Scope
from cluster.state.corpus import lock_corpus, mark_corpus_changed
from cluster.state.db.postgres import Database, Row, Transaction, load_queries
from pipelines.documents.store.members import MemberDocuments


class AgentLinks:
    """A document is stored once and linked to any number of agents; an agent sees exactly its links."""

    def __init__(self, database: Database) -> None:
        self._db, self._sql = database, load_queries(Path(__file__).with_suffix(".sql"))
        self._members = MemberDocuments()

    async def link(self, tx: Transaction, scope: Scope, agent: str, documents: Sequence[str]) -> int:
        """Link all of them with what came out of them, or none; returns how many are new.

        Raises NotFound: one of the documents is not there.
        """
        return await self._change_links(tx, scope, "link", agent, documents)

    async def unlink(self, tx: Transaction, scope: Scope, agent: str, documents: Sequence[str]) -> int:
        """Take all of them away with what came out of them, or none; returns how many there were.

        Raises NotFound: one is not there.
        """
        return await self._change_links(tx, scope, "unlink", agent, documents)

    async def documents(
        self, scope: Scope, agent: str, search: str | None, skip: int, limit: int, *, linked: bool
    ) -> tuple[list[Row], int]:
        """A page of the documents that are linked to an agent, or that are not, by name; and how many there are."""
        values = {"agent": agent, "workspace": scope.workspace, "search": search, "linked": linked}
        async with self._db.transaction(scope) as tx:
            rows = await tx.all(self._sql["documents"], skip=skip, limit=limit, **values)
            total = await tx.one(self._sql["count_documents"], **values)
        return rows, int(total["total"]) if total else 0

    async def auto_link(self, tx: Transaction, scope: Scope, document: str) -> None:
        """Link a new upload to the agents that take every upload."""
        await lock_corpus(tx, scope)
        if await tx.run(self._sql["auto_link"], document=document, workspace=scope.workspace):
            await mark_corpus_changed(tx, scope)

    async def _change_links(
        self, tx: Transaction, scope: Scope, name: str, agent: str, documents: Sequence[str]
    ) -> int:
        await lock_corpus(tx, scope)
        missing = await tx.all(self._sql["missing"], documents=list(documents), workspace=scope.workspace)
        if missing:
            raise NotFound(f"document {missing[0]['id']}")
        family = await self._members.family(tx, scope, documents)
        changed = await tx.run(self._sql[name], agent=agent, documents=family, workspace=scope.workspace)
        if changed:
            await mark_corpus_changed(tx, scope)
        return changed
