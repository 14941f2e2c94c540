"""Bytes of parts that are no document yet: a port, and the folder or the bucket behind it."""

import asyncio
import contextlib
import shutil
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Protocol
from uuid import uuid4

from cluster.basics.disk import DiskRoom
from cluster.state.objects.bucket import BLOCK, Bucket
from pipelines.documents.store.blobs import PARTS, Location, write_whole

_BLOB: Final = "blob:"
LONGEST_NUMBER: Final = 10  # digits; other names are 32 digits of hexadecimal


@dataclass(frozen=True, slots=True)
class PartFolder:
    """The bytes of one upload, and when some came last."""

    tenant: str
    workspace: str
    session: str
    modified: datetime


@dataclass(frozen=True, slots=True)
class SignedPart:
    """What was sent to a signed address: of which part of which upload, where it lies, and its bytes."""

    tenant: str
    workspace: str
    session: str
    number: int
    location: Location
    size: int


class PartStore(Protocol):
    """Parts by upload; their locations are the blob store's."""

    async def put(self, tenant: str, workspace: str, session: str, chunks: AsyncIterator[bytes]) -> Location:
        """Store a part, whole or not at all, under a name that no other has: who sends it twice has two."""

    def read(self, location: Location) -> AsyncIterator[bytes]:
        """Its bytes in blocks. Raises FileNotFoundError."""

    def signed_location(self, tenant: str, workspace: str, session: str, number: int) -> Location:
        """Where a part lies that was sent to its signed address."""

    async def sign(
        self, tenant: str, workspace: str, session: str, numbers: Sequence[int], seconds: float
    ) -> list[str] | None:
        """Addresses to which each part can be sent (PUT) for so long; None where this storage has none.

        They bound no length: obstore signs the key and the time, and no header. Whoever has one may store what a PUT
        takes, 5 GiB. A part of another size is refused and removed where its arrival is told, and again where the whole
        is put together, which reads no more of it than was announced; `OversizedParts` removes what nobody tells of:
        the sweep every hour, and `aos doctor --repair`.
        """

    def signed_parts(self) -> Iterator[SignedPart]:
        """Everything that was sent to such an address and is still there."""

    def delete(self, location: Location) -> None:
        """Remove one part."""

    def delete_as_listed(self, part: SignedPart) -> None:
        """Remove it, unless bytes of another length were sent in its place since it was listed."""

    def drop(self, tenant: str, workspace: str, session: str) -> None:
        """Remove whatever there is of an upload."""

    def folders(self) -> Iterator[PartFolder]:
        """Every upload of which there are bytes."""


class FolderParts:
    """Parts in a folder every node sees."""

    def __init__(self, root: Path, room: DiskRoom | None = None) -> None:
        """`root` is the blob store's."""
        self._root, self._room = root, room or DiskRoom(root)

    async def put(self, tenant: str, workspace: str, session: str, chunks: AsyncIterator[bytes]) -> Location:
        """A file. Raises DiskFull."""
        key = f"{_folder(tenant, workspace, session)}/{uuid4().hex}"
        await write_whole(self._root / key, chunks, self._room)
        return Location(f"{_BLOB}{key}")

    async def read(self, location: Location) -> AsyncIterator[bytes]:
        """Of the file."""
        file = await asyncio.to_thread((self._root / location.removeprefix(_BLOB)).open, "rb")
        with file:
            while block := await asyncio.to_thread(file.read, BLOCK):
                yield block

    def signed_location(self, tenant: str, workspace: str, session: str, number: int) -> Location:
        """Nothing is there: no address is signed."""
        return Location(f"{_BLOB}{_folder(tenant, workspace, session)}/{number}")

    async def sign(
        self, tenant: str, workspace: str, session: str, numbers: Sequence[int], seconds: float
    ) -> list[str] | None:
        """A folder has no addresses."""
        return None

    def signed_parts(self) -> Iterator[SignedPart]:
        """None."""
        return iter(())

    def delete(self, location: Location) -> None:
        """The file."""
        (self._root / location.removeprefix(_BLOB)).unlink(missing_ok=True)

    def delete_as_listed(self, part: SignedPart) -> None:
        """There is none that was sent to a signed address."""

    def drop(self, tenant: str, workspace: str, session: str) -> None:
        """The folder, with what was left unfinished."""
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(self._root / _folder(tenant, workspace, session))

    def folders(self) -> Iterator[PartFolder]:
        """One for each upload."""
        for place in sorted((self._root / PARTS).glob("*/*/*")):
            with contextlib.suppress(FileNotFoundError):  # it has just ended
                modified = datetime.fromtimestamp(place.stat().st_mtime, UTC)
                yield PartFolder(place.parent.parent.name, place.parent.name, place.name, modified)


class BucketParts:
    """Parts in S3-compatible storage, to which clients may send them straight."""

    def __init__(self, bucket: Bucket) -> None:
        """Nothing is asked yet."""
        self._bucket = bucket

    async def put(self, tenant: str, workspace: str, session: str, chunks: AsyncIterator[bytes]) -> Location:
        """An object. Raises StorageUnavailable."""
        key = f"{_folder(tenant, workspace, session)}/{uuid4().hex}"
        await self._bucket.put(key, chunks)
        return Location(f"{_BLOB}{key}")

    def read(self, location: Location) -> AsyncIterator[bytes]:
        """Of the object."""
        return self._bucket.read(location.removeprefix(_BLOB))

    def signed_location(self, tenant: str, workspace: str, session: str, number: int) -> Location:
        """An object named by the part's number: who sends it twice replaces it."""
        return Location(f"{_BLOB}{_folder(tenant, workspace, session)}/{number}")

    async def sign(
        self, tenant: str, workspace: str, session: str, numbers: Sequence[int], seconds: float
    ) -> list[str] | None:
        """Addresses of the bucket."""
        keys = [f"{_folder(tenant, workspace, session)}/{number}" for number in numbers]
        return await self._bucket.sign_puts(keys, max(1.0, seconds))

    def signed_parts(self) -> Iterator[SignedPart]:
        """Objects that are named by a number; those that came through here have names of their own."""
        for one in self._bucket.below(PARTS):
            names = one.key.split("/")
            if len(names) == 5 and names[4].isascii() and names[4].isdigit() and len(names[4]) < LONGEST_NUMBER:
                yield SignedPart(names[1], names[2], names[3], int(names[4]), Location(f"{_BLOB}{one.key}"), one.size)

    def delete(self, location: Location) -> None:
        """The object."""
        self._bucket.delete([location.removeprefix(_BLOB)])

    def delete_as_listed(self, part: SignedPart) -> None:
        """The object, looked at once more: whoever sent too much may have mended it."""
        facts = self._bucket.facts(part.location.removeprefix(_BLOB))
        if facts is not None and facts.size == part.size:
            self.delete(part.location)

    def drop(self, tenant: str, workspace: str, session: str) -> None:
        """Every object below it."""
        self._bucket.delete_below(_folder(tenant, workspace, session))

    def folders(self) -> Iterator[PartFolder]:
        """One for each upload; listed, as buckets have no folders."""
        newest: dict[tuple[str, str, str], datetime] = {}
        for one in self._bucket.below(PARTS):
            parts = one.key.split("/")
            if len(parts) > 4:
                upload = parts[1], parts[2], parts[3]
                newest[upload] = max(one.modified, newest.get(upload, one.modified))
        for (tenant, workspace, session), modified in newest.items():
            yield PartFolder(tenant, workspace, session, modified)


def _folder(tenant: str, workspace: str, session: str) -> str:
    return f"{PARTS}/{tenant}/{workspace}/{session}"
