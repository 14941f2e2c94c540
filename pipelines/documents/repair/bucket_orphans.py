"""Orphans in a bucket: what was handed over and never adopted, and pieces of uploads that never became an object."""

import asyncio
from collections.abc import Iterator, Sequence
from datetime import datetime

from cluster.state.objects.bucket import Bucket
from cluster.state.objects.multipart_uploads import MultipartUpload, MultipartUploads
from pipelines.documents.repair.orphan import Orphan, OrphanKind
from pipelines.documents.store.blobs import PARTS


class StagedObjects:
    """Objects below `<tenant>/<workspace>/staging/<name>`, each name of one worker."""

    kind = OrphanKind.STAGED_FOLDER

    def __init__(self, bucket: Bucket) -> None:
        """Nothing is asked yet."""
        self._bucket = bucket

    async def find(self, before: datetime) -> Sequence[Orphan]:
        """Names to which nothing came since a moment."""
        return await asyncio.to_thread(lambda: [one for one in self._staged() if one.since < before])

    async def remove(self, orphan: Orphan, before: datetime) -> bool:
        """Every object below it, unless one came meanwhile."""
        return await asyncio.to_thread(self._remove, orphan.place, before)

    def _staged(self) -> Iterator[Orphan]:
        tenants = [one for one in self._bucket.folders() if one.split("/")[0] != PARTS]
        for workspace in (inner for tenant in tenants for inner in self._bucket.folders(tenant)):
            for place in self._bucket.folders(f"{workspace}/staging"):
                if (found := objects_below(self._bucket, self.kind, place)) is not None:
                    yield found

    def _remove(self, place: str, before: datetime) -> bool:
        found = objects_below(self._bucket, self.kind, place)
        if found is None or found.since >= before:
            return False
        self._bucket.delete_below(place)
        return True


class UnendedUploads:
    """Multipart uploads of processes that were killed."""

    kind = OrphanKind.MULTIPART_UPLOAD

    def __init__(self, uploads: MultipartUploads) -> None:
        """Nothing is asked yet."""
        self._uploads = uploads
        self._found: dict[str, MultipartUpload] = {}

    async def find(self, before: datetime) -> Sequence[Orphan]:
        """Those of which no piece came since a moment."""
        listed = await asyncio.to_thread(lambda: list(self._uploads.list()))
        self._found = {f"{one.key} ({one.upload_id})": one for one in listed if one.since < before}
        return [Orphan(self.kind, place, one.size, one.since) for place, one in self._found.items()]

    async def remove(self, orphan: Orphan, before: datetime) -> bool:
        """Its pieces; it cannot be gone on with then."""
        await asyncio.to_thread(self._uploads.abort, self._found[orphan.place])
        return True


def objects_below(bucket: Bucket, kind: OrphanKind, place: str) -> Orphan | None:
    """All objects below a prefix as one; None where there are none."""
    found = list(bucket.below(place))
    if not found:
        return None
    return Orphan(kind, place, sum(one.size for one in found), max(one.modified for one in found))
