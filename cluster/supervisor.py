"""The process behind `aos up`: start Ray and the applications, watch them, repair what died, stop all at the end."""

import asyncio
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType

import psutil

from cluster import connect
from cluster.basics.errors import AosError, Conflict, InvalidSettings, Unavailable
from cluster.rollout import Rollout
from cluster.state import embedded
from cluster.state.bootstrap import first_admin, new_password
from cluster.state.daemon import end, make_private, running, tail
from cluster.state.kept import kept_secret
from cluster.state.migrate import let_in, migrate
from configs.sections import Settings
from configs.settings import load

Report = Callable[[str], None]
WATCH_SECONDS = 1.0
LONGEST_PAUSE = 60.0
MODULE = "cluster.supervisor"  # its name when run with `python -m` is another


@dataclass(frozen=True, slots=True)
class Status:
    """What the supervisor last wrote: `phase` is starting, ready, repairing, failed or stopped."""

    phase: str
    detail: str
    pid: int
    restarts: int = 0


def prepare(settings: Settings, report: Report) -> str | None:
    """Start the embedded servers, migrate, let the application in, make the first administrator.

    Returns:
        The first administrator's new password, until it was `told`: a start that fails later must not lose it. None
        where there were users already.

    Raises:
        Unavailable: a server does not come up or cannot be reached.
        InvalidSettings: an external Postgres without an owner's connection, or whose row-level security does not bind
            the application.
    """
    make_private(settings.state_dir)
    report("postgres and redis")
    found = embedded.start(settings)
    if found.postgres_admin is None:
        raise InvalidSettings(
            "an external Postgres is configured, but not who may migrate it",
            fix="Set DATABASE_ADMIN_URL (or POSTGRES_ADMIN_USER and POSTGRES_ADMIN_PASSWORD).",
        )
    applied = asyncio.run(migrate(found.postgres_admin))
    report(f"schema: {len(applied)} migrations applied" if applied else "schema: up to date")
    asyncio.run(let_in(found.postgres_admin, found.postgres))
    kept = _first_password(settings)
    made = asyncio.run(first_admin(found.postgres_admin, settings.auth, lambda: kept_secret(kept, new_password)))
    return kept.read_text(encoding="utf-8") if made is None and kept.exists() else made


def told(settings: Settings) -> None:
    """Somebody has seen the first administrator's password, or has changed it: it is not kept any longer."""
    _first_password(settings).unlink(missing_ok=True)


def _first_password(settings: Settings) -> Path:
    return settings.state_dir / "first-password"


def supervise(settings: Settings, report: Report) -> None:
    """Run Ray and the applications until SIGTERM or SIGINT, repairing what dies; then stop everything.

    Raises:
        Conflict: another supervisor runs for this state directory.
        AosError: the first start fails; everything is stopped again.
    """
    state = settings.state_dir
    with (state / "supervisor.lock").open("w") as lock:
        _hold(lock.fileno(), state)
        _pid_file(state).write_text(f"{os.getpid()}\n")
        stopping = _Stopping()
        signal.signal(signal.SIGTERM, stopping)
        signal.signal(signal.SIGINT, stopping)
        try:
            rollout = Rollout(settings)
            _bring_up(settings, rollout, report)
            rollout.began(report)
            _write(state, Status("ready", "", os.getpid()))
            _watch(settings, report, rollout)
        except AosError as error:
            _write(state, Status("failed", f"{error} {error.hint}".strip(), os.getpid()))
            raise
        except _Stop:
            report("stopping")
        finally:
            _stop_parts(state)
            _pid_file(state).unlink(missing_ok=True)
        _write(state, Status("stopped", "", os.getpid()))


def spawn(settings: Settings, report: Report) -> None:
    """Start the supervisor as a daemon and wait until everything is healthy.

    Raises:
        Unavailable: it failed or died; the detail says why.
    """
    state, log = settings.state_dir, log_path(settings.state_dir)
    make_private(log.parent)
    status_path(state).unlink(missing_ok=True)
    with log.open("a") as output:
        child = subprocess.Popen(
            ["env", f"AOS_STATE_DIR={state}", f"AOS_PROFILE={settings.profile}", sys.executable, "-m", MODULE],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        _wait_until_ready(child, state, report)
    except KeyboardInterrupt:
        child.terminate()  # half a product helps nobody: it stops what it started
        child.wait()
        raise


def _wait_until_ready(child: subprocess.Popen[bytes], state: Path, report: Report) -> None:
    seen, log = "", log_path(state)
    while True:
        status = read_status(state)
        if status is not None and status.phase == "ready":
            return
        if status is not None and status.detail not in {"", seen}:
            seen = status.detail
            if status.phase != "failed":
                report(seen)
        if child.poll() is not None:
            status = read_status(state)
            reason = status.detail if status is not None and status.phase == "failed" else tail(log)
            raise Unavailable(reason, fix=f"The whole log: {log}")
        time.sleep(0.2)


def stop(state_dir: Path) -> bool:
    """Stop the supervisor and everything it started; data stays. Returns whether anything ran."""
    supervisor = find(state_dir)
    ran = bool(supervisor or connect.processes(state_dir) or embedded.processes(state_dir))
    end(supervisor, signal.SIGTERM, seconds=90)
    _stop_parts(state_dir)  # what a supervisor that was itself killed left running
    return ran


def find(state_dir: Path) -> psutil.Process | None:
    """The supervisor that runs for this state directory."""
    return running(_pid_file(state_dir), "python", MODULE) or running(_pid_file(state_dir), "aos", "up")


def read_status(state_dir: Path) -> Status | None:
    """What the supervisor last wrote; None before its first word, and where a power cut left what cannot be read."""
    try:
        return Status(**json.loads(status_path(state_dir).read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def status_path(state_dir: Path) -> Path:
    """Where the supervisor says how far it is."""
    return state_dir / "supervisor.json"


def log_path(state_dir: Path) -> Path:
    """The daemon's log."""
    return state_dir / "logs" / "supervisor.log"


class _Stop(BaseException):
    """A signal asked us to stop; like KeyboardInterrupt it passes every `except Exception` of the libraries."""


class _Stopping:
    """The signal handler: interrupts a start or a sleep once; further signals do not interrupt the stop itself."""

    def __init__(self) -> None:
        self._asked = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if not self._asked:
            self._asked = True
            raise _Stop


def _bring_up(settings: Settings, rollout: Rollout, report: Report) -> None:
    def say(line: str) -> None:
        _write(settings.state_dir, Status("starting", line, os.getpid()))
        report(line)

    say("ray")
    connect.connect(settings)
    say("applications")
    rollout.deploy(say)


def _watch(settings: Settings, report: Report, rollout: Rollout | None = None) -> None:
    """Look once a second; after a failed repair wait longer each time, and never give up."""
    rollout = rollout or Rollout(settings)
    restarts, pause, unrepaired = 0, WATCH_SECONDS, ""
    while True:
        time.sleep(pause)
        # A repair that failed half-way has the daemons running again, but not yet the applications.
        lost = _lost(settings) or unrepaired
        if not lost:
            pause = WATCH_SECONDS
            rollout.restart(report)
            continue
        restarts += 1
        report(f"lost {lost}: repairing")
        try:
            _write(settings.state_dir, Status("repairing", f"lost {lost}", os.getpid(), restarts))
            embedded.start(settings)
            connect.connect(settings)
            rollout.deploy(report)
            _write(settings.state_dir, Status("ready", "", os.getpid(), restarts))
        except (AosError, OSError) as error:  # of the system's own above all a full disk, which somebody may empty
            pause, unrepaired = min(LONGEST_PAUSE, pause * 2), lost
            report(f"repair failed, again in {pause:.0f} s: {error}")
            continue
        pause, unrepaired = WATCH_SECONDS, ""
        report("repaired")


def _lost(settings: Settings) -> str:
    state = settings.state_dir
    if settings.ray.address is None and not connect.alive(state):
        return "ray"
    wanted = [embedded.is_external(section) for section in (settings.postgres, settings.redis)].count(False)
    return "postgres or redis" if len(embedded.processes(state)) < wanted else ""


def _stop_parts(state_dir: Path) -> None:
    connect.stop(state_dir)
    embedded.stop(state_dir)


def _hold(descriptor: int, state_dir: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise Conflict(f"it already runs for {state_dir}", fix="`aos down` stops it.") from error


def _pid_file(state_dir: Path) -> Path:
    return state_dir / "supervisor.pid"


def _write(state_dir: Path, status: Status) -> None:
    path = status_path(state_dir)
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(asdict(status)), encoding="utf-8")
    fresh.replace(path)  # a reader sees the old or the new one, never half


def _say(line: str) -> None:
    print(time.strftime("%Y-%m-%dT%H:%M:%S"), line, flush=True)


def main() -> None:
    """Be the daemon: `python -m cluster.supervisor`."""
    os.umask(0o077)
    try:
        supervise(load(), _say)
    except AosError as error:
        _say(f"{error} {error.hint}")
        sys.exit(1)


if __name__ == "__main__":
    main()
