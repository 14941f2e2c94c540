"""BERT with a mean over its tokens, in numpy alone: no torch, weights as pages of their file, float32."""

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cluster.basics.errors import InvalidSettings
from cluster.models.embedding import weights
from cluster.models.embedding.plain_bert import PlainBert
from cluster.models.embedding.prefixes import prefix_parts
from cluster.models.embedding.sentence_tokens import POLICY, SentenceTokens, Window
from cluster.models.embedding.vector_rows import encoder_fingerprint, normalize_rows
from cluster.models.ports import ENGLISH_MODEL, EmbedderFacts
from configs.sections_retrieval import EmbeddingSettings

Rows = NDArray[np.float32]

# The error function to 1.5e-7: Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26.
_ERF: Final = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)
_ERF_P: Final = 0.3275911
NEAR: Final = 131_072  # numbers that fit the processor's own memory; more, and each step waits for the machine's


class NumpyEncoder:
    """A `WindowEncoder`: what SentenceEncoder gives in float32, rounding aside, so in the same vector space."""

    device = "cpu"

    def __init__(self, settings: EmbeddingSettings) -> None:
        """Map the weights, which takes a tenth of a second.

        Raises InvalidSettings: no such model, or one that is no BERT with a mean over its tokens in float32.
        """
        if settings.gpu is True:
            raise InvalidSettings(
                "embedding.gpu is true, and numpy computes on no GPU", fix="set embedding.runtime to torch"
            )
        folder = weights.locate_weights(settings.model)
        plain = PlainBert.read(folder, settings.model)
        self.layers, self._tokens = NumpyLayers(plain), SentenceTokens(plain.tokenizer(), plain.window)
        name = ENGLISH_MODEL if settings.model == "packaged" else settings.model
        stamp = encoder_fingerprint(weights.weights_digest(folder), POLICY, plain.window, *prefix_parts(settings))
        prefixes = settings.query_prefix, settings.passage_prefix
        self.facts = EmbedderFacts(name, plain.width, plain.window, stamp, *prefixes)

    def windows(self, texts: Sequence[str]) -> list[list[Window]]:
        """The tokens of each text, in windows that the model can read whole; at least one each."""
        return self._tokens.windows(texts)

    def encode(self, windows: Sequence[Window]) -> Rows:
        """Vectors of length 1: shape (len(windows), dimension)."""
        return normalize_rows(np.stack([rows.mean(axis=0) for rows in self.layers(windows)]))


class NumpyLayers:
    """The last layer of a BERT for windows of any lengths."""

    def __init__(self, plain: PlainBert) -> None:
        """Nothing is read of the weights but the places of tokens."""
        self._weights, self._heads = plain.tensors, plain.heads
        self._depth, self._epsilon = plain.layers, np.float32(plain.epsilon)
        self._places = self._weights["embeddings.position_embeddings.weight"][: plain.window].copy()
        self._places += self._weights["embeddings.token_type_embeddings.weight"][0]

    def __call__(self, windows: Sequence[Window]) -> list[Rows]:
        """For each window its tokens' vectors: shape (len(window), width)."""
        order = sorted(range(len(windows)), key=lambda at: len(windows[at]))
        lengths = [len(windows[at]) for at in order]
        groups = [(len(list(same)), length) for length, same in groupby(lengths)]
        ids = np.array([token for at in order for token in windows[at]])
        x = self._weights["embeddings.word_embeddings.weight"][ids]
        x += self._places[np.concatenate([np.arange(length) for length in lengths])]
        x = self._norm(x, "embeddings.LayerNorm")
        for layer in range(self._depth):
            x = self._layer(x, f"encoder.layer.{layer}", groups)
        rows = dict(zip(order, np.split(x, np.cumsum(lengths)[:-1]), strict=True))
        return [rows[at] for at in range(len(windows))]

    def _layer(self, x: Rows, name: str, groups: Sequence[tuple[int, int]]) -> Rows:
        told = self._attend_windows(x, f"{name}.attention.self", groups)
        x = self._norm(self._linear(told, f"{name}.attention.output.dense") + x, f"{name}.attention.output.LayerNorm")
        inner = self._linear(x, f"{name}.intermediate.dense")
        for start in range(0, len(inner), NEAR // inner.shape[1]):
            block = inner[start : start + NEAR // inner.shape[1]]
            block[:] = _gelu(block)
        return self._norm(self._linear(inner, f"{name}.output.dense") + x, f"{name}.output.LayerNorm")

    def _attend_windows(self, x: Rows, name: str, groups: Sequence[tuple[int, int]]) -> Rows:
        """Self-attention of each token within its window; `groups` are (windows, tokens of each)."""
        asks = [self._linear(x, f"{name}.{part}") for part in ("query", "key", "value")]
        asks[0] *= np.float32(1 / math.sqrt(x.shape[1] // self._heads))
        taken, start = np.empty_like(x), 0
        for count, length in _near_blocks(groups, self._heads):
            end = start + count * length
            query, key, value = (
                one[start:end].reshape(count, length, self._heads, -1).transpose(0, 2, 1, 3) for one in asks
            )
            scores = query @ key.transpose(0, 1, 3, 2)
            scores -= scores.max(axis=-1, keepdims=True)
            np.exp(scores, out=scores)
            told = (scores @ value) / scores.sum(axis=-1, keepdims=True)
            taken[start:end] = told.transpose(0, 2, 1, 3).reshape(end - start, -1)
            start = end
        return taken

    def _linear(self, x: Rows, name: str) -> Rows:
        product: Rows = x @ self._weights[f"{name}.weight"].T
        product += self._weights[f"{name}.bias"]
        return product

    def _norm(self, x: Rows, name: str) -> Rows:
        x = x - x.mean(axis=-1, keepdims=True)
        x /= np.sqrt(np.square(x).mean(axis=-1, keepdims=True) + self._epsilon)
        x *= self._weights[f"{name}.weight"]
        x += self._weights[f"{name}.bias"]
        return x


def _near_blocks(groups: Sequence[tuple[int, int]], heads: int) -> Iterator[tuple[int, int]]:
    """The same windows in groups whose attention is near to the processor while it is worked on."""
    for count, length in groups:
        most = max(1, NEAR // (heads * length * length))
        yield from ((min(most, count - start), length) for start in range(0, count, most))


def _gelu(x: Rows) -> Rows:
    """x·(1 + erf(x/√2))/2."""
    at = np.abs(x)
    at *= np.float32(1 / math.sqrt(2))
    t = 1 / (1 + np.float32(_ERF_P) * at)
    sums = np.full_like(t, _ERF[0])
    for factor in _ERF[1:]:
        sums *= t
        sums += np.float32(factor)
    sums *= t
    np.square(at, out=at)
    np.negative(at, out=at)
    sums *= np.exp(at, out=at)
    found = np.copysign(1 - sums, x)
    found += 1
    found *= x
    found *= np.float32(0.5)
    return found
