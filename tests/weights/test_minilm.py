"""The packaged model itself: its contract, its window, its number format, and that it asks nobody."""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest

from cluster.basics.errors import InvalidSettings
from cluster.basics.priority import ProcessPriority
from cluster.models.embedding.assisted_encoder import AssistedEncoder
from cluster.models.embedding.bert import ROWS, padded_rows
from cluster.models.embedding.embedders import open_embedder
from cluster.models.embedding.encoder import SentenceEncoder
from cluster.models.embedding.local import LocalEmbedder
from cluster.models.embedding.weights import packaged_folder
from configs.sections_retrieval import EmbeddingSettings
from serve_apps.wiring.encoder_process import encoder_processes
from tests.fakes.embedder_contract import CATS, OIL, PUMP, assert_tail_embedded, keeps_the_contract

SETTINGS = EmbeddingSettings()


@pytest.fixture(scope="module")
def contacted() -> list[object]:
    """Every address that this process tries to connect to from now on."""
    addresses: list[object] = []

    def listen(event: str, arguments: tuple[object, ...]) -> None:
        if event in ("socket.connect", "socket.getaddrinfo"):
            addresses.append(arguments)

    sys.addaudithook(listen)
    return addresses


@pytest.fixture(scope="module")
def minilm(contacted: list[object]) -> Iterator[LocalEmbedder]:
    yield LocalEmbedder(SETTINGS)


async def test_minilm_keeps_the_contract_without_a_network(minilm: LocalEmbedder, contacted: list[object]) -> None:
    """EM-06, EM-09: 384 dimensions, length 1, and no connection is even tried."""
    facts = await minilm.facts()
    assert (facts.name, facts.dimension, facts.window) == ("all-MiniLM-L6-v2", 384, 256)
    await keeps_the_contract(minilm)
    assert contacted == []


async def test_the_tail_beyond_the_window_is_embedded(minilm: LocalEmbedder) -> None:
    """X-01, EM-07: no text beyond the model's window is left out of the vector."""
    await assert_tail_embedded(minilm)


async def test_the_number_format_hardly_changes_the_vectors(minilm: LocalEmbedder) -> None:
    """EM-06: what `auto` chooses is as good as full precision: another processor can ask the same index."""
    exact = LocalEmbedder(SETTINGS.model_copy(update={"dtype": "float32"}))
    texts = [PUMP, OIL, "Ünïcode 测试 text", "12.5 % of 1,000"]
    assert (np.sum(await minilm.embed(texts) * await exact.embed(texts), axis=1) > 0.999).all()
    half = LocalEmbedder(SETTINGS.model_copy(update={"dtype": "bfloat16"}))
    assert await half.facts() == await exact.facts()


async def test_numpy_makes_the_same_vectors_without_torch(minilm: LocalEmbedder) -> None:
    """Same fingerprint, same windows, same space: one index serves both, whichever made it."""
    light = LocalEmbedder(SETTINGS.model_copy(update={"runtime": "numpy"}))
    exact = LocalEmbedder(SETTINGS.model_copy(update={"dtype": "float32"}))
    assert await light.facts() == await exact.facts()
    texts = [PUMP, OIL, "a", "", "Ünïcode 测试 text \U0001f600", "12.5 % of 1,000", " ".join([PUMP, OIL] * 60)]
    assert light.encoder.windows(texts) == exact.encoder.windows(texts)
    found = await light.embed(texts)
    assert (np.sum(found * await exact.embed(texts), axis=1) > 0.99999).all()
    assert (np.sum(found * await minilm.embed(texts), axis=1) > 0.999).all()
    await keeps_the_contract(light)
    await assert_tail_embedded(light)


async def test_much_work_is_computed_by_torch_in_a_process_of_its_own(minilm: LocalEmbedder) -> None:
    """`runtime: both`: the same vectors, whoever computes; the process ends with the embedder's."""
    settings = SETTINGS.model_copy(update={"runtime": "both"})
    processes = encoder_processes(settings)
    helper = processes[ProcessPriority.NORMAL]
    windows = [window for part in minilm.encoder.windows([PUMP, OIL, " ".join([PUMP, OIL] * 60)]) for window in part]
    try:
        helper.start()
        assert (np.sum(helper.encode(windows) * minilm.encoder.encode(windows), axis=1) > 0.9999).all()
    finally:
        helper.close()
    embedder = open_embedder(settings, helpers=lambda _: processes)
    assert isinstance(embedder, LocalEmbedder) and isinstance(embedder.encoder, AssistedEncoder)
    assert await embedder.facts() == await minilm.facts()
    await keeps_the_contract(embedder)


def test_absent_weights_and_gpus_are_named_with_a_fix(tmp_path: Path) -> None:
    with pytest.raises(InvalidSettings, match="not in the local model cache"):
        LocalEmbedder(SETTINGS.model_copy(update={"model": "nobody/has-this-model"}))
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InvalidSettings):
        LocalEmbedder(SETTINGS.model_copy(update={"model": str(tmp_path)}))
    import torch

    if not torch.cuda.is_available():
        with pytest.raises(InvalidSettings, match="torch sees none"):
            LocalEmbedder(SETTINGS.model_copy(update={"gpu": True}))


async def test_the_quick_way_gives_what_the_library_gives() -> None:
    """EM-06: windows of every length, in any order, in one batch: sentence-transformers' own vectors."""
    from sentence_transformers import SentenceTransformer

    texts = ["pump", OIL, "a " * 250, PUMP, f"{OIL} " * 9, "pump", CATS, ""]
    plain = SentenceTransformer(str(packaged_folder()), local_files_only=True).encode(texts)
    ours = LocalEmbedder(SETTINGS.model_copy(update={"dtype": "float32"}))
    assert isinstance(ours.encoder, SentenceEncoder) and ours.encoder.is_packed
    assert (np.sum(await ours.embed(texts) * plain, axis=1) > 0.9999).all()


def test_a_model_that_the_quick_way_does_not_fit_is_computed_by_the_library() -> None:
    """EM-06: another activation, a decoder, and one that says something else than its weights."""
    import torch
    from transformers import BertConfig, BertModel

    from cluster.models.embedding.bert import PackedBert, pack_bert

    def made(**other: object) -> BertModel:
        torch.manual_seed(0)
        shape = {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
        return BertModel(BertConfig(**shape, intermediate_size=64, **other)).eval()  # type: ignore[arg-type]

    assert pack_bert(made(), "cpu") is not None
    assert pack_bert(made(hidden_act="relu"), "cpu") is None
    assert pack_bert(made(is_decoder=True), "cpu") is None
    assert pack_bert(made(), "cuda") is None
    with torch.inference_mode():
        changed = made()
        quick = PackedBert(changed)
        assert quick.agrees(changed)
        changed.encoder.layer[1].output.dense.weight.add_(0.5 * torch.randn(32, 64))
        assert not quick.agrees(changed)


def test_batches_of_ever_other_lengths_take_no_ever_more_memory() -> None:
    """oneDNN keeps what it makes for each number of rows; a job of thousands of pages has thousands of them."""
    encoder, me = SentenceEncoder(SETTINGS), psutil.Process()
    encoder.encode([[101, *range(2000, 2200), 102]] * 3)
    before = me.memory_info().rss
    for length in range(20, 250, 3):
        encoder.encode([[101, *range(2000, 2000 + length), 102], [101, *range(3000, 3090), 102]])
    grown = (me.memory_info().rss - before) / 2**20
    assert grown < 60, "eighty numbers of rows: 190 MiB where each is kept"


def test_rows_that_fill_a_batch_change_no_vector() -> None:
    encoder = SentenceEncoder(SETTINGS.model_copy(update={"dtype": "float32"}))
    windows = [[101, *range(2000, 2000 + length), 102] for length in (1, 3, 60, 100, 200, 240, 250)]
    together = encoder.encode(windows)
    alone = np.concatenate([encoder.encode([window]) for window in windows])
    assert (np.sum(together * alone, axis=1) > 0.99999).all() and not np.isnan(together).any()


def test_few_numbers_of_rows_are_multiplied() -> None:
    numbers = {padded_rows(count % ROWS) for count in range(1, 20_000)} - {0}
    assert len(numbers) == 11 and all(padded_rows(count) >= count for count in range(1, 20_000))
