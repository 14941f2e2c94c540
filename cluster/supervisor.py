"""The process behind `aos up`: start Ray and the applications, watch them, repair what died, stop all at the end."""

import asyncio
import fcntl
import math
import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType

import httpx2

from cluster import connect
from cluster.basics.errors import AosError, Conflict, InvalidSettings
from cluster.basics.own_program import own_program
from cluster.deploy import HEALTHY_SECONDS
from cluster.handover import code_digest, runs_already
from cluster.health_rounds import LivenessRounds
from cluster.models.embedding.provider_chain import OLLAMA, PACKAGED, choose_provider
from cluster.rollout import Rollout
from cluster.state import supervised
from cluster.state.backup.restoring import require_finished
from cluster.state.db import embedded
from cluster.state.db.daemon import end_process, make_private
from cluster.state.db.migrate import apply_migrations, let_in
from cluster.state.db.primary import current_server
from cluster.state.identity.bootstrap import first_admin, new_password
from cluster.state.secret_file import kept_secret
from cluster.state.settings.detected_embedder import is_indexed, keep_detected, stored_embedding
from cluster.state.supervised import MODULE, RESTARTING
from cluster.watch.backup_child import BackupChild
from cluster.watch.standin import StandIn
from configs.sections import Settings
from configs.settings import load_settings

Report = Callable[[str], None]
WATCH_SECONDS = 1.0
LONGEST_PAUSE = 60.0
REPAIR_SECONDS = 2.0  # for what a dead head left behind


def prepare_state(settings: Settings, report: Report) -> str | None:
    """Start the embedded servers, migrate, let the application in, make the first administrator.

    Returns the first administrator's new password, until `forget_first_password`: a start that fails later keeps it;
    None where there were users already. Raises Unavailable where a server does not come up or cannot be reached,
    OtherPostgres or as `apply_migrations` where the state is not for this code, Conflict where a restore into it did
    not end well or an external Postgres was replaced by another one, and InvalidSettings for an external Postgres
    without an owner's connection, or whose row-level security does not bind the application.
    """
    make_private(settings.state_dir)
    require_finished(settings.state_dir)
    report("postgres and redis")
    found = embedded.start_servers(settings)
    if found.postgres_admin is None:
        raise InvalidSettings(
            "an external Postgres is configured, but not who may migrate it",
            fix="Set DATABASE_ADMIN_URL (or POSTGRES_ADMIN_USER and POSTGRES_ADMIN_PASSWORD).",
        )
    fence = embedded.timeline_fence(settings)
    owner = asyncio.run(current_server(found.postgres_admin, fence))
    applied = asyncio.run(apply_migrations(owner, report=report))
    report(f"schema: {len(applied)} migrations applied" if applied else "schema: up to date")
    asyncio.run(let_in(owner, found.postgres, fence))
    asyncio.run(detect_embedder(settings, owner, report))
    kept = _first_password(settings)
    made = asyncio.run(first_admin(owner, settings.auth, lambda: kept_secret(kept, new_password)))
    return kept.read_text(encoding="utf-8") if made is None and kept.exists() else made


async def detect_embedder(settings: Settings, owner: str, report: Report, *, ollama: str = OLLAMA) -> None:
    """Look for a server that embeds, and keep what was found: once it is away, that is no reason for another.

    `settings` as the files and the environment have them; `owner` is the connection of the schema's owner. In a cluster
    of several machines nothing is looked for: this one's Ollama has no address that means the same on the others.
    """
    if settings.ray.address is not None:
        return
    rows = await stored_embedding(owner)
    if rows.get("base_url") is not None or rows.get("detect") is False:
        return
    known = settings.embedding
    if rows.get("model") is not None and known.model == PACKAGED:
        known = known.model_copy(update={"model": rows["model"]})
    async with httpx2.AsyncClient(trust_env=False) as client:
        indexed = await is_indexed(owner)
        found = await choose_provider(known, settings.llm, client, indexed=indexed, ollama=ollama)
    if found.source in ("ollama", "llm") and found.base_url is not None:
        await keep_detected(owner, found.source, found.base_url, found.model)
        report(f"embedder: {found.model} at {found.base_url} ({found.source}), from now on")


def forget_first_password(settings: Settings) -> None:
    """Somebody has seen the first administrator's password, or has changed it: it is not kept any longer."""
    _first_password(settings).unlink(missing_ok=True)


def _first_password(settings: Settings) -> Path:
    return settings.state_dir / "first-password"


def run_supervisor(settings: Settings, report: Report) -> None:
    """Run Ray and the applications until SIGTERM or SIGINT, repairing what dies; then stop everything.

    Where they run already, they are taken over: that is no start, and what fails then is a repair to be tried again.

    Raises:
        Conflict: another supervisor runs for this state directory.
        AosError: the first start fails; everything is stopped again.
    """
    state = settings.state_dir
    with (state / "supervisor.lock").open("w") as lock:
        _take_lock(lock.fileno(), state)
        digest = code_digest()
        supervised.note_code(state, "supervisor", digest)  # before anybody can find this one, and take it for another
        supervised.pid_path(state).write_text(f"{os.getpid()}\n")
        supervised.note_profile(state, settings.profile)
        stopping = _Stopping()
        signal.signal(signal.SIGTERM, stopping)
        signal.signal(signal.SIGINT, stopping)
        rollout, rounds = Rollout(settings), LivenessRounds(settings, report)
        backups = BackupChild(settings, report)
        try:
            if runs_already(settings):
                unrepaired = _take_over(settings, rollout, report, rounds.stand_in)
            else:
                supervised.note_code(state, "parts", digest)
                _bring_up(settings, rollout, report, rounds.stand_in)
                rollout.began(report)
                unrepaired = ""
            if not unrepaired:
                supervised.write_status(state, "ready")
            _watch_instance(settings, report, rollout, rounds, backups, unrepaired)
        except AosError as error:
            supervised.write_status(state, "failed", f"{error} {error.hint}".strip())
            raise
        except _Stop:
            report("stopping")
        finally:
            rounds.close()
            backups.close()
            _stop_parts(state)
            supervised.pid_path(state).unlink(missing_ok=True)
        supervised.write_status(state, "stopped")


def spawn_supervisor(settings: Settings, report: Report) -> None:
    """Start the supervisor as a daemon, unless one runs already, and wait until everything is healthy.

    Raises Unavailable where it failed or died, or the one that runs is not ready in time; the detail says why.
    """
    state, log = settings.state_dir, supervised.log_path(settings.state_dir)
    if supervised.find_supervisor(state) is not None:
        supervised.wait_until_ready(state, report, connect.START_SECONDS + HEALTHY_SECONDS)
        return
    make_private(log.parent)
    supervised.status_path(state).unlink(missing_ok=True)
    goes_on = runs_already(settings)
    with log.open("a") as output:
        child = subprocess.Popen(
            ["env", f"AOS_STATE_DIR={state}", f"AOS_PROFILE={settings.profile}", *own_program(RESTARTING, MODULE)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def running_pid() -> int | None:
        return None if child.poll() is not None else supervised.recorded_pid(state) or child.pid

    try:  # as long as it takes: the limits of its own parts end it
        supervised.wait_until_ready(state, report, math.inf, running_pid)
    except KeyboardInterrupt:
        if not goes_on:
            child.terminate()  # half a product helps nobody: it stops what it started
            child.wait()
        raise


def stop_instance(state_dir: Path) -> bool:
    """Stop the supervisor and everything it started; data stays. Returns whether anything ran."""
    supervisor = supervised.find_supervisor(state_dir)
    parent = supervised.waiting_parent(state_dir) if supervisor is None else supervised.restarting_parent(supervisor)
    ran = bool(supervisor or parent or connect.ray_processes(state_dir) or embedded.server_processes(state_dir))
    end_process(parent, signal.SIGTERM, seconds=90)  # it hands the signal on
    end_process(supervisor, signal.SIGTERM, seconds=20)
    _stop_parts(state_dir)  # what a supervisor that was itself killed left running
    return ran


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


def _take_over(settings: Settings, rollout: Rollout, report: Report, stand_in: StandIn) -> str:
    """Deploy to what another supervisor has started; what is to be repaired, empty where nothing is: it goes on."""
    try:
        _bring_up(settings, rollout, report, stand_in)
    except (AosError, OSError) as error:  # of the system's own above all a full disk
        with suppress(OSError):
            supervised.write_status(settings.state_dir, "repairing", f"it goes on as it is: {error}")
        report(f"it goes on as it is: {error}")
        return f"what was taken over ({error})"
    rollout.repaired(report)
    return ""


def _bring_up(settings: Settings, rollout: Rollout, report: Report, stand_in: StandIn) -> None:
    def say(line: str) -> None:
        supervised.write_status(settings.state_dir, "starting", line)
        report(line)

    say("ray")
    connect.ensure_cluster(settings)
    if settings.ray.address is None:
        stand_in.open()  # until the proxy is there; not where one of a product that runs already is
    say("applications")
    rollout.deploy(say)
    stand_in.close()


def _watch_instance(
    settings: Settings,
    report: Report,
    rollout: Rollout | None = None,
    rounds: LivenessRounds | None = None,
    backups: BackupChild | None = None,
    unrepaired: str = "",
) -> None:
    """Look once a second; after a failed repair wait longer each time, and never give up.

    `unrepaired`: what is to be repaired from the first look on.
    """
    rollout, rounds = rollout or Rollout(settings), rounds or LivenessRounds(settings, report)
    restarts, pause, away = 0, WATCH_SECONDS, ""
    next_sign = math.inf if settings.ray.address is None else 0.0
    while True:
        time.sleep(pause)
        if time.monotonic() >= next_sign:
            supervised.give_sign(settings.state_dir)
            next_sign = time.monotonic() + supervised.SIGN_SECONDS
        if backups is not None:
            backups.look()
        # A repair that failed half-way has the daemons running again, but not yet the applications.
        lost = _lost_part(settings, rounds) or unrepaired
        if not lost:
            pause = WATCH_SECONDS
            if rounds.away != away:
                with suppress(OSError):  # of a full disk; it is written as soon as there is room
                    supervised.write_status(settings.state_dir, "ready", rounds.away, restarts)
                    away = rounds.away
            if rounds.postgres_answers:
                rollout.restart(report)
            continue
        restarts += 1
        report(f"lost {lost}: repairing")
        try:
            supervised.write_status(settings.state_dir, "repairing", f"lost {lost}", restarts)
            _repair_instance(settings, rollout, rounds.stand_in, report)
            rollout.repaired(report)
            supervised.write_status(settings.state_dir, "ready", away, restarts)
        except (AosError, OSError) as error:  # of the system's own above all a full disk, which somebody may empty
            pause, unrepaired = min(LONGEST_PAUSE, pause * 2), lost
            report(f"repair failed, again in {pause:.0f} s: {error}")
            continue
        pause, unrepaired = WATCH_SECONDS, ""
        report("repaired")


def _repair_instance(settings: Settings, rollout: Rollout, stand_in: StandIn, report: Report) -> None:
    """Begin anew what is not there; meanwhile whoever asks the API is told to come back."""
    embedded.start_servers(settings)
    if settings.ray.address is None and not connect.is_head_alive(settings.state_dir):
        connect.stop_ray(settings.state_dir, REPAIR_SECONDS)  # with the port that its proxy holds
        stand_in.open()
    connect.ensure_cluster(settings, held=stand_in.is_open)
    rollout.deploy(report)
    stand_in.close()


def _lost_part(settings: Settings, rounds: LivenessRounds) -> str:
    state = settings.state_dir
    if gone := rounds.lost():
        return gone
    wanted = [embedded.is_external(section) for section in (settings.postgres, settings.redis)].count(False)
    return "postgres or redis" if len(embedded.server_processes(state)) < wanted else ""


def _stop_parts(state_dir: Path) -> None:
    connect.stop_ray(state_dir)
    embedded.stop_servers(state_dir)


def _take_lock(descriptor: int, state_dir: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise Conflict(f"it already runs for {state_dir}", fix="`aos down` stops it.") from error


def _print_line(line: str) -> None:
    """Without room for the log nothing is said: what is watched matters more than what is told of it."""
    with suppress(OSError):
        print(time.strftime("%Y-%m-%dT%H:%M:%S"), line, flush=True)


def main() -> int:
    """What the daemon does, below `cluster.watch.restarting`; its exit status."""
    try:
        run_supervisor(load_settings(), _print_line)
    except AosError as error:
        _print_line(f"{error} {error.hint}")
        return 1
    return 0
