"""Anthropic's messages: the system apart, calls and results as blocks, roles in turn."""

import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

import anthropic
import httpx2

from cluster.basics.errors import AosError, Unavailable
from cluster.models.chat.openai_requests import REQUIRED, as_object, as_taken, sampling_refusal
from cluster.models.chat.reply_accumulator import ReplyAccumulator, as_list
from cluster.models.chat.retrying import of_status
from cluster.models.chat.vendor_sdk import StreamingCall, own_headers
from cluster.models.connections.endpoint_connection import ANTHROPIC_VERSION, ModelConnection, auth_headers, mask_key
from cluster.models.messages import ChatRequest, ModelMessage, ModelReply, ReplyDelta, SamplingParameters


class AnthropicChat:
    """Asks once. Closing the iterator closes the HTTP response, which ends the work at the provider."""

    def __init__(self, connection: ModelConnection, call: StreamingCall) -> None:
        """`call` goes out through an `AnthropicCaller`; one serves all requests, as it keeps nothing of them."""
        self._connection, self._call = connection, call

    async def stream(self, request: ChatRequest) -> AsyncIterator[ReplyDelta | ModelReply]:
        """As ChatModel."""
        connection = self._connection
        asked = as_taken(request, tools=connection.supports_tools, forms=connection.trait.forms)
        body = anthropic_body(asked, connection.model) | {"stream": True}
        message = _Message(ReplyAccumulator(asked))
        async with aclosing(self._call.events(body, request.sampling.wishes())) as events:
            async for event in events:
                if (delta := message.feed(event)) is not None:
                    yield delta
        yield message.gathering.reply()


def anthropic_body(request: ChatRequest, model: str) -> dict[str, Any]:
    """The body of a message, without what concerns streaming. `seed`, `json_only` and `form` have no counterpart.

    Raises Invalid: sampling of the client's that this provider does not take.
    """
    if refused := _refused_sampling(request.sampling):
        raise sampling_refusal(refused)
    turns: list[dict[str, Any]] = []
    for message in request.messages:
        blocks = _content_blocks(message)
        role = "assistant" if message.role == "assistant" else "user"
        if message.role == "system" or not blocks:
            continue
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    body: dict[str, Any] = {
        "model": model,
        "max_tokens": request.max_tokens,
        "messages": turns,
        "temperature": min(request.temperature, 1.0),
    }
    if system := "\n\n".join(m.content for m in request.messages if m.role == "system" and m.content):
        body["system"] = system
    if request.tools:
        body["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}
            for tool in request.tools
        ]
        if request.tool_choice is not None:
            named = {"type": "tool", "name": request.tool_choice}
            body["tool_choice"] = {"type": "any"} if request.tool_choice == REQUIRED else named
    if request.sampling.temperature is not None:
        body["temperature"] = request.sampling.temperature
    if request.sampling.top_p is not None and "temperature" not in request.sampling.wishes():
        body["top_p"] = request.sampling.top_p  # newer models take one of the two
        del body["temperature"]
    if stop := [text for text in request.stop if text.strip()]:  # white space alone is refused
        body["stop_sequences"] = stop
    return body


def _refused_sampling(sampling: SamplingParameters) -> list[str]:
    refused = [name for name in sampling.given() if name not in ("top_p", "temperature")]
    if sampling.wishes() >= {"top_p", "temperature"}:
        refused.append("temperature beside top_p")
    if sampling.temperature is not None and sampling.temperature > 1:
        refused.append("temperature above 1")
    return refused


class _Message:
    """Feeds the events of a message into what gathers replies."""

    def __init__(self, gathering: ReplyAccumulator) -> None:
        self.gathering, self._prompt, self._counted = gathering, 0, False

    def feed(self, event: Any) -> ReplyDelta | None:
        if not isinstance(event, dict):
            raise Unavailable("the model's server sent what is no message")
        match event.get("type"):
            case "message_start":
                self._begin_message(_as_mapping(event.get("message")))
            case "message":
                return self._take_message(event)
            case "content_block_start":
                return self._take_block(event.get("index"), _as_mapping(event.get("content_block")), opening=True)
            case "content_block_delta":
                return self._take_delta(event.get("index"), _as_mapping(event.get("delta")))
            case "message_delta":
                self._end_message(_as_mapping(event.get("delta")), _as_mapping(event.get("usage")))
            case "error":
                message = _as_mapping(event.get("error")).get("message")
                raise Unavailable(f"the model's server failed while it answered: {str(message)[:300]}")
        return None

    def _begin_message(self, message: Mapping[str, Any]) -> None:
        self.gathering.named(_as_text(message.get("model")))
        usage = _as_mapping(message.get("usage"))
        self._counted = isinstance(usage.get("input_tokens"), int)
        # What was read from the provider's cache is part of the prompt too.
        names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        self._prompt = sum(count for name in names if isinstance(count := usage.get(name), int))

    def _take_message(self, message: Mapping[str, Any]) -> ReplyDelta | None:
        self._begin_message(message)
        blocks = as_list(message.get("content"))
        shown = [self._take_block(n, _as_mapping(block), opening=False) for n, block in enumerate(blocks)]
        self._end_message(message, _as_mapping(message.get("usage")))
        said = [delta for delta in shown if delta is not None]
        return ReplyDelta("".join(d.text for d in said), "".join(d.reasoning for d in said)) if said else None

    def _take_block(self, index: object, block: Mapping[str, Any], *, opening: bool) -> ReplyDelta | None:
        match block.get("type"):
            case "text":
                return self.gathering.add(_as_text(block.get("text")))
            case "thinking":
                return self.gathering.add(reasoning=_as_text(block.get("thinking")))
            case "tool_use":
                given = block.get("input")
                arguments = "" if opening and not given else json.dumps(given, ensure_ascii=False)
                self.gathering.fragment(index, _as_text(block.get("id")), _as_text(block.get("name")), arguments)
        return None

    def _take_delta(self, index: object, delta: Mapping[str, Any]) -> ReplyDelta | None:
        match delta.get("type"):
            case "text_delta":
                return self.gathering.add(_as_text(delta.get("text")))
            case "thinking_delta":
                return self.gathering.add(reasoning=_as_text(delta.get("thinking")))
            case "input_json_delta":
                self.gathering.fragment(index, "", "", _as_text(delta.get("partial_json")))
        return None

    def _end_message(self, delta: Mapping[str, Any], usage: Mapping[str, Any]) -> None:
        if reason := _as_text(delta.get("stop_reason")):
            self.gathering.ended(reason)
        said = usage.get("output_tokens")
        if self._counted and isinstance(said, int):
            self.gathering.counted(self._prompt, said)


class AnthropicCaller:
    """Anthropic's library, aimed at one endpoint: the `sdk.Caller` of this dialect."""

    errors = (anthropic.AnthropicError,)

    def __init__(self, connection: ModelConnection, endpoint: str, key: str | None, client: httpx2.AsyncClient) -> None:
        """`endpoint` is the base URL that calls go below, `/v1` included."""
        # The key travels in our own headers; the library's spans are not wanted, ours tell of the call.
        self._sdk = anthropic.AsyncAnthropic(
            api_key="-", base_url=endpoint, http_client=client, max_retries=0, open_telemetry=False
        )
        ours = auth_headers(connection, key) | {"anthropic-version": ANTHROPIC_VERSION}
        self._headers = own_headers(ours, self._sdk.default_headers, anthropic.Omit())
        self._key = key

    async def post(self, body: Mapping[str, Any], timeout: httpx2.Timeout) -> anthropic.AsyncStream[object]:
        """See `sdk.Caller`."""
        how: Any = {"headers": self._headers, "timeout": timeout, "follow_redirects": False}
        kind = anthropic.AsyncStream[object]
        return await self._sdk.post("/messages", cast_to=object, body=body, options=how, stream=True, stream_cls=kind)

    def classified(self, error: Exception) -> AosError:
        """See `sdk.Caller`."""
        return classify_anthropic_error(error, self._key)


def classify_anthropic_error(error: Exception, key: str | None) -> AosError:
    """An error of Anthropic's library as one of ours."""
    if isinstance(error, anthropic.APIStatusError):
        # An error inside a stream comes with the status of the stream itself, which is 200.
        status = error.status_code if error.status_code >= 300 else 500
        return of_status(status, mask_key(_error_message(error), key), error.response.headers)
    if isinstance(error, anthropic.APIConnectionError):
        return Unavailable(f"the model cannot be reached: {error.__cause__ or error}")
    return Unavailable(f"the model's server failed: {mask_key(str(error), key)[:300]}")


def _error_message(error: anthropic.APIStatusError) -> str:
    message = _as_mapping(_as_mapping(error.body).get("error")).get("message")
    return message if isinstance(message, str) else str(error.body or "")


def _content_blocks(message: ModelMessage) -> list[dict[str, Any]]:
    """A message's blocks; empty texts are refused there, so they are left out."""
    if message.role == "tool":
        id_ = _safe_call_id(message.tool_call_id or "")
        return [{"type": "tool_result", "tool_use_id": id_, "content": message.content}]
    text: Sequence[dict[str, Any]] = [{"type": "text", "text": message.content}] if message.content.strip() else ()
    calls = (
        {"type": "tool_use", "id": _safe_call_id(call.id), "name": call.name, "input": as_object(call.arguments)}
        for call in message.tool_calls
    )
    return [*text, *map(_image_block, message.images), *calls]


def _image_block(url: str) -> dict[str, Any]:
    kind, _, data = url.removeprefix("data:").partition(";base64,")
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}


def _safe_call_id(id_: str) -> str:
    """Only these characters are taken; a conversation may have begun with another provider."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", id_) or "_"


def _as_mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else ""
