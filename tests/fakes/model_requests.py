"""A recorded request as it was asked."""

from typing import Any

from cluster.models.messages import ChatRequest, SamplingParameters, ToolSpec
from serve_apps.agents.durable.message_codec import message_from_json


def request_from_json(found: dict[str, Any]) -> ChatRequest:
    """The inverse."""
    return ChatRequest(
        messages=tuple(message_from_json(message) for message in found["messages"]),
        tools=tuple(ToolSpec(**tool) for tool in found["tools"]),
        temperature=found["temperature"],
        max_tokens=found["max_tokens"],
        stop=tuple(found["stop"]),
        seed=found["seed"],
        json_only=found["json_only"],
        sampling=SamplingParameters(**found.get("sampling", {})),
    )
