"""Old backups removed, with the log and the bytes that only they needed."""

from datetime import UTC, datetime

from cluster.state.backup.blob_catalogue import BlobRecord, blob_object, catalogue_lock, open_catalogue
from cluster.state.backup.catalog import BackupManifest, chain_of, list_backups, removable
from cluster.state.backup.destination import DamagedBackup, Destination
from cluster.state.backup.erasure_log import erased_files
from cluster.state.backup.instance_claim import claim_destination
from cluster.state.backup.log_segments import HISTORY, logged
from cluster.state.backup.verification import hash_faults
from cluster.state.db.daemon import file_lock, make_private
from configs.sections import Settings


def prune_backups(
    settings: Settings,
    place: Destination,
    keep_full: int | None,
    keep_days: float | None,
    now: datetime,
    *,
    dry_run: bool = False,
) -> list[str]:
    """Ids of what went. The manifest goes first, so that what is cut off half-way is no backup any more.

    Raises DamagedBackup: the newest one is not whole, so an older one may be the last that is; nothing went.
    ForeignDestination, BackupFailed.
    """
    make_private(settings.state_dir)
    with file_lock(settings.state_dir / "backup.lock"):
        backups = list_backups(place)
        gone = removable(backups, keep_full, keep_days, now)
        ids = [one.id for one in gone]
        if dry_run:
            return ids
        claim_destination(settings, place)
        newest = chain_of(backups, backups[-1]) if gone else []
        # By hashes alone: it runs on schedule beside the database, and what is unpacked could fill its disk.
        if faults := [fault for one in newest for fault in hash_faults(place, one)]:
            raise DamagedBackup(f"nothing was removed: {faults[0]}", fix="`aos backup run --full`, then prune again.")
        kept = [one for one in backups if one.id not in ids]
        for id_ in reversed(ids):
            place.side.delete(f"backups/{id_}/manifest.json")
            for key in place.keys(f"backups/{id_}"):
                place.side.delete(key)
        if first := min((one.wal[8:] for one in kept if one.wal), default=""):
            for name, key in logged(place).items():
                if not name.endswith(HISTORY) and name[8:] < first:
                    place.side.delete(key)
        _prune_blobs(settings, place, kept)
        return ids


def _prune_blobs(settings: Settings, place: Destination, kept: list[BackupManifest]) -> None:
    """What was gone before the oldest kept backup: no moment that can be restored has it. And what was erased."""
    oldest = min((one.began for one in kept), default=datetime.min.replace(tzinfo=UTC).isoformat())
    erased = [name.removeprefix("blob:") for name in erased_files(place)]
    with open_catalogue(settings, place) as catalogue, catalogue_lock(settings):
        going = {one.key: one for one in catalogue.gone_before(oldest)}
        going |= {key: known for key in erased if (known := catalogue.get(key)) is not None}
        catalogue.add(BlobRecord(one.key, "", 0) for one in going.values())  # from now on nobody looks for them
        for digest in sorted({one.digest for one in going.values()}):
            if catalogue.names_of(digest) == 0:
                place.side.delete(blob_object(digest))
