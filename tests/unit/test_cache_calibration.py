"""The operator's risk, and the similarity that follows from it."""

import json
from pathlib import Path

import pytest

from cluster.basics.errors import InvalidSettings
from configs.sections_retrieval import CacheSettings
from serve_apps.retrieval.cache.calibration import CalibrationRow, RiskCalibration

ROWS = (CalibrationRow(0.8, 0.01), CalibrationRow(0.9, 0.001), CalibrationRow(0.92, 0.0011), CalibrationRow(0.95, 0.0))
TABLE = RiskCalibration("minilm", ROWS)


@pytest.mark.parametrize(
    ("risk", "similarity"), [(0.0001, 0.95), (0.001, 0.95), (0.0011, 0.9), (0.01, 0.8), (1.0, 0.8)]
)
def test_the_lowest_similarity_from_which_on_the_risk_is_kept(risk: float, similarity: float) -> None:
    """A row above that has more false hits counts, too: what is nearer is served as well."""
    assert TABLE.threshold(CacheSettings(risk=risk), "owner/MiniLM") == similarity


def test_without_a_risk_or_a_measure_only_the_same_words_count() -> None:
    assert TABLE.threshold(CacheSettings(risk=0), "minilm") is None
    assert TABLE.threshold(CacheSettings(risk=0, similarity_threshold=0.5), "minilm") is None
    assert TABLE.threshold(CacheSettings(), "another-embedder") is None
    assert RiskCalibration("minilm", ROWS[:1]).threshold(CacheSettings(), "minilm") is None


def test_a_similarity_said_by_hand_takes_the_place_of_what_follows() -> None:
    assert TABLE.threshold(CacheSettings(similarity_threshold=0.97), "another-embedder") == 0.97


def test_the_table_that_ships_is_for_the_packaged_embedder_and_keeps_the_default_risk() -> None:
    shipped = RiskCalibration.read()
    found = shipped.threshold(CacheSettings(), "all-MiniLM-L6-v2")
    assert found is not None and 0.8 <= found < 1
    assert all(row.false_hits <= CacheSettings().risk for row in shipped.rows if row.similarity >= found)
    assert shipped.threshold(CacheSettings(risk=0.01), "all-MiniLM-L6-v2") <= found


@pytest.mark.parametrize("told", ["", "[]", "{}", json.dumps({"embedder": "x", "rows": [{"similarity": "near"}]})])
def test_a_broken_table_is_named(tmp_path: Path, told: str) -> None:
    path = tmp_path / "table.json"
    path.write_text(told)
    with pytest.raises(InvalidSettings, match=r"table\.json"):
        RiskCalibration.read(path)
