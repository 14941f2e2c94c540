"""The first administrator's password survives a start that fails, and nothing keeps it once it was told."""

from pathlib import Path

import pytest

from cluster import supervisor
from configs.settings import load

pytestmark = pytest.mark.postgres


def test_the_first_password_is_given_again_until_somebody_has_seen_it(
    admin_dsn: str, app_dsn: str, redis_url: str, tmp_path: Path
) -> None:
    servers = {"DATABASE_URL": app_dsn, "DATABASE_ADMIN_URL": admin_dsn, "REDIS_URL": redis_url}
    settings = load({"AOS_STATE_DIR": str(tmp_path), **servers})
    first = supervisor.prepare(settings, lambda line: None)
    assert first
    (kept,) = tmp_path.glob("first-password*")
    assert kept.stat().st_mode & 0o077 == 0
    assert supervisor.prepare(settings, lambda line: None) == first, "Ray did not come up, and the password was lost"
    supervisor.told(settings)
    assert supervisor.prepare(settings, lambda line: None) is None
    assert not list(tmp_path.glob("first-password*"))
