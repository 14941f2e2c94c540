"""What migrations lock, for how long, and what runs beside them, read from their files alone."""

from pathlib import Path

import pytest

from cluster.basics.errors import InvalidSettings
from cluster.state.db.ddl_locks import LockMode, LockWork, split_statements, statement_effect
from cluster.state.db.migration_files import GIB, MigrationFile, read_migrations

DECLARING = "0110"  # from here on each file says what it locks and whether old code runs beside it
HEAD = "-- A test.\n-- Held locks: {locks}.\n-- Old code: {old}.\n"


def made_file(folder: Path, text: str, name: str = "0110_test.sql") -> MigrationFile:
    (folder / name).write_text(text)
    return read_migrations(folder)[-1]


@pytest.mark.parametrize(
    ("statement", "locks"),
    [
        ("alter table jobs add column asked_at timestamptz", [("jobs", "ACCESS EXCLUSIVE", "moment")]),
        ("alter table jobs add column a int not null default 3", [("jobs", "ACCESS EXCLUSIVE", "moment")]),
        ("alter table jobs add column a uuid default gen_random_uuid()", [("jobs", "ACCESS EXCLUSIVE", "rewrite")]),
        ("alter table a add b text generated always as (lower(c)) stored", [("a", "ACCESS EXCLUSIVE", "rewrite")]),
        ("alter table a add column b int check (b > 0)", [("a", "ACCESS EXCLUSIVE", "scan")]),
        (
            "alter table a add column b uuid references c on delete cascade",
            [("a", "ACCESS EXCLUSIVE", "moment"), ("c", "SHARE ROW EXCLUSIVE", "moment")],
        ),
        (
            "alter table a alter column b type text, drop constraint c",
            [("a", "ACCESS EXCLUSIVE", "rewrite"), ("a", "ACCESS EXCLUSIVE", "moment")],
        ),
        ("alter table a add constraint b check (c > 0) not valid", [("a", "ACCESS EXCLUSIVE", "moment")]),
        ("alter table a validate constraint b", [("a", "SHARE UPDATE EXCLUSIVE", "scan")]),
        ("create index on a (b, c) where b is not null", [("a", "SHARE", "index")]),
        ("create index concurrently b on a (b)", [("a", "SHARE UPDATE EXCLUSIVE", "index")]),
        ("create index b on a using hnsw (c vector_cosine_ops)", [("a", "SHARE", "graph")]),
        ("drop index b_of_a", [("a", "ACCESS EXCLUSIVE", "moment")]),
        ("create table a (b uuid references c, d uuid references a)", [("c", "SHARE ROW EXCLUSIVE", "moment")]),
        (
            "create trigger t before insert or update of x on a for each row execute function f()",
            [("a", "SHARE ROW EXCLUSIVE", "moment")],
        ),
        ("create policy belongs on a using (b = 'update c')", [("a", "ACCESS EXCLUSIVE", "moment")]),
        ("update a set b = 'delete from c'", [("a", "ROW EXCLUSIVE", "rows")]),
        (
            "with x as (delete from a returning *) insert into b select * from x",
            [("a", "ROW EXCLUSIVE", "rows"), ("b", "ROW EXCLUSIVE", "rows")],
        ),
        ("create function f() returns void language sql as $$ update a set b = 1; $$", []),
        ("comment on column a.b is 'it''s; fine'", [("a", "SHARE UPDATE EXCLUSIVE", "moment")]),
        ("grant select, insert on a to aos_app", []),
    ],
)
def test_a_statement_locks_what_the_manual_says(statement: str, locks: list[tuple[str, str, str]]) -> None:
    (tokens,) = split_statements(f"-- update z set y = 1;\n{statement} ;")
    effect = statement_effect(tokens, {"b_of_a": "a"})
    assert [(lock.table, lock.mode.title, str(lock.work)) for lock in effect.locks] == locks
    assert effect.known


def test_a_block_locks_each_table_that_it_names() -> None:
    (tokens,) = split_statements(
        "do $$ declare name text; begin foreach name in array array['a', 'b'] loop"
        " execute format('alter table %I enable row level security', name); end loop;"
        " if x then drop table c; end if; end $$;"
    )
    effect = statement_effect(tokens, {})
    assert {lock.table for lock in effect.locks} == {"a", "b", "c"} and effect.breaks == ("drops c",)


def test_a_foreign_key_that_goes_locks_the_table_that_it_leads_to(tmp_path: Path) -> None:
    made_file(tmp_path, "create table a (b uuid primary key references c on delete cascade, d int);", "0108_a.sql")
    made = made_file(tmp_path, "alter table a drop constraint a_b_fkey;")
    assert [(lock.table, lock.mode) for lock in made.locks()] == [(one, LockMode.ACCESS_EXCLUSIVE) for one in "ac"]


def test_a_lock_is_held_from_its_statement_until_the_end(tmp_path: Path) -> None:
    made = made_file(tmp_path, "create index on big (x); alter table late add y int; create table new (z int);")
    held = {lock.table: lock for lock in made.held_locks({"big": GIB, "late": 0, "new": 5, "unused": GIB})}
    assert held.keys() == {"big", "late"} and held["late"].mode is LockMode.ACCESS_EXCLUSIVE
    assert held["big"].seconds > 20 > 1 > held["late"].seconds > 0
    first = made_file(tmp_path, "alter table late add y int; create index on big (x);").held_locks(
        {"big": GIB, "late": 0}
    )
    assert {lock.table: lock.seconds > 20 for lock in first} == {"big": True, "late": True}, "late waits for the index"


def test_what_a_file_says_counts_before_what_is_derived(tmp_path: Path) -> None:
    text = HEAD.format(locks="big SHARE, 7 s/GiB; late ACCESS EXCLUSIVE, moment", old="runs beside it")
    made = made_file(tmp_path, text + "create index on big (x); alter table late drop column y;")
    assert {lock.table: round(lock.seconds) for lock in made.held_locks({"big": GIB, "late": GIB})} == {
        "big": 7,
        "late": 0,
    }
    assert made.breaks and made.needs_stop == ()
    stopped = HEAD.format(locks="none", old="needs a stop: old workers would write to late.y")
    assert made_file(tmp_path, stopped + "select 1;").needs_stop == ("old workers would write to late.y",)
    with pytest.raises(InvalidSettings, match="cannot be read: big for long"):
        made_file(tmp_path, HEAD.format(locks="big for long", old="runs beside it") + "select 1;")


@pytest.mark.parametrize(
    ("text", "breaks"),
    [
        ("alter table a drop column b;", ("drops a.b",)),
        ("alter table a rename column b to c;", ("renames a column b to c",)),
        ("alter table a add column b int not null;", ("adds a.b, which may not be empty and has no default",)),
        ("alter table a alter column b set not null;", ("a.b may not be empty",)),
        ("drop function f(text);", ("drops the function f",)),
        ("create unique index once on a (b);", ("adds the rule once to a",)),
        ("alter table a add column b int; create unique index once on a (b);", ()),
        ("alter table a drop constraint c; alter table a add constraint c check (b > 0);", ()),
        (
            "drop function f(text, int); create function f(a text, b int default 3) returns int language sql as $$ $$;",
            (),
        ),
        ("create table a (b int not null); create unique index on a (b); alter table a add c int not null;", ()),
        ("alter table a add column b int not null default 0; drop trigger t on a; drop policy p on a;", ()),
    ],
)
def test_what_old_code_cannot_live_with_is_told(tmp_path: Path, text: str, breaks: tuple[str, ...]) -> None:
    assert made_file(tmp_path, text).breaks == breaks


def test_each_statement_of_each_migration_is_understood() -> None:
    assert {one.name: one.unread for one in read_migrations() if one.unread} == {}


def declared_faults(one: MigrationFile) -> list[str]:
    """What a file of now leaves out at its head."""
    if one.declared is None or one.stop is None:
        return ["its head has no `-- Held locks:` or no `-- Old code:`, see cluster/state/db/migration_files.py"]
    said = {lock.table: lock.mode for lock in one.declared}
    weak = [lock for lock in one.locks() if said.get(lock.table, LockMode.ROW_EXCLUSIVE) < lock.mode]
    faults = [f"it locks {lock.table} by {lock.mode.title}, and does not say so" for lock in weak]
    moments = {lock.table for lock in one.declared if not lock.seconds_a_gib}
    long = {lock.table for lock in one.locks() if lock.work is not LockWork.MOMENT and lock.mode >= LockMode.SHARE}
    faults += [f"more than a moment's work on {table}: N s/GiB" for table in sorted(long & moments)]
    return faults + [f"it {why}, and does not say `needs a stop`" for why in one.breaks if not one.stop]


def test_migrations_say_what_they_lock_and_whether_old_code_runs_beside_them() -> None:
    """What a rolling update lives by: two versions work on one schema until the last replica is replaced."""
    faults = {one.name: declared_faults(one) for one in read_migrations() if one.name >= DECLARING}
    assert {name: found for name, found in faults.items() if found} == {}


def test_a_head_that_says_too_little_is_found(tmp_path: Path) -> None:
    change = "alter table jobs drop column phase; create index on pages (engine);"
    assert declared_faults(made_file(tmp_path, change))
    quiet = HEAD.format(locks="jobs SHARE, moment; pages SHARE, moment", old="runs beside it")
    assert declared_faults(made_file(tmp_path, quiet + change)) == [
        "it locks jobs by ACCESS EXCLUSIVE, and does not say so",
        "more than a moment's work on pages: N s/GiB",
        "it drops jobs.phase, and does not say `needs a stop`",
    ]
    honest = HEAD.format(
        locks="jobs ACCESS EXCLUSIVE, moment; pages SHARE, 30 s/GiB", old="needs a stop: claims read phase"
    )
    assert declared_faults(made_file(tmp_path, honest + change)) == []
