"""Erasures of a backup's log carried out again after a restore: `python -m serve_apps.governance.replay_log FILE`."""

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cluster.basics.errors import AosError
from cluster.basics.scope import EVERY_READER, Role, Scope, TenantId, UserId, WorkspaceId
from cluster.state.db.embedded import postgres_endpoints
from cluster.state.db.postgres import Database
from cluster.state.signed_receipts import ReceiptSigner
from configs.sections import Settings
from configs.settings import load_settings
from pipelines.documents.store.choose_store import open_blobs
from serve_apps.governance.erasures import DataErasure


async def replay_log(settings: Settings, receipts: Sequence[Mapping[str, Any]]) -> int:
    """Erase what came back; how many erasures had to be carried out again. Redis holds nothing after a restore."""
    database = Database(postgres_endpoints(settings)[0], size=2)
    await database.open()
    try:
        signer = ReceiptSigner.kept_in(settings.state_dir)
        erasure, count = DataErasure(database, open_blobs(settings), None, signer, lambda: datetime.now(UTC)), 0
        for receipt in receipts:
            homes = TenantId(receipt["tenant"]), WorkspaceId(receipt["workspace"])
            scope = Scope(*homes, (EVERY_READER,), UserId(receipt["asked_by"]), Role.ADMIN)
            count += sum(one.again is not None for one in await erasure.replay(scope, [receipt]))
        return count
    finally:
        await database.close()


def main() -> int:
    """The program: prints how many."""
    receipts = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    try:
        print(asyncio.run(replay_log(load_settings(), receipts)))
    except AosError as error:
        print(f"{error} {error.hint}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
