"""Rows as records: the fields of each row of a table by the columns that were chosen for them."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from serve_apps.retrieval.extraction.candidates import FieldCandidate
from serve_apps.retrieval.extraction.extraction_result import FoundValue, TextPlace
from serve_apps.retrieval.extraction.field_words import FieldWords, share_covered, split_name
from serve_apps.retrieval.extraction.records.column_choice import CAPTION_WORDS, ColumnChoice
from serve_apps.retrieval.extraction.schema_fields import FieldKind, SchemaField
from serve_apps.retrieval.extraction.typed_values import convert_text, wants_day

CAPTIONED: Final = 0.5  # share of a field's words that a caption has which is the field's value
BY_PLACE: Final = "its column is told by its type and place, not by its heading"
SOME_ROWS: Final = "only some rows are asked for, and which these are is not judged without a model"
_CONDITION = re.compile(
    r"\bonly\b|\bor (?:more|less|lower|higher|above|below)\b|\bat (?:least|most)\b|\b(?:greater|less|more|fewer) than\b"
    r"|\b(?:largest|smallest|highest|lowest|top|first|last) \d+\b",
    re.IGNORECASE,
)


def read_rows(field: SchemaField, choice: ColumnChoice) -> list[Mapping[str, FoundValue]]:
    """The records of a table: the fields of each row."""
    assert field.items is not None
    fields = {one.name: one for one in field.items.properties if one.kind is FieldKind.VALUE}
    made: list[Mapping[str, FoundValue]] = []
    condition = SOME_ROWS if _CONDITION.search(field.description) else ""
    for row, caption in zip(choice.table.rows, choice.table.captions, strict=True):
        record: dict[str, FoundValue] = {}
        if _is_heading_row(fields, choice, row):
            continue
        for name, at in choice.columns.items():
            if (cell := row[at]) is not None and name in fields:
                doubts = (condition, BY_PLACE if name in choice.by_place else "")
                found = _read_cell(fields[name], cell, "; ".join(one for one in doubts if one))
                if found is not None:
                    record[name] = found
        record |= _read_rest(fields, record, choice, row, caption)
        if record:
            made.append(record)
    return made


def _is_heading_row(
    fields: Mapping[str, SchemaField], choice: ColumnChoice, row: Sequence[FieldCandidate | None]
) -> bool:
    """True of a row with words where the columns of numbers have numbers: it heads those below it."""
    cells = [
        (fields[name], cell)
        for name, at in choice.columns.items()
        if name in fields and fields[name].types & {"number", "integer"} and (cell := row[at]) is not None
    ]
    return bool(cells) and all(convert_text(field, cell.text, cell.beside) is None for field, cell in cells)


def read_column(field: SchemaField, choice: ColumnChoice) -> list[FoundValue]:
    """The cells of the column of a list of values."""
    assert field.items is not None
    cells = [row[at] for at in choice.columns.values() for row in choice.table.rows]
    found = [_read_cell(field.items, cell, "") for cell in cells if cell is not None]
    return [one for one in found if one is not None]


def _read_cell(field: SchemaField, cell: FieldCandidate, doubt: str) -> FoundValue | None:
    typed = convert_text(field, cell.text, cell.beside)
    if typed is None:
        return None
    start = cell.place.start
    place = TextPlace(cell.place.page, start + typed.start, start + typed.end)
    return FoundValue(typed.value, place, "facts", "; ".join(one for one in (doubt, typed.doubt) if one))


def _read_rest(
    fields: Mapping[str, SchemaField],
    record: Mapping[str, FoundValue],
    choice: ColumnChoice,
    row: Sequence[FieldCandidate | None],
    caption: FieldCandidate | None,
) -> dict[str, FoundValue]:
    """Fields without a column: the caption above the row, and the words behind a number in its cell, as `12 kg`."""
    left = [one for name, one in fields.items() if name not in choice.columns and "string" in (one.types or {"string"})]
    made: dict[str, FoundValue] = {}
    for one in left:
        if caption is not None and _is_captioned(one, caption):
            made[one.name] = FoundValue(caption.text, caption.place)
    plain = [one for one in left if one.name not in made and not one.choices and not wants_day(one)]
    if len(plain) != 1:
        return made
    for name, found in record.items():
        cell = row[choice.columns[name]]
        if cell is None or found.place is None or not fields[name].types & {"number", "integer"}:
            continue
        behind = cell.text[found.place.end - cell.place.start :]
        words = behind.strip(" ()")
        if re.search(r"[^\W\d_]{2}", words):
            start = found.place.end + behind.find(words)
            made[plain[0].name] = FoundValue(words, TextPlace(cell.place.page, start, start + len(words)))
    return made


def _is_captioned(field: SchemaField, caption: FieldCandidate) -> bool:
    words, said = FieldWords.of(field), split_name(caption.text)
    is_asked = bool(set(split_name(field.name)) & set(CAPTION_WORDS))
    return is_asked or max(share_covered(words.name, said), share_covered(words.description, said)) >= CAPTIONED
