"""Readers follow what is free in the cluster; one machine has no more of them than cores."""

import pytest

from configs.sections import ReadSettings
from pipelines.documents.ingest.backpressure import reader_count


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


def test_the_setting_takes_a_number_or_auto() -> None:
    assert ReadSettings().readers == "auto"
    assert ReadSettings.model_validate({"readers": "4"}).readers == 4
    for wrong in ("0", "many"):
        with pytest.raises(ValueError, match="readers"):
            ReadSettings.model_validate({"readers": wrong})
