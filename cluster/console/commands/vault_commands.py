"""`aos vault`: the keys that secrets are sealed with."""

import asyncio
from typing import Annotated

import typer

from cluster.basics.errors import InvalidSettings
from cluster.console.commands.documents.document_commands import AsJson, CommandContext
from configs.settings import load_settings

vault = typer.Typer(no_args_is_help=True, help="Replace the key that secrets are sealed with.")


@vault.callback()
def _vault() -> None:
    """One command so far, and more to come: without this it would have no name."""


@vault.command("rotate")
def rotate_vault(
    context: CommandContext,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what would be sealed anew.")] = False,
    as_json: AsJson = False,
) -> None:
    """Seal credentials and keys of connections anew, of all tenants, while everything runs. Exit 3 if one is left.

    With models.vault_key: put a new key in front of the old one (new,old), restart, rotate, take the old one away.
    Without it: a new key is made and put into the key file; the one before stays there. May be repeated at any time.

    Example: aos vault rotate --dry-run
    """
    # The commands that only talk HTTP need not load these.
    from cluster.state.db.embedded import postgres_endpoints, timeline_fence
    from cluster.state.db.primary import current_server
    from cluster.state.rotation import rotate_keys
    from cluster.state.vault import Vault, key_file, vault_of

    settings = load_settings()
    admin = postgres_endpoints(settings)[1]
    if admin is None:
        raise InvalidSettings("who may see all tenants is not configured", fix="Set DATABASE_ADMIN_URL.")
    file = None if settings.models.vault_key is not None else key_file(settings.state_dir)
    keys = vault_of(settings.models.vault_key, settings.state_dir) if file is None else Vault(file.keys(), file.newer)

    def report(table: str, done: int, total: int) -> None:
        if not as_json:
            context.obj.aside(f"{table}: {done:,} of {total:,}")

    owner = asyncio.run(current_server(admin, timeline_fence(settings)))
    found = asyncio.run(rotate_keys(owner, keys, file, report, dry_run=dry_run))
    told = ("total", "old", "resealed", "failed")
    body = {"dry_run": dry_run, **{key: {name: getattr(one, name) for name in told} for key, one in found.items()}}
    verb = "would be sealed" if dry_run else "sealed"
    lines = [f"{name}: {one.resealed:,} {verb} anew, of {one.total:,}" for name, one in found.items()]
    lines += [f"  {id_} cannot be opened: {why}" for one in found.values() for id_, why in one.failed.items()]
    context.obj.plain(body, as_json, "\n".join(lines))
    raise typer.Exit(3 if any(one.failed for one in found.values()) else 0)
