"""Chat: a message to an agent, and the agent endpoints of the documents that the product comes from."""

import time
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from pydantic import BaseModel, Field, StringConstraints

from cluster.basics.errors import NotFound
from cluster.basics.ids import as_uuid
from serve_apps.agents.streams.encode import s3, s4
from serve_apps.http.auth.guard import GuardedRoute, Its, Me, require_same_scope
from serve_apps.http.auth.permissions import READ
from serve_apps.http.fields import MOST_AGENT, RequestBody, SessionInPath, Text
from serve_apps.http.response_shapes import copy_fields
from serve_apps.http.routes.agents.chat_shapes import (
    STREAM,
    ChatReply,
    ChatRequest,
    PersonalDataTold,
    Problem,
    trace_and_waits,
)
from serve_apps.http.routes.agents.run_access import LastEventId, readers_of, reading_of, stream_run_events
from serve_apps.http.streams.turn_response import (
    AgentKey,
    Documents,
    Said,
    SessionKey,
    collect_turn,
    incoming_message,
    stream_turn,
    wants_stream,
)

router = APIRouter(route_class=GuardedRoute, tags=["chat"])

_NOT_STATED = 0.5  # of an answer that ended without saying how sure it is, as for every fallback


class ProcessRequest(RequestBody):
    """A message to an agent, as process_message takes it. `user_id` is not believed: the token says who asks."""

    agent_id: AgentKey = ""
    session_id: SessionKey | None = None
    message: Said
    document_ids: Documents = None
    user_id: Annotated[str | None, Field(max_length=200, description="Compared with the token.")] = None
    stream: bool | None = None


class AgentResponse(BaseModel):
    """Answer of an agent."""

    id: str
    run_id: str
    session_id: str
    content: str
    tool_calls: list[dict[str, Any]]
    tool_results: list[dict[str, Any]]
    reasoning: str
    requires_approval: bool
    approval_request: dict[str, Any] | None
    requires_input: bool
    input_request: dict[str, Any] | None
    execution_time_ms: int
    tokens_used: int
    confidence: float
    agent_trace: list[dict[str, Any]]
    error: Problem | None
    metadata: Mapping[str, Any]


class ShortChat(RequestBody):
    """A question in a session, to the workspace's default agent."""

    session_id: SessionKey
    question: Annotated[Said, StringConstraints(max_length=8_000)]
    use_rag: bool = False


class ShortReply(BaseModel):
    """An answer, how sure it is, and how it came about."""

    answer: str
    session_id: str
    agent_trace: list[dict[str, Any]]
    confidence: float
    citations: list[dict[str, Any]]
    requires_approval: bool
    approval_request: dict[str, Any] | None
    requires_input: bool
    input_request: dict[str, Any] | None
    error: Problem | None
    personal_data: PersonalDataTold = {}
    classification: str | None = None


@router.post("/api/v1/agents/process", response_model=AgentResponse, responses=STREAM, dependencies=[READ])
async def process(body: ProcessRequest, request: Request, me: Me, parts: Its) -> Response | AgentResponse:
    """Process a message, whole or as stream chunks."""
    require_same_scope(me, None, None, body.user_id)
    stream = wants_stream(request, body.stream)
    message, verbosity = incoming_message(
        body.agent_id, body.message, body.session_id, stream=stream, documents=body.document_ids
    )
    events = parts.orchestrator.process(me.scope, message)
    if stream:
        return await stream_turn(events, verbosity, s4, parts.pace.beat)
    began = time.monotonic()
    found = await collect_turn(request, events)
    return copy_fields(
        AgentResponse,
        found,
        id=found.run,
        run_id=found.run,
        session_id=found.session,
        content=found.answer,
        execution_time_ms=round(1000 * (time.monotonic() - began)),
        tokens_used=found.prompt_tokens + found.completion_tokens,
        confidence=_NOT_STATED if found.confidence is None else found.confidence,
        metadata={"model": found.model, "path": found.path, "citations": found.citations},
        **trace_and_waits(found),
    )


@router.get("/api/v1/agents/stream/{session_id}", response_class=Response, responses=STREAM, dependencies=[READ])
async def stream(session_id: SessionInPath, me: Me, parts: Its, last_event_id: LastEventId = None) -> Response:
    """The newest turn of a session as stream chunks, followed to its end."""
    session = as_uuid(session_id) or (await parts.conversations.show(me.scope, session_id)).id
    rows, _ = await parts.runs.page(me.scope, session=session, user=readers_of(me), limit=1)
    if not rows:
        raise NotFound(f"session {session_id} has no turns")
    return await stream_run_events(me, parts, rows[0], reading_of(last_event_id), s4)


@router.post("/v1/agent/chat", dependencies=[READ])
async def short_chat(body: ShortChat, request: Request, me: Me, parts: Its) -> ShortReply:
    """Ask the default agent."""
    message, _ = incoming_message("", body.question, body.session_id, use_rag=body.use_rag)
    found = await collect_turn(request, parts.orchestrator.process(me.scope, message))
    sure = _NOT_STATED if found.confidence is None else found.confidence
    return copy_fields(ShortReply, found, session_id=found.session, confidence=sure, **trace_and_waits(found))


AgentInPath = Annotated[Text, Path(max_length=MOST_AGENT, description="An agent's UUID or its display name.")]


@router.post("/api/chat/{agent_id}", response_model=ChatReply, responses=STREAM, dependencies=[READ])
async def chat(agent_id: AgentInPath, body: ChatRequest, request: Request, me: Me, parts: Its) -> Response | ChatReply:
    """Say something to an agent. Whoever closes the connection stops it; POST /api/runs/{id}/resume goes on."""
    stream = wants_stream(request, body.stream)
    chosen = body.model_dump(include={"temperature", "max_tokens", "use_rag"})
    chosen |= {"stream": stream, "documents": body.document_ids}
    message, verbosity = incoming_message(agent_id, body.message, body.session(), body.verbose, **chosen)
    events = parts.orchestrator.process(me.scope, message)
    if stream:
        return await stream_turn(events, verbosity, s3, parts.pace.beat)
    return ChatReply.of(await collect_turn(request, events))
