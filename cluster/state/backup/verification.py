"""Everything of a destination looked at: manifests, hashes, bases by pg_verifybackup, and the log without a gap."""

import gzip
import tarfile
import zlib
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from cluster.state.backup.backup_run import run_tool
from cluster.state.backup.blob_catalogue import blob_object, read_catalogue
from cluster.state.backup.blob_copies import checked_blocks
from cluster.state.backup.catalog import BackupManifest, list_backups
from cluster.state.backup.destination import BackupFailed, DamagedBackup, Destination
from cluster.state.backup.erasure_log import erased_files
from cluster.state.backup.log_segments import HISTORY, logged, segment_number
from cluster.state.db.embedded import postgres_programs

SEGMENT = 16 << 20


def verify_destination(place: Destination, *, unpack: bool = True) -> list[str]:
    """What is wrong, a line for each; none where all is well. Raises NewerBackup.

    Without `unpack` bases are held to their hashes alone, which takes no room: pg_verifybackup had seen them before.
    """
    backups = list_backups(place)
    found = [] if backups else ["there is no backup"]
    for backup in backups:
        found += hash_faults(place, backup) or (_base_faults(place, backup) if unpack else [])
    try:
        found += _blob_faults(place)
    except BackupFailed:  # a full backup that ended meanwhile has put its own catalogue in the place of this one
        try:
            found += _blob_faults(place)
        except BackupFailed as error:
            found.append(str(error))
    return found + list(_log_faults(place))


def _blob_faults(place: Destination) -> list[str]:
    found = list[str]()
    try:
        erased = {name.removeprefix("blob:") for name in erased_files(place)}  # they go with the next `prune`
        with read_catalogue(place) as catalogue:
            for one in catalogue.records():
                if one.key not in erased:
                    found += _object_faults(place, blob_object(one.digest), one.digest, f"blob {one.key}")
    except DamagedBackup as error:
        found.append(str(error))
    return found


def hash_faults(place: Destination, one: BackupManifest) -> list[str]:
    """What is no more as it was written, after pg_verifybackup had seen it; takes no room."""
    found = []
    for name, digest in one.digests.items():
        found += _object_faults(place, f"backups/{one.id}/{name}", digest, f"backup {one.id}")
    return found


def _base_faults(place: Destination, one: BackupManifest) -> list[str]:
    if not one.wal:
        return []
    with TemporaryDirectory(prefix="aos-verify-") as folder:
        try:
            unpack_base(place, one, Path(folder) / "data")
            run_tool([f"{postgres_programs()}/pg_verifybackup", "-q", f"{folder}/data"])
        except (BackupFailed, DamagedBackup) as error:
            return [f"backup {one.id}: {error}"]
    return []


def _object_faults(place: Destination, key: str, digest: str, what: str) -> list[str]:
    seen = sha256()
    try:
        for block in place.side.blocks(key):
            seen.update(block)
    except FileNotFoundError:
        return [f"{what}: {key} is missing"]
    except OSError as error:  # of a disk that is going: the rest is looked at all the same
        return [f"{what}: {key} cannot be read: {error.strerror or error}"]
    return [] if seen.hexdigest() == digest else [f"{what}: {key} is not what was written"]


def _log_faults(place: Destination) -> Iterator[str]:
    before = ""
    for name, key in logged(place).items():
        if name.endswith(HISTORY):
            continue
        try:
            size = len(gzip.decompress(place.read(key)))
        except (OSError, EOFError, zlib.error) as error:
            yield f"log: {key} cannot be read: {error}"
            continue
        finally:
            if before and name[:8] == before[:8] and segment_number(name) > segment_number(before) + 1:
                yield f"log: segments between {before} and {name} are missing"
            before = name
        if size != SEGMENT:
            yield f"log: {key} has {size:,} bytes"


def unpack_base(place: Destination, one: BackupManifest, target: Path) -> None:
    """A backup's data folder. Raises BackupFailed, DamagedBackup."""
    packed = target.with_suffix(".tar.gz")
    target.mkdir(mode=0o700, parents=True)
    try:
        with packed.open("wb") as file:
            key = f"backups/{one.id}/base.tar.gz"
            file.writelines(checked_blocks(place.side.blocks(key), one.digests["base.tar.gz"], key))
        with tarfile.open(packed, "r:gz") as tar:
            tar.extractall(target, filter="data")
    except (OSError, EOFError, KeyError, zlib.error, tarfile.TarError) as error:
        raise BackupFailed(f"backup {one.id} cannot be unpacked: {error}") from error
    finally:
        packed.unlink(missing_ok=True)
