"""What the cache and the rules of retrieval are measured with: pairs, calibration, rules left out."""

from pathlib import Path

import pytest

from serve_apps.retrieval.cache.calibration import RiskCalibration
from tests.evals import swapped_roles
from tests.evals.ablations import Ablation, always, answer_ablations, cache_ablations, left_out, threshold_grids
from tests.evals.calibrate_cache import SIMILARITIES, LookAlikes, count_left_out, measure_rows, upper_share, write_table
from tests.evals.near_misses import Pair

KINDS = swapped_roles.read_kinds()


class Judge:
    """Two kinds of pairs: those of `bad` are taken for the same at 0.9, of `good` never."""

    def cosine(self, one: str, other: str) -> float:
        return 0.9

    def worded(self, one: str, other: str) -> bool:
        return one.startswith("bad")


KNOWN = LookAlikes(
    {
        "mixed": [Pair("bad 1", "x", "bad"), *(Pair(f"good {n}", "x", "good") for n in range(99))],
        "fine": [Pair(f"good {n}", "x", "other") for n in range(900)],
    }
)


def test_the_worst_source_decides_or_what_chance_may_hide_and_a_kind_is_judged_without_itself() -> None:
    rows = measure_rows(Judge(), KNOWN)
    assert [row.similarity for row in rows] == list(SIMILARITIES)
    assert {row.false_hits for row in rows if row.similarity <= 0.9} == {0.01}, "one of a hundred, not of a thousand"
    assert {row.false_hits for row in rows if row.similarity > 0.9} == {upper_share(0, 1_000)}
    assert RiskCalibration("m", rows).similarity_for(0.005) == 0.91
    assert RiskCalibration("m", rows).similarity_for(0.001) is None, "a thousand pairs do not tell so little"
    assert count_left_out(Judge(), KNOWN, "m", 0.005) == (1, 1_000), "without its own kind nothing warns of it"


def test_what_chance_may_hide() -> None:
    assert upper_share(0, 1_000) == pytest.approx(0.0027, abs=1e-4)
    assert upper_share(0, 10_000) < 0.001 < upper_share(5, 10_000) < upper_share(50, 10_000) < 0.0065


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    rows = measure_rows(Judge(), KNOWN)
    write_table(path, "owner/M", KNOWN, rows)
    assert RiskCalibration.read(path) == RiskCalibration("m", rows)


def test_swapped_roles_are_many_kinds_and_each_pair_differs() -> None:
    held_out = [kind for kind in KINDS if kind.held_out]
    assert len(KINDS) >= 40 and len(held_out) >= 10
    for kinds in (held_out, [kind for kind in KINDS if not kind.held_out]):
        pairs = swapped_roles.make(500, kinds)
        assert len(set(pairs)) == 500 and {pair.change for pair in pairs} == {kind.name for kind in kinds}
        assert all(pair.one != pair.other and "{" not in pair.one + pair.other for pair in pairs)
        assert pairs == swapped_roles.make(500, kinds)


@pytest.mark.parametrize("ablation", [*answer_ablations(), *cache_ablations()], ids=lambda one: one.rule)
def test_a_rule_is_back_after_it_was_left_out(ablation: Ablation) -> None:
    before = [vars(owner)[name] for owner, name, _ in ablation.changes]
    with pytest.raises(ZeroDivisionError), left_out(ablation):
        assert [vars(owner)[name] for owner, name, _ in ablation.changes] == [one for *_, one in ablation.changes]
        raise ZeroDivisionError
    assert [vars(owner)[name] for owner, name, _ in ablation.changes] == before
    assert any(one is not other for one, (*_, other) in zip(before, ablation.changes, strict=True))


def test_what_ships_is_among_the_thresholds_that_are_tried() -> None:
    assert all(vars(owner)[name] in values for owner, name, values in threshold_grids().values())
    assert always(3)(1, two=2) == 3
