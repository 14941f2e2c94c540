"""Databases of earlier schemas: empty ones, and such as code of that time left them (`older_states`)."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
from psycopg.conninfo import make_conninfo

from cluster.state.db.embedded import StateEndpoints
from cluster.state.db.migrate import apply_migrations
from cluster.state.db.migration_files import FOLDER
from tests.fakes.older_states import make_states

STATES = Path(make_states.__file__).parent
FIXED_TIMES = ("audit", "audit_anchors", "schema_migrations")  # chained by hashes that cover the time
TABLES = (
    "select relname::text from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')"
    " and relname <> 'schema_migrations'"
)
TIMES = (
    "select c.relname::text, array_agg(a.attname::text) from pg_class c join pg_attribute a on a.attrelid = c.oid"
    " where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and a.attgenerated = '' and a.attnum > 0"
    " and a.atttypid = 'timestamptz'::regtype group by 1"
)


@dataclass(frozen=True, slots=True)
class OlderState:
    """A database that earlier code filled, and what it left there.

    Attributes:
        facts: see `make_states`.
    """

    owner: str
    application: str
    facts: dict[str, Any]

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """As the owner."""
        with psycopg.connect(self.owner) as connection:
            found = connection.execute(query.encode(), values)
            return found.fetchall() if found.description else []

    def counts(self) -> dict[str, int]:
        """Rows of each table that had some."""
        return {table: self.rows(f"select count(*) from {table}")[0][0] for table in self.facts["counts"]}


@contextmanager
def empty_database(endpoints: StateEndpoints) -> Iterator[tuple[str, str]]:
    """Connection strings of the owner and of the application, for a database without a table."""
    name = f"old_{uuid4().hex[:12]}"
    owner = endpoints.postgres_admin or ""
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute(f"create database {name}".encode())
    try:
        yield make_conninfo(owner, dbname=name), make_conninfo(endpoints.postgres, dbname=name)
    finally:
        with psycopg.connect(owner, autocommit=True) as connection:
            connection.execute(f"drop database {name} with (force)".encode())


def until(last: str, place: Path) -> Path:
    """The migrations up to one of them."""
    place.mkdir()
    for path in FOLDER.glob("[0-9]*.sql"):
        if path.name[:4] <= last:
            shutil.copy(path, place / path.name)
    return place


def predecessors() -> list[str]:
    """Last migrations of the states that are kept."""
    return sorted(path.stem for path in STATES.glob("[0-9]*.sql"))


async def restore_state(last: str, empty: tuple[str, str], folder: Path) -> OlderState:
    """Fill an empty database with the state up to a migration, as if it was left just now; files go to `folder`."""
    owner, application = empty
    facts = json.loads((STATES / f"{last}.json").read_text(encoding="utf-8"))
    await apply_migrations(owner, until(last, folder / "migrations"))
    text = (STATES / f"{last}.sql").read_text(encoding="utf-8").replace(make_states.FOLDER, str(folder))
    with psycopg.connect(owner) as connection:
        for number in range(facts["counts"]["generations"]):  # each has a table of its own, numbered in their order
            connection.execute("select open_generation('', '', 26, '', %s, true)", (str(number),))
        connection.execute("set session_replication_role = replica")
        tables = dict(connection.execute(TIMES).fetchall())
        made = [name for (name,) in connection.execute(TABLES)]
        connection.execute(f"truncate {', '.join(made)}".encode())
        connection.execute(text.encode())
        for table, columns in tables.items():
            if table not in FIXED_TIMES:
                moved = ", ".join(f"{one} = {one} + (clock_timestamp() - %(at)s::timestamptz)" for one in columns)
                connection.execute(f"update {table} set {moved}".encode(), {"at": facts["at"]})
    for number in range(make_states.BOOKS + make_states.HALF):
        (folder / f"{number}.txt").write_text(make_states.book(number), encoding="utf-8")
    return OlderState(owner, application, facts)
