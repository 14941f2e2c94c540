"""The way of the database to another major of PostgreSQL: a real dump, loaded; what is refused, fails or is killed."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from cluster.basics.errors import Conflict, DiskFull, Invalid
from cluster.basics.scope import Scope
from cluster.cli import run_command
from cluster.state.backup.database_dump import (
    MANIFEST,
    PARTS,
    DamagedDump,
    count_rows,
    dump_database,
    every,
    file_digests,
    read_dump,
)
from cluster.state.backup.database_load import LoadFailed, load_database
from cluster.state.backup.restoring import UNFINISHED, UNFINISHED_LOAD, require_finished
from cluster.state.db import embedded
from cluster.state.db.migrate import apply_migrations
from cluster.state.db.postgres import Database
from cluster.state.db.postgres_major import programs_major
from cluster.state.db.upgrade_check import check_upgrade
from cluster.state.supervised import MODULE, pid_path
from cluster.supervisor import prepare_state
from configs.sections import Settings
from configs.settings import load_settings
from tests.fakes import corpus
from tests.fakes.command_line import ROOT, run_aos
from tests.fakes.older_state import until
from tests.fakes.portable import Yard
from tests.fakes.runs import Outside, acting, stage
from tests.kill.restore_drill import Hits, all_rows, answers

OWN = programs_major(embedded.postgres_programs())
OLD = OWN - 1
PASSWORD = "scram-of-a-reader"
# What a database has beside its rows.
BESIDE = {
    "sequences": "select schemaname, sequencename, last_value from pg_sequences order by 2",
    "row-level security": "select tablename, policyname, roles, cmd, qual, with_check from pg_policies order by 1, 2",
    "forced": "select relname, relrowsecurity, relforcerowsecurity, relpersistence from pg_class where relkind in"
    " ('r', 'p') and relnamespace = 'public'::regnamespace order by 1",
    "rights": "select relname, r.grantee::regrole::text, r.privilege_type, r.is_grantable from pg_class, aclexplode("
    "coalesce(relacl, acldefault((case relkind when 'S' then 's' else 'r' end)::\"char\", relowner))) r where relkind"
    " not in ('i', 'I') and relnamespace = 'public'::regnamespace order by 1, 2, 3",
    "rights of functions": "select p.oid::regprocedure::text, r.grantee::regrole::text, r.privilege_type from pg_proc"
    " p, aclexplode(coalesce(proacl, acldefault('f', proowner))) r where pronamespace = 'public'::regnamespace"
    " order by 1, 2, 3",
    "functions": "select oid::regprocedure::text, prosrc, prosecdef, proconfig from pg_proc where"
    " pronamespace = 'public'::regnamespace order by 1",
    "triggers": "select tgrelid::regclass::text, tgname, pg_get_triggerdef(oid) from pg_trigger where not tgisinternal"
    " order by 1, 2",
    "indexes": "select indexrelid::regclass::text, pg_get_indexdef(indexrelid), indisvalid from pg_index join pg_class"
    " c on c.oid = indexrelid where relnamespace = 'public'::regnamespace and relname !~ '^document_chunks_bm25'"
    " order by 1",
    "partitions": "select inhrelid::regclass::text, inhparent::regclass::text, pg_get_expr(relpartbound, c.oid) from"
    " pg_inherits join pg_class c on c.oid = inhrelid order by 1",
    "extensions": "select extname, extversion from pg_extension order by 1",
    "settings": "select coalesce(setrole::regrole::text, ''), setconfig from pg_db_role_setting order by 1",
    "roles": "select rolname, rolsuper, rolbypassrls, rolcanlogin, rolpassword from pg_authid where rolname !~ '^pg_'"
    " order by 1",
}


@dataclass(frozen=True)
class Dumped:
    """A filled instance, stopped, and its dump; what it held, and what it answered."""

    folder: Path
    settings: Settings
    homes: list[Scope]
    rows: dict[str, str]
    beside: dict[str, Any]
    hits: list[Hits]
    told: dict[str, Any]

    @property
    def dump(self) -> Path:
        return self.folder / "dump"


def settings_of(state: Path, **more: str) -> Settings:
    return load_settings({"AOS_STATE_DIR": str(state)} | more)


def owner_of(settings: Settings) -> str:
    return embedded.start_servers(settings).postgres_admin or ""


def beside_rows(settings: Settings) -> dict[str, Any]:
    with psycopg.connect(owner_of(settings), autocommit=True) as connection:
        return {name: connection.execute(query.encode()).fetchall() for name, query in BESIDE.items()}


async def fill(settings: Settings) -> list[Scope]:
    """Two tenants with documents in two generations, one with a graph, a turn that waits, an operator's settings."""
    found = embedded.start_servers(settings)
    owner = found.postgres_admin or ""
    await apply_migrations(owner)
    database = Database(found.postgres, size=2, timeout=60)
    await database.open()
    with psycopg.connect(owner, autocommit=True) as connection:
        homes = [corpus.open_home(connection, f"home{nth}") for nth in range(2)]
        first, second = corpus.open_generation(connection, *homes), corpus.open_generation(connection)
        yard = Yard(connection, found.postgres, database, settings.state_dir)
        for nth, home in enumerate(homes):
            yard.fill(home, first, range(nth * 50, nth * 50 + 60), pages=2)
        connection.execute(
            "insert into embeddings select %s, chunk_id, document_id, tenant_id, workspace_id, readers, embedding"
            " from embeddings where generation_id = %s",
            (second, first),
        )
        assert connection.execute("select index_generation(%s, 1)", [first]).fetchone() == (True,)
        connection.execute("alter database aos set aos.graph_memory_mb = '99'")
        connection.execute("alter role aos_app in database aos set statement_timeout = '77s'")
        connection.execute(f"create role reader login password '{PASSWORD}'")
        connection.execute("alter role reader set work_mem = '5MB'")
        connection.execute("grant select on documents to reader")
    await database.close()
    async with stage(found.postgres, owner, tenant=homes[0].tenant) as made:
        await made.carry(await made.begin(), acting(Outside()))
    return homes


@pytest.fixture(scope="module")
def dumped() -> Iterator[Dumped]:
    folder = Path(tempfile.mkdtemp(prefix="aosd-"))
    settings = settings_of(folder / "a")
    try:
        homes = asyncio.run(fill(settings))
        hits = asyncio.run(answers(settings, homes))
        rows, beside = all_rows(settings), beside_rows(settings)
        embedded.stop_servers(folder / "a")
        code, told = run_aos(folder / "a", "upgrade", "--dump", str(folder / "dump"))
        assert code == 0, told
        assert embedded.server_processes(folder / "a") == []
        yield Dumped(folder, settings, homes, rows, beside, hits, told)
    finally:
        embedded.stop_servers(folder / "a")
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def state() -> Iterator[Path]:
    """A state directory of a test's own."""
    made = Path(tempfile.mkdtemp(prefix="aosd-"))
    yield made
    embedded.stop_servers(made)
    shutil.rmtree(made, ignore_errors=True)


def old_data(state: Path) -> Path:
    """The data of another major, as far as anybody looks at it."""
    data = state / "postgres"
    data.mkdir(mode=0o700)
    (data / "PG_VERSION").write_text(f"{OLD}\n")
    (data / "precious").write_text("rows")
    return data


def copy_of(dumped: Dumped, place: Path, **changes: Any) -> Path:
    """The dump again, with another manifest that fits its files."""
    if not place.exists():
        shutil.copytree(dumped.dump, place)
    body = json.loads((place / MANIFEST).read_text()) | {"digests": file_digests(place)} | changes
    (place / MANIFEST).write_text(json.dumps(body))
    return place


def test_all_that_was_dumped_is_there_after_the_load(dumped: Dumped, state: Path) -> None:
    assert {path.name for path in dumped.dump.iterdir()} == {MANIFEST, "roles.sql", PARTS}
    assert dumped.dump.stat().st_mode & 0o777 == 0o700
    made = read_dump(dumped.dump)
    assert (made.major, made.database, made.rows) == (OWN, "aos", dumped.told["rows"])
    assert made.rows["public.document_chunks"] == 240 and made.rows["public.embeddings_2"] == 240

    code, told = run_aos(state, "upgrade", "--load", str(dumped.dump))
    assert code == 0, told
    assert (told["aside"], told["rows"], told["tables"]) == (None, sum(made.rows.values()), len(made.rows))
    assert embedded.server_processes(state) == [], "nothing runs afterwards"
    again = settings_of(state)
    owner_of(again)
    rows = all_rows(again)
    assert {name for name, digest in dumped.rows.items() if rows.get(name) != digest} == set() and len(rows) > 80
    beside = beside_rows(again)
    for name, was in dumped.beside.items():
        assert beside[name] == was, name
    assert check_upgrade(again).exit_code == 0, "up to date"
    lines: list[str] = []
    prepare_state(again, lines.append)
    assert "schema: up to date" in lines


def test_the_application_sees_its_tenant_alone_and_finds_what_it_found(dumped: Dumped, state: Path) -> None:
    load_database(settings_of(state), dumped.dump, print)
    again = settings_of(state)
    owner_of(again)
    assert asyncio.run(answers(again, dumped.homes)) == dumped.hits
    assert any(len(one) > 1 for one in dumped.hits) and dumped.hits[0][0][1], "both retrievers had something to say"

    async def seen(scope: Scope) -> set[str]:
        database = Database(embedded.postgres_endpoints(again)[0], size=1, timeout=30)
        await database.open()
        try:
            async with database.transaction(scope) as tx:
                return {str(row["tenant_id"]) for row in await tx.all("select tenant_id from documents")}
        finally:
            await database.close()

    for home in dumped.homes:
        assert asyncio.run(seen(home)) == {home.tenant}
    with psycopg.connect(embedded.postgres_endpoints(again)[0]) as nobody:
        assert nobody.execute("select count(*) from documents").fetchone() == (0,)


def test_data_of_another_major_is_kept_beside_what_is_loaded(dumped: Dumped, state: Path) -> None:
    data = old_data(state)
    (state / f"postgres-{OLD}").mkdir()  # of an upgrade before
    (state / "vault-key").write_text("the key")
    said: list[str] = []
    done = load_database(settings_of(state), dumped.dump, said.append)
    assert done.aside == state / f"postgres-{OLD}-2" and (done.aside / "precious").read_text() == "rows"
    assert f"the data of PostgreSQL {OLD} is kept in {done.aside}" in said
    assert (data / "PG_VERSION").read_text() == f"{OWN}\n" and (state / "vault-key").read_text() == "the key"
    require_finished(state)
    with pytest.raises(Conflict, match=f"is of PostgreSQL {OWN} already") as refused:
        load_database(settings_of(state), dumped.dump, print)
    assert "aos up" in refused.value.hint


def test_a_database_of_another_name_is_loaded_under_the_one_that_is_set(dumped: Dumped, state: Path) -> None:
    again = settings_of(state, AOS_POSTGRES_DATABASE="other")
    load_database(again, dumped.dump, print)
    with psycopg.connect(owner_of(again)) as connection:
        assert connection.info.dbname == "other" and count_rows(connection) == dumped.told["rows"]


def test_a_load_that_fails_leaves_the_data_where_it_was(dumped: Dumped, state: Path) -> None:
    data = old_data(state)
    rows = dumped.told["rows"] | {"public.documents": 121}
    with pytest.raises(LoadFailed, match=r"public\.documents: 121 in the dump, 120 here") as failed:
        load_database(settings_of(state), copy_of(dumped, state / "rows", rows=rows), print)
    assert f"the data from before is in {data} again" in str(failed.value)
    cut = copy_of(dumped, state / "cut")
    largest = max((cut / PARTS).iterdir(), key=lambda path: path.stat().st_size * (path.name != "toc.dat"))
    largest.write_bytes(largest.read_bytes()[:-200])
    with pytest.raises(LoadFailed, match="pg_restore"):
        load_database(settings_of(state), copy_of(dumped, cut), print)
    assert (data / "precious").read_text() == "rows" and (data / "PG_VERSION").read_text() == f"{OLD}\n"
    assert {path.name for path in state.iterdir() if path.is_dir()} == {"postgres", "rows", "cut"}
    assert embedded.server_processes(state) == []
    require_finished(state)
    data.rename(state / "elsewhere")
    with pytest.raises(LoadFailed, match="there is no data, as before"):
        load_database(settings_of(state), state / "cut", print)
    assert not data.exists()


def test_a_killed_load_is_not_opened_and_begins_anew(dumped: Dumped, state: Path) -> None:
    old_data(state)
    command = [sys.executable, "-m", "cluster.cli", "upgrade", "--load", str(dumped.dump)]
    env = os.environ | {"AOS_STATE_DIR": str(state), "AOS_ENV_FILE": ""}
    with subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.DEVNULL) as load:
        deadline = time.monotonic() + 60
        while not list(state.glob("load-lists-*/chosen")):
            assert time.monotonic() < deadline and load.poll() is None
            time.sleep(0.005)
        load.send_signal(signal.SIGKILL)
    assert (state / UNFINISHED_LOAD).read_text() == f"postgres-{OLD}"
    with pytest.raises(Conflict, match="was broken off") as refused:
        prepare_state(settings_of(state), print)
    assert "aos upgrade --load" in refused.value.hint
    said: list[str] = []
    done = load_database(settings_of(state), dumped.dump, said.append)
    assert "a load before was broken off: it begins anew" in said
    assert done.aside == state / f"postgres-{OLD}" and (done.aside / "precious").read_text() == "rows"
    assert {path.name for path in state.iterdir() if path.is_dir()} == {"postgres", done.aside.name}
    with psycopg.connect(owner_of(settings_of(state))) as connection:
        assert count_rows(connection) == dumped.told["rows"]


def test_one_killed_before_anything_was_moved_removes_nothing(dumped: Dumped, state: Path) -> None:
    data = old_data(state)
    (state / UNFINISHED_LOAD).write_text(f"postgres-{OLD}")
    done = load_database(settings_of(state), dumped.dump, print)
    assert done.aside is not None and (done.aside / "precious").read_text() == "rows" and data.exists()


def test_half_a_load_is_never_opened_also_where_the_data_from_before_is_gone(dumped: Dumped, state: Path) -> None:
    embedded.start_servers(settings_of(state))
    embedded.stop_servers(state)
    (state / UNFINISHED_LOAD).write_text(f"postgres-{OLD}")
    done = load_database(settings_of(state), dumped.dump, print)
    assert done.aside is None and done.major == programs_major(embedded.postgres_programs())
    with psycopg.connect(owner_of(settings_of(state))) as connection:
        assert count_rows(connection) == dumped.told["rows"]


def test_what_is_no_whole_dump_of_this_instance_is_refused(dumped: Dumped, state: Path) -> None:
    data = old_data(state)
    (data / "global").mkdir()
    (data / "global" / "pg_control").write_bytes((7).to_bytes(8, "little") + b"more")

    def refuse(kind: type[Exception], match: str, folder: Path) -> None:
        with pytest.raises(kind, match=match) as refused:
            load_database(settings_of(state), folder, print)
        assert isinstance(refused.value, Conflict | Invalid | DamagedDump | DiskFull) and refused.value.hint

    refuse(Conflict, "of another instance", dumped.dump)
    refuse(Invalid, "newer code: 0.1.0 9001_later.sql", copy_of(dumped, state / "later", migration="9001_later.sql"))
    refuse(Invalid, "newer code", copy_of(dumped, state / "form", form=2))
    refuse(Invalid, f"is of PostgreSQL {OWN + 1}", copy_of(dumped, state / "major", major=OWN + 1))
    cut = copy_of(dumped, state / "cut")
    (cut / PARTS / "toc.dat").write_bytes((cut / PARTS / "toc.dat").read_bytes()[:-1])
    refuse(DamagedDump, "toc.dat is not what was written", cut)
    (cut / PARTS / "toc.dat").unlink()
    refuse(DamagedDump, "database/toc.dat is missing", cut)
    (cut / MANIFEST).write_text("{}")
    refuse(DamagedDump, "is not what a dump writes", cut)
    (cut / MANIFEST).unlink()
    refuse(DamagedDump, "has no manifest.json", cut)
    shutil.rmtree(data / "global")
    refuse(DiskFull, "the database takes", copy_of(dumped, state / "large", bytes=10**18))
    (data / "PG_VERSION").unlink()
    refuse(Conflict, "is not empty, and no data of Postgres", dumped.dump)
    assert [path.name for path in data.iterdir()] == ["precious"] and not (state / UNFINISHED_LOAD).exists()


@contextmanager
def running_supervisor(state: Path) -> Iterator[None]:
    sleeping = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", MODULE])
    pid_path(state).write_text(str(sleeping.pid))
    try:
        yield
    finally:
        sleeping.kill()
        sleeping.wait()
        pid_path(state).unlink()


def test_nothing_is_dumped_or_loaded_beside_what_writes(dumped: Dumped, state: Path, tmp_path: Path) -> None:
    settings, place = dumped.settings, tmp_path / "to"
    with running_supervisor(settings.state_dir):
        for refused in (lambda: dump_database(settings, place, print), lambda: load_database(settings, place, print)):
            with pytest.raises(Conflict, match="would go on to write") as beside:
                refused()
            assert beside.value.hint == "Run `aos down` first."
    with psycopg.connect(owner_of(settings)), pytest.raises(Conflict, match="somebody else is connected"):
        dump_database(settings, place, print)
    embedded.stop_servers(settings.state_dir)
    external = settings_of(state, DATABASE_URL="postgresql://aos_app@db/aos")
    with pytest.raises(Invalid, match="external") as other:
        dump_database(external, place, print)
    assert "operator" in other.value.hint
    (state / UNFINISHED).touch()
    with pytest.raises(Conflict, match="the restore into"):
        load_database(settings_of(state), dumped.dump, print)
    assert not place.exists()


def test_a_dump_goes_into_an_empty_folder_with_room_alone(
    dumped: Dumped, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    state = dumped.settings.state_dir
    with pytest.raises(Conflict, match="is not empty") as full:
        dump_database(dumped.settings, dumped.dump, print)
    assert MANIFEST in full.value.hint
    with pytest.raises(DiskFull):
        dump_database(settings_of(state, AOS_DISK_FREE_BYTES=str(10**15)), tmp_path / "to", print)
    assert not (tmp_path / "to").exists()
    monkeypatch.setenv("AOS_STATE_DIR", str(state))
    (tmp_path / "open").mkdir(mode=0o755)
    assert run_command(["upgrade", "--dump", str(tmp_path / "open")]) == 0
    shown = capsys.readouterr().out
    assert f"Dumped to {tmp_path}" in shown and "rows of" in shown
    assert (tmp_path / "open").stat().st_mode & 0o777 == 0o700 and read_dump(tmp_path / "open").rows
    assert run_command(["upgrade", "--dump", "x", "--load", "y"]) == 1
    assert "one of --check, --dump and --load" in capsys.readouterr().err


def test_a_schema_of_older_code_is_migrated_before_it_is_dumped(state: Path, tmp_path: Path) -> None:
    settings = settings_of(state)
    asyncio.run(apply_migrations(owner_of(settings), until("0103", tmp_path / "old")))
    embedded.stop_servers(state)
    with pytest.raises(Conflict, match=r"migrations are not applied yet, 0104_rights_passes.sql the first") as refused:
        dump_database(settings, tmp_path / "to", print)
    assert "aos up" in refused.value.hint and not (tmp_path / "to").exists()
    with psycopg.connect(owner_of(settings), autocommit=True) as connection:
        connection.execute("insert into schema_migrations (name, hash) values ('9001_later.sql', 'x')")
    with pytest.raises(Exception, match="newer code"):
        dump_database(settings, tmp_path / "to", print)


def test_progress_is_told_now_and_then() -> None:
    told: list[int] = []
    tick = every(0.05, lambda: told.append(1))
    tick()
    assert told == []
    time.sleep(0.06)
    tick()
    tick()
    assert told == [1]
