"""`aos service`: the systemd unit that starts the product at boot, shown, installed and removed."""

import getpass
import sys
from pathlib import Path
from typing import Annotated

import typer

from cluster.console import systemd_unit
from cluster.console.commands.documents.document_commands import AsJson, CommandContext
from cluster.console.systemd_unit import UnitPlan
from cluster.state import supervised
from configs.settings import env_file_path, load_settings

service = typer.Typer(no_args_is_help=True, help="Start the product at boot, by systemd.")
OfUser = Annotated[bool, typer.Option("--user", help="A unit of your own manager, without root.")]
Account = Annotated[str | None, typer.Option("--account", help="Who runs it; you, where left out.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")]


@service.command("print")
def print_unit(context: CommandContext, user: OfUser = False, account: Account = None, as_json: AsJson = False) -> None:
    """Show the unit with the paths of this installation. Example: aos service print --account aos"""
    plan = _plan(user, account)
    text = systemd_unit.unit_text(plan)
    context.obj.plain({"path": str(plan.path), "unit": text}, as_json, text.rstrip("\n"))


@service.command("install")
def install_unit(
    context: CommandContext,
    user: OfUser = False,
    account: Account = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Write the unit, start the product now and at each boot. Settings come from `.env`, not from your shell.

    Example: sudo .venv/bin/aos service install --account aos

    Example: aos service install --user --dry-run
    """
    plan = _plan(user, account)
    if not dry_run:
        runs = supervised.find_supervisor(plan.state_dir) is not None
        systemd_unit.install_unit(plan, systemd_unit.run_systemctl, runs_already=runs)
    commands = [" ".join(command) for command in systemd_unit.install_commands(plan)]
    shown = "\n".join([f"write {plan.path}", *commands]) if dry_run else f"{plan.path} is installed and started."
    if user:
        shown += "\nFor a start before you sign in: loginctl enable-linger"
    body = {"path": str(plan.path), "commands": commands, "done": not dry_run}
    context.obj.plain(body, as_json, shown)


@service.command("uninstall")
def uninstall_unit(
    context: CommandContext, user: OfUser = False, dry_run: DryRun = False, as_json: AsJson = False
) -> None:
    """Stop the product and remove the unit; the data stays. Example: sudo .venv/bin/aos service uninstall"""
    plan = _plan(user, None)
    commands = [" ".join(command) for command in systemd_unit.uninstall_commands(plan)]
    was = plan.path.exists() if dry_run else systemd_unit.uninstall_unit(plan, systemd_unit.run_systemctl)
    shown = "\n".join([commands[0], f"remove {plan.path}", commands[1]]) if dry_run else f"{plan.path} is removed."
    body = {"path": str(plan.path), "commands": commands, "done": was and not dry_run}
    context.obj.plain(body, as_json, shown if was else f"There is no {plan.path}.")


def _plan(user: bool, account: str | None) -> UnitPlan:
    return UnitPlan(
        program=Path(sys.executable).parent / "aos",
        state_dir=load_settings().state_dir,
        env_file=env_file_path(),
        account=None if user else account or getpass.getuser(),
        home=Path.home(),
    )
