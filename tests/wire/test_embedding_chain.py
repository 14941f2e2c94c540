"""The embedding chain over real HTTP: who is asked, who is taken, and what is kept of it."""

import asyncio
import socket
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest

from cluster.basics.errors import Unavailable
from cluster.models.embedding.embedders import open_embedder
from cluster.models.embedding.provider_chain import (
    OLLAMA_MODEL,
    PROBE_SECONDS,
    EmbeddingProvider,
    choose_provider,
    embedding_settings,
)
from cluster.models.ports import EmbeddingLane
from configs.sections import LlmSettings
from configs.sections_retrieval import EmbeddingSettings
from configs.settings import load_settings
from tests.fakes.model_server import serve_model

LLM = LlmSettings(base_url="https://llm.example/v1", model="chat", api_key="sk-llm")
LOCAL = EmbeddingProvider("local", None, "packaged")


async def choose(ollama: str, llm: LlmSettings = LLM, *, indexed: bool = False, **settings: Any) -> EmbeddingProvider:
    async with httpx2.AsyncClient(trust_env=False) as client:
        return await choose_provider(EmbeddingSettings(**settings), llm, client, indexed=indexed, ollama=ollama)


async def test_em_01_a_named_server_is_taken_and_nobody_is_asked() -> None:
    with serve_model(ollama=True, models=[OLLAMA_MODEL], prefixes=("/v1",)) as model:
        found = await choose(_root(model.url), base_url="http://embed.example/v1", model="m")
        assert found == EmbeddingProvider("explicit", "http://embed.example/v1", "m")
        assert await choose(_root(model.url), detect=False) == LOCAL
        assert not model.requests


async def test_em_01_ollama_on_this_machine_is_detected_and_embeds() -> None:
    with serve_model(ollama=True, models=["qwen2.5:7b", OLLAMA_MODEL], prefixes=("/v1",)) as model:
        found = await choose(_root(model.url))
        assert found == EmbeddingProvider("ollama", _root(model.url), OLLAMA_MODEL)
        embedder = open_embedder(EmbeddingSettings(base_url=found.base_url, model=found.model))
        assert (await embedder.embed(["pump", "oil"])).shape == (2, 8)
        named = await choose(_root(model.url), model="qwen2.5:7b")
        assert named == EmbeddingProvider("ollama", _root(model.url), "qwen2.5:7b")


async def test_em_01_ollama_without_the_model_or_after_an_index_was_made_is_left_alone() -> None:
    """The index was made with the packaged model: questions by another would find nothing."""
    with serve_model(ollama=True, models=["qwen2.5:7b"], prefixes=("/v1",)) as model:
        assert await choose(_root(model.url)) == LOCAL
    with serve_model(ollama=True, models=[OLLAMA_MODEL], prefixes=("/v1",)) as model:
        assert await choose(_root(model.url), indexed=True) == LOCAL
        named = await choose(_root(model.url), indexed=True, model="text-embedding-9")
        assert named == EmbeddingProvider("local", None, "text-embedding-9")
        assert await choose(_root(model.url), model="packaged") == LOCAL, "it is named"


async def test_em_01_a_named_model_that_is_nowhere_else_is_expected_at_the_language_models_server() -> None:
    nobody = f"http://127.0.0.1:{free_port()}"
    assert await choose(nobody, model="text-embedding-9") == EmbeddingProvider("llm", LLM.base_url, "text-embedding-9")
    assert await choose(nobody) == LOCAL, "a chat model is none of embeddings"
    without = await choose(nobody, LlmSettings(), model="text-embedding-9")
    assert without == EmbeddingProvider("local", None, "text-embedding-9"), "which says what to do when it is opened"


async def test_em_01_a_model_on_this_machine_is_not_looked_for_elsewhere(tmp_path: Path) -> None:
    with serve_model(ollama=True, models=[str(tmp_path)], prefixes=("/v1",)) as model:
        assert await choose(_root(model.url), model=str(tmp_path)) == EmbeddingProvider("local", None, str(tmp_path))


@pytest.mark.parametrize("model", ["/srv/models/gone", "./gone", "../gone", "~/gone"])
async def test_em_01_a_path_is_no_name_for_a_server(model: str) -> None:
    """A folder that is not there is a mistake to be told, and none of a server's business."""
    with serve_model(ollama=True, models=[model], prefixes=("/v1",)) as server:
        assert await choose(_root(server.url), model=model) == EmbeddingProvider("local", None, model)
        assert not server.requests


@pytest.mark.parametrize("body", ["endless", "slow"])
async def test_what_sends_without_end_is_no_ollama_and_keeps_nobody_waiting(body: str) -> None:
    sent = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n")
        part = b" " * (65_536 if body == "endless" else 1)
        while not writer.is_closing() and sent < 200_000_000:
            writer.write(part)
            sent += len(part)
            try:
                await writer.drain()
            except ConnectionError:
                break
            await asyncio.sleep(0 if body == "endless" else 0.2)

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    began = time.monotonic()
    assert await choose(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}") == LOCAL
    server.close()
    assert time.monotonic() - began < PROBE_SECONDS + 1.5 and sent < 50_000_000


@pytest.mark.parametrize(
    "said",
    [
        b'HTTP/1.1 200 OK\r\ncontent-length: 23\r\n\r\n{"models": [{"x": "1"}]}',
        b'HTTP/1.1 200 OK\r\ncontent-length: 16\r\n\r\n{"models": "no"}',
        b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n\xff\xfe{",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]",
        b"HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:9/\r\ncontent-length: 0\r\n\r\n",
        b"SSH-2.0-nothing\r\n",
        b"",
    ],
)
async def test_what_answers_like_no_ollama_is_none(said: bytes) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(said)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        assert await choose(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}") == LOCAL


async def test_em_02_a_server_that_was_detected_and_is_away_is_an_error_and_no_reason_for_another() -> None:
    away = EmbeddingSettings(base_url=f"http://127.0.0.1:{free_port()}", model=OLLAMA_MODEL, detected="ollama")
    embedder = open_embedder(away.model_copy(update={"attempts": 1}))
    with pytest.raises(Unavailable):
        await embedder.embed(["pump"], EmbeddingLane.BULK)


def test_the_language_models_key_goes_to_its_own_server_only() -> None:
    environment = {"LLM_BASE_URL": "https://llm.example/v1", "LLM_API_KEY": "sk-llm", "EMBEDDING_MODEL": "e"}
    named = {"EMBEDDING_BASE_URL": "https://embed.example/v1"}
    assert embedding_settings(load_settings(environment | named)).api_key is None
    found = load_settings(
        environment | {"EMBEDDING_BASE_URL": "https://llm.example/v1", "AOS_EMBEDDING_DETECTED": "llm"}
    )
    assert embedding_settings(found).api_key == "sk-llm"


@pytest.mark.parametrize("changed", ["EMBEDDING_BASE_URL", "LLM_BASE_URL"])
def test_the_language_models_key_stays_away_from_a_server_that_was_changed_since(changed: str) -> None:
    """Its server was detected for embeddings once; by now one of both is another."""
    urls = dict.fromkeys(("LLM_BASE_URL", "EMBEDDING_BASE_URL"), "https://llm.example/v1")
    told = {"LLM_API_KEY": "sk-llm", "EMBEDDING_MODEL": "e", "AOS_EMBEDDING_DETECTED": "llm"}
    found = load_settings(urls | told | {changed: "https://other.example/v1"})
    assert embedding_settings(found).api_key is None


@pytest.mark.parametrize(
    ("environment", "runtime"),
    [
        ({}, "both"),
        ({"AOS_EMBEDDING_RUNTIME": "torch"}, "torch"),
        ({"AOS_PROFILE": "light"}, "numpy"),
        ({"AOS_RAY_NUM_GPUS": "1"}, "torch"),
        ({"AOS_EMBEDDING_GPU": "true"}, "torch"),
        ({"RAY_ADDRESS": "ray://head:10001"}, "torch"),
        ({"AOS_EMBEDDING_PLACEMENT": "inproc"}, "torch"),
        ({"EMBEDDING_MODEL": "/nowhere/at/all"}, "torch"),
        ({"EMBEDDING_BASE_URL": "https://embed.example/v1", "EMBEDDING_MODEL": "e"}, "torch"),
    ],
)
def test_torch_is_there_all_the_time_where_a_gpu_or_a_cluster_is(environment: dict[str, str], runtime: str) -> None:
    assert embedding_settings(load_settings(environment)).runtime == runtime


def _root(url: str) -> str:
    return url.removesuffix("/v1")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])
