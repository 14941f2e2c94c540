"""What is counted, by which labels, and that every panel of the dashboard shows something that exists."""

import json
import re
from importlib.resources import files
from typing import Any

from opentelemetry.metrics import NoOpMeter
from prometheus_client import CollectorRegistry, generate_latest

from cluster.basics.telemetry import open_telemetry
from cluster.state.metrics_store import DROPPED, FIGURES, MOST_FIELDS, MetricsStore
from configs.sections import TelemetrySettings
from serve_apps.http.routes.operations import metrics
from serve_apps.http.routes.operations.metrics import StaticCollector, _counted_families

NAMES = {
    *(figure.name + suffix for figure in FIGURES.values() for suffix in ("_total", "_bucket", "_count", "_sum")),
    *(name for name, _, _ in metrics.GAUGES.values()),
    *(name for name, _, _ in metrics.LANES),
    *(name for name, _, _ in metrics.REPLICAS),
    metrics.UP[0],
}
LABELS = {
    "le",
    "lane",
    "application",
    "deployment",
    "source",
    *(label for figure in FIGURES.values() for label in figure.labels.values()),
    *(label for _, _, labels in metrics.GAUGES.values() for label in labels),
}
WORDS = {"sum", "by", "rate", "histogram_quantile", "topk", "deriv", "increase", "min", "max", "h", "m"}


class Seconds:
    """A clock that goes on by a quarter of a second each time it is asked."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 0.25
        return self.now


async def test_ob_05_requests_tokens_cost_and_errors_are_counted_without_a_collector() -> None:
    """OB-05: counters and error codes; nothing of who asked is in a label."""
    figures = MetricsStore(None)
    telemetry = open_telemetry(TelemetrySettings(), Seconds(), {}, counting=figures.meter)
    with telemetry.request("GET", None) as mark:
        mark.label("http.response.status_code", 503)
        mark.label("http.route", "/api/runs/{run_id}")
        mark.failed("503")
    with telemetry.operation("chat", "assistant of Ada", None, {"gen_ai.agent.name": "assistant of Ada"}) as mark:
        mark.label("gen_ai.response.model", "m-1")
        mark.label("gen_ai.provider.name", "ada's own connection")
        telemetry.used(mark, 12, 5, 0.25)
        telemetry.first_chunk(mark, 0.5)
    telemetry.searched({"keyword": 40.0, "total": 100.0}, "hit")
    registry = CollectorRegistry()
    registry.register(StaticCollector(list(_counted_families((await figures.totals())[0]))))
    text = generate_latest(registry).decode()
    for line in (
        'aos_http_request_duration_seconds_count{method="GET",route="/api/runs/{run_id}",status="503"} 1.0',
        'aos_http_request_duration_seconds_bucket{le="0.32",method="GET",route="/api/runs/{run_id}",status="503"} 1',
        'aos_model_tokens_total{direction="input",model="m-1"} 12.0',
        'aos_model_tokens_total{direction="output",model="m-1"} 5.0',
        'aos_model_cost_usd_total{model="m-1"} 0.25',
        'aos_errors_total{error="503",operation="GET"} 1.0',
        'aos_first_chunk_seconds_sum{model="m-1"} 0.5',
        'aos_search_cache_total{outcome="hit"} 1.0',
        'aos_search_stage_duration_seconds_bucket{le="0.04",stage="keyword"} 1.0',
        'aos_search_stage_duration_seconds_bucket{le="0.04",stage="total"} 0.0',
        'aos_search_stage_duration_seconds_bucket{le="+Inf",stage="total"} 1.0',
    ):
        assert line in text, f"{line}\n{text}"
    assert "ada" not in text.lower()


async def test_a_flood_of_labels_is_dropped_and_counted() -> None:
    figures = MetricsStore(None)
    for number in range(MOST_FIELDS + 5):
        figures.add("aos.errors", 1, {"error.type": f"e{number}"})
    totals, _ = await figures.totals()
    assert len(totals["aos_errors"]) <= MOST_FIELDS
    assert totals[DROPPED][()].value == 5


def test_an_instrument_that_nobody_listed_is_not_counted_but_passed_on() -> None:
    figures = MetricsStore(None)
    figures.meter(NoOpMeter("x")).create_counter("aos.unlisted").add(1, {"tenant": "t"})
    assert not figures._waiting


def test_every_panel_shows_figures_that_exist() -> None:
    """OB-05: the dashboard in configs/ asks for nothing that /metrics does not tell."""
    dashboard: dict[str, Any] = json.loads((files("configs") / "grafana-dashboard.json").read_text("utf-8"))
    panels = [panel for panel in dashboard["panels"] if panel["type"] != "row"]
    asked = [target for panel in panels for target in panel["targets"]]
    assert len(panels) >= 15 and len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    seen = set()
    for target in asked:
        plain = re.sub(r'"[^"]*"', "", target["expr"])
        words = set(re.findall(r"[a-z_][a-z0-9_]*", re.sub(r"\[[^\]]*\]", "", plain)))
        metrics_asked = {word for word in words if word.startswith("aos_")}
        assert metrics_asked and metrics_asked <= NAMES, target["expr"]
        assert words - metrics_asked <= LABELS | WORDS, target["expr"]
        assert set(re.findall(r"{{(\w+)}}", target["legendFormat"])) <= LABELS
        seen |= metrics_asked
    families = {name.removesuffix(s) for name in seen for s in ("_total", "_bucket", "_count") if name.endswith(s)}
    told = {figure.name for figure in FIGURES.values()} - {DROPPED}
    assert told <= families, f"nobody looks at {told - families}"
