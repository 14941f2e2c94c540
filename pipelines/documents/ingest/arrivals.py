"""Intake of a surveyed file: a document with a reason, nothing new, or a version with pages to read."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cluster.basics.errors import LegalHold, Permanent
from cluster.state.corpus import lock_corpus
from cluster.state.work.jobs import JobLease, JobLedger, UnitOutcome, UnitStatus, WorkUnit
from configs.sections import ReadSettings
from pipelines.documents.document import Failure, FailureReason, VersionId, fingerprint_parts, page_id, version_id
from pipelines.documents.extract.reader import fingerprint_with
from pipelines.documents.ingest.job_plan import INDEX, READ, SURVEY
from pipelines.documents.ingest.member_intake import MemberIntake
from pipelines.documents.ingest.outcome import outcome_of
from pipelines.documents.ingest.stages import SurveyResult
from pipelines.documents.store.blobs import BlobStore, Location
from pipelines.documents.store.document_writes import DocumentStore, FileArrival, StoredDocument
from pipelines.documents.store.ocr_languages import fingerprint_in
from pipelines.documents.store.page_codec import caveats_to_json, failure_to_json
from pipelines.documents.store.page_quota import OverQuota
from pipelines.documents.store.reading_options import AS_SET, ReadingOptions, ReextractionRequest

PREVIOUS = "previous"  # of an index unit: the version that a new reading began from


class FileReplaced(Permanent):
    """The file is not the one that the document was last read from; ingest it again."""

    code, status = "file_replaced", 409


@dataclass(frozen=True, slots=True)
class PagePlan:
    """How the pages of a surveyed file are to be read."""

    made: str  # fingerprint of the settings
    arrival: FileArrival
    result: SurveyResult
    ocr: tuple[str, ...]  # the workspace's languages of scans

    def fingerprint(self, options: ReadingOptions) -> str:
        """What a page that is read with these options is marked with."""
        reading = fingerprint_in(self.made, options.languages or self.ocr)
        if options.strategy is not None:
            reading = fingerprint_parts(reading, "strategy", options.strategy)
        return fingerprint_with(reading, self.arrival.encoding)

    def page_fingerprint(self, reading: str, number: int) -> str:
        """That of one page: the first says what the survey found out of the whole file, too."""
        caveats = self.result.unpacked.caveats if number == 1 else ()
        return fingerprint_parts(reading, *caveats) if caveats else reading

    def version_row(self, version: VersionId) -> dict[str, Any]:
        """The version as it is stored."""
        return {"version": version, "page_count": self.result.pages, **self._file_facts()}

    def units(self, version: VersionId, pages: Mapping[int, ReadingOptions]) -> list[WorkUnit]:
        """A unit for each of these pages, which holds all that its reading needs: a resume reads as was asked."""
        facts = {"version": version, "location": self.arrival.location, "mtime_ns": self.result.mtime_ns}
        facts |= {**self._file_facts(), "encoding": self.arrival.encoding, "language": self.arrival.language}
        made: dict[ReadingOptions, tuple[str, dict[str, Any]]] = {}
        for one in set(pages.values()):
            languages = {"ocr": list(one.languages or self.ocr)} if one.languages or self.ocr else {}
            own = {"strategy": one.strategy, "reading": one.as_json()} if one != AS_SET else {}
            made[one] = self.fingerprint(one), {**facts, **languages, **own}
        caveats = caveats_to_json(self.result.unpacked.caveats)
        units = []
        for n, one in pages.items():
            reading, payload = made[one]
            told = {"caveats": caveats} if n == 1 and caveats else {}
            marked = self.page_fingerprint(reading, n)
            units.append(WorkUnit(page_id(version, n), version, marked, {**payload, **told, "number": n}))
        return units

    def _file_facts(self) -> dict[str, Any]:
        return {name: getattr(self.result, name) for name in ("kind", "file_hash", "file_size")}


class ArrivalIntake:
    """Writes what a survey found."""

    def __init__(
        self, jobs: JobLedger, store: DocumentStore, blobs: BlobStore, read: ReadSettings, fingerprint: str
    ) -> None:
        """`fingerprint` is what pages are read with now: those that were read with anything else are read again."""
        self._jobs, self._store, self._blobs = jobs, store, blobs
        self._revisions = store.revisions
        self._most_pages, self._fingerprint = read.tenant_pages, fingerprint
        self.members = MemberIntake(jobs, store, blobs, read)

    async def accept(
        self,
        lease: JobLease,
        arrival: FileArrival,
        result: SurveyResult,
        ocr: Sequence[str] = (),
        asked: ReextractionRequest | None = None,
        languages: tuple[str, ...] = (),
    ) -> None:
        """Write what a survey found: a reason, nothing new, or a version with pages to read.

        Args:
            ocr: the workspace's languages of scans.
            asked: a person's request to read the file again, whatever is stored of it.
            languages: of its scans, where whoever brings the file names them: its pages keep them.
        """
        known = await self._store.known(lease.scope, arrival.document(lease.scope), result.file_hash)
        if arrival.announced and not known.exists:
            async with self._jobs.writing(lease) as tx:
                await self._jobs.settle(tx, lease, SURVEY, [UnitOutcome(result.key, UnitStatus.UNCHANGED)])
            # Deleted before it was read: it stays deleted.
            await asyncio.to_thread(self._blobs.delete, Location(arrival.location))
            return
        if result.failure is not None:
            await self._refuse_file(lease, arrival, result.key, result.failure)
            return
        result = await self.members.limit_tree(lease, arrival, result)
        reading = PagePlan(self._fingerprint, arrival, result, tuple(ocr))
        if arrival.parent is not None:
            asked = None  # it was asked of the container
        try:
            gone = None if asked is None else await self._read_again(lease, reading, asked)
            if gone is None:
                options = ReadingOptions(languages=languages) if asked is None else asked.options
                gone = await self._read_missing(lease, reading, known, options)
            await self.members.remove_bytes(gone)
        except OverQuota as error:
            failure = Failure(SURVEY, FailureReason.TOO_LARGE, f"{error.detail}. {error.hint}")
            # No room for a new reading says nothing of the document that is there.
            beside = asked is not None and known.current_version is not None
            await self._refuse_file(lease, arrival, result.key, failure, told=not beside)
        except FileReplaced as error:
            failure = Failure(SURVEY, FailureReason.CHANGED, error.title)
            await self._refuse_file(lease, arrival, result.key, failure)
        except LegalHold as error:  # the rest of a folder goes on
            failure = Failure(SURVEY, FailureReason.HELD, f"{error.detail}. {error.hint}")
            await self._refuse_file(lease, arrival, result.key, failure, told=False)

    async def _read_missing(
        self, lease: JobLease, plan: PagePlan, known: StoredDocument, default: ReadingOptions
    ) -> list[str]:
        """The pages that are not stored as they would be read now; none where all are.

        Returns:
            Where the bytes are of members that the file does not have any more.
        """
        scope, arrival, result, version = lease.scope, plan.arrival, plan.result, known.version
        options = {n: known.options.get(n, default) for n in range(1, result.pages + 1)}
        if default.languages:  # named anew, they count more than those of an earlier time
            options = {n: replace(one, languages=default.languages) for n, one in options.items()}
        missing = {
            n: one
            for n, one in options.items()
            if known.read_with.get(n) != plan.page_fingerprint(plan.fingerprint(one), n)
        }
        gone: list[str] = []
        if known.current_version == version and known.settled and not missing:
            outcome = outcome_of(known.status)
            same = UnitOutcome(result.key, UnitStatus.UNCHANGED, None, outcome, known.caveats if outcome else ())
            async with self._jobs.writing(lease) as tx:
                await self._store.link(tx, scope, arrival)
                gone = await self.members.expect_members(tx, lease, arrival, result)
                await self._jobs.settle(tx, lease, SURVEY, [same])
            return gone
        async with self._jobs.writing(lease) as tx:
            if not known.read_with.keys().isdisjoint(missing):
                await self._store.require_not_held(tx, scope, arrival.document(scope))
            there = await self._store.add(tx, scope, arrival, plan.version_row(version), self._most_pages)
            if there:
                if known.current_version not in (None, version):
                    await self._revisions.drop_abandoned(tx, scope, arrival.document(scope))
                await self._jobs.expect(tx, lease, READ, plan.units(version, missing))
                await self._jobs.expect(tx, lease, INDEX, [WorkUnit(version, version)])
                gone = await self.members.expect_members(tx, lease, arrival, result)
            status = UnitStatus.DONE if there else UnitStatus.UNCHANGED
            await self._jobs.settle(tx, lease, SURVEY, [UnitOutcome(result.key, status)])
        return gone

    async def _read_again(self, lease: JobLease, plan: "PagePlan", asked: ReextractionRequest) -> list[str] | None:
        """A version beside the one that readers see, with the pages asked for to read; None where there was none yet.

        Returns:
            As `_read_missing`.

        Raises:
            FileReplaced: these are not the bytes that the document was last read from.
            OverQuota: its pages are too many.
        """
        scope, result = lease.scope, plan.result
        document = plan.arrival.document(scope)
        version = version_id(document, result.file_hash, lease.job)
        async with self._jobs.writing(lease) as tx:
            await lock_corpus(tx, scope)
            base = await self._revisions.base(tx, scope, document)
            if base is None:
                return None
            if base["file_hash"] != result.file_hash:
                raise FileReplaced
            count = result.pages
            # Pages that are cut in another way now are not those that were: then all are read.
            some = asked.page_numbers(count) if count == base["page_count"] else range(1, count + 1)
            kept = sorted(set(range(1, count + 1)).difference(some))
            row = plan.version_row(version) | {"location": plan.arrival.location}
            there = await self._revisions.open(
                tx, scope, document, row, base=VersionId(base["id"]), kept=kept, most_pages=self._most_pages
            )
            numbers = {n: asked.options for n in range(1, count + 1) if n not in there}
            await self._jobs.expect(tx, lease, READ, plan.units(version, numbers))
            await self._jobs.expect(tx, lease, INDEX, [WorkUnit(version, version, payload={PREVIOUS: base["id"]})])
            gone = await self.members.expect_members(tx, lease, plan.arrival, result)
            await self._jobs.settle(tx, lease, SURVEY, [UnitOutcome(result.key, UnitStatus.DONE)])
        return gone

    async def _refuse_file(
        self, lease: JobLease, arrival: FileArrival, key: str, failure: Failure, *, told: bool = True
    ) -> None:
        """A file that is not taken is a document with a reason, where its document is to be told."""
        async with self._jobs.writing(lease) as tx:
            if told:
                await self._store.fail(tx, lease.scope, arrival, failure)
            await self._jobs.settle(tx, lease, SURVEY, [UnitOutcome(key, UnitStatus.FAILED, failure_to_json(failure))])


def readings_by_base(units: Sequence[WorkUnit]) -> dict[str, str]:
    """New readings among index units, by the version that each began from."""
    return {unit.key: str(unit.payload[PREVIOUS]) for unit in units if PREVIOUS in unit.payload}
