"""Checks of what uploads and workers that were killed have left: as `aos doctor --repair` finds it, recorded here."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pipelines.documents.repair.orphan import OrphanPlace
from serve_apps.integrity.examination import Examination
from serve_apps.integrity.integrity_finding import Family, IntegrityFinding, some


@dataclass(frozen=True, slots=True)
class UploadLeftovers:
    """Orphans of one place; `before`: what was written later is somebody's."""

    place: OrphanPlace
    before: datetime
    family: Family = Family.UPLOADS

    @property
    def name(self) -> str:
        """As the place calls its sort."""
        return str(self.place.kind)

    async def examine(self, work: Examination) -> Sequence[IntegrityFinding]:
        """Raises AosError: it cannot be looked at."""
        found = await self.place.find(self.before)
        mended = 0
        for one in found if work.apply else ():
            async with work.mending(None):
                await work.record(self.name, "uploads", {"uploads": [one.place], "bytes": one.size})
                mended += await self.place.remove(one, self.before)
        if not found:
            return []
        names = some(one.place for one in found)
        what = f"left by uploads and workers: {self.name.replace('_', ' ')}s"
        return [IntegrityFinding(self.family, self.name, what, "uploads", len(found), names, True, mended)]
