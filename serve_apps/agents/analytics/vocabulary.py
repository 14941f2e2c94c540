"""Figures as an answer: one sentence, a small table, the definition; the same figures always give the same text."""

import re

from serve_apps.agents.analytics.metric_catalogue import Metric, MetricCatalogue
from serve_apps.agents.analytics.metric_reader import MetricResult
from serve_apps.agents.analytics.query_plan import MetricPlan

_MARKUP = re.compile(r"([\\`*_{}\[\]()#+!|<>~])")


def render_figures(asked: MetricPlan, figures: MetricResult, doubt: str | None, catalogue: MetricCatalogue) -> str:
    """Markdown; `doubt` is what a second reading confirmed."""
    metric = catalogue.metrics[asked.metric]
    narrowed = f", only {asked.state}" if asked.state else ""
    total = figures.total
    value = "nothing was recorded" if total is None else f"{_format_number(total, metric)} {metric.unit}"
    lines = [f"**{metric.title}**{narrowed}, {asked.when.label}: {value}."]
    if figures.groups:
        lines += ["", f"| {asked.by} | {metric.unit} |", "|---|---:|"]
        lines += [f"| {_escape_markdown(name)} | {_format_number(amount, metric)} |" for name, amount in figures.groups]
        if figures.more:
            lines += ["", f"There are more; these are {len(figures.groups)}."]
    if doubt and doubt != "empty":
        lines += ["", f"Note: {doubt}, confirmed by a second reading."]
    lines += ["", f"Definition: {metric.definition} Days are in UTC."]
    return "\n".join(lines)


def none_such(why: str, catalogue: MetricCatalogue) -> str:
    """Markdown reply for an unanswerable question: the reason, and the metrics that exist."""
    lines = [why, "", "These metrics exist:"]
    lines += [
        f"- {metric.name.replace('_', ' ')} ({metric.title}, {metric.unit}), by {', '.join(metric.dimensions)}"
        for metric in catalogue.metrics.values()
    ]
    return "\n".join([*lines, "", 'Ask for one, for example: "documents by status last month".'])


def _format_number(value: float, metric: Metric) -> str:
    text = f"{value:,.{metric.decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _escape_markdown(name: str) -> str:
    """Names are data: they cannot break the table or become markup."""
    return _MARKUP.sub(r"\\\1", " ".join(name.split()))[:120]
