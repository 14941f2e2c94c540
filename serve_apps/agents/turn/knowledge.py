"""Retrieval for turns: passages of the linked documents by a recorded search, as numbered sources."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from cluster.basics.errors import AosError
from cluster.basics.scope import Scope
from pipelines.documents.document import CaveatWeight
from serve_apps.agents.events import EventKind
from serve_apps.agents.intake.injected_context import named
from serve_apps.agents.turn.limits import ENDINGS
from serve_apps.agents.turn_ports import Journal, Json, Turn
from serve_apps.retrieval.answers.follow_up import LAST, is_follow_up
from serve_apps.retrieval.answers.quote import locate_quote
from serve_apps.retrieval.search.query import SearchFilters, SearchHit, SearchQuery, SearchResults, Strategy

RETRIEVAL = "retrieval"  # the kind of its steps
EXCERPT = 500  # characters
# Of the best fused score: what ends the list of a tool's call below it is left out. On 300 questions to SciFact that is
# a fifth of twenty passages, and no right document among the first five.
LEAST_SHARE = 0.3
_SHOWN = ("document_id", "version_id", "chunk_id", "filename", "page", "score")


class PassageSearch(Protocol):
    """Finds passages; `SearchPipeline` is the one with an index."""

    async def run(self, scope: Scope, query: SearchQuery) -> SearchResults:
        """Search and show. Raises Unavailable: Postgres cannot be reached."""
        ...


@dataclass(frozen=True, slots=True)
class SourcePassage:
    """A passage under its number; `spans` are (page, start, end) in page texts, which `text` joins by line ends."""

    n: int
    chunk_id: str
    document_id: str
    version_id: str
    filename: str
    page: int
    score: float
    text: str
    spans: tuple[tuple[int, int, int], ...]
    classification: str | None = None

    @property
    def title(self) -> str:
        """As models see it."""
        return f"{self.filename}, page {self.page}"

    def place(self, quote: str) -> tuple[int, int, int] | None:
        """(page, start, end) of a quote in its page's text, word for word; None where the source does not say it."""
        for page, start, piece in self._span_texts():
            found = locate_quote(quote, piece)
            if found:
                return page, start + found[0], start + found[1]
        return None

    def at(self, place: tuple[int, int, int]) -> str:
        """The page's text at a place that `place` gave."""
        for page, start, piece in self._span_texts():
            if page == place[0] and start <= place[1] and place[2] <= start + len(piece):
                return piece[place[1] - start : place[2] - start]
        return ""

    def _span_texts(self) -> Iterator[tuple[int, int, str]]:
        """(page, offset in the page, text) of each span."""
        at = 0
        for page, start, end in self.spans:
            yield page, start, self.text[at : at + end - start]
            at += end - start + 1


class SourceList:
    """All that a turn may quote: what was retrieved for it, then what its tools found, numbered as they come."""

    def __init__(self) -> None:
        self._known: list[SourcePassage] = []

    def __len__(self) -> int:
        return len(self._known)

    def all(self) -> tuple[SourcePassage, ...]:
        """In the order of their numbers."""
        return tuple(self._known)

    def get(self, n: int) -> SourcePassage | None:
        """By its number, from 1."""
        return self._known[n - 1] if 1 <= n <= len(self._known) else None

    def add(self, passages: Sequence[Mapping[str, Any]]) -> list[SourcePassage]:
        """Number passages as `PassageSource.find` gives them; one that is known keeps its number."""
        return [self._number(passage) for passage in passages]

    def _number(self, passage: Mapping[str, Any]) -> SourcePassage:
        spans = tuple((int(page), int(start), int(end)) for page, start, end in passage["spans"])
        for known in self._known:  # rows of one table may stand in one chunk
            if (known.chunk_id, known.version_id, known.spans) == (passage["chunk_id"], passage["version_id"], spans):
                return known
        plain = {name: passage[name] for name in _SHOWN}
        text = passage["content"] if "content" in passage else passage["text"]  # as older journals have it
        plain |= {"classification": passage.get("classification")}
        self._known.append(SourcePassage(n=len(self._known) + 1, text=text, spans=spans, **plain))
        return self._known[-1]


class AgentKnowledge:
    """Passages of the documents that are linked to an agent; an agent without links has none."""

    def __init__(self, search: PassageSearch) -> None:
        """`search` sees what the scope may see."""
        self._search = search

    async def find(
        self,
        scope: Scope,
        agent: str,
        query: str,
        limit: int,
        min_similarity: float | None,
        strategy: Strategy = "hybrid",
        *,
        round_robin: bool = False,
        history: tuple[str, ...] = (),
        least_share: float = LEAST_SHARE,
        documents: Sequence[str] = (),
    ) -> Json:
        """As the knowledge tools want it: {passages, generation, fallback}; `fallback` says what was left out.

        Args:
            min_similarity: least cosine similarity to the query; None admits all.
            round_robin: each document's best passage before any document's second.
            history: what was said before; a follow-up question is read together with the last two messages.
            documents: only in these, of those that are linked; empty for all.
            least_share: of the best fused score; what is below at the end of the list is left out.

        Raises Unavailable: the search cannot be reached.
        """
        # An agent asks again in other words by itself, and what its run asks of models stands in its journal. What it
        # answers from are the best passages, wherever they stand.
        asked = SearchQuery(
            query,
            limit,
            agent,
            min_similarity=min_similarity,
            strategy=strategy,
            enhance=False,
            round_robin=round_robin,
            spread=False,
            history=history,
            filters=SearchFilters(document_ids=tuple(documents) or None),
        )
        found = await self._search.run(scope, asked)
        passages = [_passage_data(hit) for hit in _leading_hits(found.hits, least_share)]
        return {"passages": passages, "generation": found.generation, "fallback": found.fallback}

    async def recall(self, turn: Turn, journal: Journal, limit: int, sources: SourceList) -> list[SourcePassage]:
        """The passages for a turn's question, recorded; told as RETRIEVED.

        A search that fails leaves the turn without sources, and the event says why.
        """
        if limit < 1 or not turn.message.strip():
            return []
        said = tuple(one.content for one in turn.history[-LAST:])
        history, documents = (said if is_follow_up(turn.message) else ()), named(turn.options)
        request: dict[str, Json] = {"query": turn.message, "agent": turn.agent.id, "limit": limit}
        request |= {"history": list(history)} if history else {}
        request |= {"documents": list(documents)} if documents else {}
        find = partial(self.find, turn.scope, turn.agent.id, turn.message, limit, None, history=history, least_share=0)
        try:
            found = await journal.step(RETRIEVAL, "recall", request, lambda _: find(documents=documents))
        except ENDINGS:
            raise
        except AosError as error:
            why = f"no sources: {error.code}: {error.detail or error.title}"
            journal.emit(EventKind.RETRIEVED, sources=[], generation=None, fallback=why)
            return []
        numbered = sources.add(found["passages"])
        shown = [{"n": one.n, **{name: getattr(one, name) for name in _SHOWN}, **class_of(one)} for one in numbered]
        journal.emit(EventKind.RETRIEVED, sources=shown, generation=found["generation"], fallback=found["fallback"])
        return numbered


def _leading_hits(hits: Sequence[SearchHit], share: float) -> Sequence[SearchHit]:
    """Without the end of the list as far as its fused scores are below a share of the best one."""
    fused = [hit.scores.get("fused") for hit in hits]
    least = share * max((one for one in fused if one is not None), default=0.0)
    return hits[: max((at for at, one in enumerate(fused, 1) if one is None or one >= least), default=0)]


def _passage_data(hit: SearchHit) -> Json:
    doubts = [one.detail for one in hit.caveats if one.weight is not CaveatWeight.NOTE]
    return {
        **({"caveats": doubts} if doubts else {}),  # so that an agent may say it, too
        **{name: getattr(hit, name) for name in _SHOWN},
        "similarity": hit.scores.get("vector_score"),
        "excerpt": " ".join(hit.text.split())[:EXCERPT],
        "content": hit.text,
        "spans": [[span.page, span.start, span.end] for span in hit.spans],
        **class_of(hit),
    }


def class_of(found: SearchHit | SourcePassage) -> Json:
    """The class of a passage as events and steps have it: left out where its document is of none."""
    return {} if found.classification is None else {"classification": found.classification}
