"""The soak's line through memory: what a process keeps counts, and not how many are at work at a moment."""

import pytest

from tests.kill.soak import Sample, most_processes, program_slopes

PAGES = range(0, 2000, 20)


def samples(kept: int) -> list[Sample]:
    """A worker, its small reader, and large ones that are away between batches; each keeps so much a page."""
    return [
        (float(done), {"worker": [1000 + done * kept], "reader": [50, *[500 + done * kept] * (done // 20 % 3)]})
        for done in PAGES
    ]


def test_readers_that_come_and_go_are_no_growth_and_bytes_that_stay_are() -> None:
    assert program_slopes(samples(kept=0)) == pytest.approx({"worker": 0, "reader": 0})
    assert program_slopes(samples(kept=3)) == pytest.approx({"worker": 3, "reader": 6}, abs=0.2)


def test_workers_that_start_are_not_taken_for_programs_that_grow() -> None:
    found = [(done, held | ({"starting": [int(done)]} if done < 300 else {})) for done, held in samples(kept=0)]
    assert "starting" not in program_slopes(found)
    assert most_processes(found) == 5
