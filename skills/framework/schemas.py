"""Schema keywords refused at registration: references, and regular expressions, which may never stop matching."""

from collections.abc import Mapping
from typing import Any

_REFERENCES = frozenset({"$ref", "$dynamicRef", "$recursiveRef", "$id"})
# Python's `re` tries 2**n ways of matching ^(a+)+$ and lets nothing else run meanwhile.
_EXPRESSIONS = frozenset({"pattern", "patternProperties", "propertyNames"})
# By names of theirs.
_NAMED = frozenset({"properties", "$defs", "definitions", "dependentSchemas", "patternProperties"})
_VALUES = frozenset({"const", "enum", "default", "examples"})  # no schemas


def refused_key(schema: Any) -> str | None:
    """The first key by which a schema would fetch something, turn in a circle, or match a regular expression."""
    left = [(schema, False)]
    while left:
        part, by_name = left.pop()
        if isinstance(part, Mapping):
            for key, value in part.items():
                refers = key in _REFERENCES and isinstance(value, str)
                if refers or (key in _EXPRESSIONS and not by_name):
                    return str(key)
                if by_name or key not in _VALUES:
                    left.append((value, not by_name and key in _NAMED))
        elif isinstance(part, list | tuple):
            left += [(inner, False) for inner in part]
    return None


def without_expressions(schema: Any, by_name: bool = False) -> Any:
    """The same without regular expressions: it lets more through, and the skill's kind checks what matters to it."""
    if isinstance(schema, Mapping):
        return {
            key: without_expressions(value, not by_name and key in _NAMED) if by_name or key not in _VALUES else value
            for key, value in schema.items()
            if by_name or key not in _EXPRESSIONS
        }
    if isinstance(schema, list | tuple):
        return [without_expressions(inner) for inner in schema]
    return schema
