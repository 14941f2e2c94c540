"""SQL of the retrievers: each query with its values, and its planner settings."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pgvector import Vector as Encoded
from psycopg.rows import args_row

from cluster.basics.scope import Scope
from cluster.models.embedding.migration import VectorSpace
from cluster.state.db.postgres import ReadQuery, load_queries
from configs.sections_retrieval import SearchSettings
from pipelines.documents.chunk.language import AUTO, DEFAULT, question_stemmers
from serve_apps.retrieval.search.fuse import RankedChunk
from serve_apps.retrieval.search.query import KeywordEngine, SearchFilters, SearchQuery, VectorEngine

SQL = load_queries(Path(__file__).with_name("search.sql"))
MOST_EFFORT = 1000  # hnsw.ef_search admits no more
# Vectors that a walk of the graph meets at most, and how few of them a filter may leave before all are measured.
# Fused with the nearest 40 instead of 100, nDCG@10 over documents of many chunks falls from .892 to .888
# (`make eval-ir`): half as long a walk ends so where half a per cent of ten million is left.
LONGEST_WALK, LEAST_FOUND = 20_000, 40
# A vector that a walk meets costs as much as so many that are measured one after the other.
WALK_COST = 2
# Documents of an agent, and of a reader among many (all tenants' together), are looked up where they are so few.
MANY_DOCUMENTS, MOST_LISTED = 10_000, 5_000
# A list that was short when it was counted is looked up wholly: documents that nobody can find yet may have come since.
ALL_LISTED = 1_000_000_000
MOST_WORDS = 10_000  # chunks whose words are ranked exactly, however many others there are
PLANNER = {"plan_cache_mode": "force_custom_plan", "hnsw.iterative_scan": "relaxed_order", "enable_sort": "on"}
# Sorting is made dear, not impossible: only the index may order, for only it knows the score without computing it.
INDEXED = {"enable_sort": "off"}
ONE_PLAN = {"plan_cache_mode": "force_generic_plan"}  # there is one way, whatever is asked
# pg_textsearch 1.0 computes the score of every row of a prepared statement a second time, at five times the cost.
NEVER_PREPARED = frozenset({"keyword_indexed", "keyword_all"})
# The index for BM25, as it is called, to its condition, which every chunk meets (`keyword_index_condition`).
KEYWORD_INDEXES = {
    "document_chunks_bm25": "true",
    "document_chunks_bm25_a": "octet_length(c.id) > 0",
    "document_chunks_bm25_b": "char_length(c.id) > 0",
}

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class IndexGeneration:
    """The live generation of a workspace, as one query uses it throughout."""

    generation: int
    made: VectorSpace  # what its vectors can be compared with
    chunker: str
    graph: bool  # the generation has an HNSW index
    keyword_index: str | None  # the server's BM25 index, where it has one that can be believed
    small: bool  # what may be searched has so few chunks that their words are ranked exactly: `exact_scope` and more
    whole: bool  # whoever asks may search the workspace, not only the documents that are linked to an agent
    language: str = "english"  # by which words are cut: a text search configuration, or `auto`
    stemmers: tuple[str, ...] = ()  # of the workspace's chunks, where its language is `auto`
    narrow: bool = False  # it has so few that measuring every vector is quicker than a walk of the graph
    few: bool = False  # it is in so few documents that they are looked up, and not sought
    worn: bool = False  # the server could have one; what it has is lost or damaged, and is made anew

    def question_languages(self, question: str) -> dict[str, str | None]:
        """`language`: by which configurations a question's words are cut; `own`: its own, where it surely is one."""
        if self.language != AUTO:
            return {"language": self.language, "own": None}
        own, stemmers = question_stemmers(question, self.stemmers or (DEFAULT,))
        return {"language": ",".join(stemmers), "own": own}

    @property
    def bm25(self) -> bool:
        """There is a BM25 index to ask."""
        return self.keyword_index is not None

    @property
    def keyword_engine(self) -> KeywordEngine:
        """A small scope is scored exactly on any server."""
        return "bm25" if self.bm25 or self.small else "full_text"

    @property
    def wordless(self) -> "IndexGeneration":
        """The same, its BM25 index left alone."""
        return replace(self, keyword_index=None, worn=True)

    @property
    def vector_engine(self) -> VectorEngine:
        """The graph, unless measuring every vector is as quick and complete."""
        return "hnsw" if self.graph and not (self.small or self.narrow) else "exact"


@dataclass(frozen=True, slots=True)
class RetrieverQueries:
    """The legs' queries, as the settings want them."""

    settings: SearchSettings

    def by_words(self, scope: Scope, query: SearchQuery, index: IndexGeneration) -> ReadQuery:
        """Chunks that share words with the question."""
        depth = self.depth(query)
        asked = {"text": query.words, "chunker": index.chunker, **index.question_languages(query.words)}
        ranked = {"depth": depth, "room": _with_room(depth), "k1": self.settings.k1, "b": self.settings.b}
        values = scope_params(scope, query) | asked | ranked | _list_params(query, index)
        if index.small:
            return self._build_read("keyword_exact", values)
        if not index.bm25:
            return self._build_read("keyword_full_text", values)
        name = "keyword_all" if _covers_scope(query, index) else "keyword_indexed"
        return self._build_read(name, values, INDEXED, index)

    def by_meaning(
        self, scope: Scope, query: SearchQuery, index: IndexGeneration, vector: Vector, *, exact: bool = False
    ) -> ReadQuery:
        """Chunks whose vectors are nearest to the question's: by the graph, or, where that is `exact`, all measured."""
        place = {"generation": index.generation, "chunker": index.chunker, "depth": self.depth(query)}
        values = scope_params(scope, query) | place | _list_params(query, index) | {"vector": Encoded(vector)}
        if exact:
            return self._build_read("vector_exact", values)
        name = "vector_all" if _covers_scope(query, index) else "vector_indexed"
        walk = {"hnsw.max_scan_tuples": str(LONGEST_WALK)}
        return self._build_read(name, values, INDEXED | ONE_PLAN | walk, index)

    def count(self, scope: Scope, query: SearchQuery, known: int | None) -> ReadQuery:
        """The live index, and how much may be searched unless the corpus is still the `known` one."""
        given = {
            "generation": query.generation,
            "known": known,
            "most": MOST_LISTED,
            "many": MANY_DOCUMENTS,
            "words": MOST_WORDS,
        }
        # With `exact_scope` 0 nothing is narrow, whatever a walk costs.
        walk = WALK_COST * self.depth(query) if self.settings.exact_scope else 0
        given |= {"exact_scope": self.exact_room(query), "walk": walk}
        # Documents come in the order of their index, and only as many as are counted: a sort would take all.
        return ReadQuery(SQL["resolve"], scope_params(scope, query) | given, INDEXED | ONE_PLAN)

    def exact_room(self, query: SearchQuery) -> int:
        """Chunks up to which words are ranked exactly."""
        return max(self.settings.exact_scope, self.depth(query))

    def depth(self, query: SearchQuery) -> int:
        """Most chunks that a retriever finds."""
        return max(self.settings.fetch, query.limit)

    def least(self, query: SearchQuery) -> int:
        """Chunks that a walk has to find under a filter; with fewer every vector is measured."""
        return min(self.depth(query), max(2 * query.limit, LEAST_FOUND))

    def _build_read(
        self,
        name: str,
        values: Mapping[str, Any],
        planner: Mapping[str, str] = MappingProxyType({}),
        index: IndexGeneration | None = None,
    ) -> ReadQuery:
        # With room for rows that the scope hides: a walk that ends short of its limit begins again from the start.
        enough = max(self.settings.ef_search, _with_room(values["depth"]))
        effort = {"hnsw.ef_search": str(min(enough, MOST_EFFORT))}
        query = SQL[name] if index is None else _of_generation(SQL[name], index)
        prepare = False if name in NEVER_PREPARED else None
        return ReadQuery(query, values, {**PLANNER, **effort, **planner}, prepare, args_row(RankedChunk))


def scope_params(scope: Scope, query: SearchQuery) -> dict[str, Any]:
    """Parameters for the scope and its filters, as every query takes them."""
    filters = query.filters
    return {
        **scope.keys,
        "filtered": filters != SearchFilters(),
        "type": filters.doc_type,
        "file": filters.source_file,
        "from": filters.upload_date_from,
        "to": filters.upload_date_to,
        "documents": None if filters.document_ids is None else list(filters.document_ids),
        "agent": query.agent_id,
    }


def _list_params(query: SearchQuery, index: IndexGeneration) -> dict[str, Any]:
    """Parameters for the list of a few documents: those that an agent is linked to, or that the reader sees."""
    return {"few": index.few, "most": ALL_LISTED, "linked": None if index.whole else query.agent_id}


def _with_room(depth: int) -> int:
    return depth + depth // 8


def _covers_scope(query: SearchQuery, index: IndexGeneration) -> bool:
    return index.whole and query.filters == SearchFilters()


def _of_generation(query: str, index: IndexGeneration) -> str:
    """The query of this generation alone: a plan that is kept has to know the partition and the type of its graph."""
    if index.keyword_index is not None:
        query = query.replace("{condition}", KEYWORD_INDEXES[index.keyword_index]).replace(
            "{index}", index.keyword_index
        )
    named = query.replace("{halfvec}", f"halfvec({index.made.dimension:d})")
    return named.replace("%(generation)s", f"{index.generation:d}")
