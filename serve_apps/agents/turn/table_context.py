"""Tables as context of a turn: what an agent's documents hold, and rows of a query with the places they stand in."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from itertools import accumulate
from typing import Final

from cluster.basics.scope import Scope
from pipelines.documents.document import bounding_box
from pipelines.documents.privacy.answer_rules import UNKNOWN_CLASS
from serve_apps.agents.turn.knowledge import PassageSearch
from serve_apps.agents.turn_ports import Json
from serve_apps.retrieval.answers.quote import Citation
from serve_apps.retrieval.search.query import SearchQuery
from serve_apps.retrieval.tables.relation import RowPlace
from serve_apps.retrieval.tables.table_catalogue import NamedTable, rank_tables
from serve_apps.retrieval.tables.table_workbench import TableWorkbench
from serve_apps.retrieval.tables.written_query import ResultSource

MOST_FOUND: Final = 20  # passages whose documents are looked at for tables
MOST_TABLES: Final = 6  # of an answer to `list`: a model reads the beginning of an observation
MOST_DOCUMENTS: Final = 20  # where no passage is of a document with tables
MOST_ROWS: Final = 50  # of a result
MOST_QUOTED: Final = 6  # rows of documents that may be quoted from one result
MOST_PLACES: Final = 3  # of one row of a result
MOST_COLUMNS: Final = 40
ROWS_LONG: Final = 1_000  # characters of all rows: of an observation a model reads some 2,000, the notes among them
PLACES_LONG: Final = 400  # characters of all places, which stand before the rows in what is recorded
SAMPLE: Final = 2  # rows of a table
CELL: Final = 40  # characters of a cell of a sample
# A result is made of more rows than are cited: it is taken for one of the strictest class of data.
UNKNOWN: Final = {"classification": UNKNOWN_CLASS}


class AgentTables:
    """`skills.framework.passage_source.TableSource` over the workbench and the search."""

    def __init__(self, workbench: TableWorkbench, search: PassageSearch) -> None:
        """`search` finds the documents that a question is about."""
        self._workbench, self._search = workbench, search

    async def list_tables(self, scope: Scope, agent: str, question: str) -> Json:
        """{tables, more}: those of the documents that answer the question best, or the latest.

        Raises Unavailable: Postgres cannot be reached.
        """
        catalogue = self._workbench.catalogue
        found: Sequence[NamedTable] = ()
        if question:
            asked = SearchQuery(question, MOST_FOUND, agent, enhance=False, spread=False)
            hits = (await self._search.run(scope, asked)).hits
            documents = list(dict.fromkeys(hit.document_id for hit in hits))
            found = rank_tables(question, await catalogue.tables_of(scope, documents, agent))
        if not found:
            listing = await catalogue.search_tables(scope, None, agent, 0, MOST_DOCUMENTS)
            found = rank_tables(question, listing.tables) if question else listing.tables
        shown = list(map(_table_data, found[:MOST_TABLES]))
        return {"tables": shown, "more": max(0, len(found) - MOST_TABLES), **(UNKNOWN if shown else {})}

    async def query(self, scope: Scope, agent: str, sql: str) -> Json:
        """{columns, notes, rows, sql, places, passages}; rows and places as far as a model reads an observation.

        Raises BadQuery, TableNotFound, TooManyRows; Unavailable: Postgres cannot be reached.
        """
        found = await self._workbench.run_query(scope, sql, agent, aliases={}, most=MOST_ROWS)
        result, sources = found.result, found.result.sources or ()
        columns = [f"{one.name} ({one.unit})" if one.unit else one.name for one in result.columns]
        rows = _first_of([list(row) for row in result.rows], ROWS_LONG)
        places = _first_of([_place_data(one, found.cited) for one in sources[: len(rows)]], PLACES_LONG)
        left = len(result.rows) - len(rows)
        cut = (
            [f"Only {len(rows)} of {len(result.rows)} rows are shown here; sum up or filter for less."] if left else []
        )
        return {
            "columns": columns,
            "notes": [*result.notes, *cut],
            "rows": rows,
            "sql": sql,
            "places": places,
            "passages": _quotable(sources, found.cited),
            **UNKNOWN,
        }

    async def find_insights(self, scope: Scope, agent: str, table: str) -> Json:
        """{insights, notes, passages}: statements with their queries.

        Raises TableNotFound, TooManyRows; Unavailable: Postgres cannot be reached.
        """
        found = await self._workbench.find_insights(scope, table, agent)
        sources = [ResultSource(one.places, len(one.insight.rows)) for one in found.insights]
        told = [
            {"text": one.insight.text, "sql": one.insight.sql, "places": _place_data(source, found.cited)}
            for one, source in zip(found.insights, sources, strict=True)
        ]
        passages = _quotable(sources, found.cited)
        return {"insights": told, "notes": list(found.notes), "passages": passages, **UNKNOWN}


def _table_data(table: NamedTable) -> Json:
    columns = table.relation.columns[:MOST_COLUMNS]
    named = [f"{one.name}: {one.type}{f' in {one.unit}' if one.unit else ''}" for one in columns]
    sample = [[one.shown[at][:CELL] for one in columns] for at in range(min(SAMPLE, table.relation.rows))]
    place = table.relation.places[0][0]
    told = {"name": table.name, "document": place.filename, "page": place.page, "rows": table.rows}
    more = {"title": table.title[: 2 * CELL]} if table.title else {}
    return {**told, **more, "columns": named, "sample": sample}


def _first_of(items: Sequence[Json], most: int) -> list[Json]:
    """The first, up to a length of all together; one in any case."""
    lengths = accumulate(len(json.dumps(one, ensure_ascii=False)) + 2 for one in items)
    return list(items[: max(1, sum(length <= most for length in lengths))])


def _place_data(source: ResultSource, cited: Mapping[RowPlace, Citation]) -> Json:
    """Documents, pages and boxes of a row of the result, and of how many rows it is made."""
    known = [cited[place] for place in source.places[:MOST_PLACES] if place in cited]
    places = [
        {"document": one.filename, "page": one.page, "box": [round(side, 3) for side in _outline(one)]} for one in known
    ]
    return {"rows": source.rows, "at": places}


def _outline(one: Citation) -> Sequence[float]:
    """The rectangle around a place on its page; empty where a format has no geometry."""
    boxes = [placed.box for placed in one.boxes if placed.page == one.page]
    return astuple(bounding_box(boxes)) if boxes else ()


def _quotable(sources: Sequence[ResultSource], cited: Mapping[RowPlace, Citation]) -> list[Json]:
    """Rows of documents as passages: each row of the result has one before any has a second."""
    turns = (place for at in range(MOST_PLACES) for one in sources for place in one.places[at : at + 1])
    chosen = [cited[place] for place in dict.fromkeys(turns) if place in cited][:MOST_QUOTED]
    return [
        {
            "document_id": one.document_id,
            "version_id": one.version_id,
            "chunk_id": one.chunk_id,
            "filename": one.filename,
            "page": one.page,
            "score": 1.0,
            "content": one.quote,
            "spans": [[one.page, one.start, one.end]],
            **UNKNOWN,
        }
        for one in chosen
    ]
