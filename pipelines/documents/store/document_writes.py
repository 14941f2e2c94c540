"""Documents, versions and pages as rows: the write side, always inside a transaction of the ledger."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from psycopg.types.json import Jsonb

from cluster.basics.scope import Scope
from cluster.state.corpus import lock_corpus
from cluster.state.db.postgres import Database, Transaction, load_queries
from configs.sections import ChunkSettings
from pipelines.documents.document import DocumentId, Failure, Page, VersionId, document_id, page_id, version_id
from pipelines.documents.privacy.page_masks import DocumentPolicy, mark_page
from pipelines.documents.privacy.policy_rules import Action
from pipelines.documents.store.chunk_strategies import ChosenStrategies, ChunkStrategies, with_strategy
from pipelines.documents.store.encoding import code_of
from pipelines.documents.store.kept_corrections import put_corrections
from pipelines.documents.store.members import WITHIN, MemberDocuments, TreeUsage
from pipelines.documents.store.ocr_languages import OcrLanguages
from pipelines.documents.store.page_codec import encode_words, failure_to_json, page_from_json, page_head_to_json
from pipelines.documents.store.page_quota import refuse_beyond
from pipelines.documents.store.reading_options import AS_SET, ReadingOptions
from pipelines.documents.store.revisions import VersionRevisions


@dataclass(frozen=True, slots=True)
class FileArrival:
    """A file that came in, before it was opened."""

    # `file:<absolute path>`, `upload:<filename>` or `source:<its id>/…`; names the document in its workspace
    origin: str
    filename: str  # what people call it
    location: str  # where its bytes are
    agent: str | None = None  # the agent to link it to
    readers: tuple[str, ...] = ()  # principals who may see it; empty means the workspace
    tags: tuple[str, ...] = ()
    description: str = ""
    created_by: str | None = None
    # A document that is there is only looked at again; its links stay, and one that is gone stays gone.
    refresh: bool = False
    encoding: str | None = None  # of its text, as a person set it
    language: str | None = None  # of the workspace (ISO 639-1), where it is known
    parent: str | None = None  # the container that this job found it in

    @property
    def depth(self) -> int:
        """In how many containers it is."""
        return self.origin.count(WITHIN)

    @property
    def announced(self) -> bool:
        """True if its document is there before it is read, so that its absence means a delete."""
        return self.refresh or self.parent is not None or self.source_type in ("upload", "source")

    def document(self, scope: Scope) -> DocumentId:
        """The id of the document that this file is a version of."""
        return document_id(scope.workspace, self.origin)

    @property
    def source_type(self) -> str:
        """`folder`, `upload` or `source`, by the origin."""
        named = self.origin.partition(":")[0]
        return named if named in ("upload", "source") else "folder"

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any], **more: Any) -> "FileArrival":
        """From a unit's or a job's JSON."""
        return cls(
            **{name: payload[name] for name in ("origin", "filename", "location")},
            agent=more.get("agent_id"),
            readers=tuple(more.get("readers") or ()),
            tags=tuple(more.get("tags") or ()),
            description=more.get("description") or "",
            created_by=more.get("created_by"),
            refresh=bool(more.get("refresh")),
            parent=payload.get("parent"),
        )


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """The stored state of a document, and of the version that a file's bytes are."""

    version: VersionId
    exists: bool  # there is such a document; an upload's is announced before its job, so its absence means a delete
    current_version: str | None  # None where nothing of it can be searched yet
    settled: bool  # its last run has ended, and the live index holds this version's text as it is now
    # Number of each stored page to the fingerprint it was read with, retryable failures left out.
    read_with: Mapping[int, str]
    options: Mapping[int, ReadingOptions]  # of the pages that a person asked to read in their own way
    status: str | None = None  # where it stands; None where there is no such document
    # What its current version's caveats come to, as documents.caveats has them.
    caveats: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class StoredPage:
    """A page on its way into the store."""

    version: VersionId
    page: Page
    options: ReadingOptions = AS_SET  # that it was read with


class DocumentStore:
    """Statements about documents, versions and pages."""

    def __init__(self, database: Database, policy: DocumentPolicy | None = None) -> None:
        """`policy`: what is done with personal data on pages before they are stored; None for nothing."""
        self._policy = policy
        self._db, self._sql = database, load_queries(Path(__file__).with_suffix(".sql"))
        self.revisions = VersionRevisions(database)
        self.members = MemberDocuments()

    async def known(self, scope: Scope, document: DocumentId, file_hash: str) -> StoredDocument:
        """The stored state of this document, and of the pages of the version that these bytes are."""
        named = {"document": document, "workspace": scope.workspace}
        async with self._db.transaction(scope) as tx:
            found = await tx.one(self._sql["version_of_bytes"], **named, file_hash=file_hash)
            version = VersionId(found["id"]) if found else version_id(document, file_hash)
            row = await tx.one(self._sql["document"], **named, version=version)
            pages = await tx.all(self._sql["pages_read"], version=version, workspace=scope.workspace)
        read_with = {p["number"]: p["fingerprint"] for p in pages if not p["retryable"]}
        options = {p["number"]: ReadingOptions.from_json(p["reading"]) for p in pages if p["reading"]}
        if row is None:
            return StoredDocument(version, False, None, False, read_with, options)
        settled = bool(row["settled"])
        return StoredDocument(
            version, True, row["current_version"], settled, read_with, options, row["status"], row["caveats"]
        )

    async def tree_usage(self, scope: Scope, job: str, document: DocumentId) -> TreeUsage:
        """What the outermost container of a document has come to in a job; see `MemberDocuments`."""
        async with self._db.transaction(scope) as tx:
            return await self.members.tree_usage(tx, scope, job, document)

    async def told(self, scope: Scope, arrivals: Mapping[str, FileArrival]) -> dict[str, FileArrival]:
        """Arrivals by any key, with what people have said of how their texts are to be read."""
        documents = [arrival.document(scope) for arrival in arrivals.values()]
        async with self._db.transaction(scope) as tx:
            rows = await tx.all(self._sql["told"], documents=documents, workspace=scope.workspace, tenant=scope.tenant)
        language = code_of(rows[0]["language"]) if rows else None
        told = {row["id"]: row["encoding"] for row in rows}
        return {
            key: replace(one, encoding=told.get(one.document(scope)), language=language)
            for key, one in arrivals.items()
        }

    async def add(
        self, tx: Transaction, scope: Scope, arrival: FileArrival, version: Mapping[str, Any], most_pages: int
    ) -> bool:
        """Write a document and its version, and link it; False where it was to be refreshed and is gone.

        Args:
            version: version, file_hash, file_size, kind, page_count.
            most_pages: that all documents of the tenant may have together.

        Raises OverQuota: the pages of a version that is new are too many.
        """
        await lock_corpus(tx, scope)
        if not await self._still_there(tx, scope, arrival):
            return False
        await tx.run(self._sql["retyped"], document=arrival.document(scope), **scope.keys, file_type=version["kind"])
        await tx.run(self._sql["put_document"], **self._document_values(scope, arrival), file_type=version["kind"])
        named = {"document": arrival.document(scope), "location": arrival.location, **version}
        row = await tx.one(self._sql["put_version"], **scope.keys, **named)
        await self._drop_pages_beyond(tx, scope, version)
        if row and row["fresh"]:
            await refuse_beyond(tx, scope, most_pages, int(version["page_count"]), named["document"])
        await self.link(tx, scope, arrival)
        return True

    async def link(self, tx: Transaction, scope: Scope, arrival: FileArrival) -> None:
        """Link a document that is there already and as it was; a refresh leaves its links to people."""
        named = {"document": arrival.document(scope), "workspace": scope.workspace}
        await lock_corpus(tx, scope)
        await tx.run(self._sql["seen_well"], **named)
        if not arrival.refresh and await tx.run(self._sql["link"], **named, agent=arrival.agent):
            await tx.run(self._sql["corpus_changed"], **named, tenant=scope.tenant)

    async def fail(self, tx: Transaction, scope: Scope, arrival: FileArrival, failure: Failure) -> None:
        """Write a file that could not be opened as a document with a reason."""
        await lock_corpus(tx, scope)
        if not await self._still_there(tx, scope, arrival):
            return
        suffix = Path(arrival.filename).suffix.lstrip(".").lower()
        named = self._document_values(scope, arrival) | {"file_type": suffix or "unknown"}
        await tx.run(self._sql["put_failed"], **named, failure=Jsonb(failure_to_json(failure)))
        await self.link(tx, scope, arrival)

    async def require_not_held(self, tx: Transaction, scope: Scope, document: str) -> None:
        """Raises LegalHold: the document, what it came out of, or its workspace is held."""
        await tx.run(self._sql["refuse_held"], **scope.keys, document=document)

    async def put_pages(self, tx: Transaction, scope: Scope, pages: Sequence[StoredPage], fingerprint: str) -> None:
        """Write pages, as people have corrected them; those of a document that was deleted meanwhile are left out."""
        told = [stored.options.as_json() for stored in pages]
        versions = sorted({stored.version for stored in pages})
        await lock_corpus(tx, scope)
        corrected = await put_corrections(tx, scope, [(one.version, one.page) for one in pages])
        action: Action = "none" if self._policy is None else await self._policy(tx, scope)
        marked = await asyncio.to_thread(_mark_pages, corrected, action)
        rows = [(version, page_head_to_json(page)) for version, page, _ in marked]
        await tx.run(self._sql["reread"], **scope.keys, versions=versions)
        await tx.run(self._sql["count_reads"], workspace=scope.workspace, versions=versions)
        await tx.run(
            self._sql["put_pages"],
            workspace=scope.workspace,
            fingerprint=fingerprint,
            versions=[version for version, _ in rows],
            ids=[page_id(version, row["number"]) for version, row in rows],
            failures=[None if row["failure"] is None else Jsonb(row["failure"]) for _, row in rows],
            ms=[row["ms"] for _, row in rows],
            readings=[Jsonb(options) if options else None for options in told],
            finds=[None if finds is None else Jsonb(finds) for *_, finds in marked],
            **{f"{name}s": [row[name] for _, row in rows] for name in ("number", "text", "engine", "confidence")},
            words=[Jsonb(page.words, encode_words) for _, page, _ in marked],
            **{name: [Jsonb(row[name]) for _, row in rows] for name in ("attempts", "caveats")},
        )

    async def ocr_languages(self, scope: Scope) -> tuple[str, ...]:
        """OCR languages of the workspace's scans; empty where it takes those of the settings."""
        return await OcrLanguages(self._db).current(scope)

    async def chunk_strategies(self, scope: Scope, version: VersionId) -> ChosenStrategies:
        """The chunking strategies that were chosen for the workspace and for the document of a version."""
        return await ChunkStrategies(self._db).of_version(scope, version)

    async def workspace_chunking(self, scope: Scope, settings: ChunkSettings) -> ChunkSettings:
        """The settings with the workspace's strategy."""
        return with_strategy(settings, await ChunkStrategies(self._db).of_workspace(scope))

    async def load_pages(self, scope: Scope, version: VersionId) -> tuple[list[Page], int]:
        """The stored pages of a version in order, and its `reads`: another number later means another text."""
        named = {"version": version, "workspace": scope.workspace}
        async with self._db.transaction(scope) as tx:
            # The counter first: pages written in between make the text newer than the number says, never older.
            counter = await tx.one(self._sql["reads"], **named)
            rows = await tx.all(self._sql["load_pages"], **named)
        return [page_from_json(row) for row in rows], int(counter["reads"]) if counter else 0

    async def abandon(
        self, tx: Transaction, scope: Scope, job: str, failure: Failure, *, only: Sequence[str] | None = None
    ) -> None:
        """Tell the documents that a job leaves unfinished why; `only` names versions."""
        told, some = Jsonb(failure_to_json(failure)), None if only is None else list(only)
        await tx.run(self._sql["abandon"], workspace=scope.workspace, job=job, failure=told, only=some)

    async def any_good(self, scope: Scope, job: str) -> bool:
        """True if anything of a job's documents can be searched."""
        async with self._db.transaction(scope) as tx:
            row = await tx.one(self._sql["any_good"], workspace=scope.workspace, job=job)
        return bool(row and row["good"])

    async def _drop_pages_beyond(self, tx: Transaction, scope: Scope, version: Mapping[str, Any]) -> None:
        """A reader that came to more pages of the same bytes (another encoding, another cut) left some behind."""
        named = {"version": version["version"], "workspace": scope.workspace}
        if await tx.run(self._sql["drop_pages_beyond"], **named, page_count=version["page_count"]):
            await tx.run(self._sql["count_reads"], workspace=scope.workspace, versions=[version["version"]])

    async def _still_there(self, tx: Transaction, scope: Scope, arrival: FileArrival) -> bool:
        """True if it may be written: one that must be there is locked, so that it is not deleted meanwhile."""
        named = {"document": arrival.document(scope), "workspace": scope.workspace}
        return not (arrival.refresh or arrival.parent) or await tx.one(self._sql["hold_document"], **named) is not None

    def _document_values(self, scope: Scope, arrival: FileArrival) -> dict[str, Any]:
        plain = ("origin", "filename", "source_type", "description", "created_by")
        lists = {"readers": list(arrival.readers), "tags": list(arrival.tags)}
        own = {name: getattr(arrival, name) for name in plain}
        return {"document": arrival.document(scope), **scope.keys, **own, **lists}


def _mark_pages(
    pages: Sequence[tuple[VersionId, Page]], action: Action
) -> list[tuple[VersionId, Page, Mapping[str, int] | None]]:
    return [(version, *mark_page(page, action)) for version, page in pages]
