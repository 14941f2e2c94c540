"""Probes an endpoint's candidate addresses: the one that answers, its models, and the reason if none works."""

import asyncio
import json
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

import httpx2

from cluster.basics.bounded_answers import AnswerRefused, read_bounded
from cluster.models.chat.openai_requests import chat_url_parts
from cluster.models.connections.egress import AddressRefused
from cluster.models.connections.endpoint_connection import (
    ANTHROPIC_VERSION,
    AZURE_VERSION,
    ModelConnection,
    Provider,
    auth_headers,
    candidate_urls,
    mask_key,
)

MOST_BYTES = 2**20  # of a list of models
MOST_MODELS = 500


class ProbeFailure(StrEnum):
    """The reason why a connection does not work."""

    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    TLS = "tls"
    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    REDIRECTED = "redirected"
    BUSY = "busy"
    SERVER_ERROR = "server_error"
    NO_API = "no_api"
    NOT_ALLOWED = "not_allowed"


# The further down, the more it says about the endpoint: of several candidates' reasons the last in this order is told.
_TELLING = (
    ProbeFailure.NOT_FOUND,
    ProbeFailure.NO_API,
    ProbeFailure.REDIRECTED,
    ProbeFailure.SERVER_ERROR,
    ProbeFailure.BUSY,
    ProbeFailure.TIMEOUT,
    ProbeFailure.UNREACHABLE,
    ProbeFailure.TLS,
    ProbeFailure.FORBIDDEN,
    ProbeFailure.UNAUTHORIZED,
    ProbeFailure.NOT_ALLOWED,
)
# The same for every path of the host.
_HOPELESS = frozenset({ProbeFailure.TIMEOUT, ProbeFailure.UNREACHABLE, ProbeFailure.TLS, ProbeFailure.NOT_ALLOWED})


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """The result of a connection test."""

    ok: bool  # whether the API answers and takes the key
    endpoint: str | None = None  # the base URL that calls should go below; also told where only the key is refused
    models: tuple[str, ...] = ()  # as the endpoint lists them; empty where it has no list
    model_listed: bool | None = None  # whether the connection's model is among them; None where nobody knows
    ms: float = 0.0  # of the request that decided
    reason: ProbeFailure | None = None  # why not
    detail: str = ""


async def probe_connection(
    connection: ModelConnection, key: str | None, client: httpx2.AsyncClient, seconds: float, clock: Callable[[], float]
) -> ProbeResult:
    """Ask each candidate for its models; one without a list is sent an empty chat, which costs nothing to refuse.

    Redirects are not followed: where a connection may lead is decided before it is made, not by who answers. The
    endpoint that the connection remembers is not believed. `key` is unsealed; `seconds` are for all of it.
    """
    headers = {"Accept": "application/json", "User-Agent": "aos", **auth_headers(connection, key)}
    if connection.trait.wire == "anthropic":
        headers["anthropic-version"] = ANTHROPIC_VERSION
    asking = _Asking(client, headers, key, seconds, clock)
    failed: list[ProbeResult] = []
    try:
        async with asyncio.timeout(seconds):
            for url, endpoint in _model_list_urls(connection):
                found = await asking.models(url, endpoint)
                if found.reason in (ProbeFailure.NOT_FOUND, ProbeFailure.NO_API) and not url.endswith("/api/tags"):
                    base, path, query = chat_url_parts(connection, endpoint)
                    path = "/messages" if connection.trait.wire == "anthropic" else path
                    found = await asking.chat(f"{base}{path}", query, endpoint, found)
                if found.ok:
                    return _check_model_listed(found, connection)
                failed.append(found)
                if found.reason in _HOPELESS:
                    break
    except TimeoutError:
        late = _failed(ProbeFailure.TIMEOUT, f"no answer within {seconds:g} s")
        failed.append(replace(late, ms=seconds * 1000))
    return max(failed, key=lambda p: _TELLING.index(p.reason) if p.reason else -1)


def _failed(reason: ProbeFailure, detail: str, endpoint: str | None = None) -> ProbeResult:
    return ProbeResult(False, endpoint, reason=reason, detail=detail)


def _model_list_urls(connection: ModelConnection) -> Iterator[tuple[str, str]]:
    """Addresses of lists of models, each with the base URL that its answer would speak for."""
    found = candidate_urls(connection.base_url, connection.provider)
    parts = urlsplit(connection.base_url)
    root = f"{parts.scheme}://{parts.netloc}"
    ollama = (f"{root}/api/tags", f"{root}/v1")
    if connection.provider is Provider.OLLAMA:
        yield ollama
    if connection.provider is Provider.AZURE:
        base = found[0].partition("/deployments/")[0]
        version = "" if base.endswith("/v1") else f"?api-version={AZURE_VERSION}"
        yield f"{base}/models{version}", found[0]
        return
    for candidate in found:
        yield f"{candidate}/models", candidate
    if connection.provider is Provider.CUSTOM:
        yield ollama


@dataclass(frozen=True, slots=True)
class _Asking:
    """Single requests, each with what it says about the endpoint."""

    client: httpx2.AsyncClient
    headers: dict[str, str]
    key: str | None
    seconds: float
    clock: Callable[[], float]

    async def models(self, url: str, endpoint: str) -> ProbeResult:
        return await self._send_probe("GET", url, {}, endpoint)

    async def chat(self, url: str, query: dict[str, str], endpoint: str, before: ProbeResult) -> ProbeResult:
        """An empty chat: refused for its body where there is an API, as before where there is none."""
        found = await self._send_probe("POST", url, query, endpoint)
        nothing = found.reason in (ProbeFailure.NOT_FOUND, ProbeFailure.NO_API, ProbeFailure.SERVER_ERROR)
        return before if nothing else found

    async def _send_probe(self, method: str, url: str, query: dict[str, str], endpoint: str) -> ProbeResult:
        started = self.clock()
        sent: dict[str, Any] = {"json": {}} if method == "POST" else {}
        sent |= {"params": query or None, "headers": self.headers, "timeout": self.seconds, "follow_redirects": False}
        try:
            async with self.client.stream(method, url, **sent) as response:
                body = await _read_json(response)
        except AddressRefused as error:
            return _failed(ProbeFailure.NOT_ALLOWED, f"{error.detail}. {error.hint}")
        except AnswerRefused as error:
            return _failed(ProbeFailure.NO_API, error.detail)
        except (httpx2.RequestError, httpx2.InvalidURL, ValueError) as error:
            return self._failed_probe(error, urlsplit(url).netloc)
        ms = (self.clock() - started) * 1000
        return replace(self._judge_response(response, body, endpoint, method), ms=round(ms, 1))

    def _judge_response(self, response: httpx2.Response, body: Any, endpoint: str, method: str) -> ProbeResult:
        status = response.status_code
        said = mask_key(_error_text(body), self.key)
        match status:
            case 401:
                return _failed(ProbeFailure.UNAUTHORIZED, said or "the key is not accepted", endpoint)
            case 403:
                return _failed(ProbeFailure.FORBIDDEN, said or "the key does not allow this", endpoint)
            case 429:
                return _failed(ProbeFailure.BUSY, said or "too many requests", endpoint)
            case 404 | 405:
                return _failed(ProbeFailure.NOT_FOUND, f"{response.url.copy_with(query=None)}: {status}")
            case _ if 300 <= status < 400:
                to = response.headers.get("location", "")[:200]
                return _failed(ProbeFailure.REDIRECTED, f"{status} to {to}; redirects are not followed")
            case _ if status >= 500:
                return _failed(ProbeFailure.SERVER_ERROR, f"{status} {said}".strip())
            case _ if method == "POST" and status in (400, 422):
                return ProbeResult(True, endpoint)
            case _ if method == "GET" and status < 300 and (models := _model_names(body)) is not None:
                return ProbeResult(True, endpoint, models)
        return _failed(ProbeFailure.NO_API, f"{status}, and no list of models")

    def _failed_probe(self, error: Exception, place: str) -> ProbeResult:
        if isinstance(error, httpx2.TimeoutException):
            return _failed(ProbeFailure.TIMEOUT, f"no answer within {self.seconds:g} s")
        if isinstance(error, httpx2.InvalidURL | ValueError):
            return _failed(ProbeFailure.NO_API, str(error)[:300])
        tls = isinstance(error.__cause__, ssl.SSLError) or "SSL" in str(error) or "CERTIFICATE" in str(error)
        reason = ProbeFailure.TLS if tls else ProbeFailure.UNREACHABLE
        return _failed(reason, f"{place}: {str(error)[:300] or type(error).__name__}")


async def _read_json(response: httpx2.Response) -> Any:
    """The body as JSON; None where it is none, or too long: the status says something all the same."""
    try:
        return json.loads(await read_bounded(response, "the endpoint", MOST_BYTES))
    except (AnswerRefused, ValueError, RecursionError):
        return None


def _model_names(body: Any) -> tuple[str, ...] | None:
    """Names from a list as OpenAI, Anthropic (`data`), Ollama (`models`) or a bare list gives it; None for no list."""
    rows = body if isinstance(body, list) else body.get("data", body.get("models")) if isinstance(body, dict) else None
    if not isinstance(rows, list):
        return None
    named = (row.get("id") or row.get("name") for row in rows if isinstance(row, dict))
    return tuple(name[:200] for name in named if isinstance(name, str))[:MOST_MODELS]


def _error_text(body: Any) -> str:
    error = body.get("error", body) if isinstance(body, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    return message[:300] if isinstance(message, str) else ""


def _check_model_listed(found: ProbeResult, connection: ModelConnection) -> ProbeResult:
    """With whether the connection's model is there; Azure lists models, but is asked for deployments."""
    if not found.models or connection.provider is Provider.AZURE:
        return found
    model = connection.model
    listed = any(name in (model, f"{model}:latest", f"models/{model}") for name in found.models)
    return replace(found, model_listed=listed, detail="" if listed else f"the endpoint does not list {model!r}")
