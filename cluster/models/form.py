"""The form that an answer has to have: a JSON object, or one that fits a schema; and what is wrong where it has not."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from jsonschema.validators import extend
from referencing import Registry
from referencing.exceptions import Unresolvable

from cluster.basics.errors import Invalid

LONGEST_FLAW = 300  # characters; a message repeats the value that it is about

# A schema may come from anybody. Its regular expressions are not run: one that is built for it takes for ever.
_Validator = extend(Draft202012Validator, {"pattern": None})
_RUN = frozenset({"patternProperties"})  # also read by other keywords, so it cannot be left out


@dataclass(frozen=True, slots=True)
class Form:
    """What an answer has to be.

    Attributes:
        schema: a JSON schema of type object, see `checked`; None for any JSON object.
        name: of the schema, for the provider.
        strict: as the client set it, for the provider.
        tool: the one among a request's tools whose arguments are the answer where a provider takes no form.
    """

    schema: Mapping[str, Any] | None = None
    name: str = "answer"
    strict: bool | None = None
    tool: str | None = None

    def flaw(self, value: Any) -> str | None:
        """What is wrong with a value, in words for the model; None if it has the form.

        Raises:
            Invalid: the schema itself cannot be followed.
        """
        if not isinstance(value, dict):
            return "it is not a JSON object"
        if self.schema is None:
            return None
        try:
            # A registry of its own: without one the library fetches what a `$ref` points to, wherever that is.
            for error in _Validator(dict(self.schema), registry=Registry()).iter_errors(value):
                place = ".".join(map(str, error.absolute_path))
                return f"{f'{place}: ' if place else ''}{error.message[:LONGEST_FLAW]}"
        except Unresolvable as error:
            raise Invalid(f"the schema refers to {str(error.ref)[:LONGEST_FLAW]!r}, which is not in it") from None
        except RecursionError:
            raise Invalid("the schema refers to itself without end") from None
        return None


def checked(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema itself, if answers can be held to it.

    Raises:
        Invalid: it is no JSON schema (draft 2020-12) of type object, or one whose expressions would have to be run.
    """
    try:
        Draft202012Validator.check_schema(dict(schema))
    except SchemaError as error:
        place = ".".join(map(str, error.absolute_path))
        raise Invalid(f"the schema is none: {f'{place}: ' if place else ''}{error.message[:LONGEST_FLAW]}") from None
    except RecursionError:
        raise Invalid("the schema is nested too deeply") from None
    if schema.get("type") != "object":
        raise Invalid("the schema has to be of type object")
    if found := _keywords(schema) & _RUN:
        raise Invalid(f"the schema uses {', '.join(sorted(found))}, which is not supported")
    Form(schema).flaw({})  # the way to the first reference
    return schema


def _keywords(schema: Any) -> set[str]:
    """Every key at any depth."""
    found: set[str] = set()
    left = [schema]
    while left:
        part = left.pop()
        if isinstance(part, Mapping):
            found |= set(map(str, part))
            left += part.values()
        elif isinstance(part, list):
            left += part
    return found
