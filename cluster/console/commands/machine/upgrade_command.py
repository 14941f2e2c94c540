"""`aos upgrade --check`: what `aos up` of this version would do to the state, before it does it."""

from typing import Annotated

import typer

from cluster.basics.errors import Invalid
from cluster.console.commands.documents.document_commands import AsJson, CommandContext
from configs.settings import load_settings


def upgrade(
    context: CommandContext,
    check: Annotated[bool, typer.Option("--check", help="Look only; nothing is changed.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say which migrations are pending, what each locks and for how long, and which need old code stopped.

    Run it with the new version before `aos up`, which applies them. Nothing is changed; an embedded Postgres that does
    not run is started for the look. Times are what tables of this size take at most.

    Exit 0 nothing is pending, 3 pending and old code may run on, 4 pending and old code has to be stopped (`aos down`),
    1 refused, or nothing could be looked at.

    Example: aos upgrade --check

    Example: aos upgrade --check --json
    """
    if not check:
        raise Invalid("aos upgrade looks only", fix="Add --check; `aos up` applies what is pending.")
    from cluster.console import upgrade_view  # the commands that only talk HTTP need not load a database's client
    from cluster.state.db.upgrade_check import check_upgrade

    report = check_upgrade(load_settings())
    context.obj.print(upgrade_view.as_json(report), as_json, upgrade_view.report_view(report))
    raise typer.Exit(report.exit_code)
