"""The graph as a stage of a job: one unit a version, done after its index; what fails here fails no document."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from cluster.basics.errors import Transient
from cluster.basics.scope import Scope
from cluster.state.db.postgres import Transaction
from cluster.state.work.jobs import ClaimedJob, JobLane, JobLease, JobLedger, UnitOutcome, UnitStatus, WorkUnit
from configs.sections_retrieval import GraphSettings
from pipelines.documents.document import Failure, FailureReason, VersionId
from pipelines.documents.graph.extract import GraphExtractor, graph_fingerprint
from pipelines.documents.graph.graph_rows import GraphStore, PayingAgent, VersionText
from pipelines.documents.graph.model import DocumentGraph, GraphPage, count_characters
from pipelines.documents.graph.model_extraction import ModelExtraction, merge_graphs
from pipelines.documents.store.page_codec import failure_to_json

GRAPH = "graph"
VERSIONS_A_TURN = 64
MOST_ATTEMPTS = 3


class ModelReader(Protocol):
    """Reads a document by model: graph.routed.RoutedReader."""

    async def read(self, scope: Scope, payer: PayingAgent, pages: Sequence[GraphPage]) -> ModelExtraction | str:
        """Entities and relations that the model extracted, or the reason why there are none."""


class GraphStage:
    """Makes the graphs of versions that were indexed; it can be resumed at any version."""

    def __init__(
        self,
        jobs: JobLedger,
        store: GraphStore,
        extractor: Callable[[], GraphExtractor],
        settings: GraphSettings,
        reader: ModelReader | None = None,
    ) -> None:
        """`extractor` is called in a thread at the first version, as it reads a gazetteer; `reader` is None where no
        model can be asked from here."""
        self._jobs, self._store, self._settings, self._reader = jobs, store, settings, reader
        self._make, self._fingerprint = extractor, graph_fingerprint(settings)
        self._extractor: GraphExtractor | None = None

    async def expect(self, tx: Transaction, lease: JobLease, version: VersionId) -> None:
        """In the transaction that writes a version's index: its graph is to be made, also if it was made before."""
        if not self._settings.enabled:
            return
        if not await self._jobs.expect(tx, lease, GRAPH, [WorkUnit(version, version, self._fingerprint)]):
            await self._jobs.reopen(tx, lease, GRAPH, [version])

    async def run(self, job: ClaimedJob, after: str, stopped: Callable[[], bool]) -> int:
        """Make the graphs of some versions whose stage `after` is done; returns how many units came to their end.

        Raises LeaseLost: another worker has the job; nothing more was written.
        """
        pending = await self._jobs.pending(job.lease, GRAPH, VERSIONS_A_TURN, after=after)
        if not self._settings.enabled:  # it was switched off while the job waited
            off = [UnitOutcome(unit.key, UnitStatus.UNCHANGED) for unit in pending]
            return await self._settle_units(job.lease, off)
        failed = failure_to_json(Failure(GRAPH, FailureReason.CRASHED, "its graph ended the worker every time"))
        worn_out = [unit for unit in pending if unit.attempts >= MOST_ATTEMPTS]
        outcomes = [UnitOutcome(unit.key, UnitStatus.FAILED, failed) for unit in worn_out]
        done = await self._settle_units(job.lease, outcomes)
        # Attempts are counted for all that are begun together: what was there when a worker ended is tried alone.
        alone = [[unit] for unit in pending if 0 < unit.attempts < MOST_ATTEMPTS]
        for units in ([unit for unit in pending if not unit.attempts], *alone):
            done += await self._begin_units(job, units, stopped)
        return done

    async def _begin_units(self, job: ClaimedJob, units: Sequence[WorkUnit], stopped: Callable[[], bool]) -> int:
        """Count an attempt before the work, and give back those of units that came to no end."""
        if not units or stopped():
            return 0
        await self._jobs.begin(job.lease, GRAPH, units)
        left = {unit.key for unit in units}
        try:
            for unit in units:
                if stopped():
                    break
                if await self._make_one(job, VersionId(unit.key)):
                    left.discard(unit.key)
        except Transient:
            await self._jobs.refund(job.lease, GRAPH, sorted(left))
            raise
        await self._jobs.refund(job.lease, GRAPH, sorted(left))
        return len(units) - len(left)

    async def _make_one(self, job: ClaimedJob, version: VersionId) -> int:
        source = await self._store.source(job.lease.scope, version)
        graph = None
        if source is not None and source.made_of != (source.reads, self._fingerprint):
            graph = await self._graph(job, version, source)
        async with self._jobs.writing(job.lease) as tx:
            if graph is not None and source is not None:
                written = await self._store.write(
                    tx, job.lease.scope, version, graph, reads=source.reads, fingerprint=self._fingerprint
                )
                if not written:
                    return 0  # its text was read again meanwhile: the unit stays and is done again
            await self._jobs.settle(tx, job.lease, GRAPH, [UnitOutcome(version, UnitStatus.DONE)])
        return 1

    async def _graph(self, job: ClaimedJob, version: VersionId, source: VersionText) -> DocumentGraph:
        if self._extractor is None:
            self._extractor = await asyncio.to_thread(self._make)
        rules = await asyncio.to_thread(self._extractor.extract, source.pages)
        if not self._needs_model(job.lane, source):
            return rules
        assert self._reader is not None
        payer = await self._store.payer(job.lease.scope, version, job.payload.get("agent_id"))
        said: ModelExtraction | str = "no agent to ask a model for"
        if payer is not None:
            said = await self._reader.read(job.lease.scope, payer, source.pages)
        if isinstance(said, str):
            return replace(rules, note=f"{rules.note}; {said}")
        most = self._settings
        return merge_graphs(rules, said, most_entities=most.max_entities, most_relations=most.max_relations)

    def _needs_model(self, lane: JobLane, source: VersionText) -> bool:
        wanted = self._settings.model
        if self._reader is None or wanted == "off" or (wanted == "small" and lane is not JobLane.SMALL):
            return False
        return 0 < count_characters(source.pages) < self._settings.model_chars

    async def _settle_units(self, lease: JobLease, settled: Sequence[UnitOutcome]) -> int:
        if settled:
            async with self._jobs.writing(lease) as tx:
                await self._jobs.settle(tx, lease, GRAPH, settled)
        return len(settled)
