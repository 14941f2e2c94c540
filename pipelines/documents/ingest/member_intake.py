"""Intake of a container's members: their bytes are kept, and each is a file of the same job that waits to be read."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

from cluster.basics.scope import Scope
from cluster.state.db.postgres import Transaction
from cluster.state.work.jobs import JobLease, JobLedger, WorkUnit
from configs.sections import ReadSettings
from pipelines.documents.document import document_id, fingerprint_parts
from pipelines.documents.extract.containers.unpacked import CONTAINERS, UnpackedMember, unread_members
from pipelines.documents.ingest.job_plan import SURVEY
from pipelines.documents.ingest.stages import FileTask, SurveyResult
from pipelines.documents.sources.sniff import Kind
from pipelines.documents.store.blobs import BlobStore, Location
from pipelines.documents.store.document_writes import DocumentStore, FileArrival
from pipelines.documents.store.members import WITHIN, MemberArrival


class MemberIntake:
    """Takes what a survey unpacked into the job that surveys it."""

    def __init__(self, jobs: JobLedger, store: DocumentStore, blobs: BlobStore, read: ReadSettings) -> None:
        """Collaborators are injected."""
        self._jobs, self._store, self._blobs, self._read = jobs, store, blobs, read

    def file_task(self, lease: JobLease, key: str, arrival: FileArrival) -> FileTask:
        """The survey of a file; one that is too deep in containers has no folder to be unpacked to."""
        path = self._blobs.reference(Location(arrival.location))
        staging = str(self._staging(lease, key)) if arrival.depth < self._read.archive_depth else ""
        return FileTask(key, path, arrival.filename, arrival.encoding, arrival.language, staging)

    async def discard_staging(self, lease: JobLease, result: SurveyResult) -> None:
        """Whatever was unpacked and not taken goes, and the folder made for it."""
        if result.kind in CONTAINERS:
            await asyncio.to_thread(self._blobs.discard, self._staging(lease, result.key))

    async def limit_tree(self, lease: JobLease, arrival: FileArrival, result: SurveyResult) -> SurveyResult:
        """The result without members for which a container's outermost one has no room; its caveats name them."""
        members = result.unpacked.members
        if not members or not arrival.depth:
            return result
        used = await self._store.tree_usage(lease.scope, lease.job, arrival.document(lease.scope))
        sizes = accumulate(one.size for one in members)
        fits = [
            used.members + count <= self._read.archive_members and used.bytes + size <= self._read.max_unpacked_bytes
            for count, size in enumerate(sizes, 1)
        ]
        left = [f"{one.path} (the outermost container has no room for more)" for one in members[sum(fits) :]]
        told = unread_members(Kind(result.kind), left)
        caveats = (*result.unpacked.caveats, *((told,) if told else ()))
        whole = result.unpacked.whole and not left
        unpacked = replace(result.unpacked, members=members[: sum(fits)], caveats=caveats, whole=whole)
        return replace(result, unpacked=unpacked)

    async def expect_members(
        self, tx: Transaction, lease: JobLease, arrival: FileArrival, result: SurveyResult
    ) -> list[str]:
        """In the transaction that settles the container: announce its members as files of the job to survey, and delete
        those that it does not have any more.

        Returns:
            Where the bytes of those are, to be removed once the transaction has ended.
        """
        scope, unpacked = lease.scope, result.unpacked
        parent = arrival.document(scope)
        gone: list[str] = []
        if unpacked.whole:
            kept = [document_id(scope.workspace, _origin_of(arrival, one)) for one in unpacked.members]
            gone = await self._store.members.drop_missing(tx, scope, parent, kept)
        if unpacked.members:
            members = await asyncio.to_thread(self._keep_bytes, scope, arrival, unpacked.members)
            await self._store.members.announce(tx, scope, parent, members)
            await self._jobs.expect(tx, lease, SURVEY, [_member_unit(parent, one) for one in members])
        return gone

    async def remove_bytes(self, locations: Sequence[str]) -> None:
        """Bytes of documents that are gone."""
        for location in locations:
            await asyncio.to_thread(self._blobs.delete, Location(location))

    def _keep_bytes(self, scope: Scope, arrival: FileArrival, members: Sequence[UnpackedMember]) -> list[MemberArrival]:
        """Under a key of document and content: who does it again comes to the same, and no two documents share one."""
        kept = []
        for one in members:
            origin = _origin_of(arrival, one)
            key = f"{document_id(scope.workspace, origin)}-{one.file_hash}"
            location = self._blobs.adopt(scope.tenant, scope.workspace, one.staged, key)
            kept.append(MemberArrival(origin, one.filename, location, one.size))
        return kept

    def _staging(self, lease: JobLease, key: str) -> Path:
        """Each claim of a job has its own, so that a worker that wakes too late is in nobody's way."""
        name = fingerprint_parts(*lease.claim, key)
        return self._blobs.staging(lease.scope.tenant, lease.scope.workspace, name)


def _origin_of(arrival: FileArrival, member: UnpackedMember) -> str:
    return f"{arrival.origin}{WITHIN}{member.path}"


def _member_unit(parent: str, member: MemberArrival) -> WorkUnit:
    payload = {"origin": member.origin, "filename": member.filename, "location": member.location}
    return WorkUnit(member.origin, member.origin, payload={**payload, "parent": parent, "size": member.size})
