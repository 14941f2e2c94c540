"""Checks of uploaded bytes: files that no row knows, and rows whose file is missing or is another one."""

import asyncio
import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import groupby, islice
from pathlib import Path
from typing import Any, Final, Protocol
from uuid import UUID

from cluster.state.db.postgres import load_queries
from cluster.state.objects.bucket import Bucket
from pipelines.documents.store.blobs import PARTS, BlobStore, Location
from serve_apps.integrity.examination import BATCH, LIVE, SQL, Examination
from serve_apps.integrity.integrity_finding import EXAMPLES, Family, IntegrityFinding, some

_SQL: Final = load_queries(Path(__file__).with_suffix(".sql"))
HASHED: Final = 200  # files whose bytes are read where not all are to be
AT_ONCE: Final = 8
_OURS: Final = ("members",)  # below a workspace; staging is looked at as what uploads have left
_WHOSE: Final = "See whether another database has them; if none does, remove them where they lie."
_AGAIN: Final = "Upload it again under its name: aos ingest FILE"


@dataclass(frozen=True, slots=True)
class StoredBlob:
    """A file or an object below `<tenant>/<workspace>/`, and when it was written."""

    tenant: str
    workspace: str
    name: str
    modified: datetime

    @property
    def location(self) -> Location:
        """As rows have it."""
        return Location(f"blob:{self.tenant}/{self.workspace}/{self.name}")

    @property
    def ours(self) -> bool:
        """Whether only the product writes here, and what it keeps; half files are looked at elsewhere."""
        parts = self.name.split("/")
        return not self.name.endswith(".part") and (len(parts) == 1 or parts[0] in _OURS)


class BlobListing(Protocol):
    """Port to all that lies in a store."""

    def blobs(self) -> Iterator[StoredBlob]:
        """By tenant and workspace; parts of uploads are left out."""


class FolderListing:
    """A folder of blobs."""

    def __init__(self, root: Path) -> None:
        """Nothing is read yet."""
        self._root = root

    def blobs(self) -> Iterator[StoredBlob]:
        """One folder after the other."""
        for place in sorted(self._root.glob("*/*")):
            tenant, workspace = place.relative_to(self._root).parts
            if not (_is_uuid(tenant) and _is_uuid(workspace)):
                continue
            for name, written in _files_below(place, ""):
                yield StoredBlob(tenant, workspace, name, datetime.fromtimestamp(written, UTC))


class BucketListing:
    """A bucket of blobs."""

    def __init__(self, bucket: Bucket) -> None:
        """Nothing is asked yet."""
        self._bucket = bucket

    def blobs(self) -> Iterator[StoredBlob]:
        """One workspace after the other."""
        tenants = [one for one in self._bucket.folders() if one.split("/")[0] != PARTS]
        for place in (one for tenant in tenants for one in self._bucket.folders(tenant)):
            tenant, workspace = place.strip("/").split("/")[-2:]
            if _is_uuid(tenant) and _is_uuid(workspace):
                for one in self._bucket.below(place):
                    yield StoredBlob(tenant, workspace, one.key.split("/", 2)[2], one.modified)


@dataclass(slots=True)
class _Foreign:
    """Files of tenants that nobody here knows."""

    count: int = 0
    names: list[str] = field(default_factory=list)

    def add(self, blobs: Sequence[StoredBlob]) -> None:
        self.count += len(blobs)
        self.names += [str(one.location) for one in blobs[: max(EXAMPLES - len(self.names), 0)]]

    def finding(self, family: Family) -> IntegrityFinding:
        what = "uploaded bytes of tenants that are unknown here"
        examples = some(self.names)
        return IntegrityFinding(
            family, "blob_of_unknown_tenant", what, "blobs", self.count, examples, False, fix=_WHOSE
        )


@dataclass(frozen=True, slots=True)
class UnknownBlobs:
    """Files that no row knows, older than an upload may pause; of a workspace that is gone, all.

    Those of a tenant that nobody here knows are only told: this may be another database than the one that has them, or
    a bucket that two instances share.
    """

    listing: BlobListing
    store: BlobStore
    before: datetime
    family: Family = Family.BLOBS
    name: str = "blob_of_nobody"

    async def examine(self, work: Examination) -> Sequence[IntegrityFinding]:
        """Some hundred names at a time."""
        empty = IntegrityFinding(self.family, self.name, "uploaded bytes that no row knows", "blobs", 0, (), True)
        count, mended, busy, names, foreign = 0, 0, 0, list[str](), _Foreign()
        walk = self.listing.blobs()
        while batch := await asyncio.to_thread(lambda: list(islice(walk, BATCH))):
            old = [one for one in batch if one.modified < self.before]
            for (tenant, workspace), here in groupby(old, key=lambda one: (one.tenant, one.workspace)):
                blobs = list(here)
                if not await work.rows(SQL["tenant"], tenant=tenant):
                    foreign.add(blobs)
                    continue
                unknown = await self._unknown(work, tenant, workspace, blobs)
                count += len(unknown)
                names += [str(one.location) for one in unknown[: max(EXAMPLES - len(names), 0)]]
                if unknown and work.apply:
                    try:
                        mended += await self._remove(work, tenant, workspace, unknown)
                    except LIVE:
                        busy += len(unknown)
        known = replace(empty, count=count, examples=some(names), mended=mended, busy=busy)
        return [one for one in (known, foreign.finding(self.family)) if one.count]

    async def _unknown(
        self, work: Examination, tenant: str, workspace: str, blobs: Sequence[StoredBlob]
    ) -> list[StoredBlob]:
        if not await work.rows(_SQL["workspace"], tenant=tenant, workspace=workspace):
            return list(blobs)
        ours = [one for one in blobs if one.ours]
        locations = [str(one.location) for one in ours]
        used = {
            row["location"] for row in await work.rows(_SQL["blobs_in_use"], workspace=workspace, locations=locations)
        }
        return [one for one in ours if one.location not in used]

    async def _remove(self, work: Examination, tenant: str, workspace: str, blobs: Sequence[StoredBlob]) -> int:
        """Those that are still unknown while nobody writes documents of the workspace."""
        async with work.mending(tenant, workspace):
            unknown = await self._unknown(work, tenant, workspace, blobs)
            if unknown:
                await work.record(self.name, "blobs", {"blobs": [one.location for one in unknown]})
            for one in unknown:
                await asyncio.to_thread(self.store.delete, one.location)
        return len(unknown)


@dataclass(frozen=True, slots=True)
class LostBlobs:
    """Versions whose file is missing or has another size; with `hashes` also whose bytes are others.

    Attributes:
        every_hash: read all files; else some, others on another day, as versions have hashes for ids.
    """

    store: BlobStore
    every_hash: bool
    family: Family = Family.BLOBS
    name: str = "row_without_blob"

    async def examine(self, work: Examination) -> Sequence[IntegrityFinding]:
        """Told alone: no other copy is known here."""
        wrong: dict[str, list[str]] = {"missing": [], "size": [], "hash": []}
        counts = dict.fromkeys(wrong, 0)
        start = f"{work.now.toordinal() % 256:02x}"
        sample = () if self.every_hash else await work.rows(_SQL["sampled"], start=start, most=HASHED)
        sampled, seen = {row["id"] for row in sample}, 0
        after: str | None = ""
        while rows := await work.rows(_SQL["stored"], after=after, most=BATCH):
            after = rows[-1]["id"]
            for row, what in await self._judge(rows, {row["id"] for row in rows} if self.every_hash else sampled):
                if await self._is_there(work, row):
                    counts[what] += 1
                    wrong[what].append(f"{row['document_id']} at {row['location']}")
                    del wrong[what][EXAMPLES:]
            seen += len(rows)
            if seen % (10 * BATCH) == 0:
                work.tell(f"{self.name}: {seen} files were looked at")
        told = {
            "missing": "versions whose uploaded file is missing",
            "size": "versions whose uploaded file has another size",
            "hash": "versions whose uploaded file has other bytes",
        }
        return [
            IntegrityFinding(self.family, self.name, told[what], what, count, some(wrong[what]), False, fix=_AGAIN)
            for what, count in counts.items()
            if count
        ]

    async def _judge(self, rows: Sequence[dict[str, Any]], hashed: set[str]) -> list[tuple[dict[str, Any], str]]:
        turn = asyncio.Semaphore(AT_ONCE)

        async def judge(row: dict[str, Any]) -> str:
            async with turn:
                return await asyncio.to_thread(self._fault, row, row["id"] in hashed)

        found = await asyncio.gather(*map(judge, rows))
        return [(row, what) for row, what in zip(rows, found, strict=True) if what]

    def _fault(self, row: dict[str, Any], hashed: bool) -> str:
        location = Location(row["location"])
        size = self.store.size(location)
        if size is None:
            return "missing"
        if size != row["file_size"]:
            return "size"
        if hashed:
            try:
                with self.store.open_local(location) as path, path.open("rb") as file:
                    if hashlib.file_digest(file, "sha256").hexdigest() != row["file_hash"]:
                        return "hash"
            except FileNotFoundError:
                return "missing"
        return ""

    async def _is_there(self, work: Examination, row: dict[str, Any]) -> bool:
        """Whether the row is: a document that was deleted meanwhile has no file either."""
        return bool(await work.rows(_SQL["still_stored"], ids=[row["id"]], locations=[row["location"]]))


def _files_below(root: Path, inside: str) -> Iterator[tuple[str, float]]:
    """Names below the root, and when each was written; a folder with ten million files is not listed as a whole."""
    folders = []
    try:
        with os.scandir(root / inside) as found:
            for entry in found:
                name = f"{inside}{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    folders.append(f"{name}/")
                    continue
                with suppress(FileNotFoundError):  # somebody deletes it now
                    yield name, entry.stat(follow_symlinks=False).st_mtime
    except FileNotFoundError:
        return
    for folder in folders:
        yield from _files_below(root, folder)


def _is_uuid(text: str) -> bool:
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False
