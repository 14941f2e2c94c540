"""Bytes of documents in an export, by their SHA-256: copied out of the store and back into one."""

import hashlib
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from cluster.basics.errors import AosError
from cluster.basics.scope import Scope
from pipelines.documents.document import Unreadable
from pipelines.documents.portable.export_manifest import BrokenExport, blob_path, file_digest
from pipelines.documents.store.blobs import BlobStore, Location

_BLOCK: Final = 1 << 20


class BlobCopier:
    """Copies bytes into the folder; `missing` has the names of documents whose bytes are not what was read."""

    def __init__(self, blobs: BlobStore, folder: Path) -> None:
        """Nothing is copied yet."""
        self._blobs, self._folder = blobs, folder
        self.missing: list[str] = []

    def copy(self, location: str, file_hash: str, filename: str) -> bool:
        """True where the bytes are in the folder."""
        try:
            target = blob_path(self._folder, file_hash)
            if target.exists():
                return True
            target.parent.mkdir(parents=True, exist_ok=True)
            unfinished = target.with_name(f"{target.name}.part")
            with self._blobs.open_local(Location(location)) as path:
                shutil.copyfile(path, unfinished)
        except (AosError, OSError, Unreadable):
            self.missing.append(filename)
            return False
        if file_digest(unfinished) != file_hash:
            unfinished.unlink()
            self.missing.append(filename)
            return False
        unfinished.replace(target)
        return True


def check_blob(folder: Path, file_hash: str) -> None:
    """Raises BrokenExport: the bytes are missing, or others."""
    path = blob_path(folder, file_hash)
    if path.is_symlink() or not path.is_file():
        raise BrokenExport(f"the bytes {file_hash[:16]}… are missing")
    if file_digest(path) != file_hash:
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
