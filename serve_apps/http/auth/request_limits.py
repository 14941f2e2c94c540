"""Limits on requests: the class that each is counted in, whose it is, and what its answer tells of it."""

from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from ipaddress import ip_address, ip_network
from typing import Any, Final

from fastapi import Request, Response
from starlette.requests import HTTPConnection
from starlette.responses import Response as PlainResponse
from starlette.types import Receive, Scope, Send

from cluster.state.identity.identity import WorkspaceMember
from cluster.state.limits.limit_errors import RateLimited, limit_headers
from cluster.state.limits.rules import LimitedCaller, LimitedResource
from serve_apps.http.auth.permissions import ADMINS, AccessRule, RouteKey
from serve_apps.http.auth.throttle import network_of
from serve_apps.http.deps import AppDependencies

CONSOLE_HEADER: Final = "X-Console-Client"
CHAT: Final = frozenset({"/v1/chat/completions", "/v1/agent/chat", "/api/chat/{agent_id}", "/api/ask"})
TURNS: Final = "/api/v1/agents/process"
UPLOAD: Final = "/api/documents/upload"
BEGINNINGS: Final = frozenset({"/api/uploads", "/api/uploads/tus", "/v1/documents/initiate-upload"})
# An upload of any size is many requests; what it may have of bytes is looked at with each.
PARTS: Final[frozenset[RouteKey]] = frozenset(
    {
        ("PUT", "/api/uploads/{upload_id}/parts/{number}"),
        ("PATCH", "/api/uploads/tus/{upload_id}"),
        ("POST", "/v1/documents/chunk-received"),
    }
)
# Whoever watches the product must see it when it is busiest.
UNCOUNTED: Final = frozenset({"/health", "/metrics", "/api/admin/health"})
# Whoever has set a limit of 0 for everybody must be able to take it away again.
LIMITS: Final = frozenset({"/api/limits", "/api/limits/{subject_kind}/{subject}/{resource}"})
AGENTS: Final = ("/api/agents", "/api/universal-agents")
# Protocols that talk in many small messages: tools of MCP count as what they do, directories send people one by one.
TALKATIVE: Final = ("/mcp", "/scim/")
SOCKET_MESSAGE: Final[RouteKey] = ("POST", "/api/chat/{agent_id}")  # what a message over a socket counts as

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


def class_of(key: RouteKey, access: AccessRule, streams: bool = False) -> LimitedResource | None:
    """The class that a route counts in; None where it is not counted.

    `streams`: its answer may be a stream of events; where it only reads, who comes back to it is not counted again.
    """
    method, path = key
    if path in UNCOUNTED | LIMITS or (method == "GET" and streams):
        return None
    if method in ("GET", "HEAD", "WS") or path.startswith(TALKATIVE) or key in PARTS:
        return LimitedResource.READS
    if path == UPLOAD or path in BEGINNINGS:
        return LimitedResource.UPLOADS
    if path in CHAT:
        return LimitedResource.CHAT
    if path == TURNS or path.startswith(AGENTS):
        return LimitedResource.AGENTS
    if access.system:
        return LimitedResource.ADMIN
    return LimitedResource.ADMIN_API if access.roles == ADMINS else LimitedResource.REQUESTS


def caller_of(member: WorkspaceMember) -> LimitedCaller:
    """Whom rules are about."""
    return LimitedCaller(
        member.tenant, member.workspace, member.user, member.key, member.groups, by_service=member.by_service
    )


def client_address(connection: HTTPConnection, parts: AppDependencies) -> str:
    """The address of whoever is connected: the browser's where the console vouches, else the peer's.

    What stands in X-Forwarded-For is not read here: the proxy in front replaces it, unless a proxy of the operator's
    (`http.proxies`) has written it.
    """
    word = connection.headers.get(CONSOLE_HEADER)
    vouched = None if word is None else parts.tokens.vouched(word, parts.clock())
    return vouched or (connection.client.host if connection.client else "")


async def admit_stranger(request: Request, parts: AppDependencies) -> None:
    """Count a request for which nobody is signed in by its address.

    Health is not counted, nor are this machine's own addresses and those of `http.proxies`: a console on another
    machine asks for many. Raises RateLimited.
    """
    address = client_address(request, parts)
    if request.url.path not in UNCOUNTED and not _is_own(address, parts.http.proxies):
        await parts.limits.admit_address(network_of(address))


async def admit_member(
    connection: HTTPConnection,
    parts: AppDependencies,
    member: WorkspaceMember,
    resource: LimitedResource | None,
    credential: str = "",
) -> None:
    """Count a request, and look whether what it is going to use is left.

    `credential`: what was shown with it, where it came as a request of its own. Raises RateLimited: which limit is met.
    """
    if resource is None:
        return
    caller, limits = caller_of(member), parts.limits
    try:
        state = await limits.admit(caller, resource)
    except RateLimited as refused:
        if credential:
            limits.remember(credential, connection.headers.get("x-workspace"), resource, refused)
        raise
    if resource is LimitedResource.UPLOADS:
        announced = connection.headers.get("content-length", "")
        size = int(announced) if announced.isdigit() and len(announced) <= 18 else 0
        await limits.require_left(caller, member.scope, LimitedResource.UPLOAD_BYTES, size)
        await limits.require_left(caller, member.scope, LimitedResource.PAGES)
    elif resource in (LimitedResource.CHAT, LimitedResource.AGENTS):
        await limits.require_model_use(caller, member.scope)
    connection.state.limit = state


async def handle_within_stream_limit(request: Request, parts: AppDependencies, handler: Handler) -> Response:
    """Answer a route that may stream: it has a place before it begins, and gives it back with its last byte."""
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(parts.limits.stream(caller_of(request.state.member)))
        response = await handler(request)
        return PlaceHoldingResponse(response, stack.pop_all())


class PlaceHoldingResponse(PlainResponse):
    """Another response, whose place is free once it is sent, or nobody reads it any more."""

    def __init__(self, response: Response, place: AsyncExitStack) -> None:
        super().__init__(status_code=response.status_code)
        self.raw_headers = response.raw_headers
        self.body, self.background = b"", None
        self._response, self._place = response, place

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        async with self._place:
            await self._response(scope, receive, send)


def tell_limit(request: Request, response: Response) -> None:
    """Write how the request's limit stands into the answer's head."""
    state = getattr(request.state, "limit", None)
    if state is not None:
        response.headers.update(limit_headers(state))


def _is_own(address: str, proxies: Sequence[str]) -> bool:
    try:
        found = ip_address(address)
    except ValueError:  # no address: the peer is this process
        return True
    return found.is_loopback or any(found in ip_network(one, strict=False) for one in proxies)
