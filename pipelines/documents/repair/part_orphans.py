"""Orphans among the parts of uploads: bytes of which no row knows, as those of the upload went without them."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime
from uuid import UUID

from cluster.basics.scope import Scope, TenantId, WorkspaceId
from cluster.state.db.postgres import Database
from pipelines.documents.repair.orphan import Orphan, OrphanKind
from pipelines.documents.store.uploads.oversized_parts import OversizedParts
from pipelines.documents.store.uploads.part_store import PartFolder, PartStore, SignedPart
from pipelines.documents.store.uploads.upload_sessions import UploadSessions

# The bytes of an upload's parts, and when the last one came; None where there are none.
PartFacts = Callable[[str], tuple[int, datetime] | None]


class LostParts:
    """Parts by upload; those of one that goes on are never touched, however old they are."""

    kind = OrphanKind.UPLOAD_PARTS

    def __init__(self, database: Database, parts: PartStore, facts: PartFacts) -> None:
        """`facts` of a place `uploads/<tenant>/<workspace>/<upload>`."""
        self._sessions, self._parts, self._facts = UploadSessions(database), parts, facts

    async def find(self, before: datetime) -> Sequence[Orphan]:
        """Of uploads that are gone, where nothing came since a moment. Raises Unavailable: Postgres is away."""
        by_workspace: dict[tuple[str, str], list[PartFolder]] = defaultdict(list)
        for one in await asyncio.to_thread(lambda: list(self._parts.folders())):
            if one.modified < before and all(map(_is_uuid, (one.tenant, one.workspace, one.session))):
                by_workspace[one.tenant, one.workspace].append(one)
        found = []
        for (tenant, workspace), folders in by_workspace.items():
            known = await self._known(tenant, workspace, [one.session for one in folders])
            for one in folders:
                place = f"uploads/{tenant}/{workspace}/{one.session}"
                facts = None if one.session in known else await asyncio.to_thread(self._facts, place)
                if facts is not None and facts[1] < before:
                    found.append(Orphan(self.kind, place, *facts))
        return found

    async def remove(self, orphan: Orphan, before: datetime) -> bool:
        """Whatever there is of it, unless the upload is there after all."""
        _, tenant, workspace, session = orphan.place.split("/")
        if await self._known(tenant, workspace, [session]):
            return False
        await asyncio.to_thread(self._parts.drop, tenant, workspace, session)
        return True

    async def _known(self, tenant: str, workspace: str, sessions: list[str]) -> set[str]:
        return await self._sessions.known(Scope.of_worker(TenantId(tenant), WorkspaceId(workspace)), sessions)


class LargeParts:
    """Parts that are larger than was announced: they are of no use at any age."""

    kind = OrphanKind.OVERSIZED_PART

    def __init__(self, database: Database, parts: PartStore) -> None:
        """Nothing is asked yet."""
        self._oversized = OversizedParts(database, parts)
        self._found: dict[str, SignedPart] = {}

    async def find(self, before: datetime) -> Sequence[Orphan]:
        """All of them, also those that came just now; `since` is only the limit."""
        self._found = {one.location: one for one in await self._oversized.find()}
        return [Orphan(self.kind, place, one.size, before) for place, one in self._found.items()]

    async def remove(self, orphan: Orphan, before: datetime) -> bool:
        """Its bytes."""
        await self._oversized.remove(self._found[orphan.place])
        return True


def _is_uuid(text: str) -> bool:
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False
