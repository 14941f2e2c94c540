"""The first start and one beside it: the password survives a start that fails; ready is said when it is ready."""

import json
from pathlib import Path

import pytest

from cluster import supervisor
from cluster.cli import run_command
from configs.settings import load_settings
from tests.fakes.daemon import supervising

pytestmark = pytest.mark.postgres


def test_the_first_password_is_given_again_until_somebody_has_seen_it(
    admin_dsn: str, app_dsn: str, redis_url: str, tmp_path: Path
) -> None:
    servers = {"DATABASE_URL": app_dsn, "DATABASE_ADMIN_URL": admin_dsn, "REDIS_URL": redis_url}
    settings = load_settings({"AOS_STATE_DIR": str(tmp_path), **servers})
    first = supervisor.prepare_state(settings, lambda line: None)
    assert first
    (kept,) = tmp_path.glob("first-password*")
    assert kept.stat().st_mode & 0o077 == 0
    assert supervisor.prepare_state(settings, lambda line: None) == first, (
        "Ray did not come up, and the password was lost"
    )
    supervisor.forget_first_password(settings)
    assert supervisor.prepare_state(settings, lambda line: None) is None
    assert not list(tmp_path.glob("first-password*"))


@pytest.mark.parametrize(("last", "code"), [([60, "ready", ""], 0), ([0.1, "failed", "port 80 is taken"], 1)])
def test_up_beside_a_product_that_still_starts_waits_for_its_end(
    admin_dsn: str,
    app_dsn: str,
    redis_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    last: list[object],
    code: int,
) -> None:
    """It said that it was ready, with exit code 0, as soon as a supervisor ran."""
    servers = {"DATABASE_URL": app_dsn, "DATABASE_ADMIN_URL": admin_dsn, "REDIS_URL": redis_url}
    for name, value in {"AOS_STATE_DIR": str(tmp_path), **servers}.items():
        monkeypatch.setenv(name, value)
    with supervising(tmp_path, json.dumps([[3, "starting", "applications"], last])):
        assert run_command(["up"]) == code
    shown = capsys.readouterr()
    assert "  applications\n" in shown.out
    assert ("Ready" in shown.out) is (code == 0) and ("port 80 is taken" in shown.err) is (code == 1)
