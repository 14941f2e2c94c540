"""JSON Schema of a skill's parameters as fields of a form, and what was typed into them as arguments."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from serve_apps.ui.kit.problem import ApiProblem, ProblemReport

Sort = Literal["text", "choice", "whole", "number", "yes_no", "lines", "json"]
_SORTS: Final[Mapping[str, Sort]] = {"string": "text", "integer": "whole", "number": "number", "boolean": "yes_no"}
_BOUNDS: Final = (
    ("minimum", "at least"),
    ("exclusiveMinimum", "more than"),
    ("maximum", "at most"),
    ("exclusiveMaximum", "less than"),
    ("minLength", "at least characters:"),
    ("maxLength", "at most characters:"),
    ("minItems", "at least items:"),
    ("maxItems", "at most items:"),
    ("pattern", "of the form"),
    ("format", "a"),
)
YES_NO: Final = {"yes": True, "no": False}


@dataclass(frozen=True, slots=True)
class FormField:
    """A parameter; `choices` are those of an enumeration, `limits` says in words what else is asked of a value."""

    name: str
    sort: Sort
    about: str
    required: bool
    choices: tuple[Any, ...]
    default: Any
    limits: str


def schema_fields(schema: Mapping[str, Any]) -> list[FormField]:
    """Form fields of an object schema, the required ones first."""
    needed = set(schema.get("required") or ())
    properties: Mapping[str, Any] = schema.get("properties") or {}
    made = [
        _schema_field(name, one if isinstance(one, Mapping) else {}, name in needed) for name, one in properties.items()
    ]
    return sorted(made, key=lambda field: not field.required)


def typed_arguments(form: Sequence[FormField], typed: Sequence[Any]) -> dict[str, Any]:
    """Arguments of a call from the values typed into the form; empty ones are left out.

    Raises Problem: something is no JSON, or a field that is needed is empty; it is named.
    """
    made: dict[str, Any] = {}
    for field, value in zip(form, typed, strict=True):
        if value is None or value == "":
            if field.required:
                raise _input_problem(f"{field.name} is needed.", "Fill it in.")
            continue
        made[field.name] = _typed_value(field, value)
    return made


def kind_of(one: Mapping[str, Any]) -> str:
    """A type in a word or two."""
    if "enum" in one:
        return "one of a list"
    type_ = one.get("type")
    if isinstance(type_, list):
        return " or ".join(map(str, type_))
    items = one.get("items")
    if type_ == "array" and isinstance(items, Mapping):
        return f"list of {kind_of(items)}"
    names = {"string": "text", "integer": "whole number", "boolean": "yes or no", None: "anything"}
    return names.get(type_, str(type_))


def _schema_field(name: str, one: Mapping[str, Any], required: bool) -> FormField:
    limits = [f"{said} {one[key]}" for key, said in _BOUNDS if key in one]
    choices = tuple(one.get("enum") or ())
    about, default = str(one.get("description") or ""), one.get("default")
    return FormField(name, _field_kind(one), about, required, choices, default, ", ".join(limits))


def _field_kind(one: Mapping[str, Any]) -> Sort:
    if one.get("enum"):
        return "choice"
    type_, items = one.get("type"), one.get("items")
    if type_ == "array" and isinstance(items, Mapping) and items.get("type") == "string":
        return "lines"
    return _SORTS.get(type_, "json") if isinstance(type_, str) else "text" if type_ is None else "json"


def _typed_value(field: FormField, value: Any) -> Any:
    match field.sort:
        case "yes_no":
            return YES_NO[value]
        case "whole":
            return int(value) if float(value).is_integer() else value
        case "lines":
            return [line.strip() for line in str(value).splitlines() if line.strip()]
        case "json":
            return parse_json(str(value), field.name)
        case "text" | "choice" | "number":
            return value


def parse_json(text: str, name: str) -> Any:
    """JSON that somebody typed. Raises Problem: it is none."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise _input_problem(f"{name} is not JSON: {error}", 'Write it like {"city": "Bern"}.') from error


def _input_problem(title: str, fix: str) -> ApiProblem:
    return ApiProblem(ProblemReport(title, "", fix, 422, "invalid"))
