"""`aos limits`: what callers may use in a window, whose rules hold, and how much of them is used."""

from typing import Annotated, Any

import typer

from cluster.basics.errors import NotFound
from cluster.console import printing
from cluster.console.commands.documents.document_commands import AT_ONCE, AsJson, CommandContext, CommandSession

LIMITS = "/api/limits"
COLUMNS = ("subject_kind", "name", "resource", "amount", "window", "used", "reset_seconds")
# Where subjects are listed, by which name people know them, and what else to ask for.
PLACES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "key": ("/api/api-keys", "name", {}),
    "user": ("/api/users", "email", {"everywhere": True}),
    "group": ("/api/groups", "name", {}),
    "workspace": ("/api/workspaces", "name", {}),
}
FIX = "aos limits list shows the rules; key, user, group, workspace or tenant come before a name or id."

KindArgument = Annotated[str, typer.Argument(help="key, user, group, workspace or tenant.")]
SubjectArgument = Annotated[str, typer.Argument(help="Its name or id; a person's e-mail address; `-` for your tenant.")]
ResourceArgument = Annotated[
    str,
    typer.Argument(
        help="requests, reads, chat, agents, admin_api, admin, uploads; tokens, usd, pages, upload_bytes; "
        "streams, jobs."
    ),
]

limits = typer.Typer(no_args_is_help=True, help="List, set and remove rate limits and quotas; see your own.")


@limits.command("list")
def list_limits(context: CommandContext, as_json: AsJson = False) -> None:
    """The rules of your tenant with what is used of them, and the defaults. Example: aos limits list"""
    found = context.obj.api.request("GET", LIMITS)
    context.obj.print(found, as_json, printing.rows_table(found["items"], COLUMNS))
    if not as_json:
        told = ", ".join(f"{name} {most}" for name, most in found["defaults"].items())
        context.obj.aside(f"Where no rule says otherwise, each caller may have a minute: {told or 'anything'}.")


@limits.command("mine")
def list_own_limits(context: CommandContext, as_json: AsJson = False) -> None:
    """The limits that hold for you, and what is used of them. Example: aos limits mine"""
    context.obj.print_items(f"{LIMITS}/mine", ("resource", "amount", "window", "used", "subject_kind"), as_json)


@limits.command("set")
def set_limit(
    context: CommandContext,
    kind: KindArgument,
    subject: SubjectArgument,
    resource: ResourceArgument,
    amount: Annotated[str, typer.Argument(help="How much; 0 lets nothing through.")],
    window: Annotated[
        str, typer.Option("--per", help="second, minute, hour, day or month; at_once for streams and jobs.")
    ] = "minute",
) -> None:
    """Limit somebody; the most specific rule holds. Example: aos limits set group finance tokens 2000000 --per month"""
    body: dict[str, Any] = {"amount": amount, "window": window}
    context.obj.api.request("PUT", _limit_path(context.obj, kind, subject, resource), json=body)
    context.obj.aside(f"{amount} {resource} per {window} for the {kind} {subject}, within five seconds.")


@limits.command("remove")
def remove_limit(
    context: CommandContext, kind: KindArgument, subject: SubjectArgument, resource: ResourceArgument
) -> None:
    """Take a rule away: what is less specific holds then. Example: aos limits remove group finance tokens"""
    context.obj.api.request("DELETE", _limit_path(context.obj, kind, subject, resource))
    context.obj.aside(f"The {kind} {subject} has no rule for {resource} any more.")


def _limit_path(session: CommandSession, kind: str, subject: str, resource: str) -> str:
    return f"{LIMITS}/{kind}/{_find_subject(session, kind, subject)}/{resource}"


def _find_subject(session: CommandSession, kind: str, subject: str) -> str:
    wanted = subject.lower()
    if kind == "tenant":
        return str(session.api.request("GET", f"{LIMITS}/mine")["tenant_id"]) if subject == "-" else subject
    if kind not in PLACES:
        raise NotFound(f"limits are for no {kind}", fix=FIX)
    path, name, more = PLACES[kind]
    found = session.api.request("GET", path, params={"limit": AT_ONCE, **more, **({"q": wanted} if more else {})})
    for one in found["items"]:
        if wanted in (one["id"], str(one[name]).lower()):
            return str(one["id"])
    raise NotFound(f"no {kind} of your tenant is called {subject}", fix=FIX)
