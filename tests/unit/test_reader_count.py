"""Readers follow what is free in the cluster; one machine has no more of them than cores."""

import pytest

from configs.sections import ReadSettings
from pipelines.documents.ingest.backpressure import ClusterRoom, ReaderBounds, reader_bounds, reader_count


def test_readers_grow_with_the_cluster() -> None:
    assert reader_count(8, 0, 0.9) == 7
    assert reader_count(801, 0, 1.0) == 800


def test_one_machine_has_no_more_readers_than_cores() -> None:
    assert reader_count(8, 0, 0.9, cores=2) == 2


@pytest.mark.parametrize("cpus", [0.0, 0.5, 1.5])
def test_a_full_cluster_still_gets_one_that_waits(cpus: float) -> None:
    assert reader_count(cpus, 0, 0.9, cores=4) == 1


def test_gpus_bound_those_that_need_a_part_of_one() -> None:
    assert reader_count(64, 1.0, 0.9, 0.25) == 4
    assert reader_count(64, 0.0, 0.9, 0.25) == 1


def room(nodes: int, free: float, most: float | None = None) -> ClusterRoom:
    """Of nodes with 8 logical CPUs each, on a machine of 2 cores."""
    there, there_most = {"CPU": 8.0 * nodes}, {} if most is None else {"CPU": most}
    return ClusterRoom.of_ray({"CPU": free}, there, there_most, nodes, 2)


def test_readers_follow_nodes_that_come_and_go() -> None:
    """What is asked when the next batch begins; a machine alone keeps to its cores."""
    assert reader_bounds(room(1, 8), 0.9) == ReaderBounds(2, 2)
    assert reader_bounds(room(3, 20), 0.9) == ReaderBounds(21, 21)
    assert reader_bounds(room(2, 12), 0.9) == ReaderBounds(12, 12)


def test_readers_become_as_many_as_an_autoscaler_may_add_room_for() -> None:
    assert reader_bounds(room(2, 12, most=64), 0.9) == ReaderBounds(12, 65)
    assert reader_bounds(room(1, 4, most=64), 0.9).now == 3  # a head that may grow is no laptop
    assert reader_bounds(room(2, 12, most=1e9), 0.9).most == 1000
    assert reader_bounds(room(2, 12, most=8), 0.9) == ReaderBounds(12, 12)  # nodes above its own limit stay


def test_readers_that_need_gpus_wait_for_nodes_that_have_some() -> None:
    growing = ClusterRoom(64, 1, more_gpus=4)
    assert reader_bounds(growing, 0.9, 0.5) == ReaderBounds(2, 10)


def test_the_setting_takes_a_number_or_auto() -> None:
    assert ReadSettings().readers == "auto"
    assert ReadSettings.model_validate({"readers": "4"}).readers == 4
    for wrong in ("0", "many"):
        with pytest.raises(ValueError, match="readers"):
            ReadSettings.model_validate({"readers": wrong})


def test_workers_that_read_at_once_share_the_cluster_evenly() -> None:
    assert reader_bounds(room(3, 20), 0.9, workers=2).now < reader_bounds(room(3, 20), 0.9).now
    every = ClusterRoom(cpus=20, gpus=0, all_cpus=41)
    assert reader_bounds(every, 1.0, workers=2) == ReaderBounds(19, 19), "what is free"
    assert reader_bounds(every, 1.0, workers=4) == ReaderBounds(10, 10), "its part"
    assert reader_bounds(every, 1.0, workers=100) == ReaderBounds(1, 1)
    growing = ClusterRoom(cpus=3, gpus=0, more_cpus=38, all_cpus=41)
    assert reader_bounds(growing, 1.0, workers=2) == ReaderBounds(2, 20)
    assert reader_bounds(room(1, 8), 0.9, workers=2) == ReaderBounds(1, 1), "a machine of two cores"
