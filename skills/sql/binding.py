"""Values of a query: `:name` where one stands, and never a text that is put together."""

import re
from collections.abc import Mapping
from typing import Any

from cluster.basics.errors import Invalid

# What is passed over: texts, quoted names, comments, dollar quotes, casts; then a value's name.
_PART = re.compile(
    r"""(?P<over>'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?\*/|(?P<tag>\$\w*\$).*?(?P=tag)|::)"""
    r"""|:(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<percent>%)""",
    re.DOTALL,
)


def bound_names(text: str) -> set[str]:
    """Names of the values that a query wants."""
    return {found["name"] for found in _PART.finditer(text) if found["name"]}


def to_pyformat(text: str) -> str:
    """The query as psycopg reads it, with `%(name)s` for each value."""

    def write(found: re.Match[str]) -> str:
        return f"%({found['name']})s" if found["name"] else found[0].replace("%", "%%")

    return _PART.sub(write, text)


def bound_values(wanted: set[str], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The values by name; NULL for what is not given. Raises Invalid: no plain value, or a text no database keeps."""
    found = {name: arguments.get(name) for name in wanted}
    for name, value in found.items():
        if value is not None and not isinstance(value, str | int | float | bool):
            raise Invalid(f"{name} is no plain value")
        if isinstance(value, str) and "\x00" in value:
            raise Invalid(f"{name} has a NUL character in it")
    return found
