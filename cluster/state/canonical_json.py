"""One spelling for each JSON value: what goes into the database comes back the same, so that its hash does too."""

import json
import math
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from cluster.basics.storable import replace_unstorable

_EXACT = 1e15  # whole floats from here on come back from jsonb as integers


def normalize_json(value: Any) -> Any:
    """The value as it comes back from a jsonb column: keys sorted, nothing in it that Postgres cannot hold.

    NUL and lone surrogates become U+FFFD, NaN and infinities null, tuples lists. Raises TypeError where it is no JSON.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return replace_unstorable(str(value))
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return _normalize_number(value)
    if isinstance(value, Mapping):
        return {_normalize_key(key): normalize_json(value[key]) for key in sorted(value, key=_normalize_key)}
    if isinstance(value, list | tuple):
        return [normalize_json(item) for item in value]
    raise TypeError(f"{type(value).__name__} is no JSON")


def dump_canonical(value: Any) -> str:
    """The one way to write it (RFC 8785 in spirit): sorted keys, no blanks, no escapes that are not needed."""
    return json.dumps(normalize_json(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def json_digest(value: Any) -> str:
    """SHA-256 of the canonical JSON, as hex."""
    return sha256(dump_canonical(value).encode()).hexdigest()


def action_digest(tool: str, arguments: Mapping[str, Any]) -> str:
    """The hash that a decision is bound to: of the tool and exactly these arguments."""
    return json_digest([tool, arguments])


def _normalize_key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"a key is a text, not {type(key).__name__}")
    return replace_unstorable(str(key))


def _normalize_number(number: float) -> int | float | None:
    if not math.isfinite(number):
        return None
    if abs(number) >= _EXACT and number.is_integer():
        return int(number)
    return number or 0.0  # no negative zero
