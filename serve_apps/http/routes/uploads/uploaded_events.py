"""Events that come in: somebody else has put a document where this product can read it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field
from redis.exceptions import RedisError

from cluster.basics.errors import NotFound, Unavailable
from cluster.state.identity.identity import WorkspaceMember
from serve_apps.events.uploaded_event import DocumentUploaded
from serve_apps.http.auth.guard import GuardedRoute, Its, Me, require_same_scope
from serve_apps.http.auth.permissions import ADMINISTER, BUILD
from serve_apps.http.deps import AppDependencies
from serve_apps.http.fields import Limit, RequestBody, Text

router = APIRouter(route_class=GuardedRoute, tags=["documents"])


class DocumentUploadedBody(RequestBody, DocumentUploaded):
    """A document lies where it can be read. `document_key` is a key of the workspace's blobs below a folder
    (`incoming/a.pdf`), or `file:` and a path below NFS_BASE_PATH, which is for operators. The same `event_id` (by
    itself `job_id`) is the same event. `user_id`, where it is given, is yours; `hash` is the SHA-256 of the bytes.
    """

    model_config = ConfigDict(extra="ignore", populate_by_name=True, allow_inf_nan=False)


class EventTaken(BaseModel):
    """An event that was taken; `duplicate` where it was taken before, or the workspace has the same bytes."""

    event_id: str
    document_id: str
    job_id: UUID | None
    status: Literal["queued", "duplicate"]


@router.post("/api/events/document-uploaded", status_code=202, dependencies=[BUILD])
async def document_uploaded(body: DocumentUploadedBody, me: Me, parts: Its, response: Response) -> EventTaken:
    """Let a document be read that lies there already. 202 with a job; 200 where nothing is left to do."""
    require_same_scope(me, None, None, body.user_id)
    taken = await parts.uploaded_events.take(me, body)
    response.status_code = 202 if taken.status == "queued" else 200
    job = None if taken.job is None else UUID(taken.job)
    return EventTaken(event_id=taken.event, document_id=taken.document, job_id=job, status=taken.status)


class EventLetterShape(BaseModel):
    """An event of the stream that was not taken: why, and since when; `said` is some of what it says of itself."""

    id: str
    state: Literal["waiting", "dead"]
    since: datetime
    why: str
    said: dict[str, str]


class EventLetters(BaseModel):
    """Events that wait or were given up, the newest first, and how many there are of both."""

    items: list[EventLetterShape]
    waiting: int
    dead: int


class RetryOrder(RequestBody):
    """The dead letter that is to be tried again; all of them where none is named."""

    id: Annotated[Text | None, Field(max_length=50)] = None


class RetryStarted(BaseModel):
    """So many events are tried again."""

    retried: int


@router.get("/api/events/document-uploaded", dependencies=[ADMINISTER])
async def event_letters(
    me: Me, parts: Its, state: Literal["waiting", "dead"] = "waiting", limit: Limit = 100
) -> EventLetters:
    """Events of the stream that wait, or were given up, with the reason; those of another workspace are not told."""
    if not await _is_theirs(parts, me):
        return EventLetters(items=[], waiting=0, dead=0)
    async with _reached():
        found = await parts.event_stream.letters.newest(state, limit)
        waiting, dead = await parts.event_stream.letters.counts()
    return EventLetters(items=[EventLetterShape(**asdict(one)) for one in found], waiting=waiting, dead=dead)


@router.post("/api/events/document-uploaded/retry", status_code=202, dependencies=[ADMINISTER])
async def retry_events(body: RetryOrder, me: Me, parts: Its) -> RetryStarted:
    """Send dead letters into the stream again: one, or all. An event that was taken meanwhile leads to nothing new."""
    theirs = await _is_theirs(parts, me)
    if body.id is not None and not theirs:
        raise NotFound(f"dead letter {body.id}")
    detail: dict[str, int] = {}
    async with parts.audited(me, "event.retry", body.id or "all", detail), _reached():
        count = await parts.event_stream.letters.retry(body.id) if theirs else 0
        detail["retried"] = count
    return RetryStarted(retried=count)


async def _is_theirs(parts: AppDependencies, me: WorkspaceMember) -> bool:
    """Whether the stream's documents go to this workspace."""
    return await parts.event_stream.workspace() == me.workspace


@asynccontextmanager
async def _reached() -> AsyncIterator[None]:
    """Raises Unavailable where the stream cannot be reached."""
    try:
        yield
    except (RedisError, OSError) as error:
        raise Unavailable(f"the stream of events cannot be reached: {type(error).__name__}") from error
