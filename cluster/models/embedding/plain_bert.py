"""The folder of a BERT whose vectors are the mean of its tokens: what it says, and its weights as pages of the file."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from cluster.basics.errors import InvalidSettings
from cluster.models.embedding import weights

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MODULES: Final = ("Transformer", "Pooling", "Normalize")  # of sentence-transformers, in this order
TOKENIZERS: Final = ("BertTokenizer", "BertTokenizerFast")
MEAN: Final = "pooling_mode_mean_tokens"
_FIX: Final = "set embedding.runtime to torch"


@dataclass(frozen=True, slots=True)
class PlainBert:
    """A model that needs no library to be read.

    Attributes:
        tensors: by their names in `BertModel`; float32, read from the file as they are used.
        window: how many tokens it reads.
    """

    folder: Path
    tensors: Mapping[str, NDArray[np.float32]]
    window: int
    width: int
    heads: int
    layers: int
    epsilon: float

    @classmethod
    def read(cls, folder: Path, model: str) -> "PlainBert":
        """Of a folder in the layout of sentence-transformers; `model` is what the settings call it.

        Raises InvalidSettings: it is another kind of model, or not in float32.
        """
        config, window = _read_configuration(folder, model)
        _require_same_tokens(folder, model)
        return cls(
            folder,
            _map_tensors(folder / "model.safetensors", model),
            window,
            int(config["hidden_size"]),
            int(config["num_attention_heads"]),
            int(config["num_hidden_layers"]),
            float(config.get("layer_norm_eps", 1e-12)),
        )

    def tokenizer(self) -> "Tokenizer":
        """Its own."""
        from tokenizers import Tokenizer

        return Tokenizer.from_file(str(self.folder / "tokenizer.json"))


def is_plain(model: str) -> bool:
    """Whether it is a model that `PlainBert` reads, and is here."""
    try:
        PlainBert.read(weights.locate_weights(model), model)
    except InvalidSettings:
        return False
    return True


def _read_configuration(folder: Path, model: str) -> tuple[Mapping[str, Any], int]:
    """Its configuration, and how many tokens it reads. Raises InvalidSettings: it is another kind of model."""
    try:
        config = _read_json(folder / "config.json")
        modules = [one["type"].rpartition(".")[2] for one in _read_json(folder / "modules.json")]
        pooling = _read_json(folder / "1_Pooling" / "config.json")
        window = int(_read_json(folder / "sentence_bert_config.json")["max_seq_length"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise InvalidSettings(f"{model}: what kind of model it is cannot be told: {error}", fix=_FIX) from error
    modes = {name for name, wanted in pooling.items() if name.startswith("pooling_mode_") and wanted}
    wanted = {"model_type": "bert", "hidden_act": "gelu"}
    plain = all(config.get(name) == value for name, value in wanted.items()) and not config.get("is_decoder", False)
    plain = plain and config.get("position_embedding_type", "absolute") == "absolute"
    if not plain or tuple(modules) not in (MODULES, MODULES[:2]) or modes != {MEAN}:
        raise InvalidSettings(f"{model}: is no BERT with a mean over its tokens, or is computed another way", fix=_FIX)
    return config, min(window, int(config["max_position_embeddings"]))


def _require_same_tokens(folder: Path, model: str) -> None:
    """The libraries make a BERT's tokenizer of its configuration, whatever tokenizer.json says of how text is prepared.

    Where the two differ, the same texts would get other tokens, so other vectors, in what is called the same space.

    Raises InvalidSettings: they differ, or it cannot be told.
    """
    try:
        made = _read_json(folder / "tokenizer.json")
        told = _read_json(folder / "tokenizer_config.json")
        same = told["tokenizer_class"] in TOKENIZERS and made["model"]["type"] == "WordPiece"
        same = same and made["pre_tokenizer"]["type"] == "BertPreTokenizer"
        prepared = {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": told.get("tokenize_chinese_chars", True),
            "strip_accents": told.get("strip_accents"),
            "lowercase": told.get("do_lower_case", True),
        }
        same = same and made["normalizer"] == prepared
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise InvalidSettings(f"{model}: how it cuts text cannot be told: {error}", fix=_FIX) from error
    if not same:
        raise InvalidSettings(f"{model}: tokenizer.json is not what its configuration says", fix=_FIX)


def _read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _map_tensors(path: Path, model: str) -> Mapping[str, NDArray[np.float32]]:
    """Each tensor as pages of the file: safetensors' format is a length, a table in JSON, and the bytes.

    Raises InvalidSettings: there is no such file, or it holds other numbers than float32.
    """
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            table = json.loads(file.read(length))
    except (OSError, ValueError) as error:
        raise InvalidSettings(f"{model}: no weights can be read from {path.name}: {error}", fix=_FIX) from error
    table.pop("__metadata__", None)
    used = {name.removeprefix("bert."): entry for name, entry in table.items() if not name.endswith("position_ids")}
    if kinds := {entry["dtype"] for entry in used.values()} - {"F32"}:
        raise InvalidSettings(f"{model}: its weights are {', '.join(sorted(kinds))}, not float32", fix=_FIX)
    whole = np.memmap(path, dtype=np.uint8, mode="r", offset=8 + length)
    return {
        name: np.asarray(whole[slice(*entry["data_offsets"])]).view(np.float32).reshape(entry["shape"])
        for name, entry in used.items()
    }
