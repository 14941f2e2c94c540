"""What the vLLM application is made of and where it is deployed; neither vLLM nor Ray is started."""

import sys
from typing import Any

import httpx
import pytest

from cluster import deploy
from cluster.basics.errors import InvalidSettings
from configs.settings import InvalidConfiguration, load_settings
from serve_apps import llm

HERE = {"AOS_VLLM_MODEL": "/weights/Qwen2.5-7B", "AOS_VLLM_GPU": "false", "AOS_RAY_NUM_CPUS": "16"}


def planned(environment: dict[str, str]) -> dict[str, Any]:
    return {app["name"]: app for app in deploy.deployment_plan(load_settings(environment))["applications"]}


def test_it_is_deployed_only_with_a_model_and_beside_the_gateway() -> None:
    assert "llm" not in planned({})
    app = planned(HERE)["llm"]
    assert (app["route_prefix"], app["import_path"]) == ("/llm", "serve_apps.llm:build")


def test_importing_it_needs_no_vllm() -> None:
    assert "vllm" not in sys.modules and "ray.serve.llm" not in sys.modules


def test_settings_become_the_engine_on_a_cpu() -> None:
    env = HERE | {
        "AOS_VLLM_ENGINE": "max_model_len=2048,dtype=bfloat16,enforce_eager=true",
        "AOS_VLLM_MIN_REPLICAS": "0",
        "AOS_VLLM_MAX_REPLICAS": "3",
    }
    made = llm.llm_config(load_settings(env))
    assert made["model_loading_config"] == {"model_id": "Qwen2.5-7B", "model_source": "/weights/Qwen2.5-7B"}
    assert made["accelerator_config"] == {"kind": "cpu"}
    assert made["engine_kwargs"] == {
        "tensor_parallel_size": 1,
        "max_model_len": 2048,
        "dtype": "bfloat16",
        "enforce_eager": True,
    }
    scaling = made["deployment_config"]["autoscaling_config"]
    assert (scaling["min_replicas"], scaling["max_replicas"]) == (0, 3)
    assert made["runtime_env"]["env_vars"]["HF_HUB_OFFLINE"] == "1"
    assert (
        llm.llm_config(load_settings(env | {"AOS_VLLM_DOWNLOAD": "true"}))["runtime_env"]["env_vars"]["HF_HUB_OFFLINE"]
        == "0"
    )
    named = llm.llm_config(load_settings(env | {"AOS_VLLM_NAME": "house"}))
    assert named["model_loading_config"]["model_id"] == "house"
    with pytest.raises(InvalidSettings):
        llm.llm_config(load_settings({}))
    with pytest.raises(InvalidConfiguration, match=r"vllm\.engine"):
        load_settings({"AOS_VLLM_ENGINE": "max_model_len"})


def test_gpus_are_taken_whole_and_the_rest_is_shared() -> None:
    env = {"AOS_VLLM_MODEL": "m", "AOS_RAY_NUM_GPUS": "3", "AOS_VLLM_TENSOR_PARALLEL": "2"}
    made = llm.llm_config(load_settings(env))
    assert made["accelerator_config"] == {"kind": "gpu"} and made["engine_kwargs"]["tensor_parallel_size"] == 2
    (embedder,) = planned(env)["embedding"]["deployments"]
    assert embedder["ray_actor_options"]["num_gpus"] == 0.2, "two embedders, a worker, two readers share the rest"
    all_taken = env | {"AOS_RAY_NUM_GPUS": "2"}
    (embedder,) = planned(all_taken)["embedding"]["deployments"]
    assert "num_gpus" not in embedder["ray_actor_options"]
    with pytest.raises(InvalidSettings, match="vLLM takes 2"):
        planned(all_taken | {"AOS_EMBEDDING_GPU": "true"})
    for more in ({"AOS_VLLM_MAX_REPLICAS": "2"}, {"AOS_RAY_NUM_GPUS": "0", "AOS_VLLM_GPU": "true"}):
        with pytest.raises(InvalidSettings) as refused:
            planned(env | more)
        assert "AOS_RAY_NUM_GPUS" in refused.value.hint


def test_its_cpus_are_counted_before_anything_would_hang() -> None:
    assert planned(HERE | {"AOS_RAY_NUM_CPUS": "9"})
    with pytest.raises(InvalidSettings, match="num_cpus"):
        planned(HERE | {"AOS_RAY_NUM_CPUS": "9", "AOS_VLLM_MAX_REPLICAS": "2"})


def test_the_network_gets_no_model_without_a_key() -> None:
    env = HERE | {"API_HOST": "0.0.0.0"}
    with pytest.raises(InvalidSettings) as refused:
        planned(env)
    assert "AOS_VLLM_API_KEY" in refused.value.hint
    with_key = env | {"AOS_VLLM_API_KEY": "s3cr3t", "RAY_ADDRESS": "10.0.0.7:6399"}
    assert "s3cr3t" not in str(deploy.deployment_plan(load_settings(with_key))), "Ray shows what it is sent"


async def test_only_the_key_opens_the_routes() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"models"})

    transport = httpx.ASGITransport(llm.KeyGuard(app, "k1"))
    async with httpx.AsyncClient(transport=transport, base_url="http://llm.test") as client:
        for headers in ({}, {"Authorization": "Bearer k2"}, {"Authorization": "k1"}, {"Authorization": "Bearer k1 "}):
            answer = await client.get("/v1/models", headers=headers)
            assert (answer.status_code, answer.json()["error"]["type"]) == (401, "invalid_api_key")
        assert (await client.get("/v1/models", headers={"Authorization": "Bearer k1"})).text == "models"
