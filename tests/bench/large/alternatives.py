"""Other indexes over the same vectors, beside the product's: build time, size, recall and time of each.

All are made over a copy of the vectors with the product's policy of rows, and asked as the application role.
"""

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from pgvector import Vector

from cluster.basics.scope import Scope
from cluster.state.db.postgres import of_scope
from configs.sections_retrieval import SearchSettings
from serve_apps.retrieval.search.statements import LONGEST_WALK
from tests.bench.large.searching import percentiles
from tests.bench.large.synthetic import DIMENSION, Vectors
from tests.bench.large.truth import Nearest, recall

TABLE = "bench_vectors"
PARTS = 4  # hash partitions
DEPTH = SearchSettings().fetch
EFFORTS = (40, 120, 400)  # hnsw.ef_search
CANDIDATES = (100, 200, 400, 800)  # that are found by their bits and ordered by their vectors
POLICY = (
    "tenant_id = (select aos_tenant()) and workspace_id = (select aos_workspace()) and (readers = '{}'"
    " or readers && (select aos_principals()) or (select aos_principals()) @> array['*'])"
)
COLUMNS = "chunk_id text, document_id text, tenant_id uuid, workspace_id uuid, readers text[], labels smallint[]"
FILL = (
    f"insert into {TABLE} select chunk_id, document_id, tenant_id, workspace_id, readers,"
    " array(select n::smallint from unnest(array[10, 100, 1000]) n where ('group:one-in-' || n) = any(readers)),"
    " embedding from embeddings_{generation}"
)
HALFVEC = f"halfvec({DIMENSION})"
BITS = f"binary_quantize({{0}})::bit({DIMENSION})"


@dataclass(frozen=True, slots=True)
class IndexKind:
    """An index that could stand in the product's place.

    Attributes:
        indexed: what is indexed, and ordered by; `{0}` is a vector.
        using: access method and operator class.
        operator: of distance.
        options: the rest of the definition.
        parts: hash partitions of the table, each with an index of its own; 1 for none.
        ranked_again: the index orders roughly, and its candidates are ordered by their vectors.
        stored: the type of the vectors in the rows.
    """

    name: str
    indexed: str
    using: str
    operator: str = "<=>"
    options: str = ""
    parts: int = 1
    ranked_again: bool = False
    stored: str = f"vector({DIMENSION})"


PRODUCT = IndexKind("hnsw halfvec (as the product)", f"{{0}}::{HALFVEC}", "hnsw halfvec_cosine_ops")
KINDS = (
    PRODUCT,
    IndexKind("hnsw vector", "{0}", "hnsw vector_cosine_ops"),
    IndexKind(f"hnsw halfvec, {PARTS} hash partitions", PRODUCT.indexed, PRODUCT.using, parts=PARTS),
    IndexKind("hnsw bits", BITS, "hnsw bit_hamming_ops", "<~>", ranked_again=True),
    IndexKind("hnsw bits of halfvec rows", BITS, "hnsw bit_hamming_ops", "<~>", ranked_again=True, stored=HALFVEC),
    IndexKind("diskann (vectorscale)", "{0}", "diskann vector_cosine_ops"),
    IndexKind("diskann with labels", "{0}", "diskann vector_cosine_ops", options="labels"),
)
DISKANN = (
    {"diskann.query_search_list_size": "100"},
    {"diskann.query_search_list_size": "300", "diskann.query_rescore": "200"},
)


@dataclass(frozen=True, slots=True)
class AskedCorpus:
    """Vectors with their true neighbours.

    Attributes:
        fill: a statement that copies them into the table.
        scopes: who asks, by filter.
        numbers: what the true neighbours are named by, of chunks by their ids.
    """

    fill: str
    scopes: Mapping[str, Scope]
    questions: Vectors
    truths: Mapping[str, Nearest]
    numbers: Callable[[Sequence[Sequence[str]]], list[list[int]]]


@dataclass(frozen=True, slots=True)
class AlternativeFigures:
    """What one index came to: `plan` is the node that reads the table, times are (p50, p95) in ms.

    `rows` are the megabytes of the rows, vectors included.
    """

    name: str
    build: float
    megabytes: float
    rows: float
    asked: Mapping[str, tuple[float, tuple[float, float], int]]  # recall, times, fewest rows; by how it was asked
    plan: str


def choose_kinds(named: Sequence[str]) -> list[IndexKind]:
    """The kinds whose names begin so; all where nothing is named."""
    return [kind for kind in KINDS if not named or any(kind.name.startswith(one) for one in named)]


def measure_kind(admin_dsn: str, app_dsn: str, kind: IndexKind, corpus: AskedCorpus) -> AlternativeFigures:
    """Copy, build, ask in each scope, and drop."""
    with psycopg.connect(admin_dsn, autocommit=True) as admin, _table(admin, corpus.fill, kind):
        begun = time.monotonic()
        for name in _parts(kind.parts):
            _build(admin, name, kind)
        build = time.monotonic() - begun
        sizes = admin.execute(
            "select sum(pg_indexes_size(oid)), sum(pg_relation_size(oid)) from pg_class where relname = any(%s)",
            (_parts(kind.parts),),
        ).fetchone()
        admin.execute(f"vacuum analyze {TABLE}")
        asked, plan = _ask_all(app_dsn, kind, corpus)
        megabytes = [float(size) / 2**20 for size in sizes or (0, 0)]
        return AlternativeFigures(kind.name, build, *megabytes, asked, plan)


@contextmanager
def _table(admin: psycopg.Connection[Any], fill: str, kind: IndexKind) -> Iterator[None]:
    if kind.using.startswith("diskann"):
        admin.execute("create extension if not exists vectorscale cascade")
    admin.execute(f"drop table if exists {TABLE}")
    parted = " partition by hash (chunk_id)" if kind.parts > 1 else ""
    admin.execute(f"create table {TABLE} ({COLUMNS}, embedding {kind.stored}){parted}")
    for part in range(kind.parts if kind.parts > 1 else 0):
        bound = f"for values with (modulus {kind.parts}, remainder {part})"
        admin.execute(f"create table {TABLE}_{part} partition of {TABLE} {bound}")
    for name in {TABLE, *_parts(kind.parts)}:
        admin.execute(f"create policy belongs on {name} using ({POLICY})")
        admin.execute(f"alter table {name} enable row level security")
        admin.execute(f"alter table {name} force row level security")
        admin.execute(f"grant select on {name} to aos_app")
    admin.execute(fill)
    try:
        yield
    finally:
        admin.execute(f"drop table {TABLE}")


def _parts(count: int) -> list[str]:
    return [TABLE] if count == 1 else [f"{TABLE}_{part}" for part in range(count)]


def _build(admin: psycopg.Connection[Any], table: str, kind: IndexKind) -> None:
    method, operators = kind.using.split()
    more = f", {kind.options}" if kind.options else ""
    admin.execute("set maintenance_work_mem = '2GB'")
    admin.execute("set max_parallel_maintenance_workers = 0")
    print(f"building {kind.name}", file=sys.stderr, flush=True)
    indexed = kind.indexed.format("embedding")
    expression = indexed if indexed == "embedding" else f"({indexed})"
    admin.execute(f"create index on {table} using {method} ({expression} {operators}{more})")


def _ask_all(
    app_dsn: str, kind: IndexKind, corpus: AskedCorpus
) -> tuple[dict[str, tuple[float, tuple[float, float], int]], str]:
    asked, plan = {}, ""
    ways: list[tuple[str, dict[str, str], int]]
    if kind.using.startswith("diskann"):
        ways = [("/".join(given.values()), given, DEPTH) for given in DISKANN]
    elif kind.ranked_again:
        ways = [(f"{n} candidates", {"hnsw.ef_search": str(min(n + n // 8, 1000))}, n) for n in CANDIDATES]
    else:
        ways = [(str(n), {"hnsw.ef_search": str(n)}, DEPTH) for n in EFFORTS]
    for told, given, candidates in ways:
        for name, scope in corpus.scopes.items():
            query = _query_of(kind, candidates)
            *figures, plan = _ask(app_dsn, scope, given, query, corpus, corpus.truths[name])
            asked[f"{name}, {told}"] = tuple(figures)
    if kind.options == "labels":
        query = _query_of(kind, DEPTH, "where labels && array[100]::smallint[]")
        scope, truth = corpus.scopes["everything"], corpus.truths["readers 1 %"]
        *figures, plan = _ask(app_dsn, scope, DISKANN[0], query, corpus, truth)
        asked["label 1 %, 100"] = tuple(figures)
    return asked, plan


def _query_of(kind: IndexKind, candidates: int, where: str = "") -> str:
    asked = f"%(vector)s::{kind.stored}"
    by = f"{kind.indexed.format('embedding')} {kind.operator} {kind.indexed.format(asked)}"
    found = f"select chunk_id, embedding <=> {asked} as distance from {TABLE} {where} order by {by} limit {candidates}"
    return f"select * from ({found}) found order by distance limit {DEPTH}" if kind.ranked_again else found


def _ask(
    app_dsn: str, scope: Scope, given: Mapping[str, str], query: str, corpus: AskedCorpus, truth: Nearest
) -> tuple[float, tuple[float, float], int, str]:
    planner = {
        "enable_sort": "off",
        "enable_seqscan": "off",
        "hnsw.iterative_scan": "relaxed_order",
        "hnsw.max_scan_tuples": str(LONGEST_WALK),
    }
    rows: list[list[str]] = []
    times: list[float] = []
    with psycopg.connect(app_dsn, autocommit=True) as connection:
        for pair in {**of_scope(scope), **planner, **given}.items():
            connection.execute("select set_config(%s, %s, false)", pair)
        for vector in (corpus.questions[0], *corpus.questions):
            begun = time.perf_counter()
            found = connection.execute(query, {"vector": Vector(vector).to_text()}).fetchall()
            times.append((time.perf_counter() - begun) * 1000)
            rows.append([row[0] for row in sorted(found, key=lambda row: row[1])])
        told = {"vector": Vector(corpus.questions[0]).to_text()}
        explained = [row[0] for row in connection.execute(f"explain (costs off) {query}", told)]
    numbers = corpus.numbers([ranked[:10] for ranked in rows[1:]])
    return recall(numbers, truth), percentiles(times[1:]), min(map(len, rows[1:])), _scan_of(explained)


def _scan_of(plan: Sequence[str]) -> str:
    """The lines of a plan that say how the table is read."""
    return "; ".join(line.strip(" ->") for line in plan if "Scan" in line or "Cond" in line or "Filter" in line)[:300]
