"""The plan of an import: what becomes of each document, agent and set, decided before anything is written."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final
from uuid import NAMESPACE_OID, uuid5

from cluster.basics.errors import Conflict, NotFound
from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database, Row, Transaction, load_queries
from pipelines.documents.document import DocumentId, VersionId, document_id, version_id
from pipelines.documents.portable.datasets import WORKSPACE_DATASETS
from pipelines.documents.portable.export_manifest import BrokenExport, VerifiedExport
from pipelines.documents.portable.parquet_files import part_rows, read_rows
from pipelines.documents.portable.reader_names import ReaderNames, joined_readers
from pipelines.documents.store.members import WITHIN

_AT_ONCE: Final = 2_000
_DEEPEST: Final = 100  # containers within containers; a ring would have no end

SQL = load_queries(Path(__file__).with_suffix(".sql"))


class WorkspaceNotEmpty(Conflict):
    """The workspace has documents already."""

    code = "workspace_not_empty"
    fix = "Import into an empty workspace, or bring both together with `aos merge`."


class Fate(StrEnum):
    """What becomes of a document."""

    NEW = "new"
    DONE = "done"  # an earlier run of this import has brought it
    SAME = "same"  # a document with these bytes is there, which stays as it is
    WITHIN = "within"  # it is in a container that is there
    ERASED = "erased"  # somebody has had these bytes, or its container's, erased here; it stays out


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a document goes: its id and origin there, or those of the one that is there."""

    fate: Fate
    id: DocumentId
    origin: str
    readers: tuple[str, ...] = ()  # of the one that is there, where somebody wants both

    @property
    def is_written(self) -> bool:
        """True if its rows are to be there in the end."""
        return self.fate in (Fate.NEW, Fate.DONE)


@dataclass(frozen=True, slots=True)
class _Listed:
    """A document of the export, as far as the plan needs it."""

    id: str
    origin: str
    filename: str
    file_hash: str
    parent: str | None
    readers: tuple[str, ...]
    is_erased: bool


@dataclass
class ImportPlan:
    """Everything that was decided.

    Attributes:
        owner: the row of the workspace.
        pages: that new documents have, old versions of theirs included.
        agents: ids of the export to those here.
        taken: names of agents, sets and folders that are there and stay as they are, by their kind.
        conflicts: what is there under the same name and differs, and what was done: kind, name, done.
    """

    owner: Row
    names: ReaderNames
    placements: dict[str, Placement] = field(default_factory=dict)
    pages: int = 0
    agents: dict[str, str] = field(default_factory=dict)
    taken: dict[str, set[str]] = field(default_factory=dict)
    conflicts: list[dict[str, str]] = field(default_factory=list)

    def count(self, fate: Fate) -> int:
        """How many documents it befalls."""
        return sum(1 for one in self.placements.values() if one.fate is fate)

    def note_conflict(self, kind: str, name: str, done: str) -> None:
        """Write down that something was there."""
        self.conflicts.append({"kind": kind, "name": name, "done": done})


def mapped_version(document: DocumentId, old_document: str, old: str, file_hash: str) -> VersionId:
    """The version there: by its bytes, as if it had been read there; of bytes read again by its old id, too."""
    plain = version_id(DocumentId(old_document), file_hash) == old
    return version_id(document, file_hash, None if plain else old)


def mapped_uuid(scope: Scope, old: str) -> str:
    """The id there of what has no content to derive one from: the same in every run."""
    return str(uuid5(NAMESPACE_OID, f"{scope.workspace}/{old}"))


async def make_plan(database: Database, scope: Scope, export: VerifiedExport, *, merge: bool) -> ImportPlan:
    """Decide; nothing is written. Raises NotFound, WorkspaceNotEmpty, BrokenExport."""
    async with database.transaction(scope) as tx:
        owner = await tx.one(SQL["workspace"], **scope.keys, export=export.id)
        if owner is None:
            raise NotFound(f"workspace {scope.workspace}")
        if not merge and owner["documents"] > owner["imported"]:
            others = owner["documents"] - owner["imported"]
            raise WorkspaceNotEmpty(f"{owner['name']} has {others} documents")
        people = {row["email"]: row["id"] for row in await tx.all(SQL["people"], tenant=scope.tenant)}
        groups = frozenset(row["name"] for row in await tx.all(SQL["groups"], tenant=scope.tenant))
        plan = ImportPlan(owner, ReaderNames(people, groups))
        await _place_documents(tx, scope, export, plan)
        await _place_the_rest(tx, scope, export, plan)
    plan.pages = _pages_of(export, plan)
    return plan


async def _place_documents(tx: Transaction, scope: Scope, export: VerifiedExport, plan: ImportPlan) -> None:
    erased = frozenset(row["file_hash"] for row in await tx.all(SQL["erased"], tenant=scope.tenant))
    listed = _list_documents(export, erased)
    roots = {one: _root_of(listed, one) for one in listed.values()}
    tops = [one for one, root in roots.items() if one is root]
    same = await _same_bytes(tx, scope, export, tops)
    there = await _that_are_there(tx, scope, [document_id(scope.workspace, one.origin) for one in listed.values()])
    for one in tops:
        plan.placements[one.id] = _place_top(scope, export, plan, one, same.get(one.file_hash), there)
    for one, root in roots.items():
        if one is not root:
            plan.placements[one.id] = _place_member(scope, listed, plan, one, root)
    done = await _that_are_there(tx, scope, [one.id for one in plan.placements.values()])
    for old, placed in plan.placements.items():
        if placed.fate is Fate.NEW and done.get(placed.id) == (export.id, old):
            plan.placements[old] = Placement(Fate.DONE, placed.id, placed.origin)


def _place_top(
    scope: Scope,
    export: VerifiedExport,
    plan: ImportPlan,
    one: _Listed,
    same: Row | None,
    there: Mapping[str, tuple[str | None, str | None]],
) -> Placement:
    """One document for one content; under a name that is taken it stands beside, and whoever looks sees both."""
    if same is not None:
        mine = plan.names.map(one.readers)
        if sorted(same["readers"]) != sorted(mine):
            plan.note_conflict("readers", same["filename"], "the same bytes are there for others; see --readers")
        both = tuple(joined_readers(same["readers"], mine))
        return Placement(Fate.SAME, DocumentId(same["id"]), one.origin, both if both != tuple(same["readers"]) else ())
    id_ = document_id(scope.workspace, one.origin)
    if one.is_erased:
        return _leave_out(plan, one, id_)
    if id_ in there and there[id_] != (export.id, one.id):
        plan.note_conflict("document", one.filename, "another of this name is there; both are")
        origin = f"{one.origin}#{one.file_hash[:16]}"
        return Placement(Fate.NEW, document_id(scope.workspace, origin), origin)
    return Placement(Fate.NEW, id_, one.origin)


def _place_member(
    scope: Scope, listed: Mapping[str, _Listed], plan: ImportPlan, one: _Listed, root: _Listed
) -> Placement:
    placed = plan.placements[root.id]
    if placed.fate is Fate.SAME:
        return Placement(Fate.WITHIN, placed.id, one.origin)
    origin = placed.origin + one.origin.removeprefix(root.origin) if one.origin.startswith(root.origin) else one.origin
    id_ = document_id(scope.workspace, origin)
    if any(each.is_erased for each in _upwards(listed, one)):
        return _leave_out(plan, one, id_)
    return Placement(Fate.NEW, id_, origin)


def _leave_out(plan: ImportPlan, one: _Listed, id_: DocumentId) -> Placement:
    plan.note_conflict("erased", one.filename, "it was erased here and stays out; upload it if that is wanted")
    return Placement(Fate.ERASED, id_, one.origin)


async def _place_the_rest(tx: Transaction, scope: Scope, export: VerifiedExport, plan: ImportPlan) -> None:
    there = {row["name"]: row["id"] for row in await tx.all(SQL["agents"], **scope.keys)}
    for row in whole_rows(export, "agents"):
        id_ = mapped_uuid(scope, row["agent_id"])
        plan.agents[row["agent_id"]] = there.get(row["name"], id_)
        if there.get(row["name"], id_) != id_:
            plan.taken.setdefault("agent", set()).add(row["name"])
            plan.note_conflict(
                "agent", row["name"], "the one that is there stays, and searches what was linked to either"
            )
    sets = {row["name"]: row["id"] for row in await tx.all(SQL["golden_sets"], **scope.keys)}
    for row in whole_rows(export, "golden_sets"):
        if sets.get(row["name"], mapped_uuid(scope, row["set_id"])) != mapped_uuid(scope, row["set_id"]):
            plan.taken.setdefault("golden_set", set()).add(row["name"])
            plan.note_conflict("golden_set", row["name"], "the one that is there stays")
    _place_folders(export, plan, await tx.all(SQL["folder_readers"], **scope.keys))


def _place_folders(export: VerifiedExport, plan: ImportPlan, there: Sequence[Row]) -> None:
    """The nearest folder decides: one that lies within a folder with readers here would open what that keeps."""
    for row in whole_rows(export, "folder_readers"):
        ruled = any(name.startswith(tuple(one["prefixes"])) for name in row["prefixes"] for one in there)
        if not ruled:
            continue
        plan.taken.setdefault("folder", set()).add(row["folder"])
        mine = (row["folder"], sorted(plan.names.map(row["readers"])))
        if mine not in [(one["folder"], sorted(one["readers"])) for one in there]:
            plan.note_conflict("folder", row["folder"], "readers of the folder that is there hold")


def whole_rows(export: VerifiedExport, dataset: str) -> Iterable[Row]:
    """The rows of a dataset of the workspace."""
    path = export.file(dataset, "")
    return () if path is None else read_rows(path, WORKSPACE_DATASETS[dataset])


def _list_documents(export: VerifiedExport, erased: frozenset[str]) -> dict[str, _Listed]:
    """The documents of an export by id. Raises BrokenExport: one has no version, or there are two of one id."""
    found = dict[str, _Listed]()
    wanted = ("document_id", "version_id", "origin", "filename", "parent_id", "readers")
    for part in export.manifest.parts:
        hashes, gone = dict[str, str](), set[str]()
        for row in part_rows(export, "versions", part, "document_id", "version_id", "file_hash"):
            hashes[row["version_id"]] = row["file_hash"]
            if row["file_hash"] in erased:
                gone.add(row["document_id"])
        for row in part_rows(export, "documents", part, *wanted):
            if row["document_id"] in found or row["version_id"] not in hashes:
                raise BrokenExport(f"document {row['document_id']} is there twice, or has no version")
            found[row["document_id"]] = _Listed(
                row["document_id"],
                row["origin"],
                row["filename"],
                hashes[row["version_id"]],
                row["parent_id"],
                tuple(row["readers"] or ()),
                row["document_id"] in gone,
            )
    return found


def _root_of(listed: Mapping[str, _Listed], one: _Listed) -> _Listed:
    """The outermost container that was exported, too."""
    for each in _upwards(listed, one):
        one = each
    return one


def _upwards(listed: Mapping[str, _Listed], one: _Listed) -> Iterator[_Listed]:
    """The document, its container, that one's, as far as they were exported. Raises BrokenExport: it is in itself."""
    for _ in range(_DEEPEST):
        yield one
        if one.parent is None or one.parent not in listed or WITHIN not in one.origin:
            return
        one = listed[one.parent]
    raise BrokenExport(f"document {one.id} is in itself")


async def _same_bytes(tx: Transaction, scope: Scope, export: VerifiedExport, tops: list[_Listed]) -> dict[str, Row]:
    found = dict[str, Row]()
    hashes = sorted({one.file_hash for one in tops})
    for at in range(0, len(hashes), _AT_ONCE):
        some = hashes[at : at + _AT_ONCE]
        rows = await tx.all(SQL["same_bytes"], **scope.keys, hashes=some, export=export.id)
        found |= {row["file_hash"]: row for row in rows}
    return found


async def _that_are_there(
    tx: Transaction, scope: Scope, documents: list[DocumentId]
) -> dict[str, tuple[str | None, str | None]]:
    """Which of some documents are there, each with the export and the document that it was imported from."""
    found = dict[str, tuple[str | None, str | None]]()
    for at in range(0, len(documents), _AT_ONCE):
        rows = await tx.all(SQL["documents"], **scope.keys, documents=documents[at : at + _AT_ONCE])
        found |= {row["id"]: (row["export"], row["document"]) for row in rows}
    return found


def _pages_of(export: VerifiedExport, plan: ImportPlan) -> int:
    total = 0
    for part in export.manifest.parts:
        for row in part_rows(export, "versions", part, "document_id", "page_count"):
            placed = plan.placements.get(row["document_id"])
            total += int(row["page_count"]) if placed is not None and placed.fate is Fate.NEW else 0
    return total


def plan_counts(plan: ImportPlan) -> dict[str, Any]:
    """For the report and the audit trail."""
    return {str(fate): plan.count(fate) for fate in Fate} | {"conflicts": len(plan.conflicts)}
