"""The cross-encoder stage: real loading code with a tiny random model; off with a reason without weights."""

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from cluster.basics.scope import Scope, TenantId, WorkspaceId
from cluster.handles import build_reranker
from cluster.models.embedding.weights import packaged_folder
from cluster.models.reranking.configured_model import DEFAULT, is_cached, model_of
from cluster.models.reranking.cross_encoder import CrossEncoderReranker, load_reranker
from configs.sections import Settings
from configs.sections_retrieval import EmbeddingSettings, RerankSettings
from serve_apps.retrieval.search.query import Candidate, SearchQuery
from serve_apps.retrieval.search.rerank import JudgeChain, ModelJudge

INPROC = EmbeddingSettings(placement="inproc")
SCOPE = Scope(TenantId("t"), WorkspaceId("w"))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cross-encoder of some thousand random weights, with MiniLM's vocabulary."""
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("cross-encoder")
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    BertForSequenceClassification(BertConfig(**sizes, num_labels=1)).save_pretrained(folder)
    AutoTokenizer.from_pretrained(packaged_folder()).save_pretrained(folder)
    return folder


async def test_pairs_are_scored_in_order(tiny: Path) -> None:
    judge = load_reranker(RerankSettings(model=str(tiny)))
    texts = ["a pump", "a cat " * 400, "", "a pump"]
    scores = await judge.score("which pump", texts)
    assert scores.shape == (4,) and scores.dtype == np.float32 and np.isfinite(scores).all()
    assert scores[0] == pytest.approx(scores[3], abs=1e-3)
    assert (await judge.score("which pump", [])).shape == (0,)


async def test_a_caller_that_gives_up_loses_its_place_and_what_runs_is_finished_first(tiny: Path) -> None:
    """A thread cannot be stopped: the model stays taken until its work is done, whoever waits for it."""
    judge, gate = CrossEncoderReranker(RerankSettings(model=str(tiny))), threading.Event()
    running = judge._thread.submit(gate.wait, 5)
    gone, following = (asyncio.create_task(judge.score("which pump", ["a pump"])) for _ in range(2))
    await asyncio.sleep(0.02)
    gone.cancel()
    await asyncio.sleep(0.02)
    assert gone.cancelled() and not following.done() and not running.done()
    gate.set()
    assert (await asyncio.wait_for(following, 5)).shape == (1,)


@pytest.mark.parametrize("model", [None, "/nowhere/at/all", "nobody/has-this-model"])
async def test_without_weights_the_stage_is_off_and_says_why(model: str | None) -> None:
    """RE-10: in this process as behind a handle, what was configured and is not there is told."""
    missing = build_reranker(Settings(rerank=RerankSettings(model=model or DEFAULT), embedding=INPROC))
    assert missing is not None
    judges = JudgeChain((ModelJudge(missing, RerankSettings()),), RerankSettings())
    found, state = await judges.order(SCOPE, SearchQuery("which pump"), [Candidate("c", "d")], _texts)
    assert state.startswith("off: ") and (model or DEFAULT) in state and found == [Candidate("c", "d")]


async def _texts(ids: Sequence[str]) -> dict[str, str]:
    return dict.fromkeys(ids, "a pump")


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

    judge = load_reranker(RerankSettings(model=str(tiny)))
    with torch.no_grad():
        for weight in judge._model.model.classifier.parameters():  # type: ignore[attr-defined]
            weight += 5
    scores = await judge.score("which pump", ["a pump", "a cat"])
    assert (scores > 1).any() or (scores < 0).any()
