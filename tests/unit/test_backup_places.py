"""What backups write and read: order of what reaches the disk, forged names, nested places, the catalogue of bytes."""

import gzip
import json
import os
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from cluster.basics.errors import InvalidSettings
from cluster.state.backup.backup_run import settings_text
from cluster.state.backup.blob_catalogue import BlobRecord, blob_object, open_catalogue, read_catalogue
from cluster.state.backup.blob_copies import BlobCopies
from cluster.state.backup.catalog import FORM, BackupManifest, NewerBackup, list_backups, removable, write_manifest
from cluster.state.backup.destination import BackupFailed, DamagedBackup, Destination, destination_of
from cluster.state.backup.erasure_log import erasure_log
from cluster.state.backup.instance_claim import ForeignDestination, claim_database, claim_destination
from cluster.state.backup.log_segments import LogSpool, fetch_log
from cluster.state.backup.pruning import prune_backups
from cluster.state.backup.verification import verify_destination
from cluster.state.backup.wrapped_files import read_passphrase, unwrap_files, wrap_files
from cluster.state.objects.migration import FolderSide, KeyLeadsOut
from configs.keys import setting_keys
from configs.sections import Settings
from configs.settings import load_settings

SEGMENT = "0000000100000000000000{:02X}"
AT = "2026-01-01T00:00:00+00:00"


def place_of(folder: Path) -> Destination:
    folder.mkdir(exist_ok=True)
    return Destination.of(str(folder), load_settings({}).blobs)


def settings_of(tmp_path: Path, **more: str) -> Settings:
    (tmp_path / "to").mkdir(exist_ok=True)
    given = {"AOS_STATE_DIR": str(tmp_path / "a"), "AOS_BACKUP_URL": str(tmp_path / "to")}
    return load_settings(given | more)


def manifest(id_: str, parent: str | None = None, wal: str = SEGMENT.format(1), at: str = AT) -> BackupManifest:
    return BackupManifest(id_, parent, at, at, wal, {}, 1, 0)


def test_dp_07_a_file_is_on_the_disk_before_its_name_and_the_name_before_it_counts(tmp_path: Path) -> None:
    synced: list[tuple[str, bool]] = []

    def sync(handle: int) -> None:
        path = Path(f"/proc/self/fd/{handle}").readlink()
        synced.append((path.name.split(".")[0], (tmp_path / "to/backups/1/manifest").exists()))

    FolderSide(tmp_path / "to", private=True, sync=sync).put("backups/1/manifest", iter([b"bytes"]))
    folders = [tmp_path.name, "to", "backups"]  # each has got a new folder
    assert synced == [*((name, False) for name in folders), ("manifest", False), ("1", True)]
    assert (tmp_path / "to/backups/1/manifest").stat().st_mode & 0o777 == 0o600
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "to").rglob("*") if path.is_dir()} == {0o700}


@pytest.mark.parametrize("key", ["../out", "a/../../out", "/etc/passwd", "", "a//b", "."])
def test_dp_07_no_key_leads_out_of_a_folder(tmp_path: Path, key: str) -> None:
    side = FolderSide(tmp_path / "to")
    for attempt in (lambda: side.put(key, iter([b"x"])), lambda: next(side.blocks(key)), lambda: side.delete(key)):
        with pytest.raises(KeyLeadsOut):
            attempt()


def test_dp_07_a_manifest_whose_names_would_become_paths_is_none(tmp_path: Path) -> None:
    place = place_of(tmp_path / "to")
    write_manifest(place, manifest("1"))
    forged: list[dict[str, Any]] = [
        {"id": "../../out"},
        {"parent": "../../out"},
        {"wal": "../../out"},
        {"ended": "tomorrow"},
        {"ended": None},
        {"digests": {"../../out": ""}},
        {"more": 1},
    ]
    for number, change in enumerate(forged, 2):
        body = {"id": str(number), "parent": None, "began": AT, "ended": AT, "wal": "", "digests": {}, "size": 1}
        place.put(f"backups/{number}/manifest.json", json.dumps({**body, "blobs": 0, **change}).encode())
    place.put("backups/x/manifest.json", b"[]")
    assert [one.id for one in list_backups(place)] == ["1"]


def test_dp_07_a_manifest_of_a_form_to_come_is_refused_by_the_name_of_its_version(tmp_path: Path) -> None:
    place = place_of(tmp_path / "to")
    body = {"id": "1", "form": FORM + 1, "product": "9.1", "what": "nobody knows"}
    place.put("backups/1/manifest.json", json.dumps(body).encode())
    with pytest.raises(NewerBackup, match=r"9\.1"):
        list_backups(place)


def test_dp_07_where_the_clock_was_put_back_an_increment_counts_and_what_builds_on_nothing_does_not(
    tmp_path: Path,
) -> None:
    place = place_of(tmp_path / "to")
    for one in (manifest("1", "2"), manifest("2", "3"), manifest("3"), manifest("4", "gone"), manifest("5", "4")):
        write_manifest(place, one)
    assert [one.id for one in list_backups(place)] == ["1", "2", "3"]


def test_dp_07_what_prune_looks_at_is_unpacked_nowhere(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    place = place_of(tmp_path / "to")
    for id_ in ("1", "2"):
        place.put(f"backups/{id_}/base.tar.gz", b"could not be unpacked")
        digests = {"base.tar.gz": sha256(b"could not be unpacked").hexdigest()}
        write_manifest(place, replace(manifest(id_), digests=digests))
    assert prune_backups(settings, place, 1, None, datetime.now(UTC)) == ["1"]
    place.put("backups/2/base.tar.gz", b"changed")
    write_manifest(place, manifest("1"))
    with pytest.raises(DamagedBackup, match="nothing was removed"):
        prune_backups(settings, place, 1, None, datetime.now(UTC))


def test_dp_07_bytes_alone_make_no_backup_of_a_database_a_spare_one() -> None:
    backups = [manifest("1"), manifest("2", "1"), manifest("3", wal=""), manifest("4", wal="")]
    assert [one.id for one in removable(backups, 1, None, datetime.now(UTC))] == ["3"]


def test_dp_07_a_segment_that_is_full_while_the_others_go_goes_with_them(tmp_path: Path) -> None:
    spool, first, second = tmp_path / "spool", SEGMENT.format(1), SEGMENT.format(2)
    spool.mkdir()
    (spool / first).write_bytes(b"one")
    (spool / f"{second}.partial").write_bytes(b"two")

    class Slow(FolderSide):
        def put(self, key: str, blocks: Any) -> None:
            super().put(key, blocks)
            if first in key:
                (spool / f"{second}.partial").rename(spool / second)
                (spool / f"{SEGMENT.format(3)}.partial").write_bytes(b"three")

    place = Destination(Slow(tmp_path / "to"), "to")
    LogSpool(spool, place).ship()
    assert gzip.decompress(place.read(f"wal/{second}.gz")) == b"two"


def test_dp_07_what_is_written_within_one_tick_of_the_clock_goes_too(tmp_path: Path) -> None:
    spool, name = tmp_path / "spool", f"{SEGMENT.format(1)}.partial"
    spool.mkdir()
    place, path = place_of(tmp_path / "to"), spool / name
    path.write_bytes(b"one")
    stamp = path.stat().st_mtime_ns
    shipped = LogSpool(spool, place)
    shipped.ship()
    path.write_bytes(b"two")
    os.utime(path, ns=(stamp, stamp))
    shipped.ship()
    assert gzip.decompress(place.read(f"wal/{name}.gz")) == b"two"


def test_dp_07_only_names_of_segments_are_fetched(tmp_path: Path) -> None:
    place = place_of(tmp_path / "to")
    for name in (SEGMENT.format(1), f"{SEGMENT.format(2)}.partial", "00000002.history", "000000notasegment", "x/y"):
        place.put(f"wal/{name}.gz", gzip.compress(b"bytes"))
    assert fetch_log(place, SEGMENT.format(1), tmp_path / "log") == (3, "")
    assert {path.name for path in (tmp_path / "log").iterdir()} == {
        SEGMENT.format(1),
        SEGMENT.format(2),
        "00000002.history",
    }


def test_dp_07_bytes_of_a_segment_that_were_changed_are_named(tmp_path: Path) -> None:
    place = place_of(tmp_path / "to")
    packed = bytearray(gzip.compress(bytes(range(256)) * 4096, 1))
    packed[len(packed) // 2] ^= 0xFF
    place.put(f"wal/{SEGMENT.format(1)}.gz", bytes(packed))
    assert [fault for fault in verify_destination(place) if SEGMENT.format(1) in fault]
    with pytest.raises(BackupFailed, match="cannot be read"):
        fetch_log(place, SEGMENT.format(1), tmp_path / "log")


@pytest.mark.parametrize("url", ["{}/a/backups", "{}/a", "{}", "{}/link"])
def test_dp_07_a_place_and_the_state_lie_apart(tmp_path: Path, url: str) -> None:
    settings = settings_of(tmp_path)
    (tmp_path / "a" / "backups").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "a" / "backups")
    with pytest.raises(BackupFailed, match="lie one in the other"):
        destination_of(settings, url.format(tmp_path))
    destination_of(settings, None)


@pytest.mark.parametrize(
    ("blobs", "wrong"), [("s3://one/aos", True), ("s3://one", True), ("s3://one/aos/to/x", True), ("s3://one/b", False)]
)
def test_dp_07_a_bucket_of_bytes_and_one_of_backups_lie_apart(tmp_path: Path, blobs: str, wrong: bool) -> None:
    settings = settings_of(tmp_path, AOS_BLOBS_URL=blobs)
    if wrong:
        with pytest.raises(BackupFailed, match="lie one in the other"):
            destination_of(settings, "s3://one/aos/to")
    else:
        destination_of(settings, "s3://one/aos/to")


def test_dp_07_a_database_that_was_made_anew_takes_a_place_of_its_own(tmp_path: Path) -> None:
    place = place_of(tmp_path / "to")
    claim_destination(settings_of(tmp_path), place)
    for _ in range(2):
        claim_database(place, "1")
    with pytest.raises(ForeignDestination, match="another database"):
        claim_database(place, "2")
    claim_destination(settings_of(tmp_path), place)


def test_dp_07_a_damaged_erasure_is_told_and_not_left_out(tmp_path: Path) -> None:
    place = place_of(tmp_path / "to")
    place.put("erasures/1.json", b'{"receipt": {"id"')
    with pytest.raises(DamagedBackup, match=r"erasures/1\.json"):
        erasure_log(place)
    assert [fault for fault in verify_destination(place) if "erasures/1.json" in fault]


def test_dp_07_no_console_sends_a_copy_of_everything_elsewhere() -> None:
    assert all(one.fixed for name, one in setting_keys().items() if name.startswith("backup."))


def test_dp_07_settings_go_without_secrets(tmp_path: Path) -> None:
    given = {"LLM_API_KEY": "sk-of-nobody", "DATABASE_URL": "postgresql://u:hidden@h/d", "AOS_BLOBS_SECRET_KEY": "hush"}
    text = settings_text(settings_of(tmp_path, **given)).decode()
    assert not [word for word in ("sk-of-nobody", "hidden", "hush") if word in text]
    assert json.loads(text)["backup"]["every_hours"] == 24


def test_dp_07_a_passphrase_is_its_owners_alone_and_seals_the_file_of_settings(tmp_path: Path) -> None:
    for name, text in (("pass", "a long passphrase"), ("vault-key", "the key"), (".env", "LLM_API_KEY=sk-of-nobody")):
        (tmp_path / name).write_text(text)
    (tmp_path / "pass").chmod(0o644)
    with pytest.raises(InvalidSettings, match="open to others"):
        read_passphrase(tmp_path / "pass")
    (tmp_path / "pass").chmod(0o600)
    passphrase = read_passphrase(tmp_path / "pass") or b""
    sealed = wrap_files(tmp_path, passphrase, tmp_path / ".env")
    assert b"nobody" not in sealed
    assert unwrap_files(sealed, passphrase) == {"vault-key": "the key", "restored.env": "LLM_API_KEY=sk-of-nobody"}
    with pytest.raises(InvalidSettings, match="does not open"):
        unwrap_files(sealed, b"another")
    with pytest.raises(DamagedBackup):
        unwrap_files(b"cut off", passphrase)


def put_blob(settings: Settings, name: str, text: str | None = None) -> Path:
    path = settings.state_dir / "blobs" / "t" / "w" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text or f"bytes of {name}")
    return path


def test_dp_07_a_pass_writes_what_is_new_and_a_place_that_is_read_anew_says_the_same(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    place = place_of(tmp_path / "to")
    claim_destination(settings, place)
    copies = BlobCopies(settings, place)
    gone = put_blob(settings, "one")
    put_blob(settings, "two", "the same")
    put_blob(settings, "three", "the same")
    assert copies.copy_all() == (3, 3) and copies.copy_all() == (3, 0)
    assert len(place.keys("blob-index")) == 1 and len(place.keys("blobs")) == 2
    put_blob(settings, "four")
    gone.unlink()
    assert copies.copy_all() == (3, 1)
    with open_catalogue(settings, place) as catalogue:
        known = list(catalogue.records())
    assert [one.key for one in known if one.gone] == ["t/w/one"] and len(known) == 4
    with read_catalogue(place) as catalogue:
        assert list(catalogue.records()) == known
    for table in settings.state_dir.glob("*.sqlite"):
        table.unlink()  # as on a disk that was lost
    assert copies.copy_all() == (3, 0)


def test_dp_07_what_the_place_has_lost_is_copied_again_with_a_full_backup(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    place = place_of(tmp_path / "to")
    claim_destination(settings, place)
    put_blob(settings, "one")
    copies = BlobCopies(settings, place)
    copies.copy_all()
    (key,) = place.keys("blobs")
    place.side.delete(key)
    assert copies.copy_all() == (1, 0)
    assert copies.copy_all(heal=True) == (1, 1) and place.keys("blobs") == [key]


def test_dp_07_a_forged_list_of_bytes_names_no_file_of_this_machine(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    place = place_of(tmp_path / "to")
    claim_destination(settings, place)
    line = json.dumps(["t/w/one", "../../../etc/passwd", 1, None])
    place.put("blob-index/1.json.gz", gzip.compress(f"{line}\n".encode()))
    with pytest.raises(DamagedBackup, match="no hash"), read_catalogue(place):
        pass


def test_dp_07_a_key_that_is_forgotten_stays_so_for_whoever_reads_anew(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    place = place_of(tmp_path / "to")
    claim_destination(settings, place)
    put_blob(settings, "one")
    BlobCopies(settings, place).copy_all()
    with open_catalogue(settings, place) as catalogue:
        digest = next(catalogue.records()).digest
        catalogue.add([BlobRecord("t/w/one", "", 0)])
        assert catalogue.names_of(digest) == 0
    with read_catalogue(place) as catalogue:
        assert list(catalogue.records()) == []
    assert place.keys("blobs") == [blob_object(digest)]
