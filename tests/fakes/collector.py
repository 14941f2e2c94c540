"""Spans and figures kept in memory, and collectors over HTTP: one that listens, one that never answers."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from cluster.basics.telemetry import Telemetry


class Watched:
    """A `Telemetry` whose spans and figures a test reads."""

    def __init__(self, *, prompts: bool = False) -> None:
        self._spans, self._figures = InMemorySpanExporter(), InMemoryMetricReader()
        self._tracers = TracerProvider(shutdown_on_exit=False)
        self._tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        meters = MeterProvider([self._figures], shutdown_on_exit=False)
        self.telemetry = Telemetry(
            self._tracers.get_tracer("t"), meters.get_meter("t"), time.monotonic, prompts=prompts, close=lambda: None
        )

    @property
    def spans(self) -> dict[str, ReadableSpan]:
        """By name, in the order in which they ended."""
        return {span.name: span for span in self._spans.get_finished_spans()}

    def parent(self, name: str) -> str | None:
        """The name of the span that this one is a part of."""
        above = self.spans[name].parent
        ids = {span.context.span_id: span.name for span in self.spans.values() if span.context}
        return None if above is None else ids.get(above.span_id, "elsewhere")

    def figure(self, name: str, **labels: Any) -> float:
        """Sum or count of the points of a figure that have these labels (dots as underscores)."""
        data, total = self._figures.get_metrics_data(), 0.0
        for resource in data.resource_metrics if data else ():
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    for point in metric.data.data_points if metric.name == name else ():
                        known = {k.replace(".", "_"): v for k, v in (point.attributes or {}).items()}
                        if labels.items() <= known.items():
                            total += getattr(point, "sum", None) or getattr(point, "value", 0)
        return total


@dataclass
class Collector:
    """What came in over HTTP: path -> bodies."""

    url: str = ""
    bodies: dict[str, list[bytes]] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)  # of the last request
    status: str = "200 OK"
    reply: bytes = b""


@asynccontextmanager
async def collecting(*, answers: bool = True) -> AsyncIterator[Collector]:
    """Takes OTLP over HTTP; without `answers` it takes connections and says nothing, ever."""
    made, held = Collector(), list[asyncio.StreamWriter]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        held.append(writer)
        if not answers:
            return
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = head.decode().split("\r\n")
                headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:])}
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                made.bodies.setdefault(lines[0].split()[1], []).append(body)
                made.headers = headers
                writer.write(
                    f"HTTP/1.1 {made.status}\r\ncontent-length: {len(made.reply)}\r\n\r\n".encode() + made.reply
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            return

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield made
    finally:
        for writer in held:
            writer.close()
        server.close()
