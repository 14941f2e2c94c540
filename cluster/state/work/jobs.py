"""The durable ledger: Ray computes, these rows decide what is done. It knows opaque unit keys, no documents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from json import dumps
from typing import Any, ClassVar, NewType

from psycopg.types.json import Jsonb

from cluster.basics.errors import Conflict, LeaseLost
from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database, Row, Transaction
from cluster.state.work import wait_reasons
from cluster.state.work.job_counters import JobCounters, read_job_counters
from cluster.state.work.job_events import append_event
from cluster.state.work.job_partitions import FAILING, PARTITIONS, JobPartition, JobPartitions
from cluster.state.work.lease import Lease, LeaseLedger, worker_scope

JobId = NewType("JobId", str)


class JobLane(StrEnum):
    """Small uploads are served before bulk, and those that are slow apart from those that are not."""

    SMALL = "small"
    SYNC = "sync"  # listings of sources: rights and removals do not wait behind bytes
    SLOW = "slow"  # one file or page of it costs more than others may wait for
    BULK = "bulk"


class JobState(StrEnum):
    """The state of a job; the last four are ends."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    PARTIAL = "partial"
    FAILED = "failed"
    CANCELLED = "cancelled"


class UnitStatus(StrEnum):
    """The status of a unit."""

    PENDING = "pending"
    DONE = "done"
    FAILED = "failed"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class WorkUnit:
    """A piece of work that is done once.

    Attributes:
        key: names it within its job and stage.
        subject: what it belongs to; a later stage waits until its subject is settled in the one before.
        fingerprint: engine versions and settings it is to be done with.
        payload: whatever the stage needs; opaque here.
        attempts: how often it was begun.
    """

    key: str
    subject: str
    fingerprint: str = ""
    payload: Mapping[str, Any] = field(default_factory=dict)
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class UnitOutcome:
    """The end of a unit.

    Attributes:
        outcome: `degraded`, `partial` or `failed` where what it came to is doubtful, incomplete or nothing.
        caveats: why.
    """

    key: str
    status: UnitStatus
    failure: Mapping[str, Any] | None = None
    outcome: str | None = None
    caveats: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class JobLease(Lease):
    """The right to write for a job, or for one partition of it."""

    noun: ClassVar[str] = "job"
    partition: JobPartition | None = None

    @property
    def job(self) -> JobId:
        """The job's id."""
        return JobId(self.id)

    @property
    def values(self) -> dict[str, Any]:
        """As in Lease; the units of a job that has no partitions are in number 0."""
        part = self.partition or JobPartition(0, 0)
        named = super(JobLease, self).values  # in a dataclass with slots there is no other way to say it
        return {**named, "partition": part.number, "token": part.fence}

    def query_name(self, name: str) -> str:
        """As in Lease."""
        return name if self.partition is None else f"{name}_partition"

    @property
    def claim(self) -> tuple[str | int, ...]:
        """Names this claim, unlike any other of the job or of a partition of it."""
        return (self.id, self.fence, *(() if self.partition is None else (self.partition.number, self.partition.fence)))


@dataclass(frozen=True, slots=True)
class ClaimedJob:
    """A claimed job, or a partition of one."""

    lease: JobLease
    kind: str
    lane: JobLane
    planned: bool
    payload: Mapping[str, Any]
    created_by: str | None
    cancelling: bool = False

    @property
    def failing(self) -> str | None:
        """Why it is to be cancelled, where that is an error that somebody has met who works at it."""
        return self.payload.get(FAILING)


@dataclass(frozen=True, slots=True)
class EnqueuedJob:
    """The job that answers a request; `fresh` is False where the idempotency key was known."""

    job: JobId
    fresh: bool


def _hash_request(kind: str, request: Mapping[str, Any]) -> str:
    return sha256(dumps([kind, request], sort_keys=True).encode()).hexdigest()


def _same_request(row: Row, request_hash: str) -> EnqueuedJob:
    if row["request_hash"] != request_hash:
        raise Conflict("this Idempotency-Key belongs to another request", fix="Use a new key for a new request.")
    return EnqueuedJob(JobId(str(row["id"])), bool(row["fresh"]))


class JobLedger(LeaseLedger[JobLease], queries="jobs.sql"):
    """Every statement about jobs and units."""

    _lease_type = JobLease

    def __init__(self, database: Database) -> None:
        """Nothing is asked yet."""
        super().__init__(database)
        self.partitions = JobPartitions(database)

    async def enqueue(
        self,
        tx: Transaction,
        scope: Scope,
        kind: str,
        lane: JobLane,
        payload: Mapping[str, Any],
        key: str | None = None,
        request: Mapping[str, Any] | None = None,
    ) -> EnqueuedJob:
        """Add a job in the caller's transaction.

        Args:
            request: what was asked for, where the payload also has what was found out since.

        Raises Conflict where the idempotency key was used before with another request.
        """
        request_hash = _hash_request(kind, payload if request is None else request)
        job_values = {"kind": kind, "lane": lane, "payload": Jsonb(payload), "key": key, "request_hash": request_hash}
        row = await tx.one(self._sql["enqueue"], **scope.keys, user=scope.user, **job_values)
        if row is None:
            raise Conflict("the same request is being stored right now", fix="Send it again in a moment.")
        found = _same_request(row, request_hash)
        if row["fresh"]:
            await append_event(tx, self._sql["event"], found.job, "queued", {"kind": kind})
        return found

    async def find_enqueued(
        self, tx: Transaction, scope: Scope, kind: str, request: Mapping[str, Any], key: str
    ) -> EnqueuedJob | None:
        """The job that this request started before; None where there is none.

        Raises Conflict where the idempotency key was used before with another request.
        """
        row = await tx.one(self._sql["enqueued"], workspace=scope.workspace, key=key)
        return None if row is None else _same_request(row, _hash_request(kind, request))

    async def claim(self, owner: str, lane: JobLane, lease_seconds: float) -> ClaimedJob | None:
        """Take the next job of the lane, or one whose lease has run out; None where nothing waits.

        In bulk also a partition: of the job that is next, or of one that others work at.
        """
        leases = await self._claim_leases(owner=owner, lane=lane, lease=lease_seconds)
        job = await self._load(leases[0]) if leases else None
        if lane is not JobLane.BULK or (job is not None and (job.cancelling or PARTITIONS not in job.payload)):
            return job
        row = await self.partitions.claim(owner, lane, lease_seconds, None if job is None else job.lease.job)
        if row is not None:
            part = JobPartition(row["partition"], row["token"])
            return await self._load(JobLease(str(row["id"]), worker_scope(row), row["fence"], part))
        if job is None or not await self.open_units(job.lease):
            return job  # with nothing left it is only to be ended
        # Others have what is left of it, and keep its lease, too.
        await self.partitions.look_again(job.lease.scope, job.lease.values)
        return None

    async def expect(
        self, tx: Transaction, lease: JobLease, stage: str, units: Sequence[WorkUnit], partition: int | None = None
    ) -> int:
        """Write units that are to be done, of the lease's partition or another, and return how many are new."""
        if not units:
            return 0
        values = lease.values if partition is None else {**lease.values, "partition": partition}
        added = await tx.run(
            self._sql["expect"],
            **values,
            stage=stage,
            keys=[u.key for u in units],
            subjects=[u.subject for u in units],
            fingerprints=[u.fingerprint for u in units],
            payloads=[Jsonb(u.payload) for u in units],
        )
        await tx.run(self._sql["count_expected"], **lease.values, stage=stage, count=added)
        return added

    async def planned(self, tx: Transaction, lease: JobLease, found: Mapping[str, Any]) -> Mapping[str, Any]:
        """The plan is complete: a resume does not make it again, and finds what it found in the payload.

        Returns what was found, with `PARTITIONS` where it has some: from now on those are claimed, and not the job.
        """
        found = {**found, **await self.partitions.plan(tx, lease.values)}
        await tx.run(self._sql["planned"], **lease.values, found=Jsonb(found))
        return found

    async def pending(self, lease: JobLease, stage: str, limit: int, *, after: str | None = None) -> list[WorkUnit]:
        """The next units of a stage; with `after`, only those whose subject is settled in that stage."""
        async with self._db.transaction(lease.scope) as tx:
            if after is None:
                rows = await tx.all(self._sql["pending"], **lease.values, stage=stage, limit=limit)
            else:
                rows = await tx.all(self._sql["pending_ready"], **lease.values, stage=stage, before=after, limit=limit)
        return [WorkUnit(r["key"], r["subject"], r["fingerprint"], r["payload"], r["attempts"]) for r in rows]

    async def begin(self, lease: JobLease, stage: str, units: Sequence[WorkUnit]) -> None:
        """Count an attempt for each unit before the work starts."""
        async with self.writing(lease) as tx:
            await tx.run(self._sql["begin_units"], **lease.values, stage=stage, keys=[u.key for u in units])

    async def refund(self, lease: JobLease, stage: str, keys: Sequence[str]) -> None:
        """Give back the attempt of units that were begun and not touched."""
        if keys:
            async with self.writing(lease) as tx:
                await tx.run(self._sql["refund"], **lease.values, stage=stage, keys=list(keys))

    async def reopen(self, tx: Transaction, lease: JobLease, stage: str, subjects: list[str] | None) -> None:
        """Do a stage again over subjects that it was done over, None for all of them."""
        await tx.run(self._sql["reopen_subjects"], **lease.values, stage=stage, subjects=subjects)

    async def settle(self, tx: Transaction, lease: JobLease, stage: str, settled: Sequence[UnitOutcome]) -> None:
        """Mark units in the transaction that wrote their outputs."""
        if settled:
            await tx.run(
                self._sql["settle"],
                **lease.values,
                stage=stage,
                keys=[s.key for s in settled],
                statuses=[str(s.status) for s in settled],
                failures=[None if s.failure is None else Jsonb(s.failure) for s in settled],
                outcomes=[s.outcome for s in settled],
                caveats=[Jsonb(list(s.caveats)) if s.caveats else None for s in settled],
            )

    async def finish(
        self, lease: JobLease, state: JobState, error: str | None = None, told: Mapping[str, Any] | None = None
    ) -> None:
        """Give the job its end, if the lease still holds; readers hear counters, error, and what they are `told`."""
        async with self.writing(lease) as tx:
            await tx.run(self._sql["finish"], **lease.values, state=state, error=error)
            counts = (await read_job_counters(tx, self._sql["progress"], lease.scope, lease.job)).progress
            heard = {**counts, **(told or {}), **({} if error is None else {"error": error})}
            await append_event(tx, self._sql["event"], lease.job, str(state), heard)

    async def append(self, tx: Transaction, job: str, kind: str, payload: Mapping[str, Any]) -> None:
        """Tell the job's readers something in the transaction in which it is so."""
        await append_event(tx, self._sql["event"], job, kind, payload)

    async def note(self, lease: JobLease, kind: str, payload: Mapping[str, Any]) -> None:
        """Tell the job's readers something; it settles nothing, so a lease that was lost may still say so."""
        async with self._db.transaction(lease.scope) as tx:
            await append_event(tx, self._sql["event"], lease.job, kind, payload)

    async def tally(self, lease: JobLease) -> JobCounters:
        """Both kinds of counters of a job."""
        async with self._db.transaction(lease.scope) as tx:
            return await read_job_counters(tx, self._sql["progress"], lease.scope, lease.job)

    async def open_units(self, lease: JobLease) -> int:
        """The number of units that are neither done, failed nor unchanged."""
        return (await self.tally(lease)).open_units

    async def move(self, lease: JobLease, lane: JobLane) -> None:
        """Let a job that turned out large wait in another lane."""
        async with self.writing(lease) as tx:
            await tx.run(self._sql["move"], **lease.values, lane=lane)

    async def reload(self, job: ClaimedJob) -> ClaimedJob:
        """The same lease, with the plan as it is stored now."""
        return await self._load(job.lease)

    async def _load(self, lease: JobLease) -> ClaimedJob:
        async with self._db.transaction(lease.scope) as tx:
            row = await tx.one(self._sql["load"], **lease.values)
        if row is None:
            raise LeaseLost(f"job {lease.job} is gone")
        creator = None if row["created_by"] is None else str(row["created_by"])
        planned, lane = row["phase"] == "run", JobLane(row["lane"])
        return ClaimedJob(lease, row["kind"], lane, planned, row["payload"], creator, row["cancel_requested"])

    async def release(
        self,
        lease: JobLease,
        *,
        behind: bool = False,
        kept: bool = False,
        untouched: bool = False,
        waiting: str | None = None,
        rest: float | None = None,
    ) -> None:
        """Put the job back in the queue with what is done kept.

        It goes `behind` those that wait already, or has its place by age `kept`; where it is `untouched`, what was
        begun may have cost no attempt. Its readers hear of each other thing that it is `waiting` for, as `wait_reasons`
        writes it. Nobody takes it for so many seconds of `rest`. Of a job with partitions only this one is given back,
        unless it is the last that somebody had.
        """
        async with self._db.transaction(lease.scope) as tx:
            if await tx.one(self._sql[lease.query_name("hold")], **lease.values) is None:
                return
            if untouched:
                await tx.run(self._sql["refund_begun"], **lease.values)
            if lease.partition is not None:
                await self.partitions.give_back(tx, lease.values)
            before = await tx.one(self._sql["waiting"], **lease.values)
            given = {"behind": behind, "waiting": waiting, "rest": rest, "kept": kept}
            released = await tx.run(self._sql[lease.query_name("release")], **lease.values, **given)
            reason, why = wait_reasons.parse_reason(waiting)
            if released and waiting and before and (reason, why) != wait_reasons.parse_reason(before["waiting"]):
                await append_event(tx, self._sql["event"], lease.job, "waiting", {"for": reason, "why": why})

    async def wake(self, tx: Transaction, scope: Scope, job: JobId) -> None:
        """A job that rests is taken at once: somebody asks for it."""
        await tx.run(self._sql["wake"], job=job, workspace=scope.workspace)

    async def seen(self, owner: str, lane: JobLane, waits_for: str | None) -> None:
        """A worker takes jobs of this lane, or is kept from it by something."""
        async with self._db.transaction() as tx:
            await tx.run(self._sql["seen"], owner=owner, lane=lane, waits_for=waits_for)

    async def claimed_in_vain(self, lease: JobLease) -> int:
        """Count a claim that settled nothing; how many there were in a row. 0 where the lease is lost."""
        async with self._db.transaction(lease.scope) as tx:
            row = await tx.one(self._sql["claimed_in_vain"], **lease.values)
        return 0 if row is None else int(row["vain_claims"])

    async def end_turn(self, job: ClaimedJob, units: int) -> bool:
        """Count what tenant and workspace were served (units, or seconds where those are more); as `others_wait`."""
        keys = job.lease.scope.keys
        async with self._db.transaction(job.lease.scope) as tx:
            await tx.run(self._sql["turn_done"], **job.lease.values)
            await self.partitions.worked(tx, job.lease.values)
            await tx.run(self._sql["turn"], **keys, lane=job.lane, units=units)
            return await self._others_wait(tx, job)

    async def others_wait(self, job: ClaimedJob) -> bool:
        """True where another workspace, of whatever tenant, waits for a turn in the job's lane."""
        async with self._db.transaction(job.lease.scope) as tx:
            return await self._others_wait(tx, job)

    async def _others_wait(self, tx: Transaction, job: ClaimedJob) -> bool:
        query = self._sql[job.lease.query_name("others_wait")]
        return bool((await tx.only(query, **job.lease.values, lane=job.lane))["waits"])
