"""`aos import`, `aos merge`, and `aos export` of a whole workspace: a program on the server does it and says how."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from cluster.console import printing
from cluster.console.api import JSON
from cluster.console.commands.documents.document_commands import AsJson, CommandContext, CommandSession
from cluster.console.move_program import run_program

LEFT = 3  # exit code where something stays out, or somebody has to decide

SHOWN = 50  # conflicts


class KeptReaders(StrEnum):
    """The readers of a document whose bytes are there already."""

    TARGET = "target"
    KEEP = "keep"


Folder = Annotated[Path, typer.Argument(help="What `aos export WORKSPACE --to FOLDER` wrote.")]
Into = Annotated[str, typer.Option("--workspace", help="Where to: a workspace that is there, by name or id.")]
Tenant = Annotated[str | None, typer.Option(help="Its tenant, where several have a workspace of that name.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would become of it.")]
TrustKey = Annotated[
    str | None, typer.Option(metavar="KEY", help="The other installation's key, as `aos erasures key` tells it there.")
]


def export_workspace(
    context: CommandContext, workspace: str, folder: Path, tenant: str | None, dry_run: bool, as_json: bool
) -> None:
    """Write a workspace into a folder."""
    session: CommandSession = context.obj
    told = run_program("export", folder, workspace, tenant, [], dry_run, _progress(session, as_json))
    if dry_run:
        shown = f"{told['documents']} documents, {told['pages']} pages, {told['bytes']:,} bytes; nothing was written."
        session.plain(told, as_json, shown)
        return
    left = told["left_out"]
    counts = ", ".join(
        f"{told['counts'].get(name, 0):,} {name}" for name in ("documents", "pages", "chunks", "vectors")
    )
    lines = [f"{counts} in {told['folder']}, signed with key {told['key']}"]
    lines += [f"{left['unread']} documents that nobody has read yet stay out"] * bool(left["unread"])
    lines += [f"{left['without_bytes']} versions lack their bytes: {_some(left['without_bytes_names'])}"] * bool(
        left["without_bytes"]
    )
    session.plain(told, as_json, "\n".join(lines))
    if left["unread"] or left["without_bytes"]:
        raise typer.Exit(LEFT)


def import_workspace(
    context: CommandContext,
    folder: Folder,
    workspace: Into,
    tenant: Tenant = None,
    trust_key: TrustKey = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Bring an exported workspace into an empty one: no page is read again, and citations lead to the same places.

    Run it on the server. Everything is checked first: signature, hashes, the pages that the tenant may have. Vectors
    are kept where the embedder and the chunker here are those that made them; else documents are found by their words
    and a job embeds them anew. Readers are people by e-mail address and groups by name; who is unknown is nobody.
    Agents come without skills and credentials. Documents whose bytes were erased in this tenant stay out; what was
    erased of people is not known by its bytes. Cut off, the same command goes on. Exit 3 where somebody has to look
    at something: conflicts, unknown readers, skills to attach, vectors that are made anew.

    Example: aos import /mnt/claims --workspace claims --dry-run

    Example: aos import /mnt/claims --tenant acme --workspace claims --trust-key 4Zk…
    """
    more = [] if trust_key is None else ["--trust-key", trust_key]
    _bring(context.obj, "import", folder, workspace, tenant, more, dry_run, as_json)


def merge_workspace(
    context: CommandContext,
    folder: Folder,
    workspace: Into,
    tenant: Tenant = None,
    trust_key: TrustKey = None,
    readers: Annotated[
        KeptReaders, typer.Option(help="Of documents that both have: those that are there, or those of both.")
    ] = KeptReaders.TARGET,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Bring an exported workspace into one that has documents; what is there wins, and conflicts are listed.

    The same bytes are one document, the one that is there. Another document of the same name stands beside it. Agents
    and golden sets of a name that is taken stay as they are. `--readers keep` adds readers, and never opens to
    everybody what is for some. Otherwise as `aos import`.

    Example: aos merge /mnt/claims --workspace archive --dry-run
    """
    more = ["--readers", str(readers)] + ([] if trust_key is None else ["--trust-key", trust_key])
    _bring(context.obj, "merge", folder, workspace, tenant, more, dry_run, as_json)


def _bring(
    session: CommandSession,
    verb: str,
    folder: Path,
    workspace: str,
    tenant: str | None,
    more: list[str],
    dry_run: bool,
    as_json: bool,
) -> None:
    told = run_program(verb, folder, workspace, tenant, more, dry_run, _progress(session, as_json))
    session.print(told, as_json, printing.rows_table(_rows(told), ("what", "count")))
    if not as_json:
        for line in _remarks(told):
            session.aside(line)
    if told["conflicts"] or told["unknown_readers"] or told["skills_to_attach"] or told["vectors"] == "anew":
        raise typer.Exit(LEFT)


def _rows(told: JSON) -> list[dict[str, Any]]:
    found = told["documents"]
    rows = {
        "new documents": found["new"],
        "pages of those, none read again": told["pages"],
        "there already, by their bytes": found["same"] + found["within"],
        "brought by an earlier run": found["done"],
        "erased here, they stay out": found["erased"],
        "conflicts": found["conflicts"],
    }
    return [{"what": what, "count": count} for what, count in rows.items()]


def _remarks(told: JSON) -> list[str]:
    lines = [f"{one['kind']} {one['name']}: {one['done']}" for one in told["conflicts"][:SHOWN]]
    lines += ["More conflicts: --json lists all."] * (len(told["conflicts"]) > SHOWN)
    lines += [f"Nobody here: {_some(told['unknown_readers'])}"] * bool(told["unknown_readers"])
    skills = sorted({f"{one['agent']}: {one['skill']}" for one in told["skills_to_attach"]})
    lines += [f"Skills to be attached by hand: {_some(skills)}"] * bool(skills)
    if told["vectors"] == "anew":
        job = f"; job {told['embed_job']}" if told["embed_job"] else ""
        lines.append(f"The embedder or the chunker here is another one: found by words now, embedded anew{job}")
    return [*lines, "Nothing was written."] if told["dry_run"] else lines


def _some(names: list[str]) -> str:
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")


def _progress(session: CommandSession, quiet: bool) -> bool:
    """Whether steps are to be seen."""
    return not quiet and session.out.is_terminal
