"""The sweep: uploads that have run out go with their parts, and so do bytes of which no upload knows."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import psycopg

from cluster.basics.errors import AosError
from cluster.basics.scope import Scope, TenantId, WorkspaceId
from cluster.state.db.postgres import Database
from configs.sections_blobs import UploadSettings
from pipelines.documents.store.blobs import BlobStore
from pipelines.documents.store.uploads.oversized_parts import OversizedParts
from pipelines.documents.store.uploads.part_store import PartFolder, PartStore
from pipelines.documents.store.uploads.upload_sessions import UploadSessions

log = logging.getLogger("aos.uploads")

BATCH: Final = 50
LOST_SECONDS: Final = 3600.0  # between two looks for bytes that no upload knows of


class UploadSweeper:
    """Runs in every replica; an upload is held by the one that clears it away."""

    def __init__(
        self,
        database: Database,
        blobs: BlobStore,
        parts: PartStore,
        settings: UploadSettings,
        clock: Callable[[], datetime],
    ) -> None:
        """`clock` gives the moment, with a time zone."""
        self._db, self._sessions = database, UploadSessions(database)
        self._blobs, self._parts, self._settings, self._clock = blobs, parts, settings, clock
        self._looked: datetime | None = None
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """From now on it sweeps here too."""
        self._task = asyncio.create_task(self._keep_sweeping())

    async def close(self) -> None:
        """Stop; what is not cleared away is left for the next."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def sweep(self) -> int:
        """Clear away what has run out; how many uploads that were."""
        swept = 0
        while found := await self._sessions.ended(self._clock(), BATCH):
            went = sum([await self._clear(id_, scope) for id_, scope in found])
            swept += went
            if not went:  # others hold them
                break
        return swept

    async def sweep_lost(self) -> int:
        """Remove bytes of which no upload knows: of rows that were erased, or a request that came after the end."""
        before = self._clock() - timedelta(seconds=self._settings.session_seconds)
        found: dict[tuple[str, str], list[PartFolder]] = defaultdict(list)
        for one in await asyncio.to_thread(lambda: list(self._parts.folders())):
            if one.modified < before and all(map(_is_uuid, (one.tenant, one.workspace, one.session))):
                found[one.tenant, one.workspace].append(one)
        count = 0
        for (tenant, workspace), folders in found.items():
            scope = Scope.of_worker(TenantId(tenant), WorkspaceId(workspace))
            known = await self._sessions.known(scope, [one.session for one in folders])
            for one in folders:
                if one.session not in known:
                    await asyncio.to_thread(self._parts.drop, tenant, workspace, one.session)
                    count += 1
        return count

    async def sweep_oversized(self) -> int:
        """Remove parts that are larger than was announced, of whoever has a signed address; how many there were."""
        oversized = OversizedParts(self._db, self._parts)
        found = await oversized.find()
        for one in found:
            log.warning("uploads: part %d of %s has %d bytes, and goes", one.number, one.session, one.size)
            await oversized.remove(one)
        return len(found)

    async def _keep_sweeping(self) -> None:
        while True:
            try:
                await self.sweep()
                now = self._clock()
                if self._looked is None or now - self._looked > timedelta(seconds=LOST_SECONDS):
                    self._looked = now
                    await self.sweep_lost()
                    await self.sweep_oversized()
                    await asyncio.to_thread(self._blobs.tidy)
            except (AosError, psycopg.Error, OSError) as error:  # the next turn tries again
                log.warning("uploads: %s: %s", type(error).__name__, error)
            await asyncio.sleep(self._settings.sweep_seconds)

    async def _clear(self, id_: str, scope: Scope) -> bool:
        async with self._db.transaction(scope) as tx:
            wholes = await self._sessions.hold_ended(tx, scope, id_, self._clock())
            if wholes is None:
                return False
            await asyncio.to_thread(self._remove_bytes, scope, id_, wholes)
            await self._sessions.remove(tx, scope, id_)
        return True

    def _remove_bytes(self, scope: Scope, id_: str, wholes: list[str]) -> None:
        self._parts.drop(scope.tenant, scope.workspace, id_)
        for name in wholes:
            self._blobs.delete(self._blobs.location(scope.tenant, scope.workspace, name))


def _is_uuid(text: str) -> bool:
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False
