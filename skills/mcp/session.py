"""One call at an MCP server in somebody's context: credential, connection, what is asked, and names for how it ends."""

import asyncio
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

import httpx2
from mcp import Client, MCPError
from mcp.types import Tool as RemoteTool
from pydantic import ValidationError

from cluster.basics.errors import AosError, Invalid
from cluster.state.canonical_json import json_digest
from skills.framework.contract import OutcomeUnknown, ToolInvocation
from skills.framework.dependencies import Secret, SkillDependencies
from skills.framework.manifest import CredentialType, Manifest, Risk
from skills.framework.mcp_connections import ConnectionContext, McpServer, ServerAway, ServerConnection
from skills.http_client.fetch import GuardedHttpClient
from skills.http_client.http_answer import ServiceGarbled, TokenRejected
from skills.http_client.login import CredentialElsewhere, check_entrusted, check_origin, fetch_token, is_client
from skills.mcp.json_rpc import HttpMcpServer
from skills.mcp.options import McpServerSpec
from skills.mcp.results import checked_identity, named_failure, result_json
from skills.mcp.server_process import ProcessMcpServer, check_command

MOST_PAGES = 10
MOST_TOOLS = 200
MOST_TOKEN_BYTES = 100_000

T = TypeVar("T")


class McpSession:
    """A server, as one skill calls it."""

    def __init__(self, manifest: Manifest, place: McpServerSpec, ground: SkillDependencies) -> None:
        """Raises CommandNotAllowed, Disallowed and Invalid where the server may not be called."""
        self._manifest, self._place, self._ground = manifest, place, ground
        self._make_server()

    async def tools(self, call: ToolInvocation) -> list[RemoteTool]:
        """The server's tools. Raises AosError: by name, see `call`."""
        return await self._with_client(
            call, lambda link, client: self._await_work(link, _list_tools(client)), reads=True
        )

    async def call(self, call: ToolInvocation, tool: str, known: str | None) -> dict[str, Any]:
        """Call a tool, if the server still says of it what it said.

        `known`: the identity of what was registered; None for that which this connection has seen first.

        Raises:
            RemoteToolGone, RemoteToolChanged, RemoteToolFailed, RemoteRefused: the server or its tool does not.
            ServerAway, Unavailable, TooLarge, ServiceDenied, ServiceBusy, ServiceFailed, ServiceGarbled, Disallowed:
                the connection or an answer.
            OutcomeUnknown: it went wrong after something that writes had been sent.
            CredentialMissing, AmbiguousCredential: no one credential.
            CredentialElsewhere: it is not for this server, or not for its token endpoint.
        """

        async def work(link: ServerConnection, client: Client) -> dict[str, Any]:
            tools = await self._await_work(link, _list_tools(client))
            link.seen[tool] = checked_identity(tools, tool, known or link.seen.get(tool))
            try:
                sent = client.session.call_tool(tool, dict(call.arguments))
                return result_json(await self._await_work(link, sent))
            except _Broken as broken:
                # Also a 401: it may have answered another request on this connection, after this one was carried out.
                if self._manifest.risk is Risk.READ:
                    raise
                told = broken.why.detail or broken.why.title
                raise _Broken(OutcomeUnknown(f"{link.server.name}: {told}")) from None

        return await self._with_client(call, work, reads=self._manifest.risk is Risk.READ)

    async def _with_client(
        self, call: ToolInvocation, work: Callable[[ServerConnection, Client], Awaitable[T]], *, reads: bool
    ) -> T:
        manifest, opener = self._manifest, self._ground.credentials
        secret = None if manifest.credential is None else await opener.open(call, manifest)
        try:
            return await self._with_secret(call, secret, work, reads=reads)
        except TokenRejected:
            if secret is None or secret.type is not CredentialType.OAUTH:
                raise
        secret = await opener.open(call, manifest, secret["token"])
        return await self._with_secret(call, secret, work, reads=reads)

    async def _with_secret(
        self,
        call: ToolInvocation,
        secret: Secret | None,
        work: Callable[[ServerConnection, Client], Awaitable[T]],
        *,
        reads: bool,
    ) -> T:
        seconds = self._manifest.seconds
        try:
            async with asyncio.timeout(seconds):
                async with self._open_connection(call, secret, await self._login_headers(secret)) as (link, client):
                    return await work(link, client)
        except _Broken as broken:
            raise broken.why from None
        except TimeoutError:
            late = ServerAway if reads else OutcomeUnknown
            raise late(f"{self._place.url or self._place.command} did not answer within {seconds:g} s") from None

    async def _await_work(self, link: ServerConnection, work: Any) -> Any:
        """The server's answer to a call. Raises _Broken: by the connection; AosError: by the server."""
        link.server.fault = None
        try:
            return await link.during(work)
        except (MCPError, ValidationError, RuntimeError, httpx2.HTTPError) as error:
            otherwise = link.why("ended the connection")
            named = named_failure(error, link.server.name, otherwise)
            raise (_Broken(named) if named is otherwise else named) from None
        except AosError as error:
            raise _Broken(error) from None

    def _open_connection(
        self, call: ToolInvocation, secret: Secret | None, login: Mapping[str, str]
    ) -> AbstractAsyncContextManager[tuple[ServerConnection, Any]]:
        scope, remotes = call.scope, self._ground.remotes
        place, mark = json_digest(self._place.model_dump(mode="json")), remotes.mark(secret)
        who = scope.tenant, scope.workspace, scope.user
        context = ConnectionContext(*who, call.agent, call.session, place, mark)
        # A program that was told a secret lives as long as the call that was entitled to it.
        keep = secret is None or self._place.url is not None
        return remotes.link(context, lambda: self._make_server(secret), login, keep=keep)

    def _make_server(self, secret: Secret | None = None) -> McpServer:
        place, ground = self._place, self._ground
        if place.url is not None:
            return HttpMcpServer(place.url, ground.hosts, ground.resolve, self._manifest.seconds)
        if secret is not None and secret.type is CredentialType.OAUTH:
            raise CredentialElsewhere(f"{secret.name} is for {secret['base_url']}, and no program is told its tokens")
        check_command(place.argv, ground.settings.mcp_commands)
        told = {} if secret is None else {name: _secret_field(secret, field) for name, field in place.env.items()}
        return ProcessMcpServer(place.argv, told)

    async def _login_headers(self, secret: Secret | None) -> dict[str, str]:
        if secret is None or self._place.url is None:
            return {}
        check_origin(secret, self._place.url)
        oauth = self._place.oauth
        if oauth is not None and is_client(secret):
            check_entrusted(self._manifest, secret, oauth.url)
            return {"Authorization": f"Bearer {await self._fetch_token(oauth.url, oauth.scope, secret)}"}
        if secret.get("token"):
            return {"Authorization": f"Bearer {_header_value(secret['token'])}"}
        if secret.get("username") and secret.get("password"):
            pair = f"{secret['username']}:{secret['password']}".encode("utf-8", "surrogatepass")
            return {"Authorization": f"Basic {b64encode(pair).decode('ascii')}"}
        return {self._place.header: _header_value(secret["key"])} if secret.get("key") else {}

    async def _fetch_token(self, url: str, scope: str, secret: Secret) -> str:
        way = GuardedHttpClient(self._ground.hosts, self._ground.resolve, self._manifest.seconds, MOST_TOKEN_BYTES)
        return _header_value(await fetch_token(way, url, scope, secret))


class _Broken(Exception):
    """The connection did not hold; `why` has the name."""

    def __init__(self, why: AosError) -> None:
        self.why = why
        super().__init__()


async def _list_tools(client: Client) -> list[RemoteTool]:
    """All tools, page by page; a server that never ends its list is not listened to for ever."""
    tools: list[RemoteTool] = []
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools, cursor = tools + page.tools, page.next_cursor
        if len(tools) > MOST_TOOLS:
            break
        if cursor is None:
            return tools
    raise ServiceGarbled(f"the server lists more than {MOST_TOOLS} tools or {MOST_PAGES} pages")


def _secret_field(secret: Secret, name: str) -> str:
    if "\0" in (value := secret.get(name, "")) or not value:
        raise Invalid(f"the credential {secret.name} has no {name} that a program could be told")
    return value


def _header_value(value: str) -> str:
    if not value.isascii() or not value.isprintable() or value != value.strip():  # never quoted: it is a secret
        raise Invalid("the credential has a character that cannot be sent in a header")
    return value
