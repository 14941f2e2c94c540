"""`aos graph`: what the documents name, and how it is related, with the pages that say so."""

from typing import Annotated

import typer
from rich.text import Text

from cluster.console import printing
from cluster.console.api import JSON
from cluster.console.commands.documents.document_commands import AsJson, CommandContext

COLUMNS = ("id", "name", "type", "documents", "occurrences", "confidence")


def graph(
    context: CommandContext,
    name: Annotated[str | None, typer.Argument(help="A name; without one what most documents speak of.")] = None,
    kind: Annotated[str | None, typer.Option("--type", help="Only this type, such as organization.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=200)] = 25,
    as_json: AsJson = False,
) -> None:
    """Look something up in the knowledge graph: the entity that fits best with its relations, and others that fit.

    Example: aos graph "ZX Bank"
    """
    wanted: JSON = {"limit": limit} | ({"search": name} if name else {}) | ({"type": kind} if kind else {})
    found = context.obj.api.request("GET", "/api/graph", params=wanted)
    if name is None or not found["items"]:
        context.obj.print(found, as_json, printing.rows_table(found["items"], COLUMNS))
        return
    best = context.obj.api.request("GET", f"/api/graph/entities/{found['items'][0]['id']}")
    body = {"entity": best, "others": found["items"][1:]}
    context.obj.print(body, as_json, None if as_json else render_entity(best, found["items"][1:]))


def render_entity(entity: JSON, others: list[JSON]) -> Text:
    """An entity as a person reads it; what documents say is no markup."""
    also = f", also {', '.join(entity['aliases'])}" if entity["aliases"] else ""
    text = Text(f"{entity['name']}{also}", style="bold")
    text.append(f"  {entity['type']}, in {entity['documents']} documents\n", style="not bold")
    for relation in entity["relations"]:
        text.append(f"\n{relation['source']['name']} ", style="not bold")
        text.append(relation["type"], style="not bold cyan")
        text.append(f" {relation['target']['name']}", style="not bold")
        _append_evidence(text, relation["evidence"])
    if not entity["relations"]:
        _append_evidence(text, entity["mentions"])
    if others:
        named = ", ".join(f"{one['name']} ({one['type']})" for one in others)
        text.append(f"\n\nAlso: {named}", style="not bold")
    return text


def _append_evidence(text: Text, found: list[JSON]) -> None:
    for one in found:
        quote = " ".join(str(one["quote"]).split())
        text.append(f"\n    {one['filename']}, page {one['page']}: “{quote}”", style="not bold dim")
