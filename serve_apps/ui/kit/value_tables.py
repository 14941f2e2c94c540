"""Values of any shape as tables: arguments and results of tools, payloads of events."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from serve_apps.ui.kit.html import SafeHtml, quiet_span, tag

MOST_TEXT: Final = 6_000
MOST_ROWS: Final = 50
DEEPEST: Final = 4
SHORT: Final = 120


def value_view(value: Any, depth: int = 0) -> SafeHtml:
    """A value: objects and lists of objects as tables, long text in a frame of its own that scrolls."""
    if isinstance(value, str):
        return _text_view(_parse_embedded_json(value) if depth == 0 else value, depth)
    if value is None:
        return quiet_span("none")
    if isinstance(value, bool):
        return tag("span", "yes" if value else "no")
    if isinstance(value, int | float):
        return tag("span", f"{value:,}" if isinstance(value, int) and abs(value) >= 10_000 else str(value))
    if depth >= DEEPEST:
        return _text_frame(json.dumps(value, ensure_ascii=False, default=str))
    if isinstance(value, Mapping):
        return _object_table(value, depth)
    return _list_view(list(value), depth)


def _object_table(value: Mapping[str, Any], depth: int) -> SafeHtml:
    if not value:
        return quiet_span("nothing")
    rows = [
        tag("tr", tag("th", str(name).replace("_", " "), scope="row"), tag("td", value_view(one, depth + 1)))
        for name, one in list(value.items())[:MOST_ROWS]
    ]
    return tag("table", rows, _more_row(len(value), 2), class_="aos-value")


def _list_view(value: Sequence[Any], depth: int) -> SafeHtml:
    if not value:
        return quiet_span("nothing")
    if len(value) > 1 and all(isinstance(one, Mapping) for one in value):
        return _records_table(value, depth)
    items = [tag("li", value_view(one, depth + 1)) for one in value[:MOST_ROWS]]
    left = tag("li", f"and {len(value) - MOST_ROWS:,} more", class_="quiet") if len(value) > MOST_ROWS else None
    return tag("ol", items, left, class_="aos-values")


def _records_table(value: Sequence[Mapping[str, Any]], depth: int) -> SafeHtml:
    names = list(dict.fromkeys(str(name) for one in value[:MOST_ROWS] for name in one))
    head = tag("tr", [tag("th", name.replace("_", " "), scope="col") for name in names])
    rows = [
        tag("tr", [tag("td", value_view(one[name], depth + 1) if name in one else "") for name in names])
        for one in value[:MOST_ROWS]
    ]
    table = tag("table", head, rows, _more_row(len(value), len(names)), class_="aos-value")
    return tag("div", table, class_="aos-scroll")


def _more_row(count: int, columns: int) -> SafeHtml | None:
    if count <= MOST_ROWS:
        return None
    return tag("tr", tag("td", f"and {count - MOST_ROWS:,} more", colspan=columns, class_="quiet"))


def _text_view(value: Any, depth: int) -> SafeHtml:
    if not isinstance(value, str):
        return value_view(value, depth + 1)
    if not value:
        return quiet_span("empty")
    return tag("span", value) if len(value) <= SHORT and "\n" not in value else _text_frame(value)


def _text_frame(text: str) -> SafeHtml:
    left = f"\n… {len(text) - MOST_TEXT:,} more characters" if len(text) > MOST_TEXT else ""
    return tag("pre", text[:MOST_TEXT] + left, tabindex=0)


def _parse_embedded_json(text: str) -> Any:
    """Parse a text that is JSON of an object or a list, else keep it: tools answer so."""
    if text[:1] not in ("{", "["):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text
