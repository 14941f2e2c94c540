"""The plan of a job: which files or versions it is about, written as units before any work starts."""

import asyncio
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from cluster.basics.errors import Invalid, NotFound
from cluster.state.work.jobs import ClaimedJob, JobLane, JobLease, JobLedger, WorkUnit
from pipelines.documents.document import DocumentId
from pipelines.documents.graph.graph_stage import GraphStage
from pipelines.documents.index.generations import IndexGenerations, IndexRecipe
from pipelines.documents.index.rebuild import IndexRebuild
from pipelines.documents.sources.files import iter_files, real_within
from pipelines.documents.store.blobs import location_of

SURVEY, READ, INDEX = "survey", "read", "index"
UNITS_A_WRITE = 1000


class JobPlanner:
    """Writes the units a job begins with; a plan that was interrupted is made again, and units are written once."""

    def __init__(
        self,
        jobs: JobLedger,
        generations: IndexGenerations,
        rebuild: IndexRebuild,
        graph: GraphStage | None = None,
        *,
        partition_files: int,
    ) -> None:
        """A folder of more than `partition_files` is cut into partitions of so many."""
        self._jobs, self._generations, self._rebuild, self._graph = jobs, generations, rebuild, graph
        self._partition_files = partition_files

    async def plan(self, job: ClaimedJob, recipe: IndexRecipe) -> Mapping[str, Any]:
        """Write the units and return what is to be added to the job's payload.

        Raises:
            Invalid: a kind of job this worker does not know.
            NotFound: the folder or the document is not there.
        """
        found: dict[str, Any] = {}
        match job.kind:
            case "upload" | "process" if "files" in job.payload:
                await self._expect_units(job.lease, SURVEY, [_survey_unit(**file) for file in job.payload["files"]])
            case "scan":
                found["passed_over"] = await self._scan_folder(job.lease, Path(job.payload["root"]), job.lane)
            case "reindex" if job.payload.get("agent_id") is None:
                found["generation"], taken_over = await self._rebuild.begin(job.lease, recipe)
                kept = found["generation"] if taken_over else None
                await self._plan_versions(job.lease, agent=None, only_pending=False, kept=kept)
            case "reindex" | "embed":
                pending = job.kind == "embed"
                await self._plan_versions(job.lease, agent=job.payload.get("agent_id"), only_pending=pending)
            case "process":  # queued by a version of this program that did not read the file again
                await self._plan_document(job.lease, DocumentId(job.payload["document_id"]))
            case "graph":
                await self._plan_graph(job.lease, DocumentId(job.payload["document_id"]))
            case _:
                raise Invalid(f"no worker knows jobs of kind {job.kind}")
        async with self._jobs.writing(job.lease) as tx:
            return await self._jobs.planned(tx, job.lease, found)

    async def _scan_folder(self, lease: JobLease, root: Path, lane: JobLane) -> Mapping[str, int]:
        """Write a unit for each file, in partitions of so many; what was passed over, by kind."""
        passed: Counter[str] = Counter()
        found: Iterator[Path] = iter_files(root, passed=passed)
        files, size = 0, self._partition_files if lane is JobLane.BULK else sys.maxsize  # other lanes claim whole jobs
        while True:
            room = min(UNITS_A_WRITE, size - files % size)  # a partition ends with a write
            batch = await asyncio.to_thread(lambda: [_file_unit(root, one) for one in islice(found, room)])  # noqa: B023
            if not batch:
                return dict(passed)
            await self._expect_units(lease, SURVEY, batch, partition=files // size)
            files += len(batch)

    async def _plan_versions(
        self, lease: JobLease, *, agent: str | None, only_pending: bool, kept: int | None = None
    ) -> None:
        """`kept` is a generation: what it holds as it is now is not done again."""
        after = ""
        while rows := await self._generations.to_index(
            lease.scope, agent=agent, only_pending=only_pending, kept=kept, after=after, limit=UNITS_A_WRITE
        ):
            await self._expect_units(lease, INDEX, [WorkUnit(row["version_id"], row["version_id"]) for row in rows])
            after = rows[-1]["document_id"]

    async def _plan_document(self, lease: JobLease, document: DocumentId) -> None:
        version = await self._generations.current_version(lease.scope, document)
        if version is None:
            raise NotFound(f"document {document} has nothing that was read", fix="Ingest its file again.")
        await self._expect_units(lease, INDEX, [WorkUnit(version, version)])

    async def _plan_graph(self, lease: JobLease, document: DocumentId) -> None:
        """Only the graph, of a document whose text was corrected; its index is as it should be."""
        version = await self._generations.current_version(lease.scope, document)
        if version is not None and self._graph is not None:
            async with self._jobs.writing(lease) as tx:
                await self._graph.expect(tx, lease, version)

    async def _expect_units(
        self, lease: JobLease, stage: str, units: list[WorkUnit], partition: int | None = None
    ) -> None:
        async with self._jobs.writing(lease) as tx:
            await self._jobs.expect(tx, lease, stage, units, partition)


def _file_unit(root: Path, path: Path) -> WorkUnit:
    """The document is that of the name that was found; its bytes are read by a path without links."""
    location = location_of(real_within(root, path) or path)
    return _survey_unit(location_of(path), path.name.encode("utf-8", "backslashreplace").decode(), location)


def _survey_unit(origin: str, filename: str, location: str) -> WorkUnit:
    return WorkUnit(origin, origin, payload={"origin": origin, "filename": filename, "location": location})
