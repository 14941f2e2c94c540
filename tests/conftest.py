"""What every test may ask for: a Postgres of its own for the session, and a migrated database of its own per test."""

import asyncio
import gc
import os
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

if TYPE_CHECKING:
    from cluster.state.db.embedded import StateEndpoints
    from tests.databases import SpareDatabases

# Before anything imports Ray or torch: no token file in the home directory, no statistics, no hub, no thread storms.
os.environ.setdefault("RAY_AUTH_MODE", "disabled")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_SERVE_DIRECT_INGRESS_MIN_DRAINING_PERIOD_S", "0.1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

# No test fails by the clock: beside other work an example takes many times as long.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

MEMORY_BYTES = 4 << 30


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Imports make half a million objects that live as long as the run: to look at them again and again is wasted."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def _memory() -> Path | None:
    """Where files are only in memory, if there is room: a database per test is a thousand files made and deleted.

    ext4 gives no inode away again for seconds after it was freed, and looks through all of those for each new file.
    """
    shared = Path("/dev/shm")
    if os.access(shared, os.W_OK) and shutil.disk_usage(shared).free >= MEMORY_BYTES:
        return shared
    return None


@pytest.fixture(scope="session")
def endpoints() -> Iterator["StateEndpoints"]:
    """An embedded Postgres and Valkey in a folder of their own (short: socket paths are limited), gone afterwards."""
    import psycopg

    from cluster.state.db import embedded
    from configs.settings import load_settings

    folder = Path(tempfile.mkdtemp(prefix="aos-", dir=_memory()))
    try:
        found = embedded.start_servers(load_settings({"AOS_STATE_DIR": str(folder)}))
        with psycopg.connect(found.postgres_admin or "", autocommit=True) as connection:
            for setting in ("fsync", "synchronous_commit", "full_page_writes", "summarize_wal"):
                connection.execute(f"alter system set {setting} = off")
            connection.execute("select pg_reload_conf()")
        yield found
    finally:
        embedded.stop_servers(folder)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def template_database(endpoints: "StateEndpoints") -> str:
    """The name of a database that has every migration and no index for BM25; made once, copied per test.

    pg_textsearch knows an index by its OID alone: copies of one index would share the words that are not on disk yet,
    and cleaning one would look for rows that only another database has. So each copy makes one of its own.
    """
    import psycopg
    from psycopg.conninfo import make_conninfo

    from cluster.state.db.migrate import apply_migrations

    with psycopg.connect(endpoints.postgres_admin or "", autocommit=True) as connection:
        connection.execute("create database aos_template")
    admin = make_conninfo(endpoints.postgres_admin or "", dbname="aos_template")
    with ThreadPoolExecutor(1) as thread:  # a thread of its own: the test's event loop may already exist in this one
        thread.submit(lambda: asyncio.run(apply_migrations(admin))).result()
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute("drop index document_chunks_bm25")
    return "aos_template"


@pytest.fixture(scope="session")
def databases(endpoints: "StateEndpoints", template_database: str) -> Iterator["SpareDatabases"]:
    """Migrated databases, one always ready."""
    from tests.databases import SpareDatabases

    made = SpareDatabases(endpoints.postgres_admin or "", template_database)
    yield made
    made.close()


@pytest.fixture
def database(databases: "SpareDatabases") -> Iterator[str]:
    """The name of this test's own migrated database."""
    with databases.lend() as name:
        yield name


@pytest.fixture
def admin_dsn(endpoints: "StateEndpoints", database: str) -> str:
    """libpq connection string of the owner (superuser) for this test's database."""
    from psycopg.conninfo import make_conninfo

    return make_conninfo(endpoints.postgres_admin or "", dbname=database)


@pytest.fixture
def app_dsn(endpoints: "StateEndpoints", database: str) -> str:
    """libpq connection string of `aos_app`, which row-level security binds, for this test's database."""
    from psycopg.conninfo import make_conninfo

    return make_conninfo(endpoints.postgres, dbname=database)


@pytest.fixture
def redis_url(endpoints: "StateEndpoints") -> Iterator[str]:
    """URL of an empty Valkey."""
    import redis

    yield endpoints.redis
    with redis.from_url(endpoints.redis) as client:
        client.flushall()
