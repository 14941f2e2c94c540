"""The fields that a JSON schema asks for: objects, arrays and values, each with what its name and description say."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from cluster.basics.errors import Invalid
from cluster.models.chat.response_format import checked_schema

Json = Any
MOST_FIELDS: Final = 200  # values of a schema, those of an array's items counted once
DEEPEST: Final = 8  # objects and arrays inside of each other
LONGEST_NAME: Final = 200  # characters
LONGEST_DESCRIPTION: Final = 4_000
MOST_STEPS: Final = 5_000  # references, alternatives and parts that are followed: eight of eight each are a million
KEYS_A_STEP: Final = 100  # keys that are copied in one of them
_BOTH: Final = ("anyOf", "oneOf")


class SchemaRefused(Invalid):
    """Nothing can be extracted by this schema."""

    code = "schema_refused"


class FieldKind(StrEnum):
    """The shape of a field."""

    OBJECT = "object"
    ARRAY = "array"
    VALUE = "value"


@dataclass(frozen=True, slots=True)
class SchemaField:
    """A field of a schema."""

    name: str  # its key; of an array's items the key of the array
    kind: FieldKind
    types: frozenset[str] = frozenset()  # of a value, as JSON Schema names them; empty where any will do
    description: str = ""
    format: str = ""
    choices: tuple[Json, ...] = ()  # the values that are allowed, where they are listed
    nullable: bool = False
    required: bool = False
    properties: tuple["SchemaField", ...] = ()  # of an object
    items: "SchemaField | None" = None  # of an array

    def leaves(self) -> Iterator["SchemaField"]:
        """The values in it, in order."""
        if self.kind is FieldKind.VALUE:
            yield self
        for inner in self.properties:
            yield from inner.leaves()
        if self.items is not None:
            yield from self.items.leaves()


def read_schema(schema: Mapping[str, Json]) -> SchemaField:
    """The object that a schema describes.

    Raises SchemaRefused: it has no fields, too many, refers to itself, or is nested too deeply; Invalid: it is none.
    """
    # Asked first, by itself: what refers to itself has no last field, and the general check would only run until it
    # has followed too many references.
    try:
        root = _SchemaReader(schema).read_root()
    except RecursionError:
        raise SchemaRefused("the schema is nested too deeply") from None
    checked_schema({"type": "object", **schema})
    return root


class _SchemaReader:
    """Follows a schema, and counts its fields."""

    def __init__(self, schema: Mapping[str, Json]) -> None:
        self._schema, self._count, self._steps = schema, 0, 0

    def read_root(self) -> SchemaField:
        root = self._field("", {"type": "object", **self._schema}, (), 0, required=True)
        if root.kind is not FieldKind.OBJECT:
            raise SchemaRefused("the schema has to be of type object", fix="Put the array or value into a property.")
        if not self._count:
            fix = 'Name what is wanted: {"type": "object", "properties": {"invoiceNumber": {"type": "string"}}}.'
            raise SchemaRefused("the schema names no fields", fix=fix)
        return root

    def _field(
        self, name: str, given: Json, followed: tuple[str, ...], depth: int, *, required: bool = False
    ) -> SchemaField:
        if depth > DEEPEST:
            fix = f"Flatten it: at most {DEEPEST} objects and arrays inside of each other."
            raise SchemaRefused(f"the schema is nested deeper than {DEEPEST} at {name!r}", fix=fix)
        if len(name) > LONGEST_NAME:
            raise SchemaRefused(f"a field's name has more than {LONGEST_NAME} characters")
        self._count_step()
        rule, followed, nullable = self._resolve(name, given, followed)
        types = _types_of(rule)
        said = (rule.get(key) for key in ("title", "description"))
        told = " ".join(one[:LONGEST_DESCRIPTION] for one in said if isinstance(one, str) and one)
        bare = SchemaField(
            name, FieldKind.VALUE, description=told, nullable=nullable or "null" in types, required=required
        )
        types -= {"null"}
        if "object" in types or (not types and "properties" in rule):
            return replace(bare, kind=FieldKind.OBJECT, properties=self._properties(rule, followed, depth))
        if "array" in types or (not types and "items" in rule):
            inner = rule.get("items") or {}
            first = inner[0] if isinstance(inner, list) and inner else inner
            items = self._field(name, {} if isinstance(first, list) else first, followed, depth + 1)
            return replace(bare, kind=FieldKind.ARRAY, items=items)
        self._count += 1
        if self._count > MOST_FIELDS:
            fix = "Extract in several calls, each with a part of the fields."
            raise SchemaRefused(f"the schema has more than {MOST_FIELDS} fields", fix=fix)
        choices = tuple(rule["enum"]) if isinstance(rule.get("enum"), list) else ()
        choices = (rule["const"],) if "const" in rule else choices
        return replace(bare, types=types, format=str(rule.get("format", "")), choices=choices)

    def _properties(self, rule: Mapping[str, Json], followed: tuple[str, ...], depth: int) -> tuple[SchemaField, ...]:
        given, needed = rule.get("properties", {}), rule.get("required", ())
        if not isinstance(given, Mapping):
            raise SchemaRefused("`properties` is no object")
        needed = {one for one in needed if isinstance(one, str)} if isinstance(needed, Sequence) else set()
        return tuple(
            self._field(str(name), inner, followed, depth + 1, required=name in needed) for name, inner in given.items()
        )

    def _resolve(
        self, name: str, given: Json, followed: tuple[str, ...]
    ) -> tuple[Mapping[str, Json], tuple[str, ...], bool]:
        """The rule itself behind references and alternatives, which references led to it, and whether null is one."""
        rule, nullable = given, False
        while True:
            if rule is True:
                rule = {}
            if not isinstance(rule, Mapping):
                raise SchemaRefused(f"the schema of {name!r} is no object")
            self._count_step(len(rule))
            if isinstance(target := rule.get("$ref"), str):
                if target in followed:
                    fix = "Write the inner levels out, as deep as they are needed; a document's values have an end."
                    raise SchemaRefused(f"the schema refers to itself by {target!r}", fix=fix)
                followed = (*followed, target)
                rest = {key: value for key, value in rule.items() if key != "$ref"}
                rule = {**self._referred(target), **rest}
            elif (both := next((key for key in _BOTH if isinstance(rule.get(key), list)), None)) is not None:
                options = [one for one in rule[both] if isinstance(one, Mapping)]
                kept = [one for one in options if one.get("type") != "null"]
                nullable = nullable or len(kept) < len(options)
                rest = {key: value for key, value in rule.items() if key != both}
                rule = {**rest, **(kept[0] if kept else {})}
            elif isinstance(parts := rule.get("allOf"), list):
                rest = {key: value for key, value in rule.items() if key != "allOf"}
                rule = self._merged(name, [*parts, rest], followed)
            else:
                return rule, followed, nullable

    def _merged(self, name: str, parts: Sequence[Json], followed: tuple[str, ...]) -> Mapping[str, Json]:
        made: dict[str, Json] = {}
        properties: dict[str, Json] = {}
        required: dict[str, None] = {}  # in order, each once
        for part in parts:
            rule, _, _ = self._resolve(name, part, followed)
            inner, needed = rule.get("properties", {}), rule.get("required", [])
            if not isinstance(inner, Mapping):
                raise SchemaRefused(f"`properties` of {name!r} is no object")
            if not isinstance(needed, list) or not all(isinstance(one, str) for one in needed):
                raise SchemaRefused(f"`required` of {name!r} is no list of names")
            self._count_step(len(inner) + len(needed))
            properties |= inner
            required |= dict.fromkeys(needed)
            made |= rule
        if "properties" in made:
            made["properties"] = properties
        if required:
            made["required"] = list(required)
        return made

    def _count_step(self, keys: int = 0) -> None:
        """A step of reading that copies so many keys."""
        self._steps += 1 + keys // KEYS_A_STEP
        if self._steps > MOST_STEPS:
            fix = "Write out what references repeat, and leave out what is not wanted."
            raise SchemaRefused(f"the schema takes more than {MOST_STEPS} steps to follow", fix=fix)

    def _referred(self, target: str) -> Mapping[str, Json]:
        fix = "Put what is referred to under `$defs` of the same schema, and refer to it as `#/$defs/NAME`."
        if not target.startswith("#"):
            raise SchemaRefused(f"the schema refers to {target[:LONGEST_NAME]!r}, outside of it", fix=fix)
        at: Json = self._schema
        for step in target.removeprefix("#").split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            at = at.get(key) if isinstance(at, Mapping) else None
        if not isinstance(at, Mapping):
            raise SchemaRefused(f"the schema refers to {target[:LONGEST_NAME]!r}, which is not in it", fix=fix)
        return at


def _types_of(rule: Mapping[str, Json]) -> frozenset[str]:
    given = rule.get("type", ())
    named = [given] if isinstance(given, str) else given if isinstance(given, Sequence) else ()
    return frozenset(one for one in named if isinstance(one, str))
