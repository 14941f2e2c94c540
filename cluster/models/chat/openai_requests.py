"""A question in OpenAI's dialect and where it is sent, and the same for models that are told of tools in words."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

from cluster.basics.errors import Invalid
from cluster.models.chat.response_format import ResponseForm
from cluster.models.connections.endpoint_connection import AZURE_VERSION, Forms, ModelConnection, Provider
from cluster.models.messages import ChatRequest, ModelMessage
from cluster.models.reply_json import UnreadableValue, decode_strict

REQUIRED = "required"  # a call of some tool, as `ChatRequest.tool_choice` and OpenAI say it

# Fields that a server may refuse without a loss of meaning; the value is what takes their place. Tools are not here:
# a model that never hears of them answers another question.
OPTIONAL: Mapping[str, str | None] = {
    "max_tokens": "max_completion_tokens",  # reasoning models of OpenAI know it under this name only
    "max_completion_tokens": None,
    "stream_options": None,
    "response_format": None,
    "tool_choice": None,
    "temperature": None,
    "seed": None,
    "stop": None,
    "stop_sequences": None,
    "stream": None,
}
_NOT_KNOWN = re.compile(
    r"unsupported|not support|unrecogni[sz]ed|unknown|unexpected|not permitted|not allowed|not implemented|extra|"
    r"instead|only the default|deprecated|disabled|cannot stream|can't stream",
    re.IGNORECASE,
)


def openai_body(request: ChatRequest, model: str) -> dict[str, Any]:
    """The body of a chat completion, without what concerns streaming."""
    body: dict[str, Any] = {
        "model": model or "default",
        "messages": list(map(_chat_message, request.messages)),
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
    }
    if request.tools:
        told = ({"name": t.name, "description": t.description, "parameters": dict(t.parameters)} for t in request.tools)
        body["tools"] = [{"type": "function", "function": function} for function in told]
        if request.tool_choice is not None:
            named = {"type": "function", "function": {"name": request.tool_choice}}
            body["tool_choice"] = REQUIRED if request.tool_choice == REQUIRED else named
    if request.stop:
        body["stop"] = list(request.stop)
    if request.seed is not None:
        body["seed"] = request.seed
    body |= request.sampling.given()
    if request.form is not None:
        body["response_format"] = _response_format(request.form)
    elif request.json_only:
        body["response_format"] = {"type": "json_object"}
    return body


def as_taken(request: ChatRequest, *, tools: bool, forms: Forms) -> ChatRequest:
    """The request in what a connection takes natively.

    Where it takes this form, the answer needs no tool of its own; where it does not, the answer is a call of that tool,
    and so some call has to be made.
    """
    if not tools:
        request = in_words(request)
    form = request.form
    if form is None:
        return request
    others = tuple(tool for tool in request.tools if tool.name != form.tool)
    if forms == "all" or (forms == "without_tools" and not others):
        choice = request.tool_choice if others and request.tool_choice != form.tool else None
        return replace(request, tools=others, tool_choice=choice)
    made = REQUIRED if len(others) < len(request.tools) else None
    return replace(request, form=None, tool_choice=request.tool_choice or made)


def drop_refused_fields(body: Mapping[str, Any], refused: Mapping[str, str | None]) -> dict[str, Any]:
    """The body for a server that has refused these fields before: left out, or under their other name."""
    left: dict[str, Any] = {}
    for name, value in body.items():
        other: str | None = name
        while other is not None and other in refused:
            other = refused[other]
        if other is not None:
            left[other] = value
    return left


def refused_field(message: str, sent: Mapping[str, Any]) -> str | None:
    """The optional field that a refusal (400, 422) is about; None where it is about something else."""
    if not _NOT_KNOWN.search(message):
        return None
    named = (name for name in OPTIONAL if name in sent and re.search(rf"\b{name}\b", message))
    # "Unsupported 'max_tokens'. Use 'max_completion_tokens' instead" names both: what comes first is what is refused.
    return min(named, key=lambda name: message.find(name), default=None)


def sampling_refusal(names: Iterable[str]) -> Invalid:
    """The error for sampling parameters that a client set and a model does not take."""
    return Invalid(
        f"{', '.join(names)}: this agent's model takes no such parameter",
        fix="Leave it out, or give the agent a connection of another provider.",
    )


def as_object(arguments: str) -> dict[str, Any]:
    """A call's arguments for servers that insist on a JSON object; what is none is kept under `unparsed`."""
    try:
        value = decode_strict(arguments)
    except UnreadableValue:
        return {"unparsed": arguments}
    return value if isinstance(value, dict) else {"unparsed": arguments}


def in_words(request: ChatRequest) -> ChatRequest:
    """The request without anything native: earlier calls and their results as text.

    A conversation begun with a model that takes tools can so go on with one that does not. Results stay with the user:
    what a tool returns is data and never has the system role.
    """
    return replace(request, tools=(), tool_choice=None, messages=tuple(map(_in_words, request.messages)))


def _response_format(form: ResponseForm) -> dict[str, Any]:
    if form.schema is None:
        return {"type": "json_object"}
    strict = {} if form.strict is None else {"strict": form.strict}
    return {"type": "json_schema", "json_schema": {"name": form.name, "schema": dict(form.schema), **strict}}


def _in_words(message: ModelMessage) -> ModelMessage:
    if message.role == "tool":
        return ModelMessage("user", f"OBSERVATION: {message.content}")
    if not message.tool_calls:
        return message
    calls = (f"ACTION: {call.name}\nACTION_INPUT: {call.arguments}" for call in message.tool_calls)
    return ModelMessage(message.role, "\n".join(filter(None, (message.content, *calls))))


def _chat_message(message: ModelMessage) -> dict[str, Any]:
    shaped: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        shaped["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                # Chat templates parse the arguments again: what is no object would fail the whole conversation.
                "function": {"name": call.name, "arguments": json.dumps(as_object(call.arguments), ensure_ascii=False)},
            }
            for call in message.tool_calls
        ]
    if message.role == "tool":
        shaped["tool_call_id"] = message.tool_call_id or ""
    if message.images:
        pictures = ({"type": "image_url", "image_url": {"url": url}} for url in message.images)
        shaped["content"] = [{"type": "text", "text": message.content}, *pictures]
    return shaped


def chat_url_parts(connection: ModelConnection, endpoint: str) -> tuple[str, str, dict[str, str]]:
    """Base URL, path and query of a chat call; Azure's dated API names the deployment in the path."""
    if connection.provider is not Provider.AZURE or endpoint.endswith("/v1"):
        return endpoint, "/chat/completions", {}
    query = dict(parse_qsl(urlsplit(connection.base_url).query))
    deployment = "" if "/deployments/" in endpoint else f"/deployments/{quote(connection.model, safe='')}"
    return endpoint, f"{deployment}/chat/completions", {"api-version": query.get("api-version", AZURE_VERSION)}
