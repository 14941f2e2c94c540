"""Parts in the storage that are larger than their upload announced: a signed address bounds no length."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from uuid import UUID

from cluster.basics.scope import Scope, TenantId, WorkspaceId
from cluster.state.db.postgres import Database
from pipelines.documents.store.uploads.part_store import PartStore, SignedPart
from pipelines.documents.store.uploads.upload_sessions import UploadSessions


class OversizedParts:
    """Found by the uploads' own sizes. A part of an upload that nobody knows of is old bytes, and not these."""

    def __init__(self, database: Database, parts: PartStore) -> None:
        """Nothing is asked yet."""
        self._sessions, self._parts = UploadSessions(database), parts

    async def find(self) -> list[SignedPart]:
        """All of them, however young: no upload can ever use one."""
        found: dict[tuple[str, str], list[SignedPart]] = defaultdict(list)
        for one in await asyncio.to_thread(lambda: list(self._parts.signed_parts())):
            if all(map(_is_uuid, (one.tenant, one.workspace, one.session))):
                found[one.tenant, one.workspace].append(one)
        return [one for parts in found.values() for one in await self._larger(parts)]

    async def remove(self, part: SignedPart) -> None:
        """Its bytes; whoever sends the part again has it, and whoever has sent it since keeps it."""
        await asyncio.to_thread(self._parts.delete_as_listed, part)

    async def _larger(self, parts: Sequence[SignedPart]) -> list[SignedPart]:
        """Of one workspace."""
        scope = Scope.of_worker(TenantId(parts[0].tenant), WorkspaceId(parts[0].workspace))
        sizes = await self._sessions.sizes(scope, sorted({one.session for one in parts}))
        return [one for one in parts if one.session in sizes and one.size > _bound(*sizes[one.session], one.number)]


def _bound(total: int, part: int, number: int) -> int:
    """Bytes that a part may have; 0 of one that the file does not reach."""
    return max(0, min(part, total - (number - 1) * part))


def _is_uuid(text: str) -> bool:
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False
