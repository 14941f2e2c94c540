"""`aos`: start and stop everything here, look whether it is well, and use it over HTTP."""

import json
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from cluster import chaos
from cluster.basics.errors import AosError, Conflict, Invalid
from cluster.console import api
from cluster.console.commands import (
    audit_commands,
    backup_commands,
    chat_command,
    connection_commands,
    credential_commands,
    erasure_commands,
    generation_commands,
    golden_commands,
    governance_commands,
    group_commands,
    limit_commands,
    mcp_commands,
    package_commands,
    run_commands,
    schedule_commands,
    tenancy_commands,
    vault_commands,
    webhook_commands,
    why_command,
)
from cluster.console.commands.documents import (
    blob_commands,
    document_commands,
    event_commands,
    export_command,
    extract_command,
    graph_command,
    ingest_command,
    language_commands,
    move_commands,
    ocr_commands,
    path_commands,
    review_commands,
    source_change_commands,
    table_commands,
)
from cluster.console.commands.documents.document_commands import AsJson, CommandContext, CommandSession
from cluster.console.commands.identity import auth_commands
from cluster.console.commands.machine import service_commands, upgrade_command
from cluster.console.login_tokens import CredentialsFile
from configs.sections import Settings
from configs.settings import InvalidConfiguration, adopt_env_file, choose_light_profile, load_settings

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    help="Documents go in, every page accounted for; cited answers come out.",
)
app.command()(document_commands.login)
app.command()(ingest_command.ingest)
app.command()(document_commands.search)
app.command()(document_commands.ask)
app.command()(why_command.why)
app.command()(graph_command.graph)
app.command()(export_command.export)
app.command("import")(move_commands.import_workspace)
app.command("merge")(move_commands.merge_workspace)
app.command()(extract_command.extract)
app.add_typer(document_commands.jobs, name="jobs")
document_commands.documents.command("register-path")(path_commands.register_path)
document_commands.documents.command("registered-paths")(path_commands.list_registered_paths)
document_commands.documents.command("unregister-path")(path_commands.unregister_path)
app.add_typer(document_commands.documents, name="documents")
app.add_typer(ocr_commands.ocr, name="ocr")
app.add_typer(language_commands.languages, name="languages")
app.add_typer(table_commands.tables, name="tables")
app.add_typer(review_commands.review, name="review")
app.add_typer(source_change_commands.app, name="sources")
app.command()(chat_command.chat)
app.command("mcp")(mcp_commands.serve)
app.command()(run_commands.replay)
app.add_typer(run_commands.runs, name="runs")
app.add_typer(run_commands.approvals, name="approvals")
app.add_typer(connection_commands.connections, name="connections")
app.add_typer(generation_commands.generations, name="generations")
app.add_typer(golden_commands.golden, name="eval")
app.add_typer(package_commands.skills, name="skills")
app.add_typer(schedule_commands.schedules, name="schedules")
app.add_typer(credential_commands.credentials, name="credentials")
app.add_typer(vault_commands.vault, name="vault")
app.add_typer(backup_commands.backup, name="backup")
app.command()(backup_commands.restore)
app.add_typer(audit_commands.audit, name="audit")
app.add_typer(auth_commands.auth, name="auth")
app.add_typer(blob_commands.blobs, name="blobs")
app.add_typer(group_commands.groups, name="groups")
app.add_typer(limit_commands.limits, name="limits")
app.add_typer(governance_commands.governance, name="governance")
app.add_typer(erasure_commands.erasures, name="erasures")
app.add_typer(erasure_commands.holds, name="holds")
app.add_typer(erasure_commands.retention, name="retention")
app.add_typer(webhook_commands.webhooks, name="webhooks")
app.add_typer(event_commands.events, name="events")
app.add_typer(tenancy_commands.workspaces, name="workspaces")
app.add_typer(tenancy_commands.tenants, name="tenants")
app.add_typer(service_commands.service, name="service")
app.command()(upgrade_command.upgrade)
app.command()(chaos.chaos)


ASKED_ONLY = frozenset({"--help", "--version"})
"""What is answered whatever the settings say, and where they cannot be read."""


def _print_version(wanted: bool) -> None:
    if wanted:
        from cluster.state.db.migration_files import last_migration

        sys.stdout.write(f"aos {version('aos')}, migrations up to {last_migration()}\n")
        raise typer.Exit


@app.callback()
def _start(
    context: CommandContext,
    url: Annotated[str | None, typer.Option(envvar="AOS_URL", help="The server; here when left out.")] = None,
    token: Annotated[str | None, typer.Option(envvar="AOS_TOKEN", help="Instead of `aos login`.")] = None,
    state_dir: Annotated[Path | None, typer.Option(envvar="AOS_STATE_DIR", hidden=True)] = None,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version, and end.")
    ] = False,
) -> None:
    try:
        place = (url or api.base_url(load_settings().http)).rstrip("/")
    except InvalidConfiguration:
        if not context.obj:  # nothing but help is asked for: so `run_command` says
            raise
        place = ""
    server = api.ApiClient(place, token, CredentialsFile.of(state_dir))
    context.obj = CommandSession(server, Console(width=None if sys.stdout.isatty() else 120))


@app.command()
def up(
    context: CommandContext,
    foreground: Annotated[bool, typer.Option("--foreground", help="Stay here; for systemd and containers.")] = False,
    light: Annotated[
        bool, typer.Option("--light", help="For a laptop: what nobody uses ends, and begins with whoever asks next.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Start Postgres, Redis, Ray and the applications, and return when all are healthy.

    Where they run already, with files of another version, the state is migrated, and every part replaced while people
    go on working; `aos upgrade --check` says first whether the old version may run on.

    Example: aos up --light
    """
    from cluster import doctor as probes  # the commands that only talk HTTP need not load these
    from cluster import handover, supervisor
    from cluster.state import supervised

    if light:
        choose_light_profile()
    settings = load_settings()
    runs_otherwise = supervised.other_profile(settings.state_dir, settings.profile)
    if light and runs_otherwise is not None:
        raise Conflict(f"{runs_otherwise}, not light", fix="`aos down`, then `aos up --light`.")
    os.umask(0o077)
    handover.check_hand_over(settings, digest := handover.code_digest())

    def report(line: str) -> None:
        if not as_json:
            context.obj.out.print(f"  {line}", highlight=False, markup=False)

    password = supervisor.prepare_state(settings, report)
    if password is not None and not as_json:
        line = f"\nFirst administrator {settings.auth.admin_email}, password (shown once): {password}\n"
        context.obj.out.print(line, highlight=False, markup=False)
        supervisor.forget_first_password(settings)
    if foreground:
        supervisor.run_supervisor(settings, report)
        return
    handover.hand_over(settings, digest, lambda: supervisor.spawn_supervisor(settings, report), report)
    body = {
        "url": api.base_url(settings.http),
        "docs": f"{api.base_url(settings.http)}/docs",
        "console": f"{api.base_url(settings.http)}/console" if settings.console.enabled else None,
        "state_dir": str(settings.state_dir),
        "log": str(supervised.log_path(settings.state_dir)),
        "memory_bytes": probes.memory_bytes(settings),
        "admin_email": settings.auth.admin_email,
        "admin_password": password,
        "profile": supervised.running_profile(settings.state_dir),
    }
    shown = "" if runs_otherwise is None else f"Note: {runs_otherwise}. To change that: aos down, then aos up\n"
    shown += f"Console: {body['console']}\n" if body["console"] else ""
    shown += f"Ready: {body['url']}   API: {body['docs']}   log: {body['log']}\n"
    shown += f"Idle memory: {probes.memory_bytes(settings) / 2**30:.2f} GiB   Sign in: aos login   Stop: aos down"
    context.obj.print(body, as_json, shown)
    supervisor.forget_first_password(settings)


@app.command()
def down(context: CommandContext, as_json: AsJson = False) -> None:
    """Stop everything that `aos up` started; the data stays.

    Example: aos down
    """
    from cluster import supervisor

    state = load_settings().state_dir
    ran = supervisor.stop_instance(state)
    context.obj.print({"stopped": ran}, as_json, f"Stopped; the data stays in {state}." if ran else "Nothing ran.")


@app.command()
def doctor(
    context: CommandContext,
    deep: Annotated[
        bool, typer.Option("--deep", help="Look through all that is stored instead; run it on the server.")
    ] = False,
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Look for orphans of uploads instead; with --deep: mend what is safe to mend."),
    ] = False,
    apply: Annotated[bool, typer.Option("--apply", help="With --repair: remove them, too.")] = False,
    every_hash: Annotated[
        bool, typer.Option("--hash", help="With --deep: read every uploaded file, not some of them.")
    ] = False,
    hours: Annotated[
        float,
        typer.Option(
            "--older-than",
            min=1,
            help="With --repair or --deep: hours since somebody wrote to it; bytes at least as long as uploads may"
            " pause (three days).",
        ),
    ] = 24,
    as_json: AsJson = False,
) -> None:
    """Probe every part and print one table; exit 1 if a part is red.

    Example: aos doctor --json

    With --repair: parts of uploads that are gone, staged folders and half files of killed workers, multipart uploads
    left in a bucket, unused copies. Nothing is removed without --apply. Exit 0 nothing is left, 3 orphans were found,
    1 something could not be looked at.

    Example: aos doctor --repair --older-than 96 --apply

    With --deep: rows, vectors, graph, journals, indexes, cache and bytes that have lost what they belong to, of all
    tenants, also while nothing runs. Nothing is changed without --repair, which writes each mend into the audit trail
    and may be broken off and run again. Exit 0 nothing is left, 3 something is, 1 something could not be looked at.

    Example: aos doctor --deep --json

    Example: aos doctor --deep --hash --repair
    """
    if deep:
        _examine_deeply(context.obj, hours, as_json, repair=repair, every_hash=every_hash)
    if every_hash:
        raise Invalid("--hash goes with --deep")
    if repair:
        _repair_storage(context.obj, hours, as_json, apply=apply)
    if apply:
        raise Invalid("--apply goes with --repair")
    from cluster import doctor as probes
    from cluster.console import findings as found

    findings = probes.run_probes(_settings_of_running())
    context.obj.print(found.as_json(findings), as_json, found.findings_table(findings))
    raise typer.Exit(1 if found.is_red(findings) else 0)


def _settings_of_running() -> Settings:
    """As they are here, with the profile that the instance was begun with."""
    from cluster.state import supervised
    from cluster.state.settings.settings_rows import load_where_possible

    if supervised.running_profile(load_settings().state_dir) == "light":
        choose_light_profile()
    return load_where_possible()


def _examine_deeply(
    session: CommandSession, hours: float, as_json: bool, *, repair: bool, every_hash: bool
) -> NoReturn:
    from cluster import doctor_deep

    report = doctor_deep.run_deep(hours, apply=repair, every_hash=every_hash)
    session.print(report, as_json, doctor_deep.deep_table(report, apply=repair))
    raise typer.Exit(doctor_deep.exit_code(report))


def _repair_storage(session: CommandSession, hours: float, as_json: bool, *, apply: bool) -> NoReturn:
    from cluster import doctor_repair

    report = doctor_repair.run_repair(hours, apply=apply)
    session.print(report, as_json, doctor_repair.repair_table(report, apply=apply))
    raise typer.Exit(doctor_repair.exit_code(report, apply=apply))


def _only_asks(arguments: Sequence[str]) -> bool:
    """Whether one of them asks for help or the version; behind `--` they are words like any other."""
    words = list(arguments)
    return not ASKED_ONLY.isdisjoint(words[: words.index("--")] if "--" in words else words)


def _adopt_settings(arguments: Sequence[str]) -> None:
    try:
        adopt_env_file()
    except InvalidConfiguration:  # a command that needs settings reads them itself, and says so again
        if not _only_asks(arguments):
            raise


def run_command(arguments: list[str]) -> int:
    """Run one command; an error is one line, its fix another, and exit code 1."""
    try:
        _adopt_settings(arguments)  # before options are looked up in the environment
        app(arguments, standalone_mode=True, obj=_only_asks(arguments))
    except SystemExit as ended:
        return int(ended.code or 0)
    except (AosError, InvalidConfiguration) as error:
        fix = error.hint if isinstance(error, AosError) else ""
        code = error.code if isinstance(error, AosError) else "invalid_settings"
        if "--json" in arguments:
            sys.stderr.write(json.dumps({"error": {"code": code, "detail": str(error), "fix": fix}}) + "\n")
        else:
            sys.stderr.write(f"error: {error}\n" + (f"  fix: {fix}\n" if fix else ""))
        return 1
    return 0


def main() -> None:
    """The console script."""
    sys.exit(run_command(sys.argv[1:]))


if __name__ == "__main__":
    main()
