"""SQL over relations in a DuckDB of its own: in memory, without files, network or extensions, within a time limit."""

import threading
from collections.abc import Mapping, Sequence
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any, Final

from cluster.basics.errors import Permanent
from serve_apps.retrieval.tables.cell_values import ColumnType
from serve_apps.retrieval.tables.relation import Column, Relation
from serve_apps.retrieval.tables.table_query import AS_WRITTEN, quoted

if TYPE_CHECKING:  # both take 45 MB, which a gateway does not hold that was asked for no table
    import duckdb
    import pyarrow as pa

MEMORY = "512MB"
SECONDS = 10.0
MOST_SCALE = 9  # digits behind the point that are summed exactly
_EXACT: Final = Context(prec=38)


class BadQuery(Permanent):
    """The query over the tables cannot be run."""

    code = "bad_table_query"
    fix = "Use one SELECT over the tables and columns that are listed."


def run_queries(
    relations: Mapping[str, Relation], statements: Sequence[str], *, seconds: float = SECONDS
) -> list[list[tuple[Any, ...]]]:
    """The rows of each SELECT; relations have `row`, `document`, `page`, `section` and `is_total` beside their columns.

    Raises BadQuery: it is no single SELECT, names what is not there, or takes longer than `seconds` each.
    """
    import duckdb
    import pyarrow as pa

    settings: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": MEMORY,
        "threads": "1",
        "enable_external_access": "false",
        "temp_directory": "",
        "autoload_known_extensions": "false",
    }
    with duckdb.connect(":memory:", config=settings) as link:
        for name, relation in relations.items():
            try:
                link.from_arrow(arrow_table(relation)).create(quoted(name))
            except (duckdb.Error, pa.ArrowException) as error:
                raise BadQuery(f"its table cannot be loaded: {str(error).splitlines()[0]}") from error
        link.execute("set lock_configuration = true")
        return [_run_statement(link, statement, seconds) for statement in statements]


def _run_statement(link: "duckdb.DuckDBPyConnection", statement: str, seconds: float) -> list[tuple[Any, ...]]:
    import duckdb

    timer = threading.Timer(seconds, link.interrupt)
    timer.start()
    try:
        parsed = link.extract_statements(statement)
        if len(parsed) != 1 or parsed[0].type is not duckdb.StatementType.SELECT:
            raise BadQuery("it is not one SELECT")
        return link.execute(parsed[0]).fetchall()
    except duckdb.Error as error:
        raise BadQuery(str(error).splitlines()[0]) from error
    finally:
        timer.cancel()


def arrow_table(relation: Relation) -> "pa.Table":
    """A table of the relation's rows. Raises pa.ArrowException: a number has too many digits."""
    import pyarrow as pa

    first = [places[0] for places in relation.places]
    own = {
        "row": pa.array(range(relation.rows), pa.int32()),
        "document": pa.array([place.filename for place in first], pa.string()),
        "page": pa.array([place.page for place in first], pa.int32()),
        "section": pa.array(relation.sections, pa.string()),
        "is_total": pa.array([at in relation.totals for at in range(relation.rows)], pa.bool_()),
    }
    typed = {column.name: _arrow_values(column) for column in relation.columns}
    # Beside numbers, what else stands in their column.
    taken = {column.name.casefold() for column in relation.columns}
    written = {
        column.name + AS_WRITTEN: pa.array(column.shown, pa.string())
        for column in relation.columns
        if (column.name + AS_WRITTEN).casefold() not in taken
        and column.type is ColumnType.NUMBER
        and any(cell and column.values[at] is None for at, cell in enumerate(column.shown))
    }
    return pa.table(own | typed | written)


def _arrow_values(column: Column) -> "pa.Array":
    """The values of a column; numbers are decimals, so that sums are exact."""
    import pyarrow as pa

    if column.type is not ColumnType.NUMBER:
        return pa.array(column.values, pa.date32() if column.type is ColumnType.DATE else pa.string())
    numbers = [one if isinstance(one, Decimal) else None for one in column.values]
    scale = max((-int(one.as_tuple().exponent) for one in numbers if one is not None), default=0)
    step = Decimal(1).scaleb(-min(max(scale, 0), MOST_SCALE))
    return pa.array(
        [None if one is None else one.quantize(step, context=_EXACT) for one in numbers],
        pa.decimal128(38, min(max(scale, 0), MOST_SCALE)),
    )
