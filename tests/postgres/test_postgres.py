"""The transaction helper: scope set and gone with it, rolled back on any error, quoting that holds."""

import asyncio
from collections.abc import Coroutine

import anyio
import numpy as np
import psycopg
import pytest
from psycopg.types.json import Jsonb

from cluster.basics.errors import Overloaded
from cluster.basics.scope import Scope, TenantId, WorkspaceId
from cluster.state.db.postgres import Database, Transaction
from configs.settings import load_settings

SCOPE = Scope(
    TenantId("00000000-0000-0000-0000-000000000001"),
    WorkspaceId("00000000-0000-0000-0000-000000000002"),
    ("user:o'brien\"\\@x", "role:viewer"),
)


async def test_the_scope_ends_with_its_transaction_and_an_error_rolls_back(app_dsn: str) -> None:
    database = Database(app_dsn, size=1)
    await database.open()
    try:
        async with database.transaction(SCOPE) as tx:
            row = await tx.one("select aos_tenant()::text as tenant, aos_principals() as principals")
            assert row == {"tenant": SCOPE.tenant, "principals": list(SCOPE.principals)}
            await tx.run("create temporary table kept (n int)")
        with pytest.raises(ZeroDivisionError):
            async with database.transaction() as tx:
                assert await tx.one("select aos_tenant() as tenant") == {"tenant": None}
                await tx.run("insert into kept values (1)")
                raise ZeroDivisionError
        async with database.transaction() as tx:
            assert await tx.one("select count(*) as n from kept") == {"n": 0}
    finally:
        await database.close()


async def test_a_connection_that_the_server_closed_is_not_lent(app_dsn: str, admin_dsn: str) -> None:
    """Also the second way in, one journey for scope and query, has its scope for itself alone."""
    database = Database(app_dsn, size=1)
    await database.open()
    try:
        async with database.transaction(SCOPE) as tx:
            pid = await tx.one("select pg_backend_pid() as pid")
        with psycopg.connect(admin_dsn, autocommit=True) as owner:
            owner.execute("select pg_terminate_backend(%(pid)s, 5000)", pid)
        found = await database.read(SCOPE, "select aos_tenant()::text as tenant, %(n)s + 1 as n", n=1)
        assert found == [{"tenant": SCOPE.tenant, "n": 2}]
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            await database.read(SCOPE, "delete from jobs")
        async with database.transaction() as tx:
            assert await tx.one("select aos_tenant() as tenant") == {"tenant": None}
    finally:
        await database.close()


async def test_what_travels_in_binary_arrives_as_it_was(app_dsn: str) -> None:
    """Vectors to the last bit, texts and JSON with whatever an array of texts would escape."""
    database = Database(app_dsn, size=1)
    await database.open()
    vectors = np.array([[0.1, -2.5e-38, 3.4e38], [1 / 3, 0.0, -1.0]], np.float32)
    texts = ['say "a\\b", {c}', "", "NULL", "Größe 你好\n"]
    query = "select %(reals)b::real[] as reals, %(texts)b::text[] as texts, %(values)b::jsonb[] as told"
    try:
        async with database.transaction() as tx:
            row = await tx.only(query, reals=vectors, texts=texts, values=[Jsonb(texts), None, Jsonb({"a": texts})])
            none = await tx.only(query, reals=np.empty((0, 0), np.float32), texts=[], values=[None])
    finally:
        await database.close()
    np.testing.assert_array_equal(np.array(row["reals"], np.float32), vectors.ravel())
    assert (row["texts"], row["told"]) == (texts, [texts, None, {"a": texts}])
    assert none == {"reals": [], "texts": [], "told": [None]}


async def test_the_connection_that_came_back_last_is_lent_first(app_dsn: str) -> None:
    """Its server process is the one whose caches are warm; psycopg_pool by itself takes turns."""
    database = Database(app_dsn, size=2)
    await database.open()

    async def lent(tx: Transaction) -> int:
        row = await tx.one("select pg_backend_pid() as pid")
        assert row is not None
        return int(row["pid"])

    try:
        async with database.transaction() as outer:
            async with database.transaction() as inner:
                assert await lent(inner) != await lent(outer)
            last = await lent(outer)
        for _ in range(3):
            async with database.transaction() as tx:
                assert await lent(tx) == last
    finally:
        await database.close()


async def test_vs_06_the_pool_is_bounded_and_a_caller_waits_only_so_long(app_dsn: str) -> None:
    """VS-06: `DB_POOL_SIZE` and `DB_POOL_TIMEOUT`; who gets no connection in time is told to come again."""
    settings = load_settings({"DB_POOL_SIZE": "1", "DB_POOL_TIMEOUT": "0.2"}).postgres
    database = Database(app_dsn, size=settings.pool_size, timeout=settings.pool_timeout)
    await database.open()
    try:
        async with database.transaction():
            with pytest.raises(Overloaded):
                async with database.transaction():
                    raise AssertionError("a second connection was handed out")
    finally:
        await database.close()


async def handed_over(database: Database, work: Coroutine[None, None, None], turns: int) -> "asyncio.Task[None]":
    """Work that waits for the only connection, so many turns of the event loop after that one came back."""
    async with database.transaction():
        waiting = asyncio.create_task(work)
        await asyncio.sleep(0.05)
    for _ in range(turns):
        await asyncio.sleep(0)
    return waiting


@pytest.mark.parametrize("turns", range(6))
async def test_who_is_cancelled_while_a_connection_is_handed_over_ends(app_dsn: str, turns: int) -> None:
    """Of the event loop's `turns` between the two, the first three lost it: a service then waited for ever to close."""
    database, entered = Database(app_dsn, size=1), False
    await database.open()

    async def work() -> None:
        nonlocal entered
        async with database.transaction():
            entered = True

    try:
        waiting = await handed_over(database, work(), turns)
        assert waiting.cancel(), "it ended before it was cancelled"
        await asyncio.wait([waiting])
        assert waiting.cancelled() and not entered
        async with database.transaction() as tx:
            assert await tx.one("select 1 as n") == {"n": 1}, "the connection came back"
    finally:
        await database.close()


@pytest.mark.parametrize("turns", range(6))
async def test_a_scope_of_anyio_that_is_cancelled_then_knows_it_for_its_own(app_dsn: str, turns: int) -> None:
    """As in tool calls over MCP: an error that it did not know would end the task around it."""
    database, ended = Database(app_dsn, size=1), False
    await database.open()

    async def work(scope: anyio.CancelScope) -> None:
        nonlocal ended
        with scope:
            async with database.transaction():
                pass
        ended = scope.cancelled_caught

    try:
        scope = anyio.CancelScope()
        waiting = await handed_over(database, work(scope), turns)
        scope.cancel()
        await asyncio.wait([waiting])
        assert ended and not waiting.cancelled()
    finally:
        await database.close()
