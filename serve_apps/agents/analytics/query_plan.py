"""Rule-based query planner: metric, dimension, state and time range of a message; validated before the query."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from serve_apps.agents.analytics import ranges
from serve_apps.agents.analytics.metric_catalogue import TIMES, Metric, MetricCatalogue
from serve_apps.agents.analytics.ranges import DateRange

_SPLITS = (" by", " per", " each", " for each", " for every", " grouped by", " split by", " over", " across")
# A series without a range of its own shows so many days, weeks or months.
_SERIES = {"day": 30, "week": 12, "month": 12}


@dataclass(frozen=True, slots=True)
class MetricPlan:
    """A question to the figures; every part of it stands in the catalogue."""

    metric: str
    by: str | None
    state: str | None
    when: DateRange

    @property
    def request(self) -> Mapping[str, Any]:
        """As a journal keeps it."""
        since, until = self.when.since.isoformat(), self.when.until.isoformat()
        return {"metric": self.metric, "by": self.by, "state": self.state, "since": since, "until": until}


@dataclass(frozen=True, slots=True)
class PlanRefusal:
    """Reason why there is no plan, as a sentence for the reader."""

    why: str


def plan_metric_query(text: str, catalogue: MetricCatalogue, today: date) -> MetricPlan | PlanRefusal:
    """Read a normalised text (`path_router.normalise_words`). No part of the text reaches the query."""
    metric = _match_metric(text, catalogue)
    if metric is None:
        return PlanRefusal("No metric of that name exists here.")
    by = _match_dimension(text, catalogue, metric)
    state = next((name for name, words in metric.states.items() if any(word in text for word in words)), None)
    when = ranges.find_range(text, today)
    if when is None:
        when = ranges.last_periods(_SERIES[by], by, today) if by in _SERIES else ranges.all_time(today)
    return validate_metric_plan(MetricPlan(metric.name, by, state, when), catalogue, today)


def validate_metric_plan(asked: MetricPlan, catalogue: MetricCatalogue, today: date) -> MetricPlan | PlanRefusal:
    """Let through only what the catalogue allows; a plan may come from anywhere."""
    metric = catalogue.metrics.get(asked.metric)
    if metric is None:
        return PlanRefusal("No metric of that name exists here.")
    if asked.by is not None and asked.by not in metric.dimensions:
        return PlanRefusal(f"{metric.title} cannot be split by {asked.by}, only by {', '.join(metric.dimensions)}.")
    if asked.state is not None and asked.state not in metric.states:
        return PlanRefusal(f"{metric.title} cannot be narrowed to {asked.state}.")
    if asked.when.since >= asked.when.until:
        return PlanRefusal("The time range ends before it begins.")
    if asked.when.since > today:
        return PlanRefusal("The time range lies in the future.")
    return asked


def is_series(asked: MetricPlan) -> bool:
    """True if the groups are points in time."""
    return asked.by in TIMES


def _match_metric(text: str, catalogue: MetricCatalogue) -> Metric | None:
    """The longest synonym decides, then the one that stands first, then the order of the catalogue."""
    named = [
        (-len(word.split()), text.index(word), at, metric)
        for at, metric in enumerate(catalogue.metrics.values())
        for word in metric.synonyms
        if word in text
    ]
    return min(named, key=lambda one: one[:3])[3] if named else None


def _match_dimension(text: str, catalogue: MetricCatalogue, metric: Metric) -> str | None:
    """The dimension to group by; those that the metric has go before those it has not."""
    asked = [
        name
        for name, one in catalogue.dimensions.items()
        if any(word in text for word in one.alone)
        or any(split + word in text for split in _SPLITS for word in one.words)
    ]
    return next((name for name in asked if name in metric.dimensions), asked[0] if asked else None)
