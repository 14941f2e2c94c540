"""Replicas follow the load, and models are placed on the GPU that Ray declares."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import ray
from ray import serve
from ray.serve.handle import DeploymentHandle

from cluster.deploy import MODEL_APPLICATIONS, deployment_plan
from cluster.handles import HandleEmbedder
from cluster.models.ports import EmbeddingLane
from configs.sections import OcrSettings, RaySettings, Settings
from configs.sections_retrieval import RerankSettings
from serve_apps.embedding import build

pytestmark = pytest.mark.ray
QUICK = {
    "min_replicas": 1,
    "max_replicas": 2,
    "target_ongoing_requests": 1,
    "upscale_delay_s": 0.5,
    "downscale_delay_s": 1,
    "metrics_interval_s": 0.5,
    "look_back_period_s": 2,
}
TEXTS = [f"{n} " + "the main bearing takes eighteen litres of grease " * 4 for n in range(6)]


class Load:
    """Calls the embedder over and over and keeps count; a call that fails ends it with its error."""

    def __init__(self, embedder: HandleEmbedder) -> None:
        self._embedder = embedder
        self.wanted, self.answered = 0, 0

    async def call(self, number: int) -> None:
        """One of many callers; goes on while that many are wanted."""
        while number < self.wanted:
            vectors = await self._embedder.embed(TEXTS, EmbeddingLane.BULK)
            assert vectors.shape == (len(TEXTS), 384)
            assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)
            self.answered += 1


def running(application: str) -> int:
    """Replicas that serve."""
    (deployment,) = serve.status().applications[application].deployments.values()
    return sum(count for state, count in deployment.replica_states.items() if state == "RUNNING")


async def until(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if await asyncio.to_thread(condition):
            return True
        await asyncio.sleep(0.2)
    return False


async def test_a_second_embedder_replica_comes_and_goes(cluster: str) -> None:
    """Under load there are two, without it one again, and no call fails on the way up or down."""
    args = {"ray_actor_options": {"num_cpus": 0.1}, "autoscaling_config": QUICK}
    handle: DeploymentHandle[Any] = serve.run(build(args), name="scaled", route_prefix=None)
    try:
        load = Load(HandleEmbedder(handle))
        assert running("scaled") == 1
        load.wanted = 4
        async with asyncio.TaskGroup() as callers:
            for number in range(4):
                callers.create_task(load.call(number))
            came = await until(lambda: running("scaled") == 2, 90)
            load.wanted = 1  # somebody still asks while the second replica leaves
            busy = load.answered
            went = await until(lambda: running("scaled") == 1, 60)
            load.wanted = 0
        assert came and went
        assert busy > 4 and load.answered > busy
    finally:
        serve.delete("scaled")


def gpu_settings(gpus: int) -> Settings:
    ocr = OcrSettings(gpu=False)  # who reads would take a part as well, see test_pipelines_ray
    return Settings(ray=RaySettings(num_gpus=gpus), rerank=RerankSettings(model="/models/cross-encoder"), ocr=ocr)


def models(gpus: int) -> dict[str, dict[str, Any]]:
    """The deployments of models as serve.yaml plans them on that many GPUs."""
    return {
        deployment["name"]: deployment
        for app in deployment_plan(gpu_settings(gpus))["applications"]
        if app["name"] in MODEL_APPLICATIONS
        for deployment in app["deployments"]
    }


def share(deployment: dict[str, Any]) -> float:
    return float(deployment["ray_actor_options"].get("num_gpus", 0))


def test_one_gpu_is_shared_by_embedder_and_reranker() -> None:
    """Each gets a part, all replicas there may be fit on it, and without a GPU nobody asks for one."""
    planned = models(1)
    assert planned.keys() == {"Embedder", "Reranker"}
    assert all(share(deployment) > 0 for deployment in planned.values())
    assert sum(share(d) * d["autoscaling_config"]["max_replicas"] for d in planned.values()) <= 1
    assert not any(share(deployment) for deployment in models(0).values())
    others = [
        d
        for app in deployment_plan(gpu_settings(1))["applications"]
        for d in app["deployments"]
        if d["name"] not in planned
    ]
    assert others and not any(share(deployment) for deployment in others)


class Placed:
    """Tells which GPUs Ray has given to its replica."""

    async def gpus(self) -> list[int]:
        return [int(gpu) for gpu in ray.get_gpu_ids()]


async def test_every_model_replica_stands_on_the_declared_gpu(cluster: str) -> None:
    """With one GPU declared, as many replicas as serve.yaml allows run at once, each on GPU 0."""
    assert ray.cluster_resources()["GPU"] == 1
    wanted = {name: d["autoscaling_config"]["max_replicas"] for name, d in models(1).items()}
    handles: dict[str, DeploymentHandle[Any]] = {}
    try:
        for name, deployment in models(1).items():
            made = serve.deployment(
                name=name,
                num_replicas=wanted[name],
                ray_actor_options={**deployment["ray_actor_options"], "num_cpus": 0.1, "runtime_env": {}},
            )(Placed)
            handles[name] = serve.run(made.bind(), name=f"gpu-{name}", route_prefix=None)
        for name, handle in handles.items():
            assert [await handle.gpus.remote() for _ in range(4)] == [[0]] * 4
            assert running(f"gpu-{name}") == wanted[name]
        assert ray.available_resources().get("GPU", 0) < 0.01
    finally:
        for name in handles:
            serve.delete(f"gpu-{name}")
