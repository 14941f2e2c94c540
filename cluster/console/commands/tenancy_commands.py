"""`aos workspaces` and `aos tenants`: list them, make them, and delete them with all that belongs to them."""

import sys
from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.prompt import Prompt

from cluster.basics.errors import Invalid
from cluster.console import printing
from cluster.console.commands.documents.document_commands import AT_ONCE, AsJson, CommandContext, CommandSession

COLUMNS = ("documents", "pages", "chunks", "agents", "conversations", "open_jobs", "open_runs")

Which = Annotated[str, typer.Argument(help="Its id, as `list` shows it.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")]
Confirm = Annotated[str | None, typer.Option(help="Its name, instead of being asked for it.")]

workspaces = typer.Typer(no_args_is_help=True, help="List, make and delete workspaces of your tenant.")
tenants = typer.Typer(no_args_is_help=True, help="List, make and delete tenants below yours.")


@workspaces.command("list")
def list_workspaces(context: CommandContext, as_json: AsJson = False) -> None:
    """The workspaces you belong to. Example: aos workspaces list"""
    context.obj.print_items("/api/workspaces", ("id", "name", "role", "created_at"), as_json, limit=AT_ONCE)


@workspaces.command("add")
def add_workspace(context: CommandContext, name: str, as_json: AsJson = False) -> None:
    """Make a workspace in your tenant. Example: aos workspaces add claims"""
    made = context.obj.api.request("POST", "/api/workspaces", json={"name": name})
    context.obj.print(made, as_json, f"Made {made['name']}: {made['id']}")


@workspaces.command("delete")
def delete_workspace(
    context: CommandContext, workspace: Which, confirm: Confirm = None, dry_run: DryRun = False, as_json: AsJson = False
) -> None:
    """Delete a workspace with its documents, agents, conversations and keys; the audit trail stays.

    Example: aos workspaces delete ID --dry-run
    """
    _delete_confirmed(context.obj, f"/api/workspaces/{workspace}", confirm, dry_run, as_json)


@tenants.command("list")
def list_tenants(context: CommandContext, as_json: AsJson = False) -> None:
    """Your tenant and those below it. Example: aos tenants list"""
    context.obj.print_items("/api/tenants", ("id", "name", "parent_id", "created_at"), as_json, limit=AT_ONCE)


@tenants.command("add")
def add_tenant(context: CommandContext, name: str, admin_email: str, as_json: AsJson = False) -> None:
    """Make a tenant below yours; its first password is shown once. Example: aos tenants add acme boss@acme.example"""
    made = context.obj.api.request("POST", "/api/tenants", json={"name": name, "admin_email": admin_email})
    said = f"Made {made['name']}: {made['id']}\n{admin_email}, first password: {made['password']}"
    context.obj.print(made, as_json, said)


@tenants.command("delete")
def delete_tenant(
    context: CommandContext, tenant: Which, confirm: Confirm = None, dry_run: DryRun = False, as_json: AsJson = False
) -> None:
    """Delete a tenant below yours with its workspaces and people; the audit trail stays.

    Example: aos tenants delete ID --dry-run
    """
    _delete_confirmed(context.obj, f"/api/tenants/{tenant}", confirm, dry_run, as_json)


def _delete_confirmed(session: CommandSession, path: str, confirm: str | None, dry_run: bool, as_json: bool) -> None:
    """First what would go; then it is gone, once its name was given."""
    found = session.api.request("DELETE", path)
    if dry_run:
        session.print(found, as_json, _contents_table(found))
        return
    if confirm is None:
        if not sys.stdin.isatty():
            raise Invalid("nobody can be asked here", fix=f"Say --confirm {found['name']!r}, or look with --dry-run.")
        session.out.print(_contents_table(found), highlight=False)
        confirm = Prompt.ask(f"This cannot be undone. Type the name [bold]{found['name']}[/bold] to delete it")
    done = session.api.request("DELETE", path, params={"confirm": confirm})
    session.print(done, as_json, f"Deleted {done['name']}.")


def _contents_table(found: Mapping[str, Any]) -> Any:
    return printing.rows_table(found["workspaces"], ("name", *COLUMNS))
