"""A local table of what a destination lists of the blob store: the content of each key, and what is gone.

The destination has it whole with each full backup, and what came since in small pieces: a round writes a piece of what
is new and reads nothing. Whoever has no table of a place reads both.
"""

import gzip
import json
import re
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import file_digest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from uuid import uuid4

from cluster.state.backup.catalog import list_backups
from cluster.state.backup.destination import BackupFailed, DamagedBackup, Destination
from cluster.state.backup.instance_claim import place_id
from cluster.state.db.daemon import file_lock, make_private
from configs.sections import Settings

INDEX: Final = "blob-index.json.gz"  # in the folder of a full backup
PIECES: Final = "blob-index"
DIGEST: Final = re.compile(r"[0-9a-f]{64}")
SCHEMA: Final = """
create table if not exists facts (name text primary key, value text not null);
create table if not exists blobs (
    key text primary key, digest text not null, size integer not null, gone text
) without rowid;
create index if not exists blobs_by_digest on blobs (digest);
"""


@dataclass(frozen=True, slots=True)
class BlobRecord:
    """What a key holds, or held.

    Attributes:
        digest: SHA-256 of its bytes; empty where the key is to be forgotten, for the destination has it no more.
        gone: an ISO moment at which it was seen to be gone; None of what is there.
    """

    key: str
    digest: str
    size: int
    gone: str | None = None


def blob_object(digest: str) -> str:
    """The key in the destination."""
    return f"blobs/{digest[:2]}/{digest}"


class BlobCatalogue:
    """One open table of it."""

    def __init__(self, table: sqlite3.Connection, place: Destination) -> None:
        """`table` has the schema."""
        self._table, self._place = table, place

    def fact(self, name: str) -> str:
        """Empty where it is not known."""
        row = self._table.execute("select value from facts where name = ?", [name]).fetchone()
        return "" if row is None else str(row[0])

    def note(self, name: str, value: str) -> None:
        """Remember a fact."""
        self._table.execute("insert or replace into facts values (?, ?)", [name, value])
        self._table.commit()

    def get(self, key: str) -> BlobRecord | None:
        """None of what is not known."""
        row = self._table.execute("select * from blobs where key = ?", [key]).fetchone()
        return None if row is None else BlobRecord(*row)

    def records(self, *, there: bool = False) -> Iterator[BlobRecord]:
        """In order of their keys. `there`: without what is gone."""
        which = "where gone is null" if there else ""
        for row in self._table.execute(f"select * from blobs {which} order by key"):
            yield BlobRecord(*row)

    def gone_before(self, moment: str) -> list[BlobRecord]:
        """What was gone at a moment."""
        rows = self._table.execute("select * from blobs where gone < ? order by key", [moment])
        return [BlobRecord(*row) for row in rows]

    def count(self) -> int:
        """What is there."""
        return int(self._table.execute("select count(*) from blobs where gone is null").fetchone()[0])

    def names_of(self, digest: str) -> int:
        """How many keys hold it or held it."""
        return int(self._table.execute("select count(*) from blobs where digest = ?", [digest]).fetchone()[0])

    def add(self, records: Iterable[BlobRecord]) -> None:
        """Into the destination, and then here."""
        lines = list(records)
        if lines:
            name = f"{PIECES}/{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}-{uuid4().hex[:6]}.json.gz"
            self._place.put(name, gzip.compress("".join(map(_line, lines)).encode(), 6, mtime=0))
            self._keep(lines)

    def begin_listing(self) -> None:
        """From now on `see` tells what is there; of millions of keys nothing is held in memory."""
        self._table.execute("create temp table if not exists seen (key text primary key) without rowid")
        self._table.execute("delete from seen")

    def see(self, keys: Iterable[str]) -> None:
        """They are there."""
        self._table.executemany("insert or ignore into seen values (?)", ((key,) for key in keys))
        self._table.commit()

    def unseen(self) -> list[BlobRecord]:
        """What is there by the table, and was not seen."""
        rows = self._table.execute("select * from blobs where gone is null and key not in (select key from seen)")
        return [BlobRecord(*row) for row in rows]

    def drop_unstored(self) -> int:
        """Forget what the destination does not have in its size: it is copied again where it can be. How many keys."""
        self._table.execute("create temp table if not exists stored (digest text primary key, size int) without rowid")
        self._table.execute("delete from stored")
        stored = ((key.rpartition("/")[2], size) for key, size in self._place.side.objects("blobs"))
        self._table.executemany("insert or ignore into stored values (?, ?)", stored)
        done = self._table.execute("delete from blobs where (digest, size) not in (select digest, size from stored)")
        self._table.commit()
        return done.rowcount

    def write_whole(self, key: str) -> str:
        """All of it into the destination; its SHA-256."""
        with TemporaryDirectory(prefix="aos-index-") as folder:
            packed = Path(folder) / INDEX
            with gzip.open(packed, "wt", encoding="utf-8", compresslevel=6) as file:
                file.writelines(_line(one) for one in self.records())
            self._place.put_file(key, packed)
            with packed.open("rb") as written:
                return file_digest(written, "sha256").hexdigest()

    def load(self) -> None:
        """All that the destination lists. Raises DamagedBackup, BackupFailed."""
        self._table.execute("delete from blobs")
        full = [one.id for one in list_backups(self._place) if INDEX in one.digests]
        for key in [*(f"backups/{id_}/{INDEX}" for id_ in full[-1:]), *self._place.keys(PIECES)]:
            self._keep(_read_lines(self._place, key))

    def _keep(self, records: Iterable[BlobRecord]) -> None:
        for one in records:
            if one.digest:
                row = (one.key, one.digest, one.size, one.gone)
                self._table.execute("insert or replace into blobs values (?, ?, ?, ?)", row)
            else:
                self._table.execute("delete from blobs where key = ?", [one.key])
        self._table.commit()


@contextmanager
def open_catalogue(settings: Settings, place: Destination) -> Iterator[BlobCatalogue]:
    """This instance's, of one place; who changes it holds `catalogue_lock`. Raises DamagedBackup, BackupFailed."""
    make_private(settings.state_dir)
    with _table(settings.state_dir / f"backup-blobs-{place_id(place)}.sqlite") as table:
        found = BlobCatalogue(table, place)
        with catalogue_lock(settings):
            if not found.fact("loaded"):
                found.load()
                found.note("loaded", datetime.now(UTC).isoformat())
        yield found


@contextmanager
def read_catalogue(place: Destination, folder: Path | None = None) -> Iterator[BlobCatalogue]:
    """What a place lists, for whoever only reads it."""
    with TemporaryDirectory(prefix="aos-index-", dir=folder) as made, _table(Path(made) / "blobs.sqlite") as table:
        found = BlobCatalogue(table, place)
        found.load()
        yield found


def catalogue_lock(settings: Settings) -> AbstractContextManager[None]:
    """Whoever copies bytes or removes them: nothing is removed that somebody just found to be there."""
    return file_lock(settings.state_dir / "backup-blobs.lock")


@contextmanager
def _table(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, timeout=60)) as table:
        path.chmod(0o600)
        table.executescript(SCHEMA)
        yield table


def _line(one: BlobRecord) -> str:
    return json.dumps([one.key, one.digest, one.size, one.gone]) + "\n"


def _read_lines(place: Destination, key: str) -> Iterator[BlobRecord]:
    with TemporaryDirectory(prefix="aos-index-") as folder:
        packed = Path(folder) / "piece"
        try:
            place.fetch(key, packed)
            with gzip.open(packed, "rt", encoding="utf-8") as file:
                for line in file:
                    name, digest, size, gone = json.loads(line)
                    if digest and not DIGEST.fullmatch(digest):
                        raise DamagedBackup(f"{key} names {digest[:80]!r}, which is no hash")
                    yield BlobRecord(str(name), str(digest), int(size), None if gone is None else str(gone))
        except (OSError, EOFError, ValueError, TypeError, zlib.error) as error:
            raise BackupFailed(f"{key} cannot be read: {error}", fix="`aos backup verify` names all such.") from error
