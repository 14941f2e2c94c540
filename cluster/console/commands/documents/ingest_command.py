"""`aos ingest`: a folder or file that the server reads where it is, or that is sent there from this machine."""

from pathlib import Path
from typing import Annotated

import typer

from cluster.console import job_progress, printing
from cluster.console.api import JSON, ApiRefusal
from cluster.console.commands.documents.document_commands import AsJson, CommandContext, CommandSession, print_started
from cluster.console.file_upload import FileUploader, UploadChoices, files_below, is_elsewhere


def ingest(
    context: CommandContext,
    path: Annotated[Path, typer.Argument(help="A folder or file that the server can read, or one to be sent there.")],
    agent: Annotated[str | None, typer.Option(help="Link the documents to this agent (id or name).")] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Show progress until the job ends.")] = False,
    languages: Annotated[
        str | None, typer.Option(help="Its scans are in, by Tesseract's names, such as deu,eng; else the workspace's.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what would be read.")] = False,
    upload: Annotated[
        bool | None,
        typer.Option(
            "--upload/--no-upload",
            help="Send the files from here; by itself where the server is another machine and the path is on this one.",
        ),
    ] = None,
    key: Annotated[str | None, typer.Option("--idempotency-key", help="The same key never makes a second job.")] = None,
    as_json: AsJson = False,
) -> None:
    """Read and index every file of a folder. With --wait: exit 0 complete, 3 something missing or doubtful, 1 failed.

    Files that are sent from here go in parts where they are large: run again after a cut, it goes on.

    Example: aos ingest ./scans --wait

    Example: aos --url https://aos.corp ingest ./scans --upload
    """
    path = path.expanduser().absolute()
    if upload if upload is not None else path.exists() and is_elsewhere(context.obj.api.url):
        _send_files(context.obj, path, UploadChoices(agent, languages), wait, dry_run, as_json)
        return
    if dry_run:
        _print_estimate(context.obj, path, agent, as_json)
        return
    started = context.obj.api.ingest(str(path), agent, key, languages)
    print_started(context.obj, started, wait, as_json)


def _send_files(
    session: CommandSession, path: Path, choices: UploadChoices, wait: bool, dry_run: bool, as_json: bool
) -> None:
    """Each file becomes a document with a job of its own; one that is refused keeps no other from being sent."""
    files = list(files_below(path))
    if dry_run:
        size = sum(one.stat().st_size for one in files)
        body = {"path": str(path), "files": len(files), "bytes": size}
        session.plain(body, as_json, f"{path}: {len(files)} files, {size:,} bytes would be sent")
        return
    sender = FileUploader(session.api, choices, lambda line: None if as_json else session.aside(f"  {line}"))
    sent: list[JSON] = []
    for one in files:
        try:
            sent.append({"path": str(one), **sender.send(one), "error": None})
        except ApiRefusal as error:
            sent.append(
                {"path": str(one), "document_id": None, "job_id": None, "status": "refused", "error": str(error)}
            )
        if not as_json:
            session.plain(
                sent[-1], False, f"{sent[-1]['status']:10} {one}  {sent[-1]['error'] or sent[-1]['job_id'] or ''}"
            )
    code = 1 if any(one["error"] for one in sent) else 0
    if wait:
        code = max([code, *(_wait_for(session, one, as_json) for one in sent if one["job_id"])], key=_worst)
    refused = sum(one["error"] is not None for one in sent)
    shown = f"{len(sent) - refused} of {len(sent)} files sent, {refused} refused."
    session.print({"files": sent, "sent": len(sent) - refused, "refused": refused}, as_json, shown)
    raise typer.Exit(code)


def _wait_for(session: CommandSession, sent: JSON, as_json: bool) -> int:
    """Follow the job of a file that was sent to its end; its exit code."""
    path = f"/api/jobs/{sent['job_id']}"
    job = job_progress.poll_job(lambda: session.api.request("GET", path), session.out, quiet=as_json)
    sent["status"] = job["state"]
    return job_progress.exit_code(job)


def _worst(code: int) -> int:
    """Failed before missing or doubtful before complete."""
    return {0: 0, 3: 1, 1: 2}.get(code, 2)


def _print_estimate(session: CommandSession, path: Path, agent: str | None, as_json: bool) -> None:
    """A file here is weighed here; a folder is the server's, which alone knows what of it a scan would take."""
    if path.is_file():
        size, kind = path.stat().st_size, path.suffix.lower() or "(none)"
        body = {"path": str(path), "files": 1, "bytes": size, "types": {kind: 1}}
        session.plain(body, as_json, f"{path}: 1 file, {size:,} bytes, {kind}")
        return
    found = session.api.estimate(str(path), agent)
    session.plain(found, as_json, "" if as_json else printing.estimate_text(found))
