"""Runs a playbook by ansible-runner in a process of its own, with nearly no environment and an end in time."""

import contextlib
import json
import shlex
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil

from skills.ansible.playbook import MOST_MESSAGE, AnsibleMissing, PlaybookBroken, PlaybookTimeout
from skills.framework.child_program import ask_program
from skills.framework.contract import OutcomeUnknown

MOST_FAILED = 100  # tasks that are told
LOCAL = "localhost ansible_connection=local ansible_python_interpreter={}\n"
_COUNTS = {"ok": "ok", "changed": "changed", "failures": "failed", "dark": "unreachable", "skipped": "skipped"}


def check_installed(python: str = sys.executable) -> None:
    """Nothing, where ansible-playbook and ansible-runner are beside this Python. Raises AnsibleMissing: one is not."""
    binary = Path(python).with_name("ansible-playbook")
    if find_spec("ansible_runner") is None or not binary.is_file():
        raise AnsibleMissing


async def run_playbook(asked: Mapping[str, Any], folder: str, seconds: float, reads: bool) -> dict[str, Any]:
    """Give {status, hosts, failed}; all processes are gone afterwards, however this ends.

    `asked` has `playbook`, `inventory`, `variables`, and `arguments` of the command line; `folder` is of this call
    alone; one that `reads` may be killed and repeated.

    Raises:
        PlaybookBroken: no host was reached.
        PlaybookTimeout: a reading one was killed.
        OutcomeUnknown: one that changes something was killed.
    """
    env = {"PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin", "HOME": folder, "TMPDIR": folder}
    env["LC_ALL"], module = "C.UTF-8", "skills.ansible.playbook_process"
    told = {**asked, "folder": folder}
    try:
        given, ended = await ask_program(module, told, seconds, env=env, folder=folder, kill=_kill_tree)
    except TimeoutError:
        if not reads:
            raise OutcomeUnknown(f"the playbook did not end within {seconds:g} s and was killed") from None
        raise PlaybookTimeout(f"no end within {seconds:g} s") from None
    if given is None:
        raise PlaybookBroken(f"ansible-runner ended with {ended}")
    if "broken" in given:
        raise PlaybookBroken(given["broken"])
    return given


def _kill_tree(pid: int) -> None:
    """It and all that it started. Ansible gives each of its processes a session of its own, so no group has them all;
    they are stopped first, or they would start others while they are looked for."""
    seen: dict[int, psutil.Process] = {}
    with contextlib.suppress(psutil.NoSuchProcess):
        root = psutil.Process(pid)
        while fresh := [one for one in (root, *root.children(recursive=True)) if one.pid not in seen]:
            for one in fresh:
                seen[one.pid] = one
                with contextlib.suppress(psutil.NoSuchProcess):
                    one.suspend()
    for one in seen.values():
        with contextlib.suppress(psutil.NoSuchProcess):
            one.kill()


def _execute_playbook(
    playbook: str, inventory: str | None, variables: Mapping[str, Any], arguments: list[str], folder: str
) -> dict[str, Any]:
    import ansible_runner  # a part of a second that only this process pays

    where = {"private_data_dir": str(Path(folder) / "run"), "inventory": inventory or LOCAL.format(sys.executable)}
    line = shlex.join(arguments)
    done = ansible_runner.run(playbook=playbook, extravars=variables, cmdline=line, quiet=True, **where)
    stats = done.stats or {}
    if not stats.get("processed"):
        said = next((line for line in done.stdout if "error" in line.lower()), "no host matched")
        return {"broken": f"{done.status} ({done.rc}): {said.strip()[:MOST_MESSAGE]}"}
    counts = [(ours, stats.get(theirs, {})) for theirs, ours in _COUNTS.items()]
    hosts = {host: {name: by_host.get(host, 0) for name, by_host in counts} for host in stats["processed"]}
    failed = list(_failed_tasks(done.events))
    more = {"cut": True} if len(failed) > MOST_FAILED else {}
    return {"status": done.status, "hosts": hosts, "failed": failed[:MOST_FAILED]} | more


def _failed_tasks(events: Any) -> Iterator[dict[str, Any]]:
    for event in events:
        data = event.get("event_data") or {}
        if event["event"] in ("runner_on_failed", "runner_on_unreachable") and not data.get("ignore_errors"):
            said = str((data.get("res") or {}).get("msg", ""))
            yield {"host": data.get("host"), "task": data.get("task"), "message": said[:MOST_MESSAGE]}


def main() -> None:
    """The process: what to run from standard input, JSON to standard output."""
    asked = json.loads(sys.stdin.buffer.read())
    (Path(asked["folder"]) / "run").mkdir(mode=0o700)
    sys.stdout.buffer.write(json.dumps(_execute_playbook(**asked)).encode())


if __name__ == "__main__":
    main()
