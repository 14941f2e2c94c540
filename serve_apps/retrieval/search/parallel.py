"""Both retrievers under way through one index, for a question and for its variations."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from time import perf_counter

from cluster.basics.scope import Scope
from cluster.models.embedding.migration import OtherEmbedder, select_embedder
from cluster.models.embedding.prefixes import embed_queries
from cluster.models.embedding.vectors_cache import with_workspace_cache
from cluster.models.model_errors import AWAY
from cluster.models.ports import Embedder
from serve_apps.retrieval.search.expand import QueryVariation
from serve_apps.retrieval.search.fuse import RankedChunk
from serve_apps.retrieval.search.query import SearchQuery
from serve_apps.retrieval.search.retrievers import ChunkRetriever
from serve_apps.retrieval.search.statements import IndexGeneration, Vector

AT_ONCE = 2  # variations; each takes a connection, and the question itself two
Near = tuple[list[RankedChunk], Vector | None, str | None]  # what was found, with which vector, and why none was used
# Through which index; without a list, another one is live.
Worded = tuple[IndexGeneration | None, list[RankedChunk] | None]
Timings = dict[str, float]


@dataclass(frozen=True, slots=True)
class ParallelRetrieval:
    """The question on its way; whoever begins it ends it."""

    vector: asyncio.Task[Near]
    keyword: asyncio.Task[Worded]

    async def end(self) -> None:
        """Give up what still runs; how it ends is of no interest."""
        self.vector.cancel()
        self.keyword.cancel()
        await asyncio.gather(self.vector, self.keyword, return_exceptions=True)


class ParallelRetriever:
    """Sends questions through the retrievers that their strategy wants."""

    def __init__(self, retriever: ChunkRetriever, embedder: Embedder) -> None:
        """`embedder` is asked where a question comes without its vector."""
        self._retriever, self._embedder = retriever, embedder

    def begin(
        self, scope: Scope, query: SearchQuery, index: IndexGeneration, vector: Vector | None, timings: Timings
    ) -> ParallelRetrieval:
        """Set both retrievers out at once; `index` is the one that was live the last time."""
        # The longer one first: the other is put together, answers and is read while that one is under way.
        near = asyncio.create_task(self._run_vector(scope, query, index, vector, timings))
        return ParallelRetrieval(near, asyncio.create_task(self._run_keyword(scope, query, index, timings)))

    async def more(
        self, scope: Scope, query: SearchQuery, index: IndexGeneration, variations: Sequence[QueryVariation]
    ) -> tuple[list[tuple[str, list[RankedChunk]]], str | None]:
        """Ranked lists of the variations, (`keyword:2`, …), (`vector:2`, …) and so on, and what was left out.

        Without an embedder they are searched for by their words alone, as the question is then.
        """
        meant = [one.text for one in variations if one.meaning and query.strategy != "keyword"]
        vectors, left = await self._embed_variations(scope, meant, index)
        places = asyncio.Semaphore(AT_ONCE)

        async def retrieve(n: int, one: QueryVariation) -> list[tuple[str, list[RankedChunk]]]:
            asked, found = replace(query, text=one.text), []
            async with places:
                if one.words and query.strategy != "vector":
                    found.append((f"keyword:{n}", await self._retriever.keyword(scope, asked, index)))
                if one.text in vectors:
                    found.append((f"vector:{n}", await self._retriever.vector(scope, asked, index, vectors[one.text])))
            return found

        tasks = [asyncio.create_task(retrieve(n, one)) for n, one in enumerate(variations, 2)]
        try:
            lists = await asyncio.gather(*tasks)
        finally:
            for task in tasks:  # where one failed, nobody waits for the others
                task.cancel()
        return [one for found in lists for one in found], left

    async def _embed_variations(
        self, scope: Scope, texts: Sequence[str], index: IndexGeneration
    ) -> tuple[Mapping[str, Vector], str | None]:
        if not texts:
            return {}, None
        try:
            embedder = await select_embedder(with_workspace_cache(self._embedder, scope), index.made)
            vectors = await embed_queries(embedder, texts)
        except OtherEmbedder:
            return {}, None  # said of the question already
        except AWAY as error:
            return {}, f"variations by their words only, the embedder did not answer: {error}"
        return dict(zip(texts, vectors, strict=True)), None

    async def _run_keyword(self, scope: Scope, query: SearchQuery, index: IndexGeneration, timings: Timings) -> Worded:
        if query.strategy == "vector":
            async with time_stage(timings, "resolve"):
                live = await self._retriever.resolve(scope, query)
                return live, [] if live == index else None
        async with time_stage(timings, "keyword"):
            return await self._retriever.set_out(scope, query, index)

    async def _run_vector(
        self, scope: Scope, query: SearchQuery, index: IndexGeneration, vector: Vector | None, timings: Timings
    ) -> Near:
        if query.strategy == "keyword":
            return [], None, None
        left = "words only" if query.strategy == "hybrid" else "nothing was searched"
        if vector is None:
            async with time_stage(timings, "embed"):
                try:
                    embedder = await select_embedder(with_workspace_cache(self._embedder, scope), index.made)
                    vector = (await embed_queries(embedder, [query.words]))[0]
                except OtherEmbedder as error:
                    return [], None, f"{left}, {error.detail}: {error.hint}"
                except AWAY as error:
                    return [], None, f"{left}, the embedder did not answer: {error}"
        if vector.shape != (index.made.dimension,):
            return [], None, f"{left}, the index has {index.made.dimension} dimensions and the question {vector.shape}"
        async with time_stage(timings, "vector"):
            return await self._retriever.vector(scope, query, index, vector), vector, None


@asynccontextmanager
async def time_stage(timings: Timings, stage: str) -> AsyncIterator[None]:
    """Note how many milliseconds a stage takes, also one that fails."""
    start = perf_counter()
    try:
        yield
    finally:
        timings[stage] = (perf_counter() - start) * 1000
