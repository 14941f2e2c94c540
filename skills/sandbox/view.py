"""File system visible to a script: the interpreter, its standard library, the shared libraries of both."""

import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from functools import cache
from pathlib import Path

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

    Raises:
        NoInterpreter: `ldd` is missing or fails.
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
