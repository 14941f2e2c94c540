"""Ways in which a token ends, and how long each of the product's doors goes on letting it in."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psycopg
import websockets
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from cluster.basics.scope import Role
from serve_apps.http.auth.revocation import PAUSE_SECONDS, RevocationWatch
from serve_apps.http.deps import AppDependencies
from serve_apps.http.streams.sse import StreamPacing
from serve_apps.ui.kit.api import SignInClient
from serve_apps.ui.kit.page import COOKIE, ConsoleContext
from serve_apps.ui.session_guard import SessionGuard
from serve_apps.ui.sessions import TRUSTED_SECONDS, ConsoleSession, SessionStore, TokenGrant
from tests.fakes.http import PASSWORD, make_parts, open_office
from tests.fakes.orchestrator import ScriptedOrchestrator

LIMIT_SECONDS = 5.0
PATIENCE = 8.0  # after which a door counts as open for good
POLL = 0.1
TOOLS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}


@dataclass
class Victim:
    """Somebody who is signed in everywhere with one login, and an administrator beside them.

    `url` is the replica whose doors are open, `ends_at` the one at which the login is ended.
    """

    url: str
    ends_at: str
    dsn: str
    email: str
    user: str
    grant: Mapping[str, Any]
    admin: httpx.AsyncClient
    key: str = ""
    group: str = ""
    console: ConsoleSession | None = field(default=None, repr=False)

    @property
    def shown(self) -> str:
        """What is shown at the doors: the key where one was made, else the access token."""
        return self.key or str(self.grant["access_token"])

    def client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(base_url=self.url, headers={"Authorization": f"Bearer {self.shown}"}, timeout=30)

    async def post(self, path: str, body: Any, token: str | None = None) -> httpx.Response:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with httpx.AsyncClient(base_url=self.ends_at, headers=headers, timeout=30) as client:
            return (await client.post(path, json=body)).raise_for_status()


async def _password(one: Victim) -> None:
    body = {"current_password": PASSWORD, "new_password": "another quiet harbour"}
    await one.post("/api/auth/password", body, one.grant["access_token"])


async def _reset(one: Victim) -> None:
    (await one.admin.post(f"/api/users/{one.user}/password", json={})).raise_for_status()


async def _logout(one: Victim) -> None:
    await one.post("/api/auth/logout", {"refresh_token": one.grant["refresh_token"]})


async def _reuse(one: Victim) -> None:
    body = {"refresh_token": one.grant["refresh_token"]}
    await one.post("/api/auth/refresh", body)
    async with httpx.AsyncClient(base_url=one.ends_at, timeout=30) as client:
        assert (await client.post("/api/auth/refresh", json=body)).status_code == 401


async def _disable(one: Victim) -> None:
    (await one.admin.patch(f"/api/users/{one.user}", json={"disabled": True})).raise_for_status()


async def _leave(one: Victim) -> None:
    (await one.admin.delete(f"/api/users/{one.user}")).raise_for_status()


async def _demote(one: Victim) -> None:
    (await one.admin.patch(f"/api/users/{one.user}", json={"role": "viewer"})).raise_for_status()


async def _sign_out(one: Victim) -> None:
    (await one.admin.delete(f"/api/users/{one.user}/sessions")).raise_for_status()


async def _tenant(one: Victim) -> None:
    async with await psycopg.AsyncConnection.connect(one.dsn) as owner:
        await owner.execute("delete from tenants where id = %s", (one.grant["tenant_id"],))


async def _key(one: Victim) -> None:
    (found,) = (await one.admin.get("/api/api-keys")).json()["items"]
    (await one.admin.delete(f"/api/api-keys/{found['id']}")).raise_for_status()


async def _group(one: Victim) -> None:
    (await one.admin.delete(f"/api/groups/{one.group}/members/{one.user}")).raise_for_status()


async def _deprovision(one: Victim) -> None:
    operation = {"op": "Replace", "path": "active", "value": "False"}  # as Entra ID sends it
    body = {"schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"], "Operations": [operation]}
    (await one.admin.patch(f"/scim/v2/Users/{one.user}", json=body)).raise_for_status()


async def _delete_by_scim(one: Victim) -> None:
    (await one.admin.delete(f"/scim/v2/Users/{one.user}")).raise_for_status()


WAYS: Mapping[str, Callable[[Victim], Awaitable[None]]] = {
    "password changed": _password,
    "password reset": _reset,
    "signed out": _logout,
    "refresh token reused": _reuse,
    "deactivated": _disable,
    "deactivated by SCIM": _deprovision,
    "deleted by SCIM": _delete_by_scim,
    "membership removed": _leave,
    "role changed": _demote,
    "sessions ended by an administrator": _sign_out,
    "tenant removed": _tenant,
    "API key revoked": _key,
    "group left": _group,
}
OF_KEYS = {"API key revoked"}
OF_GROUPS = {"group left"}  # what is open ends; who comes anew has the rights that are left


def parts_for(app_dsn: str, folder: Path, pause: float = PAUSE_SECONDS) -> AppDependencies:
    """An API whose agents never come to an end, so that streams last."""
    (folder / "scans").mkdir(exist_ok=True)
    silent = ScriptedOrchestrator(lambda incoming: [600.0])
    return make_parts(
        app_dsn, folder, orchestrator=silent, pace=StreamPacing(0.1, 600, 0.5), watch=RevocationWatch(pause)
    )


async def seconds_until_refused(
    way: str, url: str, admin_dsn: str, trusted: float = TRUSTED_SECONDS, *, ends_at: str | None = None
) -> dict[str, float | None]:
    """End a token in one way, with everything open that it opens.

    Args:
        way: one of WAYS.
        url: of an API made of `parts_for`.
        admin_dsn: of its database's owner.
        trusted: how long the console does not ask.
        ends_at: another replica, at which it is ended; the same one where left out.

    Returns:
        By door, seconds until it refused or had closed; None where it did not within PATIENCE.
    """
    office = open_office(admin_dsn)
    ends_at = ends_at or url
    async with httpx.AsyncClient(base_url=ends_at, timeout=30) as client:

        async def login(role: Role) -> dict[str, Any]:
            body = {"email": office.emails[role], "password": PASSWORD}
            return dict((await client.post("/api/auth/login", json=body)).raise_for_status().json())

        grant, boss = await login(Role.OPERATOR), await login(Role.ADMIN)
        async with httpx.AsyncClient(
            base_url=ends_at, headers={"Authorization": f"Bearer {boss['access_token']}"}, timeout=30
        ) as admin:
            one = Victim(url, ends_at, admin_dsn, office.emails[Role.OPERATOR], grant["user_id"], grant, admin)
            if way in OF_KEYS:
                made = await one.post("/api/api-keys", {"name": "robot"}, grant["access_token"])
                one.key = made.json()["key"]
            if way in OF_GROUPS:
                one.group = (await admin.post("/api/groups", json={"name": "crane"})).raise_for_status().json()["id"]
                (await admin.put(f"/api/groups/{one.group}/members/{one.user}")).raise_for_status()
            return await _doors(one, way, trusted)


async def _doors(one: Victim, way: str, trusted: float) -> dict[str, float | None]:
    scan = await one.post("/api/documents/batch-scan", {"path": "."}, one.shown)
    job = scan.json()["job_id"]
    streams = {
        "SSE of a job, open": _stream(one, "GET", f"/api/jobs/{job}/events"),
        "SSE of a chat, open": _stream(one, "POST", "/api/chat/Clerk", {"message": "hi", "stream": True}),
        "SSE of /v1, open": _stream(one, "POST", "/v1/chat/completions", _completion()),
        "WebSocket, open": _socket(one),
        "MCP, open": _stream(one, "POST", "/mcp", _call("chat", {"agent": "Clerk", "message": "hi"})),
        "HTTP, unanswered": _unanswered(one),
    }
    tasks: dict[str, asyncio.Future[None]] = {
        name: asyncio.ensure_future(anext(stream)) for name, stream in streams.items()
    }
    for name, task in tasks.items():
        await asyncio.wait_for(task, 30)
        assert not task.exception(), name
    async with _console(one, trusted) as console:
        doors: dict[str, Callable[[], Awaitable[bool]]] = {
            "HTTP": lambda: _refused(one, "GET", "/api/jobs"),
            "SSE": lambda: _refused(one, "GET", f"/api/jobs/{job}/events"),
            "WebSocket": lambda: _socket_refused(one),
            "MCP": lambda: _refused(one, "POST", "/mcp", _call("search", {"query": "x"})),
        }
        if not one.key:  # the console knows no keys
            doors["console"] = console
        if way in OF_GROUPS:
            doors = {}
        for name, door in doors.items():
            assert not await door(), f"{name} was shut before"
        await WAYS[way](one)
        began = time.monotonic()
        waits = {name: _until(door, began) for name, door in doors.items()}
        waits |= {name: _until_closed(stream, began) for name, stream in streams.items()}
        return dict(zip(waits, await asyncio.gather(*waits.values()), strict=True))


async def _until(refused: Callable[[], Awaitable[bool]], began: float) -> float | None:
    while time.monotonic() - began < PATIENCE:
        if await refused():
            return time.monotonic() - began
        await asyncio.sleep(POLL)
    return None


async def _until_closed(stream: AsyncIterator[None], began: float) -> float | None:
    try:
        async with asyncio.timeout(PATIENCE):
            async for _ in stream:
                pass
    except TimeoutError:
        return None
    except httpx.RemoteProtocolError:  # cut off without last words: not as it should be
        return None
    return time.monotonic() - began


async def _stream(one: Victim, method: str, path: str, body: Any = None) -> AsyncIterator[None]:
    """Tells once that it is open, and ends when the server ends it."""
    async with one.client() as client:
        sent = client.stream(method, path, json=body, headers=TOOLS if path == "/mcp" else {})
        async with sent as answer:
            assert answer.status_code == 200, await answer.aread()
            yield None
            async for _ in answer.aiter_raw():
                pass


async def _unanswered(one: Victim) -> AsyncIterator[None]:
    """A request that takes long: whoever sent it gets a refusal and no answer."""
    async with one.client() as client:
        asked = asyncio.create_task(client.post("/api/chat/Clerk", json={"message": "hi", "stream": False}))
        await asyncio.sleep(0.3)
        assert not asked.done()
        yield None
        assert (await asked).status_code == 401


async def _socket(one: Victim) -> AsyncIterator[None]:
    headers = {"Authorization": f"Bearer {one.shown}"}
    address = one.url.replace("http", "ws", 1) + "/api/v1/ws/agent"
    async with websockets.connect(address, additional_headers=headers) as socket:
        await socket.send(json.dumps({"type": "message", "message": "hi"}))
        await socket.recv()
        yield None
        with suppress(websockets.ConnectionClosedError):
            async for _ in socket:
                pass


async def _socket_refused(one: Victim) -> bool:
    headers = {"Authorization": f"Bearer {one.shown}"}
    address = one.url.replace("http", "ws", 1) + "/api/v1/ws/agent"
    async with websockets.connect(address, additional_headers=headers) as socket:
        try:
            await socket.send(json.dumps({"type": "ping"}))
            while True:  # an error comes before the close that says which kind it is
                if str(json.loads(await socket.recv())["type"]) != "error":
                    return False
        except websockets.ConnectionClosed as closed:
            return closed.rcvd is not None and closed.rcvd.code == 4401


async def _refused(one: Victim, method: str, path: str, body: Any = None) -> bool:
    async with (
        one.client() as client,
        client.stream(method, path, json=body, headers=TOOLS if path == "/mcp" else {}) as answer,
    ):
        return answer.status_code == 401


@asynccontextmanager
async def _console(one: Victim, trusted: float) -> AsyncIterator[Callable[[], Awaitable[bool]]]:
    """The console's guard, holding the very tokens of the victim; whether it lets them add a file."""
    async with httpx.AsyncClient(base_url=one.url, timeout=30) as api:
        door = SignInClient(api)
        desk = ConsoleContext(SessionStore(600, time.monotonic, trusted=trusted), door, [])
        key, _ = desk.sessions.begin(one.email, TokenGrant.of(one.grant))
        transport = httpx.ASGITransport(SessionGuard(_passed, desk))
        headers = {"origin": "http://aos.test"}
        async with httpx.AsyncClient(
            transport=transport, base_url="http://aos.test", cookies={COOKIE: key}, headers=headers
        ) as browser:

            async def refused() -> bool:
                return (await browser.post("/gradio_api/upload")).status_code in (401, 403)

            yield refused


async def _passed(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse("passed")(scope, receive, send)


def _call(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


def _completion() -> dict[str, Any]:
    return {"model": "assistant", "messages": [{"role": "user", "content": "hi"}], "stream": True}
