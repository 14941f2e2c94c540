"""`aos blobs`: the bytes of documents moved between this machine's folder and S3-compatible storage."""

from hashlib import sha256
from typing import Annotated

import typer

from cluster.basics.errors import Invalid
from cluster.console.commands.documents.document_commands import AsJson, CommandContext
from cluster.state.objects.bucket import Bucket
from cluster.state.objects.migration import (
    BlobMigration,
    BucketSide,
    FolderSide,
    MigrationCount,
    MigrationJournal,
    ObjectSide,
)
from configs.sections import Settings
from configs.sections_blobs import BlobSettings
from configs.settings import load_settings

FOLDER = "folder"
SHOWN = 20  # keys that failed

blobs = typer.Typer(no_args_is_help=True, help="Move the bytes of documents between the disk and S3.")


@blobs.callback()
def _group() -> None:
    """A group, although it has one command."""


@blobs.command()
def migrate(
    context: CommandContext,
    to: Annotated[str, typer.Option(help="s3://bucket/prefix, or `folder` for the one below the state directory.")],
    source: Annotated[
        str | None, typer.Option("--from", help="The other side; by itself the folder, or AOS_BLOBS_URL.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what would be copied.")] = False,
    as_json: AsJson = False,
) -> None:
    """Copy the bytes of all documents, each compared by hash; run again, it goes on where it was cut off.

    Run it on the server. Nothing is removed, and the product goes on meanwhile: copy, set AOS_BLOBS_URL, start anew,
    and copy once more what came in between. Exit 0 when all is there, 1 where something could not be copied.

    Example: aos blobs migrate --to s3://documents/aos --dry-run

    Example: aos blobs migrate --to folder --from s3://documents/aos
    """
    settings = load_settings()
    of = source or (FOLDER if to != FOLDER else settings.blobs.url)
    if of is None or (of == FOLDER) == (to == FOLDER):
        raise Invalid("one side has to be the folder, the other s3://bucket/prefix", fix="Give --to, or --from.")
    name = sha256(f"{of}>{to}>{settings.blobs.endpoint}".encode()).hexdigest()[:12]
    settings.state_dir.mkdir(parents=True, exist_ok=True)
    journal = MigrationJournal(settings.state_dir / f"blob-migration-{name}.jsonl")

    def tell(count: MigrationCount) -> None:
        if not as_json:
            line = f"{count.found} found, {count.copied} copied, {count.there} there, {len(count.failed)} failed"
            context.obj.aside(f"  {line}, {count.found_bytes / 2**20:,.1f} MiB")

    count = BlobMigration(_side(settings, of), _side(settings, to), journal).run(tell, dry_run=dry_run)
    body = {"from": of, "to": to, "dry_run": dry_run, "found": count.found, "found_bytes": count.found_bytes}
    body |= {"copied": count.copied, "copied_bytes": count.copied_bytes, "there": count.there, "failed": count.failed}
    done = "would be copied" if dry_run else "copied and compared"
    shown = f"{count.copied} of {count.found} blobs {done} ({count.copied_bytes / 2**20:,.1f} MiB); "
    shown += f"{count.there} are there already; {len(count.failed)} failed."
    shown += "".join(f"\n  {key}: {why}" for key, why in list(count.failed.items())[:SHOWN])
    context.obj.plain(body, as_json, shown)
    raise typer.Exit(1 if count.failed else 0)


def _side(settings: Settings, name: str) -> ObjectSide:
    if name == FOLDER:
        return FolderSide(settings.state_dir / "blobs")
    try:
        chosen = BlobSettings(**{**settings.blobs.model_dump(), "url": name})
    except ValueError as error:
        raise Invalid(f"{name!r} is not of the form s3://bucket/prefix") from error
    return BucketSide(Bucket.of(chosen))
