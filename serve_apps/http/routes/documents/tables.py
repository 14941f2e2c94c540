"""Tables of the documents: what there are, and read-only SQL over them, each row with the places it is from."""

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field, StringConstraints

from pipelines.documents.facts.page_table import TableKind
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import READ
from serve_apps.http.fields import AgentInQuery, Name, Question, RequestBody, Skip, Text
from serve_apps.http.response_shapes import copy_fields
from serve_apps.http.routes.documents.passages import ChartShape, CitationShape, chart_shape, citation_shape
from serve_apps.retrieval.tables.cell_values import ColumnType
from serve_apps.retrieval.tables.chart import MOST_POINTS, Chart, ChartColumn, ChartKind, chart_of, draw_svg
from serve_apps.retrieval.tables.insights import InsightKind
from serve_apps.retrieval.tables.table_catalogue import MOST_NAMED, NamedTable
from serve_apps.retrieval.tables.table_workbench import LONGEST_SQL, MOST_SHOWN, CitedResult

router = APIRouter(route_class=GuardedRoute, tags=["tables"])

SAMPLE = 3  # rows of a table that a list shows

Sql = Annotated[Question, StringConstraints(max_length=LONGEST_SQL)]
Alias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,59}$")]
AgentInBody = Annotated[Name | None, Field(description="An agent's UUID or its display name: only its documents.")]
Searched = Annotated[Text | None, Query(max_length=400, description="Words of filenames and headings.")]
FewDocuments = Annotated[int, Query(ge=1, le=50, description="Documents, each with all of its tables.")]


class TableColumnShape(BaseModel):
    """A column; `unit` is that of its numbers, where they have one."""

    name: str
    type: ColumnType
    unit: str


class TableShape(BaseModel):
    """A table; `name` is what queries call it, `rows` counts totals among them.

    `sample` are its first rows as they are written. `is_sampled`: its columns are told from its first rows.
    """

    name: str
    document_id: str
    filename: str
    page: int
    kind: TableKind
    title: str
    rows: int
    totals: int
    columns: list[TableColumnShape]
    sample: list[list[str]]
    is_sampled: bool
    url: str


class TableList(BaseModel):
    """The tables of some documents, the latest first.

    `documents` have tables and fit; `unseen` were indexed before tables were kept, and are not among them.
    """

    items: list[TableShape]
    documents: int
    unseen: int


class TableQueryRequest(RequestBody):
    """One SELECT of DuckDB over tables by their names, or by names of one's own for them."""

    sql: Sql
    tables: Annotated[
        dict[Alias, Name],
        Field(max_length=MOST_NAMED, description="Names of your own for tables: {sales: the name in the list}."),
    ] = Field(default_factory=dict)
    agent_id: AgentInBody = None
    limit: Annotated[int, Field(ge=1, le=1000)] = MOST_SHOWN
    chart: Annotated[bool, Field(description="Also as a chart, where it is a measure over a label.")] = False


class ChartRequest(RequestBody):
    """A chart to be drawn: points are (label, value), in their order."""

    kind: ChartKind
    label: Name
    measure: Name
    points: Annotated[
        list[tuple[Annotated[str, StringConstraints(max_length=200)], float]],
        Field(min_length=1, max_length=MOST_POINTS),
    ]


class PictureShape(BaseModel):
    """A picture as SVG; it refers to nothing outside."""

    svg: str


class ResultColumnShape(BaseModel):
    """A column of a result: `type` is text, number, date or other."""

    name: str
    type: str
    unit: str


class ResultSourceShape(BaseModel):
    """What a row of a result is made of: `rows` of the documents, the first of which are `citations`.

    `filenames` are those of the first, also where a long result has no citation left for them.
    """

    rows: int
    filenames: list[str]
    citations: list[int]


class TableResultShape(BaseModel):
    """A result: `sources` has an entry a row, or is null where the query hides which rows it is made of.

    `notes` say what is left out, and how much more there is.
    """

    sql: str
    tables: list[str]
    columns: list[ResultColumnShape]
    rows: list[list[Any]]
    sources: list[ResultSourceShape] | None
    citations: list[CitationShape]
    notes: list[str]
    chart: ChartShape | None


class InsightsRequest(RequestBody):
    """A table by its name in the list."""

    table: Name
    agent_id: AgentInBody = None


class InsightShape(BaseModel):
    """A statement about a column of numbers; `rows` of the documents make it, the first of them are `citations`."""

    kind: InsightKind
    measure: str
    text: str
    sql: str
    rows: int
    citations: list[int]


class InsightsShape(BaseModel):
    """What stands out in a table; `notes` say why nothing is said of it, or not all."""

    table: str
    insights: list[InsightShape]
    citations: list[CitationShape]
    notes: list[str]


@router.get("/api/tables", dependencies=[READ])
async def list_tables(
    me: Me, parts: Its, search: Searched = None, agent_id: AgentInQuery = None, skip: Skip = 0, limit: FewDocuments = 20
) -> TableList:
    """Tables and forms in documents; with `search` those whose filename and headings hold all of its words."""
    agent = await parts.agent_store.resolve(me.scope, agent_id)
    found = await parts.tables.catalogue.search_tables(me.scope, search, agent, skip, limit)
    return TableList(items=list(map(_table_shape, found.tables)), documents=found.documents, unseen=found.unseen)


@router.post("/api/tables/query", dependencies=[READ])
async def query_tables(body: TableQueryRequest, me: Me, parts: Its) -> TableResultShape:
    """Run one SELECT over tables; rows that sum others up are left out unless it names `is_total`."""
    agent = await parts.agent_store.resolve(me.scope, body.agent_id)
    async with parts.ask_admission.place():
        found = await parts.tables.run_query(me.scope, body.sql, agent, aliases=body.tables, most=body.limit)
    return _result_shape(found, _chart_of(found) if body.chart else None)


@router.post("/api/tables/picture", dependencies=[READ])
async def picture(body: ChartRequest, me: Me, parts: Its) -> PictureShape:
    """Draw a chart, of which an answer or a result has the data."""
    chart = Chart(body.kind, body.label, body.measure, tuple(body.points))
    async with parts.ask_admission.place():
        svg = await asyncio.to_thread(draw_svg, chart.specification())
    return PictureShape(svg=svg)


@router.post("/api/tables/insights", dependencies=[READ])
async def insights(body: InsightsRequest, me: Me, parts: Its) -> InsightsShape:
    """What stands out in a table: each statement with the query that shows it and its rows; no model is asked."""
    agent = await parts.agent_store.resolve(me.scope, body.agent_id)
    async with parts.ask_admission.place():
        found = await parts.tables.find_insights(me.scope, body.table, agent)
    numbers = {place: one.n for place, one in found.cited.items()}
    told = [
        InsightShape(
            kind=one.insight.kind,
            measure=one.insight.measure,
            text=one.insight.text,
            sql=one.insight.sql,
            rows=len(one.insight.rows),
            citations=[numbers[place] for place in one.places if place in numbers],
        )
        for one in found.insights
    ]
    cited = [citation_shape(one) for one in found.cited.values()]
    return InsightsShape(table=found.table, insights=told, citations=cited, notes=list(found.notes))


def _chart_of(found: CitedResult) -> ChartShape | None:
    result = found.result
    columns = [ChartColumn(one.name, one.type, one.unit) for one in result.columns]
    drawn = chart_of(columns, result.rows)
    return None if drawn is None else chart_shape(drawn)


def _table_shape(table: NamedTable) -> TableShape:
    relation = table.relation
    place = relation.places[0][0]
    return TableShape(
        name=table.name,
        document_id=place.document_id,
        filename=place.filename,
        page=table.page,
        kind=relation.kind,
        title=table.title,
        rows=table.rows,
        totals=len(relation.totals),
        columns=[copy_fields(TableColumnShape, one) for one in relation.columns],
        sample=[[one.shown[at] for one in relation.columns] for at in range(min(SAMPLE, relation.rows))],
        is_sampled=table.is_sampled,
        url=f"/api/documents/{place.document_id}/pages/{table.page}",
    )


def _result_shape(found: CitedResult, chart: ChartShape | None) -> TableResultShape:
    result = found.result
    numbers: Mapping[Any, int] = {place: one.n for place, one in found.cited.items()}
    sources = result.sources and [
        ResultSourceShape(
            rows=one.rows,
            filenames=list(dict.fromkeys(place.filename for place in one.places)),
            citations=[numbers[place] for place in one.places if place in numbers],
        )
        for one in result.sources
    ]
    return TableResultShape(
        sql=result.sql,
        tables=list(result.tables),
        columns=[copy_fields(ResultColumnShape, one) for one in result.columns],
        rows=[list(row) for row in result.rows],
        sources=None if result.sources is None else list(sources or ()),
        citations=[citation_shape(one) for one in found.cited.values()],
        notes=list(result.notes),
        chart=chart,
    )
