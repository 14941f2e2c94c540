"""Container skills, through Docker's own library: against an engine that records what it is asked, and a real one."""

import asyncio
import json
import os
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from cluster.basics.errors import Invalid
from cluster.basics.scope import Role, Scope, TenantId, WorkspaceId
from configs.sections_skills import SkillSettings
from skills.docker.docker_process import (
    EngineRefused,
    EngineTimeout,
    EngineUnreachable,
    EngineUnset,
    ObjectInUse,
    ObjectNotFound,
)
from skills.framework import builtin
from skills.framework.contract import CallEffect, OutcomeUnknown, ToolInvocation
from skills.framework.dependencies import SkillDisabled
from skills.framework.manifest import BadManifest, CredentialType, Kind, Manifest, Risk
from tests.fakes.engine import API, CANARY, FakeEngine, engine
from tests.fakes.ground import ground

SKILLS = {one.name: one for one in builtin.shipped_skills() if one.kind is Kind.DOCKER}
SOCKET = Path("/var/run/docker.sock")


@pytest.fixture
async def fake() -> AsyncIterator[FakeEngine]:
    # Not tmp_path: the name of a socket has at most 107 bytes.
    with tempfile.TemporaryDirectory() as folder:
        async with engine(Path(folder)) as made:
            yield made


async def run(name: str | Manifest, url: str | None, result_bytes: int = 256_000, **arguments: Any) -> Any:
    manifest = SKILLS[name] if isinstance(name, str) else name
    settings = SkillSettings(off=(), docker_url=url, result_bytes=result_bytes)
    tool = builtin.build_tool(manifest, ground(settings=settings))
    scope = Scope(TenantId("t"), WorkspaceId("w"), role=Role.ADMIN)
    return await tool.run(ToolInvocation(scope, None, "k", arguments))


def workers() -> list[int]:
    children = psutil.Process().children()
    return [one.pid for one in children if "skills.docker.docker_process" in " ".join(one.cmdline())]


ASKED = [
    ("docker_containers", {}, "GET /containers/json?limit=-1&all=0&size=0&trunc_cmd=0"),
    ("docker_containers", {"all": True}, "GET /containers/json?limit=-1&all=1&size=0&trunc_cmd=0"),
    ("docker_inspect", {"container": "web"}, "GET /containers/web/json"),
    ("docker_images", {}, "GET /images/json?only_ids=0&all=0"),
    ("docker_stats", {"container": "web"}, "GET /containers/web/stats?stream=False"),
    ("docker_restart", {"container": "web", "grace": 3}, "POST /containers/web/restart?t=3"),
    ("docker_stop", {"container": "web"}, "POST /containers/web/stop?t=10"),
    ("docker_prune", {"what": "containers"}, "POST /containers/prune"),
    ("docker_prune", {"what": "images"}, 'POST /images/prune?filters={"dangling":+["true"]}'),
    ("docker_prune", {"what": "networks"}, "POST /networks/prune"),
    ("docker_prune", {"what": "volumes"}, "POST /volumes/prune"),
]


@pytest.mark.parametrize(("name", "arguments", "line"), ASKED)
async def test_sk_04_what_the_engine_is_asked(fake: FakeEngine, name: str, arguments: Any, line: str) -> None:
    """SK-04: one request each, of the version that the engine speaks."""
    answer = await run(name, fake.url, **arguments)
    method, _, path = line.partition(" ")
    assert fake.asked == [f"{method} /v{API}{path}"]
    assert json.dumps(answer)
    assert (SKILLS[name].effect is CallEffect.READ) == (method == "GET")


async def test_sk_04_what_is_kept_of_its_answers(fake: FakeEngine) -> None:
    """SK-04: the fields that people ask for, under names that say what they are."""
    (one,) = (await run("docker_containers", fake.url))["containers"]
    assert (one["id"], one["name"], one["ports"]) == ("4fa6e0f0c678", "web", ["0.0.0.0:8080->80/tcp", "443/tcp"])
    stats = await run("docker_stats", fake.url, container="web")
    assert stats == {
        "cpu_percent": 80.0,
        "memory_bytes": 4_000_000,
        "memory_limit_bytes": 9_000_000,
        "processes": 7,
        "received_bytes": 11,
        "sent_bytes": 22,
    }
    assert (await run("docker_images", fake.url))["images"][0]["tags"] == ["nginx:1.27"]
    assert await run("docker_stop", fake.url, container="web") == {"stopped": "web"}
    assert await run("docker_prune", fake.url, what="volumes") == {"removed": ["x1"], "bytes": 12}


async def test_inspecting_shows_names_of_variables_and_no_values(fake: FakeEngine) -> None:
    seen = await run("docker_inspect", fake.url, container="web")
    assert seen["environment"] == ["DB_PASSWORD", "PATH", "BARE"]
    assert (seen["labels"], seen["program"], seen["health"]) == (["org.secret"], "nginx", "healthy")
    assert (seen["state"]["Status"], seen["restarts"], seen["restart_policy"]) == ("running", 2, "always")
    assert CANARY not in json.dumps(seen)


async def test_logs_of_both_streams_up_to_a_limit(fake: FakeEngine) -> None:
    assert await run("docker_logs", fake.url, container="web", lines=7) == {"logs": "out\nerr\n"}
    assert "tail=7" in fake.asked[0]
    assert "follow=0" in fake.asked[0]
    fake.logs = [(1, b"x" * 100_000)]
    much = await run("docker_logs", fake.url, 4_000, container="web")
    assert (much["logs"], much["cut"]) == ("x" * 3_000, True)


async def test_over_tcp_and_whatever_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    async with engine(None) as fake, engine(None) as other:
        for name in ("DOCKER_HOST", "HTTP_PROXY", "http_proxy"):
            monkeypatch.setenv(name, other.url.replace("tcp:", "http:"))
        assert (await run("docker_images", fake.url))["images"]
        with pytest.raises(EngineUnset, match="engine"):
            await run("docker_images", None)
        assert (len(fake.asked), other.asked) == (1, [])


async def test_what_fails_has_a_name(fake: FakeEngine, tmp_path: Path) -> None:
    with pytest.raises(ObjectNotFound, match="No such container: other"):
        await run("docker_inspect", fake.url, container="other")
    fake.busy = True
    with pytest.raises(ObjectInUse, match="is restarting"):
        await run("docker_stop", fake.url, container="web")
    with pytest.raises(EngineUnreachable):
        await run("docker_images", f"unix://{tmp_path}/no.sock")
    with pytest.raises(EngineUnset):
        await run("docker_images", "ssh://root@127.0.0.1")


async def test_an_answer_that_is_none_has_a_name() -> None:
    async def wrong(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        body = b'{"ApiVersion": "1.44"}' if b"/version" in head else b'{"message": "disk is full"}'
        status = b"200" if b"/version" in head else b"500"
        size = str(len(body)).encode()
        writer.write(b"HTTP/1.1 " + status + b" x\r\nConnection: close\r\nContent-Length: " + size + b"\r\n\r\n" + body)
        writer.close()

    server = await asyncio.start_server(wrong, "127.0.0.1", 0)
    async with server:
        with pytest.raises(EngineRefused, match="disk is full"):
            await run("docker_images", f"tcp://127.0.0.1:{server.sockets[0].getsockname()[1]}")


async def test_a_lost_answer_to_what_changes_something_is_an_unknown_outcome(fake: FakeEngine) -> None:
    fake.broken = True
    with pytest.raises(EngineUnreachable):
        await run("docker_images", fake.url)
    with pytest.raises(OutcomeUnknown):
        await run("docker_restart", fake.url, container="web")


async def test_an_engine_that_is_mute_is_left_in_time(fake: FakeEngine) -> None:
    fake.mute = True
    begun = time.monotonic()
    with pytest.raises((EngineTimeout, EngineUnreachable)):
        await run(replace(SKILLS["docker_images"], seconds=2), fake.url)
    with pytest.raises(OutcomeUnknown):
        await run(replace(SKILLS["docker_stop"], seconds=2), fake.url, container="web", grace=0)
    assert time.monotonic() - begun < 20
    await left(fake)


async def test_a_cancelled_call_leaves_no_process_and_no_connection(fake: FakeEngine) -> None:
    fake.mute = True
    task = asyncio.create_task(run("docker_stats", fake.url, container="web"))
    while not fake.asked:
        assert not task.done()
        await asyncio.sleep(0.05)
    assert workers()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await left(fake)


async def left(fake: FakeEngine) -> None:
    end = time.monotonic() + 10
    while workers() or fake.open:
        assert time.monotonic() < end
        await asyncio.sleep(0.05)


@pytest.mark.parametrize("name", ["../../secrets", "a/b", "web?x=1", "-v", "", "a b", "a%2Fb", None, 3, ["web"]])
async def test_what_is_no_name_never_reaches_the_engine(fake: FakeEngine, name: Any) -> None:
    with pytest.raises(Invalid):
        await run("docker_inspect", fake.url, container=name)
    assert fake.asked == []


async def test_other_arguments_are_checked_too(fake: FakeEngine) -> None:
    for skill, arguments in (
        ("docker_logs", {"container": "web", "lines": 10**9}),
        ("docker_stop", {"container": "web", "grace": True}),
        ("docker_prune", {"what": "everything"}),
        ("docker_prune", {}),
        ("docker_images", {"container": "web"}),
    ):
        with pytest.raises(Invalid):
            await run(skill, fake.url, **arguments)
    assert fake.asked == []


@pytest.mark.parametrize(
    "bad",
    [
        replace(SKILLS["docker_stop"], risk=Risk.READ),
        replace(SKILLS["docker_inspect"], permissions=tuple(Role)),
        replace(SKILLS["docker_prune"], risk=Risk.WRITE),
        replace(SKILLS["docker_images"], options={"operation": "exec"}),
        replace(SKILLS["docker_images"], options={}),
        replace(SKILLS["docker_images"], credential=CredentialType.CUSTOM),
        replace(SKILLS["docker_images"], parameters=SKILLS["docker_stop"].parameters),
    ],
)
def test_what_is_badly_described_is_not_built(bad: Manifest) -> None:
    with pytest.raises(BadManifest):
        builtin.build_tool(bad, ground())


def test_the_kind_can_be_switched_off() -> None:
    with pytest.raises(SkillDisabled):
        builtin.build_tool(SKILLS["docker_images"], ground(settings=SkillSettings(off=("docker",))))


@pytest.mark.skipif(not os.access(SOCKET, os.R_OK | os.W_OK), reason=f"no container engine at {SOCKET}")
async def test_sk_04_a_real_engine() -> None:
    """SK-04: what reads, read from the engine of this machine."""
    url = f"unix://{SOCKET}"
    found = (await run("docker_containers", url, all=True))["containers"]
    assert "images" in await run("docker_images", url)
    with pytest.raises(ObjectNotFound):
        await run("docker_inspect", url, container="aos-no-such-container")
    for one in found[:1]:
        assert (await run("docker_inspect", url, container=one["id"]))["id"] == one["id"]
