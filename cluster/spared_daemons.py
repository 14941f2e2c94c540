"""Daemons that `ray start` begins and nobody here uses: ended, or begun anew with what is used of them."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from cluster.basics.errors import Unavailable
from cluster.state.db.daemon import end_process

CLIENT_SERVER = "ray.util.client.server"
DASHBOARD = "dashboard/dashboard.py"
MODULES, MUTE = "--modules-to-load=", "--disable-frontend"  # the latter: it answers no HTTP at all
# Of Ray's dashboard, what is asked: Serve's applications, and the version. The others, pages for a browser with what
# they show, nodes, jobs and addresses of figures, are twelve processes with 300 MB.
USED = ("ServeHead",)
END_SECONDS = 10.0
SITE = Path(__file__).parent / "site"


def end_client_server(port: int) -> None:
    """Ray Client has no user here, costs 90 MB, and its arguments do not show whose it is; no option leaves it out."""
    for process, words in _processes():
        if CLIENT_SERVER in words and f"--port={port}" in words:
            with suppress(psutil.NoSuchProcess):
                process.kill()


def restart_dashboard(place: Path, modules: Sequence[str] = USED) -> None:
    """Begin the dashboard anew, with these modules, that `ray start --include-dashboard=false` left without any.

    Ray has no option for it: with its dashboard come all modules. `place` is the folder of our Ray.

    Raises Unavailable where there is no such process.
    """
    for process, words in _processes():
        if not (f"--temp-dir={place}" in words and any(word.endswith(DASHBOARD) for word in words)):
            continue
        with suppress(psutil.NoSuchProcess):
            environment, folder = process.environ(), process.cwd()
            paths = [str(SITE), environment.get("PYTHONPATH", "")]
            environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
            end_process(process, signal.SIGKILL, END_SECONDS)
            wanted = [word for word in words if not word.startswith(MODULES) and word != MUTE]
            wanted.append(MODULES + ",".join(modules))
            subprocess.Popen(
                [sys.executable, *wanted[1:]],
                env=environment,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            return
    raise Unavailable(f"`ray start` has begun no dashboard; see the logs in {place}")


def _processes() -> Iterator[tuple[psutil.Process, list[str]]]:
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            yield process, process.cmdline()
