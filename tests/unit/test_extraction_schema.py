"""Schemas of extractions: what is read of them, and what is refused with what to do about it."""

import time
from typing import Any

import pytest

from cluster.basics.errors import Invalid
from serve_apps.retrieval.extraction.document_extractor import MOST_FLAWS, validate_extraction
from serve_apps.retrieval.extraction.extraction_result import ExtractedField, Extraction, FieldState
from serve_apps.retrieval.extraction.field_words import FieldWords, share_covered, split_name, words_agree
from serve_apps.retrieval.extraction.schema_fields import MOST_FIELDS, FieldKind, SchemaRefused, read_schema
from serve_apps.retrieval.extraction.time_limit import TimeLimit
from tests.fakes.paperwork import wanting

TREE = {"type": "object", "properties": {"child": {"$ref": "#/$defs/tree"}}}


def test_references_alternatives_and_nulls_are_followed() -> None:
    root = read_schema(
        {
            "$defs": {"money": {"type": "number", "description": "an amount"}},
            "properties": {
                "total": {"$ref": "#/$defs/money"},
                "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "paid": {"type": ["boolean", "null"]},
                "kind": {"enum": ["A", "B"]},
                "party": {"allOf": [wanting(name="string"), {"required": ["name"]}]},
                "lines": {"type": "array", "items": wanting(text="string")},
            },
        }
    )
    total, note, paid, kind, party, lines = root.properties
    assert (total.types, total.description) == (frozenset({"number"}), "an amount")
    assert note.nullable and paid.nullable and paid.types == {"boolean"} and not total.nullable
    assert kind.choices == ("A", "B") and party.properties[0].required
    assert lines.kind is FieldKind.ARRAY and lines.items is not None and lines.items.kind is FieldKind.OBJECT
    assert [one.name for one in root.leaves()] == ["total", "note", "paid", "kind", "name", "text"]


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"$defs": {"tree": TREE}, "properties": {"root": {"$ref": "#/$defs/tree"}}}, "refers to itself"),
        ({"properties": {"all": {"$ref": "#"}}}, "refers to itself"),
        ({"properties": {"a": {"$ref": "https://example.org/a.json"}}}, "outside of it"),
        ({"properties": {"a": {"$ref": "#/$defs/none"}}}, "not in it"),
        (wanting(**{f"f{n}": "string" for n in range(MOST_FIELDS + 1)}), "more than 200 fields"),
        ({"type": "object"}, "names no fields"),
        ({"type": "array", "items": {"type": "string"}}, "type object"),
        ({"properties": ["a"]}, "no object"),
        ({"properties": {"a": 5}}, "no object"),
        ({"properties": {"a": {"type": "array", "items": [[]]}}, "required": 5}, "the schema is none"),
        ({"properties": {"a": {"type": "strange"}}}, "the schema is none"),
        ({"properties": {"a": {"type": 12}}}, "the schema is none"),
        ({"properties": {"a": {"type": "string"}}, "patternProperties": {"(a+)+$": {}}}, "patternProperties"),
    ],
)
def test_what_cannot_be_extracted_by_is_refused(schema: Any, words: str) -> None:
    with pytest.raises(Invalid, match=words) as refused:
        read_schema(schema)
    if isinstance(refused.value, SchemaRefused) and "itself" in words:
        assert "Write the inner levels out" in refused.value.hint


def _chain(link: Any, end: Any, length: int) -> Any:
    """`link` makes a definition of the reference to the next one."""
    refs = [{"$ref": f"#/$defs/d{n}"} for n in range(length + 1)]
    return {"$defs": {f"d{n}": link(refs[n + 1]) for n in range(length)} | {f"d{length}": end}}


@pytest.mark.parametrize(
    "bomb",
    [
        _chain(lambda ref: {"type": "object", "properties": {f"p{n}": ref for n in range(20)}}, {"type": "object"}, 7),
        _chain(lambda ref: {"allOf": [ref, ref]}, {"type": "object"}, 40),
        _chain(lambda ref: {"allOf": [ref]}, {"type": "string"}, 1_500),
        {"$defs": {"d0": {"type": "object", "properties": {f"p{n}": True for n in range(2_000)}}}},
    ],
    ids=["properties", "allOf", "long", "copies"],
)
def test_a_schema_that_multiplies_is_refused_soon(bomb: Any) -> None:
    began = time.process_time()
    first = {"$ref": "#/$defs/d0"}
    several = {"allOf": [first] * 1_000}
    with pytest.raises(SchemaRefused):
        read_schema({**bomb, "properties": {"a": first, "b": several, "c": {"type": "string"}}})
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    "parts",
    [
        [{"required": 5}, {"required": ["x"]}],
        [{"required": [5]}],
        [{"properties": 5}, {"properties": {"x": True}}],
        [{"properties": {"x": True}}, {"properties": ["x"]}],
    ],
)
def test_parts_of_a_wrong_type_are_refused(parts: Any) -> None:
    with pytest.raises(Invalid):
        read_schema({"properties": {"a": {"type": "object", "allOf": parts}}})


def test_a_schema_that_is_nested_too_deeply_is_refused() -> None:
    schema: Any = {"type": "string"}
    for _ in range(12):
        schema = {"type": "object", "properties": {"in": schema}}
    with pytest.raises(SchemaRefused, match="deeper than 8"):
        read_schema(schema)


def test_a_pattern_is_not_run() -> None:
    """It is part of many schemas, and one that is built for it takes for ever."""
    schema = {"properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}
    read_schema(schema)
    checked = validate_extraction(schema, Extraction({"a": "a" * 40 + "!"}, ()))
    assert checked.flaws == () and checked.notes == ("not checked of the schema: pattern",)
    named = {"properties": {"pattern": {"type": "string"}, "day": {"type": "string", "format": "date"}}}
    assert validate_extraction(named, Extraction({}, ())).notes == ("not checked of the schema: format",)


def test_every_field_that_the_schema_does_not_allow_is_invalid_and_some_are_listed() -> None:
    schema = {"properties": {"prices": {"type": "array", "items": {"type": "number", "maximum": 5}}}}
    fields = tuple(ExtractedField(f"/prices/{n}", 9, FieldState.FOUND) for n in range(80))
    checked = validate_extraction(schema, Extraction({"prices": [9] * 80}, fields))
    assert checked.count(FieldState.INVALID) == 80 and len(checked.flaws) == MOST_FLAWS
    assert checked.notes == ("30 more flaws are not listed, the fields say what is wrong",)


def test_a_check_that_takes_long_ends_and_says_so() -> None:
    rows = [{"n": n, "m": "x" * 50} for n in range(3_000)]
    schema = {"properties": {"rows": {"type": "array", "uniqueItems": True}}}
    began = time.process_time()
    assert validate_extraction(schema, Extraction({"rows": rows}, ())).flaws == ()
    assert validate_extraction(schema, Extraction({"rows": [*rows, rows[0]]}, ())).flaws
    assert time.process_time() - began < 1.5
    schema = {"properties": {"rows": {"type": "array", "items": {"allOf": [{"minProperties": 1}] * 1_000}}}}
    checked = validate_extraction(schema, Extraction({"rows": rows}, ()), TimeLimit(0.2))
    assert "for 0.2 s only" in checked.notes[0] and time.process_time() - began < 5


def test_references_that_are_followed_too_often_leave_a_note() -> None:
    schema = {"$defs": {"n": {"type": "number"}}, "properties": {"a": {"items": {"$ref": "#/$defs/n"}}}}
    checked = validate_extraction(schema, Extraction({"a": [1] * 21_000}, ()))
    assert "not held against the schema as a whole" in checked.notes[0]


@pytest.mark.parametrize(
    ("value", "unit", "fits"), [(10**400, 0.1, True), (1e308, 0.1, True), (0.3, 0.1, True), (0.35, 0.1, False)]
)
def test_multiples_are_those_of_the_decimals(value: float, unit: float, fits: bool) -> None:
    schema = {"properties": {"a": {"multipleOf": unit}}}
    assert (validate_extraction(schema, Extraction({"a": value}, ())).flaws == ()) is fits


def test_names_are_cut_at_their_joints() -> None:
    assert split_name("invoiceNumber") == ("invoice", "number") == split_name("invoice_number")
    assert split_name("VATIdGB") == ("vat", "id", "gb") and split_name("N° facture") == ("no", "facture")
    assert split_name("Straße Nr. 5") == ("strasse", "nr", "5")


@pytest.mark.parametrize(
    ("one", "other", "agree"),
    [
        ("number", "nummer", True),
        ("invoice", "rechnungsnummer", True),
        ("date", "fecha", True),
        ("qty", "menge", True),
        ("exp", "expiration", True),
        ("amount", "menge", False),
        ("buyer", "supplier", False),
        ("start", "end", False),
    ],
)
def test_words_of_forms_agree_over_languages(one: str, other: str, agree: bool) -> None:
    assert (words_agree(one, other) > 0) is agree


def test_a_description_counts_without_what_it_says_of_the_form() -> None:
    (field,) = read_schema(
        wanting(no="string: the policy number exactly as printed (e.g. AB-1); null if it is blank")
    ).properties
    assert FieldWords.of(field).description == ("policy",)
    assert share_covered((), ("a",)) == 0.0
