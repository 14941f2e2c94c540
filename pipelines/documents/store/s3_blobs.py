"""Blob store in S3-compatible storage: readers get local copies out of a bounded cache."""

import contextlib
import hashlib
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from uuid import UUID, uuid4

from cluster.state.objects.bucket import BLOCK, Bucket
from pipelines.documents.store.blobs import PARTS, STALE_SECONDS, Location, discard_folder, key_of, scanned_path
from pipelines.documents.store.file_cache import FileCache

_BLOB: Final = "blob:"
_OURS: Final = ("members", "staging")  # below a workspace; others write the folders beside them


class BucketBlobs:
    """A bucket that every node reaches; keys are those that the folder has, so that bytes move by copying them."""

    def __init__(self, bucket: Bucket, cache: FileCache) -> None:
        """Nothing is asked yet."""
        self._bucket, self._cache = bucket, cache

    async def put(self, tenant: str, workspace: str, chunks: AsyncIterator[bytes], name: str | None = None) -> Location:
        """Send it in pieces as it comes. Raises StorageUnavailable, and what `chunks` raises; nothing stays behind."""
        location = self.location(tenant, workspace, name or uuid4().hex)
        await self._bucket.put(location.removeprefix(_BLOB), chunks)
        return location

    def location(self, tenant: str, workspace: str, name: str) -> Location:
        """An object below the workspace's prefix."""
        return Location(f"{_BLOB}{tenant}/{workspace}/{name}")

    @contextmanager
    def open_local(self, location: Location) -> Iterator[Path]:
        """A copy on this machine. Raises FileNotFoundError, StorageUnavailable, DiskFull."""
        if (key := key_of(location)) is None:
            yield scanned_path(location)
            return
        with self._cache.open(self._copy_of(key), lambda target: self._bucket.fetch(key, target).mtime_ns) as path:
            yield path

    def _copy_of(self, key: str) -> str:
        """The name of the copy. What others write may be another thing under the same key by now: it is looked at."""
        if key.count("/") <= 2 or key.split("/")[2] in _OURS:
            return key
        if (facts := self._bucket.facts(key)) is None:
            raise FileNotFoundError(2, "there is no such object", key)
        return f"{key}@{facts.tag}-{facts.size}-{facts.mtime_ns}"

    def reference(self, location: Location) -> str:
        """The location: each node has its own copies."""
        return location if key_of(location) is not None else str(scanned_path(location))

    @contextmanager
    def open_reference(self, reference: str) -> Iterator[Path]:
        """A copy on this machine; a scanned file as it is."""
        if reference.startswith(_BLOB):
            with self.open_local(Location(reference)) as path:
                yield path
        else:
            yield Path(reference)

    def size(self, location: Location) -> int | None:
        """Of the object."""
        if (key := key_of(location)) is None:
            try:
                return scanned_path(location).stat().st_size
            except OSError:
                return None
        facts = self._bucket.facts(key)
        return None if facts is None else facts.size

    def staging(self, tenant: str, workspace: str, name: str) -> Path:
        """A folder of this machine; what is in it is handed over."""
        return self._cache.staging / tenant / workspace / name

    def hand_over(self, staging: Path, staged: str) -> str:
        """Send it, and remove it here."""
        tenant, workspace, name = staging.parts[-3:]
        path = Path(staged)
        location = self.location(tenant, workspace, f"staging/{name}/{path.name}")
        self._bucket.put_blocks(location.removeprefix(_BLOB), _file_blocks(path))
        path.unlink()
        return location

    def adopt(self, tenant: str, workspace: str, staged: str, key: str) -> Location:
        """Copy it within the bucket; the staged object goes with its folder."""
        location = self.location(tenant, workspace, f"members/{key}")
        if self.size(location) is None:
            self._bucket.copy(staged.removeprefix(_BLOB), location.removeprefix(_BLOB))
        return location

    def discard(self, staging: Path) -> None:
        """Remove what was staged here and there, and what workers that were killed have left."""
        tenant, workspace, name = staging.parts[-3:]
        discard_folder(staging)
        around = f"{tenant}/{workspace}/staging"
        now = time.time()
        self._bucket.delete(
            one.key
            for one in self._bucket.below(around)
            if one.key.startswith(f"{around}/{name}/") or now - one.modified.timestamp() > STALE_SECONDS
        )

    def staged_before(self, tenant: str, workspace: str, before: float) -> list[Path]:
        """As `BlobStore`; what is staged on another machine is that machine's until it is handed over."""
        newest: dict[str, float] = {}
        with contextlib.suppress(FileNotFoundError):  # none was made yet, or somebody discards them now
            for folder in (self._cache.staging / tenant / workspace).iterdir():
                newest[folder.name] = folder.stat().st_mtime
        around = f"{tenant}/{workspace}/staging"
        for one in self._bucket.below(around):
            name = one.key.removeprefix(f"{around}/").split("/")[0]
            newest[name] = max(newest.get(name, 0.0), one.modified.timestamp())
        return sorted(self.staging(tenant, workspace, name) for name, moment in newest.items() if moment < before)

    def tidy(self) -> None:
        """Of the cache on this machine."""
        self._cache.evict()

    def delete(self, location: Location) -> None:
        """Remove the object, and the copy of it on this machine."""
        if (key := key_of(location)) is not None:
            with contextlib.suppress(FileNotFoundError):
                self._cache.forget(self._copy_of(key))
            self._bucket.delete([key])

    def copies(self, tenant: str, workspace: str, contents: Mapping[str, int]) -> list[Location]:
        """Also what is staged, and parts; only objects of a size that is asked for are read."""
        sizes, found = set(contents.values()), []
        for prefix in (f"{tenant}/{workspace}", f"{PARTS}/{tenant}/{workspace}"):
            for one in self._bucket.below(prefix):
                if one.size not in sizes:
                    continue
                state = hashlib.sha256()
                try:
                    for block in self._bucket.blocks(one.key):
                        state.update(block)
                except FileNotFoundError:  # somebody else was faster
                    continue
                if state.hexdigest() in contents:
                    found.append(Location(f"{_BLOB}{one.key}"))
        return found

    def erase(self, tenant: str, workspace: str) -> None:
        """Remove every object of the workspace, and the copies on this machine."""
        inside = f"{UUID(tenant)}/{UUID(workspace)}"
        for prefix in (inside, f"{PARTS}/{inside}"):
            keys = [one.key for one in self._bucket.below(prefix)]
            self._bucket.delete(keys)
            for key in keys:
                self._cache.forget(key)


def _file_blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            yield block
