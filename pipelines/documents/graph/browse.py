"""The graph as people and agents see it: what is named, how it hangs together, and which pages say so."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cluster.basics.errors import NotFound
from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database, Row, load_queries
from pipelines.documents.graph import clues
from pipelines.documents.graph.lexicon import Lexicon
from pipelines.documents.graph.model import EntityType
from pipelines.documents.graph.names import SMALL, canonical, singular
from pipelines.documents.graph.word_spans import split

MOST_WORDS = 60  # of a question that are looked at
LONGEST_NAME = 6  # words
LEAST = 0.5  # of an entity's words that a question has to name


@dataclass(frozen=True, slots=True)
class Wanted:
    """Filter on entities; None leaves a condition out, `agent` (a UUID) keeps only what is linked to it."""

    text: str | None = None
    type: EntityType | None = None
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """An entity. All of it is what the caller's own documents say.

    Attributes:
        name: as it is written most often.
        confidence: 0 to 1, the surest mention's.
        occurrences, documents: how often, and how many documents speak of it.
    """

    id: str
    type: EntityType
    name: str
    aliases: tuple[str, ...]
    confidence: float
    occurrences: int
    documents: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """A sentence that says so: characters [start, end) of a page's text; `sure` is 0 to 1."""

    document_id: str
    version_id: str
    filename: str
    page: int
    start: int
    end: int
    quote: str
    sure: float
    found_by: str

    @property
    def url(self) -> str:
        """Path of the page in the API."""
        return f"/api/documents/{self.document_id}/pages/{self.page}"


@dataclass(frozen=True, slots=True)
class Edge:
    """A relation, read from source to target; `sentences` says how many there are, `evidence` holds the clearest."""

    id: str
    type: str
    source: Node
    target: Node
    strength: float
    sentences: int
    documents: int
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the graph; `total` is how many entities would have fitted."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    total: int = 0


class KnowledgeGraph:
    """Reads the graph. Whoever asks sees what stands in current versions of documents that they may read."""

    def __init__(self, database: Database, lexicon: Lexicon) -> None:
        """Queries are read from browse.sql beside this file; `lexicon` knows other spellings of what is asked for."""
        self._db, self._lexicon = database, lexicon
        self._sql = load_queries(Path(__file__).with_suffix(".sql"))

    async def search(self, scope: Scope, wanted: Wanted, skip: int, limit: int) -> Part:
        """Entities, best first: those that the text names, or without one those that most documents speak of."""
        if wanted.text is None:
            return await self._nodes(scope, wanted, None, skip, limit)
        ids = await self._named(scope, wanted, wanted.text, skip + limit, whole=False)
        found = await self._nodes(scope, wanted, ids, 0, len(ids))
        order = {id_: place for place, id_ in enumerate(ids)}
        nodes = sorted(found.nodes, key=lambda node: order[node.id])
        return Part(tuple(nodes[skip : skip + limit]), (), len(nodes))

    async def show(
        self, scope: Scope, entity: str, *, agent: str | None = None, relations: int = 50, evidence: int = 3
    ) -> tuple[Node, tuple[Evidence, ...], tuple[Edge, ...]]:
        """An entity, where it is named, and its relations with their evidence.

        Raises:
            NotFound: there is none, or no document that says so may be read.
        """
        wanted = Wanted(agent=agent)
        found = await self._nodes(scope, wanted, [entity], 0, 1)
        if not found.nodes:
            raise NotFound(f"entity {entity}")
        rows = await self._all(scope, "mentions", wanted, entity=entity, limit=20)
        edges = await self._edges(scope, wanted, [entity], among=False, limit=relations, each=evidence)
        return found.nodes[0], tuple(_evidence(row) for row in rows), edges

    async def ask(self, scope: Scope, agent: str | None, question: str, limit: int) -> Part:
        """Entities that a question names, and their relations with the clearest evidence."""
        wanted = Wanted(agent=agent)
        ids = await self._named(scope, wanted, question, limit, whole=True)
        if not ids:
            return Part((), ())
        found = await self._nodes(scope, wanted, ids, 0, limit)
        order = {id_: place for place, id_ in enumerate(ids)}
        nodes = tuple(sorted(found.nodes, key=lambda node: order[node.id]))
        edges = await self._edges(scope, wanted, ids, among=False, limit=2 * limit, each=2)
        return Part(nodes, edges, len(nodes))

    async def view(self, scope: Scope, wanted: Wanted, center: str | None, limit: int) -> Part:
        """Subgraph to draw: entities, and every relation between two of them.

        Args:
            scope: whose documents.
            wanted: which entities; those that they are related to come with them where a text or a center is given.
            center: an entity around which to draw.
            limit: entities at most.

        Raises:
            NotFound: there is no such center.
        """
        if center is None and wanted.text is None:
            found = await self._nodes(scope, wanted, None, 0, limit)
            return replace(found, edges=await self._among(scope, wanted, found.nodes))
        if center is not None:
            first = await self._nodes(scope, Wanted(agent=wanted.agent), [center], 0, 1)
            if not first.nodes:
                raise NotFound(f"entity {center}")
        else:
            first = await self.search(scope, wanted, 0, limit)
        around = await self._edges(
            scope, wanted, [node.id for node in first.nodes], among=False, limit=2 * limit, each=0
        )
        nodes = {node.id: node for node in first.nodes}
        for node in (node for edge in around for node in (edge.source, edge.target)):
            if len(nodes) < limit and (wanted.type is None or node.type is wanted.type):
                nodes.setdefault(node.id, node)
        kept = tuple(nodes.values())
        return Part(kept, await self._among(scope, wanted, kept), max(first.total, len(kept)))

    async def _among(self, scope: Scope, wanted: Wanted, nodes: Sequence[Node]) -> tuple[Edge, ...]:
        ids = [node.id for node in nodes]
        return await self._edges(scope, wanted, ids, among=True, limit=4 * len(ids), each=1) if ids else ()

    async def _named(self, scope: Scope, wanted: Wanted, text: str, depth: int, *, whole: bool) -> list[str]:
        """Ids of what a text names, best first; `whole`: it is a question, and no beginning of a name."""
        words = split(text)[:MOST_WORDS]
        names = list(dict.fromkeys(self._names(words)))
        single = [word.casefold() for word in words if word.casefold() not in clues.PLAIN | SMALL]
        single = list(dict.fromkeys([*single, *map(singular, single)]))
        prefix = "" if whole else canonical(text, EntityType.LOCATION)
        rows = await self._db.read(
            scope,
            self._sql["named"],
            {},
            False,
            names=names,
            words=single,
            prefix=prefix,
            type=wanted.type,
            agent=wanted.agent,
            depth=depth,
            least=LEAST,
        )
        return [row["id"] for row in rows]

    def _names(self, words: Sequence[str]) -> Iterator[str]:
        """Every run of words as the names that it could be."""
        for length in range(min(LONGEST_NAME, len(words)), 0, -1):
            for start in range(len(words) - length + 1):
                part = " ".join(words[start : start + length])
                if length == 1 and part.casefold() in clues.PLAIN | SMALL:
                    continue
                known = self._lexicon.term(part)
                if known is not None:
                    yield canonical(known.name, known.type)
                for kind in (EntityType.CONCEPT, EntityType.ORGANIZATION, EntityType.PERSON):
                    yield canonical(part, kind)

    async def _nodes(self, scope: Scope, wanted: Wanted, ids: list[str] | None, skip: int, limit: int) -> Part:
        if ids == [] or limit < 1:
            return Part((), ())
        rows = await self._all(scope, "entities", wanted, type=wanted.type, ids=ids, skip=skip, limit=limit)
        return Part(tuple(_node(row) for row in rows), (), int(rows[0]["total"]) if rows else 0)

    async def _edges(
        self, scope: Scope, wanted: Wanted, ids: list[str], *, among: bool, limit: int, each: int
    ) -> tuple[Edge, ...]:
        rows = await self._all(scope, "relations", wanted, ids=ids, among=among, limit=limit)
        if not rows:
            return ()
        ends = list({end for row in rows for end in (row["source_id"], row["target_id"])})
        nodes = {
            node.id: node for node in (await self._nodes(scope, replace(wanted, type=None), ends, 0, len(ends))).nodes
        }
        said: dict[str, list[Evidence]] = {}
        if each:
            named = [row["id"] for row in rows]
            for row in await self._all(scope, "evidence", wanted, ids=named, each=each):
                said.setdefault(row["relation_id"], []).append(_evidence(row))
        # An end that cannot be shown any more was taken away between two queries.
        return tuple(
            _edge(row, nodes, said.get(row["id"], []))
            for row in rows
            if row["source_id"] in nodes and row["target_id"] in nodes
        )

    async def _all(self, scope: Scope, query: str, wanted: Wanted, **values: object) -> list[Row]:
        whose = {"tenant": scope.tenant, "workspace": scope.workspace, "agent": wanted.agent}
        # Planned each time: whether entities are given decides which index is the right one.
        return await self._db.read(scope, self._sql[query], {}, False, **whose, **values)


def _node(row: Row) -> Node:
    return Node(
        row["id"],
        EntityType(row["type"]),
        row["name"],
        tuple(row["aliases"]),
        round(row["confidence"], 3),
        int(row["occurrences"]),
        int(row["documents"]),
    )


def _edge(row: Row, nodes: dict[str, Node], said: Sequence[Evidence]) -> Edge:
    return Edge(
        row["id"],
        row["type"],
        nodes[row["source_id"]],
        nodes[row["target_id"]],
        round(row["strength"], 3),
        int(row["evidence"]),
        int(row["documents"]),
        tuple(said),
    )


def _evidence(row: Row) -> Evidence:
    return Evidence(
        row["document_id"],
        row["version_id"],
        row["filename"],
        row["page"],
        row["start_at"],
        row["end_at"],
        row["quote"],
        round(row["sure"], 3),
        row["found_by"],
    )
