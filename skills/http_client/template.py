"""Templates of a request: arguments fill in path segments, query values and JSON, each encoded as its place is."""

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from cluster.basics.errors import Invalid

# `{name}` an argument; `{+name}` in a path several segments; `{credential.field}` a field of the credential.
HOLE = re.compile(r"\{(\+?)([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_.-]*)?)\}")

Values = Mapping[str, Any]


_MISSING = object()  # in the place of an argument that was not given; whatever stands around it goes with it


def hole_names(template: Any) -> set[str]:
    """Every name that a template wants."""
    if isinstance(template, str):
        return {found[2] for found in HOLE.finditer(template)}
    inner = template.values() if isinstance(template, Mapping) else template if isinstance(template, list) else ()
    return {name for one in inner for name in hole_names(one)}


def fill_path(template: str, values: Values) -> str:
    """A path (or what of a URL follows its host); each value becomes one segment, those of `{+name}` several.

    Raises Invalid: a value is missing, empty, or would lead to another place than the one it is written for.
    """

    def fill(found: re.Match[str]) -> str:
        text = plain_text(values.get(found[2]), found[2])
        pieces = re.split(r"[/\\]", text) if text or not found[1] else []  # several segments may be none
        if any(piece in ("", ".", "..") for piece in pieces) or any(ord(one) < 32 for one in text):
            raise Invalid(f"{found[2]} cannot be a part of an address: it is empty, or has empty or dotted parts")
        return quote(text, safe="/" if found[1] else "", errors="surrogatepass")

    return HOLE.sub(fill, template)


def fill_query(template: Mapping[str, Any], values: Values) -> str:
    """A query; what was not given is left out, a list is repeated. Raises Invalid: a value is an object."""
    filled = ((name, _fill_value(part, values)) for name, part in template.items())
    lists = ((name, value if isinstance(value, list) else [value]) for name, value in filled if value is not _MISSING)
    return urlencode(
        [(name, plain_text(one, name)) for name, values in lists for one in values], errors="surrogatepass"
    )


def fill_body(template: Any, values: Values) -> bytes:
    """JSON; what was not given is left out, with objects and lists that hold nothing else."""
    value = _fill_value(template, values)
    return json.dumps({} if value is _MISSING else value, ensure_ascii=True).encode()


def fill_text(template: str, values: Values) -> str:
    """A text with values inside, as they are. Raises Invalid: one is missing, or no plain value."""
    return HOLE.sub(lambda found: plain_text(values.get(found[2]), found[2]), template)


def plain_text(value: Any, name: str) -> str:
    """A value as a text. Raises Invalid: it is missing, or an object or a list."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise Invalid(f"{name} is missing" if value is None else f"{name} is no plain value")


def _fill_value(template: Any, values: Values) -> Any:
    if isinstance(template, str):
        if whole := HOLE.fullmatch(template):
            value = values.get(whole[2], _MISSING)
            return _MISSING if value is None else value
        if any(values.get(name) is None for name in hole_names(template)):
            return _MISSING
        return fill_text(template, values)
    if isinstance(template, Mapping):
        inner = ((name, _fill_value(part, values)) for name, part in template.items())
        kept = {name: value for name, value in inner if value is not _MISSING}
        return _MISSING if template and not kept else kept
    if isinstance(template, list):
        parts = [value for part in template if (value := _fill_value(part, values)) is not _MISSING]
        return _MISSING if template and not parts else parts
    return template
