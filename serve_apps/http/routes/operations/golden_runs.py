"""Runs of golden sets over HTTP: begin, follow, compare."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from cluster.basics.errors import Conflict, Invalid
from cluster.basics.scope import Role
from cluster.state.db.postgres import Row
from cluster.state.identity.identity import WorkspaceMember
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import OPERATE
from serve_apps.http.deps import AppDependencies
from serve_apps.http.fields import Limit, Name, RequestBody, Skip, Text
from serve_apps.retrieval.golden.compare import compare_measures, largest_changes
from serve_apps.retrieval.golden.measure import GoldenRunOptions

router = APIRouter(route_class=GuardedRoute, tags=["golden sets"])


class RunRequest(RequestBody):
    """Options of a run: with answers or only the search, as an agent, on a generation that is not live."""

    answers: Annotated[bool | None, Field(description="Left out: with answers, on the live generation.")] = None
    generation: Annotated[int | None, Field(ge=1, le=2**31 - 1)] = None
    agent_id: Annotated[Name | None, Field(description="An agent's UUID or its display name.")] = None
    concurrency: Annotated[int, Field(ge=1, le=8, description="Questions at once; more than one slows each.")] = 1


class NotRun(BaseModel):
    """A part that did not run, and at how many questions."""

    what: str
    questions: int


class GoldenRunShape(BaseModel):
    """A run: `failed` where a part did not run, `interrupted` until somebody takes up what its process left.

    `figures` are means with `n`, of times in milliseconds `p50` and `p95`; `fingerprint` is that of `settings`.
    """

    id: UUID
    set_id: UUID
    set_name: str
    state: str
    options: dict[str, Any]
    settings: dict[str, Any]
    fingerprint: str
    generation_id: int | None
    total: int
    done: int
    figures: dict[str, dict[str, float]]
    failures: list[NotRun]
    created_by: UUID | None
    created_at: datetime
    finished_at: datetime | None


class GoldenRunList(BaseModel):
    """A page of runs, latest first."""

    items: list[GoldenRunShape]
    total: int


class ResultShape(BaseModel):
    """A question: its measures, the documents found as far as you may see them; `answer` is for who ran it."""

    key: str
    question: str
    measured: dict[str, float]
    retrieved: list[str]
    mode: str | None
    answer: str | None
    failures: list[str]


class ResultList(BaseModel):
    """A page of results in the set's order."""

    items: list[ResultShape]


class DifferenceShape(BaseModel):
    """One measure in both runs: `low` and `high` bound the delta (95 %, paired bootstrap), `p` is of a sign test."""

    measure: str
    n: int
    baseline: float
    candidate: float
    delta: float
    low: float
    high: float
    p: float
    better: int
    worse: int
    equal: int


class Changed(BaseModel):
    """A question on which the runs differ."""

    key: str
    question: str
    baseline: float
    candidate: float


class Comparison(BaseModel):
    """Two runs over the same questions; `changed` are those that differ in `measure`, largest loss first."""

    baseline: GoldenRunShape
    candidate: GoldenRunShape
    settings_changed: list[str]
    only_in_baseline: list[str]
    only_in_candidate: list[str]
    differences: list[DifferenceShape]
    measure: str
    changed: list[Changed]


@router.post("/api/golden-sets/{set_id}/runs", status_code=202, dependencies=[OPERATE])
async def begin(set_id: UUID, body: RunRequest, me: Me, parts: Its) -> GoldenRunShape:
    """Put every question of the set to the product, in the background and with your rights."""
    if body.generation is not None:
        if body.answers:
            raise Invalid("answers come from the live generation", fix="Leave answers or generation out.")
        if body.generation not in {row["id"] for row in await parts.switchover.overview(me.scope)}:
            raise Conflict(f"there is no generation {body.generation}", fix="GET /api/generations lists them.")
    agent = await parts.agent_store.resolve(me.scope, body.agent_id)
    wanted = body.generation is None and body.answers is not False
    options = GoldenRunOptions(wanted, body.generation, agent, body.concurrency)
    run = await parts.golden_runs.begin(me.scope, str(set_id), options)
    await _audit_golden_run(parts, me, "golden_run.begin", run, str(set_id))
    return GoldenRunShape(**await parts.golden_runs.show(me.scope, run))


@router.get("/api/golden-sets/{set_id}/runs", dependencies=[OPERATE])
async def runs(set_id: UUID, me: Me, parts: Its, skip: Skip = 0, limit: Limit = 50) -> GoldenRunList:
    """The runs of a set."""
    rows, total = await parts.golden_runs.page(me.scope, str(set_id), skip, limit)
    return GoldenRunList(items=[GoldenRunShape(**row) for row in rows], total=total)


@router.get("/api/golden-runs/{golden_run_id}", dependencies=[OPERATE])
async def run(golden_run_id: UUID, me: Me, parts: Its) -> GoldenRunShape:
    """Show the progress of a run, and its metrics once it has ended."""
    return GoldenRunShape(**await parts.golden_runs.show(me.scope, str(golden_run_id)))


@router.get("/api/golden-runs/{golden_run_id}/results", dependencies=[OPERATE])
async def results(golden_run_id: UUID, me: Me, parts: Its, skip: Skip = 0, limit: Limit = 100) -> ResultList:
    """List the result of each question."""
    shown = await parts.golden_runs.show(me.scope, str(golden_run_id))
    rows = await parts.golden_runs.results(me.scope, str(golden_run_id), skip, limit)
    return ResultList(items=[_result_shape(row, me, shown) for row in rows])


@router.post("/api/golden-runs/{golden_run_id}/resume", status_code=202, dependencies=[OPERATE])
async def resume(golden_run_id: UUID, me: Me, parts: Its) -> GoldenRunShape:
    """Ask what is missing or did not run; only whoever began it, for it is a matter of their rights."""
    shown = await parts.golden_runs.show(me.scope, str(golden_run_id))
    if str(shown["created_by"]) != me.user:
        raise Conflict("somebody else began this run", fix="Begin one of your own.")
    await parts.golden_runs.resume(me.scope, str(golden_run_id))
    await _audit_golden_run(parts, me, "golden_run.resume", str(golden_run_id), str(shown["set_id"]))
    return GoldenRunShape(**await parts.golden_runs.show(me.scope, str(golden_run_id)))


@router.post("/api/golden-runs/{golden_run_id}/cancel", status_code=202, dependencies=[OPERATE])
async def cancel(golden_run_id: UUID, me: Me, parts: Its) -> GoldenRunShape:
    """End a run; what was asked stays."""
    shown = await parts.golden_runs.show(me.scope, str(golden_run_id))
    await parts.golden_runs.cancel(me.scope, str(golden_run_id))
    await _audit_golden_run(parts, me, "golden_run.cancel", str(golden_run_id), str(shown["set_id"]))
    return GoldenRunShape(**await parts.golden_runs.show(me.scope, str(golden_run_id)))


@router.get("/api/golden-runs/{golden_run_id}/compare/{baseline_id}", dependencies=[OPERATE])
async def compare(
    golden_run_id: UUID,
    baseline_id: UUID,
    me: Me,
    parts: Its,
    measure: Annotated[Text, Query(max_length=50)] = "ndcg@10",
    limit: Limit = 100,
) -> Comparison:
    """Compare a run with a baseline of the same questions. 409 where they share none."""
    before = await parts.golden_runs.show(me.scope, str(baseline_id))
    after = await parts.golden_runs.show(me.scope, str(golden_run_id))
    ours = await parts.golden_runs.measured(me.scope, str(golden_run_id))
    theirs = await parts.golden_runs.measured(me.scope, str(baseline_id))
    if not ours.keys() & theirs.keys():
        raise Conflict("the runs have no question in common")
    one = {key: row["measured"] for key, row in theirs.items()}
    two = {key: row["measured"] for key, row in ours.items()}
    keys = sorted({*before["settings"], *after["settings"]})
    return Comparison(
        baseline=GoldenRunShape(**before),
        candidate=GoldenRunShape(**after),
        settings_changed=[key for key in keys if before["settings"].get(key) != after["settings"].get(key)],
        only_in_baseline=sorted(theirs.keys() - ours.keys())[:limit],
        only_in_candidate=sorted(ours.keys() - theirs.keys())[:limit],
        differences=[DifferenceShape(**asdict(found)) for found in compare_measures(one, two)],
        measure=measure,
        changed=[
            Changed(key=key, question=ours[key]["question"], baseline=was, candidate=is_)
            for key, was, is_ in largest_changes(one, two, measure)[:limit]
        ],
    )


async def _audit_golden_run(parts: AppDependencies, me: WorkspaceMember, action: str, run: str, of_set: str) -> None:
    async with parts.database.transaction(me.scope) as tx:
        await parts.audit.record(tx, me.scope, action, run, detail={"set": of_set})


def _result_shape(row: Row, me: WorkspaceMember, shown: Row) -> ResultShape:
    """An answer may quote what only whoever asked may see."""
    mine = str(shown["created_by"]) == me.user or me.role is Role.ADMIN
    return ResultShape(**{**row, "answer": row["answer"] if mine else None})
