"""JSON codec of chat messages, requests and replies for the journal."""

from typing import Any

from cluster.models.messages import ChatRequest, ConnectionFallback, ModelMessage, ModelReply, TokenUsage, ToolCall


def message_to_json(message: ModelMessage) -> dict[str, Any]:
    """Only what is set: most messages are a role and a text."""
    found: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        found["tool_calls"] = [_call_to_json(call) for call in message.tool_calls]
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
    return {
        "content": reply.content,
        "tool_calls": [_call_to_json(call) for call in reply.tool_calls],
        "finish_reason": reply.finish_reason,
        "usage": {
            "prompt_tokens": reply.usage.prompt_tokens,
            "completion_tokens": reply.usage.completion_tokens,
            "estimated": reply.usage.estimated,
        },
        "model": reply.model,
        "reasoning": reply.reasoning,
        "connection": reply.connection,
        "cost_usd": reply.cost_usd,
        "fallbacks": [fallback_to_json(fallback) for fallback in reply.fallbacks],
    }


def reply_from_json(found: dict[str, Any]) -> ModelReply:
    """The inverse."""
    return ModelReply(
        content=found["content"],
        tool_calls=tuple(ToolCall(**call) for call in found["tool_calls"]),
        finish_reason=found["finish_reason"],
        usage=TokenUsage(**found["usage"]),
        model=found["model"],
        reasoning=found["reasoning"],
        connection=found["connection"],
        cost_usd=float(found["cost_usd"]),
        fallbacks=tuple(ConnectionFallback(**fallback) for fallback in found["fallbacks"]),
    )


def fallback_to_json(fallback: ConnectionFallback) -> dict[str, str]:
    """One connection left for another."""
    return {"left": fallback.left, "taken": fallback.taken, "why": fallback.why}


def _call_to_json(call: ToolCall) -> dict[str, str]:
    return {"id": call.id, "name": call.name, "arguments": call.arguments}
