"""Doctor says whether there is a good backup: yellow without one, with an old one, and where shipping is late."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cluster.doctor_backup import probe_backup
from cluster.state.backup.backup_state import BackupState, note_backup_state, note_verification, read_backup_state
from configs.settings import load_settings


@pytest.mark.parametrize(
    ("ended", "shipped", "colour", "told"),
    [
        (None, None, "yellow", "no good backup yet"),
        (1, 0.001, "green", "last good one"),
        (49, 0.001, "yellow", "49.0 h old"),
        (1, 0.5, "yellow", "shipping is 30 min behind"),
        (1, None, "yellow", "nothing was shipped yet"),
    ],
)
def test_dp_07_a_good_backup_is_younger_than_two_periods(
    tmp_path: Path, ended: float | None, shipped: float | None, colour: str, told: str
) -> None:
    settings = load_settings({"AOS_STATE_DIR": str(tmp_path), "AOS_BACKUP_URL": "/mnt/backup"})
    ages = {"ended": ended, "shipped": shipped}
    now = datetime.now(UTC)
    note_backup_state(
        tmp_path, {name: (now - timedelta(hours=age)).isoformat() for name, age in ages.items() if age is not None}
    )
    (found,) = probe_backup(settings)
    assert found.colour == colour and told in found.detail


def test_dp_07_without_a_destination_doctor_is_yellow(tmp_path: Path) -> None:
    (found,) = probe_backup(load_settings({"AOS_STATE_DIR": str(tmp_path)}))
    assert found.colour == "yellow" and "AOS_BACKUP_URL" in found.fix


def test_dp_07_a_gap_counts_until_the_next_backup(tmp_path: Path) -> None:
    settings = load_settings({"AOS_STATE_DIR": str(tmp_path), "AOS_BACKUP_URL": "/mnt/backup"})
    now = datetime.now(UTC).isoformat()
    note_backup_state(tmp_path, {"ended": now, "shipped": now, "gap": now + "9"})
    (found,) = probe_backup(settings)
    assert "gap" in found.detail
    note_backup_state(tmp_path, {"gap": ""})
    assert [one.colour for one in probe_backup(settings)] == ["green"]


def test_dp_07_a_destination_that_is_not_whole_is_yellow_and_names_the_first_fault(tmp_path: Path) -> None:
    settings = load_settings({"AOS_STATE_DIR": str(tmp_path), "AOS_BACKUP_URL": "/mnt/backup"})
    now = datetime.now(UTC)
    note_verification(tmp_path, ["there is no backup"], now)
    assert read_backup_state(tmp_path) == BackupState(), "nothing was backed up from here"
    note_backup_state(tmp_path, {"ended": now.isoformat(), "shipped": now.isoformat()})
    note_verification(tmp_path, ["blob t/w/one: is missing", "log: gap"], now)
    (found,) = probe_backup(settings)
    assert found.colour == "yellow" and "blob t/w/one: is missing and 1 more faults" in found.detail
    assert "aos backup verify" in found.fix
    note_verification(tmp_path, [], now)
    (found,) = probe_backup(settings)
    assert found.colour == "green" and f"verified {now.isoformat()[:19]}" in found.detail
