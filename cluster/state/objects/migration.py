"""The way of blobs between a folder and a bucket: copied, read back, compared by hash, and gone on with after a cut."""

import errno
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Final, Protocol
from uuid import uuid4

from cluster.basics.errors import AosError, Permanent
from cluster.state.objects.bucket import BLOCK, Bucket

AT_ONCE: Final = 4
BATCH: Final = 256
UNDER_WAY: Final = ("uploads", "staging")  # what is no document yet is sent again, or unpacked again
PART: Final = ".part"
CANNOT_SYNC: Final = (errno.EINVAL, errno.ENOTSUP, errno.EBADF)  # of a folder, on file systems of a network


class BlobsDiffer(AosError):
    """What was written is not what was read."""

    code = "blobs_differ"
    fix = "Run it again; if it stays so, look at the disk or the storage."


class KeyLeadsOut(Permanent):
    """The key leads out of its folder."""

    code = "key_leads_out"
    fix = "Whoever wrote the list of keys has changed it: take another one."


class ObjectSide(Protocol):
    """Port to a place of objects by key."""

    def objects(self, prefix: str = "") -> Iterator[tuple[str, int]]:
        """Every key with its bytes; of those below a prefix of whole names, `a/b` meaning `a/b/…`."""

    def size(self, key: str) -> int | None:
        """Bytes of one; None where there is none."""

    def blocks(self, key: str) -> Iterator[bytes]:
        """Its bytes."""

    def put(self, key: str, blocks: Iterator[bytes]) -> None:
        """Write one, whole or not at all."""

    def delete(self, key: str) -> None:
        """Remove one."""


class FolderSide:
    """A folder with files by key."""

    def __init__(self, root: Path, *, private: bool = False, sync: Callable[[int], None] = os.fsync) -> None:
        """It is made with the first object. `private`: nobody but its owner reads a file that is put there."""
        self._root, self._mode, self._sync = root, 0o600 if private else 0o666, sync

    def objects(self, prefix: str = "") -> Iterator[tuple[str, int]]:
        """Every file; what was left unfinished is none."""
        for folder, inside, names in os.walk(self._root / prefix):
            inside.sort()
            for path in (Path(folder, name) for name in sorted(names)):
                if path.suffix != PART:
                    with suppress(FileNotFoundError):
                        yield str(path.relative_to(self._root)), path.stat().st_size

    def size(self, key: str) -> int | None:
        """Of the file."""
        try:
            return self._path(key).stat().st_size
        except FileNotFoundError:
            return None

    def blocks(self, key: str) -> Iterator[bytes]:
        """Of the file."""
        with self._path(key).open("rb") as file:
            while block := file.read(BLOCK):
                yield block

    def put(self, key: str, blocks: Iterator[bytes]) -> None:
        """Written beside its name, and renamed; both outlast a power cut."""
        target = self._path(key)
        self._make_folder(target.parent)
        unfinished = target.with_name(f"{target.name}.{uuid4().hex}{PART}")
        try:
            with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, self._mode), "wb") as file:
                file.writelines(blocks)
                file.flush()
                self._sync(file.fileno())
            unfinished.rename(target)
            self._sync_folder(target.parent)
        finally:
            unfinished.unlink(missing_ok=True)

    def delete(self, key: str) -> None:
        """The file."""
        self._path(key).unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        if not key or {"", ".", ".."} & set(key.split("/")):
            raise KeyLeadsOut(key)
        return self._root / key

    def _make_folder(self, folder: Path) -> None:
        if not folder.is_dir():
            self._make_folder(folder.parent)
            folder.mkdir(mode=0o700, exist_ok=True)
            self._sync_folder(folder.parent)

    def _sync_folder(self, folder: Path) -> None:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            self._sync(handle)
        except OSError as error:
            if error.errno not in CANNOT_SYNC:
                raise
        finally:
            os.close(handle)


class BucketSide:
    """A bucket's objects."""

    def __init__(self, bucket: Bucket) -> None:
        """Nothing is asked yet."""
        self._bucket = bucket

    def objects(self, prefix: str = "") -> Iterator[tuple[str, int]]:
        """Every object below the prefix."""
        for one in self._bucket.below(prefix):
            yield one.key, one.size

    def size(self, key: str) -> int | None:
        """Of the object."""
        facts = self._bucket.facts(key)
        return None if facts is None else facts.size

    def blocks(self, key: str) -> Iterator[bytes]:
        """Of the object."""
        return self._bucket.blocks(key)

    def put(self, key: str, blocks: Iterator[bytes]) -> None:
        """Sent in pieces."""
        self._bucket.put_blocks(key, blocks)

    def delete(self, key: str) -> None:
        """The object."""
        self._bucket.delete([key])


@dataclass
class MigrationCount:
    """How far it is: objects and bytes found, copied now, verified before, and keys that failed with the reason."""

    found: int = 0
    found_bytes: int = 0
    copied: int = 0
    copied_bytes: int = 0
    there: int = 0
    failed: dict[str, str] = field(default_factory=dict)


class MigrationJournal:
    """Keys that were copied and compared, so that the next run need not look at them again."""

    def __init__(self, path: Path) -> None:
        """It is read now; a line that a kill cut off does not count."""
        self._path, self._lock = path, Lock()
        self._known: dict[str, int] = {}
        with suppress(FileNotFoundError):
            for line in path.read_text(encoding="utf-8").splitlines():
                with suppress(ValueError):
                    entry = json.loads(line)
                    self._known[entry["key"]] = entry["size"]

    def has(self, key: str, size: int) -> bool:
        """Whether it was compared when it had so many bytes."""
        return self._known.get(key) == size

    def add(self, key: str, size: int, digest: str) -> None:
        """It was compared."""
        line = json.dumps({"key": key, "size": size, "sha256": digest})
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
            self._known[key] = size


class BlobMigration:
    """Copies what one side has and the other lacks; nothing is removed."""

    def __init__(self, source: ObjectSide, target: ObjectSide, journal: MigrationJournal) -> None:
        """Nothing is asked yet."""
        self._source, self._target, self._journal = source, target, journal

    def run(self, tell: Callable[[MigrationCount], None], *, dry_run: bool = False) -> MigrationCount:
        """Copy and compare everything, or only count it; `tell` hears how far it is after each batch.

        An object that cannot be copied is among the failed, and the others go on.
        """
        count = MigrationCount()
        keys = (one for one in self._source.objects() if not is_under_way(one[0]))
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="blobs") as threads:
            while batch := list(islice(keys, BATCH)):
                done = threads.map(lambda one: self._move(*one, dry_run=dry_run), batch)
                for (key, size), (what, why) in zip(batch, done, strict=True):
                    count.found += 1
                    count.found_bytes += size
                    if what == "failed":
                        count.failed[key] = why
                    elif what == "there":
                        count.there += 1
                    else:
                        count.copied += 1
                        count.copied_bytes += size
                tell(count)
        return count

    def _move(self, key: str, size: int, *, dry_run: bool) -> tuple[str, str]:
        try:
            there = self._target.size(key)
            if there == size and self._journal.has(key, size):
                return "there", ""
            if dry_run:
                return ("there" if there == size else "copied"), ""
            return self._copy(key, size, there == size), ""
        except FileNotFoundError:  # it was deleted meanwhile, on both sides
            return "there", ""
        except (AosError, OSError) as error:
            return "failed", str(error) or type(error).__name__

    def _copy(self, key: str, size: int, same_size: bool) -> str:
        if same_size:
            digest = _hash(self._source.blocks(key))
            if _hash(self._target.blocks(key)) == digest:
                self._journal.add(key, size, digest)
                return "there"
        state = hashlib.sha256()
        self._target.put(key, _hashed(self._source.blocks(key), state))
        if _hash(self._target.blocks(key)) != state.hexdigest():
            self._target.delete(key)
            raise BlobsDiffer(key)
        self._journal.add(key, size, state.hexdigest())
        return "copied"


def is_under_way(key: str) -> bool:
    """It is no document yet."""
    names = key.split("/")
    return names[0] == UNDER_WAY[0] or UNDER_WAY[1] in names[2:3]


def _hashed(blocks: Iterator[bytes], state: "hashlib._Hash") -> Iterator[bytes]:
    for block in blocks:
        state.update(block)
        yield block


def _hash(blocks: Iterable[bytes]) -> str:
    state = hashlib.sha256()
    for block in blocks:
        state.update(block)
    return state.hexdigest()
