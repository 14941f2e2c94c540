"""An authorization server with a protected MCP server and a REST service, over real HTTP, in good faith or not."""

import asyncio
import base64
import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from mcp.server.mcpserver import Context, MCPServer
from mcp.types import ToolAnnotations
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.fakes.oidc_provider import served

CLIENT_ID, CLIENT_SECRET = "aos-client", "a client's canary secret 5417"
Form = dict[str, str]


@dataclass
class OAuthServer:
    """What it says is what its fields say.

    Attributes:
        lifetime: seconds of an access token.
        metadata, resource_metadata: beside, or instead of, what its documents say.
        answer: what browsers bring back beside the code.
        reply: answers at the token endpoint in its place.
        delay: seconds before the token endpoint answers.
        codes: those that nobody has redeemed, with what was asked for.
        access: good access tokens, with the resource that they are for.
        refreshes: good refresh tokens, with the resource.
        forms: what the token endpoint was sent, in order.
        revoked: what the revocation endpoint was sent.
    """

    url: str = ""
    lifetime: int = 3600
    metadata: dict[str, Any] = field(default_factory=dict)
    resource_metadata: dict[str, Any] = field(default_factory=dict)
    answer: Form = field(default_factory=dict)
    reply: Callable[[], Response] | None = None
    delay: float = 0
    codes: dict[str, Form] = field(default_factory=dict)
    access: dict[str, str] = field(default_factory=dict)
    refreshes: dict[str, str] = field(default_factory=dict)
    forms: list[Form] = field(default_factory=list)
    revoked: list[str] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)  # tokens that the service was sent
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def mcp_url(self) -> str:
        return f"{self.url}/mcp"

    def consent(self, url: str) -> Form:
        """What a browser brings back that was sent to the server by `url`, after its person has agreed."""
        asked = dict(parse_qsl(urlsplit(url).query))
        assert asked["response_type"] == "code" and asked["code_challenge_method"] == "S256", asked
        code = f"code-canary-{next(self.numbers)}"
        self.codes[code] = asked
        return {"code": code, "state": asked["state"]} | self.answer

    async def documents(self, request: Request) -> Response:
        """RFC 9728 and RFC 8414."""
        if request.url.path.startswith("/.well-known/oauth-protected-resource"):
            found = {"resource": self.mcp_url, "authorization_servers": [self.url]}
            return JSONResponse(found | self.resource_metadata)
        if request.url.path == "/.well-known/oauth-authorization-server":
            found = {"issuer": self.url, "authorization_endpoint": f"{self.url}/authorize"}
            found |= {"token_endpoint": f"{self.url}/token", "revocation_endpoint": f"{self.url}/revoke"}
            more = {"code_challenge_methods_supported": ["S256"]}
            return JSONResponse(found | more | self.metadata)
        return Response(status_code=404)

    async def token(self, request: Request) -> Response:
        form = dict(parse_qsl((await request.body()).decode()))
        self.forms.append(form)
        await asyncio.sleep(self.delay)
        if self.reply is not None:
            return self.reply()
        shown = base64.b64decode(request.headers.get("authorization", "").removeprefix("Basic ")).decode()
        if shown != f"{CLIENT_ID}:{CLIENT_SECRET.replace(' ', '%20').replace(chr(39), '%27')}":
            return JSONResponse({"error": "invalid_client"}, 401)
        if form["grant_type"] == "refresh_token":
            # A token that was used up ends the whole connection (RFC 9700, section 4.14).
            resource = self.refreshes.pop(form["refresh_token"], None)
            if resource is None:
                self.refreshes.clear()
                return JSONResponse({"error": "invalid_grant"}, 400)
            return self._given(resource)
        given = self.codes.pop(form.get("code", ""), None)
        challenge = base64.urlsafe_b64encode(sha256(form.get("code_verifier", "").encode()).digest()).decode()
        if given is None or challenge.rstrip("=") != given["code_challenge"]:
            return JSONResponse({"error": "invalid_grant"}, 400)
        if form["redirect_uri"] != given["redirect_uri"]:
            return JSONResponse({"error": "invalid_grant"}, 400)
        return self._given(form.get("resource", ""))

    def _given(self, resource: str) -> Response:
        number = next(self.numbers)
        access, refresh = f"access-canary-{number}", f"refresh-canary-{number}"
        self.access[access], self.refreshes[refresh] = resource, resource
        found = {"access_token": access, "refresh_token": refresh, "token_type": "Bearer"}
        return JSONResponse(found | {"expires_in": self.lifetime, "scope": "read"})

    async def revoke(self, request: Request) -> Response:
        token = dict(parse_qsl((await request.body()).decode()))["token"]
        self.revoked.append(token)
        self.refreshes.pop(token, None)
        return Response()

    def app(self) -> ASGIApp:
        """All of it."""
        inside = _mcp_server().streamable_http_app()

        async def answering(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await inside(scope, receive, send)
                return
            request = Request(scope, receive)
            path = request.url.path
            if path.startswith("/.well-known/"):
                await (await self.documents(request))(scope, receive, send)
            elif path in ("/token", "/revoke"):
                await (await (self.token if path == "/token" else self.revoke)(request))(scope, receive, send)
            elif (refusal := self._refusal(request)) is not None:
                await refusal(scope, receive, send)
            elif path == "/whoami":
                await JSONResponse({"token": request.headers["authorization"]})(scope, receive, send)
            else:
                await inside(scope, receive, send)

        return answering

    def _refusal(self, request: Request) -> Response | None:
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        self.seen.append(token)
        if self.access.get(token) in (self.mcp_url, ""):
            return None
        told = f'Bearer resource_metadata="{self.url}/.well-known/oauth-protected-resource/mcp"'
        return PlainTextResponse("who are you?", 401, {"WWW-Authenticate": told})


def _mcp_server() -> MCPServer:
    server = MCPServer("protected")

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def whoami(ctx: Context) -> dict[str, Any]:
        """Who calls."""
        return {"authorization": (ctx.headers or {}).get("authorization")}

    return server


def elsewhere() -> Response:
    """A redirect."""
    return RedirectResponse("http://127.0.0.1:9/", 307)


@contextmanager
def running_oauth(server: OAuthServer) -> Iterator[OAuthServer]:
    """The server on a free loopback port; its `url` is set."""
    with served(server.app()) as url:
        server.url = url
        yield server
