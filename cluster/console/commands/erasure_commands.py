"""`aos erasures`, `aos holds`, `aos retention`: what goes for good, what has to stay, and how long the rest is kept."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from cluster.basics.errors import Invalid
from cluster.console import printing
from cluster.console.api import JSON
from cluster.console.commands.documents.document_commands import AT_ONCE, AsJson, CommandContext, CommandSession
from cluster.state.signed_receipts import verify_receipt

ERASURES, HOLDS, RETENTION = "/api/erasures", "/api/legal-holds", "/api/retention"


class Erased(StrEnum):
    """The sort of what is erased."""

    DOCUMENT = "document"
    PERSON = "person"


class Held(StrEnum):
    """The sort of what is held."""

    DOCUMENT = "document"
    PERSON = "person"
    WORKSPACE = "workspace"


class RetentionKind(StrEnum):
    """What has a period of its own."""

    DOCUMENTS = "documents"
    VERSIONS = "versions"
    ANSWERS = "answers"
    CONVERSATIONS = "conversations"
    MESSAGES = "messages"
    RUNS = "runs"
    JOURNALS = "journals"
    AUDIT = "audit"


Reason = Annotated[str, typer.Option("--reason", help="Why; it stays on record.")]
ErasureId = Annotated[str, typer.Argument(help="The erasure's id, from `aos erasures list`.")]
ReceiptFile = Annotated[Path, typer.Argument(help="A receipt, as `aos erasures receipt` printed it.")]
KeyOption = Annotated[
    str | None, typer.Option("--key", help="The public key it must be signed with, from `aos erasures key`.")
]

erasures = typer.Typer(no_args_is_help=True, help="Erase documents and people for good, with a signed receipt.")
holds = typer.Typer(no_args_is_help=True, help="Legal holds: what must not go.")
retention = typer.Typer(
    no_args_is_help=True,
    help=(
        "How long each class is kept, and what is due. Of class pages, jobs with files that can still be resumed or"
        " retried keep their list until those are done."
    ),
)


@erasures.command("run")
def erase(
    context: CommandContext,
    kind: Erased,
    ids: Annotated[list[str], typer.Argument(help="Ids of documents, or of people.")],
    reason: Reason,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what would go.")] = False,
    as_json: AsJson = False,
) -> None:
    """Erase, look for it, and sign a receipt. Cut off, the same command goes on. Exit 1: something was found.

    Example: aos erasures run document 3f… --reason 'request 12' --dry-run
    """
    body = {"kind": kind, "ids": ids, "reason": reason}
    params = {"dry_run": "true"} if dry_run else {}
    done = context.obj.api.request("POST", ERASURES, json=body, params=params)
    rows = [{"place": place, "rows": count} for place, count in sorted(done["counts"].items())]
    context.obj.print(done, as_json, printing.rows_table(rows, ("place", "rows")))
    if dry_run:
        context.obj.aside("Nothing was erased.")
        return
    context.obj.aside(f"Erased; the probe found {done['finds']}. Its receipt: aos erasures receipt {done['id']}")
    raise typer.Exit(int(done["finds"] != 0))


@erasures.command("list")
def list_erasures(context: CommandContext, as_json: AsJson = False) -> None:
    """The erasures of your tenant, and how far one is that is under way. Example: aos erasures list"""
    columns = ("id", "kind", "reason", "asked_at", "gone", "expected", "done", "finds")
    context.obj.print_items(ERASURES, columns, as_json, limit=AT_ONCE)


@erasures.command("receipt")
def show_receipt(context: CommandContext, erasure: ErasureId) -> None:
    """Print a signed receipt. Example: aos erasures receipt 5c… > receipt.json"""
    typer.echo(json.dumps(context.obj.api.request("GET", f"{ERASURES}/{erasure}/receipt"), indent=2))


@erasures.command("key")
def show_key(context: CommandContext, as_json: AsJson = False) -> None:
    """The public key that receipts are checked with. Keep it apart from them. Example: aos erasures key"""
    found = context.obj.api.request("GET", f"{ERASURES}/key")
    context.obj.plain(found, as_json, found["public"])


@erasures.command("verify")
def verify(context: CommandContext, file: ReceiptFile, key: KeyOption = None) -> None:
    """Check a receipt's signature, without a server. Without --key it tells which key signed it, not whose that is.

    Example: aos erasures verify receipt.json --key 4Zk…
    """
    signer = verify_receipt(_read_receipt(file), key)
    context.obj.aside(f"The signature is right; key {signer}" + ("." if key else ", compare it: aos erasures key."))


@erasures.command("probe")
def probe(context: CommandContext, erasure: ErasureId, as_json: AsJson = False) -> None:
    """Look again, everywhere, for what was erased. Exit 1: something is there. Example: aos erasures probe 5c…"""
    found = context.obj.api.request("POST", f"{ERASURES}/{erasure}/probe")
    rows = [{"place": place, "rows": count} for place, count in found["places"].items()]
    context.obj.print(found, as_json, printing.rows_table(rows, ("place", "rows")))
    raise typer.Exit(int(found["finds"] != 0))


@erasures.command("replay")
def replay(
    context: CommandContext,
    files: Annotated[list[Path] | None, typer.Argument(help="Receipts that the backup does not know.")] = None,
    as_json: AsJson = False,
) -> None:
    """Erase again what an older backup brought back; more than once does no harm.

    Example: aos erasures replay receipts/*.json
    """
    body = {"receipts": [_read_receipt(file) for file in files or []]}
    found = context.obj.api.request("POST", f"{ERASURES}/replay", json=body)
    context.obj.print(found, as_json, printing.rows_table(found["items"], ("earlier", "again", "subjects")))


@holds.command("list")
def list_holds(
    context: CommandContext,
    everything: Annotated[bool, typer.Option("--all", help="Also those that were released.")] = False,
    as_json: AsJson = False,
) -> None:
    """The holds of your tenant. Example: aos holds list"""
    columns = ("id", "kind", "object_id", "name", "held_by_email", "held_at", "released_at")
    wanted = {} if everything else {"standing": "true"}
    context.obj.print_items(HOLDS, columns, as_json, limit=AT_ONCE, **wanted)


@holds.command("put")
def put_hold(
    context: CommandContext,
    kind: Held,
    object_id: Annotated[str, typer.Argument(help="The id of a document, a person or a workspace.")],
    name: Annotated[str, typer.Option("--name", help="What it is called, such as a case number.")],
    reason: Reason,
    as_json: AsJson = False,
) -> None:
    """Hold an object: nothing deletes it. Example: aos holds put document 3f… --name 'case 7' --reason lawsuit"""
    body = {"kind": kind, "object_id": object_id, "name": name, "reason": reason}
    made = context.obj.api.request("POST", HOLDS, json=body)
    context.obj.print(made, as_json, f"Held: {made['id']}")


@holds.command("release")
def release_hold(
    context: CommandContext,
    hold: Annotated[str, typer.Argument(help="The hold's id, from `aos holds list`.")],
    reason: Reason,
    as_json: AsJson = False,
) -> None:
    """Release a hold; others on the object stay. Example: aos holds release 8a… --reason settled"""
    made = context.obj.api.request("POST", f"{HOLDS}/{hold}/release", json={"reason": reason})
    context.obj.print(made, as_json, f"Released {made['name']}.")


@retention.command("show")
def show_retention(context: CommandContext, as_json: AsJson = False) -> None:
    """How long each class is kept in your workspace. Example: aos retention show"""
    _print_periods(context.obj, context.obj.api.request("GET", RETENTION), as_json)


@retention.command("set")
def set_retention(
    context: CommandContext,
    kind: RetentionKind,
    days: Annotated[str, typer.Argument(help="A number of days, `keep` for good, or `inherit` from what is above.")],
    workspace: Annotated[bool, typer.Option("--workspace", help="Of this workspace alone, not the tenant.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what would be due at once.")] = False,
    as_json: AsJson = False,
) -> None:
    """Set how long a class is kept. Example: aos retention set messages 30 --dry-run"""
    if days not in ("keep", "inherit") and not days.isdecimal():
        raise Invalid(f"days: {days}", fix="Give a number, keep or inherit.")
    body: dict[str, Any] = {"class": kind, "level": "workspace" if workspace else "tenant"}
    body |= {"inherit": days == "inherit", "days": int(days) if days.isdecimal() else None}
    if dry_run:
        _print_due(context.obj, context.obj.api.request("POST", f"{RETENTION}/preview", json=body), as_json)
        return
    _print_periods(context.obj, context.obj.api.request("PUT", RETENTION, json=body), as_json)


@retention.command("run")
def run_retention(
    context: CommandContext,
    delete: Annotated[bool, typer.Option("--delete", help="Delete it now; without this it is only counted.")] = False,
    as_json: AsJson = False,
) -> None:
    """Count what is due in the tenant, by class and workspace, or delete it. Example: aos retention run"""
    params = {"dry_run": "false" if delete else "true"}
    _print_due(context.obj, context.obj.api.request("POST", f"{RETENTION}/run", params=params), as_json)


def _print_due(session: CommandSession, found: JSON, as_json: bool) -> None:
    columns = ("kind", "workspace", "days", "due", "held", "deleted")
    session.print(found, as_json, printing.rows_table(found["items"], columns))


def _print_periods(session: CommandSession, found: JSON, as_json: bool) -> None:
    rows = [{"class": kind, **one} for kind, one in found["periods"].items()]
    session.print(found, as_json, printing.rows_table(rows, ("class", "days", "source")))


def _read_receipt(file: Path) -> JSON:
    try:
        read = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Invalid(f"{file} is no receipt: {error}") from error
    if not isinstance(read, dict):
        raise Invalid(f"{file} is no receipt")
    return read
