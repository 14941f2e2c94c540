"""Probing real sockets: which address answers, and why none does."""

import socket
import time
from dataclasses import replace

import httpx2
import pytest

from cluster.models.connections.endpoint_connection import (
    AuthMode,
    ConnectionId,
    ModelConnection,
    Provider,
    detect_provider,
)
from cluster.models.connections.probe import ProbeFailure, ProbeResult, probe_connection
from tests.fakes.model_server import serve_model
from tests.fakes.model_wires import Say, failing


def at(url: str, provider: Provider | None = None, model: str = "scripted-1") -> ModelConnection:
    mode = AuthMode.API_KEY if provider in (Provider.ANTHROPIC, Provider.AZURE) else AuthMode.BEARER
    return ModelConnection(ConnectionId("1"), "c", url, model, provider or detect_provider(url), mode)


async def found(connection: ModelConnection, key: str | None = "sk-secret", seconds: float = 5) -> ProbeResult:
    async with httpx2.AsyncClient(verify=False) as client:
        return await probe_connection(connection, key, client, seconds, time.monotonic)


async def test_mr_10_candidates_are_tried_until_one_answers() -> None:
    """MR-10: as given, with /v1, from the URL of a call, or without /v1."""
    with serve_model(key="sk-secret") as server:
        for url in (server.root, server.url, f"{server.url}/chat/completions", f"{server.root}/v1/completions"):
            assert (await found(at(url))).endpoint == server.url
    with serve_model(prefixes=("/llm/models", "/llm/chat")) as server:
        result = await found(at(f"{server.root}/llm"))
        assert (result.ok, result.endpoint) == (True, f"{server.root}/llm")
        # The likelier one is asked first: for its models, then with an empty chat, before it is given up.
        assert [a.path for a in server.requests] == ["/llm/v1/models", "/llm/v1/chat/completions", "/llm/models"]


@pytest.mark.parametrize("provider", [Provider.OPENAI, Provider.ANTHROPIC, Provider.AZURE, Provider.COHERE])
async def test_models_and_latency_are_told(provider: Provider) -> None:
    with serve_model(key="sk-secret", models=("scripted-1", "other")) as server:
        result = await found(at(server.root, provider))
        assert result.ok and result.ms > 0 and result.models == ("scripted-1", "other")
        assert result.model_listed is (None if provider is Provider.AZURE else True)
        missing = await found(replace(at(server.root, provider), model="absent"))
        assert missing.ok and missing.model_listed is (None if provider is Provider.AZURE else False)


async def test_ollama_is_asked_for_its_tags() -> None:
    """MR-10: GET /api/tags, then /v1/models."""
    with serve_model(ollama=True, models=("qwen:latest",)) as server:
        result = await found(at(server.root, Provider.OLLAMA, model="qwen"))
        assert (result.endpoint, result.models, result.model_listed) == (server.url, ("qwen:latest",), True)
        assert [asked.path for asked in server.requests] == ["/api/tags"]


async def test_an_endpoint_without_a_list_of_models_is_known_by_its_refusal() -> None:
    with serve_model(Say(status=422, body={"detail": "messages: field required"}), models=None) as server:
        result = await found(at(server.url))
    assert (result.ok, result.endpoint, result.models, result.model_listed) == (True, server.url, (), None)


@pytest.mark.parametrize(
    ("say", "reason"),
    [
        (failing(401, "bad key sk-secret"), ProbeFailure.UNAUTHORIZED),
        (failing(403), ProbeFailure.FORBIDDEN),
        (failing(404), ProbeFailure.NOT_FOUND),
        (failing(429), ProbeFailure.BUSY),
        (failing(500), ProbeFailure.SERVER_ERROR),
        (failing(302, "", {"Location": "http://169.254.169.254/latest/meta-data"}), ProbeFailure.REDIRECTED),
        (Say(body=b"<html>hello</html>"), ProbeFailure.NO_API),
        (Say(body=b"[" * 100_000), ProbeFailure.NO_API),
        (Say(body={"data": [{"id": "x" * 2_000_000}]}), ProbeFailure.NO_API),
        (Say(body={"data": {"no": "list"}}), ProbeFailure.NO_API),
        (Say(wait=30), ProbeFailure.TIMEOUT),
    ],
)
async def test_failures_have_clear_reasons(say: Say, reason: ProbeFailure) -> None:
    """MR-09, MR-10: each failure by name, without the key, and no redirect is followed."""
    with serve_model(everything=say) as server:
        started = time.monotonic()
        result = await found(at(server.url), seconds=0.2 if reason is ProbeFailure.TIMEOUT else 5)
        assert time.monotonic() - started < 2
    assert (result.ok, result.reason) == (False, reason)
    assert "sk-secret" not in result.detail and result.detail
    assert (result.endpoint is not None) is (
        reason in (ProbeFailure.UNAUTHORIZED, ProbeFailure.FORBIDDEN, ProbeFailure.BUSY)
    )


async def test_nobody_there_is_told_at_once() -> None:
    with socket.socket() as listener:  # bound, and not listening
        listener.bind(("127.0.0.1", 0))
        result = await found(at(f"http://127.0.0.1:{listener.getsockname()[1]}"))
    assert (result.ok, result.reason) == (False, ProbeFailure.UNREACHABLE)
    assert (await found(at("http://no-such-host.invalid/v1"))).reason is ProbeFailure.UNREACHABLE


async def test_tls_against_a_plain_port() -> None:
    with serve_model() as server:
        result = await found(at(server.url.replace("http://", "https://")), seconds=0.3)
    assert result.reason in (ProbeFailure.TLS, ProbeFailure.UNREACHABLE, ProbeFailure.TIMEOUT) and not result.ok
