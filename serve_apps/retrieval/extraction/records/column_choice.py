"""Columns: which columns of a table hold the fields of an array's items, by their headings, types and places."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from serve_apps.retrieval.extraction.candidates import FieldCandidate
from serve_apps.retrieval.extraction.extraction_result import TextPlace
from serve_apps.retrieval.extraction.field_words import FieldWords, best_agreement, share_covered, split_name
from serve_apps.retrieval.extraction.match_fields import score_label
from serve_apps.retrieval.extraction.records.table_records import RecordTable
from serve_apps.retrieval.extraction.schema_fields import FieldKind, SchemaField
from serve_apps.retrieval.extraction.typed_values import convert_text, wants_day
from serve_apps.retrieval.tables.cell_values import ColumnType, type_column

LEAST_COLUMN: Final = 0.42  # how well a column fits a field, from which on it is that field's
LEAST_TABLE: Final = 0.3  # and a table an array
SAMPLED: Final = 12  # cells of a column by which its type is judged
FITS: Final = 0.6  # share of them that have to be what the field wants
UNLIKE: Final = 0.7  # of the score of a column of numbers for a field of words
FIRST: Final = 0.03  # more, for the first column and a text: rows begin with what they are about
LATER_HEAD: Final = 0.02  # less, for a heading that is not the table's own
CAPTION_WORDS: Final = ("section", "group", "category", "heading", "chapter", "abschnitt", "rubrik")
_CODE = ("number", "code", "id", "reference", "year", "zip", "phone")
_NUMERIC = re.compile(r"[\W_]{0,3}\d")


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """The columns of an array's fields in one table, and how well the table fits."""

    table: RecordTable
    columns: Mapping[str, int]
    by_place: frozenset[str]  # fields whose column is told by its type and place only
    score: float
    number: int = 0  # of the table in its document


def choose_tables(field: SchemaField, tables: Sequence[RecordTable]) -> list[ColumnChoice]:
    """The tables that may hold an array's items, each read in the way that fits best."""
    found = []
    for number, table in enumerate(tables):
        read = [
            replace(choice, score=choice.score - LATER_HEAD * at, number=number)
            for at, one in enumerate(table.variants())
            if (choice := choose_columns(field, one)) is not None
        ]
        if read:
            found.append(max(read, key=lambda one: one.score))
    return found


def choose_columns(field: SchemaField, table: RecordTable) -> ColumnChoice | None:
    """The columns that hold the fields of an array's items; None where the table is none of them."""
    assert field.items is not None
    fields = [one for one in field.items.properties if one.kind is FieldKind.VALUE]
    if field.items.kind is FieldKind.VALUE:
        fields = [replace(field.items, description=f"{field.description} {field.items.description}".strip())]
    kinds = [_column_kind(table.cells(at)) for at in range(len(table.columns))]
    chosen, total = _columns_by_name(fields, table, kinds)
    about = FieldWords.of(field)
    headings = split_name(f"{table.title} {' '.join(table.columns)}")
    named = max(share_covered(about.name, headings), share_covered(about.description, headings))
    score = 0.7 * total / max(len(fields), 1) + 0.3 * named
    by_place = _columns_by_place(fields, table, kinds, chosen)
    filled = len(chosen) + len(by_place)
    if not filled or (not chosen and len(by_place) < max(2, len(fields) - 1)):
        return None
    if score < LEAST_TABLE and chosen and not (filled >= len(fields) - 1 and len(fields) > 1):
        return None
    return ColumnChoice(table, {**chosen, **by_place}, frozenset(by_place), score)


def _columns_by_name(
    fields: Sequence[SchemaField], table: RecordTable, kinds: Sequence[ColumnType]
) -> tuple[dict[str, int], float]:
    """Columns by their headings, and the sum of how well they fit.

    A column is one field's; only a choice may be named in the same cells as a text, as in `Class B - Harbour pilots`.
    """
    rated = []
    for one in fields:
        words = FieldWords.of(one)
        for at, heading in enumerate(table.columns):
            score = _rate_column(one, words, heading, table.cells(at)[:SAMPLED], kinds[at])
            first = FIRST if at == 0 and score and _column_type(one) is ColumnType.TEXT else 0.0
            rated.append((score + first, one, at))
    chosen: dict[str, int] = {}
    taken: dict[int, list[SchemaField]] = {}
    total = 0.0
    for score, one, at in sorted(rated, key=lambda found: (-found[0], found[2])):
        shared = not taken.get(at) or (len(taken[at]) == 1 and bool(taken[at][0].choices) != bool(one.choices))
        if score >= LEAST_COLUMN and one.name not in chosen and shared:
            chosen[one.name], total = at, total + score
            taken.setdefault(at, []).append(one)
    return chosen, total


def _column_kind(cells: Sequence[str]) -> ColumnType:
    """Its type; of numbers also where words stand behind them."""
    kind = type_column(cells[:200]).type
    numeric = sum(_NUMERIC.match(cell) is not None for cell in cells)
    return ColumnType.NUMBER if kind is ColumnType.TEXT and cells and numeric >= 0.8 * len(cells) else kind


def _rate_column(field: SchemaField, words: FieldWords, heading: str, cells: Sequence[str], kind: ColumnType) -> float:
    if not cells or not heading.strip():
        return 0.0
    fitting = sum(convert_text(field, cell, cells) is not None for cell in cells) / len(cells)
    if fitting < FITS:
        return 0.0
    probe = FieldCandidate(cells[0], TextPlace(1, 0, 0), heading)
    unlike = kind is ColumnType.NUMBER and not field.types & {"number", "integer"} and not _is_code(words)
    return score_label(field, words, probe, split_name(heading)) * fitting * (UNLIKE if unlike else 1)


def _is_code(words: FieldWords) -> bool:
    """True where a text of digits is what a field wants: a number, a code, an identifier."""
    return any(best_agreement(word, _CODE) >= 0.9 for word in (*words.name, *words.description))


def _columns_by_place(
    fields: Sequence[SchemaField], table: RecordTable, kinds: Sequence[ColumnType], chosen: Mapping[str, int]
) -> dict[str, int]:
    """Columns for the fields that no heading names: those of their type, both in order, where they are as many."""
    made: dict[str, int] = {}
    for wanted in ColumnType:
        open_fields = [one for one in fields if one.name not in chosen and _column_type(one) is wanted]
        open_fields = [one for one in open_fields if not (set(split_name(one.name)) & set(CAPTION_WORDS))]
        free = [at for at, kind in enumerate(kinds) if kind is wanted and at not in chosen.values() and table.cells(at)]
        if open_fields and len(open_fields) == len(free):
            made |= {one.name: at for one, at in zip(open_fields, free, strict=True)}
    return made


def _column_type(field: SchemaField) -> ColumnType:
    if field.types & {"number", "integer"}:
        return ColumnType.NUMBER
    return ColumnType.DATE if wants_day(field) else ColumnType.TEXT
