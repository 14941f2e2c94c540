"""Late interaction over the tokens of an embedder."""

import numpy as np
import pytest

from cluster.models.embedding.local import LocalEmbedder
from cluster.models.late import LateInteraction
from configs.sections_retrieval import EmbeddingSettings
from tests.fakes.models import FakeEncoder


def late(encoder: FakeEncoder) -> LateInteraction:
    return LateInteraction(LocalEmbedder(EmbeddingSettings(), encoder))


async def test_each_word_of_the_question_counts_by_its_best_match() -> None:
    """RE-10: the mean over the question's tokens of the nearest token of the text."""
    scores = await late(FakeEncoder(window=100)).score("red pump", ["the pump is red", "a pump, a pump", "cats", ""])
    assert scores.tolist() == pytest.approx([1.0, 0.5, 0.0, 0.0])
    assert scores.dtype == np.float32


async def test_what_is_longer_than_the_window_is_read_whole() -> None:
    words = [f"word{n}" for n in range(40)]
    scores = await late(FakeEncoder(window=8)).score(" ".join(words), [" ".join(reversed(words)), "word39"])
    assert scores.tolist() == pytest.approx([1.0, 1 / len(words)], abs=0.05)


async def test_nothing_to_judge_is_no_work() -> None:
    assert (await late(FakeEncoder()).score("pump", [])).shape == (0,)
    assert (await late(FakeEncoder()).score("", ["pump"])).tolist() == [0.0]
