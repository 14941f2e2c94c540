"""Lists of documents and summaries of one, each line with the place that it is from; no model is needed."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cluster.basics.scope import Scope
from cluster.models.embedding.vectors_cache import with_workspace_cache
from cluster.models.model_errors import AWAY
from cluster.models.ports import Embedder
from cluster.state.db.postgres import Database, Row, load_queries
from serve_apps.retrieval.answers import abstain, evidence
from serve_apps.retrieval.answers.cite import CitationList, cite_page
from serve_apps.retrieval.answers.claims import AnswerClaim, as_said
from serve_apps.retrieval.answers.evidence import EvidenceSentence
from serve_apps.retrieval.answers.extraction import AnswerSubject, EvidenceReader
from serve_apps.retrieval.answers.follow_up import LAST, expand_question
from serve_apps.retrieval.answers.meant_documents import MeantDocuments
from serve_apps.retrieval.answers.quote import Citation, page_of
from serve_apps.retrieval.answers.running_lines import RunningLines
from serve_apps.retrieval.overviews.central_sentences import choose_central
from serve_apps.retrieval.overviews.overview_request import OverviewRequest
from serve_apps.retrieval.search.pipeline import SearchPipeline
from serve_apps.retrieval.search.query import SearchHit, SearchQuery, SearchResults
from serve_apps.retrieval.text.rule_languages import rule_language
from serve_apps.retrieval.text.words import content_words

SQL = load_queries(Path(__file__).with_name("overview.sql"))
MOST_LISTED = 50  # documents of a list of all
MOST_ABOUT = 10  # documents of a list about something
LOOKED_AT = 40  # passages of a document that is summarised, and of those that are searched for a list
MOST_SENTENCES = 150  # that a summary is chosen from
LONGEST_LINE = 200  # characters of the line by which a document introduces itself
SHOWN_TO_MODEL = 8  # passages of a document, spread over it
SPOKEN_OF = 0.5  # share of the words that were said last which stand in a document that was spoken of
_WORDLESS = re.compile(r"[\W_]*")
_NAME_PARTS = re.compile(r"[\s._-]+")
_KINDS = frozenset(content_words("document documents file files pdf text report paper dokument datei bericht"))


@dataclass(frozen=True, slots=True)
class DocumentOverview:
    """An overview: its lines with their citations, and what was looked at on the way."""

    claims: tuple[AnswerClaim, ...]
    citations: tuple[Citation, ...]
    results: SearchResults
    notes: tuple[str, ...] = ()  # what is not in it
    unmeasured: str | None = None  # why meaning was not compared; None where it was


@dataclass(frozen=True, slots=True)
class DocumentPassages:
    """The document that a summary is wanted of: its passages in their order, and the running lines on its pages."""

    results: SearchResults
    cited: CitationList
    running: RunningLines

    def shown_to_model(self) -> SearchResults:
        """Passages for a model, as many as it is shown, spread over the document."""
        hits = self.results.hits
        step = max(1.0, len(hits) / SHOWN_TO_MODEL)
        return replace(self.results, hits=tuple(hits[int(n * step)] for n in range(min(len(hits), SHOWN_TO_MODEL))))


class OverviewReader:
    """Finds what overviews are of, and writes them."""

    def __init__(self, search: SearchPipeline, database: Database, embedder: Embedder) -> None:
        """`embedder` compares the sentences of a document with its whole."""
        self._search, self._database, self._embedder = search, database, embedder
        self._evidence = EvidenceReader(database, embedder)

    async def list_documents(
        self, scope: Scope, request: OverviewRequest, agent: str | None
    ) -> DocumentOverview | None:
        """All documents by name with the line each begins with, or those that say something about the subject.

        None where there are none.
        """
        if not request.subject:
            return await self._list_all(scope, agent)
        return await self._list_about(scope, request.subject, agent)

    async def find_document(
        self, scope: Scope, request: OverviewRequest, agent: str | None, history: tuple[str, ...]
    ) -> DocumentPassages | None:
        """The document that a summary is wanted of; None where it cannot be told.

        It is called by its file name or by its title; one that was spoken of before is found by what was said. Who
        asks for a part of a document asks a question.
        """
        if not request.subject and not history:
            return None
        document = await self._find_named(scope, request.subject, agent)
        subject = request.subject or expand_question("that document", history)
        query = SearchQuery(subject, limit=1, agent_id=agent, enhance=False)
        results = await self._search.run(scope, query)
        if document is None and results.hits:
            document = results.hits[0].document_id
        if document is None:
            return None
        named = {"document": document, "agent": agent, "most": LOOKED_AT}
        chunks = await self._database.read(scope, SQL["chunks"], **scope.keys, **named)
        hits = await self._search.load_hits(scope, [row["id"] for row in chunks])
        if not hits:
            return None
        if not (_is_titled(hits[0], request.subject) if request.subject else _is_spoken_of(hits, history)):
            return None
        _, running = await self._evidence.load_heads(scope, hits)
        cited = CitationList(hits, await self._evidence.load_pages(scope, hits))
        return DocumentPassages(replace(results, hits=hits, fallback=None), cited, running)

    async def summarise(self, scope: Scope, document: DocumentPassages, sentences: int) -> DocumentOverview | None:
        """The document's own most central sentences, in its order; None where it has none."""
        offered = [
            one
            for one in evidence.split_hits(document.results.hits)
            if not document.running.has(document.results.hits[one.hit].version_id, one.text)
        ]
        offered = _spread_sentences(offered, MOST_SENTENCES)
        if not offered:
            return None
        unmeasured = None
        try:
            embedder = with_workspace_cache(self._embedder, scope)
            chosen = choose_central(await embedder.embed([one.text for one in offered]), sentences)
        except AWAY as error:
            chosen, unmeasured = list(range(min(sentences, len(offered)))), f"its first sentences, {error}"
        claims = _cite_sentences(document.cited, [(offered[at], "") for at in chosen])
        return DocumentOverview(claims, tuple(document.cited.all), document.results, (), unmeasured)

    async def _find_named(self, scope: Scope, text: str, agent: str | None) -> str | None:
        """The document whose file name stands in a text."""
        if not text:
            return None
        rows = await self._database.read(scope, SQL["named"], **scope.keys, text=text, agent=agent, most=1)
        return rows[0]["document_id"] if rows else None

    async def _list_all(self, scope: Scope, agent: str | None) -> DocumentOverview | None:
        rows = await self._database.read(scope, SQL["list"], **scope.keys, agent=agent, most=MOST_LISTED)
        if not rows:
            return None
        claims, citations = list[AnswerClaim](), list[Citation]()
        for row in rows:
            cited = _first_line(row, len(citations) + 1)
            pages = f"{row['page_count']} page{'' if row['page_count'] == 1 else 's'}"
            if cited is None:
                claims.append(AnswerClaim(f"{row['filename']} ({pages})", (), "extracted"))
            else:
                citations.append(cited)
                text = f"{row['filename']} ({pages}): {as_said(cited.quote)}"
                claims.append(AnswerClaim(text, (cited.n,), "extracted"))
        total = int(rows[0]["total"])
        shown = f"{len(rows)} of {total:,} documents are named here." if total > len(rows) else f"{total} in all."
        query = SearchQuery("", limit=len(rows), agent_id=agent)
        results = SearchResults(query, (), 0, "off", "off", "off: not asked for", None, None, {})
        return DocumentOverview(tuple(claims), tuple(citations), results, (shown,))

    async def _list_about(self, scope: Scope, subject: str, agent: str | None) -> DocumentOverview | None:
        """Each document with the sentence that says most about the subject."""
        query = SearchQuery(subject, limit=LOOKED_AT, agent_id=agent, round_robin=True)
        results = await self._search.run(scope, query)
        if not results.hits:
            return None
        _, running = await self._evidence.load_heads(scope, results.hits)
        cited = CitationList(results.hits, await self._evidence.load_pages(scope, results.hits))
        language = rule_language(subject, [hit.stemmer for hit in results.hits])
        strange = abstain.find_uncovered_terms(subject, results.hits, language=language)
        asked = AnswerSubject(subject, MeantDocuments(), strange, language)
        offered = await self._evidence.score(scope, asked, cited, running)
        fit = [one for one in offered.sentences if abstain.supports_answer(one, strange)]
        best: dict[str, tuple[EvidenceSentence, float]] = {}
        for one in fit:
            document = results.hits[one.sentence.hit].document_id
            if document not in best or one.score > best[document][1]:
                best[document] = one.sentence, one.score
        for sentence in evidence.split_hits(results.hits):
            hit = results.hits[sentence.hit]
            if hit.document_id not in best and _is_titled(hit, subject):
                best[hit.document_id] = sentence, 0.0
        if not best:
            return None
        ranked = sorted(best.values(), key=lambda one: -one[1])
        lines = [(one, f"{results.hits[one.hit].filename}: ") for one, _ in ranked[:MOST_ABOUT]]
        claims = _cite_sentences(cited, lines)
        return DocumentOverview(claims, tuple(cited.all), results, (), offered.unmeasured)


def _cite_sentences(cited: CitationList, lines: Sequence[tuple[EvidenceSentence, str]]) -> tuple[AnswerClaim, ...]:
    """Claims of sentences, each behind its lead; one whose page says something else by now is left out."""
    claims = []
    for sentence, lead in lines:
        if place := cited.sentence(sentence):
            claims.append(AnswerClaim(f"{lead}{as_said(place.quote)}", (cited.number(place),), "extracted"))
    return tuple(claims)


def _is_titled(first: SearchHit, subject: str) -> bool:
    """True where the words of a subject all stand in a document's title, in its file name or in its first line.

    `first`: its first passage. The titles of sections name parts of it: who asks for one asks a question.
    """
    asked = set(content_words(" ".join(_NAME_PARTS.split(subject)))) - _KINDS
    line = first.text.lstrip()[:LONGEST_LINE].partition("\n")[0]
    said = " ".join([*first.headings[:1], line, *_NAME_PARTS.split(first.filename)])
    return bool(asked) and asked <= set(content_words(said))


def _is_spoken_of(hits: Sequence[SearchHit], history: Sequence[str]) -> bool:
    """True where most of what was said last stands in a document."""
    said = set(content_words(" ".join(history[-LAST:])))
    known = {word for hit in hits for text in (hit.text, *hit.titles) for word in content_words(text)}
    return len(said & known) >= SPOKEN_OF * len(said) > 0


def _spread_sentences(sentences: Sequence[EvidenceSentence], most: int) -> list[EvidenceSentence]:
    """At most so many of them, evenly over the text."""
    step = max(1.0, len(sentences) / most)
    return [sentences[int(n * step)] for n in range(min(len(sentences), most))]


def _first_line(row: Row, n: int) -> Citation | None:
    """The first line of a document's first page that has words, cut where it is long; None where there is none."""
    if row["text"] is None:
        return None
    page, start = page_of(row), 0
    for line in page.text.splitlines(keepends=True):
        if not _WORDLESS.fullmatch(line):
            break
        start += len(line)
    else:
        return None
    start += len(line) - len(line.lstrip())
    end = start + len(line.strip()[:LONGEST_LINE].rstrip())
    return cite_page(row, start, end, n=n)
