"""How windows of many callers become batches, how large those may be, and who shares whose work."""

import asyncio
import threading
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from cluster.basics.errors import Overloaded, Unavailable
from cluster.models.embedding.local import LocalEmbedder
from cluster.models.embedding.weights import multiplies_bfloat16
from cluster.models.ports import EmbeddingLane
from configs.sections_retrieval import EmbeddingSettings
from tests.fakes.models import FakeEncoder, HeldEncoder

LONG = "word " * 150


def embedder(encoder: FakeEncoder, **settings: object) -> LocalEmbedder:
    return LocalEmbedder(EmbeddingSettings(**settings), encoder)  # type: ignore[arg-type]


async def begun(encoder: FakeEncoder) -> None:
    assert await asyncio.to_thread(encoder.begun.wait, 5)
    await asyncio.sleep(0.02)  # whoever was started meanwhile waits by now


async def test_questions_that_wait_together_share_a_batch() -> None:
    gate = threading.Event()
    encoder = FakeEncoder(window=200, gate=gate)
    shared = embedder(encoder)
    first = asyncio.create_task(shared.embed([LONG]))
    await begun(encoder)
    others = [asyncio.create_task(shared.embed([f"where is pump {n}"])) for n in range(20)]
    await asyncio.sleep(0.02)
    gate.set()
    rows = await asyncio.gather(first, *others)
    assert [len(call) for call in encoder.calls] == [1, 20]
    alone = await embedder(FakeEncoder(window=200)).embed(["where is pump 7"])
    assert np.allclose(rows[8], alone, atol=1e-6)


@pytest.mark.parametrize(("device", "given", "batches"), [("cpu", None, 2), ("cuda", None, 1), ("cuda", 2_048, 2)])
async def test_a_gpu_gets_larger_batches_unless_the_settings_say_otherwise(
    device: str, given: int | None, batches: int
) -> None:
    encoder = FakeEncoder(window=200, device=device)
    await embedder(encoder, batch_tokens=given).embed([f"{LONG}{n}" for n in range(20)])
    assert len(encoder.calls) == batches


async def test_a_batch_holds_no_window_that_is_mostly_padding() -> None:
    encoder = FakeEncoder(window=200)
    await embedder(encoder).embed([LONG, "a b c d", "e f g h", "word " * 80])
    assert [[len(window) for window in call] for call in encoder.calls] == [[150, 80], [4, 4]]


async def test_one_question_does_not_wait_for_all_texts_of_another_caller() -> None:
    """A small upload shares the lane of questions: callers take turns batch by batch."""
    gate = threading.Event()
    encoder = FakeEncoder(window=200, gate=gate)
    shared = embedder(encoder, batch_tokens=300)
    upload = asyncio.create_task(shared.embed([f"{LONG}{n}" for n in range(10)]))
    await begun(encoder)
    question = asyncio.create_task(shared.embed(["where is the pump"]))
    await asyncio.sleep(0.02)
    gate.set()
    await question
    assert not upload.done()
    assert [len(call[0]) for call in encoder.calls][:3].count(4) == 1
    await upload


async def test_the_same_text_is_embedded_once_for_all_who_ask_at_once() -> None:
    gate = threading.Event()
    encoder = FakeEncoder(window=200, gate=gate)
    shared = embedder(encoder)
    callers = [asyncio.create_task(shared.embed(["where is the pump", f"and {n % 2}"])) for n in range(50)]
    await begun(encoder)
    gate.set()
    rows = await asyncio.gather(*callers)
    assert sum(len(call) for call in encoder.calls) == 3
    assert all(np.array_equal(row, rows[n % 2]) for n, row in enumerate(rows))


async def test_who_gives_up_takes_nothing_from_who_waits_for_the_same() -> None:
    gate = threading.Event()
    encoder = FakeEncoder(window=200, gate=gate)
    shared = embedder(encoder)
    leader = asyncio.create_task(shared.embed(["where is the pump"]))
    await begun(encoder)
    follower = asyncio.create_task(shared.embed(["where is the pump"]))
    await asyncio.sleep(0.02)
    leader.cancel()
    await asyncio.sleep(0.02)
    late = asyncio.create_task(shared.embed(["where is the pump"]))
    gate.set()
    assert np.array_equal(await follower, await late)
    assert leader.cancelled() and len(encoder.calls) == 1


async def test_what_nobody_waits_for_any_more_is_not_embedded() -> None:
    gate = threading.Event()
    encoder = FakeEncoder(window=200, gate=gate)
    shared = embedder(encoder, batch_tokens=300)
    other = asyncio.create_task(shared.embed([LONG], EmbeddingLane.BULK))
    await begun(encoder)
    gone = asyncio.create_task(shared.embed([f"{LONG}{n}" for n in range(10)], EmbeddingLane.BULK))
    await asyncio.sleep(0.02)
    gone.cancel()
    await asyncio.sleep(0.02)
    again = asyncio.create_task(shared.embed([f"{LONG}0"], EmbeddingLane.BULK))
    gate.set()
    await asyncio.gather(other, again)
    assert len(encoder.calls) == 2, "the one in work and the one that was asked for again"


async def test_a_question_does_not_wait_for_the_same_text_in_bulk() -> None:
    """Bulk work may be at its end in an hour."""
    encoder = HeldEncoder()
    shared = embedder(encoder, batch_tokens=256)
    bulk = asyncio.create_task(
        shared.embed([f"{LONG}{n}" for n in range(9)] + ["where is the pump"], EmbeddingLane.BULK)
    )
    await begun(encoder)
    await asyncio.wait_for(shared.embed(["where is the pump"]), 5)
    assert not bulk.done() and len(encoder.calls) == 2
    encoder.held.set()
    await bulk


async def test_too_much_waiting_work_is_refused_by_name_and_the_other_lane_is_open() -> None:
    gate = threading.Event()
    encoder = FakeEncoder(window=200, gate=gate)
    shared = embedder(encoder, batch_tokens=256, queue_tokens=400)
    waiting = []
    for n in range(2):
        waiting.append(asyncio.create_task(shared.embed([f"{LONG}{n}{m}" for m in range(3)], EmbeddingLane.BULK)))
        await begun(encoder)
    with pytest.raises(Overloaded, match="tokens wait"):
        await shared.embed(["one more"], EmbeddingLane.BULK)
    question = asyncio.create_task(shared.embed(["where is the pump"]))
    gate.set()
    await asyncio.gather(question, *waiting)
    assert (await shared.embed(["one more"], EmbeddingLane.BULK)).shape == (1, 512)


class Broken(FakeEncoder):
    """Fails, or gives too few rows, for windows of one length."""

    def encode(self, windows: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        vectors = super().encode(windows)
        if any(len(window) == 3 for window in windows):
            raise Unavailable("the model is gone")
        return vectors[:-1] if any(len(window) == 9 for window in windows) else vectors


@pytest.mark.parametrize(("text", "error"), [("a b c", Unavailable), ("a b c d e f g h i", RuntimeError)])
async def test_an_error_of_the_model_reaches_who_waits_and_nobody_else(text: str, error: type[Exception]) -> None:
    shared = embedder(Broken(window=200))
    ends = await asyncio.gather(
        shared.embed([text]), shared.embed([text, LONG]), shared.embed(["word " * 40]), return_exceptions=True
    )
    assert isinstance(ends[0], error) and isinstance(ends[1], error)
    assert isinstance(ends[2], np.ndarray)
    assert (await shared.embed(["quite well"])).shape == (1, 512)


def test_one_embedder_outlives_the_loop_it_was_used_in() -> None:
    shared = embedder(FakeEncoder())
    assert np.array_equal(asyncio.run(shared.embed(["pump"])), asyncio.run(shared.embed(["pump"])))


@pytest.mark.parametrize(
    ("processor", "expected"),
    [
        ({"avx2": True, "avx512_f": True, "avx512_vnni": True, "avx512_bf16": False}, False),
        ({"avx2": True, "avx512_f": True, "avx512_bf16": True, "amx_bf16": False}, True),
        ({"amx_tile": True, "amx_bf16": True}, True),
        ({"architecture": "arm64", "neon": True, "bf16": True}, False),
        ({}, False),
    ],
)
def test_the_number_format_follows_the_processor(processor: dict[str, object], expected: bool) -> None:
    """EM-06: bfloat16 where it is multiplied in hardware as we have measured it, and nowhere else."""
    assert multiplies_bfloat16(processor) is expected
