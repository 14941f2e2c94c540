"""Intake of a surveyed file: a document with a reason, nothing new, or a version with pages to read."""

from collections.abc import Sequence
from typing import Any

from cluster.state.work.jobs import JobLease, JobLedger, UnitOutcome, UnitStatus, WorkUnit
from configs.sections import ReadSettings
from pipelines.documents.document import Failure, FailureReason, page_id, version_id
from pipelines.documents.extract.reader import fingerprint_with
from pipelines.documents.ingest.job_plan import INDEX, READ, SURVEY
from pipelines.documents.ingest.outcome import outcome_of
from pipelines.documents.ingest.stages import SurveyResult
from pipelines.documents.store.blobs import BlobStore, Location
from pipelines.documents.store.document_writes import DocumentStore, FileArrival
from pipelines.documents.store.ocr_languages import fingerprint_in
from pipelines.documents.store.page_codec import failure_to_json
from pipelines.documents.store.page_quota import OverQuota


class ArrivalIntake:
    """Writes what a survey found."""

    def __init__(
        self, jobs: JobLedger, store: DocumentStore, blobs: BlobStore, read: ReadSettings, fingerprint: str
    ) -> None:
        """`fingerprint` is what pages are read with now: those that were read with anything else are read again."""
        self._jobs, self._store, self._blobs = jobs, store, blobs
        self._most_pages, self._fingerprint = read.tenant_pages, fingerprint

    async def accept(
        self, lease: JobLease, arrival: FileArrival, result: SurveyResult, ocr: Sequence[str] = ()
    ) -> None:
        """Write what a survey found: a reason, nothing new, or a version with pages to read (scans in `ocr`)."""
        reading = fingerprint_with(fingerprint_in(self._fingerprint, ocr), arrival.encoding)
        scope, document = lease.scope, arrival.document(lease.scope)
        version = version_id(document, result.file_hash)
        known = await self._store.known(scope, document, version)
        if (arrival.refresh or arrival.source_type == "upload") and not known.exists:
            async with self._jobs.writing(lease) as tx:
                await self._jobs.settle(tx, lease, SURVEY, [UnitOutcome(result.key, UnitStatus.UNCHANGED)])
            self._blobs.delete(Location(arrival.location))  # deleted before it was read: it stays deleted
            return
        if result.failure is not None:
            await self._refuse_file(lease, arrival, result.key, result.failure)
            return
        missing = [n for n in range(1, result.pages + 1) if known.read_with.get(n) != reading]
        if known.current_version == version and known.settled and not missing:
            outcome = outcome_of(known.status)
            same = UnitOutcome(result.key, UnitStatus.UNCHANGED, None, outcome, known.caveats if outcome else ())
            async with self._jobs.writing(lease) as tx:
                await self._store.link(tx, scope, arrival)
                await self._jobs.settle(tx, lease, SURVEY, [same])
            return
        facts = {"kind": result.kind, "file_hash": result.file_hash, "file_size": result.file_size}
        row = {"version": version, "page_count": result.pages, **facts}
        page_facts: dict[str, Any] = {"version": version, "location": arrival.location, "mtime_ns": result.mtime_ns}
        page_facts |= {**facts, "encoding": arrival.encoding, "language": arrival.language}
        if ocr:
            page_facts["ocr"] = list(ocr)
        pages = [WorkUnit(page_id(version, n), version, reading, {**page_facts, "number": n}) for n in missing]
        try:
            async with self._jobs.writing(lease) as tx:
                there = await self._store.add(tx, scope, arrival, row, self._most_pages)
                if there:
                    await self._jobs.expect(tx, lease, READ, pages)
                    await self._jobs.expect(tx, lease, INDEX, [WorkUnit(version, version)])
                status = UnitStatus.DONE if there else UnitStatus.UNCHANGED
                await self._jobs.settle(tx, lease, SURVEY, [UnitOutcome(result.key, status)])
        except OverQuota as error:
            failure = Failure(SURVEY, FailureReason.TOO_LARGE, f"{error.detail}. {error.hint}")
            await self._refuse_file(lease, arrival, result.key, failure)

    async def _refuse_file(self, lease: JobLease, arrival: FileArrival, key: str, failure: Failure) -> None:
        """A file that is not taken is a document with a reason."""
        async with self._jobs.writing(lease) as tx:
            await self._store.fail(tx, lease.scope, arrival, failure)
            await self._jobs.settle(tx, lease, SURVEY, [UnitOutcome(key, UnitStatus.FAILED, failure_to_json(failure))])
