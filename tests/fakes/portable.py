"""Workspaces to be exported and imported: filled, and the parts that move them, with real rows and bytes."""

import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database
from cluster.state.signed_receipts import ReceiptSigner
from configs.sections import ChunkSettings
from pipelines.documents.document import Box, Word
from pipelines.documents.portable.export_manifest import VerifiedExport, verify_export
from pipelines.documents.portable.workspace_export import ExportResult, WorkspaceExport
from pipelines.documents.portable.workspace_import import ImportResult, KeptReaders, WorkspaceImport
from pipelines.documents.privacy.policy_rules import Action
from pipelines.documents.store.blobs import FolderBlobs
from tests.fakes import corpus
from tests.fakes.corpus import Book, Passage, Sheet, hash_vector
from tests.fakes.models import FakeEmbedder

PEOPLE = ("ann@north.example", "bob@north.example")


class KilledHere(BaseException):
    """The process ends at this step."""


def killer(after: int) -> Callable[[str], None]:
    """Ends the run at a step."""
    left = [after]

    def step(_: str) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise KilledHere

    return step


def nothing(_: str) -> None:
    """No step ends anything."""


def scanned(number: int) -> Sheet:
    """A page that OCR has read, with boxes and confidences."""
    text = f"Page {number} says that valve v{number} of line {number % 7} holds {number * 3} bar."
    # No two pages of sixty documents are of one length: no two are found equally well, whatever their ids are.
    text += "".join(f" w{number}n{nth}" for nth in range(number // 100 % 60 * 4 + number % 100))
    words, at = [], 0
    for nth, part in enumerate(text.split()):
        at = text.index(part, at)
        left = round(0.05 + 0.9 * nth / 200, 4)
        words.append(Word(part, at, Box(left, 0.1, round(left + 0.004, 4), 0.12), round(0.7 + (nth % 3) / 10, 4)))
    return Sheet(text, "tesseract", 0.8125, tuple(words))


def book(number: int, pages: int = 2, **more: Any) -> Book:
    """A document of scanned pages, a passage each."""
    sheets = [scanned(number * 100 + nth) for nth in range(pages)]
    passages = [Passage(one.text, nth + 1, vector=hash_vector(one.text)) for nth, one in enumerate(sheets)]
    named = {"filename": f"paper-{number:03}.pdf", "file_type": "pdf"} | more
    return Book(passages=passages, sheets=sheets, version=hashlib.sha256(content(number)).hexdigest(), **named)


def content(number: int) -> bytes:
    """The bytes of a document."""
    return f"the bytes of paper {number}".encode() * 50


@dataclass
class Yard:
    """A database with folders; workspaces are filled, exported and imported in it."""

    admin: psycopg.Connection[Any]
    app_dsn: str
    database: Database
    folder: Path

    def __post_init__(self) -> None:
        self.blobs = FolderBlobs(self.folder / "blobs")
        self.signer = ReceiptSigner.kept_in(self.folder / "state")

    def fill(self, scope: Scope, generation: int, numbers: range, pages: int = 2, **more: Any) -> list[str]:
        """Documents with pages, words, chunks, vectors, tables, names and bytes."""
        books = [book(number, pages, **more) for number in numbers]
        ids = corpus.load(self.admin, scope, generation, books)
        for number, document in zip(numbers, ids, strict=True):
            self._more_of(scope, generation, document, content(number))
        self.admin.commit()
        return ids

    def _more_of(self, scope: Scope, generation: int, document: str, data: bytes) -> None:
        location = self.blobs.location(scope.tenant, scope.workspace, f"b{document}")
        path = self.blobs.path(location)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        named = {"d": document, "l": location, "n": len(data), "t": scope.tenant, "w": scope.workspace, "g": generation}
        table = {"page": 1, "kind": "grid", "columns": ["a", "b"], "head": [0, 4], "rows": [[0, 4, "", ["x", "1"]]]}
        named |= {"table": Jsonb(table), "e": f"e{document[:30]}"}
        for statement in (
            "update document_chunks set boxes = '[[1, 0.05, 0.1, 0.95, 0.12]]' where document_id = %(d)s",
            "update document_versions set location = %(l)s, file_size = %(n)s, tables_of_reads = 0"
            " where document_id = %(d)s",
            "insert into indexed_versions select %(g)s, v.id, v.document_id, v.tenant_id, v.workspace_id, v.reads,"
            " v.page_count, true from document_versions v where v.document_id = %(d)s",
            "insert into page_tables select v.id, 1, 1, v.document_id, v.tenant_id, v.workspace_id, '{a,b}', 1,"
            " %(table)s from document_versions v where v.document_id = %(d)s",
            "insert into entities (id, tenant_id, workspace_id, type, canonical_name)"
            " values (%(e)s, %(t)s, %(w)s, 'product', %(e)s)",
            "insert into entity_mentions (entity_id, version_id, page, document_id, tenant_id, workspace_id, type,"
            " name, start_at, end_at, quote_start, quote_end, occurrences, confidence, found_by) select %(e)s, v.id, 1,"
            " v.document_id, v.tenant_id, v.workspace_id, 'product', 'Valve', 0, 4, 0, 9, 1, 0.5, 'rule'"
            " from document_versions v where v.document_id = %(d)s",
        ):
            self.admin.execute(statement, named)

    def account(self, scope: Scope, email: str) -> str:
        """An account of the tenant."""
        row = self.admin.execute(
            "insert into users (tenant_id, email, password_hash, role) values (%s, %s, 'x', 'viewer')"
            " returning id::text",
            (scope.tenant, email),
        ).fetchone()
        assert row is not None
        return str(row[0])

    async def send(self, scope: Scope, to: str, step: Callable[[str], None] = nothing, parts: int = 3) -> ExportResult:
        """Export into a folder of this name, some documents a part."""
        worker = Scope.of_worker(scope.tenant, scope.workspace)
        move = WorkspaceExport(
            self.app_dsn, None, worker, self.blobs, self.signer, "1.0", part_documents=parts, step=step
        )
        return await move.run(self.folder / to)

    def checked(self, name: str, trusted: str | None = None, own: str | None = None) -> VerifiedExport:
        """An export whose every file is as it was signed."""
        return verify_export(self.folder / name, own or self.signer.public, trusted)

    def receiver(
        self,
        scope: Scope,
        step: Callable[[str], None] = nothing,
        fingerprint: str = "fake-1",
        most_pages: int = 10_000,
        action: Action = "none",
    ) -> WorkspaceImport:
        """What writes into a workspace."""

        async def policy(*_: object) -> Action:
            return action

        worker, embedder = Scope.of_worker(scope.tenant, scope.workspace), FakeEmbedder(fingerprint=fingerprint)
        named = {"most_pages": most_pages, "exact_scope": 5_000, "step": step}
        return WorkspaceImport(self.database, worker, self.blobs, policy, ChunkSettings(), embedder.facts, **named)

    async def receive(
        self, scope: Scope, name: str, *, merge: bool = False, readers: KeptReaders = KeptReaders.TARGET, **more: Any
    ) -> ImportResult:
        """Import an export."""
        return await self.receiver(scope, **more).run(self.checked(name), merge=merge, readers=readers)

    def contents(self, scope: Scope) -> dict[str, Any]:
        """What a workspace holds, without ids: the same of two workspaces means the same texts, words and vectors."""
        queries = {
            "documents": "select origin, filename, status, tags, upload_date, chunk_count, has_embeddings, readers"
            " from documents where workspace_id = %(w)s order by origin",
            "versions": "select file_hash, file_size, page_count, reads from document_versions"
            " where workspace_id = %(w)s order by file_hash, page_count",
            "pages": "select d.origin, p.number, md5(p.text), p.words, p.engine, p.confidence, p.fingerprint, p.ms,"
            " p.read_at from pages p join documents d on d.id = p.document_id where p.workspace_id = %(w)s"
            " order by 1, 2",
            "tables": "select d.origin, t.ordinal, t.headings, t.content from page_tables t join documents d"
            " on d.id = t.document_id where t.workspace_id = %(w)s order by 1, 2",
            "chunks": "select d.origin, c.chunk_index, md5(c.text), c.search_text, c.spans, c.boxes, c.engine,"
            " c.confidence, c.language from document_chunks c join documents d on d.id = c.document_id"
            " where c.workspace_id = %(w)s order by 1, 2",
            "vectors": "select d.origin, c.chunk_index, md5(e.embedding::text), e.readers from embeddings e"
            " join document_chunks c on c.id = e.chunk_id join documents d on d.id = e.document_id"
            " where e.workspace_id = %(w)s order by 1, 2",
            "mentions": "select d.origin, m.page, m.name, e.type from entity_mentions m join entities e on e.id ="
            " m.entity_id join documents d on d.id = m.document_id where m.workspace_id = %(w)s order by 1, 2",
            "agents": "select name, system_prompt, config, whole_workspace from agents where workspace_id = %(w)s"
            " order by 1",
            "links": "select a.name, d.origin from document_agent_links l join agents a on a.id = l.agent_id"
            " join documents d on d.id = l.document_id where l.workspace_id = %(w)s order by 1, 2",
            "questions": "select g.name, q.key, q.question, q.answers from golden_questions q join golden_sets g"
            " on g.id = q.set_id where q.workspace_id = %(w)s order by 1, 2",
        }
        found = {name: self.admin.execute(query, {"w": scope.workspace}).fetchall() for name, query in queries.items()}
        self.admin.rollback()
        return found

    def counted(self, query: str, *values: Any) -> int:
        """A number."""
        row = self.admin.execute(query, values).fetchone()
        self.admin.rollback()
        assert row is not None
        return int(row[0])


@asynccontextmanager
async def open_yard(admin_dsn: str, app_dsn: str, folder: Path) -> AsyncIterator[Yard]:
    """Over one database, with connections of both roles."""
    database = Database(app_dsn, size=4)
    await database.open()
    try:
        with psycopg.connect(admin_dsn, autocommit=True) as admin:
            yield Yard(admin, app_dsn, database, folder)
    finally:
        await database.close()
