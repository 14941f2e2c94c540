"""Search and answers with a cache in front of them: exact, and of one computation for all who ask the same at once."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Generic, Protocol, TypeVar

from cluster.basics.scope import Scope
from cluster.basics.single_flight import SingleFlight
from cluster.models.embedding.migration import OtherEmbedder, VectorSpace, select_embedder
from cluster.models.embedding.prefixes import embed_queries
from cluster.models.embedding.vectors_cache import with_workspace_cache
from cluster.models.model_errors import AWAY
from cluster.models.ports import Embedder
from pipelines.documents.privacy.answer_masks import AnswerMask
from serve_apps.retrieval.answers.answerer import HITS, CitedAnswer
from serve_apps.retrieval.answers.draft import ShowDraft
from serve_apps.retrieval.cache.cache_scope import CachePartition, CorpusReader, Sort, partition_of
from serve_apps.retrieval.cache.codec import too_large
from serve_apps.retrieval.cache.mirror import Vector
from serve_apps.retrieval.cache.redis_store import CacheAway
from serve_apps.retrieval.cache.semantic_cache import NEAR, REFUSED, SemanticCache
from serve_apps.retrieval.search.query import LONGEST_QUESTION, CacheDecision, SearchQuery, SearchResults
from serve_apps.retrieval.search.rerank import as_configured

T = TypeVar("T")
Work = Callable[[Vector | None], Awaitable[T]]
Judge = Callable[[T], str | None]  # why a value is not kept
# The mask of what a workspace shows; None where nothing is looked for.
MaskPolicy = Callable[[Scope], Awaitable[AnswerMask | None]]
PERSONAL = "it holds personal data that answers here do not show"


class SearchPort(Protocol):
    """Finds passages; `serve_apps.retrieval.search.pipeline.SearchPipeline` is the one with an index."""

    async def run(self, scope: Scope, query: SearchQuery, vector: Vector | None = None) -> SearchResults:
        """Search and show."""


class AnswerPort(Protocol):
    """Answers from the documents: `serve_apps.retrieval.answers.answerer.DocumentAnswerer`."""

    async def ask(
        self,
        scope: Scope,
        question: str,
        agent_id: str | None = None,
        history: tuple[str, ...] = (),
        draft: ShowDraft | None = None,
    ) -> CitedAnswer:
        """An answer from what the scope, and the agent if there is one, may see."""


class QuestionCache(Generic[T]):
    """Works a question out, unless that was done since the corpus changed last, or is being done by somebody else."""

    def __init__(
        self,
        sort: Sort,
        corpora: CorpusReader,
        cache: SemanticCache[T],
        embedder: Embedder,
        judge: Judge[T],
        made_with: Callable[[], str],
        texts: Callable[[T], Sequence[str]],
        policy: MaskPolicy | None = None,
    ) -> None:
        """`judge` says why a value is not kept; `made_with` is a fingerprint of settings and prompts now. Where the
        workspace's `policy` would take something out of a value's `texts`, it is not kept either.
        """
        self._texts, self._policy = texts, policy
        self._sort, self._corpora, self._cache, self._embedder = sort, corpora, cache, embedder
        self._judge, self._made_with = judge, made_with
        self._flights: SingleFlight[Hashable, tuple[T, CacheDecision]] = SingleFlight()

    async def ask(
        self, scope: Scope, query: SearchQuery, vector: Vector | None, work: Work[T]
    ) -> tuple[T, CacheDecision]:
        """The value, remembered or made, and which of both; raises as `work`, and Unavailable, Overloaded of Postgres.

        The corpus' version is read before anything is worked out: what rests on a change that comes meanwhile is kept
        under a number that nobody asks for again.
        """
        if why := _not_for_the_cache(query):
            return await self._bypass_cache(scope, why, vector, work)
        corpus = await self._corpora.of(scope, query.agent_id)
        if corpus is None or corpus.made is None:
            return await self._bypass_cache(scope, "nothing is indexed yet", vector, work)
        made, place = corpus.made, partition_of(self._sort, scope, query, corpus, self._made_with())
        (value, decision), joined = await self._flights.join(
            (place.identity, place.version, query.words),
            lambda: self._found_or_made(scope, place, made, query.words, vector, work),
        )
        self._count_decision(scope, decision, joined)
        return value, replace(decision, shared=joined)

    async def _found_or_made(
        self,
        scope: Scope,
        place: CachePartition,
        made: VectorSpace,
        question: str,
        vector: Vector | None,
        work: Work[T],
    ) -> tuple[T, CacheDecision]:
        try:
            found = await self._cache.get(place, question, vector)
            if found.value is None and vector is None:
                vector, why = await self._embed_question(scope, question, made)
                if vector is None:
                    return await work(None), CacheDecision("bypass", why)
                found = await self._cache.get(place, question, vector)
            if found.value is not None:
                return found.value, found.decision
            turn = await self._cache.turn(place, question)
        except CacheAway as away:
            return await work(vector), _away_decision(away)
        try:
            try:
                later = await self._cache.wait(place, question, turn)
            except CacheAway as away:
                return await work(vector), _away_decision(away)
            if later.value is not None:
                return later.value, later.decision
            assert vector is not None
            value = await work(vector)
            return value, await self._store_value(scope, place, question, vector, value, found.decision)
        finally:
            await self._cache.end(place, turn)

    async def _personal(self, scope: Scope, value: T) -> str | None:
        mask = None if self._policy is None else await self._policy(scope)
        if mask is None or not mask.takes:
            return None
        texts = self._texts(value)
        shown = await asyncio.to_thread(lambda: [mask.text(text, unknown=True) for text in texts])
        return PERSONAL if shown != list(texts) else None

    async def _store_value(
        self, scope: Scope, place: CachePartition, question: str, vector: Vector, value: T, decision: CacheDecision
    ) -> CacheDecision:
        """The decision, with why the value is not remembered where it is not."""
        why = self._judge(value) or await self._personal(scope, value)
        if why is None:
            try:
                if not await self._cache.put(place, question, vector, value):
                    why = "the documents changed meanwhile"
            except CacheAway as away:
                why = f"the cache cannot be reached ({away.detail})"
        return replace(decision, reason=f"{decision.reason}; not remembered: {why}") if why else decision

    async def _embed_question(self, scope: Scope, question: str, made: VectorSpace) -> tuple[Vector | None, str]:
        try:
            embedder = await select_embedder(with_workspace_cache(self._embedder, scope), made)
            return (await embed_queries(embedder, [question]))[0], ""
        except OtherEmbedder as error:
            return None, error.detail
        except AWAY as error:
            return None, f"the embedder did not answer: {error}"

    async def _bypass_cache(
        self, scope: Scope, why: str, vector: Vector | None, work: Work[T]
    ) -> tuple[T, CacheDecision]:
        decision = CacheDecision("bypass", why)
        self._count_decision(scope, decision, False)
        return await work(vector), decision

    def _count_decision(self, scope: Scope, decision: CacheDecision, joined: bool) -> None:
        self._cache.count(scope.workspace, decision.outcome)
        if joined:
            self._cache.count(scope.workspace, "shared")
        elif decision.outcome == "miss" and decision.reason.startswith(NEAR):
            self._cache.count(scope.workspace, "refused")
            self._cache.count(scope.workspace, REFUSED + _difference_kind(decision.reason))


class CachedSearch:
    """A search that remembers."""

    def __init__(
        self,
        search: SearchPort,
        corpora: CorpusReader,
        cache: SemanticCache[SearchResults],
        embedder: Embedder,
        made_with: Callable[[], str],
        policy: MaskPolicy | None = None,
    ) -> None:
        """`made_with` is a fingerprint of what `search` is made of now; `policy` as of `QuestionCache`."""
        self._search = search
        judged = (_uncacheable_reason, made_with, _texts_of, policy)
        self._remembered = QuestionCache("search", corpora, cache, embedder, *judged)

    async def run(self, scope: Scope, query: SearchQuery, vector: Vector | None = None) -> SearchResults:
        """As `SearchPipeline.run`; `cache` says where the results come from, and `timings_ms` is this call's."""
        start = perf_counter()
        work = partial(self._search.run, scope, query)
        results, decision = await self._remembered.ask(scope, query, vector, work)
        timings = dict(results.timings_ms)
        if decision.outcome == "hit" or decision.shared:
            timings = {"cache": (perf_counter() - start) * 1000}
        timings["total"] = (perf_counter() - start) * 1000
        packed = None if results.packed is None else replace(results.packed, query=query.text)
        return replace(results, query=query, packed=packed, timings_ms=timings, cache=decision)


class CachedAnswerer:
    """Answers that are remembered."""

    def __init__(
        self,
        answers: AnswerPort,
        corpora: CorpusReader,
        cache: SemanticCache[CitedAnswer],
        embedder: Embedder,
        made_with: Callable[[], str],
        policy: MaskPolicy | None = None,
    ) -> None:
        """`made_with` is a fingerprint of what `answers` is made of now, prompts and the model included; `policy` as of
        `QuestionCache`.
        """
        self._answers = answers
        judged = (_uncacheable_answer_reason, made_with, _texts_of_answer, policy)
        self._remembered = QuestionCache("answer", corpora, cache, embedder, *judged)

    async def ask(
        self,
        scope: Scope,
        question: str,
        agent_id: str | None = None,
        history: tuple[str, ...] = (),
        draft: ShowDraft | None = None,
    ) -> CitedAnswer:
        """As `DocumentAnswerer.ask`; `search.cache` says where the answer comes from.

        One that is remembered, or that another caller waits for too, has no draft and took nothing of a model.
        """
        query = SearchQuery(question, limit=HITS, agent_id=agent_id, history=history)
        answer, decision = await self._remembered.ask(
            scope, query, None, lambda _: self._answers.ask(scope, question, agent_id, history, draft)
        )
        answer = replace(answer, search=replace(answer.search, cache=decision))
        return replace(answer, spend=None, left=()) if decision.outcome == "hit" or decision.shared else answer


def _not_for_the_cache(query: SearchQuery) -> str | None:
    if not query.words:
        return "the question is empty"
    if len(query.text.strip()) > LONGEST_QUESTION:
        return f"only the first {LONGEST_QUESTION:,} characters of questions are compared"
    if query.fresh:
        return "it was to be worked out anew"
    return None if query.generation is None else "a generation was asked for by number"


def _difference_kind(reason: str) -> str:
    """Kind of difference between two questions, without their words: `another number`."""
    return reason.removeprefix(NEAR).partition(":")[0].partition(";")[0].strip()


def _uncacheable_reason(results: SearchResults) -> str | None:
    """Reason not to cache results: one found with a part missing is not what is found when it is back."""
    if not as_configured(results.rerank):
        return f"rerank {results.rerank}"
    return results.fallback or too_large(results)


def _uncacheable_answer_reason(answer: CitedAnswer) -> str | None:
    return answer.fallback or _uncacheable_reason(answer.search)


def _texts_of(results: SearchResults) -> list[str]:
    return [results.query.text, *(hit.text for hit in results.hits)]


def _texts_of_answer(answer: CitedAnswer) -> list[str]:
    return [answer.text, *(one.quote for one in answer.citations), *_texts_of(answer.search)]


def _away_decision(away: CacheAway) -> CacheDecision:
    return CacheDecision("bypass", f"the cache cannot be reached ({away.detail})")
