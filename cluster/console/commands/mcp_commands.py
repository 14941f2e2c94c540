"""`aos mcp`: this product as an MCP server over pipes; `aos skills mcp-tools`: what the servers of others have."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import httpx2
import typer

from cluster.console import printing
from cluster.console.api import JSON, ApiClient
from cluster.console.commands.documents.document_commands import AsJson, CommandContext
from cluster.console.commands.skill_commands import skills

if TYPE_CHECKING:
    from mcp import Client

CONNECT_SECONDS = 10.0
SILENCE_SECONDS = 300.0  # an agent may think for long
COLUMNS = ("tool", "name", "risk", "version", "description")

T = TypeVar("T")


def serve(context: CommandContext) -> None:
    """Offer search, ask, documents and agents to an assistant that starts programs, with your rights.

    Example: aos mcp
    """
    context.obj.api.request("GET", "/api/workspaces")  # who is not signed in is told so now
    asyncio.run(_serve_stdio(context.obj.api))


@skills.command("mcp-tools")
def mcp_tools(
    context: CommandContext,
    place: Annotated[list[str], typer.Argument(help="The server's URL; or, after --, a program with its arguments.")],
    credential: Annotated[str | None, typer.Option(help="Type of the credential that it needs.")] = None,
    agent: Annotated[str | None, typer.Option(help="Its config.credentials names the credential.")] = None,
    prefix: Annotated[str, typer.Option(help="Of the skills' names.")] = "",
    add: Annotated[bool, typer.Option("--add", help="Register them as skills of the workspace.")] = False,
    as_json: AsJson = False,
) -> None:
    """List an MCP server's tools, as the product sees it. Example: aos skills mcp-tools https://mcp.example.org/mcp."""
    first, *rest = place
    where: JSON = {"url": first} if first.startswith(("http://", "https://")) else {"command": first, "args": rest}
    body = {**where, "prefix": prefix, "add": add} | ({} if credential is None else {"credential": credential})
    if agent is not None:
        body["agent_id"] = context.obj.require_id("/api/agents", agent, "agent", "GET /api/agents lists them.")
    found = context.obj.api.request("POST", "/api/skills/mcp:discover", json=body)
    rows = [{**one, "description": one["problem"] or one["description"]} for one in found["items"]]
    context.obj.print(found, as_json, printing.rows_table(rows, COLUMNS))
    if not as_json:
        context.obj.aside(f"{found['total']} tools, {found['added']} added")


class _Bearer(httpx2.Auth):
    """Our token, renewed once where it ran out."""

    def __init__(self, api: ApiClient) -> None:
        self._api = api

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        request.headers["Authorization"] = f"Bearer {await asyncio.to_thread(self._api.bearer)}"
        answer = yield request
        if answer.status_code == 401 and (token := await asyncio.to_thread(self._api.renewed)) is not None:
            request.headers["Authorization"] = f"Bearer {token}"
            yield request


async def _serve_stdio(api: ApiClient) -> None:
    """Until the assistant closes our input: each message goes on to the product, which has no sessions to keep."""
    # The SDK takes a second to import, and no other command needs it.
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server
    from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult

    async def listed(context: Any, params: Any) -> ListToolsResult:
        return await _ask_product(api, lambda product: product.list_tools())

    async def called(context: Any, params: CallToolRequestParams) -> CallToolResult:
        return await _ask_product(api, lambda product: product.call_tool(params.name, params.arguments))

    server = Server("aos", on_list_tools=listed, on_call_tool=called)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


async def _ask_product(api: ApiClient, work: "Callable[[Client], Awaitable[T]]") -> T:
    """The product's reply over MCP. Raises MCPError: it is away, or refuses."""
    from mcp import MCPError
    from mcp.types import INTERNAL_ERROR

    try:
        async with _connect_product(api) as product:
            return await work(product)
    except (httpx2.HTTPError, ExceptionGroup) as error:
        if isinstance(error, ExceptionGroup) and error.split(httpx2.HTTPError)[1] is not None:
            raise  # something else as well
        raise MCPError(INTERNAL_ERROR, f"nobody answers at {api.url}") from None


@asynccontextmanager
async def _connect_product(api: ApiClient) -> "AsyncGenerator[Client, None]":
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    timeout = httpx2.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS)
    async with (
        httpx2.AsyncClient(auth=_Bearer(api), timeout=timeout, trust_env=False) as http,
        Client(streamable_http_client(f"{api.url}/mcp", http_client=http), cache=None) as client,
    ):
        yield client
