"""Reranking by the first of several judges that answers; its scores and the keywords' are combined."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cluster.basics.errors import Transient, Unavailable
from cluster.basics.scope import Scope
from cluster.models.ports import Reranker
from cluster.models.reply_json import find_json_values
from cluster.models.reranking import llm_judge
from cluster.models.routing.tasks import Task
from configs.sections_retrieval import RerankSettings
from serve_apps.retrieval.search.query import Candidate, SearchQuery
from serve_apps.retrieval.search.query_writer import LONGEST_REPLY, REFUSALS, QueryWriter, refusal_reason

WITHOUT = "no cross-encoder has its weights here, and no other judge is configured"
Texts = Callable[[Sequence[str]], Awaitable[Mapping[str, str]]]


class PassageJudge(Protocol):
    """Says how well passages answer a question."""

    @property
    def name(self) -> str:
        """As results name it; empty for the cross-encoder."""

    @property
    def on(self) -> bool:
        """True where the settings let it judge."""

    @property
    def most(self) -> int:
        """Passages that it judges at a time."""

    async def score(self, scope: Scope, query: SearchQuery, texts: Sequence[str]) -> NDArray[np.float32]:
        """One number for each text, higher is better, NaN where it gives none: shape (len(texts),).

        Raises Transient, Invalid, NoModel, OverBudget or TimeoutError where it cannot judge now.
        """


@dataclass(frozen=True, slots=True)
class ModelJudge:
    """A `Reranker` that reads pairs: the cross-encoder, without a name, or another one."""

    reranker: Reranker
    settings: RerankSettings
    name: str = ""
    on: bool = True

    @property
    def most(self) -> int:
        """See `PassageJudge`."""
        return self.settings.candidates

    async def score(self, scope: Scope, query: SearchQuery, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `PassageJudge`."""
        return await self.reranker.score(query.words, texts)


@dataclass(frozen=True, slots=True)
class ServiceJudge:
    """A reranking service; off until the settings switch it on."""

    reranker: Reranker
    settings: RerankSettings
    name: str = "the reranking service"

    @property
    def on(self) -> bool:
        """See `PassageJudge`."""
        return self.settings.remote_enabled

    @property
    def most(self) -> int:
        """See `PassageJudge`."""
        return self.settings.remote_candidates

    async def score(self, scope: Scope, query: SearchQuery, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `PassageJudge`."""
        return await self.reranker.score(query.words, texts)


@dataclass(frozen=True, slots=True)
class WriterJudge:
    """A language model that gives every passage a number, in one call."""

    writer: QueryWriter
    settings: RerankSettings
    name: str = "the language model"

    @property
    def on(self) -> bool:
        """See `PassageJudge`."""
        return self.settings.llm

    @property
    def most(self) -> int:
        """See `PassageJudge`."""
        return self.settings.candidates

    @property
    def seconds(self) -> float:
        """Timeout of the model's reply."""
        return self.settings.llm_seconds

    async def score(self, scope: Scope, query: SearchQuery, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `PassageJudge`."""
        request = llm_judge.judge_request(query.words, texts)
        async with asyncio.timeout(self.seconds):
            written = await self.writer.write(scope, query.agent_id, Task.CLASSIFY, request)
        found = next((one for one in find_json_values(written.text, LONGEST_REPLY, "{") if "scores" in one), None)
        return llm_judge.parse_scores(found, len(texts))


@dataclass(frozen=True, slots=True)
class JudgeChain:
    """Asked in turn until one answers."""

    judges: tuple[PassageJudge, ...]  # of those that are on, the first that answers decides
    settings: RerankSettings  # what the keyword leg's score counts beside the judgement

    async def order(
        self, scope: Scope, query: SearchQuery, candidates: list[Candidate], texts: Texts
    ) -> tuple[list[Candidate], str]:
        """The best candidates as a judge has them, the rest behind them as they were; with `on`, or `off: ` and why."""
        asked = [judge for judge in self.judges if judge.on]
        if not asked:
            return candidates, f"off: {WITHOUT}"
        if not candidates:
            return candidates, "off: nothing to rank"
        known = await texts([one.chunk_id for one in candidates[: max(judge.most for judge in asked)]])
        failed = []
        for judge in asked:
            head = [one for one in candidates[: judge.most] if one.chunk_id in known]
            if not head:
                return candidates, "off: nothing to rank"
            try:
                given = await judge.score(scope, query, [known[one.chunk_id] for one in head])
                scores = _require_usable(given, len(head))
            except REFUSALS as error:
                failed.append(_describe_failure(judge, error))
                continue
            ordered = self._combine_scores(head, scores)
            judged = {one.chunk_id for one in head}
            state = "; ".join([f"on: {judge.name}" if judge.name else "on", *failed])
            return ordered + [one for one in candidates if one.chunk_id not in judged], state
        return candidates, f"off: {'; '.join(failed)}"

    def _combine_scores(self, head: list[Candidate], scores: NDArray[np.float32]) -> list[Candidate]:
        """By 0.3 keyword + 0.7 judge, each brought to 0 to 1: a logit and a BM25 score have no measure in common.

        What holds a quoted phrase counts as the best by words. What holds more of the question's identifiers stays
        before the rest.
        """
        weight = self.settings.weight_keyword
        words = np.array([one.scores.get("keyword_score", 0.0) for one in head], dtype=np.float64)
        words = np.where(["quoted_rank" in one.scores for one in head], 1.0, words / (words.max() or 1.0))
        both = weight * words + (1 - weight) * _to_one(scores)
        made = [
            one._replace(scores={**one.scores, "judge": float(score), "rerank": float(total)})
            if np.isfinite(score)
            else one
            for one, score, total in zip(head, scores, both, strict=True)
        ]
        judged = sorted((one for one in made if "rerank" in one.scores), key=lambda one: -one.scores["rerank"])
        unjudged = [one for one in made if "rerank" not in one.scores]
        return sorted(judged + unjudged, key=lambda one: -one.scores.get("literal", 0))


def as_configured(state: str) -> bool:
    """True where `order` reports that the first judge that is on judged, or none had to; another is a fallback."""
    if state.startswith("on"):
        return ";" not in state
    return state in (f"off: {WITHOUT}", "off: not asked for", "off: nothing to rank")


def _to_one(scores: NDArray[np.float32]) -> NDArray[np.float64]:
    """From the lowest to the highest of the scores, so that logits and probabilities are treated alike."""
    low, high = float(np.nanmin(scores)), float(np.nanmax(scores))
    if high == low:
        return np.full(len(scores), 0.5)
    return (scores.astype(np.float64) - low) / (high - low)


def _require_usable(scores: NDArray[np.float32], count: int) -> NDArray[np.float32]:
    """The scores themselves; raises Unavailable where there is not one for each text, or no number among them."""
    if scores.shape != (count,) or not np.isfinite(scores).any() or np.isinf(scores).any():
        raise Unavailable(f"it gave no usable scores for {count} passages")
    return scores


def _describe_failure(judge: PassageJudge, error: Exception) -> str:
    said = refusal_reason(error, judge.seconds if isinstance(judge, WriterJudge) else 0.0)
    if isinstance(error, Transient) and not judge.name:
        return said
    return f"{judge.name or 'the cross-encoder'}: {said}"
