"""Bytes of documents in a destination, by content hash: each once, with an index of the keys that name them."""

import gzip
import json
from contextlib import AbstractContextManager
from hashlib import sha256

from cluster.state.backup.destination import BackupFailed, Destination
from cluster.state.db.daemon import file_lock
from cluster.state.objects.bucket import Bucket
from cluster.state.objects.migration import BucketSide, FolderSide, ObjectSide, is_under_way
from configs.sections import Settings

INDEX = "blob-index.json.gz"

# Key in the blob store to the SHA-256 and the size of what it holds; a key is never written twice.
BlobIndex = dict[str, tuple[str, int]]


def blob_side(settings: Settings) -> ObjectSide:
    """Where this instance keeps its bytes."""
    if settings.blobs.url is not None:
        return BucketSide(Bucket.of(settings.blobs))
    return FolderSide(settings.state_dir / "blobs")


def blob_object(digest: str) -> str:
    """The key in the destination."""
    return f"blobs/{digest[:2]}/{digest}"


def read_index(place: Destination, key: str = INDEX) -> BlobIndex:
    """Empty where there is none. Raises BackupFailed: it cannot be read."""
    try:
        found = json.loads(gzip.decompress(place.read(key)))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, EOFError) as error:
        raise BackupFailed(f"{key} cannot be read: {error}") from error
    return {name: (str(one[0]), int(one[1])) for name, one in found.items()}


def pack_index(index: BlobIndex) -> bytes:
    """As it is stored."""
    return gzip.compress(json.dumps(index, sort_keys=True).encode(), 6, mtime=0)


def copy_new_blobs(settings: Settings, place: Destination) -> tuple[BlobIndex, int]:
    """Copy what the index does not name yet; what is there now, and how many came.

    Before and after the snapshot of the database: what it names was written before its row, so one of both passes sees
    it. What a sweep removed since the first pass stays in the destination, for the database of that time may name it;
    what was erased is left out by the log of erasures when it is put back, and goes with `aos backup prune`.
    """
    source, index = blob_side(settings), read_index(place)
    now, new = BlobIndex(), BlobIndex()
    for key, size in source.objects():
        if is_under_way(key):
            continue
        known = index.get(key)
        if known is None or known[1] != size:
            try:
                digest = sha256()
                for block in source.blocks(key):
                    digest.update(block)
                target = blob_object(digest.hexdigest())
                if place.side.size(target) != size:
                    place.side.put(target, source.blocks(key))
            except FileNotFoundError:
                continue  # removed meanwhile: no row names it any more
            except OSError as error:
                raise BackupFailed(f"{place.name}: {error.strerror or error}") from error
            new[key] = known = digest.hexdigest(), size
        now[key] = known
    if new:
        with index_lock(settings):
            place.put(INDEX, pack_index(read_index(place) | new))
    return now, len(new)


def index_lock(settings: Settings) -> AbstractContextManager[None]:
    """Whoever changes the index: the shipping and a backup do so at once."""
    return file_lock(settings.state_dir / "blob-index.lock")
