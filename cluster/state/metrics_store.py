"""Counts and durations of all our processes together: kept here for seconds, added up in Redis, which may lose them."""

import asyncio
import contextlib
import json
import logging
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.context import Context
from opentelemetry.metrics import Counter, Histogram, Meter, NoOpCounter, NoOpHistogram, NoOpMeter
from redis.asyncio import Redis

from cluster.basics.redis_link import RedisAway, RedisLink

log = logging.getLogger("aos.figures")

KEY = "aos:figures:1"
FLUSH_SECONDS = 5.0
MOST_FIELDS = 20_000  # of one process between two flushes; what is beyond is dropped, and counted
DROPPED = "aos_figures_dropped"
SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """One that is counted or measured.

    Attributes:
        name: in Prometheus' spelling, without `_total`.
        about: a sentence.
        labels: attribute of the instrument to the label's name; every other attribute is left out: no ids, no names
            of tenants, people, agents or skills.
        buckets: upper bounds, for what is measured; empty for what is counted.
    """

    name: str
    about: str
    labels: Mapping[str, str]
    buckets: tuple[float, ...] = ()


_MODEL = {"gen_ai.response.model": "model"}
_OPERATION = {"gen_ai.operation.name": "operation", "gen_ai.response.model": "model", "error.type": "error"}
# By the name of the OpenTelemetry instrument, see cluster/basics/telemetry.py.
FIGURES: Mapping[str, MetricSpec] = {
    "http.server.request.duration": MetricSpec(
        "aos_http_request_duration_seconds",
        "Requests by route and status.",
        {"http.request.method": "method", "http.route": "route", "http.response.status_code": "status"},
        SECONDS,
    ),
    "gen_ai.client.operation.duration": MetricSpec(
        "aos_operation_duration_seconds", "What agents did: turns, models, tools, retrievals.", _OPERATION, SECONDS
    ),
    "gen_ai.client.operation.time_to_first_chunk": MetricSpec(
        "aos_first_chunk_seconds", "How long models took to begin.", _MODEL, SECONDS
    ),
    "gen_ai.client.token.usage": MetricSpec(
        "aos_model_tokens", "Tokens that models read and wrote.", _MODEL | {"gen_ai.token.type": "direction"}
    ),
    "aos.model.cost": MetricSpec("aos_model_cost_usd", "What models cost.", _MODEL),
    "aos.errors": MetricSpec(
        "aos_errors", "Errors by their code.", {"error.type": "error", "gen_ai.operation.name": "operation"}
    ),
    "aos.search.stage.duration": MetricSpec(
        "aos_search_stage_duration_seconds", "How long each stage of a search took.", {"stage": "stage"}, SECONDS
    ),
    "aos.search.cache": MetricSpec("aos_search_cache", "What the cache said to searches.", {"outcome": "outcome"}),
    "aos.limits.refused": MetricSpec(
        "aos_limits_refused",
        "Requests that a limit refused, by what it limits and the kind of its subject.",
        {"resource": "resource", "subject": "subject"},
    ),
    "aos.limits.local": MetricSpec(
        "aos_limits_local", "Requests that one process counted alone, as Redis was away.", {"resource": "resource"}
    ),
    "aos.figures.dropped": MetricSpec(DROPPED, "Figures that did not fit between two flushes.", {}),
}


@dataclass(slots=True)
class MetricTotal:
    """One label set of a figure: what was counted, or for durations how many fell into each bucket, and their sum."""

    value: float = 0.0
    buckets: dict[int, float] = field(default_factory=dict)


Totals = dict[str, dict[Labels, MetricTotal]]


class MetricsStore:
    """Counters of this process, and their totals over all processes."""

    def __init__(self, redis: Redis | None, seconds: float = FLUSH_SECONDS) -> None:
        """Without `redis` it counts for itself alone."""
        self._redis, self._is_shared, self._seconds = RedisLink(redis), redis is not None, seconds
        self._waiting: dict[str, float] = {}
        self._task: asyncio.Task[None] | None = None

    def add(self, instrument: str, amount: float, attributes: Mapping[str, Any]) -> None:
        """Count, or measure, by the table above; an instrument that is not there is not counted."""
        figure = FIGURES.get(instrument)
        if figure is None:
            return
        labels = tuple((label, str(attributes.get(name, ""))) for name, label in figure.labels.items())
        self._count_field(figure.name, labels, None, amount)
        if figure.buckets:
            self._count_field(figure.name, labels, bisect_left(figure.buckets, amount), 1)

    def meter(self, below: Meter) -> Meter:
        """A meter whose instruments count here, and pass everything on."""
        return _Meter(self, below)

    async def open(self) -> None:
        """Begin to add up in Redis every few seconds."""
        if self._is_shared:
            self._task = asyncio.get_running_loop().create_task(self._flush_forever())

    async def close(self) -> None:
        """Add up what is left, and end."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            await self.flush()

    async def flush(self) -> bool:
        """Add up in Redis, and tell whether it holds all now; where it does not answer, all waits for the next time."""
        if not self._is_shared:
            return False
        waiting, self._waiting = self._waiting, {}
        if not waiting:
            return True

        async def add(redis: Redis) -> None:
            async with redis.pipeline(transaction=True) as pipe:
                for name, amount in waiting.items():
                    pipe.hincrbyfloat(KEY, name, amount)
                await pipe.execute()

        try:
            await self._redis.call(add)
        except RedisAway as error:
            log.debug("figures wait: %s", error)
            for name, amount in waiting.items():
                self._waiting[name] = self._waiting.get(name, 0.0) + amount
            return False
        return True

    async def totals(self) -> tuple[Totals, bool]:
        """Everything that all processes counted, and whether Redis told it; else what waits here."""
        if await self.flush():
            try:
                found = await self._redis.call(lambda redis: redis.hgetall(KEY))
            except RedisAway as error:
                log.debug("figures cannot be read: %s", error)
            else:
                return _sum_totals({_decode_text(name): float(value) for name, value in found.items()}), True
        return _sum_totals(self._waiting), not self._is_shared

    def _count_field(self, name: str, labels: Labels, bucket: int | None, amount: float) -> None:
        key = json.dumps([name, bucket, *labels], ensure_ascii=False)
        if key not in self._waiting and len(self._waiting) >= MOST_FIELDS:
            key = json.dumps([DROPPED, None])
        self._waiting[key] = self._waiting.get(key, 0.0) + amount

    async def _flush_forever(self) -> None:
        while True:
            await asyncio.sleep(self._seconds)
            await self.flush()


def _sum_totals(found: Mapping[str, float]) -> Totals:
    totals: Totals = {}
    for key, amount in found.items():
        name, bucket, *pairs = json.loads(key)
        total = totals.setdefault(name, {}).setdefault(tuple((label, value) for label, value in pairs), MetricTotal())
        if bucket is None:
            total.value += amount
        else:
            total.buckets[bucket] = total.buckets.get(bucket, 0.0) + amount
    return totals


def _decode_text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value


class _Meter(NoOpMeter):
    """Makes instruments that count."""

    def __init__(self, figures: MetricsStore, below: Meter) -> None:
        super().__init__("aos")
        self._figures, self._below = figures, below

    def create_counter(self, name: str, unit: str = "", description: str = "") -> Counter:
        """As OpenTelemetry's."""
        return _Counter(name, self._figures, self._below.create_counter(name, unit, description))

    def create_histogram(
        self,
        name: str,
        unit: str = "",
        description: str = "",
        *,
        explicit_bucket_boundaries_advisory: Sequence[float] | None = None,
    ) -> Histogram:
        """As OpenTelemetry's."""
        below = self._below.create_histogram(
            name, unit, description, explicit_bucket_boundaries_advisory=explicit_bucket_boundaries_advisory
        )
        return _Histogram(name, self._figures, below)


class _Counter(NoOpCounter):
    def __init__(self, name: str, figures: MetricsStore, below: Counter) -> None:
        super().__init__(name)
        self._instrument, self._figures, self._below = name, figures, below

    def add(self, amount: float, attributes: Any = None, context: Context | None = None) -> None:
        self._figures.add(self._instrument, amount, attributes or {})
        self._below.add(amount, attributes, context)


class _Histogram(NoOpHistogram):
    def __init__(self, name: str, figures: MetricsStore, below: Histogram) -> None:
        super().__init__(name)
        self._instrument, self._figures, self._below = name, figures, below

    def record(self, amount: float, attributes: Any = None, context: Context | None = None) -> None:
        self._figures.add(self._instrument, amount, attributes or {})
        self._below.record(amount, attributes, context)
