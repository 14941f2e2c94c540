"""`aos events`: uploaded events of the stream that wait or were given up, why, and giving those another try."""

from typing import Annotated

import typer

from cluster.console import printing
from cluster.console.api import JSON
from cluster.console.commands.documents.document_commands import AT_ONCE, AsJson, CommandContext

PATH = "/api/events/document-uploaded"
COLUMNS = ("id", "since", "event", "document_key", "why")

events = typer.Typer(no_args_is_help=True, help="Show uploaded events that were not taken; try dead ones again.")


@events.command("list")
def list_events(
    context: CommandContext,
    dead: Annotated[bool, typer.Option("--dead", help="Those that were given up, and not those that wait.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=AT_ONCE)] = 50,
    as_json: AsJson = False,
) -> None:
    """Events that wait, or were given up, newest first, and why. Example: aos events list --dead"""
    asked: JSON = {"state": "dead" if dead else "waiting", "limit": limit}
    found = context.obj.api.request("GET", PATH, params=asked)
    context.obj.print(found, as_json, printing.rows_table([_row(one) for one in found["items"]], COLUMNS))


@events.command("retry")
def retry_events(
    context: CommandContext,
    letter: Annotated[
        str | None, typer.Argument(help="One, by its id from `aos events list --dead`; else all.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Try dead events again: all, or one; what was taken meanwhile stays as it is.

    Examples: aos events retry · aos events retry 1767225600000-0
    """
    body: JSON = {} if letter is None else {"id": letter}
    done = context.obj.api.request("POST", f"{PATH}/retry", json=body)
    context.obj.plain(done, as_json, f"{done['retried']} events are tried again.")


def _row(letter: JSON) -> JSON:
    said = letter["said"]
    event = said.get("event_id") or said.get("job_id", "")
    return letter | {"event": event, "document_key": said.get("document_key", "")}
