"""A reply put together from the pieces of OpenAI's dialect, as tolerant as its many servers need."""

import json
from dataclasses import dataclass
from typing import Any

from cluster.basics.errors import Unavailable
from cluster.models.messages import ChatRequest, ModelReply, ReplyDelta, TokenUsage, ToolCall

MOST_CALLS = 1000  # tools that one reply may ask for
LONGEST_INDEX = 64  # characters of what a server numbers them by, where that is no number
LONGEST = 4_000_000  # characters; a model that is told max_tokens and goes on beyond this does not stop by itself

_FINISH = {  # by what servers call it; whatever else they say is a stop
    **dict.fromkeys(("length", "max_tokens", "model_context_window_exceeded"), "length"),
    **dict.fromkeys(("tool_calls", "tool_call", "function_call", "tool_use"), "tool_calls"),
    **dict.fromkeys(("content_filter", "refusal"), "content_filter"),
}


@dataclass(slots=True)
class _Call:
    """A tool call while its fragments arrive."""

    index: object
    id: str
    name: str
    arguments: str = ""


class ReplyAccumulator:
    """Takes chunks as decoded JSON, gives the pieces to show, and in the end the whole."""

    def __init__(self, request: ChatRequest) -> None:
        """The request counts earlier calls, from which missing ids are derived, and characters, if nobody counts."""
        self._request, self._earlier = request, sum(len(message.tool_calls) for message in request.messages)
        self._text, self._reasoning, self._calls = list[str](), list[str](), list[_Call]()
        self._size, self._named, self._whole, self._model = 0, 0, False, ""
        self._finish: str | None = None
        self._usage: TokenUsage | None = None

    def feed(self, chunk: Any) -> ReplyDelta | None:
        """Take a chunk of a stream, or a whole completion; what it adds to the text, None where it adds none.

        Raises Unavailable: the server reports an error in the stream, or the reply has no end.
        """
        if not isinstance(chunk, dict):
            raise Unavailable("the model's server sent what is no chat completion")
        if error := chunk.get("error"):
            message = error.get("message") if isinstance(error, dict) else error
            raise Unavailable(f"the model's server failed while it answered: {str(message)[:300]}")
        if isinstance(model := chunk.get("model"), str) and model:
            self._model = model
        self._count_usage(chunk.get("usage"))
        choice = next(iter(as_list(chunk.get("choices"))), None)
        if not isinstance(choice, dict):
            # The count alone comes last; some servers give that and no finish reason.
            self._whole = self._whole or self._usage is not None
            return None
        if isinstance(finish := choice.get("finish_reason"), str) and finish:
            self._finish = finish
        said = choice.get("delta") or choice.get("message")
        self._whole = self._whole or isinstance(choice.get("message"), dict)
        return self._take_message(said) if isinstance(said, dict) else None

    def add(self, text: str = "", reasoning: str = "") -> ReplyDelta | None:
        """Add to the text."""
        self._count_characters(len(text) + len(reasoning))
        if text:
            self._text.append(text)
        if reasoning:
            self._reasoning.append(reasoning)
        return ReplyDelta(text, reasoning) if text or reasoning else None

    def fragment(self, index: object, id_: str, name: str, arguments: str) -> None:
        """Add a fragment of a tool call, whatever of index, id and name it carries."""
        self._count_characters(len(arguments))
        index = index if isinstance(index, int) or (isinstance(index, str) and len(index) < LONGEST_INDEX) else None
        call = self._match_call(index, id_, name) or self._begin_call(index)
        call.id, call.name = call.id or self._count_name(id_), call.name or self._count_name(name)
        call.arguments += arguments

    def ended(self, finish: str) -> None:
        """The provider says that the reply is whole."""
        self._finish = finish

    def counted(self, prompt: int, completion: int) -> None:
        """The provider's count."""
        self._usage = TokenUsage(prompt, completion)

    def named(self, model: str) -> None:
        """Record the model's name as the provider gives it."""
        self._model = model

    def reply(self) -> ModelReply:
        """The whole. Raises Unavailable: the stream ended before the reply did."""
        if self._finish is None and not self._whole:
            raise Unavailable("the model's answer broke off")
        calls = tuple(
            ToolCall(call.id or f"call_{self._earlier + n}", call.name, call.arguments or "{}")
            for n, call in enumerate(self._calls)
            if call.name
        )
        finish = _FINISH.get(self._finish or "", "stop")
        if calls and finish == "stop":
            finish = "tool_calls"
        if not calls and finish == "tool_calls":
            finish = "stop"
        usage = self._usage or self._estimate_usage()
        return ModelReply("".join(self._text), calls, finish, usage, self._model, "".join(self._reasoning))

    def _take_message(self, said: dict[str, Any]) -> ReplyDelta | None:
        for call in as_list(said.get("tool_calls")):
            self._take_call(call)
        if isinstance(old := said.get("function_call"), dict):  # as it was before tool_calls; some servers still do it
            self._take_call({"index": 0, "function": old})
        reasoning = _join_text(said.get("reasoning_content")) or _join_text(said.get("reasoning"))
        return self.add(_join_text(said.get("content")) or _join_text(said.get("refusal")), reasoning)

    def _take_call(self, call: Any) -> None:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict):
            return
        arguments = function.get("arguments")
        text = arguments if isinstance(arguments, str) else "" if arguments is None else json.dumps(arguments)
        self.fragment(call.get("index"), _join_text(call.get("id")), _join_text(function.get("name")), text)

    def _begin_call(self, index: object) -> _Call:
        if len(self._calls) == MOST_CALLS:
            raise Unavailable(f"the model's answer asks for more than {MOST_CALLS} tools")
        self._calls.append(_Call(index, "", ""))
        return self._calls[-1]

    def _count_name(self, text: str) -> str:
        self._named += len(text)
        if self._named > LONGEST:
            raise Unavailable(f"the model's answer names tools by more than {LONGEST} characters")
        return text

    def _match_call(self, index: object, id_: str, name: str) -> _Call | None:
        """The call that a fragment belongs to; None where it begins a new one."""
        same = [call for call in self._calls if index is None or call.index == index]
        last = same[-1] if same else None
        if last is None:
            return None
        if id_ and last.id and id_ != last.id:  # another call, also where a server gives every call the index 0
            return next((call for call in same if call.id == id_), None)
        if name and last.name and not (id_ and last.id) and (index is None or name != last.name):
            return None
        return last

    def _count_characters(self, size: int) -> None:
        self._size += size
        if self._size > LONGEST:
            raise Unavailable(f"the model's answer has more than {LONGEST} characters and no end")

    def _count_usage(self, usage: Any) -> None:
        if isinstance(usage, dict):
            prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
            if isinstance(prompt, int) and isinstance(completion, int):
                self.counted(prompt, completion)

    def _estimate_usage(self) -> TokenUsage:
        """Four characters a token: the provider did not count."""
        messages, tools = self._request.messages, self._request.tools
        asked = sum(len(m.content) + sum(len(c.name + c.arguments) for c in m.tool_calls) for m in messages)
        asked += sum(len(tool.name + tool.description + json.dumps(dict(tool.parameters))) for tool in tools)
        return TokenUsage(-(-asked // 4), -(-self._size // 4), estimated=True)


def _join_text(value: Any) -> str:
    """Text, also where a server sends it in a list of parts."""
    if isinstance(value, str):
        return value
    texts = (part.get("text") for part in as_list(value) if isinstance(part, dict))
    return "".join(text for text in texts if isinstance(text, str))


def as_list(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []
