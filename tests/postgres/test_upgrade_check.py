"""`aos upgrade --check` on states of every age: it says what is to come, and changes nothing."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from cluster import supervisor
from cluster.basics.errors import Unavailable
from cluster.state.db import embedded
from cluster.state.db.migrate import NewerState, apply_migrations
from cluster.state.db.migration_files import read_migrations
from cluster.state.db.postgres_major import OtherPostgres, programs_major
from cluster.state.db.upgrade_check import check_upgrade
from configs.sections import Settings
from configs.settings import load_settings
from tests.fakes.command_line import run_aos
from tests.fakes.manifests import pod_templates
from tests.fakes.older_state import empty_database, until

ROOT = Path(__file__).resolve().parents[2]
OLDER = "0103"  # 0104 drops a function that older code calls


@pytest.fixture
def empty(endpoints: Any) -> Iterator[tuple[str, str]]:
    with empty_database(endpoints) as made:
        yield made


def external(empty: tuple[str, str], folder: Path) -> Settings:
    """Settings by which this database is somebody else's server."""
    owner, application = empty
    return load_settings(
        {
            "AOS_STATE_DIR": str(folder),
            "DATABASE_URL": application,
            "DATABASE_ADMIN_URL": owner,
            "REDIS_URL": "redis://x",
        }
    )


def kept(owner: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(owner) as connection:
        return connection.execute("select name, hash, at from schema_migrations order by name").fetchall()


def test_a_stopped_state_is_looked_at_and_left_as_it_was(state: Path, tmp_path: Path) -> None:
    assert run_aos(state, "upgrade") == (
        1,
        {
            "error": {
                "code": "invalid",
                "detail": "one of --check, --dump and --load says what to do",
                "fix": "`aos up` applies what is pending.",
            }
        },
    )
    code, report = run_aos(state, "upgrade", "--check")
    assert (code, report["applied"], list(state.iterdir())) == (3, 0, []), "nothing is there, and nothing is made"

    settings = load_settings({"AOS_STATE_DIR": str(state)})
    owner = embedded.start_servers(settings).postgres_admin or ""
    asyncio.run(apply_migrations(owner, until(OLDER, tmp_path / "old")))
    before = kept(owner)
    running = run_aos(state, "upgrade", "--check")
    embedded.stop_servers(state)
    code, report = run_aos(state, "upgrade", "--check")
    assert embedded.server_processes(state) == [], "a server that did not run does not run afterwards"
    assert code == report["exit_code"] == running[0] == 4
    assert [one["name"] for one in report["pending"]] == [one["name"] for one in running[1]["pending"]]
    stopping = [one for one in report["pending"] if not one["beside_old_code"]]
    assert [(one["name"], one["stop"]) for one in stopping] == [
        ("0104_rights_passes.sql", ["drops the function claim_due_sources"])
    ]
    (asked,) = (one for one in report["pending"] if one["name"] == "0106_due_sources.sql")
    locks = {one["table"]: one for one in asked["locks"]}
    assert (locks["sources"]["mode"], locks["sources"]["stops"]) == ("ACCESS EXCLUSIVE", "reads and writes")
    assert 0 < locks["sources"]["seconds"] < 1
    assert report["server"] == report["data"] == report["brings"] and report["free_bytes"] > 0

    embedded.start_servers(settings)
    assert kept(owner) == before, "a dry run applies nothing"
    supervisor.prepare_state(settings, lambda line: None)
    code, report = run_aos(state, "upgrade", "--check")
    assert (code, report["pending"], report["refusals"]) == (0, [], [])


def test_a_state_of_newer_code_is_refused_by_the_check_and_by_the_start(empty: tuple[str, str], tmp_path: Path) -> None:
    asyncio.run(apply_migrations(empty[0]))
    with psycopg.connect(empty[0]) as connection:
        connection.execute("insert into schema_migrations (name, hash) values ('9001_later.sql', 'x')")
    settings = external(empty, tmp_path)
    report = check_upgrade(settings)
    assert report.exit_code == 1 and report.pending == ()
    ((code, what, fix),) = [(one.code, one.what, one.fix) for one in report.refusals]
    assert (code, fix) == (
        "newer_state",
        "Start the newer version again, or this one on a backup from before. Nothing was changed.",
    )
    assert what.startswith("the state was written by newer code: 9001_later.sql is applied, and this code ends with ")
    with pytest.raises(NewerState):
        supervisor.prepare_state(settings, lambda line: None)


def test_a_full_disk_is_told_before_the_upgrade(state: Path, tmp_path: Path) -> None:
    settings = load_settings({"AOS_STATE_DIR": str(state)})
    owner = embedded.start_servers(settings).postgres_admin or ""
    asyncio.run(apply_migrations(owner, until(OLDER, tmp_path / "old")))
    report = check_upgrade(settings, free_bytes=lambda data: 1000)
    assert [one.code for one in report.cautions] == ["disk_full"] and report.exit_code == 4
    assert "1,000 are free" in report.cautions[0].what
    assert check_upgrade(settings, free_bytes=lambda data: 10**12).cautions == ()


def test_an_external_server_is_asked_as_its_owner(empty: tuple[str, str], tmp_path: Path) -> None:
    asyncio.run(apply_migrations(empty[0], until(OLDER, tmp_path / "old")))
    with psycopg.connect(empty[1]) as worker:
        worker.execute("select 1")
        report = check_upgrade(external(empty, tmp_path))
        assert (report.sessions, report.free_bytes, report.data, report.exit_code) == (1, None, None, 4)
    assert [one.name for one in report.pending] == [one.name for one in read_migrations() if one.name > f"{OLDER}z"]


def test_a_server_that_is_away_is_told(tmp_path: Path) -> None:
    nobody = make_conninfo(host=str(tmp_path), dbname="aos", user="postgres")
    with pytest.raises(Unavailable, match="Postgres cannot be asked") as away:
        check_upgrade(external((nobody, nobody), tmp_path))
    assert "DATABASE_ADMIN_URL" in away.value.hint


def test_data_of_another_major_version_is_refused_untouched(state: Path) -> None:
    data = state / "postgres"
    data.mkdir(parents=True)
    (data / "PG_VERSION").write_text("15\n")
    brings = programs_major(embedded.postgres_programs())
    with pytest.raises(OtherPostgres) as refused:
        supervisor.prepare_state(load_settings({"AOS_STATE_DIR": str(state)}), lambda line: None)
    assert str(refused.value) == f"{data} was written by PostgreSQL 15, and this version brings PostgreSQL {brings}"
    assert "aos upgrade --dump FOLDER" in refused.value.hint and "aos upgrade --load FOLDER" in refused.value.hint
    code, report = run_aos(state, "upgrade", "--check")
    assert (code, report["data"], report["server"]) == (1, 15, None)
    assert [one["code"] for one in report["refusals"]] == ["other_postgres"]
    assert [path.name for path in data.iterdir()] == ["PG_VERSION"]


def test_data_that_does_not_say_its_version_is_told_in_a_sentence(state: Path) -> None:
    data = state / "postgres"
    data.mkdir(parents=True)
    (data / "PG_VERSION").write_bytes(b"")
    with pytest.raises(Unavailable, match=r"does not say by which PostgreSQL") as told:
        supervisor.prepare_state(load_settings({"AOS_STATE_DIR": str(state)}), lambda line: None)
    assert "aos restore" in told.value.hint
    code, report = run_aos(state, "upgrade", "--check")
    assert (code, report["error"]["code"]) == (1, "unavailable")


def run_job(empty: tuple[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    """The Job of the Helm chart before an upgrade, with the environment that it has there."""
    (job,) = dict(pod_templates())["upgrade-check"]["spec"]["containers"]
    aos = folder / "aos"
    aos.write_text(f'#!/bin/sh\nexec {sys.executable} -m cluster.cli "$@"\n')
    aos.chmod(0o755)
    given = {one["name"]: one["value"] for one in job["env"] if "value" in one}
    secrets = {"DATABASE_URL": empty[1], "DATABASE_ADMIN_URL": empty[0], "REDIS_URL": "redis://x"}
    here = {"PATH": f"{folder}:/usr/bin:/bin", "PYTHONPATH": str(ROOT), "AOS_STATE_DIR": str(folder / "state")}
    env = given | secrets | here
    return subprocess.run(job["command"], cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False)


def test_the_job_of_the_chart_lets_an_upgrade_go_on_only_where_old_code_may_run(
    empty: tuple[str, str], tmp_path: Path
) -> None:
    asyncio.run(apply_migrations(empty[0], until(OLDER, tmp_path / "old")))
    before = kept(empty[0])
    done = run_job(empty, tmp_path)
    assert done.returncode == 4, done.stdout + done.stderr
    assert "0104_rights_passes.sql" in done.stdout and "suspended=true" in done.stdout
    assert kept(empty[0]) == before
    asyncio.run(apply_migrations(empty[0]))
    done = run_job(empty, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
