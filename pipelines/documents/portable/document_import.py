"""The import of one document: its rows in one transaction under the target's scope, nothing read or embedded."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from psycopg.types.json import Jsonb

from cluster.basics.scope import Scope
from cluster.state.corpus import mark_corpus_changed
from cluster.state.db.postgres import Database, Row, Transaction, load_queries
from pipelines.documents.chunk.language import AUTO
from pipelines.documents.document import DocumentId, VersionId, chunk_id, page_id
from pipelines.documents.graph.model import EntityKey, entity_id, relation_id
from pipelines.documents.index.generations import GenerationMoved, WriteTarget
from pipelines.documents.portable.blob_files import store_blob
from pipelines.documents.portable.datasets import DOCUMENT_DATASETS
from pipelines.documents.portable.export_manifest import BrokenExport, VerifiedExport
from pipelines.documents.portable.import_plan import ImportPlan, Placement, mapped_uuid, mapped_version
from pipelines.documents.portable.parquet_files import GroupedRows
from pipelines.documents.privacy.page_masks import DocumentPolicy, mark_page
from pipelines.documents.store.blobs import BlobStore, Location
from pipelines.documents.store.page_codec import page_from_json, page_to_json
from pipelines.documents.store.page_quota import OverQuota, used_pages

SQL = load_queries(Path(__file__).with_suffix(".sql"))
ROWS: Final = 200  # that one statement writes
_TIMES: Final = ("upload_date", "processed_date", "created_at", "read_at", "reviewed_at", "at")
_PAGE: Final = ("text", "engine", "confidence", "ms")
_PAGE_JSON: Final = ("attempts", "failure", "caveats")


@dataclass
class PartRows:
    """The rows of a part, dataset by dataset, taken document by document."""

    export: VerifiedExport
    number: str
    _rows: dict[str, GroupedRows] = field(default_factory=dict)

    def of(self, dataset: str, **key: Any) -> Iterator[Row]:
        """The rows of a document, in order."""
        if dataset not in self._rows:
            path = self.export.file(dataset, self.number)
            self._rows[dataset] = GroupedRows(path, DOCUMENT_DATASETS[dataset])
        return self._rows[dataset].of(**key)

    def documents(self) -> Iterator[Row]:
        """Each document; what was not taken of the one before is passed over."""
        path = self.export.file("documents", self.number)
        for row in GroupedRows(path, DOCUMENT_DATASETS["documents"]).of():
            yield row
            for dataset in DOCUMENT_DATASETS:
                if dataset not in ("documents", "cells"):
                    for _ in self.of(dataset, document_id=row["document_id"]):
                        pass

    def require_end(self) -> None:
        """Raises BrokenExport: rows belong to no document."""
        for name, rows in self._rows.items():
            rows.require_end(name)


@dataclass(frozen=True, slots=True)
class DocumentImport:
    """Writes documents of an export into a workspace.

    Attributes:
        target: the generation that readers use; with `words_only` the vectors of the export are of another space.
        most_pages: that all documents of the tenant may have together.
        policy: what the target does with personal data on pages.
    """

    database: Database
    scope: Scope
    blobs: BlobStore
    export: VerifiedExport
    plan: ImportPlan
    target: WriteTarget
    most_pages: int
    policy: DocumentPolicy

    async def write(self, rows: PartRows, row: Row) -> bool:
        """Write a document with everything that belongs to it, or nothing; False where it was there."""
        placed = self.plan.placements[row["document_id"]]
        versions = [self._version(placed, one) for one in rows.of("versions", document_id=row["document_id"])]
        for one in versions:
            one["location"] = await self._store_bytes(one)
        async with self.database.transaction(self.scope) as tx:
            await self._require_index(tx)
            values = self._document(placed, row, {one["old"]: one["version_id"] for one in versions})
            if not await tx.run(SQL["put_document"], **self.scope.keys, **values):
                return False
            await tx.run(
                SQL["own_readers"],
                workspace=self.scope.workspace,
                id=placed.id,
                readers=values["readers"],
                own=bool(row["own_readers"]),
            )
            found = await tx.only(SQL["readers"], workspace=self.scope.workspace, id=placed.id)
            writing = _DocumentRows(self, tx, rows, row["document_id"], placed, versions, list(found["readers"]))
            await writing.write()
            if (total := await used_pages(tx, self.scope)) > self.most_pages:
                raise OverQuota(f"this tenant would have {total} pages of the {self.most_pages} that it may have")
            await mark_corpus_changed(tx, self.scope)
        return True

    async def link(self, rows: PartRows, old: str, placed: Placement) -> None:
        """What a document that is there gets: the agents that search it, and the readers that somebody wants to add."""
        agents = [row["agent_id"] for row in rows.of("links", document_id=old)]
        async with self.database.transaction(self.scope) as tx:
            await self._require_index(tx)
            await self.put_links(tx, placed.id, agents)
            if placed.readers:
                named = {"document": placed.id, "readers": list(placed.readers)}
                await tx.run(SQL["join_readers"], **self.scope.keys, **named)
            await mark_corpus_changed(tx, self.scope)

    async def put_links(self, tx: Transaction, document: DocumentId, agents: Iterable[str]) -> None:
        """Link a document to agents of the export."""
        known = [self.plan.agents[one] for one in agents if one in self.plan.agents]
        await tx.run(SQL["put_links"], **self.scope.keys, document=document, agents=known)

    async def _require_index(self, tx: Transaction) -> None:
        """Raises GenerationMoved: readers use another index since this import looked."""
        live = await tx.only(SQL["lock"], **self.scope.keys)
        if live["generation_id"] != self.target.generation:
            raise GenerationMoved("readers use another index since the import began", fix="Run the import again.")

    def _version(self, placed: Placement, row: Row) -> Row:
        new = mapped_version(placed.id, row["document_id"], row["version_id"], row["file_hash"])
        return row | {"old": row["version_id"], "version_id": new}

    async def _store_bytes(self, version: Row) -> Location:
        """Bytes that are not in the export are nowhere: the pages are there, the file cannot be shown."""
        name = f"imported-{version['version_id']}"
        if not version["has_bytes"]:
            return self.blobs.location(self.scope.tenant, self.scope.workspace, name)
        return await store_blob(self.blobs, self.scope, self.export.folder, version["file_hash"], name)

    def _document(self, placed: Placement, row: Row, versions: Mapping[str, VersionId]) -> Row:
        if row["version_id"] not in versions:
            raise BrokenExport(f"document {row['document_id']} has no version")
        told = self.export.manifest
        origin = {"export": self.export.id, "document": row["document_id"], "workspace": told.workspace.name}
        metadata = json.loads(row["metadata"] or "{}") | {"imported_from": origin | {"product": told.product}}
        same = (
            *("filename", "file_type", "source_type", "status", "failure", "description", "chunk_count"),
            *("has_embeddings", "upload_date", "processed_date", "caveats", "chunk_strategy", "classification"),
            *("classification_rank", "classified_by"),
        )
        return {name: row[name] for name in same} | {
            "id": placed.id,
            "origin": placed.origin,
            "readers": self.plan.names.map(row["readers"] or ()),
            "tags": row["tags"] or [],
            "metadata": json.dumps(metadata),
            "created_by": self.plan.names.account(row["created_by"]),
            "version": versions[row["version_id"]],
        }


@dataclass
class _DocumentRows:
    """The rows of one document, on their way in one transaction."""

    of: DocumentImport
    tx: Transaction
    rows: PartRows
    old: str
    placed: Placement
    versions: list[Row]
    readers: list[str]
    _chunks: dict[str, str] = field(default_factory=dict)
    _masked: bool = False

    async def write(self) -> None:
        """All of them, in the order in which they need each other."""
        await self._put("put_versions", self.versions)
        await self._put_pages()
        if self._masked:
            await self.tx.run(SQL["without_tables"], **self.of.scope.keys, document=self.placed.id)
        else:
            await self._put_batches("put_tables", "tables", lambda row: row)
        await self._put_batches("put_corrections", "corrections", self._correction)
        # Chunks of a text that has just been masked would show what the mask covers: it is cut and embedded anew.
        if not self._masked:
            await self._put_batches("put_chunks", "chunks", self._chunk, chunker=self.of.target.chunker)
        with_vectors = not (self.of.target.words_only or self._masked)
        if with_vectors:
            await self._put_vectors()
        await self._put_batches("put_indexed", "indexed", lambda row: self._indexed(row, with_vectors))
        if not with_vectors:
            await self.tx.run(SQL["without_vectors"], workspace=self.of.scope.workspace, document=self.placed.id)
        if not self._masked:
            await self._put_graph()
        links = [row["agent_id"] for row in self.rows.of("links", document_id=self.old)]
        await self.of.put_links(self.tx, self.placed.id, links)

    async def _put_pages(self) -> None:
        action = await self.of.policy(self.tx, self.of.scope)
        waiting = list[Row]()
        for version in self.versions:
            for page in self.rows.of("pages", document_id=self.old, version_id=version["old"]):
                words = [
                    [word[name] for name in ("start", "text", "x0", "y0", "x1", "y1", "confidence")]
                    for word in self.rows.of(
                        "words", document_id=self.old, version_id=version["old"], page=page["page"]
                    )
                ]
                if action != "none":
                    words = self._mark(page, words, action)
                page |= {"words": json.dumps(words), "version_id": version["version_id"]}
                page |= {"id": page_id(version["version_id"], page["page"])}
                page["reviewed_by"] = self.of.plan.names.account(page["reviewed_by"])
                waiting.append(page)
                if len(waiting) >= ROWS // 4:
                    await self._put("put_pages", waiting)
                    waiting = []
        await self._put("put_pages", waiting)

    def _mark(self, row: Row, words: list[Any], action: Any) -> list[Any]:
        """The page as the target's policy wants it: its row is changed, its words come back."""
        told = {name: row[name] for name in _PAGE} | {"number": row["page"], "words": words}
        told |= {name: json.loads(row[name]) if row[name] else None for name in _PAGE_JSON}
        page, finds = mark_page(page_from_json(told), action)
        row["personal_data"] = None if finds is None else json.dumps(finds)
        if page.text == row["text"]:
            return words
        self._masked = True
        stored = page_to_json(page)
        row["text"] = stored["text"]
        return list(stored["words"])

    def _correction(self, row: Row) -> Row:
        made_by = self.of.plan.names.account(row["made_by"])
        return row | {"id": mapped_uuid(self.of.scope, row["correction_id"]), "user_id": made_by}

    def _chunk(self, row: Row) -> Row:
        chunker, language = self.of.target.chunker, self.of.plan.owner["language"]
        new = chunk_id(row["version_id"], chunker, row["ordinal"], row["text"])
        self._chunks[row["chunk_id"]] = new
        return row | {"id": new, "language": row["language"] if language == AUTO else language}

    def _indexed(self, row: Row, with_vectors: bool) -> Row:
        return row | {"embedded": row["embedded"] and with_vectors, "chunks": 0 if self._masked else row["chunks"]}

    async def _put_vectors(self) -> None:
        named = {"generation": self.of.target.generation, "document": self.placed.id, "readers": self.readers}
        ids, vectors = list[str](), list[str]()
        for row in self.rows.of("vectors", document_id=self.old):
            if (chunk := self._chunks.get(row["chunk_id"])) is None:
                raise BrokenExport("a vector belongs to no chunk")
            ids.append(chunk)
            vectors.append(json.dumps(row["embedding"]))
            if len(ids) >= ROWS:
                await self.tx.run(SQL["put_vectors"], **self.of.scope.keys, **named, ids=ids, vectors=vectors)
                ids, vectors = [], []
        if ids:
            await self.tx.run(SQL["put_vectors"], **self.of.scope.keys, **named, ids=ids, vectors=vectors)

    async def _put_graph(self) -> None:
        home = self.of.scope.workspace
        for rows in self._batches("mentions", lambda row: row):
            for row in rows:
                row["entity_id"] = entity_id(home, EntityKey(row["entity_type"], row["entity_name"]))
            named = [{"id": r["entity_id"], "type": r["entity_type"], "name": r["entity_name"]} for r in rows]
            await self._put("put_entities", named)
            await self._put("put_mentions", rows)
        for rows in self._batches("relations", lambda row: row):
            for row in rows:
                source, target = (EntityKey(row[f"{end}_type"], row[f"{end}_name"]) for end in ("source", "target"))
                row |= {"source_id": entity_id(home, source), "target_id": entity_id(home, target)}
                row["id"] = relation_id(home, source, target, row["type"])
            ends = ("source", "target")
            named = [
                {"id": r[f"{end}_id"], "type": r[f"{end}_type"], "name": r[f"{end}_name"]} for r in rows for end in ends
            ]
            await self._put("put_entities", named)
            await self._put("put_relations", rows)
            await self._put("put_evidence", rows)
        await self._put_batches("put_graphs", "graphs", lambda row: row)

    async def _put_batches(self, query: str, dataset: str, change: Callable[[Row], Row], **more: Any) -> None:
        for rows in self._batches(dataset, change):
            await self._put(query, rows, **more)

    def _batches(self, dataset: str, change: Callable[[Row], Row]) -> Iterator[list[Row]]:
        """Rows of the document by their new version, some at once."""
        new = {one["old"]: one["version_id"] for one in self.versions}
        waiting = list[Row]()
        for row in self.rows.of(dataset, document_id=self.old):
            if row["version_id"] not in new:
                raise BrokenExport(f"{dataset} has a row of a version that is not there")
            waiting.append(change(row | {"version_id": new[row["version_id"]]}))
            if len(waiting) >= ROWS:
                yield waiting
                waiting = []
        if waiting:
            yield waiting

    async def _put(self, query: str, rows: list[Row], **more: Any) -> None:
        if not rows:
            return
        of: dict[str, Any] = {"document": self.placed.id, **more}
        if query == "put_chunks":
            of["readers"] = self.readers
            languages = sorted({row["language"] for row in rows})
            await self.tx.run(SQL["note_stemmers"], languages=languages)
        elif query == "put_indexed":
            of["generation"] = self.of.target.generation
        told = [{name: _as_json(name, value) for name, value in row.items()} for row in rows]
        await self.tx.run(SQL[query], **self.of.scope.keys, **of, rows=Jsonb(told))


def _as_json(name: str, value: Any) -> Any:
    return value.isoformat() if name in _TIMES and value is not None else value
