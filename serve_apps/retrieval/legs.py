"""The two ways into the index, each one query in a transaction of its own: by words and by meaning."""

import asyncio
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pgvector import Vector as Encoded
from psycopg.errors import UndefinedObject, UndefinedTable
from psycopg.rows import args_row

from cluster.basics.scope import Scope
from cluster.models.succession import Make, make_of
from cluster.state.postgres import Database, Read, Row, load_queries
from configs.sections_retrieval import SearchSettings
from serve_apps.retrieval import literal
from serve_apps.retrieval.fuse import Found
from serve_apps.retrieval.literal import Literals
from serve_apps.retrieval.query import Filters, KeywordEngine, Query, VectorEngine

SQL = load_queries(Path(__file__).with_name("search.sql"))
MOST_EFFORT = 1000  # hnsw.ef_search admits no more
REMEMBERED = 1000  # scopes
PLANNER = {"plan_cache_mode": "force_custom_plan", "hnsw.iterative_scan": "relaxed_order"}
# Sorting is made dear, not impossible: only the index may order, for only it knows the score without computing it.
INDEXED = {"enable_sort": "off"}
ONE_PLAN = {"plan_cache_mode": "force_generic_plan"}  # there is one way, whatever is asked
# pg_textsearch 1.0 computes the score of every row of a prepared statement a second time, at five times the cost.
NEVER_PREPARED = frozenset({"keyword_indexed", "keyword_all"})
CHUNK, SCORE = attrgetter("chunk_id"), attrgetter("score")

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Index:
    """The live generation of a workspace, as one query uses it throughout.

    Attributes:
        made: what its vectors can be compared with.
        small: what may be searched has at most `exact_scope` chunks.
        whole: whoever asks may search the workspace, not only the documents that are linked to an agent.
        graph: the generation has an HNSW index.
        bm25: the server has a BM25 index.
        language: how its words' endings are cut; the name of one of Postgres' text search configurations.
    """

    generation: int
    made: Make
    chunker: str
    graph: bool
    bm25: bool
    small: bool
    whole: bool
    language: str = "english"

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
        self._last: dict[Hashable, tuple[int, Index]] = {}

    def last(self, scope: Scope, query: Query) -> Index | None:
        """What `resolve` answered to the same scope and filters before; by now it may answer something else."""
        _, index = self._last.get(self._key(scope, query), (None, None))
        return index

    async def resolve(self, scope: Scope, query: Query) -> Index | None:
        """The generation to search; None where the workspace has not been indexed yet.

        How much may be searched is counted once for each state of the corpus: documents that come, go, or change
        their readers make another.
        """
        before, resolve = self._resolving(scope, query)
        (rows,) = await self._database.read_all(scope, resolve)
        return self._resolved(scope, query, before, rows)

    async def set_out(self, scope: Scope, query: Query, expected: Index) -> tuple[Index | None, list[Found]]:
        """As `resolve`, with what `keyword` finds through the index that is expected, in one journey.

        Where another index is answered, what was found is of no use.
        """
        (before, resolve), worded = self._resolving(scope, query), self._worded(scope, query, expected)
        asked = literal.find(query.words)
        try:
            (seen, rows), held = await self._beside(scope, asked, worded.values, resolve, worded)
        except (UndefinedObject, UndefinedTable):  # the way through the expected index may be gone by now
            live = await self.resolve(scope, query)
            if live == expected:
                raise
            return live, []
        return self._resolved(scope, query, before, seen), await self._lifted(scope, asked, worded.values, rows, held)

    def _resolving(self, scope: Scope, query: Query) -> tuple[Index | None, Read]:
        """What was answered before, and the query."""
        known, before = self._last.get(self._key(scope, query), (None, None))
        given = {"generation": query.generation, "exact_scope": self._room(query), "known": known}
        return before, Read(SQL["resolve"], _scoped(scope, query) | given, ONE_PLAN)

    def _resolved(self, scope: Scope, query: Query, before: Index | None, rows: Sequence[Row]) -> Index | None:
        key = self._key(scope, query)
        self._last.pop(key, None)
        if not rows:
            return None
        row = rows[0]
        if row["small"] is None and before is not None:
            row["small"] = before.small
        parts = ("chunker", "graph", "bm25", "small", "whole", "language")
        index = Index(row["id"], make_of(row), *(row[part] for part in parts))
        if query.filters.document_ids is None:  # such lists are long, and seldom the same again
            self._last[key] = row["corpus"], index
            while len(self._last) > REMEMBERED:
                del self._last[next(iter(self._last))]
        return index

    async def keyword(self, scope: Scope, query: Query, index: Index) -> list[Found]:
        """Chunks that share words with the question, by BM25 (or Postgres' own ranking), best first.

        Before them stand those that hold an identifier or a quoted phrase of the question as it is written.
        """
        worded, asked = self._worded(scope, query, index), literal.find(query.words)
        (rows,), held = await self._beside(scope, asked, worded.values, worded)
        return await self._lifted(scope, asked, worded.values, rows, held)

    def _worded(self, scope: Scope, query: Query, index: Index) -> Read:
        values = _scoped(scope, query) | {
            "text": query.words,
            "language": index.language,
            "chunker": index.chunker,
            "depth": self._depth(query),
            "room": _with_room(self._depth(query)),
            "k1": self._settings.k1,
            "b": self._settings.b,
        }
        if index.small:
            return self._read("keyword_exact", values)
        if not index.bm25:
            return self._read("keyword_full_text", values)
        return self._read("keyword_all" if _everything(query, index) else "keyword_indexed", values, INDEXED)

    async def _beside(
        self, scope: Scope, asked: Literals, values: Mapping[str, Any], *reads: Read
    ) -> tuple[list[list[Any]], list[Row]]:
        """What each query finds and, at the same time, where it stands literally, for that takes as long again."""
        if not asked:
            return await self._database.read_all(scope, *reads), []
        literally = self._database.read(scope, SQL["literal"], **_holding(asked, values))
        return await asyncio.gather(self._database.read_all(scope, *reads), literally)

    async def _lifted(
        self, scope: Scope, asked: Literals, values: Mapping[str, Any], found: Sequence[Found], rows: list[Row]
    ) -> list[Found]:
        """What was found by words, that which holds the question's literals in front; no score, no shared word.

        An identifier that stands in more than `depth` chunks tells little, and BM25 has weighed it. Of a phrase that
        does, those are taken which share most words with the whole question.
        """
        ranked = [one for one in _ordered(found) if one.score > 0]
        if not asked:
            return ranked
        counts = Counter(row["wanted"] for row in rows)
        common = [wanted for wanted, count in counts.items() if count > values["depth"]]
        rows = [row for row in rows if row["wanted"] not in common]
        if phrases := tuple(wanted for wanted in common if wanted in asked.phrases):
            given = _holding(Literals(phrases=phrases), values, [one.chunk_id for one in ranked])
            rows += await self._database.read(scope, SQL["literal"], **given)
        held: dict[str, tuple[str, frozenset[str]]] = {}
        for row in rows:
            before = held.get(row["id"], ("", frozenset()))[1]
            held[row["id"]] = row["document_id"], before | {row["wanted"]}
        return literal.in_front(ranked, held, asked)

    async def vector(self, scope: Scope, query: Query, index: Index, vector: Vector) -> list[Found]:
        """Chunks whose vectors are nearest to the question's, by cosine similarity, best first."""
        values = _scoped(scope, query) | {
            "vector": Encoded(vector),
            "generation": index.generation,
            "chunker": index.chunker,
            "depth": self._depth(query),
        }
        if index.vector_engine == "hnsw":
            name = "vector_all" if _everything(query, index) else "vector_indexed"
            (rows,) = await self._database.read_all(scope, self._read(name, values, INDEXED | ONE_PLAN, index))
            if len(rows) >= self._depth(query):
                return _ordered(rows)
            # The filter left the graph's walk with too little: a complete answer costs a scan.
        (rows,) = await self._database.read_all(scope, self._read("vector_exact", values))
        return _ordered(rows)

    async def similarities(self, scope: Scope, index: Index, vector: Vector, ids: Sequence[str]) -> dict[str, float]:
        """Cosine similarity of given chunks; those without a vector are missing."""
        rows = await self._database.read(
            scope,
            SQL["similarities"],
            tenant=scope.tenant,
            workspace=scope.workspace,
            generation=index.generation,
            vector=Encoded(vector),
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
        return whose, query.agent_id, query.filters, query.generation, self._room(query)

    def _room(self, query: Query) -> int:
        return max(self._settings.exact_scope, self._depth(query))

    def _depth(self, query: Query) -> int:
        return max(self._settings.fetch, query.limit)

    async def _of_chunks(self, scope: Scope, name: str, ids: Sequence[str]) -> list[Row]:
        if not ids:
            return []
        return await self._database.read(
            scope, SQL[name], ONE_PLAN, tenant=scope.tenant, workspace=scope.workspace, ids=list(ids)
        )

    def _read(
        self,
        name: str,
        values: Mapping[str, Any],
        planner: Mapping[str, str] = MappingProxyType({}),
        index: Index | None = None,
    ) -> Read:
        # With room for rows that the scope hides: a walk that ends short of its limit begins again from the start.
        enough = max(self._settings.ef_search, _with_room(values["depth"]))
        effort = {"hnsw.ef_search": str(min(enough, MOST_EFFORT))}
        query = SQL[name] if index is None else _of_generation(SQL[name], index)
        prepare = False if name in NEVER_PREPARED else None
        return Read(query, values, {**PLANNER, **effort, **planner}, prepare, args_row(Found))


def _ordered(found: Sequence[Found]) -> list[Found]:
    """Best first, equals by chunk id."""
    return sorted(sorted(found, key=CHUNK), key=SCORE, reverse=True)


def _holding(asked: Literals, values: Mapping[str, Any], among: list[str] | None = None) -> dict[str, Any]:
    """What the query of literals is given: at most one chunk of each more than the leg's depth."""
    wanted = {"codes": list(asked.codes), "phrases": list(asked.phrases)}
    return {**values, **wanted, "most": values["depth"] + 1, "among": among}


def _with_room(depth: int) -> int:
    return depth + depth // 8


def _everything(query: Query, index: Index) -> bool:
    """Whether no document of the scope is left out."""
    return index.whole and query.filters == Filters()


def _of_generation(query: str, index: Index) -> str:
    """The query of this generation alone: a plan that is kept has to know the partition and the type of its graph."""
    named = query.replace("{halfvec}", f"halfvec({index.made.dimension:d})")
    return named.replace("%(generation)s", f"{index.generation:d}")


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
