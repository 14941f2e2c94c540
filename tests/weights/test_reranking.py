"""The cross-encoder stage: real loading code with a tiny random model; off with a reason without weights."""

from pathlib import Path

import numpy as np
import pytest

from cluster.models.rerank_choice import DEFAULT, is_cached, model_of
from cluster.models.reranking import load
from cluster.models.weights import packaged
from configs.sections_retrieval import RerankSettings


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


@pytest.mark.parametrize("weights", ["model.safetensors", "pytorch_model.bin"])
def test_the_default_is_served_wherever_its_weights_are(tmp_path: Path, weights: str) -> None:
    """RE-10, X-23: on where the cache has configuration and weights; on other machines' caches nobody relies."""
    plain = RerankSettings()
    assert model_of(plain, alone=True, cache=tmp_path) is None and not is_cached(DEFAULT, tmp_path)
    snapshot = tmp_path / f"models--{DEFAULT.replace('/', '--')}" / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (snapshot.parents[1] / "refs").mkdir()
    (snapshot.parents[1] / "refs" / "main").write_text("abc", encoding="utf-8")
    (snapshot / "config.json").write_text("{}", encoding="utf-8")
    assert model_of(plain, alone=True, cache=tmp_path) is None
    (snapshot / weights).write_bytes(b"weights")
    assert model_of(plain, alone=True, cache=tmp_path) == DEFAULT
    assert model_of(plain, alone=False, cache=tmp_path) is None
    assert model_of(RerankSettings(download=True), alone=False) == DEFAULT
    assert model_of(RerankSettings(model="/weights"), alone=False) == "/weights"


async def test_scores_are_logits(tiny: Path) -> None:
    """RE-12: a sigmoid would press them together before they are compared."""
    import torch

    reranker = load(RerankSettings(model=str(tiny))).reranker
    assert reranker is not None
    with torch.no_grad():
        for weight in reranker._model.model.classifier.parameters():  # type: ignore[attr-defined]
            weight += 5
    scores = await reranker.score("which pump", ["a pump", "a cat"])
    assert (scores > 1).any() or (scores < 0).any()
