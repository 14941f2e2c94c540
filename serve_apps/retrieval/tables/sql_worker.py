"""The program that runs a query somebody wrote: JSON and Arrow in, JSON out, within limits that the system keeps.

A process of its own, as what the database allows does not bound the texts that a query makes; its limits are set before
anything of the query is read. It is started by its path: it imports nothing of ours but `row_lineage`.
"""

import json
import resource
import sys
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import islice
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
LONGEST_LIST: Final = 100  # items of a list, a structure or a map
LONGEST_TYPE: Final = 200  # characters of the name of a column's type
LARGEST_ANSWER: Final = 2_000_000  # characters of all cells
LONGEST_ERROR: Final = 600
EXACT_INTEGER: Final = 2**53  # up to which every reader of JSON has all whole numbers
_TABLES: Final = frozenset({"range", "generate_series", "unnest"})  # functions that may stand in FROM
_REFUSED: Final = frozenset({"current_setting"})  # functions that say where this is run
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
    except (ValueError, ArithmeticError, TypeError, LookupError) as error:  # of the database's own conversion to values
        said = " ".join(str(error).split())[:LONGEST_ERROR]
        answer = {"error": f"one of its values cannot be shown: {said}"}
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
            _check_sources(node, {_fold_name(name) for name in tables}, frozenset())
            with_totals = _find_totals(node, {_fold_name(name): name for name in tables}, {})
            for name, table in tables.items():
                kept = table if name in with_totals else table.filter(pc.invert(table["is_total"]))
                link.from_arrow(kept).create(_quoted(name))
            link.execute("set lock_configuration = true")
            _limit_rows(node, most + 1, link)
            columns, rows = _run_tree(link, tree, most + 1)
            lineage = _trace_rows(link, tree, tables, columns, rows)
        finally:
            timer.cancel()
    answer = {"columns": columns, "cut": len(rows) > most, "with_totals": sorted(with_totals)}
    answer |= {"named": _named_columns(node), "starred": _has_stars(node)}
    answer["lineage"] = None if lineage is None else [_cited_rows(keys, cited) for keys in lineage[:most]]
    plain = PlainValues(LARGEST_ANSWER)
    answer["rows"] = [[plain.convert(cell) for cell in row] for row in rows[:most]]
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
    """Raises RefusedQuery: something else than the tables, and what the query makes of them, is read."""
    if isinstance(part, list):
        for one in part:
            _check_sources(one, tables, named)
    if not isinstance(part, dict):
        return
    if part.get("class") == "FUNCTION" and _fold_name(part["function_name"]) in _REFUSED:
        raise RefusedQuery(f"{part['function_name']}() may not be called")
    if "cte_map" in part:
        named = _check_named(part["cte_map"]["map"], tables, named)
    for source in _sources_of(part):
        _check_source(source, tables, named)
    for key, one in part.items():
        if key != "cte_map":
            _check_sources(one, tables, named)


def _check_named(entries: Collection[Tree], tables: Collection[str], named: frozenset[str]) -> frozenset[str]:
    """The names that WITH gives; a query sees those before it, and itself only where it recurs."""
    for entry in entries:
        name, inner = _fold_name(entry["key"]), dict(entry["value"]["query_node"])
        if inner["type"] == "RECURSIVE_CTE_NODE":
            _check_sources(inner.pop("right"), tables, named | {name})
        _check_sources({**entry["value"], "query_node": inner}, tables, named)
        named |= {name}
    return named


def _fold_name(name: str) -> str:
    """The name as the database compares it: only the letters of ASCII have no case."""
    return name.encode(errors="surrogatepass").lower().decode(errors="surrogatepass")


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
        path = source["qualified_name"]["path"]
        if len(path) != 1 or _fold_name(path[0]) not in {*tables, *named}:
            raise RefusedQuery(f"there is no table {'.'.join(path)}")


def _limit_rows(node: Tree, most: int, link: duckdb.DuckDBPyConnection) -> None:
    """Nothing is made beyond what is shown."""
    if not any(one["type"].startswith("LIMIT") for one in node["modifiers"]):
        node["modifiers"] += _single_select(_parse(link, f"select 1 limit {most}"))["modifiers"]


def _trace_rows(
    link: duckdb.DuckDBPyConnection,
    tree: Tree,
    tables: Mapping[str, pa.Table],
    columns: Sequence[Tree],
    rows: Sequence[tuple[Any, ...]],
) -> list[Collection[int | None]] | None:
    """What each row is made of; None where that cannot be told, or where asking for it gives other rows."""
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
        rewritten = {"error": False, "statements": [{**tree["statements"][0], "node": node}]}
        found, traced = _run_tree(link, rewritten, len(rows) + 1)
    except (Untraceable, duckdb.Error, MemoryError):
        return None  # the rows themselves are there already
    if found[:-1] != columns or found[-1]["name"] != LINEAGE or len(traced) != len(rows):
        return None
    # Groups come in any order; of rows that are alike each has the rows of one of them.
    known: dict[str, list[Any]] = {}
    for *cells, keys in reversed(traced):
        known.setdefault(repr(tuple(cells)), []).append(keys or ())
    alike = [known.get(repr(row)) for row in rows]
    found_keys = [keys.pop() for keys in alike if keys]
    return found_keys if len(found_keys) == len(rows) else None


def _run_tree(link: duckdb.DuckDBPyConnection, tree: Tree, most: int) -> tuple[list[Tree], list[tuple[Any, ...]]]:
    made = link.execute("select json_deserialize_sql(?::json)", [json.dumps(tree)]).fetchall()
    found = link.execute(str(made[0][0]))
    columns = [{"name": str(one[0]), "type": str(one[1])[:LONGEST_TYPE]} for one in found.description or ()]
    return columns, found.fetchmany(most)


def _find_totals(part: Any, tables: Mapping[str, str], scope: Mapping[str, str]) -> set[str]:
    """The tables whose `is_total` a query names; all where it is that of something between. `scope`: names by alias."""
    if isinstance(part, list):
        return {name for one in part for name in _find_totals(one, tables, scope)}
    if not isinstance(part, dict):
        return set()
    if part.get("type") == "SELECT_NODE":
        scope = dict(_aliases_of(part["from_table"], tables))
    if part.get("class") == "COLUMN_REF":
        *whose, last = map(_fold_name, part["column_names"])
        if last != "is_total":
            return set()
        return {scope[one] for one in (whose[-1:] or scope) if one in scope} or set(tables.values())
    return {name for one in part.values() for name in _find_totals(one, tables, scope)}


def _aliases_of(source: Tree, tables: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if source["type"] == "BASE_TABLE" and (name := _fold_name(source["table_name"])) in tables:
        yield _fold_name(source["alias"] or name), tables[name]
    for one in (source["left"], source["right"]) if source["type"] == "JOIN" else ():
        yield from _aliases_of(one, tables)


def _has_stars(part: Any) -> bool:
    """True where a query asks for all columns."""
    if isinstance(part, list):
        return any(map(_has_stars, part))
    return isinstance(part, dict) and (part.get("class") == "STAR" or any(map(_has_stars, part.values())))


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


class PlainValues:
    """Values as JSON has them, up to a size of all together."""

    def __init__(self, most: int) -> None:
        """`most` characters."""
        self._left = most

    def convert(self, value: Any) -> Any:
        """A value of JSON; a number that JSON would round stays a text. Raises RefusedQuery: it is too much."""
        self._spend(4)
        match value:
            case list() | tuple():
                more = ["…"] if len(value) > LONGEST_LIST else []
                return [*(self.convert(one) for one in value[:LONGEST_LIST]), *more]
            case dict():
                cut = {"…": "…"} if len(value) > LONGEST_LIST else {}
                some = islice(value.items(), LONGEST_LIST)
                return {self.convert(str(key)): self.convert(one) for key, one in some} | cut
        plain = _plain_scalar(value)
        self._spend(len(plain) if isinstance(plain, str) else 16)
        return plain

    def _spend(self, characters: int) -> None:
        self._left -= characters
        if self._left < 0:
            raise RefusedQuery("its result is too large")


def _plain_scalar(value: Any) -> Any:
    match value:
        case None | bool():
            return value
        case int():
            return value if abs(value) <= EXACT_INTEGER else str(value)[:LONGEST_CELL]
        case Decimal():
            if value == value.to_integral_value():
                return _plain_scalar(int(value))
            near = float(value)
            return near if Decimal(repr(near)) == value else str(value)
        case float():
            return value if value == value and abs(value) != float("inf") else None
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
