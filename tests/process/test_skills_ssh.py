"""SSH skills against servers in processes of their own: one that records what reaches it, and OpenSSH where it is."""

import asyncio
import getpass
import json
import logging
import os
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import asyncssh
import psutil
import pytest

from cluster.basics.errors import AosError, Invalid
from cluster.basics.scope import Role, Scope, TenantId, WorkspaceId
from skills.framework import builtin
from skills.framework.contract import CallEffect, OutcomeUnknown, ToolInvocation
from skills.framework.dependencies import HostKeyMissing, SkillDisabled, SshKeyUnreadable
from skills.framework.manifest import BadManifest, CredentialType, Kind, Manifest, Risk
from skills.framework.skill_guard import CallRecord, SkillGuard
from skills.ssh.command import SPARE, SshOptions, command_elements
from skills.ssh.machine import HostKeyRefused, HostMissing, HostNotListed
from skills.ssh.session import SshDenied, SshTimeout, SshUnreachable
from tests.fakes.ground import KeptSecrets, ground
from tests.fakes.sshd import RECORDER, RUNNER

PASSWORD = "canary-Pa55word-e61f"
PASSPHRASE = "canary-phrase-90ab"
TEXT = {"type": "string"}
SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")

SKILLS = {one.name: one for one in builtin.shipped_skills() if one.kind is Kind.SSH}
# What each shipped skill is called with; an argument that is missing has a default.
ARGUMENTS: Mapping[str, Mapping[str, Any]] = {
    "ssh_unit_status": {"unit": "cron.service"},
    "ssh_journal": {"unit": "cron.service", "lines": 5},
    "ssh_restart_unit": {"unit": "nginx.service"},
    "ssh_enable_unit": {"unit": "nginx.service"},
    "ssh_smart_health": {"device": "/dev/sda"},
    "ssh_tail_file": {"path": "/var/log/dpkg.log", "lines": 3},
    "ssh_sysctl": {"name": "kernel.ostype"},
    "ssh_dns_lookup": {"name": "localhost"},
    "ssh_ping": {"target": "127.0.0.1", "count": 1},
    "ssh_traceroute": {"target": "127.0.0.1"},
    "ssh_port_check": {"target": "127.0.0.1", "port": 1},
    "ssh_tls_certificate": {"address": "127.0.0.1:1"},
    "ssh_large_files": {"path": "/etc"},
    "ssh_command": {"command": "echo a | tr a b"},
    "ssh_pg_isready": {"port": 1},
}
# What has to come out where the machine has the program: a status, and a word that is in the answer.
ANSWERS: Mapping[str, tuple[str, tuple[int, ...], str]] = {
    "ssh_disk_usage": ("df", (0,), "Mounted on"),
    "ssh_inode_usage": ("df", (0,), "IFree"),
    "ssh_mounts": ("findmnt", (0,), "TARGET"),
    "ssh_block_devices": ("lsblk", (0, 1), ""),
    "ssh_large_files": ("find", (0,), ""),
    "ssh_memory": ("free", (0,), "available"),
    "ssh_load": ("uptime", (0,), "cores: "),
    "ssh_top_processes": ("ps", (0,), "COMMAND"),
    "ssh_system_info": ("uname", (0,), "PRETTY_NAME="),
    "ssh_pending_updates": ("apt-get", (0,), ""),
    "ssh_sysctl": ("sysctl", (0,), "kernel.ostype = Linux"),
    "ssh_cron_jobs": ("sh", (0,), "# /etc/crontab" if Path("/etc/crontab").exists() else ""),
    "ssh_time_sync": ("date", (0,), "+00:00"),
    "ssh_tail_file": ("tail", (0, 1), ""),
    "ssh_failed_units": ("systemctl", (0, 1), ""),
    "ssh_unit_status": ("systemctl", (0, 1, 3, 4), ""),
    "ssh_journal": ("journalctl", (0, 1), ""),
    "ssh_listening_sockets": ("ss", (0,), "Local Address:Port"),
    "ssh_interfaces": ("ip", (0,), "lo"),
    "ssh_routes": ("ip", (0,), ""),
    "ssh_connections": ("ss", (0,), "TCP:"),
    "ssh_dns_lookup": ("getent", (0,), "STREAM"),
    "ssh_ping": ("ping", (0, 1, 2), ""),
    "ssh_traceroute": ("traceroute", (0, 1), ""),
    "ssh_port_check": ("nc", (1,), ""),
    "ssh_tls_certificate": ("openssl", (0, 1), ""),
    "ssh_firewall_rules": ("nft", (0, 1), ""),
    "ssh_logged_in": ("who", (0,), "NAME"),
    "ssh_last_logins": ("last", (0, 1), ""),
    "ssh_failed_logins": ("lastb", (0, 1), ""),
    "ssh_sshd_config": ("sshd", (0, 1, 255), ""),
    "ssh_user_accounts": ("getent", (0,), "root:"),
    "ssh_smart_health": ("smartctl", (0, 1, 2, 4), ""),
    "ssh_pg_isready": ("pg_isready", (2,), "no response"),
    "ssh_mysql_status": ("mysqladmin", (0, 1), ""),
    "ssh_command": ("tr", (0,), "b\n"),
}
NEVER_RUN = {"ssh_reboot", "ssh_restart_unit", "ssh_enable_unit"}


@dataclass(frozen=True)
class Server:
    port: int
    known: str
    record: Path
    key: str

    def credential(self, user: str = RUNNER, **other: str) -> dict[str, str]:
        given = {"username": user, "password": PASSWORD, "host": "127.0.0.1", "port": str(self.port)}
        return given | {"known_hosts": self.known} | other

    def lines(self) -> list[str]:
        return [json.loads(one) for one in self.record.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("sshd")
    host, client = asyncssh.generate_private_key("ssh-ed25519"), asyncssh.generate_private_key("ssh-ed25519")
    record = folder / "commands"
    record.touch()
    given = {
        "password": PASSWORD,
        "record": str(record),
        "host_key": host.export_private_key().decode(),
        "authorized": client.export_public_key().decode(),
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.fakes.sshd"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).resolve().parents[2],
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(json.dumps(given) + "\n")
        process.stdin.flush()
        port = int(process.stdout.readline())
        known = f"[127.0.0.1]:{port} {host.export_public_key().decode().strip()}"
        sealed = client.export_private_key(passphrase=PASSPHRASE).decode()
        yield Server(port, known, record, sealed)
    finally:
        process.kill()
        process.wait()


def call(role: Role = Role.ADMIN, **arguments: Any) -> ToolInvocation:
    return ToolInvocation(Scope(TenantId("t"), WorkspaceId("w"), role=role), None, "k", arguments)


def tool(manifest: Manifest, credential: Mapping[str, str]) -> Any:
    return builtin.build_tool(manifest, ground(credentials=KeptSecrets({CredentialType.SSH: credential})))


def skill(*command: str, risk: Risk = Risk.READ, seconds: float = 30, **properties: Any) -> Manifest:
    parameters = {"type": "object", "properties": {**properties}, "required": list(properties)}
    return Manifest(
        "probe",
        "For tests.",
        Kind.SSH,
        parameters,
        risk=risk,
        seconds=seconds,
        credential=CredentialType.SSH,
        options={"command": list(command)},
    )


def free(seconds: float = 30) -> Manifest:
    return replace(SKILLS["ssh_command"], seconds=seconds)


def running(words: str) -> list[int]:
    """Processes that have these words among their arguments."""
    found = []
    for one in psutil.process_iter(["pid", "cmdline"]):
        if words in " ".join(one.info["cmdline"] or ()) and one.info["pid"] != os.getpid():
            found.append(one.info["pid"])
    return found


def gone(words: str) -> bool:
    end = time.monotonic() + 10
    while running(words) and time.monotonic() < end:
        time.sleep(0.05)
    return not running(words)


def test_every_shipped_skill_is_tried_here() -> None:
    assert set(ANSWERS) | NEVER_RUN == set(SKILLS)


@pytest.mark.parametrize("name", sorted(SKILLS))
async def test_sk_02_shipped_commands_reach_the_server_as_they_are_written(server: Server, name: str) -> None:
    """SK-02: the line that arrives is the template, element by element."""
    manifest, given = SKILLS[name], ARGUMENTS.get(name, {})
    answer = await tool(manifest, server.credential(RECORDER)).run(call(**given))
    assert answer["stdout"] == server.lines()[-1]
    sent = shlex.split(server.lines()[-1])
    assert sent[:5] == ["exec", "timeout", "-s", "KILL", str(round(manifest.seconds) + SPARE)]
    template = manifest.options.get("command") or ["sh", "-c", "{command}"]
    defaults = {key: one["default"] for key, one in manifest.parameters["properties"].items() if "default" in one}
    values = {f"{{{key}}}": str(value) for key, value in {**defaults, **given}.items()}
    assert sent[5:] == [values.get(part, part) for part in template]


@pytest.mark.parametrize("name", sorted(set(SKILLS) - NEVER_RUN))
async def test_sk_02_shipped_commands_run(server: Server, name: str) -> None:
    """SK-02: what they print is what they promise, where the machine has the program."""
    program, statuses, word = ANSWERS[name]
    if shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") is None:
        pytest.skip(f"{program} is not on this machine; the line itself is checked above")
    answer = await tool(SKILLS[name], server.credential()).run(call(**ARGUMENTS.get(name, {})))
    assert answer["exit_status"] in statuses, answer
    assert word in answer["stdout"]
    # A status that is allowed because a service is missing must not hide a line that no shell can read.
    for complaint in ("syntax error", "invalid option", "unrecognized option", "Usage:", "usage:"):
        assert complaint not in answer["stderr"], answer


@pytest.mark.parametrize("name", sorted(name for name in SKILLS if "sh" in SKILLS[name].options.get("command", ())))
def test_scripts_are_read_by_a_plain_shell(name: str) -> None:
    command = SKILLS[name].options["command"]
    done = subprocess.run(["sh", "-n", "-c", command[command.index("-c") + 1]], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_path_of_a_log_file_stays_below_its_folder() -> None:
    from jsonschema import Draft202012Validator

    check = Draft202012Validator(SKILLS["ssh_tail_file"].parameters)
    assert check.is_valid({"path": "/var/log/nginx/access.log"})
    for path in ("/etc/shadow", "/var/log/../../etc/shadow", "/var/log/..", "/var/logs", "var/log/x", "/var/log/a b"):
        assert not check.is_valid({"path": path}), path


async def test_a_failing_command_is_a_result(server: Server) -> None:
    answer = await tool(skill("sh", "-c", "echo out; echo err >&2; exit 3"), server.credential()).run(call())
    assert answer == {"host": "127.0.0.1", "exit_status": 3, "stdout": "out\n", "stderr": "err\n"}


HOSTILE = (
    "; touch {0}",
    "$(touch {0})",
    "`touch {0}`",
    "x && touch {0}",
    "x | tee {0}",
    "' ; touch {0} ; '",
    "${{IFS}}touch",
    '" ; touch {0} ; "',
    "> {0}",
    "x & touch {0}",
    "*",
    "~",
    "$HOME",
    "a\\",
    "é'ü",
    "!!",
    "#",
    "{{a,b}}",
    "x' -o '",
)


@pytest.mark.parametrize("text", HOSTILE)
async def test_sk_02_an_argument_is_one_word_for_the_remote_shell(server: Server, tmp_path: Path, text: str) -> None:
    """SK-02: whatever it holds, it is printed and not obeyed."""
    trap = tmp_path / "made"
    text = text.format(trap)
    answer = await tool(skill("printf", "%s", "{what}", what=TEXT), server.credential()).run(call(what=text))
    assert answer["stdout"] == text
    assert not trap.exists()


@pytest.mark.parametrize("text", ["-rf", "--help", "-", "a\nb", "a\rb", "a\x00b", "\x1b[2J", "", None, ["a"], True])
async def test_what_is_no_plain_word_never_reaches_the_server(server: Server, text: object) -> None:
    before = server.lines()
    with pytest.raises(Invalid):
        await tool(skill("printf", "%s", "{what}", what=TEXT), server.credential()).run(call(what=text))
    assert server.lines() == before


async def test_au_07_the_host_key_has_to_be_known_and_right(server: Server) -> None:
    """AU-07: without a known key nothing is sent, and the fix says how it is had."""
    manifest, other = skill("true"), asyncssh.generate_private_key("ssh-ed25519").export_public_key().decode()
    with pytest.raises(HostKeyMissing) as missing:
        await tool(manifest, server.credential(known_hosts="")).run(call())
    assert f"ssh-keyscan -p {server.port} 127.0.0.1" in missing.value.hint
    for known in (f"[127.0.0.1]:{server.port} {other}", f"[192.0.2.1]:{server.port} {server.known.split(' ', 1)[1]}"):
        with pytest.raises(HostKeyRefused):
            await tool(manifest, server.credential(known_hosts=known)).run(call())
    with pytest.raises(SshKeyUnreadable):
        await tool(manifest, server.credential(known_hosts="@what is this")).run(call())


async def test_au_07_only_machines_of_the_credential(server: Server) -> None:
    """AU-07: the address is bound before; an argument chooses among what is listed."""
    manifest = skill("true", host=TEXT)
    manifest = replace(manifest, parameters={"type": "object", "properties": {"host": TEXT}})
    before = server.lines()
    listed = server.credential(hosts=f"127.0.0.1:{server.port}, 192.0.2.7") | {"host": ""}
    assert (await tool(manifest, listed).run(call(host="127.0.0.1")))["exit_status"] == 0
    with pytest.raises(HostMissing):
        await tool(manifest, listed).run(call())
    for elsewhere in ("localhost", "127.0.0.2", "[::1]", f"127.0.0.1:{server.port + 1}", ""):
        with pytest.raises(HostNotListed):
            await tool(manifest, server.credential()).run(call(host=elsewhere))
    with pytest.raises(HostMissing):
        await tool(manifest, server.credential(host="")).run(call())
    with pytest.raises(HostMissing):
        await tool(manifest, server.credential(port="0")).run(call())
    assert len(server.lines()) == len(before) + 1


async def test_wrong_secrets_are_refused_by_name(server: Server) -> None:
    manifest = skill("true")
    with pytest.raises(SshDenied):
        await tool(manifest, server.credential(password="wrong")).run(call())
    with pytest.raises(SshDenied):
        await tool(manifest, server.credential("nobody")).run(call())
    with pytest.raises(SshKeyUnreadable):
        await tool(manifest, server.credential(private_key=server.key, passphrase="wrong")).run(call())
    with pytest.raises(SshKeyUnreadable):
        await tool(manifest, server.credential(private_key=server.key)).run(call())
    with pytest.raises(SshUnreachable):
        await tool(manifest, server.credential(port="1") | {"known_hosts": server.known}).run(call())


async def test_a_key_with_a_passphrase_lets_in(server: Server) -> None:
    credential = server.credential(private_key=server.key, passphrase=PASSPHRASE, password="")
    assert (await tool(skill("echo", "in"), credential).run(call()))["stdout"] == "in\n"


async def test_a_command_that_takes_too_long_is_killed(server: Server) -> None:
    with pytest.raises(SshTimeout):
        await tool(skill("sh", "-c", "sleep 61.375; true", seconds=2), server.credential()).run(call())
    assert gone("sleep 61.375")
    with pytest.raises(OutcomeUnknown):
        writes = skill("sh", "-c", "sleep 61.376; true", risk=Risk.WRITE, seconds=2)
        await tool(writes, server.credential()).run(call())
    assert gone("sleep 61.376")


async def test_a_cancelled_call_leaves_no_process(server: Server) -> None:
    task = asyncio.create_task(tool(skill("sleep", "61.377"), server.credential()).run(call()))
    while not running("sleep 61.377"):
        assert not task.done()
        await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert gone("sleep 61.377")


async def test_endless_output_is_cut_and_its_command_ended(server: Server) -> None:
    answer = await tool(skill("sh", "-c", "yes canary-yes-5180"), server.credential()).run(call())
    assert answer["cut"] is True
    assert answer["signal"] == "KILL"
    assert len(answer["stdout"]) <= ground().settings.result_bytes
    assert gone("yes canary-yes-5180")


async def test_a_command_that_writes_ends_however_much_it_prints(server: Server, tmp_path: Path) -> None:
    made = tmp_path / "made"
    writes = skill("sh", "-c", f"head -c 3000000 /dev/zero | tr '\\0' x; touch {made}", risk=Risk.WRITE)
    answer = await tool(writes, server.credential()).run(call())
    assert answer["cut"] is True
    assert answer["exit_status"] == 0
    assert made.exists()


class Nothing:
    async def called(self, call: ToolInvocation, what: CallRecord) -> None:
        return None


async def test_no_secret_is_in_results_errors_or_logs(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    said: list[str] = []
    right = server.credential(private_key=server.key, passphrase=PASSPHRASE)
    for other in ({}, {"password": PASSWORD + "x", "private_key": ""}, {"known_hosts": ""}, {"port": "1"}):
        kept = KeptSecrets({CredentialType.SSH: {**right, **other}})
        fence = SkillGuard(ground(credentials=kept), Nothing()).around(free())
        try:
            said.append(json.dumps(await fence.run(call(command=f"echo {PASSWORD} {PASSPHRASE}"))))
        except AosError as error:
            said.append(f"{error.detail} {error.hint} {error.args} {error!r}")
    assert len(said) == 4
    assert "[secret] [secret]" in said[0]
    text = "\n".join(said) + "\n".join(record.getMessage() for record in caplog.records if record.name != "asyncssh")
    for canary in (PASSWORD, PASSPHRASE, server.key.splitlines()[2]):
        assert canary not in text
    # The library's own log names hosts and users, and never what lets them in.
    assert PASSWORD + "x" not in caplog.text


def test_sk_03_a_free_command_is_for_few_and_never_read() -> None:
    """SK-03: `ssh_command` is destructive, for operators and admins, and can be switched off alone or with its kind."""
    manifest = SKILLS["ssh_command"]
    assert (manifest.effect, set(manifest.permissions)) == (CallEffect.WRITE, {Role.OPERATOR, Role.ADMIN})
    for change in ({"risk": Risk.READ}, {"risk": Risk.WRITE}, {"permissions": tuple(Role)}):
        with pytest.raises(BadManifest):
            builtin.build_tool(replace(manifest, name="mine", **change), ground())
    on = ground()
    alone, all_of_it = (
        replace(on, settings=on.settings.model_copy(update={"off": (name,)})) for name in ("ssh_command", "ssh")
    )
    for off in (alone, all_of_it):
        with pytest.raises(SkillDisabled):
            builtin.build_tool(manifest, off)
    fixed = replace(skill("true"), options={"command": ["true"]})
    builtin.build_tool(fixed, alone)
    with pytest.raises(SkillDisabled):
        builtin.build_tool(fixed, all_of_it)


WRONG: tuple[tuple[str, Manifest], ...] = (
    ("no command", replace(skill("true"), options={})),
    ("both", replace(skill("true"), options={"command": ["true"], "command_argument": True})),
    ("unknown option", replace(skill("true"), options={"command": ["true"], "shell": True})),
    ("a part of an element", skill("echo", "a={what}", what=TEXT)),
    ("no such parameter", skill("echo", "{what}")),
    ("unused parameter", skill("echo", what=TEXT)),
    ("maybe missing", replace(skill("echo", "{a}"), parameters={"type": "object", "properties": {"a": TEXT}})),
    ("the program", skill("{what}", what=TEXT)),
    ("a script", skill("sudo", "/bin/bash", "-c", "{what}", what=TEXT)),
    ("a script, joined options", skill("sh", "-ec", "{what}", what=TEXT)),
    ("no credential", replace(skill("true"), credential=None)),
    ("another credential", replace(skill("true"), credential=CredentialType.API_KEY)),
)


@pytest.mark.parametrize("manifest", [one for _, one in WRONG], ids=[name for name, _ in WRONG])
def test_a_manifest_that_would_weaken_the_fence_is_refused(manifest: Manifest) -> None:
    with pytest.raises(BadManifest):
        builtin.build_tool(manifest, ground())


def test_numbers_are_words_too() -> None:
    manifest = skill("tail", "-n", "{lines}", lines={"type": "integer"})
    options = SshOptions.model_validate(dict(manifest.options))
    assert command_elements(manifest, options, {"lines": 5}) == ["tail", "-n", "5"]
    with pytest.raises(Invalid):
        command_elements(manifest, options, {"lines": -5})


@pytest.fixture(scope="module")
def openssh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The real server, for the account that runs the tests; what lets in there."""
    if SSHD is None:
        pytest.skip("OpenSSH's sshd is not on this machine")
    folder = tmp_path_factory.mktemp("openssh")
    host, client = asyncssh.generate_private_key("ssh-ed25519"), asyncssh.generate_private_key("ssh-rsa")
    host.write_private_key(folder / "host")
    (folder / "host").chmod(0o600)
    client.write_public_key(folder / "authorized")
    with socket.socket() as free_socket:
        free_socket.bind(("127.0.0.1", 0))
        port = free_socket.getsockname()[1]
    (folder / "config").write_text(
        f"ListenAddress 127.0.0.1:{port}\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/authorized\n"
        "StrictModes no\nUsePAM no\nPidFile none\nPasswordAuthentication no\nPermitRootLogin yes\n"
    )
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # its own package makes it at boot
    process = subprocess.Popen([SSHD, "-D", "-e", "-f", str(folder / "config")], stderr=subprocess.PIPE)
    assert process.stderr is not None
    try:
        while b"listening" not in (said := process.stderr.readline()):
            assert said, "sshd ended"
        yield {
            "username": getpass.getuser(),
            "host": "127.0.0.1",
            "port": str(port),
            "private_key": client.export_private_key(passphrase=PASSPHRASE).decode(),
            "passphrase": PASSPHRASE,
            "known_hosts": f"[127.0.0.1]:{port} {host.export_public_key().decode().strip()}",
        }
    finally:
        process.kill()
        process.wait()


async def test_sk_02_the_real_server_takes_all_of_it(openssh: dict[str, str]) -> None:
    """SK-02: OpenSSH itself: a key, an argument, a wrong host key, the kill, and the cut."""
    shown = skill("printf", "%s", "{what}", what=TEXT)
    assert (await tool(shown, openssh).run(call(what="; echo $(id) '")))["stdout"] == "; echo $(id) '"
    other = asyncssh.generate_private_key("ssh-ed25519").export_public_key().decode()
    with pytest.raises(HostKeyRefused):
        await tool(shown, openssh | {"known_hosts": f"[127.0.0.1]:{openssh['port']} {other}"}).run(call(what="x"))
    with pytest.raises(SshDenied):
        await tool(shown, openssh | {"private_key": "", "password": "wrong"}).run(call(what="x"))
    with pytest.raises(SshTimeout):
        await tool(skill("sh", "-c", "sleep 61.378; true", seconds=3), openssh).run(call())
    assert gone("sleep 61.378")
    answer = await tool(skill("sh", "-c", "yes canary-yes-5181"), openssh).run(call())
    assert answer["cut"] is True
    assert gone("yes canary-yes-5181")
    assert (await tool(skill("sh", "-c", "exit 7"), openssh).run(call()))["exit_status"] == 7


@pytest.mark.parametrize("name", ["ssh_disk_usage", "ssh_top_processes", "ssh_sshd_config", "ssh_listening_sockets"])
async def test_sk_02_shipped_commands_run_on_the_real_server(openssh: dict[str, str], name: str) -> None:
    """SK-02: as above, with the shell and the environment that OpenSSH gives."""
    answer = await tool(SKILLS[name], openssh).run(call())
    assert answer["exit_status"] == 0, answer
    assert len(answer["stdout"].splitlines()) > 1
