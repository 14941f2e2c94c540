"""An embedding server over real HTTP: what it is sent, what is tried again, and what it may not answer."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
import numpy as np
import pytest

from cluster.basics.errors import AosError, Invalid, InvalidSettings, Overloaded, Unavailable
from cluster.basics.retry import MODEL_WAITS, call_with_retries
from cluster.models.embedding.embedders import open_embedder
from cluster.models.embedding.endpoint import TEXTS, ApiEmbedder
from cluster.models.embedding.prefixes import embed_passages, embed_queries
from cluster.models.embedding.vector_rows import encoder_fingerprint
from cluster.models.model_errors import Unusable
from cluster.models.ports import EmbeddingLane
from configs.sections_retrieval import EmbeddingSettings
from tests.fakes.model_server import serve_model
from tests.wire.test_rerank_remote import service

KEY = "sk-embedding-1234"


@dataclass
class Naps:
    taken: list[float] = field(default_factory=list)

    async def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)


@asynccontextmanager
async def opened(url: str, naps: Naps | None = None, **settings: Any) -> AsyncIterator[ApiEmbedder]:
    made = EmbeddingSettings(base_url=url, model="tiny-embedding", api_key=KEY, **settings)
    async with httpx2.AsyncClient(verify=False) as client:
        yield ApiEmbedder(made, client, naps or Naps(), lambda: 0.5)


def vectors(body: Any) -> tuple[int, Any]:
    """Backwards, as the order is the index's: each text by its length and its letters."""
    rows = [
        {"index": at, "embedding": [len(text), ord(text[0]), 1 + text.count("z")]}
        for at, text in enumerate(body["input"])
    ]
    return 200, {"data": rows[::-1]}


async def test_texts_travel_in_batches_and_rows_come_in_order_and_of_length_one() -> None:
    """EM-01: by the server, model and key that the settings name."""
    texts = [f"{chr(97 + n % 20)}{'x' * n}" for n in range(2 * TEXTS + 3)]
    with service(vectors) as server:
        async with opened(server.url) as embedder:
            found = await embedder.embed([*texts, texts[5]], EmbeddingLane.BULK)
            assert (await embedder.embed([])).shape == (0, 3)
            facts = await embedder.facts()
    assert found.shape == (len(texts) + 1, 3) and np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)
    expected = np.array([[len(text), ord(text[0]), 1] for text in texts], dtype=np.float32)
    assert np.allclose(found[:-1], expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-6)
    assert np.array_equal(found[-1], found[5])
    assert (facts.name, facts.dimension) == ("tiny-embedding", 3)
    sent = [body["input"] for _, _, body in server.asked]
    assert sorted(map(len, sent)) == [1, 3, TEXTS, TEXTS], "the first learns the dimension"
    for path, headers, body in server.asked:
        assert path == "/v2/embeddings" and headers["authorization"] == f"Bearer {KEY}"
        assert body["model"] == "tiny-embedding"


async def test_prefixes_go_to_the_server_and_that_of_passages_makes_another_index() -> None:
    """EM-01: a question's and a passage's own; without any, an index is what it was before there were any."""
    stamps = []
    with service(vectors) as server:
        for prefixes in ({}, {"query_prefix": "query: "}, {"passage_prefix": "passage: "}):
            async with opened(server.url, **prefixes) as embedder:
                await embed_queries(embedder, ["where?"])
                await embed_passages(embedder, ["here"], EmbeddingLane.BULK)
                stamps.append((await embedder.facts()).fingerprint)
    sent = [text for _, _, body in server.asked for text in body["input"] if text != "dimension"]
    assert sent == ["where?", "here", "query: where?", "here", "where?", "passage: here"]
    assert stamps[0] == stamps[1] == encoder_fingerprint("api", "tiny-embedding", 3) != stamps[2]


async def test_the_product_s_own_kind_of_server_is_understood() -> None:
    with serve_model() as model:
        async with opened(model.url) as embedder:
            one, two = await embedder.embed(["pump", "oil"])
            again = await embedder.embed(["oil"])
    assert one.shape == (8,) and np.array_equal(two, again[0]) and not np.array_equal(one, two)


async def test_nothing_beyond_the_servers_window_is_lost() -> None:
    """X-01: a server that cuts off silently gets parts that it reads whole; empty texts are not refused."""
    with service(vectors) as server:
        async with opened(server.url, window=64) as embedder:
            head, tail, blank = await embedder.embed(["a" * 300, "a" * 200 + "z" * 100, ""])
    sent = [text for _, _, body in server.asked for text in body["input"]]
    assert max(map(len, sent)) <= 128 and "" not in sent
    assert not np.allclose(head, tail) and np.isfinite(blank).all()


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ((500, {"error": {"message": "crashed"}}), Unavailable),
        ((503, {}), Unavailable),
        ((429, {}), Overloaded),
        ((200, b"no json"), Unavailable),
        ((200, {"data": "none"}), Unavailable),
        ((200, {"data": []}), Unavailable),
        ((200, {"data": [{"index": 7, "embedding": [1, 2]}]}), Unavailable),
        ((200, {"data": [{"index": 0, "embedding": []}]}), Unavailable),
        ((200, {"data": [{"index": 0, "embedding": ["a", 1]}]}), Unavailable),
        ((200, {"data": [{"index": 0, "embedding": [0, 0]}]}), Unavailable),
        ((200, b'{"data": [{"index": 0, "embedding": [NaN, 1]}]}'), Unavailable),
        ((200, {"data": [{"index": 0, "embedding": [1e300, 1]}]}), Unavailable),
        ((200, b"[" * 100_000), Unavailable),
    ],
)
async def test_what_may_pass_is_tried_four_times_and_then_named(
    answer: tuple[int, Any], error: type[AosError], caplog: pytest.LogCaptureFixture
) -> None:
    """EM-03, EM-05, X-07: waits of 2, 4 and 8 s, a warning for each attempt; no other model takes its place (EM-02)."""
    naps = Naps()
    with service(vectors, answer) as server, caplog.at_level(logging.WARNING):
        async with opened(server.url, naps) as embedder:
            await embedder.facts()
            with pytest.raises(error) as raised:
                await embedder.embed(["pump"], EmbeddingLane.BULK)
    assert naps.taken == [2, 4, 8] and len(server.asked) == 5
    assert [record.args[:2] for record in caplog.records] == [(n, 4) for n in (1, 2, 3, 4)]  # type: ignore[index]
    assert KEY not in str(raised.value) and KEY not in caplog.text


async def test_an_indexer_does_not_try_again_what_the_client_has_tried() -> None:
    """EM-03: four requests a batch in all, however many stand above the client."""
    naps = Naps()
    with service(vectors, (503, {})) as server:
        async with opened(server.url, naps) as embedder:
            await embedder.facts()
            with pytest.raises(Unavailable):
                await call_with_retries(
                    lambda: embedder.embed(["pump"], EmbeddingLane.BULK), waits=MODEL_WAITS, sleep=naps
                )
    assert len(server.asked) == 1 + 4 and naps.taken == [2, 4, 8]


@pytest.mark.parametrize(("attempts", "sent"), [(1, 1), (2, 2), (6, 6)])
async def test_the_settings_say_how_often_a_batch_is_sent(attempts: int, sent: int) -> None:
    naps = Naps()
    with service(vectors, (503, {})) as server:
        async with opened(server.url, naps, attempts=attempts) as embedder:
            await embedder.facts()
            with pytest.raises(Unavailable):
                await embedder.embed(["pump"], EmbeddingLane.BULK)
    assert len(server.asked) == 1 + sent


@pytest.mark.parametrize(("prefixes", "path"), [(("/v1",), "/v1/embeddings"), (("/embeddings",), "/embeddings")])
async def test_a_url_without_a_path_is_asked_where_it_answers(prefixes: tuple[str, ...], path: str) -> None:
    """Ollama's is mostly given without /v1; other servers have it at their root. It is found out once."""
    with serve_model(prefixes=prefixes) as model:
        async with opened(model.root) as embedder:
            for _ in range(2):
                assert (await embedder.embed(["pump"])).shape == (1, 8)
    asked = [one.path for one in model.requests]
    assert asked[-3:] == [path] * 3 and len(asked) == 3 + (path == "/embeddings")


async def test_a_server_without_embeddings_anywhere_is_named() -> None:
    with serve_model(prefixes=("/nowhere",)) as model:
        async with opened(model.root) as embedder:
            with pytest.raises(Unusable, match=r"404.*, at /v1/embeddings"):
                await embedder.facts()


async def test_a_question_is_tried_twice_and_a_recovery_is_used() -> None:
    naps = Naps()
    with service(vectors, (500, {}), vectors) as server:
        async with opened(server.url, naps) as embedder:
            await embedder.facts()
            assert (await embedder.embed(["pump"])).shape == (1, 3)
    assert naps.taken == [0.5]


@pytest.mark.parametrize(
    ("status", "error"), [(400, Invalid), (401, Unusable), (404, Unusable), (422, Invalid), (302, Unusable)]
)
async def test_what_does_not_pass_fails_at_once(status: int, error: type[AosError]) -> None:
    """EM-05: other 4xx fail fast; what the server repeats of the key is not passed on, and no redirect is followed."""
    naps = Naps()
    with service((status, {"error": f"bad key {KEY}"})) as server:
        async with opened(server.url, naps) as embedder:
            with pytest.raises(error) as raised:
                await embedder.embed(["pump"], EmbeddingLane.BULK)
    assert naps.taken == [] and len(server.asked) == 1 and KEY not in str(raised.value)


async def test_a_model_that_was_replaced_behind_the_name_is_refused() -> None:
    """X-04: vectors of two dimensions never meet in one index."""
    with service(vectors, vectors, (200, {"data": [{"index": 0, "embedding": [1, 2]}]})) as server:
        async with opened(server.url) as embedder:
            await embedder.embed(["pump"])
            with pytest.raises(Unusable, match="2 dimensions now and gave 3 before"):
                await embedder.embed(["oil"])


async def test_a_server_that_hangs_or_is_away_is_unavailable() -> None:
    """EM-04: after the time that the settings give."""

    async def silent(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(5)
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with opened(url, seconds=0.1) as embedder:
        with pytest.raises(Unavailable, match=r"within 0\.1 s"):
            await embedder._request(["pump"], EmbeddingLane.BULK)
    server.close()
    async with opened(url) as embedder:
        with pytest.raises(Unavailable, match="cannot be reached"):
            await embedder.embed(["pump"])


def test_a_server_without_the_name_of_a_model_is_no_setting() -> None:
    with pytest.raises(InvalidSettings, match="no model of that server"):
        open_embedder(EmbeddingSettings(base_url="http://127.0.0.1:9/v1"))
    assert isinstance(open_embedder(EmbeddingSettings(base_url="http://127.0.0.1:9/v1", model="m")), ApiEmbedder)
