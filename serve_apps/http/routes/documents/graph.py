"""The knowledge graph: search it, look at one entity with its evidence, and draw a part of it."""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel

from pipelines.documents.graph.browse import EntityFilter, RelationEdge
from pipelines.documents.graph.model import EntityType, RelationType
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import READ
from serve_apps.http.fields import AgentInQuery, DocumentKey, Skip, Text
from serve_apps.http.response_shapes import copy_fields

router = APIRouter(route_class=GuardedRoute, tags=["graph"])

EntityInPath = Annotated[DocumentKey, Path(description="32 hex digits.")]
Searched = Annotated[Text | None, Query(min_length=1, max_length=400, description="A name, its beginning, or words.")]
TypeInQuery = Annotated[EntityType | None, Query(alias="type")]
Few = Annotated[int, Query(ge=1, le=200)]


class EntityShape(BaseModel):
    """An entity, as far as the documents that one may read speak of it; `confidence` is 0 to 1."""

    id: str
    name: str
    type: EntityType
    aliases: list[str]
    confidence: float
    occurrences: int
    documents: int


class EntityList(BaseModel):
    """Entities, best first."""

    items: list[EntityShape]
    total: int


class EvidenceShape(BaseModel):
    """A sentence that says so: `quote` is the page's text at [start, end); `found_by` is rule or model."""

    document_id: str
    version_id: str
    filename: str
    page: int
    start: int
    end: int
    quote: str
    confidence: float
    found_by: str
    url: str


class RelationShape(BaseModel):
    """A relation, read from source to target, with the clearest of the sentences that say it."""

    id: str
    type: RelationType
    source: EntityShape
    target: EntityShape
    strength: float
    sentences: int
    documents: int
    evidence: list[EvidenceShape]


class EntityPage(EntityShape):
    """An entity with where it is named, and what it is related to."""

    mentions: list[EvidenceShape]
    relations: list[RelationShape]


class EdgeShape(BaseModel):
    """A line between two nodes; `title` is a sentence that says it."""

    id: str
    source: str
    target: str
    type: RelationType
    weight: float
    title: str


class View(BaseModel):
    """A part of the graph to be drawn; `total` is how many entities would have fitted."""

    nodes: list[EntityShape]
    edges: list[EdgeShape]
    total: int


@router.get("/api/graph", dependencies=[READ])
async def search(
    me: Me,
    parts: Its,
    search: Searched = None,
    kind: TypeInQuery = None,
    agent_id: AgentInQuery = None,
    skip: Skip = 0,
    limit: Few = 50,
) -> EntityList:
    """Entities that a text names; without one those that most documents speak of."""
    agent = await parts.agent_store.resolve(me.scope, agent_id)
    wanted = EntityFilter(_search_text(search), kind, agent)
    found = await parts.graph.search(me.scope, wanted, min(skip, 10_000), limit)
    return EntityList(items=[copy_fields(EntityShape, node) for node in found.nodes], total=found.total)


@router.get("/api/graph/view", dependencies=[READ])
async def view(
    me: Me,
    parts: Its,
    search: Searched = None,
    kind: TypeInQuery = None,
    center: Annotated[DocumentKey | None, Query(description="An entity's id: draw what is around it.")] = None,
    agent_id: AgentInQuery = None,
    limit: Few = 60,
) -> View:
    """Nodes, and every relation between two of them."""
    agent = await parts.agent_store.resolve(me.scope, agent_id)
    found = await parts.graph.view(me.scope, EntityFilter(_search_text(search), kind, agent), center, limit)
    nodes, edges = [copy_fields(EntityShape, node) for node in found.nodes], [_edge_shape(edge) for edge in found.edges]
    return View(nodes=nodes, edges=edges, total=found.total)


@router.get("/api/graph/entities/{entity_id}", dependencies=[READ])
async def entity(entity_id: EntityInPath, me: Me, parts: Its, agent_id: AgentInQuery = None) -> EntityPage:
    """One entity: where it is named, and its relations with the pages that say so."""
    agent = await parts.agent_store.resolve(me.scope, agent_id)
    node, mentions, edges = await parts.graph.show(me.scope, entity_id, agent=agent)
    quotes, edges_ = [copy_fields(EvidenceShape, one) for one in mentions], [_relation_shape(edge) for edge in edges]
    return copy_fields(EntityPage, node, mentions=quotes, relations=edges_)


def _search_text(search: str | None) -> str | None:
    """The text, unless it is only white space."""
    return search if search and search.strip() else None


def _relation_shape(edge: RelationEdge) -> RelationShape:
    source, target = (copy_fields(EntityShape, end) for end in (edge.source, edge.target))
    evidence = [copy_fields(EvidenceShape, one) for one in edge.evidence]
    return copy_fields(RelationShape, edge, source=source, target=target, evidence=evidence)


def _edge_shape(edge: RelationEdge) -> EdgeShape:
    title = edge.evidence[0].quote if edge.evidence else ""
    return copy_fields(EdgeShape, edge, source=edge.source.id, target=edge.target.id, weight=edge.strength, title=title)
