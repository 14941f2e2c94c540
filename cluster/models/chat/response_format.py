"""The form that an answer has to have: a JSON object, or one that fits a schema; and what is wrong where it has not."""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.validators import extend
from referencing import Registry
from referencing.exceptions import Unresolvable

from cluster.basics.errors import Invalid

LONGEST_FLAW = 300  # characters; a message repeats the value that it is about
MOST_PARTS = 5_000  # objects, lists and values of a schema
MOST_FOLLOWED = 20_000  # references in one check: thirty that each name the next one twice would take for ever

# A schema may come from anybody. Its regular expressions are not run, as one that is built for it takes for ever; these
# two cannot be left out, as other keywords read them too or they go where no limit is.
_REFUSED = frozenset({"patternProperties", "$dynamicRef"})
_REF = Draft202012Validator.VALIDATORS["$ref"]


@dataclass(frozen=True, slots=True)
class SchemaFlaw:
    """A schema error: where in the value, and what is wrong there."""

    path: tuple[str | int, ...]
    message: str

    def __str__(self) -> str:
        place = ".".join(map(str, self.path))
        return f"{place}: {self.message}" if place else self.message


@dataclass(frozen=True, slots=True)
class ResponseForm:
    """The response format that an answer has to have."""

    # A JSON schema of type object, see `checked_schema`; None for any JSON object.
    schema: Mapping[str, Any] | None = None
    name: str = "answer"  # of the schema, for the provider
    strict: bool | None = None  # as the client set it, for the provider
    # The one among a request's tools whose arguments are the answer where a provider takes no form.
    tool: str | None = None

    def flaw(self, value: Any) -> str | None:
        """A value's schema error in words for the model, None without one. Raises Invalid: the schema is broken."""
        return next((str(one) for one in self.flaws(value)), None)

    def flaws(self, value: Any, step: Callable[[], None] = lambda: None) -> Iterator["SchemaFlaw"]:
        """A value's schema errors. Raises Invalid: the schema is broken.

        `step` is called before each keyword is checked; what it raises ends the check.
        """
        if not isinstance(value, dict):
            yield SchemaFlaw((), "it is not a JSON object")
            return
        if self.schema is None:
            return
        try:
            # A registry of its own: without one the library fetches what a `$ref` points to, wherever that is.
            for error in _counting_validator(step)(dict(self.schema), registry=Registry()).iter_errors(value):
                yield SchemaFlaw(tuple(error.absolute_path), error.message[:LONGEST_FLAW])
        except Unresolvable as error:
            raise Invalid(f"the schema refers to {str(error.ref)[:LONGEST_FLAW]!r}, which is not in it") from None
        except RecursionError:
            raise Invalid("the schema refers to itself without end") from None
        except ValueError as error:  # a reference that is no address
            raise Invalid(f"the schema cannot be followed: {str(error)[:LONGEST_FLAW]}") from None


def checked_schema(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema itself, if answers can be held to it.

    Raises Invalid: it is no JSON schema (draft 2020-12) of type object, too large, or uses what is not supported.
    """
    if found := _schema_keywords(schema) & _REFUSED:
        raise Invalid(f"the schema uses {', '.join(sorted(found))}, which is not supported")
    try:
        Draft202012Validator.check_schema(dict(schema))
    except SchemaError as error:
        place = ".".join(map(str, error.absolute_path))
        raise Invalid(f"the schema is none: {f'{place}: ' if place else ''}{error.message[:LONGEST_FLAW]}") from None
    except RecursionError:
        raise Invalid("the schema is nested too deeply") from None
    if schema.get("type") != "object":
        raise Invalid("the schema has to be of type object")
    ResponseForm(schema).flaw({})  # the way to the first reference
    return schema


def _counting_validator(step: Callable[[], None]) -> type[Draft202012Validator]:
    """For one check, in which it counts."""
    followed = count(1)

    def follow(validator: Any, ref: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        if next(followed) > MOST_FOLLOWED:
            raise Invalid("the schema refers to itself too often")
        return _REF(validator, ref, instance, schema)

    def stepped(check: Any) -> Any:
        def run(validator: Any, rule: Any, instance: Any, schema: Any) -> Any:
            step()
            return check(validator, rule, instance, schema)

        return run

    own = {"$ref": follow, "uniqueItems": _check_unique, "multipleOf": _check_multiple}
    checks = {name: stepped(check) for name, check in {**Draft202012Validator.VALIDATORS, **own}.items()}
    made: type[Draft202012Validator] = extend(Draft202012Validator, {**checks, "pattern": None})
    return made


def _check_unique(validator: Any, wanted: Any, instance: Any, _: Any) -> Iterator[ValidationError]:
    """Each item once is looked at; the library compares each with each, a thousand of them for seconds."""
    if wanted and validator.is_type(instance, "array"):
        spelled = {json.dumps(_whole_numbers(one), sort_keys=True) for one in instance}
        if len(spelled) < len(instance):
            yield ValidationError(f"{str(instance)[:LONGEST_FLAW]} has non-unique elements")


def _check_multiple(validator: Any, unit: Any, instance: Any, _: Any) -> Iterator[ValidationError]:
    """As the decimals are written: as floats .3 is no multiple of .1, and 10 to the power of 400 is none at all."""
    if validator.is_type(instance, "number"):
        whole = math.isfinite(instance) if isinstance(instance, float) else True
        if not whole or (Fraction(str(instance)) / Fraction(str(unit))).denominator != 1:
            yield ValidationError(f"{str(instance)[:LONGEST_FLAW]} is not a multiple of {unit}")


def _whole_numbers(value: Any) -> Any:
    """1.0 and 1 are the same number in JSON."""
    if isinstance(value, dict):
        return {key: _whole_numbers(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_whole_numbers(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _schema_keywords(schema: Any) -> set[str]:
    """Every key at any depth. Raises Invalid: there are too many parts."""
    found: set[str] = set()
    left = [schema]
    for parts in count(1):
        if not left:
            break
        if parts > MOST_PARTS:
            raise Invalid(f"the schema has more than {MOST_PARTS} parts")
        part = left.pop()
        if isinstance(part, Mapping):
            found |= set(map(str, part))
            left += part.values()
        elif isinstance(part, list):
            left += part
    return found
