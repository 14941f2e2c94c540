"""Where state lives when servers are configured: nothing is started, every part of the address is kept."""

from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

from cluster.state.db import embedded
from cluster.state.db.primary import PATIENCE
from configs.settings import load_settings


def test_configured_servers_are_used_and_none_is_started(tmp_path: Path) -> None:
    """DP-01: data may live on machines of its own."""
    settings = load_settings(
        {
            "AOS_STATE_DIR": str(tmp_path),
            "POSTGRES_HOST": "db.example",
            "POSTGRES_PASSWORD": "p w'x",
            "POSTGRES_ADMIN_USER": "owner",
            "POSTGRES_ADMIN_PASSWORD": "o",
            "REDIS_HOST": "cache.example",
            "REDIS_PASSWORD": "a/b@c",
        }
    )
    found = embedded.start_servers(settings)
    assert conninfo_to_dict(found.postgres) == PATIENCE | {
        "host": "db.example",
        "port": "5432",
        "dbname": "aos",
        "user": "aos_app",
        "password": "p w'x",
    }
    assert conninfo_to_dict(found.postgres_admin or "")["user"] == "owner"
    assert found.redis == "redis://:a%2Fb%40c@cache.example:6379/0"
    assert embedded.server_processes(tmp_path) == []


def test_a_url_is_passed_on_with_limits_on_waiting(tmp_path: Path) -> None:
    url = "postgresql://app:pw@db/aos?sslmode=verify-full"
    found = embedded.resolve_endpoints(
        load_settings({"AOS_STATE_DIR": str(tmp_path), "DATABASE_URL": url, "REDIS_URL": "rediss://cache:6380/2"})
    )
    assert conninfo_to_dict(found.postgres) == PATIENCE | conninfo_to_dict(url)
    assert (found.postgres_admin, found.redis) == (None, "rediss://cache:6380/2")
