"""Extraction without a model: from the labels, tables and elements of a document, by the names of the fields."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, Final

from pipelines.documents.document import Page
from pipelines.documents.facts.find_facts import find_facts
from pipelines.documents.facts.page_fact import FactKind, PageFact
from serve_apps.retrieval.extraction.candidates import FieldCandidate
from serve_apps.retrieval.extraction.extraction_result import TextPlace
from serve_apps.retrieval.extraction.marked_values import find_marked_candidates
from serve_apps.retrieval.extraction.match_fields import CandidatePool, match_fields
from serve_apps.retrieval.extraction.page_lines import find_line_candidates
from serve_apps.retrieval.extraction.page_segments import find_segment_candidates
from serve_apps.retrieval.extraction.records.column_choice import ColumnChoice, choose_tables
from serve_apps.retrieval.extraction.records.list_records import (
    choose_list,
    find_priced_lines,
    find_text_lists,
    read_list,
)
from serve_apps.retrieval.extraction.records.node_records import NodeRecords, identifiers_in
from serve_apps.retrieval.extraction.records.row_reading import read_column, read_rows
from serve_apps.retrieval.extraction.records.structured_text import TextNode, read_structure
from serve_apps.retrieval.extraction.records.table_records import find_record_tables
from serve_apps.retrieval.extraction.schema_fields import FieldKind, SchemaField
from serve_apps.retrieval.extraction.time_limit import UNLIMITED, TimeLimit

MOST_LABELLED: Final = 60  # pages on which labels are looked for; tables and lists are on any
CELL: Final = 0.95  # how surely a cell is what its headings say
USED: Final = 0.2  # less, for a table that holds another array
ALIKE: Final = 0.8  # of the best table's score, from which on others that are alike go on with it
AS_GOOD: Final = 0.8  # how well a table fits that is taken before a list under a heading that fits


def extract_facts(root: SchemaField, pages: Sequence[Page], limit: TimeLimit = UNLIMITED) -> Mapping[str, Any]:
    """The values that a document states for the fields of a schema, in its form; what is not found is left out."""
    structure = read_structure(pages)
    if structure is not None:
        return _NodeExtraction(NodeRecords(structure), limit).read_object(root, structure.root)
    return _PageExtraction(pages, _count_arrays(root), limit).read_object(root)


def _count_arrays(field: SchemaField) -> int:
    inner = sum(map(_count_arrays, field.properties)) + (_count_arrays(field.items) if field.items else 0)
    return inner + (field.kind is FieldKind.ARRAY)


class _NodeExtraction:
    """Reads fields from the elements of XML and JSON."""

    def __init__(self, records: NodeRecords, limit: TimeLimit) -> None:
        self._records, self._limit = records, limit

    def read_object(self, field: SchemaField, node: TextNode, context: str = "") -> Mapping[str, Any]:
        made: dict[str, Any] = {}
        groups: dict[TextNode, list[SchemaField]] = {}
        for one in field.properties:
            below = self._records.record_named(one.description) or node
            if one.kind is FieldKind.VALUE:
                groups.setdefault(below, []).append(one)
            elif one.kind is FieldKind.OBJECT:
                made[one.name] = self.read_object(one, below, f"{context} {one.name}")
            else:
                made[one.name] = self._read_array(one, below)
        for below, fields in groups.items():
            made |= match_fields(fields, self._pool_below(below), context, self._limit)
        return made

    def _pool_below(self, node: TextNode) -> CandidatePool:
        return CandidatePool(() if self._limit.is_over else self._records.candidates(node))

    def _read_array(self, field: SchemaField, node: TextNode) -> Sequence[Any]:
        items = field.items
        assert items is not None
        if self._limit.is_over:
            return ()
        nodes = self._records.find_records(field, node)
        if items.kind is FieldKind.VALUE:
            return self._records.read_values(items, nodes)
        rows = self._records.read_items(items, nodes, field.name, self._limit)
        inner = [one for one in items.properties if one.kind is not FieldKind.VALUE]
        below = SchemaField(items.name, FieldKind.OBJECT, properties=tuple(inner))
        return [
            {**row, **(self.read_object(below, one, field.name) if inner else {})}
            for row, one in zip(rows, nodes, strict=True)
        ]


class _PageExtraction:
    """Reads fields from the labels and tables of pages."""

    def __init__(self, pages: Sequence[Page], arrays: int, limit: TimeLimit) -> None:
        """`arrays`: how many lists of records are wanted of it."""
        self._limit = limit
        self._tables = [*find_record_tables(pages), *find_priced_lines(pages)]
        self._lists = find_text_lists(pages)
        self._used: set[int] = set()
        self._arrays = arrays
        looked_at = takewhile(lambda _: not limit.is_over, pages[:MOST_LABELLED])
        self._pool = CandidatePool(one for page in looked_at for one in _page_candidates(page))

    def read_object(self, field: SchemaField, context: str = "") -> Mapping[str, Any]:
        made: dict[str, Any] = {}
        # Arrays first: what stands in the rows of one is no field of the document.
        for one in (one for one in field.properties if one.kind is FieldKind.ARRAY):
            made[one.name] = self._read_array(one)
        values = [one for one in field.properties if one.kind is FieldKind.VALUE]
        rows = {one.name: row for one in values if (row := self._row_named(one.description))}
        for one in values:
            if one.name in rows:
                made |= match_fields([one], CandidatePool(rows[one.name]), context, self._limit)
        made |= match_fields([one for one in values if one.name not in rows], self._pool, context, self._limit)
        for one in (one for one in field.properties if one.kind is FieldKind.OBJECT):
            made[one.name] = self.read_object(one, f"{context} {one.name}")
        return made

    def _row_named(self, description: str) -> list[FieldCandidate]:
        """The cells of the row that an identifier of a description stands in."""
        wanted = set(identifiers_in(description))
        if not wanted:
            return []
        rows = (row for table in self._tables for row in table.rows)
        return next(
            (
                [cell for cell in row if cell is not None]
                for row in rows
                if any(cell is not None and cell.text.casefold() in wanted for cell in row)
            ),
            [],
        )

    def _read_array(self, field: SchemaField) -> Sequence[Any]:
        assert field.items is not None
        if self._limit.is_over:
            return ()
        choices = [
            (choice.score - USED * (choice.number in self._used), -choice.number, choice)
            for choice in choose_tables(field, self._tables)
        ]
        listed = choose_list(field, self._lists)
        if listed is not None and not any(score > AS_GOOD for score, _, _ in choices):
            return read_list(field, listed)
        if not choices:
            return ()
        best, _, choice = max(choices, key=lambda one: one[:2])
        self._used.add(choice.number)
        # Where nothing else is wanted of tables, all that are alike are parts of it.
        alike = [
            one for score, _, one in choices if self._arrays == 1 and score >= ALIKE * best and _is_like(one, choice)
        ]
        read = read_column if field.items.kind is FieldKind.VALUE else read_rows
        return [record for one in alike or [choice] for record in read(field, one)]


def _is_like(one: ColumnChoice, other: ColumnChoice) -> bool:
    """True of tables as wide as each other whose fields are in the same columns."""
    return one.columns == other.columns and len(one.table.columns) == len(other.table.columns)


def _page_candidates(page: Page) -> Iterator[FieldCandidate]:
    facts = find_facts(page.text, page.words)
    columns = Counter((one.section, one.column) for one in facts if one.kind is FactKind.CELL)
    for one in facts:
        yield _fact_candidate(page, one, columns[one.section, one.column])
    yield from find_line_candidates(page)
    yield from find_marked_candidates(page)
    yield from find_segment_candidates(page)


def _fact_candidate(page: Page, fact: PageFact, cells: int) -> FieldCandidate:
    """`cells`: of its column; of several the row's heading has to say which is meant."""
    at = page.text.rfind(fact.value, fact.start, fact.end)
    start = at if at >= 0 else fact.start
    place = TextPlace(page.number, start, start + len(fact.value) if at >= 0 else fact.end)
    if fact.kind is FactKind.CELL:
        if cells == 1:
            return FieldCandidate(fact.value, place, f"{fact.label} {fact.column}", fact.section, CELL)
        return FieldCandidate(
            fact.value, place, fact.label, f"{fact.column} {fact.section}", CELL if fact.label else 0.0
        )
    return FieldCandidate(fact.value, place, fact.label, fact.section)
