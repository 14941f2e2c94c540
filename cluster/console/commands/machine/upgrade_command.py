"""`aos upgrade`: what `aos up` of this version would do to the state; its database from one PostgreSQL to another."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from cluster.basics.errors import Invalid
from cluster.console.commands.documents.document_commands import AsJson, CommandContext, CommandSession
from configs.settings import load_settings

Folder = Annotated[
    Path | None,
    typer.Option("--dump", metavar="FOLDER", help="Write the database there: a new folder, or an empty one."),
]
Dumped = Annotated[Path | None, typer.Option("--load", metavar="FOLDER", help="Load what --dump has written there.")]


def upgrade(
    context: CommandContext,
    check: Annotated[bool, typer.Option("--check", help="Look only; nothing is changed.")] = False,
    dump: Folder = None,
    load: Dumped = None,
    as_json: AsJson = False,
) -> None:
    """Say what `aos up` would change, or take the database from one major version of PostgreSQL to the next.

    With --check: which migrations are pending, what each locks and for how long, and which need old code stopped. Run
    it with the new version before `aos up`, which applies them. Nothing is changed; an embedded Postgres that does not
    run is started for the look. Times are what tables of this size take at most. Exit 0 nothing is pending, 3 pending
    and old code may run on, 4 pending and old code has to be stopped (`aos down`), 1 refused, or nothing could be
    looked at.

    Where the new version refuses data of another PostgreSQL: with the old version `aos down`, then --dump; with the new
    one --load, then `aos up`, which migrates. Start nothing between: what is written after a dump is not in it. The
    data from before is moved to postgres-MAJOR in the state directory and kept until you remove it; a load that fails
    moves it back, one that was killed is begun anew with the same command. Bytes of documents, keys and all else in the
    state directory stay where they are: on another machine copy those (but `postgres`) yourself, then --load. A dump
    holds everything but them, also password hashes: keep it closed to others. Backups go to another place afterwards
    (AOS_BACKUP_URL), as the database is another one to them. Exit 0 done, 1 refused or failed.

    Example: aos upgrade --check

    Example: aos upgrade --check --json

    Example: aos upgrade --dump /srv/aos-dump

    Example: aos upgrade --load /srv/aos-dump
    """
    if [check, dump is not None, load is not None].count(True) != 1:
        raise Invalid("one of --check, --dump and --load says what to do", fix="`aos up` applies what is pending.")
    if dump is not None:
        _dump(context.obj, dump.absolute(), as_json)
        return
    if load is not None:
        _load(context.obj, load.absolute(), as_json)
        return
    from cluster.console import upgrade_view  # the commands that only talk HTTP need not load a database's client
    from cluster.state.db.upgrade_check import check_upgrade

    report = check_upgrade(load_settings())
    context.obj.print(upgrade_view.as_json(report), as_json, upgrade_view.report_view(report))
    raise typer.Exit(report.exit_code)


def _dump(session: CommandSession, folder: Path, as_json: bool) -> None:
    from cluster.state.backup.database_dump import dump_database

    made = dump_database(load_settings(), folder, lambda line: None if as_json else session.aside(f"  {line}"))
    shown = f"Dumped to {folder}. Next, with the new version: aos upgrade --load {folder}"
    session.plain({"folder": str(folder), **asdict(made)}, as_json, shown)


def _load(session: CommandSession, folder: Path, as_json: bool) -> None:
    from cluster.state.backup.database_load import load_database

    done = load_database(load_settings(), folder, lambda line: None if as_json else session.aside(f"  {line}"))
    body = {
        "folder": str(folder),
        "major": done.major,
        "aside": None if done.aside is None else str(done.aside),
        "rows": sum(done.dump.rows.values()),
        "tables": len(done.dump.rows),
        "seconds": done.seconds,
    }
    shown = f"Loaded into PostgreSQL {done.major}. Next: aos up"
    shown += "" if done.aside is None else f"\nThe data from before is in {done.aside}; remove it once all is well."
    session.plain(body, as_json, shown)
