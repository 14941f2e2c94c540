"""One golden question put to the product: what it found and said, how good that is, and what did not run."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from cluster.basics.errors import AosError
from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database, load_queries
from serve_apps.retrieval.answers.quote import Citation
from serve_apps.retrieval.cache.cached_search import AnswerPort, SearchPort
from serve_apps.retrieval.golden.question_form import GoldenQuestion
from serve_apps.retrieval.golden.score import FoundPassage, of_answer, of_documents, of_passages
from serve_apps.retrieval.search.query import SearchQuery, SearchResults
from serve_apps.retrieval.search.rerank import as_configured

SQL = load_queries(Path(__file__).with_name("golden_runs.sql"))
HITS = 20  # passages asked for, so that ten documents are among them


@dataclass(frozen=True, slots=True)
class GoldenRunOptions:
    """Options of a run of a golden set."""

    answers: bool = True  # ask for answers, too, not only for passages
    generation: int | None = None  # search this one instead of the live one; then there are no answers
    agent_id: str | None = None  # as this agent, a UUID
    concurrency: int = 1  # questions at once; latencies are those of people only with one


@dataclass(frozen=True, slots=True)
class QuestionOutcome:
    """Outcome of a golden question."""

    measured: Mapping[str, float]  # measure to value, see `score`
    retrieved: tuple[str, ...] = ()  # documents by id, best first
    mode: str | None = None
    answer: str | None = None
    generation: int | None = None  # that was searched
    # which engine each stage ran with; a stage that runs for some questions only did not run
    engines: Mapping[str, str] = field(default_factory=dict)
    failures: tuple[str, ...] = ()  # parts that did not run and why, in words that quote no document


class GoldenExaminer:
    """Asks what people would ask, in the scope of whoever runs the set."""

    def __init__(
        self,
        search: SearchPort,
        answerer: AnswerPort,
        database: Database,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """`search` and `answerer` are the product's own, without a cache: a remembered answer measures nothing."""
        self._search, self._answerer, self._database, self._clock = search, answerer, database, clock

    async def ask(self, scope: Scope, question: GoldenQuestion, options: GoldenRunOptions) -> QuestionOutcome:
        """Search, and answer where that is wanted; whatever has a name and goes wrong is a failure of the outcome."""
        query = SearchQuery(question.question, HITS, options.agent_id, generation=options.generation)
        begun = self._clock()
        try:
            results = await self._search.run(scope, query)
        except AosError as error:
            return QuestionOutcome({}, failures=(f"search: {error.code}: {error}",))
        measured = {"search_ms": (self._clock() - begun) * 1000}
        failures = [f"search: {results.fallback}"] if results.fallback else []
        if results.vector == "off" and not failures:
            failures.append("search: by words only")
        if not as_configured(results.rerank):
            failures.append(f"rerank: {results.rerank}")
        places = [FoundPassage(hit.document_id, hit.filename, hit.text) for hit in results.hits]
        if question.documents:
            measured |= of_documents(places, question.documents)
        if question.passages:
            measured |= of_passages(places, question.passages)
        found = QuestionOutcome(
            measured,
            tuple(dict.fromkeys(place.document for place in places))[:10],
            generation=results.generation,
            engines=_stage_engines(results),
            failures=tuple(failures),
        )
        return await self._measure_answer(scope, question, options, found) if options.answers else found

    async def _measure_answer(
        self, scope: Scope, question: GoldenQuestion, options: GoldenRunOptions, found: QuestionOutcome
    ) -> QuestionOutcome:
        begun = self._clock()
        try:
            answer = await self._answerer.ask(scope, question.question, options.agent_id)
        except AosError as error:
            return _add_measures(found, {}, None, None, [f"answer: {error.code}: {error}"])
        measured = {"answer_ms": (self._clock() - begun) * 1000}
        said = answer.mode != "not_found"
        if question.answerable:
            measured["answered_when_answerable"] = float(said)
        else:
            measured["abstained_when_unanswerable"] = float(not said)
        if question.answers:
            measured |= of_answer(answer.text if said else "", question.answers)
        if said:
            measured |= await self._measure_citations(scope, question, answer.citations)
        failures = [f"answer: {answer.fallback}"] if answer.fallback else []
        return _add_measures(found, measured, answer.mode, answer.text, failures)

    async def _measure_citations(
        self, scope: Scope, question: GoldenQuestion, citations: Sequence[Citation]
    ) -> dict[str, float]:
        """citations_valid: the share whose quote stands where it says; cited_expected: one is of what was expected."""
        versions, numbers = [one.version_id for one in citations], [one.page for one in citations]
        rows = await self._database.read(scope, SQL["cited"], **scope.keys, versions=versions, numbers=numbers)
        pages = {(row["version_id"], row["number"]): row["text"] for row in rows}
        valid = [one.quote == pages.get((one.version_id, one.page), "")[one.start : one.end] for one in citations]
        found = {"citations_valid": sum(valid) / len(valid) if valid else 0.0}
        if question.documents:
            places = [FoundPassage(one.document_id, one.filename, "") for one in citations]
            found["cited_expected"] = float(bool(places) and of_documents(places, question.documents)["mrr"] > 0)
        return found


def _add_measures(
    found: QuestionOutcome, measured: Mapping[str, float], mode: str | None, answer: str | None, failures: Sequence[str]
) -> QuestionOutcome:
    both, every = {**found.measured, **measured}, tuple(dict.fromkeys([*found.failures, *failures]))
    return replace(found, measured=both, mode=mode, answer=answer, failures=every)


def _stage_engines(results: SearchResults) -> dict[str, str]:
    """Engine of each stage that ran; where nothing was found there was nothing to rerank."""
    found = {"keyword": str(results.keyword_engine)}
    if not results.rerank.endswith("nothing to rank"):
        found["rerank"] = results.rerank if results.rerank.startswith("on") else "off"
    return found
