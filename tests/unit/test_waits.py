"""Why a job waits: a rule for each reason, over what the ledger says."""

from typing import Any

import pytest

from cluster.basics.errors import DiskFull, MemoryShort, Overloaded, Unavailable
from cluster.console import printing
from cluster.models.model_errors import Unusable
from cluster.state.work.wait_reasons import Wait, format_error_reason, format_reason, list_wait_reasons, parse_reason
from pipelines.documents.sync.source_sync import SyncCutOff

PLAIN: dict[str, Any] = {
    "state": "queued",
    "kind": "scan",
    "told": None,
    "ahead": 0,
    "others": 0,
    "running": 0,
    "workers": 1,
    "foreign_running": 0,
    "has_share": False,
    "behind": None,
    "waits_for": None,
}


def reasons(quota: tuple[int, int] | None = None, **row: Any) -> list[str]:
    return [str(one.reason) for one in list_wait_reasons({**PLAIN, **row}, quota)]


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ({}, []),  # it is about to be taken
        ({"workers": 0}, ["no_worker"]),
        ({"workers": 0, "ahead": 3, "others": 1, "told": "disk_full: 1 MiB"}, ["no_worker", "disk_full"]),
        ({"ahead": 3, "running": 1}, ["behind"]),
        ({"others": 2, "ahead": 1, "running": 1}, ["other_tenants", "behind"]),
        ({"running": 1}, ["next"]),
        ({"running": 2, "has_share": True}, ["tenant_share"]),
        ({"running": 2, "has_share": True, "ahead": 1}, ["tenant_share", "behind"]),
        ({"waits_for": "disk_full: 1 MiB of 2 GiB", "running": 1}, ["disk_full", "next"]),
        ({"told": "disk_full: 1 MiB of 2 GiB"}, ["disk_full"]),
        ({"told": "disk_full: a", "waits_for": "disk_full: b"}, ["disk_full"]),
        ({"waits_for": "memory_short: 93 %", "ahead": 1}, ["memory_short", "behind"]),
        ({"waits_for": "machine_busy: 1 % idle"}, ["machine_busy"]),
        ({"told": "part_away: the embedder"}, ["part_away"]),
        ({"state": "running"}, []),
        ({"state": "running", "waits_for": "machine_busy: 1 % idle", "ahead": 2, "workers": 0}, ["machine_busy"]),
        ({"state": "running", "told": "disk_full: before this turn"}, []),
        ({"told": "something that a newer version wrote: x"}, []),
    ],
)
def test_each_reason_and_the_most_important_first(row: dict[str, Any], found: list[str]) -> None:
    assert reasons(**row) == found


@pytest.mark.parametrize(
    ("have", "kind", "found"),
    [(9, "scan", []), (10, "scan", ["quota"]), (11, "upload", ["quota"]), (10, "reindex", [])],
)
def test_a_spent_quota_is_said_before_files_are_refused_for_it(have: int, kind: str, found: list[str]) -> None:
    assert reasons((have, 10), kind=kind) == found


def test_what_can_be_done_is_said_where_it_does_not_pass_by_itself() -> None:
    (nobody,) = list_wait_reasons({**PLAIN, "workers": 0})
    assert "aos up" in nobody.fix
    (behind,) = list_wait_reasons({**PLAIN, "ahead": 1, "running": 2})
    assert behind.detail == "1 job of yours comes first; 2 at work" and not behind.fix


@pytest.mark.parametrize(
    ("row", "detail"),
    [
        ({"running": 1}, "it comes next and waits for a place; 1 at work"),
        ({"running": 4, "foreign_running": 2}, "it comes next and waits for a place; 4 at work, 2 of other tenants"),
        ({"running": 2, "foreign_running": 2}, "it comes next and waits for a place; 2 at work, all of other tenants"),
        ({"ahead": 2, "behind": "a1"}, "2 jobs of yours come first, job a1 just before it; 0 at work"),
    ],
)
def test_behind_what_is_said_and_never_whose(row: dict[str, Any], detail: str) -> None:
    (one,) = list_wait_reasons({**PLAIN, **row})
    assert one.detail == detail


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (DiskFull("1 MiB"), Wait.DISK_FULL),
        (MemoryShort("93 %"), Wait.MEMORY_SHORT),
        (SyncCutOff("the bucket"), Wait.SOURCE_AWAY),
        (Unavailable("the embedder"), Wait.PART_AWAY),
        (Overloaded("busy"), Wait.PART_AWAY),
        (Unusable("the key"), Wait.PART_AWAY),
    ],
)
def test_what_a_worker_writes_down_is_read_as_it_was_meant(error: Any, reason: Wait) -> None:
    assert parse_reason(format_error_reason(error)) == (reason, str(error)) and parse_reason(None) == ("", "")
    assert parse_reason(format_reason(reason, "a: b: c")) == (reason, "a: b: c")


def test_the_command_line_says_why() -> None:
    job = {"waits": [{"reason": "no_worker", "detail": "no worker", "fix": "`aos up`."}]}
    assert printing.wait_lines(job) == ["waits: no worker. `aos up`."] and printing.wait_lines({}) == []
    table = printing.rows_table([job], ("waits",))
    assert list(table.columns[0].cells) == ["no worker"]
