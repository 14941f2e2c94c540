"""An instance that runs is handed to other code: a new supervisor, then its parts one replica after the other."""

import signal
import time
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import psutil

from cluster import connect
from cluster.basics.errors import Conflict, Unavailable
from cluster.deploy import list_applications
from cluster.state import supervised
from cluster.state.db.daemon import end_process
from cluster.state.db.embedded import postgres_endpoints, timeline_fence
from cluster.state.settings.restart_requests import LONGEST_SECONDS, TAKEN_SECONDS, RestartLedger
from configs.keys import APPLICATIONS
from configs.sections import Settings

Report = Callable[[str], None]

ROOT = Path(__file__).parents[1]
PACKAGES = ("cluster", "configs", "pipelines", "serve_apps", "skills")
LOOK_SECONDS = 0.5
BEGUN_SECONDS = 5.0  # until a supervisor that is begun anew has said that it is there


def code_digest(root: Path = ROOT) -> str:
    """A hash over the product's files as they are now: no version number tells of a checkout that moved on."""
    seen = sha256()
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*")):
            if path.suffix != ".pyc" and path.is_file():
                seen.update(f"{path.relative_to(root)}\0".encode() + sha256(path.read_bytes()).digest())
    return seen.hexdigest()[:16]


def runs_already(settings: Settings) -> bool:
    """True where applications are there that somebody has started, and where our own Ray does not say that none are.

    Raises Unavailable where a joined cluster does not answer.
    """
    if settings.ray.address is None and not connect.is_head_alive(settings.state_dir):
        return False
    try:
        return bool(list_applications(connect.ray_dashboard(settings)))
    except Unavailable:
        if settings.ray.address is not None:
            raise
        return True


def check_hand_over(settings: Settings, digest: str) -> None:
    """Before anything is changed. Raises Conflict where what runs cannot be handed over to this code from here."""
    state = settings.state_dir
    running = _supervisor(state)
    if running is None or _is_of(running, state, digest):
        return
    if supervised.MODULE not in _words(running):
        fix = "Begin it anew where it runs, as with `systemctl restart aos`: that is a short pause."
        raise Conflict("the supervisor in the foreground is of another version", fix=fix)
    if (otherwise := supervised.other_profile(state, settings.profile)) is not None:
        name = supervised.running_profile(state)
        raise Conflict(
            f"{otherwise}, and is of another version", fix=f"Hand it over as it is: AOS_PROFILE={name} aos up"
        )


def hand_over(settings: Settings, digest: str, spawn: Callable[[], None], report: Report) -> None:
    """Have what runs supervised by this code, and replaced by it where it is of another; `spawn` starts a supervisor.

    The state has been migrated. Killed at any point, it is taken up again by the next one: what was noted of the parts
    is gone before anything is replaced. Raises Unavailable where the new parts do not start: those of before go on.
    """
    state = settings.state_dir
    running = _supervisor(state)
    if running is not None and not _is_of(running, state, digest):
        _ledger(settings).now()  # else it would be without a supervisor, and nobody could be asked for new parts
        supervised.note_code(state, "parts", "")
        report("the supervisor is of another version: it is begun anew, and what it has started goes on")
        for process in (supervised.restarting_parent(running), running):  # a signal that it hears would stop everything
            end_process(process, signal.SIGKILL, seconds=10)
    request = None
    if supervised.noted_code(state, "parts") != digest and runs_already(settings):
        supervised.note_code(state, "parts", "")
        report("its parts are of another version: they are replaced, one replica after the other")
        # Before a supervisor deploys: with the same restart number Serve would start what the old code has packed.
        request = _ledger(settings).ask(tuple(APPLICATIONS))
    spawn()
    if request is not None:
        _wait_until_replaced(settings, request)
        supervised.note_code(state, "parts", digest)


def _wait_until_replaced(settings: Settings, request: int) -> None:
    ledger, log = _ledger(settings), supervised.log_path(settings.state_dir)
    limit = LONGEST_SECONDS + TAKEN_SECONDS
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        with suppress(Unavailable):  # Postgres may be away for a moment, and be back
            if (ended := ledger.ended(request)) is not None:
                break
        time.sleep(LOOK_SECONDS)
    else:
        raise Unavailable(f"the parts were not replaced within {limit} s", fix=f"See {log}.")
    if ended:
        raise Unavailable(
            f"the parts of this version do not start, those of before go on: {ended}",
            fix=f"See {log}; `aos down`, then `aos up` begins everything anew.",
        )


def _supervisor(state: Path) -> psutil.Process | None:
    """The one that runs; of one that was killed a moment ago, the one that is begun in its place."""
    deadline = time.monotonic() + BEGUN_SECONDS
    while (running := supervised.find_supervisor(state)) is None and time.monotonic() < deadline:
        if supervised.waiting_parent(state) is None:
            return None
        time.sleep(LOOK_SECONDS)
    return running


def _is_of(running: psutil.Process, state: Path, digest: str) -> bool:
    return supervised.noted_code(state, "supervisor", running.pid) == digest


def _words(process: psutil.Process) -> list[str]:
    with suppress(psutil.NoSuchProcess):
        return process.cmdline()
    return [supervised.MODULE]  # it has ended: nobody has to end it


def _ledger(settings: Settings) -> RestartLedger:
    return RestartLedger(postgres_endpoints(settings)[0], timeline_fence(settings))
