"""Queries that somebody wrote, over relations: run in a process of their own, each row with the rows it is made of."""

import asyncio
import contextlib
import difflib
import json
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pipelines.documents.facts.page_table import TableKind
from serve_apps.retrieval.tables.cell_values import ColumnType, decimal_mark, parse_number
from serve_apps.retrieval.tables.relation import OWN_COLUMNS, Relation, RowPlace
from serve_apps.retrieval.tables.sandboxed_sql import BadQuery, arrow_table

if TYPE_CHECKING:
    import pyarrow as pa

PROGRAM: Final = Path(__file__).with_name("sql_worker.py")  # not imported: its libraries are for its own process
SECONDS: Final = 10.0
STARTING: Final = 5.0  # seconds more for the process itself
MOST_READ: Final = 8_000_000  # bytes of its answer, in which a character takes up to six and rows name their places
MOST_CITED: Final = 10  # rows of the documents that are given of a row of the result
MOST_NEAR: Final = 8  # columns that are named where one is not there
MOST_SAID: Final = 20
_MISSING = re.compile(r'column (?:named )?"(?P<name>[^"]+)"', re.IGNORECASE)
Json = Any


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of a result."""

    name: str
    type: str  # text, number, date or other
    unit: str = ""  # of the column of the table that it is called like


@dataclass(frozen=True, slots=True)
class ResultSource:
    """Rows of the documents that one row of a result is made of."""

    places: tuple[RowPlace, ...]  # the first of them
    rows: int  # how many they are in all


@dataclass(frozen=True, slots=True)
class QueryResult:
    """What a query gave."""

    sql: str
    tables: tuple[str, ...]  # that it reads
    columns: tuple[ResultColumn, ...]
    rows: tuple[tuple[Json, ...], ...]
    sources: tuple[ResultSource, ...] | None  # of each row; None where the query hides them
    notes: tuple[str, ...]  # what a reader has to know: what is left out, and how much more there is


async def run_written_query(
    sql: str, relations: Mapping[str, Relation], *, most: int, seconds: float = SECONDS, cited: int = MOST_CITED
) -> QueryResult:
    """Run one SELECT over relations by their names, and give its first `most` rows. Cancelled, its process ends.

    Raises BadQuery: it is no single SELECT, names what is not there, or takes more than it gets; with what to do.
    """
    head = {"sql": sql, "tables": list(relations), "most": most, "cited": cited, "seconds": seconds}
    answer = await _ask_worker(await asyncio.to_thread(_request_of, head, relations), seconds + STARTING)
    if "error" in answer:
        raise BadQuery(answer["error"], fix=_fix_of(answer["error"], relations))
    named, order = frozenset(answer["named"]), list(relations.values())
    notes = _totals_notes(relations, with_totals=answer["with_totals"])
    if answer["cut"]:
        notes.append(f"Only the first {most} rows are shown; sum up, filter or use LIMIT and OFFSET.")
    if answer["lineage"] is None:
        notes.append("From which rows of the documents this is made cannot be told of a query of this form.")
        sources = None
    else:
        sources = tuple(_source_of(one, order, named, is_starred=answer["starred"]) for one in answer["lineage"])
    columns = tuple(_result_column(one, order) for one in answer["columns"])
    return QueryResult(sql, tuple(relations), columns, tuple(map(tuple, answer["rows"])), sources, tuple(notes))


def _request_of(head: Mapping[str, Json], relations: Mapping[str, Relation]) -> bytes:
    import pyarrow as pa

    parts = [json.dumps(head).encode() + b"\n"]
    for relation in relations.values():
        try:
            parts.append(_stream_of(arrow_table(_with_totals(relation))))
        except pa.ArrowException as error:
            raise BadQuery(f"its table cannot be loaded: {str(error).splitlines()[0]}") from error
    return b"".join(parts)


async def _ask_worker(request: bytes, seconds: float) -> Json:
    # -I: neither the folder it is started in nor a variable has a say in what is imported.
    line = (sys.executable, "-I", "-X", "utf8", str(PROGRAM))
    pipe, null = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    child = await asyncio.create_subprocess_exec(*line, env={}, cwd="/", stdin=pipe, stdout=pipe, stderr=null)
    try:
        async with asyncio.timeout(seconds):
            said = await _exchange_bytes(child, request)
        return dict(json.loads(said)) if len(said) <= MOST_READ else {"error": "its result is too large"}
    except TimeoutError:
        return {"error": "it takes too long"}
    except ValueError:  # it was ended by its limits, and wrote nothing
        return {"error": "it needs more memory or time than a query gets"}
    finally:
        with contextlib.suppress(ProcessLookupError):
            child.kill()
        await asyncio.shield(child.wait())


async def _exchange_bytes(child: asyncio.subprocess.Process, request: bytes) -> bytes:
    """What the program writes, and of that no more than a little above the limit."""
    if child.stdin is None or child.stdout is None:
        raise ValueError("the program has no pipes")
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it ended before it had read all
        child.stdin.write(request)
        await child.stdin.drain()  # it writes nothing before it has read everything
    child.stdin.close()
    said = bytearray()
    while len(said) <= MOST_READ and (part := await child.stdout.read(MOST_READ)):
        said += part
    return bytes(said)


def _with_totals(relation: Relation) -> Relation:
    """The relation with the numbers of its totals, which calculations never need."""
    columns = []
    for column in relation.columns:
        values = list(column.values)
        if column.type is ColumnType.NUMBER:
            mark = decimal_mark([cell for cell in column.shown if cell])
            for at in relation.totals:
                found = parse_number(column.shown[at], mark)
                values[at] = found.value if found else None
        columns.append(replace(column, values=tuple(values)))
    return replace(relation, columns=tuple(columns))


def _stream_of(table: "pa.Table") -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _fix_of(error: str, relations: Mapping[str, Relation]) -> str:
    """What to do about an error: the names that are nearest to one that is not there."""
    columns = {name: [*(one.name for one in relation.columns), *OWN_COLUMNS] for name, relation in relations.items()}
    if "no table" in error:
        return f"The tables here are {', '.join(relations) or 'none'}; names come from the list of tables."
    if "too long" in error or "memory" in error:
        return "Filter or sum up earlier, and join tables by a column that they share."
    if "too large" in error or "cannot be shown" in error:
        return "Select fewer columns and rows, or shorter values; cast what is neither text, number nor day to text."
    if "one SELECT" in error:
        return "Write one SELECT, without a semicolon; nothing can be changed here."
    if "may not stand in FROM" in error:
        return "Only tables that are listed can be read: no files, no addresses, nothing of the database itself."
    missing = _MISSING.search(error)
    if missing is None:
        return BadQuery.fix
    everything = list(dict.fromkeys(one for some in columns.values() for one in some))
    by_fold = {one.casefold(): one for one in everything}
    near = difflib.get_close_matches(missing["name"].casefold(), by_fold, MOST_NEAR, 0.5)
    shown = [by_fold[one] for one in near] or everything[:MOST_SAID]
    return f"Columns are {', '.join(_quoted_name(one) for one in shown)}, in double quotes as they stand here."


def _quoted_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _totals_notes(relations: Mapping[str, Relation], *, with_totals: Collection[str]) -> list[str]:
    """What a sum has to be read with: totals that it lacks, or rows that it may count twice."""
    notes = []
    for name, relation in relations.items():
        if relation.totals and name not in with_totals:
            count = f"{len(relation.totals)} row{'s' if len(relation.totals) > 1 else ''}"
            notes.append(f"{count} of {name} that sum others up left out; name is_total in the query to have them.")
        if relation.doubtful:
            numbers = ", ".join(map(str, sorted(relation.doubtful)[:MOST_NEAR]))
            notes.append(f"Rows of {name} that may sum others up, and are counted: row {numbers}.")
    return notes


def _result_column(column: Mapping[str, str], relations: Sequence[Relation]) -> ResultColumn:
    name, said = column["name"], column["type"].upper()
    number = said.startswith(("DECIMAL", "DOUBLE", "FLOAT")) or "INT" in said.partition("[")[0]
    date = said.startswith(("DATE", "TIMESTAMP"))
    plain = "[" not in said and not said.startswith(("STRUCT", "MAP", "UNION", "BOOL"))
    type_ = "other" if not plain else "number" if number else "date" if date else "text"
    units = {one.unit for relation in relations for one in relation.columns if one.name == name}
    return ResultColumn(name, type_, units.pop() if type_ == "number" and len(units) == 1 else "")


def _source_of(found: Json, relations: Sequence[Relation], named: frozenset[str], *, is_starred: bool) -> ResultSource:
    places = (
        place
        for table, row in found["rows"]
        for place in _places_of(relations[table], row, named, is_starred=is_starred)
    )
    return ResultSource(tuple(dict.fromkeys(places)), found["count"])


def _places_of(relation: Relation, row: int, named: frozenset[str], *, is_starred: bool) -> Sequence[RowPlace]:
    """Of a grid the row; of a form the fields that the query names, or with a star all, that are filled."""
    if relation.kind is TableKind.GRID:
        return relation.places[row]
    fields = [
        place
        for column, place in zip(relation.columns, relation.places[row], strict=True)
        if column.shown[row] and (is_starred or column.name.casefold() in named)
    ]
    return fields or relation.places[row][:1]
