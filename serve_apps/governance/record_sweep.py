"""Records that hold what is erased: found by its marks in every table of the stock list, and redacted or deleted."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final, cast

from psycopg import sql
from psycopg.types.json import Jsonb

from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database, Row, Transaction, load_queries
from serve_apps.governance.marks import ErasureMarks, MarkFinder, texts_in, without_texts
from serve_apps.governance.stock import RECORDS, WRITTEN, RecordPlace, Remedy

AT_ONCE: Final = 500  # rows that are read and looked through together
_GIVEN: Final = ("run_steps", "reply")  # what retrieval, tools and models gave a run
_BY_ID: Final = frozenset({"answers", "facts", "episodes", "session_summaries"})  # never deleted for a file's name
_RUN_TABLES: Final = ("run_steps", "approvals", "run_feedback")


@dataclass(frozen=True, slots=True)
class MarkedRecords:
    """Rows that hold marks: by table their keys with what they hold.

    Attributes:
        runs: those that name what is looked for by an id.
        told: those that were given its words by retrieval, a tool or a model.
    """

    rows: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    runs: frozenset[str] = frozenset()
    told: frozenset[str] = frozenset()

    @property
    def counts(self) -> dict[str, int]:
        """How many rows, by table; tables without any are left out."""
        return {table: len(rows) for table, rows in self.rows.items() if rows}

    def parts(self, most: int) -> Iterator["MarkedRecords"]:
        """The same rows, at most so many at once; each is treated for itself."""
        for table, rows in self.rows.items():
            for at in range(0, len(rows), most):
                yield MarkedRecords({table: rows[at : at + most]})


def run_batches(about: Sequence[Row], most: int) -> Iterator[list[str]]:
    """Ids of runs in batches; those of one conversation, and of one delegation, are never apart.

    Whatever is found by another one would not be found again after that one had gone: a batch that is cut off leaves
    either all of them or none. So a batch may be longer than `most`.
    """
    group: dict[str, str] = {}

    def head(name: str) -> str:
        while (above := group.setdefault(name, name)) != name:
            group[name] = group[above]
            name = above
        return name

    for run in about:
        for other in (f"session {run['session']}", run["parent"]):
            if other is not None:
                group[head(str(other))] = head(run["id"])
    together: dict[str, list[str]] = {}
    for run in about:
        together.setdefault(head(run["id"]), []).append(run["id"])
    batch: list[str] = []
    for runs in together.values():
        if batch and len(batch) + len(runs) > most:
            yield batch
            batch = []
        batch += runs
    if batch:
        yield batch


class RecordSweep:
    """Looks through one workspace at a time. Tables and columns are the stock list's: none comes from outside."""

    def __init__(self, database: Database, finder: MarkFinder) -> None:
        """Queries are read from record_sweep.sql beside this file."""
        self._db, self._finder = database, finder
        self._sql = load_queries(Path(__file__).with_suffix(".sql"))

    async def find(self, scope: Scope, marks: ErasureMarks, *, written: bool = False) -> MarkedRecords:
        """What holds a mark among the workspace's records, or among what people wrote for the product."""
        rows: dict[str, list[Row]] = {}
        runs, told = set[str](), set[str]()
        for place in WRITTEN if written else RECORDS:
            async with self._db.transaction(scope) as tx:
                async for batch in _batches(tx, scope, place):
                    found = await asyncio.to_thread(self._marked, marks, place, batch)
                    rows.setdefault(place.table, []).extend(found)
                    runs |= {row["_run"] for row in found if row["_run"] and self._names(marks, place, row)}
                    if place.table == _GIVEN[0]:
                        told |= {row["_run"] for row in found if self._finder.is_in(marks.quotes, row[_GIVEN[1]])}
        return MarkedRecords(rows, frozenset(runs), frozenset(told))

    async def runs_about(
        self, scope: Scope, documents: Sequence[str], found: MarkedRecords, before: datetime
    ) -> list[Row]:
        """Runs that are about documents: those found, and those whose answers cite one as it was before a moment.

        With what came later in conversations that name one, as that holds what was said before, and the runs above and
        below.
        """
        named = {"documents": list(documents), "runs": sorted(found.runs), "told": sorted(found.told)}
        return await self._db.read(scope, self._sql["runs_about"], workspace=scope.workspace, **named, before=before)

    async def refuse_held(self, scope: Scope, found: MarkedRecords, about: Sequence[Row] = ()) -> None:
        """Raises LegalHold: whoever one of the rows belongs to is held, or the workspace, or what is quoted there."""
        async with self._db.transaction(scope) as tx:
            await self.refuse_held_until_end(tx, scope, found, about)

    async def refuse_held_until_end(
        self, tx: Transaction, scope: Scope, found: MarkedRecords, about: Sequence[Row] = ()
    ) -> None:
        """The same, and until the transaction has ended nobody puts a hold: no wall stands around what is redacted."""
        rows = found.rows
        at_sessions = ("messages", "session_summaries", "episodes")
        sessions = {str(row["session_id"]) for table in at_sessions for row in rows.get(table, ())}
        sessions |= {str(row["id"]) for row in rows.get("sessions", ())} | {str(run["session"]) for run in about}
        runs = {str(row["_run"]) for of in rows.values() for row in of if row["_run"]} | {
            str(run["id"]) for run in about
        }
        opinions = rows.get("run_feedback", ())
        named = {
            "sessions": sorted(sessions),
            "runs": sorted(runs | {str(row["run_id"]) for row in opinions}),
            "answers": [str(row["id"]) for row in rows.get("answers", ())],
            "facts": [str(row["id"]) for row in rows.get("facts", ())],
            "users": [str(row["user_id"]) for row in opinions],
            "any": bool(about) or any(rows.values()),
        }
        await tx.one(self._sql["wait_for_holds"], tenant=scope.tenant)
        await tx.run(self._sql["refuse_held"], **scope.keys, **named)
        quoting = {name: named[name] for name in ("runs", "answers", "sessions")}
        await tx.run(self._sql["refuse_quoted"], **scope.keys, **quoting)

    async def written_texts(self, scope: Scope) -> AsyncIterator[list[str]]:
        """What people wrote for the product in the workspace: prompts, skills and the like, in batches."""
        for place in WRITTEN:
            async with self._db.transaction(scope) as tx:
                async for batch in _batches(tx, scope, place):
                    yield [text for row in batch for name in place.columns for text in texts_in(row[name])]

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

    async def treat(
        self, tx: Transaction, scope: Scope, found: MarkedRecords, marks: ErasureMarks, *, people: bool = False
    ) -> Counter[str]:
        """Delete or redact the rows that were found, as the stock list says. Counts by table.

        Of those of runs the texts alone: whole runs went before, where they go. With `people` nothing is deleted: what
        is left are other people's rows, which lose an address or an id.
        """
        went: Counter[str] = Counter()
        for place in RECORDS:
            for row in found.rows.get(place.table, ()):
                key = {name: row[name] for name in place.key}
                if place.remedy is Remedy.DELETE and self._goes(marks, place, row, people=people):
                    went[place.table] += await tx.run(_delete_row(place), **key, **_at(scope))
                    continue
                changed = {
                    name: after
                    for name in place.columns
                    if name not in place.key and (after := self._finder.redacted(marks, row[name])) != row[name]
                }
                if changed:
                    changed |= dict(place.derived)
                    query = _update_row(place, tuple(changed))
                    went[place.table] += await tx.run(query, **key, new=Jsonb(changed), **_at(scope))
        return went

    def _goes(self, marks: ErasureMarks, place: RecordPlace, row: Row, *, people: bool) -> bool:
        if people:
            return False
        if place.table not in _BY_ID:
            return True
        # Of an answer that only quotes it the other claims stay; the others are one text each.
        strong = marks.strong if place.table == "answers" else replace(marks, names=frozenset())
        return self._names(strong, place, row)

    def _names(self, marks: ErasureMarks, place: RecordPlace, row: Row) -> bool:
        looked = marks.strong if place.run else marks
        return any(self._finder.is_in(looked, row[name]) for name in place.columns)

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
