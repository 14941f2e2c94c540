"""Conversations: one's own, what was said in them, and what is remembered of them."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel

from cluster.state import conversations
from cluster.state.conversations import Speaker, Status
from cluster.state.work.run_record import RunState
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import READ
from serve_apps.http.deps import AppDependencies
from serve_apps.http.fields import AgentInQuery, Key, Limit, Name, RequestBody, SessionInPath, Skip
from serve_apps.http.response_shapes import copy_fields

router = APIRouter(route_class=GuardedRoute, tags=["sessions"])


class SessionShape(BaseModel):
    """A conversation; `messages` is how many there are, `key` the name that its client gave it."""

    id: UUID
    agent_id: UUID | None
    user_id: UUID
    key: str | None
    title: str
    status: Status
    messages: int
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, session: conversations.ConversationSession) -> "SessionShape":
        """From what is stored."""
        return copy_fields(cls, session, agent_id=session.agent, user_id=session.user)


class FactShape(BaseModel):
    """Something remembered, personal data masked."""

    category: str
    importance: str
    fact: str


class PendingInput(BaseModel):
    """A question of the agent; the next message of the conversation answers it."""

    id: UUID
    run_id: UUID
    question: str
    category: str
    options: list[str]
    expires_at: datetime


class SessionDetail(SessionShape):
    """A conversation with what is remembered of it; `summary` covers the messages up to `summary_upto`."""

    summary: str
    summary_upto: int
    facts: list[FactShape]
    pending_input: PendingInput | None


class SessionList(BaseModel):
    """A page of conversations, the one used last first."""

    items: list[SessionShape]
    total: int


class MessageShape(BaseModel):
    """Message with personal data masked; `findings` counts what was masked or marked, by kind. `classification`: of an
    answer, the highest class of the documents that it cites.

    `corrected_at`: when somebody last corrected a page that it cites, since it was written;
    `GET /api/answers/{run_id}/why` then shows its citations as they are now.
    """

    seq: int
    role: Speaker
    text: str
    run_id: UUID | None
    findings: dict[str, int]
    created_at: datetime
    corrected_at: datetime | None = None
    classification: str | None = None


class MessageList(BaseModel):
    """Messages, oldest first; those after the last one are asked for with `after`."""

    items: list[MessageShape]


class SessionPatch(RequestBody):
    """Changes to a conversation."""

    title: Name | None = None
    status: Literal["open", "closed"] | None = None


class SessionRequest(RequestBody):
    """A conversation to begin; with `session_id` as its name a second request finds the same."""

    session_id: Key | None = None
    agent_id: Name | None = None
    title: Name | None = None


class SessionOpened(SessionShape):
    """A conversation that messages may now be sent to."""

    session_id: UUID


@router.get("/api/sessions", dependencies=[READ])
async def sessions(
    me: Me,
    parts: Its,
    agent_id: AgentInQuery = None,
    everyone: Annotated[bool, Query(description="Those of all users; for administrators.")] = False,
    skip: Skip = 0,
    limit: Limit = 50,
) -> SessionList:
    """One's own conversations, the one used last first."""
    agent = await parts.agent_store.resolve(me.scope, agent_id)
    found, total = await parts.conversations.page(me.scope, agent=agent, everyone=everyone, skip=skip, limit=limit)
    return SessionList(items=[SessionShape.of(session) for session in found], total=total)


@router.get("/api/sessions/{session_id}", dependencies=[READ])
async def session(session_id: SessionInPath, me: Me, parts: Its) -> SessionDetail:
    """One conversation, with its facts and its summary."""
    found = await parts.conversations.show(me.scope, session_id)
    async with parts.database.transaction(me.scope) as tx:
        summary = await parts.conversations.summary(tx, me.scope, found.id)
        facts = await parts.conversations.facts(tx, me.scope, found.id)
    return SessionDetail(
        **SessionShape.of(found).model_dump(),
        summary=summary.text if summary else "",
        summary_upto=summary.upto if summary else 0,
        facts=[FactShape(category=fact.category, importance=fact.importance, fact=fact.text) for fact in facts],
        pending_input=await _pending(parts, me, found),
    )


@router.get("/api/sessions/{session_id}/messages", dependencies=[READ])
async def messages(
    session_id: SessionInPath,
    me: Me,
    parts: Its,
    after: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    limit: Limit = 100,
) -> MessageList:
    """List the messages of a conversation, oldest first."""
    stored = await parts.conversations.messages(me.scope, session_id, after=after, limit=limit)
    corrected = await parts.answers.corrected_since(me.scope, [str(one.run) for one in stored if one.run])
    return MessageList(
        items=[
            copy_fields(
                MessageShape,
                one,
                run_id=one.run,
                created_at=one.at,
                corrected_at=corrected.get(str(one.run)) if one.role == "assistant" else None,
            )
            for one in stored
        ]
    )


@router.patch("/api/sessions/{session_id}", dependencies=[READ])
async def change(session_id: SessionInPath, body: SessionPatch, me: Me, parts: Its) -> SessionShape:
    """Rename one's own conversation, close it, or open it again."""
    found = await parts.conversations.show(me.scope, session_id)
    async with parts.audited(me, "session.change", found.id, {"status": body.status}) as tx:
        await parts.conversations.change(tx, me.scope, found.id, title=body.title, status=body.status)
    return SessionShape.of(await parts.conversations.show(me.scope, found.id))


@router.delete("/api/sessions/{session_id}", status_code=204, dependencies=[READ])
async def delete(session_id: SessionInPath, me: Me, parts: Its) -> Response:
    """Delete one's own conversation with all that is remembered of it and its runs, for good."""
    await _delete_session(parts, me, session_id)
    return Response(status_code=204)


@router.post("/v1/agent/sessions", status_code=201, dependencies=[READ])
async def begin(body: SessionRequest, me: Me, parts: Its) -> SessionOpened:
    """Begin a conversation."""
    agent = await parts.agent_store.resolve(me.scope, body.agent_id)
    async with parts.database.transaction(me.scope) as tx:
        opened = await parts.conversations.open(tx, me.scope, body.session_id, agent, body.title or "")
        await parts.audit.record(tx, me.scope, "session.open", opened.id, detail={"agent": opened.agent})
    return SessionOpened(**SessionShape.of(opened).model_dump(), session_id=UUID(opened.id))


@router.delete("/v1/agent/sessions/{session_id}", status_code=204, dependencies=[READ])
async def end(session_id: SessionInPath, me: Me, parts: Its) -> Response:
    """As `DELETE /api/sessions/{session_id}`."""
    await _delete_session(parts, me, session_id)
    return Response(status_code=204)


async def _pending(parts: AppDependencies, me: Me, session: conversations.ConversationSession) -> PendingInput | None:
    row = await parts.approvals.question(me.scope, session.id, session.user)
    if row is None or row["state"] != "pending" or row["run_state"] != RunState.WAITING:
        return None
    return PendingInput(**{"options": [], **row["arguments"]}, **{n: row[n] for n in ("id", "run_id", "expires_at")})


async def _delete_session(parts: AppDependencies, me: Me, wanted: str) -> None:
    found = await parts.conversations.show(me.scope, wanted)
    async with parts.audited(me, "session.delete", found.id, {"messages": found.messages}) as tx:
        await parts.conversations.delete(tx, me.scope, found.id)
    await parts.memory.forget(me.scope, found.id)
