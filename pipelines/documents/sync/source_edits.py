"""Edits of sources: what people change of one, pause and resume, and saying no to removals."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from cluster.basics.scope import Scope
from cluster.state.db.postgres import Row, Transaction
from pipelines.documents.sync.source_store import SourceStore
from pipelines.documents.sync.start_sync import NothingWaits, SourceBusy

WHILE_IDLE: Final = frozenset({"settings", "credential", "readers", "group_names"})
"""A sync under way has read these, and would write what they were."""


@dataclass(frozen=True, slots=True)
class SourceEditor:
    """Writes in the caller's transaction."""

    store: SourceStore

    async def change(self, tx: Transaction, scope: Scope, source: str, values: Mapping[str, Any]) -> None:
        """Set these columns. The next sync is due at once where it has a period, so that readers follow.

        Raises NotFound; Conflict: another source is called so; SourceBusy: a sync works with what is to be changed.
        """
        row = await self.store.lock(tx, scope, source)
        if row["busy"] and WHILE_IDLE & values.keys():
            raise SourceBusy(f"job {row['job_id']}")
        await self.store.change(tx, scope, row["id"], values)

    async def pause(self, tx: Transaction, scope: Scope, source: str) -> None:
        """No sync begins by itself from now on; one under way goes on. Raises NotFound."""
        row = await self.store.lock(tx, scope, source)
        await self.store.disable(tx, scope, row["id"])

    async def resume(self, tx: Transaction, scope: Scope, source: str) -> None:
        """Syncs begin by themselves again, the first one now. Raises NotFound, SourceBusy: it may be on its way out."""
        row = await self._idle(tx, scope, source)
        await self.store.enable(tx, scope, row["id"])

    async def decline(self, tx: Transaction, scope: Scope, source: str, removals: int) -> None:
        """Keep the documents whose removal waits, as many as somebody has seen; a sync that misses them asks again.

        Raises NothingWaits, SourceBusy, NotFound.
        """
        row = await self._idle(tx, scope, source)
        waiting = (row["waiting"] or {}).get("removals", 0)
        if not waiting or waiting != removals:
            raise NothingWaits(f"{waiting} removals wait, not {removals}")
        await self.store.decline(tx, scope, row["id"])

    async def _idle(self, tx: Transaction, scope: Scope, source: str) -> Row:
        row = await self.store.lock(tx, scope, source)
        if row["busy"]:
            raise SourceBusy(f"job {row['job_id']}")
        return row
