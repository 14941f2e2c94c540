"""`aos credentials`: what skills sign in with. Secrets come from a terminal or standard input, never from arguments."""

import json
import sys
from typing import Annotated
from urllib.parse import quote

import typer
from rich.prompt import Prompt

from cluster.basics.errors import Conflict, Invalid, NotFound
from cluster.console import printing
from cluster.console.api import JSON
from cluster.console.commands.documents.document_commands import AsJson, CommandContext, CommandSession
from cluster.console.provider_login import browser_answer

PATH, CONNECTIONS = "/api/credentials", "/api/oauth/connections"
COLUMNS = ("id", "name", "type", "fields", "extra", "is_active", "bound", "bindings", "expires_at")
MANY = 1000

Which = Annotated[str, typer.Argument(help="The credential's name or id.")]

credentials = typer.Typer(no_args_is_help=True, help="List, add, bind and remove what skills sign in with.")


@credentials.command("list")
def list_credentials(context: CommandContext, as_json: AsJson = False) -> None:
    """Every credential; secrets are never shown, only the names of their fields. Example: aos credentials list"""
    found = context.obj.api.request("GET", PATH, params={"limit": MANY})
    rows = []
    for item in found["items"]:
        extra = ", ".join(f"{key}={value}" for key, value in item["extra"].items())
        rows.append(item | {"fields": ", ".join(item["fields"]), "extra": extra})
    context.obj.print(found, as_json, printing.rows_table(rows, COLUMNS))


@credentials.command("add")
def add_credential(
    context: CommandContext,
    name: Annotated[str, typer.Argument(help="What agents and bindings call it.")],
    type_: Annotated[
        str, typer.Argument(metavar="TYPE", help="ssh, http_basic, bearer_token, db_dsn, api_key, custom, oauth.")
    ],
    fields: Annotated[
        list[str] | None, typer.Option("--set", help="FIELD=VALUE that is no secret; repeatable.")
    ] = None,
    field: Annotated[str | None, typer.Option(help="The secret field that the text on standard input is.")] = None,
    bound: Annotated[bool, typer.Option("--bound", help="Only for what it is bound to.")] = False,
    expires: Annotated[str | None, typer.Option(help="Until when it is good, as 2030-01-31T00:00:00Z.")] = None,
    as_json: AsJson = False,
) -> None:
    """Store a credential. Its secrets are asked for, or read from standard input: a text, or JSON by field.

    Example: aos credentials add web ssh --set username=root --set host=10.0.0.7 < id_ed25519

    Example: aos credentials add github bearer_token < token.txt
    """
    told = context.obj.api.request("GET", f"{PATH}/types")
    sort = next((one for one in told["items"] if one["type"] == type_), None)
    if sort is None:
        raise Invalid(f"there is no type {type_}", fix=f"One of {', '.join(one['type'] for one in told['items'])}.")
    extra = _parse_open_fields(fields or [], sort, told["secret_words"])
    typed = sys.stdin.isatty()
    values = _prompt_secrets(context.obj, sort, field) if typed else _parse_secrets(sys.stdin.read(), sort, field)
    body: JSON = {"name": name, "type": type_, "values": values, "extra": extra, "bound": bound, "expires_at": expires}
    made = context.obj.api.request("POST", PATH, json=body)
    context.obj.plain(made, as_json, f"Stored {made['name']} ({made['type']}), sealed: {', '.join(made['fields'])}.")


@credentials.command("bind")
def bind_credential(
    context: CommandContext,
    credential: Which,
    agent: Annotated[str | None, typer.Option(help="This agent (name or id).")] = None,
    skill: Annotated[str | None, typer.Option(help="This skill.")] = None,
    role: Annotated[str | None, typer.Option(help="Callers of this role.")] = None,
    as_json: AsJson = False,
) -> None:
    """Let an agent, a skill or a role use it: all that are given have to fit. Others may not use it any longer.

    Example: aos credentials bind web --agent Admin --skill run_command --role operator
    """
    found = _find_by_ref(context.obj, PATH, credential, "credential")
    body: JSON = {"skill": skill, "role": role, "agent_id": None}
    if agent is not None:
        body["agent_id"] = _find_by_ref(context.obj, "/api/agents", agent, "agent")["id"]
    made = context.obj.api.request("POST", f"{PATH}/{found['id']}/bindings", json=body)
    who = ", ".join(f"{key} {made[key]}" for key in ("agent", "skill", "role") if made.get(key))
    context.obj.plain(made, as_json, f"{found['name']} is for {who}.")


@credentials.command("remove")
def remove_credential(context: CommandContext, credential: Which, as_json: AsJson = False) -> None:
    """Forget a credential with its bindings. Example: aos credentials remove web"""
    found = _find_by_ref(context.obj, PATH, credential, "credential")
    context.obj.api.request("DELETE", f"{PATH}/{quote(found['id'], safe='')}")
    context.obj.plain({"id": found["id"], "status": "removed"}, as_json, f"Removed {found['name']}.")


@credentials.command("connections")
def list_connections(context: CommandContext, as_json: AsJson = False) -> None:
    """What you can connect with your own account, and your state. Example: aos credentials connections --json"""
    context.obj.print_items(CONNECTIONS, ("id", "name", "base_url", "state", "redirect_uri"), as_json)


@credentials.command("connect")
def connect(context: CommandContext, credential: Which, as_json: AsJson = False) -> None:
    """Connect your own account by a credential of type oauth; a browser opens.

    Example: aos credentials connect notes
    """
    found = _find_by_ref(context.obj, CONNECTIONS, credential, "connection")
    path, api = f"{CONNECTIONS}/{quote(found['id'], safe='')}", context.obj.api

    def begin(back: str) -> str:
        return str(api.request("POST", path, json={"return_to": back})["authorization_url"])

    # Beside the answer, which may be JSON.
    brought = browser_answer(begin, lambda address: typer.echo(f"Agree here: {address}", err=True))
    api.request("POST", f"{path}/complete", json={name: brought.get(name, "") for name in ("state", "code", "iss")})
    context.obj.plain({"id": found["id"], "status": "connected"}, as_json, f"Connected {found['name']}.")


@credentials.command("disconnect")
def disconnect(context: CommandContext, credential: Which, as_json: AsJson = False) -> None:
    """Forget your own account there, and end its tokens. Example: aos credentials disconnect notes"""
    found = _find_by_ref(context.obj, CONNECTIONS, credential, "connection")
    ended = context.obj.api.request("DELETE", f"{CONNECTIONS}/{quote(found['id'], safe='')}")
    said = "" if ended["revoked"] else " The service was not told: end it there as well."
    body = {"id": found["id"], "status": "disconnected", **ended}
    context.obj.plain(body, as_json, f"Disconnected {found['name']}.{said}")


def _find_by_ref(session: CommandSession, path: str, ref: str, what: str) -> JSON:
    """The one with this id, else the only one with this name."""
    items: list[JSON] = session.api.request("GET", path, params={"limit": MANY})["items"]
    found = [item for item in items if item["id"] == ref] or [item for item in items if item["name"] == ref]
    if not found:
        raise NotFound(f"there is no {what} {ref}")
    if len(found) > 1:
        raise Conflict(f"several are called {ref}", fix=f"Give an id: {', '.join(item['id'] for item in found)}.")
    return found[0]


def _parse_open_fields(given: list[str], sort: JSON, secret_words: list[str]) -> JSON:
    """FIELD=VALUE; arguments are seen by everybody on the machine and stay in the shell's history."""
    found: JSON = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals or not name:
            raise Invalid("--set takes FIELD=VALUE")
        guessed = name not in sort["open"] and any(word in name.lower() for word in secret_words)
        if name in sort["secret"] or guessed:
            raise Invalid(f"{name} is a secret, and arguments are no place for one", fix="Give it on standard input.")
        found[name] = value
    return found


def _prompt_secrets(session: CommandSession, sort: JSON, field: str | None) -> JSON:
    """Secrets that a person types at hidden prompts; what is left empty is left out."""
    names = [field] if field is not None else sort["secret"] or ["secret"]
    typed = {name: Prompt.ask(f"{name} (empty: none)", password=True, console=session.out) for name in names}
    return {name: value for name, value in typed.items() if value}


def _parse_secrets(text: str, sort: JSON, field: str | None) -> JSON:
    """Secrets from standard input: JSON by field, or the text of one."""
    if field is None and text.lstrip().startswith("{"):
        try:
            found = json.loads(text)
        except ValueError:
            raise Invalid("standard input is no JSON", fix="Say which field it is: --field NAME.") from None
        return dict(found)
    if field is None:
        is_key = "private_key" in sort["secret"] and text.startswith("-----BEGIN")
        field = "private_key" if is_key else next(iter(sort["secret"]), "secret")
    # The line end of `echo` is no part of a password; that of a key file is.
    return {field: text if field == "private_key" else text.rstrip("\r\n")} if text.strip() else {}
