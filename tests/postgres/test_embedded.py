"""The embedded servers: one command starts them, they outlive it, survive kills, and nothing else gets in."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import psycopg
import pytest
import redis
from psycopg.conninfo import conninfo_to_dict

from cluster import doctor_postgres
from cluster.basics.errors import Unavailable
from cluster.state.db import embedded
from cluster.state.db.daemon import close_to_others, make_private
from cluster.state.db.postgres_account import reachable_programs
from configs.settings import load_settings
from tests.fakes.kills import kill_servers

ROOT = Path(__file__).resolve().parents[2]


def run_start(state: Path) -> None:
    code = (
        "from configs.settings import load_settings; from cluster.state.db.embedded import start_servers; "
        "start_servers(load_settings())"
    )
    subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=os.environ | {"AOS_STATE_DIR": str(state)}, check=True, timeout=120
    )


def test_data_survives_the_starter_a_kill_and_a_restart(state: Path) -> None:
    """State is kept across the death of whoever started it, of the server itself, and a clean stop."""
    run_start(state)
    settings = load_settings({"AOS_STATE_DIR": str(state)})
    found = embedded.resolve_endpoints(settings)
    with psycopg.connect(found.postgres_admin or "") as connection:
        connection.execute("create table kept (n int)")
        connection.execute("insert into kept values (42)")

    kill_servers(state)
    with pytest.raises(Unavailable) as nothing:
        embedded.resolve_endpoints(settings)
    assert nothing.value.hint == "Run `aos up`."

    assert embedded.start_servers(settings) == found
    embedded.stop_servers(state)
    assert embedded.server_processes(state) == []
    embedded.start_servers(settings)
    with psycopg.connect(found.postgres_admin or "") as connection:
        assert connection.execute("select n from kept").fetchall() == [(42,)]


def test_a_path_too_long_for_a_socket_with_a_blank_and_a_quote(state: Path) -> None:
    deep = state / ("d" * 100) / "a b'c"
    settings = load_settings({"AOS_STATE_DIR": str(deep)})
    try:
        found = embedded.start_servers(settings)
        with psycopg.connect(found.postgres) as connection:
            assert connection.execute("select current_database()").fetchone() == ("aos",)
        with redis.from_url(found.redis) as client:
            assert client.ping()
    finally:
        embedded.stop_servers(deep)


def test_starters_that_race_get_one_server(state: Path) -> None:
    with ThreadPoolExecutor(3) as threads:
        list(threads.map(run_start, [state] * 3))
    found = psutil.process_iter(["cmdline", "cwd"])
    mine = [p for p in found if p.info["cwd"] == f"{state}/postgres" and "-D" in (p.info["cmdline"] or [])]
    assert len(mine) == 1


def test_a_pid_that_belongs_to_somebody_else_is_not_our_server(state: Path) -> None:
    (state / "postgres").mkdir()
    (state / "postgres" / "postmaster.pid").write_text(f"{os.getpid()}\n")
    assert embedded.server_processes(state) == []
    embedded.stop_servers(state)  # must not signal this process
    (state / "postgres" / "postmaster.pid").write_text("garbage")
    assert embedded.server_processes(state) == []


def test_a_stopped_server_is_killed_and_not_waited_for_forever(state: Path) -> None:
    embedded.start_servers(load_settings({"AOS_STATE_DIR": str(state)}))
    (valkey,) = [p for p in embedded.server_processes(state) if "valkey" in " ".join(p.cmdline())]
    valkey.send_signal(signal.SIGSTOP)
    embedded.end_process(valkey, signal.SIGTERM, seconds=0.5)
    assert not psutil.pid_exists(valkey.pid) or valkey.status() == psutil.STATUS_ZOMBIE


def test_no_tcp_listener_and_private_folders(endpoints: embedded.StateEndpoints) -> None:
    """Nothing listens on a network address; only the owner's account reaches the sockets."""
    with psycopg.connect(endpoints.postgres_admin or "") as connection:
        assert connection.execute("select current_setting('listen_addresses')").fetchone() == ("",)
    data = Path(str(conninfo_to_dict(endpoints.postgres)["host"]))
    assert data.stat().st_mode & 0o077 == 0
    found = embedded.server_processes(data.parent)
    assert len(found) == 2
    for process in found:
        assert [c for c in process.net_connections("tcp") if c.status == psutil.CONN_LISTEN] == []


def test_the_application_role_is_plain(endpoints: embedded.StateEndpoints) -> None:
    """Row-level security binds the application, so its role is neither superuser nor exempt."""
    with psycopg.connect(endpoints.postgres) as connection:
        flags = connection.execute(
            "select rolsuper, rolbypassrls, rolcreatedb, rolcreaterole from pg_roles where rolname = current_user"
        ).fetchone()
    assert flags == (False, False, False, False)


def test_the_packaged_server_has_vectors_and_bm25(endpoints: embedded.StateEndpoints) -> None:
    """DP-02: PostgreSQL of at least 16 comes with the product."""
    with psycopg.connect(endpoints.postgres_admin or "", autocommit=True) as connection:
        names = connection.execute("select name from pg_available_extensions").fetchall()
        preloaded = connection.execute("show shared_preload_libraries").fetchone()
        parallel = connection.execute("show max_parallel_maintenance_workers").fetchone()
        assert connection.info.server_version >= 160000
    assert {("vector",), ("pg_textsearch",)} <= set(names)
    assert preloaded == ("pg_textsearch",)
    assert parallel == ("0",)  # pgvector 0.8.1: parallel HNSW builds can overflow


def test_a_server_that_another_version_has_started_gets_the_settings_of_this_one(state: Path) -> None:
    """`aos up` of a new version hands a running instance over; the doctor tells of a server that is not set so."""
    settings = load_settings({"AOS_STATE_DIR": str(state)})
    found = embedded.start_servers(settings)
    conf = state / "postgres" / "aos.conf"
    before = conf.read_text()
    assert "pg_textsearch.bulk_load_threshold = 0\n" in before
    with psycopg.connect(found.postgres_admin or "", autocommit=True) as connection:
        connection.execute("create extension pg_textsearch")

        def await_threshold(wanted: str) -> None:
            for _ in range(100):
                if connection.execute("show pg_textsearch.bulk_load_threshold").fetchone() == (wanted,):
                    return
                time.sleep(0.1)
            pytest.fail(f"the threshold is not {wanted} after ten seconds")

        conf.write_text(before.replace("pg_textsearch.bulk_load_threshold = 0\n", ""))
        connection.execute("select pg_reload_conf()")
        await_threshold("100000")
        told = {one.part: one for one in doctor_postgres.probe_postgres(settings)}["keyword search"]
        assert told.colour == "yellow" and "pg_textsearch.bulk_load_threshold = 0 in postgresql.conf" in told.fix
        assert embedded.start_servers(settings) == found and conf.read_text() == before
        await_threshold("0")
    told = {one.part: one for one in doctor_postgres.probe_postgres(settings)}["keyword search"]
    assert told.colour == "green"


def modes(path: Path) -> dict[str, str]:
    return {str(folder): oct(folder.stat().st_mode) for folder in (path, *path.parents)}


@pytest.mark.skipif(os.geteuid() != 0, reason="only where Postgres runs as another account than its starter")
def test_no_folder_above_the_data_is_opened(state: Path) -> None:
    """To let Postgres' account through, every folder above was opened to everybody, /root among them."""
    shut = state / "mine"
    deep = shut / "state"
    deep.mkdir(parents=True)
    shut.chmod(0o700)
    deep.chmod(0o700)
    before, settings = modes(deep), load_settings({"AOS_STATE_DIR": str(deep)})
    try:
        found = embedded.start_servers(settings)
        assert modes(deep) == before
        (server,) = [one for one in embedded.server_processes(deep) if one.name().startswith("postgres")]
        assert server.uids().real != 0
        with psycopg.connect(found.postgres_admin or "") as connection:
            connection.execute("create table kept (n int)")
        kill_servers(deep)
        assert embedded.start_servers(settings) == found and modes(deep) == before
        with psycopg.connect(found.postgres_admin or "") as connection:
            assert connection.execute("select count(*) from kept").fetchone() == (0,)
            assert connection.execute("select extname from pg_extension").fetchall()
    finally:
        embedded.stop_servers(deep)
    assert embedded.server_processes(deep) == []


def test_programs_that_another_account_cannot_reach_are_copied_once(tmp_path: Path) -> None:
    """As in /root: its mode stays what it is."""
    programs = tmp_path / "shut" / "pginstall" / "bin"
    programs.mkdir(parents=True)
    (programs / "postgres").write_text("a program")
    (programs.parent / "lib").mkdir()
    (tmp_path / "shut").chmod(0o700)
    made = reachable_programs(programs, tmp_path / "copies")
    assert (made / "postgres").read_text() == "a program" and (made.parent / "lib").is_dir()
    assert reachable_programs(programs, tmp_path / "copies") == made
    assert oct((tmp_path / "shut").stat().st_mode & 0o777) == "0o700"
    (programs / "postgres").write_text("another version")
    os.utime(programs / "postgres", (1, 1))
    assert reachable_programs(programs, tmp_path / "copies") != made, "a newer one is another copy"


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_another_account_reads_the_copy_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        programs = tmp_path / "shut" / "pg" / "bin"
        programs.mkdir(parents=True)
        (programs / "postgres").write_text("a program")
        (programs / "postgres").chmod(0o777 & ~umask)
        (programs.parent / "share").write_text("data")
        (tmp_path / "shut").chmod(0o700)
        made = reachable_programs(programs, tmp_path / "copies")
    finally:
        os.umask(before)
    modes = [path.stat().st_mode & 0o777 for path in (tmp_path / "copies", made.parent.parent, made, made / "postgres")]
    assert all(mode & 0o555 == 0o555 for mode in modes)
    assert (made.parent / "share").stat().st_mode & 0o444 == 0o444


def test_a_link_that_somebody_else_made_is_no_folder_of_ours(tmp_path: Path) -> None:
    """In /tmp anybody makes a link to a folder of ours under the name that we would take."""
    if os.geteuid() != 0:
        pytest.skip("only root makes a link that belongs to another account")
    (tmp_path / "ours").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "ours")
    os.lchown(tmp_path / "link", 12345, 12345)
    with pytest.raises(Unavailable, match="another account"):
        make_private(tmp_path / "link")
    (tmp_path / "open").mkdir(mode=0o777)
    close_to_others(tmp_path / "open")
    assert oct((tmp_path / "open").stat().st_mode & 0o777) == "0o700"
