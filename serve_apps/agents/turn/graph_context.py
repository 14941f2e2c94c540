"""Knowledge graph as context of a turn: entities a question names, their relations, and the pages as evidence."""

from cluster.basics.scope import Scope
from pipelines.documents.graph.browse import EntityNode, EvidenceQuote, KnowledgeGraph, RelationEdge
from pipelines.documents.privacy.answer_rules import UNKNOWN_CLASS
from serve_apps.agents.turn_ports import Json

QUOTE = 200  # characters of a sentence that a model is shown


class GraphEntities:
    """`skills.framework.entity_source.EntitySource` over the graph."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        """`graph` shows what the scope may see."""
        self._graph = graph

    async def find(self, scope: Scope, agent: str, query: str, limit: int) -> Json:
        """{relations, entities}: relations first, as an observation is cut at its end.

        Raises Unavailable: Postgres cannot be reached.
        """
        found = await self._graph.ask(scope, agent, query, limit)
        relations, entities = list(map(_edge_data, found.edges)), list(map(_node_data, found.nodes))
        # An entity is of many documents: it is taken for one of the strictest class of data.
        of = {"classification": UNKNOWN_CLASS} if relations or entities else {}
        return {"relations": relations, "entities": entities, **of}


def _node_data(node: EntityNode) -> Json:
    shown = {"name": node.name, "type": str(node.type), "documents": node.documents}
    return {**shown, "also": list(node.aliases)} if node.aliases else shown


def _edge_data(edge: RelationEdge) -> Json:
    said = {"source": edge.source.name, "relation": edge.type, "target": edge.target.name}
    return {**said, "evidence": list(map(_evidence_data, edge.evidence))}


def _evidence_data(one: EvidenceQuote) -> Json:
    quote = " ".join(one.quote.split())
    shown = quote if len(quote) <= QUOTE else quote[:QUOTE] + "…"
    return {"document_id": one.document_id, "filename": one.filename, "page": one.page, "quote": shown}
