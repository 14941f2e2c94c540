"""The place that backups go to: a folder or a bucket, with small objects read whole."""

import json
from pathlib import Path
from typing import Any

from cluster.basics.errors import Permanent, Unavailable
from cluster.state.objects.bucket import BLOCK, Bucket
from cluster.state.objects.migration import BucketSide, FolderSide, ObjectSide
from configs.sections import Settings
from configs.sections_blobs import BlobSettings


class BackupFailed(Unavailable):
    """The backup could not be made."""

    code = "backup_failed"
    fix = "See to what it says, and run it again: nothing half counts as a backup."


class DamagedBackup(Permanent):
    """The backup is damaged."""

    code = "damaged_backup"
    fix = "Take an earlier one (`aos backup list`), and make a full one anew."


class Destination:
    """Objects by key; a disk that is full or a folder that is gone is BackupFailed."""

    def __init__(self, side: ObjectSide, name: str) -> None:
        """`name`: as people gave it."""
        self.side, self.name = side, name

    @classmethod
    def of(cls, url: str, blobs: BlobSettings, make: bool = False) -> "Destination":
        """Of a folder or `s3://…`. A folder has to be there, unless `make`: a disk that is not mounted is no backup.

        Raises BackupFailed.
        """
        if url.startswith("s3://"):
            settings = BlobSettings.model_validate({**blobs.model_dump(), "url": url})
            return cls(BucketSide(Bucket.of(settings)), url)
        folder = Path(url).absolute()
        if make and folder.parent.is_dir():
            folder.mkdir(mode=0o700, exist_ok=True)
        if not folder.is_dir():
            raise BackupFailed(f"there is no folder {folder}", fix="Make it, or mount its disk.")
        return cls(FolderSide(folder, private=True), url)

    def keys(self, folder: str) -> list[str]:
        """What is below a folder, in order."""
        return sorted(key for key, _ in self.side.objects(folder))

    def put(self, key: str, data: bytes) -> None:
        """Write one whole."""
        self.put_file(key, None, data)

    def put_file(self, key: str, path: Path | None, data: bytes = b"") -> None:
        """Write a file's bytes, or these."""
        try:
            if path is None:
                self.side.put(key, iter([data]))
                return
            with path.open("rb") as file:
                self.side.put(key, iter(lambda: file.read(BLOCK), b""))
        except OSError as error:
            raise BackupFailed(f"{self.name}: {error.strerror or error}", fix="See to its room and rights.") from error

    def read(self, key: str) -> bytes:
        """All of it. Raises FileNotFoundError."""
        return b"".join(self.side.blocks(key))

    def fetch(self, key: str, target: Path) -> None:
        """Into a file. Raises FileNotFoundError."""
        with target.open("wb") as file:
            file.writelines(self.side.blocks(key))

    def read_json(self, key: str) -> Any:
        """A document; None where there is none, or what is there is none."""
        try:
            return json.loads(self.read(key))
        except (FileNotFoundError, ValueError):
            return None


def destination_of(settings: Settings, url: str | None, make: bool = False) -> Destination:
    """The one that is named, else the configured one. Raises BackupFailed."""
    wanted = url or settings.backup.url
    if wanted is None:
        raise BackupFailed("no destination is configured", fix="Set AOS_BACKUP_URL, or give --to.")
    require_apart(settings, wanted)
    return Destination.of(wanted, settings.blobs, make)


def require_apart(settings: Settings, url: str) -> None:
    """Raises BackupFailed where one lies in the other: a backup would hold itself, and go with what it is of."""
    if url.startswith("s3://"):
        one, other = _names_in_bucket(url), _names_in_bucket(settings.blobs.url or "")
        shortest = min(len(one), len(other))
        nested, what = shortest > 0 and one[:shortest] == other[:shortest], "the bytes of documents"
    else:
        place, state = Path(url).resolve(), settings.state_dir.resolve()
        nested, what = place.is_relative_to(state) or state.is_relative_to(place), f"the state directory {state}"
    if nested:
        raise BackupFailed(f"{url} and {what} lie one in the other", fix="Name a place of its own.")


def _names_in_bucket(url: str) -> list[str]:
    return [name for name in url.removeprefix("s3://").split("/") if name]
