"""A token that lapses while an MCP server works: what writes is sent once, whatever the server answers after that."""

import json
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from starlette import types
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse

from cluster.basics.addresses import resolve_host
from cluster.basics.scope import Role, Scope, TenantId, UserId, WorkspaceId
from configs.sections_skills import SkillSettings
from skills.framework.builtin import build_tool
from skills.framework.contract import OutcomeUnknown, ToolInvocation
from skills.framework.dependencies import Secret
from skills.framework.manifest import CredentialType, Kind, Manifest, Risk
from skills.framework.mcp_connections import McpConnections
from tests.fakes.ground import ground
from tests.fakes.oidc_provider import served

ME = Scope(TenantId("t"), WorkspaceId("w"), (), UserId("u"), Role.OPERATOR)


@dataclass
class ForgetfulServer:
    """It pays, says that the answer comes later, and knows the token no more when the client comes back for it."""

    paid_by: list[str] = field(default_factory=list)
    lapsed: set[str] = field(default_factory=set)

    async def __call__(self, scope: types.Scope, receive: types.Receive, send: types.Send) -> None:
        if scope["type"] == "http":
            request = Request(scope, receive)
            await (await self._answer(request))(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        token = request.headers.get("authorization", "")
        if request.method == "GET" and request.headers.get("last-event-id"):
            self.lapsed.add(token)
        if token in self.lapsed:
            return PlainTextResponse("who are you?", 401)
        if request.method != "POST":
            return Response(status_code=405 if request.method == "GET" else 200)
        message = json.loads(await request.body())
        if "id" not in message:
            return Response(status_code=202)
        if message["method"] == "tools/call":
            self.paid_by.append(token)
            return StreamingResponse(_later(), media_type="text/event-stream")
        return JSONResponse({"jsonrpc": "2.0", "id": message["id"], "result": _result(message)})


async def _later() -> Any:
    yield "id: 1\nretry: 10\ndata: \n\n"


def _result(message: dict[str, Any]) -> dict[str, Any]:
    if message["method"] == "tools/list":
        return {"tools": [{"name": "pay", "description": "Pay.", "inputSchema": {"type": "object"}}]}
    asked = message.get("params", {}).get("protocolVersion", "")
    return {"protocolVersion": asked, "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}


class Renewing:
    """Gives another token in the place of one that was refused."""

    async def open(self, call: ToolInvocation, manifest: Manifest, refused: str | None = None) -> Secret:
        """As a person's connection does."""
        return Secret("bank", CredentialType.OAUTH, {"token": "second" if refused else "first"}, frozenset())


async def test_sk_18_what_writes_is_not_sent_again_though_the_token_was_refused() -> None:
    """SK-18: the 401 answers a later request; that the first was carried out is known to nobody here."""
    server = ForgetfulServer()
    with served(server) as url:
        made = ground(credentials=Renewing(), hosts=(url.removeprefix("http://"),), settings=SkillSettings(off=()))
        around = replace(made, remotes=McpConnections(connect=30.0), resolve=resolve_host)
        pay = Manifest("pay", "Pay.", Kind.MCP, options={"url": f"{url}/mcp", "tool": "pay"})
        pay = replace(pay, risk=Risk.WRITE, seconds=20.0, credential=CredentialType.OAUTH)
        try:
            with pytest.raises(OutcomeUnknown):
                await build_tool(pay, around).run(ToolInvocation(ME, None, "k", {}))
        finally:
            await around.remotes.aclose()
    assert server.paid_by == ["Bearer first"]
