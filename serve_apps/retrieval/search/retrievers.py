"""The two ways into the index, each one query in a transaction of its own: by words and by meaning."""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from itertools import takewhile
from operator import attrgetter
from typing import Any

import psycopg
from pgvector import Vector as Encoded
from psycopg.errors import UndefinedObject, UndefinedTable

from cluster.basics.scope import Scope
from cluster.models.embedding.migration import vector_space_of
from cluster.state.db.postgres import DAMAGED, Database, ReadQuery, Row
from configs.sections_retrieval import SearchSettings
from pipelines.documents.index import maintenance
from serve_apps.retrieval.search.fuse import RankedChunk, is_long
from serve_apps.retrieval.search.query import SearchQuery
from serve_apps.retrieval.search.statements import ONE_PLAN, SQL, IndexGeneration, RetrieverQueries, Vector
from serve_apps.retrieval.text import literals
from serve_apps.retrieval.text.literals import QuestionLiterals

log = logging.getLogger(__name__)

REMEMBERED = 1000  # scopes
BM25 = "document_chunks_bm25"
GONE = (UndefinedObject, UndefinedTable)
ClassRules = Callable[[Scope], Awaitable[str]]
CHUNK, SCORE = attrgetter("chunk_id"), attrgetter("score")


class ChunkRetriever:
    """Finds chunks. Row-level security binds every query; none holds a connection while a model is called."""

    def __init__(self, database: Database, settings: SearchSettings, class_rules: ClassRules | None = None) -> None:
        """`settings` has the depth of each leg and the size up to which scopes are scanned exactly; `class_rules` tells
        by which rules documents are of a class now, so that what was looked at under others is shown as of any.
        """
        self._database, self._reads, self._class_rules = database, RetrieverQueries(settings), class_rules
        self._last: dict[Hashable, tuple[int, IndexGeneration]] = {}

    def last(self, scope: Scope, query: SearchQuery) -> IndexGeneration | None:
        """Last answer of `resolve` to the same scope and filters; by now it may answer something else."""
        _, index = self._last.get(self._scope_key(scope, query), (None, None))
        return index

    async def resolve(self, scope: Scope, query: SearchQuery) -> IndexGeneration | None:
        """The generation to search; None where the workspace has not been indexed yet.

        How much may be searched is counted once for each state of the corpus: documents that come, go, or change
        their readers make another.
        """
        before, resolve = self._resolve_read(scope, query)
        (rows,) = await self._database.read_all(scope, resolve)
        return self._remember_index(scope, query, before, rows)

    async def set_out(
        self, scope: Scope, query: SearchQuery, expected: IndexGeneration
    ) -> tuple[IndexGeneration | None, list[RankedChunk] | None]:
        """As `resolve`, with what `keyword` finds through the index that is expected, in one journey.

        Nothing (None) was found where another index is live. Where BM25 alone fails, words are found without it, and
        the index that is answered is without it, too.
        """
        (before, resolve), worded = self._resolve_read(scope, query), self._reads.by_words(scope, query, expected)
        asked = find_asked_literals(query)
        try:
            (seen, rows), held = await self._read_with_literals(scope, asked, worded.values, resolve, worded)
        except DAMAGED as error:
            found = await self._without_bm25(scope, query, expected, error)
            live = await self.resolve(scope, query)
            return live, found if live == expected.wordless else None
        except GONE:  # the way through the expected index may be gone by now
            live = await self.resolve(scope, query)
            if live == expected:
                raise
            return live, None
        live = self._remember_index(scope, query, before, seen)
        if live != expected:
            return live, None
        if await self._is_silent(expected, rows):
            return await self.resolve(scope, query), None
        return live, await self._lift_literals(scope, query, asked, worded.values, rows, held)

    def _resolve_read(self, scope: Scope, query: SearchQuery) -> tuple[IndexGeneration | None, ReadQuery]:
        """Index that was answered before, and the query that resolves it anew."""
        known, before = self._last.get(self._scope_key(scope, query), (None, None))
        return before, self._reads.count(scope, query, known)

    def _remember_index(
        self, scope: Scope, query: SearchQuery, before: IndexGeneration | None, rows: Sequence[Row]
    ) -> IndexGeneration | None:
        key = self._scope_key(scope, query)
        self._last.pop(key, None)
        if not rows:
            return None
        row = rows[0]
        if row["small"] is None and before is not None:
            # An agent that may search the whole workspace now, or no longer, has another list.
            few = before.few and before.whole == row["whole"]
            row |= {"small": before.small, "narrow": before.narrow, "few": few}
        row["stemmers"] = tuple(row["stemmers"])
        parts = ("chunker", "graph", "keyword_index", "small", "whole", "language", "stemmers", "narrow", "few", "worn")
        index = IndexGeneration(row["id"], vector_space_of(row), *(row[part] for part in parts))
        if query.filters.document_ids is None:  # such lists are long, and seldom the same again
            self._last[key] = row["corpus"], index
            while len(self._last) > REMEMBERED:
                del self._last[next(iter(self._last))]
        return index

    async def keyword(self, scope: Scope, query: SearchQuery, index: IndexGeneration) -> list[RankedChunk]:
        """Chunks that share words with the question, by BM25 (or Postgres' own ranking), best first.

        Before them stand those that hold an identifier of a short question as it is written, and behind them those that
        hold a quoted phrase and were not found by words; `quoted` tells of each how many it holds.
        """
        worded, asked = self._reads.by_words(scope, query, index), find_asked_literals(query)
        try:
            (rows,), held = await self._read_with_literals(scope, asked, worded.values, worded)
        except (*GONE, *DAMAGED) as error:
            live = await self.resolve(scope, query) if isinstance(error, GONE) else None
            if live is not None and live.bm25 and live.keyword_index != index.keyword_index:
                return await self.keyword(scope, query, live)  # it was made anew since the question set out
            return await self._without_bm25(scope, query, index, error)
        if await self._is_silent(index, rows):
            return await self.keyword(scope, query, index.wordless)
        return await self._lift_literals(scope, query, asked, worded.values, rows, held)

    async def _without_bm25(
        self, scope: Scope, query: SearchQuery, index: IndexGeneration, error: psycopg.Error
    ) -> list[RankedChunk]:
        """Chunks by full text, where the BM25 index failed; it is at fault if nothing fails then."""
        if not index.bm25 or index.small:
            raise error
        found = await self.keyword(scope, query, index.wordless)
        if isinstance(error, DAMAGED):
            await self._distrust_index(BM25, error)
        return found

    async def _is_silent(self, index: IndexGeneration, found: Sequence[RankedChunk]) -> bool:
        """True where the BM25 index has lost its words and finds nothing, without an error; nobody asks it then."""
        if found or not index.bm25 or index.small:
            return False
        fault: object = None
        try:
            async with self._database.transaction() as tx:
                row = await tx.one(maintenance.SQL["words_met"])
            if row and row["answer"] is not None and row["answer"] < maintenance.LEAST_WORDS:
                fault = f"it finds {row['answer']:.0%} of what it holds"
        except DAMAGED as error:
            fault = error
        except GONE:  # it was made anew just now
            return False
        if fault is not None:
            await self._distrust_index(BM25, fault)
        return fault is not None

    async def _distrust_index(self, name: str, why: object) -> None:
        log.error("%s is not asked any more, until a worker has made it anew: %s", name, why)
        async with self._database.transaction() as tx:
            await tx.run(maintenance.SQL["distrust"], name=name, why=str(why))

    async def _read_with_literals(
        self, scope: Scope, asked: QuestionLiterals, values: Mapping[str, Any], *reads: ReadQuery
    ) -> tuple[list[list[Any]], list[Row]]:
        """Rows of each query and, read in parallel, of the literal matches, which take as long."""
        if not asked:
            return await self._database.read_all(scope, *reads), []
        literally = self._database.read(scope, SQL["literal"], **_literal_params(asked, values))
        return await asyncio.gather(self._database.read_all(scope, *reads), literally)

    async def _lift_literals(
        self,
        scope: Scope,
        query: SearchQuery,
        asked: QuestionLiterals,
        values: Mapping[str, Any],
        found: Sequence[RankedChunk],
        rows: list[Row],
    ) -> list[RankedChunk]:
        """Lexical matches with the question's literals that each holds; no score, no shared word.

        An identifier that stands in more than `depth` chunks tells little, and BM25 has weighed it. Of a phrase that
        does, those are taken which share most words with the whole question, and of a required one others, too.
        """
        ranked = [one for one in _best_first(found) if one.score > 0]
        if not asked:
            return ranked
        counts = Counter(row["wanted"] for row in rows)
        common = [wanted for wanted, count in counts.items() if count > values["depth"]]
        rows = [row for row in rows if row["wanted"] not in common or row["wanted"] in asked.required]
        if phrases := tuple(wanted for wanted in common if wanted in asked.phrases):
            given = _literal_params(QuestionLiterals(phrases=phrases), values, [one.chunk_id for one in ranked])
            rows += await self._database.read(scope, SQL["literal"], **given)
        held: dict[str, tuple[str, frozenset[str]]] = {}
        for row in rows:
            before = held.get(row["id"], ("", frozenset()))[1]
            held[row["id"]] = row["document_id"], before | {row["wanted"]}
        short = not is_long(self._reads.settings, query.words)
        return literals.add_literal_matches(ranked, held, asked, in_front=short)

    async def vector(
        self, scope: Scope, query: SearchQuery, index: IndexGeneration, vector: Vector
    ) -> list[RankedChunk]:
        """Chunks whose vectors are nearest to the question's, by cosine similarity, best first."""
        failure: Exception | None = None
        if index.vector_engine == "hnsw":
            try:
                (rows,) = await self._database.read_all(scope, self._reads.by_meaning(scope, query, index, vector))
            except DAMAGED as error:
                rows, failure = [], error
            if len(rows) >= self._reads.least(query):
                return _best_first(rows)
            # It failed, or the filter left the graph's walk with too little: a complete answer costs a scan.
        (rows,) = await self._database.read_all(scope, self._reads.by_meaning(scope, query, index, vector, exact=True))
        if failure:  # of the graph, then, and not of the question
            await self._distrust_index(f"embeddings_{index.generation}_hnsw", failure)
        return _best_first(rows)

    async def holding_required(
        self, scope: Scope, query: SearchQuery, index: IndexGeneration, required: Sequence[str], ids: Sequence[str]
    ) -> set[str]:
        """Chunks, of those given, in which every one of the required phrases stands as it is written."""
        asked, values = QuestionLiterals(phrases=tuple(required)), self._reads.by_words(scope, query, index).values
        rows = await self._database.read(scope, SQL["literal"], **_literal_params(asked, values, list(ids), len(ids)))
        counts = Counter(row["id"] for row in rows)
        return {chunk for chunk, count in counts.items() if count == len(asked.phrases)}

    async def similarities(
        self, scope: Scope, index: IndexGeneration, vector: Vector, ids: Sequence[str]
    ) -> dict[str, float]:
        """Cosine similarity of given chunks; those without a vector are missing."""
        rows = await self._database.read(
            scope, SQL["similarities"], **scope.keys, generation=index.generation, vector=Encoded(vector), ids=list(ids)
        )
        return {row["id"]: row["score"] for row in rows}

    async def texts(self, scope: Scope, ids: Sequence[str]) -> dict[str, str]:
        """Texts that a reranker reads, titles included, by chunk id."""
        return {row["id"]: row["search_text"] for row in await self._of_chunks(scope, "texts", ids)}

    async def passages(self, scope: Scope, ids: Sequence[str]) -> dict[str, Row]:
        """Chunks as they are shown, by id, with the text of its parent where one has a parent.

        One that was deleted meanwhile is missing. One whose pages were read again since it was cut shows its own text:
        where its parent stood, something else stands now.
        """
        rules = None if self._class_rules is None or not ids else await self._class_rules(scope)
        rows = {row["id"]: row for row in await self._of_chunks(scope, "passages", ids, rules=rules)}
        children = [chunk for chunk, row in rows.items() if row["parent"] is not None]
        parents = {row["id"]: row for row in await self._of_chunks(scope, "parents", children)}
        for chunk in children:
            rows[chunk] |= _read_parent(parents[chunk]) if chunk in parents else {"parent": None}
        return rows

    def _scope_key(self, scope: Scope, query: SearchQuery) -> Hashable:
        whose = (scope.tenant, scope.workspace, scope.principals)
        return whose, query.agent_id, query.filters, query.generation, self._reads.exact_room(query)

    async def _of_chunks(self, scope: Scope, name: str, ids: Sequence[str], **more: str | None) -> list[Row]:
        if not ids:
            return []
        return await self._database.read(scope, SQL[name], ONE_PLAN, **scope.keys, **more, ids=list(ids))


def _best_first(found: Sequence[RankedChunk]) -> list[RankedChunk]:
    return sorted(sorted(found, key=CHUNK), key=SCORE, reverse=True)


def find_asked_literals(query: SearchQuery) -> QuestionLiterals:
    """Identifiers and quoted phrases of the question, and which phrases have to stand in a hit."""
    return literals.find_literals(query.words, must=query.quote == "must")


def _literal_params(
    asked: QuestionLiterals, values: Mapping[str, Any], among: list[str] | None = None, most: int | None = None
) -> dict[str, Any]:
    """Parameters of the literal query: at most one chunk of each literal more than the retriever's depth."""
    wanted = {"codes": list(asked.codes), "phrases": list(asked.phrases)}
    return {**values, **wanted, "most": most or values["depth"] + 1, "among": among}


def _read_parent(row: Row) -> Row:
    """A parent's row by the columns of a chunk: its titles are those that hold for all of it."""
    levels = zip(*row["paths"], strict=False)
    headings = [titles[0] for titles in takewhile(lambda titles: len(set(titles)) == 1, levels)]
    return {name: value for name, value in row.items() if name not in ("id", "paths")} | {"headings": headings}
