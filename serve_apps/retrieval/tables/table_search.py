"""Finds the table that a question asks of, among the documents that were found for it and all others of its head."""

import asyncio
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path, PurePath

from cluster.basics.errors import Permanent
from cluster.basics.scope import Scope
from cluster.models.embedding.vectors_cache import with_workspace_cache
from cluster.models.model_errors import AWAY
from cluster.models.ports import Embedder
from cluster.state.db.postgres import Database, Row, load_queries
from pipelines.documents.facts.find_facts import find_tables
from pipelines.documents.facts.page_table import PageTable, TableKind, table_from_json
from serve_apps.retrieval.answers.quote import page_of
from serve_apps.retrieval.tables.calculation import Calculation, calculate
from serve_apps.retrieval.tables.query_planning import QueryPlan, plan_query
from serve_apps.retrieval.tables.question_cues import QuestionCues, find_cues
from serve_apps.retrieval.tables.relation import OWN_COLUMNS, DocumentTables, Relation, RowPlace, build_relations
from serve_apps.retrieval.tables.schema_links import WordMeanings, find_links
from serve_apps.retrieval.tables.table_query import Aggregate
from serve_apps.retrieval.text.words import content_words

MOST_MEANT_OTHERWISE = 2  # words of a question that are looked for by meaning
MOST_ROWS = 200_000  # of one document
MOST_PAGES = 2_000  # of documents whose tables were not kept yet
MOST_ALIKE = 2_000  # documents that are calculated over together


class TooManyRows(Permanent):
    """More rows belong together than are calculated over; of a part of them the figure would be wrong."""

    code = "too_many_rows"
    fix = "Name the document, or a column and value that fewer documents have."


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

    def __init__(self, database: Database, embedder: Embedder) -> None:
        """`embedder` compares words of a question with headings that none of them has."""
        self._db, self._embedder, self._sql = database, embedder, load_queries(Path(__file__).with_suffix(".sql"))

    async def calculate(self, scope: Scope, question: TableQuestion) -> Calculation | None:
        """What the tables say, where a question asks plainly; None where it does not, or no row fits.

        Raises:
            BadQuery: the calculation takes too long.
            TooManyRows: other documents have more rows of this kind than are calculated over.
        """
        cues = find_cues(question.text)
        collects = cues.aggregate is not Aggregate.NONE or cues.lists
        if not (cues.asks or collects) or not cues.is_plain or (question.together and not collects):
            return None
        calculates = cues.aggregate is not Aggregate.NONE or bool(cues.comparisons)
        documents = await self._load_tables(scope, question.documents, whole=calculates)
        relations = await asyncio.to_thread(build_relations, documents)
        near: Mapping[tuple[str, str], float] = {}
        unseen = 0
        plan = await asyncio.to_thread(_choose_plan, question, cues, relations, near)
        unknown = await asyncio.to_thread(_unlinked_words, question, cues, relations) if calculates and not plan else {}
        if unknown:
            near = await self._measure_words(scope, unknown)
            plan = await asyncio.to_thread(_choose_plan, question, cues, relations, near)
        if plan is None:
            return None
        if collects and not question.singled_out:
            others = await self._load_others_alike(scope, question, plan)
            if others:
                relations = await asyncio.to_thread(build_relations, [*documents, *others])
                plan = await asyncio.to_thread(_choose_plan, question, cues, relations, near)
            if plan is None:
                return None
            unseen = await self._count_unseen(scope, question)
        calculation = await asyncio.to_thread(calculate, plan)
        return calculation if calculation is None or not unseen else calculation.with_unseen(unseen)

    async def _count_unseen(self, scope: Scope, question: TableQuestion) -> int:
        """Other documents whose tables nobody looked for yet."""
        named = {"known": list(question.documents), "agent": question.agent_id}
        async with self._db.transaction(scope) as tx:
            row = await tx.one(self._sql["unseen"], **scope.keys, **named)
        return int(row["documents"]) if row else 0

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

    async def load_places(self, scope: Scope, places: Sequence[RowPlace]) -> list[Row]:
        """The page and the chunk of each place; fewer where a document went meanwhile."""
        named = {
            "versions": [one.version_id for one in places],
            "numbers": [one.page for one in places],
            "starts": [one.start for one in places],
        }
        async with self._db.transaction(scope) as tx:
            return await tx.all(self._sql["row_places"], **scope.keys, **named)

    async def _load_tables(self, scope: Scope, documents: Sequence[str], *, whole: bool = True) -> list[DocumentTables]:
        """The tables of documents; without `whole`, what is too much is left out, as for a lookup among others."""
        async with self._db.transaction(scope) as tx:
            named = {"documents": list(documents), "most": MOST_ROWS}
            rows = await tx.all(self._sql["tables"], **scope.keys, **named)
            unknown = [row["version_id"] for row in rows if not row["is_known"]]
            most = {"versions": unknown, "most": MOST_PAGES + 1}
            pages = await tx.all(self._sql["pages"], **scope.keys, **most) if unknown else []
        if whole and (len(pages) > MOST_PAGES or any(row["is_too_large"] for row in rows)):
            raise TooManyRows(f"a document has more than {MOST_ROWS:,} rows, or its tables were not kept yet")
        return await asyncio.to_thread(_documents_of, rows, pages)

    async def _load_others_alike(self, scope: Scope, question: TableQuestion, plan: QueryPlan) -> list[DocumentTables]:
        """The tables of other documents that have all columns of a query."""
        names = [name for name in plan.query.columns if name not in OWN_COLUMNS]
        # Of forms without a condition those that have what all of them have.
        names = names or [one.name for one in plan.relation.columns if all(one.shown)]
        headings = [_as_headed(name) for name in names]
        known = [*question.documents, *question.excluded]
        named = {"known": known, "headings": headings, "agent": question.agent_id}
        async with self._db.transaction(scope) as tx:
            rows = await tx.all(self._sql["like"], **scope.keys, **named, most=MOST_ALIKE + 1)
        found = await self._load_tables(scope, [row["id"] for row in rows]) if rows else []
        if len(found) != len(rows) or len(rows) > MOST_ALIKE:
            raise TooManyRows(f"{len(rows)} more documents have such a table, or one of them has too many rows")
        return found


def _as_headed(name: str) -> str:
    """A column's heading as it is stored: without the number or the section that tells it from another."""
    plain = re.sub(r" \(\d+\)$", "", name).rpartition(": ")[2]
    return " ".join(plain.casefold().split())


def _documents_of(rows: Sequence[Row], pages: Sequence[Row]) -> list[DocumentTables]:
    """The documents that have tables; those of a version that was indexed before tables were kept are found now."""
    late: dict[str, list[PageTable]] = {}
    for row in pages:
        late.setdefault(row["version_id"], []).extend(find_tables(page_of(row)))
    key = itemgetter("document_id", "version_id", "filename")
    found = []
    for (document, version, filename), some in groupby(rows, key=key):
        kept = [table_from_json(row["content"]) for row in some if row["content"] is not None]
        found.append(DocumentTables(document, version, filename, tuple(kept or late.get(version, ()))))
    return [one for one in found if one.tables]


def _choose_plan(
    question: TableQuestion, cues: QuestionCues, relations: Sequence[Relation], near: Mapping[tuple[str, str], float]
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
