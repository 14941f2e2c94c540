"""POST /api/chat/{agent_id}: a message to an agent, answered at once or as a stream."""

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from serve_apps.agents.streams.encode import s3
from serve_apps.http.auth.guard import GuardedRoute, Its, Me, require_same_scope
from serve_apps.http.fields import MOST_AGENT, Text
from serve_apps.http.routes.agents.chat_shapes import STREAM, ChatReply, ChatRequest
from serve_apps.http.streams.turn_response import collect_turn, incoming_message, stream_turn, wants_stream

router = APIRouter(route_class=GuardedRoute, tags=["chat"])

AgentInPath = Annotated[Text, Path(max_length=MOST_AGENT, description="An agent's UUID or its display name.")]


@router.post("/api/chat/{agent_id}", response_model=ChatReply, responses=STREAM)
async def chat(agent_id: AgentInPath, body: ChatRequest, request: Request, me: Me, parts: Its) -> Response | ChatReply:
    """Say something to an agent. Whoever closes the connection stops it; POST /api/runs/{id}/resume goes on."""
    require_same_scope(me, body.tenant_id, body.workspace_id)
    stream = wants_stream(request, body.stream)
    message, verbosity = incoming_message(
        agent_id,
        body.message,
        body.session(),
        body.verbose,
        stream=stream,
        temperature=body.temperature,
        max_tokens=body.max_tokens,
        use_rag=body.use_rag,
        documents=body.document_ids,
    )
    events = parts.orchestrator.process(me.scope, message)
    if stream:
        return await stream_turn(events, verbosity, s3, parts.pace.beat)
    return ChatReply.of(await collect_turn(request, events))
