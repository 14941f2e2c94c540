"""Two real servers: a standby takes over, nothing that was answered is lost, and who was replaced is not written to."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from cluster.basics.errors import Conflict, Overloaded, Unavailable
from cluster.console.findings import GREEN, RED, YELLOW, StatusColour
from cluster.doctor_postgres import probe_postgres
from cluster.doctor_replication import probe_replication
from cluster.state.db.embedded import postgres_endpoints, timeline_fence
from cluster.state.db.postgres import Database
from cluster.state.db.primary import (
    StaleServer,
    TimelineFence,
    connect_primary,
    connect_primary_blocking,
    current_server,
    server_name,
)
from cluster.state.db.upgrade_check import read_schema
from cluster.watch.asking import LivenessState
from cluster.watch.servers import ask_postgres
from configs.sections import Settings
from configs.settings import load_settings
from tests.fakes.postgres_pair import PostgresPair, postgres_pair

LOOPBACK = "127.0.0.1"
SOON = 5.0  # seconds after a standby has taken over; each pool looks every two


@pytest.fixture
def pair() -> Iterator[PostgresPair]:
    with postgres_pair() as made:
        made.primary.rows("create table kept (n int primary key)")
        made.primary.rows("grant select, insert on kept to aos_app")
        made.follow()
        yield made


@pytest.fixture
def configured(pair: PostgresPair, tmp_path: Path) -> Settings:
    return load_settings(
        {
            "AOS_STATE_DIR": str(tmp_path),
            "DATABASE_URL": pair.url("aos_app"),
            "DATABASE_ADMIN_URL": pair.url("postgres", attributes="?target_session_attrs=read-write"),
        }
    )


@asynccontextmanager
async def opened(settings: Settings, timeout: float = 20) -> AsyncIterator[Database]:
    """A pool as a process of ours makes it."""
    conninfo = postgres_endpoints(settings)[0]
    database = Database(conninfo, size=4, timeout=timeout, fence=timeline_fence(settings))
    await database.open()
    try:
        yield database
    finally:
        await database.close()


async def write(database: Database, n: int) -> None:
    async with database.transaction() as tx:
        await tx.run("insert into kept values (%(n)s) on conflict do nothing", n=n)


def doctors_word(settings: Settings) -> tuple[StatusColour, str]:
    (found,) = probe_replication(settings)
    return found.colour, found.detail


async def test_a_standby_that_is_promoted_has_all_that_was_answered(pair: PostgresPair, configured: Settings) -> None:
    answered: list[int] = []
    over, goes_on = asyncio.Event(), asyncio.Event()
    enough = 1_000_000
    async with opened(configured) as database:

        async def go_on() -> None:
            n = 0
            while not over.is_set():
                try:
                    await write(database, n)
                except (Unavailable, Overloaded):  # and again: the same row
                    await asyncio.sleep(0.05)
                    continue
                answered.append(n)
                n += 1
                if n == enough:
                    goes_on.set()

        writers = asyncio.create_task(go_on())
        await asyncio.sleep(0.5)
        assert doctors_word(configured)[0] is GREEN
        owner_of_one = load_settings(
            {
                "AOS_STATE_DIR": str(configured.state_dir),
                "DATABASE_URL": pair.url("aos_app"),
                "DATABASE_ADMIN_URL": pair.primary.dsn,
            }
        )
        assert f":{pair.standby.port} is a standby" in doctors_word(owner_of_one)[1]
        assert await asyncio.to_thread(pair.primary.kill) > 3
        before = len(answered)
        enough = before + 10
        await asyncio.sleep(8)  # psycopg_pool itself would look after 7 s, and then not before 15
        await asyncio.to_thread(pair.standby.promote)
        began = time.monotonic()
        await asyncio.wait_for(goes_on.wait(), 60)
        took = time.monotonic() - began
        over.set()
        await writers
    assert took <= SOON and before > 5
    assert [row[0] for row in pair.standby.rows("select n from kept order by n")] == answered
    colour, told = doctors_word(configured)
    assert colour is YELLOW and "no standby follows" in told


async def test_a_former_primary_that_comes_back_is_not_written_to(pair: PostgresPair, configured: Settings) -> None:
    """Not even by a process that is begun then, and while the one that took over is away."""
    async with opened(configured) as database:
        await write(database, 1)
        pair.primary.kill()
        pair.standby.promote()
        await write(database, 2)
    with (pair.primary.folder / "postgresql.auto.conf").open("a") as conf:
        conf.write("synchronous_standby_names = ''\n")  # it would take writes, and answer them
    pair.primary.start()
    colour, told = doctors_word(configured)
    assert colour is RED and "2 servers take writes" in told
    application, owner = postgres_endpoints(configured)
    assert ask_postgres(application, 4).reply is LivenessState.ANSWERED
    async with opened(configured) as database:  # the former one is the first of the URL
        await write(database, 3)
    fence = timeline_fence(configured)
    assert owner is not None and fence is not None
    assert server_name(await current_server(owner, fence)).endswith(f":{pair.standby.port}")  # there it migrates
    with connect_primary_blocking(application, fence) as connection:
        assert connection.execute("select count(*) from kept").fetchone() == (3,)
    async with await connect_primary(application, fence) as reader:
        assert await (await reader.execute("select count(*) from kept")).fetchone() == (3,)
    assert (await read_schema(owner, fence)).server > 0  # read-only, and yet of the one that takes writes
    pair.standby.kill()
    with pytest.raises(StaleServer):
        connect_primary_blocking(application, fence)
    with pytest.raises(StaleServer):
        await connect_primary(application, fence)
    with pytest.raises(Unavailable, match="timeline 1"):
        await read_schema(owner, fence)
    with pytest.raises(Conflict, match="timeline 1, and 2 was written to since"):
        await current_server(owner, fence)
    pool = Database(application, size=1, timeout=2, fence=fence)
    opening = asyncio.create_task(pool.open())
    await asyncio.sleep(3)
    assert not opening.done() and "of timeline 1" in (fence.refusal or "")
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    await pool.close()
    with pytest.raises(StaleServer, match="remove"):
        list(probe_postgres(configured))
    assert pair.primary.rows("select n from kept") == [(1,)]
    pair.standby.start()
    assert pair.standby.rows("select n from kept order by n") == [(1,), (2,), (3,)]


async def test_a_server_that_takes_no_writes_any_more_is_left_by_name(app_dsn: str) -> None:
    database = Database(app_dsn, size=1)
    await database.open()
    try:
        with pytest.raises(Unavailable, match="takes no writes"):
            async with database.transaction() as tx:
                former = await tx.only("select pg_backend_pid() as pid")
                await tx.run("set transaction read only")
                await tx.run("insert into schema_migrations (name, hash) values ('x', 'x')")
        async with database.transaction() as tx:
            assert await tx.only("select pg_backend_pid() as pid") != former
    finally:
        await database.close()


@pytest.mark.parametrize("says", ["42501", "XX000", "0A000", "P0001"])
async def test_a_server_that_does_not_tell_its_timeline_is_used_all_the_same(
    admin_dsn: str, says: str, tmp_path: Path
) -> None:
    """Each who runs Postgres for others has words of their own for it."""
    async with await psycopg.AsyncConnection.connect(admin_dsn, autocommit=True) as owner:
        await owner.execute("create schema managed")
        await owner.execute(
            "create function managed.pg_control_system() returns table (system_identifier bigint) language plpgsql as"
            f" $$ begin raise 'not here' using errcode = '{says}'; end $$"
        )
    database = Database(
        make_conninfo(admin_dsn, options="-c search_path=managed,pg_catalog,public"), fence=TimelineFence(tmp_path)
    )
    await database.open()
    try:
        async with database.transaction() as tx:
            assert await tx.only("select 1 as one") is not None
    finally:
        await database.close()
    assert not (tmp_path / "postgres-timelines").exists()


def test_a_machine_that_is_silent_does_not_make_the_other_one_look_silent(app_dsn: str) -> None:
    said = conninfo_to_dict(app_dsn)
    with socket.create_server((LOOPBACK, 0)) as silent:  # nobody accepts, or says a word
        port = silent.getsockname()[1]
        several = make_conninfo(app_dsn, host=f"{LOOPBACK},{said['host']}", port=f"{port},{said.get('port', 5432)}")
        asked = ask_postgres(several, 2)
    assert asked.reply is LivenessState.ANSWERED, asked.why
