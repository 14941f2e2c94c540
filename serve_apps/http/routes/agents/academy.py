"""The academy over HTTP: tracks, enrolment, examination, and how an agent stands."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import BaseModel

from cluster.basics.errors import NotFound
from serve_apps.agents.academy.register import AcademyStatus
from serve_apps.agents.academy.school import KEY
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import OPERATE, READ
from serve_apps.http.fields import JsonObject, RequestBody
from skills.quiz import Track, quiz_of, shipped_quiz
from skills.quiz_skill import quiz_skill

router = APIRouter(route_class=GuardedRoute, tags=["academy"])

Wait = Annotated[float, Query(ge=0, le=60, allow_inf_nan=False, description="Seconds to wait for the references.")]


class TrackShape(BaseModel):
    """A track; without a quiz that ships one has to bring one's own."""

    track: Track
    questions: int | None
    sources: list[str]


class TrackList(BaseModel):
    """All tracks."""

    items: list[TrackShape]


class EnrolRequest(RequestBody):
    """Track, and a quiz of one's own: {questions: [{question, facts, source, passage}], pass_mark}."""

    track: Track
    quiz: JsonObject | None = None


class Enrolled(BaseModel):
    """The agent studies: `jobs` read and embed its references."""

    agent_id: UUID
    track: Track
    status: AcademyStatus
    jobs: list[UUID]


class Missed(BaseModel):
    """A fact that did not count: `not_retrieved`, `not_said`, or `wrong_source`."""

    fact: str
    why: str


class Place(BaseModel):
    """A page that an answer cites."""

    file: str
    page: int


class MarkShape(BaseModel):
    """A question: the answer, what it cites, and what was missed."""

    question: str
    source: str
    answer: str
    mode: str
    cited: list[Place]
    found: int
    expected: int
    right_source: bool
    missed: list[Missed]


class Report(BaseModel):
    """An examination; `score` is the share of expected facts that were said with their source, `status` its effect."""

    track: Track
    score: float
    pass_mark: float
    passed: bool
    status: AcademyStatus
    at: datetime
    questions: list[MarkShape]


class Standing(BaseModel):
    """Academy status of an agent: `status` is `academy_status` of its metadata, whoever wrote it there."""

    agent_id: UUID
    status: str | None
    track: Track | None
    enrolled_at: datetime | None
    report: Report | None


@router.get("/api/academy/tracks", dependencies=[READ])
async def tracks() -> TrackList:
    """The five tracks, how many questions each has, and which documents answer them."""
    return TrackList(items=[_track_shape(track) for track in Track])


@router.get("/api/academy/tracks/{track}/quiz", dependencies=[OPERATE])
async def track_quiz(track: Track, parts: Its) -> dict[str, Any]:
    """The track's quiz as a Python skill: the body of `skills:create_and_attach` (academy_quiz.json)."""
    return quiz_skill(shipped_quiz(track), parts.school.pass_mark)


@router.post("/api/agents/{agent_id}/academy/enrol", status_code=202, dependencies=[OPERATE])
@router.post("/api/universal-agents/{agent_id}/academy/enrol", status_code=202, dependencies=[OPERATE])
async def enrol(agent_id: UUID, body: EnrolRequest, me: Me, parts: Its) -> Enrolled:
    """Begin a track: what is linked to the agent is read again where it changed, and embedded."""
    quiz = None if body.quiz is None else quiz_of({"track": body.track, **body.quiz})
    jobs = await parts.school.enrol(me.scope, str(agent_id), body.track, quiz)
    row, _, _ = await parts.school.standing(me.scope, str(agent_id))
    return Enrolled(agent_id=agent_id, track=body.track, status=row["metadata"][KEY], jobs=[UUID(job) for job in jobs])


@router.post("/api/agents/{agent_id}/academy/quiz", dependencies=[OPERATE])
@router.post("/api/universal-agents/{agent_id}/academy/quiz", dependencies=[OPERATE])
async def quiz(agent_id: UUID, me: Me, parts: Its, wait: Wait = 0) -> Standing:
    """Examine the agent now. Who passes graduates; who had graduated and fails is demoted. 409 while it still reads."""
    await parts.school.examine(me.scope, str(agent_id), wait=wait)
    return await standing(agent_id, me, parts)


@router.get("/api/agents/{agent_id}/academy", dependencies=[READ])
@router.get("/api/universal-agents/{agent_id}/academy", dependencies=[READ])
async def standing(agent_id: UUID, me: Me, parts: Its) -> Standing:
    """Show an agent's academy status with its latest report."""
    row, enrolment, last = await parts.school.standing(me.scope, str(agent_id))
    status = row["metadata"].get(KEY)
    report = None
    if last is not None:
        report = Report(**{name: last[name] for name in Report.model_fields if name in last}, **last["report"])
    known = None if status is None else str(status)
    track, at = (enrolment.track, enrolment.at) if enrolment else (None, None)
    return Standing(agent_id=agent_id, status=known, track=track, enrolled_at=at, report=report)


def _track_shape(track: Track) -> TrackShape:
    try:
        shipped = shipped_quiz(track)
    except NotFound:
        return TrackShape(track=track, questions=None, sources=[])
    sources = sorted({one.source for one in shipped.questions})
    return TrackShape(track=track, questions=len(shipped.questions), sources=sources)
