"""A connection to a model: an endpoint, how to sign in to it, and what its URL tells of its dialect."""

import base64
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, NewType, assert_never
from urllib.parse import SplitResult, urlsplit

from cluster.basics.errors import Invalid
from cluster.models.messages import TokenUsage

ConnectionId = NewType("ConnectionId", str)

AZURE_VERSION = "2024-10-21"  # the last dated API; a base URL with `?api-version=` chooses another
ANTHROPIC_VERSION = "2023-06-01"  # the `anthropic-version` whose shapes are spoken here


class Provider(StrEnum):
    """The provider whose dialect an endpoint speaks."""

    OPENAI = "openai"
    AZURE = "azure"
    ANTHROPIC = "anthropic"
    COHERE = "cohere"
    VLLM = "vllm"
    OLLAMA = "ollama"
    TEXTGEN = "textgen"
    LLAMACPP = "llamacpp"
    HUGGINGFACE = "huggingface"
    CUSTOM = "custom"


class AuthMode(StrEnum):
    """The key's auth mode: bearer token, the provider's key header, user:password, a header of its own, none."""

    BEARER = "bearer"
    API_KEY = "api_key"
    BASIC = "basic"
    CUSTOM = "custom"
    NONE = "none"


Wire = Literal["openai", "anthropic"]
Forms = Literal["none", "without_tools", "all"]


@dataclass(frozen=True, slots=True)
class ProviderTraits:
    """Traits of a provider's API."""

    provider: Provider  # which
    label: str  # for people
    url: str  # matched against `host:port/path`, in lower case; empty matches nothing
    tools: bool  # whether it takes tools natively; else they are described in words (ReAct)
    auth: AuthMode  # the usual mode
    base: str = "/v1"  # path below the host that the API usually lives under
    wire: Wire = "openai"  # the shape of requests
    key_header: str = "X-API-Key"  # where AuthMode.API_KEY puts the key
    counts_streams: bool = True  # whether `stream_options.include_usage` is understood
    # Whether `response_format` is understood, JSON schemas included: not, in requests without tools, in all.
    forms: Forms = "none"


# The documents' table and its order: where two patterns match, the first row counts. Cohere speaks OpenAI's dialect
# below /compatibility/v1 and refuses stream_options there (docs.cohere.com/docs/compatibility-api). Servers that hold a
# model to a form by a grammar (vLLM, Ollama, llama.cpp) leave it no way to call a tool instead.
TRAITS: tuple[ProviderTraits, ...] = (
    ProviderTraits(Provider.OPENAI, "OpenAI", r"^api\.openai\.com[:/]", True, AuthMode.BEARER, forms="all"),
    ProviderTraits(
        Provider.AZURE,
        "Azure OpenAI",
        r"^[^/:]+\.openai\.azure\.com[:/]",
        True,
        AuthMode.API_KEY,
        base="/openai",
        key_header="api-key",
        forms="all",
    ),
    ProviderTraits(
        Provider.ANTHROPIC, "Anthropic", r"^api\.anthropic\.com[:/]", True, AuthMode.API_KEY, wire="anthropic"
    ),
    ProviderTraits(
        Provider.COHERE,
        "Cohere",
        r"^api\.cohere\.(ai|com)[:/]",
        True,
        AuthMode.BEARER,
        base="/compatibility/v1",
        counts_streams=False,
    ),
    ProviderTraits(Provider.VLLM, "vLLM", r"/v1/completions(/|$)", False, AuthMode.BEARER, forms="without_tools"),
    ProviderTraits(Provider.OLLAMA, "Ollama", r"^[^/]*:11434(/|$)", False, AuthMode.NONE, forms="without_tools"),
    ProviderTraits(Provider.TEXTGEN, "TextGen WebUI", r"^[^/]*:5001(/|$)", False, AuthMode.NONE),
    ProviderTraits(Provider.LLAMACPP, "LlamaCpp", r"^[^/]*:8080(/|$)", False, AuthMode.NONE, forms="without_tools"),
    ProviderTraits(Provider.HUGGINGFACE, "HuggingFace", r"^[^/]*api-inference", False, AuthMode.BEARER),
    ProviderTraits(Provider.CUSTOM, "Custom", "", False, AuthMode.BEARER),
)

_OF = {trait.provider: trait for trait in TRAITS}
_CALLS = re.compile(r"/(chat/completions|completions|messages|embeddings|models|api/tags|api/chat|api/generate)/?$")
_VERSIONED = re.compile(r"/(v\d+\w*|openai/deployments/[^/]+)$")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_TAKEN = frozenset({"host", "content-length", "transfer-encoding", "connection", "content-type"})


@dataclass(frozen=True, slots=True)
class ModelConnection:
    """An endpoint of a model, and its prices. The key is not in here: a connection may be shown and logged."""

    id: ConnectionId  # a UUID as text
    name: str
    base_url: str  # as it was given
    model: str
    provider: Provider
    auth_mode: AuthMode = AuthMode.BEARER
    auth_header: str | None = None  # the header of AuthMode.CUSTOM
    tools: bool | None = None  # an override of the table's `supports_tools`
    price_in: float = 0.0  # USD for a million tokens
    price_out: float = 0.0  # the same
    seconds: float = 120.0  # longest silence before an answer and within it
    enabled: bool = True
    endpoint: str | None = None  # what answered when candidates of `base_url` were probed
    has_key: bool = False
    origin: Literal["row", "file", "settings"] = "row"  # of the workspace, of the connections file, or LLM_*
    first_tenant: bool = False  # whether it belongs to the tenant whose people run the whole system

    @property
    def trait(self) -> ProviderTraits:
        """The traits of its provider."""
        return trait_of(self.provider)

    @property
    def supports_tools(self) -> bool:
        """True where tools are offered natively: the override, else the table."""
        return self.trait.tools if self.tools is None else self.tools

    def cost(self, usage: TokenUsage) -> float:
        """USD."""
        return (usage.prompt_tokens * self.price_in + usage.completion_tokens * self.price_out) / 1_000_000


def trait_of(provider: Provider) -> ProviderTraits:
    """The provider's row of the table."""
    return _OF[provider]


def detect_provider(base_url: str) -> Provider:
    """The provider whose pattern matches first; CUSTOM where none does.

    Host patterns are matched against the host, so that `evil.example/api.openai.com` is not taken for OpenAI.
    """
    parts = checked_url(base_url)
    place = f"{parts.netloc.rpartition('@')[2]}{parts.path or '/'}".lower()
    return next((t.provider for t in TRAITS if t.url and re.search(t.url, place)), Provider.CUSTOM)


def checked_url(base_url: str) -> SplitResult:
    """The parts of a model's URL. Raises Invalid: it is not absolute http(s), or has credentials (they are the key)."""
    try:
        parts = urlsplit(base_url.strip())
        _ = parts.port  # raises where it is no number
    except ValueError as error:
        raise Invalid(f"base_url: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or re.search(r"\s", base_url.strip()):
        raise Invalid("base_url must be an absolute http or https URL")
    if "@" in parts.netloc:
        raise Invalid("base_url must not carry credentials; send them as the key, with auth_mode basic")
    return parts


def candidate_urls(base_url: str, provider: Provider) -> tuple[str, ...]:
    """Base URLs under which the API may answer, the likeliest first; none ends in a slash.

    A URL of a single call (`…/v1/completions`) is cut back to its base; a URL without a version is tried with the
    provider's usual path and as it stands.
    """
    parts = checked_url(base_url)
    path = _CALLS.sub("", parts.path.rstrip("/")).rstrip("/")
    root = f"{parts.scheme}://{parts.netloc}"
    usual = trait_of(provider).base
    if provider is Provider.AZURE:
        return (f"{root}{path if '/openai' in path else path + usual}",)
    if provider is Provider.COHERE:
        return (f"{root}{path if path.endswith(usual) else usual}",)
    if _VERSIONED.search(path):
        return (f"{root}{path}",)
    return (f"{root}{path}{usual}", f"{root}{path}")


def auth_headers(connection: ModelConnection, key: str | None) -> dict[str, str]:
    """The headers that sign a request in; none without a key."""
    if not key:
        return {}
    match connection.auth_mode:
        case AuthMode.BEARER:
            return {"Authorization": f"Bearer {key}"}
        case AuthMode.API_KEY:
            return {connection.trait.key_header: key}
        case AuthMode.BASIC:
            return {"Authorization": f"Basic {base64.b64encode(key.encode()).decode()}"}
        case AuthMode.CUSTOM:
            return {connection.auth_header or "Authorization": key}
        case AuthMode.NONE:
            return {}
        case _:
            assert_never(connection.auth_mode)


def usual_auth(provider: Provider, *, with_key: bool) -> AuthMode:
    """The mode where none was chosen; a key for a provider that needs none is a bearer token."""
    usual = trait_of(provider).auth
    return AuthMode.BEARER if with_key and usual is AuthMode.NONE else usual


def check_auth(mode: AuthMode, header: str | None, key: str | None) -> None:
    """Refuse what cannot be sent.

    Raises Invalid: a custom mode without a header's name, a header that is not ours to set, a key with line breaks.
    """
    if mode is AuthMode.CUSTOM and header is None:
        raise Invalid("auth_mode custom needs auth_header")
    if header is not None and (not _HEADER.fullmatch(header) or header.lower() in _TAKEN):
        raise Invalid("auth_header must be the name of an HTTP header that a key may travel in")
    if key is not None and not (key.isascii() and key.isprintable() and key.strip() == key and key):
        raise Invalid("key must be printable ASCII without spaces around it")
    if mode is AuthMode.BASIC and key is not None and ":" not in key:
        raise Invalid("with auth_mode basic the key is user:password")


def mask_key(text: str, key: str | None) -> str:
    """The text without the key, as it is and as AuthMode.BASIC sends it: servers like to repeat what they refuse."""
    if not key:
        return text
    sent = base64.b64encode(key.encode()).decode()
    return re.sub(f"{re.escape(sent)}|{re.escape(key)}", "***", text)
