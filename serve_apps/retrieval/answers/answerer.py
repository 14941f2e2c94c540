"""Answers with citations: the documents' own best sentences, or a model's words checked against their quotes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from cluster.basics.scope import Scope
from cluster.models.embedding.vectors_cache import within
from cluster.models.model_errors import AWAY, NoModel
from cluster.models.ports import Embedder
from cluster.models.routing.tasks import Task
from cluster.state.db.postgres import Database, load_queries
from serve_apps.retrieval.answers import abstain, evidence, generate, support
from serve_apps.retrieval.answers import conflicts as conflict
from serve_apps.retrieval.answers.abstain import Foreign
from serve_apps.retrieval.answers.attribute import Passages
from serve_apps.retrieval.answers.cite import Citations, Pages, overlap
from serve_apps.retrieval.answers.claims import Basis, Claim, Conflict, Dropped, Stated, as_said, text_of
from serve_apps.retrieval.answers.document_request import subject
from serve_apps.retrieval.answers.evidence import Judged
from serve_apps.retrieval.answers.quote import LEAST_WORDS, Citation, page_of
from serve_apps.retrieval.search.pipeline import Search
from serve_apps.retrieval.search.query import Hit, Query, Results
from serve_apps.retrieval.search.query_writer import REFUSALS, Writer
from serve_apps.retrieval.text.values import values
from serve_apps.retrieval.text.words import content

SQL = load_queries(Path(__file__).with_name("answer.sql"))

NOT_FOUND = "Not found in the documents."
# The documents may well hold it: whoever would have read them did not reply.
NO_REPLY = "The language model did not reply, and no sentence of the documents answers this by itself."
COMMAND_ONLY = "the message says what to do, and names nothing to look for"
HITS = 8  # passages that are looked at
KNOWN = 24  # passages that are asked whether they know what a question names
MEASURED = 20  # sentences that are embedded, those that cover most of the question


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer to a question from the documents, with its citations.

    Attributes:
        text: with [n] where a citation supports it.
        mode: `extractive`: sentences of the documents; `generated`: a model's, and
            the documents' where a part of it was left out; `not_found`: nothing supports an answer.
        citations: in the order of their numbers.
        search: what was found on the way.
        model: who wrote a generated answer.
        fallback: what was left out and why; None when nothing was.
        claims: the sentences of the text.
        conflicts: where sources contradict each other; the text says so too.
        dropped: what a model wrote and nothing supports.
        abstained: why there is no answer; None where there is one.
        id: under which it is stored; None where it is not.
    """

    text: str
    mode: Literal["extractive", "generated", "not_found"]
    citations: tuple[Citation, ...]
    search: Results
    model: str | None
    fallback: str | None
    claims: tuple[Claim, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    abstained: str | None = None
    id: str | None = None


class Answerer:
    """Answers questions from what a scope may see."""

    def __init__(self, search: Search, database: Database, embedder: Embedder, writer: Writer | None = None) -> None:
        """`writer` asks the workspace's language models; without one, or where it has none, answers are extractive."""
        self._search, self._database, self._embedder, self._writer = search, database, embedder, writer

    async def ask(
        self, scope: Scope, question: str, agent_id: str | None = None, history: tuple[str, ...] = ()
    ) -> Answer:
        """Answer from the workspace's documents, or only from those linked to an agent.

        Args:
            scope: whose documents; readers are checked.
            question: as it was asked; what of it is a command (`subject`) is not looked for.
            agent_id: only what is linked to it, with its models and its money; None for the workspace's.
            history: what was said before; a question that leans on it is searched for together with it.

        Raises:
            Unavailable: Postgres cannot be reached. A model that cannot is left out, and `fallback` says so.
        """
        asked = subject(question)
        query = Query(asked, limit=KNOWN, agent_id=agent_id, spread=False, history=history)
        results = await self._search.run(scope, query)
        strange = abstain.foreign(asked, results.hits)
        results = replace(results, hits=results.hits[:HITS])
        if not results.hits:
            nothing = abstain.reason((), strange) if asked else COMMAND_ONLY
            return _nothing(results, nothing, fallback=results.fallback)
        cited = Citations(results.hits, await self._pages(scope, results.hits))
        said: tuple[str, str] | None = None
        why: str | None = None
        dropped: tuple[Dropped, ...] = ()
        if self._writer is not None and strange.share < 1:
            said, why = await self._written(self._writer, scope, question, query, results)
        if said is not None:
            written, why, dropped = await self._generated(scope, asked, results, cited, strange, *said)
            if written is not None:
                return written
        answer = await self._extractive(scope, asked, results, Citations(results.hits, cited.pages), strange, why)
        if answer.mode == "not_found" and said is None and why is not None:
            answer = replace(answer, text=NO_REPLY, abstained=why)
        return replace(answer, dropped=dropped)

    @staticmethod
    async def _written(
        writer: Writer, scope: Scope, question: str, query: Query, results: Results
    ) -> tuple[tuple[str, str] | None, str | None]:
        """(text, model) of what a model writes, or why none did; neither where none is configured."""
        sources = [generate.Source(f"{hit.filename}, page {hit.page}", hit.text) for hit in results.hits]
        wanted = generate.request(question, sources, query.history)
        try:
            written = await writer.write(scope, query.agent_id, Task.RAG_ANSWER, wanted)
        except NoModel:
            return None, None
        except REFUSALS as error:
            return None, f"extractive, {error}"
        if not written.text.strip():
            return None, f"extractive, {written.model} replied without a word"
        return (written.text, written.model), None

    async def _generated(
        self, scope: Scope, question: str, results: Results, cited: Citations, strange: Foreign, text: str, model: str
    ) -> tuple[Answer | None, str | None, tuple[Dropped, ...]]:
        """The model's answer with every claim checked, or why there is none, and what of it nothing supports."""
        claims, dropped, unmeasured = await self._checked(question, generate.parse(text), cited)
        fallback = _joined(results.fallback, unmeasured)
        judged, away = list[Judged](), None
        if claims and (left_out(dropped) or all(one.basis == "attributed" for one in claims)):
            judged, away = await self._judged(scope, question, results.hits)
        if claims and _suffice(claims, judged, cited, strange):
            # The passages' own sentences stand where the model said what none says.
            more = _extracts(judged, cited, strange) if left_out(dropped) else []
            claims, fallback = (*claims, *more), _joined(fallback, away)
            conflicts = _conflicts(question, cited, claims)
            answer = Answer(
                text_of(claims, conflicts),
                "generated",
                tuple(cited.all),
                results,
                model,
                fallback,
                claims,
                conflicts,
                dropped,
            )
            return answer, None, dropped
        if generate.NOTHING in text:
            why = f"{model} found no answer in the passages"
            return replace(_nothing(results, why, fallback=fallback), model=model, dropped=dropped), None, ()
        why = "answers the question" if claims else "stands in the passages"
        return None, f"extractive, nothing that {model} said {why}", dropped

    async def _checked(
        self, question: str, written: Sequence[generate.Claim], cited: Citations
    ) -> tuple[tuple[Claim, ...], tuple[Dropped, ...], str | None]:
        """Each claim with the citations that support it; the others with what is wrong with them.

        At the end why some were not compared by meaning, if nobody could.
        """
        kept, dropped, unmeasured = list[Claim](), list[Dropped](), None
        passages = Passages(question, cited.hits)
        for claim in dict.fromkeys(written):
            found = [place for n, quote in claim.evidence if (place := cited.place(n, quote))]
            basis: Basis = "quoted" if found else "attributed"
            if found:
                why, away = await self._objection(question, claim.text, found, cited)
                unmeasured = away or unmeasured
            elif sentences := passages.supporting(claim.text):
                found = [place for one in sentences if (place := cited.sentence(one))]
                why = None if len(found) == len(sentences) else "its page says something else by now"
            else:
                why = "its quote does not stand in its source" if claim.evidence else "no passage says it"
            if why is None:
                numbers = dict.fromkeys(cited.number(one) for one in found)
                kept.append(Claim(claim.text, tuple(numbers), basis))
            else:
                dropped.append(Dropped(claim.text, why))
        return tuple(kept), tuple(dropped), unmeasured

    async def _objection(
        self, question: str, claim: str, found: Sequence[Citation], cited: Citations
    ) -> tuple[str | None, str | None]:
        """Objection to a claim by its quotes, if any; and why the embedder did not compare them, if it was away."""
        quotes, about = [one.quote for one in found], cited.titles(found)
        near, away = None, None
        if support.shared(claim, quotes, about) < support.LEAST_SHARED:
            (near,), away = await self._near(self._embedder, claim, [" ".join(quotes)])
        return support.objection(claim, quotes, about, question, near), away

    async def _extractive(
        self, scope: Scope, question: str, results: Results, cited: Citations, strange: Foreign, why: str | None
    ) -> Answer:
        judged, unmeasured = await self._judged(scope, question, results.hits)
        claims, fallback = _extracts(judged, cited, strange), _joined(why, results.fallback, unmeasured)
        if not claims:
            return _nothing(results, abstain.reason(judged, strange), fallback=fallback)
        conflicts = _conflicts(question, cited, claims)
        return Answer(
            text_of(claims, conflicts),
            "extractive",
            tuple(cited.all),
            results,
            None,
            fallback,
            tuple(claims),
            conflicts,
        )

    async def _judged(self, scope: Scope, question: str, hits: Sequence[Hit]) -> tuple[list[Judged], str | None]:
        sentences = evidence.split(hits)
        titles = [" ".join(hit.titles) for hit in hits]
        async with self._database.transaction(scope) as tx:
            rows = await tx.all(SQL["lexemes"], texts=[question, *titles, *(one.text for one in sentences)])
        asked, *words = [row["words"] for row in rows]
        above, own = words[: len(hits)], words[len(hits) :]
        shares = evidence.coverage(asked, own, [above[one.hit] for one in sentences])
        order = sorted(range(len(sentences)), key=lambda at: -shares[at])[:MEASURED]
        near, why = await self._near(within(self._embedder, scope), question, [sentences[at].text for at in order])
        return [Judged(sentences[at], shares[at], value) for at, value in zip(order, near, strict=True)], why

    async def _near(
        self, embedder: Embedder, text: str, others: Sequence[str]
    ) -> tuple[Sequence[float | None], str | None]:
        """Cosine of the text to each of the others, or why nobody measured it."""
        if not others:
            return [], None
        try:
            vectors = await embedder.embed([text, *others])
        except AWAY as error:
            return [None] * len(others), f"words only, the embedder did not answer: {error}"
        return evidence.similarities(vectors), None

    async def _pages(self, scope: Scope, hits: Sequence[Hit]) -> Pages:
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


def _joined(*reasons: str | None) -> str | None:
    return "; ".join(dict.fromkeys(one for one in reasons if one)) or None


def _nothing(results: Results, why: str, *, fallback: str | None) -> Answer:
    return Answer(NOT_FOUND, "not_found", (), results, None, fallback, abstained=why)


def left_out(dropped: Sequence[Dropped]) -> bool:
    """True where more than a greeting was dropped."""
    return any(len(set(content(one.text))) >= LEAST_WORDS for one in dropped)


def _suffice(claims: Sequence[Claim], judged: Sequence[Judged], cited: Citations, strange: Foreign) -> bool:
    """True where a model's remaining claims answer; if it quoted nothing, extracts are held to the same."""
    if any(one.basis == "quoted" for one in claims):
        return True
    fit = [cited.sentence(one.sentence) for one in judged if abstain.supports(one, strange)]
    places = [cited.all[n - 1] for one in claims for n in one.citations]
    return any(overlap(one, place) for one in fit if one for place in places)


def _extracts(judged: Sequence[Judged], cited: Citations, strange: Foreign) -> list[Claim]:
    """The passages' own best sentences, but for those that are cited already."""
    claims, before = [], tuple(cited.all)
    for one in evidence.best([one for one in judged if abstain.supports(one, strange)]):
        place = cited.sentence(evidence.with_list(one.sentence, cited.hits[one.sentence.hit]))
        if place is not None and not cited.covers(place) and not any(overlap(place, other) for other in before):
            claims.append(Claim(as_said(place.quote), (cited.number(place),), "extracted"))
    return claims


def _conflicts(question: str, cited: Citations, claims: Sequence[Claim]) -> tuple[Conflict, ...]:
    """Contradictions between cited sentences and others of the passages; the others are cited too."""
    if not any(values(one.quote) for one in cited.all):
        return ()
    sentences = evidence.split(cited.hits)
    statements = [conflict.Statement.of(one, cited.hits[one.hit]) for one in sentences]
    found: list[Conflict] = []
    told: set[int] = set()
    for n in dict.fromkeys(n for claim in claims for n in claim.citations):
        shown = _around(cited.all[n - 1], statements, cited.hits)
        if shown is None or n in told:
            continue
        stated: list[Stated] = []
        for own, other, value in conflict.against(question, shown, statements):
            place = cited.sentence(other.sentence)
            if place is not None:
                stated = stated or [Stated(own.shown, n)]
                stated.append(Stated(value.shown, cited.number(place)))
        if stated:
            told |= {one.citation for one in stated}
            found.append(Conflict(tuple(stated)))
    return tuple(found)


def _around(
    citation: Citation, statements: Sequence[conflict.Statement], hits: Sequence[Hit]
) -> conflict.Statement | None:
    """The statement that a quote is part of."""
    for one in statements:
        at = one.sentence
        same = hits[at.hit].version_id == citation.version_id and at.page == citation.page
        if same and at.start <= citation.start and citation.end <= at.end:
            return one
    return None
