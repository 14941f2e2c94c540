"""The cross-encoder stage: real loading code with a tiny random model; off with a reason without weights."""

from pathlib import Path

import numpy as np
import pytest

from cluster.models.reranking import load
from cluster.models.weights import packaged
from configs.sections import RerankSettings


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cross-encoder of some thousand random weights, with MiniLM's vocabulary."""
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("cross-encoder")
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    BertForSequenceClassification(BertConfig(**sizes, num_labels=1)).save_pretrained(folder)
    AutoTokenizer.from_pretrained(packaged()).save_pretrained(folder)
    return folder


async def test_pairs_are_scored_in_order(tiny: Path) -> None:
    stage = load(RerankSettings(model=str(tiny)))
    assert stage.reranker is not None and stage.reason == ""
    texts = ["a pump", "a cat " * 400, "", "a pump"]
    scores = await stage.reranker.score("which pump", texts)
    assert scores.shape == (4,) and scores.dtype == np.float32 and np.isfinite(scores).all()
    assert scores[0] == pytest.approx(scores[3], abs=1e-3)
    assert (await stage.reranker.score("which pump", [])).shape == (0,)


@pytest.mark.parametrize("model", [None, "/nowhere/at/all", "nobody/has-this-model"])
def test_without_weights_the_stage_is_off_and_says_why(model: str | None) -> None:
    stage = load(RerankSettings(model=model))
    assert stage.reranker is None and len(stage.reason) > 20
