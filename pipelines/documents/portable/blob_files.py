"""Bytes of documents in an export, by their SHA-256: copied out of the store and back into one."""

import hashlib
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from cluster.basics.disk import FULL
from cluster.basics.errors import DiskFull, Permanent, Unavailable
from cluster.basics.scope import Scope
from pipelines.documents.document import FailureReason, Unreadable
from pipelines.documents.portable.export_manifest import BrokenExport, blob_path
from pipelines.documents.sources.files import hash_file
from pipelines.documents.store.blobs import BlobStore, Location

_BLOCK: Final = 1 << 20


class BlobCopier:
    """Copies bytes into the folder; `missing` has the names of documents whose bytes are not what was read."""

    def __init__(self, blobs: BlobStore, folder: Path) -> None:
        """Nothing is copied yet."""
        self._blobs, self._folder = blobs, folder
        self.missing: list[str] = []

    def copy(self, location: str, file_hash: str, filename: str) -> bool:
        """True where the bytes are in the folder.

        Raises Unavailable, DiskFull: the store does not answer, or the folder cannot be written; a later run may have
        them, so they are not counted as missing.
        """
        try:
            target = blob_path(self._folder, file_hash)
            if has_bytes(target, file_hash):
                return True
            with self._blobs.open_local(Location(location)) as path:
                is_copied = _copy_blocks(path, target, file_hash)
        except (Permanent, OSError, Unreadable):
            is_copied = False
        if not is_copied:
            self.missing.append(filename)
        return is_copied


def has_bytes(path: Path, file_hash: str) -> bool:
    """Whether a file of these bytes is there, and no link to one."""
    return path.is_file() and not path.is_symlink() and hash_file(path) == file_hash


def _copy_blocks(source: Path, target: Path, file_hash: str) -> bool:
    """False where the source has other bytes. OSError is the source's; the target's is Unavailable or DiskFull."""
    unfinished, state = target.with_name(f"{target.name}.part"), hashlib.sha256()
    with source.open("rb") as file, _writing(target.parent):
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished.unlink(missing_ok=True)  # a link there would lead elsewhere
        with unfinished.open("xb") as copied:
            for block in _read_blocks(file):
                state.update(block)
                copied.write(block)
            copied.flush()
            os.fsync(copied.fileno())
        if state.hexdigest() != file_hash:
            unfinished.unlink()
            return False
        unfinished.replace(target)
    return True


def _read_blocks(file: BinaryIO) -> Iterator[bytes]:
    """Raises Unreadable: the source cannot be read to its end."""
    try:
        while block := file.read(_BLOCK):
            yield block
    except OSError as error:
        raise Unreadable(FailureReason.CHANGED, str(error)) from error


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        told = f"{folder} cannot be written: {error.strerror}"
        raise (DiskFull if error.errno in FULL else Unavailable)(told) from error


def check_blob(folder: Path, file_hash: str) -> None:
    """Raises BrokenExport: the bytes are missing, or others."""
    path = blob_path(folder, file_hash)
    if path.is_symlink() or not path.is_file():
        raise BrokenExport(f"the bytes {file_hash[:16]}… are missing")
    if hash_file(path) != file_hash:
        raise BrokenExport(f"the bytes {file_hash[:16]}… were changed")


async def store_blob(blobs: BlobStore, scope: Scope, folder: Path, file_hash: str, name: str) -> Location:
    """Put bytes into the store under a name of nobody else's; those that are there stay.

    Raises BrokenExport: they are others, and nothing is stored; DiskFull.
    """
    location = blobs.location(scope.tenant, scope.workspace, name)
    if blobs.size(location) is not None:
        return location
    return await blobs.put(
        scope.tenant, scope.workspace, _checked_blocks(blob_path(folder, file_hash), file_hash), name
    )


async def _checked_blocks(path: Path, file_hash: str) -> AsyncIterator[bytes]:
    state = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            state.update(block)
            yield block
    if state.hexdigest() != file_hash:
        raise BrokenExport(f"the bytes {file_hash[:16]}… were changed")
