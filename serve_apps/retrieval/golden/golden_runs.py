"""Runs of golden sets: in the background, resumable question by question, and failed where a part did not run."""

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from json import dumps
from pathlib import Path
from typing import Any

from psycopg.types.json import Jsonb

from cluster.basics.errors import Conflict, NotFound, Overloaded, Transient
from cluster.basics.scope import Scope
from cluster.models.embedding.migration import vector_space_of
from cluster.state.db.postgres import Database, Row, load_queries
from serve_apps.retrieval.golden.measure import GoldenExaminer, GoldenRunOptions, QuestionOutcome
from serve_apps.retrieval.golden.question_form import GoldenQuestion
from serve_apps.retrieval.golden.score import summarise_measures
from serve_apps.retrieval.golden.sets import GoldenSets

log = logging.getLogger(__name__)

AT_ONCE = 2  # runs in one process: people's own questions come first
LEASE_SECONDS = 30.0
BEAT_SECONDS = 8.0
MOST_FAILURES = 20  # that are named


@dataclass(frozen=True, slots=True)
class _Held:
    """A run that this process works on; somebody who resumes it elsewhere takes the fence away."""

    scope: Scope
    run: str
    fence: int
    options: GoldenRunOptions
    questions: tuple[tuple[int, GoldenQuestion], ...]


class GoldenRuns:
    """Begins runs and works them off, in the scope of whoever asked: what they may not see is not found."""

    def __init__(
        self,
        database: Database,
        sets: GoldenSets,
        examiner: GoldenExaminer,
        settings: Mapping[str, Any],
        lease: float = LEASE_SECONDS,
        beat: float = BEAT_SECONDS,
    ) -> None:
        """`settings` are those that the figures depend on, as JSON; a run keeps them beside its figures."""
        self._db, self._sets, self._examiner = database, sets, examiner
        self._settings, self._lease, self._beat = settings, lease, beat
        self._sql = load_queries(Path(__file__).with_suffix(".sql"))
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def begin(self, scope: Scope, set_id: str, options: GoldenRunOptions) -> str:
        """Start a run of all questions of a set; its id.

        Raises:
            NotFound: there is no such set.
            Conflict: it has no questions.
            Overloaded: enough runs are under way here.
        """
        self._require_room()
        questions, total = await self._sets.questions(scope, set_id)
        if not total:
            raise Conflict("the set has no questions", fix="Import some first.")
        settings = await self._measured_settings(scope, options)
        async with self._db.transaction(scope) as tx:
            row = await tx.one(
                self._sql["begin"],
                **_scope_params(scope),
                set=set_id,
                options=Jsonb(asdict(options)),
                settings=Jsonb(settings),
                fingerprint=_settings_digest(settings),
                total=total,
                lease=self._lease,
                user=scope.user,
            )
        assert row is not None
        held = _Held(scope, str(row["id"]), row["fence"], options, tuple(enumerate(questions)))
        self._start_task(held)
        return held.run

    async def resume(self, scope: Scope, run: str) -> None:
        """Go on with a run that was interrupted, cancelled or failed: what is missing or did not run is asked again.

        Raises:
            NotFound: there is no such run.
            Conflict: it is worked on, it is complete, or settings are others now.
        """
        self._require_room()
        shown = await self.show(scope, run)
        settings = await self._measured_settings(scope, GoldenRunOptions(**shown["options"]))
        if shown["fingerprint"] != _settings_digest(settings):
            raise Conflict("the settings are others than when it began", fix="Begin another run.")
        async with self._db.transaction(scope) as tx:
            row = await tx.one(self._sql["resume"], **_scope_params(scope), run=run, lease=self._lease)
            if row is None:
                raise Conflict(f"the run is {shown['state']}")
            await tx.run(self._sql["forget_failed"], **_scope_params(scope), run=run)
            asked = {one["key"] for one in await tx.all(self._sql["asked"], **_scope_params(scope), run=run)}
        questions, _ = await self._sets.questions(scope, str(row["set_id"]))
        left = tuple((at, one) for at, one in enumerate(questions) if one.key not in asked)
        self._start_task(_Held(scope, run, row["fence"], GoldenRunOptions(**row["options"]), left))

    async def _measured_settings(self, scope: Scope, options: GoldenRunOptions) -> dict[str, Any]:
        """Settings that the figures depend on, and the embedder that made the index that is searched."""
        rows = await self._db.read(scope, self._sql["made_with"], **_scope_params(scope), generation=options.generation)
        return {**self._settings, "embedder": asdict(vector_space_of(rows[0])) if rows else None}

    async def cancel(self, scope: Scope, run: str) -> None:
        """End a run; the questions that were asked stay.

        Raises:
            NotFound, Conflict: there is no such run, or it has ended.
        """
        shown = await self.show(scope, run)
        async with self._db.transaction(scope) as tx:
            if await tx.one(self._sql["cancel"], **_scope_params(scope), run=run) is None:
                raise Conflict(f"the run is {shown['state']}")

    async def show(self, scope: Scope, run: str) -> Row:
        """One run with its figures.

        Raises:
            NotFound: there is none with this id.
        """
        async with self._db.transaction(scope) as tx:
            row = await tx.one(self._sql["show"], **_scope_params(scope), run=run, set=None, skip=0, limit=1)
        if row is None:
            raise NotFound(f"golden run {run}")
        return row

    async def page(self, scope: Scope, set_id: str, skip: int, limit: int) -> tuple[list[Row], int]:
        """A page of a set's runs, latest first, and how many there are; raises as `GoldenSets.show`."""
        await self._sets.show(scope, set_id)
        async with self._db.transaction(scope) as tx:
            rows = await tx.all(self._sql["show"], **_scope_params(scope), run=None, set=set_id, skip=skip, limit=limit)
            total = await tx.one(self._sql["count"], **_scope_params(scope), set=set_id)
        return rows, int(total["total"]) if total else 0

    async def results(self, scope: Scope, run: str, skip: int, limit: int) -> list[Row]:
        """Outcome of each question, in the set's order; raises as `show`."""
        await self.show(scope, run)
        async with self._db.transaction(scope) as tx:
            return await tx.all(self._sql["results"], **_scope_params(scope), run=run, skip=skip, limit=limit)

    async def measured(self, scope: Scope, run: str) -> dict[str, Row]:
        """The measures of each question by its key; raises as `show`."""
        await self.show(scope, run)
        async with self._db.transaction(scope) as tx:
            return {row["key"]: row for row in await tx.all(self._sql["measured"], **_scope_params(scope), run=run)}

    async def close(self) -> None:
        """Stop working; what is not done is `interrupted` once its lease has lapsed, and can be resumed."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def settled(self, run: str) -> None:
        """Wait until this process no longer works on a run."""
        if run in self._tasks:
            await asyncio.wait([self._tasks[run]])

    def _require_room(self) -> None:
        if len(self._tasks) >= AT_ONCE:
            raise Overloaded(f"{AT_ONCE} golden runs are under way", fix="Wait for one of them, or cancel it.")

    def _start_task(self, held: _Held) -> None:
        task = asyncio.create_task(self._execute_run(held))
        self._tasks[held.run] = task
        task.add_done_callback(lambda done: self._log_end(held.run, done))

    def _log_end(self, run: str, task: asyncio.Task[None]) -> None:
        self._tasks.pop(run, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("golden run %s stopped and can be resumed", run, exc_info=error)

    async def _execute_run(self, held: _Held) -> None:
        beat, work = asyncio.create_task(self._keep_lease(held)), asyncio.create_task(self._ask_all(held))
        try:
            await asyncio.wait([beat, work], return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()
                await self._finish_run(held)
            else:
                beat.result()
        except _Taken:
            log.info("golden run %s was cancelled, or is worked on elsewhere", held.run)
        except Transient as error:
            log.warning("golden run %s is interrupted: %s", held.run, error)
        finally:
            for task in (beat, work):
                task.cancel()
            await asyncio.gather(beat, work, return_exceptions=True)

    async def _ask_all(self, held: _Held) -> None:
        left = list(reversed(held.questions))
        hands = [asyncio.create_task(self._ask_questions(held, left)) for _ in range(held.options.concurrency)]
        try:
            await asyncio.gather(*hands)
        finally:
            for hand in hands:
                hand.cancel()

    async def _ask_questions(self, held: _Held, left: list[tuple[int, GoldenQuestion]]) -> None:
        while left:
            position, question = left.pop()
            outcome = await self._examiner.ask(held.scope, question, held.options)
            await self._put_result(held, position, question, outcome)

    async def _put_result(self, held: _Held, position: int, question: GoldenQuestion, outcome: QuestionOutcome) -> None:
        named = _scope_params(held.scope) | {"run": held.run}
        async with self._db.transaction(held.scope) as tx:
            if await tx.one(self._sql["beat"], **named, fence=held.fence, lease=self._lease) is None:
                raise _Taken
            await tx.run(
                self._sql["put_result"],
                **named,
                key=question.key,
                position=position,
                question=question.question,
                measured=Jsonb(dict(outcome.measured)),
                retrieved=list(outcome.retrieved),
                mode=outcome.mode,
                answer=outcome.answer,
                failures=list(outcome.failures),
                engines=Jsonb(dict(outcome.engines)),
            )
            await tx.run(self._sql["progress"], **named, generation=outcome.generation)

    async def _keep_lease(self, held: _Held) -> None:
        """Ends, with `_Taken`, when the run was cancelled or somebody else goes on with it."""
        while True:
            await asyncio.sleep(self._beat)
            async with self._db.transaction(held.scope) as tx:
                named = _scope_params(held.scope) | {"run": held.run}
                if await tx.one(self._sql["beat"], **named, fence=held.fence, lease=self._lease) is None:
                    raise _Taken

    async def _finish_run(self, held: _Held) -> None:
        rows = list((await self.measured(held.scope, held.run)).values())
        # Of all its questions, those before an interruption included: they may have met other engines.
        engines = Counter(engine for row in rows for engine in row["engines"].items())
        failures = _count_failures([row["failures"] for row in rows], engines)
        async with self._db.transaction(held.scope) as tx:
            await tx.one(
                self._sql["finish"],
                **_scope_params(held.scope),
                run=held.run,
                fence=held.fence,
                state="failed" if failures else "completed",
                figures=Jsonb(summarise_measures([row["measured"] for row in rows])),
                failures=Jsonb(failures),
            )


class _Taken(Conflict):
    """The run was cancelled, or is worked on elsewhere."""


def _count_failures(each: Sequence[Sequence[str]], engines: Counter[tuple[str, str]]) -> list[dict[str, Any]]:
    """Failures, and at how many questions; a stage that ran for some questions only is one of them."""
    counted = Counter(failure for failures in each for failure in failures)
    by_stage: dict[str, dict[str, int]] = {}
    for (stage, engine), count in engines.items():
        by_stage.setdefault(stage, {})[engine] = count
    for stage, used in by_stage.items():
        if len(used) > 1:
            counted[f"{stage}: not the same for all questions: {dumps(used, sort_keys=True)}"] = min(used.values())
    return [{"what": what, "questions": count} for what, count in counted.most_common(MOST_FAILURES)]


def _settings_digest(settings: Mapping[str, Any]) -> str:
    return sha256(dumps(settings, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _scope_params(scope: Scope) -> dict[str, Any]:
    return {"tenant": scope.tenant, "workspace": scope.workspace}
