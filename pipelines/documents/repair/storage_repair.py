"""The repair: every place is looked through, what is found is told, and removed only where that was asked for."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import httpx

from cluster.basics.errors import AosError
from cluster.state.db.postgres import Database
from cluster.state.objects.bucket import Bucket
from cluster.state.objects.multipart_uploads import MultipartUploads
from configs.sections import Settings
from configs.sections_blobs import UploadSettings
from pipelines.documents.repair.bucket_orphans import StagedObjects, UnendedUploads, objects_below
from pipelines.documents.repair.folder_orphans import CachedCopies, StagedFolders, UnfinishedFiles, folder_facts
from pipelines.documents.repair.orphan import Orphan, OrphanKind, OrphanPlace
from pipelines.documents.repair.part_orphans import LargeParts, LostParts
from pipelines.documents.store.file_cache import FileCache
from pipelines.documents.store.uploads.part_store import BucketParts, FolderParts

NO_KEYS: Final = (
    "multipart uploads in the bucket were not looked for: blobs.access_key and blobs.secret_key are not set; let a "
    "rule of the bucket (AbortIncompleteMultipartUpload) remove them"
)


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What was found, how much of it was removed, what could not be, and what was not looked at and why."""

    orphans: Sequence[Orphan]
    removed: int
    failed: Sequence[str]
    notes: Sequence[str]

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        told = [{**asdict(one), "since": one.since.isoformat()} for one in self.orphans]
        return {
            "orphans": told,
            "bytes": sum(one.size for one in self.orphans),
            "removed": self.removed,
            "failed": list(self.failed),
            "notes": list(self.notes),
        }


async def repair_storage(places: Sequence[OrphanPlace], before: datetime, *, apply: bool) -> RepairReport:
    """Look through places; `before`: what was written later is somebody's. Without `apply` nothing is removed."""
    orphans: list[Orphan] = []
    removed, failed = 0, list[str]()
    for place in places:
        try:
            found = await place.find(before)
        except (AosError, OSError) as error:
            failed.append(f"{place.kind}: {error}")
            continue
        orphans += found
        for one in found if apply else ():
            try:
                removed += await place.remove(one, before)
            except (AosError, OSError) as error:
                failed.append(f"{one.place}: {error}")
    return RepairReport(orphans, removed, failed, ())


def places_of(
    settings: Settings, database: Database, client: httpx.Client, now: datetime
) -> tuple[list[OrphanPlace], list[str]]:
    """The places that the settings name, and notes on those that cannot be looked at."""
    root = settings.state_dir / "blobs"
    if settings.blobs.url is None:
        parts = LostParts(database, FolderParts(root), lambda place: _folder_parts(root / place))
        return [parts, StagedFolders(root), UnfinishedFiles(root)], []
    bucket, folder = Bucket.of(settings.blobs), settings.state_dir / "blob_cache"
    cache = FileCache(folder, settings.blobs.cache_bytes)
    lost = LostParts(database, BucketParts(bucket), lambda place: _bucket_parts(bucket, place))
    places: list[OrphanPlace] = [
        lost,
        LargeParts(database, BucketParts(bucket)),
        StagedObjects(bucket),
        StagedFolders(cache.staging, ""),
        CachedCopies(cache, now),
    ]
    if not (settings.blobs.access_key and settings.blobs.secret_key):
        return places, [NO_KEYS]
    return [*places, UnendedUploads(MultipartUploads(settings.blobs, client))], []


def limit_of(uploads: UploadSettings, now: datetime, hours: float) -> datetime:
    """The moment before which something is old enough: never within the time that an upload may pause."""
    return now - max(timedelta(hours=hours), timedelta(seconds=uploads.session_seconds))


def _folder_parts(folder: Path) -> tuple[int, datetime] | None:
    return folder_facts(folder) if folder.exists() else None


def _bucket_parts(bucket: Bucket, place: str) -> tuple[int, datetime] | None:
    found = objects_below(bucket, OrphanKind.UPLOAD_PARTS, place)
    return None if found is None else (found.size, found.since)
