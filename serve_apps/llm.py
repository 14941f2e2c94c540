"""The Serve application `llm`: vLLM through ray.serve.llm, OpenAI-compatible under /llm/v1.

ray.serve.llm cannot be imported without vLLM, which lives in an environment of its own (configs/constraints-gpu.txt):
so nothing of it is imported before `build`.
"""

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any

import yaml

from cluster.basics.errors import InvalidSettings
from cluster.deploy import VLLM_INGRESS_CPUS
from configs.sections import Settings, VllmSettings
from configs.settings import load_settings

if TYPE_CHECKING:
    from ray import serve

Message = MutableMapping[str, Any]
App = Callable[[Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]]


class KeyGuard:
    """Answers 401 to whoever does not send the key; ray.serve.llm itself answers everybody."""

    def __init__(self, app: App, key: str) -> None:
        self._app = app
        self._sent = f"Bearer {key}".encode()

    async def __call__(
        self, scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
    ) -> None:
        """ASGI."""
        if scope["type"] != "lifespan":
            sent = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(sent, self._sent):
                body = (
                    b'{"error": {"message": "Send the key of vllm.api_key.", "type": "invalid_api_key", "code": 401}}'
                )
                headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
                await send({"type": "http.response.start", "status": 401, "headers": headers})
                await send({"type": "http.response.body", "body": body})
                return
        await self._app(scope, receive, send)


def llm_config(settings: Settings) -> dict[str, Any]:
    """The arguments of ray.serve.llm.LLMConfig. Raises InvalidSettings: no model is configured."""
    vllm = settings.vllm
    if vllm.model is None:
        raise InvalidSettings("vllm.model is not set", fix="Set AOS_VLLM_MODEL to a path or a hub id.")
    environment = {"HF_HUB_OFFLINE": "0" if vllm.download else "1"}
    on_gpu = vllm.gpu is True or (vllm.gpu == "auto" and settings.ray.num_gpus > 0)
    if not on_gpu:
        # vLLM computes with every core; the cluster-wide OMP_THREAD_LIMIT=1 is for Tesseract.
        environment |= {"OMP_THREAD_LIMIT": "1024"}
    return {
        "model_loading_config": {"model_id": served_name(vllm), "model_source": vllm.model},
        "accelerator_config": {"kind": "gpu" if on_gpu else "cpu"},
        "engine_kwargs": {"tensor_parallel_size": vllm.tensor_parallel} | engine_arguments(vllm),
        "deployment_config": {
            "autoscaling_config": {
                "min_replicas": vllm.min_replicas,
                "max_replicas": vllm.max_replicas,
                "target_ongoing_requests": vllm.target_requests,
            },
            "ray_actor_options": {"num_cpus": vllm.num_cpus},
        },
        "runtime_env": {"env_vars": environment},
    }


def served_name(vllm: VllmSettings) -> str:
    """Model name that clients use: `name`, else the last part of its path or id."""
    return vllm.name or (vllm.model or "").rstrip("/").rpartition("/")[2]


def engine_arguments(vllm: VllmSettings) -> dict[str, Any]:
    """The further arguments of the engine, their values read as YAML."""
    pairs = (part.partition("=") for part in vllm.engine)
    return {name: yaml.safe_load(value) for name, _, value in pairs}


def build(args: dict[str, Any]) -> "serve.Application":
    """The application from settings; `args` are options of the ingress deployment."""
    from ray.serve.llm import LLMConfig, build_openai_app
    from ray.serve.llm.ingress import OpenAiIngress

    class Ingress(OpenAiIngress):
        """Ray's routes behind the key; Serve calls the method below when a replica starts."""

        app: Any  # FastAPI

        async def __serve_build_asgi_app__(self) -> Any:
            # Read here: a class travels through Ray's store with all that it encloses.
            key = load_settings().vllm.api_key
            if key is not None:
                self.app.add_middleware(KeyGuard, key=key)
            return self.app

    return build_openai_app(
        {
            "llm_configs": [LLMConfig(**llm_config(load_settings()))],
            "ingress_cls_config": {"ingress_cls": Ingress},
            "ingress_deployment_config": {
                "autoscaling_config": {"min_replicas": 1, "max_replicas": 1, "target_ongoing_requests": 1000},
                "ray_actor_options": {"num_cpus": VLLM_INGRESS_CPUS},
            }
            | args,
        }
    )
