"""`aos sources`: folders, buckets and the like, whose documents come by themselves and leave when they left."""

from typing import Annotated

import typer

from cluster.basics.errors import Invalid
from cluster.console.api import JSON
from cluster.console.commands.documents.document_commands import (
    AT_ONCE,
    AsJson,
    CommandContext,
    CommandSession,
    follow_job,
)

PATH = "/api/sources"
COLUMNS = ("id", "name", "kind", "items", "gone", "failed", "every_minutes", "enabled", "job_state", "last_success_at")
ITEM_COLUMNS = ("path", "state", "status", "document_id", "error")

SourceName = Annotated[str, typer.Argument(help="The source's name or id, from `aos sources list`.")]
Wait = Annotated[bool, typer.Option("--wait", help="Show progress until the job ends.")]

sources = typer.Typer(no_args_is_help=True, help="List, add, test, synchronise and remove sources of documents.")


@sources.command("list")
def list_sources(context: CommandContext, as_json: AsJson = False) -> None:
    """Every source, what is here of it, and its last sync. Example: aos sources list"""
    context.obj.print_items(PATH, COLUMNS, as_json, limit=AT_ONCE)


@sources.command("kinds")
def list_kinds(context: CommandContext, as_json: AsJson = False) -> None:
    """The kinds of sources there are, with their settings. Example: aos sources kinds"""
    context.obj.print_items(f"{PATH}/kinds", ("name", "title", "required", "settings"), as_json)


@sources.command("add")
def add_source(
    context: CommandContext,
    name: Annotated[str, typer.Argument(help="What it is called.")],
    kind: Annotated[str, typer.Argument(help="Its kind, from `aos sources kinds`.")],
    setting: Annotated[list[str] | None, typer.Option("--set", help="NAME=VALUE, once for each setting.")] = None,
    credential: Annotated[str | None, typer.Option(help="Name of a credential: aos credentials list.")] = None,
    reader: Annotated[list[str] | None, typer.Option(help="Who may see its documents; once for each.")] = None,
    group: Annotated[list[str] | None, typer.Option(help="THEIRS=OURS, a group of the source and one here.")] = None,
    every: Annotated[int | None, typer.Option(help="Minutes between two syncs; left out, only when asked.")] = None,
    max_removed: Annotated[int, typer.Option(help="Percent that may be gone at once without a question.")] = 20,
    erase_after: Annotated[int | None, typer.Option(help="Days after which what left is deleted for good.")] = None,
    as_json: AsJson = False,
) -> None:
    """Add a source of documents; its first sync is due at once where it has a period.

    Example: aos sources add contracts folder --set path=contracts --every 60 --reader group:legal

    Example: aos sources add archive s3 --set bucket=archive --set endpoint=https://s3.lan --credential archive-key

    Example: aos sources add handbook git --set url=https://git.example/handbook.git --set folder=docs --every 60

    Example: aos sources add site web --set url=https://example.com/docs/ --every 1440
    """
    body: JSON = {"name": name, "kind": kind, "settings": _parse_pairs(setting), "credential": credential}
    body |= {"readers": reader or [], "group_names": _parse_pairs(group), "every_minutes": every}
    body |= {"max_removed_percent": max_removed, "erase_after_days": erase_after}
    made = context.obj.api.request("POST", PATH, json=body)
    context.obj.plain(made, as_json, f"Added {made['name']}: {made['id']}. Try it: aos sources sync {name} --dry-run")


@sources.command("test")
def test_source(context: CommandContext, source: SourceName, as_json: AsJson = False) -> None:
    """Open a source and list its first items; exit 3 where that is not whole. Example: aos sources test contracts"""
    found = context.obj.api.request("POST", f"{PATH}/{_find_source(context.obj, source)}/test")
    shown = [*found["paths"], *(["…"] if found["more"] else []), *(f"! {one}" for one in found["faults"])]
    context.obj.plain(found, as_json, "\n".join(shown) or "It answers, and holds nothing.")
    if not found["ok"]:
        raise typer.Exit(3)


@sources.command("sync")
def sync_source(
    context: CommandContext,
    source: SourceName,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what a sync would do.")] = False,
    wait: Wait = False,
    as_json: AsJson = False,
) -> None:
    """Synchronise a source now. With --wait: exit 0 complete, 3 something missing or doubtful, 1 failed.

    Example: aos sources sync contracts --dry-run --wait
    """
    path = f"{PATH}/{_find_source(context.obj, source)}/sync"
    _print_started(context.obj, context.obj.api.request("POST", path, params={"dry_run": dry_run}), wait, as_json)


@sources.command("approve")
def approve_removals(
    context: CommandContext,
    source: SourceName,
    removals: Annotated[int, typer.Argument(help="How many you have seen waiting: aos sources show NAME.")],
    wait: Wait = False,
    as_json: AsJson = False,
) -> None:
    """Let the documents go whose removal waits for a person. Example: aos sources approve contracts 120"""
    path = f"{PATH}/{_find_source(context.obj, source)}/approve"
    _print_started(context.obj, context.obj.api.request("POST", path, json={"removals": removals}), wait, as_json)


@sources.command("show")
def show_source(
    context: CommandContext,
    source: SourceName,
    only: Annotated[str | None, typer.Option(help="List its items: all, failed, gone or waiting.")] = None,
    as_json: AsJson = False,
) -> None:
    """One source: its last sync, its last error, and what waits for a person. Example: aos sources show contracts"""
    path = f"{PATH}/{_find_source(context.obj, source)}"
    if only is not None:
        return context.obj.print_items(f"{path}/items", ITEM_COLUMNS, as_json, only=only, limit=AT_ONCE)
    found = context.obj.api.request("GET", path)
    context.obj.plain(found, as_json, "\n".join(_describe_source(found)))


@sources.command("remove")
def remove_source(
    context: CommandContext,
    source: SourceName,
    delete_documents: Annotated[
        bool, typer.Option("--delete-documents", help="Delete its documents, too; left out, they stay.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Remove a source; its documents stay, unless you say so. Example: aos sources remove contracts"""
    params = {"documents": "delete" if delete_documents else "keep"}
    gone = context.obj.api.request("DELETE", f"{PATH}/{_find_source(context.obj, source)}", params=params)
    job = gone["job_id"]
    context.obj.plain(gone, as_json, f"Job {job} deletes {source} and its documents." if job else f"{source} is gone.")


def _find_source(session: CommandSession, source: str) -> str:
    return session.require_id(PATH, source, "source", "aos sources list shows them.")


def _parse_pairs(given: list[str] | None) -> dict[str, str]:
    pairs = [one.partition("=") for one in given or ()]
    if wrong := [name for name, sign, _ in pairs if not (name and sign)]:
        raise Invalid(f"{wrong[0]!r} is not NAME=VALUE")
    return {name: value for name, _, value in pairs}


def _print_started(session: CommandSession, started: JSON, wait: bool, as_json: bool) -> None:
    if wait:
        follow_job(session, started["job_id"], as_json)
    fresh = "" if started["fresh"] else " is under way already"
    session.plain(started, as_json, f"Job {started['job_id']}{fresh}. Follow it: aos jobs watch {started['job_id']}")


def _describe_source(found: JSON) -> list[str]:
    lines = [
        f"{found['name']} ({found['kind']}): {found['items']} documents, {found['gone']} left, {found['failed']} failed"
    ]
    if plan := found["last_plan"]:
        counts = ", ".join(f"{count} {name}" for name, count in plan["counts"].items() if count)
        lines.append(f"{'Dry run' if plan['dry_run'] else 'Sync'} of {plan['at']}: {counts or 'nothing there'}")
        lines += [f"  {name}: {', '.join(paths)}" for name, paths in plan["samples"].items()]
    if waiting := found["waiting"]:
        why = {"incomplete": "the listing has errors", "empty": "the source lists nothing", "many": "they are many"}
        lines.append(f"{waiting['removals']} removals wait for you, as {why[waiting['reason']]}:")
        lines += [f"  {path}" for path in waiting["paths"]]
        lines.append(f"Let them go: aos sources approve {found['name']} {waiting['removals']}")
    if error := found["last_error"]:
        lines.append(f"Last error: {error['detail']} {error['fix'] or ''}".strip())
    if found["hidden_at"]:
        lines.append("Its documents are hidden: nobody has confirmed who may see them for too long.")
    return lines
