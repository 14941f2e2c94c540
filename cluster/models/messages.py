"""Requests to a chat model and its replies, whatever its provider's wire format."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from cluster.models.chat.response_format import ResponseForm

ChatRole = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that a model asks for; `arguments` is JSON as the model wrote it, so it may be anything."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ModelMessage:
    """One message of a conversation."""

    role: ChatRole  # retrieved text never has `system`
    content: str  # plain text, possibly empty beside tool calls
    tool_calls: tuple[ToolCall, ...] = ()  # only of the assistant
    tool_call_id: str | None = None  # only of a tool: which call this is the result of
    images: tuple[str, ...] = ()  # only of the user: pictures as data URLs (data:image/jpeg;base64,...)


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as models are told of it; `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})


@dataclass(frozen=True, slots=True)
class SamplingParameters:
    """Sampling parameters of a client's; None leaves it to the provider."""

    top_p: float | None = None  # 0 to 1, nucleus sampling
    presence_penalty: float | None = None  # -2 to 2, OpenAI's meaning, as the next
    frequency_penalty: float | None = None
    seed: int | None = None  # for providers that take one
    temperature: float | None = None  # 0 to 2, in place of the request's own

    def given(self) -> dict[str, float | int]:
        """The parameters that were set, by OpenAI's names."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def wishes(self) -> frozenset[str]:
        """Names that may not be left out unsaid: those set to something else than every provider's default."""
        return frozenset(self.given()) - {name for name in ("top_p", "temperature") if getattr(self, name) == 1}


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A question to a chat model."""

    messages: tuple[ModelMessage, ...]  # oldest first
    tools: tuple[ToolSpec, ...] = ()  # offered natively; leave empty for a model that does not take them
    temperature: float = 0.7  # 0 to 2
    max_tokens: int = 4096  # of the reply, at most
    stop: tuple[str, ...] = ()  # texts at which the model ends its reply; they are not part of it
    seed: int | None = None  # for providers that take one; a wish that a server without it may leave out
    json_only: bool = False  # ask for one JSON object, where the provider can promise it
    # `required` for a call of some tool, a tool's name for a call of that one; None as the model likes.
    tool_choice: str | None = None
    # What the answer has to be, where the provider can promise it, else a call of `form.tool`. Whoever asks says it in
    # words too, and checks the answer: a provider may not know it, or not keep it.
    form: ResponseForm | None = None
    # What a client wants of the drawing of tokens: passed on, or refused by who does not take it.
    sampling: SamplingParameters = field(default_factory=SamplingParameters)


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens as the provider counted them; `estimated` where it did not, at four characters a token."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class ReplyDelta:
    """A piece of a reply while it arrives; `reasoning` is what some models think aloud in a channel of its own."""

    text: str = ""
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class ConnectionFallback:
    """One connection was left for another; `why` is the code and the detail of the error."""

    left: str
    taken: str
    why: str


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A whole reply: the last item of a stream."""

    content: str  # all text pieces joined
    tool_calls: tuple[ToolCall, ...] = ()  # native ones, in order
    finish_reason: str = "stop"  # `stop`, `length`, `tool_calls` or `content_filter`
    usage: TokenUsage = TokenUsage()
    model: str = ""  # as the provider names it
    reasoning: str = ""
    connection: str = ""  # the connection that answered, set by the router
    cost_usd: float = 0.0  # from the connection's prices, set by the router
    fallbacks: tuple[ConnectionFallback, ...] = ()  # what was left on the way, set by the router
