"""Sanitised tool descriptions of a foreign server: data, not instructions; short, without hidden characters."""

import re
import unicodedata
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from cluster.basics.errors import Invalid

MOST_TOLD = 600  # characters of a tool's description
MOST_OF_PARAMETER = 200  # of a parameter's
MOST_CONSTANT = 200  # of a text that an argument may be
MOST_DEEP = 12
MOST_NODES = 2_000  # of a schema that is written out; references may make much of little

_HIDDEN = {"Cc", "Cf", "Co", "Cs", "Cn"}  # control, format, private, surrogate, unassigned: what nobody sees
_NAME = re.compile(r"[A-Za-z0-9_.$-]{1,64}")
_PROSE = frozenset({"title", "examples", "example", "$schema", "$comment", "deprecated"})
_WRITTEN_OUT = frozenset({"$id", "$anchor", "$dynamicAnchor", "$defs", "definitions"})
_EXPRESSIONS = frozenset({"pattern", "patternProperties", "propertyNames", "format"})  # may take our validator for ever
_DROPPED = _PROSE | _WRITTEN_OUT | _EXPRESSIONS
_NAMED = frozenset({"properties", "dependentSchemas", "dependentRequired"})
_QUOTES = str.maketrans("“”", "''")  # what somebody says ends where we say so
_LOCAL = re.compile(r"#/(\$defs|definitions)/([^/]+)")


def plain_line(text: str, most: int) -> str:
    """One line of what can be seen, cut; what a model could take for the frame of a prompt is no frame any more."""
    seen = "".join(" " if one.isspace() else one for one in text[: most * 4] if _is_visible(one))
    flat = " ".join(seen.split()).replace("<", "‹").replace(">", "›").replace("`", "'")
    return flat if len(flat) <= most else f"{flat[: most - 1]}…"


def quoted_description(server: str, tool: str, description: str | None) -> str:
    """The description that our models read: it says whose words they are."""
    words = plain_line(description or "", MOST_TOLD).translate(_QUOTES)
    says = f"; that server says of it: “{words}”" if words else ""
    return f"The tool {plain_line(tool, 100)} of the MCP server {plain_line(server, 100)}{says}"


def skill_name(prefix: str, tool: str) -> str:
    """A name that every provider takes; where something had to be left out, its digest tells it from others."""
    wanted = f"{prefix}_{tool}" if prefix else tool
    made = re.sub(r"[^A-Za-z0-9_-]", "_", wanted)
    if made == wanted and len(made) <= 64:
        return made
    return f"{made[:55]}_{sha256(tool.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def sanitize_schema(given: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON Schema of arguments, written out and without prose.

    Raises Invalid: it refers to something outside or to itself, is too large, or has names or constants that are prose.
    """
    made = _Out(given).of(given, 0)
    if not isinstance(made, dict) or made.get("type", "object") != "object":
        raise Invalid("the arguments are no object")
    return {"properties": {}, **made, "type": "object"}


class _Out:
    def __init__(self, whole: Mapping[str, Any]) -> None:
        self._whole, self._nodes = whole, 0

    def of(self, part: Any, deep: int) -> Any:
        self._nodes += 1
        if deep > MOST_DEEP or self._nodes > MOST_NODES:
            raise Invalid("the schema is too large, or refers to itself")
        if isinstance(part, list):
            return [self.of(one, deep + 1) for one in part]
        if not isinstance(part, Mapping):
            return _check_constant(part)
        if (reference := part.get("$ref")) is not None:
            own = {key: one for key, one in part.items() if key != "$ref"}
            return self.of({**self._resolve_reference(reference), **own}, deep + 1)
        return {key: self._clean_value(key, one, deep) for key, one in part.items() if key not in _DROPPED}

    def _clean_value(self, key: str, value: Any, deep: int) -> Any:
        if key == "description":
            return plain_line(value, MOST_OF_PARAMETER) if isinstance(value, str) else ""
        if key in _NAMED and isinstance(value, Mapping):
            for name in value:
                _check_name(name)
            return {name: self.of(one, deep + 1) for name, one in value.items()}
        _check_name(key)
        return self.of(value, deep + 1)

    def _resolve_reference(self, reference: Any) -> Mapping[str, Any]:
        hit = _LOCAL.fullmatch(reference) if isinstance(reference, str) else None
        found = self._whole.get(hit[1], {}).get(hit[2]) if hit else None
        if not isinstance(found, Mapping):
            raise Invalid("the schema refers to something outside of itself")
        return found


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise Invalid("a parameter's name has other characters than letters, digits, _ . $ and -, or more than 64")


def _check_constant(value: Any) -> Any:
    if isinstance(value, str) and (len(value) > MOST_CONSTANT or not all(_is_visible(one) for one in value)):
        raise Invalid(f"a text in the schema is longer than {MOST_CONSTANT} characters, or hides some")
    return value


def _is_visible(one: str) -> bool:
    return one in "\n\t\r" or unicodedata.category(one) not in _HIDDEN
