"""A correction of a line: the page, its chunks, vectors and tables in one transaction, or nothing of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from psycopg.types.json import Jsonb

from cluster.basics.errors import Overloaded
from cluster.basics.scope import Scope
from cluster.models.ports import Embedder
from cluster.state.audit import AuditLog
from cluster.state.corpus import lock_corpus, mark_corpus_changed
from cluster.state.db.postgres import Database, Row, SqlStore, Transaction
from cluster.state.work.jobs import JobLane, JobLedger
from pipelines.documents.corrections.line_edit import LineEdit, apply_edit
from pipelines.documents.corrections.page_lines import PageLine
from pipelines.documents.corrections.replay import KeptCorrection, replay_corrections
from pipelines.documents.document import Page, VersionId
from pipelines.documents.review.index_patch import IndexMoved, IndexPatch, IndexPatcher, Searchable
from pipelines.documents.review.line_request import LineRequest, line_edit
from pipelines.documents.review.review_queue import PageChanged, PageVersion, ReviewQueue
from pipelines.documents.store.page_codec import box_to_json, page_from_json, page_to_json

ATTEMPTS = 8  # at a document whose index changes meanwhile
_PAGE = ("number", "text", "words", "engine", "confidence", "attempts", "ms", "failure", "caveats")

FollowUp = Literal["process", "embed", "graph"]


@dataclass(frozen=True, slots=True)
class MadeCorrection:
    """A correction as it was made; `fresh` is false where the same one was sent before."""

    id: str
    page_version: str  # of the page after it
    text: str  # of the line
    reembedded: int  # chunks
    searchable: Searchable
    fresh: bool


@dataclass(frozen=True, slots=True)
class _Draft:
    """A correction that is worked out and not written yet."""

    document: str
    seen: PageVersion
    line: PageLine
    edit: LineEdit
    page: Page  # after it
    patch: IndexPatch


class PageCorrector(SqlStore, queries="page_corrector.sql"):
    """Corrects lines. A kill at any moment leaves either nothing or all of it."""

    def __init__(
        self, database: Database, jobs: JobLedger, audit: AuditLog, embedder: Embedder, embed_seconds: float = 3.0
    ) -> None:
        """`embed_seconds`: for how long the embedder is waited for; without it the text is found by its words."""
        super().__init__(database)
        self._jobs, self._audit, self._queue = jobs, audit, ReviewQueue(database)
        self._index = IndexPatcher(database, embedder, embed_seconds)

    async def correct(
        self, scope: Scope, document: str, number: int, seen: PageVersion, request: LineRequest
    ) -> MadeCorrection:
        """Let a line of a page say something else; the same request again changes nothing.

        Raises NotFound: no such document or page; PageChanged: the page is another than was seen; Invalid, TooLarge:
        there is no such line, or it cannot say that; Overloaded: the document's index changes all the time.
        """
        for _ in range(ATTEMPTS):
            if made := await self._find_repeated(scope, document, number, seen, request):
                return made
            try:
                draft = await self._draft(scope, document, number, seen, request)
                vectors = await self._index.embed(draft.patch)
                async with self._db.transaction(scope) as tx:
                    return await self._write(tx, scope, draft, vectors)
            except IndexMoved:
                continue  # what was worked out is of a text or an index that is no more
        raise Overloaded(f"document {document} is being indexed")

    async def _find_repeated(
        self, scope: Scope, document: str, number: int, seen: PageVersion, request: LineRequest
    ) -> MadeCorrection | None:
        named = {"document": document, "page": number, "version": seen.version, "user": scope.user}
        named |= {"revision": seen.revision + 1, "line": request.line, "workspace": scope.workspace}
        rows = await self._db.read(scope, self._sql["repeated"], **named)
        if not rows or not _is_repeat(rows[0], request):
            return None
        row = rows[0]
        after = str(PageVersion(row["version_id"], row["revision"]))
        return MadeCorrection(str(row["id"]), after, row["text_after"], row["reembedded"], row["searchable"], False)

    async def _draft(self, scope: Scope, document: str, number: int, seen: PageVersion, request: LineRequest) -> _Draft:
        row = await self._queue.page(scope, document, number)
        if PageVersion.of_row(row) != seen:
            raise PageChanged(f"page {number} of document {document}")
        before = _page_of(row)
        line, edit = line_edit(before, request)
        # As it is stored: what is worked out again from the store has to come to the same.
        page = page_from_json(page_to_json(apply_edit(before, edit)))
        patch = await self._index.draft(scope, document, VersionId(seen.version), before, page, edit)
        return _Draft(document, seen, line, edit, page, patch)

    async def _write(
        self, tx: Transaction, scope: Scope, draft: _Draft, vectors: Sequence[str] | None
    ) -> MadeCorrection:
        patch, number = draft.patch, draft.page.number
        await lock_corpus(tx, scope)
        await self._index.hold(tx, scope, draft.document, patch)
        if not await self._put_page(tx, scope, draft.seen.version, draft.seen.revision, draft.page):
            raise IndexMoved
        searchable = await self._index.write(tx, scope, draft.document, draft.page, patch, vectors)
        reembedded = len(patch.new_chunks) if searchable == "vectors" else 0
        id_ = await self._add(tx, scope, draft, reembedded, searchable)
        await self._correct_readings(tx, scope, draft, id_)
        await self._queue_follow_ups(tx, scope, draft, searchable)
        if draft.edit.changes_text:  # else nothing that was remembered of it is old
            await mark_corpus_changed(tx, scope)
        after = str(PageVersion(draft.seen.version, draft.seen.revision + 1))
        told = {"page": number, "line": draft.line.number, "correction": id_, "page_version": after}
        await self._audit.record(tx, scope, "page.correct", draft.document, detail=told)
        return MadeCorrection(id_, after, draft.edit.after, reembedded, searchable, True)

    async def _put_page(self, tx: Transaction, scope: Scope, version: str, revision: int, page: Page) -> int:
        """Write the page and count that its version's text changed; 0 where it is another revision by now."""
        row = page_to_json(page)
        values = {name: row[name] for name in ("text", "engine", "confidence")}
        values |= {name: Jsonb(row[name]) for name in ("words", "attempts")}
        named = {"version": version, "workspace": scope.workspace}
        await tx.run(self._sql["count_reads"], **named)
        return await tx.run(self._sql["put_page"], **named, page=page.number, revision=revision, **values)

    async def _add(self, tx: Transaction, scope: Scope, draft: _Draft, reembedded: int, searchable: Searchable) -> str:
        box = draft.line.box
        row = await tx.only(
            self._sql["add"],
            **scope.keys,
            document=draft.document,
            version=draft.seen.version,
            file_hash=draft.patch.state.file_hash,
            page=draft.page.number,
            revision=draft.seen.revision + 1,
            user=scope.user,
            line=draft.line.number,
            start=draft.edit.start,
            before=draft.edit.before,
            after=draft.edit.after,
            whole=draft.edit.whole,
            box=None if box is None else Jsonb(box_to_json(box)),
            reembedded=reembedded,
            searchable=searchable,
        )
        return str(row["id"])

    async def _correct_readings(self, tx: Transaction, scope: Scope, draft: _Draft, correction: str) -> None:
        """Put it on the page as it was read again, in versions of the same bytes that readers do not have yet."""
        named = {"document": draft.document, "version": draft.seen.version, "page": draft.page.number}
        named |= {"file_hash": draft.patch.state.file_hash, "workspace": scope.workspace}
        texts = (draft.edit.before, draft.edit.after)
        for row in await tx.all(self._sql["readings"], **named):
            kept = KeptCorrection(correction, draft.line.number, *texts, draft.line.box, draft.edit.whole)
            replayed = replay_corrections(_page_of(row), [kept])
            if replayed.placed:
                await self._put_page(tx, scope, row["version_id"], row["revision"], replayed.page)
            else:
                where = {"id": correction, "version": row["version_id"], "workspace": scope.workspace}
                await tx.run(self._sql["note_unplaced"], **where)

    async def _queue_follow_ups(self, tx: Transaction, scope: Scope, draft: _Draft, searchable: Searchable) -> None:
        """Jobs for what a request is too short for; one that waits already does it for this correction, too."""
        own = {"document_id": draft.document}
        if searchable == "pending":
            await self._queue_once(tx, scope, "process", JobLane.SMALL, own)
            return
        if searchable == "words":
            await self._queue_once(tx, scope, "embed", JobLane.BULK, {"agent_id": None})
        if await tx.one(self._sql["has_graph"], version=draft.seen.version, workspace=scope.workspace):
            await self._queue_once(tx, scope, "graph", JobLane.SMALL, own)

    async def _queue_once(
        self, tx: Transaction, scope: Scope, kind: FollowUp, lane: JobLane, payload: Mapping[str, Any]
    ) -> None:
        named = {"kind": kind, "document": payload.get("document_id"), "agent": payload.get("agent_id")}
        if await tx.one(self._sql["waiting"], **named, workspace=scope.workspace) is None:
            await self._jobs.enqueue(tx, scope, kind, lane, payload)


def _page_of(row: Row) -> Page:
    return page_from_json({name: row[name] for name in _PAGE})


def _is_repeat(row: Row, request: LineRequest) -> bool:
    """True if the correction says what the request asks for."""
    text, before, after = request.text.strip(), row["text_before"], row["text_after"]
    if request.word is None:
        return bool(row["whole"] and after == text)
    at = request.word - row["start_at"]
    if row["whole"] or at < 0 or after[: at + len(text)] != before[:at] + text:
        return False
    # One word was replaced, and what stands behind it stayed: `10` is not what made `1O0 EUR` to `100 EUR`.
    behind = after[at + len(text) :]
    word = before[at : len(before) - len(behind)]
    return len(word.split()) == 1 and word + behind == before[at:] and (not behind or behind[0].isspace())
