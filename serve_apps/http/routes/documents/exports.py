"""Exports: a document as searchable PDF, as Markdown with pages or as Parquet, and the whole workspace as Parquet."""

import asyncio
import json
import shutil
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, BinaryIO
from urllib.parse import quote

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from cluster.basics.errors import Conflict, NotFound, Permanent
from cluster.state.db.postgres import Row
from cluster.state.identity.identity import WorkspaceMember
from pipelines.documents.document import FailureReason, Status, Unreadable
from pipelines.documents.export.export_folder import make_export_folder
from pipelines.documents.export.export_table import ExportTable
from pipelines.documents.export.markdown_pages import markdown_pages
from pipelines.documents.export.pdf_export import PDF_KINDS, LayerCounts, SearchablePdfExporter
from pipelines.documents.export.stored_content import StoredContent, StoredVersion
from pipelines.documents.store.blobs import Location
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import READ
from serve_apps.http.auth.revocation import WholeFile
from serve_apps.http.deps import AppDependencies
from serve_apps.http.fields import DocumentInPath
from serve_apps.http.problems import FileChanged, file_refusal
from serve_apps.http.routes.documents.document_shapes import fix_of
from serve_apps.http.routes.documents.stored_file import stored_file

router = APIRouter(route_class=GuardedRoute, tags=["documents"])

BLOCK = 1 << 18
TAKEN_SECONDS = 60.0  # in which a reader takes a block, else the place is somebody else's
PAGES_HEADER = "X-Export-Pages"
PDF, MARKDOWN, PARQUET = "application/pdf", "text/markdown; charset=utf-8", "application/vnd.apache.parquet"


class ExportFormat(StrEnum):
    """The form in which a document goes out."""

    PDF = "pdf"
    MARKDOWN = "markdown"
    PARQUET = "parquet"


class DocumentUnread(Conflict):
    """Nothing of this document was read that could be exported."""

    code = "document_unread"
    fix = "Wait until its job has ended (`aos jobs list`), then export it."


class NoPdfExport(Permanent):
    """This document has no pages that a PDF could show."""

    code = "no_pdf_export"
    fix = "Export it as markdown or parquet, or print it to a PDF in its own program and ingest that."


class ExportResponse(StreamingResponse, WholeFile):
    """The blocks of a file. However its reader leaves, what makes them is closed; who takes none has left."""

    def __init__(self, blocks: AsyncGenerator[bytes, None], media_type: str, headers: dict[str, str]) -> None:
        super().__init__(blocks, media_type=media_type, headers=headers)
        self._blocks = blocks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until all is sent or nobody reads. Raises ClientDisconnect: a block was not taken in time."""

        async def send_in_time(message: Message) -> None:
            try:
                async with asyncio.timeout(TAKEN_SECONDS):
                    await send(message)
            except TimeoutError as error:
                raise ClientDisconnect from error

        async with aclosing(self._blocks):
            await super().__call__(scope, receive, send_in_time)


Table = Annotated[ExportTable, Query(description="Of Parquet: which table.")]
Vectors = Annotated[bool, Query(description="Of Parquet's chunks: with their vectors.")]
_FILE = {"type": "string", "format": "binary"}
_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": f"The file. A PDF's header `{PAGES_HEADER}` counts its pages by where their text is from.",
        "content": {kind.partition(";")[0]: {"schema": _FILE} for kind in (PDF, MARKDOWN, PARQUET)},
    }
}


@router.get(
    "/api/documents/export",
    response_class=StreamingResponse,
    responses={200: {"description": "The file.", "content": {PARQUET: {"schema": _FILE}}}},
    dependencies=[READ],
)
async def export_workspace(
    me: Me, parts: Its, table: Table = ExportTable.PAGES, vectors: Vectors = False
) -> StreamingResponse:
    """Pages, words, cells or chunks of every document that one may see, as Parquet."""
    return await _parquet_response(me, parts, table, None, table.value, vectors)


@router.get(
    "/api/documents/{document_id}/export", response_class=StreamingResponse, responses=_ANSWERS, dependencies=[READ]
)
async def export_document(
    document_id: DocumentInPath,
    me: Me,
    parts: Its,
    format: Annotated[ExportFormat, Query()] = ExportFormat.PDF,
    table: Table = ExportTable.PAGES,
    vectors: Vectors = False,
) -> StreamingResponse:
    """A document as it was read: a PDF whose scanned pages can be searched, Markdown with pages, or Parquet.

    A PDF is made of PDFs and pictures alone. 409 where nothing of the document was read yet, or its file is another
    now.
    """
    row = await parts.library.require(me.scope, document_id)
    version = await _read_version(me, parts, row)
    name = Path(version.filename).stem or document_id
    match format:
        case ExportFormat.PDF:
            return await _pdf_response(me, parts, version, Location(row["location"]), name)
        case ExportFormat.MARKDOWN:
            pieces = (piece.encode() async for piece in markdown_pages(_content(parts), me.scope, version))
            return await _answer_in_place(parts, pieces, MARKDOWN, f"{name}.md")
        case ExportFormat.PARQUET:
            return await _parquet_response(me, parts, table, document_id, f"{name}.{table}", vectors)


async def _read_version(me: WorkspaceMember, parts: AppDependencies, row: Row) -> StoredVersion:
    """The version that readers see. Raises DocumentUnread: there is none."""
    async for version in _content(parts).versions(me.scope, row["id"]):
        return version
    failure = row["failure"]
    if row["status"] == Status.FAILED and failure:
        raise DocumentUnread(
            f"it could not be read: {failure['reason']} {failure['detail']}".strip(), fix=fix_of(failure)
        )
    raise DocumentUnread(f"it is {row['status']}")


async def _pdf_response(
    me: WorkspaceMember, parts: AppDependencies, version: StoredVersion, location: Location, name: str
) -> StreamingResponse:
    if version.kind not in PDF_KINDS:
        raise NoPdfExport(f"{version.filename} is of the kind {version.kind}: only PDFs and pictures can be")
    exporter = SearchablePdfExporter(_content(parts), parts.read, parts.ocr)
    folder = await asyncio.to_thread(make_export_folder, parts.clock().timestamp())
    target = folder / "searchable.pdf"
    try:
        async with parts.exports.place(), stored_file(parts.blobs, location) as source:
            counts = await exporter.write_pdf(me.scope, version, source, target)
        await _require_still_there(me, parts, version)
        file, size = await asyncio.to_thread(_open_sized, target)
    except Unreadable as error:
        raise FileChanged(error.detail) if error.reason is FailureReason.CHANGED else file_refusal(error) from error
    finally:  # an open file outlives its name
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
    headers = {**_named(f"{name}.pdf"), "Content-Length": str(size), PAGES_HEADER: _counted(counts)}
    return ExportResponse(_file_blocks(file), PDF, headers)


async def _require_still_there(me: WorkspaceMember, parts: AppDependencies, version: StoredVersion) -> None:
    """Raises NotFound: the document was deleted, or hidden from the reader, while its PDF was written."""
    row = await parts.library.require(me.scope, version.document_id)
    if row["version_id"] != version.version_id:
        raise NotFound(f"version {version.version_id}: another one took its place meanwhile")


async def _parquet_response(
    me: WorkspaceMember, parts: AppDependencies, table: ExportTable, document: str | None, name: str, vectors: bool
) -> StreamingResponse:
    # Parquet's library takes 35 MB, which nobody holds who exports none.
    from pipelines.documents.export.parquet_tables import parquet_table

    pieces = parquet_table(_content(parts), me.scope, table, document, vectors=vectors)
    return await _answer_in_place(parts, pieces, PARQUET, f"{name}.parquet")


async def _answer_in_place(
    parts: AppDependencies, pieces: AsyncGenerator[bytes, None], media_type: str, filename: str
) -> ExportResponse:
    """The pieces, while no more exports than a few are made at a time; one that fails breaks off the answer.

    Raises Crowded: before the answer begins.
    """
    blocks = _in_place(parts, pieces)
    await anext(blocks)
    return ExportResponse(blocks, media_type, _named(filename))


async def _in_place(parts: AppDependencies, pieces: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """Nothing once there is a place, then the pieces in blocks."""
    async with parts.exports.place(), aclosing(pieces):
        yield b""
        async for piece in pieces:
            for at in range(0, len(piece), BLOCK):
                yield piece[at : at + BLOCK]


async def _file_blocks(file: BinaryIO) -> AsyncGenerator[bytes, None]:
    with file:
        while block := await asyncio.to_thread(file.read, BLOCK):
            yield block


def _open_sized(path: Path) -> tuple[BinaryIO, int]:
    return path.open("rb"), path.stat().st_size


def _content(parts: AppDependencies) -> StoredContent:
    return StoredContent(parts.database)


def _counted(counts: LayerCounts) -> str:
    return json.dumps(asdict(counts), separators=(",", ":"))


def _named(filename: str) -> dict[str, str]:
    """The name under which a browser keeps the file (RFC 6266), and that nothing else keeps it."""
    plain = "".join(char if char.isascii() and (char.isalnum() or char in " ._-") else "_" for char in filename)
    disposition = f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(filename, safe='')}"
    return {"Content-Disposition": disposition, "Cache-Control": "private, no-store"}
