"""`aos backup` and `aos restore`: the whole instance to a folder or a bucket, and back as it was at a time."""

import asyncio
import json
import subprocess
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from cluster.basics.errors import Invalid
from cluster.basics.own_program import own_program
from cluster.console.commands.documents.document_commands import AsJson, CommandContext
from configs.sections import Settings
from configs.settings import load_settings

backup = typer.Typer(
    no_args_is_help=True, help="Back up the whole instance while it runs; look at backups, verify, prune."
)
Place = Annotated[str | None, typer.Option("--to", help="A folder or s3://bucket/prefix; AOS_BACKUP_URL by itself.")]
From = Annotated[str | None, typer.Option("--from", help="A folder or s3://bucket/prefix; AOS_BACKUP_URL by itself.")]
# What erases stands above the cluster: it is not imported here but asked, as a program of its own.
REPLAY = own_program("serve_apps.governance.replay_log")


@backup.command("run")
def run(
    context: CommandContext,
    full: Annotated[bool, typer.Option("--full", help="All of the database.")] = False,
    incremental: Annotated[bool, typer.Option("--incremental", help="What changed since the last backup.")] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Then remove what AOS_BACKUP_KEEP_FULL and _KEEP_DAYS do not keep.")
    ] = False,
    to: Place = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what it would be.")] = False,
    as_json: AsJson = False,
) -> None:
    """Back up the database, bytes of documents and, with AOS_BACKUP_PASSPHRASE_FILE, keys and `.env`; on the server.

    Without --full or --incremental: one full backup a week, increments between. Of an external Postgres everything but
    the database, whose backup is its operator's job. Exit 0 done, 1 failed; nothing half counts.

    Example: aos backup run --full --to /mnt/backup

    Example: aos backup run --incremental --json
    """
    from cluster.state.backup.backup_run import plan_backup, run_backup
    from cluster.state.backup.destination import destination_of
    from cluster.state.backup.pruning import prune_backups

    if full and incremental:
        raise Invalid("--full and --incremental exclude each other")
    settings = load_settings()
    place = destination_of(settings, to)
    plan = plan_backup(settings, place, "full" if full else "incremental" if incremental else None)
    if dry_run:
        body = {"dry_run": True, "kind": plan.kind, "why": plan.why, "to": place.name}
        context.obj.plain(body, as_json, f"It would be {plan.kind} ({plan.why}), to {place.name}.")
        return
    made = run_backup(settings, place, plan, lambda line: None if as_json else context.obj.aside(f"  {line}"))
    gone = []
    if prune:
        keep = settings.backup.keep_full, settings.backup.keep_days
        gone = prune_backups(settings, place, *keep, datetime.now(UTC))
    body = {**asdict(made), "kind": made.kind, "why": plan.why, "removed": gone}
    shown = f"Backup {made.id}: {made.kind}, {made.size / 2**20:,.1f} MiB, {made.blobs:,} files of documents."
    if "secrets.sealed" not in made.digests:
        shown += "\nKeys and `.env` are not in it: set AOS_BACKUP_PASSPHRASE_FILE, or keep vault-key elsewhere."
    context.obj.plain(body, as_json, shown + (f"\n{plan.why}." if plan.kind == "files" else ""))


@backup.command("list")
def show(context: CommandContext, source: From = None, as_json: AsJson = False) -> None:
    """Every backup that is whole, the oldest first.

    Example: aos backup list --from /mnt/backup --json
    """
    from cluster.state.backup.catalog import list_backups
    from cluster.state.backup.destination import destination_of

    found = list_backups(destination_of(load_settings(), source))
    body = {"items": [{**asdict(one), "kind": one.kind} for one in found], "total": len(found)}
    lines = [f"{one.id}  {one.kind:<11}  {one.ended[:19]}  {one.size / 2**20:>9,.1f} MiB" for one in found]
    context.obj.plain(body, as_json, "\n".join(lines) or "There is no backup.")


@backup.command("verify")
def verify(
    context: CommandContext,
    source: From = None,
    hashes: Annotated[
        bool, typer.Option("--hashes", help="By hashes alone: nothing is unpacked, so it takes no room.")
    ] = False,
    idle: Annotated[bool, typer.Option("--idle", help="Only with what nobody else wants of the CPUs.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compare everything with its hash, bases by pg_verifybackup, and look for gaps in the log. Exit 3 if one is found.

    The supervisor does so by itself every AOS_BACKUP_VERIFY_DAYS (--hashes --idle); `aos doctor` knows of either.

    Example: aos backup verify --from s3://backups/aos
    """
    from cluster.basics.priority import lower_process_priority
    from cluster.state.backup.backup_state import note_verification
    from cluster.state.backup.destination import destination_of
    from cluster.state.backup.verification import verify_destination

    if idle:
        lower_process_priority()
    settings = load_settings()
    place = destination_of(settings, source)
    faults = verify_destination(place, unpack=not hashes)
    if place.name == settings.backup.url:
        with suppress(PermissionError):  # whoever may read the backups need not be whose instance it is
            note_verification(settings.state_dir, faults, datetime.now(UTC))
    context.obj.plain({"faults": faults}, as_json, "\n".join(faults) or "All is well.")
    raise typer.Exit(3 if faults else 0)


@backup.command("prune")
def prune(
    context: CommandContext,
    keep_full: Annotated[int | None, typer.Option(min=1, help="So many full ones, with what builds on them.")] = None,
    keep_days: Annotated[float | None, typer.Option(min=0, help="What is younger, with what it builds on.")] = None,
    source: From = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove backups that neither rule keeps, and the log and bytes that only they need; the newest chain always stays.

    Example: aos backup prune --keep-full 4 --keep-days 30 --dry-run
    """
    from cluster.state.backup.destination import destination_of
    from cluster.state.backup.pruning import prune_backups

    if keep_full is None and keep_days is None:
        raise Invalid("nothing says what to keep", fix="Give --keep-full, --keep-days, or both.")
    settings = load_settings()
    place = destination_of(settings, source)
    gone = prune_backups(settings, place, keep_full, keep_days, datetime.now(UTC), dry_run=dry_run)
    verb = "would go" if dry_run else "went"
    context.obj.plain({"dry_run": dry_run, "removed": gone}, as_json, f"{len(gone)} backups {verb}. {' '.join(gone)}")


def restore(
    context: CommandContext,
    state_dir: Annotated[Path, typer.Option("--state-dir", help="The folder of the new state: empty, or not there.")],
    source: From = None,
    to_time: Annotated[str | None, typer.Option(help="An ISO moment; the newest state when left out.")] = None,
    as_json: AsJson = False,
) -> None:
    """Put an instance back into an empty folder, as it was at a time; what was erased since is erased again.

    Bytes go to AOS_BLOBS_URL where that is set: name another bucket than that of an instance which still runs. Nothing
    runs afterwards: start it with AOS_STATE_DIR and `aos up`, and let it back up to another destination. Settings of
    then are in restored.env. Exit 0 done, 1 failed, 3 files of documents are damaged there.

    Example: aos restore --from /mnt/backup --to-time 2026-03-01T12:00:00+00:00 --state-dir /srv/aos
    """
    from cluster.state.backup.destination import destination_of
    from cluster.state.backup.erasure_log import erasure_log
    from cluster.state.backup.restoring import finish_restore, restore_instance
    from cluster.state.db import embedded

    settings = load_settings().model_copy(update={"state_dir": state_dir.absolute()})
    try:
        moment = None if to_time is None else datetime.fromisoformat(to_time)
    except ValueError as error:
        raise Invalid(f"{to_time} is no ISO moment") from error
    moment = moment if moment is None or moment.tzinfo else moment.astimezone()
    place = destination_of(settings, source)
    try:
        say = lambda line: None if as_json else context.obj.aside(f"  {line}")  # noqa: E731
        done = restore_instance(settings, place, moment, say)
        with done.timed("erasures"):
            again = _replay(settings, [body["receipt"] for body in erasure_log(place)])
        finish_restore(settings.state_dir)
    finally:
        embedded.stop_servers(settings.state_dir)
    facts = {"backup": done.backup.id, "to_time": to_time, "state_dir": str(settings.state_dir), "erased_again": again}
    shown = f"Restored to {settings.state_dir} from {done.backup.id}; {again} erasures carried out again."
    shown += "".join(f"\nDamaged in the destination, and not put back: {key}" for key in done.damaged)
    shown += f"\nStart it: AOS_STATE_DIR={settings.state_dir} aos up"
    context.obj.plain({**facts, "damaged": done.damaged, "seconds": done.seconds}, as_json, shown)
    raise typer.Exit(3 if done.damaged else 0)


def _replay(settings: Settings, receipts: list[Any]) -> int:
    if not receipts:
        return 0
    from cluster.state.db.embedded import postgres_endpoints, timeline_fence
    from cluster.state.db.migrate import apply_migrations, let_in
    from cluster.state.db.primary import current_server

    application, owner = postgres_endpoints(settings)
    if owner is None:
        raise Invalid("the owner of the database is not configured", fix="Set DATABASE_ADMIN_URL.")
    fence = timeline_fence(settings)
    owner = asyncio.run(current_server(owner, fence))
    asyncio.run(apply_migrations(owner))  # what erases knows the newest schema alone
    asyncio.run(let_in(owner, application, fence))
    listed = settings.state_dir / "erasures-to-replay.json"
    listed.write_text(json.dumps(receipts), encoding="utf-8")
    command = ["env", f"AOS_STATE_DIR={settings.state_dir}", *REPLAY, str(listed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:  # the list stays: nobody may open this state before they are carried out
        fix = "Restore again into an empty folder: `aos up` does not open this one."
        raise Invalid(f"erasures could not be carried out again: {done.stderr.strip()[-600:]}", fix=fix)
    listed.unlink()
    return int(done.stdout.split()[-1])
