"""The local embedder: shape, window, lanes, no network; and its fakes."""

import asyncio
import threading

import numpy as np

from cluster.models.embedding import LocalEmbedder
from cluster.models.encoder import cut
from cluster.models.ports import Lane
from configs.sections_retrieval import EmbeddingSettings
from tests.fakes.models import FakeEmbedder, FakeEncoder

SETTINGS = EmbeddingSettings()


def test_windows_cover_every_token_and_are_of_like_length() -> None:
    """X-01: for every length around the borders."""
    for length in [0, 1, 253, 254, 255, 256, 480, 492, 493, 508, 1000, 5001]:
        windows = cut(list(range(length)), 254, 16)
        assert {token for window in windows for token in window} == set(range(length))
        sizes = [len(window) for window in windows]
        assert max(sizes) <= 254 and max(sizes) - min(sizes) <= 2
    assert all(len(window) <= 3 for window in cut(list(range(9)), 3, 16))


async def test_equal_texts_are_embedded_once_and_batches_keep_to_their_budget() -> None:
    encoder = FakeEncoder(window=200)
    embedder = LocalEmbedder(SETTINGS.model_copy(update={"batch_tokens": 256}), encoder)
    texts = [f"{'word ' * (n % 40)}number{n}" for n in range(60)]
    vectors = await embedder.embed(texts + texts)
    assert np.array_equal(vectors[:60], vectors[60:])
    assert sum(map(len, encoder.calls)) == 60 and len(encoder.calls) > 1
    assert all(max(map(len, batch)) * len(batch) <= 256 for batch in encoder.calls)
    alone = [(await embedder.embed([text]))[0] for text in texts]
    assert np.allclose(vectors[:60], alone, atol=1e-6)


async def test_a_question_overtakes_bulk_work() -> None:
    """The question waits for one batch, not for all of them."""
    gate = threading.Event()
    encoder = FakeEncoder(window=200, gate=gate)
    embedder = LocalEmbedder(SETTINGS.model_copy(update={"batch_tokens": 256}), encoder)
    ends: list[str] = []

    async def ask(name: str, texts: list[str], lane: Lane) -> None:
        await embedder.embed(texts, lane)
        ends.append(name)

    bulk = [
        asyncio.create_task(ask(f"bulk {n}", [f"{'w ' * 99} {n} {m}" for m in range(10)], Lane.BULK)) for n in (1, 2)
    ]
    assert await asyncio.to_thread(encoder.begun.wait, 5)
    question = asyncio.create_task(ask("question", ["where is the oil"], Lane.QUESTION))
    given_up = asyncio.create_task(ask("given up", ["never mind"], Lane.QUESTION))
    await asyncio.sleep(0.05)
    given_up.cancel()
    gate.set()
    await asyncio.gather(question, *bulk)
    assert ends[0] == "question" and sorted(ends[1:]) == ["bulk 1", "bulk 2"]
    assert [len(call[0]) for call in encoder.calls][1] == 4, "the question is the second batch"


async def test_a_caller_that_is_gone_does_not_block_the_next() -> None:
    gate = threading.Event()
    embedder = LocalEmbedder(SETTINGS, FakeEncoder(gate=gate))
    gone = asyncio.create_task(embedder.embed(["one"]))
    await asyncio.sleep(0.05)
    gone.cancel()
    following = asyncio.create_task(embedder.embed(["two"]))
    await asyncio.sleep(0.05)
    assert not following.done()
    gate.set()
    assert (await asyncio.wait_for(following, 5)).shape == (1, 512)


async def test_the_fake_embedder_puts_like_texts_together() -> None:
    near, far, question = await FakeEmbedder().embed(["the oil of the pump", "cats sleep all day", "oil for the pump"])
    assert question @ near > question @ far
