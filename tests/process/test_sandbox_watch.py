"""The probes of `make eval-sandbox`: they see an escape when there is one, and our attacks stay inside."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from configs.sections_skills import SandboxSettings
from skills.sandbox.fence import Sandbox
from skills.sandbox.launch import find_bubblewrap
from tests.evals.eval_sandbox import Case, attempt, ours
from tests.evals.sandbox_watch import Watch

CHOSEN = (
    "fork bomb",
    "every number there is",
    "new namespaces",
    "mounts",
    "raw fork, vfork, clone, clone3",
    "every family there is",
    "write a file in a folder open to all",
    "read the canary",
    "kill everything",
    "a pickle for an answer",
)


def test_nothing_is_seen_where_nothing_happened() -> None:
    with Watch() as watch:
        assert watch.changes("an answer") == []


def test_each_kind_of_escape_is_seen() -> None:
    with Watch() as watch:
        told = watch.payload()
        Path(told["secret"]).write_text("other", encoding="utf-8")
        Path("/tmp", watch.mark).touch()
        with socket.create_connection(("127.0.0.1", told["port"])), socket.socket(socket.AF_UNIX) as unix:
            unix.connect("\0" + told["abstract"])
            left = subprocess.Popen(["/bin/sleep", "60"])
            os.kill(told["victim"], signal.SIGSTOP)
            found = watch.changes(f"the secret is {watch.token}")
        Path("/tmp", watch.mark).unlink()
        os.kill(told["victim"], signal.SIGCONT)
        left.kill()
        left.wait()
    said = "\n".join(found)
    for sign in (f"left /tmp/{watch.mark}", "content of the canary", "('127.0.0.1'", watch.mark, f"process {left.pid}"):
        assert sign in said
    assert "touched the bystander" in found
    assert "told the secret" in found


def test_a_signal_that_is_still_on_its_way_is_seen() -> None:
    """On a busy machine the bystander runs on for a while after it was sent: here it waits for a core that is taken."""
    with Watch() as watch:
        victim, one = watch.payload()["victim"], {min(os.sched_getaffinity(0))}
        with subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) as busy:
            os.sched_setaffinity(busy.pid, one)
            os.sched_setaffinity(victim, one)
            os.sched_setscheduler(victim, os.SCHED_IDLE, os.sched_param(0))
            os.kill(victim, signal.SIGSTOP)
            found = watch.changes()
            busy.kill()
    assert "touched the bystander" in found


@pytest.mark.skipif(find_bubblewrap() is None, reason="bubblewrap is not installed")
@pytest.mark.parametrize("name", CHOSEN)
async def test_an_attack_stays_inside_and_the_next_script_runs(name: str) -> None:
    case = next(case for case in ours() if case.name == name)
    with Watch() as watch:
        async with Sandbox(SandboxSettings(imports=("*",), warm=0, files=watch.files)) as sandbox:
            verdict = await attempt(case, sandbox, watch)
    assert verdict.escapes == []


@pytest.mark.skipif(find_bubblewrap() is None, reason="bubblewrap is not installed")
async def test_what_a_script_claims_to_have_got_counts_as_an_escape() -> None:
    case = Case("x", "x", "wall", "def run(payload): return {'got': 'something'}\n")
    with Watch() as watch:
        async with Sandbox(SandboxSettings(warm=0, files=watch.files)) as sandbox:
            verdict = await attempt(case, sandbox, watch)
    assert verdict.escapes == ["got something"]
