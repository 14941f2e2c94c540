"""Other indexes over the same vectors, beside the product's: build time, size, recall and time of each.

All are made over a copy of the vectors with the product's policy of rows, and asked as the application role.
"""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from pgvector import Vector

from cluster.basics.scope import Scope
from cluster.state.db.postgres import of_scope
from configs.sections_retrieval import SearchSettings
from tests.bench.large.searching import chunk_numbers, percentiles
from tests.bench.large.store import CorpusStore, Places
from tests.bench.large.synthetic import DIMENSION, Vectors
from tests.bench.large.truth import Nearest, recall

PARTS = 4  # hash partitions
DEPTH = SearchSettings().fetch
EFFORTS = (40, 120, 200, 400)  # hnsw.ef_search
POLICY = (
    "tenant_id = (select aos_tenant()) and workspace_id = (select aos_workspace()) and (readers = '{}'"
    " or readers && (select aos_principals()) or (select aos_principals()) @> array['*'])"
)
COLUMNS = "chunk_id text, document_id text, tenant_id uuid, workspace_id uuid, readers text[], labels smallint[]"
COPY = (
    "insert into {table} select chunk_id, document_id, tenant_id, workspace_id, readers,"
    " array(select n::smallint from unnest(array[10, 100, 1000]) n where ('group:one-in-' || n) = any(readers)),"
    " embedding from embeddings_{generation}"
)


@dataclass(frozen=True, slots=True)
class IndexKind:
    """An index that could stand in the product's place.

    Attributes:
        expression: what is indexed, and ordered by.
        using: access method and operator class.
        options: the rest of the definition.
        parts: hash partitions of the table, each with an index of its own; 1 for none.
        settings: of a session that asks.
    """

    name: str
    expression: str
    using: str
    options: str = ""
    parts: int = 1
    settings: Mapping[str, str] | None = None


KINDS = (
    IndexKind("hnsw halfvec (as the product)", f"(embedding::halfvec({DIMENSION}))", "hnsw halfvec_cosine_ops"),
    IndexKind("hnsw vector", "embedding", "hnsw vector_cosine_ops"),
    IndexKind(
        f"hnsw halfvec, {PARTS} hash partitions",
        f"(embedding::halfvec({DIMENSION}))",
        "hnsw halfvec_cosine_ops",
        parts=PARTS,
    ),
    IndexKind("diskann (vectorscale)", "embedding", "diskann vector_cosine_ops"),
    IndexKind("diskann with labels", "embedding", "diskann vector_cosine_ops", "labels"),
)
DISKANN = (
    {"diskann.query_search_list_size": "100"},
    {"diskann.query_search_list_size": "300", "diskann.query_rescore": "200"},
)


@dataclass(frozen=True, slots=True)
class AlternativeFigures:
    """What one index came to: `plan` is the node that reads the table, times are (p50, p95) in ms."""

    name: str
    build: float
    megabytes: float
    asked: Mapping[str, tuple[float, tuple[float, float], int]]  # recall, times, fewest rows; by how it was asked
    plan: str


def measure_kind(
    store: CorpusStore, places: Places, kind: IndexKind, vectors: Vectors, truths: Mapping[str, Nearest]
) -> AlternativeFigures:
    """Copy, build, ask for everything and for a hundredth by readers, and drop; `truths` by these filters' names."""
    with psycopg.connect(store.admin, autocommit=True) as admin, _table(admin, places.generation, kind) as table:
        begun = time.monotonic()
        for name in _parts(table, kind.parts):
            _build(admin, name, kind)
        build = time.monotonic() - begun
        size = admin.execute(
            "select sum(pg_relation_size(i.indexrelid)) from pg_index i join pg_class c on c.oid = i.indrelid"
            " where c.relname = any(%s) and not i.indisprimary",
            (_parts(table, kind.parts),),
        ).fetchone()
        admin.execute(f"analyze {table}")
        asked, plan = _ask_all(store, places, kind, vectors, truths)
        return AlternativeFigures(kind.name, build, float(size[0]) / 2**20 if size else 0.0, asked, plan)


@contextmanager
def _table(admin: psycopg.Connection[Any], generation: int, kind: IndexKind) -> Iterator[str]:
    table = "bench_vectors"
    if kind.using.startswith("diskann"):
        admin.execute("create extension if not exists vectorscale cascade")
    admin.execute(f"drop table if exists {table}")
    parted = " partition by hash (chunk_id)" if kind.parts > 1 else ""
    admin.execute(f"create table {table} ({COLUMNS}, embedding vector({DIMENSION})){parted}")
    for part in range(kind.parts if kind.parts > 1 else 0):
        bound = f"for values with (modulus {kind.parts}, remainder {part})"
        admin.execute(f"create table {table}_{part} partition of {table} {bound}")
    for name in {table, *_parts(table, kind.parts)}:
        admin.execute(f"create policy belongs on {name} using ({POLICY})")
        admin.execute(f"alter table {name} enable row level security")
        admin.execute(f"alter table {name} force row level security")
        admin.execute(f"grant select on {name} to aos_app")
    admin.execute(COPY.format(table=table, generation=generation))
    try:
        yield table
    finally:
        admin.execute(f"drop table {table}")


def _parts(table: str, count: int) -> list[str]:
    return [table] if count == 1 else [f"{table}_{part}" for part in range(count)]


def _build(admin: psycopg.Connection[Any], table: str, kind: IndexKind) -> None:
    method, operators = kind.using.split()
    more = f", {kind.options}" if kind.options else ""
    admin.execute("set maintenance_work_mem = '2GB'")
    admin.execute("set max_parallel_maintenance_workers = 0")
    print(f"building {kind.name}", file=sys.stderr, flush=True)
    admin.execute(f"create index on {table} using {method} ({kind.expression} {operators}{more})")


def _ask_all(
    store: CorpusStore, places: Places, kind: IndexKind, vectors: Vectors, truths: Mapping[str, Nearest]
) -> tuple[dict[str, tuple[float, tuple[float, float], int]], str]:
    asked, plan = {}, ""
    large = places.scopes[None]
    scopes = {
        "everything": Scope(large.tenant, large.workspace, ("*",)),
        "readers 1 %": Scope(large.tenant, large.workspace, ("group:one-in-100",)),
    }
    settings = list(DISKANN) if kind.using.startswith("diskann") else [{"hnsw.ef_search": str(n)} for n in EFFORTS]
    for given in settings:
        for name, scope in scopes.items():
            told = "/".join(given.values())
            *figures, plan = _ask(store, scope, kind, given, vectors, truths[name], "")
            asked[f"{name}, {told}"] = tuple(figures)
    if kind.options == "labels":
        where = "labels && array[100]::smallint[]"
        *figures, plan = _ask(store, scopes["everything"], kind, DISKANN[0], vectors, truths["readers 1 %"], where)
        asked["label 1 %, 100"] = tuple(figures)
    return asked, plan


def _ask(
    store: CorpusStore,
    scope: Scope,
    kind: IndexKind,
    given: Mapping[str, str],
    vectors: Vectors,
    truth: Nearest,
    where: str,
) -> tuple[float, tuple[float, float], int, str]:
    ordered, cast = "embedding", "vector"
    if "halfvec" in kind.expression:
        ordered = cast = f"halfvec({DIMENSION})"
        ordered = f"embedding::{ordered}"
    query = (
        f"select chunk_id, embedding <=> %(vector)s::vector as distance from bench_vectors"
        f" {'where ' + where if where else ''} order by {ordered} <=> %(vector)s::vector::{cast} limit {DEPTH}"
    )
    planner = {"enable_sort": "off", "enable_seqscan": "off", "hnsw.iterative_scan": "relaxed_order"}
    rows: list[list[str]] = []
    times: list[float] = []
    with psycopg.connect(store.endpoints.postgres, autocommit=True) as connection:
        for pair in {**of_scope(scope), **planner, **given}.items():
            connection.execute("select set_config(%s, %s, false)", pair)
        for vector in (vectors[0], *vectors):
            begun = time.perf_counter()
            found = connection.execute(query, {"vector": Vector(vector).to_text()}).fetchall()
            times.append((time.perf_counter() - begun) * 1000)
            rows.append([row[0] for row in sorted(found, key=lambda row: row[1])])
        told = {"vector": Vector(vectors[0]).to_text()}
        explained = [row[0] for row in connection.execute(f"explain (costs off) {query}", told)]
    numbers = chunk_numbers(store.admin, [ranked[:10] for ranked in rows[1:]])
    return recall(numbers, truth), percentiles(times[1:]), min(map(len, rows[1:])), _scan_of(explained)


def _scan_of(plan: Sequence[str]) -> str:
    """The lines of a plan that say how the table is read."""
    return "; ".join(line.strip(" ->") for line in plan if "Scan" in line or "Cond" in line or "Filter" in line)[:300]
