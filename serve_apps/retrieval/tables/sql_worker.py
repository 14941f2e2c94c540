"""The program that runs a query somebody wrote: JSON and Arrow in, JSON out, within limits that the system keeps.

A process of its own, as what the database allows does not bound the texts that a query makes; its limits are set before
anything of the query is read. It is started by its path: it imports nothing of ours but `row_lineage`.
"""

import json
import resource
import sys
import threading
from collections.abc import Collection, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO, Final

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from serve_apps.retrieval.tables.row_lineage import LINEAGE, LineageRewriter, Untraceable, split_row_key

MEMORY: Final = "512MB"
ADDRESSES: Final = 3 << 30  # bytes; libraries take most of one
LONGEST_CELL: Final = 2_000  # characters
LONGEST_ERROR: Final = 600
EXACT_INTEGER: Final = 2**53  # up to which every reader of JSON has all whole numbers
_TABLES: Final = frozenset({"range", "generate_series", "unnest"})  # functions that may stand in FROM
_SOURCES: Final = frozenset({"BASE_TABLE", "JOIN", "SUBQUERY", "EMPTY", "EXPRESSION_LIST", "TABLE_FUNCTION"})
Tree = dict[str, Any]


class RefusedQuery(Exception):
    """The query is none that may be run here; the text says why."""


def main() -> None:
    """Read one request from standard input, and write its answer."""
    head = json.loads(sys.stdin.buffer.readline())
    _limit_process(float(head["seconds"]))
    tables = _read_tables(sys.stdin.buffer, head["tables"])
    try:
        answer = run_query(head["sql"], tables, head["most"], head["cited"], head["seconds"])
    except RefusedQuery as error:
        answer = {"error": str(error)}
    except duckdb.Error as error:
        answer = {"error": _error_text(error)}
    except (MemoryError, RecursionError):
        answer = {"error": "it needs more memory than a query gets"}
    sys.stdout.write(json.dumps(answer, ensure_ascii=True, allow_nan=False))


def _limit_process(seconds: float) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    most = int(seconds) + 5
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _read_tables(stream: BinaryIO, names: Collection[str]) -> dict[str, pa.Table]:
    return {name: pa.ipc.open_stream(stream).read_all() for name in names}


def run_query(sql: str, tables: Mapping[str, pa.Table], most: int, cited: int, seconds: float) -> dict[str, Any]:
    """Columns and rows, at most `most`, and the rows that each is made of, at most `cited` with how many there are.

    Raises RefusedQuery, duckdb.Error.
    """
    settings: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": MEMORY,
        "threads": "1",
        "enable_external_access": "false",
        "temp_directory": "",
        "autoload_known_extensions": "false",
    }
    with duckdb.connect(":memory:", config=settings) as link:
        timer = threading.Timer(seconds, link.interrupt)
        timer.start()
        try:
            tree = _parse(link, sql)
            node = _single_select(tree)
            _check_sources(node, {name.casefold() for name in tables}, frozenset())
            with_totals = _names_column(node, "is_total")
            for name, table in tables.items():
                kept = table if with_totals else table.filter(pc.invert(table["is_total"]))
                link.from_arrow(kept).create(_quoted(name))
            link.execute("set lock_configuration = true")
            _limit_rows(node, most + 1, link)
            found = _run_traced(link, tree, tables, most)
            traced = found is not None
            columns, rows = found if found is not None else _run_tree(link, tree, most + 1)
        finally:
            timer.cancel()
    answer = {"columns": columns, "cut": len(rows) > most, "with_totals": with_totals, "named": _named_columns(node)}
    rows = rows[:most]
    answer["lineage"] = [_cited_rows(row[-1] or (), cited) for row in rows] if traced else None
    answer["rows"] = [[_plain(cell) for cell in (row[:-1] if traced else row)] for row in rows]
    return answer


def _parse(link: duckdb.DuckDBPyConnection, sql: str) -> Tree:
    found = link.execute("select json_serialize_sql(?::varchar)", [sql]).fetchall()
    tree: Tree = json.loads(found[0][0])
    if tree["error"]:
        said = tree["error_message"]
        raise RefusedQuery("it is not one SELECT" if said.startswith("Only SELECT") else said)
    return tree


def _single_select(tree: Tree) -> Tree:
    if len(tree["statements"]) != 1:
        raise RefusedQuery("it is not one SELECT")
    node: Tree = tree["statements"][0]["node"]
    return node


def _check_sources(part: Any, tables: Collection[str], named: frozenset[str]) -> None:
    """Raises RefusedQuery: something else than the tables, and what the query makes of them, stands in a FROM."""
    if isinstance(part, list):
        for one in part:
            _check_sources(one, tables, named)
    if not isinstance(part, dict):
        return
    if "cte_map" in part:
        named |= {entry["key"].casefold() for entry in part["cte_map"]["map"]}
    for source in _sources_of(part):
        _check_source(source, tables, named)
    for one in part.values():
        _check_sources(one, tables, named)


def _sources_of(part: Tree) -> Iterator[Tree]:
    if part.get("from_table"):
        yield part["from_table"]
    if part.get("type") == "JOIN":
        yield part["left"]
        yield part["right"]


def _check_source(source: Tree, tables: Collection[str], named: Collection[str]) -> None:
    if source["type"] not in _SOURCES:
        raise RefusedQuery(f"{source['type'].casefold()} may not stand in FROM")
    if source["type"] == "TABLE_FUNCTION" and source["function"]["function_name"] not in _TABLES:
        raise RefusedQuery(
            f"{source['function']['function_name']}() may not stand in FROM; only tables that are listed"
        )
    if source["type"] == "BASE_TABLE":
        name = ".".join(source["qualified_name"]["path"])
        if name.casefold() not in {*tables, *named}:
            raise RefusedQuery(f"there is no table {name}")


def _limit_rows(node: Tree, most: int, link: duckdb.DuckDBPyConnection) -> None:
    """Nothing is made beyond what is shown."""
    if not any(one["type"].startswith("LIMIT") for one in node["modifiers"]):
        node["modifiers"] += _single_select(_parse(link, f"select 1 limit {most}"))["modifiers"]


def _run_traced(
    link: duckdb.DuckDBPyConnection, tree: Tree, tables: Mapping[str, pa.Table], most: int
) -> tuple[list[Tree], list[tuple[Any, ...]]] | None:
    """The rows with what they are made of; None where that cannot be told."""
    aggregates = {
        str(name)
        for (name,) in link.execute(
            "select distinct function_name from duckdb_functions() where function_type = 'aggregate'"
        ).fetchall()
    }
    numbers = {name.casefold(): at for at, name in enumerate(tables)}
    rewriter = LineageRewriter(numbers, aggregates, lambda sql: _single_select(_parse(link, sql)))
    try:
        node = rewriter.rewrite(_single_select(tree))
        columns, rows = _run_tree(
            link, {"error": False, "statements": [{**tree["statements"][0], "node": node}]}, most + 1
        )
    except (Untraceable, duckdb.BinderException, duckdb.ParserException, duckdb.OutOfMemoryException):
        return None
    return (columns[:-1], rows) if columns[-1]["name"] == LINEAGE else None


def _run_tree(link: duckdb.DuckDBPyConnection, tree: Tree, most: int) -> tuple[list[Tree], list[tuple[Any, ...]]]:
    made = link.execute("select json_deserialize_sql(?::json)", [json.dumps(tree)]).fetchall()
    found = link.execute(str(made[0][0]))
    columns = [{"name": str(one[0]), "type": str(one[1])} for one in found.description or ()]
    return columns, found.fetchmany(most)


def _names_column(part: Any, name: str) -> bool:
    return name in _named_columns(part)


def _named_columns(part: Any) -> list[str]:
    """Folded names of the columns that a query says, each once."""
    found: dict[str, None] = {}
    left = [part]
    while left:
        one = left.pop()
        if isinstance(one, list):
            left += one
        elif isinstance(one, dict):
            if one.get("class") == "COLUMN_REF":
                found[one["column_names"][-1].casefold()] = None
            left += one.values()
    return list(found)


def _cited_rows(keys: Collection[int | None], most: int) -> Tree:
    once = dict.fromkeys(key for key in keys if key is not None)
    return {"rows": [split_row_key(key) for key in list(once)[:most]], "count": len(once)}


def _plain(value: Any) -> Any:
    """A value of JSON; a number that JSON would round stays a text."""
    match value:
        case None | bool():
            return value
        case int():
            return value if abs(value) <= EXACT_INTEGER else str(value)
        case Decimal():
            if value == value.to_integral_value():
                return _plain(int(value))
            near = float(value)
            return near if Decimal(repr(near)) == value else str(value)
        case float():
            return value if value == value and abs(value) != float("inf") else None
        case list() | tuple():
            return [_plain(one) for one in value]
        case dict():
            return {str(key): _plain(one) for key, one in value.items()}
    text = value if isinstance(value, str) else value.isoformat() if hasattr(value, "isoformat") else str(value)
    return text if len(text) <= LONGEST_CELL else f"{text[:LONGEST_CELL]}…"


def _error_text(error: duckdb.Error) -> str:
    if isinstance(error, duckdb.InterruptException):
        return "it takes too long"
    if isinstance(error, duckdb.OutOfMemoryException):
        return "it needs more memory than a query gets"
    said = " ".join(str(error).partition("\n\nLINE")[0].split())
    return said[:LONGEST_ERROR]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


if __name__ == "__main__":
    main()
