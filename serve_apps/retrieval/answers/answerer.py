"""Answers with citations: the documents' own best sentences, or a model's words checked against their quotes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from cluster.basics.scope import Scope
from cluster.models.embedding.vectors_cache import with_workspace_cache
from cluster.models.model_errors import AWAY, NoModel
from cluster.models.ports import Embedder
from cluster.models.routing.tasks import Task
from cluster.state.db.postgres import Database, load_queries
from serve_apps.retrieval.answers import abstain, evidence, generate, support
from serve_apps.retrieval.answers import conflicts as conflict
from serve_apps.retrieval.answers.abstain import UncoveredTerms
from serve_apps.retrieval.answers.attribute import PassageSentences
from serve_apps.retrieval.answers.cite import CitationList, Pages, citations_overlap
from serve_apps.retrieval.answers.claims import (
    AnswerClaim,
    Basis,
    ConflictValue,
    DroppedClaim,
    SourceConflict,
    as_said,
    text_of,
)
from serve_apps.retrieval.answers.document_request import extract_subject
from serve_apps.retrieval.answers.evidence import ScoredSentence
from serve_apps.retrieval.answers.quote import LEAST_WORDS, Citation, page_of
from serve_apps.retrieval.search.pipeline import SearchPipeline
from serve_apps.retrieval.search.query import SearchHit, SearchQuery, SearchResults
from serve_apps.retrieval.search.query_writer import REFUSALS, QueryWriter
from serve_apps.retrieval.text.values import find_values
from serve_apps.retrieval.text.words import content_words

SQL = load_queries(Path(__file__).with_name("answer.sql"))

NOT_FOUND = "Not found in the documents."
# The documents may well hold it: whoever would have read them did not reply.
NO_REPLY = "The language model did not reply, and no sentence of the documents answers this by itself."
COMMAND_ONLY = "the message says what to do, and names nothing to look for"
HITS = 8  # passages that are looked at
KNOWN = 24  # passages that are asked whether they know what a question names
MEASURED = 20  # sentences that are embedded, those that cover most of the question


@dataclass(frozen=True, slots=True)
class CitedAnswer:
    """Answer to a question from the documents, with its citations."""

    text: str  # with [n] where a citation supports it
    # `extractive`: sentences of the documents; `generated`: a model's, and the documents' where a part of it was left
    # out; `not_found`: nothing supports an answer
    mode: Literal["extractive", "generated", "not_found"]
    citations: tuple[Citation, ...]  # in the order of their numbers
    search: SearchResults  # what was found on the way
    model: str | None  # who wrote a generated answer
    fallback: str | None  # what was left out and why; None when nothing was
    claims: tuple[AnswerClaim, ...] = ()  # the sentences of the text
    conflicts: tuple[SourceConflict, ...] = ()  # where sources contradict each other; the text says so too
    dropped: tuple[DroppedClaim, ...] = ()  # what a model wrote and nothing supports
    abstained: str | None = None  # why there is no answer; None where there is one
    id: str | None = None  # under which it is stored; None where it is not


class DocumentAnswerer:
    """Answers questions from what a scope may see."""

    def __init__(
        self, search: SearchPipeline, database: Database, embedder: Embedder, writer: QueryWriter | None = None
    ) -> None:
        """`writer` asks the workspace's language models; without one, or where it has none, answers are extractive."""
        self._search, self._database, self._embedder, self._writer = search, database, embedder, writer

    async def ask(
        self, scope: Scope, question: str, agent_id: str | None = None, history: tuple[str, ...] = ()
    ) -> CitedAnswer:
        """Answer from the workspace's documents, or only from those linked to an agent, with its models and its money.

        What of a question is a command (`subject`) is not looked for; one that leans on `history` is searched for
        together with it. Raises Unavailable where Postgres cannot be reached. A model that cannot is left out, and
        `fallback` says so.
        """
        asked = extract_subject(question)
        query = SearchQuery(asked, limit=KNOWN, agent_id=agent_id, spread=False, history=history)
        results = await self._search.run(scope, query)
        strange = abstain.find_uncovered_terms(asked, results.hits)
        results = replace(results, hits=results.hits[:HITS])
        if not results.hits:
            nothing = abstain.abstention_reason((), strange) if asked else COMMAND_ONLY
            return _not_found_answer(results, nothing, fallback=results.fallback)
        cited = CitationList(results.hits, await self._load_pages(scope, results.hits))
        said: tuple[str, str] | None = None
        why: str | None = None
        dropped: tuple[DroppedClaim, ...] = ()
        if self._writer is not None and strange.share < 1:
            said, why = await self._write_answer(self._writer, scope, question, query, results)
        if said is not None:
            written, why, dropped = await self._verify_generated(scope, asked, results, cited, strange, *said)
            if written is not None:
                return written
        afresh = CitationList(results.hits, cited.pages)
        answer = await self._extract_answer(scope, asked, results, afresh, strange, why)
        if answer.mode == "not_found" and said is None and why is not None:
            answer = replace(answer, text=NO_REPLY, abstained=why)
        return replace(answer, dropped=dropped)

    @staticmethod
    async def _write_answer(
        writer: QueryWriter, scope: Scope, question: str, query: SearchQuery, results: SearchResults
    ) -> tuple[tuple[str, str] | None, str | None]:
        """(text, model) of what a model writes, or why none did; neither where none is configured."""
        sources = [generate.NumberedSource(f"{hit.filename}, page {hit.page}", hit.text) for hit in results.hits]
        wanted = generate.answer_request(question, sources, query.history)
        try:
            written = await writer.write(scope, query.agent_id, Task.RAG_ANSWER, wanted)
        except NoModel:
            return None, None
        except REFUSALS as error:
            return None, f"extractive, {error}"
        if not written.text.strip():
            return None, f"extractive, {written.model} replied without a word"
        return (written.text, written.model), None

    async def _verify_generated(
        self,
        scope: Scope,
        question: str,
        results: SearchResults,
        cited: CitationList,
        strange: UncoveredTerms,
        text: str,
        model: str,
    ) -> tuple[CitedAnswer | None, str | None, tuple[DroppedClaim, ...]]:
        """The model's answer with every claim checked, or why there is none, and what of it nothing supports."""
        claims, dropped, unmeasured = await self._verify_claims(question, generate.parse_claims(text), cited)
        fallback = _join_reasons(results.fallback, unmeasured)
        judged, away = list[ScoredSentence](), None
        if claims and (left_out(dropped) or all(one.basis == "attributed" for one in claims)):
            judged, away = await self._score_sentences(scope, question, results.hits)
        if claims and _claims_suffice(claims, judged, cited, strange):
            # The passages' own sentences stand where the model said what none says.
            more = _extract_claims(judged, cited, strange) if left_out(dropped) else []
            claims, fallback = (*claims, *more), _join_reasons(fallback, away)
            conflicts = _find_conflicts(question, cited, claims)
            shown, places = text_of(claims, conflicts), tuple(cited.all)
            answer = CitedAnswer(shown, "generated", places, results, model, fallback, claims, conflicts, dropped)
            return answer, None, dropped
        if generate.NOTHING in text:
            why = f"{model} found no answer in the passages"
            return replace(_not_found_answer(results, why, fallback=fallback), model=model, dropped=dropped), None, ()
        why = "answers the question" if claims else "stands in the passages"
        return None, f"extractive, nothing that {model} said {why}", dropped

    async def _verify_claims(
        self, question: str, written: Sequence[generate.ModelClaim], cited: CitationList
    ) -> tuple[tuple[AnswerClaim, ...], tuple[DroppedClaim, ...], str | None]:
        """Each claim with the citations that support it; the others with what is wrong with them.

        At the end why some were not compared by meaning, if nobody could.
        """
        kept, dropped, unmeasured = list[AnswerClaim](), list[DroppedClaim](), None
        passages = PassageSentences(question, cited.hits)
        for claim in dict.fromkeys(written):
            found = [place for n, quote in claim.evidence if (place := cited.place(n, quote))]
            basis: Basis = "quoted" if found else "attributed"
            if found:
                why, away = await self._find_objection(question, claim.text, found, cited)
                unmeasured = away or unmeasured
            elif sentences := passages.supporting(claim.text):
                found = [place for one in sentences if (place := cited.sentence(one))]
                why = None if len(found) == len(sentences) else "its page says something else by now"
            else:
                why = "its quote does not stand in its source" if claim.evidence else "no passage says it"
            if why is None:
                numbers = dict.fromkeys(cited.number(one) for one in found)
                kept.append(AnswerClaim(claim.text, tuple(numbers), basis))
            else:
                dropped.append(DroppedClaim(claim.text, why))
        return tuple(kept), tuple(dropped), unmeasured

    async def _find_objection(
        self, question: str, claim: str, found: Sequence[Citation], cited: CitationList
    ) -> tuple[str | None, str | None]:
        """Objection to a claim by its quotes, if any; and why the embedder did not compare them, if it was away."""
        quotes, about = [one.quote for one in found], cited.titles(found)
        near, away = None, None
        if support.word_overlap(claim, quotes, about) < support.LEAST_SHARED:
            (near,), away = await self._measure_similarity(self._embedder, claim, [" ".join(quotes)])
        return support.support_objection(claim, quotes, about, question, near), away

    async def _extract_answer(
        self,
        scope: Scope,
        question: str,
        results: SearchResults,
        cited: CitationList,
        strange: UncoveredTerms,
        why: str | None,
    ) -> CitedAnswer:
        judged, unmeasured = await self._score_sentences(scope, question, results.hits)
        claims, fallback = _extract_claims(judged, cited, strange), _join_reasons(why, results.fallback, unmeasured)
        if not claims:
            return _not_found_answer(results, abstain.abstention_reason(judged, strange), fallback=fallback)
        conflicts = _find_conflicts(question, cited, claims)
        text, places = text_of(claims, conflicts), tuple(cited.all)
        return CitedAnswer(text, "extractive", places, results, None, fallback, tuple(claims), conflicts)

    async def _score_sentences(
        self, scope: Scope, question: str, hits: Sequence[SearchHit]
    ) -> tuple[list[ScoredSentence], str | None]:
        sentences = evidence.split_hits(hits)
        titles = [" ".join(hit.titles) for hit in hits]
        async with self._database.transaction(scope) as tx:
            rows = await tx.all(SQL["lexemes"], texts=[question, *titles, *(one.text for one in sentences)])
        asked, *words = [row["words"] for row in rows]
        above, own = words[: len(hits)], words[len(hits) :]
        shares = evidence.question_coverage(asked, own, [above[one.hit] for one in sentences])
        order = sorted(range(len(sentences)), key=lambda at: -shares[at])[:MEASURED]
        near, why = await self._measure_similarity(
            with_workspace_cache(self._embedder, scope), question, [sentences[at].text for at in order]
        )
        return [ScoredSentence(sentences[at], shares[at], value) for at, value in zip(order, near, strict=True)], why

    async def _measure_similarity(
        self, embedder: Embedder, text: str, others: Sequence[str]
    ) -> tuple[Sequence[float | None], str | None]:
        """Cosine of the text to each of the others, or why nobody measured it."""
        if not others:
            return [], None
        try:
            vectors = await embedder.embed([text, *others])
        except AWAY as error:
            return [None] * len(others), f"words only, the embedder did not answer: {error}"
        return evidence.cosine_similarities(vectors), None

    async def _load_pages(self, scope: Scope, hits: Sequence[SearchHit]) -> Pages:
        places = sorted({(hit.version_id, span.page) for hit in hits for span in hit.spans})
        versions, numbers = [version for version, _ in places], [number for _, number in places]
        async with self._database.transaction(scope) as tx:
            rows = await tx.all(SQL["pages"], **scope.keys, versions=versions, numbers=numbers)
        return {(row["version_id"], row["number"]): page_of(row) for row in rows}


def _join_reasons(*reasons: str | None) -> str | None:
    return "; ".join(dict.fromkeys(one for one in reasons if one)) or None


def _not_found_answer(results: SearchResults, why: str, *, fallback: str | None) -> CitedAnswer:
    return CitedAnswer(NOT_FOUND, "not_found", (), results, None, fallback, abstained=why)


def left_out(dropped: Sequence[DroppedClaim]) -> bool:
    """True where more than a greeting was dropped."""
    return any(len(set(content_words(one.text))) >= LEAST_WORDS for one in dropped)


def _claims_suffice(
    claims: Sequence[AnswerClaim], judged: Sequence[ScoredSentence], cited: CitationList, strange: UncoveredTerms
) -> bool:
    """True where a model's remaining claims answer; if it quoted nothing, extracts are held to the same."""
    if any(one.basis == "quoted" for one in claims):
        return True
    fit = [cited.sentence(one.sentence) for one in judged if abstain.supports_answer(one, strange)]
    places = [cited.all[n - 1] for one in claims for n in one.citations]
    return any(citations_overlap(one, place) for one in fit if one for place in places)


def _extract_claims(
    judged: Sequence[ScoredSentence], cited: CitationList, strange: UncoveredTerms
) -> list[AnswerClaim]:
    """The passages' own best sentences, but for those that are cited already."""
    claims, before = [], tuple(cited.all)
    for one in evidence.best_sentences([one for one in judged if abstain.supports_answer(one, strange)]):
        place = cited.sentence(evidence.with_list(one.sentence, cited.hits[one.sentence.hit]))
        if place and not cited.covers(place) and not any(citations_overlap(place, other) for other in before):
            claims.append(AnswerClaim(as_said(place.quote), (cited.number(place),), "extracted"))
    return claims


def _find_conflicts(question: str, cited: CitationList, claims: Sequence[AnswerClaim]) -> tuple[SourceConflict, ...]:
    """Contradictions between cited sentences and others of the passages; the others are cited too."""
    if not any(find_values(one.quote) for one in cited.all):
        return ()
    sentences = evidence.split_hits(cited.hits)
    statements = [conflict.SourceStatement.of(one, cited.hits[one.hit]) for one in sentences]
    found: list[SourceConflict] = []
    told: set[int] = set()
    for n in dict.fromkeys(n for claim in claims for n in claim.citations):
        shown = _statement_around(cited.all[n - 1], statements, cited.hits)
        if shown is None or n in told:
            continue
        stated: list[ConflictValue] = []
        for own, other, value in conflict.find_contradictions(question, shown, statements):
            place = cited.sentence(other.sentence)
            if place is not None:
                stated = stated or [ConflictValue(own.shown, n)]
                stated.append(ConflictValue(value.shown, cited.number(place)))
        if stated:
            told |= {one.citation for one in stated}
            found.append(SourceConflict(tuple(stated)))
    return tuple(found)


def _statement_around(
    citation: Citation, statements: Sequence[conflict.SourceStatement], hits: Sequence[SearchHit]
) -> conflict.SourceStatement | None:
    """The statement that a quote is part of."""
    for one in statements:
        at = one.sentence
        same = hits[at.hit].version_id == citation.version_id and at.page == citation.page
        if same and at.start <= citation.start and citation.end <= at.end:
            return one
    return None
