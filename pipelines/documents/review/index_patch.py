"""The index after a correction: the chunks that changed, their vectors, and the tables of the page."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from json import dumps
from typing import Any, Literal

import numpy as np
from psycopg.types.json import Jsonb

from cluster.basics.errors import AosError
from cluster.basics.scope import Scope
from cluster.models.embedding.migration import VectorSpace, select_embedder, vector_space_of
from cluster.models.embedding.prefixes import embed_passages
from cluster.models.ports import Embedder, EmbeddingLane
from cluster.state.db.postgres import Database, SqlStore, Transaction
from pipelines.documents.corrections.line_edit import LineEdit
from pipelines.documents.document import Page, VersionId
from pipelines.documents.facts.find_facts import find_tables
from pipelines.documents.facts.page_table import table_to_json
from pipelines.documents.review.chunk_patch import (
    OutOfStep,
    PatchedChunk,
    heading_of,
    patch_chunks,
    patch_columns,
    stored_chunk,
)
from pipelines.documents.store.page_codec import search_text

OUT_OF_THE_WAY = 10_000_000  # more tables than a document has

# By its vectors and words; by its words until it is embedded; once a job has indexed the document.
Searchable = Literal["vectors", "words", "pending"]


class IndexMoved(Exception):
    """The text or the index of the document is another than when the patch was worked out."""


@dataclass(frozen=True, slots=True)
class IndexState:
    """What the live index holds of the version that readers see."""

    version: VersionId
    reads: int  # the version's counter
    file_hash: str
    generation: int | None  # None where nothing was indexed yet
    chunker: str
    space: VectorSpace | None
    in_step: bool  # it holds the text as it is


@dataclass(frozen=True, slots=True)
class IndexPatch:
    """The chunks that are to be written, and what they were worked out from.

    `chunks` is None where the document has to be indexed as a whole.
    """

    state: IndexState
    chunks: tuple[PatchedChunk, ...] | None

    @property
    def new_chunks(self) -> list[PatchedChunk]:
        """Those whose text is another."""
        return [chunk for chunk in self.chunks or () if chunk.is_new]


class IndexPatcher(SqlStore, queries="page_corrector.sql"):
    """Works a patch out, embeds it, and writes it in the corrector's transaction."""

    def __init__(self, database: Database, embedder: Embedder, seconds: float) -> None:
        """`seconds`: for how long the embedder is waited for."""
        super().__init__(database)
        self._embedder, self._seconds = embedder, seconds

    async def draft(
        self, scope: Scope, document: str, version: VersionId, before: Page, after: Page, edit: LineEdit
    ) -> IndexPatch:
        """The patch for an edit of a page. Raises IndexMoved: readers have another version by now."""
        async with self._db.transaction(scope) as tx:
            state = await self._index_state(tx, scope, document, version)
            if not state.in_step:
                return IndexPatch(state, None)
            named: dict[str, Any] = {"version": version, "chunker": state.chunker, "page": before.number}
            rows = await tx.all(self._sql["chunks"], **named, title=heading_of(edit), workspace=scope.workspace)
        try:
            stored = [stored_chunk(row) for row in rows]
            patched = await asyncio.to_thread(patch_chunks, stored, version, state.chunker, before, after, edit)
        except OutOfStep:
            return IndexPatch(state, None)
        return IndexPatch(state, tuple(patched))

    async def embed(self, patch: IndexPatch) -> list[str] | None:
        """Vectors of the new chunks as pgvector reads them; None where the embedder stays away, or is another one."""
        texts, space = [search_text(one.chunk) for one in patch.new_chunks], patch.state.space
        if not texts or space is None:
            return []
        try:
            async with asyncio.timeout(self._seconds):
                embedder = await select_embedder(self._embedder, space)
                vectors = await embed_passages(embedder, texts, EmbeddingLane.QUESTION)
        except (AosError, TimeoutError):  # whatever its reason: the words are found without it
            return None
        if len(vectors) != len(texts) or not np.isfinite(vectors).all():
            return None
        return [dumps(vector) for vector in vectors.tolist()]

    async def hold(self, tx: Transaction, scope: Scope, document: str, patch: IndexPatch) -> None:
        """Hold the document. Raises IndexMoved: it is not as the patch found it."""
        state = patch.state
        named = {"document": document, "version": state.version, "workspace": scope.workspace}
        row = await tx.one(self._sql["hold"], **named)
        if row is None or (row["reads"], row["generation_id"]) != (state.reads, state.generation):
            raise IndexMoved

    async def write(
        self, tx: Transaction, scope: Scope, document: str, page: Page, patch: IndexPatch, vectors: Sequence[str] | None
    ) -> Searchable:
        """Write the patch, once the page is written. Raises IndexMoved: the document was cut anew meanwhile."""
        state = patch.state
        if patch.chunks is None:
            return "pending"
        of = {"version": state.version, "generation": state.generation, "workspace": scope.workspace}
        await self._write_chunks(tx, scope, document, patch, vectors)
        await tx.run(self._sql["record"], **of, embedded=vectors is not None)
        await self._write_tables(tx, scope, document, state.version, page)
        if vectors is None:
            await tx.run(self._sql["note_pending"], document=document, workspace=scope.workspace)
        return "words" if vectors is None else "vectors"

    async def _write_chunks(
        self, tx: Transaction, scope: Scope, document: str, patch: IndexPatch, vectors: Sequence[str] | None
    ) -> None:
        chunks, new, state = patch.chunks or (), patch.new_chunks, patch.state
        named = {"workspace": scope.workspace, "version": state.version}
        if new:
            formers = [one.former for one in new]
            await tx.run(self._sql["drop_vectors"], ids=formers, workspace=scope.workspace)
            of = {"generation": state.generation, "chunker": state.chunker}
            await tx.run(self._sql["note_lost_vectors"], **named, **of)
        columns = patch_columns(chunks)
        json = {name: [Jsonb(one) for one in columns[name]] for name in ("spans", "boxes", "headings", "metadata")}
        if await tx.run(self._sql["patch_chunks"], **named, **(columns | json)) != len(chunks):
            raise IndexMoved
        if new and vectors:
            ids = {"ids": [one.id for one in new], "vectors": list(vectors)}
            of_document = {"document": document, "generation": state.generation, "workspace": scope.workspace}
            await tx.run(self._sql["put_vectors"], **of_document, **ids)

    async def _write_tables(self, tx: Transaction, scope: Scope, document: str, version: VersionId, page: Page) -> None:
        """Replace the tables of the page; those of other pages keep their order."""
        tables = await asyncio.to_thread(find_tables, page)
        named: dict[str, Any] = {"version": version, "page": page.number, "workspace": scope.workspace}
        dropped = await tx.run(self._sql["drop_tables"], **named)
        if tables or dropped:
            first = (await tx.only(self._sql["tables_before"], **named))["total"]
            moved = len(tables) - dropped
            if moved:
                await tx.run(self._sql["lift_tables"], **named, by=OUT_OF_THE_WAY)
            contents = [Jsonb(table_to_json(table)) for table in tables]
            headings = [Jsonb(table.headings) for table in tables]
            of = {"document": document, "tenant": scope.tenant, "first": first}
            await tx.run(self._sql["put_tables"], **named, **of, headings=headings, contents=contents)
            if moved:
                await tx.run(self._sql["lift_tables"], **named, by=moved - OUT_OF_THE_WAY)
        await tx.run(self._sql["record_tables"], version=version, workspace=scope.workspace)

    async def _index_state(self, tx: Transaction, scope: Scope, document: str, version: VersionId) -> IndexState:
        named = {"document": document, "version": version, "workspace": scope.workspace}
        row = await tx.one(self._sql["index_state"], **named)
        if row is None:
            raise IndexMoved
        indexed = row["generation_id"] is not None and row["indexed_reads"] == row["reads"]
        return IndexState(
            version,
            row["reads"],
            row["file_hash"],
            row["generation_id"],
            row["chunker"] or "",
            vector_space_of(row) if row["generation_id"] is not None else None,
            indexed,
        )
