"""`aos audit`: the trail as a file, its chain verified here from that file alone, or at the server in slices."""

from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from cluster.basics.errors import Invalid
from cluster.console.commands.documents.document_commands import AsJson, CommandContext, CommandSession

BROKEN = 3  # exit code where the chain does not hold
STEP = 20_000

audit = typer.Typer(no_args_is_help=True, help="Take the audit trail out, and verify its chain.")


@audit.command("export")
def export_audit_log(
    context: CommandContext,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file; it is there when all of it came.")],
    since: Annotated[datetime | None, typer.Option("--from", help="The first moment, UTC.")] = None,
    until: Annotated[datetime | None, typer.Option("--to", help="The last moment, UTC.")] = None,
    form: Annotated[str, typer.Option("--format", help="ocsf (events of OCSF) or jsonl (bare entries).")] = "ocsf",
    as_json: AsJson = False,
) -> None:
    """Write your tenant's audit trail into a file, an entry a line, oldest first.

    Example: aos audit export --out trail.jsonl --from 2026-01-01 --to 2026-03-31T23:59:59
    """
    if form not in ("ocsf", "jsonl"):
        raise Invalid(f"--format {form}", fix="Give ocsf or jsonl.")
    moments = {"from": since, "to": until}
    asked = {name: moment.isoformat() for name, moment in moments.items() if moment is not None}
    session: CommandSession = context.obj
    session.api.save_file("/api/audit/export", out, lambda received, total: None, format=form, **asked)
    with out.open("rb") as file:
        count = sum(1 for _ in file)
    shown = f"{count:,} entries in {out}. To check it anywhere: aos audit verify {out}"
    session.plain({"file": str(out), "entries": count}, as_json, shown)


@audit.command("verify")
def verify_audit_log(
    context: CommandContext,
    file: Annotated[
        Path | None, typer.Argument(help="A file of aos audit export, or a collector's; else the server's own trail.")
    ] = None,
    first: Annotated[int, typer.Option("--from", min=1, help="Of the server's trail: the first entry.")] = 1,
    last: Annotated[int | None, typer.Option("--to", min=1, help="Of the server's trail: the last entry.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check that no entry is missing, altered or out of order. Exit 3 where one is.

    A file is checked here, without a server. It cannot show that entries after its last one were cut off: compare that
    one with GET /api/audit.

    Example: aos audit verify trail.jsonl
    """
    session: CommandSession = context.obj
    body, lines, is_intact = _verify_file(file) if file else _verify_server(session, first, last, as_json)
    session.plain(body, as_json, "\n".join(lines))
    raise typer.Exit(0 if is_intact else BROKEN)


def _verify_file(file: Path) -> tuple[dict[str, Any], list[str], bool]:
    from cluster.state.audit_export.verify import verify_lines  # only this command needs it

    if not file.is_file():
        raise Invalid(f"there is no file {file}")
    with file.open(encoding="utf-8", errors="replace") as lines:
        report = verify_lines(lines)
    chains = {tenant: {"first": chain.first, "last": chain.last} for tenant, chain in report.chains.items()}
    counts = {name: getattr(report, name) for name in ("entries", "repeated", "unhashed", "flawed", "flaws")}
    shown = [f"tenant {tenant}: entries {one['first']:,} to {one['last']:,}" for tenant, one in chains.items()]
    if report.repeated:
        shown.append(f"{report.repeated:,} lines repeat entries, as where a confirmation was lost.")
    if report.unhashed:
        shown.append(f"{report.unhashed:,} entries came without details: only their links were checked.")
    shown += report.flaws
    whole = "The chain holds." if report.intact else f"The chain does NOT hold: {report.flawed:,} flaws."
    shown.append(f"{report.entries:,} entries. {whole}")
    return {"intact": report.intact, **counts, "chains": chains}, shown, report.intact


def _verify_server(
    session: CommandSession, first: int, last: int | None, is_quiet: bool
) -> tuple[dict[str, Any], list[str], bool]:
    """In slices, so that it may be ended at any time and gone on with by --from."""
    following: int | None = first
    checked, answer = 0, dict[str, Any]()
    columns = (TextColumn("verifying"), BarColumn(), TextColumn("{task.fields[reached]:,}"), TimeElapsedColumn())
    with Progress(*columns, console=session.out, disable=is_quiet, transient=True) as shown:
        task = shown.add_task("", total=1.0, reached=0)
        while following is not None:
            asked = {"from": following, "limit": STEP} | ({} if last is None else {"to": last})
            answer = session.api.request("GET", "/api/audit/verify", params=asked)
            checked += answer["checked"]
            shown.update(task, completed=answer["progress"], reached=answer["reached"])
            following = answer["next"] if answer["intact"] else None
    body = {"intact": answer["intact"], "checked": checked, "first_broken": answer["first_broken"]}
    body["reached"] = answer["reached"]
    whole = "The chain holds."
    if not answer["intact"]:
        whole = f"The chain does NOT hold: entry {answer['first_broken']:,} was altered, or one before it is gone."
    return body, [f"{checked:,} entries. {whole}"], answer["intact"]
