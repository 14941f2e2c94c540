"""Feedback on answers: a thumb and perhaps a word, kept with the run."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Response
from pydantic import AfterValidator, BaseModel, Field, StringConstraints

from cluster.state.db.postgres import Row
from cluster.state.feedback import Thumb
from cluster.state.identity.identity import WorkspaceMember
from serve_apps.http.auth.guard import GuardedRoute, Its, Me, require_same_scope
from serve_apps.http.fields import RequestBody, storable_text
from serve_apps.http.routes.agents.run_access import RunInPath, readers_of, require_readable_run, require_visible_run

router = APIRouter(route_class=GuardedRoute, tags=["runs"])

Word = Annotated[str, StringConstraints(strip_whitespace=True, max_length=2_000), AfterValidator(storable_text)]


class FeedbackRequest(RequestBody):
    """An opinion; a later one takes its place."""

    thumb: Thumb
    word: Annotated[Word, Field(description="What was good or wrong, if one likes to say.")] = ""


class FeedbackShape(BaseModel):
    """One person's opinion. Operators are told the thumbs of others; `word` is for who may read the run."""

    run_id: UUID
    user_id: UUID
    thumb: Thumb
    word: str
    at: datetime


class FeedbackList(BaseModel):
    """Opinions, the newest first."""

    items: list[FeedbackShape]


@router.get("/api/runs/{run_id}/feedback")
async def feedback(run_id: RunInPath, me: Me, parts: Its) -> FeedbackList:
    """List the feedback on a run's answer."""
    row = await require_visible_run(me, parts, run_id)
    rows = await parts.feedback.of_run(me.scope, str(run_id))
    return FeedbackList(items=[_feedback_shape(me, row, one) for one in rows])


@router.post("/api/runs/{run_id}/feedback")
async def give(run_id: RunInPath, body: FeedbackRequest, me: Me, parts: Its) -> FeedbackShape:
    """Say what one thinks of an answer that one may read."""
    require_same_scope(me, body.tenant_id, body.workspace_id)
    run = await require_readable_run(me, parts, run_id)
    async with parts.database.transaction(me.scope) as tx:
        given = await parts.feedback.give(tx, me.scope, str(run_id), body.thumb, body.word)
        await parts.audit.record(tx, me.scope, "run.feedback", str(run_id), detail={"thumb": body.thumb})
    return _feedback_shape(me, run, given)


@router.delete("/api/runs/{run_id}/feedback", status_code=204)
async def take_back(run_id: RunInPath, me: Me, parts: Its) -> Response:
    """Take one's own opinion back; where there is none, nothing happens."""
    await require_readable_run(me, parts, run_id)
    async with parts.database.transaction(me.scope) as tx:
        if await parts.feedback.take_back(tx, me.scope, str(run_id)):
            await parts.audit.record(tx, me.scope, "run.feedback", str(run_id), detail={"thumb": None})
    return Response(status_code=204)


def _feedback_shape(me: WorkspaceMember, run: Row, given: Row) -> FeedbackShape:
    may_read = readers_of(me) in (None, str(run["user_id"]), str(given["user_id"]))
    return FeedbackShape(**(given if may_read else {**given, "word": ""}))
