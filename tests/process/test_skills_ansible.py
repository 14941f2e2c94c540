"""Playbook skills with playbooks that are really run on this machine: what they are given, and that nothing is left."""

import asyncio
import json
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import asyncssh
import psutil
import pytest

pytest.importorskip("ansible_runner", reason="the extra `ansible` is not installed")

from cluster.basics.errors import Invalid
from cluster.basics.scope import Role, Scope, TenantId, WorkspaceId
from configs.sections_skills import SkillSettings
from skills.ansible.playbook import AnsibleMissing, AnsibleUnset, PlaybookBroken, PlaybookNotFound, PlaybookTimeout
from skills.ansible.playbook_process import check_installed
from skills.framework import builtin
from skills.framework.contract import OutcomeUnknown, ToolInvocation
from skills.framework.dependencies import HostKeyMissing, SkillDisabled, SshKeyUnreadable
from skills.framework.manifest import BadManifest, CredentialType, Kind, Manifest, Risk
from tests.fakes.ground import KeptSecrets, ground

WRITE = """
- hosts: all
  gather_facts: false
  tasks:
    - name: write
      ansible.builtin.copy: {dest: "{{ dest }}", content: "{{ text }}", mode: "0600"}
"""
FAIL = """
- hosts: all
  gather_facts: false
  tasks:
    - {name: shrug, ansible.builtin.fail: {msg: never mind}, ignore_errors: true}
    - {name: give up, ansible.builtin.fail: {msg: "no {{ what | default('luck') }}"}}
"""
SLEEP = """
- hosts: all
  gather_facts: false
  tasks:
    - {name: wait, ansible.builtin.command: {argv: [sleep, "SECONDS"]}}
"""
KEY = """
- hosts: all
  gather_facts: false
  tasks:
    - {name: look, ansible.builtin.stat: {path: "{{ lookup('env', 'HOME') }}/key"}, register: seen}
    - name: note
      ansible.builtin.copy:
        dest: "{{ dest }}"
        mode: "0600"
        content: "{{ [seen.stat.path, seen.stat.mode, line.split(',,')] | to_json }}"
      vars:
        line: "{{ lookup('pipe', 'xargs -0 printf %s,, < /proc/$PPID/cmdline') }}"
"""
TEXT = {"type": "string"}


def skill(playbook: str, *names: str, risk: Risk = Risk.WRITE, seconds: float = 90, **options: Any) -> Manifest:
    parameters = {"type": "object", "properties": dict.fromkeys(names, TEXT)}
    options = {"playbook": playbook, **options}
    return Manifest("probe", "For tests.", Kind.ANSIBLE, parameters, risk=risk, seconds=seconds, options=options)


@pytest.fixture
def plays(tmp_path: Path) -> Path:
    folder = tmp_path / "plays"
    folder.mkdir()
    for name, text in (("write", WRITE), ("fail", FAIL), ("key", KEY), ("broken", "- hosts: [\n")):
        (folder / f"{name}.yml").write_text(text, encoding="utf-8")
    return folder


async def run(
    manifest: Manifest, folder: Path | None, secret: dict[str, str] | None = None, /, **arguments: Any
) -> Any:
    kept = {} if secret is None else {CredentialType.SSH: secret}
    stood = ground(settings=SkillSettings(off=(), ansible_dir=folder), credentials=KeptSecrets(kept))
    scope = Scope(TenantId("t"), WorkspaceId("w"), role=Role.ADMIN)
    return await builtin.build_tool(manifest, stood).run(ToolInvocation(scope, None, "k", arguments))


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def running(words: str) -> list[int]:
    found = psutil.process_iter(["pid", "cmdline"])
    return [one.pid for one in found if words in " ".join(one.info["cmdline"] or ()) and one.pid != os.getpid()]


def gone(words: str) -> bool:
    end = time.monotonic() + 10
    while running(words) and time.monotonic() < end:
        time.sleep(0.05)
    return not running(words)


async def test_sk_02_a_playbook_runs_on_this_machine(plays: Path, tmp_path: Path) -> None:
    """SK-02: in check mode nothing is written, without it what was asked for is; counts are per host."""
    dest = tmp_path / "made"
    changed = {"localhost": {"ok": 1, "changed": 1, "failed": 0, "unreachable": 0, "skipped": 0}}
    checked = await run(skill("write.yml", "dest", "text", check=True), plays, dest=str(dest), text="x")
    assert checked == {"status": "successful", "hosts": changed, "failed": []}
    assert not dest.exists()
    # A template in an argument is a text: read as one it would run a command on this machine.
    text = "{{ lookup('ansible.builtin.pipe', 'id') }} {% raw %} é\"' \\ $(id)"
    assert await run(skill("write.yml", "dest", "text"), plays, dest=str(dest), text=text) == checked
    assert read(dest) == text


async def test_an_inventory_names_other_hosts(plays: Path, tmp_path: Path) -> None:
    (plays / "hosts.ini").write_text(
        "one ansible_connection=local\ntwo ansible_connection=local ansible_python_interpreter=/nowhere/python\n",
        encoding="utf-8",
    )
    manifest = skill("write.yml", "dest", "text", inventory="hosts.ini", check=True)
    given = await run(manifest, plays, dest=str(tmp_path / "made"), text="x")
    assert set(given["hosts"]) == {"one", "two"}
    assert given["hosts"]["one"]["failed"] == 0
    assert given["hosts"]["two"]["failed"] + given["hosts"]["two"]["unreachable"] == 1


async def test_failed_tasks_are_told(plays: Path) -> None:
    given = await run(skill("fail.yml"), plays)
    assert given["status"] == "failed"
    assert given["failed"] == [{"host": "localhost", "task": "give up", "message": "no luck"}]
    with pytest.raises(PlaybookBroken, match="ERROR"):
        await run(skill("broken.yml"), plays)


async def test_playbooks_lie_in_the_folder_of_the_settings(plays: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.yml").write_text(WRITE, encoding="utf-8")
    (plays / "link.yml").symlink_to(tmp_path / "outside.yml")
    (plays / "way").symlink_to(tmp_path)
    paths = (
        "../outside.yml",
        "link.yml",
        "way/outside.yml",
        str(plays / "write.yml"),
        "none.yml",
        ".",
        "x/../write.yml",
    )
    for path in paths:
        for manifest in (skill(path), skill("write.yml", inventory=path)):
            with pytest.raises(PlaybookNotFound):
                await run(manifest, plays)
    with pytest.raises(AnsibleUnset):
        await run(skill("write.yml"), None)


def test_without_ansible_the_error_says_what_to_install() -> None:
    check_installed()
    with pytest.raises(AnsibleMissing) as missing:
        check_installed("/nowhere/python")
    assert "aos[ansible]" in missing.value.hint


async def test_arguments_are_those_of_the_skill(plays: Path) -> None:
    for arguments in ({"ansible_connection": "ssh"}, {"what": {"__ansible_vault": "x"}}, {"what": [{"{{ a }}": 1}]}):
        with pytest.raises(Invalid):
            await run(skill("fail.yml", "what"), plays, **arguments)
    with pytest.raises(BadManifest):
        await run(skill("fail.yml", "ansible_connection"), plays)
    with pytest.raises(BadManifest):
        await run(replace(skill("fail.yml"), credential=CredentialType.DB_DSN), plays)
    with pytest.raises(BadManifest):
        await run(skill("fail.yml", become=True), plays)
    with pytest.raises(SkillDisabled):
        builtin.build_tool(skill("fail.yml"), ground(settings=SkillSettings(off=("ansible",), ansible_dir=plays)))


async def test_a_key_is_there_for_the_call_alone(plays: Path, tmp_path: Path) -> None:
    manifest = replace(skill("key.yml", "dest"), credential=CredentialType.SSH)
    key = asyncssh.generate_private_key("ssh-ed25519").export_private_key(passphrase="canary-phrase").decode()
    secret = {"username": "deploy", "private_key": key, "passphrase": "canary-phrase", "known_hosts": "h ssh-ed25519 A"}
    given = await run(manifest, plays, secret, dest=str(tmp_path / "note"))
    assert given["status"] == "successful", given
    path, mode, line = json.loads(read(tmp_path / "note"))
    assert mode == "0600"
    assert line[line.index("--private-key") + 1] == path
    assert line[line.index("--user") + 1] == "deploy"
    assert any("StrictHostKeyChecking=yes" in part and "UserKnownHostsFile=" in part for part in line)
    assert not is_there(Path(path).parent)
    with pytest.raises(HostKeyMissing):
        await run(manifest, plays, secret | {"known_hosts": ""}, dest="/x")
    for wrong in ({"private_key": ""}, {"passphrase": "wrong"}):
        with pytest.raises(SshKeyUnreadable) as refused:
            await run(manifest, plays, secret | wrong, dest="/x")
        assert "canary" not in str(refused.value)


def is_there(path: Path) -> bool:
    return path.exists()


async def test_a_playbook_that_takes_too_long_is_killed_with_all_it_started(plays: Path) -> None:
    async def late(risk: Risk, error: type[Exception], seconds: str) -> None:
        name = f"sleep{seconds}.yml"
        (plays / name).write_text(SLEEP.replace("SECONDS", seconds), encoding="utf-8")
        task = asyncio.create_task(run(skill(name, risk=risk, seconds=12), plays))
        await started(f"sleep {seconds}", task)
        with pytest.raises(error):
            await task
        assert gone(f"sleep {seconds}") and gone(name)

    await asyncio.gather(late(Risk.READ, PlaybookTimeout, "81.371"), late(Risk.WRITE, OutcomeUnknown, "81.372"))


async def test_a_cancelled_call_leaves_no_process(plays: Path) -> None:
    (plays / "sleep.yml").write_text(SLEEP.replace("SECONDS", "81.373"), encoding="utf-8")
    task = asyncio.create_task(run(skill("sleep.yml"), plays))
    await started("sleep 81.373", task)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert gone("sleep 81.373")
    assert gone(str(plays / "sleep.yml"))


async def started(words: str, task: "asyncio.Task[Any]") -> None:
    while not running(words):
        assert not task.done()
        await asyncio.sleep(0.05)
