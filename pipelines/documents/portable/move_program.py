"""`python -m pipelines.documents.portable.move_program`: a workspace moved by this machine's settings; ends in JSON."""

import argparse
import asyncio
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from cluster.basics.disk import DiskRoom
from cluster.basics.errors import AosError
from cluster.basics.scope import Scope
from cluster.models.embedding.embedders import open_embedder
from cluster.models.ports import EmbedderFacts
from cluster.state.audit import AuditLog
from cluster.state.db import embedded
from cluster.state.db.postgres import Database
from cluster.state.db.primary import TimelineFence
from cluster.state.settings.settings_rows import load_where_possible
from cluster.state.signed_receipts import ReceiptSigner
from configs.sections import Settings
from pipelines.documents.portable.export_manifest import verify_export
from pipelines.documents.portable.workspace_export import WorkspaceExport
from pipelines.documents.portable.workspace_import import KeptReaders, WorkspaceImport
from pipelines.documents.portable.workspace_lookup import find_workspace
from pipelines.documents.privacy.policy_rules import read_governance
from pipelines.documents.privacy.policy_store import PolicyStore
from pipelines.documents.store.choose_store import open_blobs


@dataclass(frozen=True, slots=True)
class MoveRequest:
    """What was asked for.

    Attributes:
        verb: `export`, `import` or `merge`.
        trust_key: the public key of another installation.
    """

    verb: str
    folder: Path
    workspace: str
    tenant: str | None = None
    trust_key: str | None = None
    readers: KeptReaders = KeptReaders.TARGET
    dry_run: bool = False


async def run_move(settings: Settings, request: MoveRequest, step: Callable[[str], None]) -> dict[str, Any]:
    """Do it, and tell what became of it. Raises what exports and imports raise."""
    application, owner = embedded.postgres_endpoints(settings)
    fence = embedded.timeline_fence(settings)
    scope = await find_workspace(application, owner, fence, request.tenant, request.workspace)
    if request.verb == "export":
        return await _export(settings, application, fence, scope, request, step)
    signer = ReceiptSigner.kept_in(settings.state_dir)
    verified = verify_export(request.folder, signer.public, request.trust_key)
    step("every file is as it was signed")
    database = Database(application, size=2, timeout=30, fence=fence)
    await database.open()
    try:
        room = DiskRoom(settings.state_dir / "blobs", settings.disk.free_bytes, settings.disk.free_percent)
        receiver = WorkspaceImport(
            database,
            scope,
            open_blobs(settings, room),
            PolicyStore(database, read_governance()).of_documents,
            settings.chunk,
            _facts_of(settings),
            settings.read.tenant_pages,
            settings.search.exact_scope,
            step,
        )
        merge = request.verb == "merge"
        if request.dry_run:
            made = await receiver.dry_run(verified, merge=merge)
        else:
            made = await receiver.run(verified, merge=merge, readers=request.readers)
    finally:
        await database.close()
    told = {"export": verified.id, "signer": verified.signer, "counts": verified.manifest.counts}
    return told | made.as_json() | {"dry_run": request.dry_run, "left_out": verified.manifest.left_out}


async def _export(
    settings: Settings,
    application: str,
    fence: TimelineFence | None,
    scope: Scope,
    request: MoveRequest,
    step: Callable[[str], None],
) -> dict[str, Any]:
    signer = ReceiptSigner.kept_in(settings.state_dir)
    move = WorkspaceExport(application, fence, scope, open_blobs(settings), signer, version("aos"), step=step)
    if request.dry_run:
        return {"dry_run": True, "folder": str(request.folder)} | await move.size()
    database = Database(application, size=1, timeout=30, fence=fence)
    await database.open()
    try:
        async with database.transaction(scope) as tx:  # before it: one that is cut off has taken something, too
            detail = {"folder": request.folder.name, "key": signer.public}
            await AuditLog(database).record(tx, scope, "workspace.export", scope.workspace, detail=detail)
    finally:
        await database.close()
    made = await move.run(request.folder)
    told = {name: made.manifest[name] for name in ("workspace", "vector_space", "counts", "left_out", "product")}
    parts = {"kept_parts": made.kept_parts, "written_parts": made.written_parts}
    return {"dry_run": False, "folder": str(request.folder), "key": signer.public} | told | parts


def _facts_of(settings: Settings) -> Callable[[], Any]:
    """Asks the embedder that the settings mean; a model on this machine is loaded for it, which takes seconds."""

    async def ask() -> EmbedderFacts:
        return await open_embedder(settings.embedding).facts()

    return ask


def parse_request(arguments: list[str]) -> MoveRequest:
    """From a command line."""
    parser = argparse.ArgumentParser(prog="move_program")
    parser.add_argument("verb", choices=("export", "import", "merge"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--workspace", required=True)
    parser.add_argument("--tenant")
    parser.add_argument("--trust-key")
    parser.add_argument("--readers", choices=[str(one) for one in KeptReaders], default="target")
    parser.add_argument("--dry-run", action="store_true")
    given = vars(parser.parse_args(arguments))
    return MoveRequest(**given | {"readers": KeptReaders(given["readers"])})


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def main() -> None:
    """Do what the command line says; the end is JSON on standard output, an error, too."""
    request = parse_request(sys.argv[1:])
    try:
        told = asyncio.run(run_move(load_where_possible(), request, _tell))
    except AosError as error:
        told = {"error": {"code": error.code, "detail": str(error), "fix": error.hint}}
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main()
