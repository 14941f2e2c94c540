"""Rule-based query planner: metric, dimension, state and time range of a message; validated before the query."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from serve_apps.agents.analytics import ranges
from serve_apps.agents.analytics.metric_catalogue import TIMES, Catalogue, Metric
from serve_apps.agents.analytics.ranges import Range

_SPLITS = (" by", " per", " each", " for each", " for every", " grouped by", " split by", " over", " across")
# A series without a range of its own shows so many days, weeks or months.
_SERIES = {"day": 30, "week": 12, "month": 12}


@dataclass(frozen=True, slots=True)
class MetricPlan:
    """A question to the figures; every part of it stands in the catalogue."""

    metric: str
    by: str | None
    state: str | None
    when: Range

    @property
    def request(self) -> Mapping[str, Any]:
        """As a journal keeps it."""
        return {
            "metric": self.metric,
            "by": self.by,
            "state": self.state,
            "since": self.when.since.isoformat(),
            "until": self.when.until.isoformat(),
        }


@dataclass(frozen=True, slots=True)
class Unanswerable:
    """Reason why there is no plan, as a sentence for the reader."""

    why: str


def plan(text: str, catalogue: Catalogue, today: date) -> MetricPlan | Unanswerable:
    """Read a normalised text (`route.normalised`). No part of the text reaches the query."""
    metric = _metric(text, catalogue)
    if metric is None:
        return Unanswerable("No metric of that name exists here.")
    by = _dimension(text, catalogue, metric)
    state = next((name for name, words in metric.states.items() if any(word in text for word in words)), None)
    when = ranges.find(text, today)
    if when is None:
        when = ranges.last(_SERIES[by], by, today) if by in _SERIES else ranges.all_time(today)
    return gate(MetricPlan(metric.name, by, state, when), catalogue, today)


def gate(asked: MetricPlan, catalogue: Catalogue, today: date) -> MetricPlan | Unanswerable:
    """Let through only what the catalogue allows; a plan may come from anywhere."""
    metric = catalogue.metrics.get(asked.metric)
    if metric is None:
        return Unanswerable("No metric of that name exists here.")
    if asked.by is not None and asked.by not in metric.dimensions:
        return Unanswerable(f"{metric.title} cannot be split by {asked.by}, only by {', '.join(metric.dimensions)}.")
    if asked.state is not None and asked.state not in metric.states:
        return Unanswerable(f"{metric.title} cannot be narrowed to {asked.state}.")
    if asked.when.since >= asked.when.until:
        return Unanswerable("The time range ends before it begins.")
    if asked.when.since > today:
        return Unanswerable("The time range lies in the future.")
    return asked


def is_series(asked: MetricPlan) -> bool:
    """True if the groups are points in time."""
    return asked.by in TIMES


def _metric(text: str, catalogue: Catalogue) -> Metric | None:
    """The longest synonym decides, then the one that stands first, then the order of the catalogue."""
    named = [
        (-len(word.split()), text.index(word), at, metric)
        for at, metric in enumerate(catalogue.metrics.values())
        for word in metric.synonyms
        if word in text
    ]
    return min(named, key=lambda one: one[:3])[3] if named else None


def _dimension(text: str, catalogue: Catalogue, metric: Metric) -> str | None:
    """The dimension to group by; those that the metric has go before those it has not."""
    asked = [
        name
        for name, one in catalogue.dimensions.items()
        if any(word in text for word in one.alone)
        or any(split + word in text for split in _SPLITS for word in one.words)
    ]
    return next((name for name in asked if name in metric.dimensions), asked[0] if asked else None)
