"""Bytes of documents on their way to a destination, by content hash: each once.

A round asks Postgres what jobs and new documents name, which costs as much as is new; a backup lists every file. Bytes
that come without a job, as with an imported workspace, come with the next backup.
"""

import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, Final

import psycopg

from cluster.state.backup.blob_catalogue import BlobCatalogue, BlobRecord, blob_object, catalogue_lock, open_catalogue
from cluster.state.backup.destination import BackupFailed, DamagedBackup, Destination
from cluster.state.db.postgres import load_queries
from cluster.state.objects.bucket import Bucket
from cluster.state.objects.migration import BucketSide, FolderSide, ObjectSide, is_under_way
from configs.sections import Settings

AT_ONCE: Final = 8  # each waits for the disk or the network most of the time
BATCH: Final = 64  # so many at most are copied again after a kill
OVERLAP: Final = timedelta(minutes=10)  # a transaction may be open for so long after the moment that it writes down
QUERIES: Final = load_queries(Path(__file__).with_name("arrivals.sql"))


def blob_side(settings: Settings) -> ObjectSide:
    """Where this instance keeps its bytes."""
    if settings.blobs.url is not None:
        return BucketSide(Bucket.of(settings.blobs))
    return FolderSide(settings.state_dir / "blobs")


def checked_blocks(blocks: Iterator[bytes], digest: str, what: str) -> Iterator[bytes]:
    """The blocks; DamagedBackup at their end where they are not what the hash says, so that no writer keeps them."""
    seen = sha256()
    for block in blocks:
        seen.update(block)
        yield block
    if seen.hexdigest() != digest:
        raise DamagedBackup(f"{what} is not what was written")


class BlobCopies:
    """Copies what the destination does not have. A pass that is stopped half-way goes on from there the next time."""

    def __init__(self, settings: Settings, place: Destination, stop: threading.Event | None = None) -> None:
        """`stop` ends a pass after the files that are on their way."""
        self._settings, self._place, self._stop = settings, place, stop
        self._source = blob_side(settings)

    def copy_all(self, *, heal: bool = False) -> tuple[int, int]:
        """Look at every file; how many there are, and how many came. `heal`: also at what the destination has.

        Before and after the snapshot of the database: what it names was written before its row, so one of both passes
        sees it. What is gone stays in the destination as long as a kept backup is older, for its rows may name it.
        """
        with open_catalogue(self._settings, self._place) as catalogue:
            if heal:
                catalogue.drop_unstored()
            came = 0
            catalogue.begin_listing()
            files = (one for one in self._source.objects() if not is_under_way(one[0]))
            while batch := list(islice(files, 16 * BATCH)):
                with catalogue_lock(self._settings):  # not for all of it: a round in between is no minute late
                    came += self._copy(catalogue, batch)
                catalogue.see(key for key, _ in batch)
            moment = datetime.now(UTC).isoformat()
            gone = (BlobRecord(one.key, one.digest, one.size, moment) for one in catalogue.unseen())
            with catalogue_lock(self._settings):
                catalogue.add(one for one in gone if self._source.size(one.key) is None)
            return catalogue.count(), came

    def copy_arrived(self, db: psycopg.Connection[Any]) -> int:
        """Look at what rows name since the last time, at every file where there was none; how many came."""
        row = db.execute(QUERIES["moment"].encode()).fetchone()
        moment, has_jobs = (datetime.now(UTC), False) if row is None else row
        with open_catalogue(self._settings, self._place) as catalogue:
            since = catalogue.fact("until")
            if has_jobs and since:
                named = {"since": datetime.fromisoformat(since) - OVERLAP}
                found = db.execute(QUERIES["arrived"].encode(), named)
                keys = (str(location).removeprefix("blob:") for (location,) in found)
                sizes = ((key, self._size_of_new(catalogue, key)) for key in keys)
                with catalogue_lock(self._settings):
                    came = self._copy(catalogue, ((key, size) for key, size in sizes if size is not None))
                catalogue.note("until", moment.isoformat())
                return came
        _, came = self.copy_all()
        with open_catalogue(self._settings, self._place) as catalogue:
            catalogue.note("until", moment.isoformat())
        return came

    def _size_of_new(self, catalogue: BlobCatalogue, key: str) -> int | None:
        known = catalogue.get(key)
        return None if known is not None and known.gone is None else self._source.size(key)

    def _copy(self, catalogue: BlobCatalogue, files: Iterable[tuple[str, int]]) -> int:
        came, new = 0, (one for one in files if not _is_known(catalogue.get(one[0]), one[1]))
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="blobs") as threads:
            while batch := list(islice(new, BATCH)):
                if self._stop is not None and self._stop.is_set():
                    raise BackupFailed("it was asked to stop")
                done = [one for one in threads.map(self._copy_one, batch) if one is not None]
                catalogue.add(done)
                came += len(done)
        return came

    def _copy_one(self, file: tuple[str, int]) -> BlobRecord | None:
        key, size = file
        try:
            digest = sha256()
            for block in self._source.blocks(key):
                digest.update(block)
            target = blob_object(digest.hexdigest())
            if self._place.side.size(target) != size:
                self._place.side.put(target, checked_blocks(self._source.blocks(key), digest.hexdigest(), key))
        except FileNotFoundError:
            return None  # removed meanwhile: no row names it any more
        except OSError as error:
            raise BackupFailed(f"{self._place.name}: {error.strerror or error}") from error
        return BlobRecord(key, digest.hexdigest(), size)


def _is_known(known: BlobRecord | None, size: int) -> bool:
    return known is not None and known.gone is None and known.size == size
