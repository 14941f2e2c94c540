"""The layers of isolation, and which of them the kernel says a process is behind."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

PROC = Path("/proc")


class IsolationLayer(StrEnum):
    """One wall; each holds alone."""

    USER = "user"
    PID = "pid"
    NET = "net"
    MOUNT = "mount"
    IPC = "ipc"
    UTS = "uts"
    CGROUP = "cgroup"
    SECCOMP = "seccomp"
    NO_NEW_PRIVS = "no_new_privs"
    CAPABILITIES = "capabilities"
    RLIMITS = "rlimits"


NAMESPACES: Mapping[IsolationLayer, str] = {
    IsolationLayer.USER: "user",
    IsolationLayer.PID: "pid",
    IsolationLayer.NET: "net",
    IsolationLayer.MOUNT: "mnt",
    IsolationLayer.IPC: "ipc",
    IsolationLayer.UTS: "uts",
    IsolationLayer.CGROUP: "cgroup",
}

# How the kernel's table of limits calls them.
LIMIT_NAMES: Mapping[str, str] = {
    "RLIMIT_AS": "Max address space",
    "RLIMIT_CPU": "Max cpu time",
    "RLIMIT_FSIZE": "Max file size",
    "RLIMIT_CORE": "Max core file size",
    "RLIMIT_NOFILE": "Max open files",
    "RLIMIT_NPROC": "Max processes",
    "RLIMIT_MEMLOCK": "Max locked memory",
    "RLIMIT_MSGQUEUE": "Max msgqueue size",
    "RLIMIT_STACK": "Max stack size",
}


@dataclass(frozen=True, slots=True)
class IsolationReport:
    """Isolation layers that hold and are missing here; `reason` says why, as far as it is known."""

    held: frozenset[IsolationLayer]
    reason: str = ""

    @property
    def missing(self) -> tuple[IsolationLayer, ...]:
        """The layers that do not hold, in their order."""
        return tuple(layer for layer in IsolationLayer if layer not in self.held)


def held_layers(pid: int, limits: Mapping[str, int], proc: Path = PROC) -> frozenset[IsolationLayer]:
    """The layers a process is behind, as the kernel tells it from outside: the process is not asked.

    What cannot be read counts as missing. `pid`: as this process's namespace numbers it; `limits`: by name of
    `resource` (`RLIMIT_AS`), the highest soft and hard limit that is right.
    """
    try:
        said = _parse_status((proc / str(pid) / "status").read_text(encoding="ascii", errors="replace"))
    except OSError:
        return frozenset()
    found = {layer for layer, kind in NAMESPACES.items() if _is_other_namespace(proc, pid, kind)}
    if said.get("Seccomp") == "2":
        found.add(IsolationLayer.SECCOMP)
    if said.get("NoNewPrivs") == "1":
        found.add(IsolationLayer.NO_NEW_PRIVS)
    if all(int(said.get(name, "1"), 16) == 0 for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")):
        found.add(IsolationLayer.CAPABILITIES)
    if _is_limited(proc / str(pid) / "limits", limits):
        found.add(IsolationLayer.RLIMITS)
    return frozenset(found)


def descendant_pids(pid: int) -> list[int]:
    """The processes below one, parents first; those that have ended are left out."""
    found, level = [], [pid]
    while level:
        level = [child for one in level for child in _child_pids(one)]
        found += level
    return found


def _child_pids(pid: int) -> list[int]:
    try:
        return [int(word) for word in (PROC / str(pid) / "task" / str(pid) / "children").read_text("ascii").split()]
    except OSError:
        return []


def _parse_status(text: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in text.splitlines())
    return {name: value.strip() for name, _, value in pairs}


def _is_other_namespace(proc: Path, pid: int, kind: str) -> bool:
    try:
        return (proc / str(pid) / "ns" / kind).stat().st_ino != (proc / "self" / "ns" / kind).stat().st_ino
    except OSError:
        return False


def _is_limited(table: Path, limits: Mapping[str, int]) -> bool:
    try:
        text = table.read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    # Columns of fixed width: the name, then the soft and the hard limit. "unlimited" is not a number and does not hold.
    said = {line[:26].strip(): line[26:].split()[:2] for line in text.splitlines()}
    return all(
        len(pair := said.get(LIMIT_NAMES[name], [])) == 2 and all(part.isdigit() and int(part) <= most for part in pair)
        for name, most in limits.items()
    )
