"""The export of a workspace: read in one snapshot, part by part, into a folder that a later run goes on with."""

import fcntl
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg.rows import dict_row

from cluster.basics.cleanup import cleanup_on_error
from cluster.basics.errors import NotFound
from cluster.basics.scope import Scope
from cluster.state.db import migrate
from cluster.state.db.postgres import Connection, Row, classify_postgres_error, load_queries, of_scope, settings_query
from cluster.state.db.primary import TimelineFence, connect_primary
from cluster.state.signed_receipts import ReceiptSigner
from pipelines.documents.portable.blob_files import BlobCopier
from pipelines.documents.portable.datasets import DOCUMENT_DATASETS, FORMAT, FORMAT_VERSION, WORKSPACE_DATASETS
from pipelines.documents.portable.export_manifest import (
    MANIFEST,
    ExportFolderTaken,
    ExportManifest,
    FileFacts,
    VectorSpaceFacts,
    WorkspaceFacts,
    write_json,
    write_manifest,
)
from pipelines.documents.portable.export_parts import NOTES, QUERIED, PartNote, PartWriter, read_notes, remove_leftovers
from pipelines.documents.portable.parquet_files import DatasetFile
from pipelines.documents.store.blobs import BlobStore

PART_DOCUMENTS: Final = 200
PART_PAGES: Final = 5_000
_OWNER: Final = "workspace.json"
_AT_ONCE: Final = 500  # rows that the server sends


@dataclass(frozen=True, slots=True)
class ExportResult:
    """The signed manifest, and how many parts of it an earlier run had made already."""

    manifest: Mapping[str, Any]
    kept_parts: int
    written_parts: int


@dataclass
class WorkspaceExport:
    """Writes a workspace as its application role sees it: row-level security holds.

    Attributes:
        conninfo: of the application role.
        fence: refuses servers that were replaced.
        step: told of each thing that is done.
    """

    conninfo: str
    fence: TimelineFence | None
    scope: Scope
    blobs: BlobStore
    signer: ReceiptSigner
    product: str
    part_documents: int = PART_DOCUMENTS
    part_pages: int = PART_PAGES
    step: Callable[[str], None] = lambda _: None
    _sql: Mapping[str, str] = field(default_factory=lambda: load_queries(Path(__file__).with_suffix(".sql")))

    async def size(self) -> dict[str, Any]:
        """How much there is. Raises NotFound."""
        async with self._snapshot() as connection:
            owner = await self._owner(connection)
            size = await self._one(connection, "size")
            unread = await self._one(connection, "unread")
        of = {"workspace": owner["name"], "tenant": owner["tenant"]}
        return of | {name: int(size[name]) for name in size} | {"unread": int(unread["total"])}

    async def run(self, folder: Path) -> ExportResult:
        """Write the folder; what an earlier run has written and nobody has changed since stays.

        All is as it was at one moment, that of this run: a part of an earlier one is kept only where every row in it is
        the same version still. Raises NotFound, ExportFolderTaken.
        """
        async with self._snapshot() as connection:
            owner = await self._owner(connection)
            with _claimed(folder, owner):
                return await self._write(connection, folder, owner)

    async def _write(self, connection: Connection, folder: Path, owner: Row) -> ExportResult:
        (folder / MANIFEST).unlink(missing_ok=True)  # it is of files that may change now
        files = await self._write_workspace(connection, folder)
        notes, kept = await self._write_parts(connection, folder, owner)
        unread = await self._one(connection, "unread")
        counts, missing = dict.fromkeys(DOCUMENT_DATASETS, 0), list[str]()
        for note in notes:
            files |= note.files
            missing += note.missing
            for name, count in note.counts.items():
                counts[name] += count
        for name in WORKSPACE_DATASETS:
            facts = files.get(f"workspace/{name}.parquet")
            counts[name] = facts.rows if facts else 0
        left_out = {"unread": int(unread["total"]), "unread_names": unread["names"] or []}
        left_out |= {"without_bytes": len(missing), "without_bytes_names": missing[:50]}
        manifest = self._manifest(owner, counts, files, left_out)
        remove_leftovers(folder, files, notes)
        signed = write_manifest(folder, manifest, self.signer)
        self.step(MANIFEST)
        return ExportResult(signed, kept, len(notes) - kept)

    def _manifest(
        self, owner: Row, counts: dict[str, int], files: dict[str, FileFacts], left_out: dict[str, Any]
    ) -> ExportManifest:
        space = None
        if owner["generation_id"] is not None:
            space = VectorSpaceFacts(
                embedder=owner["embedder"],
                fingerprint=owner["embedder_fingerprint"],
                dimension=owner["dimension"],
                chunker=owner["chunker"],
            )
        named = ("id", "name", "tenant", "language", "ocr_languages", "chunk_strategy")
        return ExportManifest(
            format=FORMAT,
            format_version=FORMAT_VERSION,
            product=self.product,
            schema_version=max(path.stem for path in migrate.FOLDER.glob("[0-9]*.sql")),
            made_at=datetime.now(UTC).isoformat(timespec="seconds"),
            workspace=WorkspaceFacts(**{name: owner[name] for name in named}),
            vector_space=space,
            counts=counts,
            files=dict(sorted(files.items())),
            left_out=left_out,
        )

    async def _write_workspace(self, connection: Connection, folder: Path) -> dict[str, FileFacts]:
        files = {}
        for name, schema in WORKSPACE_DATASETS.items():
            file = DatasetFile(folder, f"workspace/{name}.parquet", schema)
            async for row in self._rows(connection, name, {}):
                file.add(row)
            if (facts := file.finish()) is not None:
                files[file.name] = facts
            self.step(file.name)
        return files

    async def _write_parts(self, connection: Connection, folder: Path, owner: Row) -> tuple[list[PartNote], int]:
        """All parts, and how many of them were there."""
        index = {"generation": owner["generation_id"], "chunker": owner["chunker"] or ""}
        notes, kept, after = list[PartNote](), 0, ""
        for known in read_notes(folder, self.signer):
            between = index | {"after": known.after, "until": known.until}
            digest = (await self._one(connection, "digest", **between))["digest"]
            if digest == known.digest:
                notes.append(known)
                kept += 1
            else:
                notes.append(await self._write_part(connection, folder, known.number, between, digest))
            after = known.until
        while True:
            limits = {"documents": self.part_documents, "pages": self.part_pages}
            until = (await self._one(connection, "next_part", after=after, **limits))["until"]
            if until is None:
                return notes, kept
            between = index | {"after": after, "until": until}
            digest = (await self._one(connection, "digest", **between))["digest"]
            number = f"{len(notes) + 1:06}"
            notes.append(await self._write_part(connection, folder, number, between, digest))
            after = until

    async def _write_part(
        self, connection: Connection, folder: Path, number: str, between: Mapping[str, Any], digest: str
    ) -> PartNote:
        part = PartWriter(folder, number, BlobCopier(self.blobs, folder), self.signer, self.step)
        for name in QUERIED:
            files = part.open(name)
            with ExitStack() as unless_written:
                for file in files:
                    unless_written.enter_context(cleanup_on_error(file.abandon))
                async for row in self._rows(connection, name, between):
                    part.add(name, files, row)
                part.finish(files)
        return part.note(between["after"], between["until"], digest)

    async def _owner(self, connection: Connection) -> Row:
        found = await self._one(connection, "workspace")
        if not found:
            raise NotFound(f"workspace {self.scope.workspace}")
        return found

    async def _one(self, connection: Connection, query: str, **values: Any) -> Row:
        cursor = await connection.execute(self._sql[query], self.scope.keys | values)
        return await cursor.fetchone() or {}

    async def _rows(self, connection: Connection, query: str, values: Mapping[str, Any]) -> AsyncIterator[Row]:
        """From a cursor of the server: a part may be larger than memory."""
        async with connection.cursor(name=query) as cursor:
            cursor.itersize = _AT_ONCE
            await cursor.execute(self._sql[query], {**self.scope.keys, **values})
            async for row in cursor:
                yield row

    @asynccontextmanager
    async def _snapshot(self) -> AsyncIterator[Connection]:
        """A transaction that sees one moment, and writes nothing."""
        try:
            connecting = connect_primary(self.conninfo, self.fence, row_factory=dict_row, autocommit=True)
            async with await connecting as connection:
                await connection.execute("begin isolation level repeatable read read only")
                await connection.execute(*settings_query(of_scope(self.scope)))
                yield connection
                await connection.rollback()
        except psycopg.OperationalError as error:
            raise classify_postgres_error(error) from error


@contextmanager
def _claimed(folder: Path, owner: Row) -> Iterator[None]:
    """Nobody else writes there meanwhile. Raises ExportFolderTaken: somebody does, or it holds something else."""
    _claim(folder, owner)
    with (folder / NOTES / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ExportFolderTaken(f"another export writes to {folder} now", fix="Wait for its end.") from None
        yield


def _claim(folder: Path, owner: Row) -> None:
    """Raises ExportFolderTaken: it holds something that is no export of this workspace."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if links := [one.name for one in folder.iterdir() if one.is_symlink()]:
        raise ExportFolderTaken(f"{folder} has links that lead elsewhere: {', '.join(links[:10])}")
    mine = folder / NOTES / _OWNER
    if not mine.exists():
        if any(one.name != NOTES for one in folder.iterdir()):
            raise ExportFolderTaken(f"{folder} is not empty")
        mine.parent.mkdir(exist_ok=True)
        write_json(mine, {"workspace": owner["id"], "format_version": FORMAT_VERSION})
        return
    found = json.loads(mine.read_text(encoding="utf-8"))
    if found != {"workspace": owner["id"], "format_version": FORMAT_VERSION}:
        raise ExportFolderTaken(f"{folder} holds an export of another workspace, or of another version of the format")
