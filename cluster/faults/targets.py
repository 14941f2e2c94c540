"""The processes of each part of this instance, and the faults that cannot be done to it, with the reason."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from cluster import connect
from cluster.basics.errors import Conflict, Invalid, Unavailable
from cluster.faults.harm_record import chaos_folder
from cluster.faults.kinds import FaultAction, FaultKind
from cluster.state import supervised
from cluster.state.db import embedded
from configs.sections import Settings

TITLES = {
    "reader": "MapWorker(MapBatches(_Read))",
    "worker": "ServeReplica:worker",
    "gateway": "ServeReplica:gateway",
    "embedder": "ServeReplica:embedding",
    "executor": "ServeReplica:executor",
    "controller": "ray::ServeController",
}
DAEMONS = {"raylet": "raylet", "gcs": "gcs_server"}
SERVERS = {"postgres": "postgres", "valkey": "redis"}
SHARED_DISK = "the disk of the state directory holds other things, too: filling it would harm them"
NO_RESTART = "nothing would begin the supervisor anew: it runs in the foreground"
NO_EXECUTOR = "agents run in the gateway (agents.placement: inproc)"
MOUNTS = Path("/proc/self/mountinfo")
WHOLE_DISKS = frozenset({"ext2", "ext3", "ext4", "xfs", "tmpfs"})  # file systems whose room is theirs alone
# Harm of the kinds that people may expect, and for which there is no way without root.
NEVER = {"cut-proxy": "only root may cut HAProxy from replicas: Postgres and Valkey are cut"}


def require_own_instance(settings: Settings) -> None:
    """Everything that may be hit was started here, by the supervisor of this state directory.

    Raises Conflict where a part is somebody else's or on other machines, Unavailable where nothing is ready here.
    """
    foreign = [
        name
        for name, section in (("Postgres", settings.postgres), ("Redis", settings.redis))
        if embedded.is_external(section)
    ]
    foreign += ["the Ray cluster"] if settings.ray.address is not None else []
    if foreign:
        raise Conflict(
            f"{' and '.join(foreign)} would be harmed, and this state directory's supervisor has not started it",
            fix="Run `aos chaos` on an instance with embedded servers and a Ray of its own, such as a copy for tests.",
        )
    status = supervised.read_status(settings.state_dir)
    if supervised.find_supervisor(settings.state_dir) is None or status is None or status.phase != "ready":
        raise Unavailable(f"no instance is ready for {settings.state_dir}", fix="Run `aos up`, then `aos doctor`.")


def find_processes(state_dir: Path, part: str) -> list[psutil.Process]:
    """Processes of a part that run now, by their ids; a server with all that it has begun."""
    found: Iterable[psutil.Process] = ()
    if part in TITLES:
        found = [one for one in connect.ray_processes(state_dir) if TITLES[part] in _title(one)]
    elif part in DAEMONS:
        found = [one for name, one in connect.head_processes(state_dir).items() if name == DAEMONS[part]]
    elif part in SERVERS:
        server = embedded.servers_by_name(state_dir).get(SERVERS[part])
        found = [] if server is None else _family(server)
    elif part == "proxy":
        found = connect.proxy_processes(state_dir)
    elif part == "supervisor":
        supervisor = supervised.find_supervisor(state_dir)
        found = [] if supervisor is None else [supervisor]
    return sorted(found, key=lambda one: one.pid)


def left_out(settings: Settings, kinds: Sequence[FaultKind]) -> Mapping[str, str]:
    """Kinds that cannot be done to this instance, each with the reason."""
    reasons = dict(NEVER)
    for kind in kinds:
        if kind.part == "executor" and settings.agents.placement == "inproc":
            reasons[kind.name] = NO_EXECUTOR
        elif kind.part == "supervisor" and not _is_restarted(settings.state_dir):
            reasons[kind.name] = NO_RESTART
        elif kind.action is FaultAction.FILL and not has_own_disk(settings.state_dir):
            reasons[kind.name] = SHARED_DISK
    return reasons


def has_own_disk(state_dir: Path) -> bool:
    """True where the state directory is a file system of its own, or all that one holds."""
    place, mounts = state_dir.resolve(), MOUNTS.read_text(encoding="utf-8", errors="replace")
    if is_whole_disk(place, mounts):
        return True
    above = place.parent
    return is_whole_disk(above, mounts) and {one.name for one in above.iterdir()} <= {place.name, "lost+found"}


def is_whole_disk(place: Path, mounts: str) -> bool:
    """True where a file system is mounted at this place and at no other one, all of it.

    A container's volume is a folder of the machine's disk; Btrfs, ZFS and shares give several mounts out of one store.

    `mounts`: what /proc/self/mountinfo says (proc(5)).
    """
    found = []
    for line in mounts.splitlines():
        left, _, right = line.partition(" - ")
        fields = left.split()
        if len(fields) > 4 and right:
            found.append((fields[2], fields[3], fields[4], right.split()[0]))
    here = [one for one in found if one[2] == str(place)][-1:]  # the later covers the earlier
    if not here or place == Path("/"):
        return False
    ((device, root, _, kind),) = here
    return root == "/" and kind in WHOLE_DISKS and [one[0] for one in found].count(device) == 1


def scannable_folder(settings: Settings, folder: Path | None, generate_in: Path | None, name: str) -> Path:
    """The folder that the job reads: the given one, or one of this name for generated scans.

    Raises Invalid where the server may not read it: it is not below NFS_BASE_PATH.
    """
    place = folder or (generate_in or chaos_folder(settings.state_dir)) / name
    place, base = place.expanduser().absolute(), settings.read.nfs_base_path
    if base is None or not place.resolve().is_relative_to(Path(base).resolve()):
        option = "--folder" if folder else "--generate-in"
        fix = f"Give {option} a folder below it." if base else "Set NFS_BASE_PATH, then `aos down` and `aos up`."
        raise Invalid(f"the server reads no folder {place}: NFS_BASE_PATH is {base or 'not set'}", fix=fix)
    return place


def _is_restarted(state_dir: Path) -> bool:
    supervisor = supervised.find_supervisor(state_dir)
    return supervisor is not None and supervised.restarting_parent(supervisor) is not None


def _title(process: psutil.Process) -> str:
    with suppress(psutil.Error):
        return " ".join(process.cmdline())
    return ""


def _family(process: psutil.Process) -> list[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        return [process, *process.children(recursive=True)]
    return []
