"""`aos schedules`: what agents do by the clock."""

from typing import Annotated

import typer

from cluster.basics.errors import Invalid, NotFound
from cluster.console.api import JSON
from cluster.console.commands.document_commands import AT_ONCE, AsJson, CommandSession

Job = Annotated[str, typer.Argument(help="The job's name or id, from `aos schedules list`.")]
COLUMNS = ("name", "agent", "action", "cron", "timezone", "enabled", "next_at", "last_at", "last_status", "owner")
PATH = "/api/scheduler/jobs"

schedules = typer.Typer(no_args_is_help=True, help="List, add, remove and run what agents do by the clock.")


@schedules.command("list")
def list_schedules(context: typer.Context, as_json: AsJson = False) -> None:
    """Every scheduled job, when it is due next and how it ended last. Example: aos schedules list"""
    context.obj.print_items(PATH, COLUMNS, as_json, limit=AT_ONCE)


@schedules.command("add")
def add_schedule(
    context: typer.Context,
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
    session: CommandSession = context.obj
    body: JSON = {"name": name, "agent": agent, "cron": cron, "timezone": timezone}
    body |= {"action": "academy", "payload": {}} if academy else {"action": "message", "payload": {"message": message}}
    made = session.api.request("POST", PATH, json=body)
    session.plain(made, as_json, f"{name} is due at {made['next_at']}.")


@schedules.command("remove")
def remove_schedule(context: typer.Context, job: Job, as_json: AsJson = False) -> None:
    """Take a job away with its history. Example: aos schedules remove morning"""
    session: CommandSession = context.obj
    session.api.request("DELETE", f"{PATH}/{_find_schedule_id(session, job)}")
    session.plain({"job": job, "status": "removed"}, as_json, f"{job} is gone.")


@schedules.command("run")
def run_schedule(context: typer.Context, job: Job, as_json: AsJson = False) -> None:
    """Let it be due now; its own times stay. Example: aos schedules run morning"""
    session: CommandSession = context.obj
    asked = session.api.request("POST", f"{PATH}/{_find_schedule_id(session, job)}/run")
    session.plain(asked, as_json, f"{job} is due. See how it ends: aos schedules list")


def _find_schedule_id(session: CommandSession, wanted: str) -> str:
    """The id of a job that is named by id or by name."""
    found = session.find_id(PATH, wanted)
    if found is None:
        raise NotFound(f"no scheduled job is called {wanted}", fix="aos schedules list shows them.")
    return found
