"""Choice of the machine for a call: those that the credential names and no others, each with a known host key."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from cluster.basics.errors import Forbidden, Permanent
from skills.framework.dependencies import HostKeyMissing

PORT = 22
_ENTRY = re.compile(r"(?:\[([0-9A-Fa-f:.%]+)\]|([A-Za-z0-9_.-]+))(?::([0-9]{1,5}))?")


class HostNotListed(Forbidden):
    """This credential is not for that machine."""

    code = "ssh_host_not_listed"
    fix = "Name one of the credential's field `hosts`, or have an administrator add it there."


class HostMissing(Permanent):
    """The credential does not say for which machine it is."""

    code = "ssh_host_missing"
    fix = "Give the credential the field `host` (and `port`), or `hosts`, a list with commas."


class HostKeyRefused(Permanent):
    """The machine shows another key than the one that is known."""

    code, status = "ssh_host_key_refused", 502


@dataclass(frozen=True, slots=True)
class RemoteMachine:
    """A machine that runs commands; `name` is as the credential writes it."""

    name: str
    host: str
    port: int

    @property
    def scan(self) -> str:
        """Instruction to fetch and verify the machine's host key."""
        where = self.host if self.port == PORT else f"-p {self.port} {self.host}"
        return (
            f"Put what `ssh-keyscan {where}` prints into the credential's field `known_hosts`, after you compared it"
            " with `ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub` on the machine itself."
        )


def chosen_machine(values: Mapping[str, str], wanted: str | None) -> RemoteMachine:
    """The machine of a call, by the credential's `host`, `port` and `hosts`.

    A call may choose among `hosts`, a list with commas or blanks of `name` or `name:port`. `wanted`: what it names;
    None for `host`, or the only one of `hosts`.

    Raises:
        HostMissing: the credential names none, several where none is wanted, or what is no name.
        HostNotListed: it does not name this one.
    """
    port = _parse_port(values.get("port") or str(PORT))
    own = [_parse_machine(values["host"], port)] if values.get("host") else []
    listed = [_parse_machine(entry, port) for entry in re.split(r"[\s,]+", values.get("hosts", "")) if entry]
    if wanted is None:
        candidates = own or listed
        if len(candidates) != 1:
            names = ", ".join(one.name for one in candidates)
            raise HostMissing(f"which of {names}?" if names else "", fix="Name one: `host`." if names else None)
        return candidates[0]
    for one in own + listed:
        if wanted in (one.name, one.host):
            return one
    raise HostNotListed(f"{wanted[:200]!r} is none of the credential's machines")


def known_hosts(values: Mapping[str, str], machine: RemoteMachine) -> str:
    """The keys that the credential knows, as OpenSSH writes them. Raises HostKeyMissing: none."""
    text = values.get("known_hosts", "").strip()
    if not text:
        raise HostKeyMissing(f"the key of {machine.name} is not known", fix=machine.scan)
    return text + "\n"


def _parse_machine(entry: str, port: int) -> RemoteMachine:
    bare = entry.strip()
    if bare.count(":") > 1 and not bare.startswith("["):
        return RemoteMachine(bare, bare, port)  # IPv6 without a port
    found = _ENTRY.fullmatch(bare)
    if found is None:
        raise HostMissing("host or hosts holds what is no name of a machine")
    return RemoteMachine(bare, found[1] or found[2], port if found[3] is None else _parse_port(found[3]))


def _parse_port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 65_536:
        raise HostMissing("port is no number of a port")
    return int(text)
