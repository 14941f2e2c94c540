"""The embedder and the cross-encoder behind Serve handles keep the contract of the local ones."""

import asyncio
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ray import serve
from ray.serve.handle import DeploymentHandle

from cluster.basics.errors import Invalid, Overloaded, Unavailable
from cluster.handles import HandleEmbedder, HandleReranker, build_embedder, build_reranker, split_messages
from cluster.models.embedding.local import LocalEmbedder
from cluster.models.embedding.migration import EmbedderMoved, EmbedderPair, VectorSpace, select_embedder
from cluster.models.embedding.weights import packaged_folder
from cluster.models.ports import EmbeddingLane
from configs.sections import Settings
from configs.sections_retrieval import EmbeddingSettings, RerankSettings
from serve_apps.embedding import build
from tests.fakes.embedder_contract import assert_tail_embedded, keeps_the_contract
from tests.fakes.models import FakeReranker

pytestmark = pytest.mark.ray


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packaged model with other weights in its last layers."""
    from safetensors.numpy import load_file, save_file

    folder = tmp_path_factory.mktemp("former") / "model"
    shutil.copytree(packaged_folder(), folder)
    (weights,) = folder.glob("*.safetensors")
    save_file({name: -value for name, value in load_file(weights).items()}, weights, metadata={"format": "pt"})
    return folder


@pytest.fixture(scope="module")
def handle(cluster: str, other: Path) -> Iterator[DeploymentHandle[Any]]:
    former = {"env_vars": {"AOS_EMBEDDING_FORMER_MODEL": str(other)}}
    actor = {"num_cpus": 0.1, "runtime_env": former}
    args = {"ray_actor_options": actor, "max_queued_requests": 2, "max_ongoing_requests": 4}
    yield serve.run(build(args), name="embedding", route_prefix=None)
    serve.delete("embedding")


async def test_the_handle_keeps_the_contract(handle: DeploymentHandle[Any]) -> None:
    """EM-06, X-01: the same assertions as for the local embedder, and the same fingerprint and vectors."""
    remote, local = build_embedder(Settings()), LocalEmbedder(EmbeddingSettings())
    assert isinstance(remote, HandleEmbedder)
    await keeps_the_contract(remote)
    await assert_tail_embedded(remote)
    assert await remote.facts() == await local.facts()
    texts = [f"text number {n} {'about pumps ' * n}" for n in range(20)]
    assert (np.sum(await remote.embed(texts) * await local.embed(texts), axis=1) > 0.999).all()


class Updated:
    """A handle that told of another model before its replicas were updated."""

    def __init__(self, handle: DeploymentHandle[Any]) -> None:
        self._handle, self.embed, self.facts = handle, handle.embed, self

    async def remote(self, place: int) -> Any:
        self.facts = self._handle.facts
        return {**await self._handle.facts.remote(place), "fingerprint": "before the update"}


async def test_another_model_than_the_caller_knows_is_not_passed_off_as_it(handle: DeploymentHandle[Any]) -> None:
    """X-04: in the middle of an update nothing is embedded with one model and called by the other's name."""
    remote = HandleEmbedder(Updated(handle))  # type: ignore[arg-type]
    chosen = await select_embedder(remote, VectorSpace("all-MiniLM-L6-v2", 384, "before the update"))
    with pytest.raises(EmbedderMoved):
        await remote.embed(["text"])
    assert await remote.facts() == await LocalEmbedder(EmbeddingSettings()).facts(), "it is asked anew"
    assert (await remote.embed(["text"])).shape == (1, 384)
    for _ in range(2):
        with pytest.raises(EmbedderMoved):
            await chosen.embed(["text"])


async def test_the_embedder_before_is_beside_the_one_of_now(handle: DeploymentHandle[Any], other: Path) -> None:
    """EM-08: each answers for its own index, and who takes the one for the other is told that it has moved."""
    both = build_embedder(Settings(embedding=EmbeddingSettings(former_model=str(other))))
    assert isinstance(both, EmbedderPair)
    now, before = await both.now.facts(), await both.before.facts()
    assert now.fingerprint != before.fingerprint and now == await both.facts()
    chosen = await select_embedder(both, VectorSpace(before.name, before.dimension, before.fingerprint))
    text = ["The pump is red."]
    assert not np.allclose(await chosen.embed(text), await both.embed(text), atol=1e-3)
    with pytest.raises(EmbedderMoved):
        await HandleEmbedder(handle, 0).embed_as(before, text, EmbeddingLane.QUESTION)
    with pytest.raises(Unavailable, match="no embedder before"):
        await HandleEmbedder(handle, 2).facts()


async def test_a_full_queue_is_overloaded(handle: DeploymentHandle[Any]) -> None:
    """Too many callers are told so by name, and those that were let in are served."""
    remote = HandleEmbedder(handle)
    calls = [remote.embed([f"{n} {m} " + "oil pump " * 60 for m in range(24)], EmbeddingLane.BULK) for n in range(24)]
    ends = await asyncio.gather(*calls, return_exceptions=True)
    refused = [end for end in ends if isinstance(end, BaseException)]
    assert refused and all(isinstance(end, Overloaded) for end in refused)
    assert len(refused) < len(ends)


class Dying:
    """Kills its process in the middle of the first `deaths` calls; counts them in a file."""

    def __init__(self, counter: str, deaths: int) -> None:
        self._counter, self._deaths = Path(counter), deaths

    async def score(self, query: str, texts: list[str]) -> Any:
        with self._counter.open("a") as file:
            file.write("x")
        if len(self._counter.read_text()) <= self._deaths:
            # Serve itself sends a request again while the replica has not yet said that it took it.
            await asyncio.sleep(0.5)
            os.kill(os.getpid(), signal.SIGKILL)
        return await FakeReranker().score(query, texts)


@pytest.mark.parametrize("deaths", [1, 2])
async def test_a_killed_replica_is_retried_once(cluster: str, tmp_path: Path, deaths: int) -> None:
    """One death is not seen by the caller; the second is Unavailable."""
    application = serve.deployment(ray_actor_options={"num_cpus": 0.1})(Dying)
    handle = serve.run(application.bind(str(tmp_path / "calls"), deaths), name=f"dying-{deaths}", route_prefix=None)
    remote = HandleReranker(handle)
    try:
        if deaths == 1:
            assert list(await remote.score("oil pump", ["an oil pump", "a cat"])) == [2, 0]
        else:
            with pytest.raises(Unavailable):
                await remote.score("oil pump", ["an oil pump"])
    finally:
        serve.delete(f"dying-{deaths}")


class Refusing:
    """Raises one of our errors, or has a defect."""

    async def score(self, query: str, texts: list[str]) -> Any:
        if query == "defect":
            raise ZeroDivisionError("a defect")
        raise Invalid("no such question")


async def test_what_the_replica_raises_keeps_its_name(cluster: str) -> None:
    application = serve.deployment(ray_actor_options={"num_cpus": 0.1})(Refusing)
    remote = HandleReranker(serve.run(application.bind(), name="refusing", route_prefix=None))
    try:
        with pytest.raises(Invalid, match="no such question"):
            await remote.score("question", ["text"])
        with pytest.raises(ZeroDivisionError):
            await remote.score("defect", ["text"])
    finally:
        serve.delete("refusing")


def test_what_is_not_deployed_is_unavailable(cluster: str) -> None:
    assert build_reranker(Settings()) is None
    with pytest.raises(Unavailable, match="reranker"):
        build_reranker(Settings(rerank=RerankSettings(model="/some/model")))


def test_messages_stay_below_their_limit() -> None:
    texts = ["a" * 300_000] * 20 + ["b"] * 2000 + ["ü" * 3_000_000]
    parts = list(split_messages(texts))
    assert [text for part in parts for text in part] == texts
    assert all(len(part) <= 512 for part in parts)
    assert all(sum(len(t.encode()) for t in part) <= 2 * 2**20 for part in parts[:-1])
