"""The tables as Postgres knows them: so a table that is new tomorrow is looked at without a word here."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cluster.state.db.postgres import load_queries
from serve_apps.integrity.examination import Examination

_SQL: Final = load_queries(Path(__file__).with_suffix(".sql"))
CASCADE: Final = "c"
SET_NULL: Final = "n"


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A table that holds rows; `family` is what a partition is of, else the table itself."""

    name: str
    family: str
    key: Sequence[str]
    columns: frozenset[str]


@dataclass(frozen=True, slots=True)
class TableReference:
    """A foreign key; `action` as `pg_constraint.confdeltype` has it."""

    table: str
    columns: Sequence[str]
    parent: str
    parent_columns: Sequence[str]
    action: str


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All tables, and all keys between them."""

    tables: Sequence[StoredTable]
    references: Sequence[TableReference]

    def of_family(self, family: str) -> list[StoredTable]:
        """A table, or the partitions of one."""
        return [table for table in self.tables if table.family == family]


async def read_catalogue(work: Examination) -> Catalogue:
    """As it is now."""
    tables = [
        StoredTable(row["name"], row["family"], row["key"], frozenset(row["columns"] or ()))
        for row in await work.rows(_SQL["tables"])
    ]
    references = [TableReference(**row) for row in await work.rows(_SQL["references"])]
    return Catalogue(tables, references)
