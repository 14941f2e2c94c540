"""The beginning and the end of a re-index: its generation, what arrived meanwhile, the graph, the gate, the switch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from cluster.state.db.postgres import Transaction
from cluster.state.work.jobs import JobLease, JobLedger, WorkUnit
from pipelines.documents.index.gate import IndexGate
from pipelines.documents.index.generations import IndexGenerations, IndexRecipe, WriteTarget
from pipelines.documents.index.switch import IndexSwitchover

VERSIONS_A_TURN = 64

Outcome = Literal["open", "switched", "held", "refused"]


@dataclass(frozen=True, slots=True)
class RebuildResult:
    """Outcome of the end of a re-index."""

    # `open` while documents wait to be indexed, `switched` when readers use it, `held` when it is ready and nobody
    # wanted the switch yet, `refused` by the gate.
    outcome: Outcome
    why: str = ""  # of a refusal, with what to do about it


class IndexRebuild:
    """Readers keep the index they have until the next one is complete and good enough; a repeat does no harm."""

    def __init__(
        self,
        jobs: JobLedger,
        generations: IndexGenerations,
        switchover: IndexSwitchover,
        gate: IndexGate,
        stage: str,
        exact_scope: int,
    ) -> None:
        """`stage` is the one whose units are versions to index, `exact_scope` the rows from which a graph pays."""
        self._jobs, self._generations, self._switchover, self._gate = jobs, generations, switchover, gate
        self._stage, self._exact_scope = stage, exact_scope

    async def begin(self, lease: JobLease, recipe: IndexRecipe) -> tuple[int, bool]:
        """The generation that this job builds, the same one when its plan is made again; what nobody needs goes.

        True with it where another job began it, whose work stays.
        """
        begun = await self._switchover.build(lease.scope, lease.job)
        if begun is not None:
            return int(begun["generation_id"]), False
        generation = await self._generations.next(lease.scope, recipe)
        taken_over = await self._switchover.is_building(lease.scope, generation)
        await self._switchover.begin(lease.scope, generation, lease.job)
        await self._switchover.sweep(lease.scope)
        return generation, taken_over

    async def target(self, lease: JobLease, generation: int, recipe: IndexRecipe) -> WriteTarget:
        """The generation to write to: another one where embedder or chunker changed since the job began."""
        made = await self._switchover.recipe(lease.scope, generation)
        if not recipe.made(made):
            generation = await self._begun_again(lease, generation, made["embedder"], recipe)
        return WriteTarget(generation, recipe.chunker, recipe.embedder.fingerprint)

    async def _begun_again(self, lease: JobLease, former: int, embedder: str, recipe: IndexRecipe) -> int:
        """The generation for the embedder and chunker of now: one generation is made in one way."""
        why = f"generation {former} was begun with {embedder} and another configuration than now"
        generation = await self._generations.next(lease.scope, recipe)
        async with self._jobs.writing(lease) as tx:
            await self._switchover.give_up(tx, lease.scope, lease.job)
            await self._jobs.reopen(tx, lease, self._stage, None)
            await self._jobs.planned(tx, lease, {"generation": generation})
        await self._switchover.begin(lease.scope, generation, lease.job)
        await self._switchover.sweep(lease.scope)
        await self._jobs.note(lease, "begun_again", {"generation": generation, "why": why})
        return generation

    async def close(self, lease: JobLease, target: WriteTarget, wanted: Mapping[str, Any]) -> RebuildResult:
        """Bring a complete generation to its readers.

        Args:
            wanted: `force` lets it pass whatever the gate finds, `hold` leaves the switch to somebody.
        """
        scope, generation = lease.scope, target.generation
        live = await self._switchover.live(scope)
        if live != generation:
            if await self._switchover.build(scope, lease.job) is None:  # a job that is resumed late begins again
                await self._switchover.begin(scope, generation, lease.job)
            async with self._jobs.writing(lease) as tx:
                if await self._queue_late_arrivals(tx, lease, generation):
                    return RebuildResult("open")
            await self._generations.grow(scope, generation, self._exact_scope)
            report = await self._gate_report(lease, generation, live, force=bool(wanted.get("force")))
            if report["verdict"] == "refused":
                return RebuildResult("refused", _refusal_text(generation, live, report["reasons"]))
            if wanted.get("hold"):
                return RebuildResult("held")
            async with self._jobs.writing(lease) as tx:
                if await self._queue_late_arrivals(tx, lease, generation):  # somebody wrote while the gate looked
                    return RebuildResult("open")
                await self._switchover.to(tx, scope, generation)
        await self._switchover.sweep(scope)
        return RebuildResult("switched")

    async def _queue_late_arrivals(self, tx: Transaction, lease: JobLease, generation: int) -> bool:
        """Queue documents that arrived or changed meanwhile to be indexed first; True if there are any."""
        rows = await self._generations.missing(tx, lease.scope, lease.job, generation, VERSIONS_A_TURN)
        if not rows:
            return False
        versions = [str(row["version_id"]) for row in rows]
        await self._jobs.expect(tx, lease, self._stage, [WorkUnit(version, version) for version in versions])
        await self._jobs.reopen(tx, lease, self._stage, versions)
        return True

    async def _gate_report(
        self, lease: JobLease, generation: int, live: int | None, *, force: bool
    ) -> Mapping[str, Any]:
        """The gate's report; one that passed is not asked for again, or late arrivals would have no end."""
        begun = await self._switchover.build(lease.scope, lease.job)
        if begun is not None and begun["state"] == "ready" and begun["report"]:
            kept: Mapping[str, Any] = begun["report"]
            return kept
        report = await self._gate.check(lease.scope, generation, live, force=force)
        async with self._jobs.writing(lease) as tx:
            await self._switchover.checked(tx, lease.scope, generation, report)
        await self._jobs.note(lease, "gate", report)
        return report


def _refusal_text(generation: int, live: int | None, reasons: list[str]) -> str:
    return (
        f"the gate refused generation {generation}, readers keep generation {live}: {'; '.join(reasons)}. "
        f"GET /api/generations has the report; POST /api/generations/{generation}/switch?force=true insists."
    )
