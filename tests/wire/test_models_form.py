"""Forms of answers: what fits, what is wrong with what does not, and schemas that nobody can be held to."""

import time
from typing import Any

import pytest

from cluster.basics.errors import Invalid
from cluster.models.chat.response_format import ResponseForm, checked_schema
from tests.fakes.model_server import serve_model

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "friends": {"type": "array", "items": {"$ref": "#/$defs/friend"}}},
    "required": ["name"],
    "additionalProperties": False,
    "$defs": {"friend": {"type": "object", "required": ["since"], "properties": {"since": {"type": "integer"}}}},
}


@pytest.mark.parametrize(
    ("value", "flaw"),
    [
        ({"name": "Ada", "friends": [{"since": 1833}]}, None),
        ({"name": "Ada", "friends": [{"since": "long"}]}, "friends.0.since: 'long' is not of type 'integer'"),
        ({"friends": []}, "'name' is a required property"),
        ({"name": "Ada", "age": 3}, "Additional properties are not allowed ('age' was unexpected)"),
        (["Ada"], "it is not a JSON object"),
        ("Ada", "it is not a JSON object"),
    ],
)
def test_an_answer_has_the_form_or_a_flaw(value: Any, flaw: str | None) -> None:
    assert checked_schema(PERSON) is PERSON
    assert ResponseForm(PERSON).flaw(value) == flaw


def test_without_a_schema_any_object_will_do() -> None:
    assert ResponseForm().flaw({"anything": [1, None]}) is None and ResponseForm().flaw([]) == "it is not a JSON object"


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "objekt"}, "type"),
        ({"type": "object", "properties": {"a": {"type": 3}}}, "properties.a.type"),
        ({"type": "object", "properties": {"a": {"pattern": "("}}}, "regex"),
        ({"type": "array", "items": {}}, "of type object"),
        ({"properties": {}}, "of type object"),
        ({"type": "object", "patternProperties": {"^a": {}}}, "patternProperties"),
        ({"type": "object", "properties": {"a": {"$dynamicRef": "#b"}}}, "dynamicRef"),
        ({"type": "object", "enum": [[0] * 6000]}, "more than 5000 parts"),
        ({"type": "object", "$id": "http://[", "$ref": "x"}, "cannot be followed"),
        ({"type": "object", "$ref": "#"}, "without end"),
        ({"type": "object", "$ref": "#/$defs/none"}, "not in it"),
    ],
)
def test_a_schema_that_nobody_can_be_held_to_is_refused(schema: dict[str, Any], why: str) -> None:
    with pytest.raises(Invalid, match=why):
        checked_schema(schema)


def test_a_schema_from_outside_fetches_nothing_and_runs_nothing() -> None:
    """A reference is not followed out of the schema, and an expression built to take for ever is not run."""
    with serve_model() as server:
        elsewhere = {"type": "object", "properties": {"a": {"$ref": f"{server.root}/schema"}}}
        with pytest.raises(Invalid, match="not in it"):
            ResponseForm(elsewhere).flaw({"a": 1})
        assert server.requests == []
    bomb = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)} | {"d40": {}}
    began = time.monotonic()
    with pytest.raises(Invalid, match="too often"):
        checked_schema({"type": "object", "$ref": "#/$defs/d0", "$defs": bomb})
    assert time.monotonic() - began < 10
    slow = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}
    began = time.monotonic()
    assert ResponseForm(checked_schema(slow)).flaw({"a": "a" * 60 + "!"}) is None
    assert time.monotonic() - began < 5
