"""The soak's line through memory: what a process keeps counts, and not how many are at work at a moment."""

import pytest

from tests.kill.soak import Sample, most_processes, program_slopes

READERS = [(0.0, 0), (100.0, 4), (200.0, 0), (300.0, 4)]  # between batches there is none


def samples(kept: int) -> list[Sample]:
    return [(done, {"worker": [1000 + int(done) * kept], "reader": [500] * readers}) for done, readers in READERS]


def test_readers_that_come_and_go_are_no_growth_and_bytes_that_stay_are() -> None:
    assert program_slopes(samples(kept=0)) == pytest.approx({"worker": 0, "reader": 0})
    assert program_slopes(samples(kept=3)) == pytest.approx({"worker": 3, "reader": 0})


def test_each_process_of_a_program_counts() -> None:
    found: list[Sample] = [(float(done), {"reader": [100 + done] * 4}) for done in range(0, 50, 10)]
    assert program_slopes(found) == pytest.approx({"reader": 4})
    assert (most_processes(found), most_processes(samples(kept=0))) == (4, 5)
