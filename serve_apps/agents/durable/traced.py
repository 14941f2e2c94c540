"""Turns seen from outside: a span for the turn, and one for each model, tool and retrieval that was performed."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from cluster.basics.scope import Scope
from cluster.basics.telemetry import REQUEST, OpenSpan, Telemetry, Value
from cluster.models.messages import ChatRequest, ModelReply
from cluster.state.work.placeholders import PlaceholderMap
from pipelines.documents.privacy.personal_data import find_personal_data
from serve_apps.agents.events import Event
from serve_apps.agents.streams.cancellation import closing_stream
from serve_apps.agents.turn_errors import ApprovalPending
from serve_apps.agents.turn_ports import IncomingMessage, Json, RunId, Said, Turn, TurnOrchestrator, TurnOutcome

TRACEPARENT = "traceparent"  # the option of a turn that says what it is a part of


class TracedOrchestrator:
    """An `Orchestrator` around another, here or elsewhere: what it does is a part of the request it is called in."""

    def __init__(self, orchestrator: TurnOrchestrator, telemetry: Telemetry) -> None:
        """`orchestrator` takes the messages."""
        self._orchestrator, self._telemetry = orchestrator, telemetry

    async def process(self, scope: Scope, incoming: IncomingMessage) -> AsyncIterator[Event]:
        """As `Orchestrator`; the turn's options say what it is a part of, also where a background owner resumes it."""
        with self._telemetry.span("orchestrator process", REQUEST.get(), {"aos.tenant.id": scope.tenant}) as mark:
            options = {**incoming.options, TRACEPARENT: mark.traceparent} if mark.traceparent else incoming.options
            async with closing_stream(self._orchestrator.process(scope, replace(incoming, options=options))) as events:
                async for event in events:
                    yield event

    async def resume(self, scope: Scope, run: RunId) -> AsyncIterator[Event]:
        """As `Orchestrator`."""
        with self._telemetry.span("orchestrator resume", REQUEST.get(), {"aos.run.id": run}):
            async with closing_stream(self._orchestrator.resume(scope, run)) as events:
                async for event in events:
                    yield event

    async def cancel(self, scope: Scope, run: RunId) -> None:
        """As `Orchestrator`."""
        with self._telemetry.span("orchestrator cancel", REQUEST.get(), {"aos.run.id": run}):
            await self._orchestrator.cancel(scope, run)


class TurnTracer:
    """Spans of one turn and of the effects below it. What a journal only remembers makes none: it happened in another
    trace. Texts in them have placeholders for personal data, the same one for a value in all spans of the turn."""

    def __init__(self, telemetry: Telemetry) -> None:
        """No span is open yet."""
        self._telemetry = telemetry
        self._parent: str | None = None
        self._placeholders = PlaceholderMap(find_personal_data, {})

    @contextmanager
    def trace_turn(self, turn: Turn) -> Iterator[Callable[[TurnOutcome], None]]:
        """The span of the turn; what it yields takes the outcome. A turn that waits for a person has not failed."""
        attributes: Mapping[str, Value | None] = {
            "gen_ai.agent.id": turn.agent.id,
            "gen_ai.agent.name": turn.agent.name,
            "gen_ai.conversation.id": turn.session,
            "aos.run.id": turn.run,
            "aos.tenant.id": turn.scope.tenant,
            "aos.workspace.id": turn.scope.workspace,
            "aos.path": str(turn.path),
            "aos.depth": turn.depth,
        }
        above = turn.options.get(TRACEPARENT)
        waiting: ApprovalPending | None = None
        with self._telemetry.operation(
            "invoke_agent", turn.agent.name, above if isinstance(above, str) else None, attributes
        ) as mark:
            self._parent = mark.traceparent
            self._said(mark, "gen_ai.input.messages", [_genai_message("user", turn.message)])

            def ended(outcome: TurnOutcome) -> None:
                mark.set({"aos.outcome": outcome.finish_reason, "aos.confidence": outcome.confidence})
                self._said(mark, "gen_ai.output.messages", [_genai_message("assistant", outcome.answer)])

            try:
                yield ended
            except ApprovalPending as error:
                waiting = error
                mark.set({"aos.outcome": "waiting", "aos.approval.id": error.approval})
        if waiting is not None:
            raise waiting

    @contextmanager
    def trace_step(self, kind: str, name: str, request: Json, key: str) -> Iterator[Callable[[Json], None]]:
        """The span of an effect; what it yields takes the result."""
        if kind == "tool":
            attributes = {"gen_ai.tool.name": name, "gen_ai.tool.type": "function", "gen_ai.tool.call.id": key}
            with self._telemetry.operation("execute_tool", name, self._parent, attributes) as mark:
                mark.labels["gen_ai.tool.name"] = name
                self._said(mark, "gen_ai.tool.call.arguments", request)
                yield partial(self._said, mark, "gen_ai.tool.call.result")
        elif kind == "retrieval":
            with self._telemetry.operation("retrieval", name, self._parent, {"gen_ai.data_source.id": name}) as mark:
                self._said(mark, "gen_ai.retrieval.query.text", request)
                yield _discard
        else:
            with self._telemetry.span(f"{kind} {name}", self._parent, {}):
                yield _discard

    @contextmanager
    def trace_model_call(self, name: str, request: ChatRequest) -> Iterator[Callable[[Said], None]]:
        """The span of a model's reply; what it yields takes each piece of it."""
        attributes: Mapping[str, Value | None] = {
            "aos.step": name,
            "gen_ai.request.temperature": request.temperature,
            "gen_ai.request.max_tokens": request.max_tokens,
            "gen_ai.request.stream": True,
            "gen_ai.request.seed": request.seed,
            "gen_ai.request.stop_sequences": self._placeholders.hide(request.stop) or None,
        }
        with self._telemetry.operation("chat", name, self._parent, attributes) as mark:
            seconds, waits = self._telemetry.stopwatch(), True
            said = [_genai_message(one.role, one.content) for one in request.messages]
            self._said(mark, "gen_ai.input.messages", said)

            def take(item: Said) -> None:
                nonlocal waits
                if waits:
                    self._telemetry.first_chunk(mark, seconds())
                    waits = False
                if isinstance(item, ModelReply):
                    self._annotate_reply(mark, item)

            yield take

    def _said(self, mark: OpenSpan, attribute: str, value: Any) -> None:
        if self._telemetry.prompts:
            self._telemetry.said(mark, attribute, self._placeholders.hide(value))

    def _annotate_reply(self, mark: OpenSpan, reply: ModelReply) -> None:
        mark.label("gen_ai.response.model", reply.model)
        mark.label("gen_ai.provider.name", reply.connection)
        mark.span.update_name(f"chat {reply.model}".strip())
        spent = {"aos.cost_usd": reply.cost_usd, "aos.fallbacks": len(reply.fallbacks)}
        mark.set({"gen_ai.response.finish_reasons": (reply.finish_reason,), **spent})
        self._telemetry.used(mark, reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.cost_usd)
        self._said(mark, "gen_ai.output.messages", [_genai_message("assistant", reply.content)])


def _discard(_: Json) -> None:
    """Results of other effects are in no span."""


def _genai_message(role: str, content: str) -> dict[str, Any]:
    """As the conventions' JSON schema of messages has it."""
    return {"role": role, "parts": [{"type": "text", "content": content}]}
