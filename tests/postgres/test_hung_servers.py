"""The embedded servers as the supervisor sees them: one that is stopped or cut off is noticed and begun anew."""

import contextlib
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psutil
import psycopg
import pytest
import redis

from cluster import connect, supervisor
from cluster.health_rounds import LivenessRounds
from cluster.state.db import embedded
from cluster.watch.asking import LivenessState
from cluster.watch.hanging import is_family_starved
from cluster.watch.servers import ask_postgres, ask_redis, postgres_refusal
from configs.sections import Settings
from configs.settings import load_settings
from tests.fakes.api_server import serve_api

PATH = "/api/serve/applications/"
PART = {"status": "HEALTHY", "message": "", "target_num_replicas": 1, "replicas": [{"state": "RUNNING"}]}
APP = {"status": "RUNNING", "message": "", "deployments": {"Part": PART}}
WELL = {"applications": dict.fromkeys(("embedding", "worker", "gateway", "console"), APP)}
SOON = 30.0


def family(server: psutil.Process) -> list[psutil.Process]:
    return [server, *server.children(recursive=True)]


def stop(processes: list[psutil.Process]) -> None:
    for process in processes:
        process.send_signal(signal.SIGSTOP)
    deadline = time.monotonic() + 10
    while any(one.status() != psutil.STATUS_STOPPED for one in processes) and time.monotonic() < deadline:
        time.sleep(0.01)


@pytest.fixture
def watched(state: Path) -> Iterator[Settings]:
    """Servers of ours beside a joined cluster that is well."""
    answers = {f"PUT {PATH}": {}, f"GET {PATH}": WELL, "GET /api/version": {}, "GET /api/gcs_healthz": b"success"}
    with serve_api(answers) as fake:
        found = {
            "AOS_STATE_DIR": str(state),
            "AOS_RAY_ADDRESS": "127.0.0.1:6379",
            "AOS_RAY_DASHBOARD_PORT": fake.url.rpartition(":")[2],
        }
        connect.token_path(state).write_text("access-1")
        settings = load_settings(found)
        embedded.start_servers(settings)
        yield settings


def watch_until_repaired(settings: Settings) -> tuple[list[str], float]:
    """Lines of the supervisor's log, and seconds."""
    said: list[str] = []

    def report(line: str) -> None:
        said.append(line)
        if line == "repaired":
            raise supervisor._Stop

    began = time.monotonic()
    with closing(LivenessRounds(settings, report)) as rounds, contextlib.suppress(supervisor._Stop):
        supervisor._watch_instance(settings, report, rounds=rounds)
    return said, time.monotonic() - began


HANGS: dict[str, tuple[str, Callable[[psutil.Process], object]]] = {
    "postmaster stopped": ("postgres", lambda server: stop([server])),
    "all of postgres stopped": ("postgres", lambda server: stop(family(server))),
    "valkey stopped": ("redis", lambda server: stop([server])),
    "valkey's socket removed": ("redis", lambda server: Path(server.cwd(), embedded.VALKEY_SOCKET).unlink()),
}


@pytest.mark.parametrize("how", HANGS)
def test_a_server_that_hangs_is_begun_anew_within_30_seconds_with_its_data(watched: Settings, how: str) -> None:
    part, hit = HANGS[how]
    found = embedded.resolve_endpoints(watched)
    with psycopg.connect(found.postgres_admin or "", autocommit=True) as kept:
        kept.execute("create table kept (n int)")
        kept.execute("insert into kept values (42)")
        hung = embedded.servers_by_name(watched.state_dir)[part]
        victims = family(hung)
        hit(hung)
        said, took = watch_until_repaired(watched)
    assert took <= SOON, said
    (why,) = [line for line in said if "unanswered" in line]
    assert why.startswith(f"{part} (process {hung.pid}) left 3 questions in a row unanswered (")
    assert said.index(f"lost {part}: repairing") > said.index(why)
    assert not any(line.startswith("repair failed") for line in said), "a lock file of the one that is gone is stale"
    assert not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in victims)
    with psycopg.connect(found.postgres_admin or "") as connection:
        assert connection.execute("select n from kept").fetchall() == [(42,)]
    with redis.from_url(found.redis) as client:
        assert client.ping()


def test_a_postgres_with_a_full_table_of_connections_and_one_that_starts_answer(watched: Settings) -> None:
    found = embedded.resolve_endpoints(watched)
    assert ask_postgres(found.postgres, 4).reply is LivenessState.ANSWERED
    with psycopg.connect(found.postgres_admin or "", autocommit=True) as connection:
        connection.execute("alter role aos_app connection limit 0")
        assert ask_postgres(found.postgres, 4).reply is LivenessState.GONE
        assert postgres_refusal(found.postgres) is LivenessState.ANSWERED, "it says 53300"
        connection.execute("alter role aos_app connection limit -1")
        server = embedded.servers_by_name(watched.state_dir)["postgres"]
        server.send_signal(signal.SIGTERM)  # a smart shutdown: it waits for our connection, and says 57P03 to others
        deadline = time.monotonic() + 10
        while postgres_refusal(found.postgres) is LivenessState.ANSWERED and time.monotonic() < deadline:
            time.sleep(0.05)
        assert postgres_refusal(found.postgres) is LivenessState.UNREADY
    embedded.end_process(server, signal.SIGINT)
    assert postgres_refusal(found.postgres) is LivenessState.GONE


def test_a_valkey_with_as_many_clients_as_it_takes_answers(watched: Settings) -> None:
    url = embedded.resolve_endpoints(watched).redis
    with redis.from_url(url) as client:
        client.config_set("maxclients", 1)
        assert ask_redis(url, 3).reply is LivenessState.ANSWERED
        client.config_set("maxclients", 1_000)


def test_questions_to_a_stopped_server_end_with_their_limit(watched: Settings) -> None:
    """One of them is put to a Postgres that has taken the connection, and then answers no more."""
    found = embedded.resolve_endpoints(watched)
    stop(embedded.server_processes(watched.state_dir))
    began = time.monotonic()
    assert ask_postgres(found.postgres, 2).reply is LivenessState.SILENT
    assert ask_redis(found.redis, 0.5).reply is LivenessState.SILENT
    assert time.monotonic() - began < 10
    for server in embedded.server_processes(watched.state_dir):
        embedded.end_hung_server(server)
    assert embedded.server_processes(watched.state_dir) == []


def test_a_stopped_postmaster_is_not_busy_whatever_its_backends_do(watched: Settings) -> None:
    server = embedded.servers_by_name(watched.state_dir)["postgres"]
    conninfo = embedded.resolve_endpoints(watched).postgres
    with psycopg.connect(conninfo) as connection:
        connection.pgconn.send_query(b"select count(*) from generate_series(1, 4000000000)")
        deadline = time.monotonic() + 10
        while not is_family_starved(server.pid) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert is_family_starved(server.pid), "a backend of it wants a core"
        stop([server])
        assert not is_family_starved(server.pid)
        for process in family(server):
            process.kill()
        connection.close()
