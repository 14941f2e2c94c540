"""A reranking service of Cohere's shape: `POST {url}/rerank`, as Cohere, Jina, Voyage, vLLM and others answer it."""

import json
import math
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import httpx2
import numpy as np
from numpy.typing import NDArray

from cluster.basics.bounded_answers import read_bounded
from cluster.basics.errors import Invalid, Overloaded, Unavailable
from cluster.basics.retry import call_with_retries
from configs.sections_retrieval import RerankSettings

CHARACTERS = 4_096  # of a document that are sent
TOP_N = 10
WAITS = (0.25,)  # seconds; somebody waits for the search
MOST_BYTES = 2**20


class RemoteReranker:
    """A `Reranker` behind HTTP; what it does not return is NaN, and stays in the order in which it came."""

    def __init__(
        self, settings: RerankSettings, client: httpx2.AsyncClient, sleep: Callable[[float], Awaitable[None]]
    ) -> None:
        """`settings` has the service's URL, model and key."""
        self._settings, self._client, self._sleep = settings, client, sleep

    async def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """One score for each text, in order, NaN for those beyond the best ten: shape (len(texts),).

        Raises:
            Unavailable, Overloaded: no answer, too slow, 5xx, 429, or a body that is no judgement.
            Invalid: any other refusal; trying again will not help.
        """
        if not texts:
            return np.empty(0, dtype=np.float32)
        if not self._settings.remote_url:
            raise Invalid("rerank.remote_enabled has no rerank.remote_url", fix="Set RAG_RERANK_URL.")
        documents = [text[:CHARACTERS] for text in texts]
        body: dict[str, Any] = {"query": query, "documents": documents, "top_n": min(TOP_N, len(texts))}
        if self._settings.remote_model:
            body["model"] = self._settings.remote_model
        return await call_with_retries(lambda: self._post_rerank(body, len(texts)), waits=WAITS, sleep=self._sleep)

    async def _post_rerank(self, body: dict[str, Any], count: int) -> NDArray[np.float32]:
        settings = self._settings
        headers = {"Authorization": f"Bearer {settings.remote_key}"} if settings.remote_key else {}
        url = f"{(settings.remote_url or '').rstrip('/')}/rerank"
        try:
            async with self._client.stream(
                "POST", url, json=body, headers=headers, timeout=settings.remote_seconds, follow_redirects=False
            ) as response:
                data = await read_bounded(response, "the reranking service", MOST_BYTES)
        except httpx2.TimeoutException as error:
            raise Unavailable(f"the reranking service did not answer within {settings.remote_seconds:g} s") from error
        except (httpx2.RequestError, httpx2.InvalidURL) as error:
            raise Unavailable(f"the reranking service cannot be reached: {str(error)[:200]}") from error
        return _parse_scores(_decode_reply(response.status_code, data), count)


def _decode_reply(status: int, data: bytes) -> Any:
    if status == 429:
        raise Overloaded("the reranking service has too much to do")
    if status >= 500:
        raise Unavailable(f"the reranking service failed with {status}")
    if status >= 300:
        raise Invalid(f"the reranking service refused the call with {status}")
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Unavailable("the reranking service sent no JSON") from error


def _parse_scores(found: Any, count: int) -> NDArray[np.float32]:
    """By the index that each result names. Raises Unavailable: an index not ours or twice, a score that is none."""
    rows = found.get("results") if isinstance(found, dict) else None
    scores = np.full(count, np.nan, dtype=np.float32)
    for row in rows if isinstance(rows, list) else []:
        at, score = (row.get("index"), row.get("relevance_score")) if isinstance(row, dict) else (None, None)
        known = type(at) is int and 0 <= at < count and math.isnan(scores[at])
        if not known or isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
            raise Unavailable("the reranking service sent a result that names no document of ours, or no score")
        scores[at] = score
    if np.isnan(scores).all():
        raise Unavailable("the reranking service judged nothing")
    return scores
