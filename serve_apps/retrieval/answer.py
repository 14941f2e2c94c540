"""Answers with citations: the documents' own best sentences, or a model's words checked against their quotes."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import httpx

from cluster.basics.errors import AosError, Transient
from cluster.basics.scope import Scope
from cluster.models.ports import Embedder
from cluster.state.postgres import Database, load_queries
from configs.sections import LlmSettings
from pipelines.documents.document import Page
from serve_apps.retrieval import evidence, generate
from serve_apps.retrieval.evidence import Judged, Sentence
from serve_apps.retrieval.query import Hit, Query, Results
from serve_apps.retrieval.quote import Citation, describe, locate, page_of
from serve_apps.retrieval.search import Search

SQL = load_queries(Path(__file__).with_name("answer.sql"))

NOT_FOUND = "Not found in the documents."
HITS = 8  # passages that are looked at
MEASURED = 32  # sentences that are embedded, those that cover most of the question
# What a sentence needs to support an answer. Between questions to their own test set and questions to another one,
# the mean of coverage and similarity parts best; each alone must not be negligible.
LEAST_SCORE = 0.42
LEAST_COVERAGE = 0.2
LEAST_SIMILARITY = 0.3
LEAST_COVERAGE_ALONE = 0.67


@dataclass(frozen=True, slots=True)
class Answer:
    """What the documents say to a question.

    Attributes:
        text: with [n] where a citation supports it.
        mode: `extractive`: sentences of the documents; `generated`: a model's; `not_found`: nothing supports an answer.
        citations: in the order of their numbers.
        search: what was found on the way.
        model: who wrote a generated answer.
        fallback: what was left out and why; None when nothing was.
    """

    text: str
    mode: Literal["extractive", "generated", "not_found"]
    citations: tuple[Citation, ...]
    search: Results
    model: str | None
    fallback: str | None


class Answerer:
    """Answers questions from what a scope may see."""

    def __init__(
        self,
        search: Search,
        database: Database,
        embedder: Embedder,
        llm: LlmSettings,
        client: httpx.AsyncClient,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Without `llm.base_url` answers are extractive and `client` is not used."""
        self._search, self._database, self._embedder = search, database, embedder
        self._llm, self._client, self._sleep = llm, client, sleep

    async def ask(self, scope: Scope, question: str, agent_id: str | None = None) -> Answer:
        """Answer from the workspace's documents, or only from those linked to an agent.

        Raises:
            Unavailable: Postgres cannot be reached. A model that cannot is left out, and `fallback` says so.
        """
        results = await self._search.run(scope, Query(question, limit=HITS, agent_id=agent_id))
        if not results.hits:
            return Answer(NOT_FOUND, "not_found", (), results, None, results.fallback)
        pages = await self._pages(scope, results.hits)
        why = None
        if self._llm.base_url:
            written, why = await self._generated(question, results, pages)
            if written is not None:
                return written
        return await self._extractive(scope, question, results, pages, why)

    async def _generated(self, question: str, results: Results, pages: "Pages") -> tuple[Answer | None, str | None]:
        """The model's answer with every claim checked, or why there is none."""
        sources = [generate.Source(f"{hit.filename}, page {hit.page}", hit.text) for hit in results.hits]
        model = self._llm.model or "default"
        try:
            text = await generate.write(self._client, self._llm, question, sources, self._sleep)
        except AosError as error:
            return None, f"extractive, {error}"
        lines, citations = [], list[Citation]()
        for claim in generate.parse(text):
            found = [place for n, quote in claim.evidence if (place := _place(results.hits, pages, n, quote))]
            if found and generate.has_its_numbers(claim.text, [one.quote for one in found]):
                numbers = [_number(citations, one) for one in found]
                lines.append(" ".join([claim.text, *(f"[{n}]" for n in dict.fromkeys(numbers))]))
        if lines:
            return Answer("\n".join(lines), "generated", tuple(citations), results, model, results.fallback), None
        if generate.NOTHING in text:
            return Answer(NOT_FOUND, "not_found", (), results, model, results.fallback), None
        return None, f"extractive, no claim of {model} had a quote that stands in its source"

    async def _extractive(
        self, scope: Scope, question: str, results: Results, pages: "Pages", why: str | None
    ) -> Answer:
        judged, unmeasured = await self._judged(scope, question, results.hits)
        fallback = "; ".join(dict.fromkeys(part for part in (why, results.fallback, unmeasured) if part)) or None
        lines, citations = [], list[Citation]()
        for one in evidence.best([one for one in judged if supports(one)]):
            sentence = one.sentence
            place = _cite(
                results.hits[sentence.hit], pages, sentence.page, sentence.text, (sentence.start, sentence.end)
            )
            if place is not None:
                lines.append(f"{' '.join(place.quote.split())} [{_number(citations, place)}]")
        if not lines:
            return Answer(NOT_FOUND, "not_found", (), results, None, fallback)
        return Answer("\n".join(lines), "extractive", tuple(citations), results, None, fallback)

    async def _judged(self, scope: Scope, question: str, hits: Sequence[Hit]) -> tuple[list[Judged], str | None]:
        sentences = evidence.split(hits)
        titles = [" ".join([*hit.headings, hit.filename]) for hit in hits]
        async with self._database.transaction(scope) as tx:
            rows = await tx.all(SQL["lexemes"], texts=[question, *titles, *(one.text for one in sentences)])
        asked, *words = [row["words"] for row in rows]
        above, own = words[: len(hits)], words[len(hits) :]
        shares = evidence.coverage(asked, own, [above[one.hit] for one in sentences])
        order = sorted(range(len(sentences)), key=lambda at: -shares[at])[:MEASURED]
        near, why = await self._near(question, [sentences[at] for at in order])
        return [Judged(sentences[at], shares[at], value) for at, value in zip(order, near, strict=True)], why

    async def _near(self, question: str, sentences: Sequence[Sentence]) -> tuple[Sequence[float | None], str | None]:
        if not sentences:
            return [], None
        try:
            vectors = await self._embedder.embed([question, *(one.text for one in sentences)])
        except Transient as error:
            return [None] * len(sentences), f"words only, the embedder did not answer: {error}"
        return evidence.similarities(vectors), None

    async def _pages(self, scope: Scope, hits: Sequence[Hit]) -> "Pages":
        places = sorted({(hit.version_id, span.page) for hit in hits for span in hit.spans})
        async with self._database.transaction(scope) as tx:
            rows = await tx.all(
                SQL["pages"],
                tenant=scope.tenant,
                workspace=scope.workspace,
                versions=[version for version, _ in places],
                numbers=[number for _, number in places],
            )
        return {(row["version_id"], row["number"]): page_of(row) for row in rows}


Pages = Mapping[tuple[str, int], Page]


def supports(judged: Judged) -> bool:
    """A sentence supports an answer when it shares enough of the question's words and means something near to it."""
    if judged.similarity is None:
        return judged.coverage >= LEAST_COVERAGE_ALONE
    enough = judged.coverage >= LEAST_COVERAGE and judged.similarity >= LEAST_SIMILARITY
    return enough and judged.score >= LEAST_SCORE


def _place(hits: Sequence[Hit], pages: Pages, n: int, quote: str) -> Citation | None:
    """Where a source has the quote, within its own spans."""
    if not 1 <= n <= len(hits):
        return None
    hit = hits[n - 1]
    for span in hit.spans:
        page = pages.get((hit.version_id, span.page))
        at = page and locate(quote, page.text, span.start, span.end)
        if at:
            return _cite(hit, pages, span.page, quote, at)
    return None


def _cite(hit: Hit, pages: Pages, number: int, quote: str, at: tuple[int, int]) -> Citation | None:
    """A citation, unless the page does not say this there: a quote is never taken on trust."""
    page = pages.get((hit.version_id, number))
    if page is None or page.text[at[0] : at[1]].split() != quote.split():
        return None
    boxes, confidence = describe(page, *at)
    return Citation(
        n=0,
        chunk_id=hit.chunk_id,
        document_id=hit.document_id,
        version_id=hit.version_id,
        filename=hit.filename,
        page=number,
        quote=page.text[at[0] : at[1]],
        start=at[0],
        end=at[1],
        boxes=boxes,
        ocr_confidence=confidence,
    )


def _number(citations: list[Citation], citation: Citation) -> int:
    """Its number in the answer; the same place keeps the one it has."""
    for known in citations:
        if (known.version_id, known.page, known.start, known.end) == (
            citation.version_id, citation.page, citation.start, citation.end,
        ):  # fmt: skip
            return known.n
    citations.append(replace(citation, n=len(citations) + 1))
    return len(citations)
