"""Models that numpy does not compute are refused by what their folders say, before a weight is read."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cluster.basics.errors import InvalidSettings
from cluster.models.embedding.numpy_bert import NumpyEncoder, _gelu
from cluster.models.embedding.plain_bert import PlainBert
from configs.sections_retrieval import EmbeddingSettings

BERT = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "hidden_size": 8,
    "num_attention_heads": 2,
    "num_hidden_layers": 1,
    "max_position_embeddings": 16,
}
MODULES = [{"type": f"sentence_transformers.models.{name}"} for name in ("Transformer", "Pooling", "Normalize")]
MEAN = {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}


TOKENIZER: dict[str, Any] = {
    "normalizer": {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": None,
        "lowercase": True,
    },
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "model": {"type": "WordPiece"},
}
TOLD = {"tokenizer_class": "BertTokenizer", "do_lower_case": True}


def folder_of(place: Path, config: dict[str, Any], modules: list[dict[str, str]], pooling: dict[str, bool]) -> str:
    (place / "1_Pooling").mkdir(parents=True)
    for name, value in (
        ("config.json", config),
        ("modules.json", modules),
        ("1_Pooling/config.json", pooling),
        ("sentence_bert_config.json", {"max_seq_length": 16}),
        ("tokenizer.json", TOKENIZER),
        ("tokenizer_config.json", TOLD),
    ):
        (place / name).write_text(json.dumps(value))
    return str(place)


@pytest.mark.parametrize(
    ("config", "modules", "pooling"),
    [
        (BERT | {"model_type": "roberta"}, MODULES, MEAN),
        (BERT | {"hidden_act": "relu"}, MODULES, MEAN),
        (BERT | {"is_decoder": True}, MODULES, MEAN),
        (BERT | {"position_embedding_type": "relative_key"}, MODULES, MEAN),
        (BERT, [*MODULES, {"type": "sentence_transformers.models.Dense"}], MEAN),
        (BERT, MODULES, {"pooling_mode_mean_tokens": False, "pooling_mode_cls_token": True}),
        (BERT, MODULES, {"pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": True}),
    ],
)
def test_another_kind_of_model_is_refused_with_what_to_do(
    tmp_path: Path, config: dict[str, Any], modules: list[dict[str, str]], pooling: dict[str, bool]
) -> None:
    model = folder_of(tmp_path / "m", config, modules, pooling)
    with pytest.raises(InvalidSettings, match="no BERT with a mean") as refused:
        NumpyEncoder(EmbeddingSettings(model=model, runtime="numpy"))
    assert "embedding.runtime" in refused.value.hint


def test_weights_in_another_format_are_refused(tmp_path: Path) -> None:
    model = folder_of(tmp_path / "m", BERT, MODULES, MEAN)
    with pytest.raises(InvalidSettings, match="no weights can be read"):
        NumpyEncoder(EmbeddingSettings(model=model, runtime="numpy"))
    head = json.dumps({"x": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}).encode()
    (tmp_path / "m" / "model.safetensors").write_bytes(len(head).to_bytes(8, "little") + head + bytes(4))
    with pytest.raises(InvalidSettings, match="BF16, not float32"):
        NumpyEncoder(EmbeddingSettings(model=model, runtime="numpy"))


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("tokenizer_config.json", {"tokenizer_class": "BertTokenizer", "do_lower_case": False}),
        ("tokenizer_config.json", TOLD | {"strip_accents": False}),
        ("tokenizer_config.json", TOLD | {"tokenizer_class": "XLMRobertaTokenizer"}),
        ("tokenizer_config.json", {}),
        ("tokenizer.json", TOKENIZER | {"normalizer": TOKENIZER["normalizer"] | {"lowercase": False}}),
        ("tokenizer.json", TOKENIZER | {"normalizer": None}),
        ("tokenizer.json", TOKENIZER | {"model": {"type": "Unigram"}}),
        ("tokenizer.json", {}),
    ],
)
def test_a_model_whose_tokens_the_libraries_would_make_otherwise_is_refused(
    tmp_path: Path, name: str, changed: dict[str, Any]
) -> None:
    """The name of the vector space would be the same, and the index mixed."""
    model = folder_of(tmp_path / "m", BERT, MODULES, MEAN)
    with pytest.raises(InvalidSettings, match="no weights can be read"):
        PlainBert.read(tmp_path / "m", model)
    (tmp_path / "m" / name).write_text(json.dumps(changed))
    with pytest.raises(InvalidSettings, match=r"tokenizer\.json is not|how it cuts text"):
        PlainBert.read(tmp_path / "m", model)


def test_a_gpu_is_not_promised() -> None:
    with pytest.raises(InvalidSettings, match="numpy computes on no GPU"):
        NumpyEncoder(EmbeddingSettings(gpu=True, runtime="numpy"))


def test_the_activation_is_that_of_the_paper() -> None:
    """x·Φ(x), by values of Φ from a table (Abramowitz and Stegun, table 26.1)."""
    x = np.array([-3, -1, 0, 0.5, 1, 2], dtype=np.float32)
    phi = np.array([0.00134990, 0.15865525, 0.5, 0.69146246, 0.84134475, 0.97724987], dtype=np.float32)
    assert np.allclose(_gelu(x.copy()), x * phi, atol=5e-7)
