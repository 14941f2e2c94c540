"""The table of providers, the addresses an API may live at, the file of connections, and what tells of a key."""

import logging
from pathlib import Path

import pytest

from cluster.basics.errors import Invalid, InvalidSettings
from cluster.models.connections.configured import derived_id, load_connections
from cluster.models.connections.endpoint_connection import (
    TRAITS,
    AuthMode,
    ConnectionId,
    ModelConnection,
    Provider,
    auth_headers,
    candidate_urls,
    check_auth,
    detect_provider,
    mask_key,
)
from cluster.models.messages import TokenUsage
from configs.sections import LlmSettings


@pytest.mark.parametrize(
    ("url", "provider"),
    [
        ("https://api.openai.com/v1", Provider.OPENAI),
        ("https://API.OpenAI.com", Provider.OPENAI),
        ("https://acme.openai.azure.com/openai/deployments/gpt", Provider.AZURE),
        ("https://api.anthropic.com", Provider.ANTHROPIC),
        ("https://api.cohere.ai/v1", Provider.COHERE),
        ("https://api.cohere.com", Provider.COHERE),
        ("http://gpu-1:8000/v1/completions", Provider.VLLM),
        ("http://localhost:11434", Provider.OLLAMA),
        ("http://localhost:5001/v1", Provider.TEXTGEN),
        ("http://localhost:8080", Provider.LLAMACPP),
        ("https://api-inference.huggingface.co/models/x", Provider.HUGGINGFACE),
        ("http://gpu-1:8000/v1", Provider.CUSTOM),
        # Where two patterns match, the order of the documents' table decides.
        ("http://localhost:11434/v1/completions", Provider.VLLM),
        ("http://localhost:8080/v1/completions", Provider.VLLM),
        ("https://api-inference.example:8080/", Provider.LLAMACPP),
        # A pattern is of a host, a port or a path; elsewhere it means nothing.
        ("https://evil.example/api.openai.com/v1", Provider.CUSTOM),
        ("https://api.openai.com.evil.example/v1", Provider.CUSTOM),
        ("http://localhost:18080/v1", Provider.CUSTOM),
        ("http://localhost:8000/?x=:11434", Provider.CUSTOM),
        ("http://[::1]:11434/", Provider.OLLAMA),
    ],
)
def test_mr_07_the_provider_is_told_from_the_url(url: str, provider: Provider) -> None:
    """MR-07, X-15: ten providers, the documents' table first."""
    assert detect_provider(url) is provider


def test_mr_08_who_takes_tools_natively() -> None:
    """MR-08, X-06: the documents' table, and an override that beats it."""
    native = {trait.provider for trait in TRAITS if trait.tools}
    assert native == {Provider.OPENAI, Provider.AZURE, Provider.ANTHROPIC, Provider.COHERE}
    assert len(TRAITS) == len(Provider) == 10
    vllm = ModelConnection(ConnectionId("1"), "v", "http://v/v1", "m", Provider.VLLM)
    assert not vllm.supports_tools
    assert ModelConnection(ConnectionId("1"), "v", "http://v/v1", "m", Provider.VLLM, tools=True).supports_tools
    assert not ModelConnection(ConnectionId("1"), "o", "http://v/v1", "m", Provider.OPENAI, tools=False).supports_tools


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://api.openai.com", ("https://api.openai.com/v1", "https://api.openai.com")),
        ("https://api.openai.com/v1/", ("https://api.openai.com/v1",)),
        ("http://gpu:8000/v1/completions", ("http://gpu:8000/v1",)),
        ("http://gpu:8000/v1/chat/completions", ("http://gpu:8000/v1",)),
        ("http://localhost:11434/api/chat", ("http://localhost:11434/v1", "http://localhost:11434")),
        ("http://gpu:9000/llm", ("http://gpu:9000/llm/v1", "http://gpu:9000/llm")),
        ("https://api.cohere.ai/v1", ("https://api.cohere.ai/compatibility/v1",)),
        ("https://a.openai.azure.com", ("https://a.openai.azure.com/openai",)),
        ("https://a.openai.azure.com/openai/v1/", ("https://a.openai.azure.com/openai/v1",)),
        (
            "https://a.openai.azure.com/openai/deployments/d/chat/completions?api-version=2025-01-01",
            ("https://a.openai.azure.com/openai/deployments/d",),
        ),
        ("https://api.anthropic.com/v1/messages", ("https://api.anthropic.com/v1",)),
    ],
)
def test_mr_10_candidates(url: str, found: tuple[str, ...]) -> None:
    """MR-10: as given and with the usual path; a URL of a single call is cut back."""
    assert candidate_urls(url, detect_provider(url)) == found


@pytest.mark.parametrize("url", ["", "gpu:8000", "ftp://x", "http://", "http://a b/", "http://u:p@x/v1", "http://x:y/"])
def test_addresses_that_are_none(url: str) -> None:
    with pytest.raises(Invalid):
        detect_provider(url)


@pytest.mark.parametrize(
    ("mode", "header", "key"),
    [
        (AuthMode.CUSTOM, None, "k"),
        (AuthMode.CUSTOM, "Host", "k"),
        (AuthMode.CUSTOM, "X Y", "k"),
        (AuthMode.CUSTOM, "X:Y\r\nZ", "k"),
        (AuthMode.BEARER, None, "a\r\nb"),
        (AuthMode.BEARER, None, ""),
        (AuthMode.BEARER, None, " k"),
        (AuthMode.BEARER, None, "ключ"),
        (AuthMode.BASIC, None, "nocolon"),
    ],
)
def test_mr_09_what_cannot_be_sent_is_refused(mode: AuthMode, header: str | None, key: str) -> None:
    """MR-09: no header is smuggled in, and the refusal does not repeat the key."""
    with pytest.raises(Invalid) as caught:
        check_auth(mode, header, key)
    assert not key.strip() or key not in str(caught.value) or key == "k"


def test_prices_are_for_a_million_tokens() -> None:
    connection = ModelConnection(
        ConnectionId("1"), "o", "http://x/v1", "m", Provider.OPENAI, price_in=2.5, price_out=10
    )
    assert connection.cost(TokenUsage(1_000_000, 100_000)) == pytest.approx(3.5)


def test_masking() -> None:
    assert mask_key("key sk-123456 refused", "sk-123456") == "key *** refused"
    assert mask_key("nothing", None) == mask_key("nothing", "") == "nothing"


def test_whatever_a_key_travels_as_is_masked() -> None:
    for mode in AuthMode:
        connection = ModelConnection(ConnectionId("c"), "c", "http://x/v1", "m", Provider.CUSTOM, mode, "X-Own")
        for key in ("ann:s3cret-pass", "k:9"):
            for sent in (key, *auth_headers(connection, key).values()):
                said = mask_key(f"I refuse <{sent}>.", key)
                assert key not in said and sent.rpartition(" ")[2] not in said and "***" in said


def test_llm_settings_describe_a_connection() -> None:
    """MR-03: LLM_BASE_URL alone is enough; its id is the same on every node."""
    assert load_connections(None, LlmSettings()).connections == ()
    found = load_connections(
        None, LlmSettings(base_url="http://localhost:11434", model="qwen", api_key="sk-secret", seconds=9)
    )
    (own,) = found.connections
    assert (own.id, own.name, own.provider) == (derived_id("default"), "default", Provider.OLLAMA)
    assert (own.model, own.seconds, own.auth_mode, own.origin) == ("qwen", 9, AuthMode.BEARER, "settings")
    assert found.default == own.id and found.keys == {own.id: "sk-secret"}
    assert "secret" not in repr(found)
    with pytest.raises(InvalidSettings, match="LLM_BASE_URL"):
        load_connections(None, LlmSettings(base_url="localhost"))


def test_the_file_of_connections(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    (tmp_path / "key").write_text("sk-from-a-file\n")
    path = tmp_path / "models.yaml"
    path.write_text(
        f"""
default: big
connections:
  - {{name: small, base_url: "http://localhost:8080", model: q, supports_tools: true, price_in: 0.1}}
  - {{name: big, base_url: "https://api.openai.com/v1", model: gpt, key_file: {tmp_path}/key}}
"""
    )
    found = load_connections(path, LlmSettings(base_url="http://x/v1"))
    small, big, own = found.connections
    assert (small.provider, small.auth_mode, small.supports_tools) == (Provider.LLAMACPP, AuthMode.NONE, True)
    assert (big.provider, big.has_key, found.keys[big.id]) == (Provider.OPENAI, True, "sk-from-a-file")
    assert found.default == big.id and own.name == "default"
    for wrong in (
        "connections: [{name: x}]",
        "connections: [1]",
        "nonsense",
        "{",
        "default: x",
        "unknown: 1",
        "connections: [{name: x, base_url: nope, model: m}]",
        "connections: [{name: x, base_url: 'http://x', model: m, key: ' sk-secret'}]",
        "connections: [{name: x, base_url: 'http://x', model: m, key: [sk-secret]}]",
        "connections: [{name: x, base_url: 'http://x', model: m, key_file: /nowhere}]",
        "connections: [{name: x, base_url: 'http://x', model: m}, {name: x, base_url: 'http://y', model: m}]",
    ):
        path.write_text(wrong)
        with pytest.raises(InvalidSettings) as caught:
            load_connections(path, LlmSettings())
        assert "sk-sec" not in str(caught.value)
    with pytest.raises(InvalidSettings):
        load_connections(tmp_path / "missing.yaml", LlmSettings())
    assert "sk-" not in caplog.text
