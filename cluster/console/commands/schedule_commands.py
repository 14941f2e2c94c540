"""`aos schedules`: what agents do by the clock."""

from typing import Annotated

import typer

from cluster.basics.errors import Invalid
from cluster.console.api import JSON
from cluster.console.commands.documents.document_commands import AT_ONCE, AsJson, CommandContext, CommandSession

Job = Annotated[str, typer.Argument(help="The job's name or id, from `aos schedules list`.")]
COLUMNS = ("name", "agent", "action", "cron", "timezone", "enabled", "next_at", "last_at", "last_status", "owner")
PATH = "/api/scheduler/jobs"

schedules = typer.Typer(no_args_is_help=True, help="List, add, remove and run what agents do by the clock.")


@schedules.command("list")
def list_schedules(context: CommandContext, as_json: AsJson = False) -> None:
    """Every scheduled job, when it is due next and how it ended last. Example: aos schedules list"""
    context.obj.print_items(PATH, COLUMNS, as_json, limit=AT_ONCE)


@schedules.command("add")
def add_schedule(
    context: CommandContext,
    name: Annotated[str, typer.Argument(help="What it is called.")],
    agent: Annotated[str, typer.Argument(help="The agent's name or id.")],
    cron: Annotated[str, typer.Argument(help="Minute, hour, day of month, month, day of week.")],
    message: Annotated[str | None, typer.Option(help="What is said to the agent.")] = None,
    academy: Annotated[
        bool, typer.Option("--academy", help="Study again and examine it, in place of a message.")
    ] = False,
    timezone: Annotated[str, typer.Option(help="Whose wall clock, such as Europe/Berlin.")] = "UTC",
    as_json: AsJson = False,
) -> None:
    """Talk to an agent by the clock. Example: aos schedules add morning assistant "0 6 * * *" --message hi"""
    if academy == (message is not None):
        raise Invalid("what is to be done?", fix="Give --message TEXT or --academy.")
    body: JSON = {"name": name, "agent": agent, "cron": cron, "timezone": timezone}
    body |= {"action": "academy", "payload": {}} if academy else {"action": "message", "payload": {"message": message}}
    made = context.obj.api.request("POST", PATH, json=body)
    context.obj.plain(made, as_json, f"{name} is due at {made['next_at']}.")


@schedules.command("remove")
def remove_schedule(context: CommandContext, job: Job, as_json: AsJson = False) -> None:
    """Take a job away with its history. Example: aos schedules remove morning"""
    context.obj.api.request("DELETE", f"{PATH}/{_find_schedule_id(context.obj, job)}")
    context.obj.plain({"job": job, "status": "removed"}, as_json, f"{job} is gone.")


@schedules.command("run")
def run_schedule(context: CommandContext, job: Job, as_json: AsJson = False) -> None:
    """Let it be due now; its own times stay. Example: aos schedules run morning"""
    asked = context.obj.api.request("POST", f"{PATH}/{_find_schedule_id(context.obj, job)}/run")
    context.obj.plain(asked, as_json, f"{job} is due. See how it ends: aos schedules list")


def _find_schedule_id(session: CommandSession, wanted: str) -> str:
    return session.require_id(PATH, wanted, "scheduled job", "aos schedules list shows them.")
