"""`aos governance`: policies on data, their standards, classes of documents, and what stands behind a run's masks."""

from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from cluster.basics.errors import Invalid
from cluster.console.commands.documents.document_commands import AsJson, CommandContext

POLICIES, REFERENCES = "/api/data-governance/policies", "/api/data-governance/references"

PolicyArgument = Annotated[str, typer.Argument(help="The policy's id.")]
FileArgument = Annotated[Path, typer.Argument(help="YAML with description, references, pii and classes.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only tell what it would touch.")]

governance = typer.Typer(no_args_is_help=True, help="Policies on data, in versions, and the standards behind them.")


@governance.command("policies")
def list_policies(context: CommandContext, as_json: AsJson = False) -> None:
    """The policies that hold here. Example: aos governance policies"""
    context.obj.print_items(POLICIES, ("id", "reach", "version", "name", "references", "pii"), as_json)


@governance.command("references")
def list_references(context: CommandContext, as_json: AsJson = False) -> None:
    """The standards that policies may name. Example: aos governance references"""
    context.obj.print_items(REFERENCES, ("id", "standard", "title"), as_json)


@governance.command("add")
def add_policy(
    context: CommandContext,
    name: str,
    file: FileArgument,
    tenant: Annotated[bool, typer.Option("--tenant", help="For all workspaces of the tenant.")] = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Make a policy. Example: aos governance add "No plain journals" journals.yaml --dry-run"""
    wanted = {"name": name, "body": _read_body(file), "tenant_wide": tenant, "dry_run": dry_run}
    _tell(context, context.obj.api.request("POST", POLICIES, json=wanted), as_json)


@governance.command("change")
def change_policy(
    context: CommandContext,
    policy: PolicyArgument,
    version: Annotated[int, typer.Argument(help="The version that you have read.")],
    name: str,
    file: FileArgument,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Make another version of a policy. Example: aos governance change ID 1 "No plain journals" journals.yaml"""
    wanted = {"name": name, "body": _read_body(file), "version": version, "dry_run": dry_run}
    _tell(context, context.obj.api.request("PUT", f"{POLICIES}/{policy}", json=wanted), as_json)


@governance.command("versions")
def list_versions(context: CommandContext, policy: PolicyArgument, as_json: AsJson = False) -> None:
    """Every version of a policy. Example: aos governance versions ID"""
    context.obj.print_items(
        f"{POLICIES}/{policy}/versions", ("version", "active", "name", "pii", "created_at"), as_json
    )


@governance.command("retire")
def retire_policy(context: CommandContext, policy: PolicyArgument) -> None:
    """Let a policy hold no longer, from now on. Example: aos governance retire ID"""
    context.obj.api.request("DELETE", f"{POLICIES}/{policy}")
    context.obj.aside(f"{policy} holds no longer; its versions stay on record.")


@governance.command("unmask")
def unmask_run(
    context: CommandContext,
    run: str,
    reason: Annotated[str, typer.Option(help="Why; the audit trail keeps it.")],
    as_json: AsJson = False,
) -> None:
    """Read what a run's placeholders stand for, and its answer unmasked.

    Example: aos governance unmask RUN --reason "ticket 4711"
    """
    body = context.obj.api.request("POST", f"/api/runs/{run}/unmask", json={"reason": reason})
    lines = "\n".join(f"{one['placeholder']}  {one['value']}" for one in body["items"])
    if answer := body.get("answer"):
        lines = "\n".join(part for part in (lines, f"answer: {answer}") if part)
    context.obj.plain(body, as_json, lines or "This run has no placeholders, and its answer is not masked.")


@governance.command("classify")
def classify_document(
    context: CommandContext,
    document: str,
    name: Annotated[str, typer.Argument(help="A class of the policies; left out, the class is shown.")] = "",
    by_rules: Annotated[bool, typer.Option("--by-rules", help="Let the rules of the policies decide again.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show a document's class of data, or give it one by hand. Example: aos governance classify ID confidential"""
    if name and by_rules:
        raise Invalid("a class and --by-rules: one of them")
    path = f"/api/documents/{document}"
    if name or by_rules:
        found = context.obj.api.request("PUT", f"{path}/classification", json={"classification": name or None})
    else:
        found = context.obj.api.request("GET", path)
    body = {key: found[key] for key in ("classification", "classified_by")}
    by = {"hand": "by hand", "policy": "by the rules"}.get(body["classified_by"] or "", "not yet looked at")
    context.obj.plain(body, as_json, f"{body['classification'] or 'no class'} ({by})")


def _read_body(file: Path) -> Any:
    try:
        return yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise Invalid(f"{file}: {error}") from None


def _tell(context: CommandContext, body: Any, as_json: bool) -> None:
    if body["policy"] is not None:
        one = body["policy"]
        context.obj.plain(body, as_json, f"{one['name']} is version {one['version']}: {one['id']}")
        return
    effect = body["effect"]
    lines = [
        f"documents: {effect['documents_looked_at']} of {effect['documents']} looked at, by class {effect['classes']}",
        f"pages: {effect['pages_with_finds']} of {effect['pages_looked_at']} with personal data {effect['page_finds']}",
        f"messages: {effect['messages']} of {effect['runs']} runs with personal data {effect['message_finds']}",
        "Nothing was changed.",
    ]
    context.obj.plain(body, as_json, "\n".join(lines))
