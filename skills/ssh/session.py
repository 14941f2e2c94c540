"""One command on another machine: connect, run, read what it prints up to a limit, and leave nothing running."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from cluster.basics.errors import AosError, Permanent, Transient, Unavailable
from skills.framework.contract import OutcomeUnknown
from skills.framework.dependencies import SshKeyUnreadable
from skills.framework.program_output import PIECE, OutputHead, ProgramLimits
from skills.ssh.machine import HostKeyRefused, RemoteMachine, known_hosts

if TYPE_CHECKING:
    import asyncssh

_GRACE = 2.0  # seconds in which a killed command is to end, before the connection is closed over it
# Nothing of this machine takes part: no configuration, no keys, no agent, no known_hosts but those given.
_NOTHING_OF_HERE: Mapping[str, Any] = {
    **dict.fromkeys(("config", "agent_path", "gss_host", "x509_trusted_certs", "pkcs11_provider")),
    **dict.fromkeys(("send_env", "tunnel", "proxy_command")),
    **dict.fromkeys(("agent_forwarding", "x11_forwarding", "gss_kex", "gss_auth", "host_based_auth"), False),
}


class SshDenied(Permanent):
    """The machine does not let this credential in."""

    code, status = "ssh_denied", 502
    fix = "Check username, password and private_key of the credential, and what the machine's sshd allows."


class SshUnreachable(Unavailable):
    """The machine cannot be reached."""

    code = "ssh_unreachable"


class SshTimeout(Transient):
    """The command did not end in its time, and was killed."""

    code, status = "ssh_timeout", 504


async def run_command(
    machine: RemoteMachine, secret: Mapping[str, str], line: str, limits: ProgramLimits
) -> dict[str, Any]:
    """Give {host, exit_status, stdout, stderr}, with {signal} where one ended it and {cut} where there was more.

    At the limit, and when the call is cancelled, the remote process group is killed (RFC 4254, 6.9). That does not
    reach what the command put into a session of its own; for servers that ignore it see `command.line`.

    Raises:
        HostKeyMissing, HostKeyRefused, SshKeyUnreadable, SshDenied, SshUnreachable: nothing was run.
        SshTimeout: a reading command was killed.
        OutcomeUnknown: one that changes something was killed, or the connection was lost under it.
    """
    begun: list[bool] = []
    try:
        async with asyncio.timeout(limits.seconds), _open_connection(machine, secret) as link:
            begun.append(True)
            return {"host": machine.name, **await _carried_out(link, line, limits)}
    except TimeoutError:
        if begun and not limits.reads:
            raise OutcomeUnknown(f"the command did not end within {limits.seconds:g} s and was killed") from None
        raise SshTimeout(f"{machine.name}: no end within {limits.seconds:g} s") from None
    except _library_errors() as error:
        raise _error_of(error, machine, unknown=bool(begun) and not limits.reads) from None


@asynccontextmanager
async def _open_connection(
    machine: RemoteMachine, secret: Mapping[str, str]
) -> AsyncIterator["asyncssh.SSHClientConnection"]:
    import asyncssh  # imports half of cryptography; only calls pay for it

    known = known_hosts(secret, machine)
    try:
        hosts = asyncssh.import_known_hosts(known)
    except ValueError:
        raise SshKeyUnreadable("known_hosts") from None
    # In a thread: the passphrase of a key is stretched for a good part of a second.
    keys = await asyncio.to_thread(_private_keys, secret)
    login = {"username": secret.get("username", ""), "password": secret.get("password") or None}
    ours: Any = {**login, "client_keys": keys or None, "known_hosts": hosts, "env": {"LC_ALL": "C.UTF-8"}}
    ours |= {"disable_trivial_auth": True, "keepalive_interval": 15}
    async with await asyncssh.connect(machine.host, machine.port, **ours, **_NOTHING_OF_HERE) as link:
        yield link


def _private_keys(secret: Mapping[str, str]) -> list[Any]:
    import asyncssh

    if not secret.get("private_key"):
        return []
    text = secret["private_key"].strip() + "\n"
    try:
        return [asyncssh.import_private_key(text, secret.get("passphrase") or None)]
    except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError):
        raise SshKeyUnreadable("private_key, or its passphrase") from None


async def _carried_out(link: "asyncssh.SSHClientConnection", line: str, limits: ProgramLimits) -> dict[str, Any]:
    import asyncssh

    process = await link.create_process(line, encoding=None, stdin=asyncssh.DEVNULL)
    try:
        out, err = await asyncio.gather(
            _read_beginning(process, process.stdout, limits.bytes, limits.reads),
            _read_beginning(process, process.stderr, limits.bytes // 8, limits.reads),
        )
        await process.wait_closed()
    finally:
        if not process.is_closing() or (process.exit_status is None and process.exit_signal is None):
            await _kill_command(process)
    given: dict[str, Any] = {"exit_status": process.exit_status, "stdout": out.text, "stderr": err.text}
    if process.exit_signal is not None:
        given |= {"exit_status": None, "signal": process.exit_signal[0]}
    return given | ({"cut": True} if out.cut or err.cut else {})


async def _read_beginning(
    process: "asyncssh.SSHClientProcess[bytes]", stream: Any, most: int, reads: bool
) -> OutputHead:
    """The beginning of a stream; what is too much is read and dropped, or a command that writes would stand still."""
    kept = OutputHead.of(most)
    while piece := await stream.read(PIECE):
        if kept.take(piece) and reads:
            process.kill()
            asyncio.get_running_loop().call_later(_GRACE, process.close)  # where nobody heeds that
    return kept


async def _kill_command(process: "asyncssh.SSHClientProcess[bytes]") -> None:
    """Kill, and wait a moment: the signal has to be sent before the connection is closed."""
    try:
        process.kill()
        async with asyncio.timeout(_GRACE):
            await process.wait_closed()
    except (TimeoutError, OSError):
        process.close()


def _library_errors() -> tuple[type[Exception], ...]:
    import asyncssh

    return asyncssh.Error, OSError, ValueError  # ValueError: a name that is none for the resolver


def _error_of(error: Exception, machine: RemoteMachine, *, unknown: bool) -> AosError:
    """An error of the library by its class alone: its texts quote banners of servers, and user names."""
    import asyncssh

    match error:
        case asyncssh.HostKeyNotVerifiable():
            return HostKeyRefused(f"{machine.name} shows a key that known_hosts does not have", fix=machine.scan)
        case asyncssh.PermissionDenied():
            return SshDenied(machine.name)
        case _ if unknown:
            return OutcomeUnknown(f"the connection to {machine.name} was lost")
        case _:
            return SshUnreachable(f"{machine.name} port {machine.port}: {type(error).__name__}")
