"""Golden sets over HTTP: questions whose answers are known, one by one or as a file."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, Field, StringConstraints

from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import BUILD, OPERATE
from serve_apps.http.fields import Limit, Name, Question, RequestBody, Skip, Text
from serve_apps.http.response_shapes import copy_fields
from serve_apps.retrieval.golden import question_form
from serve_apps.retrieval.golden.question_form import MOST_QUESTIONS, GoldenQuestion
from serve_apps.retrieval.golden.sets import SetFacts

router = APIRouter(route_class=GuardedRoute, tags=["golden sets"])

KeyInPath = Annotated[str, Path(min_length=1, max_length=200)]
Key = Annotated[Text, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Share = Annotated[float, Field(ge=0, le=1)]
Expected = Annotated[Text, StringConstraints(strip_whitespace=True, min_length=1, max_length=4_000)]
Filename = Annotated[Text, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]


class QuestionShape(BaseModel):
    """A question; `documents` are ids or filenames, any of `answers` is right."""

    key: str
    question: str
    documents: list[str]
    passages: list[str]
    answers: list[str]
    answerable: bool


class QuestionRequest(RequestBody):
    """A question and what is known of its answer; the same key changes it. Without one it is made of the text."""

    key: Key | None = None
    question: Question
    documents: Annotated[tuple[Filename, ...], Field(max_length=50, description="Ids or filenames.")] = ()
    passages: Annotated[tuple[Expected, ...], Field(max_length=20)] = ()
    answers: Annotated[tuple[Expected, ...], Field(max_length=20)] = ()
    answerable: bool = True


class SetRequest(RequestBody):
    """A set. With `gate` the next index has to find the documents that its questions expect.

    `least_recall` is demanded in any case; otherwise it may not find less than the index before.
    """

    name: Name
    description: Annotated[Text, Field(max_length=2_000)] = ""
    gate: bool = False
    least_recall: Share | None = None


class SetPatch(RequestBody):
    """Changes to a golden set."""

    name: Name | None = None
    description: Annotated[Text | None, Field(max_length=2_000)] = None
    gate: bool | None = None
    least_recall: Share | None = None


class ImportRequest(RequestBody):
    """A file's text: a YAML list, or an object a line. With `replace` the set holds nothing else afterwards."""

    text: Annotated[Text, Field(min_length=1)]
    format: Literal["yaml", "jsonl"] = "yaml"
    replace: bool = False


class SetShape(BaseModel):
    """A set, its size and its latest run."""

    id: UUID
    name: str
    description: str
    gate: bool
    least_recall: float | None
    questions: int
    last_run: UUID | None
    created_at: datetime
    updated_at: datetime


class SetList(BaseModel):
    """A page of sets by name."""

    items: list[SetShape]
    total: int


class QuestionList(BaseModel):
    """A page of questions in their order."""

    items: list[QuestionShape]
    total: int


class Filled(BaseModel):
    """Counts of a set's questions after a change; `written` were added or changed, `removed` are gone."""

    set_id: UUID
    questions: int
    written: int
    removed: int
    keys: Annotated[list[str], Field(max_length=MOST_QUESTIONS)]


@router.get("/api/golden-sets", dependencies=[BUILD])
async def sets(me: Me, parts: Its, skip: Skip = 0, limit: Limit = 100) -> SetList:
    """The workspace's golden sets."""
    rows, total = await parts.golden.page(me.scope, skip, limit)
    return SetList(items=[SetShape(**row) for row in rows], total=total)


@router.post("/api/golden-sets", status_code=201, dependencies=[OPERATE])
async def add(body: SetRequest, me: Me, parts: Its) -> SetShape:
    """A new set, still empty."""
    facts = SetFacts(body.name, body.description, body.gate, body.least_recall)
    async with parts.database.transaction(me.scope) as tx:
        made = await parts.golden.add(tx, me.scope, facts)
        await parts.audit.record(tx, me.scope, "golden_set.add", made, detail={"name": body.name, "gate": body.gate})
    return SetShape(**await parts.golden.show(me.scope, made))


@router.get("/api/golden-sets/{set_id}", dependencies=[BUILD])
async def show(set_id: UUID, me: Me, parts: Its) -> SetShape:
    """One set."""
    return SetShape(**await parts.golden.show(me.scope, str(set_id)))


@router.patch("/api/golden-sets/{set_id}", dependencies=[OPERATE])
async def change(set_id: UUID, body: SetPatch, me: Me, parts: Its) -> SetShape:
    """Rename a set, or let it guard the index."""
    row = await parts.golden.show(me.scope, str(set_id))
    given = {name: getattr(body, name) for name in body.model_fields_set - {"tenant_id", "workspace_id"}}
    kept = {name: row[name] for name in ("name", "description", "gate", "least_recall")}
    wanted = kept | {name: value for name, value in given.items() if value is not None or name == "least_recall"}
    async with parts.audited(me, "golden_set.change", str(set_id), {"fields": sorted(given)}) as tx:
        await parts.golden.change(tx, me.scope, str(set_id), SetFacts(**wanted))
    return SetShape(**await parts.golden.show(me.scope, str(set_id)))


@router.delete("/api/golden-sets/{set_id}", status_code=204, dependencies=[OPERATE])
async def remove(set_id: UUID, me: Me, parts: Its) -> Response:
    """Take a set away with its questions and its runs."""
    row = await parts.golden.show(me.scope, str(set_id))
    async with parts.audited(me, "golden_set.remove", str(set_id), {"name": row["name"]}) as tx:
        await parts.golden.remove(tx, me.scope, str(set_id))
    return Response(status_code=204)


@router.get("/api/golden-sets/{set_id}/questions", dependencies=[OPERATE])
async def questions(set_id: UUID, me: Me, parts: Its, skip: Skip = 0, limit: Limit = 100) -> QuestionList:
    """The questions of a set."""
    found, total = await parts.golden.questions(me.scope, str(set_id), skip, limit)
    return QuestionList(items=[copy_fields(QuestionShape, one) for one in found], total=total)


@router.post("/api/golden-sets/{set_id}/questions", status_code=201, dependencies=[BUILD])
async def save(set_id: UUID, body: QuestionRequest, me: Me, parts: Its) -> Filled:
    """Save one question as golden, such as a query that was just answered well; the same key changes it."""
    given = body.model_dump(exclude={"tenant_id", "workspace_id"}, exclude_none=True)
    one = question_form.parse_question(given | {"unanswerable": not body.answerable})
    return await _fill_golden_set(set_id, me, parts, [one], replace=False)


@router.post("/api/golden-sets/{set_id}/import", status_code=201, dependencies=[OPERATE])
async def import_questions(set_id: UUID, body: ImportRequest, me: Me, parts: Its) -> Filled:
    """Add or change questions from a file's text: all of them, or none where one is wrong."""
    found = question_form.parse_questions(body.text, body.format)
    return await _fill_golden_set(set_id, me, parts, found, replace=body.replace)


@router.get(
    "/api/golden-sets/{set_id}/export",
    response_class=Response,
    responses={200: {"content": {"text/plain": {}}}},
    dependencies=[OPERATE],
)
async def export(
    set_id: UUID, me: Me, parts: Its, format: Annotated[Literal["yaml", "jsonl"], Query()] = "yaml"
) -> Response:
    """The questions as a file that can be imported again."""
    found, _ = await parts.golden.questions(me.scope, str(set_id))
    return Response(question_form.serialise_questions(found, format), media_type="text/plain; charset=utf-8")


@router.delete("/api/golden-sets/{set_id}/questions/{key}", status_code=204, dependencies=[OPERATE])
async def drop(set_id: UUID, key: KeyInPath, me: Me, parts: Its) -> Response:
    """Take one question away; results of earlier runs stay."""
    async with parts.audited(me, "golden_set.drop", str(set_id), {"key": key}) as tx:
        await parts.golden.remove_question(tx, me.scope, str(set_id), key)
    return Response(status_code=204)


async def _fill_golden_set(set_id: UUID, me: Me, parts: Its, found: list[GoldenQuestion], *, replace: bool) -> Filled:
    async with parts.database.transaction(me.scope) as tx:
        filled = await parts.golden.put(tx, me.scope, str(set_id), found, replace=replace)
        detail = {"questions": len(found), "removed": filled.removed}
        await parts.audit.record(tx, me.scope, "golden_set.fill", str(set_id), detail=detail)
    keys = [one.key for one in found]
    return Filled(set_id=set_id, questions=filled.total, written=len(found), removed=filled.removed, keys=keys)
