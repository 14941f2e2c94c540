"""Charts of results: one measure over one label, as data and as a Vega-Lite specification; a picture on request."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from serve_apps.retrieval.tables.column_kinds import IS_CODE
from serve_apps.retrieval.tables.relation import OWN_COLUMNS

SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v5.json"
LEAST_POINTS: Final = 2
MOST_BARS: Final = 40  # more are not told apart
MOST_POINTS: Final = 500  # of a line
WIDTH, HEIGHT = 480, 260  # pixels
LONGEST_LABEL: Final = 60
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ][\d:.]+)?")
_PERIOD: Final = re.compile(r"(?:19|20)\d{2}(?:-(?:0[1-9]|1[0-2])|[ -]?Q[1-4])?", re.IGNORECASE)


class ChartKind(StrEnum):
    """The form of a chart."""

    LINE = "line"  # over time
    BAR = "bar"  # a category each


@dataclass(frozen=True, slots=True)
class ChartColumn:
    """A column that may be drawn."""

    name: str
    type: str  # text, number, date or other
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """A measure over a label; points in the order in which they are drawn."""

    kind: ChartKind
    label: str
    measure: str  # with its unit
    points: tuple[tuple[str, float], ...]

    def specification(self) -> dict[str, Any]:
        """Vega-Lite 5 with its data; every viewer of Vega-Lite draws it."""
        temporal = self.kind is ChartKind.LINE and all(_DAY.fullmatch(label) for label, _ in self.points)
        label: dict[str, Any] = {"field": "label", "type": "temporal" if temporal else "nominal", "title": self.label}
        if self.kind is ChartKind.LINE:
            if not temporal:
                label |= {"type": "ordinal", "sort": None}
            x: dict[str, Any] = label
            y: dict[str, Any] = {
                "field": "value",
                "type": "quantitative",
                "title": self.measure,
                "scale": {"zero": False},
            }
        else:  # bars lie, so that their labels can be read, and begin at zero
            x = {"field": "value", "type": "quantitative", "title": self.measure}
            y = {**label, "sort": None}
        height: dict[str, Any] = {"height": HEIGHT} if self.kind is ChartKind.LINE else {}
        mark = {"type": "line", "point": True} if self.kind is ChartKind.LINE else {"type": "bar"}
        return {
            "$schema": SCHEMA,
            "width": WIDTH,
            **height,
            "data": {"values": [{"label": label, "value": value} for label, value in self.points]},
            "mark": mark,
            "encoding": {"x": x, "y": y},
        }


def chart_of(columns: Sequence[ChartColumn], rows: Sequence[Sequence[Any]]) -> Chart | None:
    """The chart of a result: a line over days and periods, else bars; None where it is none or several.

    There has to be one column of numbers that measures something, and one whose values tell the rows apart.
    """
    shown = [at for at, one in enumerate(columns) if one.name.casefold() not in OWN_COLUMNS]
    numbers = [at for at in shown if columns[at].type == "number" and not IS_CODE.search(columns[at].name)]
    periods = [at for at in shown if columns[at].type == "date" or _are_periods([row[at] for row in rows])]
    measures = [at for at in numbers if at not in periods]
    if len(measures) != 1:
        return None
    others = [*periods, *(at for at in shown if columns[at].type == "text" and at not in periods)]
    labels = [at for at in others if _tells_apart([row[at] for row in rows])]
    if not labels:
        named = [at for at, one in enumerate(columns) if one.name.casefold() == "document"]
        labels = [at for at in named if _tells_apart([row[at] for row in rows])]
    if not labels:
        return None
    return _draw_points(columns, rows, labels[0], measures[0], over_time=labels[0] in periods)


def _draw_points(
    columns: Sequence[ChartColumn], rows: Sequence[Sequence[Any]], label: int, measure: int, *, over_time: bool
) -> Chart | None:
    points = [(str(row[label])[:LONGEST_LABEL], float(row[measure])) for row in rows if _is_number(row[measure])]
    kind = ChartKind.LINE if over_time else ChartKind.BAR
    if not LEAST_POINTS <= len(points) <= (MOST_POINTS if over_time else MOST_BARS):
        return None
    if over_time:
        points.sort()
    unit = columns[measure].unit
    name = columns[measure].name
    return Chart(kind, columns[label].name, f"{name} ({unit})" if unit and unit not in name else name, tuple(points))


def _are_periods(values: Sequence[Any]) -> bool:
    """True for years, quarters and months, whose order is that of their texts."""
    return bool(values) and all(_PERIOD.fullmatch(str(one)) or _DAY.fullmatch(str(one)) for one in values)


def _tells_apart(values: Sequence[Any]) -> bool:
    told = [str(one)[:LONGEST_LABEL] for one in values if one is not None]
    return len(told) == len(values) and len(set(told)) == len(told)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def draw_svg(specification: Mapping[str, Any]) -> str:
    """The picture of a specification of ours. It is drawn here: nothing is asked of any network."""
    import vl_convert  # a JavaScript engine, loaded only where a picture is asked for

    return str(vl_convert.vegalite_to_svg(dict(specification), vl_version="5.20", allowed_base_urls=[]))
