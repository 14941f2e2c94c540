"""`aos groups`: groups of people, whom documents may name among their readers; and who may see a document."""

from typing import Annotated, Any

import typer

from cluster.basics.errors import Invalid, NotFound
from cluster.console.commands.documents.document_commands import (
    AT_ONCE,
    AsJson,
    CommandContext,
    CommandSession,
    DocumentId,
    documents,
)

GROUPS, USERS = "/api/groups", "/api/users"

GroupArgument = Annotated[str, typer.Argument(help="The group's name or id.")]
EmailArgument = Annotated[str, typer.Argument(help="Their e-mail address.")]
ReaderOption = Annotated[
    list[str] | None,
    typer.Option("--reader", help="user:<email>, group:<name> or role:<role>; may be given several times."),
]

groups = typer.Typer(no_args_is_help=True, help="List, make and delete groups of people, and who belongs to them.")


@groups.command("list")
def list_groups(context: CommandContext, as_json: AsJson = False) -> None:
    """The groups of your tenant. Example: aos groups list"""
    context.obj.print_items(GROUPS, ("id", "name", "members", "created_at"), as_json, limit=AT_ONCE)


@groups.command("add")
def add_group(
    context: CommandContext,
    name: str,
    restore: Annotated[bool, typer.Option("--restore", help="Bring back a deleted group, without members.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a group. Documents name it as group:<name>. Example: aos groups add finance"""
    made = context.obj.api.request("POST", GROUPS, json={"name": name, "restore": restore})
    context.obj.print(made, as_json, f"Made {made['name']}: {made['id']}")


@groups.command("delete")
def delete_group(context: CommandContext, group: GroupArgument) -> None:
    """Delete a group: nobody reads anything as its member any more. Example: aos groups delete finance"""
    context.obj.api.request("DELETE", f"{GROUPS}/{_find_group(context.obj, group)}")
    context.obj.aside(f"Deleted {group}; its name stays taken, as documents may still name it.")


@groups.command("members")
def list_members(context: CommandContext, group: GroupArgument, as_json: AsJson = False) -> None:
    """Who belongs to a group. Example: aos groups members finance"""
    path = f"{GROUPS}/{_find_group(context.obj, group)}/members"
    context.obj.print_items(path, ("id", "email", "disabled", "added_at"), as_json, limit=AT_ONCE)


@groups.command("join")
def join_group(context: CommandContext, group: GroupArgument, email: EmailArgument) -> None:
    """Let somebody belong to a group. Example: aos groups join finance ann@acme.example"""
    _change_membership(context.obj, "PUT", group, email)
    context.obj.aside(f"{email} belongs to {group}.")


@groups.command("leave")
def leave_group(context: CommandContext, group: GroupArgument, email: EmailArgument) -> None:
    """Take somebody out of a group, at once. Example: aos groups leave finance ann@acme.example"""
    _change_membership(context.obj, "DELETE", group, email)
    context.obj.aside(f"{email} does not belong to {group} any more.")


@documents.command("readers")
def change_readers(
    context: CommandContext,
    document: DocumentId,
    reader: ReaderOption = None,
    everybody: Annotated[bool, typer.Option("--everybody", help="The whole workspace may see it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show who may see a document, or change it. Example: aos documents readers ID --reader group:finance"""
    if not reader and not everybody:
        found = context.obj.api.request("GET", f"/api/documents/{document}")
    else:
        body = {"readers": reader or []}
        found = context.obj.api.request("PUT", f"/api/documents/{document}/readers", json=body)
    readers: list[Any] = found["readers"]
    context.obj.plain({"readers": readers}, as_json, "\n".join(readers) or "everybody of the workspace")


@documents.command("folder-readers")
def folder_readers(
    context: typer.Context,
    folder: Annotated[str, typer.Argument(help="Below NFS_BASE_PATH; left out, all with readers are listed.")] = "",
    reader: Annotated[list[str] | None, typer.Option(help="Who may see what lies in it; once for each.")] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Its documents follow the folder around it again.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say how many documents would change.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show or change who may see what lies in scanned folders.

    Example: aos documents folder-readers contracts --reader group:legal --dry-run
    """
    path = "/api/documents/folder-readers"
    if not folder:
        return context.obj.print_items(path, ("folder", "readers", "documents"), as_json)
    if bool(reader) == remove:
        raise Invalid("say who may see it", fix="Name --reader once or more, or --remove.")
    body = {"path": folder, "readers": reader or [], "dry_run": dry_run}
    done = context.obj.api.request("PUT", path, json=body)
    would = "would be changed" if dry_run else "are changed"
    whom = ", ".join(done["readers"]) or "whoever sees the folder around it"
    context.obj.plain(done, as_json, f"{done['folder']}: {whom}; {done['documents_changed']} documents {would}")


@documents.command("access")
def explain_access(
    context: CommandContext, document: DocumentId, email: EmailArgument, as_json: AsJson = False
) -> None:
    """Say why somebody does or does not see a document. Example: aos documents access ID ann@acme.example"""
    told = context.obj.api.request("GET", f"/api/documents/{document}/access", params={"email": email})
    said = f"{email} {'sees' if told['may_see'] else 'does not see'} it: {told['why']}."
    context.obj.plain(told, as_json, f"{said} {told['fix'] or ''}".strip())


def _find_group(session: CommandSession, group: str) -> str:
    return session.require_id(GROUPS, group.lower(), "group", "aos groups list shows them.")


def _change_membership(session: CommandSession, method: str, group: str, email: str) -> None:
    found = session.api.request("GET", USERS, params={"q": email, "everywhere": True, "limit": AT_ONCE})
    user = next((one["id"] for one in found["items"] if one["email"] == email.lower()), None)
    if user is None:
        raise NotFound(f"nobody of your tenant is {email}", fix="Add them to a workspace first: POST /api/users.")
    session.api.request(method, f"{GROUPS}/{_find_group(session, group)}/members/{user}")
