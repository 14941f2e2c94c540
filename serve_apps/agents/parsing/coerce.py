"""Arguments made to fit their schema where only one thing can be meant."""

import re
from collections.abc import Mapping
from typing import Any

from cluster.basics.storable import replace_unstorable
from cluster.models.reply_json import UnreadableValue, decode_whole

# JSON schema's names, and what people write instead.
_KINDS = {"int": "integer", "long": "integer", "float": "number", "double": "number", "bool": "boolean"}
_KINDS |= {"dict": "object", "list": "array", "tuple": "array", "str": "string"}
_INTEGER = re.compile(r"[-+]?\d{1,18}(?:\.0{1,9})?")
_NUMBER = re.compile(r"[-+]?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][-+]?\d{1,3})?")
_DEEPEST = 40


def coerce_arguments(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers, booleans, lists and objects that came as text become what the schema says; a number where only text is
    allowed becomes text. What does not fit otherwise stays, for the validation to name. Raises UnreadableValue where it
    is nested too deeply.
    """
    fitted = _coerce_object(arguments, schema, 0)
    return {str(key): make_storable(value) for key, value in fitted.items()}


def _coerce_object(arguments: Mapping[str, Any], schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    return {key: _coerce_value(value, known.get(key), depth) for key, value in arguments.items()}


def schema_types(schema: Any) -> list[str]:
    """Types that a schema allows, in JSON schema's names; none where it does not say."""
    if not isinstance(schema, dict):
        return []
    stated = schema.get("type")
    listed = [stated] if isinstance(stated, str) else stated if isinstance(stated, list) else []
    for way in ("anyOf", "oneOf"):
        branches = schema.get(way)
        for branch in branches if isinstance(branches, list) else []:
            listed = [*listed, *schema_types(branch)]
    return [_KINDS.get(one.lower(), one.lower()) for one in listed if isinstance(one, str)]


def _coerce_value(value: Any, schema: Any, depth: int) -> Any:
    allowed = schema_types(schema)
    if not allowed or depth > _DEEPEST:
        return value
    if isinstance(value, str) and "string" not in allowed:
        value = _from_text(value, allowed)
    elif isinstance(value, int | float) and not isinstance(value, bool) and allowed == ["string"]:
        return str(value)
    elif isinstance(value, float) and "integer" in allowed and "number" not in allowed and value.is_integer():
        return int(value)
    if isinstance(value, dict) and "object" in allowed:
        return _coerce_object(value, schema, depth + 1)
    if isinstance(value, list | tuple) and "array" in allowed:
        return [_coerce_value(item, schema.get("items"), depth + 1) for item in value]
    return value


def _from_text(text: str, allowed: list[str]) -> Any:
    bare = text.strip()
    if "integer" in allowed and _INTEGER.fullmatch(bare):
        return int(bare.split(".")[0])
    if "number" in allowed and _NUMBER.fullmatch(bare):
        return int(bare) if bare.lstrip("+-").isdigit() else float(bare)
    if "boolean" in allowed and bare.lower() in ("true", "false"):
        return bare.lower() == "true"
    if "null" in allowed and bare.lower() in ("null", "none"):
        return None
    if bare[:1] in ("[", "{"):
        try:
            value = decode_whole(bare).value
        except UnreadableValue:
            return text
        if isinstance(value, dict if bare[0] == "{" else list):
            return value
    return text


def make_storable(value: Any, depth: int = 0) -> Any:
    """The value without what JSON columns and UTF-8 refuse: NUL and lone surrogates become U+FFFD.

    Raises UnreadableValue where it is nested too deeply.
    """
    if depth > _DEEPEST:
        raise UnreadableValue("nested too deeply")
    if isinstance(value, str):
        return replace_unstorable(value)
    if isinstance(value, dict):
        return {str(make_storable(key)): make_storable(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [make_storable(item, depth + 1) for item in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    return value
