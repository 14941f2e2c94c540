"""`aos sources`, what changes one that is there: settings, pause and resume, removals; its rights and its syncs."""

from typing import Annotated, Any

import typer

from cluster.basics.errors import Invalid
from cluster.console.api import JSON
from cluster.console.commands.documents.document_commands import AT_ONCE, JOB_COLUMNS, AsJson, CommandContext
from cluster.console.commands.documents.source_commands import (
    PATH,
    SourceName,
    Wait,
    describe_rights,
    find_source,
    parse_pairs,
    print_started,
    sources,
)

app = sources
Removals = Annotated[int, typer.Argument(help="How many you have seen waiting: aos sources show NAME.")]


@sources.command("change")
def change_source(
    context: CommandContext,
    source: SourceName,
    rename: Annotated[str | None, typer.Option(help="Another name.")] = None,
    setting: Annotated[list[str] | None, typer.Option("--set", help="NAME=VALUE; all others stay.")] = None,
    credential: Annotated[str | None, typer.Option(help="Name of another credential.")] = None,
    reader: Annotated[list[str] | None, typer.Option(help="Who may see its documents; once for each.")] = None,
    everybody: Annotated[bool, typer.Option("--everybody", help="All of the workspace may see them.")] = False,
    group: Annotated[list[str] | None, typer.Option(help="THEIRS=OURS; all others are forgotten.")] = None,
    every: Annotated[int | None, typer.Option(help="Minutes between two syncs.")] = None,
    when_asked: Annotated[bool, typer.Option("--when-asked", help="Synchronise only when asked.")] = False,
    max_removed: Annotated[int | None, typer.Option(help="Percent that may be gone at once.")] = None,
    erase_after: Annotated[int | None, typer.Option(help="Days after which what left is deleted for good.")] = None,
    keep_left: Annotated[bool, typer.Option("--keep-left", help="Keep what left, hidden.")] = False,
    stale_after: Annotated[int | None, typer.Option(help="Hours until unconfirmed documents are hidden.")] = None,
    as_json: AsJson = False,
) -> None:
    """Change a source; what is not named stays. Readers follow with the next sync.

    Example: aos sources change contracts --every 30

    Example: aos sources change contracts --reader group:legal --erase-after 30
    """
    for given, off, names in (
        (reader, everybody, "--reader and --everybody"),
        (every, when_asked, "--every and --when-asked"),
        (erase_after, keep_left, "--erase-after and --keep-left"),
    ):
        if given is not None and off:
            raise Invalid(f"{names} exclude each other")
    path = f"{PATH}/{find_source(context.obj, source)}"
    named: dict[str, Any] = {"name": rename, "credential": credential, "max_removed_percent": max_removed}
    named |= {"readers": reader, "every_minutes": every, "erase_after_days": erase_after}
    named |= {"stale_after_hours": stale_after, "group_names": parse_pairs(group) if group else None}
    body = {name: value for name, value in named.items() if value is not None}
    if setting:
        body["settings"] = context.obj.api.request("GET", path)["settings"] | parse_pairs(setting)
    body |= {"readers": []} if everybody else {}
    body |= {"every_minutes": None} if when_asked else {}
    body |= {"erase_after_days": None} if keep_left else {}
    if not body:
        raise Invalid("nothing is named that is to be otherwise", fix="See what there is: aos sources change --help.")
    changed = context.obj.api.request("PATCH", path, json=body)
    context.obj.plain(changed, as_json, f"{changed['name']} is changed: {', '.join(sorted(body))}.")


@sources.command("pause")
def pause_source(context: CommandContext, source: SourceName, as_json: AsJson = False) -> None:
    """Begin no sync by itself any more; one under way goes on. Example: aos sources pause contracts"""
    after = _post(context, source, "pause")
    told = f"{after['name']} is paused."
    if after["has_rights"]:
        hours = after["stale_after_hours"]
        told += f" Its documents are hidden {hours} hours after its last sync that worked."
    context.obj.plain(after, as_json, told)


@sources.command("resume")
def resume_source(context: CommandContext, source: SourceName, as_json: AsJson = False) -> None:
    """Let syncs begin by themselves again, the first one now. Example: aos sources resume contracts"""
    after = _post(context, source, "resume")
    asked = "" if after["every_minutes"] else f" It has no period: aos sources change {source} --every MINUTES"
    context.obj.plain(after, as_json, f"{after['name']} goes on.{asked}")


@sources.command("approve")
def approve_removals(
    context: CommandContext, source: SourceName, removals: Removals, wait: Wait = False, as_json: AsJson = False
) -> None:
    """Let the documents go whose removal waits for a person. Example: aos sources approve contracts 120"""
    print_started(context.obj, _post(context, source, "approve", {"removals": removals}), wait, as_json)


@sources.command("decline")
def decline_removals(context: CommandContext, source: SourceName, removals: Removals, as_json: AsJson = False) -> None:
    """Keep the documents whose removal waits for a person. Example: aos sources decline contracts 120

    A sync that still misses them asks again: look at the source, or pause it.
    """
    after = _post(context, source, "decline", {"removals": removals})
    context.obj.plain(after, as_json, f"{removals} documents stay. A sync that still misses them asks again.")


@sources.command("rights")
def show_rights(context: CommandContext, source: SourceName, as_json: AsJson = False) -> None:
    """Who may see what, as it is understood here, and who is unknown. Example: aos sources rights contracts"""
    found = context.obj.api.request("GET", f"{PATH}/{find_source(context.obj, source)}/rights")
    context.obj.plain(found, as_json, "\n".join(describe_rights(found)))


@sources.command("jobs")
def list_syncs(context: CommandContext, source: SourceName, as_json: AsJson = False) -> None:
    """Its syncs, newest first; `aos jobs show ID` says what failed. Example: aos sources jobs contracts"""
    path = f"{PATH}/{find_source(context.obj, source)}/jobs"
    context.obj.print_items(path, JOB_COLUMNS, as_json, limit=AT_ONCE)


def _post(context: CommandContext, source: str, act: str, body: JSON | None = None) -> JSON:
    more = {} if body is None else {"json": body}
    return context.obj.api.request("POST", f"{PATH}/{find_source(context.obj, source)}/{act}", **more)
