"""JSON codec of chat messages, requests and replies for the journal."""

from dataclasses import asdict
from typing import Any

from cluster.models.messages import ChatRequest, ConnectionFallback, ModelMessage, ModelReply, TokenUsage, ToolCall


def message_to_json(message: ModelMessage) -> dict[str, Any]:
    """Only what is set: most messages are a role and a text."""
    found: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        found["tool_calls"] = [asdict(call) for call in message.tool_calls]
    if message.tool_call_id is not None:
        found["tool_call_id"] = message.tool_call_id
    return found


def message_from_json(found: dict[str, Any]) -> ModelMessage:
    """The inverse."""
    calls = tuple(ToolCall(**call) for call in found.get("tool_calls", ()))
    return ModelMessage(found["role"], found["content"], calls, found.get("tool_call_id"))


def request_to_json(request: ChatRequest) -> dict[str, Any]:
    """All that decides a reply."""
    tools = [{"name": t.name, "description": t.description, "parameters": t.parameters} for t in request.tools]
    # Only where something was set: runs that were recorded before have no such key, and are compared with this.
    sampling = {"sampling": given} if (given := request.sampling.given()) else {}
    return {
        "messages": [message_to_json(message) for message in request.messages],
        "tools": tools,
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
        "stop": list(request.stop),
        "seed": request.seed,
        "json_only": request.json_only,
        **sampling,
    }


def reply_to_json(reply: ModelReply) -> dict[str, Any]:
    """The whole reply, with what was left on the way to it."""
    return asdict(reply)


def reply_from_json(found: dict[str, Any]) -> ModelReply:
    """The inverse."""
    return ModelReply(
        **found
        | {
            "tool_calls": tuple(ToolCall(**call) for call in found["tool_calls"]),
            "usage": TokenUsage(**found["usage"]),
            "cost_usd": float(found["cost_usd"]),
            "fallbacks": tuple(ConnectionFallback(**fallback) for fallback in found["fallbacks"]),
        }
    )
