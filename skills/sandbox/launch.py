"""The command lines that start an isolated interpreter, the strictest first."""

import json
import math
import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from configs.sections_skills import SandboxSettings
from skills.sandbox.filter import NoLibseccomp, filter_program
from skills.sandbox.layers import NAMESPACES, IsolationLayer
from skills.sandbox.sandbox_errors import SandboxMissing

HOME = "/python"
LIBRARIES = "/libs"
# Modules in C that need a screen, a terminal, a network or a database: without their libraries the view stays small.
LEFT_OUT = ("_tkinter", "_curses", "_dbm", "_gdbm", "_ssl", "_test", "_xx", "nis", "ossaudiodev", "readline", "spwd")


@dataclass(frozen=True, slots=True)
class FilesystemView:
    """Binds, all read-only, of host path to path inside; and the interpreter's path inside."""

    binds: tuple[tuple[str, str], ...]
    hidden: tuple[str, ...]
    python: str


class NoInterpreter(Exception):
    """The libraries that the interpreter needs cannot be told; the detail is what `ldd` said."""


@cache
def build_view() -> FilesystemView:
    """The view for the interpreter that runs this, its virtual environment left out.

    Raises NoInterpreter: `ldd` is missing or fails.
    """
    program = Path(sys.executable).resolve()
    library = Path(sysconfig.get_path("stdlib")).resolve()
    inside = f"{HOME}/{sys.platlibdir}/{library.name}"
    modules = [path for path in (library / "lib-dynload").glob("*.so") if not path.name.startswith(LEFT_OUT)]
    binds = [(str(program), f"{HOME}/bin/python"), (str(library), inside)]
    for path in _shared_libraries([program, *modules]):
        # The loader has its path written into the program; the rest is found by LD_LIBRARY_PATH.
        binds.append((path, path if Path(path).name.startswith("ld-") else f"{LIBRARIES}/{Path(path).name}"))
    hidden = [f"{inside}/{name}" for name in ("site-packages", "dist-packages") if (library / name).is_dir()]
    return FilesystemView(tuple(binds), tuple(hidden), f"{HOME}/bin/python")


def _shared_libraries(files: list[Path]) -> list[str]:
    try:
        done = subprocess.run(["ldd", *map(str, files)], capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoInterpreter(str(error)) from error
    words = [line.split() for line in done.stdout.splitlines()]
    found = {w[2] for w in words if len(w) > 2 and w[1] == "=>" and w[2].startswith("/")}
    loaders = {w[0] for w in words if len(w) == 2 and w[0].startswith("/") and w[1].startswith("(")}
    if not loaders:
        raise NoInterpreter(done.stderr.strip()[:300] or "ldd names no loader")
    return sorted(found | loaders)


NOBODY = 65534
TMP_BYTES = 4 << 20
# Loaded before the doors close: calls are faster, and most scripts then read nothing at all.
READY = ("_strptime", "encodings.idna", "unicodedata")
# bubblewrap itself always makes a view of its own.
FLAGS = {layer: f"--unshare-{layer}" for layer in NAMESPACES if layer is not IsolationLayer.MOUNT}


@dataclass(frozen=True, slots=True)
class LaunchMode:
    """One way to start: the layers it asks the kernel for, and whether it starts with the rights of root."""

    asked: frozenset[IsolationLayer]
    as_root: bool = False
    fence: str | None = None


def find_bubblewrap() -> str | None:
    """The path of the program, where it is installed."""
    return shutil.which("bwrap", path=f"{os.defpath}:/usr/local/bin:/usr/sbin")


def launch_modes(settings: SandboxSettings, *, root: bool, fence: str | None) -> list[LaunchMode]:
    """The ways to try here, the strictest first; more than the strict ones only where the settings allow it.

    `root`: whether this process is root; `fence`: the path of bubblewrap, where it is installed.

    Raises SandboxMissing: no bubblewrap, and code may not run without namespaces.
    """
    spare = {IsolationLayer(name) for name in settings.untrusted_without}
    every = frozenset(NAMESPACES)
    found = []
    if fence:
        full = LaunchMode(every, fence=fence)
        # With root's rights the script can be given to a user that owns nothing; without, it stays who we are.
        found = [replace(full, as_root=True), full] if root else [full]
        if spare & every:  # bubblewrap itself always makes a view of its own
            found.append(LaunchMode((every - spare) | {IsolationLayer.MOUNT}, fence=fence))
    if every <= spare:
        found.append(LaunchMode(frozenset()))
    if not found:
        raise SandboxMissing("bubblewrap is not installed")
    return found


def resource_limits(settings: SandboxSettings, seconds: float) -> dict[str, int]:
    """The resource limits by name; a script writes no file, so the size of one is nothing."""
    return {
        "RLIMIT_AS": settings.memory_mb << 20,
        "RLIMIT_CPU": math.ceil(seconds) + 1,  # beyond the wall clock, for the case that nobody is left to look at it
        "RLIMIT_FSIZE": 0,
        "RLIMIT_CORE": 0,
        "RLIMIT_NOFILE": settings.files,
        "RLIMIT_NPROC": settings.processes,
        "RLIMIT_MEMLOCK": 0,
        "RLIMIT_MSGQUEUE": 0,
        "RLIMIT_STACK": 8 << 20,
    }


def launch_command(way: LaunchMode, settings: SandboxSettings) -> list[str]:
    """A way's command line, its environment empty but for the libraries. Raises SandboxMissing: a part is not here."""
    try:
        seen = build_view()
    except NoInterpreter as error:
        raise SandboxMissing(f"the interpreter's libraries cannot be told: {error}") from error
    told = {
        "become": NOBODY if way.as_root else None,
        "limits": resource_limits(settings, settings.seconds),
        "filter": _filter_code(settings).hex(),
        "ready": [*(name for name in settings.imports if name != "*"), *READY],
    }
    guest = ["-I", "-S", "-B", "-X", "utf8", "-c", _guest_source(), json.dumps(told)]
    if way.fence is None:
        return [next(host for host, inside in seen.binds if inside == seen.python), *guest]
    return [way.fence, *_fence_arguments(way, seen), "--", seen.python, *guest]


def _fence_arguments(way: LaunchMode, seen: FilesystemView) -> list[str]:
    left_out = {IsolationLayer.USER} if way.as_root else set[IsolationLayer]()
    asked = [flag for layer, flag in FLAGS.items() if layer in way.asked - left_out]
    line = [*asked, "--die-with-parent", "--clearenv", "--setenv", "LD_LIBRARY_PATH", LIBRARIES]
    if IsolationLayer.PID in way.asked and not way.as_root:
        # One process less. Not where the script becomes another user: the kernel then does not let the fence's death
        # kill it, while the death of a first process of the same user ends the whole namespace.
        line += ["--as-pid-1"]
    if IsolationLayer.UTS in way.asked:
        line += ["--hostname", "sandbox"]
    if way.as_root:
        line += ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    elif IsolationLayer.USER in way.asked:
        # The one right it gets, within its own namespace, is to give up the others for good.
        line += ["--uid", str(NOBODY), "--gid", str(NOBODY), "--cap-add", "CAP_SETPCAP"]
    # Made by name: a folder that is only on the way to a mount would be closed to all but its maker, who is not the
    # script.
    for folder in sorted({str(parent) for _, inside in seen.binds for parent in Path(inside).parents} - {"/"}):
        line += ["--dir", folder]
    for host, inside in seen.binds:
        line += ["--ro-bind", host, inside]
    for folder in seen.hidden:
        line += ["--tmpfs", folder, "--remount-ro", folder]
    return [*line, *f"--size {TMP_BYTES} --tmpfs /tmp --remount-ro /tmp --remount-ro / --chdir /".split()]


def _filter_code(settings: SandboxSettings) -> bytes:
    try:
        return filter_program()
    except NoLibseccomp as error:
        if IsolationLayer.SECCOMP in settings.untrusted_without:
            return b""
        raise SandboxMissing(f"libseccomp is not installed: {error}") from error


@cache
def _guest_source() -> str:
    return (Path(__file__).parent / "guest.py").read_text(encoding="utf-8")
