"""What the supervisor lives through: a dashboard that is closed, sick or babbles, servers that do not come up."""

import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from cluster import connect, deploy, supervisor
from cluster.basics.errors import Unavailable
from cluster.handover import code_digest
from cluster.health_rounds import CONTROLLER_SECONDS, GCS_HEALTH, LivenessRounds
from cluster.state import supervised
from cluster.state.db import embedded
from cluster.state.supervised import SupervisorStatus
from configs.sections import Settings
from configs.settings import load_settings
from tests.fakes.api_server import ApiServer, serve_api

PATH = "/api/serve/applications/"
PART = {"status": "HEALTHY", "message": "", "target_num_replicas": 1, "replicas": [{"state": "RUNNING"}]}
APP = {"status": "RUNNING", "message": "", "deployments": {"Part": PART}}
WELL = {"applications": dict.fromkeys(("embedding", "worker", "gateway", "console"), APP)}


@contextmanager
def joined(state: Path, got: Any, put: Any = b"") -> Iterator[tuple[Settings, ApiServer]]:
    """Settings of a joined cluster, and its dashboard, which answers so; only Redis is run here."""
    answers = {f"PUT {PATH}": put, f"GET {PATH}": got, "GET /api/version": {"version": "3"}}
    with serve_api(answers) as fake:
        found = {
            "AOS_STATE_DIR": str(state),
            "AOS_RAY_ADDRESS": "127.0.0.1:6379",
            "DATABASE_URL": "postgresql://a@db/x",
            "AOS_RAY_DASHBOARD_PORT": fake.url.rpartition(":")[2],
        }
        connect.token_path(state).write_text("access-1")
        yield load_settings(found), fake


@pytest.mark.parametrize(
    "answer", [(500, {"error": "sick"}), b"<html>", b"", {}, [[]], {"applications": {"gateway": {}}}]
)
def test_what_a_sick_dashboard_answers_to_a_roll_out_is_named(tmp_path: Path, answer: Any) -> None:
    with joined(tmp_path, answer) as (settings, fake), pytest.raises(Unavailable, match=f"dashboard answers {PATH}"):
        deploy.deploy_applications(settings, print)
    assert fake.of(f"PUT {PATH}"), "it was taken"


def test_a_roll_out_that_is_refused_says_why(tmp_path: Path) -> None:
    with joined(tmp_path, WELL, (400, b"no such field x")) as (settings, _), pytest.raises(Unavailable) as refused:
        deploy.deploy_applications(settings, print)
    assert "no such field x" in str(refused.value) and "400" in str(refused.value)


def test_a_closed_or_silent_dashboard_is_unavailable(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = str(taken.getsockname()[1])
        settings = load_settings({"AOS_STATE_DIR": str(tmp_path), "AOS_RAY_DASHBOARD_PORT": port})
        with pytest.raises(Unavailable, match="does not answer"):
            deploy.deploy_applications(settings, print)  # nobody listens yet: refused
        taken.listen()
        ray = connect.ray_dashboard(settings)
        with pytest.raises(Unavailable, match=r"does not answer.*Timeout"):
            ray.put(PATH, {}, seconds=0.2)
        with pytest.raises(Unavailable, match=r"does not answer.*Timeout"):
            ray.get(PATH, dict, seconds=0.2)


def test_a_ray_that_does_not_end_its_start_is_unavailable_with_its_log(tmp_path: Path) -> None:
    hangs = "import time; print('half way', flush=True); time.sleep(60)"
    with pytest.raises(Unavailable, match="did not end in 2 s:\nhalf way"):
        connect._run_ray_start([sys.executable, "-c", hangs], tmp_path, tmp_path / "start.log", seconds=2)


def test_an_embedded_postgres_that_takes_no_connection_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"(?s)embedded Postgres.*\(no log\)") as refused:
        embedded._create_database(tmp_path, "aos")
    assert refused.value.__cause__ is not None


def test_it_repairs_until_the_applications_are_back(tmp_path: Path) -> None:
    """Redis is back with the first try, the applications are not: that is not yet repaired."""
    said: list[str] = []

    def report(line: str) -> None:
        said.append(line)
        if line == "repaired":
            raise supervisor._Stop

    with joined(tmp_path, [WELL, (500, {}), WELL]) as (settings, fake):  # the first one asks whether it answers
        try:
            with pytest.raises(supervisor._Stop):
                supervisor._watch_instance(settings, report)
            assert len(fake.of(f"PUT {PATH}")) == 2
        finally:
            embedded.stop_servers(tmp_path)
    assert said[0] == "lost postgres or redis: repairing" and said[1].startswith("the settings' rows could not be read")
    assert said[2].startswith("repair failed, again in 2 s")
    status = supervised.read_status(tmp_path)
    assert status is not None and (status.phase, status.restarts) == ("ready", 2)


def test_what_runs_is_taken_over_and_a_plan_that_fails_stops_none_of_it(tmp_path: Path) -> None:
    """Another version's plan is not deployed at once: that is a repair to be tried again, and no start that failed."""
    said: list[str] = []

    def report(line: str) -> None:
        said.append(line)
        if line == "repaired":
            os.kill(os.getpid(), signal.SIGTERM)

    refused = [(400, b"no such field x"), b""]
    with joined(tmp_path, WELL, refused) as (settings, fake):
        handlers = {one: signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGINT)}
        try:
            embedded.start_servers(settings)  # nothing else is lost
            supervisor.run_supervisor(settings, report)
        finally:
            embedded.stop_servers(tmp_path)
            for one, handler in handlers.items():
                signal.signal(one, handler)
        assert len(fake.of(f"PUT {PATH}")) == 2
    assert any("it goes on as it is" in line and "no such field x" in line for line in said), said
    lost = next(line for line in said if line.startswith("lost what was taken over (") and "no such field x" in line)
    assert said.index(lost) < said.index("repaired")
    assert supervised.noted_code(tmp_path, "parts") == "", "what runs is of whatever code it was begun with"
    assert supervised.noted_code(tmp_path, "supervisor") == code_digest()


class StopsAtTheFirstLook(LivenessRounds):
    """Rounds that end the watch."""

    def lost(self) -> str:
        raise supervisor._Stop


@pytest.mark.parametrize("address", [None, "10.0.0.7:6379"])
def test_a_supervisor_of_a_joined_cluster_gives_signs_of_life(tmp_path: Path, address: str | None) -> None:
    settings = load_settings({"AOS_STATE_DIR": str(tmp_path)} | ({"RAY_ADDRESS": address} if address else {}))
    supervised.write_status(tmp_path, "ready")
    os.utime(supervised.status_path(tmp_path), (1, 1))
    with closing(StopsAtTheFirstLook(settings, print)) as rounds, pytest.raises(supervisor._Stop):
        supervisor._watch_instance(settings, print, rounds=rounds)
    assert (supervised.status_path(tmp_path).stat().st_mtime > 1) is (address is not None)


class Clock:
    """Each look is a long time after the one before."""

    now = 0.0

    def __call__(self) -> float:
        self.now += CONTROLLER_SECONDS
        return self.now


def test_a_joined_cluster_is_asked_reported_while_it_is_away_and_deployed_to_when_it_was_begun_anew(
    tmp_path: Path,
) -> None:
    """Its GCS and Serve's controller, and external servers; the status says what is away, for `aos doctor`."""
    said: list[str] = []
    shown: list[SupervisorStatus | None] = []

    def report(line: str) -> None:
        said.append(line)
        if line.startswith("lost"):
            shown.append(supervised.read_status(tmp_path))
        if line == "repaired":
            raise supervisor._Stop

    begun_anew = {"applications": {}}
    got = [(500, {}), (500, {}), (500, {}), (500, {}), begun_anew, WELL]
    with joined(tmp_path, got) as (settings, fake):
        fake.answers[f"GET {GCS_HEALTH}"] = [b"success", (503, {})]
        ours = settings.model_copy(update={"redis": settings.redis.model_copy(update={"url": "redis://127.0.0.1:1/0"})})
        with closing(LivenessRounds(ours, report, Clock())) as rounds, pytest.raises(supervisor._Stop):
            supervisor._watch_instance(ours, report, rounds=rounds)
        assert len(fake.of(f"PUT {PATH}")) == 1
    assert [line for line in said if line.startswith("lost")] == ["lost Serve on the joined Ray cluster: repairing"]
    (status,) = shown
    assert status is not None and status.phase == "ready"
    joined_parts = ("Serve on the joined Ray cluster", "the GCS of the joined Ray cluster")
    for part in (*joined_parts, "the external postgres", "the external redis"):
        assert sum(line.startswith(f"{part} does not answer, and is not ours") for line in said) == 1, said
        assert f"{part} does not answer: " in status.detail


def test_a_status_that_a_power_cut_left_empty_is_none(tmp_path: Path) -> None:
    for left in ("", "{}", "[1]"):
        supervised.status_path(tmp_path).write_text(left)
        assert supervised.read_status(tmp_path) is None
