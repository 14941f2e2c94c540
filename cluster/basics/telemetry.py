"""OpenTelemetry spans and figures of what the system does, sent over OTLP/HTTP where an endpoint is set.

The providers are this process' own: Ray uses OpenTelemetry too, and the global ones stay Ray's. Spans get their parents
as W3C `traceparent` texts, which cross processes like any other text, and not by attaching contexts: a generator may be
closed in another context than the one that opened it. Names follow the GenAI semantic conventions of
OpenTelemetry. What people write and models answer is in no span unless `telemetry.prompts` says so.
"""

import asyncio
import json
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal, Self

from opentelemetry.metrics import Histogram, Meter, NoOpMeter
from opentelemetry.trace import NoOpTracer, Span, SpanKind, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from cluster.basics.errors import AosError
from configs.sections import TelemetrySettings

Value = str | bool | int | float | Sequence[str]

EXPORT_SECONDS = 2  # longest for one attempt to reach the collector; it happens in a thread of its own
QUEUE = 2048  # spans that wait for it; further ones are dropped
BATCH_MILLIS = 1_000
FIGURES_MILLIS = 15_000
CLOSE_SECONDS = 3.0
QUIET_SECONDS = 60.0  # the same complaint about a collector is logged once in so long

# The request that this code runs for; set around a whole request, and inherited by the tasks that it starts.
REQUEST: ContextVar[str | None] = ContextVar("aos.request.traceparent", default=None)

_CONTEXT = TraceContextTextMapPropagator()
_DURATIONS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
_TOKENS = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864]


@dataclass(slots=True)
class OpenSpan:
    """An open span."""

    span: Span
    traceparent: str | None  # to hand to what happens inside, here or elsewhere; None where nothing is traced at all
    labels: dict[str, Value]  # what its figures are counted by; few values each

    def set(self, attributes: Mapping[str, Value | None]) -> None:
        """Add attributes; None leaves one out."""
        self.span.set_attributes({name: value for name, value in attributes.items() if value is not None})

    def label(self, name: str, value: Value) -> None:
        """Add an attribute that its figures are counted by as well."""
        self.labels[name] = value
        self.span.set_attribute(name, value)

    def note_error(self, _: object, error: BaseException | None, __: object) -> None:
        """As the end of a `with` block hears of it; None where there was none."""
        if isinstance(error, GeneratorExit | asyncio.CancelledError):
            self.set({"aos.stopped": True})  # by who reads it: no error
        elif error is not None:
            self.failed(error.code if isinstance(error, AosError) else type(error).__qualname__)

    def failed(self, kind: str) -> None:
        """Record the kind of error it ended with; no detail, that may hold what somebody wrote."""
        self.label("error.type", kind)
        self.span.set_status(StatusCode.ERROR)


class Telemetry:
    """Makes spans, counts and measures. Without a collector all of it costs next to nothing."""

    def __init__(
        self,
        tracer: Tracer,
        meter: Meter,
        clock: Callable[[], float],
        *,
        prompts: bool,
        close: Callable[[], None],
        patience: float = CLOSE_SECONDS,
    ) -> None:
        """See `open_telemetry` and `off`; `clock` gives seconds that only grow."""
        self._tracer, self._clock, self.prompts = tracer, clock, prompts
        self._close, self._patience = close, patience
        self._requests = _create_histogram(meter, "http.server.request.duration", "s", _DURATIONS)
        self._operations = _create_histogram(meter, "gen_ai.client.operation.duration", "s", _DURATIONS)
        self._first_chunks = _create_histogram(meter, "gen_ai.client.operation.time_to_first_chunk", "s", _DURATIONS)
        self._tokens = _create_histogram(meter, "gen_ai.client.token.usage", "{token}", _TOKENS)
        self._cost = meter.create_counter("aos.model.cost", "USD", "what models cost")
        self._cache = meter.create_counter("aos.search.cache", "{search}", "what the cache said to searches")
        self._stages = _create_histogram(meter, "aos.search.stage.duration", "s", _DURATIONS)
        self._errors = meter.create_counter("aos.errors", "{error}", "errors by error.type and operation")

    @classmethod
    def off(cls) -> Self:
        """Traces nothing."""
        return cls(NoOpTracer(), NoOpMeter("aos"), lambda: 0.0, prompts=False, close=lambda: None)

    @contextmanager
    def span(
        self, name: str, parent: str | None, attributes: Mapping[str, Value | None], kind: SpanKind = SpanKind.INTERNAL
    ) -> Iterator[OpenSpan]:
        """A span around a block. Errors leave their kind in it and go on.

        There are few different names, with nothing in them that somebody wrote. `parent`: the `traceparent` of what
        this is a part of; None begins a trace. Attributes that are None are left out. `kind`: client for what is asked
        elsewhere, server for what is asked from outside.
        """
        context = _CONTEXT.extract({"traceparent": parent}) if parent else None
        known = {key: value for key, value in attributes.items() if value is not None}
        span = self._tracer.start_span(
            name, context, kind, known, record_exception=False, set_status_on_exception=False
        )
        mark = OpenSpan(span, _format_traceparent(span), {})
        with ExitStack() as ending:
            ending.callback(self._end_span, mark, str(known.get("gen_ai.operation.name", name)))
            ending.push(mark.note_error)
            yield mark

    def _end_span(self, mark: OpenSpan, operation: str) -> None:
        if kind_of_error := mark.labels.get("error.type"):
            self._errors.add(1, {"error.type": kind_of_error, "gen_ai.operation.name": operation})
        mark.span.end()

    @contextmanager
    def request(self, method: str, parent: str | None) -> Iterator[OpenSpan]:
        """A request from outside; its route and status are known later."""
        begun = self._clock()
        with self.span(method, parent, {"http.request.method": method}, SpanKind.SERVER) as mark:
            mark.labels["http.request.method"] = method
            try:
                yield mark
            finally:
                self._requests.record(self._clock() - begun, mark.labels)

    @contextmanager
    def operation(
        self,
        operation: Literal["chat", "invoke_agent", "execute_tool", "retrieval", "embeddings"],
        subject: str,
        parent: str | None,
        attributes: Mapping[str, Value | None],
    ) -> Iterator[OpenSpan]:
        """Something that agents do; `subject` is the agent, the tool, the model or the data source."""
        named = {"gen_ai.operation.name": operation, **attributes}
        kind = SpanKind.CLIENT if operation in ("chat", "embeddings") else SpanKind.INTERNAL
        begun = self._clock()
        with self.span(f"{operation} {subject}".strip(), parent, named, kind) as mark:
            mark.labels["gen_ai.operation.name"] = operation
            try:
                yield mark
            finally:
                self._operations.record(self._clock() - begun, mark.labels)

    def stopwatch(self) -> Callable[[], float]:
        """Seconds since now."""
        begun = self._clock()
        return lambda: self._clock() - begun

    def first_chunk(self, mark: OpenSpan, seconds: float) -> None:
        """A model began to write."""
        mark.set({"gen_ai.response.time_to_first_chunk": seconds})
        self._first_chunks.record(seconds, mark.labels)

    def used(self, mark: OpenSpan, prompt_tokens: int, completion_tokens: int, cost_usd: float = 0.0) -> None:
        """Record the tokens that a model counted, and their cost."""
        mark.set({"gen_ai.usage.input_tokens": prompt_tokens, "gen_ai.usage.output_tokens": completion_tokens})
        for kind, count in (("input", prompt_tokens), ("output", completion_tokens)):
            self._tokens.record(count, {**mark.labels, "gen_ai.token.type": kind})
        if cost_usd:
            self._cost.add(cost_usd, mark.labels)

    def searched(self, milliseconds: Mapping[str, float], cache: str | None = None) -> None:
        """Record the duration of each stage of a search and the cache's outcome; there are few names of stages."""
        if cache is not None:
            self._cache.add(1, {"outcome": cache})
        for stage, ms in milliseconds.items():
            self._stages.record(ms / 1000, {"stage": stage})

    def said(self, mark: OpenSpan, attribute: str, value: Any) -> None:
        """Keep what was written as JSON, only where `telemetry.prompts` is set."""
        if self.prompts:
            mark.set({attribute: json.dumps(value, ensure_ascii=False, default=str)})

    def close(self) -> None:
        """Send what waits, as long as patience lasts: a collector that is gone is not waited for."""
        sending = threading.Thread(target=self._close, name="telemetry-close", daemon=True)
        sending.start()
        sending.join(self._patience)

    async def aclose(self) -> None:
        """As `close`, beside other work."""
        await asyncio.to_thread(self.close)


def open_telemetry(
    settings: TelemetrySettings,  # without `endpoint` nothing is made, and nothing is imported
    clock: Callable[[], float],  # seconds that only grow
    attributes: Mapping[str, str],  # of this process, such as which component it is
    patience: float = CLOSE_SECONDS,  # seconds for the last spans when it is closed
    # Puts a meter of one's own around the collector's; figures are counted there also without a collector.
    counting: Callable[[Meter], Meter] = lambda meter: meter,
) -> Telemetry:
    """Telemetry to the collector of the settings, or none."""
    if settings.endpoint is None:
        meter = counting(NoOpMeter("aos"))
        return Telemetry(NoOpTracer(), meter, clock, prompts=False, close=lambda: None)
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.sampling import ALWAYS_ON

    for name in ("trace_exporter", "metric_exporter"):
        logging.getLogger(f"opentelemetry.exporter.otlp.proto.http.{name}").addFilter(_Rarely(clock))
    base = settings.endpoint.rstrip("/").removesuffix("/v1/traces")
    resource = Resource({"service.name": settings.service, **attributes})
    exporter = OTLPSpanExporter(f"{base}/v1/traces", timeout=EXPORT_SECONDS)
    figures = PeriodicExportingMetricReader(
        OTLPMetricExporter(f"{base}/v1/metrics", timeout=EXPORT_SECONDS),
        export_interval_millis=FIGURES_MILLIS,
        export_timeout_millis=EXPORT_SECONDS * 1_000,
    )
    meters = MeterProvider([figures], resource, shutdown_on_exit=False)
    tracers = TracerProvider(ALWAYS_ON, resource, shutdown_on_exit=False)
    tracers.add_span_processor(
        BatchSpanProcessor(
            exporter, max_queue_size=QUEUE, schedule_delay_millis=BATCH_MILLIS, max_export_batch_size=QUEUE // 4
        )
    )

    def close() -> None:
        tracers.shutdown()
        meters.shutdown(EXPORT_SECONDS * 1_000)

    tracer, meter = tracers.get_tracer("aos"), counting(meters.get_meter("aos"))
    return Telemetry(tracer, meter, clock, prompts=settings.prompts, close=close, patience=patience)


class _Rarely(logging.Filter):
    """Lets the same complaint through once in a while: a dead collector must not fill the log."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self._clock, self._next = clock, dict[str, float]()

    def filter(self, record: logging.LogRecord) -> bool:
        now = self._clock()
        if now < self._next.get(record.msg, now):
            return False
        self._next[record.msg] = now + QUIET_SECONDS
        return True


def _format_traceparent(span: Span) -> str | None:
    context = span.get_span_context()
    if not context.is_valid:
        return None
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


def _create_histogram(meter: Meter, name: str, unit: str, buckets: Sequence[float]) -> Histogram:
    return meter.create_histogram(name, unit, explicit_bucket_boundaries_advisory=buckets)
