"""Runs of golden sets: in the background, resumed question by question, and failed where a part did not run."""

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, replace
from hashlib import sha256
from json import dumps
from typing import Any

from psycopg.types.json import Jsonb

from cluster.basics.errors import Conflict, NotFound, Overloaded
from cluster.basics.scope import Role, Scope, UserId
from cluster.models.embedding.migration import vector_space_of
from cluster.state.db.postgres import Database, Row
from cluster.state.identity.identity import IdentityStore, least_role
from cluster.state.work.lease import Heartbeat, Lease, LeaseLedger, LeaseSweep
from serve_apps.retrieval.golden.measure import GoldenExaminer, GoldenRunOptions, QuestionOutcome
from serve_apps.retrieval.golden.question_form import GoldenQuestion
from serve_apps.retrieval.golden.score import count_failures, summarise_measures
from serve_apps.retrieval.golden.sets import GoldenSets

AT_ONCE = 2  # runs in one process: people's own questions come first
LEASE_SECONDS = 30.0
BEAT_SECONDS = 8.0


class GoldenRunLease(Lease):
    """The right to write for a golden run, in the scope of whoever asked for it."""

    __slots__ = ()
    noun = "golden run"


class GoldenRuns(LeaseLedger[GoldenRunLease], queries="golden_runs.sql"):
    """Begins runs and works them off, in the scope of whoever asked: what they may not see is not found."""

    _lease_type = GoldenRunLease

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
        super().__init__(database)
        self._sets, self._examiner, self._identity = sets, examiner, IdentityStore(database)
        self._settings, self._lease_seconds, self._beat_seconds = settings, lease, beat
        self._sweep = LeaseSweep(self._take_over, self._execute_run, AT_ONCE, lambda: beat)

    async def open(self) -> None:
        """From now on runs whose process is gone go on here."""
        self._sweep.open()

    async def begin(self, scope: Scope, set_id: str, options: GoldenRunOptions) -> str:
        """Start a run of all questions of a set; its id. Raises NotFound where there is no such set, Conflict where it
        has no questions, Overloaded where enough runs are under way here.
        """
        self._require_room()
        _, total = await self._sets.questions(scope, set_id, limit=0)
        if not total:
            raise Conflict("the set has no questions", fix="Import some first.")
        settings = await self._measured_settings(scope, options)
        async with self._db.transaction(scope) as tx:
            row = await tx.one(
                self._sql["begin"],
                **scope.keys,
                set=set_id,
                options=Jsonb(asdict(options)),
                settings=Jsonb(settings),
                fingerprint=_settings_digest(settings),
                total=total,
                lease=self._lease_seconds,
                user=scope.user,
                role=scope.role,
            )
        assert row is not None
        lease = GoldenRunLease(str(row["id"]), scope, row["fence"])
        self._sweep.start(lease)
        return lease.id

    async def resume(self, scope: Scope, run: str) -> None:
        """Go on with a run that was interrupted, cancelled or failed: what is missing or did not run is asked again.

        Raises NotFound where there is no such run, Conflict if it is worked on, complete, or settings are others now.
        """
        self._require_room()
        shown = await self.show(scope, run)
        await self._require_same_settings(scope, shown)
        named = {**scope.keys, "run": run}
        async with self._db.transaction(scope) as tx:
            row = await tx.one(self._sql["resume"], **named, lease=self._lease_seconds, role=scope.role)
            if row is None:
                raise Conflict(f"the run is {shown['state']}")
            await tx.run(self._sql["forget_failed"], **named)
        self._sweep.start(GoldenRunLease(run, scope, row["fence"]))

    async def _require_same_settings(self, scope: Scope, run: Row) -> None:
        """Halves of a run that were measured with different settings are no run."""
        settings = await self._measured_settings(scope, GoldenRunOptions(**run["options"]))
        if run["fingerprint"] != _settings_digest(settings):
            raise Conflict("the settings are others than when it began", fix="Begin another run.")

    async def _measured_settings(self, scope: Scope, options: GoldenRunOptions) -> dict[str, Any]:
        """Settings that the figures depend on, and the embedder that made the index that is searched."""
        rows = await self._db.read(scope, self._sql["made_with"], **scope.keys, generation=options.generation)
        return {**self._settings, "embedder": asdict(vector_space_of(rows[0])) if rows else None}

    async def cancel(self, scope: Scope, run: str) -> None:
        """End a run; the questions asked stay. Raises NotFound where there is none, Conflict where it has ended."""
        shown = await self.show(scope, run)
        async with self._db.transaction(scope) as tx:
            if await tx.one(self._sql["cancel"], **scope.keys, run=run) is None:
                raise Conflict(f"the run is {shown['state']}")

    async def show(self, scope: Scope, run: str) -> Row:
        """One run with its figures; raises NotFound where there is none with this id."""
        async with self._db.transaction(scope) as tx:
            row = await tx.one(self._sql["show"], **scope.keys, run=run, set=None, skip=0, limit=1)
        if row is None:
            raise NotFound(f"golden run {run}")
        return row

    async def page(self, scope: Scope, set_id: str, skip: int, limit: int) -> tuple[list[Row], int]:
        """A page of a set's runs, latest first, and how many there are; raises as `GoldenSets.show`."""
        await self._sets.show(scope, set_id)
        async with self._db.transaction(scope) as tx:
            rows = await tx.all(self._sql["show"], **scope.keys, run=None, set=set_id, skip=skip, limit=limit)
            total = await tx.one(self._sql["count"], **scope.keys, set=set_id)
        return rows, int(total["total"]) if total else 0

    async def results(self, scope: Scope, run: str, skip: int, limit: int) -> list[Row]:
        """Outcome of each question, in the set's order; raises as `show`."""
        await self.show(scope, run)
        return await self._db.read(scope, self._sql["results"], **scope.keys, run=run, skip=skip, limit=limit)

    async def measured(self, scope: Scope, run: str) -> dict[str, Row]:
        """The measures of each question by its key; raises as `show`."""
        await self.show(scope, run)
        rows = await self._db.read(scope, self._sql["measured"], **scope.keys, run=run)
        return {row["key"]: row for row in rows}

    async def close(self) -> None:
        """Stop working and give back what is not done: another process takes it up, or the next start."""
        await self._sweep.close()

    async def settled(self, run: str) -> None:
        """Wait until this process no longer works on a run."""
        if working := [task for lease, task in self._sweep.carried.items() if lease.id == run]:
            await asyncio.wait(working)

    def _require_room(self) -> None:
        if self._sweep.room <= 0:
            raise Overloaded(f"{AT_ONCE} golden runs are under way", fix="Wait for one of them, or cancel it.")

    async def _take_over(self, room: int) -> list[GoldenRunLease]:
        claimed = await self._claim_leases(lease=self._lease_seconds, most=room)
        return [owned for lease in claimed if (owned := await self._of_its_owner(lease)) is not None]

    async def _of_its_owner(self, lease: GoldenRunLease) -> GoldenRunLease | None:
        """The lease in the scope of whoever began the run; None where it cannot go on, which ends it."""
        async with self._db.transaction(lease.scope) as tx:
            run = await self.hold(tx, lease)
        try:
            whose, owner = lease.scope, UserId(str(run["created_by"]))
            member = await self._identity.member(whose.tenant, owner, whose.workspace)
            role = Role(run["role"])
            if member is None or least_role(role, member.role) is not role:
                raise Conflict("whoever began it has no longer the rights that it began with")
            owned = replace(lease, scope=replace(member, role=role).scope)
            await self._require_same_settings(owned.scope, run)
        except Conflict as error:
            await self._finish_run(lease, {"what": f"interrupted: {error}", "questions": run["open"]})
            return None
        return owned

    async def _execute_run(self, lease: GoldenRunLease, stop: asyncio.Event) -> None:
        heartbeat = Heartbeat(self.heartbeat, lease, self._lease_seconds, self._beat_seconds)
        asking = await heartbeat.run(self._ask_all(lease), stop)
        if not asking.cancelled():
            asking.result()
            await self._finish_run(lease)
        elif not heartbeat.lost:
            await self.release(lease)

    async def _ask_all(self, lease: GoldenRunLease) -> None:
        run = await self.show(lease.scope, lease.id)
        options, asked = GoldenRunOptions(**run["options"]), await self.measured(lease.scope, lease.id)
        questions, _ = await self._sets.questions(lease.scope, str(run["set_id"]))
        left = [(at, one) for at, one in enumerate(questions) if one.key not in asked][::-1]
        hands = [asyncio.create_task(self._ask_questions(lease, options, left)) for _ in range(options.concurrency)]
        try:
            await asyncio.gather(*hands)
        finally:
            for hand in hands:
                hand.cancel()

    async def _ask_questions(
        self, lease: GoldenRunLease, options: GoldenRunOptions, left: list[tuple[int, GoldenQuestion]]
    ) -> None:
        while left:
            position, question = left.pop()
            outcome = await self._examiner.ask(lease.scope, question, options)
            await self._put_result(lease, position, question, outcome)

    async def _put_result(
        self, lease: GoldenRunLease, position: int, question: GoldenQuestion, outcome: QuestionOutcome
    ) -> None:
        async with self.writing(lease) as tx:
            await tx.run(
                self._sql["put_result"],
                **lease.values,
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
            await tx.run(self._sql["progress"], **lease.values, generation=outcome.generation)

    async def _finish_run(self, lease: GoldenRunLease, *unasked: Mapping[str, Any]) -> None:
        # Of all its questions, those before an interruption included: they may have met other engines.
        rows = (await self.measured(lease.scope, lease.id)).values()
        failures = [*unasked, *count_failures([row["failures"] for row in rows], [row["engines"] for row in rows])]
        async with self.writing(lease) as tx:
            await tx.run(
                self._sql["finish"],
                **lease.values,
                state="failed" if failures else "completed",
                figures=Jsonb(summarise_measures([row["measured"] for row in rows])),
                failures=Jsonb(failures),
            )


def _settings_digest(settings: Mapping[str, Any]) -> str:
    return sha256(dumps(settings, sort_keys=True, default=str).encode()).hexdigest()[:16]
