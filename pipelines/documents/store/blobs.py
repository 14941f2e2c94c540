"""Blob store of uploaded bytes: a port, and a shared folder with tenant-prefixed keys behind it."""

import contextlib
import hashlib
import os
import shutil
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import NewType, Protocol
from urllib.parse import quote_from_bytes, unquote_to_bytes
from uuid import UUID, uuid4

from cluster.basics.disk import DiskRoom
from cluster.basics.errors import NotFound, Unavailable

STALE_SECONDS = 24 * 3600.0  # a day after it was made nobody unpacks to a staging folder any more

# `blob:<key>` for uploads, `file:<absolute path>` for folders left in place, `fileb:<quoted bytes>` where a path is no
# UTF-8, which neither Postgres nor JSON can hold.
Location = NewType("Location", str)


def location_of(path: Path) -> Location:
    """The location of a file that stays in place, as text that can be stored."""
    try:
        return Location(f"file:{str(path).encode().decode()}")
    except UnicodeEncodeError:
        return Location(f"fileb:{quote_from_bytes(os.fsencode(path))}")


class BlobStore(Protocol):
    """Bytes by key; keys never cross a workspace."""

    async def put(self, tenant: str, workspace: str, chunks: AsyncIterator[bytes]) -> Location:
        """Store a stream and return where it is."""

    def path(self, location: Location) -> Path:
        """A local path to read from."""

    def staging(self, tenant: str, workspace: str, name: str) -> Path:
        """A folder of this name for bytes on their way in, which every node sees; it is not made yet."""

    def adopt(self, tenant: str, workspace: str, staged: Path, key: str) -> Location:
        """Keep a staged file under a key; under one that is there, its bytes are there already."""

    def discard(self, staging: Path) -> None:
        """Forget a staging folder, and those that others have left behind long ago."""

    def staged_before(self, tenant: str, workspace: str, before: float) -> list[Path]:
        """Staging folders of a workspace to which nothing came since a moment, in seconds since the epoch."""

    def delete(self, location: Location) -> None:
        """Forget an upload; a file of a scanned folder is never touched."""

    def copies(self, tenant: str, workspace: str, contents: Mapping[str, int]) -> list[Location]:
        """Where a workspace's files are that have one of these contents: SHA-256 in hex, with how many bytes it has."""

    def erase(self, tenant: str, workspace: str) -> None:
        """Forget all uploads of a workspace."""


class FolderBlobs:
    """A folder every node sees."""

    def __init__(self, root: Path, room: DiskRoom | None = None) -> None:
        """`root` is made on first use; `room` tells whether more may be put there, by itself whatever fits."""
        self._root, self._room = root, room or DiskRoom(root)

    async def put(self, tenant: str, workspace: str, chunks: AsyncIterator[bytes]) -> Location:
        """Write beside the final name and rename, so that a crash leaves no half file under a key.

        Raises DiskFull: there is no room, or there would be too little left; nothing stays behind.
        """
        self._room.require()
        key = f"{tenant}/{workspace}/{uuid4().hex}"
        target = self._root / key
        unfinished = target.with_suffix(".part")
        try:
            with self._room.writing():
                target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                with unfinished.open("wb") as file:
                    async for chunk in chunks:
                        self._room.require()
                        file.write(chunk)
                    file.flush()
                    os.fsync(file.fileno())
                unfinished.rename(target)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise
        return Location(f"blob:{key}")

    def staging(self, tenant: str, workspace: str, name: str) -> Path:
        """Beside the bytes that stay, so that a file is kept by renaming it."""
        return self._root / tenant / workspace / "staging" / name

    def adopt(self, tenant: str, workspace: str, staged: Path, key: str) -> Location:
        """Keep a staged file. Raises DiskFull: too little room is left."""
        self._room.require()
        name = f"{tenant}/{workspace}/members/{key}"
        target = self._root / name
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if target.exists():
            staged.unlink(missing_ok=True)
        else:
            staged.rename(target)
        return Location(f"blob:{name}")

    def discard(self, staging: Path) -> None:
        """Remove the folder, and its neighbours of workers that were killed."""
        shutil.rmtree(staging, ignore_errors=True)
        with contextlib.suppress(OSError):
            for other in list(staging.parent.iterdir()):
                if time.time() - other.stat().st_mtime > STALE_SECONDS:
                    shutil.rmtree(other, ignore_errors=True)

    def staged_before(self, tenant: str, workspace: str, before: float) -> list[Path]:
        """As `BlobStore`."""
        try:
            folders = list((self._root / tenant / workspace / "staging").iterdir())
            return sorted(one for one in folders if one.stat().st_mtime < before)
        except FileNotFoundError:  # none was made yet, or somebody discards them now
            return []

    def path(self, location: Location) -> Path:
        """The file behind either kind of location. Raises NotFound: the location is of no known kind."""
        kind, _, rest = location.partition(":")
        if kind == "file":
            return Path(rest)
        if kind == "fileb":
            return Path(os.fsdecode(unquote_to_bytes(rest)))
        if kind == "blob" and ".." not in rest.split("/"):
            return self._root / rest
        raise NotFound(f"no file at {location}")

    def delete(self, location: Location) -> None:
        """Remove the bytes of an upload."""
        if location.startswith("blob:"):
            self.path(location).unlink(missing_ok=True)

    def copies(self, tenant: str, workspace: str, contents: Mapping[str, int]) -> list[Location]:
        """Also what is staged or was left unfinished; only files of a size that is asked for are read."""
        sizes, found = set(contents.values()), []
        for folder, _, names in os.walk(self._root / tenant / workspace):
            for path in (Path(folder, name) for name in names):
                with contextlib.suppress(FileNotFoundError):  # somebody else was faster
                    if path.stat().st_size in sizes:
                        with path.open("rb") as file:
                            digest = hashlib.file_digest(file, "sha256").hexdigest()
                        if digest in contents:
                            found.append(Location(f"blob:{path.relative_to(self._root)}"))
        return found

    def erase(self, tenant: str, workspace: str) -> None:
        """Remove the workspace's folder, and the tenant's once it is empty.

        Raises Unavailable: some of it cannot be removed.
        """
        folder = self._root / str(UUID(tenant)) / str(UUID(workspace))
        try:
            shutil.rmtree(folder, onerror=_unless_gone)
        except OSError as error:
            raise Unavailable(
                f"uploads of workspace {workspace} cannot be removed: {error.strerror} ({error.filename})",
                fix="See to the folder's permissions and its mount, then delete the workspace again.",
            ) from error
        with contextlib.suppress(OSError):  # other workspaces have uploads, or there never were any
            folder.parent.rmdir()


def _unless_gone(_: object, __: object, failed: tuple[type[BaseException], BaseException, object]) -> None:
    """What is not there any more, or never was, is no reason to leave the rest."""
    if not isinstance(failed[1], FileNotFoundError):
        raise failed[1]
