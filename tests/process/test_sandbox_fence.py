"""Scripts behind the fence, with real processes: what they get, what they do not, and that nothing is left."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import psutil
import pytest

from cluster.basics.errors import Invalid
from configs.sections_skills import SandboxSettings
from skills.sandbox.fence import Sandbox, SandboxOutcome, report_layers
from skills.sandbox.launch import LaunchMode, find_bubblewrap, launch_command, launch_modes, resource_limits
from skills.sandbox.layers import IsolationLayer
from skills.sandbox.pool import WorkerPool
from skills.sandbox.sandbox_errors import (
    ForbiddenImport,
    SandboxMissing,
    ScriptFailed,
    ScriptMemory,
    ScriptTimeout,
    ScriptTooBig,
)
from skills.sandbox.worker import START_SECONDS, SandboxWorker
from tests.evals.report import ROOT

pytestmark = pytest.mark.skipif(find_bubblewrap() is None, reason="bubblewrap is not installed")


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    async with Sandbox(SandboxSettings()) as sandbox:
        yield sandbox


@pytest.fixture
async def wall() -> AsyncIterator[Sandbox]:
    """With the whole standard library offered: what then still holds is the kernel's."""
    async with Sandbox(SandboxSettings(imports=("*",))) as sandbox:
        yield sandbox


def body(text: str) -> str:
    return f"def run(payload):\n{textwrap.indent(textwrap.dedent(text).strip(), '    ')}\n"


async def fails(sandbox: Sandbox, source: str) -> ScriptFailed:
    with pytest.raises(ScriptFailed) as caught:
        await sandbox.run(source, {})
    return caught.value


def children() -> set[int]:
    return {child.pid for child in psutil.Process().children(recursive=True)}


def eventually(fact: Callable[[], bool], seconds: float = 10.0) -> bool:
    end = time.monotonic() + seconds
    while not fact() and time.monotonic() < end:
        time.sleep(0.02)
    return fact()


async def test_sk_10_run_takes_the_payload_and_gives_back_a_dict(sandbox: Sandbox) -> None:
    """SK-10, SK-15."""
    source = (
        "import sys\ndef run(payload):\n    print('seen', payload['name'])\n    return {'hello': payload['name']}\n"
    )
    outcome = await sandbox.run(source.replace("import sys\n", ""), {"name": "Ünal"})
    assert outcome == SandboxOutcome({"hello": "Ünal"}, "seen Ünal\n", "", outcome.ms)
    assert outcome.ms > 0


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("x = 1", "no `def run"),
        ("def run(payload): return [1]", "list, not a dict"),
        ("def run(payload): return {'a': {1, 2}}", "not JSON serializable"),
        ("def run(payload): return {'a': float('nan')}", "not JSON compliant"),
        ("def run(payload): raise SystemExit('bye')", "SystemExit: bye"),
        ("def run(payload", "SyntaxError"),
    ],
)
async def test_sk_10_what_is_no_answer_is_told_by_name(sandbox: Sandbox, source: str, said: str) -> None:
    assert said in (await fails(sandbox, source)).detail


async def test_a_failure_shows_the_lines_of_the_script_and_none_of_ours(sandbox: Sandbox) -> None:
    source = "def part(n):\n    print('before')\n    return 1 / n\ndef run(payload):\n    return {'x': part(0)}\n"
    failure = await fails(sandbox, source)
    assert failure.detail == "ZeroDivisionError: division by zero"
    assert "return 1 / n" in failure.trace
    assert "line 5, in run" in failure.trace
    assert "guest" not in failure.trace and "work" not in failure.trace
    assert failure.stdout == "before\n"


async def test_sk_11_the_listed_modules_work_and_others_are_refused_by_name(sandbox: Sandbox) -> None:
    source = """
import base64, collections, datetime, hashlib, itertools, json, math, re, statistics
def run(payload):
    when = datetime.datetime.strptime("2026-01-02", "%Y-%m-%d") + datetime.timedelta(days=1)
    return {
        "b64": base64.b64encode(b"x").decode(), "most": collections.Counter("aab").most_common(1)[0][0],
        "day": when.strftime("%Y-%m-%d"), "sha": hashlib.sha256(b"").hexdigest()[:8], "pairs": len(list(itertools.pairwise("abc"))),
        "json": json.loads("[1]"), "pi": round(math.pi, 2), "re": re.sub("a", "b", "a"), "mean": statistics.mean([1, 3]),
    }
"""  # noqa: E501
    value = (await sandbox.run(source, {})).value
    assert (value["b64"], value["most"], value["day"], value["sha"]) == ("eA==", "a", "2026-01-03", "e3b0c442")
    assert (value["pairs"], value["json"], value["pi"], value["re"], value["mean"]) == (2, [1], 3.14, "b", 2)
    for name in ("os", "sys", "time", "numpy", "importlib.util"):
        with pytest.raises(ForbiddenImport, match=f"{name} may not be imported"):
            await sandbox.run(f"import {name}\n", {})


@pytest.mark.parametrize("name", ["socket", "requests", "urllib.request", "httpx"])
async def test_sk_12_network_modules_and_open_are_not_offered(sandbox: Sandbox, name: str) -> None:
    with pytest.raises(ForbiddenImport):
        await sandbox.run(body(f"import {name}"), {})
    with pytest.raises(ForbiddenImport, match=r"open\(\)"):
        await sandbox.run(body("open('/etc/passwd')"), {})


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("import socket; socket.socket()", "PermissionError"),
        ("open('/tmp/x', 'w')", "PermissionError"),
        ("open('/etc/passwd')", "FileNotFoundError"),
        (f"open({str(ROOT / 'pyproject.toml')!r})", "FileNotFoundError"),
        ("import os; os.listdir('/proc')", "FileNotFoundError"),
        ("import os; os.fork()", "PermissionError"),
        ("import os; os.execv('/python/bin/python', ['python'])", "PermissionError"),
        ("import os; os.kill(1, 9)", "PermissionError"),
        ("import threading; threading.Thread(target=print).start()", "can't start new thread"),
        ("import resource; resource.setrlimit(resource.RLIMIT_AS, (1, 1))", "Error"),
        ("import numpy", "ModuleNotFoundError"),
    ],
)
async def test_sk_12_the_wall_holds_with_every_module_offered(wall: Sandbox, code: str, error: str) -> None:
    assert error in (await fails(wall, body(code))).detail


async def test_a_script_finds_an_empty_environment_and_no_trace_of_its_starter(wall: Sandbox) -> None:
    source = body("""
        import os, sys
        return {"environ": dict(os.environ), "argv": sys.argv, "orig": sys.orig_argv, "uid": os.getuid(),
                "pid": os.getpid(), "root": sorted(os.listdir("/")), "tmp": os.listdir("/tmp"),
                "path": [p for p in sys.path if p], "host": os.uname().nodename}
    """)
    value = (await wall.run(source, {})).value
    assert (value["environ"], value["argv"], value["orig"]) == ({}, ["skill.py"], ["skill.py"])
    assert (value["uid"], value["tmp"], value["host"]) == (65534, [], "sandbox")
    assert value["pid"] in (1, 2)
    assert set(value["root"]) <= {"python", "libs", "lib", "lib64", "tmp"}
    assert all(path.startswith("/python/") for path in value["path"])


@pytest.mark.parametrize("code", ["while True: pass", "import time\nwhile True: time.sleep(9)"])
async def test_sk_13_a_script_is_killed_when_its_time_is_up(code: str) -> None:
    async with Sandbox(SandboxSettings(imports=("*",), seconds=1, warm=0)) as sandbox:
        began = time.monotonic()
        with pytest.raises(ScriptTimeout, match="after 1 s"):
            await sandbox.run(body(code), {}, seconds=60)
        assert time.monotonic() - began < 10
        assert children() == set()


@pytest.mark.parametrize(
    "code", ["return {'n': len(bytearray(2 << 30))}", "held = []\nwhile True: held.append(bytes(1 << 20))"]
)
async def test_sk_14_memory_ends_at_its_limit(sandbox: Sandbox, code: str) -> None:
    with pytest.raises(ScriptMemory):
        await sandbox.run(body(code), {})


@pytest.mark.parametrize(
    ("code", "channel"),
    [
        ("while True: print('x' * 10000)", "output"),
        ("import os\n    while True: os.write(2, b'x' * 10000)", "error output"),
        ("return {'x': 'y' * 2_000_000}", "answer"),
    ],
)
async def test_sk_15_output_ends_at_its_limit(wall: Sandbox, code: str, channel: str) -> None:
    with pytest.raises(ScriptTooBig, match=channel):
        await wall.run(f"def run(payload):\n    {code}\n", {})


async def test_an_interpreter_is_used_once(wall: Sandbox) -> None:
    await wall.run("import builtins\nbuiltins.left = 1\ndef run(payload): return {}\n", {})
    outcome = await wall.run("import builtins\ndef run(payload): return {'left': hasattr(builtins, 'left')}\n", {})
    assert outcome.value == {"left": False}


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import ctypes; ctypes.string_at(0)", "died of SIGSEGV"),
        ("import os; os._exit(0)", "died"),
        ("import os; os.write(0, b'{\"value\": [}\\n'); os._exit(0)", "not a JSON object"),
        ("import os; os.write(0, b'\\x80\\x04cos\\nsystem\\n.\\n'); os._exit(0)", "not a JSON object"),
    ],
)
async def test_a_script_that_breaks_its_interpreter_breaks_nothing_else(wall: Sandbox, code: str, said: str) -> None:
    assert said in (await fails(wall, body(code))).detail
    assert (await wall.run("def run(payload): return {'ok': 1}\n", {})).value == {"ok": 1}


async def test_an_answer_that_was_forged_ends_the_script_all_the_same(wall: Sandbox) -> None:
    before = children()
    outcome = await wall.run(body('import os\nos.write(0, b\'{"value": {"mine": 1}}\\n\')\nwhile True: pass'), {})
    assert outcome.value == {"mine": 1}
    await wall.aclose()
    assert children() <= before


async def test_one_that_is_ended_while_it_starts_is_not_waited_for() -> None:
    """It was, for as long as a start may take: what had not been connected yet never closed."""
    settings, before = SandboxSettings(), children()
    way = launch_modes(settings, root=os.geteuid() == 0, fence=find_bubblewrap())[0]
    most = {"answer": 1000, "output": 1000}
    for moments in [*range(8), *[0] * 8]:
        starting = asyncio.create_task(
            SandboxWorker.start(launch_command(way, settings), resource_limits(settings, settings.seconds), most)
        )
        for _ in range(moments):
            await asyncio.sleep(0)
        if not moments:
            await asyncio.sleep(0.01)
        starting.cancel()
        ended, _ = await asyncio.wait({starting}, timeout=START_SECONDS / 2)
        assert ended and starting.cancelled()
    assert children() <= before


async def test_every_layer_holds_as_root_and_as_a_plain_user() -> None:
    settings = SandboxSettings()
    for root in {False, os.geteuid() == 0}:
        way = launch_modes(settings, root=root, fence=find_bubblewrap())[0]
        worker = await SandboxWorker.start(
            launch_command(way, settings), resource_limits(settings, settings.seconds), {"answer": 1000, "output": 1000}
        )
        await worker.end()
        assert worker.layers == set(IsolationLayer)


def test_the_report_for_a_health_check_names_what_is_missing() -> None:
    seen = report_layers(SandboxSettings())
    assert (seen.missing, seen.reason) == ((), "")


async def test_untrusted_code_is_refused_where_a_layer_is_missing_unless_the_settings_give_it_up() -> None:
    def bare(_: SandboxSettings) -> list[LaunchMode]:
        return [LaunchMode(frozenset())]

    strict = SandboxSettings(warm=0)
    async with Sandbox(strict, WorkerPool(strict, bare)) as sandbox:
        with pytest.raises(SandboxMissing, match="without user, pid, net, mount") as caught:
            await sandbox.run("def run(payload): return {}\n", {})
        assert "apt-get install bubblewrap" in caught.value.hint
        assert set((await sandbox.layers()).missing) >= {IsolationLayer.NET, IsolationLayer.MOUNT, IsolationLayer.PID}
    given_up = ("user", "pid", "net", "mount", "ipc", "uts", "cgroup", "capabilities")
    lenient = SandboxSettings(warm=0, untrusted_without=given_up)
    async with Sandbox(lenient, WorkerPool(lenient, bare)) as sandbox:
        assert (await sandbox.run("def run(payload): return {'ran': True}\n", {})).value == {"ran": True}
    assert children() == set()


async def test_a_fence_that_cannot_be_built_says_why() -> None:
    def broken(_: SandboxSettings) -> list[LaunchMode]:
        return [
            LaunchMode(frozenset(IsolationLayer), fence="/bin/false"),
            LaunchMode(frozenset(IsolationLayer), fence="/no/such/program"),
        ]

    settings = SandboxSettings()
    async with Sandbox(settings, WorkerPool(settings, broken)) as sandbox:
        with pytest.raises(SandboxMissing, match="No such file"):
            await sandbox.run("def run(payload): return {}\n", {})
    assert children() == set()


async def test_closing_leaves_no_process_waiting_or_running() -> None:
    sandbox = Sandbox(SandboxSettings(warm=3))
    await sandbox.fill()
    running = asyncio.create_task(sandbox.run(body("while True: pass"), {}))
    await asyncio.sleep(0.5)
    assert len(children()) >= 6
    await sandbox.aclose()
    with pytest.raises(ScriptFailed, match="SIGKILL"):
        await running
    assert children() == set()
    with pytest.raises(SandboxMissing, match="closed"):
        await sandbox.run("def run(payload): return {}\n", {})


async def test_a_call_that_is_cancelled_takes_its_script_along() -> None:
    async with Sandbox(SandboxSettings(warm=0)) as sandbox:
        call = asyncio.create_task(sandbox.run(body("while True: pass"), {}))
        await asyncio.sleep(1)
        assert children()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert children() == set()


async def test_calls_at_the_same_time_do_not_meet(sandbox: Sandbox) -> None:
    source = "def run(payload): return {'n': payload['n']}\n"
    outcomes = await asyncio.gather(*(sandbox.run(source, {"n": n}) for n in range(8)))
    assert [outcome.value["n"] for outcome in outcomes] == list(range(8))


async def test_a_payload_that_is_no_json_is_refused(sandbox: Sandbox) -> None:
    with pytest.raises(Invalid, match="payload"):
        await sandbox.run("def run(payload): return {}\n", {"x": object()})


@pytest.mark.parametrize("busy", ["while True: pass", "import time; time.sleep(300)"])
@pytest.mark.parametrize("root", [False, *([True] if os.geteuid() == 0 else [])])
def test_scripts_die_with_the_process_that_asked_for_them(root: bool, busy: str) -> None:
    program = f"""
import asyncio, json, psutil
from configs.sections_skills import SandboxSettings
from skills.sandbox.fence import Sandbox
from skills.sandbox.launch import find_bubblewrap, launch_modes
from skills.sandbox.pool import WorkerPool
async def main():
    settings = SandboxSettings(seconds=300, warm=1, imports=("*",))
    pool = WorkerPool(settings, lambda settings: launch_modes(settings, root={root}, fence=find_bubblewrap())[:1])
    sandbox = Sandbox(settings, pool)
    call = asyncio.create_task(sandbox.run("def run(payload):\\n    {busy}\\n", {{}}))
    await sandbox.fill()
    await asyncio.sleep(1)
    print(json.dumps([child.pid for child in psutil.Process().children(recursive=True)]), flush=True)
    await call
asyncio.run(main())
"""
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert parent.stdout is not None
    pids = json.loads(parent.stdout.readline())
    assert len(pids) >= 4
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    assert eventually(lambda: not any(_alive(pid) for pid in pids))


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
