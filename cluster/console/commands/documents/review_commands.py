"""`aos review`: the pages that OCR read doubtfully, their lines, and corrections of them."""

import re
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

DocumentId = Annotated[str, typer.Argument(help="The document's id, as `aos review list` shows it.")]
PageNumber = Annotated[int, typer.Argument(min=1, help="The page.")]
Below = Annotated[
    float | None, typer.Option(min=0, max=1, help="Confidence below which a line is weak; the server's setting.")
]

review = typer.Typer(no_args_is_help=True, help="Look at pages that were read doubtfully, and correct their lines.")


@review.command("list")
def list_waiting(
    context: CommandContext,
    below: Below = None,
    document: Annotated[str | None, typer.Option(help="Only pages of this document.")] = None,
    reason: Annotated[str | None, typer.Option(help="confidence, caveat, correction or field.")] = None,
    search: Annotated[str | None, typer.Option(help="Words of the file's name.")] = None,
    reviewed: Annotated[bool, typer.Option("--reviewed", help="Pages that were marked as fine.")] = False,
    skip: Annotated[int, typer.Option(min=0)] = 0,
    limit: Annotated[int, typer.Option(min=1, max=200)] = 20,
    as_json: AsJson = False,
) -> None:
    """List the pages that somebody should look at, the least sure first.

    Examples:

      aos review list

      aos review list --below 0.7 --search invoice --json
    """
    told = {"below": below, "document_id": document, "reason": reason, "search": search}
    asked: JSON = {name: value for name, value in told.items() if value is not None} | {"skip": skip, "limit": limit}
    found = context.obj.api.request("GET", "/api/review/pages", params=asked | ({"reviewed": True} if reviewed else {}))
    context.obj.print(found, as_json, None if as_json else render_queue(found))


@review.command("show")
def show_page(
    context: CommandContext,
    document: DocumentId,
    page: PageNumber,
    below: Below = None,
    history: Annotated[bool, typer.Option("--history", help="Who corrected what, the newest first.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the lines of a page with how sure OCR was of each, or the corrections of the page.

    Examples:

      aos review show 1a2b3c4d1a2b3c4d1a2b3c4d1a2b3c4d 3

      aos review show 1a2b3c4d1a2b3c4d1a2b3c4d1a2b3c4d 3 --history --json
    """
    place = f"/api/documents/{document}/pages/{page}"
    if history:
        entries = context.obj.api.request("GET", f"{place}/corrections")
        context.obj.print(entries, as_json, None if as_json else render_history(entries))
        return
    found = context.obj.api.request("GET", f"{place}/lines", params={} if below is None else {"below": below})
    context.obj.print(found, as_json, None if as_json else render_lines(found))


@review.command("correct")
def correct_line(
    context: CommandContext,
    document: DocumentId,
    page: PageNumber,
    line: Annotated[int | None, typer.Argument(min=0, help="The line's number in `aos review show`.")] = None,
    text: Annotated[str | None, typer.Argument(help="What stands there.")] = None,
    fine: Annotated[bool, typer.Option("--fine", help="Mark the whole page as fine as it is.")] = False,
    version: Annotated[
        str | None, typer.Option("--page-version", help="Of the page as you saw it; else as it is now.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Correct a line of a page, or say that the page is fine as it is. Exits with 1 where the page is another by now.

    Examples:

      aos review correct 1a2b3c4d1a2b3c4d1a2b3c4d1a2b3c4d 3 12 "Rent: 1,100 EUR"

      aos review correct 1a2b3c4d1a2b3c4d1a2b3c4d1a2b3c4d 3 --fine
    """
    if fine == (line is not None and text is not None) or (line is None) != (text is None):
        raise Invalid("a line and its text, or --fine", fix="Such as: aos review correct DOCUMENT 3 12 'the text'")
    place = f"/api/documents/{document}/pages/{page}"
    seen = version or context.obj.api.request("GET", f"{place}/lines")["page_version"]
    if fine:
        marked = context.obj.api.request("PUT", f"{place}/review", json={"page_version": seen})
        context.obj.print(marked, as_json, f"Page {page} is fine as it is.")
        return
    body = {"page_version": seen, "line": line, "text": text}
    made = context.obj.api.request("POST", f"{place}/corrections", json=body)
    context.obj.print(made, as_json, None if as_json else Text(_describe_correction(made)))


def render_queue(found: JSON) -> Group:
    """The queue as a person reads it; what documents say is no markup."""
    shown = Table()
    for heading in ("document", "file", "page", "sure", "weak lines", "why", "the first"):
        shown.add_column(heading, overflow="fold")
    for one in found["items"]:
        doubts = [it["detail"] for it in one["caveats"]] + [f"{it['path']}: {it['reason']}" for it in one["fields"]]
        first = one["weak"][0]["text"] if one["weak"] else "".join(doubts[:1])
        sure = _percent(one["weakest_line"])
        why = ", ".join(one["reasons"])
        cells = (one["document_id"], one["filename"], str(one["page"]), sure, str(one["weak_lines"]), why, first)
        shown.add_row(*(escape(_without_controls(cell)) for cell in cells))
    told = f"{found['total']} pages wait; a line is weak below {_percent(found['threshold'])}."
    return Group(shown, Text(told, style="dim"))


def render_lines(found: JSON) -> Group:
    """The lines of a page; weak ones are marked."""
    shown = Table()
    for heading in ("line", "sure", "", "text"):
        shown.add_column(heading, overflow="fold")
    for one in found["lines"]:
        mark = "weak" if one["weak"] else ""
        shown.add_row(str(one["line"]), _percent(one["confidence"]), mark, escape(_without_controls(one["text"])))
    told = f"{found['filename']}, page {found['page']} of {found['page_count']}, read by {found['engine']}."
    told += f" Fine as it is, says {found['reviewed_by'] or 'somebody'}." if found["reviewed_at"] else ""
    return Group(shown, Text(_without_controls(f"{told} page-version {found['page_version']}"), style="dim"))


def render_history(found: JSON) -> Group:
    """Corrections of a page, the newest first."""
    lines = []
    for one in found["items"]:
        lost = " (its line was not found again)" if one["unplaced"] else ""
        who = f"{one['at'][:16].replace('T', ' ')}  {one['user_email'] or one['user_id']}  line {one['line']}{lost}"
        lines += [Text(_without_controls(who), style="dim")]
        lines += [Text(f"  - {_without_controls(one['text_before'])}\n  + {_without_controls(one['text_after'])}")]
    return Group(*lines, Text(f"{found['total']} corrections.", style="dim"))


def _describe_correction(made: JSON) -> str:
    how = {
        "vectors": "It is found now",
        "words": "It is found by its words now, and by its meaning once it is embedded",
        "pending": "A job indexes the document",
    }
    again = "" if made["fresh"] else "It was corrected so before. "
    return f"{again}{how[made['searchable']]}; {made['reembedded']} chunks were embedded again."


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"


def _without_controls(text: str) -> str:
    """The text without what a terminal obeys; lines and tabs become blanks."""
    return _CONTROLS.sub("", re.sub(r"[\t\n\r]+", " ", text))
