"""GET /metrics in Prometheus' text: what all processes counted, what Postgres and the ledger hold, what Serve runs."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from fastapi import APIRouter, Response
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from cluster.basics.errors import AosError
from cluster.state.metrics_store import FIGURES, MetricSpec, Totals
from cluster.state.system import LaneLoad
from serve_apps.http.auth.guard import GuardedRoute, Its
from serve_apps.http.auth.permissions import SYSTEM_FIGURES
from serve_apps.http.deps import AppDependencies
from serve_apps.http.operator_deps import ServeDeployment

router = APIRouter(route_class=GuardedRoute, tags=["admin"])

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = 5.0  # for each of the parts that are asked
# What `system_counts` gives: its figure to our name, a sentence, and the labels that its text holds, split by a blank.
GAUGES: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "jobs": ("aos_jobs", "Jobs by kind and state.", ("kind", "state")),
    "units": ("aos_units", "Units of work by stage and how they ended.", ("stage", "state")),
    "pages": ("aos_pages", "Pages by the engine that read them.", ("engine",)),
    "page_failures": ("aos_page_failures", "Pages that could not be read, by reason.", ("reason",)),
    "runs": ("aos_runs", "Turns of agents by state.", ("state",)),
    "approvals_pending": ("aos_approvals_pending", "Actions that wait for a decision.", ()),
    "documents": ("aos_documents", "Documents by status.", ("status",)),
    "spent_usd": ("aos_spent_this_month_usd", "What models cost this month (UTC).", ()),
}
UP = ("aos_up", "Whether a source of these figures answered.", ("source",))
LANES = (
    ("aos_lane_waiting", "Jobs that wait in a lane.", "waiting"),
    ("aos_lane_running", "Jobs that run in a lane.", "running"),
    ("aos_lane_oldest_seconds", "How long the oldest job of a lane has waited.", "oldest"),
)
SINKS = (
    ("aos_audit_sink_lag_entries", "Entries of the audit trail that a collector lacks.", "entries"),
    ("aos_audit_sink_lag_seconds", "How old the oldest entry is that a collector lacks.", "seconds"),
    ("aos_audit_sink_failing", "Tenants whose entries a collector did not confirm.", "failing"),
)
REPLICAS = (
    ("aos_serve_replicas", "Replicas that run.", "running"),
    ("aos_serve_replicas_wanted", "Replicas that should run.", "wanted"),
    ("aos_serve_queued_requests", "Requests that wait for a replica.", "queued"),
    ("aos_serve_ongoing_requests", "Requests that replicas work on.", "ongoing"),
)


@router.get(
    "/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}}, dependencies=[SYSTEM_FIGURES]
)
async def metrics(parts: Its) -> Response:
    """Figures of the whole system. Prometheus signs in with an API key of an operator of the first tenant."""
    registry = CollectorRegistry()
    registry.register(StaticCollector(await collect_families(parts)))
    return Response(generate_latest(registry), media_type=MEDIA_TYPE)


class StaticCollector(Collector):
    """Families that were collected before."""

    def __init__(self, found: Sequence[Metric]) -> None:
        self._found = found

    def collect(self) -> Iterable[Metric]:
        """All of them."""
        return self._found


async def collect_families(parts: AppDependencies) -> list[Metric]:
    """Metric families of every source; one that does not answer is missing, and `aos_up` says which."""
    operating = parts.operating
    totals, told = await operating.upkeep.figures.totals()
    up = {"figures": told}
    counts: Mapping[str, Mapping[str, float]] = {}
    lanes: Sequence[LaneLoad] = ()
    sinks: Sequence[Mapping[str, Any]] = ()
    deployments: Sequence[ServeDeployment] = ()
    try:
        async with asyncio.timeout(SECONDS):
            counts, lanes = await operating.system.counts(), await operating.system.lanes()
            sinks = [row for row in await parts.exporter.cursors.lag() if row["sink"] in parts.exporter.sinks]
        up["postgres"] = True
    except (AosError, TimeoutError):
        up["postgres"] = False
    try:
        async with asyncio.timeout(SECONDS):
            deployments = await operating.blocking(operating.cluster.deployments)
        up["ray"] = True
    except (AosError, TimeoutError):
        up["ray"] = False
    return [
        _gauge_family(*UP, {(source,): float(well) for source, well in up.items()}),
        *_counted_families(totals),
        *_stored_gauges(counts),
        *(
            _gauge_family(name, about, ("lane",), {(lane.name,): float(getattr(lane, value)) for lane in lanes})
            for name, about, value in LANES
        ),
        *(
            _gauge_family(name, about, ("sink",), {(row["sink"],): float(row[value]) for row in sinks})
            for name, about, value in SINKS
        ),
        *(_replica_gauge(name, about, value, deployments) for name, about, value in REPLICAS),
    ]


def _counted_families(totals: Totals) -> Iterator[Metric]:
    for figure in FIGURES.values():
        found, labels = totals.get(figure.name, {}), list(figure.labels.values())
        if not figure.buckets:
            counter = CounterMetricFamily(figure.name, figure.about, labels=labels)
            for pairs, total in sorted(found.items()):
                counter.add_metric([value for _, value in pairs], total.value)
            yield counter
            continue
        histogram = HistogramMetricFamily(figure.name, figure.about, labels=labels)
        for pairs, total in sorted(found.items()):
            histogram.add_metric([value for _, value in pairs], _cumulative_buckets(figure, total.buckets), total.value)
        yield histogram


def _cumulative_buckets(figure: MetricSpec, counts: Mapping[int, float]) -> list[tuple[str, float]]:
    """Upper bound to how many were at most that long; the last one counts all."""
    found, sum_ = [], 0.0
    for number, bound in enumerate([*map(str, figure.buckets), "+Inf"]):
        sum_ += counts.get(number, 0.0)
        found.append((bound, sum_))
    return found


def _stored_gauges(counts: Mapping[str, Mapping[str, float]]) -> Iterator[Metric]:
    for figure, (name, about, labels) in GAUGES.items():
        values = counts.get(figure, {}).items()
        found = {tuple(label.split(" ", len(labels) - 1)) if labels else (): value for label, value in values}
        known = {key: value for key, value in found.items() if len(key) == len(labels)}
        yield _gauge_family(name, about, labels, known)


def _replica_gauge(name: str, about: str, value: str, deployments: Sequence[ServeDeployment]) -> Metric:
    found = {(one.application, one.name): getattr(one, value) for one in deployments}
    known: dict[tuple[str, ...], float] = {key: float(one) for key, one in found.items() if one is not None}
    return _gauge_family(name, about, ("application", "deployment"), known)


def _gauge_family(name: str, about: str, labels: Sequence[str], values: Mapping[tuple[str, ...], float]) -> Metric:
    gauge = GaugeMetricFamily(name, about, labels=list(labels))
    for key, value in sorted(values.items()):
        gauge.add_metric(list(key), value)
    return gauge
