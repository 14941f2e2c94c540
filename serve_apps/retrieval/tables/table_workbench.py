"""The table workbench: queries that somebody writes over tables of documents, each row with the places it is from."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Final, ParamSpec, TypeVar

from cluster.basics.errors import Invalid
from cluster.basics.scope import Scope
from serve_apps.retrieval.answers.quote import Citation
from serve_apps.retrieval.tables.insights import Insight, find_insights
from serve_apps.retrieval.tables.relation import Relation, RowPlace
from serve_apps.retrieval.tables.table_catalogue import TableCatalogue, find_table_names
from serve_apps.retrieval.tables.table_store import TableStore
from serve_apps.retrieval.tables.written_query import MOST_CITED, QueryResult, run_written_query

LONGEST_SQL: Final = 8_000  # characters
MOST_SHOWN: Final = 200  # rows of a result
MOST_PLACES: Final = 200  # that are looked up on their pages for one result
AT_ONCE: Final = 2  # queries of one workbench, that is of a process, at a time: each has memory of its own
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CitedResult:
    """A result, and where its rows stand."""

    result: QueryResult
    cited: Mapping[RowPlace, Citation]  # of the first rows; numbered in their order


@dataclass(frozen=True, slots=True)
class CitedInsight:
    """A statement, and the first rows that it is about."""

    insight: Insight
    places: tuple[RowPlace, ...]


@dataclass(frozen=True, slots=True)
class CitedInsights:
    """What stands out in a table, and where it stands."""

    table: str
    insights: tuple[CitedInsight, ...]
    notes: tuple[str, ...]  # why nothing is said of it, or not all
    cited: Mapping[RowPlace, Citation]


class TableWorkbench:
    """Runs queries over tables that the scope may see; a process has one, for all who ask."""

    def __init__(self, store: TableStore) -> None:
        """`store` reads them."""
        self.catalogue = TableCatalogue(store)
        self._store, self._places = store, asyncio.Semaphore(AT_ONCE)

    async def run_query(
        self, scope: Scope, sql: str, agent: str | None, *, aliases: Mapping[str, str], most: int = MOST_SHOWN
    ) -> CitedResult:
        """One SELECT over tables by their names, or by aliases for them; at most `most` rows.

        Raises:
            BadQuery: it is none, or needs more than a query gets.
            TableNotFound: there is no table of a name.
            TooManyRows: a table has more rows than are calculated over.
        """
        if len(sql) > LONGEST_SQL:
            raise Invalid(f"a query has at most {LONGEST_SQL:,} characters")
        wanted = {**{name: name for name in find_table_names(sql)}, **{key.casefold(): aliases[key] for key in aliases}}
        async with self._places:
            opened = await self._open_relations(scope, wanted, agent)
            result = await run_written_query(sql, opened, most=most)
        return await self._cite_rows(scope, result)

    async def find_insights(self, scope: Scope, name: str, agent: str | None) -> CitedInsights:
        """What stands out in a table. Raises TableNotFound, TooManyRows, BadQuery."""
        async with self._places:
            relation = (await self.catalogue.open_tables(scope, [name], agent))[name].relation
            found, notes = await _finish_thread(find_insights, name, relation)
        places = {one: [place for row in one.rows for place in relation.places[row][:1]] for one in found}
        wanted = list(dict.fromkeys(place for some in places.values() for place in some[:MOST_CITED]))
        cited = await self._store.cite_places(scope, wanted[:MOST_PLACES])
        told = tuple(CitedInsight(one, tuple(places[one][:MOST_CITED])) for one in found)
        return CitedInsights(name, told, tuple(notes), cited)

    async def _open_relations(
        self, scope: Scope, wanted: Mapping[str, str], agent: str | None
    ) -> Mapping[str, Relation]:
        names = list(dict.fromkeys(wanted.values()))
        opened = await self.catalogue.open_tables(scope, names, agent)
        return {alias: opened[name].relation for alias, name in wanted.items()}

    async def _cite_rows(self, scope: Scope, result: QueryResult) -> CitedResult:
        """The result with its places: each row has one before any has a second."""
        sources = result.sources or ()
        turns = zip_longest(*(one.places for one in sources))
        places = list(dict.fromkeys(place for turn in turns for place in turn if place is not None))
        cited = await self._store.cite_places(scope, places[:MOST_PLACES])
        if len(places) > MOST_PLACES:
            note = f"Of {len(places)} places that this is made of only the first {MOST_PLACES} are cited."
            result = replace(result, notes=(*result.notes, note))
        return CitedResult(result, cited)


async def _finish_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What a thread gives; cancelled, it is waited for, as its memory is in use until it ends."""
    working = asyncio.ensure_future(asyncio.to_thread(work, *args, **kwargs))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        await asyncio.wait([working])
        raise
