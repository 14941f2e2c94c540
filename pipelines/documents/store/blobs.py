"""Blob store of uploaded bytes: a port with tenant-prefixed keys, and a shared folder behind it."""

import asyncio
import contextlib
import hashlib
import os
import shutil
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final, NewType, Protocol, TypeVar
from urllib.parse import quote_from_bytes, unquote_to_bytes
from uuid import UUID, uuid4

from cluster.basics.cleanup import async_cleanup_on_error
from cluster.basics.disk import DiskRoom
from cluster.basics.errors import NotFound, TooLarge, Unavailable
from pipelines.documents.store.in_place import InPlaceFiles

STALE_SECONDS = 24 * 3600.0  # a day after it was made nobody unpacks to a staging folder any more

# `blob:<key>` for uploads, `file:<absolute path>` for folders left in place, `fileb:<quoted bytes>` where a path is no
# UTF-8, which neither Postgres nor JSON can hold.
Location = NewType("Location", str)

_Result = TypeVar("_Result")
WRITTEN_AT_ONCE: Final = 1 << 20  # bytes that one thread writes; a thread for each block of a connection costs more

PARTS = "uploads"  # what stands before the tenant where parts are kept that are no document yet


def location_of(path: Path) -> Location:
    """The location of a file that stays in place, as text that can be stored."""
    try:
        return Location(f"file:{str(path).encode().decode()}")
    except UnicodeEncodeError:
        return Location(f"fileb:{quote_from_bytes(os.fsencode(path))}")


def key_of(location: str) -> str | None:
    """The key of an upload; None of a file that stays in place. Raises NotFound: it leads out of the store."""
    kind, _, rest = location.partition(":")
    if kind != "blob":
        return None
    if ".." in rest.split("/") or rest.startswith("/"):
        raise NotFound(f"no file at {location}")
    return rest


def scanned_path(location: str) -> Path:
    """The file of a scanned folder. Raises NotFound: the location is of no known kind."""
    kind, _, rest = location.partition(":")
    if kind == "file":
        return Path(rest)
    if kind == "fileb":
        return Path(os.fsdecode(unquote_to_bytes(rest)))
    raise NotFound(f"no file at {location}")


def path_of_reference(reference: str) -> Path:
    """The path that a location of a file in place, or a plain path, names."""
    return scanned_path(reference) if reference.startswith(("file:", "fileb:")) else Path(reference)


async def write_whole(target: Path, chunks: AsyncIterator[bytes], room: DiskRoom) -> None:
    """Write a stream to a file that is there once all of it is. Raises DiskFull; nothing stays behind then.

    The disk is used in threads: one that is slow holds up nobody else on the event loop.
    """
    unfinished = target.with_name(f"{target.name}.{uuid4().hex}.part")
    async with async_cleanup_on_error(lambda: _in_thread(partial(unfinished.unlink, missing_ok=True))):
        with room.writing():
            file = await _in_thread(_begin_file, unfinished, room)
            try:
                waiting, size = list[bytes](), 0
                async for chunk in chunks:
                    waiting.append(chunk)
                    size += len(chunk)
                    if size >= WRITTEN_AT_ONCE:
                        await _in_thread(_write, file, waiting, room)
                        waiting, size = [], 0
                if waiting:
                    await _in_thread(_write, file, waiting, room)
                await _in_thread(_finish_file, file, target)
            finally:
                await _in_thread(file.close)


async def _in_thread(work: Callable[..., _Result], *given: object) -> _Result:
    """As `asyncio.to_thread`; a cancellation waits for it, so that nobody closes or removes what is being written."""
    running = asyncio.ensure_future(asyncio.to_thread(work, *given))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait({running})
        raise


def _begin_file(unfinished: Path, room: DiskRoom) -> BinaryIO:
    room.require()
    unfinished.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    return unfinished.open("wb")


def _write(file: BinaryIO, blocks: Sequence[bytes], room: DiskRoom) -> None:
    room.require()
    file.writelines(blocks)


def _finish_file(file: BinaryIO, target: Path) -> None:
    file.flush()
    os.fsync(file.fileno())
    file.close()
    Path(file.name).rename(target)


def require_size(path: Path, most: int | None) -> None:
    """Raises TooLarge where a file has more bytes; FileNotFoundError where those are bounded and it is not there."""
    if most is not None and (size := path.stat().st_size) > most:
        raise TooLarge(f"the file has {size} bytes; {most} are the most")


def discard_folder(staging: Path) -> None:
    """Remove a staging folder, and its neighbours of workers that were killed."""
    shutil.rmtree(staging, ignore_errors=True)
    with contextlib.suppress(OSError):
        for other in list(staging.parent.iterdir()):
            if time.time() - other.stat().st_mtime > STALE_SECONDS:
                shutil.rmtree(other, ignore_errors=True)


@asynccontextmanager
async def local_file(blobs: "BlobStore", location: str) -> AsyncIterator[Path]:
    """`open_local`, off the event loop: the bytes may have to be fetched."""
    opened = blobs.open_local(Location(location))
    path = await asyncio.to_thread(opened.__enter__)
    try:
        yield path
    finally:
        await asyncio.shield(asyncio.to_thread(opened.__exit__, None, None, None))


class BlobStore(Protocol):
    """Bytes by key; keys never cross a workspace."""

    async def put(self, tenant: str, workspace: str, chunks: AsyncIterator[bytes], name: str | None = None) -> Location:
        """Store a stream, whole or not at all, and return where it is; `name` is one of nobody else's."""

    def location(self, tenant: str, workspace: str, name: str) -> Location:
        """Where `put` stores by this name."""

    def open_local(self, location: Location, most: int | None = None) -> AbstractContextManager[Path]:
        """A file to read from, for as long as the block runs; where it is gone, this or opening it raises OSError.

        `most`: bytes that it may have; with more it raises TooLarge, and nothing of it is fetched.

        Raises Unreadable: it stays in place, and leads out of the folder that may be read.
        """

    def reference(self, location: Location) -> str:
        """What leads any node to the file, by `open_reference` of its own store."""

    def open_reference(self, reference: str) -> AbstractContextManager[Path]:
        """As `open_local`, of a reference or a plain path."""

    def size(self, location: Location) -> int | None:
        """How many bytes are there; None where nothing is."""

    def staging(self, tenant: str, workspace: str, name: str) -> Path:
        """A folder of this name for bytes on their way in; it is not made yet."""

    def hand_over(self, staging: Path, staged: str) -> str:
        """Bring a file of a staging folder to where every node can adopt it; what leads there."""

    def adopt(self, tenant: str, workspace: str, staged: str, key: str) -> Location:
        """Keep what was handed over under a key; under one that is there, its bytes are there already."""

    def discard(self, staging: Path) -> None:
        """Forget a staging folder, and those that others have left behind long ago."""

    def staged_before(self, tenant: str, workspace: str, before: float) -> list[Path]:
        """Staging folders of a workspace to which nothing came since a moment, in seconds since the epoch."""

    def tidy(self) -> None:
        """Forget copies that are kept only to be quick, and that nobody has used for long; from now on by itself."""

    def delete(self, location: Location) -> None:
        """Forget an upload; a file of a scanned folder is never touched."""

    def copies(self, tenant: str, workspace: str, contents: Mapping[str, int]) -> list[Location]:
        """Where a workspace's files are that have one of these contents: SHA-256 in hex, with how many bytes it has."""

    def erase(self, tenant: str, workspace: str) -> None:
        """Forget all uploads of a workspace."""


class FolderBlobs:
    """A folder every node sees."""

    def __init__(self, root: Path, room: DiskRoom | None = None, base: Path | None = None) -> None:
        """`root` is made on first use; `room` tells whether more may be put there, by itself whatever fits. Files that
        stay in place are read below `base`, without one nowhere.
        """
        self._root, self._room, self._in_place = root, room or DiskRoom(root), InPlaceFiles(base)

    async def put(self, tenant: str, workspace: str, chunks: AsyncIterator[bytes], name: str | None = None) -> Location:
        """Write beside the final name and rename, so that a crash leaves no half file under a key.

        Raises DiskFull: there is no room, or there would be too little left; nothing stays behind.
        """
        location = self.location(tenant, workspace, name or uuid4().hex)
        await write_whole(self.path(location), chunks, self._room)
        return location

    def location(self, tenant: str, workspace: str, name: str) -> Location:
        """A file of the workspace's folder."""
        return Location(f"blob:{tenant}/{workspace}/{name}")

    @contextmanager
    def open_local(self, location: Location, most: int | None = None) -> Iterator[Path]:
        """The file itself."""
        if key_of(location) is None:
            with self._in_place.open(scanned_path(location), most) as real:
                yield real
            return
        path = self.path(location)
        require_size(path, most)
        yield path

    def reference(self, location: Location) -> str:
        """The path of an upload, which is the same on every node; the location of what stays in place."""
        return location if key_of(location) is None else str(self.path(location))

    @contextmanager
    def open_reference(self, reference: str) -> Iterator[Path]:
        """The file itself; what is no upload is judged as what stays in place."""
        path = path_of_reference(reference)
        if path == Path(reference) and path.is_relative_to(self._root) and ".." not in path.parts:
            yield path
            return
        with self._in_place.open(path) as real:
            yield real

    def size(self, location: Location) -> int | None:
        """Of the file."""
        if key_of(location) is None:
            return self._in_place.size(scanned_path(location))
        try:
            return self.path(location).stat().st_size
        except OSError:
            return None

    def staging(self, tenant: str, workspace: str, name: str) -> Path:
        """Beside the bytes that stay, so that a file is kept by renaming it."""
        return self._root / tenant / workspace / "staging" / name

    def hand_over(self, staging: Path, staged: str) -> str:
        """It lies where every node sees it."""
        return staged

    def adopt(self, tenant: str, workspace: str, staged: str, key: str) -> Location:
        """Keep a staged file. Raises DiskFull: too little room is left."""
        self._room.require()
        location = self.location(tenant, workspace, f"members/{key}")
        target = self.path(location)
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if target.exists():
            Path(staged).unlink(missing_ok=True)
        else:
            Path(staged).rename(target)
        return location

    def discard(self, staging: Path) -> None:
        """Remove the folder, and its neighbours of workers that were killed."""
        discard_folder(staging)

    def tidy(self) -> None:
        """There are no copies."""

    def staged_before(self, tenant: str, workspace: str, before: float) -> list[Path]:
        """As `BlobStore`."""
        try:
            folders = list((self._root / tenant / workspace / "staging").iterdir())
            return sorted(one for one in folders if one.stat().st_mtime < before)
        except FileNotFoundError:  # none was made yet, or somebody discards them now
            return []

    def path(self, location: Location) -> Path:
        """The file behind either kind of location. Raises NotFound: the location is of no known kind."""
        if (key := key_of(location)) is not None:
            return self._root / key
        return scanned_path(location)

    def delete(self, location: Location) -> None:
        """Remove the bytes of an upload."""
        if location.startswith("blob:"):
            self.path(location).unlink(missing_ok=True)

    def copies(self, tenant: str, workspace: str, contents: Mapping[str, int]) -> list[Location]:
        """Also what is staged or was left unfinished, and parts that are a whole file; only files of a size that is
        asked for are read.
        """
        sizes, found = set(contents.values()), []
        places = (self._root / tenant / workspace, self._root / PARTS / tenant / workspace)
        for folder, _, names in (one for place in places for one in os.walk(place)):
            for path in (Path(folder, name) for name in names):
                with contextlib.suppress(FileNotFoundError):  # somebody else was faster
                    if path.stat().st_size in sizes:
                        with path.open("rb") as file:
                            digest = hashlib.file_digest(file, "sha256").hexdigest()
                        if digest in contents:
                            found.append(Location(f"blob:{path.relative_to(self._root)}"))
        return found

    def erase(self, tenant: str, workspace: str) -> None:
        """Remove the workspace's folders, and the tenant's once they are empty.

        Raises Unavailable: some of it cannot be removed.
        """
        inside = Path(str(UUID(tenant)), str(UUID(workspace)))
        for folder in (self._root / inside, self._root / PARTS / inside):
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
