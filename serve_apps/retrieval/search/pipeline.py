"""One pipeline: enhance, retrieve, fuse, filter, rerank, pack; each stage can be off, results say what each did."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter

from cluster.basics.cleanup import async_cleanup_on_error
from cluster.basics.scope import Scope
from cluster.models.ports import Embedder, Reranker
from cluster.state.db.postgres import Database, Row
from configs.sections_retrieval import PackSettings, RerankSettings, SearchSettings
from pipelines.documents.chunk.language import prepare_detector
from pipelines.documents.document import Box, ChunkMetrics, PageBox, Span
from pipelines.documents.store.page_codec import placed_from_json
from serve_apps.retrieval.answers import follow_up
from serve_apps.retrieval.search.context import pack_context
from serve_apps.retrieval.search.diversify import DEPTH, round_robin, spread_out
from serve_apps.retrieval.search.expand import QueryEnhancement, QueryEnhancer
from serve_apps.retrieval.search.fuse import RankedChunk, RankFusion, weigh_retrievers
from serve_apps.retrieval.search.parallel import ParallelRetrieval, ParallelRetriever, Timings, time_stage
from serve_apps.retrieval.search.query import (
    Candidate,
    CandidateRanking,
    RAGResult,
    SearchHit,
    SearchQuery,
    SearchResults,
    StageReport,
)
from serve_apps.retrieval.search.rerank import JudgeChain, ModelJudge, PassageJudge
from serve_apps.retrieval.search.retrievers import ChunkRetriever, ClassRules, find_asked_literals
from serve_apps.retrieval.search.statements import IndexGeneration, Vector
from serve_apps.retrieval.text.literals import rank_by_phrases
from serve_apps.retrieval.text.token_count import TiktokenCounter, TokenCounter

WORN = "words are ranked by Postgres' own full text until the BM25 index is made anew"


@dataclass(frozen=True, slots=True)
class _Trace:
    timings: Timings = field(default_factory=dict)
    stages: list[StageReport] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    def stage(self, name: str, on: bool, detail: str, kept: int | None = None) -> None:
        self.stages.append(StageReport(name, on, detail, kept))

    @property
    def fallback(self) -> str | None:
        return "; ".join(dict.fromkeys(self.left)) or None


class SearchPipeline:
    """Finds passages for a question within what a scope may see."""

    def __init__(
        self,
        database: Database,
        embedder: Embedder,
        reranker: Reranker | None,
        settings: SearchSettings,
        rerank: RerankSettings,
        *,
        enhancer: QueryEnhancer | None = None,
        others: Sequence[PassageJudge] = (),
        counter: TokenCounter | None = None,
        packing: PackSettings = PackSettings(),
        class_rules: ClassRules | None = None,
    ) -> None:
        """`reranker` is None where its weights are not present; `others` judge where it is away. Results say so.
        `class_rules` as of `ChunkRetriever`.
        """
        self._retriever = ChunkRetriever(database, settings, class_rules)
        self._parallel = ParallelRetriever(self._retriever, embedder)
        self._settings, self._packing = settings, packing
        self._enhancer = enhancer or QueryEnhancer(None)
        own = (ModelJudge(reranker, rerank),) if reranker is not None else ()
        self._judges = JudgeChain((*own, *others), rerank)
        self._counter = counter or TiktokenCounter()

    async def run(self, scope: Scope, query: SearchQuery, vector: Vector | None = None) -> SearchResults:
        """Search and show; row-level security holds the same wall as the scope.

        `vector`: the question's embedding, shape (dimension,); without it the embedder is asked. Raises Unavailable
        where Postgres cannot be reached. A model that cannot is left out, and `fallback` says so.
        """
        start = perf_counter()
        ranking = await self.rank(scope, query, vector)
        trace = _Trace(dict(ranking.timings_ms), list(ranking.stages))
        shown = max(query.limit, self._packing.candidates if query.budget else 0)
        async with time_stage(trace.timings, "load"):
            hits = await self._load_best(scope, ranking.candidates, shown)
        packed = await self._pack_hits(query, hits, trace)
        trace.timings["total"] = (perf_counter() - start) * 1000
        return SearchResults(
            query,
            tuple(hits[: query.limit]),
            len(ranking.candidates),
            ranking.keyword_engine,
            ranking.vector,
            ranking.rerank,
            ranking.generation,
            ranking.fallback,
            trace.timings,
            tuple(trace.stages),
            ranking.variations,
            packed,
            ranking.candidates if query.explain else (),
        )

    async def load_hits(self, scope: Scope, ids: Sequence[str]) -> tuple[SearchHit, ...]:
        """Passages by their chunk ids, in that order and without a score; one that is gone is missing."""
        rows = await self._retriever.passages(scope, ids)
        known = [(one, rows[one]) for one in ids if one in rows]
        return tuple(_hit_from_row(Candidate(one, row["document_id"], {}), row) for one, row in known)

    async def _load_best(self, scope: Scope, candidates: Sequence[Candidate], most: int) -> list[SearchHit]:
        """The passages of the best candidates; of several chunks with one parent the best stands for all of them."""
        found: dict[tuple[str, int | str], SearchHit] = {}
        at = 0
        while len(found) < most and at < len(candidates):
            some = candidates[at : at + most]
            at += most
            rows = await self._retriever.passages(scope, [one.chunk_id for one in some])
            for hit in (_hit_from_row(one, rows[one.chunk_id]) for one in some if one.chunk_id in rows):
                found.setdefault((hit.version_id, hit.chunk_id if hit.parent is None else hit.parent), hit)
        return list(found.values())[:most]

    async def rank(self, scope: Scope, query: SearchQuery, vector: Vector | None = None) -> CandidateRanking:
        """Search without loading the passages; arguments and errors as for `run`."""
        await prepare_detector()
        trace, asked = _Trace(), replace(query, text=follow_up.expand_question(query.words, query.history))
        led_in = asked.text != query.words
        vector = None if led_in else vector
        index = self._retriever.last(scope, asked)
        if index is None or not asked.words:
            async with time_stage(trace.timings, "resolve"):
                index = await self._retriever.resolve(scope, asked)
        if index is None:
            return _empty_ranking("nothing is indexed yet", None, trace)
        if not asked.words:
            return _empty_ranking("the question is empty", index.generation, trace)
        # The retrievers set out for the index that was live the last time, and once more where it no longer is.
        retrieval = self._parallel.begin(scope, asked, index, vector, trace.timings)
        async with async_cleanup_on_error(lambda: retrieval.end()):  # of the one that is under way then
            await asyncio.sleep(0)  # both are on their way before anything else is looked at
            enhanced = await self._enhance_query(scope, query, led_in, trace)
            index, keyword = await retrieval.keyword
            while index is not None and keyword is None:
                await retrieval.end()
                retrieval = self._parallel.begin(scope, asked, index, vector, trace.timings)
                index, keyword = await retrieval.keyword
            if index is None or keyword is None:
                await retrieval.end()
                return _empty_ranking("nothing is indexed yet", None, trace)
            fusion, vector = await self._fuse_retrieved(scope, asked, index, keyword, retrieval, enhanced, trace)
        candidates = fusion.ranked()
        words, meaning = weigh_retrievers(self._settings, asked.words).values()
        how = f"by {self._settings.fuse_by}, words {words:.2g} to meaning {meaning:.2g}"
        trace.stage("fuse", True, f"weighted RRF of {fusion.lists} lists {how}", len(candidates))
        candidates = await self._keep_quoted(scope, query, index, candidates, trace)
        candidates = await self._near(scope, asked, index, vector, candidates, trace)
        candidates, rerank = await self._rerank_candidates(scope, asked, candidates, trace)
        candidates = self._diversify_candidates(query, candidates, trace)
        return CandidateRanking(
            tuple(candidates),
            "off" if query.strategy == "vector" else index.keyword_engine,
            "off" if vector is None else index.vector_engine,
            rerank,
            index.generation,
            trace.fallback,
            trace.timings,
            tuple(trace.stages),
            tuple(one.text for one in enhanced.variations),
        )

    async def _enhance_query(self, scope: Scope, query: SearchQuery, led_in: bool, trace: _Trace) -> QueryEnhancement:
        if led_in and query.enhance is None:
            found = QueryEnhancement((), "the question is read together with what was said before it")
        else:
            async with time_stage(trace.timings, "enhance"):
                found = await self._enhancer.enhance(scope, query)
        trace.stage("enhance", bool(found.variations), found.detail, len(found.variations))
        if found.missing:
            trace.left.append(f"not enhanced: {found.detail}")
        return found

    async def _fuse_retrieved(
        self,
        scope: Scope,
        query: SearchQuery,
        index: IndexGeneration,
        keyword: list[RankedChunk],
        retrieval: ParallelRetrieval,
        enhanced: QueryEnhancement,
        trace: _Trace,
    ) -> tuple[RankFusion, Vector | None]:
        fusion = RankFusion(self._settings.rrf_k, self._settings.fuse_by)
        weights = weigh_retrievers(self._settings, query.words)
        fusion.add("keyword", weights["keyword"], keyword)  # while the vector retriever is under way
        if quoting := rank_by_phrases(keyword):
            fusion.add("quoted", weights["keyword"], quoting)
        near, vector, left = await retrieval.vector
        fusion.add("vector", weights["vector"], near)
        trace.left.extend([left] if left else [])
        words, meaning = query.strategy != "vector", vector is not None
        if words and index.worn and index.keyword_engine == "full_text":
            trace.left.append(WORN)
        trace.stage("keyword", words, index.keyword_engine if words else "left out by the strategy", len(keyword))
        without = left or "left out by the strategy"
        trace.stage("vector", meaning, index.vector_engine if meaning else without, len(near))
        if enhanced.variations:
            async with time_stage(trace.timings, "variations"):
                more, left = await self._parallel.more(scope, query, index, enhanced.variations)
            trace.left.extend([left] if left else [])
            share = self._enhancer.settings.weight
            for name, found in more:
                fusion.add(name, share * weights["keyword" if name.startswith("keyword") else "vector"], found)
        return fusion, vector

    async def _keep_quoted(
        self, scope: Scope, query: SearchQuery, index: IndexGeneration, candidates: list[Candidate], trace: _Trace
    ) -> list[Candidate]:
        """Without what lacks a phrase that has to stand there; those of earlier messages have not."""
        required = find_asked_literals(query).required
        if not required:
            return candidates
        async with time_stage(trace.timings, "quote"):
            ids = [one.chunk_id for one in candidates]
            holding = await self._retriever.holding_required(scope, query, index, required, ids)
        kept = [one for one in candidates if one.chunk_id in holding]
        trace.stage("quote", True, f"only what holds {' and '.join(map(repr, required))}", len(kept))
        return kept

    async def _near(
        self,
        scope: Scope,
        query: SearchQuery,
        index: IndexGeneration,
        vector: Vector | None,
        candidates: list[Candidate],
        trace: _Trace,
    ) -> list[Candidate]:
        """Whichever leg found a chunk, it has to be as near as was asked for."""
        least = query.min_similarity
        if least is None:
            trace.stage("filter", False, "no least similarity is asked for", len(candidates))
            return candidates
        if vector is None:
            trace.left.append("min_similarity was not applied")
            trace.stage("filter", False, "there is no vector to compare with", len(candidates))
            return candidates
        unknown = [one.chunk_id for one in candidates if "vector_score" not in one.scores]
        known = await self._retriever.similarities(scope, index, vector, unknown) if unknown else {}
        judged = [
            one._replace(scores={**one.scores, "vector_score": known[one.chunk_id]}) if one.chunk_id in known else one
            for one in candidates
        ]
        kept = [one for one in judged if one.scores.get("vector_score", -1.0) >= least]
        trace.stage("filter", True, f"similarity of {least:g} and more", len(kept))
        return kept

    async def _rerank_candidates(
        self, scope: Scope, query: SearchQuery, candidates: list[Candidate], trace: _Trace
    ) -> tuple[list[Candidate], str]:
        if query.rerank is False:
            state = "off: not asked for"
        else:
            async with time_stage(trace.timings, "rerank"):
                texts = partial(self._retriever.texts, scope)
                candidates, state = await self._judges.order(scope, query, candidates, texts)
        trace.stage("rerank", state.startswith("on"), state, len(candidates))
        return candidates, state

    def _diversify_candidates(self, query: SearchQuery, candidates: list[Candidate], trace: _Trace) -> list[Candidate]:
        """The turns that documents take, as it was asked for or is set."""
        depth, share = DEPTH * query.limit, self._settings.spread
        if query.round_robin:
            trace.stage("round_robin", True, "each document's best before any document's second", len(candidates))
            return round_robin(candidates, depth)
        if not query.spread or not share:
            return candidates
        trace.stage("spread", True, f"each further passage of a document counts {share:.0%} less", len(candidates))
        return spread_out(candidates, share, depth)

    async def _pack_hits(self, query: SearchQuery, hits: Sequence[SearchHit], trace: _Trace) -> RAGResult | None:
        if query.budget is None:
            return None
        offered = hits[: self._packing.candidates]
        async with time_stage(trace.timings, "pack"):
            how = (self._counter, self._packing.diversity_factor, self._packing.least_share, self._packing.importance)
            packed = await asyncio.to_thread(pack_context, query.text, offered, query.budget, *how)
        of = f"{packed.total_tokens} of {query.budget.max_tokens} tokens by {packed.counted_with}"
        trace.stage("pack", True, of, len(packed.chunks))
        return packed


def _empty_ranking(why: str, generation: int | None, trace: _Trace) -> CandidateRanking:
    off, stages = "off: nothing to rank", tuple(trace.stages)
    return CandidateRanking((), "bm25", "off", off, generation, why, trace.timings, stages)


def _hit_from_row(candidate: Candidate, row: Row) -> SearchHit:
    return SearchHit(
        chunk_id=candidate.chunk_id,
        document_id=row["document_id"],
        version_id=row["version_id"],
        filename=row["filename"],
        doc_type=row["file_type"],
        page=row["page_start"],
        page_end=row["page_end"],
        chunk_index=row["chunk_index"],
        text=row["text"],
        headings=tuple(row["headings"]),
        spans=tuple(Span(*span) for span in row["spans"]),
        boxes=tuple(dict.fromkeys(PageBox(page, Box(*corners)) for page, *corners in row["boxes"])),
        ocr_confidence=row["confidence"],
        engine=row["engine"] or "native",
        score=candidate.score,
        scores=candidate.scores,
        caveats=placed_from_json(row["caveats"]),
        stemmer=row["language"],
        metrics=row["metrics"] and ChunkMetrics(**row["metrics"]),
        parent=row["parent"],
        classification=row["classification"],
    )
