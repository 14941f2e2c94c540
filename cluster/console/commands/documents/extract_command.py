"""`aos extract`: a document's values as JSON by a schema, each with its page and how far it can be relied on."""

import json
import re
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from cluster.basics.errors import Invalid
from cluster.console.api import JSON
from cluster.console.commands.documents.document_commands import AsJson, CommandContext

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_STYLES = {"found": "green", "unsure": "yellow", "missing": "dim", "invalid": "red"}
LONGEST_SHOWN = 120  # characters of a value or reason


def extract(
    context: CommandContext,
    document: Annotated[str, typer.Argument(help="The document's id, from `aos documents list`.")],
    schema: Annotated[str, typer.Option("--schema", help="A file with a JSON Schema; - reads it from the input.")],
    no_model: Annotated[bool, typer.Option("--no-model", help="Never ask a language model.")] = False,
    as_json: AsJson = False,
) -> None:
    """Extract the values of a document by a JSON Schema of type object.

    Values come from the document's labels, tables and elements; where these leave something missing or unsure, a
    language model is asked, if one is configured, and what it says is checked against the pages. With --json the data,
    and of each value its page, boxes, OCR confidence, quote and state.

    Exits with 1 where the schema or the document cannot be used; values that are unsure or missing are no error.

    Examples:

      aos extract 5f0c8e1b9d2a4c7e8f60a1b2c3d4e5f6 --schema invoice.json

      aos extract 5f0c8e1b9d2a4c7e8f60a1b2c3d4e5f6 --schema invoice.json --no-model --json > invoice-data.json

      echo '{"properties": {"total": {"type": "number"}}}' | aos extract 5f0c8e1b9d2a4c7e8f60a1b2c3d4e5f6 --schema -
    """
    body = {"schema": read_schema_file(schema), "use_model": "never" if no_model else "auto"}
    found = context.obj.api.request("POST", f"/api/documents/{document}/extract", json=body)
    context.obj.print(found, as_json, None if as_json else render_extraction(found))


def read_schema_file(schema: str) -> dict[str, Any]:
    """The JSON object in a file, or in the input for `-`. Raises Invalid: there is none."""
    try:
        text = sys.stdin.read() if schema == "-" else Path(schema).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"the schema cannot be read: {error}", fix="Name a file with a JSON Schema in UTF-8.") from error
    try:
        read = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Invalid(f"the schema is no JSON: {error}", fix="Check it with `python -m json.tool FILE`.") from error
    if not isinstance(read, dict):
        raise Invalid("the schema is no JSON object", fix='Write {"type": "object", "properties": {…}}.')
    return read


def render_extraction(found: JSON) -> Group:
    """An extraction as a person reads it: a line a value; what documents say is no markup."""
    shown = Table()
    for heading in ("field", "value", "page", "state", "why"):
        shown.add_column(heading, overflow="fold")
    for one in found["fields"]:
        value = "" if one["value"] is None else json.dumps(one["value"], ensure_ascii=False)
        page = "" if one["page"] is None else str(one["page"])
        cells = (one["path"], value, page)
        state = Text(one["state"], style=_STYLES.get(one["state"], ""))
        shown.add_row(*(escape(_plain_text(cell)) for cell in cells), state, escape(_plain_text(one["reason"])))
    counts = ", ".join(f"{count} {state}" for state, count in found["counts"].items() if count)
    said = f"{found['filename']}: {counts}" + (
        f"; asked {found['model']}" if found["model"] else "; no model was asked"
    )
    more = [*(f"does not fit the schema: {flaw}" for flaw in found["flaws"]), *found["notes"]]
    return Group(shown, *(Text(_plain_text(line), style="dim") for line in (said, *more)))


def _plain_text(text: str) -> str:
    """A line without what a terminal obeys, cut where it is long."""
    line = _CONTROLS.sub("", re.sub(r"[\t\n\r]+", " ", text))
    return line if len(line) <= LONGEST_SHOWN else f"{line[:LONGEST_SHOWN]} …"
