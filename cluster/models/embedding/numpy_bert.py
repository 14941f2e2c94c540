"""BERT with a mean over its tokens, in numpy alone: no torch, weights as pages of their file, float32."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cluster.basics.errors import InvalidSettings
from cluster.models.embedding import weights
from cluster.models.embedding.prefixes import prefix_parts
from cluster.models.embedding.sentence_tokens import POLICY, SentenceTokens, Window
from cluster.models.embedding.vector_rows import encoder_fingerprint, normalize_rows
from cluster.models.ports import ENGLISH_MODEL, EmbedderFacts
from configs.sections_retrieval import EmbeddingSettings

Rows = NDArray[np.float32]

MODULES: Final = ("Transformer", "Pooling", "Normalize")  # of sentence-transformers, in this order
MEAN: Final = "pooling_mode_mean_tokens"
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
        from tokenizers import Tokenizer

        if settings.gpu is True:
            raise InvalidSettings(
                "embedding.gpu is true, and numpy computes on no GPU", fix="set embedding.runtime to torch"
            )
        folder = weights.locate_weights(settings.model)
        config, window = _plain_bert(folder, settings.model)
        self._heads, self._epsilon = int(config["num_attention_heads"]), float(config["layer_norm_eps"])
        self._weights = _map_tensors(folder / "model.safetensors", settings.model)
        self._depth = int(config["num_hidden_layers"])
        self._places = self._weights["embeddings.position_embeddings.weight"][:window].copy()
        self._places += self._weights["embeddings.token_type_embeddings.weight"][0]
        self._tokens = SentenceTokens(Tokenizer.from_file(str(folder / "tokenizer.json")), window)
        name = ENGLISH_MODEL if settings.model == "packaged" else settings.model
        stamp = encoder_fingerprint(weights.weights_digest(folder), POLICY, window, *prefix_parts(settings))
        size = int(config["hidden_size"])
        self.facts = EmbedderFacts(name, size, window, stamp, settings.query_prefix, settings.passage_prefix)

    def windows(self, texts: Sequence[str]) -> list[list[Window]]:
        """The tokens of each text, in windows that the model can read whole; at least one each."""
        return self._tokens.windows(texts)

    def encode(self, windows: Sequence[Window]) -> Rows:
        """Vectors of length 1: shape (len(windows), dimension)."""
        order = sorted(range(len(windows)), key=lambda at: len(windows[at]))
        lengths = [len(windows[at]) for at in order]
        groups = [(len(list(same)), length) for length, same in groupby(lengths)]
        ids = np.array([token for at in order for token in windows[at]])
        x = self._weights["embeddings.word_embeddings.weight"][ids]
        x += self._places[np.concatenate([np.arange(length) for length in lengths])]
        x = self._norm(x, "embeddings.LayerNorm")
        for layer in range(self._depth):
            x = self._layer(x, f"encoder.layer.{layer}", groups)
        starts = np.cumsum([0, *lengths[:-1]])
        means = np.add.reduceat(x, starts, axis=0) / np.array(lengths, dtype=np.float32)[:, None]
        found = np.empty_like(means)
        found[order] = means
        return normalize_rows(found)

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
        x /= np.sqrt(np.square(x).mean(axis=-1, keepdims=True) + np.float32(self._epsilon))
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


def _plain_bert(folder: Path, model: str) -> tuple[Mapping[str, Any], int]:
    """Its configuration, and how many tokens it reads. Raises InvalidSettings: it is another kind of model."""
    fix = "set embedding.runtime to torch"
    try:
        config = _read_json(folder / "config.json")
        modules = [one["type"].rpartition(".")[2] for one in _read_json(folder / "modules.json")]
        pooling = _read_json(folder / "1_Pooling" / "config.json")
        window = int(_read_json(folder / "sentence_bert_config.json")["max_seq_length"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise InvalidSettings(f"{model}: numpy cannot tell what kind of model it is: {error}", fix=fix) from error
    modes = {name for name, wanted in pooling.items() if name.startswith("pooling_mode_") and wanted}
    wanted = {"model_type": "bert", "hidden_act": "gelu"}
    plain = all(config.get(name) == value for name, value in wanted.items()) and not config.get("is_decoder", False)
    plain = plain and config.get("position_embedding_type", "absolute") == "absolute"
    if not plain or tuple(modules) not in (MODULES, MODULES[:2]) or modes != {MEAN}:
        raise InvalidSettings(f"{model}: is no BERT with a mean over its tokens, as numpy computes it", fix=fix)
    return {"layer_norm_eps": 1e-12, **config}, min(window, int(config["max_position_embeddings"]))


def _read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _map_tensors(path: Path, model: str) -> Mapping[str, Rows]:
    """Each tensor as pages of the file: safetensors' format is a length, a table in JSON, and the bytes.

    Raises InvalidSettings: there is no such file, or it holds other numbers than float32.
    """
    fix = "set embedding.runtime to torch"
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            table = json.loads(file.read(length))
    except (OSError, ValueError) as error:
        raise InvalidSettings(f"{model}: numpy reads no weights from {path.name}: {error}", fix=fix) from error
    table.pop("__metadata__", None)
    used = {name.removeprefix("bert."): entry for name, entry in table.items() if not name.endswith("position_ids")}
    if kinds := {entry["dtype"] for entry in used.values()} - {"F32"}:
        raise InvalidSettings(f"{model}: its weights are {', '.join(sorted(kinds))}, not float32", fix=fix)
    whole = np.memmap(path, dtype=np.uint8, mode="r", offset=8 + length)
    return {
        name: np.asarray(whole[slice(*entry["data_offsets"])]).view(np.float32).reshape(entry["shape"])
        for name, entry in used.items()
    }
