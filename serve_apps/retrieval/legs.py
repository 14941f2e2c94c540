"""The two ways into the index, each one query in a transaction of its own: by words and by meaning."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cluster.basics.scope import Scope
from cluster.state.postgres import Database, Row, load_queries
from configs.sections import SearchSettings
from serve_apps.retrieval.fuse import Found
from serve_apps.retrieval.query import KeywordEngine, Query, VectorEngine

SQL = load_queries(Path(__file__).with_name("search.sql"))
MOST_EFFORT = 1000  # hnsw.ef_search admits no more
REMEMBERED = 1000  # scopes
PLANNER = {"plan_cache_mode": "force_custom_plan", "hnsw.iterative_scan": "relaxed_order"}
# Sorting is made dear, not impossible: only the index may order, for only it knows the score without computing it.
INDEXED = {"enable_sort": "off"}
ONE_PLAN = {"plan_cache_mode": "force_generic_plan"}  # there is one way along the graph, whatever is asked
# pg_textsearch 1.0 computes the score of every row of a prepared statement a second time, at five times the cost.
NEVER_PREPARED = frozenset({"keyword_indexed"})

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Index:
    """The live generation of a workspace, as one query uses it throughout.

    Attributes:
        small: what may be searched has at most `exact_scope` chunks.
        graph: the generation has an HNSW index.
        bm25: the server has a BM25 index.
    """

    generation: int
    embedder: str
    dimension: int
    chunker: str
    graph: bool
    bm25: bool
    small: bool

    @property
    def keyword_engine(self) -> KeywordEngine:
        """A small scope is scored exactly on any server."""
        return "bm25" if self.bm25 or self.small else "full_text"

    @property
    def vector_engine(self) -> VectorEngine:
        """The graph, unless measuring every vector is as quick and complete."""
        return "hnsw" if self.graph and not self.small else "exact"


class Legs:
    """Finds chunks. Row-level security binds every query; none holds a connection while a model is called."""

    def __init__(self, database: Database, settings: SearchSettings) -> None:
        """`settings` has the depth of each leg and the size up to which scopes are scanned exactly."""
        self._database, self._settings = database, settings
        self._last: dict[Hashable, Index] = {}

    def last(self, scope: Scope, query: Query) -> Index | None:
        """What `resolve` answered to the same scope and filters before; by now it may answer something else."""
        return self._last.get(self._key(scope, query))

    async def resolve(self, scope: Scope, query: Query) -> Index | None:
        """The generation to search; None where the workspace has not been indexed yet."""
        key, room = self._key(scope, query), self._room(query)
        rows = await self._database.read(scope, SQL["resolve"], **_scoped(scope, query), exact_scope=room)
        self._last.pop(key, None)
        if not rows:
            return None
        row = rows[0]
        index = Index(
            row["id"], row["embedder"], row["dimension"], row["chunker"], row["graph"], row["bm25"], row["small"]
        )
        if query.filters.document_ids is None:  # such lists are long, and seldom the same again
            self._last[key] = index
            while len(self._last) > REMEMBERED:
                del self._last[next(iter(self._last))]
        return index

    async def keyword(self, scope: Scope, query: Query, index: Index) -> list[Found]:
        """Chunks that share words with the question, by BM25 (or Postgres' own ranking), best first."""
        values = _scoped(scope, query) | {
            "text": query.words,
            "chunker": index.chunker,
            "depth": self._depth(query),
            "k1": self._settings.k1,
            "b": self._settings.b,
        }
        if index.small:
            return await self._run(scope, "keyword_exact", values)
        if not index.bm25:
            found = await self._run(scope, "keyword_full_text", values)
        else:
            found = await self._run(scope, "keyword_indexed", values, INDEXED)
        return [one for one in found if one.score > 0]

    async def vector(self, scope: Scope, query: Query, index: Index, vector: Vector) -> list[Found]:
        """Chunks whose vectors are nearest to the question's, by cosine similarity, best first."""
        values = _scoped(scope, query) | {
            "vector": as_literal(vector),
            "generation": index.generation,
            "chunker": index.chunker,
            "depth": self._depth(query),
        }
        if index.vector_engine == "hnsw":
            found = await self._run(scope, "vector_indexed", values, INDEXED | ONE_PLAN, index)
            if len(found) >= values["depth"]:
                return found
            # The filter left the graph's walk with too little: a complete answer costs a scan.
        return await self._run(scope, "vector_exact", values)

    async def similarities(self, scope: Scope, index: Index, vector: Vector, ids: Sequence[str]) -> dict[str, float]:
        """Cosine similarity of given chunks; those without a vector are missing."""
        rows = await self._database.read(
            scope,
            SQL["similarities"],
            tenant=scope.tenant,
            workspace=scope.workspace,
            generation=index.generation,
            vector=as_literal(vector),
            ids=list(ids),
        )
        return {row["id"]: row["score"] for row in rows}

    async def texts(self, scope: Scope, ids: Sequence[str]) -> dict[str, str]:
        """What a reranker reads: titles and text, by chunk id."""
        return {row["id"]: row["search_text"] for row in await self._of_chunks(scope, "texts", ids)}

    async def passages(self, scope: Scope, ids: Sequence[str]) -> dict[str, Row]:
        """Chunks as they are shown, by id; one that was deleted meanwhile is missing."""
        return {row["id"]: row for row in await self._of_chunks(scope, "passages", ids)}

    def _key(self, scope: Scope, query: Query) -> Hashable:
        whose = (scope.tenant, scope.workspace, scope.principals)
        return whose, query.agent_id, query.filters, self._room(query)

    def _room(self, query: Query) -> int:
        return max(self._settings.exact_scope, self._depth(query))

    def _depth(self, query: Query) -> int:
        return max(self._settings.fetch, query.limit)

    async def _of_chunks(self, scope: Scope, name: str, ids: Sequence[str]) -> list[Row]:
        if not ids:
            return []
        return await self._database.read(
            scope, SQL[name], tenant=scope.tenant, workspace=scope.workspace, ids=list(ids)
        )

    async def _run(
        self,
        scope: Scope,
        name: str,
        values: dict[str, Any],
        planner: Mapping[str, str] = MappingProxyType({}),
        index: Index | None = None,
    ) -> list[Found]:
        effort = {"hnsw.ef_search": str(min(max(self._settings.ef_search, values["depth"]), MOST_EFFORT))}
        query = SQL[name] if index is None else _of_generation(SQL[name], index)
        prepare = False if name in NEVER_PREPARED else None
        rows = await self._database.read(scope, query, {**PLANNER, **effort, **planner}, prepare, **values)
        found = [Found(row["id"], row["document_id"], row["score"]) for row in rows]
        return sorted(found, key=lambda one: (-one.score, one.chunk_id))


def _of_generation(query: str, index: Index) -> str:
    """The query of this generation alone: a plan that is kept has to know the partition and the type of its graph."""
    named = query.replace("{halfvec}", f"halfvec({index.dimension:d})")
    return named.replace("%(generation)s", f"{index.generation:d}")


def as_literal(vector: Vector) -> str:
    """A vector as pgvector reads it; shape (dimension,)."""
    return "[" + ",".join(map(repr, vector.tolist())) + "]"


def _scoped(scope: Scope, query: Query) -> dict[str, Any]:
    filters = query.filters
    return {
        "tenant": scope.tenant,
        "workspace": scope.workspace,
        "type": filters.doc_type,
        "file": filters.source_file,
        "from": filters.upload_date_from,
        "to": filters.upload_date_to,
        "documents": None if filters.document_ids is None else list(filters.document_ids),
        "agent": query.agent_id,
    }
