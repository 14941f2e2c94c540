"""Skills of type mcp against servers: the public reference server, one made with the SDK, and some that misbehave."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from cluster.basics.errors import AosError, TooLarge, Unavailable
from cluster.basics.scope import Role, Scope, TenantId, UserId, WorkspaceId
from configs.sections_skills import SkillSettings
from skills.framework.builtin import build_tool
from skills.framework.contract import CallEffect, OutcomeUnknown, ToolInvocation
from skills.framework.dependencies import SkillDependencies
from skills.framework.manifest import BadManifest, CredentialType, Kind, Manifest, Risk
from skills.framework.mcp_connections import McpConnections, ServerAway
from skills.framework.skill_guard import CallRecord, SkillGuard
from skills.http_client.guard import AddressNotAllowed
from skills.http_client.http_answer import ServiceDenied, ServiceGarbled
from skills.mcp.discover import OfferedTool, discover_tools
from skills.mcp.options import McpServerSpec
from skills.mcp.results import RemoteToolChanged, RemoteToolFailed, RemoteToolGone
from skills.mcp.server_process import CommandNotAllowed
from tests.fakes.ground import KeptSecrets, ground
from tests.fakes.mcp_http import TOKEN

PATIENCE = 60.0  # a busy machine needs more than the product's ten seconds to start a Python with the SDK
FAKE = str(Path(__file__).parents[1] / "fakes" / "mcp_stdio.py")
READS = {"type": "object", "properties": {"text": {"type": "string"}}}
ME = Scope(TenantId("t"), WorkspaceId("w"), (), UserId("u"), Role.OPERATOR)


def call(arguments: dict[str, Any] | None = None, **other: Any) -> ToolInvocation:
    return replace(ToolInvocation(ME, "agent", "key", arguments or {}, "session"), **other)


def echo(mode: str, seconds: float = 20, **other: Any) -> Manifest:
    """The fake's tool, read-only but for what the test says."""
    options = {"command": sys.executable, "args": ["-I", "-S", FAKE, mode], "tool": "echo", **other.pop("options", {})}
    return replace(Manifest("echo", "Says it.", Kind.MCP, READS, seconds=seconds, options=options), **other)


@dataclass
class Trail:
    codes: list[str] = field(default_factory=list)

    async def called(self, call: ToolInvocation, what: CallRecord) -> None:
        self.codes.append(what.code)


def away(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"


async def soon(true: Any) -> bool:
    for _ in range(100):
        if true():
            return True
        await asyncio.sleep(0.05)
    return False


@pytest.fixture
async def on() -> AsyncIterator[SkillDependencies]:
    made = ground(
        settings=SkillSettings(off=(), mcp_commands=(sys.executable,)), remotes=McpConnections(connect=PATIENCE)
    )
    yield made
    await made.remotes.aclose()


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The SDK's server, in a process of its own."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        found.listen()
        command = [sys.executable, "-m", "tests.fakes.mcp_http", str(found.fileno())]
        process = subprocess.Popen(command, pass_fds=[found.fileno()])
        try:
            yield f"http://localhost:{found.getsockname()[1]}"
        finally:
            process.terminate()
            process.wait(10)


def over_http(url: str, **other: Any) -> SkillDependencies:
    """A ground that may call the server, with a token for it."""
    secrets = KeptSecrets({CredentialType.BEARER_TOKEN: {"token": TOKEN}})
    made = ground(credentials=secrets, hosts=(url.removeprefix("http://"),), settings=SkillSettings(off=()))
    made = replace(made, remotes=McpConnections(connect=PATIENCE))
    return replace(made, **other)


def bearing(**other: Any) -> Manifest:
    return replace(Manifest("any", "Any.", Kind.MCP, credential=CredentialType.BEARER_TOKEN, seconds=PATIENCE), **other)


def of(found: list[OfferedTool], tool: str) -> Manifest:
    (manifest,) = [one.manifest for one in found if one.tool == tool]
    assert manifest is not None
    return manifest


async def test_sk_18_the_public_reference_server_is_listed_registered_and_called(on: SkillDependencies) -> None:
    """SK-18: mcp-server-time from PyPI over its pipes; its tools become skills, read-only by its own word."""
    place = McpServerSpec(command=sys.executable, args=("-m", "mcp_server_time"))
    found = await discover_tools(on, call(), Manifest("time", "Time.", Kind.MCP, seconds=PATIENCE), place, "time")
    assert [one.manifest and one.manifest.name for one in found] == ["time_get_current_time", "time_convert_time"]
    convert = of(found, "convert_time")
    assert "$ref" not in json.dumps(convert.parameters) and "source_timezone" in convert.parameters["properties"]
    given = {"source_timezone": "Europe/Paris", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    made = await build_tool(convert, on).run(call(given))
    assert made["data"]["target"]["timezone"] == "Asia/Tokyo" and made["data"]["target"]["datetime"].endswith("+09:00")
    with pytest.raises(RemoteToolFailed, match=r"(?i)nowhere"):
        await build_tool(convert, on).run(call({**given, "source_timezone": "Nowhere/Land"}))


async def test_sk_18_over_http_with_the_token_of_the_call(url: str) -> None:
    """SK-18, CV-05: the bearer token comes from the credential, for the call; names, risks and texts are tamed."""
    on = over_http(url)
    found = await discover_tools(on, call(), bearing(), McpServerSpec(url=f"{url}/mcp"), "fake")
    assert {one.tool: one.manifest and one.manifest.risk for one in found} == {
        "whoami": Risk.READ,
        "erase": Risk.DESTRUCTIVE,
        "picture": Risk.WRITE,
        "with.dots/and-slashes": Risk.WRITE,
    }
    whoami = of(found, "whoami")
    assert whoami.effect is CallEffect.READ and whoami.credential is CredentialType.BEARER_TOKEN
    assert "<" not in whoami.description and "\u200b" not in whoami.description
    assert whoami.description.startswith("The tool whoami of the MCP server localhost")
    made = await build_tool(whoami, on).run(call())
    assert made["data"] == {"authorization": f"Bearer {TOKEN}", "host": url.removeprefix("http://")}
    assert not any(one.server.login for one in on.remotes._links.values()), "kept after the call"
    dotted = of(found, "with.dots/and-slashes")
    assert dotted.name.startswith("fake_with_dots_and-slashes_")
    assert (await build_tool(dotted, on).run(call({"size": 3})))["data"] == {"result": "3 m"}
    shown = await build_tool(of(found, "picture"), on).run(call())
    assert shown["cut"] and shown["parts"] == [{"type": "image", "media_type": "image/png", "bytes": 4000}]
    await on.remotes.aclose()


async def test_a_server_that_repeats_the_token_gives_none_of_it_away(url: str) -> None:
    """Through the fence, as agents call it: what was opened for the call is taken out of what comes back."""
    trail = Trail()
    on = over_http(url)
    manifest = bearing(options={"url": f"{url}/mcp", "tool": "whoami"})
    made = await SkillGuard(on, trail).around(manifest).run(call())
    assert made["data"]["authorization"] == "Bearer [secret]" and TOKEN not in json.dumps(made)
    assert trail.codes == ["ok"]
    await on.remotes.aclose()


async def test_sk_18_a_token_of_oauth_and_none_where_the_client_is_unknown(url: str) -> None:
    """SK-18: client credentials (RFC 6749, 4.4); a wrong one is refused by name, and shows nothing of itself."""
    options = {"url": f"{url}/mcp", "tool": "whoami", "oauth": {"url": f"{url}/token", "scope": "mcp"}}
    manifest = bearing(credential=CredentialType.CUSTOM, options=options)
    known = {CredentialType.CUSTOM: {"client_id": "aos", "client_secret": "client-secret-77", "base_url": url}}
    on = over_http(url, credentials=KeptSecrets(known))
    assert (await build_tool(manifest, on).run(call()))["data"]["authorization"] == f"Bearer {TOKEN}"
    await on.remotes.aclose()
    wrong = {CredentialType.CUSTOM: {"client_id": "aos", "client_secret": "another-secret-88", "base_url": url}}
    with pytest.raises(ServiceDenied) as refused:
        await build_tool(manifest, over_http(url, credentials=KeptSecrets(wrong))).run(call())
    assert "another-secret-88" not in repr(refused.value) + refused.value.detail
    stale = over_http(url, credentials=KeptSecrets({CredentialType.BEARER_TOKEN: {"token": "stale-token-1234"}}))
    for _ in range(2):  # an answer is no absence: the second one is told the same
        with pytest.raises(ServiceDenied) as denied:
            await build_tool(bearing(options={"url": f"{url}/mcp", "tool": "whoami"}), stale).run(call())
    assert "stale-token-1234" not in repr(denied.value) + denied.value.detail


async def test_sk_18_no_two_contexts_share_a_connection(on: SkillDependencies) -> None:
    """SK-18: tenant, workspace, user, agent, session and credential: each has a process of its own."""
    tool = build_tool(echo("good"), on)

    async def pid(one: ToolInvocation) -> int:
        return int(json.loads((await tool.run(one))["text"])["pid"])

    first = await pid(call())
    assert await pid(call({"text": "again"}, key="other")) == first
    others = [
        call(session="other"),
        call(agent="other"),
        call(scope=replace(ME, user=UserId("v"))),
        call(scope=replace(ME, workspace=WorkspaceId("w2"))),
        call(scope=replace(ME, tenant=TenantId("t2"))),
    ]
    pids = {await pid(one) for one in others}
    assert len(pids | {first}) == 6
    await on.remotes.aclose()
    assert await soon(lambda: all(away(one) for one in pids | {first}))


async def test_a_program_is_told_nothing_but_its_own_secret_and_ends_with_the_call(on: SkillDependencies) -> None:
    secrets = KeptSecrets({CredentialType.API_KEY: {"key": "canary-key-9f3c"}})
    manifest = echo("good", credential=CredentialType.API_KEY, options={"env": {"SERVICE_KEY": "key"}})
    made = json.loads((await build_tool(manifest, replace(on, credentials=secrets)).run(call()))["text"])
    assert set(made["env"]) - {"LC_CTYPE"} == {"PATH", "HOME", "TMPDIR", "LANG", "SERVICE_KEY"}
    assert made["env"]["SERVICE_KEY"] == "canary-key-9f3c" and made["cwd"] == made["env"]["HOME"]
    assert await soon(lambda: away(made["pid"]) and not Path(made["cwd"]).exists())
    assert len(on.remotes) == 0


@pytest.mark.parametrize(
    ("mode", "error"),
    [
        ("die", Unavailable),
        ("garbage", ServiceGarbled),
        ("wrong", ServiceGarbled),
        ("huge", TooLarge),
        ("failing", RemoteToolFailed),
    ],
)
async def test_a_program_that_misbehaves_is_a_named_error(
    on: SkillDependencies, mode: str, error: type[AosError]
) -> None:
    began = time.monotonic()
    with pytest.raises(error) as raised:
        await build_tool(echo(mode), on).run(call())
    assert time.monotonic() - began < 15, "not waited for"
    assert len(raised.value.detail) < 500 and not set("<>\u202e") & set(raised.value.detail)
    assert len(on.remotes) == (1 if mode == "failing" else 0)


@pytest.mark.parametrize("mode", ["die", "garbage", "wrong", "huge"])
async def test_what_writes_and_is_answered_with_nonsense_may_have_been_done(on: SkillDependencies, mode: str) -> None:
    with pytest.raises(OutcomeUnknown):
        await build_tool(echo(mode, risk=Risk.WRITE), on).run(call())


async def test_one_that_hangs_is_killed_with_what_it_has_started(on: SkillDependencies, tmp_path: Path) -> None:
    async def read() -> None:
        with pytest.raises(ServerAway):
            await build_tool(echo("hang", seconds=8), on).run(call({"text": str(tmp_path / "pids")}))
        pids = [int(one) for one in (tmp_path / "pids").read_text().split()]
        assert await soon(lambda: all(away(one) for one in pids))

    async def write() -> None:
        with pytest.raises(OutcomeUnknown):
            writes = echo("writes", seconds=8, risk=Risk.WRITE)
            await build_tool(writes, on).run(call({"text": str(tmp_path / "more")}))

    await asyncio.gather(read(), write())


async def test_a_call_that_is_cancelled_leaves_no_program(on: SkillDependencies, tmp_path: Path) -> None:
    running = asyncio.create_task(build_tool(echo("hang", seconds=60), on).run(call({"text": str(tmp_path / "pids")})))
    assert await soon((tmp_path / "pids").exists)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    pids = [int(one) for one in (tmp_path / "pids").read_text().split()]
    assert await soon(lambda: all(away(one) for one in pids))


async def test_sk_18_a_server_that_does_not_answer_is_waited_for_once(on: SkillDependencies) -> None:
    """SK-18: connecting ends in its time, and for a while nobody of this workspace waits again; others still try."""
    moment = [0.0]
    on = replace(on, remotes=McpConnections(lambda: moment[0], connect=1.0))
    tool = build_tool(echo("mute"), on)
    with pytest.raises(ServerAway, match="within 1 s"):
        await tool.run(call())
    began = time.monotonic()
    with pytest.raises(ServerAway, match="tried again in 60 s"):
        await tool.run(call(session="another"))
    assert time.monotonic() - began < 0.5
    with pytest.raises(ServerAway, match="within 1 s"):
        await tool.run(call(scope=replace(ME, tenant=TenantId("t2"))))
    moment[0] = 61.0
    with pytest.raises(ServerAway, match="within 1 s"):
        await tool.run(call())
    assert len(on.remotes) == 0


async def test_a_tool_that_is_described_otherwise_than_before_is_not_called(on: SkillDependencies) -> None:
    tool = build_tool(echo("change"), on)
    await tool.run(call())
    with pytest.raises(RemoteToolChanged):
        await tool.run(call())
    gone = build_tool(echo("gone"), on)
    await gone.run(call())
    with pytest.raises(RemoteToolGone):
        await gone.run(call())
    pinned = echo("good", options={"sha256": "0" * 64})
    with pytest.raises(RemoteToolChanged):
        await build_tool(pinned, on).run(call())


async def test_a_server_that_says_nothing_of_a_tool_has_tools_that_write(on: SkillDependencies) -> None:
    place = McpServerSpec(command=sys.executable, args=("-I", "-S", FAKE, "silent"))
    (found,) = await discover_tools(on, call(), Manifest("x", "X.", Kind.MCP), place, "")
    assert found.manifest is not None and found.manifest.risk is Risk.WRITE


async def test_only_named_programs_and_named_hosts_are_called(on: SkillDependencies, url: str) -> None:
    for commands in ((), ("/bin/sh",), (f"{sys.executable} -m mcp_server_time",)):
        with pytest.raises(CommandNotAllowed):
            build_tool(echo("good"), replace(on, settings=SkillSettings(off=(), mcp_commands=commands)))
    options = {"url": f"{url}/mcp", "tool": "whoami"}
    with pytest.raises(AddressNotAllowed):
        build_tool(bearing(options=options), on)
    named = replace(on, hosts=("localhost",))  # the name alone: neither its port nor a private address
    with pytest.raises(AddressNotAllowed):
        build_tool(bearing(options=options), named)
    private = build_tool(bearing(credential=None, options={**options, "url": "http://localhost/mcp"}), named)
    with pytest.raises(AddressNotAllowed):
        await private.run(call())
    for wrong in ({}, {"url": "x", "command": "y"}, {"url": "x", "args": ["y"]}, {"command": "x", "tool": ""}):
        with pytest.raises(BadManifest):
            build_tool(bearing(options={"tool": "t", **wrong}), on)


@contextmanager
def answering(kind: str, body: Any) -> Iterator[str]:
    """An HTTP server that answers everything with the same bytes."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.end_headers()
            try:
                for piece in body():
                    self.wfile.write(piece)
            except OSError:
                return  # the client has had enough

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://localhost:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("kind", "piece", "times", "error"),
    [
        ("application/json", b"x" * 1_000_000, 100, TooLarge),
        ("text/event-stream", b"data: x\n\n" * 100_000, 100, AosError),
        ("text/event-stream", b"data: " + b"x" * 1_000_000, 100, AosError),
        ("application/json", b"<html>", 1, AosError),
        ("text/html", b"<html>", 1, AosError),
        ("application/json", b"[" * 100_000, 1, AosError),
    ],
)
async def test_answers_without_end_or_sense_are_named_errors(
    kind: str, piece: bytes, times: int, error: type[AosError]
) -> None:
    with answering(kind, lambda: (piece for _ in range(times))) as at:
        on = over_http(at)
        began = time.monotonic()
        with pytest.raises(error):
            await build_tool(bearing(options={"url": f"{at}/mcp", "tool": "x"}), on).run(call())
        assert time.monotonic() - began < 12
        assert len(on.remotes) == 0
        await on.remotes.aclose()


def test_pids_are_told_apart() -> None:
    assert not away(os.getpid()) and away(2**22 + 1)
