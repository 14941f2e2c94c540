"""A question in OpenAI's dialect, and the same question for models that are told of tools in words."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cluster.models.messages import ChatRequest, Message

# Fields that a server may refuse without a loss of meaning; the value is what takes their place. Tools are not here:
# a model that never hears of them answers another question.
OPTIONAL: Mapping[str, str | None] = {
    "max_tokens": "max_completion_tokens",  # reasoning models of OpenAI know it under this name only
    "max_completion_tokens": None,
    "stream_options": None,
    "response_format": None,
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
        "messages": [_message(message) for message in request.messages],
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
    }
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {"name": t.name, "description": t.description, "parameters": dict(t.parameters)},
            }
            for t in request.tools
        ]
    if request.stop:
        body["stop"] = list(request.stop)
    if request.seed is not None:
        body["seed"] = request.seed
    if request.json_only:
        body["response_format"] = {"type": "json_object"}
    return body


def without(body: Mapping[str, Any], refused: Mapping[str, str | None]) -> dict[str, Any]:
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
    """Which optional field a refusal (400, 422) is about; None where it is about something else."""
    if not _NOT_KNOWN.search(message):
        return None
    named = (name for name in OPTIONAL if name in sent and re.search(rf"\b{name}\b", message))
    # "Unsupported 'max_tokens'. Use 'max_completion_tokens' instead" names both: what comes first is what is refused.
    return min(named, key=lambda name: message.find(name), default=None)


def as_object(arguments: str) -> dict[str, Any]:
    """A call's arguments for servers that insist on a JSON object; what is none is kept under `unparsed`."""
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return {"unparsed": arguments}
    return value if isinstance(value, dict) else {"unparsed": arguments}


def in_words(request: ChatRequest) -> ChatRequest:
    """The request without anything native: earlier calls and their results as text.

    A conversation begun with a model that takes tools can so go on with one that does not. Results stay with the user:
    what a tool returns is data and never has the system role.
    """
    return replace(request, tools=(), messages=tuple(_in_words(message) for message in request.messages))


def _in_words(message: Message) -> Message:
    if message.role == "tool":
        return Message("user", f"OBSERVATION: {message.content}")
    if not message.tool_calls:
        return message
    calls = (f"ACTION: {call.name}\nACTION_INPUT: {call.arguments}" for call in message.tool_calls)
    return Message(message.role, "\n".join(filter(None, (message.content, *calls))))


def _message(message: Message) -> dict[str, Any]:
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
    return shaped
