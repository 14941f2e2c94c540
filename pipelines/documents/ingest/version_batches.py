"""Batches of a job's versions: chunks and vectors of what is read, written with the ends of their units."""

from collections.abc import Callable, Mapping, Sequence

from cluster.basics.errors import Unavailable
from cluster.state.work.jobs import JobLease, JobLedger, UnitOutcome, UnitStatus, WorkUnit
from configs.sections import ReadSettings
from pipelines.documents.document import Failure, FailureReason, VersionId
from pipelines.documents.graph.graph_stage import GraphStage
from pipelines.documents.index.generations import BrokenVectors, IndexedVersion, IndexGenerations, WriteTarget
from pipelines.documents.ingest.arrivals import readings_by_base
from pipelines.documents.ingest.attempts import count_attempts
from pipelines.documents.ingest.job_plan import INDEX, READ
from pipelines.documents.ingest.outcome import index_settled
from pipelines.documents.ingest.stages import VersionIndexing
from pipelines.documents.ingest.suspects import most_deaths, suspects_apart
from pipelines.documents.store.document_writes import DocumentStore
from pipelines.documents.store.page_codec import failure_to_json

VERSIONS_A_TURN = 64


class VersionBatches:
    """Indexes batches and writes them through the lease."""

    def __init__(
        self,
        jobs: JobLedger,
        store: DocumentStore,
        generations: IndexGenerations,
        read: ReadSettings,
        graph: GraphStage | None,
    ) -> None:
        self._jobs, self._store, self._generations = jobs, store, generations
        self._read, self._graph = read, graph

    async def run(
        self,
        lease: JobLease,
        target: WriteTarget,
        building: bool,
        stopped: Callable[[], bool],
        choose: Callable[[int], VersionIndexing],
        most: int = VERSIONS_A_TURN,
    ) -> int:
        """Index the next versions that are read, at most so many, and return how many have ended.

        Args:
            building: the target is a generation that readers do not see yet.
            stopped: ends the batch after what has been indexed.
            choose: the stage that indexes so many versions.
        """
        pending = await self._jobs.pending(lease, INDEX, most, after=READ)
        done = await self._give_up_index(lease, [u for u in pending if u.attempts >= most_deaths(self._read)])
        left, held = await self._hold_back(lease, pending)
        done, units = done + held, suspects_apart(left, self._read)
        if not units or stopped():
            return done
        async with count_attempts(self._jobs, lease, INDEX, units) as attempts:
            begun = readings_by_base(units)
            same = await self._store.revisions.same(lease.scope, lease.job, begun)
            keys = {VersionId(same.get(unit.key, unit.key)): unit.key for unit in units}
            without = 0
            async for indexed in choose(len(units))(lease.scope, list(keys)):
                for one in indexed:
                    done += await self._write_index(lease, one, target, building, keys[one.version], begun)
                    if one.vectors is None:
                        without += 1
                    else:
                        attempts.untouched.discard(keys[one.version])
                if stopped():
                    break
            if without:  # they are found by their words, and done again with vectors
                raise Unavailable(f"the embedder stays away; {without} documents of this batch wait for it")
        return done

    async def _hold_back(self, lease: JobLease, pending: Sequence[WorkUnit]) -> tuple[list[WorkUnit], int]:
        """End new readings that would take text from readers; what is left, and how many ended."""
        setbacks = await self._store.revisions.setbacks(lease.scope, lease.job, readings_by_base(pending))
        if setbacks:
            settled = [UnitOutcome(k, UnitStatus.FAILED, failure_to_json(why)) for k, why in setbacks.items()]
            async with self._jobs.writing(lease) as tx:
                await self._jobs.settle(tx, lease, INDEX, settled)
        return [unit for unit in pending if unit.key not in setbacks], len(setbacks)

    async def _write_index(
        self,
        lease: JobLease,
        indexed: IndexedVersion,
        target: WriteTarget,
        building: bool,
        key: str,
        begun: Mapping[str, str],
    ) -> int:
        """Write one version and settle its unit.

        Args:
            key: of the unit; another one is of a new reading that came to the same as the version.
            begun: the version that each new reading began from.
        """
        if indexed.broken:
            raise BrokenVectors(f"vectors of version {indexed.version}")
        is_away = indexed.vectors is None
        if is_away and (building or key in begun):
            raise Unavailable("the embedder stays away; readers keep the index they have")
        async with self._jobs.writing(lease) as tx:
            if not await self._generations.write(tx, lease.scope, indexed, target, building=building):
                return 0  # its text was read again meanwhile: the unit stays and is done again
            if is_away:
                return 0
            settled = UnitOutcome(key, UnitStatus.DONE)
            if not building:
                standing = await self._generations.standing(tx, lease.scope, indexed.version)
                settled = index_settled(key, standing, same=key != indexed.version)
                if standing is None and key in begun:
                    why = await self._store.revisions.drop_overtaken(tx, lease.scope, key, begun[key])
                    settled = settled if why is None else UnitOutcome(key, UnitStatus.FAILED, failure_to_json(why))
            if key != indexed.version:
                await self._store.revisions.drop(tx, lease.scope, key, indexed.version)
            await self._jobs.settle(tx, lease, INDEX, [settled])
            if self._graph:
                await self._graph.expect(tx, lease, indexed.version)
        return 1

    async def _give_up_index(self, lease: JobLease, units: Sequence[WorkUnit]) -> int:
        failure = Failure("index", FailureReason.CRASHED, "indexing this document ended its worker every time")
        if units:
            async with self._jobs.writing(lease) as tx:
                settled = [UnitOutcome(u.key, UnitStatus.FAILED, failure_to_json(failure)) for u in units]
                await self._jobs.settle(tx, lease, INDEX, settled)
                await self._store.abandon(tx, lease.scope, lease.job, failure, only=[u.key for u in units])
        return len(units)
