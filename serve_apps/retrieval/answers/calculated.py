"""Answers that were calculated from tables: their claims, and the rows that they cite."""

from collections.abc import Sequence
from dataclasses import replace

from cluster.basics.scope import Scope
from cluster.models.ports import Embedder
from cluster.state.db.postgres import Database
from serve_apps.retrieval.answers.claims import AnswerClaim
from serve_apps.retrieval.answers.meant_documents import MeantDocuments
from serve_apps.retrieval.answers.quote import Citation
from serve_apps.retrieval.search.query import SearchHit
from serve_apps.retrieval.tables.calculation import Calculation
from serve_apps.retrieval.tables.table_search import TableQuestion, TableSearch
from serve_apps.retrieval.tables.table_store import TableStore
from serve_apps.retrieval.text.question_shape import comparison_attributes, question_shape
from serve_apps.retrieval.text.words import content_words


class TableAnswerer:
    """Answers plain questions to tables, with each row that an answer is from."""

    def __init__(self, database: Database, embedder: Embedder) -> None:
        """`database` has the tables and the pages that they stand on, `embedder` compares words with headings."""
        self._store = TableStore(database)
        self._search = TableSearch(self._store, embedder)

    async def answer(
        self, scope: Scope, question: str, agent: str | None, hits: Sequence[SearchHit], meant: MeantDocuments
    ) -> tuple[Calculation, tuple[AnswerClaim, ...], tuple[Citation, ...]] | None:
        """A calculation with its claims and citations; None where the tables of the hits' documents say nothing.

        Raises BadQuery, TooManyRows: there is one, and it cannot be run.
        """
        found = tuple(dict.fromkeys(hit.document_id for hit in hits))
        others = tuple(one for one in found if one not in meant.documents | meant.rivals)
        titles: dict[str, set[str]] = {}
        for hit in hits:
            titles.setdefault(hit.document_id, set()).update(
                word for text in hit.titles for word in content_words(text)
            )
        attributes = question_shape(question, meant.named).attributes | comparison_attributes(question)
        not_meant = tuple(meant.documents | meant.rivals)
        asked = TableQuestion(
            question, others, titles, attributes, singled_out=False, agent_id=agent, excluded=not_meant
        )
        singled_out = replace(asked, documents=tuple(sorted(meant.documents)), singled_out=True)
        # What is compared may stand in several documents; a part of them would give another figure.
        calculation = await self._search.compare(scope, replace(asked, documents=found, excluded=()))
        if calculation is None and meant.documents:
            calculation = await self._search.calculate(scope, singled_out)
        calculation = calculation or await self._search.calculate(scope, asked)
        if calculation is None and len(meant.documents) > 1:
            together = replace(asked, documents=found, excluded=(), together=True)
            calculation = await self._search.calculate(scope, together)
        return None if calculation is None else await self._cite(scope, calculation)

    async def _cite(
        self, scope: Scope, calculation: Calculation
    ) -> tuple[Calculation, tuple[AnswerClaim, ...], tuple[Citation, ...]] | None:
        places = list(dict.fromkeys(place for line in calculation.lines for place in line.places))
        cited = await self._store.cite_places(scope, places)
        if len(cited) != len(places):
            return None  # a document went meanwhile
        claims = tuple(
            AnswerClaim(line.text, tuple(cited[place].n for place in line.places), "calculated")
            for line in calculation.lines
        )
        return calculation, claims, tuple(cited.values())
