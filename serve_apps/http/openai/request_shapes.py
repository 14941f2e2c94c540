"""OpenAI's request and answer shapes, as far as agents have a use for them; what clients send beyond is ignored."""

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    field_validator,
    model_validator,
)

from cluster.basics.errors import Invalid
from cluster.models.chat.response_format import checked_schema
from serve_apps.http.fields import MOST_AGENT, JsonObject, Name, Text
from serve_apps.http.streams.turn_response import MOST_MESSAGE, SessionKey

MOST_MESSAGES = 1_000
MOST_TOOLS = 128
MOST_INPUTS = 2_048

Long = Annotated[Text, StringConstraints(max_length=MOST_MESSAGE)]


class LenientModel(BaseModel):
    """Known fields are checked, unknown ones are ignored: clients send what their provider of choice takes."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)


class Part(LenientModel):
    """A part of a message."""

    type: str
    text: Long = ""

    @field_validator("type")
    @classmethod
    def _text_only(cls, value: str) -> str:
        if value not in ("text", "refusal"):
            raise ValueError(
                "pictures and files in a message are not read, only parts of type text;"
                " send them with POST /api/documents/upload and ask about them"
            )
        return value


class CalledFunction(LenientModel):
    """A function as an assistant called it; `arguments` is JSON text."""

    name: Name
    arguments: Long = "{}"


class CalledTool(LenientModel):
    """A call of an earlier turn."""

    id: Name
    function: CalledFunction


class ChatMessage(LenientModel):
    """One message of the conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: Long | list[Part] | None = None
    tool_calls: Annotated[list[CalledTool] | None, Field(max_length=MOST_TOOLS)] = None
    tool_call_id: Name | None = None

    def text(self) -> str:
        """All of its text."""
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content)
        return self.content or ""


class Function(LenientModel):
    """A function of the client's."""

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
    description: Long = ""
    parameters: JsonObject = Field(default_factory=lambda: {"type": "object", "properties": {}})

    @field_validator("description", mode="before")
    @classmethod
    def _none_is_empty(cls, value: object) -> object:
        return "" if value is None else value


class Tool(LenientModel):
    """A tool that the client runs itself."""

    type: Literal["function"] = "function"
    function: Function


class ChosenFunction(LenientModel):
    """Name of the function that must be called."""

    name: Name


class Chosen(LenientModel):
    """tool_choice, when it names a function."""

    type: Literal["function"] = "function"
    function: ChosenFunction


class StreamOptions(LenientModel):
    """Options of a stream: whether it ends with the usage."""

    include_usage: bool = False


def _check_schema(value: dict[str, Any]) -> dict[str, Any]:
    try:
        checked_schema(value)
    except Invalid as error:
        raise ValueError(error.detail) from None
    return value


class AnswerSchema(LenientModel):
    """JSON schema of the answer; its own expressions (`pattern`) are the model's to keep, and not run here."""

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
    schema_: Annotated[JsonObject, AfterValidator(_check_schema), Field(alias="schema")]
    strict: bool | None = None


class ResponseFormat(LenientModel):
    """The form of the answer. One that does not come to have it, asked twice, is the error `answer_not_in_form`."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: AnswerSchema | None = None

    @model_validator(mode="after")
    def _check_schema_given(self) -> "ResponseFormat":
        if (self.type == "json_schema") != (self.json_schema is not None):
            raise ValueError("json_schema belongs to the type json_schema, and only to it")
        return self


Stop = Annotated[Text, StringConstraints(max_length=500)]


def _no_logprobs(value: int | None) -> int | None:
    if value:
        raise ValueError("an agent's answer is checked and may come from several calls: it has no token probabilities")
    return value


def _no_bias(value: dict[str, Any] | None) -> dict[str, Any] | None:
    if value:
        raise ValueError("an agent may change its model during an answer, so biases by token numbers are not taken")
    return value


def _no_functions(value: object) -> object:
    if value is not None:
        raise ValueError("`functions` and `function_call` are no longer taken: send `tools` and `tool_choice`")
    return value


class CompletionRequest(LenientModel):
    """A chat completion; `model` is an agent. `user` is not believed: the token says who asks.

    Sampling is the agent's model's to take, or the call is refused; answers from documents and figures are not sampled.
    """

    model: Annotated[Name, StringConstraints(max_length=MOST_AGENT)]
    messages: Annotated[list[ChatMessage], Field(max_length=MOST_MESSAGES)]
    stream: bool = False
    stream_options: StreamOptions | None = None
    temperature: Annotated[float | None, Field(ge=0, le=2)] = None
    max_tokens: Annotated[int | None, Field(ge=1, le=1_000_000)] = None
    max_completion_tokens: Annotated[int | None, Field(ge=1, le=1_000_000)] = None
    n: Annotated[int | None, Field(ge=1, le=1, description="One answer, no more.")] = None
    tools: Annotated[list[Tool] | None, Field(max_length=MOST_TOOLS)] = None
    tool_choice: Literal["auto", "none", "required"] | Chosen | None = None
    parallel_tool_calls: Annotated[bool | None, Field(description="false: at most one call in a reply.")] = None
    functions: Annotated[Any, AfterValidator(_no_functions)] = None
    function_call: Annotated[Any, AfterValidator(_no_functions)] = None
    response_format: ResponseFormat | None = None
    stop: Annotated[str, StringConstraints(max_length=500)] | Annotated[list[Stop], Field(max_length=4)] | None = None
    top_p: Annotated[float | None, Field(ge=0, le=1)] = None
    seed: Annotated[int | None, Field(ge=-(2**63), lt=2**63)] = None
    presence_penalty: Annotated[float | None, Field(ge=-2, le=2)] = None
    frequency_penalty: Annotated[float | None, Field(ge=-2, le=2)] = None
    logprobs: Annotated[bool | None, AfterValidator(_no_logprobs)] = None
    top_logprobs: Annotated[int | None, AfterValidator(_no_logprobs)] = None
    logit_bias: Annotated[JsonObject | None, AfterValidator(_no_bias)] = None
    metadata: JsonObject | None = None
    session_id: SessionKey | None = None
    chat_id: SessionKey | None = None

    def session(self) -> str | None:
        """The conversation that it belongs to, as the client names it; None for one of its own."""
        more = self.metadata or {}
        found = self.session_id or self.chat_id or more.get("session_id") or more.get("chat_id")
        return None if found is None else str(found)[:128]

    def stops(self) -> list[str]:
        """Stop sequences."""
        return [self.stop] if isinstance(self.stop, str) else self.stop or []

    def sampling(self) -> dict[str, float | int] | None:
        """Sampling options that the model takes or refuses; None where the client leaves all of it open."""
        wanted = ("top_p", "presence_penalty", "frequency_penalty", "seed", "temperature")
        return {name: value for name in wanted if (value := getattr(self, name)) is not None} or None

    def most_tokens(self) -> int | None:
        """Under either name."""
        return self.max_completion_tokens or self.max_tokens


class Model(BaseModel):
    """A model, which here is an agent."""

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str


class Models(BaseModel):
    """All of them."""

    object: Literal["list"] = "list"
    data: list[Model]


def _as_list(value: object) -> object:
    """One text as a list of one; numbers of tokens, which some clients send, are told from texts that are wrong."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and any(isinstance(one, int | list) for one in value):
        raise ValueError(
            "send text, not token numbers: they belong to another model's tokenizer"
            " (LangChain: check_embedding_ctx_length=False)"
        )
    return value


def _non_empty_text(text: str) -> str:
    if not text:
        raise ValueError("an empty text has no vector")
    return text


class EmbeddingRequest(LenientModel):
    """Texts to make vectors of: one, or a list."""

    input: Annotated[
        list[Annotated[Long, AfterValidator(_non_empty_text)]],
        BeforeValidator(_as_list, json_schema_input_type=str | list[str]),
        Field(min_length=1, max_length=MOST_INPUTS),
    ]
    model: Name
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: Annotated[int | None, Field(ge=1)] = None


class Embedding(BaseModel):
    """One vector, as numbers or as little-endian float32 in base64."""

    object: Literal["embedding"] = "embedding"
    index: int
    embedding: list[float] | str


class Embeddings(BaseModel):
    """One vector for each text, in order."""

    object: Literal["list"] = "list"
    data: list[Embedding]
    model: str
    usage: dict[str, int]
