"""Graphs for tests: an extractor with a small gazetteer, and texts whose graph is known."""

from configs.sections_retrieval import GraphSettings
from pipelines.documents.graph.extract import GraphExtractor
from pipelines.documents.graph.lexicon import NameLexicon
from pipelines.documents.graph.model import DocumentGraph, GraphPage
from pipelines.documents.graph.places import Gazetteer

AREAS = ("Germany", "France", "India", "United States", "Turkey", "Europe", "Maharashtra", "Tunisia")
CITIES = (("Mumbai", 12_000_000), ("Berlin", 3_400_000), ("Reading", 300_000), ("Pune", 3_100_000), ("Bath", 94_000))


def small_gazetteer() -> Gazetteer:
    """A few places; `Reading`, `Bath` and `Turkey` are also words."""
    return Gazetteer(AREAS, CITIES)


def extractor(**settings: int) -> GraphExtractor:
    """Rules over the names that ship and a few places."""
    return GraphExtractor(NameLexicon.shipped(), small_gazetteer(), GraphSettings(**settings))


def graph_of(*pages: str, **settings: int) -> DocumentGraph:
    """What pages say, the first being page 1."""
    return extractor(**settings).extract([GraphPage(number, text) for number, text in enumerate(pages, 1)])


def named(graph: DocumentGraph) -> dict[str, str]:
    """Canonical name to type."""
    return {entity.key.name: str(entity.key.type) for entity in graph.entities}


def related(graph: DocumentGraph) -> set[tuple[str, str, str]]:
    """(source, type, target) by canonical names."""
    return {(one.source.name, str(one.type), one.target.name) for one in graph.relations}
