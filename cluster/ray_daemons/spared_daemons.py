"""Daemons that `ray start` begins and nobody here uses: ended, or others in their place (cluster/ray_daemons/site)."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

CLIENT_SERVER = "ray.util.client.server"
SERVE_API = "cluster.ray_daemons.serve_api"
SITE = Path(__file__).parent / "site"
# Begins a command with our folder in PYTHONPATH, before what is there.
WITH_SITE = ("sh", "-c", 'PYTHONPATH="$0${PYTHONPATH:+:$PYTHONPATH}" exec "$@"', str(SITE))


def end_client_server(port: int) -> None:
    """Ray Client has no user here, costs 90 MB, and its arguments do not show whose it is; no option leaves it out.

    Where it was begun with WITH_SITE it has ended by itself.
    """
    for process, words in _processes():
        if CLIENT_SERVER in words and f"--port={port}" in words:
            with suppress(psutil.NoSuchProcess):
                process.kill()


def serve_api_processes(place: Path) -> list[psutil.Process]:
    """Who answers in place of the dashboard of the Ray in this folder."""
    return [
        process
        for process, words in _processes()
        if SERVE_API in words and f"--temp-dir={place}" in words and process.status() != psutil.STATUS_ZOMBIE
    ]


def begin_serve_api(raylet: psutil.Process, host: str, port: int) -> None:
    """Begin it anew, as `ray start` has begun it: what it has to know the raylet was told, too."""
    options = [word.removeprefix("--") for word in raylet.cmdline() if word.startswith("--") and "=" in word]
    told = dict(option.split("=", 1) for option in options)
    words = {
        "host": host,
        "port": port,
        "gcs-address": told["gcs-address"],
        "cluster-id-hex": told["cluster-id"],
        "temp-dir": told["temp_dir"],
        "session-dir": told["session_dir"],
        "log-dir": told["log_dir"],
    }
    subprocess.Popen(
        [sys.executable, "-m", SERVE_API, *(f"--{name}={value}" for name, value in words.items())],
        env=raylet.environ(),
        cwd=raylet.cwd(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _processes() -> Iterator[tuple[psutil.Process, list[str]]]:
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            yield process, process.cmdline()
