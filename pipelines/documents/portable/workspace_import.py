"""The import of a workspace: checked, planned, written document by document, so that a later run goes on with it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, cast, get_args

from cluster.basics.scope import Scope
from cluster.models.embedding.migration import vector_space_of
from cluster.models.ports import EmbedderFacts
from cluster.state.audit import AuditLog
from cluster.state.corpus import lock_corpus
from cluster.state.db.postgres import Database, Transaction, load_queries
from cluster.state.work.jobs import JobLane, JobLedger
from configs.sections import ChunkSettings, ChunkStrategy
from pipelines.documents.chunk.split import chunker_fingerprint
from pipelines.documents.index.generations import IndexGenerations, IndexRecipe, WriteTarget
from pipelines.documents.portable.blob_files import check_blob
from pipelines.documents.portable.document_import import DocumentImport, PartRows
from pipelines.documents.portable.export_manifest import VectorSpaceFacts, VerifiedExport
from pipelines.documents.portable.import_plan import (
    Fate,
    ImportPlan,
    Placement,
    make_plan,
    mapped_uuid,
    plan_counts,
    whole_rows,
)
from pipelines.documents.portable.parquet_files import part_rows
from pipelines.documents.privacy.page_masks import DocumentPolicy
from pipelines.documents.store.blobs import BlobStore
from pipelines.documents.store.chunk_strategies import ChunkStrategies, with_strategy
from pipelines.documents.store.page_quota import OverQuota, pages_left

SQL = load_queries(Path(__file__).with_suffix(".sql"))
_AT_ONCE: Final = 1_000


class KeptReaders(StrEnum):
    """The readers of a document whose bytes are there already."""

    TARGET = "target"  # those that it has
    KEEP = "keep"  # those that were brought, too


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What became of it; `embed_job` embeds what came without vectors of the space here."""

    plan: ImportPlan
    written: int
    vectors: str  # `kept`, `anew`, or `none` where the export has no index
    skills: list[dict[str, Any]]  # that agents had, and which somebody has to give them here
    embed_job: str | None = None

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "documents": plan_counts(self.plan),
            "pages": self.plan.pages,
            "written": self.written,
            "vectors": self.vectors,
            "embed_job": self.embed_job,
            "conflicts": self.plan.conflicts,
            "unknown_readers": sorted(self.plan.names.unknown),
            "skills_to_attach": self.skills,
        }


@dataclass(frozen=True, slots=True)
class WorkspaceImport:
    """Writes an export into a workspace under its scope; row-level security holds.

    Attributes:
        facts: asks the embedder here what it is; only where the workspace has no index yet.
        most_pages: that all documents of the tenant may have together.
        exact_scope: rows from which an index gets a graph.
        step: told of each thing that is done.
    """

    database: Database
    scope: Scope
    blobs: BlobStore
    policy: DocumentPolicy
    chunk: ChunkSettings
    facts: Callable[[], Awaitable[EmbedderFacts]]
    most_pages: int
    exact_scope: int
    step: Callable[[str], None] = lambda _: None

    async def dry_run(self, export: VerifiedExport, *, merge: bool) -> ImportResult:
        """What would become of it; nothing is written. Raises as `run`."""
        plan = await self._checked_plan(export, merge)
        _, vectors = await self._judge_vectors(export, plan, merge)
        return ImportResult(plan, 0, vectors, _skills_of(export))

    async def run(self, export: VerifiedExport, *, merge: bool, readers: KeptReaders) -> ImportResult:
        """Write what is not there yet.

        Raises NotFound, WorkspaceNotEmpty, BrokenExport, OverQuota, DiskFull, GenerationMoved.
        """
        plan = await self._checked_plan(export, merge)
        if readers is KeptReaders.TARGET:
            plan.placements = {old: _without_readers(one) for old, one in plan.placements.items()}
        recipe, vectors = await self._judge_vectors(export, plan, merge)
        await self._write_workspace(export, plan, merge)
        target = await self._target(recipe, vectors, plan)
        writer = DocumentImport(
            self.database, self.scope, self.blobs, export, plan, target, self.most_pages, self.policy
        )
        written = 0
        for part in export.manifest.parts:
            rows = PartRows(export, part)
            for row in rows.documents():
                placed = plan.placements[row["document_id"]]
                if placed.fate is Fate.NEW:
                    written += await writer.write(rows, row)
                elif placed.fate is Fate.SAME:
                    await writer.link(rows, row["document_id"], placed)
                self.step(f"document {row['document_id']}")
            rows.require_end()
        await self._put_parents(export, plan)
        await IndexGenerations(self.database).grow(self.scope, target.generation, self.exact_scope)
        return ImportResult(plan, written, vectors, _skills_of(export), await self._embed_the_rest(export))

    async def _checked_plan(self, export: VerifiedExport, merge: bool) -> ImportPlan:
        plan = await make_plan(self.database, self.scope, export, merge=merge)
        if plan.pages > (left := await pages_left(self.database, self.scope, self.most_pages)):
            raise OverQuota(f"{plan.pages} pages; this tenant may add {left}")
        _check_bytes(export)
        return plan

    async def _write_workspace(self, export: VerifiedExport, plan: ImportPlan, merge: bool) -> None:
        """Agents, sets and readers of folders, with the one line of the audit trail."""
        told = export.manifest
        async with self.database.transaction(self.scope) as tx:
            await lock_corpus(tx, self.scope)
            if not merge:
                wanted = {"language": told.workspace.language, "ocr_languages": told.workspace.ocr_languages}
                await tx.run(SQL["put_settings"], **self.scope.keys, **wanted, chunk_strategy=_strategy_of(export))
            for row in whole_rows(export, "agents"):
                if row["name"] not in plan.taken.get("agent", ()):
                    await tx.run(SQL["put_agent"], **self.scope.keys, **row, id=plan.agents[row["agent_id"]])
            await self._put_sets(tx, export, plan)
            for row in whole_rows(export, "folder_readers"):
                if row["folder"] not in plan.taken.get("folder", ()):
                    mapped = plan.names.map(row["readers"])
                    await tx.run(SQL["put_folder"], **self.scope.keys, **row | {"readers": mapped})
            if await tx.one(SQL["begun"], **self.scope.keys, export=export.id) is None:
                verb = "workspace.merge" if merge else "workspace.import"
                detail: dict[str, Any] = {"export": export.id, "signer": export.signer, "from": told.workspace.name}
                detail |= {"made_at": told.made_at, "pages": plan.pages, "documents": plan_counts(plan)}
                await AuditLog(self.database).record(tx, self.scope, verb, self.scope.workspace, detail=detail)
        self.step("workspace")

    async def _put_sets(self, tx: Transaction, export: VerifiedExport, plan: ImportPlan) -> None:
        taken = plan.taken.get("golden_set", set())
        mine = {row["set_id"]: row["name"] for row in whole_rows(export, "golden_sets")}
        for row in whole_rows(export, "golden_sets"):
            if row["name"] not in taken:
                id_ = mapped_uuid(self.scope, row["set_id"])
                await tx.run(SQL["put_set"], **self.scope.keys, **row, id=id_)
        for row in whole_rows(export, "golden_questions"):
            if mine.get(row["set_id"]) not in taken:
                named = [_mapped_name(plan, one) for one in row["documents"]]
                id_ = mapped_uuid(self.scope, row["set_id"])
                await tx.run(SQL["put_question"], **self.scope.keys, **row | {"documents": named}, set=id_)

    async def _target(self, recipe: IndexRecipe | None, vectors: str, plan: ImportPlan) -> WriteTarget:
        """The index that is written to: the one that readers use, or a first one."""
        words_only = vectors != "kept"
        if recipe is None:
            return WriteTarget(plan.owner["generation_id"], plan.owner["chunker"], "", words_only)
        opened = await IndexGenerations(self.database).target(self.scope, recipe)
        return WriteTarget(opened.generation, opened.chunker, opened.made, words_only)

    async def _judge_vectors(
        self, export: VerifiedExport, plan: ImportPlan, merge: bool
    ) -> tuple[IndexRecipe | None, str]:
        """How a first index is to be made, None where there is one, and what becomes of the export's vectors."""
        space = export.manifest.vector_space
        if plan.owner["generation_id"] is not None:
            return None, _fate_of_vectors(space, plan.owner)
        facts = await self.facts()
        chosen = await ChunkStrategies(self.database).of_workspace(self.scope)
        settings = with_strategy(self.chunk, chosen or (None if merge else _strategy_of(export)))
        recipe = IndexRecipe(facts, chunker_fingerprint(settings, facts.fingerprint))
        mine = {"embedder": facts.name, "embedder_fingerprint": facts.fingerprint, "dimension": facts.dimension}
        return recipe, _fate_of_vectors(space, mine | {"chunker": recipe.chunker})

    async def _put_parents(self, export: VerifiedExport, plan: ImportPlan) -> None:
        pairs = list[tuple[str, str]]()
        for part in export.manifest.parts:
            for row in part_rows(export, "documents", part, "document_id", "parent_id"):
                mine, parent = plan.placements[row["document_id"]], plan.placements.get(row["parent_id"] or "")
                if parent is not None and mine.is_written and parent.is_written:
                    pairs.append((mine.id, parent.id))
        for at in range(0, len(pairs), _AT_ONCE):
            documents, parents = zip(*pairs[at : at + _AT_ONCE], strict=True)
            async with self.database.transaction(self.scope) as tx:
                await lock_corpus(tx, self.scope)
                named = {"documents": list(documents), "parents": list(parents)}
                await tx.run(SQL["put_parents"], **self.scope.keys, **named)
        self.step("parents")

    async def _embed_the_rest(self, export: VerifiedExport) -> str | None:
        """A job that embeds what came without vectors, one for this import however often it is run."""
        async with self.database.transaction(self.scope) as tx:
            row = await tx.only(SQL["without_vectors"], **self.scope.keys, export=export.id)
            if not row["total"]:
                return None
            jobs, key = JobLedger(self.database), f"import:{export.id}"
            job = await jobs.enqueue(tx, self.scope, "embed", JobLane.BULK, {"agent_id": None}, key)
        return str(job.job)


def _fate_of_vectors(space: VectorSpaceFacts | None, here: Any) -> str:
    """`kept` where they can be compared with those here, and chunks are cut alike."""
    if space is None:
        return "none"
    told = {"embedder": space.embedder, "embedder_fingerprint": space.fingerprint, "dimension": space.dimension}
    alike = vector_space_of(told) == vector_space_of(here) and space.chunker == here["chunker"]
    return "kept" if alike else "anew"


def _strategy_of(export: VerifiedExport) -> ChunkStrategy | None:
    """The strategy of the exported workspace; None where nobody here knows it."""
    told = export.manifest.workspace.chunk_strategy
    return cast(ChunkStrategy, told) if told in get_args(ChunkStrategy) else None


def _check_bytes(export: VerifiedExport) -> None:
    for part in export.manifest.parts:
        for row in part_rows(export, "versions", part, "file_hash", "has_bytes"):
            if row["has_bytes"]:
                check_blob(export.folder, row["file_hash"])


def _without_readers(one: Placement) -> Placement:
    return Placement(one.fate, one.id, one.origin)


def _mapped_name(plan: ImportPlan, name: str) -> str:
    """Documents of a question are named by file or by id."""
    return plan.placements[name].id if name in plan.placements else name


def _skills_of(export: VerifiedExport) -> list[dict[str, Any]]:
    return list(whole_rows(export, "agent_skills"))
