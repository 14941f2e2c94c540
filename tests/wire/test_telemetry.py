"""Telemetry: spans in one trace across hops, no content unless asked for, and a collector that nobody waits for."""

import asyncio
import logging
import re
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from opentelemetry import metrics, trace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as genai
from opentelemetry.semconv._incubating.metrics import gen_ai_metrics
from opentelemetry.trace import StatusCode
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from cluster.basics.errors import Unavailable
from cluster.basics.scope import Scope
from cluster.basics.telemetry import REQUEST, Telemetry, open_telemetry
from cluster.models.messages import ChatRequest, ModelMessage, ModelReply, TokenUsage
from configs.sections import TelemetrySettings
from serve_apps.agents.durable.run_loop import carried_out
from serve_apps.agents.durable.traced import TracedOrchestrator, TurnTracer
from serve_apps.agents.events import Event, EventKind
from serve_apps.agents.turn_errors import ApprovalPending
from serve_apps.agents.turn_ports import IncomingMessage, Journal, RunId, Turn, TurnOutcome
from serve_apps.http.tracing import TracingMiddleware
from tests.fakes.agents import RUN, SCOPE, ScriptedModels, turn
from tests.fakes.collector import Watched, collecting
from tests.fakes.record import MemoryRecord, journal_on

ROOT = Path(__file__).resolve().parents[2]
ABOVE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
SECRET = "the vault opens with seven turns"


class Handler:
    """A retrieval, a model and a tool; `ends` is raised at the end."""

    def __init__(self, ends: BaseException | None = None) -> None:
        self.models = ScriptedModels(ModelReply(SECRET, usage=TokenUsage(12, 5), model="m-1"))
        self.ends = ends

    async def __call__(self, turn: Turn, journal: Journal) -> TurnOutcome:
        async def found(key: str) -> list[str]:
            return [SECRET]

        request = ChatRequest((ModelMessage("user", SECRET),))
        await journal.step("retrieval", "documents", {"query": SECRET}, found)
        async for _ in journal.stream("round 1", request, lambda: self.models.stream(turn, "chat", request)):
            pass
        await journal.step("tool", "calculator", {"expression": SECRET}, found)
        await journal.step("clock", "now", {}, found)
        if self.ends is not None:
            raise self.ends
        return TurnOutcome(SECRET)


async def carry(
    handler: Handler, watched: Watched, asked: Turn | None = None, record: MemoryRecord | None = None
) -> TurnOutcome:
    """The turn as a runner carries it out."""
    tracer = TurnTracer(watched.telemetry)
    journal = journal_on(MemoryRecord() if record is None else record, tracer=tracer)
    return await carried_out(handler, asked or turn("hi"), journal, tracer)


async def test_ob_01_a_turn_and_each_of_its_effects_have_spans_in_one_trace() -> None:
    """OB-01: the turn, its retrieval, model and tool, under the request that another process took."""
    watched = Watched()
    await carry(Handler(), watched, turn("hi", options={"traceparent": ABOVE}))
    below = ["retrieval documents", "chat m-1", "execute_tool calculator", "clock now"]
    assert list(watched.spans) == [*below, "invoke_agent assistant"]
    assert {watched.parent(name) for name in below} == {"invoke_agent assistant"}
    assert watched.parent("invoke_agent assistant") == "elsewhere"
    traces = {f"{span.context.trace_id:032x}" for span in watched.spans.values() if span.context}
    assert traces == {ABOVE.split("-")[1]}
    chat = watched.spans["chat m-1"].attributes or {}
    assert (chat["gen_ai.usage.input_tokens"], chat["gen_ai.usage.output_tokens"]) == (12, 5)
    assert chat["gen_ai.response.model"] == "m-1" and "gen_ai.response.time_to_first_chunk" in chat


class Below:
    """An `Orchestrator` that tells what it was given, and whether its stream was closed."""

    def __init__(self) -> None:
        self.given: list[IncomingMessage] = []
        self.closed = False

    async def process(self, scope: Scope, incoming: IncomingMessage) -> AsyncIterator[Event]:
        self.given.append(incoming)
        try:
            for n in range(1, 9):
                yield Event(n, EventKind.STATUS)
        finally:
            self.closed = True

    def resume(self, scope: Scope, run: RunId) -> AsyncIterator[Event]:
        return self.process(scope, IncomingMessage("", run))

    async def cancel(self, scope: Scope, run: RunId) -> None:
        raise Unavailable(run)


async def test_the_trace_crosses_to_the_orchestrator_as_a_text() -> None:
    watched, below = Watched(), Below()
    traced = TracedOrchestrator(below, watched.telemetry)
    token = REQUEST.set(ABOVE)
    reading = traced.process(SCOPE, IncomingMessage("a", "hello", options={"stream": True}))
    async for event in reading:
        assert event.seq == 1
        break
    await reading.aclose()  # type: ignore[attr-defined]
    assert below.closed, "who leaves stops the turn at once"
    (given,) = below.given
    assert given.options["stream"] is True and given.options["traceparent"].split("-")[1] == ABOVE.split("-")[1]
    REQUEST.reset(token)
    assert [e.seq async for e in traced.resume(SCOPE, RUN)] == list(range(1, 9))
    with pytest.raises(Unavailable):
        await traced.cancel(SCOPE, RUN)
    assert list(watched.spans) == ["orchestrator process", "orchestrator resume", "orchestrator cancel"]
    off = TracedOrchestrator(below, Telemetry.off())
    assert len([e async for e in off.process(SCOPE, IncomingMessage("a", "hello"))]) == 8
    assert "traceparent" not in below.given[-1].options


async def test_ob_05_figures_and_error_codes_are_counted() -> None:
    """OB-05: durations and tokens by operation, errors by their code."""
    watched = Watched()
    with pytest.raises(Unavailable):
        await carry(Handler(Unavailable(SECRET)), watched)
    assert watched.figure("gen_ai.client.token.usage", gen_ai_token_type="input", gen_ai_response_model="m-1") == 12
    assert watched.figure("aos.errors", error_type="unavailable", gen_ai_operation_name="invoke_agent") == 1
    assert watched.figure("gen_ai.client.operation.duration", gen_ai_operation_name="execute_tool") > 0
    failed = watched.spans["invoke_agent assistant"]
    assert failed.status.status_code is StatusCode.ERROR and not failed.events and not failed.status.description


async def test_what_a_journal_only_remembers_makes_no_span() -> None:
    record, handler = MemoryRecord(), Handler()
    await carry(handler, Watched(), record=record)
    watched = Watched()
    outcome = await carry(handler, watched, record=record)
    assert list(watched.spans) == ["invoke_agent assistant"] and outcome.answer == SECRET


async def test_waiting_for_a_person_is_no_error() -> None:
    watched = Watched()
    with pytest.raises(ApprovalPending):
        await carry(Handler(ApprovalPending("a1")), watched)
    span = watched.spans["invoke_agent assistant"]
    assert span.status.status_code is StatusCode.UNSET and (span.attributes or {})["aos.outcome"] == "waiting"
    assert watched.figure("aos.errors") == 0


@pytest.mark.parametrize("prompts", [False, True])
async def test_what_people_write_is_in_no_span_unless_asked_for(prompts: bool) -> None:
    watched = Watched(prompts=prompts)
    await carry(Handler(), watched, turn(SECRET))
    assert any(SECRET in str(span.to_json()) for span in watched.spans.values()) is prompts


def test_names_are_those_of_the_conventions() -> None:
    """Each gen_ai name that we write is one that the installed conventions know."""
    known = {value for module in (genai, gen_ai_metrics) for value in vars(module).values() if isinstance(value, str)}
    for path in ("cluster/basics/telemetry.py", "serve_apps/agents/durable/traced.py"):
        used = set(re.findall(r'"(gen_ai\.[a-z_.]+)"', (ROOT / path).read_text(encoding="utf-8")))
        assert used and used <= known, used - known
    operations = {value.value for value in genai.GenAiOperationNameValues}
    assert {"chat", "invoke_agent", "execute_tool", "retrieval", "embeddings"} <= operations


async def test_a_reader_who_leaves_is_no_error() -> None:
    watched = Watched()

    async def stream():  # type: ignore[no-untyped-def]
        with watched.telemetry.span("piece by piece", None, {}):
            yield 1
            yield 2

    reading = stream()
    async for _ in reading:
        break
    await asyncio.create_task(reading.aclose())  # in another context than the one it was opened in
    span = watched.spans["piece by piece"]
    assert span.status.status_code is StatusCode.UNSET and (span.attributes or {})["aos.stopped"] is True


def test_a_request_has_a_span_with_its_route() -> None:
    async def chat(request: Request) -> StreamingResponse:
        async def pieces():  # type: ignore[no-untyped-def]
            yield str(REQUEST.get())

        return StreamingResponse(pieces())

    async def broken(request: Request) -> PlainTextResponse:
        return PlainTextResponse("no", 503)

    watched = Watched()
    app = Starlette(routes=[Route("/api/chat/{agent}", chat), Route("/broken", broken)])
    app.add_middleware(TracingMiddleware, telemetry=watched.telemetry)
    with TestClient(app) as client:
        told = client.get("/api/chat/a1", headers={"traceparent": ABOVE}).text
        client.get("/broken", headers={"traceparent": "garbage"})
    assert told.split("-")[1] == ABOVE.split("-")[1] and told != ABOVE
    span = next(span for name, span in watched.spans.items() if name.startswith("GET") and "broken" not in name)
    assert (span.attributes or {})["http.response.status_code"] == 200
    assert watched.figure("aos.errors", error_type="503") == 1
    assert "a1" not in str(watched.spans.keys())


async def test_spans_reach_a_collector_over_http_and_the_global_providers_stay_as_they_are() -> None:
    before = trace.get_tracer_provider(), metrics.get_meter_provider()
    async with collecting() as collector:
        settings = TelemetrySettings(endpoint=f"{collector.url}/", service="aos-test")
        telemetry = open_telemetry(settings, time.monotonic, {"aos.component": "gateway"})
        with telemetry.operation("chat", "m", None, {}) as mark:
            telemetry.used(mark, 1, 2)
        await telemetry.aclose()
    sent = ExportTraceServiceRequest.FromString(collector.bodies["/v1/traces"][0])
    (resource,) = sent.resource_spans
    named = {a.key: a.value.string_value for a in resource.resource.attributes}
    assert named == {"service.name": "aos-test", "aos.component": "gateway"}
    assert resource.scope_spans[0].spans[0].name == "chat m"
    assert collector.bodies["/v1/metrics"]
    assert (trace.get_tracer_provider(), metrics.get_meter_provider()) == before


@pytest.mark.parametrize("port_is_open", [True, False])
async def test_a_dead_collector_blocks_nothing(port_is_open: bool, caplog: pytest.LogCaptureFixture) -> None:
    """OB-05: a black hole, or nobody: spans are made as fast, the queue is bounded, closing ends, the log is quiet."""
    async with collecting(answers=False) as collector:
        telemetry = open_telemetry(
            TelemetrySettings(endpoint=collector.url if port_is_open else "http://127.0.0.1:9"),
            time.monotonic,
            {},
            patience=2.0,  # who waits for the collector waits this long; a busy machine does not
        )
        with caplog.at_level(logging.WARNING):
            slowest = 0.0
            for _ in range(2_500):
                begun = time.perf_counter()
                with telemetry.operation("chat", "m", None, {}):
                    pass
                slowest = max(slowest, time.perf_counter() - begun)
            begun = time.monotonic()
            await telemetry.aclose()
            assert time.monotonic() - begun < 5
    assert slowest < 1.5
    assert len(caplog.records) <= 6


def test_without_an_endpoint_nothing_is_started_and_a_trace_passes_through() -> None:
    threads = threading.active_count()
    telemetry = open_telemetry(TelemetrySettings(), time.monotonic, {})
    with telemetry.request("GET", ABOVE) as mark:
        assert mark.traceparent == ABOVE
    with Telemetry.off().span("x", None, {}) as mark:
        assert mark.traceparent is None
    begun = time.process_time()
    for _ in range(1_000):
        with telemetry.operation("chat", "m", None, {}):
            pass
    assert time.process_time() - begun < 0.5
    assert threading.active_count() == threads
