"""`aos documents register-path` and its neighbours: folders of the server whose files are documents from then on."""

from typing import Annotated

import typer

from cluster.basics.errors import NotFound
from cluster.console import printing
from cluster.console.api import JSON
from cluster.console.commands.documents.document_commands import AT_ONCE, AsJson, CommandContext, CommandSession

REGISTERED = "/api/documents/registered-paths"
COLUMNS = ("id", "path", "items", "failed", "every_minutes", "watched", "readers", "tags", "last_success_at")


def register_path(
    context: CommandContext,
    path: Annotated[str, typer.Argument(help="A folder of the server, below NFS_BASE_PATH.")],
    name: Annotated[str | None, typer.Option(help="What it is called; the path when left out.")] = None,
    every: Annotated[int, typer.Option(help="Minutes between two syncs, beside those that changes start.")] = 15,
    reader: Annotated[list[str] | None, typer.Option(help="Who may see its documents; once for each.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="A tag of its documents; once for each.")] = None,
    agent: Annotated[str | None, typer.Option(help="Link its documents to this agent: name or id.")] = None,
    as_json: AsJson = False,
) -> None:
    """Let the files of a folder be documents, and follow what becomes of them. The same again changes nothing.

    Example: aos documents register-path contracts --reader group:legal --tag contract
    """
    body: JSON = {"path": path, "name": name, "every_minutes": every, "readers": reader or []}
    body |= {"tags": tag or [], "agent_id": agent}
    made = context.obj.api.request("POST", "/api/documents/register-path", json=body)
    context.obj.plain(
        made, as_json, f"{made['path']} is registered: {made['id']}. See it: aos sources show {made['id']}"
    )


def list_registered_paths(context: CommandContext, as_json: AsJson = False) -> None:
    """Folders whose files are documents, and how each is watched. Example: aos documents registered-paths"""
    found = context.obj.api.request("GET", REGISTERED, params={"limit": AT_ONCE})
    rows = [{**one, "watched": (one["watching"] or {"mode": "no"})["mode"]} for one in found["items"]]
    context.obj.print(found, as_json, printing.rows_table(rows, COLUMNS))


def unregister_path(
    context: CommandContext,
    path: Annotated[str, typer.Argument(help="Its path, name or id: aos documents registered-paths.")],
    delete_documents: Annotated[
        bool, typer.Option("--delete-documents", help="Delete its documents, too; left out, they stay.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Follow a folder no longer; its documents stay, unless you say so.

    Example: aos documents unregister-path contracts
    """
    params = {"documents": "delete" if delete_documents else "keep"}
    gone = context.obj.api.request("DELETE", f"{REGISTERED}/{_find_path(context.obj, path)}", params=params)
    job = gone["job_id"]
    told = f"Job {job} deletes the documents of {path}." if job else f"{path} is not followed any more."
    context.obj.plain(gone, as_json, told)


def _find_path(session: CommandSession, wanted: str) -> str:
    skip, total = 0, 1
    while skip < total:
        found = session.api.request("GET", REGISTERED, params={"skip": skip, "limit": AT_ONCE})
        for one in found["items"]:
            if wanted.rstrip("/") in (one["id"], one["name"], one["path"]):
                return str(one["id"])
        skip, total = skip + AT_ONCE, found["total"]
    raise NotFound(f"no path {wanted} is registered", fix="aos documents registered-paths shows them.")
