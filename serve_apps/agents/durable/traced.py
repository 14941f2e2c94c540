"""Turns seen from outside: a span for the turn, and one for each model, tool and retrieval that was performed."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

from cluster.basics.scope import Scope
from cluster.basics.telemetry import REQUEST, OpenSpan, Telemetry, Value
from cluster.models.messages import ChatRequest, ModelReply
from serve_apps.agents.events import Event, EventKind
from serve_apps.agents.streams.cancellation import closing_stream
from serve_apps.agents.turn_errors import ApprovalPending
from serve_apps.agents.turn_ports import (
    IncomingMessage,
    Journal,
    Json,
    Perform,
    RedoPolicy,
    RunId,
    Said,
    Saying,
    Turn,
    TurnHandler,
    TurnOrchestrator,
    TurnOutcome,
)

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


class TracedHandler:
    """A `Handler` around another. What a journal only remembers makes no span: it happened in another trace."""

    def __init__(self, handler: TurnHandler, telemetry: Telemetry) -> None:
        """`handler` carries the turn out."""
        self._handler, self._telemetry = handler, telemetry

    async def __call__(self, turn: Turn, journal: Journal) -> TurnOutcome:
        """As `Handler`."""
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
        parent = turn.options.get(TRACEPARENT)
        parent = parent if isinstance(parent, str) else None
        with self._telemetry.operation("invoke_agent", turn.agent.name, parent, attributes) as mark:
            self._telemetry.said(mark, "gen_ai.input.messages", [_genai_message("user", turn.message)])
            ended = await self._outcome_or_waiting(turn, TracedJournal(journal, self._telemetry, mark.traceparent))
            if isinstance(ended, TurnOutcome):
                mark.set({"aos.outcome": ended.finish_reason, "aos.confidence": ended.confidence})
                self._telemetry.said(mark, "gen_ai.output.messages", [_genai_message("assistant", ended.answer)])
                return ended
            mark.set({"aos.outcome": "waiting", "aos.approval.id": ended.approval})
        raise ended

    async def _outcome_or_waiting(self, turn: Turn, journal: Journal) -> TurnOutcome | ApprovalPending:
        """A turn that waits for a person has not failed, so its span does not see an error."""
        try:
            return await self._handler(turn, journal)
        except ApprovalPending as waiting:
            return waiting


class TracedJournal:
    """A `Journal` whose effects make spans below the turn's."""

    def __init__(self, journal: Journal, telemetry: Telemetry, parent: str | None) -> None:
        """`parent`: traceparent of the turn's span."""
        self._journal, self._telemetry, self._parent = journal, telemetry, parent

    @property
    def run(self) -> RunId:
        """As `Journal`."""
        return self._journal.run

    @property
    def seed(self) -> int:
        """As `Journal`."""
        return self._journal.seed

    @property
    def spent_ms(self) -> int:
        """As `Journal`."""
        return self._journal.spent_ms

    def emit(self, kind: EventKind, **data: Json) -> Event:
        """As `Journal`."""
        return self._journal.emit(kind, **data)

    def piece(self, text: str) -> None:
        """As `Journal`."""
        self._journal.piece(text)

    async def ask(self, tool: str, arguments: Mapping[str, Json], reason: str) -> Mapping[str, Json]:
        """As `Journal`."""
        return await self._journal.ask(tool, arguments, reason)

    async def inquire(self, question: Mapping[str, Json]) -> str:
        """As `Journal`."""
        return await self._journal.inquire(question)

    async def step(
        self, kind: str, name: str, request: Json, perform: Perform, *, redo: RedoPolicy = RedoPolicy.REPEAT
    ) -> Json:
        """As `Journal`."""

        async def performed(key: str) -> Json:
            if kind == "tool":
                return await self._trace_tool(name, request, key, perform)
            if kind == "retrieval":
                with self._telemetry.operation(
                    "retrieval", name, self._parent, {"gen_ai.data_source.id": name}
                ) as mark:
                    self._telemetry.said(mark, "gen_ai.retrieval.query.text", request)
                    return await perform(key)
            with self._telemetry.span(f"{kind} {name}", self._parent, {}):
                return await perform(key)

        return await self._journal.step(kind, name, request, performed, redo=redo)

    def stream(self, name: str, request: ChatRequest, saying: Saying, *, about: Json = None) -> AsyncIterator[Said]:
        """As `Journal`."""
        return self._journal.stream(name, request, lambda: self._trace_model_call(name, request, saying), about=about)

    async def _trace_tool(self, name: str, request: Json, key: str, perform: Perform) -> Json:
        attributes = {"gen_ai.tool.name": name, "gen_ai.tool.type": "function", "gen_ai.tool.call.id": key}
        with self._telemetry.operation("execute_tool", name, self._parent, attributes) as mark:
            mark.labels["gen_ai.tool.name"] = name
            self._telemetry.said(mark, "gen_ai.tool.call.arguments", request)
            result = await perform(key)
            self._telemetry.said(mark, "gen_ai.tool.call.result", result)
            return result

    async def _trace_model_call(self, name: str, request: ChatRequest, saying: Saying) -> AsyncIterator[Said]:
        attributes: Mapping[str, Value | None] = {
            "aos.step": name,
            "gen_ai.request.temperature": request.temperature,
            "gen_ai.request.max_tokens": request.max_tokens,
            "gen_ai.request.stream": True,
            "gen_ai.request.seed": request.seed,
            "gen_ai.request.stop_sequences": request.stop or None,
        }
        with self._telemetry.operation("chat", name, self._parent, attributes) as mark:
            seconds, waits = self._telemetry.stopwatch(), True
            self._telemetry.said(
                mark, "gen_ai.input.messages", [_genai_message(m.role, m.content) for m in request.messages]
            )
            async with closing_stream(saying()) as said:
                async for item in said:
                    if waits:
                        self._telemetry.first_chunk(mark, seconds())
                        waits = False
                    if isinstance(item, ModelReply):
                        self._annotate_reply(mark, item)
                    yield item

    def _annotate_reply(self, mark: OpenSpan, reply: ModelReply) -> None:
        mark.label("gen_ai.response.model", reply.model)
        mark.label("gen_ai.provider.name", reply.connection)
        mark.span.update_name(f"chat {reply.model}".strip())
        mark.set(
            {
                "gen_ai.response.finish_reasons": (reply.finish_reason,),
                "aos.cost_usd": reply.cost_usd,
                "aos.fallbacks": len(reply.fallbacks),
            }
        )
        self._telemetry.used(mark, reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.cost_usd)
        self._telemetry.said(mark, "gen_ai.output.messages", [_genai_message("assistant", reply.content)])


def _genai_message(role: str, content: str) -> dict[str, Any]:
    """As the conventions' JSON schema of messages has it."""
    return {"role": role, "parts": [{"type": "text", "content": content}]}
