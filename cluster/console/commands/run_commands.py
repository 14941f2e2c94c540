"""`aos runs`, `aos replay`, `aos approvals`: what agents did, whether they would do it again, what they may do."""

import json
from typing import Annotated, Any

import typer
from rich.table import Table

from cluster.basics.errors import Invalid
from cluster.console import printing
from cluster.console.api import JSON
from cluster.console.commands.chat_command import FAILED, WAITS, ChatTurn, follow_run
from cluster.console.commands.documents.document_commands import AsJson, CommandContext, CommandSession

RunId = Annotated[str, typer.Argument(help="The run's id, from `aos runs list`.")]
ApprovalId = Annotated[str, typer.Argument(help="The approval's id, from `aos approvals list`.")]
Notes = Annotated[str, typer.Option(help="For the record.")]
RUN_COLUMNS = ("id", "state", "path", "prompt_tokens", "completion_tokens", "cost_usd", "created_at")
STEP_COLUMNS = ("seq", "kind", "name", "state", "ms", "prompt_tokens", "completion_tokens", "cost_usd")
APPROVAL_COLUMNS = ("id", "tool", "arguments", "state", "execution", "category", "expires_at")
DIVERGES = 3

runs = typer.Typer(no_args_is_help=True, help="List, show, follow, resume and cancel what agents did.")
approvals = typer.Typer(no_args_is_help=True, help="List and decide what agents want to do.")


@runs.command("list")
def list_runs(
    context: CommandContext,
    state: Annotated[str | None, typer.Option(help="Only in this state, such as waiting.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 50,
    as_json: AsJson = False,
) -> None:
    """Runs, newest first. Example: aos runs list --state waiting"""
    params: JSON = {"limit": limit} | ({"state": state} if state else {})
    context.obj.print_items("/api/runs", RUN_COLUMNS, as_json, **params)


@runs.command("show")
def show_run(
    context: CommandContext,
    run_id: RunId,
    full: Annotated[bool, typer.Option("--full", help="With requests and replies; for --json.")] = False,
    as_json: AsJson = False,
) -> None:
    """One run with its steps, times, tokens and cost. Example: aos runs show ID"""
    found = context.obj.api.request("GET", f"/api/runs/{run_id}", params={"full": full})
    context.obj.print(found, as_json, _step_table(found))


@runs.command("watch")
def watch_run(context: CommandContext, run_id: RunId) -> None:
    """Follow a run to its end, also while it waits: exit 0 done, 1 failed. Example: aos runs watch ID"""
    turn = ChatTurn(run=run_id)
    follow_run(context.obj, turn)
    raise typer.Exit(turn.exit_code)


@runs.command("resume")
def resume_run(context: CommandContext, run_id: RunId, as_json: AsJson = False) -> None:
    """Go on with an interrupted run; what was done is not done again. Example: aos runs resume ID"""
    found = context.obj.api.request("POST", f"/api/runs/{run_id}/resume", params={"stream": False})
    context.obj.plain(found, as_json, str(found["answer"]))
    waits = found["requires_approval"] or found.get("requires_input")
    raise typer.Exit(WAITS if waits else FAILED if found["error"] else 0)


@runs.command("cancel")
def cancel_run(context: CommandContext, run_id: RunId, as_json: AsJson = False) -> None:
    """Ask a run to end; what is done stays done. Example: aos runs cancel ID"""
    found = context.obj.api.request("POST", f"/api/runs/{run_id}/cancel")
    context.obj.print(found, as_json, f"Run {run_id}: {found['state']}")


def replay(
    context: CommandContext,
    run_id: RunId,
    with_: Annotated[list[str] | None, typer.Option("--with", help="model=CONNECTION or prompt=TEXT.")] = None,
    as_json: AsJson = False,
) -> None:
    """Walk a recorded run again, offline; with another model or prompt, ask it. Exit 0 same, 3 diverges.

    Example: aos replay ID

    Example: aos replay ID --with model=small
    """
    body: JSON = {}
    for given in with_ or ():
        name, _, value = given.partition("=")
        if name not in ("model", "prompt") or not value:
            raise Invalid(f"--with {given}", fix="Give --with model=CONNECTION or --with prompt=TEXT.")
        body[name] = value
    found = context.obj.api.request("POST", f"/api/runs/{run_id}/replay", json=body)
    other = found.get("diverged")
    shown = f"The same, in {found.get('steps', 0)} steps and {found.get('events', 0)} events."
    if other:
        where = f"step {other['step']}" if other.get("step") else f"event {other.get('event')}"
        shown = f"Diverges at {where}, {other.get('name', '')}\n  recorded: {_shorten_json(other.get('recorded'))}\n"
        shown += f"  now:      {_shorten_json(other.get('now'))}"
    context.obj.plain(found, as_json, shown)
    raise typer.Exit(DIVERGES if other else 0)


@approvals.command("list")
def list_approvals(
    context: CommandContext,
    state: Annotated[str, typer.Option(help="pending, approved, rejected, expired, or all.")] = "pending",
    as_json: AsJson = False,
) -> None:
    """Approval requests, the oldest first. Example: aos approvals list."""
    params = {} if state == "all" else {"state": state}
    found = context.obj.api.request("GET", "/api/approvals", params=params)
    rows = [item | {"arguments": _shorten_json(item["arguments"])} for item in found["items"]]
    context.obj.print(found, as_json, printing.rows_table(rows, APPROVAL_COLUMNS))


@approvals.command("approve")
def approve(
    context: CommandContext,
    approval_id: ApprovalId,
    arguments: Annotated[str | None, typer.Option(help="Edited arguments, as a JSON object.")] = None,
    notes: Notes = "",
    as_json: AsJson = False,
) -> None:
    """Allow an action; its run goes on by itself. Example: aos approvals approve ID"""
    edited: JSON = {} if arguments is None else {"arguments": _parse_json(arguments)}
    body = {"decision": "approve", "notes": notes, **edited}
    _send_decision(context.obj, approval_id, body, as_json)


@approvals.command("reject")
def reject(context: CommandContext, approval_id: ApprovalId, notes: Notes = "", as_json: AsJson = False) -> None:
    """Forbid an action; the agent is told, and goes on. Example: aos approvals reject ID --notes later"""
    _send_decision(context.obj, approval_id, {"decision": "reject", "notes": notes}, as_json)


@approvals.command("reconcile")
def reconcile(
    context: CommandContext,
    approval_id: ApprovalId,
    found: Annotated[str, typer.Argument(help="happened, run (it did not happen: run it), or give_up.")],
    result: Annotated[str | None, typer.Option(help="What the tool gave, as JSON; with happened.")] = None,
    notes: Notes = "",
    as_json: AsJson = False,
) -> None:
    """Say what became of an action that broke off half-way. Example: aos approvals reconcile ID happened"""
    if found not in ("happened", "run", "give_up"):
        raise Invalid(f"{found} is none of happened, run, give_up")
    gave: JSON = {} if result is None else {"result": _parse_json(result)}
    body = {"decision": found, "notes": notes, **gave}
    _send_decision(context.obj, approval_id, body, as_json)


def _send_decision(session: CommandSession, approval_id: str, body: JSON, as_json: bool) -> None:
    found = session.api.request("POST", f"/api/approvals/{approval_id}", json=body)
    session.print(found, as_json, f"{found['tool']}: {found['state']}. Follow it: aos runs watch {found['run_id']}")


def _step_table(run: JSON) -> Table:
    table = printing.rows_table(run["steps"], STEP_COLUMNS)
    table.title = f"run {run['id']}: {run['state']}, {run['path']}, {run['ms']} ms, ${run['cost_usd']:.4f}"
    table.title_justify = "left"
    if run.get("error"):
        table.caption = f"{run['error'].get('code', '')}: {run['error'].get('detail', '')}"
    return table


def _shorten_json(value: object) -> str:
    return printing.shorten(json.dumps(value, ensure_ascii=False), 200)


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise Invalid(f"this is no JSON: {error}") from None
