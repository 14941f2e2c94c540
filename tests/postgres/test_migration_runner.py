"""The migration runner on a real database: what it locks, how it waits, and what it refuses to touch."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from cluster.basics.errors import Conflict, InvalidSettings, Unavailable
from cluster.state.db.ddl_locks import LockMode
from cluster.state.db.migrate import LockPatience, NewerState, apply_migrations
from cluster.state.db.migration_files import FOLDER, read_migrations
from tests.fakes.older_state import empty_database, until

SHORT = LockPatience(wait_seconds=0.3, pause_seconds=0.1, give_up_seconds=30)
TABLES = "select relname::text from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')"
HELD = (
    "select c.relname::text, l.mode from pg_locks l join pg_class c on c.oid = l.relation"
    " where l.pid = pg_backend_pid() and c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')"
)
OVERSTATED = {  # where a statement behind an `if` did not run on an empty table, or a function that made it is gone
    "0028_unspaced_words.sql": {"document_chunks"},
    "0038_languages.sql": {"document_chunks"},
}


@pytest.fixture
def empty(endpoints: Any) -> Iterator[tuple[str, str]]:
    with empty_database(endpoints) as made:
        yield made


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A schema of two tables, with the application's role let in."""
    folder = tmp_path / "small"
    folder.mkdir()
    (folder / "0001_ground.sql").write_text(
        "create table kept (n int); insert into kept select generate_series(1, 1000);"
        " create table other (n int); grant select, insert on kept to aos_app;"
    )
    return folder


def rows(conninfo: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(conninfo, autocommit=True) as connection:
        return connection.execute(query.encode()).fetchall()


def test_what_is_derived_of_each_migration_is_what_postgres_locks(empty: tuple[str, str]) -> None:
    """Each on the schema before it: no table is locked harder than said, and what is said is locked."""
    too_weak, too_strong = {}, {}
    with psycopg.connect(empty[0]) as connection:
        for one in read_migrations():
            there = {name for (name,) in connection.execute(TABLES)}
            connection.commit()
            connection.execute(one.text.encode())
            held: dict[str, LockMode] = {}
            for table, mode in connection.execute(HELD):
                name = "_".join(part.upper() for part in split_mode(mode))
                if name in LockMode.__members__ and table in there:
                    held[table] = max(LockMode[name], held.get(table, LockMode.ROW_EXCLUSIVE))
            connection.commit()
            said = {lock.table: lock.mode for lock in one.held_locks(dict.fromkeys(there, 0))}
            weak = {table: mode.title for table, mode in held.items() if said.get(table, 0) < mode}
            strong = {table for table, mode in said.items() if held.get(table, 0) < mode}
            if weak:
                too_weak[one.name] = weak
            if strong:
                too_strong[one.name] = strong
    assert too_weak == {}
    assert too_strong == OVERSTATED


def split_mode(mode: str) -> list[str]:
    """`AccessExclusiveLock` of pg_locks as words."""
    words = "".join(f" {letter}" if letter.isupper() else letter for letter in mode.removesuffix("Lock"))
    return words.split()


async def test_a_migration_that_waits_for_a_lock_lets_others_pass(empty: tuple[str, str], small: Path) -> None:
    """An ALTER that waits would hold up each statement behind it for as long as somebody reads."""
    await apply_migrations(empty[0], small)
    (small / "0002_more.sql").write_text("alter table kept add column m int;")
    told: list[str] = []
    with psycopg.connect(empty[0]) as reader:
        reader.execute("select count(*) from kept")  # and the transaction stays open
        task = asyncio.create_task(apply_migrations(empty[0], small, told.append, SHORT))
        waits = []
        async with await psycopg.AsyncConnection.connect(empty[0], autocommit=True) as writer:
            until_then = time.monotonic() + 3
            while time.monotonic() < until_then:
                began = time.monotonic()
                await writer.execute("insert into kept values (0)")
                waits.append(time.monotonic() - began)
                await asyncio.sleep(0.02)
        assert not task.done()
        reader.rollback()
        assert await task == ["0002_more.sql"]
    assert max(waits) < 2.5 and max(waits) > 0.1, "it did wait in the queue, for a moment"
    assert any("waits for a lock" in line and "idle in transaction" in line for line in told)
    assert told[-1].startswith("schema: 0002_more.sql applied in ")


async def test_a_lock_that_nobody_gives_back_ends_the_upgrade_whole(empty: tuple[str, str], small: Path) -> None:
    await apply_migrations(empty[0], small)
    (small / "0002_first.sql").write_text("alter table other add column m int;")
    (small / "0003_more.sql").write_text("update kept set n = 1; alter table kept add column m int;")
    with psycopg.connect(empty[0]) as reader:
        reader.execute("select count(*) from kept")
        with pytest.raises(Unavailable, match=r"0003_more.sql could not lock .*idle in transaction") as late:
            await apply_migrations(empty[0], small, patience=LockPatience(0.1, 0.05, 0.5))
        assert "goes on from here" in late.value.hint
    assert rows(empty[0], "select count(*) from kept where n = 1") == [(1,)], "half a migration is none"
    assert rows(empty[0], "select count(m) from other") == [(0,)]
    assert await apply_migrations(empty[0], small) == ["0003_more.sql"]


async def test_a_state_of_newer_code_is_refused_and_left_alone(empty: tuple[str, str], tmp_path: Path) -> None:
    await apply_migrations(empty[0])
    before = rows(empty[0], "select name, hash, at from schema_migrations order by name")
    last = max(path.name for path in FOLDER.glob("[0-9]*.sql"))
    with pytest.raises(NewerState) as refused:
        await apply_migrations(empty[0], until("0100", tmp_path / "older"))
    assert str(refused.value).startswith("the state was written by newer code: ") and last in str(refused.value)
    assert "Start the newer version again" in refused.value.hint
    assert rows(empty[0], "select name, hash, at from schema_migrations order by name") == before


async def test_an_edited_migration_is_refused(empty: tuple[str, str], small: Path) -> None:
    await apply_migrations(empty[0], small)
    (small / "0001_ground.sql").write_text("create table kept (n bigint);")
    with pytest.raises(InvalidSettings, match=r"0001_ground\.sql was edited"):
        await apply_migrations(empty[0], small)


async def test_what_needs_a_stop_waits_until_the_application_is_gone(empty: tuple[str, str], small: Path) -> None:
    owner, application = empty
    await apply_migrations(owner, small)
    (small / "0002_gone.sql").write_text(
        "-- Held locks: none.\n-- Old code: needs a stop: it reads other.\ndrop table other;"
    )
    with psycopg.connect(application) as worker:
        worker.execute("select count(*) from kept")
        with pytest.raises(Conflict, match=r"0002_gone\.sql needs .* stopped \(it reads other\)") as told:
            await apply_migrations(owner, small, patience=LockPatience(leave_seconds=0.2))
        assert "aos down" in told.value.hint
        assert rows(owner, "select to_regclass('other') is not null") == [(True,)]
    (small / "0003_beside.sql").write_text("-- Old code: runs beside it.\nalter table kept add column m int;")
    assert await apply_migrations(owner, small) == ["0002_gone.sql", "0003_beside.sql"]


async def test_a_session_that_is_ending_is_no_old_code(empty: tuple[str, str], small: Path) -> None:
    """Right after `aos down` Postgres still lists who was stopped."""
    owner, application = empty
    await apply_migrations(owner, small)
    (small / "0002_gone.sql").write_text("-- Old code: needs a stop: it reads other.\ndrop table other;")
    worker = await psycopg.AsyncConnection.connect(application, autocommit=True)
    starting = asyncio.create_task(apply_migrations(owner, small))
    await asyncio.sleep(1)
    assert not starting.done()
    await worker.close()
    assert await starting == ["0002_gone.sql"]
