"""Finds the table that a question asks of, among the documents that were found for it and all others of its head."""

import asyncio
import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from cluster.basics.scope import Scope
from cluster.models.embedding.vectors_cache import with_workspace_cache
from cluster.models.model_errors import AWAY
from cluster.models.ports import Embedder
from pipelines.documents.facts.page_table import TableKind
from serve_apps.retrieval.tables.calculation import Calculation, calculate
from serve_apps.retrieval.tables.query_planning import QueryPlan, plan_query
from serve_apps.retrieval.tables.question_cues import QuestionCues, find_cues
from serve_apps.retrieval.tables.relation import OWN_COLUMNS, DocumentTables, Relation, build_relations
from serve_apps.retrieval.tables.sandboxed_sql import BadQuery
from serve_apps.retrieval.tables.schema_links import WordMeanings, find_links
from serve_apps.retrieval.tables.table_comparison import compare_values, find_comparison
from serve_apps.retrieval.tables.table_query import Aggregate
from serve_apps.retrieval.tables.table_store import TableStore
from serve_apps.retrieval.text.question_shape import question_shape
from serve_apps.retrieval.text.words import content_words

SECONDS = 5.0  # in which the table that a question asks is found, or nothing is calculated
MOST_MEANT_OTHERWISE = 2  # words of a question that are looked for by meaning


@dataclass(frozen=True, slots=True)
class TableQuestion:
    """A question that tables may answer, and the documents to look in."""

    text: str
    documents: tuple[str, ...]  # ids, the best found first
    titles: Mapping[str, Collection[str]]  # folded words of the titles of each document
    attributes: frozenset[str]  # folded nouns that a table may write for the question word
    singled_out: bool  # the question names these documents, and means no others of their kind
    excluded: tuple[str, ...] = ()  # ids of documents that are not meant
    together: bool = False  # only what is asked of all documents together: no lookup
    agent_id: str | None = None  # only what is linked to this agent


class TableSearch:
    """Calculates answers from tables."""

    def __init__(self, store: TableStore, embedder: Embedder, *, seconds: float = SECONDS) -> None:
        """`embedder` compares words of a question with headings that none of them has; planning may take `seconds`."""
        self._store, self._embedder, self._seconds = store, embedder, seconds

    async def calculate(self, scope: Scope, question: TableQuestion) -> Calculation | None:
        """What the tables say, where a question asks plainly; None where it does not, or no row fits.

        Raises:
            BadQuery: the calculation takes too long, or to see what it would be.
            TooManyRows: other documents have more rows of this kind than are calculated over.
        """
        cues = find_cues(question.text)
        collects = cues.aggregate is not Aggregate.NONE or cues.lists
        if not (cues.asks or collects) or not cues.is_plain or (question.together and not collects):
            return None
        calculates = cues.aggregate is not Aggregate.NONE or bool(cues.comparisons)
        documents = await self._store.load_tables(scope, question.documents, whole=calculates)
        relations = await asyncio.to_thread(build_relations, documents)
        near: Mapping[tuple[str, str], float] = {}
        unseen = 0
        plan = await self._choose_in_time(question, cues, relations, near)
        unknown = await asyncio.to_thread(_unlinked_words, question, cues, relations) if calculates and not plan else {}
        if unknown:
            near = await self._measure_words(scope, unknown)
            plan = await self._choose_in_time(question, cues, relations, near)
        if plan is None:
            return None
        if collects and not question.singled_out:
            others = await self._load_others_alike(scope, question, plan)
            if others:
                relations = await asyncio.to_thread(build_relations, [*documents, *others])
                plan = await self._choose_in_time(question, cues, relations, near)
            if plan is None:
                return None
            unseen = await self._store.count_unseen(scope, question.documents, question.agent_id)
        calculation = await asyncio.to_thread(calculate, plan)
        return calculation if calculation is None or not unseen else calculation.with_unseen(unseen)

    async def compare(self, scope: Scope, question: TableQuestion) -> Calculation | None:
        """Two values and what lies between them, where each is plainly asked of the same table; None elsewhere.

        Raises BadQuery, TooManyRows, as `calculate` does.
        """
        comparison = find_comparison(question.text)
        if comparison is None:
            return None
        parts = [replace(question, text=one, attributes=question_shape(one).attributes) for one in comparison.questions]
        documents = await self._store.load_tables(scope, question.documents)
        plans = await self._plan_parts(parts, documents)
        unseen = 0
        if plans and not question.singled_out:
            others = await self._load_others_alike(scope, question, plans[0])
            plans = await self._plan_parts(parts, [*documents, *others]) if others else plans
            unseen = await self._store.count_unseen(scope, question.documents, question.agent_id)
        found = await asyncio.to_thread(compare_values, comparison, plans) if plans else None
        return found if found is None or not unseen else found.with_unseen(unseen)

    async def _plan_parts(
        self, parts: Sequence[TableQuestion], documents: Sequence[DocumentTables]
    ) -> list[QueryPlan] | None:
        relations = await asyncio.to_thread(build_relations, documents)
        plans = [await self._choose_in_time(one, find_cues(one.text), relations, {}) for one in parts]
        found = [one for one in plans if one is not None]
        return found if len(found) == len(parts) else None

    async def _choose_in_time(
        self,
        question: TableQuestion,
        cues: QuestionCues,
        relations: Sequence[Relation],
        near: Mapping[tuple[str, str], float],
    ) -> QueryPlan | None:
        """The plan; raises BadQuery where looking for it takes too long. One that is begun is looked through."""
        until = time.monotonic() + self._seconds
        try:
            async with asyncio.timeout(self._seconds):
                return await asyncio.to_thread(_choose_plan, question, cues, _until(relations, until), near)
        except TimeoutError as error:
            raise BadQuery("to see which table is asked takes too long") from error

    async def _measure_words(
        self, scope: Scope, unknown: Mapping[str, Collection[str]]
    ) -> dict[tuple[str, str], float]:
        """Cosine of words to headings; empty where no embedder answers."""
        texts = list(dict.fromkeys([*unknown, *(name for names in unknown.values() for name in names)]))
        try:
            vectors = await with_workspace_cache(self._embedder, scope).embed(texts)
        except AWAY:
            return {}
        of = dict(zip(texts, vectors, strict=True))  # rows have length 1
        return {(word, name): float(of[word] @ of[name]) for word, names in unknown.items() for name in names}

    async def _load_others_alike(self, scope: Scope, question: TableQuestion, plan: QueryPlan) -> list[DocumentTables]:
        """The tables of other documents that have all columns of a query."""
        names = [name for name in plan.query.columns if name not in OWN_COLUMNS]
        # Of forms without a condition those that have what all of them have.
        names = names or [one.name for one in plan.relation.columns if all(one.shown)]
        headings = [as_headed(name) for name in names]
        known = [*question.documents, *question.excluded]
        return await self._store.load_others_alike(scope, headings, known, question.agent_id)


def as_headed(name: str) -> str:
    """A column's heading as it is stored: without the number or the section that tells it from another."""
    plain = re.sub(r" \(\d+\)$", "", name).rpartition(": ")[2]
    return " ".join(plain.casefold().split())


def _until(relations: Sequence[Relation], moment: float) -> Iterator[Relation]:
    """Relations up to a moment of the monotonic clock; raises TimeoutError after it, so that no thread goes on."""
    for relation in relations:
        if time.monotonic() > moment:
            raise TimeoutError
        yield relation


def _choose_plan(
    question: TableQuestion, cues: QuestionCues, relations: Iterable[Relation], near: Mapping[tuple[str, str], float]
) -> QueryPlan | None:
    """The plan that uses most of its table; of equals the one over the documents that were found first.

    Forms are asked together or not at all: what one of them says is a fact, and no calculation.
    """
    of_forms = not question.singled_out and (cues.aggregate is not Aggregate.NONE or cues.lists)
    plans = (
        plan_query(question.text, cues, relation, _word_meanings(question, relation, near))
        for relation in relations
        if relation.kind is TableKind.GRID or (of_forms and relation.rows > 1)
    )
    found = sorted((one for one in plans if one), key=lambda plan: plan.links, reverse=True)
    if not found:
        return None
    tied = [one for one in found[1:] if one.links == found[0].links]
    # Of two tables that fit alike nobody knows which is meant; what is only looked up stands in the first that has it.
    return None if tied and cues.aggregate is not Aggregate.NONE else found[0]


def _word_meanings(question: TableQuestion, relation: Relation, near: Mapping[tuple[str, str], float]) -> WordMeanings:
    ids = {row[0].filename: row[0].document_id for row in relation.places}
    titles = {
        name: frozenset({*question.titles.get(id_, ()), *content_words(PurePath(name).stem)})
        for name, id_ in ids.items()
    }
    return WordMeanings(titles, question.attributes, near)


def _unlinked_words(question: TableQuestion, cues: QuestionCues, relations: Sequence[Relation]) -> dict[str, set[str]]:
    """Words that no heading of a relation has, where it knows the others, and the headings that may mean them."""
    found: dict[str, set[str]] = {}
    for relation in relations:
        links = find_links(question.text, cues, relation, _word_meanings(question, relation, {}))
        words = {one.word for one in links.unlinked if one.text.isalpha()}
        if cues.aggregate.ranks and not links.numbers:  # the highest of what is its own word: the steepest
            words |= {one.word for one in links.tokens if one.text.casefold().endswith("est")}
        if words and len(links.unlinked) <= MOST_MEANT_OTHERWISE and (links.columns or links.values or cues.periods):
            for word in words:
                found.setdefault(word, set()).update(one.name for one in relation.columns)
    return found
