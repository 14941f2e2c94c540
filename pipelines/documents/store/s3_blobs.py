"""Blob store in S3-compatible storage: readers get local copies out of a bounded cache."""

import contextlib
import functools
import hashlib
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from uuid import UUID, uuid4

from cluster.basics.errors import TooLarge
from cluster.state.objects.bucket import BLOCK, Bucket, ObjectChanged, ObjectFacts
from pipelines.documents.store.blobs import (
    PARTS,
    STALE_SECONDS,
    Location,
    discard_folder,
    key_of,
    path_of_reference,
    scanned_path,
)
from pipelines.documents.store.file_cache import FileCache
from pipelines.documents.store.in_place import InPlaceFiles

_BLOB: Final = "blob:"
TRIES: Final = 3  # of an object that is replaced while it is fetched
_OURS: Final = ("members", "staging")  # below a workspace; others write the folders beside them


class BucketBlobs:
    """A bucket that every node reaches; keys are those that the folder has, so that bytes move by copying them."""

    def __init__(self, bucket: Bucket, cache: FileCache, base: Path | None = None) -> None:
        """Nothing is asked yet. Files that stay in place are read below `base`, without one nowhere."""
        self._bucket, self._cache, self._in_place = bucket, cache, InPlaceFiles(base)

    async def put(self, tenant: str, workspace: str, chunks: AsyncIterator[bytes], name: str | None = None) -> Location:
        """Send it in pieces as it comes. Raises StorageUnavailable, and what `chunks` raises; nothing stays behind."""
        location = self.location(tenant, workspace, name or uuid4().hex)
        await self._bucket.put(location.removeprefix(_BLOB), chunks)
        return location

    def location(self, tenant: str, workspace: str, name: str) -> Location:
        """An object below the workspace's prefix."""
        return Location(f"{_BLOB}{tenant}/{workspace}/{name}")

    @contextmanager
    def open_local(self, location: Location, most: int | None = None) -> Iterator[Path]:
        """A copy on this machine. Raises FileNotFoundError, StorageUnavailable, DiskFull.

        What others write may be another thing under the same key by now: it is looked at, and fetched as it was then or
        not at all. Raises ObjectChanged: it is replaced faster than it can be fetched.
        """
        if (key := key_of(location)) is None:
            with self._in_place.open(scanned_path(location), most) as real:
                yield real
            return
        if most is None and _is_ours(key):
            with self._cache.open(key, lambda target: self._bucket.fetch(key, target).mtime_ns) as path:
                yield path
            return
        with contextlib.ExitStack() as opened:
            yield self._open_as_it_is(opened, key, most)

    def _open_as_it_is(self, opened: contextlib.ExitStack, key: str, most: int | None) -> Path:
        """The copy of what is there now; `opened` keeps it. Of what is replaced meanwhile nothing is kept."""
        changed = 0
        while True:
            facts = self._require_facts(key)
            if most is not None and facts.size > most:
                raise TooLarge(f"the file has {facts.size} bytes; {most} are the most")
            name = key if _is_ours(key) else _copy_of(facts)
            try:
                return opened.enter_context(self._cache.open(name, functools.partial(self._fetch_as, facts)))
            except ObjectChanged:
                changed += 1
                if changed == TRIES:
                    raise

    def _fetch_as(self, facts: ObjectFacts, target: Path) -> int:
        self._bucket.fetch_as(facts, target)
        return facts.mtime_ns

    def _require_facts(self, key: str) -> ObjectFacts:
        if (facts := self._bucket.facts(key)) is None:
            raise FileNotFoundError(2, "there is no such object", key)
        return facts

    def reference(self, location: Location) -> str:
        """The location: each node has its own copies of uploads."""
        return location

    @contextmanager
    def open_reference(self, reference: str) -> Iterator[Path]:
        """A copy on this machine; a file that stays in place as it is."""
        if reference.startswith(_BLOB):
            with self.open_local(Location(reference)) as path:
                yield path
            return
        with self._in_place.open(path_of_reference(reference)) as real:
            yield real

    def size(self, location: Location) -> int | None:
        """Of the object."""
        if (key := key_of(location)) is None:
            return self._in_place.size(scanned_path(location))
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
        self._cache.tidy()

    def delete(self, location: Location) -> None:
        """Remove the object, and the copy of it on this machine."""
        if (key := key_of(location)) is not None:
            with contextlib.suppress(FileNotFoundError):
                self._cache.forget(key if _is_ours(key) else _copy_of(self._require_facts(key)))
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


def _is_ours(key: str) -> bool:
    """Whether the product alone writes it, once."""
    return key.count("/") <= 2 or key.split("/")[2] in _OURS


def _copy_of(facts: ObjectFacts) -> str:
    """The name of the copy of what others write."""
    return f"{facts.key}@{facts.tag}-{facts.size}-{facts.mtime_ns}"


def _file_blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            yield block
