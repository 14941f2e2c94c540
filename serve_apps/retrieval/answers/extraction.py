"""Extracts answers from passages: the facts of their forms and tables, and their sentences, each scored and placed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cluster.basics.scope import Scope
from cluster.models.embedding.vectors_cache import with_workspace_cache
from cluster.models.model_errors import AWAY
from cluster.models.ports import Embedder
from cluster.state.db.postgres import Database, load_queries
from pipelines.documents.facts.find_facts import find_facts
from pipelines.documents.facts.page_fact import FactKind, PageFact
from serve_apps.retrieval.answers import abstain, evidence, fact_evidence
from serve_apps.retrieval.answers.abstain import UncoveredTerms
from serve_apps.retrieval.answers.answerability import QuestionSuppositions, drop_contradicted
from serve_apps.retrieval.answers.cite import CitationList, Pages, citations_overlap
from serve_apps.retrieval.answers.claims import AnswerClaim, as_said
from serve_apps.retrieval.answers.evidence import EvidenceSentence, ScoredSentence
from serve_apps.retrieval.answers.fact_evidence import RankedFact
from serve_apps.retrieval.answers.meant_documents import DocumentHead, MeantDocuments
from serve_apps.retrieval.answers.quote import page_of
from serve_apps.retrieval.answers.running_lines import RunningLines
from serve_apps.retrieval.search.query import SearchHit
from serve_apps.retrieval.text.question_shape import AskedShape, question_shape
from serve_apps.retrieval.text.rule_languages import ENGLISH, RuleLanguage
from serve_apps.retrieval.text.words import content_words

SQL = load_queries(Path(__file__).with_name("answer.sql"))

MEASURED = 20  # sentences that are embedded, those that cover most of the question
MOST_FACTS = 3  # of an answer
NEARLY = 0.9  # of the best fact's score


@dataclass(frozen=True, slots=True)
class AnswerSubject:
    """A question and what it is about."""

    question: str
    meant: MeantDocuments  # the documents, and the identifiers they are known by
    strange: UncoveredTerms  # what of it no passage speaks of
    language: RuleLanguage = ENGLISH


@dataclass(frozen=True, slots=True)
class PlacedFact:
    """A fact and where it stands."""

    ranked: RankedFact
    place: EvidenceSentence
    document: str  # its id


@dataclass(frozen=True, slots=True)
class AnswerEvidence:
    """What passages offer as an answer, best first."""

    facts: tuple[PlacedFact, ...]
    sentences: tuple[ScoredSentence, ...]
    unmeasured: str | None  # why meaning was not compared; None where it was
    contradiction: str | None = None  # what of the question its best sentences contradict, where none is left

    @property
    def best_score(self) -> float:
        """How well the best of them fits the question, 0 to 1."""
        return max([*(one.ranked.score for one in self.facts), *(one.score for one in self.sentences)], default=0.0)

    def reason_to_answer(self, subject: AnswerSubject) -> str | None:
        """Why they answer though a model that has read the passages found nothing; None where they should not."""
        best = _best_facts(self.facts, subject.strange)[:1]
        if subject.meant.documents and any(one.ranked.score >= self.best_score for one in best):
            return "a field of the document that is asked about holds one"
        if self.best_score - subject.strange.cost >= abstain.SURE:
            return "a sentence says nearly word for word what is asked"
        return None


class EvidenceReader:
    """Reads the pages of passages and scores what stands on them."""

    def __init__(self, database: Database, embedder: Embedder) -> None:
        """`embedder` compares a question with what answers it."""
        self._database, self._embedder = database, embedder

    async def load_heads(self, scope: Scope, hits: Sequence[SearchHit]) -> tuple[list[DocumentHead], RunningLines]:
        """How the documents of hits introduce themselves, and the lines that return at the edges of their pages."""
        versions = {hit.version_id: hit for hit in hits}
        async with self._database.transaction(scope) as tx:
            rows = await tx.all(SQL["edges"], **scope.keys, versions=list(versions))
        heads = [
            DocumentHead(versions[row["version_id"]].document_id, versions[row["version_id"]].filename, row["top"])
            for row in rows
            if row["number"] == 1
        ]
        return heads, RunningLines.of((row["version_id"], row["top"], row["bottom"]) for row in rows)

    async def load_pages(self, scope: Scope, hits: Sequence[SearchHit]) -> Pages:
        """The pages that hits stand on."""
        places = sorted({(hit.version_id, span.page) for hit in hits for span in hit.spans})
        versions, numbers = [version for version, _ in places], [number for _, number in places]
        async with self._database.transaction(scope) as tx:
            rows = await tx.all(SQL["pages"], **scope.keys, versions=versions, numbers=numbers)
        return {(row["version_id"], row["number"]): page_of(row) for row in rows}

    async def score(
        self, scope: Scope, subject: AnswerSubject, cited: CitationList, running: RunningLines
    ) -> AnswerEvidence:
        """The facts and sentences of the hits that may answer.

        Those of the documents that are meant are compared with the question without the names they are known by.
        """
        meant, whole = subject.meant, question_shape(subject.question)
        own = frozenset(at for at, hit in enumerate(cited.hits) if hit.document_id in meant.documents)
        rest = frozenset(range(len(cited.hits))) - own
        sentences = [
            one for one in evidence.split_hits(cited.hits) if not running.has(cited.hits[one.hit].version_id, one.text)
        ]
        facts = _find_hit_facts(cited)
        offered = [
            await self._score_hits(
                scope,
                subject.language,
                shape,
                cited.hits,
                [one for one in sentences if one.hit in among],
                [(fact, place) for fact, place in facts if place.hit in among],
                is_meant=among is own,
            )
            for shape, among in ((question_shape(subject.question, meant.named), own), (whole, rest))
            if among
        ]
        scored = [one for some in offered for one in some.sentences]
        fit = [one for one in scored if abstain.supports_answer(one, subject.strange)]
        kept, why = fit, None
        if subject.language.has("claims"):
            kept, why = drop_contradicted(fit, QuestionSuppositions.of(subject.question, meant.named), cited.hits)
        return AnswerEvidence(
            tuple(sorted((one for some in offered for one in some.facts), key=lambda one: -one.ranked.score)),
            tuple(kept if fit else scored),
            next((some.unmeasured for some in offered if some.unmeasured), None),
            why,
        )

    async def _score_hits(
        self,
        scope: Scope,
        language: RuleLanguage,
        shape: AskedShape,
        hits: Sequence[SearchHit],
        sentences: Sequence[EvidenceSentence],
        facts: Sequence[tuple[PageFact, EvidenceSentence]],
        *,
        is_meant: bool,
    ) -> AnswerEvidence:
        """Of documents that the question does not name, a fact is offered that answers no worse than any sentence."""
        titles = [" ".join(hit.titles) for hit in hits]
        shares = await self._cover_question(scope, language, shape.text, hits, titles, sentences)
        order = sorted(range(len(sentences)), key=lambda at: -shares[at])[:MEASURED]
        subject = {
            word for _, place in facts for title in hits[place.hit].headings[:1] for word in content_words(title)
        }
        headings = [fact_evidence.fact_heading(fact, subject) for fact, _ in facts]
        compared = [*(sentences[at].text for at in order), *headings]
        near, why = await self._measure_in(scope, language, shape.text, compared)
        scored = [ScoredSentence(sentences[at], shares[at], value) for at, value in zip(order, near, strict=False)]
        over = None if is_meant else [content_words(titles[place.hit]) for _, place in facts]
        said = [hits[at].text for at in {one.hit for one in sentences}]
        ranked = fact_evidence.rank_facts(shape, [fact for fact, _ in facts], subject, near[len(order) :], over, said)
        least = 0.0 if is_meant else max((one.score for one in scored), default=0.0)
        where = {id(fact): place for fact, place in facts}
        best = [(one, where[id(one.fact)]) for one in ranked if one.score >= least]
        placed = (PlacedFact(one, place, hits[place.hit].document_id) for one, place in best)
        return AnswerEvidence(tuple(placed), tuple(scored), why)

    async def _cover_question(
        self,
        scope: Scope,
        language: RuleLanguage,
        question: str,
        hits: Sequence[SearchHit],
        titles: Sequence[str],
        sentences: Sequence[EvidenceSentence],
    ) -> list[float]:
        """Share of the question that each sentence covers, both cut as the language of its passage is."""
        stemmers = [hit.stemmer for hit in hits]
        texts = [*titles, *(one.text for one in sentences)]
        each = [*stemmers, *(stemmers[one.hit] for one in sentences)]
        async with self._database.transaction(scope) as tx:
            of = {"question": question, "own": language.stemmer, "stemmers": sorted(set(stemmers))}
            asked = {row["stemmer"]: row["words"] for row in await tx.all(SQL["asked"], **of)}
            words = [row["words"] for row in await tx.all(SQL["lexemes"], texts=texts, stemmers=each)]
        above, own = words[: len(hits)], words[len(hits) :]
        shares = [0.0] * len(sentences)
        for stemmer, lexemes in asked.items():
            places = [at for at, one in enumerate(sentences) if stemmers[one.hit] == stemmer]
            over = [above[sentences[at].hit] for at in places]
            covered = evidence.question_coverage(lexemes, [own[at] for at in places], over)
            for at, share in zip(places, covered, strict=True):
                shares[at] = share
        return shares

    async def _measure_in(
        self, scope: Scope, language: RuleLanguage, text: str, others: Sequence[str]
    ) -> tuple[Sequence[float | None], str | None]:
        """Measure as `measure`; nothing is measured in a language that the embedder has not learnt.

        To a model of English all sentences in other letters are alike: their order would be chance.
        """
        embedder = with_workspace_cache(self._embedder, scope)
        try:
            learnt = language.has("meaning") or not (await embedder.facts()).is_english
        except AWAY:
            learnt = True  # it is asked for vectors, and that says what is wrong
        return await self.measure(embedder, text, others) if learnt else ([None] * len(others), None)

    async def measure(
        self, embedder: Embedder, text: str, others: Sequence[str]
    ) -> tuple[Sequence[float | None], str | None]:
        """Cosine of the text to each of the others, or why nobody measured it."""
        if not others:
            return [], None
        different = list(dict.fromkeys(others))
        try:
            vectors = await embedder.embed([text, *different])
        except AWAY as error:
            return [None] * len(others), f"words only, the embedder did not answer: {error}"
        near: Mapping[str, float] = dict(zip(different, evidence.cosine_similarities(vectors), strict=True))
        return [near[one] for one in others], None


def extract_claims(offered: AnswerEvidence, cited: CitationList, strange: UncoveredTerms) -> list[AnswerClaim]:
    """The passages' own best facts and sentences, but for those that are cited already."""
    claims, before = [], tuple(cited.all)
    facts = _best_facts(offered.facts, strange)
    same = len({one.ranked.fact.label for one in facts}) < len(facts)
    several = len({one.document for one in facts}) > 1
    for one in facts:
        place = cited.sentence(one.place)
        if place and not any(citations_overlap(place, other) for other in before):
            fact = one.ranked.fact
            text = f"{fact.section}, {fact.sentence}" if same and fact.section else fact.sentence
            text = f"{place.filename}, {text}" if several else text
            claims.append(AnswerClaim(as_said(text), (cited.number(place),), "extracted"))
    shown = tuple(cited.all)
    # Beside a field that answers, a sentence that fits less well only stands in its way.
    least = NEARLY * facts[0].ranked.score if facts else 0.0
    fit = [one for one in offered.sentences if one.score >= least and abstain.supports_answer(one, strange)]
    for sentence in evidence.best_sentences(fit, most=3 - len(claims)):
        place = cited.sentence(evidence.with_list(sentence.sentence, cited.hits[sentence.sentence.hit]))
        if place and not cited.covers(place) and not any(citations_overlap(place, other) for other in shown):
            claims.append(AnswerClaim(as_said(place.quote), (cited.number(place),), "extracted"))
    return claims


def _best_facts(facts: Sequence[PlacedFact], strange: UncoveredTerms) -> list[PlacedFact]:
    """The best fact and those nearly as good, each value once; with it what other sections state under its label."""
    fit = [one for one in facts if abstain.supports_answer(one.ranked, strange)]
    if strange.unknown or strange.dates or not fit:
        return []  # a form holds no answer about somebody else
    least, label, seen, best = NEARLY * fit[0].ranked.score, fit[0].ranked.fact.label, set[str](), list[PlacedFact]()
    for one in fit:
        fact = one.ranked.fact
        said = f"{one.document}: {fact.section}: {fact.sentence}"
        if said not in seen and (one.ranked.score >= least or (fact.kind is FactKind.FIELD and fact.label == label)):
            seen.add(said)
            best.append(one)
    return best[:MOST_FACTS]


def _find_hit_facts(cited: CitationList) -> list[tuple[PageFact, EvidenceSentence]]:
    """The facts that stand within the spans of the hits, each with its place."""
    found = []
    for (version, number), page in cited.pages.items():
        spans = [
            (at, span)
            for at, hit in enumerate(cited.hits)
            for span in hit.spans
            if hit.version_id == version and span.page == number
        ]
        for fact in find_facts(page.text, page.words):
            at = next((at for at, span in spans if span.start <= fact.start and fact.end <= span.end), None)
            if at is not None:
                quote = page.text[fact.start : fact.end]
                found.append((fact, EvidenceSentence(at, number, fact.start, fact.end, quote)))
    return found
