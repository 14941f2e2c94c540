"""The graph's stage from settings: with a model only where one is wanted, and with the names that ship."""

from pathlib import Path

from cluster.state.db.postgres import Database
from cluster.state.work.jobs import JobLedger
from configs.sections_retrieval import GraphSettings
from configs.settings import load_settings
from pipelines.documents.graph.graph_wiring import build_extractor, graph_stage
from pipelines.documents.graph.model import EntityType, GraphPage


def test_a_model_beside_the_rules_is_a_setting(tmp_path: Path) -> None:
    """KG-01: only where it is wanted the vault with the models' keys is opened."""
    database = Database("postgresql://nobody@127.0.0.1:9/none", size=1, timeout=1)
    off = load_settings({"AOS_STATE_DIR": str(tmp_path), "AOS_GRAPH_MODEL": "off"})
    graph_stage(off, database, JobLedger(database))
    assert not (tmp_path / "vault-key").exists()
    graph_stage(load_settings({"AOS_STATE_DIR": str(tmp_path)}), database, JobLedger(database))
    assert (tmp_path / "vault-key").exists()


def test_kg_02_the_gazetteer_that_ships_knows_cities_and_countries() -> None:
    """KG-02: places without a model and without a network; words that are also places need a place beside them."""
    text = "The office moved from Hyderabad to Osaka. A branch in Reading, United Kingdom, opened. Reading helps. Nice."
    found = build_extractor(GraphSettings()).extract([GraphPage(1, text)])
    places = {one.key.name for one in found.entities if one.key.type is EntityType.LOCATION}
    assert places == {"hyderabad", "osaka", "reading", "united kingdom"}
    assert [(one.source.name, one.type, one.target.name) for one in found.relations] == [
        ("reading", "is_part_of", "united kingdom")
    ]
