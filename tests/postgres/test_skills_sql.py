"""SQL skills against a real Postgres and real files of SQLite: what they give, and everything they refuse to do."""

import asyncio
import json
import logging
import sqlite3
import tracemalloc
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from cluster.basics.addresses import resolve_host
from cluster.basics.errors import AosError, Invalid
from cluster.basics.scope import Role, Scope, TenantId, WorkspaceId
from configs.sections_skills import SkillSettings
from skills.framework import builtin
from skills.framework.contract import ToolInvocation
from skills.framework.dependencies import SkillDependencies
from skills.framework.manifest import BadManifest, CredentialType, Kind, Manifest, Risk
from skills.framework.skill_guard import CallRecord, SkillGuard
from skills.http_client.guard import AddressNotAllowed
from skills.sql import postgres, sqlite
from skills.sql.database_errors import (
    DatabaseDenied,
    DatabaseUnknown,
    DatabaseUnreachable,
    ExtensionMissing,
    FileNotAllowed,
    QueryTimeout,
    QueryWrong,
    WritesRefused,
)
from skills.sql.login import DatabaseReach, checked_dsn
from skills.sql.reading import SqlStatement, check_reading
from tests.fakes.ground import KeptSecrets, ground
from tests.fakes.tcp import in_front_of

pytestmark = pytest.mark.postgres

SKILLS = {one.name: one for one in builtin.shipped_skills() if one.kind is Kind.SQL}
LIMITS = postgres.QueryLimits(10, 500, 100_000, True)
CANARY = "canary-Pa55word-77c1"
FREE = SKILLS["sql_query"]

# (what it would do, on Postgres). `t` is a table, `s` a sequence, `shout` a function that somebody defined.
WRITES = (
    "insert into t values (9)",
    "INSERT INTO t VALUES (9) RETURNING a",
    "update t set a = 1",
    "delete from t",
    "truncate t",
    "drop table t",
    "create table u (a int)",
    "create table u as select 1 as a",
    "select 1 as a into u",
    "select * into temp u from t",
    "create view v as select 1",
    "create function f() returns int language sql as 'select 1'",
    "alter table t add column b int",
    "comment on table t is 'x'",
    "grant select on t to public",
    "create role r",
    "merge into t using (values (1)) as v (a) on t.a = v.a when matched then delete",
    "with gone as (delete from t returning a) select * from gone",
    "with more as (insert into t values (9) returning a) select * from more",
    "with a as (select 1), b as (update t set a = 2 returning a) select * from a, b",
    "with recursive r as (select 1), x as (delete from t returning 1) table x",
    "select * from t for update",
    "select * from t for no key update skip locked",
    "select * from t for share",
    "select nextval('s')",
    "select setval('s', 100)",
    "select \"nextval\"('s')",
    "select pg_catalog.nextval('s')",
    "select nextval /* x */ ('s')",
    "select NEXTVAL('s')",
    "do $$ begin delete from t; end $$",
    "do 'begin delete from t; end'",
    "call p()",
    "select shout()",
    "select public.shout()",
    'select "shout"()',
    "select t.shouted from t",
    "select a, (select shout()) from t where exists (select shout())",
    "explain analyze insert into t values (9)",
    "explain (analyze, format json) delete from t",
    "explain (analyze) with g as (delete from t returning 1) select * from g",
    "explain analyze select nextval('s')",
    "explain analyze create table u as select 1",
    "prepare w as delete from t",
    "execute w",
    "declare c cursor with hold for select shout()",
    "refresh materialized view m",
    "reindex table t",
    "lock table t in access exclusive mode",
    "select lo_create(0)",
    "select lo_import('/etc/passwd')",
    "select lo_from_bytea(0, 'x')",
    "copy t from '/etc/passwd'",
    "copy t from program 'true'",
    "select query_to_xml('delete from t', true, false, '')",
    "/* select 1 */ delete from t",
    "-- select 1\ndelete from t",
    "select 1; delete from t",
    "select 1; -- x\n delete from t;",
    "select 1 /* ; */; delete from t",
    "select ''';'; delete from t --'",
    "(delete from t)",
    "values (1); delete from t",
    "table t; delete from t",
    "select E'\\''; delete from t --'",
    "select $a$ $b$ $a$; delete from t --$b$",
    "begin; delete from t; commit",
    "commit; delete from t",
    "set transaction read write; delete from t",
    "\ufeffdelete from t",
    "import foreign schema x from server y into z",
    "security label on table t is 'x'",
    "create extension dblink",
    "notify x, 'y'",
)
# What a read-only transaction would let through, or what is not a matter of writing: the parser alone holds it.
EFFECTS = (
    "copy t to '/tmp/x'",
    "copy t to program 'cat'",
    "copy (select 1) to stdout",
    "select pg_sleep(1)",
    "select pg_sleep_for('1 s')",
    "select pg_read_file('/etc/passwd')",
    "select pg_read_binary_file('/etc/passwd')",
    "select pg_ls_dir('/')",
    "select pg_stat_file('/etc/passwd')",
    "select set_config('transaction_read_only', 'off', false)",
    "select pg_terminate_backend(1)",
    "select pg_cancel_backend(1)",
    "select pg_reload_conf()",
    "select pg_notify('x', 'y')",
    "select pg_advisory_lock(1)",
    "select pg_try_advisory_xact_lock(1)",
    "select pg_logical_emit_message(false, 'a', 'b')",
    "select pg_create_physical_replication_slot('x')",
    "select pg_stat_reset()",
    "select dblink('host=x', 'delete from t')",
    "select dblink_exec('delete from t')",
    "select ts_stat('select shout()')",
    "select cursor_to_xml('c', 1, false, false, '')",
    'select U&"\\0070g_sleep"(1)',
    "select pg_sleep\u00a0(1)",
    "select pg_\u200bsleep(1)",
    "select 1\x00",
    "set role postgres",
    "set session authorization postgres",
    "set statement_timeout = 0",
    "set transaction read write",
    "reset all",
    "begin",
    "rollback",
    "listen x",
    "unlisten *",
    "discard all",
    "deallocate all",
    "load 'x'",
    "checkpoint",
    "vacuum t",
    "show all; select 1",
    "show",
    "explain",
    "",
    ";",
    "-- nothing",
)
LET_THROUGH = {
    "explain analyze create table u as select 1",
    "reindex table t",
    "lock table t in access exclusive mode",
    "prepare w as delete from t",
    "declare c cursor with hold for select shout()",
    "notify x, 'y'",
}
READS = (
    "select a from t",
    "SELECT a FROM t;",
    "select a from t -- and no more",
    "/* first */ select 1",
    "with x as (select a from t) select * from x union all select 2",
    "values (1), (2)",
    "table t",
    "(select 1) union (select 2)",
    "show server_version",
    "show transaction isolation level",
    "explain select a from t",
    "explain (analyze, verbose) select a from t",
    "explain analyze select count(*) from t",
    "select count(*), max(a), now(), current_user, random() >= 0, clock_timestamp() > now() from t",
    "select 'delete from t; drop table t' as text",
    "select 'it''s -- not a comment', '/*', 'nextval(1)'",
    'select "a" as "drop table" from public.t',
    "select pg_size_pretty(pg_total_relation_size('t'))",
    "select a::text || 'x', '{\"k\": 1}'::jsonb ->> 'k', array[1, 2] @> array[1] from t",
    "select a, row_number() over (partition by a order by a) from t cross join lateral (select 1) as l(b)",
    "select quiet(a) from t",
    "select extract(year from date '2026-01-02'), interval '1 day', 5 % 2",
    "select 1 where 'a' like '%'",
)


@pytest.fixture
def dsn(endpoints: Any, database: str) -> Iterator[str]:
    """The database with something to lose, as superuser: what is refused is refused by us."""
    owner = make_conninfo(endpoints.postgres_admin or "", dbname=database)
    with psycopg.connect(owner, autocommit=True) as connection:
        for statement in (
            "create table t (a int)",
            "insert into t values (1), (2)",
            "create sequence s",
            "create materialized view m as select 1 as a",
            "create function shout() returns int language sql volatile as 'insert into t values (7) returning a'",
            "create function shouted(t) returns int language sql volatile as 'insert into t values (7) returning a'",
            "create function quiet(int) returns int language sql stable as 'select $1'",
            "create procedure p() language sql as 'delete from t'",
        ):
            connection.execute(statement)
    yield owner
    with psycopg.connect(owner) as connection:
        assert connection.execute("select a from t order by a").fetchall() == [(1,), (2,)]
        assert connection.execute("select is_called from s").fetchone() == (False,)
        there = "select count(*) from pg_class where relname in ('u', 'v')"
        assert connection.execute(there).fetchone() == (0,)
        assert connection.execute("select count(*) from pg_largeobject_metadata").fetchone() == (0,)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "some file.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            "create table t (a integer primary key, b text not null default 'x' unique);"
            "create table c (t integer references t (a) on delete cascade);"
            "insert into t values (1, 'one'), (2, 'two'); create view v as select a from t;"
        )
    before = path.read_bytes()
    yield path
    assert path.read_bytes() == before
    assert sorted(one.name for one in tmp_path.iterdir()) == [path.name]


def call(role: Role = Role.ADMIN, **arguments: Any) -> ToolInvocation:
    return ToolInvocation(Scope(TenantId("t"), WorkspaceId("w"), role=role), None, "k", arguments)


_PORTS: dict[str, int] = {}  # in front of the sockets of the tests' own servers


@pytest.fixture(scope="module", autouse=True)
def doors(endpoints: Any) -> Iterator[None]:
    """Skills reach no sockets: a server that listens on one is given a port."""
    words = conninfo_to_dict(endpoints.postgres_admin or "")
    folder = str(words["host"])
    if not folder.startswith("/"):
        yield
        return
    with in_front_of(f"{folder}/.s.PGSQL.{words.get('port') or 5432}") as port:
        _PORTS[folder] = port
        yield
    _PORTS.clear()


def reached(dsn: str) -> tuple[str, tuple[str, ...]]:
    """The address as a credential has it, and the list of hosts that opens it."""
    try:
        words = conninfo_to_dict(dsn)
    except psycopg.Error:
        return dsn, ()
    if words.get("host") in _PORTS:
        words |= {"host": "127.0.0.1", "port": _PORTS[str(words["host"])]}
        dsn = make_conninfo(**words)
    return dsn, (f"{words.get('host')}:{words.get('port') or 5432}",)


def standing(dsn: str, **other: Any) -> SkillDependencies:
    dsn, hosts = reached(dsn)
    kept = KeptSecrets({CredentialType.DB_DSN: {"dsn": dsn, **other}})
    settings = SkillSettings(off=(), sqlite_dirs=(Path("/"),))
    return ground(credentials=kept, hosts=hosts, settings=settings, resolve=resolve_host)


def tool(manifest: Manifest, dsn: str, **other: Any) -> Any:
    return builtin.build_tool(manifest, standing(dsn, **other))


async def asked_of(dsn: str, statement: SqlStatement) -> Any:
    dsn, hosts = reached(dsn)
    return await postgres.ask_postgres(dsn, statement, {}, LIMITS, DatabaseReach(hosts, resolve_host))


def skill(
    query: str, dialect: str = "postgres", risk: Risk = Risk.READ, seconds: float = 10, **options: Any
) -> Manifest:
    properties = {name: {} for name in options.pop("binds", ())}
    return Manifest(
        "probe",
        "For tests.",
        Kind.SQL,
        {"type": "object", "properties": properties},
        risk=risk,
        seconds=seconds,
        credential=CredentialType.DB_DSN,
        options={"query": query, "dialect": dialect, **options},
    )


@pytest.mark.parametrize("text", [*WRITES, *EFFECTS])
def test_sk_16_the_parser_refuses_whatever_could_change_something(text: str) -> None:
    """SK-16: the first wall, without a database; functions that somebody defined are the database's to tell."""
    if "shout" in text and text in WRITES and not text.startswith(("declare", "explain")):
        assert any(name.startswith("shout") for name in check_reading(text, "postgres").names)
        return
    with pytest.raises((WritesRefused, QueryWrong)):
        check_reading(text, "postgres")


def test_sk_16_the_table_of_attempts_is_long_enough() -> None:
    """SK-16: at least forty."""
    assert len(set(WRITES)) >= 40
    assert len(set(EFFECTS)) >= 40


async def test_sk_16_every_attempt_is_refused_as_a_call(dsn: str) -> None:
    """SK-16: through the tool, as superuser, against a database that has all these objects."""
    asked = tool(FREE, dsn)
    for text in (*WRITES, *EFFECTS):
        with pytest.raises((WritesRefused, QueryWrong, Invalid)):
            print(text, await asked.run(call(query=text)))


@pytest.mark.parametrize("rows", [True, False])
async def test_sk_16_without_the_parser_the_transaction_refuses(dsn: str, rows: bool) -> None:
    """SK-16: the second wall alone, with a cursor and without one; what was written the fixture would find."""
    through = set()
    for text in WRITES:
        try:
            await asked_of(dsn, SqlStatement(text, rows))
            through.add(text)
        except (WritesRefused, QueryWrong, DatabaseDenied):
            continue
    # Postgres finds nothing in these yet; that they are rolled back is why nothing stays of them.
    assert through == (set() if rows else LET_THROUGH)
    if not rows:
        for text in ("insert into t values (9)", "select nextval('s')", "select shout()", "select 1 as a into u"):
            with pytest.raises(WritesRefused, match="read-only transaction"):
                await asked_of(dsn, SqlStatement(text, False))
        with pytest.raises(QueryWrong, match="before any query"):
            await asked_of(dsn, SqlStatement("set transaction read write", False))


@pytest.mark.parametrize("text", READS)
def test_what_reads_is_let_through(text: str) -> None:
    assert check_reading(text, "postgres").text == text


async def test_what_reads_is_answered(dsn: str) -> None:
    asked = tool(FREE, dsn)
    for text in READS:
        assert (await asked.run(call(query=text)))["rows"], text


ARGUMENTS: Mapping[str, Mapping[str, Any]] = {
    "postgres_describe_table": {"table": "child"},
    "postgres_table_indexes": {"table": "child"},
    "postgres_long_queries": {"seconds": 0},
    "postgres_settings": {"pattern": "max_conn%"},
    "postgres_sequential_scans": {"rows": 0},
    "postgres_vacuum_status": {"count": 500},
    "postgres_unused_indexes": {"count": 500},
    "postgres_index_usage": {"count": 500},
    "postgres_largest_tables": {"count": 500},
}
# A column and a value that have to be among the rows; None where a quiet server has none to give.
FOUND: Mapping[str, tuple[str, Any] | None] = {
    "postgres_tables": ("name", "child"),
    "postgres_describe_table": ("column", "parent"),
    "postgres_table_indexes": ("index", "child_a"),
    "postgres_database_sizes": ("database", "postgres"),
    "postgres_largest_tables": ("table", "child"),
    "postgres_extensions": ("extension", "plpgsql"),
    "postgres_settings": ("name", "max_connections"),
    "postgres_changed_settings": ("name", "fsync"),
    "postgres_connections": ("state", "active"),
    "postgres_long_queries": ("query", "select pg_sleep(30)"),
    "postgres_blocking_locks": ("blocking_state", "idle in transaction"),
    "postgres_replication_lag": None,
    "postgres_replication_slots": None,
    "postgres_dead_tuples": ("table", "child"),
    "postgres_vacuum_status": ("table", "child"),
    "postgres_cache_hit_ratio": ("database", "postgres"),
    "postgres_sequential_scans": ("table", "child"),
    "postgres_sequences": ("sequence", "used"),
    "postgres_unused_indexes": ("index", "idle"),
    "postgres_index_usage": ("table", "child"),
    "postgres_duplicate_indexes": ("indexes", ["child_a", "child_b"]),
    "postgres_unindexed_foreign_keys": ("table", "child"),
    "postgres_missing_primary_keys": ("table", "child"),
    "postgres_roles": ("role", "aos_app"),
    "postgres_grants": ("grantee", "public"),
    "postgres_row_security": ("policy", "mine"),
}
APART = {"sql_query", "postgres_slow_statements", "postgres_cancel_query", "postgres_terminate_connection"}


def test_every_shipped_skill_is_run_here() -> None:
    assert set(FOUND) | APART == {name for name in SKILLS if not name.startswith("sqlite_")}


@pytest.fixture
def busy(admin_dsn: str) -> Iterator[str]:
    """A database where each question has an answer: somebody sleeps, somebody waits, something is missing."""
    with psycopg.connect(admin_dsn, autocommit=True) as connection:
        for statement in (
            "create table parent (id int primary key)",
            "insert into parent values (1)",
            "create sequence used",
            "select nextval('used')",
            "create table child (a int not null default 5, parent int references parent)",
            "create index child_a on child (a)",
            "create index child_b on child (a)",
            "create index idle on child ((a + 1))",
            "insert into child select n from generate_series(1, 50) as n",
            "delete from child where a > 10",
            "grant select on child to public",
            "alter table child enable row level security",
            "create policy mine on child using (a = 5)",
            "select count(*) from child",
            "select pg_stat_force_next_flush()",
        ):
            connection.execute(statement)
    yield admin_dsn


async def until(question: Any) -> None:
    """Until it gives rows: another session has come as far."""
    for _ in range(200):
        if (await question.run(call(seconds=0)))["rows"]:
            return
        await asyncio.sleep(0.05)
    raise AssertionError("nobody came")


async def test_sk_02_every_shipped_question_is_answered(busy: str) -> None:
    """SK-02: each against the real server, with a row that has to be there."""
    holder = await psycopg.AsyncConnection.connect(busy)
    waiter = await psycopg.AsyncConnection.connect(busy)
    sleeper = await psycopg.AsyncConnection.connect(busy, autocommit=True)
    async with holder, waiter, sleeper:
        await holder.execute("update parent set id = 1")
        waits = asyncio.create_task(waiter.execute("update parent set id = 1"))
        sleeps = asyncio.create_task(sleeper.execute("select pg_sleep(30)"))
        try:
            await until(tool(SKILLS["postgres_blocking_locks"], busy))
            for name, wanted in FOUND.items():
                answer = await tool(SKILLS[name], busy).run(call(**ARGUMENTS.get(name, {})))
                json.dumps(answer, allow_nan=False)
                assert answer["columns"]
                if wanted is not None:
                    values = [row[answer["columns"].index(wanted[0])] for row in answer["rows"]]
                    assert wanted[1] in values, (name, answer)
            await _stopped(busy, sleeper.info.backend_pid, waiter.info.backend_pid, sleeps, waits)
        finally:
            for task in (waits, sleeps):
                task.cancel()
            await asyncio.gather(waits, sleeps, return_exceptions=True)


async def _stopped(dsn: str, sleeper: int, waiter: int, sleeps: Any, waits: Any) -> None:
    answer = await tool(SKILLS["postgres_cancel_query"], dsn).run(call(pid=sleeper))
    assert answer["rows"] == [[True]]
    with pytest.raises(psycopg.errors.QueryCanceled):
        await sleeps
    answer = await tool(SKILLS["postgres_terminate_connection"], dsn).run(call(pid=waiter))
    assert answer["rows"] == [[True]]
    with pytest.raises(psycopg.errors.AdminShutdown):
        await waits


async def test_an_extension_that_is_missing_is_named(busy: str) -> None:
    manifest = SKILLS["postgres_slow_statements"]
    with pytest.raises(ExtensionMissing, match="pg_stat_statements"):
        await tool(manifest, busy).run(call())
    with psycopg.connect(busy, autocommit=True) as connection:  # what the extension brings, by its documentation
        connection.execute(
            "create view pg_stat_statements as select 'select 1'::text as query, 3::bigint as calls, 4.5::float8 as"
            " total_exec_time, 1.5::float8 as mean_exec_time, 3::bigint as rows, 0::bigint as shared_blks_read"
        )
    open_manifest = replace(manifest, name="probe", options={**manifest.options, "needs": None})
    assert (await tool(open_manifest, busy).run(call()))["rows"] == [["select 1", 3, "4.5", "1.50", 3, 0]]


HOSTILE = ("x'; delete from t; --", "') or 1=1 --", "%s %(a)s %", "\\", "$1", ":b", "é", '"', "/* */", "a\nb")


@pytest.mark.parametrize("text", HOSTILE)
async def test_sk_02_values_are_bound(dsn: str, file: Path, text: str) -> None:
    """SK-02: whatever it holds, a value is a value."""
    for dialect, where, cast in (("postgres", dsn, "::text"), ("sqlite", f"sqlite:///{file}", "")):
        query = f"select :what{cast} as \"a:b\", ':no % $1 it''s' as t -- :neither %\n"
        answer = await tool(skill(query, dialect, binds=["what"]), where).run(call(what=text))
        assert answer == {"columns": ["a:b", "t"], "rows": [[text, ":no % $1 it's"]]}


async def test_values_are_json(dsn: str) -> None:
    query = """select 1::bigint, 9007199254740993::bigint, 1.10::numeric, 3::numeric, 'nan'::numeric, 'inf'::float8,
        date '2026-01-02', timestamptz '2026-01-02 03:04:05+00', interval '90 s', '\\x00ff'::bytea, true, null,
        '{"a": [1, 2.5]}'::jsonb, array[1, null], '10.0.0.0/8'::cidr, int4range(1, 3),
        '6f1e1c1e-0000-4000-8000-000000000001'::uuid, time '01:02'"""
    (row,) = (await tool(FREE, dsn).run(call(query=query)))["rows"]
    json.dumps(row, allow_nan=False)
    assert row[:6] == [1, "9007199254740993", "1.10", 3, "NaN", "inf"]
    assert row[6] == "2026-01-02"
    assert row[7].startswith("2026-01-02T")
    assert row[8:14] == [90.0, "\\x00ff", True, None, {"a": [1, 2.5]}, [1, None]]
    assert row[14:] == ["10.0.0.0/8", "[1, 3)", "6f1e1c1e-0000-4000-8000-000000000001", "01:02:00"]


async def test_rows_and_bytes_end(dsn: str, file: Path) -> None:
    many = "select n from generate_series(1, 10000000) as n"
    answer = await tool(FREE, dsn).run(call(query=many))
    assert (len(answer["rows"]), answer["cut"]) == (500, True)
    answer = await tool(FREE, dsn).run(call(query="select repeat('x', 100000) from generate_series(1, 9) as n"))
    assert answer["cut"] is True
    assert len(json.dumps(answer)) <= ground().settings.result_bytes
    endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select i from n"
    answer = await tool(FREE, f"sqlite:///{file}").run(call(query=endless))
    assert (len(answer["rows"]), answer["cut"]) == (500, True)


async def test_a_free_statement_keeps_so_many_rows_and_drops_the_rest(admin_dsn: str) -> None:
    """Regression: whatever a statement gave was read into memory at once. What it writes stays written."""
    free = replace(
        FREE,
        name="probe",
        risk=Risk.DESTRUCTIVE,
        permissions=(Role.ADMIN,),
        options={**FREE.options, "readonly": False},
    )
    asked = tool(free, admin_dsn)
    assert await asked.run(call(query="create table t (a int, b text)")) == {"affected": -1}
    many = "insert into t select n, repeat('x', 1000) from generate_series(1, 60000) as n returning b"
    tracemalloc.start()
    answer = await asked.run(call(query=many))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert answer["columns"] == ["b"] and answer["cut"] is True and most < 20_000_000
    assert (await asked.run(call(query="select count(*) from t")))["rows"] == [[60_000]]
    assert await asked.run(call(query="select a from t where a = 0")) == {"columns": ["a"], "rows": []}
    assert await asked.run(call(query="delete from t where a > 5")) == {"affected": 59_995}
    with pytest.raises(QueryWrong):
        await asked_of(admin_dsn, SqlStatement("select 1; select 2", rows=False))


async def test_a_query_that_takes_too_long_is_stopped(dsn: str, file: Path) -> None:
    slow = replace(FREE, seconds=1)
    long = "select count(*) from generate_series(1, 100000) as a, generate_series(1, 100000) as b"
    with pytest.raises(QueryTimeout):
        await tool(slow, dsn).run(call(query=long))
    endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"
    with pytest.raises(QueryTimeout):
        await tool(slow, f"sqlite:///{file}").run(call(query=endless))
    left = "select count(*) from pg_stat_activity where application_name = 'aos' and state = 'active'"
    with psycopg.connect(dsn, autocommit=True) as connection:
        for _ in range(100):
            if connection.execute(left).fetchone() == (0,):
                return
            await asyncio.sleep(0.05)
    raise AssertionError("it still runs")


async def test_a_cancelled_query_ends_on_the_server(dsn: str) -> None:
    long = "select count(*) from generate_series(1, 100000) as a, generate_series(1, 100000) as b"
    task = asyncio.create_task(tool(FREE, dsn).run(call(query=long)))
    left = "select count(*) from pg_stat_activity where application_name = 'aos' and state = 'active'"
    with psycopg.connect(dsn, autocommit=True) as connection:
        for wanted in (1, 0):
            for _ in range(100):
                if connection.execute(left).fetchone() == (wanted,):
                    break
                await asyncio.sleep(0.05)
            else:
                raise AssertionError(wanted)
            task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


SQLITE_WRITES = (
    "insert into t values (9, 'x')",
    "update t set b = 'y'",
    "delete from t",
    "drop table t",
    "create table u (a)",
    "create temp table u (a)",
    "alter table t add column z",
    "replace into t values (1, 'x')",
    "vacuum",
    "reindex",
    "analyze",
    "pragma user_version = 5",
    "pragma writable_schema = on",
    "pragma journal_mode = wal",
    "attach '/tmp/aos-attached.db' as other",
    "detach main",
    "begin immediate",
    "savepoint x",
    "with g as (select 1) delete from t",
    "explain analyze delete from t",
    "select load_extension('x')",
    "select writefile('/tmp/x', 'y')",
    "select readfile('/etc/passwd')",
    "select 1; delete from t",
    "insert into t values (9, 'x') returning a",
    "create trigger g after insert on t begin select 1; end",
)


@pytest.mark.parametrize("text", SQLITE_WRITES)
async def test_sk_16_sqlite_refuses_to_write_thrice(file: Path, text: str) -> None:
    """SK-16: by the parser, by the authorizer, and by the file that is open for reading."""
    with pytest.raises((WritesRefused, QueryWrong)):
        await tool(FREE, f"sqlite:///{file}").run(call(query=text))
    with pytest.raises((WritesRefused, QueryWrong)):
        await sqlite.ask_sqlite(f"sqlite:///{file}", SqlStatement(text), {}, LIMITS, [file.parent])
    connection = sqlite.open_database(file, LIMITS)
    try:
        if text.startswith(("insert", "update", "delete from", "drop", "create ta", "alter", "replace", "with")):
            with pytest.raises(sqlite3.OperationalError, match="readonly"):
                connection.execute(text)
    finally:
        connection.close()


async def test_sk_02_the_other_engine_is_described(file: Path) -> None:
    """SK-02: the skills for SQLite against a file."""
    where = f"sqlite:///{file}"
    tables = await tool(SKILLS["sqlite_tables"], where).run(call())
    assert [row[:2] for row in tables["rows"]] == [["c", "table"], ["t", "table"], ["v", "view"]]
    columns = await tool(SKILLS["sqlite_describe_table"], where).run(call(table="t"))
    assert columns["rows"] == [["a", "INTEGER", 0, None, 1], ["b", "TEXT", 1, "'x'", 0]]
    indexes = await tool(SKILLS["sqlite_indexes"], where).run(call())
    assert indexes["rows"] == [["t", "sqlite_autoindex_t_1", 1, "u", "b"]]
    keys = await tool(SKILLS["sqlite_foreign_keys"], where).run(call())
    assert keys["rows"] == [["c", "t", "t", "a", "CASCADE"]]
    assert (await tool(FREE, where).run(call(query="explain query plan select a from t")))["rows"]


async def test_a_skill_that_may_write_writes_one_statement(admin_dsn: str, tmp_path: Path) -> None:
    made = tmp_path / "made.db"
    sqlite3.connect(made).execute("create table t (a)").connection.close()
    with psycopg.connect(admin_dsn, autocommit=True) as connection:
        connection.execute("create table t (a int)")
    for dialect, where in (("postgres", admin_dsn), ("sqlite", f"sqlite:///{made}")):
        manifest = skill("insert into t values (:a)", dialect, Risk.WRITE, readonly=False, binds=["a"])
        assert await tool(manifest, where).run(call(a=4)) == {"affected": 1}
        assert (await tool(FREE, where).run(call(query="select a from t")))["rows"] == [[4]]
        with pytest.raises(BadManifest):
            builtin.build_tool(skill("select 1; drop table t", dialect, Risk.WRITE, readonly=False), ground())


class Nothing:
    async def called(self, call: ToolInvocation, what: CallRecord) -> None:
        return None


async def test_no_secret_is_in_results_errors_or_logs(
    endpoints: Any, database: str, file: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    right = make_conninfo(endpoints.postgres_admin or "", dbname=database, password=CANARY)
    said: list[str] = []
    for dsn, query in (
        (right, f"select '{CANARY}' as a"),
        (right, f"select '{CANARY}'::int"),
        (right, f'select * from "{CANARY}"'),
        (right, f"selec {CANARY}"),
        (f"postgresql://u:{CANARY}@127.0.0.1:1/d", "select 1"),
        (f"postgresql://u:{CANARY}@[::bad/d", "select 1"),
        (f"mysql://u:{CANARY}@127.0.0.1/d", "select 1"),
        (f"sqlite:////nowhere/{CANARY}.db", "select 1"),
        (make_conninfo(right, user="nobody", dbname=CANARY), "select 1"),
    ):
        try:
            said.append(json.dumps(await SkillGuard(standing(dsn), Nothing()).around(FREE).run(call(query=query))))
        except AosError as error:
            said.append(f"{type(error).__name__} {error.detail} {error.hint} {error.args}")
            assert error.__cause__ is None
    assert len(said) == 9
    assert "[secret]" in said[0]
    assert CANARY not in "\n".join(said) + caplog.text + "".join(capsys.readouterr())


@pytest.mark.parametrize(
    "dsn",
    [
        "host=/var/run/postgresql dbname=d",
        "dbname=d",
        "postgresql:///d",
        "host=@abstract dbname=d",
        "host=a.test,/tmp dbname=d",
        "postgresql://a.test,b.test/d",
        "host=a.test hostaddr=127.0.0.1",
        "host=a.test port=1,2",
        "host=a.test port=-1",
        "postgresql://%2Ftmp/d",
        *(f"host=a.test {word}=/etc/passwd" for word in ("passfile", "sslkey", "sslcert", "sslrootcert", "sslcrl")),
        "host=a.test service=aos",
        "host=a.test sslkeylogfile=/tmp/x",
        "host=a.test krbsrvname=x",
    ],
)
async def test_a_dsn_names_one_host_and_nothing_of_this_machine(dsn: str) -> None:
    """Regression: a credential reached the sockets and key files of the machine that this program runs on."""
    with pytest.raises(DatabaseUnknown):
        await checked_dsn(dsn, 5, DatabaseReach(("a.test:5432",), resolve_host))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "10.0.0.1", "169.254.169.254", "[::ffff:7f00:1]"])
async def test_a_database_on_a_private_address_has_to_be_named(host: str) -> None:
    """Regression: the server that this program keeps its own state in was a credential away."""
    for hosts in ((), ("localhost", "127.0.0.1:1", "127.0.0.1")):
        with pytest.raises(AddressNotAllowed):
            await checked_dsn(f"postgresql://u@{host}:5432/d", 5, DatabaseReach(hosts, resolve_host))


async def test_a_login_says_what_the_credential_says_and_no_more() -> None:
    async def found(host: str, port: int) -> list[str]:
        return ["93.184.216.34"]

    said = conninfo_to_dict(
        await checked_dsn("postgresql://u@db.test/d?sslmode=verify-full", 5, DatabaseReach((), found))
    )
    assert (said["host"], said["hostaddr"], said["port"], said["dbname"]) == ("db.test", "93.184.216.34", "5432", "d")
    assert said["password"] == "" and said["options"] == "" and said["sslrootcert"] == "system"
    assert {said["passfile"], said["sslcert"], said["sslkey"]} == {"/dev/null/none"}


async def test_a_file_has_to_be_in_a_folder_that_is_named(tmp_path: Path) -> None:
    """Regression: a credential opened any database that this program's user may read."""
    inner, outer = tmp_path / "in", tmp_path / "out"
    for folder in (inner, outer):
        folder.mkdir()
        with sqlite3.connect(folder / "a.db") as connection:
            connection.execute("create table t (a)")
    (inner / "link.db").symlink_to(outer / "a.db")
    (inner / "folder").symlink_to(outer)
    select = SqlStatement("select a from t")
    assert await sqlite.ask_sqlite(f"sqlite:///{inner}/a.db", select, {}, LIMITS, [inner]) == {
        "columns": ["a"],
        "rows": [],
    }
    for path, folders in (
        (f"{outer}/a.db", [inner]),
        (f"{inner}/../out/a.db", [inner]),
        (f"{inner}/link.db", [inner]),
        (f"{inner}/folder/a.db", [inner]),
        (f"{inner}/%2e%2e/out/a.db", [inner]),
        (f"{inner}/a.db", []),
    ):
        with pytest.raises(FileNotAllowed):
            await sqlite.ask_sqlite(f"sqlite:///{path}", select, {}, LIMITS, folders)
    assert SkillSettings().sqlite_dirs == ()


async def test_failures_have_names(dsn: str, app_dsn: str, file: Path) -> None:
    for where, query, kind in (
        (dsn, "select * from nowhere", QueryWrong),
        (dsn, "select 1 / 0", QueryWrong),
        (make_conninfo(dsn, dbname="nowhere"), "select 1", DatabaseDenied),
        ("postgresql://127.0.0.1:1/d", "select 1", DatabaseUnreachable),
        ("oracle://x", "select 1", DatabaseUnknown),
        ("sqlite:///relative.db", "select 1", DatabaseUnknown),
        (f"sqlite:///{file}.nowhere", "select 1", DatabaseUnreachable),
        (f"sqlite:///{__file__}", "select * from t", DatabaseUnreachable),
        (f"sqlite:///{file}", "select * from nowhere", QueryWrong),
        (app_dsn, "select * from pg_authid", DatabaseDenied),
    ):
        with pytest.raises(kind):
            print(where, await tool(FREE, where).run(call(query=query)))
    with pytest.raises(DatabaseUnknown):
        await tool(SKILLS["sqlite_tables"], dsn).run(call())
    for query in (None, "", 5):
        with pytest.raises(Invalid):
            await tool(FREE, dsn).run(call(query=query))
    for value in ([1], {"a": 1}, "a\x00b"):
        with pytest.raises(Invalid):
            await tool(skill("select :a::text", binds=["a"]), dsn).run(call(a=value))


WRONG: tuple[tuple[str, Manifest], ...] = (
    ("sk_03 a reading skill that may write", skill("select 1", readonly=False)),
    ("a writing skill that is read-only", skill("select 1", risk=Risk.WRITE)),
    ("a write in a reading skill", skill("delete from t")),
    ("no dialect", replace(skill("select 1"), options={"query": "select 1"})),
    ("no query", replace(skill("select 1"), options={"dialect": "postgres"})),
    ("both", replace(FREE, name="probe", options={"query_argument": True, "query": "select 1", "dialect": "sqlite"})),
    ("a dialect that is not here", skill("select 1", "oracle")),
    ("a bound value that is no parameter", skill("select :a")),
    ("a parameter that is not bound", skill("select 1", binds=["a"])),
    ("another credential", replace(skill("select 1"), credential=CredentialType.BEARER_TOKEN)),
    (
        "a free statement for everybody",
        replace(FREE, name="probe", risk=Risk.DESTRUCTIVE, options={"query_argument": True, "readonly": False}),
    ),
    ("not SQL", skill("this is ( not")),
)


@pytest.mark.parametrize("manifest", [one for _, one in WRONG], ids=[name for name, _ in WRONG])
def test_sk_03_a_manifest_that_would_weaken_the_fence_is_refused(manifest: Manifest) -> None:
    """SK-03: the readonly flag and the risk say the same, or nothing is built."""
    with pytest.raises(BadManifest):
        builtin.build_tool(manifest, ground())
