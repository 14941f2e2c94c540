"""The reply of a chat turn as JSON, and the stream beside it in the API's document."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from cluster.basics.errors import Invalid
from serve_apps.agents.streams.collect import ReplyCollector
from serve_apps.http.fields import RequestBody
from serve_apps.http.response_shapes import copy_fields
from serve_apps.http.streams.turn_response import Documents, Said, SessionKey, Verbose

STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
        "description": "The reply, or with `stream` the events of the turn; an event's id is for Last-Event-ID.",
    }
}


class ChatRequest(RequestBody):
    """A message. Without a session a new one begins; a session is a UUID of ours or a name of your own."""

    message: Said
    session_id: SessionKey | None = None
    conversation_id: Annotated[SessionKey | None, Field(description="Another name for `session_id`.")] = None
    stream: Annotated[bool | None, Field(description="Left out: by the Accept header.")] = None
    verbose: Annotated[Verbose, Field(description="Also as [VERBOSE] or [DEBUG] at the message's beginning.")] = False
    temperature: Annotated[float | None, Field(ge=0, le=2)] = None
    max_tokens: Annotated[int | None, Field(ge=1, le=1_000_000)] = None
    use_rag: bool | None = None
    document_ids: Documents = None

    def session(self) -> str | None:
        """Under either name. Raises Invalid: both are given, and differ."""
        if self.session_id and self.conversation_id and self.session_id != self.conversation_id:
            raise Invalid("session_id and conversation_id are two names of one thing, and differ")
        return self.session_id or self.conversation_id


class Problem(BaseModel):
    """Error that ended a turn."""

    code: str = "error"
    title: str = ""
    detail: str = ""
    fix: str = ""


def trace_and_waits(found: ReplyCollector) -> dict[str, Any]:
    """The fields of every reply that say what was done, what the turn waits for, and the error that ended it."""
    return {
        "agent_trace": found.trace,
        "requires_approval": found.approval is not None,
        "approval_request": found.approval,
        "requires_input": found.input is not None,
        "input_request": found.input,
        "error": found.error,
        "personal_data": found.personal_data,
        "classification": found.classification,
    }


PersonalDataTold = dict[Literal["masked", "marked"], dict[str, int]]


class ChatMetadata(BaseModel):
    """Usage of a turn: `tokens` are counted by the providers."""

    tokens: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float
    model: str
    path: str
    tools_used: list[str]
    execution_steps: list[dict[str, Any]]


class ChatReply(BaseModel):
    """An answer. With `requires_approval` the turn waits for POST /api/approvals/{id} and goes on by itself then.

    `personal_data` counts what the policies masked or marked in it, by kind, and `classification` is the highest class
    of the documents that it cites. With `requires_input` the agent has asked `input_request`; the next message of this
    conversation answers it.
    """

    conversation_id: str
    message_id: str
    run_id: str
    agent_id: str
    answer: str
    finish_reason: str
    confidence: float | None
    citations: list[dict[str, Any]]
    agent_trace: list[dict[str, Any]]
    requires_approval: bool
    approval_request: dict[str, Any] | None
    requires_input: bool
    input_request: dict[str, Any] | None
    error: Problem | None
    personal_data: PersonalDataTold = {}
    classification: str | None = None
    metadata: ChatMetadata

    @classmethod
    def of(cls, found: ReplyCollector) -> "ChatReply":
        """From a turn's events; the message has the id of its run."""
        tokens = found.prompt_tokens + found.completion_tokens
        metadata = copy_fields(ChatMetadata, found, tokens=tokens, execution_steps=found.steps)
        return copy_fields(
            cls,
            found,
            conversation_id=found.session,
            message_id=found.run,
            run_id=found.run,
            agent_id=found.agent,
            metadata=metadata,
            **trace_and_waits(found),
        )
