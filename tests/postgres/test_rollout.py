"""Restarts that somebody asked for, carried out by the supervisor; and that what is called live is read when used."""

from pathlib import Path
from typing import Any

import psycopg
import pytest

from cluster import connect
from cluster.rollout import Rollout
from cluster.state.settings.restart_requests import RestartLedger
from cluster.state.settings.settings_rows import SettingsRows
from cluster.state.settings.snapshots import SettingsSnapshots
from configs.keys import LIVE
from configs.sections import Settings
from configs.settings import load_settings
from serve_apps.wiring.http import build_app_dependencies
from tests.fakes.api_server import serve_api
from tests.fakes.models import FakeEmbedder, FakeReranker

PATH = "/api/serve/applications/"
PART = {"status": "HEALTHY", "message": "", "target_num_replicas": 1, "replicas": [{"state": "RUNNING"}]}
APP = {"status": "RUNNING", "message": "", "deployments": {"Part": PART}}
WELL = {"applications": dict.fromkeys(("embedding", "worker", "gateway", "console"), APP)}
FAILED = {"applications": {"gateway": APP | {"status": "DEPLOY_FAILED", "message": "no module x"}}}


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 10
        return self.now


def marks(body: Any) -> dict[str, str]:
    found = {app["name"]: app.get("runtime_env", {}).get("env_vars", {}) for app in body["applications"]}
    return {name: variables["AOS_RESTART"] for name, variables in found.items() if "AOS_RESTART" in variables}


def test_ad_06_the_supervisor_restarts_what_was_asked_for(app_dsn: str, admin_dsn: str, tmp_path: Path) -> None:
    """AD-06: the plan is sent with the rows and another number for these applications alone; how it ended is kept."""
    with serve_api({f"PUT {PATH}": {}, f"GET {PATH}": WELL}) as fake, psycopg.connect(admin_dsn, autocommit=True) as db:
        port = fake.url.rpartition(":")[2]
        env = {"AOS_STATE_DIR": str(tmp_path), "DATABASE_URL": app_dsn, "AOS_RAY_DASHBOARD_PORT": port}
        connect.token_path(tmp_path).write_text("access-1")
        said: list[str] = []
        rollout = Rollout(load_settings(env), Clock(), env)
        db.execute("insert into restart_needs (part, keys) values ('whole', '{redis.host}'), ('worker', '{ocr.dpi}')")
        rollout.deploy(said.append)
        assert marks(fake.of(f"PUT {PATH}")[-1].body) == {}
        rollout.began(said.append)
        assert db.execute("select count(*) from restart_needs").fetchone() == (0,), "all of it was started anew"
        rollout.restart(said.append)
        assert len(fake.of(f"PUT {PATH}")) == 1, "nobody asked"

        db.execute("insert into system_settings (key, value) values ('worker.replicas', '2')")
        db.execute("insert into restart_needs (part, keys) values ('worker', '{ocr.dpi}'), ('gateway', '{ocr.dpi}')")
        db.execute("insert into restarts (parts) values ('{worker}')")
        rollout.restart(said.append)
        body = fake.of(f"PUT {PATH}")[-1].body
        assert marks(body) == {"worker": "1"}, said
        replicas = {app["name"]: app["deployments"][0].get("num_replicas") for app in body["applications"]}
        assert replicas["worker"] == 2 and rollout.settings.worker.replicas == 2, "the rows count"
        assert db.execute("select part from restart_needs").fetchall() == [("gateway",)]
        assert db.execute("select done_at is not null, error from restarts").fetchone() == (True, None)

        fake.answers[f"GET {PATH}"] = FAILED
        db.execute("insert into restarts (parts) values ('{gateway}')")
        rollout.restart(said.append)
        assert marks(fake.of(f"PUT {PATH}")[-1].body) == {"worker": "1", "gateway": "2"}
        error = db.execute("select error from restarts where id = 2").fetchone()
        assert error is not None and "no module x" in error[0]
        assert db.execute("select part from restart_needs").fetchall() == [("gateway",)], "it still waits"
        assert "restarting gateway, as asked" in said


def test_ad_06_settings_that_cannot_be_read_are_why_a_restart_failed(
    app_dsn: str, admin_dsn: str, tmp_path: Path
) -> None:
    """AD-06: without the rows' marks the plan would be the one that runs, and nothing would be replaced."""
    with serve_api({f"PUT {PATH}": {}, f"GET {PATH}": WELL}) as fake, psycopg.connect(admin_dsn, autocommit=True) as db:
        port = fake.url.rpartition(":")[2]
        env = {"AOS_STATE_DIR": str(tmp_path), "DATABASE_URL": app_dsn, "AOS_RAY_DASHBOARD_PORT": port}
        connect.token_path(tmp_path).write_text("access-1")
        said: list[str] = []
        rollout = Rollout(load_settings(env), Clock(), env | {"AOS_WORKER_REPLICAS": "none"})
        db.execute("insert into system_settings (key, value) values ('ocr.dpi', '200')")
        db.execute("insert into restarts (parts) values ('{worker}')")
        rollout.restart(said.append)
        error = db.execute("select error from restarts where done_at is not null").fetchone()
        assert error is not None and "worker.replicas" in error[0], said
        assert not fake.of(f"PUT {PATH}")
        rollout.deploy(said.append)  # a repair goes on with what was read last
        assert len(fake.of(f"PUT {PATH}")) == 1


def test_a_postgres_that_is_away_keeps_what_it_said_last(tmp_path: Path) -> None:
    with serve_api({f"PUT {PATH}": {}, f"GET {PATH}": WELL}) as fake:
        port = fake.url.rpartition(":")[2]
        away = "postgresql://a@127.0.0.1:9/x?connect_timeout=2"
        env = {"AOS_STATE_DIR": str(tmp_path), "DATABASE_URL": away, "AOS_RAY_DASHBOARD_PORT": port}
        connect.token_path(tmp_path).write_text("access-1")
        said: list[str] = []
        rollout = Rollout(load_settings(env), Clock(), env)
        rollout.deploy(said.append)
        rollout.restart(said.append)
        rollout.began(said.append)
        assert len(fake.of(f"PUT {PATH}")) == 1 and "those of before count" in said[0]
        assert RestartLedger(away)._dsn == away


class Recording(SettingsSnapshots):
    """Remembers which live settings were read."""

    def __init__(self, began: Settings) -> None:
        self.read: set[str] = set()
        super().__init__(began)

    def view(self) -> Settings:
        return _Seen(super().view(), "", self.read)  # type: ignore[return-value]


class _Seen:
    def __init__(self, of: Any, path: str, read: set[str]) -> None:
        self._of, self._path, self._read = of, path, read

    def __getattr__(self, name: str) -> Any:
        path = f"{self._path}{name}"
        found = getattr(self._of, name)
        if path in LIVE:
            self._read.add(path)
        elif not self._path and any(key.startswith(f"{name}.") for key in LIVE):
            return _Seen(found, f"{name}.", self._read)
        return found


async def test_ad_04_no_live_setting_is_read_while_the_program_is_put_together(
    app_dsn: str, redis_url: str, tmp_path: Path
) -> None:
    """AD-04: what is read once would stay as it was, whatever the page claims."""
    env = {"AOS_STATE_DIR": str(tmp_path), "DATABASE_URL": app_dsn, "REDIS_URL": redis_url}
    snapshots = Recording(load_settings(env))
    parts = build_app_dependencies(
        snapshots.view(), FakeEmbedder(), FakeReranker(), lambda: pytest.fail("agents are here"), snapshots
    )
    assert isinstance(parts.operating.upkeep.rows, SettingsRows)
    assert snapshots.effective() == snapshots.began
    assert snapshots.read == set(), "claimed live in configs/keys.py, but kept from the start"
    await parts.operating.upkeep.close()
