"""Records that hold what is erased: found by its marks in every table of the stock list, and redacted or deleted."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

from psycopg import sql
from psycopg.types.json import Jsonb

from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database, Row, Transaction, load_queries
from serve_apps.governance.marks import ErasureMarks, MarkFinder, without_texts
from serve_apps.governance.stock import RECORDS, WRITTEN, RecordPlace, Remedy

AT_ONCE: Final = 500  # rows that are read and looked through together
_RUN_TABLES: Final = ("run_steps", "approvals", "run_feedback")


@dataclass(frozen=True, slots=True)
class MarkedRecords:
    """Rows that hold marks: by table their keys with what they hold, and the runs that they belong to."""

    rows: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    runs: frozenset[str] = frozenset()

    @property
    def counts(self) -> dict[str, int]:
        """How many rows, by table; tables without any are left out."""
        return {table: len(rows) for table, rows in self.rows.items() if rows}


class RecordSweep:
    """Looks through one workspace at a time. Tables and columns are the stock list's: none comes from outside."""

    def __init__(self, database: Database, finder: MarkFinder) -> None:
        """Queries are read from record_sweep.sql beside this file."""
        self._db, self._finder = database, finder
        self._sql = load_queries(Path(__file__).with_suffix(".sql"))

    async def find(self, scope: Scope, marks: ErasureMarks, *, written: bool = False) -> MarkedRecords:
        """What holds a mark among the workspace's records, or among what people wrote for the product."""
        rows: dict[str, list[Row]] = {}
        runs: set[str] = set()
        for place in WRITTEN if written else RECORDS:
            async with self._db.transaction(scope) as tx:
                async for batch in _batches(tx, scope, place):
                    found = await asyncio.to_thread(self._marked, marks, place, batch)
                    rows.setdefault(place.table, []).extend(found)
                    runs |= {row["_run"] for row in found if row["_run"]}
        return MarkedRecords(rows, frozenset(runs))

    async def runs_about(self, scope: Scope, documents: Sequence[str], found: MarkedRecords) -> list[Row]:
        """Runs that are about documents: those found, and those whose answers cite one.

        With what came later in their conversations, as that holds what was said before, and the runs above and below.
        """
        named = {"workspace": scope.workspace, "documents": list(documents), "runs": sorted(found.runs)}
        return await self._db.read(scope, self._sql["runs_about"], **named)

    async def erase_runs(self, tx: Transaction, scope: Scope, runs: Sequence[str]) -> Counter[str]:
        """Delete runs with journals, events, answers and what was remembered of their conversations; messages lose the
        answers. Counts by table.
        """
        went: Counter[str] = Counter()
        if not runs:
            return went
        named = {"workspace": scope.workspace, "runs": list(runs)}
        for table in _RUN_TABLES:
            went[table] += int((await tx.only(self._sql[f"count_{table}"], **named))["total"])
        for step in (
            "session_summaries",
            "episodes",
            "facts",
            "answer_citations",
            "answers",
            "events",
            "event_streams",
        ):
            went[step] += await tx.run(self._sql[f"delete_{step}"], **named)
        for row in await tx.all(self._sql["replies"], **named):
            content = without_texts(row["content"])
            if content != row["content"]:
                await tx.run(self._sql["rewrite_message"], **row["id"], **_at(scope), content=Jsonb(content))
                went["messages"] += 1
        went["runs"] += await tx.run(self._sql["delete_runs"], **named)
        return went

    async def treat(self, tx: Transaction, scope: Scope, found: MarkedRecords, marks: ErasureMarks) -> Counter[str]:
        """Delete or redact the rows that were found, as the stock list says. Counts by table.

        Of those of runs the texts alone: whole runs went before, where they go.
        """
        went: Counter[str] = Counter()
        for place in RECORDS:
            for row in found.rows.get(place.table, ()):
                key = {name: row[name] for name in place.key}
                if place.remedy is Remedy.DELETE:
                    went[place.table] += await tx.run(_delete_row(place), **key, **_at(scope))
                    continue
                changed = {
                    name: after
                    for name in place.columns
                    if name not in place.key and (after := self._finder.redacted(marks, row[name])) != row[name]
                }
                if changed:
                    query = _update_row(place, tuple(changed))
                    went[place.table] += await tx.run(query, **key, new=Jsonb(changed), **_at(scope))
        return went

    def _marked(self, marks: ErasureMarks, place: RecordPlace, batch: Iterable[Row]) -> list[Row]:
        return [row for row in batch if any(self._finder.is_in(marks, row[name]) for name in place.columns)]


def _at(scope: Scope) -> dict[str, str]:
    return {"its_workspace": scope.workspace}


async def _batches(tx: Transaction, scope: Scope, place: RecordPlace) -> AsyncIterator[list[Row]]:
    names = list(dict.fromkeys((*place.key, *place.columns)))
    query = sql.SQL("select {}, {} as _run from {} where workspace_id = %s").format(
        sql.SQL(", ").join(map(sql.Identifier, names)),
        sql.SQL(cast("Any", place.run or "null::text")),
        sql.Identifier(place.table),
    )
    async with tx.connection.cursor(name="sweep") as cursor:
        await cursor.execute(query, [scope.workspace])
        while rows := await cursor.fetchmany(AT_ONCE):
            yield rows


def _delete_row(place: RecordPlace) -> Any:
    return sql.SQL("delete from {} t where {}").format(sql.Identifier(place.table), _row_condition(place))


def _update_row(place: RecordPlace, columns: Sequence[str]) -> Any:
    """Values come as one JSON object, from which Postgres makes what each column is of."""
    changes = sql.SQL(", ").join(sql.SQL("{0} = n.{0}").format(sql.Identifier(name)) for name in columns)
    table = sql.Identifier(place.table)
    return sql.SQL("update {0} t set {1} from jsonb_populate_record(null::{0}, {2}) n where {3}").format(
        table, changes, sql.Placeholder("new"), _row_condition(place)
    )


def _row_condition(place: RecordPlace) -> sql.Composed:
    keys = [sql.SQL("t.{} = {}").format(sql.Identifier(name), sql.Placeholder(name)) for name in place.key]
    return sql.SQL(" and ").join([*keys, sql.SQL("t.workspace_id = {}").format(sql.Placeholder("its_workspace"))])
