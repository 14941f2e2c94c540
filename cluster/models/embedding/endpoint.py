"""Texts to vectors at an OpenAI-shaped endpoint that the settings name; nothing takes its place when it fails."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import httpx2
import numpy as np
from numpy.typing import NDArray

from cluster.basics.bounded_answers import read_bounded
from cluster.basics.errors import AosError, InvalidSettings, Transient, Unavailable
from cluster.basics.retry import waits_of
from cluster.models.chat.retrying import of_status, retry_pause
from cluster.models.connections.endpoint_connection import Provider, candidate_urls, detect_provider, mask_key
from cluster.models.embedding.prefixes import prefix_parts
from cluster.models.embedding.sentence_tokens import cut_windows
from cluster.models.embedding.vector_rows import encoder_fingerprint, normalize_rows, weighted_means
from cluster.models.model_errors import Unusable
from cluster.models.ports import EmbedderFacts, EmbeddingLane
from configs.sections_retrieval import EmbeddingSettings

log = logging.getLogger(__name__)

TEXTS = 64  # in one request
AT_ONCE = 4  # requests of one caller
# Fewer than in any European language: a server cuts off what exceeds its window, and most do not say so.
CHARACTERS_A_TOKEN = 2
OVERLAP = 32
QUESTION_WAITS = (0.5,)
QUESTION_SECONDS = 15.0  # somebody waits; words alone find something too


class ApiEmbedder:
    """An `Embedder` behind HTTP.

    It never falls back to another model: half of an index by one and half by another would find nothing. A request of
    bulk work is sent at most `settings.attempts` times, whoever asks: an error says that it was tried again.
    """

    def __init__(
        self,
        settings: EmbeddingSettings,  # with `base_url`; `model` is the name that the server knows
        client: httpx2.AsyncClient,  # the process's
        sleep: Callable[[float], Awaitable[None]],  # waits between attempts
        chance: Callable[[], float],  # numbers from 0 to 1 for the jitter of the waits
    ) -> None:
        """Nothing is sent yet. Raises InvalidSettings: no model is named; Invalid: `base_url` is no URL."""
        if settings.model == "packaged":
            fix = "set EMBEDDING_MODEL to its name there"
            raise InvalidSettings("embedding.base_url is set, and no model of that server", fix=fix)
        self._settings, self._client, self._sleep, self._chance = settings, client, sleep, chance
        self._urls = _embedding_urls(settings.base_url or "")
        self._facts: EmbedderFacts | None = None

    async def facts(self) -> EmbedderFacts:
        """The facts of the server's model; the dimension is learned from the first answer.

        Raises:
            Unavailable, Overloaded: the server does not answer.
            Unusable: it refuses the key or does not know the model.
        """
        if self._facts is None:
            self._learn_dimension((await self._request(["dimension"], EmbeddingLane.QUESTION)).shape[1])
        assert self._facts is not None
        return self._facts

    async def embed(self, texts: Sequence[str], lane: EmbeddingLane = EmbeddingLane.QUESTION) -> NDArray[np.float32]:
        """One row of length 1 for each text, in order: shape (len(texts), dimension).

        A text longer than `window` tokens (at two characters each) is sent in overlapping parts; its vector is their
        mean, weighted by their lengths.

        Raises:
            Unavailable, Overloaded: no answer, too slow, 5xx, 429, or a body that is no list of vectors.
            Unusable: the key, the model, or vectors of another dimension than before.
            Invalid: any other refusal; trying again will not help.
        """
        facts = await self.facts()
        if not texts:
            return np.empty((0, facts.dimension), dtype=np.float32)
        rows = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        room = self._settings.window * CHARACTERS_A_TOKEN
        whole = [text or " " for text in rows]  # servers refuse an empty text
        pieces = [
            (row, text[part[0] : part[-1] + 1])
            for row, text in enumerate(whole)
            for part in cut_windows(range(len(text)), room, OVERLAP)
        ]
        owners, parts = zip(*pieces, strict=True)
        means = weighted_means(await self._embed_parts(parts, lane), owners, list(map(len, parts)))
        return means[[rows[text] for text in texts]]

    async def _embed_parts(self, texts: Sequence[str], lane: EmbeddingLane) -> NDArray[np.float32]:
        """Several requests at a time; the first error ends the others."""
        places = asyncio.Semaphore(AT_ONCE)

        async def one(part: Sequence[str]) -> NDArray[np.float32]:
            async with places:
                return await self._request(part, lane)

        tasks = [asyncio.create_task(one(texts[start : start + TEXTS])) for start in range(0, len(texts), TEXTS)]
        try:
            return np.concatenate(await asyncio.gather(*tasks))
        finally:
            for task in tasks:
                task.cancel()

    async def _request(self, texts: Sequence[str], lane: EmbeddingLane) -> NDArray[np.float32]:
        """One batch, sent again after what may pass."""
        attempts, bulk = self._settings.attempts, lane is EmbeddingLane.BULK
        waits = waits_of(attempts) if bulk else QUESTION_WAITS[: attempts - 1]
        for attempt, wait in enumerate((*waits, None), 1):
            try:
                found = await self._ask_addresses(texts, self._settings.seconds if bulk else QUESTION_SECONDS)
                break
            except Transient as error:
                log.warning("embedding: attempt %d/%d failed: %s", attempt, len(waits) + 1, error)
                seconds = None if wait is None else retry_pause(wait, error, self._chance())
                if seconds is None:
                    error.tried_again = True
                    raise
            await self._sleep(seconds)
        self._learn_dimension(found.shape[1])
        return normalize_rows(found)

    async def _ask_addresses(self, texts: Sequence[str], seconds: float) -> NDArray[np.float32]:
        """At the address that answers; which one it is, the first answer tells."""
        away: _Elsewhere | None = None
        for url in self._urls:
            try:
                found = await self._post_texts(url, texts, seconds)
            except _Elsewhere as error:
                away = away or error
                continue
            self._urls = (url,)
            return found
        assert away is not None, "there is an address"
        raise away

    async def _post_texts(self, url: str, texts: Sequence[str], seconds: float) -> NDArray[np.float32]:
        key = self._settings.api_key
        body = {"model": self._settings.model, "input": list(texts), "encoding_format": "float"}
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        how: Any = {"timeout": httpx2.Timeout(seconds, connect=min(seconds, 10)), "follow_redirects": False}
        asked = self._client.stream("POST", url, json=body, headers=headers, **how)
        try:
            async with asyncio.timeout(seconds), asked as response:
                data = await read_bounded(response, "the embedding server")
        except (httpx2.TimeoutException, TimeoutError) as error:
            raise Unavailable(f"the embedding server did not answer within {seconds:g} s") from error
        except (httpx2.RequestError, httpx2.InvalidURL) as error:
            raise Unavailable(f"the embedding server cannot be reached: {mask_key(str(error), key)[:200]}") from error
        if response.status_code != 200:
            raise _refusal_error(response, data, key)
        return _parse_vectors(data, len(texts))

    def _learn_dimension(self, dimension: int) -> None:
        if self._facts is None:
            settings = self._settings  # its address is no part of the stamp: the server may move
            stamp = encoder_fingerprint("api", settings.model, dimension, *prefix_parts(settings))
            prefixes = settings.query_prefix, settings.passage_prefix
            self._facts = EmbedderFacts(settings.model, dimension, settings.window, stamp, *prefixes)
        elif dimension != self._facts.dimension:
            numbers = f"{dimension} dimensions now and gave {self._facts.dimension} before"
            raise Unusable(f"the embedding server gives {numbers}: its model is another one")


class _Elsewhere(Unusable):
    """This connection cannot be used as it is: its address or its model's name is wrong (404, 405)."""


def _embedding_urls(base_url: str) -> tuple[str, ...]:
    """Candidate URLs for embeddings: of a URL without a path, as Ollama's is mostly given, below /v1 first."""
    plain = base_url.rstrip("/")
    if plain.count("/") > 2 and detect_provider(base_url) is not Provider.OLLAMA:
        return (f"{plain}/embeddings",)
    return tuple(f"{base}/embeddings" for base in candidate_urls(base_url, detect_provider(base_url)))


def _refusal_error(response: httpx2.Response, data: bytes, key: str | None) -> AosError:
    said = of_status(response.status_code, mask_key(data[:300].decode(errors="replace"), key), response.headers)
    return _Elsewhere(f"{said.detail}, at {response.url.path}") if response.status_code in (404, 405) else said


def _parse_vectors(data: bytes, count: int) -> NDArray[np.float32]:
    """The vectors in the order of the texts, by the index that each names.

    Raises Unavailable: it is no such list, or a vector is empty, endless, or nothing.
    """
    try:
        rows = json.loads(data)["data"]
        by_index: dict[Any, Any] = {row.get("index", at): row["embedding"] for at, row in enumerate(rows)}
        with np.errstate(over="ignore"):  # becomes infinite, and that is refused
            found = np.array([by_index[at] for at in range(count)], dtype=np.float32)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError) as error:
        raise Unavailable(f"the embedding server sent no vectors ({type(error).__name__})") from error
    if len(rows) != count or found.ndim != 2 or not found.size or not np.isfinite(found).all():
        raise Unavailable("the embedding server sent vectors that are none, or not one for each text")
    if not found.any(axis=1).all():
        raise Unavailable("the embedding server sent a vector of zeros")
    return found
