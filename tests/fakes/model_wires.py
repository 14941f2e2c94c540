"""How a scripted reply looks on the wire: OpenAI's chat completions and Anthropic's messages, whole and in pieces."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

After = Literal["done", "cut", "stop", "garbage", "hang", "ping", "forever"]
Json = Any


@dataclass(frozen=True)
class Use:
    """A tool call in a reply; `arguments` goes out as JSON, or as it is where it is text (also when it is no JSON)."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    id: str | None = None

    @property
    def text(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


@dataclass(frozen=True)
class Say:
    """One scripted reply.

    Attributes:
        text: cut into pieces of `size` characters when it is streamed.
        calls: native tool calls, their arguments in fragments of `size` characters.
        numbered: whether fragments carry ids and indices; some servers leave them out.
        reasoning: sent first, in the field `channel`.
        wait: seconds before the first byte; `between`: seconds between pieces.
        counts: whether the usage is told.
        upto: so many pieces are sent before `after` happens; None for all.
        after: `done`; `cut` (the connection breaks), `stop` (a clean end without finish reason or [DONE]), `garbage`
            (bytes that are no JSON), `hang` (silence), `ping` (only comments), `forever` (pieces without end).
        status, headers, body: an answer that is no reply, `body` as JSON or raw bytes.
    """

    text: str = ""
    calls: tuple[Use, ...] = ()
    size: int = 8
    numbered: bool = True
    reasoning: str = ""
    channel: str = "reasoning_content"
    finish: str | None = None
    wait: float = 0
    between: float = 0
    counts: bool = True
    upto: int | None = None
    after: After = "done"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Json = None


def busy(retry_after: str | None = None) -> Say:
    """429."""
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    return failing(429, "Rate limit reached", headers)


def failing(status: int = 500, message: str = "scripted failure", headers: Mapping[str, str] | None = None) -> Say:
    """An error as both providers shape it."""
    return Say(
        status=status, headers=headers or {}, body={"type": "error", "error": {"type": "scripted", "message": message}}
    )


def tokens(text: str) -> int:
    return -(-len(text) // 4)


def prompt_tokens(body: Mapping[str, Any]) -> int:
    return tokens("".join(str(message.get("content") or "") for message in body.get("messages", ())))


def said_tokens(say: Say) -> int:
    return tokens(say.text + say.reasoning + "".join(use.text for use in say.calls))


def pieces(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def sse(data: Json, event: str = "") -> bytes:
    """One frame."""
    line = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return ((f"event: {event}\n" if event else "") + f"data: {line}\n\n").encode()


# OpenAI -----------------------------------------------------------------------------------------


def openai_body(say: Say, body: Mapping[str, Any]) -> Json:
    message: dict[str, Any] = {"role": "assistant", "content": say.text or None}
    if say.reasoning:
        message[say.channel] = say.reasoning
    if say.calls:
        message["tool_calls"] = [
            {"id": use.id or f"call_{n}", "type": "function", "function": {"name": use.name, "arguments": use.text}}
            for n, use in enumerate(say.calls)
        ]
    choice = {"index": 0, "message": message, "finish_reason": _finish(say)}
    whole = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": _model(body), "choices": [choice]}
    return whole | ({"usage": _openai_usage(say, body)} if say.counts else {})


def openai_frames(say: Say, body: Mapping[str, Any]) -> Iterator[bytes]:
    """Everything up to and without the finish."""
    yield _chunk(body, {"role": "assistant", "content": ""})
    for piece in pieces(say.reasoning, say.size):
        yield _chunk(body, {say.channel: piece})
    for piece in pieces(say.text, say.size):
        yield _chunk(body, {"content": piece})
    for n, use in enumerate(say.calls):
        named = {"index": n, "id": use.id or f"call_{n}", "type": "function"} if say.numbered else {}
        yield _chunk(body, {"tool_calls": [named | {"function": {"name": use.name, "arguments": ""}}]})
        for piece in pieces(use.text, say.size):
            numbered = {"index": n} if say.numbered else {}
            yield _chunk(body, {"tool_calls": [numbered | {"function": {"arguments": piece}}]})


def openai_end(say: Say, body: Mapping[str, Any]) -> Iterator[bytes]:
    yield _chunk(body, {}, _finish(say))
    if say.counts and (body.get("stream_options") or {}).get("include_usage"):
        yield sse(_frame(body) | {"choices": [], "usage": _openai_usage(say, body)})
    yield sse("[DONE]")


def openai_piece(text: str, body: Mapping[str, Any]) -> bytes:
    return _chunk(body, {"content": text})


def _frame(body: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": _model(body)}


def _chunk(body: Mapping[str, Any], delta: Json, finish: str | None = None) -> bytes:
    return sse(_frame(body) | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def _model(body: Mapping[str, Any]) -> str:
    return str(body.get("model") or "scripted-1")


def _finish(say: Say) -> str:
    return say.finish or ("tool_calls" if say.calls else "stop")


def _openai_usage(say: Say, body: Mapping[str, Any]) -> Json:
    prompt, said = prompt_tokens(body), said_tokens(say)
    return {"prompt_tokens": prompt, "completion_tokens": said, "total_tokens": prompt + said}


def embeddings(body: Mapping[str, Any], dimension: int) -> Json:
    """Vectors that depend on the text alone."""
    texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
    data = [
        {"object": "embedding", "index": n, "embedding": [byte / 255 for byte in _hash(str(text), dimension)]}
        for n, text in enumerate(texts)
    ]
    usage = {"prompt_tokens": sum(tokens(str(text)) for text in texts), "total_tokens": 0}
    return {"object": "list", "model": _model(body), "data": data, "usage": usage}


def _hash(text: str, size: int) -> bytes:
    return hashlib.shake_128(text.encode()).digest(size)


# Anthropic --------------------------------------------------------------------------------------


def anthropic_body(say: Say, body: Mapping[str, Any]) -> Json:
    content: list[Json] = [{"type": "thinking", "thinking": say.reasoning, "signature": "s"}] if say.reasoning else []
    content += [{"type": "text", "text": say.text}] if say.text else []
    content += [
        {"type": "tool_use", "id": use.id or f"toolu_{n}", "name": use.name, "input": use.arguments}
        for n, use in enumerate(say.calls)
    ]
    return _anthropic_message(say, body) | {"content": content, "stop_reason": _stop(say)}


def anthropic_frames(say: Say, body: Mapping[str, Any]) -> Iterator[bytes]:
    yield sse({"type": "message_start", "message": _anthropic_message(say, body)}, "message_start")
    blocks: list[tuple[Json, str, list[str]]] = []
    if say.reasoning:
        blocks.append(({"type": "thinking", "thinking": ""}, "thinking", pieces(say.reasoning, say.size)))
    if say.text:
        blocks.append(({"type": "text", "text": ""}, "text", pieces(say.text, say.size)))
    for n, use in enumerate(say.calls):
        block = {"type": "tool_use", "id": use.id or f"toolu_{n}", "name": use.name, "input": {}}
        blocks.append((block, "input_json", pieces(use.text, say.size)))
    for n, (block, kind, parts) in enumerate(blocks):
        yield sse({"type": "content_block_start", "index": n, "content_block": block}, "content_block_start")
        for part in parts:
            yield _block_delta(n, kind, part)
        yield sse({"type": "content_block_stop", "index": n}, "content_block_stop")


def anthropic_end(say: Say, body: Mapping[str, Any]) -> Iterator[bytes]:
    usage = {"output_tokens": said_tokens(say)} if say.counts else {}
    delta = {"stop_reason": _stop(say), "stop_sequence": None}
    yield sse({"type": "message_delta", "delta": delta, "usage": usage}, "message_delta")
    yield sse({"type": "message_stop"}, "message_stop")


def anthropic_piece(text: str, body: Mapping[str, Any]) -> bytes:
    return _block_delta(0, "text", text)


def _block_delta(n: int, kind: str, part: str) -> bytes:
    name = "partial_json" if kind == "input_json" else kind
    delta = {"type": f"{kind}_delta", name: part}
    return sse({"type": "content_block_delta", "index": n, "delta": delta}, "content_block_delta")


def _anthropic_message(say: Say, body: Mapping[str, Any]) -> dict[str, Any]:
    usage = {"input_tokens": prompt_tokens(body), "output_tokens": said_tokens(say)} if say.counts else {}
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": _model(body),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }


def _stop(say: Say) -> str:
    names = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}
    return names[_finish(say)]
