"""The graph as people and agents see it: what is named, how it hangs together, and which pages say so."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cluster.basics.errors import NotFound
from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database, Row, load_queries
from pipelines.documents.graph import clues
from pipelines.documents.graph.lexicon import NameLexicon
from pipelines.documents.graph.model import EntityType
from pipelines.documents.graph.names import canonical_name, singular_form
from pipelines.documents.graph.word_spans import split_words

MOST_WORDS = 60  # of a question that are looked at
LONGEST_NAME = 6  # words
LEAST = 0.5  # of an entity's words that a question has to name


@dataclass(frozen=True, slots=True)
class EntityFilter:
    """Filter on entities; None leaves a condition out, `agent` (a UUID) keeps only what is linked to it."""

    text: str | None = None
    type: EntityType | None = None
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class EntityNode:
    """An entity. All of it is what the caller's own documents say."""

    id: str
    type: EntityType
    name: str  # as it is written most often
    aliases: tuple[str, ...]
    confidence: float  # 0 to 1, the surest mention's
    occurrences: int
    documents: int  # how many speak of it


@dataclass(frozen=True, slots=True)
class EvidenceQuote:
    """A sentence that says so: characters [start, end) of a page's text; `confidence` is 0 to 1."""

    document_id: str
    version_id: str
    filename: str
    page: int
    start: int
    end: int
    quote: str
    confidence: float
    found_by: str

    @property
    def url(self) -> str:
        """Path of the page in the API."""
        return f"/api/documents/{self.document_id}/pages/{self.page}"


@dataclass(frozen=True, slots=True)
class RelationEdge:
    """A relation, read from source to target; `sentences` says how many there are, `evidence` holds the clearest."""

    id: str
    type: str
    source: EntityNode
    target: EntityNode
    strength: float
    sentences: int
    documents: int
    evidence: tuple[EvidenceQuote, ...] = ()


@dataclass(frozen=True, slots=True)
class Subgraph:
    """A part of the graph; `total` is how many entities would have fitted."""

    nodes: tuple[EntityNode, ...]
    edges: tuple[RelationEdge, ...]
    total: int = 0


class KnowledgeGraph:
    """Reads the graph. Whoever asks sees what stands in current versions of documents that they may read."""

    def __init__(self, database: Database, lexicon: NameLexicon) -> None:
        """`lexicon` knows other spellings of what is asked for."""
        self._db, self._lexicon = database, lexicon
        self._sql = load_queries(Path(__file__).with_suffix(".sql"))

    async def search(self, scope: Scope, wanted: EntityFilter, skip: int, limit: int) -> Subgraph:
        """Entities, best first: those that the text names, or without one those that most documents speak of."""
        if wanted.text is None:
            return await self._read_nodes(scope, wanted, None, skip, limit)
        ids = await self._match_entity_ids(scope, wanted, wanted.text, skip + limit, whole=False)
        nodes = await self._nodes_in_order(scope, wanted, ids, len(ids))
        return Subgraph(nodes[skip : skip + limit], (), len(nodes))

    async def show(
        self, scope: Scope, entity: str, *, agent: str | None = None, relations: int = 50, evidence: int = 3
    ) -> tuple[EntityNode, tuple[EvidenceQuote, ...], tuple[RelationEdge, ...]]:
        """An entity, where it is named, and its relations with their evidence.

        Raises NotFound: there is none, or no document that says so may be read.
        """
        wanted = EntityFilter(agent=agent)
        found = await self._require_node(scope, wanted, entity)
        rows = await self._fetch_rows(scope, "mentions", wanted, entity=entity, limit=20)
        edges = await self._read_edges(scope, wanted, [entity], among=False, limit=relations, each=evidence)
        return found.nodes[0], tuple(_evidence_from_row(row) for row in rows), edges

    async def ask(self, scope: Scope, agent: str | None, question: str, limit: int) -> Subgraph:
        """Entities that a question names, and their relations with the clearest evidence."""
        wanted = EntityFilter(agent=agent)
        ids = await self._match_entity_ids(scope, wanted, question, limit, whole=True)
        if not ids:
            return Subgraph((), ())
        nodes = await self._nodes_in_order(scope, wanted, ids, limit)
        edges = await self._read_edges(scope, wanted, ids, among=False, limit=2 * limit, each=2)
        return Subgraph(nodes, edges, len(nodes))

    async def view(self, scope: Scope, wanted: EntityFilter, center: str | None, limit: int) -> Subgraph:
        """Subgraph to draw: entities, and every relation between two of them.

        Those that the wanted ones are related to come with them where a text, or a center around which to draw, is
        given. Raises NotFound: there is no such center.
        """
        if center is None and wanted.text is None:
            found = await self._read_nodes(scope, wanted, None, 0, limit)
            return replace(found, edges=await self._edges_between(scope, wanted, found.nodes))
        if center is None:
            first = await self.search(scope, wanted, 0, limit)
        else:
            first = await self._require_node(scope, EntityFilter(agent=wanted.agent), center)
        named = [node.id for node in first.nodes]
        around = await self._read_edges(scope, wanted, named, among=False, limit=2 * limit, each=0)
        nodes = {node.id: node for node in first.nodes}
        for node in (node for edge in around for node in (edge.source, edge.target)):
            if len(nodes) < limit and (wanted.type is None or node.type is wanted.type):
                nodes.setdefault(node.id, node)
        kept = tuple(nodes.values())
        return Subgraph(kept, await self._edges_between(scope, wanted, kept), max(first.total, len(kept)))

    async def _edges_between(
        self, scope: Scope, wanted: EntityFilter, nodes: Sequence[EntityNode]
    ) -> tuple[RelationEdge, ...]:
        ids = [node.id for node in nodes]
        return await self._read_edges(scope, wanted, ids, among=True, limit=4 * len(ids), each=1) if ids else ()

    async def _match_entity_ids(
        self, scope: Scope, wanted: EntityFilter, text: str, depth: int, *, whole: bool
    ) -> list[str]:
        """Ids of what a text names, best first; `whole`: it is a question, and no beginning of a name."""
        words = split_words(text)[:MOST_WORDS]
        names = list(dict.fromkeys(self._candidate_names(words)))
        single = [word for word in map(str.casefold, words) if word not in clues.PLAIN | clues.SMALL]
        single = list(dict.fromkeys([*single, *map(singular_form, single)]))
        prefix = "" if whole else canonical_name(text, EntityType.LOCATION)
        wanted_of = {"names": names, "words": single, "prefix": prefix, "type": wanted.type, "agent": wanted.agent}
        rows = await self._db.read(scope, self._sql["named"], {}, False, **wanted_of, depth=depth, least=LEAST)
        return [row["id"] for row in rows]

    def _candidate_names(self, words: Sequence[str]) -> Iterator[str]:
        for length in range(min(LONGEST_NAME, len(words)), 0, -1):
            for start in range(len(words) - length + 1):
                part = " ".join(words[start : start + length])
                if length == 1 and part.casefold() in clues.PLAIN | clues.SMALL:
                    continue
                if (known := self._lexicon.term(part)) is not None:
                    yield canonical_name(known.name, known.type)
                for kind in (EntityType.CONCEPT, EntityType.ORGANIZATION, EntityType.PERSON):
                    yield canonical_name(part, kind)

    async def _read_nodes(
        self, scope: Scope, wanted: EntityFilter, ids: list[str] | None, skip: int, limit: int
    ) -> Subgraph:
        if ids == [] or limit < 1:
            return Subgraph((), ())
        rows = await self._fetch_rows(scope, "entities", wanted, type=wanted.type, ids=ids, skip=skip, limit=limit)
        return Subgraph(tuple(_node_from_row(row) for row in rows), (), int(rows[0]["total"]) if rows else 0)

    async def _require_node(self, scope: Scope, wanted: EntityFilter, entity: str) -> Subgraph:
        found = await self._read_nodes(scope, wanted, [entity], 0, 1)
        if not found.nodes:
            raise NotFound(f"entity {entity}")
        return found

    async def _nodes_in_order(
        self, scope: Scope, wanted: EntityFilter, ids: list[str], limit: int
    ) -> tuple[EntityNode, ...]:
        found = await self._read_nodes(scope, wanted, ids, 0, limit)
        order = {id_: place for place, id_ in enumerate(ids)}
        return tuple(sorted(found.nodes, key=lambda node: order[node.id]))

    async def _read_edges(
        self, scope: Scope, wanted: EntityFilter, ids: list[str], *, among: bool, limit: int, each: int
    ) -> tuple[RelationEdge, ...]:
        rows = await self._fetch_rows(scope, "relations", wanted, ids=ids, among=among, limit=limit)
        if not rows:
            return ()
        ends = list({end for row in rows for end in (row["source_id"], row["target_id"])})
        found = await self._read_nodes(scope, replace(wanted, type=None), ends, 0, len(ends))
        nodes = {node.id: node for node in found.nodes}
        said: dict[str, list[EvidenceQuote]] = {}
        if each:
            named = [row["id"] for row in rows]
            for row in await self._fetch_rows(scope, "evidence", wanted, ids=named, each=each):
                said.setdefault(row["relation_id"], []).append(_evidence_from_row(row))
        # An end that cannot be shown any more was taken away between two queries.
        return tuple(
            _edge_from_row(row, nodes, said.get(row["id"], []))
            for row in rows
            if row["source_id"] in nodes and row["target_id"] in nodes
        )

    async def _fetch_rows(self, scope: Scope, query: str, wanted: EntityFilter, **values: object) -> list[Row]:
        whose = {**scope.keys, "agent": wanted.agent}
        # Planned each time: whether entities are given decides which index is the right one.
        return await self._db.read(scope, self._sql[query], {}, False, **whose, **values)


def _node_from_row(row: Row) -> EntityNode:
    type_, aliases, confidence = EntityType(row["type"]), tuple(row["aliases"]), round(row["confidence"], 3)
    counts = int(row["occurrences"]), int(row["documents"])
    return EntityNode(row["id"], type_, row["name"], aliases, confidence, *counts)


def _edge_from_row(row: Row, nodes: dict[str, EntityNode], said: Sequence[EvidenceQuote]) -> RelationEdge:
    source, target, strength = nodes[row["source_id"]], nodes[row["target_id"]], round(row["strength"], 3)
    counts = int(row["evidence"]), int(row["documents"])
    return RelationEdge(row["id"], row["type"], source, target, strength, *counts, tuple(said))


def _evidence_from_row(row: Row) -> EvidenceQuote:
    document, version, filename, page = (row[name] for name in ("document_id", "version_id", "filename", "page"))
    span, sure = (row["start_at"], row["end_at"]), round(row["sure"], 3)
    return EvidenceQuote(document, version, filename, page, *span, row["quote"], sure, row["found_by"])
