"""Rows of documents, pages, chunks and vectors, written straight into Postgres by its owner; a model-free embedder."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import psycopg
from numpy.typing import NDArray
from pgvector.psycopg import register_vector
from psycopg.types.json import Jsonb

from cluster.basics.scope import Scope, TenantId, WorkspaceId
from pipelines.documents.document import Word, chunk_id, document_id, page_id, version_id
from pipelines.documents.store.page_codec import words_to_json
from tests.fakes.models import DIMENSION, FakeEncoder

CHUNKER = "semantic-test"
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk to be: text on `page`, not embedded without a vector; `search_text` is titles and text unless given."""

    text: str
    page: int = 1
    headings: tuple[str, ...] = ()
    spans: tuple[tuple[int, int, int], ...] = ()
    vector: Vectors | None = None
    search_text: str | None = None
    language: str | None = None  # how its words are cut; the workspace's unless given


@dataclass(frozen=True, slots=True)
class Sheet:
    """A page to be."""

    text: str
    engine: str = "native"
    confidence: float | None = None
    words: tuple[Word, ...] = ()


@dataclass(frozen=True, slots=True)
class Book:
    """A document to be; without `sheets` its page 1 is its passages' texts joined by blank lines."""

    filename: str
    passages: Sequence[Passage]
    sheets: Sequence[Sheet] = ()
    file_type: str = "txt"
    readers: tuple[str, ...] = ()
    uploaded: datetime = LONG_AGO
    agents: tuple[str, ...] = ()
    version: str = "1"
    current: bool = True


def own_bm25(connection: psycopg.Connection[Any]) -> None:
    """Give this database's BM25 index an oid of its own.

    pg_textsearch 1.0 keeps fresh postings in shared memory under the index's oid; databases copied from one template
    have the same oid, and see each other's counts.
    """
    row = connection.execute("select pg_get_indexdef(to_regclass('document_chunks_bm25'))").fetchone()
    if row and row[0]:
        connection.execute("drop index document_chunks_bm25")
        connection.execute(row[0])


def open_home(connection: psycopg.Connection[Any], name: str = "home", tenant: str | None = None) -> Scope:
    """A tenant (unless given) with a workspace, and the scope that sees it."""
    tenant = tenant or str(uuid4())
    workspace = str(uuid4())
    connection.execute("insert into tenants (id, name) values (%s, %s) on conflict do nothing", (tenant, tenant))
    connection.execute("insert into workspaces (id, tenant_id, name) values (%s, %s, %s)", (workspace, tenant, name))
    return Scope(TenantId(tenant), WorkspaceId(workspace))


def open_agent(connection: psycopg.Connection[Any], scope: Scope, name: str) -> str:
    """An agent's id."""
    agent = str(uuid4())
    row = (agent, scope.tenant, scope.workspace, name)
    connection.execute("insert into agents (id, tenant_id, workspace_id, name) values (%s, %s, %s, %s)", row)
    return agent


def open_generation(
    connection: psycopg.Connection[Any],
    *scopes: Scope,
    chunker: str = CHUNKER,
    embedder: str = "fake",
    dimension: int = DIMENSION,
) -> int:
    """A new generation, live in every given workspace."""
    arguments = (embedder, dimension, chunker, uuid4().hex)
    row = connection.execute("select open_generation(%s, '', %s, %s, %s, true)", arguments).fetchone()
    assert row is not None
    for scope in scopes:
        connection.execute("update workspaces set generation_id = %s where id = %s", (row[0], scope.workspace))
    return int(row[0])


@dataclass(slots=True)
class _Rows:
    """What is copied, table by table."""

    documents: list[tuple[Any, ...]] = field(default_factory=list)
    document_versions: list[tuple[Any, ...]] = field(default_factory=list)
    pages: list[tuple[Any, ...]] = field(default_factory=list)
    document_chunks: list[tuple[Any, ...]] = field(default_factory=list)
    embeddings: list[tuple[Any, ...]] = field(default_factory=list)
    document_agent_links: list[tuple[Any, ...]] = field(default_factory=list)


_COLUMNS = {
    "documents": (
        "id text, tenant_id uuid, workspace_id uuid, origin text, filename text, file_type text, source_type text,"
        " status text, readers text[], current_version text, chunk_count int4, has_embeddings bool,"
        " upload_date timestamptz"
    ),
    "document_versions": (
        "id text, document_id text, tenant_id uuid, workspace_id uuid, file_hash text, file_size int8, kind text,"
        " location text, page_count int4"
    ),
    "pages": (
        "version_id text, number int4, id text, document_id text, tenant_id uuid, workspace_id uuid, text text,"
        " engine text, confidence float4, words jsonb, ms int4, fingerprint text"
    ),
    "document_chunks": (
        "id text, document_id text, version_id text, tenant_id uuid, workspace_id uuid, readers text[], chunker text,"
        " chunk_index int4, text text, search_text text, page_start int4, page_end int4, spans jsonb, headings text[],"
        " engine text, confidence float4, language text"
    ),
    "embeddings": (
        "generation_id int4, chunk_id text, document_id text, tenant_id uuid, workspace_id uuid, readers text[],"
        " embedding vector"
    ),
    "document_agent_links": "agent_id uuid, document_id text, tenant_id uuid, workspace_id uuid",
}


def load(
    connection: psycopg.Connection[Any],
    scope: Scope,
    generation: int,
    books: Iterable[Book],
    *,
    chunker: str = CHUNKER,
    known: bool = False,
) -> list[str]:
    """Copy books in; `known` says that the documents stand there already and only get a version.

    Returns:
        The ids of the documents.
    """
    register_vector(connection)
    rows = _Rows()
    told = connection.execute("select language from workspaces where id = %s", (scope.workspace,)).fetchone()
    language = told[0] if told and told[0] != "auto" else "english"
    ids = [_add(rows, scope, generation, book, chunker, language) for book in books]
    if known:
        rows.documents.clear()
    for table, columns in _COLUMNS.items():
        names, types = zip(*(column.split() for column in columns.split(", ")), strict=True)
        with (
            connection.cursor() as cursor,
            cursor.copy(f"copy {table} ({', '.join(names)}) from stdin (format binary)") as copy,
        ):
            copy.set_types(types)
            for row in getattr(rows, table):
                copy.write_row(row)
    stemmers = list(dict.fromkeys(row[-1] for row in rows.document_chunks))
    connection.execute(
        "update workspaces set stemmers = stemmers || array(select one from unnest(%(new)s::text[]) one"
        " where one <> all(stemmers)) where id = %(workspace)s",
        {"new": stemmers, "workspace": scope.workspace},
    )
    return ids


def _add(rows: _Rows, scope: Scope, generation: int, book: Book, chunker: str, language: str) -> str:
    where = (UUID(scope.tenant), UUID(scope.workspace))
    document = document_id(scope.workspace, f"upload:{book.filename}")
    version = version_id(document, book.version)
    readers = list(book.readers)
    embedded = any(passage.vector is not None for passage in book.passages)
    rows.documents.append(
        (
            document,
            *where,
            f"upload:{book.filename}",
            book.filename,
            book.file_type,
            "upload",
            "completed",
            readers,
            version if book.current else None,
            len(book.passages),
            embedded,
            book.uploaded,
        )
    )
    sheets = book.sheets or [Sheet("\n\n".join(passage.text for passage in book.passages))]
    rows.document_versions.append(
        (version, document, *where, book.version, 1, book.file_type, "blob:none", len(sheets))
    )
    for number, sheet in enumerate(sheets, 1):
        rows.pages.append(
            (
                *(version, number, page_id(version, number), document, *where),
                *(sheet.text, sheet.engine, sheet.confidence, Jsonb(words_to_json(sheet.words)), 1, "test"),
            )
        )
    for ordinal, passage in enumerate(book.passages):
        chunk = chunk_id(version, chunker, ordinal, passage.text)
        spans = passage.spans or _located(sheets[passage.page - 1].text, passage)
        search_text = passage.search_text or "\n".join([*passage.headings, passage.text])
        rows.document_chunks.append(
            (
                *(chunk, document, version, *where, readers, chunker, ordinal, passage.text, search_text),
                *(spans[0][0], spans[-1][0], Jsonb(spans), list(passage.headings)),
                *_read(sheets[spans[0][0] - 1 : spans[-1][0]]),
                passage.language or language,
            )
        )
        if passage.vector is not None:
            rows.embeddings.append((generation, chunk, document, *where, readers, passage.vector))
    rows.document_agent_links.extend((UUID(agent), document, *where) for agent in book.agents)
    return document


def _read(sheets: Sequence[Sheet]) -> tuple[str, float | None]:
    """The engines of some pages, and how sure OCR was."""
    sure = [sheet.confidence for sheet in sheets if sheet.engine != "native" and sheet.confidence is not None]
    return "+".join(sorted({sheet.engine for sheet in sheets})), sum(sure) / len(sure) if sure else None


def _located(text: str, passage: Passage) -> tuple[tuple[int, int, int], ...]:
    start = max(text.find(passage.text), 0)
    return ((passage.page, start, start + len(passage.text)),)


def hash_vector(text: str) -> Vectors:
    """What `FakeEmbedder` makes of a text: those that share words are near each other."""
    encoder = FakeEncoder(window=1_000_000)
    return encoder.encode([encoder.windows([text])[0][0]])[0]
