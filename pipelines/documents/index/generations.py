"""Generations of an index: which one readers use, what is written into it, and the switch to the next."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from psycopg.types.json import Jsonb

from cluster.basics.errors import Conflict, Permanent, Transient
from cluster.basics.scope import Scope
from cluster.models.embedding.migration import EmbedderMoved, vector_space_of
from cluster.models.ports import EmbedderFacts
from cluster.state.corpus import mark_corpus_changed
from cluster.state.db.postgres import Database, Row, Transaction, load_queries
from pipelines.documents.chunk.language import AUTO, DEFAULT
from pipelines.documents.document import NO_TEXT, Chunk, ChunkId, DocumentId, VersionId, chunk_id, fingerprint_parts
from pipelines.documents.facts.page_table import PageTable, table_to_json
from pipelines.documents.store.page_codec import caveats_to_json, chunk_head_to_json, encode_boxes, search_text


@dataclass(frozen=True, slots=True)
class IndexRecipe:
    """The embedder and chunker that a generation is made with; another recipe is another generation."""

    embedder: EmbedderFacts
    chunker: str

    @property
    def fingerprint(self) -> str:
        """Changes with the model or the way text is cut."""
        return fingerprint_parts(self.embedder.dimension, self.embedder.fingerprint, self.chunker)

    def made(self, generation: Row) -> bool:
        """True if a generation was made with this recipe; the row has what `VectorSpace` needs, and the chunker."""
        return vector_space_of(generation).is_of(self.embedder) and generation["chunker"] == self.chunker


@dataclass(frozen=True, slots=True)
class IndexedVersion:
    """The chunks of one version, and their vectors unless the embedder failed."""

    version: VersionId  # which version
    chunks: tuple[Chunk, ...]  # in order
    # Shape (len(chunks), dimension), rows L2-normalised; None where the embedder could not be reached.
    vectors: NDArray[np.float32] | None
    reads: int = 0  # the version's counter when its text was taken
    made: str = ""  # fingerprint of the embedder that made the vectors; empty where there are none
    tables: tuple[PageTable, ...] = ()  # of its pages, in order
    stemmers: tuple[str, ...] = ()  # of its chunks, by their languages; empty where nobody looked
    chunker: str = ""  # fingerprint of the workspace's chunker when it was cut; empty where nobody looked

    @property
    def broken(self) -> bool:
        """The embedder gave another number of vectors than there are chunks, or numbers that are none."""
        vectors = self.vectors
        return vectors is not None and not (len(vectors) == len(self.chunks) and bool(np.isfinite(vectors).all()))


@dataclass(frozen=True, slots=True)
class WriteTarget:
    """The generation that a job writes to, and the chunker it is made with."""

    generation: int
    chunker: str
    made: str = ""  # fingerprint of the embedder whose vectors it takes
    # It wants another embedder or chunker than there is now, and a generation that fits is being built: what arrives
    # meanwhile is cut as it can be and found by its words, and the next generation has it whole.
    words_only: bool = False


class BrokenVectors(Permanent):
    """The embedder gave too few vectors, or numbers that are none; nothing of them was written."""

    code = "broken_vectors"
    fix = "Mend or change the embedding model, then resume the job."


class GenerationMoved(Transient):
    """Readers use another generation since this job looked; it looks again."""

    code = "generation_moved"


class IndexGenerations:
    """Statements about chunks, vectors and generations."""

    def __init__(self, database: Database) -> None:
        self._db, self._sql = database, load_queries(Path(__file__).with_suffix(".sql"))

    async def target(self, scope: Scope, recipe: IndexRecipe) -> WriteTarget:
        """The generation to write to: the one that this workspace's readers use, opened on first use.

        Raises:
            Conflict: it was made with another embedder or chunker (mixing makes answers wrong), and no re-index runs.
        """
        async with self._db.transaction(scope) as tx:
            await tx.one(self._sql["await_workspace"], workspace=scope.workspace)
            current = await tx.one(self._sql["lock_workspace"], workspace=scope.workspace)
            if current is None or current["generation_id"] is None:
                generation = await self._open_generation(tx, recipe, fresh=False)
                await self.use(tx, scope, generation)
                return WriteTarget(generation, recipe.chunker, recipe.embedder.fingerprint)
            same = recipe.made(current)
            if not same and await tx.one(self._sql["rebuilding"], workspace=scope.workspace) is None:
                raise Conflict(
                    "the index was built with another embedder or chunker",
                    fix="Rebuild it with POST /api/documents/reindex-all, or set the old values back; the "
                    "strategy of a workspace with PUT /api/documents/chunking.",
                )
            if same and not current["embedder_fingerprint"]:
                await tx.one(self._sql["adopt"], generation=current["generation_id"], made=recipe.embedder.fingerprint)
            return WriteTarget(current["generation_id"], current["chunker"], recipe.embedder.fingerprint, not same)

    async def next(self, scope: Scope, recipe: IndexRecipe) -> int:
        """A generation to build beside the live one."""
        async with self._db.transaction(scope) as tx:
            current = await tx.one(self._sql["lock_workspace"], workspace=scope.workspace)
            held = {} if current is None else {current["generation_id"], current["previous_generation_id"]}
            found = await self._open_generation(tx, recipe, fresh=False)
            return await self._open_generation(tx, recipe, fresh=True) if found in held else found

    async def write(
        self, tx: Transaction, scope: Scope, indexed: IndexedVersion, target: WriteTarget, *, building: bool = False
    ) -> bool:
        """Replace the chunks of one version in one transaction, and make it current if it is the newest.

        Args:
            building: it is not live yet; readers stay with the one they have.

        Returns:
            False where the text was read again meanwhile: nothing was written, and the version is to be indexed again.
            True also where the document was deleted or superseded; then there is nothing to write.

        Raises:
            GenerationMoved: readers use another generation since this job looked, or another chunker is wanted.
            EmbedderMoved: the vectors were made with another embedder than the generation's, after an update.
        """
        live = await tx.one(self._sql["lock_workspace"], workspace=scope.workspace)
        if live is not None and not building and live["generation_id"] != target.generation:
            raise GenerationMoved(f"generation {live['generation_id']} replaced {target.generation}")
        if target.words_only:
            indexed = replace(indexed, vectors=None)
        elif indexed.chunks and indexed.vectors is not None and indexed.made != target.made:
            raise EmbedderMoved("the embedder is another one than when this job looked")
        elif indexed.chunker not in ("", target.chunker):
            raise GenerationMoved("the chunker is another one than when this job looked")
        chunker = target.chunker
        owner = await tx.one(self._sql["lock_version"], version=indexed.version, workspace=scope.workspace)
        if owner is None or live is None or not owner["newest"]:
            return True
        if owner["reads"] != indexed.reads:
            return False
        rows = [_chunk_row(indexed.version, chunker, chunk, owner) for chunk in indexed.chunks]
        ids = [row["ids"] for row in rows]
        named = {"version": indexed.version, "workspace": scope.workspace}
        changed = await tx.run(self._sql["drop_stale_chunks"], **named, chunker=chunker, ids=ids)
        if changed:
            await tx.run(self._sql["note_lost_vectors"], **named, chunker=chunker, generation=target.generation)
        if rows:
            of = {"version": indexed.version, "document": owner["document_id"], "readers": owner["readers"]}
            columns = {name: [row[name] for row in rows] for name in rows[0]}
            columns["languages"] = _chunk_languages(indexed, live["language"])
            await tx.run(self._sql["note_stemmers"], languages=columns["languages"])
            changed += await tx.run(self._sql["put_chunks"], **of, **scope.keys, chunker=chunker, **columns)
        await self._put_vectors(tx, scope, target, owner, indexed, ids)
        await self._put_tables(tx, scope, owner, indexed)
        if not building:
            await self._make_current(tx, named, owner, len(rows), indexed.vectors is not None)
        if changed or not building:  # generations of one chunker share their chunks
            await mark_corpus_changed(tx, scope)
        return True

    async def _put_vectors(
        self,
        tx: Transaction,
        scope: Scope,
        target: WriteTarget,
        owner: Row,
        indexed: IndexedVersion,
        ids: Sequence[ChunkId],
    ) -> None:
        """Store what was embedded, and the record that the version stands in this generation."""
        if indexed.vectors is not None:
            of = {"generation": target.generation, "document": owner["document_id"], "readers": owner["readers"]}
            of |= {"vectors": indexed.vectors, "dimension": indexed.vectors.shape[1]}
            await tx.run(self._sql["put_embeddings"], **of, **scope.keys, ids=ids)
        of = {"version": indexed.version, "generation": target.generation, "document": owner["document_id"]}
        made = {"reads": indexed.reads, "chunks": len(ids), "embedded": indexed.vectors is not None}
        await tx.run(self._sql["record"], **of, **scope.keys, **made)

    async def _put_tables(self, tx: Transaction, scope: Scope, owner: Row, indexed: IndexedVersion) -> None:
        """Replace the tables of a version."""
        named = {"version": indexed.version, "workspace": scope.workspace}
        await tx.run(self._sql["drop_tables"], document=owner["document_id"], workspace=scope.workspace)
        if indexed.tables:
            await tx.run(
                self._sql["put_tables"],
                **scope.keys,
                version=indexed.version,
                document=owner["document_id"],
                pages=[table.page for table in indexed.tables],
                headings=[Jsonb(table.headings) for table in indexed.tables],
                contents=[Jsonb(table_to_json(table)) for table in indexed.tables],
            )
        await tx.run(self._sql["record_tables"], **named, reads=indexed.reads)

    async def _make_current(
        self, tx: Transaction, named: Mapping[str, object], owner: Row, chunks: int, embedded: bool
    ) -> None:
        """Let readers have this version, and none before it."""
        await tx.run(self._sql["drop_other_versions"], **named, document=owner["document_id"])
        no_text = Jsonb([{**one, "pages": [], "page_count": 0} for one in caveats_to_json([NO_TEXT])])
        of = {"document": owner["document_id"], "chunk_count": chunks, "page_count": owner["page_count"]}
        await tx.run(self._sql["settle_document"], **named, **of, embedded=embedded, no_text=no_text)

    async def standing(self, tx: Transaction, scope: Scope, version: VersionId) -> Row | None:
        """Status and caveats of the document whose readers see this version; None where nobody sees it."""
        return await tx.one(self._sql["standing"], version=version, workspace=scope.workspace)

    async def use(self, tx: Transaction, scope: Scope, generation: int) -> None:
        """One row: readers follow it from their next query on."""
        await tx.run(self._sql["use_generation"], workspace=scope.workspace, generation=generation)

    async def to_index(
        self, scope: Scope, *, agent: str | None, only_pending: bool, after: str, limit: int, kept: int | None = None
    ) -> list[Row]:
        """Documents to index again, in the order of their ids, but for those that generation `kept` has as they are."""
        chosen = {"agent": agent, "only_pending": only_pending, "kept": kept, "after": after, "limit": limit}
        return await self._db.read(scope, self._sql["to_reindex"], workspace=scope.workspace, **chosen)

    async def current_version(self, scope: Scope, document: DocumentId) -> VersionId | None:
        """The version of a document that readers see; None where there is none."""
        async with self._db.transaction(scope) as tx:
            row = await tx.one(self._sql["current_version"], workspace=scope.workspace, document=document)
        return VersionId(row["current_version"]) if row and row["current_version"] else None

    async def missing(self, tx: Transaction, scope: Scope, job: str, generation: int, limit: int) -> list[Row]:
        """Documents whose text, as it is now, a generation lacks; the workspace is held until the switch."""
        await tx.one(self._sql["lock_workspace"], workspace=scope.workspace)
        named = {"workspace": scope.workspace, "job": job, "generation": generation}
        return await tx.all(self._sql["missing_in"], **named, limit=limit)

    async def grow(self, scope: Scope, generation: int, rows: int) -> bool:
        """Build the vector graph once the generation has that many rows; True if it was built now."""
        async with self._db.transaction(scope) as tx:
            row = await tx.one(self._sql["index_generation"], generation=generation, rows=rows)
        return bool(row and row["built"])

    async def _open_generation(self, tx: Transaction, recipe: IndexRecipe, *, fresh: bool) -> int:
        of = {"chunker": recipe.chunker, "fingerprint": recipe.fingerprint, "dimension": recipe.embedder.dimension}
        of |= {"embedder": recipe.embedder.name, "embedder_fingerprint": recipe.embedder.fingerprint}
        row = await tx.one(self._sql["open_generation"], **of, fresh=fresh)
        return int(row["id"]) if row else 0


def _chunk_languages(indexed: IndexedVersion, language: str) -> list[str]:
    """The workspace's language for each chunk, or its own."""
    if language == AUTO and indexed.stemmers:
        return list(indexed.stemmers)
    return [DEFAULT if language == AUTO else language] * len(indexed.chunks)


def _chunk_row(version: VersionId, chunker: str, chunk: Chunk, owner: Row) -> dict[str, Any]:
    """One chunk by the columns of `put_chunks`, with the metadata that filters and citations need."""
    stored = chunk_head_to_json(chunk)
    metadata = {
        "doc_id": owner["document_id"],
        "doc_type": owner["file_type"],
        "source_file": owner["filename"],
        "upload_date": owner["upload_date"].isoformat(),
        "page_number": chunk.spans[0].page,
        "chunk_index": chunk.ordinal,
        "chunking_method": chunk.method,
        **{name: stored[name] for name in ("metrics", "parent") if stored[name] is not None},
    }
    return {
        "ids": chunk_id(version, chunker, chunk.ordinal, chunk.text),
        "indexes": chunk.ordinal,
        "texts": chunk.text,
        "search_texts": search_text(chunk),
        "starts": chunk.spans[0].page,
        "ends": chunk.spans[-1].page,
        **{name: Jsonb(stored[name]) for name in ("spans", "headings")},
        "boxes": Jsonb(chunk.boxes, encode_boxes),
        "metadata": Jsonb(metadata),
    }
