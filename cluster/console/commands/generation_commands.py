"""`aos generations`: which index readers use, the next one, and the way back."""

from typing import Annotated, Any

import typer

from cluster.console import job_progress, printing
from cluster.console.api import JSON
from cluster.console.commands.documents.document_commands import AsJson, CommandContext, CommandSession

PATH = "/api/generations"
COLUMNS = ("id", "role", "embedder", "chunker", "documents", "embedded", "chunks", "made_at", "verdict")

generations = typer.Typer(no_args_is_help=True, help="List the index's generations, build the next one, switch.")


@generations.command("list")
def list_generations(context: CommandContext, as_json: AsJson = False) -> None:
    """The live generation, the one before, and what is built or refused. Example: aos generations list"""
    found = context.obj.api.request("GET", PATH)
    rows = [{**row, "verdict": (row["report"] or {}).get("verdict")} for row in found["items"]]
    context.obj.print(found, as_json, printing.rows_table(rows, COLUMNS))


@generations.command("build")
def build(
    context: CommandContext,
    hold: Annotated[bool, typer.Option("--hold", help="Build and check it; `switch` uses it.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Use it whatever the gate finds.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Show progress until the job ends.")] = False,
    as_json: AsJson = False,
) -> None:
    """Cut and embed the stored text again beside the live index. With --wait: exit 0 complete, 1 failed or refused.

    Example: aos generations build --wait
    """
    params = {name: "true" for name, wanted in (("hold", hold), ("force", force)) if wanted}
    started = context.obj.api.request("POST", "/api/documents/reindex-all", params=params)
    if not wait:
        context.obj.plain(started, as_json, f"Follow it: aos jobs watch {started['job_id']}")
        return
    path = f"/api/jobs/{started['job_id']}"
    job = job_progress.poll_job(lambda: context.obj.api.request("GET", path), context.obj.out, quiet=as_json)
    context.obj.print(job, as_json, job_progress.job_summary(job))
    raise typer.Exit(job_progress.exit_code(job))


@generations.command("switch")
def switch(
    context: CommandContext,
    generation: Annotated[int, typer.Argument(help="Its id, from `aos generations list`.")],
    force: Annotated[bool, typer.Option("--force", help="Even where the gate refused it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Let readers use a complete generation. Example: aos generations switch 7"""
    params: dict[str, Any] = {"force": "true"} if force else {}
    _print_switch(context.obj, context.obj.api.request("POST", f"{PATH}/{generation}/switch", params=params), as_json)


@generations.command("rollback")
def rollback(context: CommandContext, as_json: AsJson = False) -> None:
    """Let readers use the generation before, at once. Example: aos generations rollback"""
    _print_switch(context.obj, context.obj.api.request("POST", f"{PATH}/rollback"), as_json)


def _print_switch(session: CommandSession, made: JSON, as_json: bool) -> None:
    lines = [f"Readers use generation {made['generation']} now; {made['carried']} documents were taken over."]
    lines += [f"Job {made['job_id']} embeds them."] if made["job_id"] else []
    lines += [made["note"]] if made["note"] else []
    session.plain(made, as_json, "\n".join(lines))
