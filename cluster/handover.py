"""An instance that runs is handed to other code: a new supervisor, then its parts one replica after the other."""

import signal
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from cluster import connect
from cluster.basics.errors import Unavailable
from cluster.deploy import list_applications
from cluster.state import supervised
from cluster.state.db.daemon import end_process
from cluster.state.db.embedded import postgres_endpoints, timeline_fence
from cluster.state.settings.restart_requests import LONGEST_SECONDS, RestartLedger
from configs.keys import APPLICATIONS
from configs.sections import Settings

Report = Callable[[str], None]

ROOT = Path(__file__).parents[1]
PACKAGES = ("cluster", "configs", "pipelines", "serve_apps", "skills")
SUFFIXES = frozenset({".py", ".sql"})
LOOK_SECONDS = 0.5


def code_mark(root: Path = ROOT) -> str:
    """A hash over the product's files of code as they are now: no version number tells of a checkout that moved on."""
    seen = sha256()
    for package in PACKAGES:
        for path in sorted(one for one in (root / package).rglob("*") if one.suffix in SUFFIXES):
            seen.update(f"{path.relative_to(root)}\0".encode() + sha256(path.read_bytes()).digest())
    return seen.hexdigest()[:16]


def end_older_supervisor(settings: Settings, report: Report) -> None:
    """End a supervisor that loaded other code than what is here now, and nothing that it has started.

    It would read the new files of settings with the old code's rules. One in the foreground belongs to who began it.
    """
    state = settings.state_dir
    running = supervised.find_supervisor(state)
    if running is None or supervised.noted_code(state, "supervisor") == code_mark():
        return
    if supervised.MODULE not in running.cmdline():
        report("the supervisor in the foreground is of other code: begin it anew where it runs (systemctl restart aos)")
        return
    report("the supervisor is of other code: it is begun anew, and what it has started goes on")
    for process in (supervised.restarting_parent(running), running):  # a signal that it hears would stop everything
        end_process(process, signal.SIGKILL, seconds=10)


def runs_already(settings: Settings) -> bool:
    """True where applications are there that somebody has started; also where nobody says that none are."""
    if settings.ray.address is None and not connect.is_head_alive(settings.state_dir):
        return False
    try:
        return bool(list_applications(connect.ray_dashboard(settings)))
    except Unavailable:
        return True


def ask_for_new_parts(settings: Settings, report: Report) -> int | None:
    """Want parts that were begun with other code replaced; the number of the wish, None where there is none to replace.

    Before a supervisor of this code deploys for the first time: without another mark Serve would start what it packed
    with the old code, in the new files. The state has been migrated.
    """
    state, mark = settings.state_dir, code_mark()
    theirs = supervised.find_supervisor(state) is not None and supervised.noted_code(state, "supervisor") != mark
    if theirs or supervised.noted_code(state, "parts") == mark or not runs_already(settings):
        return None
    report("its parts are of other code: they are replaced, one replica after the other")
    return _ledger(settings).ask(tuple(APPLICATIONS))


def wait_for_new_parts(settings: Settings, number: int) -> None:
    """Until a supervisor has replaced them, each replica when its successor answered.

    Raises Unavailable where the new ones do not start: those of before go on.
    """
    ledger, log = _ledger(settings), supervised.log_path(settings.state_dir)
    deadline = time.monotonic() + LONGEST_SECONDS
    while (ended := ledger.ended(number)) is None:
        if time.monotonic() > deadline:
            raise Unavailable(f"the parts were not replaced within {LONGEST_SECONDS} s", fix=f"See {log}.")
        time.sleep(LOOK_SECONDS)
    if ended:
        raise Unavailable(
            f"the parts of this version do not start, those of before go on: {ended}",
            fix=f"See {log}; `aos down`, then `aos up` begins everything anew.",
        )
    supervised.note_code(settings.state_dir, "parts", code_mark())


def _ledger(settings: Settings) -> RestartLedger:
    return RestartLedger(postgres_endpoints(settings)[0], timeline_fence(settings))
