"""Everything of a destination looked at: manifests, hashes, bases by pg_verifybackup, and the log without a gap."""

import gzip
import tarfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from cluster.state.backup.backup_run import run_tool
from cluster.state.backup.blob_copies import INDEX, blob_object, read_index
from cluster.state.backup.catalog import BackupManifest, list_backups
from cluster.state.backup.destination import BackupFailed, Destination
from cluster.state.backup.erasure_log import erased_files
from cluster.state.backup.log_shipping import PARTIAL, segment_number
from cluster.state.db.embedded import postgres_programs

SEGMENT = 16 << 20


def verify_destination(place: Destination) -> list[str]:
    """What is wrong, a line for each; none where all is well."""
    backups = list_backups(place)
    found = [] if backups else ["there is no backup"]
    wanted: dict[str, tuple[str, int]] = {}
    for one in backups:
        found += _faults(place, one)
    for key in [INDEX, *(f"backups/{one.id}/{INDEX}" for one in backups)]:
        try:
            wanted |= {digest: (name, size) for name, (digest, size) in read_index(place, key).items()}
        except BackupFailed as error:
            found.append(str(error))
    erased = {name.removeprefix("blob:") for name in erased_files(place)}  # they go with the next `prune`
    for digest, (name, _) in sorted(wanted.items()):
        if name in erased:
            continue
        found += _hash_faults(place, blob_object(digest), digest, f"blob {name}")
    return found + list(_log_faults(place, backups))


def _faults(place: Destination, one: BackupManifest) -> list[str]:
    found = []
    for name, digest in one.digests.items():
        found += _hash_faults(place, f"backups/{one.id}/{name}", digest, f"backup {one.id}")
    if one.wal and not found:
        with TemporaryDirectory(prefix="aos-verify-") as folder:
            unpack_base(place, one, Path(folder) / "data")
            try:
                run_tool([f"{postgres_programs()}/pg_verifybackup", "-q", f"{folder}/data"])
            except BackupFailed as error:
                found.append(f"backup {one.id}: {error}")
    return found


def _hash_faults(place: Destination, key: str, digest: str, what: str) -> list[str]:
    seen = sha256()
    try:
        for block in place.side.blocks(key):
            seen.update(block)
    except FileNotFoundError:
        return [f"{what}: {key} is missing"]
    return [] if seen.hexdigest() == digest else [f"{what}: {key} is not what was written"]


def _log_faults(place: Destination, backups: list[BackupManifest]) -> Iterator[str]:
    names = sorted(key for key, _ in place.side.objects() if key.startswith("wal/0") and key.endswith(".gz"))
    before = ""
    for key in names:
        name = key.removeprefix("wal/").removesuffix(".gz")
        if name.endswith(".history"):
            continue
        try:
            size = len(gzip.decompress(place.read(key)))
        except (OSError, EOFError) as error:
            yield f"log: {key} cannot be read: {error}"
            continue
        finally:
            plain = name.removesuffix(PARTIAL)
            if before and plain[:8] == before[:8] and segment_number(plain) > segment_number(before) + 1:
                yield f"log: segments between {before} and {plain} are missing"
            before = plain
        if size != SEGMENT:
            yield f"log: {key} has {size:,} bytes"


def unpack_base(place: Destination, one: BackupManifest, target: Path) -> None:
    """A backup's data folder. Raises BackupFailed."""
    packed = target.with_suffix(".tar.gz")
    target.mkdir(mode=0o700, parents=True)
    try:
        place.fetch(f"backups/{one.id}/base.tar.gz", packed)
        with tarfile.open(packed, "r:gz") as tar:
            tar.extractall(target, filter="data")
    except (OSError, EOFError, tarfile.TarError) as error:
        raise BackupFailed(f"backup {one.id} cannot be unpacked: {error}") from error
    finally:
        packed.unlink(missing_ok=True)
