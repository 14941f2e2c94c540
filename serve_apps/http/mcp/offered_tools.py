"""Tools offered over MCP: each is a route of the API under another name, with that route's permissions."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any

from fastapi import Response
from pydantic import BaseModel, ConfigDict, Field

from cluster.state.identity.identity import WorkspaceMember
from pipelines.documents.document import Status
from serve_apps.http.auth.permissions import RouteKey
from serve_apps.http.deps import AppDependencies
from serve_apps.http.fields import DocumentKey, Name, Question, Text
from serve_apps.http.response_shapes import CaveatShape, copy_fields
from serve_apps.http.routes.agents import agents, answers
from serve_apps.http.routes.agents.chat_shapes import Problem
from serve_apps.http.routes.documents import documents, reprocess
from serve_apps.http.routes.documents import search as asking
from serve_apps.http.routes.documents.document_shapes import DocumentList
from serve_apps.http.routes.documents.passages import Found
from serve_apps.http.streams.turn_response import Said, SessionKey, gather_turn, incoming_message

AgentName = Annotated[Name | None, Field(description="An agent's UUID or its display name: only its documents.")]
Some = Annotated[int, Field(ge=1, le=200)]
Before = Annotated[int, Field(ge=0, le=1_000_000_000, description="So many are left out.")]


class McpArguments(BaseModel):
    """Arguments of a tool; unknown ones are refused."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class SearchArguments(asking.Narrowed):
    """As POST /api/documents/search takes it."""

    query: Question
    limit: Annotated[int, Field(ge=1, le=50)] = 8
    agent_id: AgentName = None
    min_similarity: Annotated[float | None, Field(ge=-1, le=1)] = None


class AskArguments(McpArguments):
    """As POST /api/ask takes it."""

    question: Question
    agent_id: AgentName = None


class ListArguments(McpArguments):
    """As GET /api/documents/ takes it."""

    skip: Before = 0
    limit: Some = 50
    status: Status | None = None
    file_type: Annotated[Text | None, Field(max_length=50, description="Such as pdf.")] = None
    search: Annotated[Text | None, Field(max_length=200, description="In name or description.")] = None


class PageArguments(McpArguments):
    """A document and a page of it."""

    document_id: DocumentKey
    page: Annotated[int, Field(ge=1, le=1_000_000, description="1-based.")] = 1


class DocumentArguments(McpArguments):
    """A document."""

    document_id: DocumentKey


class ReprocessArguments(reprocess.ReadingFields, DocumentArguments):
    """As POST /api/documents/{document_id}/reprocess takes it."""

    wait: Annotated[float, Field(ge=0, le=60, description="Seconds to wait for the end.")] = 0


class AgentsArguments(McpArguments):
    """Page of the list of agents."""

    skip: Before = 0
    limit: Some = 50


class ChatArguments(McpArguments):
    """A message to an agent; without a session a conversation begins."""

    agent: Annotated[Text, Field(min_length=1, max_length=200, description="An agent's UUID or its display name.")]
    message: Said
    session_id: Annotated[SessionKey | None, Field(description="`conversation_id` of an earlier answer.")] = None


class McpPageText(BaseModel):
    """A page's text, and how it was read; `confidence` is null where the text is the document's own.

    `caveats` say what the text does not hold or may have wrong.
    """

    document_id: str
    version_id: str
    filename: str
    page: int
    page_count: int
    text: str
    confidence: float | None
    failure: dict[str, Any] | None
    caveats: list[CaveatShape]


class AgentLine(BaseModel):
    """An agent."""

    id: str
    name: str
    description: str
    documents: int


class AgentLines(BaseModel):
    """A page of agents by name."""

    items: list[AgentLine]
    total: int


class McpChatReply(BaseModel):
    """An agent's answer. With `requires_approval` it waits for a person: POST /api/approvals/{id} decides."""

    conversation_id: str
    run_id: str
    answer: str
    citations: list[dict[str, Any]]
    tools_used: list[str]
    requires_approval: bool
    approval_request: dict[str, Any] | None
    error: Problem | None
    personal_data: dict[str, dict[str, int]] = {}
    classification: str | None = None


@dataclass(frozen=True, slots=True)
class McpTool:
    """A tool, which `run` carries out with the caller's rights; it raises AosError."""

    description: str
    route: RouteKey  # whose permissions it has
    takes: type[BaseModel]
    gives: type[BaseModel]
    run: Callable[[Any, WorkspaceMember, AppDependencies], Awaitable[BaseModel]]
    reads: bool = True  # nothing is changed by it
    destroys: bool = False  # something may be lost by it
    open: bool = False  # it may reach beyond this system


async def _search_documents(given: SearchArguments, me: WorkspaceMember, parts: AppDependencies) -> BaseModel:
    return await asking.search(asking.SearchRequest(**given.model_dump()), me, parts)


async def _ask_question(given: AskArguments, me: WorkspaceMember, parts: AppDependencies) -> BaseModel:
    return await answers.answer_question(answers.AskRequest(**given.model_dump()), me, parts)


async def _list_documents(given: ListArguments, me: WorkspaceMember, parts: AppDependencies) -> BaseModel:
    return await documents.documents(me, parts, given.skip, given.limit, given.status, given.file_type, given.search)


async def _read_page(given: PageArguments, me: WorkspaceMember, parts: AppDependencies) -> BaseModel:
    found = await documents.page(given.document_id, given.page, me, parts)
    return copy_fields(McpPageText, found, page=given.page)


async def _reprocess_document(given: ReprocessArguments, me: WorkspaceMember, parts: AppDependencies) -> BaseModel:
    asked = reprocess.Reading(**given.model_dump(include=set(reprocess.ReadingFields.model_fields)))
    return await reprocess.process(given.document_id, me, parts, Response(), asked, wait=given.wait)


async def _list_agents(given: AgentsArguments, me: WorkspaceMember, parts: AppDependencies) -> BaseModel:
    found = await agents.agents(me, parts, given.skip, given.limit)
    return AgentLines(items=[copy_fields(AgentLine, one, id=str(one.id)) for one in found.items], total=found.total)


async def _chat_with_agent(given: ChatArguments, me: WorkspaceMember, parts: AppDependencies) -> BaseModel:
    message, _ = incoming_message(given.agent, given.message, given.session_id, person=False)
    found = await gather_turn(parts.orchestrator.process(me.scope, message))
    names = {"conversation_id": found.session, "run_id": found.run, "approval_request": found.approval}
    return copy_fields(McpChatReply, found, requires_approval=found.approval is not None, **names)


OFFERS: Mapping[str, McpTool] = MappingProxyType(
    {
        "search": McpTool(
            "Find passages in the documents, by words and by meaning; each with document, page and place.",
            ("POST", "/api/documents/search"), SearchArguments, Found, _search_documents,
        ),
        "ask": McpTool(
            "Answer a question from the documents, with a citation for each claim; without support it says so.",
            ("POST", "/api/ask"), AskArguments, answers.AnswerShape, _ask_question,
        ),
        "list_documents": McpTool(
            "The documents that one may see, newest first.",
            ("GET", "/api/documents/"), ListArguments, DocumentList, _list_documents,
        ),
        "read_page": McpTool(
            "The text of one page of a document.",
            ("GET", "/api/documents/{document_id}/pages/{number}"), PageArguments, McpPageText, _read_page,
        ),
        "reprocess_document": McpTool(
            "Read a document's file again, all of it or some pages, cut and embed it, as a job; readers keep what they "
            "have until that is done. For wrong OCR choose strategy and languages, for wrong letters the encoding.",
            ("POST", "/api/documents/{document_id}/reprocess"), ReprocessArguments, reprocess.Processing,
            _reprocess_document, reads=False,
        ),
        "list_agents": McpTool(
            "The agents that one may chat with.", ("GET", "/api/agents"), AgentsArguments, AgentLines, _list_agents
        ),
        "chat": McpTool(
            "Say something to an agent and wait for its answer; what it does with tools passes its own approvals.",
            ("POST", "/api/chat/{agent_id}"), ChatArguments, McpChatReply, _chat_with_agent,
            reads=False, destroys=True, open=True,
        ),
    }
)  # fmt: skip
