"""A run as OpenAI's chat completions: whole, or in chunks that stock clients read."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from serve_apps.agents.events import Event, EventKind
from serve_apps.agents.inquiries.inquiry import said_of
from serve_apps.agents.streams.collect import ReplyCollector
from serve_apps.agents.streams.encode import Verbosity, is_last
from serve_apps.agents.turn.stop_sequences import StopSequences

Json = dict[str, Any]
FINISHES = frozenset({"stop", "length", "tool_calls", "content_filter"})
END = "[DONE]"


@dataclass(slots=True)
class CompletionChunks:
    """Writes one completion's chunks."""

    id: str  # of the completion
    model: str  # as the client named it
    created: int  # seconds since 1970
    usage: bool = False  # the client asked for a last chunk with token counts
    verbosity: Verbosity = Verbosity.DEFAULT  # from VERBOSE on, thoughts are sent as `reasoning_content`; drafts always
    stop: StopSequences = field(default_factory=StopSequences)  # where the client wants the answer to end
    _all: ReplyCollector = field(default_factory=ReplyCollector)
    _said: bool = False

    def start(self) -> Json:
        """The empty acknowledgement that comes before any token."""
        return self._make_chunk({"role": "assistant", "content": ""})

    def add(self, event: Event, fresh: str) -> Iterable[Json]:
        """Converts an event to chunks: most give none, the last one ends the completion."""
        self._all.add(event)
        if event.kind is EventKind.TEXT and fresh:
            self._said = True
            yield from self._text_chunks(self.stop.feed(fresh))
        elif event.kind is EventKind.DRAFT or (
            event.kind is EventKind.THINKING and self.verbosity >= Verbosity.VERBOSE
        ):
            yield self._make_chunk({"reasoning_content": event.data.get("text", "")})
        elif event.kind is EventKind.APPROVAL_REQUIRED:
            yield from self._text_chunks(self.stop.flush())
            yield self._make_chunk({"content": approval_text(self._all)}) | {"aos": {"approval": self._all.approval}}
            yield from self._end_chunks("stop")
        elif event.kind is EventKind.INPUT_REQUIRED:
            yield from self._text_chunks(self.stop.flush())
            yield self._make_chunk({"content": input_text(self._all)}) | {"aos": {"input": self._all.input}}
            yield from self._end_chunks("stop")
        elif event.kind is EventKind.ERROR:
            yield error_body(self._all)
        elif event.kind is EventKind.STATUS and is_last(event):
            yield from self._end_chunks("stop")
        elif event.kind is EventKind.DONE:
            if not self._said and self._all.answer:
                yield from self._text_chunks(self.stop.feed(self._all.answer))
            yield from self._text_chunks(self.stop.flush())
            if calls := tool_calls(self._all.client_calls):
                yield self._make_chunk({"tool_calls": [{"index": n, **call} for n, call in enumerate(calls)]})
            reason = "stop" if self.stop.ended else openai_finish_reason(self._all)
            last, *more = self._end_chunks(reason)
            about = about_data(self._all)
            yield from [last | {"aos": about} if about else last, *more]

    def _text_chunks(self, text: str) -> Iterable[Json]:
        if text:
            yield self._make_chunk({"content": text})

    def _end_chunks(self, reason: str) -> Iterable[Json]:
        yield self._make_chunk({}, reason)
        if self.usage:
            yield {**self._make_chunk({}), "choices": [], "usage": usage_body(self._all)}

    def _make_chunk(self, delta: Json, reason: str | None = None) -> Json:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        more: Json = {"usage": None} if self.usage else {}
        head = {"id": self.id, "object": "chat.completion.chunk", "created": self.created, "model": self.model}
        return {**head, "choices": [choice], **more}


def completion_body(
    collected: ReplyCollector, id_: str, model: str, created: int, stop: StopSequences | None = None
) -> Json:
    """The completion at once, cut where `stop` wants it; what is more than OpenAI's stands under `aos`."""
    calls = tool_calls(collected.client_calls)
    stop = stop or StopSequences()
    answer = stop.cut(collected.answer)
    content: str | None = answer
    if collected.approval is not None:
        content = f"{answer}{approval_text(collected)}"
    elif collected.input is not None:
        content = f"{answer}{input_text(collected)}"
    message: Json = {"role": "assistant", "content": None if calls and not content else content, "refusal": None}
    if calls:
        message["tool_calls"] = calls
    reason = "stop" if stop.ended else openai_finish_reason(collected)
    return {
        "id": id_,
        "object": "chat.completion",
        "created": created,
        "model": model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": reason}],
        "usage": usage_body(collected),
        "aos": {
            "run_id": collected.run,
            "session_id": collected.session,
            "citations": collected.citations,
            "confidence": collected.confidence,
            "agent_trace": collected.trace,
            "approval": collected.approval,
            "input": collected.input,
            **about_data(collected),
        },
    }


def about_data(collected: ReplyCollector) -> Json:
    """What the answer says of personal data and of the class of its documents; empty where there is nothing to say."""
    told = {"personal_data": collected.personal_data, "classification": collected.classification}
    return {name: value for name, value in told.items() if value}


def tool_calls(calls: Sequence[Json]) -> list[Json]:
    """Calls that the client makes, in OpenAI's shape: arguments are JSON text."""
    return [
        {
            "id": str(call.get("id", "")),
            "type": "function",
            "function": {"name": str(call.get("name", "")), "arguments": _arguments_text(call.get("arguments", {}))},
        }
        for call in calls
    ]


def openai_finish_reason(collected: ReplyCollector) -> str:
    """OpenAI's `finish_reason` of a run."""
    return collected.finish_reason if collected.finish_reason in FINISHES else "stop"


def usage_body(collected: ReplyCollector) -> Json:
    """Token counts in OpenAI's shape."""
    said, read = collected.completion_tokens, collected.prompt_tokens
    return {"prompt_tokens": read, "completion_tokens": said, "total_tokens": read + said}


def approval_text(collected: ReplyCollector) -> str:
    """Chat text of a pending approval: typing yes there decides nothing, so it names the request that does."""
    asked = collected.approval or {}
    arguments = json.dumps(asked.get("arguments", {}), ensure_ascii=False)
    start = "\n\n" if collected.answer else ""
    where = f"POST /api/approvals/{asked.get('id', '')}"
    return f"{start}This needs approval first: {asked.get('tool', '')} {arguments}. Decide with {where}."


def input_text(collected: ReplyCollector) -> str:
    """A question as its agent's words: the next message of this conversation answers it."""
    start = "\n\n" if collected.answer else ""
    return f"{start}{said_of(collected.input or {})}"


def error_body(collected: ReplyCollector) -> Json:
    """The error of a run that began: `{error: {message, type, param, code}}`."""
    error = collected.error or {}
    message = ": ".join(str(part) for part in (error.get("title"), error.get("detail")) if part)
    return {"error": {"message": message, "type": "server_error", "param": None, "code": error.get("code", "error")}}


def _arguments_text(arguments: object) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
