"""`aos auth`: the providers and directories by which people sign in, as declared, and a test of each."""

from typing import Annotated

import typer
from rich.console import Group
from rich.text import Text

from cluster.console import printing
from cluster.console.api import JSON
from cluster.console.commands.documents.document_commands import AsJson, CommandContext

PROVIDERS = "/api/auth/providers"

ProviderArgument = Annotated[str, typer.Argument(help="Its name, from `aos auth providers`.")]
LoginOption = Annotated[
    str | None, typer.Option("--login", help="Whom to look for in a directory; no password is asked for.")
]

auth = typer.Typer(no_args_is_help=True, help="Providers and directories by which people sign in.")


@auth.command("providers")
def list_providers(context: CommandContext, as_json: AsJson = False) -> None:
    """Those of your tenant, as they are declared. Example: aos auth providers"""
    found = context.obj.api.request("GET", f"{PROVIDERS}/declared")
    rows = [{**one, "addresses": ", ".join(one["addresses"]), "rules": len(one["rules"])} for one in found["items"]]
    columns = ("name", "kind", "title", "addresses", "account", "rules")
    context.obj.print(found, as_json, printing.rows_table(rows, columns))


@auth.command("test")
def check_provider(
    context: CommandContext, provider: ProviderArgument, login: LoginOption = None, as_json: AsJson = False
) -> None:
    """Ask a provider or directory for all that a sign-in needs. Exit 1: people cannot sign in by it, or not safely.

    Example: aos auth test corp, or aos auth test ad --login ann
    """
    body = {} if login is None else {"login": login}
    found = context.obj.api.request("POST", f"{PROVIDERS}/{provider}/test", json=body)
    rows = [
        {"": _mark(one), "check": one["name"], "found": one["detail"], "fix": one["fix"]} for one in found["checks"]
    ]
    table = printing.rows_table(rows, ("", "check", "found", "fix"))
    person = Text(person_line(found["person"])) if found["person"] else Text()
    context.obj.print(found, as_json, Group(table, person))
    raise typer.Exit(int(not found["ok"]))


def person_line(person: JSON) -> str:
    """Whom a login means, and what they would get."""
    roles = ", ".join(f"{name} ({role})" for name, role in sorted(person["workspaces"].items())) or "no workspace"
    groups = f"; groups: {', '.join(person['groups'])}" if person["groups"] else ""
    who = person["email"] or person["subject"]
    account = (person["account"] or "refused").replace("_", " ")
    return f"{who}: account {account}; {roles}; {person['tenant_role']} in the tenant{groups}."


def _mark(check: JSON) -> str:
    return "ok" if check["ok"] else "WRONG" if check["required"] else "advice"
