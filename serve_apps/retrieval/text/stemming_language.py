"""The language by which words are cut before they are compared: a workspace's, or `auto`, each chunk's own."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cluster.basics.errors import Invalid
from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database, Row, Transaction, load_queries
from pipelines.documents.chunk.language import AUTO, chunk_stemmer, document_stemmer

SQL = load_queries(Path(__file__).with_suffix(".sql"))
CHUNKS = 1_000  # looked at in one go
DOCUMENTS = 100  # whose beginnings are read in one go

# Every row of a query in the scope that it is read in.
Read = Callable[..., Awaitable[list[Row]]]
NONE: Mapping[str, str] = MappingProxyType({})


class StemmingLanguages:
    """Read and change it."""

    def __init__(self, database: Database, chunks: int = CHUNKS) -> None:
        """`database` is the application's; no more texts than `chunks` are held at a time."""
        self._database, self._chunks = database, chunks

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

    async def detect(self, scope: Scope) -> dict[str, str]:
        """The stemmer of each chunk of the workspace, by its id; some chunks at a time, and in no transaction.

        Its language takes a millisecond or two a chunk. It looks at what `scope` may read: at everything as
        `Scope.of_worker`.
        """

        async def read(query: str, **values: Any) -> list[Row]:
            return await self._database.read(scope, query, **values)

        return {id_: stemmer async for id_, stemmer in _detect_chunks(read, scope, NONE, self._chunks)}

    async def change(self, tx: Transaction, scope: Scope, language: str, detected: Mapping[str, str] = NONE) -> int:
        """Cut the words of every chunk of the workspace anew, and tell how many chunks there were.

        It takes as long as to write them once more, and for `auto` to `detect` those that are not among `detected`,
        which have come since. Questions are answered by the old words until `tx` ends. It acts for every reader
        (`Scope.of_worker`), so that no chunk is left behind. Raises Invalid unless the language is `known`.
        """
        if language not in (known := await self.known(scope)):
            raise Invalid(f"no such language: {language}", fix=f"Choose one of: {', '.join(known)}.")
        row = await tx.only(SQL["change"], language=language)
        if language != AUTO:
            return int(row["chunks"])
        since = [one async for one in _detect_chunks(tx.all, scope, detected, self._chunks)]
        return await _put_languages(tx, scope, [*detected.items(), *since])


async def _put_languages(tx: Transaction, scope: Scope, every: Sequence[tuple[str, str]]) -> int:
    """Give each chunk its own language, some at a time; how many had another one."""
    changed = 0
    for start in range(0, len(every), CHUNKS):
        ids, languages = zip(*every[start : start + CHUNKS], strict=True)
        changed += (await tx.only(SQL["put_languages"], ids=list(ids), languages=list(languages)))["chunks"]
    await tx.run(SQL["note_present"], **scope.keys)
    return changed


async def _detect_chunks(
    read: Read, scope: Scope, known: Mapping[str, str], chunks: int
) -> AsyncIterator[tuple[str, str]]:
    """Id and stemmer of each chunk but those that are known, so many at a time."""
    after, of_documents, beside = "", dict[str, str](), list(known)
    while rows := await read(SQL["chunk_texts"], **scope.keys, after=after, known=beside, chunks=chunks):
        after = rows[-1]["id"]
        new = sorted({row["document_id"] for row in rows} - of_documents.keys())
        for start in range(0, len(new), DOCUMENTS):
            heads = await read(SQL["document_heads"], **scope.keys, documents=new[start : start + DOCUMENTS])
            of_documents |= await asyncio.to_thread(_document_stemmers, heads)
        for one in await asyncio.to_thread(_chunk_stemmers, rows, of_documents):
            yield one


def _document_stemmers(heads: Sequence[Row]) -> dict[str, str]:
    return {row["id"]: document_stemmer(row["text"] or "") for row in heads}


def _chunk_stemmers(rows: Sequence[Row], of_documents: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(row["id"], chunk_stemmer(row["text"], of_documents[row["document_id"]])) for row in rows]
