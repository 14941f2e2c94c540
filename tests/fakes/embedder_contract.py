"""What every embedder has to keep, wherever its model runs."""

import numpy as np

from cluster.models.ports import Embedder, EmbeddingLane

PUMP = "How do I replace the oil of the pump?"
OIL = "To change the pump's oil, drain it first and then fill in 2 litres."
CATS = "Cats sleep for most of the day."


async def keeps_the_contract(embedder: Embedder) -> None:
    facts = await embedder.facts()
    vectors = await embedder.embed([PUMP, OIL, CATS, PUMP], EmbeddingLane.BULK)
    assert vectors.shape == (4, facts.dimension) and vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert np.array_equal(vectors[0], vectors[3])
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.3
    assert (await embedder.embed([])).shape == (0, facts.dimension)
    blank = await embedder.embed(["", "\n", "\u0000\ud7ff 🙂"])
    assert np.isfinite(blank).all() and np.allclose(np.linalg.norm(blank, axis=1), 1, atol=1e-5)


async def assert_tail_embedded(embedder: Embedder) -> None:
    """X-01: a word that stands beyond the window changes the vector, and can be found."""
    filler = "The committee met again and spoke about the budget of the coming year in general terms. " * 30
    tail = "The lighthouse keeper collects rare orchids and tropical butterflies in his greenhouse. " * 8
    plain, with_tail, question = await embedder.embed(
        [filler, filler + tail, "orchids and butterflies in the greenhouse of a lighthouse keeper"]
    )
    assert plain @ with_tail < 0.99
    assert question @ with_tail > question @ plain + 0.1
