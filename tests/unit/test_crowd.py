"""A machine that is never idle: how much of it is left to bulk work, and when that is too little."""

from collections.abc import Iterator

import pytest

from cluster.basics.crowd import CpuTimes, CrowdWatch, left_between, times_now
from cluster.state.work.jobs import JobLane
from cluster.watch.memory import MemoryUse
from configs.sections import RaySettings, ReadSettings, Settings, WorkerSettings
from pipelines.documents.ingest.backpressure import memory_wait, share_of_a_core, small_job_count, strain_of


@pytest.mark.parametrize(
    ("before", "after", "left"),
    [
        ((0, 0, 0), (10, 10, 0), 1.0),
        ((0, 0, 0), (10, 0, 0), 0.0),
        ((100, 50, 7), (110, 52, 10), 0.5),  # what the idle class had was to be had
        ((100, 50, 7), (110, 51, 0), 0.1),  # processes that ended took theirs along
        ((100, 50, 7), (100, 50, 7), 1.0),
    ],
)
def test_left_is_what_was_idle_or_went_to_the_idle_class(
    before: tuple[float, ...], after: tuple[float, ...], left: float
) -> None:
    assert left_between(CpuTimes(*before), CpuTimes(*after)) == pytest.approx(left)


def crowd(*left: float, share: float = 0.1) -> tuple[CrowdWatch, list[float]]:
    """A machine that leaves so much from look to look, and how long was looked each time."""
    slept: list[float] = []

    def times() -> Iterator[CpuTimes]:
        for one in left:
            yield CpuTimes(0, 0, 0)
            yield CpuTimes(100, 100 * one, 0)

    told = times()
    return CrowdWatch(share, lambda: next(told), slept.append), slept


def test_a_busy_second_is_no_crowd_and_one_that_stays_is_seen_at_once() -> None:
    made, slept = crowd(0.5, 0.0, 0.6, 0.0, 0.05, 0.02, 0.7)
    assert [made.look() for _ in range(5)] == [False, False, True, True, False]
    assert slept == [1, 1, 4, 1, 4, 1, 1]


def test_this_machine_tells_its_times() -> None:
    now = times_now()
    assert now.total > now.idle > 0 and now.behind >= 0


@pytest.mark.parametrize(("floor", "cores", "share"), [(0.1, 2, 0.2), (0.1, 1, 0.1), (0.1, 16, 0.5), (0.5, 2, 0.5)])
def test_one_reader_has_the_machines_floor_as_far_as_it_can_use_it(floor: float, cores: int, share: float) -> None:
    assert share_of_a_core(ReadSettings(floor=floor), cores) == pytest.approx(share)


def test_a_worker_says_what_strains_the_machine() -> None:
    made, _ = crowd(0.0, 0.01)
    plain = Settings(ray=RaySettings(memory_high=1))
    assert strain_of(JobLane.BULK, plain, made) is None and strain_of(JobLane.BULK, plain, None) is None
    made.look()
    assert strain_of(JobLane.BULK, plain, made) == (
        "machine_busy: other work leaves 1.0% of this machine: it goes on at its floor, 10%"
    )
    assert strain_of(JobLane.SMALL, plain, made) is None
    low = plain.model_copy(update={"ray": plain.ray.model_copy(update={"memory_high": 0.0})})
    assert (strain_of(JobLane.BULK, low, made) or "").startswith("memory_short: ")


@pytest.mark.parametrize(
    ("cores", "free_gib", "count"), [(2, 16, 4), (1, 16, 2), (8, 64, 16), (16, 64, 16), (8, 3, 6), (8, 0, 2)]
)
def test_as_many_uploads_run_at_once_as_cores_and_free_memory_have_room_for(
    cores: int, free_gib: int, count: int
) -> None:
    use = MemoryUse(8 * 2**30, (8 + free_gib) * 2**30)
    assert small_job_count(WorkerSettings(), cores, use) == count
    assert small_job_count(WorkerSettings(small_jobs=7), cores, use) == 7


def test_no_further_upload_begins_while_memory_is_short() -> None:
    assert memory_wait(0.93, MemoryUse(90, 100)) is None
    assert memory_wait(0.93, MemoryUse(95, 100)) == ("memory_short: 95% of the memory is in use; above 93% none begins")
