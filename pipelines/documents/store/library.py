"""The documents as people see them: list, show, page by page, remove."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal

from cluster.basics.errors import Conflict, NotFound
from cluster.basics.scope import Scope
from cluster.state.corpus import lock_corpus, mark_corpus_changed
from cluster.state.db.postgres import Database, ReadQuery, Row, Transaction, load_queries
from configs.sections import ChunkStrategy
from pipelines.documents.document import DocumentId, Span, Status
from pipelines.documents.store.members import MemberDocuments

# A plan that fits every order would sort all documents for the newest, too.
_EACH_CALL: Final = {"plan_cache_mode": "force_custom_plan"}
DocumentSort = Literal["newest", "most_used", "never_used"]


class OfAnArchive(Conflict):
    """This document came out of an archive or a letter, and has its readers."""

    code = "of_an_archive"
    fix = "Change the readers of what it came out of (`parent_id`)."


class OtherReaders(Conflict):
    """A document of this name is there whose readers were changed since it was uploaded."""

    code = "other_readers"
    fix = "Give the file another name, or name the readers that the document has now."


@dataclass(frozen=True, slots=True)
class DocumentFilter:
    """Filter of a document list; None leaves a field out. Those that came from `since` on, before `before`, and
    are members of `parent`. `used`: whether an answer has used them yet.
    """

    status: Status | None = None
    file_type: str | None = None
    search: str | None = None
    since: datetime | None = None
    before: datetime | None = None
    parent: str | None = None
    used: bool | None = None


@dataclass(frozen=True, slots=True)
class NewUpload:
    """An upload that was accepted; `location` is where its bytes are."""

    document: DocumentId
    origin: str
    location: str
    filename: str
    file_type: str
    readers: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    description: str = ""
    chunk_strategy: ChunkStrategy | None = None  # its own; None takes the workspace's


@dataclass(frozen=True, slots=True)
class StoredBytes:
    """A document's bytes by their SHA-256 in hex, and those that a job has yet to read, by their location."""

    document: DocumentId
    file_hash: str | None
    arriving: str | None = None
    job: str | None = None


@dataclass(frozen=True, slots=True)
class DeletionImpact:
    """The rows that a deletion takes along, of the document and of those within it; `agents` lose the document."""

    members: int
    versions: int
    pages: int
    chunks: int
    embeddings: int
    agents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MarkedPage:
    """A page's text with the spans of the chunks that are to be marked; `failure` where it could not be read.

    `caveats` are what its text does not hold or may have wrong: kind, weight, detail, count.
    """

    number: int
    text: str
    marks: tuple[Span, ...]
    failure: Mapping[str, Any] | None
    caveats: Sequence[Mapping[str, Any]] = ()


class DocumentLibrary:
    """Reads documents, and removes them. Pages and content are those of the version that readers see."""

    def __init__(self, database: Database) -> None:
        self._db, self._sql = database, load_queries(Path(__file__).with_suffix(".sql"))
        self._members = MemberDocuments()

    async def page_of(
        self, scope: Scope, wanted: DocumentFilter, skip: int, limit: int, sort: DocumentSort = "newest"
    ) -> tuple[list[Row], int]:
        """A page of the list, and how many there are."""
        search = None if wanted.search is None else f"%{like_literal(wanted.search)}%"
        named: dict[str, Any] = {"workspace": scope.workspace, "status": wanted.status, "file_type": wanted.file_type}
        named |= {"search": search, "since": wanted.since, "before": wanted.before, "parent": wanted.parent}
        named |= {"used": wanted.used}
        shown = {**named, "sort": sort, "skip": skip, "limit": limit}
        rows, counted = await self._db.read_all(
            scope, ReadQuery(self._sql["list"], shown, _EACH_CALL), ReadQuery(self._sql["count"], named)
        )
        return rows, int(counted[0]["total"])

    async def show(self, scope: Scope, document: str) -> Row:
        """The document with its version, the count of its pages and its agents.

        Raises NotFound: no such document in this scope.
        """
        named = {"document": document, "workspace": scope.workspace}
        async with self._db.transaction(scope) as tx:
            row = await self._document_row(tx, scope, document)
            counts = await tx.one(self._sql["page_counts"], version=row["version_id"], workspace=scope.workspace)
            row["agents"] = await tx.all(self._sql["agents_of"], **named)
        row["pages"] = {"expected": row["page_count"] or 0, **(counts or {"stored": 0, "failed": 0, "with_caveats": 0})}
        return row

    async def page(self, scope: Scope, document: str, number: int) -> Row:
        """One page as it was read, with the document's version beside it. Raises NotFound: no such document or page."""
        async with self._db.transaction(scope) as tx:
            row = await self._document_row(tx, scope, document)
            page = await tx.one(self._sql["page"], version=row["version_id"], number=number, workspace=scope.workspace)
        if page is None:
            raise NotFound(f"page {number} of document {document}")
        return {**row, "page": page}

    async def content(
        self, scope: Scope, document: str, *, first: int, limit: int, chunks: Sequence[str]
    ) -> tuple[Row, list[MarkedPage]]:
        """The text of up to `limit` pages from page `first` on, with the places of these chunks.

        Raises NotFound: no such document.
        """
        async with self._db.transaction(scope) as tx:
            row = await self._document_row(tx, scope, document)
            named = {"version": row["version_id"], "workspace": scope.workspace}
            pages = await tx.all(self._sql["texts"], **named, first=first, limit=limit)
            marked = await tx.all(self._sql["spans"], **named, chunks=list(chunks)) if chunks else []
        spans = [Span(*span) for chunk in marked for span in chunk["spans"]]
        marks = {page["number"]: tuple(span for span in spans if span.page == page["number"]) for page in pages}
        return row, [MarkedPage(marks=marks[page["number"]], **page) for page in pages]

    async def impact(self, scope: Scope, document: str) -> DeletionImpact:
        """Count what a deletion would take along. Raises NotFound: no such document."""
        async with self._db.transaction(scope) as tx:
            family = await self._members.family(tx, scope, [document])
            if not family:
                raise NotFound(f"document {document}")
            return await self._deletion_impact(tx, scope, document, family)

    async def delete(self, tx: Transaction, scope: Scope, document: str) -> tuple[DeletionImpact, list[str]]:
        """Remove it with its members and everything that hangs on them. Raises NotFound: no such document.

        Returns:
            What went, and the locations of bytes that the caller removes once the transaction has ended.
        """
        named = {"document": document, "workspace": scope.workspace}
        await lock_corpus(tx, scope)
        if await tx.one(self._sql["lock"], **named) is None:
            raise NotFound(f"document {document}")
        family = await self._members.family(tx, scope, [document])
        impact = await self._deletion_impact(tx, scope, document, family)
        locations = await self._members.delete(tx, scope, family)
        await mark_corpus_changed(tx, scope)
        return impact, locations

    async def change_readers(
        self, tx: Transaction, scope: Scope, document: str, readers: Sequence[str]
    ) -> tuple[list[str], int]:
        """Who may see it and its members from now on; the readers before, and how many members follow.

        `scope` is the worker's: chunks and vectors that whoever asks does not see have to follow, too.

        Raises:
            NotFound: no such document.
            OfAnArchive: it has the readers of what it came out of.
        """
        named = {"document": document, "workspace": scope.workspace}
        await lock_corpus(tx, scope)
        if await tx.one(self._sql["lock"], **named) is None:
            raise NotFound(f"document {document}")
        family = await self._members.family(tx, scope, [document])
        row = await tx.one(self._sql["change_readers"], **named, readers=list(readers))
        if row is None:
            raise OfAnArchive(document)
        await mark_corpus_changed(tx, scope)
        return list(row["before"]), len(family) - 1

    async def same_bytes(self, scope: Scope, file_hash: str) -> Row | None:
        """A document that the caller may see and that has this content now."""
        async with self._db.transaction(scope) as tx:
            return await tx.one(self._sql["same_bytes"], workspace=scope.workspace, hash=file_hash)

    async def announce(self, tx: Transaction, scope: Scope, upload: NewUpload) -> None:
        """Let an accepted upload be seen before it is read.

        Raises OtherReaders: the document that this would be a new version of has had its readers changed.
        """
        await lock_corpus(tx, scope)
        plain = {name: getattr(upload, name) for name in ("document", "origin", "filename", "file_type", "description")}
        lists = {"readers": list(upload.readers), "tags": list(upload.tags)}
        await tx.run(self._sql["announce"], **scope.keys, **plain, **lists, user=scope.user)
        named = {"document": upload.document, "workspace": scope.workspace}
        known = await tx.one(self._sql["readers"], **named)
        if known is None or sorted(known["readers"]) != sorted(upload.readers):
            raise OtherReaders(upload.filename)
        await tx.run(self._sql["remember_upload"], **named, location=upload.location)

    async def set_encoding(self, tx: Transaction, scope: Scope, document: str, encoding: str | None) -> None:
        """Set the encoding for the next reading of a document; None leaves that to its bytes."""
        await tx.run(self._sql["set_encoding"], document=document, workspace=scope.workspace, encoding=encoding)

    async def require(self, scope: Scope, document: str) -> Row:
        """The document's row. Raises NotFound: no such document."""
        async with self._db.transaction(scope) as tx:
            return await self._document_row(tx, scope, document)

    async def held(self, scope: Scope, origins: Sequence[str]) -> Mapping[str, StoredBytes]:
        """Stored and arriving bytes of documents by origin; origins that are not there are left out."""
        named = {"workspace": scope.workspace, "origins": list(origins)}
        async with self._db.transaction(scope) as tx:
            rows = await tx.all(self._sql["current_bytes"], **named)
            arriving = {row["origin"]: row for row in await tx.all(self._sql["arriving"], **named)}
        return {
            row["origin"]: StoredBytes(row["id"], row["file_hash"], **_arriving_fields(arriving.get(row["origin"])))
            for row in rows
        }

    async def below(self, scope: Scope, prefix: str, limit: int) -> list[Row]:
        """Documents that were read and whose origins begin so: id, origin, location of their bytes."""
        return await self._db.read(scope, self._sql["below"], workspace=scope.workspace, prefix=prefix, limit=limit)

    async def stats(self, scope: Scope, agent: str | None) -> Row:
        """Search statistics: documents by status, pages, chunks, vectors, the live generation and its indexes."""
        named = {"workspace": scope.workspace, "agent": agent}
        async with self._db.transaction(scope) as tx:
            statuses = await tx.all(self._sql["by_status"], **named)
            volume = await tx.one(self._sql["volume"], **named)
            generation = await tx.one(self._sql["generation"], workspace=scope.workspace)
        assert volume is not None
        return {
            "documents": sum(row["documents"] for row in statuses),
            "by_status": {row["status"]: row["documents"] for row in statuses},
            "without_vectors": sum(row["without_vectors"] for row in statuses),
            **{name: int(volume[name]) for name in ("pages", "chunks", "embeddings")},
            "generation": generation or {},
        }

    async def _document_row(self, tx: Transaction, scope: Scope, document: str) -> Row:
        row = await tx.one(self._sql["show"], document=document, workspace=scope.workspace)
        if row is None:
            raise NotFound(f"document {document}")
        return row

    async def _deletion_impact(
        self, tx: Transaction, scope: Scope, document: str, family: Sequence[str]
    ) -> DeletionImpact:
        row = await tx.only(self._sql["impact"], documents=list(family), workspace=scope.workspace)
        agents = await tx.all(self._sql["agents_of"], document=document, workspace=scope.workspace)
        return DeletionImpact(**row, members=len(family) - 1, agents=tuple(agent["name"] for agent in agents))


def _arriving_fields(row: Row | None) -> dict[str, str]:
    return {} if row is None else {"arriving": row["location"], "job": str(row["job"])}


def like_literal(text: str) -> str:
    """For `like`: its signs stand for themselves."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
