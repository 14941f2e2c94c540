"""`aos sources`: folders, buckets and the like, whose documents come by themselves and leave when they left."""

from typing import Annotated

import typer

from cluster.basics.errors import Invalid
from cluster.console import printing
from cluster.console.api import JSON
from cluster.console.commands.documents.document_commands import (
    AT_ONCE,
    AsJson,
    CommandContext,
    CommandSession,
    follow_job,
)

PATH = "/api/sources"
COLUMNS = (
    *("id", "name", "kind", "items", "gone", "failed", "waiting", "every_minutes", "enabled", "job_state"),
    *("last_success_at", "next_at"),
)
ITEM_COLUMNS = ("path", "state", "readers", "unknown", "status", "document_id", "error")

SourceName = Annotated[str, typer.Argument(help="The source's name or id, from `aos sources list`.")]
Wait = Annotated[bool, typer.Option("--wait", help="Show progress until the job ends.")]

sources = typer.Typer(
    no_args_is_help=True,
    help="List, add, test, synchronise and remove sources of documents: folders, shares, buckets, mailboxes,"
    " repositories, sites and clouds, these by their own APIs or by Composio's (`aos sources kinds`).",
)


@sources.command("list")
def list_sources(context: CommandContext, as_json: AsJson = False) -> None:
    """Every source, what is here of it, what waits for a person, and its syncs. Example: aos sources list"""
    found = context.obj.api.request("GET", PATH, params={"limit": AT_ONCE})
    rows = [one | {"waiting": (one["waiting"] or {}).get("removals")} for one in found["items"]]
    context.obj.print(found, as_json, printing.rows_table(rows, COLUMNS))


@sources.command("kinds")
def list_kinds(context: CommandContext, as_json: AsJson = False) -> None:
    """The kinds of sources there are, with the settings that `add` and `change` take. Example: aos sources kinds"""
    found = context.obj.api.request("GET", f"{PATH}/kinds")
    context.obj.plain(found, as_json, "\n".join(line for one in found["items"] for line in _describe_kind(one)))


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
    watch: Annotated[bool, typer.Option(help="Where its kind can be watched, a change starts a sync.")] = True,
    tag: Annotated[list[str] | None, typer.Option(help="A tag of its documents; once for each.")] = None,
    agent: Annotated[str | None, typer.Option(help="Link its documents to this agent: name or id.")] = None,
    max_removed: Annotated[int, typer.Option(help="Percent that may be gone at once without a question.")] = 20,
    erase_after: Annotated[int | None, typer.Option(help="Days after which what left is deleted for good.")] = None,
    stale_after: Annotated[
        int, typer.Option(help="Hours without a sync that worked until documents of a source with rights are hidden.")
    ] = 72,
    paused: Annotated[bool, typer.Option("--paused", help="Begin no sync until `aos sources resume`.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Store nothing: only say what the first sync would bring, and for whom.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Add a source of documents; its first sync is due at once where it has a period.

    With --dry-run: exit 3 where not all of it can be listed.

    Example: aos sources add contracts folder --set path=contracts --every 60 --reader group:legal

    Example: aos sources add contracts folder --set path=contracts --dry-run

    Example: aos sources add archive s3 --set bucket=archive --set endpoint=https://s3.lan --credential archive-key

    Example: aos sources add handbook git --set url=https://git.example/handbook.git --set folder=docs --every 60

    Example: aos sources add site web --set url=https://example.com/docs/ --every 1440

    Example: aos sources add drive composio --set app=googledrive --set account=ca_… --set public=yes --credential key
    """
    body: JSON = {"kind": kind, "settings": parse_pairs(setting), "credential": credential}
    body |= {"readers": reader or [], "group_names": parse_pairs(group)}
    if dry_run:
        return _print_preview(context.obj, body, as_json)
    body |= {"name": name, "every_minutes": every, "max_removed_percent": max_removed}
    body |= {"erase_after_days": erase_after, "stale_after_hours": stale_after, "enabled": not paused}
    more = {"watch": None if watch else False, "tags": tag, "agent_id": agent}
    body |= {name: value for name, value in more.items() if value is not None}
    made = context.obj.api.request("POST", PATH, json=body)
    context.obj.plain(made, as_json, f"Added {made['name']}: {made['id']}. Try it: aos sources sync {name} --dry-run")


@sources.command("test")
def test_source(context: CommandContext, source: SourceName, as_json: AsJson = False) -> None:
    """Open a source and list its first items; exit 3 where that is not whole. Example: aos sources test contracts"""
    found = context.obj.api.request("POST", f"{PATH}/{find_source(context.obj, source)}/test")
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
    path = f"{PATH}/{find_source(context.obj, source)}/sync"
    print_started(context.obj, context.obj.api.request("POST", path, params={"dry_run": dry_run}), wait, as_json)


@sources.command("show")
def show_source(
    context: CommandContext,
    source: SourceName,
    only: Annotated[str | None, typer.Option(help="List its items: all, failed, gone or waiting.")] = None,
    find: Annotated[str | None, typer.Option(help="List its items with this in their path.")] = None,
    as_json: AsJson = False,
) -> None:
    """One source: its last sync, its last error, and what waits for a person; or its items, and who may see each.

    Example: aos sources show contracts

    Example: aos sources show contracts --only failed
    """
    path = f"{PATH}/{find_source(context.obj, source)}"
    if only is not None or find is not None:
        wanted = {"only": only or "all", "limit": AT_ONCE} | ({"q": find} if find else {})
        found = context.obj.api.request("GET", f"{path}/items", params=wanted)
        rows = [one | _readers_of(one) for one in found["items"]]
        return context.obj.print(found, as_json, printing.rows_table(rows, ITEM_COLUMNS))
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
    """Remove a source; its documents stay, unless you say so. Example: aos sources remove contracts

    Those of a source with rights cannot stay: nobody would confirm any more who may see them.
    """
    params = {"documents": "delete" if delete_documents else "keep"}
    gone = context.obj.api.request("DELETE", f"{PATH}/{find_source(context.obj, source)}", params=params)
    job = gone["job_id"]
    what = "its documents" if delete_documents else "the documents that had left it; the others stay"
    context.obj.plain(gone, as_json, f"Job {job} deletes {source} and {what}." if job else f"{source} is gone.")


def find_source(session: CommandSession, source: str) -> str:
    """The id of a source by its name or id. Raises NotFound."""
    return session.require_id(PATH, source, "source", "aos sources list shows them.")


def parse_pairs(given: list[str] | None) -> dict[str, str]:
    """Pairs of NAME=VALUE. Raises Invalid."""
    pairs = [one.partition("=") for one in given or ()]
    if wrong := [name for name, sign, _ in pairs if not (name and sign)]:
        raise Invalid(f"{wrong[0]!r} is not NAME=VALUE")
    return {name: value for name, _, value in pairs}


def print_started(session: CommandSession, started: JSON, wait: bool, as_json: bool) -> None:
    """A job that was started, or its progress to its end."""
    if wait:
        follow_job(session, started["job_id"], as_json)
    fresh = "" if started["fresh"] else " is under way already"
    session.plain(started, as_json, f"Job {started['job_id']}{fresh}. Follow it: aos jobs watch {started['job_id']}")


def _describe_source(found: JSON) -> list[str]:
    lines = [
        f"{found['name']} ({found['kind']}): {found['items']} documents, {found['gone']} left, {found['failed']} failed"
    ]
    if watching := found.get("watching"):
        lines.append(_describe_watch(watching))
    if plan := found["last_plan"]:
        counts = ", ".join(f"{count} {name}" for name, count in plan["counts"].items() if count)
        lines.append(f"{'Dry run' if plan['dry_run'] else 'Sync'} of {plan['at']}: {counts or 'nothing there'}")
        lines += [f"  {name}: {', '.join(paths)}" for name, paths in plan["samples"].items()]
    if waiting := found["waiting"]:
        why = {"incomplete": "the listing has errors", "empty": "the source lists nothing", "many": "they are many"}
        lines.append(f"{waiting['removals']} removals wait for you, as {why[waiting['reason']]}:")
        lines += [f"  {path}" for path in waiting["paths"]]
        lines.append(f"Let them go: aos sources approve {found['name']} {waiting['removals']}")
        lines.append(f"Keep them: aos sources decline {found['name']} {waiting['removals']}")
    if error := found["last_error"]:
        lines.append(f"Last error: {error['detail']} {error['fix'] or ''}".strip())
    if not found["enabled"]:
        lines.append(f"It is paused: aos sources resume {found['name']}")
    if found["hidden_at"]:
        lines.append("Documents of it are hidden: nobody has confirmed who may see them for too long.")
    return lines


def _describe_kind(kind: JSON) -> list[str]:
    about = ["rights follow the source" if kind["has_rights"] else "you say who may see its documents"]
    about += ["takes a credential"] if kind["takes_credential"] else []
    lines = [f"{kind['name']}: {kind['title']} ({', '.join(about)})"]
    for name, text in kind["settings"].items():
        lines.append(f"  {name}{' (required)' if name in kind['required'] else ''}: {text}")
    return lines


def _readers_of(item: JSON) -> JSON:
    readers = "nobody" if item["nobody"] else ", ".join(item["readers"]) or "the workspace"
    return {"readers": readers, "unknown": ", ".join(item["unknown"])}


def _print_preview(session: CommandSession, body: JSON, as_json: bool) -> None:
    found = session.api.request("POST", f"{PATH}/dry-run", json=body)
    count = f"{'at least ' if found['more'] else ''}{found['items']} items, {found['bytes']} bytes"
    endings = ", ".join(f"{count} {name}" for name, count in found["endings"].items())
    lines = [f"The first sync would bring {count}: {endings or 'nothing'}", *(f"  {path}" for path in found["paths"])]
    lines += [*describe_rights(found["rights"]), *(f"! {one}" for one in found["faults"])]
    session.plain(found, as_json, "\n".join(lines))
    if not found["ok"]:
        raise typer.Exit(3)


def describe_rights(rights: JSON) -> list[str]:
    """Rights as they are understood, line by line."""
    if not rights["has_rights"]:
        chosen = ", ".join(one["name"] for one in rights["readers"]) or "everybody of the workspace"
        return [f"The source says nothing of rights. Who may see it: {chosen}"]
    lines = [f"{rights['items']} items, {rights['nobody']} for nobody, {rights['unsaid']} of them without rights"]
    titles = {"readers": "Readers", "unknown_users": "Unknown people", "unknown_groups": "Unknown groups"}
    for name, title in titles.items():
        if rights[name]:
            lines.append(f"{title} ({rights[f'{name}_total']}):")
            lines += [f"  {one['name']}: {one['items']}" for one in rights[name]]
    return lines


def _describe_watch(watching: JSON) -> str:
    told = {
        "events": f"Watched: the kernel tells of changes in {watching['folders']} folders.",
        "polling": f"Watched: its files in {watching['folders']} folders are looked at again and again.",
        "sweeping": "Not told of changes: everything is listed now and then.",
        "missing": "Not watched: its folder is not there. Nothing leaves because of that.",
        "opening": "Watched from now on.",
        "nobody": "Not watched now: no process does.",
        "off": "Not watched: the source is off.",
    }
    changed = f" Last sync after a change: {watching['changed_at']}." if watching["changed_at"] else ""
    why = f" ({watching['why']})" if watching["why"] else ""
    return f"{told[watching['mode']]}{why}{changed}"
