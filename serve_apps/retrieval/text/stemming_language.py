"""The language by which words are cut before they are compared: a workspace's, or `auto`, each chunk's own."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from cluster.basics.errors import Invalid
from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database, Transaction, load_queries
from pipelines.documents.chunk.language import AUTO, detect_stemmers

SQL = load_queries(Path(__file__).with_suffix(".sql"))
DOCUMENTS = 200  # whose chunks are looked at in one go


class StemmingLanguages:
    """Read and change it."""

    def __init__(self, database: Database) -> None:
        """`database` is the application's."""
        self._database = database

    async def known(self, scope: Scope) -> list[str]:
        """`auto`, and the names of Postgres' text search configurations in order."""
        return [AUTO, *(row["name"] for row in await self._database.read(scope, SQL["known"]))]

    async def current(self, scope: Scope) -> str:
        """That of the scope's workspace."""
        rows = await self._database.read(scope, SQL["current"], **scope.keys)
        return rows[0]["language"] if rows else AUTO

    async def present(self, scope: Scope) -> list[str]:
        """In which languages the words of the workspace's chunks are cut by now."""
        rows = await self._database.read(scope, SQL["current"], **scope.keys)
        return list(rows[0]["stemmers"]) if rows else []

    async def change(self, tx: Transaction, scope: Scope, language: str) -> int:
        """Cut the words of every chunk of the workspace anew, and tell how many chunks there were.

        Takes about a second for some thousand chunks; questions are answered by the old words until `tx` ends. It acts
        for every reader (`Scope.of_worker`), so that no chunk is left behind. Raises Invalid unless the language is
        `known`.
        """
        if language not in (known := await self.known(scope)):
            raise Invalid(f"no such language: {language}", fix=f"Choose one of: {', '.join(known)}.")
        row = await tx.one(SQL["change"], language=language)
        return await self._detect_chunks(tx, scope) if language == AUTO else row["chunks"] if row else 0

    async def _detect_chunks(self, tx: Transaction, scope: Scope) -> int:
        """Give each chunk its own language, some documents at a time; how many had another one."""
        changed, after = 0, ""
        while rows := await tx.all(SQL["chunk_texts"], **scope.keys, after=after, documents=DOCUMENTS):
            after = rows[-1]["document_id"]
            found = await asyncio.to_thread(_detect_all, [row["texts"] for row in rows])
            ids = [chunk for row in rows for chunk in row["ids"]]
            row = await tx.one(SQL["put_languages"], ids=ids, languages=[one for some in found for one in some])
            changed += row["chunks"] if row else 0
        await tx.run(SQL["note_present"], **scope.keys)
        return changed


def _detect_all(documents: Sequence[Sequence[str]]) -> list[list[str]]:
    return [detect_stemmers(texts) for texts in documents]
