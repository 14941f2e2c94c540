"""Hybrid search: both legs at once, fused, reranked where a cross-encoder is present."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from time import perf_counter

from cluster.basics.errors import Transient
from cluster.basics.scope import Scope
from cluster.models.ports import Embedder, Reranker
from cluster.state.postgres import Database, Row
from configs.sections import RerankSettings, SearchSettings
from pipelines.documents.document import Box, PageBox, Span
from serve_apps.retrieval.fuse import Found, Weights, fuse
from serve_apps.retrieval.legs import Index, Legs, Vector
from serve_apps.retrieval.query import Candidate, Hit, Query, Ranking, Results

Near = tuple[list[Found], Vector | None, str | None]  # what was found, with which vector, and why none was used


@dataclass(frozen=True, slots=True)
class _Walk:
    """Both legs on their way through one index."""

    index: Index
    vector: asyncio.Task[Near]
    keyword: asyncio.Task[list[Found]]

    async def end(self) -> None:
        """Give up what still runs; how it ends is of no interest."""
        self.vector.cancel()
        self.keyword.cancel()
        await asyncio.gather(self.vector, self.keyword, return_exceptions=True)


class Search:
    """Finds passages for a question within what a scope may see."""

    def __init__(
        self,
        database: Database,
        embedder: Embedder,
        reranker: Reranker | None,
        settings: SearchSettings,
        rerank: RerankSettings,
    ) -> None:
        """`reranker` is None where its weights are not present; results say so."""
        self._legs = Legs(database, settings)
        self._embedder, self._reranker = embedder, reranker
        self._settings, self._rerank_settings = settings, rerank

    async def run(self, scope: Scope, query: Query, vector: Vector | None = None) -> Results:
        """Search and show.

        Args:
            scope: whose documents; row-level security holds the same wall.
            query: what is asked.
            vector: the question's embedding, shape (dimension,); without it the embedder is asked.

        Raises:
            Unavailable: Postgres cannot be reached. A model that cannot is left out, and `fallback` says so.
        """
        start = perf_counter()
        ranking = await self.rank(scope, query, vector)
        timings = dict(ranking.timings_ms)
        async with _timed(timings, "load"):
            rows = await self._legs.passages(scope, [one.chunk_id for one in ranking.candidates[: query.limit]])
        hits = [_hit(one, rows[one.chunk_id]) for one in ranking.candidates[: query.limit] if one.chunk_id in rows]
        timings["total"] = (perf_counter() - start) * 1000
        return Results(
            query,
            tuple(hits),
            len(ranking.candidates),
            ranking.keyword_engine,
            ranking.vector,
            ranking.rerank,
            ranking.generation,
            ranking.fallback,
            timings,
        )

    async def rank(self, scope: Scope, query: Query, vector: Vector | None = None) -> Ranking:
        """Search without loading the passages; arguments and errors as for `run`."""
        timings: dict[str, float] = {}
        # The legs set out for the index that was live the last time, and once more where it no longer is.
        expected = self._legs.last(scope, query) if query.words else None
        walk = self._walk(scope, query, expected, vector, timings) if expected else None
        try:
            async with _timed(timings, "resolve"):
                index = await self._legs.resolve(scope, query)
            if index is None:
                return _nothing("nothing is indexed yet", None, timings)
            if not query.words:
                return _nothing("the question is empty", index.generation, timings)
            if walk is None or walk.index != index:
                if walk:
                    await walk.end()
                walk = self._walk(scope, query, index, vector, timings)
            near, vector, fallback = await walk.vector
            keyword = await walk.keyword
        finally:
            if walk:
                await walk.end()
        weights = Weights(self._settings.weight_keyword, self._settings.weight_vector)
        candidates = fuse(keyword, near, weights, self._settings.rrf_k)
        if query.min_similarity is not None:
            candidates, unchecked = await self._near(scope, index, vector, candidates, query.min_similarity)
            fallback = f"{fallback}; {unchecked}" if fallback and unchecked else fallback or unchecked
        candidates, rerank = await self._reranked(scope, query, candidates, timings)
        engine = "off" if vector is None else index.vector_engine
        return Ranking(tuple(candidates), index.keyword_engine, engine, rerank, index.generation, fallback, timings)

    def _walk(
        self, scope: Scope, query: Query, index: Index, vector: Vector | None, timings: dict[str, float]
    ) -> _Walk:
        near = asyncio.create_task(self._vector(scope, query, index, vector, timings))
        return _Walk(index, near, asyncio.create_task(self._keyword(scope, query, index, timings)))

    async def _keyword(self, scope: Scope, query: Query, index: Index, timings: dict[str, float]) -> list[Found]:
        async with _timed(timings, "keyword"):
            return await self._legs.keyword(scope, query, index)

    async def _vector(
        self, scope: Scope, query: Query, index: Index, vector: Vector | None, timings: dict[str, float]
    ) -> Near:
        if vector is None:
            async with _timed(timings, "embed"):
                try:
                    vector = (await self._embedder.embed([query.words]))[0]
                    model = (await self._embedder.facts()).name
                except Transient as error:
                    return [], None, f"words only, the embedder did not answer: {error}"
            if model != index.embedder:
                return [], None, f"words only, the index was made with {index.embedder}, not with {model}: re-index"
        if vector.shape != (index.dimension,):
            return [], None, f"words only, the index has {index.dimension} dimensions and the question {vector.shape}"
        async with _timed(timings, "vector"):
            return await self._legs.vector(scope, query, index, vector), vector, None

    async def _near(
        self, scope: Scope, index: Index, vector: Vector | None, candidates: list[Candidate], least: float
    ) -> tuple[list[Candidate], str | None]:
        """Whichever leg found a chunk, it has to be as near as was asked for."""
        if vector is None:
            return candidates, "min_similarity was not applied"
        unknown = [one.chunk_id for one in candidates if "vector_score" not in one.scores]
        known = await self._legs.similarities(scope, index, vector, unknown) if unknown else {}
        judged = [
            replace(one, scores={**one.scores, "vector_score": known[one.chunk_id]}) if one.chunk_id in known else one
            for one in candidates
        ]
        return [one for one in judged if one.scores.get("vector_score", -1.0) >= least], None

    async def _reranked(
        self, scope: Scope, query: Query, candidates: list[Candidate], timings: dict[str, float]
    ) -> tuple[list[Candidate], str]:
        """The best candidates in the cross-encoder's order; the rest stay behind them as they were."""
        if self._reranker is None:
            return candidates, "off: no cross-encoder is configured"
        head, tail = candidates[: self._rerank_settings.candidates], candidates[self._rerank_settings.candidates :]
        texts = await self._legs.texts(scope, [one.chunk_id for one in head])
        head = [one for one in head if one.chunk_id in texts]
        if not head:
            return candidates, "off: nothing to rank"
        async with _timed(timings, "rerank"):
            try:
                scores = await self._reranker.score(query.words, [texts[one.chunk_id] for one in head])
            except Transient as error:
                return candidates, f"off: {error}"
        judged = [
            replace(one, scores={**one.scores, "rerank": float(score)}) for one, score in zip(head, scores, strict=True)
        ]
        return sorted(judged, key=lambda one: -one.scores["rerank"]) + tail, "on"


@asynccontextmanager
async def _timed(timings: dict[str, float], stage: str) -> AsyncIterator[None]:
    start = perf_counter()
    try:
        yield
    finally:
        timings[stage] = (perf_counter() - start) * 1000


def _nothing(why: str, generation: int | None, timings: dict[str, float]) -> Ranking:
    return Ranking((), "bm25", "off", "off: nothing to rank", generation, why, timings)


def _hit(candidate: Candidate, row: Row) -> Hit:
    return Hit(
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
        boxes=tuple(PageBox(page, Box(*corners)) for page, *corners in row["boxes"]),
        ocr_confidence=row["confidence"],
        engine=row["engine"] or "native",
        score=candidate.score,
        scores=candidate.scores,
    )
