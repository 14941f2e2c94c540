"""OpenAI's API over the agents: /v1/chat/completions, /v1/models, /v1/embeddings, for clients that exist."""

import base64
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Path, Request, Response
from starlette.responses import JSONResponse

from cluster.basics.errors import AosError, Invalid, NotFound
from cluster.models.embedding.migration import pin_embedder
from cluster.models.messages import ModelMessage, ToolCall
from cluster.models.ports import EmbeddingLane
from serve_apps.agents.intake.response_demand import ANSWER, answer_tool, form_of
from serve_apps.agents.streams.collect import ReplyCollector
from serve_apps.agents.streams.completions import END, CompletionChunks, completion_body
from serve_apps.agents.streams.encode import StreamCursor, Verbosity
from serve_apps.agents.turn.stop_sequences import StopSequences
from serve_apps.agents.turn_ports import IncomingMessage
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.impersonation import forwarded_chat
from serve_apps.http.auth.permissions import READ
from serve_apps.http.fields import MOST_AGENT, Text
from serve_apps.http.openai.request_shapes import (
    ChatMessage,
    CompletionRequest,
    Embedding,
    EmbeddingRequest,
    Embeddings,
    Model,
    Models,
)
from serve_apps.http.streams.response import (
    BUG,
    AcceptedEvents,
    CancellingStreamResponse,
    await_first_event,
    with_heartbeat,
)
from serve_apps.http.streams.sse import BEAT
from serve_apps.http.streams.turn_response import collect_turn, data_line, incoming_message

router = APIRouter(route_class=GuardedRoute, tags=["openai"])

OWNER = "aos"
DEFAULT_AGENT = "assistant"
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
        "description": "The completion, or with `stream` chat.completion.chunk objects and `[DONE]`.",
    }
}


class NoUserMessage(Invalid):
    """No user message found"""

    code, status = "no_user_message", 400
    fix = "Send at least one message with the role user."


class ModelNotFound(NotFound):
    """There is no such model here."""

    code = "model_not_found"
    fix = "GET /v1/models lists them: the models of this API are the workspace's agents."


class NoChatModel(Invalid):
    """This model does not chat."""

    code, status = "not_a_chat_model", 400
    fix = "GET /v1/models lists those that do."


class RunFailed(AosError):
    """The turn ended with an error."""

    code, status = "upstream", 502

    def __init__(self, error: dict[str, Any]) -> None:
        """`error` is an ERROR event's data; what the caller can mend keeps its own status."""
        super().__init__(str(error.get("detail") or error.get("title", "")), fix=str(error.get("fix", "")))
        code = str(error.get("code", "error"))
        self.__dict__["code"] = code
        self.__dict__["status"] = _STATUS.get(code, 502)


_STATUS = {"overloaded": 429, "over_budget": 402, "no_model": 409, "invalid": 422, "refused": 403}


@router.post("/v1/chat/completions", response_class=JSONResponse, responses=_STREAM, dependencies=[READ])
async def completions(body: CompletionRequest, request: Request, me: Me, parts: Its) -> Response:
    """Chat with an agent as with a model: the last user message is the question, what is before it the history."""
    try:
        agent = await parts.agent_store.resolve(me.scope, body.model)
    except NotFound:
        if body.model == (await parts.embedder.facts()).name:
            raise NoChatModel(f"{body.model} makes vectors (POST /v1/embeddings) and cannot chat") from None
        agent = _default_agent(body.model)
    message, verbosity = _incoming_message(body, str(agent), forwarded_chat(request.headers, me))
    events = parts.orchestrator.process(me.scope, message)
    created, stops = int(parts.clock().timestamp()), StopSequences(body.stops())
    if not body.stream:
        found = await collect_turn(request, events)
        if found.error is not None:
            raise RunFailed(found.error)
        return JSONResponse(completion_body(found, _completion_id(found.run), body.model, created, stops))
    begun = await await_first_event(events)
    run = ReplyCollector()
    run.add(begun.first)
    usage = body.stream_options is not None and body.stream_options.include_usage
    chunks = CompletionChunks(_completion_id(run.run), body.model, created, usage, verbosity, stops)
    about = {"aos": {"run_id": run.run, "session_id": run.session}}
    lines = _completion_lines(begun, chunks, about, parts.pace.beat)
    return CancellingStreamResponse(lines, begun, lambda: map(data_line, chunks.add(BUG, "")))


async def _completion_lines(
    begun: AcceptedEvents, chunks: CompletionChunks, about: dict[str, Any], beat: float
) -> AsyncGenerator[str, None]:
    yield data_line(chunks.start() | about)
    reading = StreamCursor()
    async with aclosing(with_heartbeat(begun, beat)) as beats:
        async for event in beats:
            if event is None:
                yield BEAT
            elif (fresh := reading.take(event)) is not None:
                for chunk in chunks.add(event, fresh):
                    yield data_line(chunk)
    yield f"data: {END}\n\n"


@router.get("/v1/models", dependencies=[READ])
async def models(me: Me, parts: Its) -> Models:
    """List models to chat with: the workspace's agents. The embedding model has its own route and is not listed."""
    found: list[Model] = []
    while True:
        rows, total = await parts.agent_store.page(me.scope, len(found), 1000)
        found += [Model(id=row["name"], created=int(row["created_at"].timestamp()), owned_by=OWNER) for row in rows]
        if not rows or len(found) >= total:
            break
    if all(one.id != DEFAULT_AGENT for one in found):
        found.insert(0, Model(id=DEFAULT_AGENT, created=0, owned_by=OWNER))
    return Models(data=found)


@router.get("/v1/models/{model_id:path}", dependencies=[READ])
async def model(
    model_id: Annotated[Text, Path(max_length=MOST_AGENT, description="An agent's name or UUID.")], me: Me, parts: Its
) -> Model:
    """One agent, or the embedding model, for clients that look it up by its name."""
    try:
        id_ = str(await parts.agent_store.resolve(me.scope, model_id))
    except NotFound:
        known = model_id == (await parts.embedder.facts()).name
        return Model(id=model_id if known else _default_agent(model_id), created=0, owned_by=OWNER)
    row = await parts.agent_store.show(me.scope, id_)
    return Model(id=row["name"], created=int(row["created_at"].timestamp()), owned_by=OWNER)


@router.post("/v1/embeddings", dependencies=[READ])
async def embeddings(body: EmbeddingRequest, me: Me, parts: Its) -> Embeddings:
    """Vectors of texts, from the model that the index is made with; token counts are estimates."""
    facts = await parts.embedder.facts()
    if body.model != facts.name:
        raise ModelNotFound(f"the model {body.model} does not exist", fix=f"Use {facts.name}.")
    if body.dimensions is not None and body.dimensions != facts.dimension:
        raise Invalid(f"dimensions: {facts.name} has {facts.dimension}, and no others")
    texts = body.input
    vectors = await pin_embedder(parts.embedder, facts).embed(texts, EmbeddingLane.QUESTION)
    as_text = body.encoding_format == "base64"
    data = [
        Embedding(index=n, embedding=_encode_vector(row) if as_text else [float(value) for value in row])
        for n, row in enumerate(vectors)
    ]
    tokens = sum(-(-len(text) // 4) for text in texts)
    return Embeddings(data=data, model=facts.name, usage={"prompt_tokens": tokens, "total_tokens": tokens})


def _default_agent(name: str) -> str:
    """The default agent is there for everybody, also before anybody spoke to it."""
    if name != DEFAULT_AGENT:
        raise ModelNotFound(f"the model {name} does not exist")
    return name


def _incoming_message(body: CompletionRequest, agent: str, chat: str | None) -> tuple[IncomingMessage, Verbosity]:
    at = max((n for n, one in enumerate(body.messages) if one.role == "user" and one.text()), default=None)
    if at is None:
        raise NoUserMessage("No user message found")
    message, verbosity = incoming_message(
        agent,
        body.messages[at].text(),
        body.session() or chat,
        stream=body.stream,
        temperature=body.temperature,
        max_tokens=body.most_tokens(),
        tools=_client_tools(body),
        tool_choice=_tool_choice(body),
        parallel_tool_calls=body.parallel_tool_calls,
        response_format=_answer_format(body),
        sampling=body.sampling(),
        trailing=[_message_json(one) for one in body.messages[at + 1 :]] or None,
    )
    history = tuple(map(_to_message, body.messages[:at]))
    return replace(message, history=history), verbosity


def _answer_format(body: CompletionRequest) -> str | None:
    """The form of the answer as OpenAI writes it, in JSON; None for text."""
    if body.response_format is None or body.response_format.type == "text":
        return None
    return body.response_format.model_dump_json(by_alias=True, exclude_none=True)


def _client_tools(body: CompletionRequest) -> list[dict[str, Any]] | None:
    """Tools that the client runs itself, and the one for an answer in a form; `none` leaves out the client's own."""
    own = [] if body.tool_choice == "none" else [tool.function.model_dump() for tool in body.tools or ()]
    form = form_of(_answer_format(body))
    if form is None:
        return own or None
    if any(tool["name"] == ANSWER for tool in own):
        raise Invalid(f"tools: beside a response_format no tool may be called {ANSWER}")
    return [*own, answer_tool(form)]


def _tool_choice(body: CompletionRequest) -> str | None:
    """`auto`, `none`, `required`, or the name of the one function.

    Without tools of the client's `none` and `required` are about the agent's own; which these are it does not know, so
    that it can name none of them.
    """
    if body.tool_choice is None:
        return None
    if body.tool_choice == "none" and _answer_format(body) is not None:
        return ANSWER
    if isinstance(body.tool_choice, str):
        return body.tool_choice
    name = body.tool_choice.function.name
    if all(tool.function.name != name for tool in body.tools or ()):
        raise Invalid(f"tool_choice: there is no tool {name}")
    return name


def _to_message(one: ChatMessage) -> ModelMessage:
    role: Literal["system", "user", "assistant", "tool"] = "system" if one.role == "developer" else one.role
    calls = tuple(ToolCall(call.id, call.function.name, call.function.arguments) for call in one.tool_calls or ())
    return ModelMessage(role, one.text(), calls, one.tool_call_id)


def _message_json(one: ChatMessage) -> dict[str, Any]:
    """A message as JSON: those behind the question are results of the client's tools, and the calls they answer."""
    made = _to_message(one)
    calls = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in made.tool_calls]
    return {"role": made.role, "content": made.content, "tool_calls": calls, "tool_call_id": made.tool_call_id}


def _completion_id(run: str) -> str:
    return f"chatcmpl-{run}"


def _encode_vector(row: Sequence[float]) -> str:
    """Little-endian float32 in base64."""
    return base64.b64encode(np.asarray(row, dtype="<f4").tobytes()).decode()
