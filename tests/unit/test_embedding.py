"""The local embedder: shape, window, lanes, no network; and its fakes."""

import asyncio
import os
import threading

import numpy as np
import pytest

from cluster.models.embedding.local import LocalEmbedder
from cluster.models.embedding.sentence_tokens import cut_windows
from cluster.models.ports import EmbeddingLane
from configs.sections_retrieval import EmbeddingSettings
from tests.fakes.models import FakeEmbedder, FakeEncoder, HeldEncoder

SETTINGS = EmbeddingSettings()


def test_windows_cover_every_token_and_are_of_like_length() -> None:
    """X-01: for every length around the borders."""
    for length in [0, 1, 253, 254, 255, 256, 480, 492, 493, 508, 1000, 5001]:
        windows = cut_windows(list(range(length)), 254, 16)
        assert {token for window in windows for token in window} == set(range(length))
        sizes = [len(window) for window in windows]
        assert max(sizes) <= 254 and max(sizes) - min(sizes) <= 2
    assert all(len(window) <= 3 for window in cut_windows(list(range(9)), 3, 16))


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


async def test_a_question_waits_for_no_bulk_batch_which_gives_way() -> None:
    """Bulk work has a thread of its own, behind the others of the process where it is not told otherwise."""
    own = os.getpriority(os.PRIO_PROCESS, 0)
    for idle, niceness in ((True, 19), (False, own)):
        encoder = HeldEncoder()
        embedder = LocalEmbedder(SETTINGS.model_copy(update={"batch_tokens": 256}), encoder, idle=idle)
        bulk = asyncio.create_task(embedder.embed([f"{'w ' * 99} {n}" for n in range(10)], EmbeddingLane.BULK))
        assert await asyncio.to_thread(encoder.begun.wait, 5)
        assert (await asyncio.wait_for(embedder.embed(["where is the oil"]), 5)).shape == (1, 512)
        assert not bulk.done() and [len(call[0]) for call in encoder.calls] == [100, 4]
        encoder.held.set()
        await bulk
        assert encoder.niceness == {100: niceness, 4: own}


async def test_a_thread_that_cannot_be_started_is_an_error_and_no_wait() -> None:
    embedder = LocalEmbedder(SETTINGS, FakeEncoder())
    for pool in embedder._batching._threads.values():
        pool.shutdown()
    for lane in (EmbeddingLane.BULK, EmbeddingLane.BULK, EmbeddingLane.QUESTION):
        with pytest.raises(RuntimeError, match="shutdown"):
            await asyncio.wait_for(embedder.embed(["pump"], lane), 5)


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
