"""The blob store that the settings name: a folder every node sees, or a bucket."""

from pathlib import Path

from cluster.basics.disk import DiskRoom
from cluster.state.objects.bucket import Bucket
from configs.sections import Settings
from pipelines.documents.store.blobs import BlobStore, FolderBlobs
from pipelines.documents.store.file_cache import FileCache
from pipelines.documents.store.s3_blobs import BucketBlobs
from pipelines.documents.store.uploads.part_store import BucketParts, FolderParts, PartStore


def open_blobs(settings: Settings, room: DiskRoom | None = None) -> BlobStore:
    """Where uploads are. `room`: of the disk, which refuses what has none; by itself whatever fits."""
    base = None if settings.read.nfs_base_path is None else Path(settings.read.nfs_base_path)
    if settings.blobs.url is None:
        return FolderBlobs(settings.state_dir / "blobs", room, base)
    cache = FileCache(settings.state_dir / "blob_cache", settings.blobs.cache_bytes, room)
    return BucketBlobs(Bucket.of(settings.blobs), cache, base)


def open_parts(settings: Settings, room: DiskRoom | None = None) -> PartStore:
    """Where the parts of uploads are until they are documents."""
    if settings.blobs.url is None:
        return FolderParts(settings.state_dir / "blobs", room)
    return BucketParts(Bucket.of(settings.blobs))
