"""`aos auth`: providers and directories by which people sign in, a test of each, and linked accounts."""

from typing import Annotated
from urllib.parse import quote

import typer
from rich.console import Group
from rich.text import Text

from cluster.basics.errors import NotFound
from cluster.console import printing
from cluster.console.api import JSON
from cluster.console.commands.documents.document_commands import AT_ONCE, AsJson, CommandContext, CommandSession

PROVIDERS, USERS = "/api/auth/providers", "/api/users"

ProviderArgument = Annotated[str, typer.Argument(help="Its name, from `aos auth providers`.")]
LoginOption = Annotated[
    str | None, typer.Option("--login", help="Whom to look for in a directory; no password is asked for.")
]

EmailArgument = Annotated[str, typer.Argument(help="Their e-mail address here.")]
SourceArgument = Annotated[str, typer.Argument(help="A provider's or directory's name, or scim; see `aos auth links`.")]

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
    found = context.obj.api.request("POST", f"{PROVIDERS}/{quote(provider, safe='')}/test", json=body)
    rows = [
        {"": _mark(one), "check": one["name"], "found": one["detail"], "fix": one["fix"]} for one in found["checks"]
    ]
    table = printing.rows_table(rows, ("", "check", "found", "fix"))
    person = Text(person_line(found["person"])) if found["person"] else Text()
    context.obj.print(found, as_json, Group(table, person))
    raise typer.Exit(int(not found["ok"]))


@auth.command("links")
def list_links(context: CommandContext, email: EmailArgument, as_json: AsJson = False) -> None:
    """The sources that somebody comes from, and what each has given. Example: aos auth links ann@acme.example"""
    found = context.obj.api.request("GET", f"{USERS}/{_find_user(context.obj, email)}/links")
    rows = [{**one, **{name: ", ".join(one[name]) for name in ("workspaces", "groups")}} for one in found["items"]]
    columns = ("provider", "subject", "linked_at", "signed_in_at", "workspaces", "groups", "tenant_role")
    context.obj.print(found, as_json, printing.rows_table(rows, columns))


@auth.command("unlink")
def unlink_account(
    context: CommandContext, email: EmailArgument, provider: SourceArgument, as_json: AsJson = False
) -> None:
    """Unlink an account: what the source gave lapses, logins by it end. A next sign-in there links anew.

    Example: aos auth unlink ann@acme.example corp
    """
    link = f"{USERS}/{_find_user(context.obj, email)}/links/{quote(provider, safe='')}"
    done = context.obj.api.request("DELETE", link)
    lost = ", ".join([*done["workspaces"], *(f"group {name}" for name in done["groups"])]) or "nothing"
    ended = f"{done['ended_sessions']} logins ended, {len(done['revoked_keys'])} API keys revoked"
    context.obj.plain(done, as_json, f"{email} is linked to {provider} no more. Lapsed: {lost}; {ended}.")


def _find_user(session: CommandSession, email: str) -> str:
    found = session.api.request("GET", USERS, params={"q": email, "everywhere": True, "limit": AT_ONCE})
    user = next((one["id"] for one in found["items"] if one["email"] == email.lower()), None)
    if user is None:
        raise NotFound(f"nobody of your tenant is {email}", fix="GET /api/users?everywhere=true lists them.")
    return str(user)


def person_line(person: JSON) -> str:
    """Whom a login means, and what they would get."""
    roles = ", ".join(f"{name} ({role})" for name, role in sorted(person["workspaces"].items())) or "no workspace"
    groups = f"; groups: {', '.join(person['groups'])}" if person["groups"] else ""
    who = person["email"] or person["subject"]
    account = (person["account"] or "refused").replace("_", " ")
    return f"{who}: account {account}; {roles}; {person['tenant_role']} in the tenant{groups}."


def _mark(check: JSON) -> str:
    return "ok" if check["ok"] else "WRONG" if check["required"] else "advice"
