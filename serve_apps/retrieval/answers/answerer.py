"""Answers with citations: the documents' own best sentences, or a model's words checked against their quotes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

from cluster.basics.scope import Scope
from cluster.models.messages import ConnectionFallback
from cluster.models.model_errors import NoModel
from cluster.models.ports import Embedder
from cluster.models.routing.tasks import Task
from cluster.state.db.postgres import Database
from serve_apps.retrieval.answers import abstain, generate, support
from serve_apps.retrieval.answers.abstain import UncoveredTerms
from serve_apps.retrieval.answers.attribute import PassageSentences
from serve_apps.retrieval.answers.calculated import TableAnswerer
from serve_apps.retrieval.answers.cite import CitationList, citations_overlap
from serve_apps.retrieval.answers.claims import AnswerClaim, Basis, DroppedClaim, SourceConflict, left_out, text_of
from serve_apps.retrieval.answers.conflicts import find_source_conflicts
from serve_apps.retrieval.answers.document_request import extract_subject
from serve_apps.retrieval.answers.draft import DraftText, ShowDraft
from serve_apps.retrieval.answers.extraction import AnswerEvidence, AnswerSubject, EvidenceReader, extract_claims
from serve_apps.retrieval.answers.follow_up import expand_question, is_follow_up
from serve_apps.retrieval.answers.meant_documents import MeantDocuments, find_meant_documents
from serve_apps.retrieval.answers.quote import Citation
from serve_apps.retrieval.answers.running_lines import RunningLines
from serve_apps.retrieval.overviews.document_overview import DocumentOverview, OverviewReader
from serve_apps.retrieval.overviews.overview_request import OverviewRequest, find_overview_request
from serve_apps.retrieval.search.pipeline import SearchPipeline
from serve_apps.retrieval.search.query import SearchHit, SearchQuery, SearchResults
from serve_apps.retrieval.search.query_writer import REFUSALS, ModelSpend, QueryWriter, WriterReply
from serve_apps.retrieval.tables.calculation import Calculation
from serve_apps.retrieval.tables.sandboxed_sql import BadQuery
from serve_apps.retrieval.tables.table_store import TooManyRows
from serve_apps.retrieval.text.identifiers import find_identifiers
from serve_apps.retrieval.text.rule_languages import ENGLISH, RuleLanguage, rule_language

NOT_FOUND = "Not found in the documents."
# The documents may well hold it: whoever would have read them did not reply.
NO_REPLY = "The language model did not reply, and no sentence of the documents answers this by itself."
COMMAND_ONLY = "the message says what to do, and names nothing to look for"
HITS = 8  # passages that are looked at
KNOWN = 24  # passages that are asked whether they know what a question names
NO_EVIDENCE = AnswerEvidence((), (), None)


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
    calculation: Calculation | None = None  # the query over tables that gave it; None of all other answers
    spend: ModelSpend | None = None  # what the model took that was asked for it; None where none replied
    left: tuple[ConnectionFallback, ...] = ()  # connections that were asked before the one that replied
    judged: RuleLanguage = ENGLISH  # the language that the question was read in, and the rules that know it
    support: float | None = None  # how well the best evidence of an extracted answer fits, up to 1; None of others


class DocumentAnswerer:
    """Answers questions from what a scope may see."""

    def __init__(
        self,
        search: SearchPipeline,
        database: Database,
        embedder: Embedder,
        writer: QueryWriter | None = None,
        shows_drafts: Callable[[], bool] = lambda: True,
    ) -> None:
        """`writer` asks the workspace's language models; without one, or where it has none, answers are extractive.

        `shows_drafts` tells, at each answer, whether a reader may see what a model writes before it is checked.
        """
        self._search, self._embedder, self._writer, self._shows_drafts = search, embedder, writer, shows_drafts
        self._evidence = EvidenceReader(database, embedder)
        self._tables = TableAnswerer(database, embedder)
        self._overviews = OverviewReader(search, database, embedder)

    async def ask(
        self,
        scope: Scope,
        question: str,
        agent_id: str | None = None,
        history: tuple[str, ...] = (),
        draft: ShowDraft | None = None,
    ) -> CitedAnswer:
        """Answer from the workspace's documents, or only from those linked to an agent, with its models and its money.

        What of a question is a command (`subject`) is not looked for; one that leans on `history` is searched for
        together with it. `draft` is shown what a model writes while it does. Raises Unavailable where Postgres cannot
        be reached. A model that cannot is left out, and `fallback` says so.
        """
        if request := find_overview_request(question):
            overview = await self._give_overview(scope, question, request, agent_id, history, draft)
            if overview is not None:
                return overview
        asked = extract_subject(question)
        query = SearchQuery(asked, limit=KNOWN, agent_id=agent_id, spread=False, history=history)
        results = await self._search.run(scope, query)
        if not results.hits:
            nothing = abstain.abstention_reason((), UncoveredTerms()) if asked else COMMAND_ONLY
            return _not_found_answer(results, nothing, fallback=results.fallback)
        about = asked if find_identifiers(asked) else expand_question(asked, history)
        meant, heads, running = await self._find_meant(scope, query, about, results)
        leans = is_follow_up(asked) and bool(history)  # what it leans on is no condition that a table knows
        calculated, results = (None, results) if leans else await self._calculate_answer(scope, query, results, meant)
        if calculated is not None:
            return calculated
        return await self._answer_from_passages(scope, question, query, results, (meant, heads, running), draft)

    async def _calculate_answer(
        self, scope: Scope, query: SearchQuery, results: SearchResults, meant: MeantDocuments
    ) -> tuple[CitedAnswer | None, SearchResults]:
        """The answer of tables, if they give one, and the results, which say why a calculation was not made."""
        try:
            calculated = await self._tables.answer(scope, query.text, query.agent_id, results.hits, meant)
        except (BadQuery, TooManyRows) as error:
            return None, replace(results, fallback=_join_reasons(results.fallback, f"not calculated, {error}"))
        if calculated is None:
            return None, results
        calculation, claims, places = calculated
        text = "\n".join([text_of(claims, ()), *calculation.notes])
        why = results.fallback
        answer = CitedAnswer(text, "extractive", places, results, None, why, claims, calculation=calculation)
        return answer, results

    async def _answer_from_passages(
        self,
        scope: Scope,
        question: str,
        query: SearchQuery,
        results: SearchResults,
        known: tuple[MeantDocuments, list[str], RunningLines],
        draft: ShowDraft | None,
    ) -> CitedAnswer:
        """The answer of a model, checked, or of the passages' own sentences; `known` is from `_find_meant`."""
        asked, (meant, heads, running) = query.text, known
        own = await self._load_meant(scope, query, meant)
        language = rule_language(asked, [hit.stemmer for hit in results.hits])
        known_of = [*(text for hit in own for text in (hit.text, *hit.titles)), *heads] if own else None
        strange = abstain.find_uncovered_terms(asked, (*own, *results.hits), known_of, language)
        others = (hit for hit in results.hits if hit.document_id not in meant.documents | meant.rivals)
        results = replace(results, hits=(*own, *islice(others, HITS)))
        subject = AnswerSubject(asked, meant, strange, language)
        cited = CitationList(results.hits, await self._evidence.load_pages(scope, results.hits))
        said: WriterReply | None = None
        why: str | None = None
        dropped: tuple[DroppedClaim, ...] = ()
        if self._writer is not None and strange.share < 1:
            said, why = await self._write_answer(self._writer, scope, question, query, results, draft)
        results = results if said is None else _with_left(results, said)
        if said is not None and why is None:
            written, why, dropped = await self._verify_generated(scope, subject, results, cited, running, said)
            if written is not None:
                return replace(written, spend=said.spend, left=said.left, judged=language)
        afresh = CitationList(results.hits, cited.pages)
        answer = await self._extract_answer(scope, subject, results, afresh, running, why)
        if answer.mode == "not_found" and why is not None and not (said and said.text.strip()):
            answer = replace(answer, text=NO_REPLY, abstained=why)
        answer = replace(answer, dropped=dropped, judged=language)
        return answer if said is None else replace(answer, spend=said.spend, left=said.left)

    async def _give_overview(
        self,
        scope: Scope,
        question: str,
        request: OverviewRequest,
        agent_id: str | None,
        history: tuple[str, ...],
        draft: ShowDraft | None,
    ) -> CitedAnswer | None:
        """A list of documents, or the summary of one; None where there is nothing to list or to sum up."""
        if request.kind == "list":
            listed = await self._overviews.list_documents(scope, request, agent_id)
            return None if listed is None else _overview_answer(listed, None)
        document = await self._overviews.find_document(scope, request, agent_id, history)
        if document is None:
            return None
        said: WriterReply | None = None
        why: str | None = None
        results = document.shown_to_model()
        language = rule_language(question, [hit.stemmer for hit in results.hits])
        if self._writer is not None:
            said, why = await self._write_answer(self._writer, scope, question, results.query, results, draft)
        results = results if said is None else _with_left(results, said)
        if said is not None and why is None:
            subject = AnswerSubject(question, MeantDocuments(), UncoveredTerms(), language)
            cited = CitationList(results.hits, document.cited.pages)
            written, why, _ = await self._verify_generated(scope, subject, results, cited, document.running, said)
            if written is not None and written.mode == "generated":
                return replace(_without_extracts(written), spend=said.spend, left=said.left, judged=language)
            why = why or (None if written is None else written.abstained)
        summary = await self._overviews.summarise(scope, document, request.sentences)
        if summary is None:
            return None
        answer = replace(_overview_answer(summary, _join_reasons(why, results.fallback)), judged=language)
        return answer if said is None else replace(answer, spend=said.spend, left=said.left)

    async def _find_meant(
        self, scope: Scope, query: SearchQuery, about: str, results: SearchResults
    ) -> tuple[MeantDocuments, list[str], RunningLines]:
        """The documents that a question names, the beginnings of these, and the running lines of all.

        Among hundreds of one form the words of a question fit all, and what it names is in none of the first: where
        those found do not know all of its names, these are searched for alone.
        """
        names = find_identifiers(about)
        heads, running = await self._evidence.load_heads(scope, results.hits)
        meant = find_meant_documents(about, heads)
        if len(meant.named) < len(names):
            words = " ".join(one.shown for one in names)
            by_name = replace(query, text=words, strategy="keyword", rerank=False, history=())
            hits = {hit.version_id: hit for hit in (*results.hits, *(await self._search.run(scope, by_name)).hits)}
            heads, running = await self._evidence.load_heads(scope, list(hits.values()))
            meant = find_meant_documents(about, heads)
        return meant, [head.text for head in heads if head.document_id in meant.documents], running

    async def _load_meant(self, scope: Scope, query: SearchQuery, meant: MeantDocuments) -> tuple[SearchHit, ...]:
        """The passages of the documents that are meant, searched for among these alone."""
        if not meant.documents:
            return ()
        filters = replace(query.filters, document_ids=tuple(sorted(meant.documents)))
        return (await self._search.run(scope, replace(query, filters=filters))).hits

    async def _write_answer(
        self,
        writer: QueryWriter,
        scope: Scope,
        question: str,
        query: SearchQuery,
        results: SearchResults,
        draft: ShowDraft | None,
    ) -> tuple[WriterReply | None, str | None]:
        """What a model writes, and why that is no answer, where it is none; neither where none is configured."""
        sources = [generate.NumberedSource(f"{hit.filename}, page {hit.page}", hit.text) for hit in results.hits[:HITS]]
        wanted = generate.answer_request(question, sources, query.history)
        try:
            listen = DraftText(draft).feed if draft is not None and self._shows_drafts() else None
            written = await writer.write(scope, query.agent_id, Task.RAG_ANSWER, wanted, listen)
        except NoModel:
            return None, None
        except REFUSALS as error:
            return None, f"extractive, {error}"
        if not written.text.strip():
            return written, f"extractive, {written.model} replied without a word"
        return written, None

    async def _verify_generated(
        self,
        scope: Scope,
        subject: AnswerSubject,
        results: SearchResults,
        cited: CitationList,
        running: RunningLines,
        said: WriterReply,
    ) -> tuple[CitedAnswer | None, str | None, tuple[DroppedClaim, ...]]:
        """The model's answer with every claim checked, or why there is none, and what of it nothing supports."""
        text, model = said.text, said.model
        claims, dropped, unmeasured = await self._verify_claims(subject.question, generate.parse_claims(text), cited)
        fallback = _join_reasons(results.fallback, unmeasured)
        offered = NO_EVIDENCE
        if claims and (left_out(dropped) or all(one.basis == "attributed" for one in claims)):
            offered = await self._evidence.score(scope, subject, cited, running)
        if claims and _claims_suffice(claims, offered, cited, subject.strange):
            # The passages' own sentences stand where the model said what none says.
            more = extract_claims(offered, cited, subject.strange) if left_out(dropped) else []
            claims, fallback = (*claims, *more), _join_reasons(fallback, offered.unmeasured)
            conflicts = _find_conflicts(subject, cited, claims)
            shown, places = text_of(claims, conflicts), tuple(cited.all)
            answer = CitedAnswer(shown, "generated", places, results, model, fallback, claims, conflicts, dropped)
            return answer, None, dropped
        if generate.NOTHING in text:
            why = f"{model} found no answer in the passages"
            offered = offered if claims else await self._evidence.score(scope, subject, cited, running)
            if against := offered.reason_to_answer(subject):
                return None, f"extractive, {why}, and {against}", dropped
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
            (near,), away = await self._evidence.measure(self._embedder, claim, [" ".join(quotes)])
        return support.support_objection(claim, quotes, about, question, near), away

    async def _extract_answer(
        self,
        scope: Scope,
        subject: AnswerSubject,
        results: SearchResults,
        cited: CitationList,
        running: RunningLines,
        why: str | None,
    ) -> CitedAnswer:
        offered = await self._evidence.score(scope, subject, cited, running)
        claims = extract_claims(offered, cited, subject.strange)
        fallback = _join_reasons(why, results.fallback, offered.unmeasured)
        if not claims:
            reason = offered.contradiction or abstain.abstention_reason(offered.sentences, subject.strange)
            return _not_found_answer(results, reason, fallback=fallback)
        conflicts = _find_conflicts(subject, cited, claims)
        text, places = text_of(claims, conflicts), tuple(cited.all)
        given = CitedAnswer(text, "extractive", places, results, None, fallback, tuple(claims), conflicts)
        return replace(given, support=offered.best_score - subject.strange.cost)


def _join_reasons(*reasons: str | None) -> str | None:
    return "; ".join(dict.fromkeys(one for one in reasons if one)) or None


def _overview_answer(overview: DocumentOverview, why: str | None) -> CitedAnswer:
    text = "\n".join([text_of(overview.claims, ()), *overview.notes])
    fallback = _join_reasons(why, overview.results.fallback, overview.unmeasured)
    return CitedAnswer(text, "extractive", overview.citations, overview.results, None, fallback, overview.claims)


def _without_extracts(answer: CitedAnswer) -> CitedAnswer:
    """What a model wrote, without the sentences that take the place of what it did not: a summary need not be whole."""
    claims = tuple(one for one in answer.claims if one.basis != "extracted")
    cited = {n for claim in claims for n in claim.citations} | {
        one.citation for row in answer.conflicts for one in row.stated
    }
    citations = tuple(one for one in answer.citations if one.n in cited)
    return replace(answer, text=text_of(claims, answer.conflicts), claims=claims, citations=citations)


def _with_left(results: SearchResults, said: WriterReply) -> SearchResults:
    """The results, which say what connections were left for the one that replied."""
    left = [f"{one.left} was left for {one.taken}, {one.why}" for one in said.left]
    return replace(results, fallback=_join_reasons(results.fallback, *left))


def _not_found_answer(results: SearchResults, why: str, *, fallback: str | None) -> CitedAnswer:
    return CitedAnswer(NOT_FOUND, "not_found", (), results, None, fallback, abstained=why)


def _claims_suffice(
    claims: Sequence[AnswerClaim], offered: AnswerEvidence, cited: CitationList, strange: UncoveredTerms
) -> bool:
    """True where a model's remaining claims answer; if it quoted nothing, extracts are held to the same."""
    if any(one.basis == "quoted" for one in claims):
        return True
    fit = [one.sentence for one in offered.sentences if abstain.supports_answer(one, strange)]
    fit += [one.place for one in offered.facts if abstain.supports_answer(one.ranked, strange)]
    found = [place for one in fit if (place := cited.sentence(one))]
    places = [cited.all[n - 1] for one in claims for n in one.citations]
    return any(citations_overlap(one, place) for one in found for place in places)


def _find_conflicts(
    subject: AnswerSubject, cited: CitationList, claims: Sequence[AnswerClaim]
) -> tuple[SourceConflict, ...]:
    """Contradictions between the sources, in languages whose sentences the rule can compare."""
    return find_source_conflicts(subject.question, cited, claims) if subject.language.has("conflicts") else ()
