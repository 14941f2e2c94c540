"""`aos tables`: the tables in documents, and read-only SQL over them with the places of each row."""

import json
import re
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from cluster.basics.errors import Invalid
from cluster.console.api import JSON
from cluster.console.commands.documents.document_commands import AsJson, CommandContext

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
MOST_PLACES = 3  # of a row that a person reads
OfAgent = Annotated[str | None, typer.Option("--agent", help="Only documents of this agent: its UUID or name.")]

tables = typer.Typer(no_args_is_help=True, help="List the tables in documents, and ask them in SQL.")


@tables.command("list")
def list_tables(
    context: CommandContext,
    words: Annotated[str | None, typer.Argument(help="Words of the filename and the headings.")] = None,
    agent: OfAgent = None,
    skip: Annotated[int, typer.Option(min=0, help="Documents to pass over.")] = 0,
    limit: Annotated[int, typer.Option(min=1, max=50, help="Documents, each with all of its tables.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List the tables of documents, the latest documents first: names for queries, columns, rows.

    Examples:

      aos tables list

      aos tables list "toll lorry" --json
    """
    chosen: JSON = {"skip": skip, "limit": limit} | ({"search": words} if words else {})
    found = context.obj.api.request("GET", "/api/tables", params=chosen | ({"agent_id": agent} if agent else {}))
    context.obj.print(found, as_json, None if as_json else render_tables(found))


@tables.command("query")
def query_tables(
    context: CommandContext,
    sql: Annotated[str, typer.Argument(help="One SELECT over names of `aos tables list`; - reads it from the input.")],
    table: Annotated[
        list[str] | None, typer.Option("--table", help="A name of your own: sales=NAME. May be given several times.")
    ] = None,
    agent: OfAgent = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Rows.")] = 200,
    chart: Annotated[Path | None, typer.Option(help="Draw it into this file: .svg, or .json for Vega-Lite.")] = None,
    as_json: AsJson = False,
) -> None:
    """Run one read-only SELECT of DuckDB over tables in documents. Exits with 1 where it cannot be run.

    Rows that sum others up are left out unless the query names is_total.

    Examples:

      aos tables query 'select sum("Toll") from tolls_may_1a2b3c4d_p1'

      aos tables query --table t=tolls_may_1a2b3c4d_p1_all 'select document, sum("Toll") from t group by all' --json

      aos tables query 'select "Lorry", sum("Toll") as toll from tolls_may_1a2b3c4d_p1 group by all' --chart out.svg
    """
    written = sys.stdin.read() if sql == "-" else sql
    named = dict(_split_alias(one) for one in table or ())
    body: JSON = {"sql": written, "tables": named, "limit": limit} | ({"agent_id": agent} if agent else {})
    found = context.obj.api.request("POST", "/api/tables/query", json=body | ({"chart": True} if chart else {}))
    if chart:
        _write_chart(context, found["chart"], chart)
    context.obj.print(found, as_json, None if as_json else render_result(found))


@tables.command("insights")
def show_insights(
    context: CommandContext,
    table: Annotated[str, typer.Argument(help="A name of `aos tables list`.")],
    agent: OfAgent = None,
    as_json: AsJson = False,
) -> None:
    """Say what stands out in a table: ends, shares, changes, outliers, each with its query and its pages.

    Example: aos tables insights tolls_may_1a2b3c4d_p1
    """
    body: JSON = {"table": table} | ({"agent_id": agent} if agent else {})
    found = context.obj.api.request("POST", "/api/tables/insights", json=body)
    context.obj.print(found, as_json, None if as_json else render_insights(found))


def render_insights(found: JSON) -> Group:
    """Statements as a person reads them; what documents say is no markup."""
    cited = {one["n"]: one for one in found["citations"]}
    lines = []
    for one in found["insights"]:
        sql = _without_controls(one["sql"])
        lines += [
            Text(_without_controls(one["text"])),
            Text(f"    {_describe_source(one, cited)}\n    {sql}", style="dim"),
        ]
    return Group(*lines, *(Text(_without_controls(note), style="dim") for note in found["notes"]))


def _write_chart(context: CommandContext, chart: JSON | None, file: Path) -> None:
    """Raises Invalid: the result is no chart, or the file no kind of picture."""
    if file.suffix not in (".svg", ".json"):
        raise Invalid(f"{file.name} is neither .svg nor .json", fix="Name the file out.svg or out.json.")
    if chart is None:
        fix = "Select one column of numbers and one that names its rows, at most 40, or a day, month or year."
        raise Invalid("this result is no chart", fix=fix)
    if file.suffix == ".json":
        file.write_text(json.dumps(chart["vega_lite"], indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return
    drawn = {name: chart[name] for name in ("kind", "label", "measure", "points")}
    picture = context.obj.api.request("POST", "/api/tables/picture", json=drawn)
    file.write_text(str(picture["svg"]), encoding="utf-8")


def _split_alias(said: str) -> tuple[str, str]:
    alias, equals, name = said.partition("=")
    if not (alias and equals and name):
        raise Invalid(
            f"--table {said} names no table", fix="Write --table sales=NAME with a name of `aos tables list`."
        )
    return alias, name


def render_tables(found: JSON) -> Group:
    """A list of tables as a person reads it; what documents say is no markup."""
    shown = Table()
    for heading in ("table", "document", "page", "rows", "columns"):
        shown.add_column(heading, overflow="fold")
    for one in found["items"]:
        columns = ", ".join(f"{it['name']} ({it['unit'] or it['type']})" for it in one["columns"])
        cells = (one["name"], one["filename"], str(one["page"]), str(one["rows"]), columns)
        shown.add_row(*(escape(_without_controls(cell)) for cell in cells))
    unseen = found["unseen"]
    told = f"{found['documents']} documents have such tables."
    told += f" {unseen} were indexed before tables were kept; `aos generations build` adds them." if unseen else ""
    return Group(shown, Text(told, style="dim"))


def render_result(found: JSON) -> Group:
    """A result as a person reads it: its rows with their places, and what is not in it."""
    shown = Table()
    for column in found["columns"]:
        shown.add_column(escape(_without_controls(f"{column['name']} {column['unit']}".strip())), overflow="fold")
    if found["sources"] is not None:
        shown.add_column("from", style="dim", overflow="fold")
    cited = {one["n"]: one for one in found["citations"]}
    for at, row in enumerate(found["rows"]):
        cells = ["" if cell is None else _without_controls(str(cell)) for cell in row]
        if found["sources"] is not None:
            cells.append(_describe_source(found["sources"][at], cited))
        shown.add_row(*map(escape, cells))
    return Group(shown, *(Text(_without_controls(note), style="dim") for note in found["notes"]))


def _describe_source(source: JSON, cited: JSON) -> str:
    """Documents and pages of a row; of one that was not looked up its documents."""
    known = [cited[n] for n in source["citations"] if n in cited]
    places = list(dict.fromkeys(f"{one['filename']} p. {one['page']}" for one in known)) or source.get("filenames", [])
    more = f", … ({source['rows']} rows)" if source["rows"] > 1 else ""
    return _without_controls(", ".join(places[:MOST_PLACES]) + more)


def _without_controls(text: str) -> str:
    """The text without what a terminal obeys; lines and tabs become blanks."""
    return _CONTROLS.sub("", re.sub(r"[\t\n\r]+", " ", text))
