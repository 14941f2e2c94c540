"""Limits of exports: memory of vectors, folders left behind, the time of a reader who takes nothing."""

import asyncio
import io
import os
import time
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pikepdf
import pyarrow.parquet as pq
import pytest
from starlette.requests import ClientDisconnect

from cluster.basics.scope import Scope, TenantId, WorkspaceId
from configs.sections import OcrSettings, ReadSettings
from pipelines.documents.document import DocumentId, VersionId
from pipelines.documents.export.export_folder import ABANDONED_SECONDS, make_export_folder
from pipelines.documents.export.parquet_tables import ExportTable, parquet_table
from pipelines.documents.export.searchable_pdf import SearchablePdfWorker
from pipelines.documents.export.stored_content import StoredVersion
from pipelines.documents.sources.sniff import Kind
from serve_apps.http.routes.documents.exports import ExportResponse
from tests.fakes.scans import replaced_layer, scanned_page, write_scan

SCOPE = Scope(TenantId("t"), WorkspaceId("w"))


class ManyVectors:
    """A document of short chunks whose vectors are long."""

    def __init__(self, chunks: int, dimension: int) -> None:
        self._chunks, self._vector = chunks, f"[{','.join(['0.5'] * dimension)}]"

    async def versions(self, scope: Scope, document: str | None = None) -> AsyncGenerator[StoredVersion, None]:
        yield StoredVersion(DocumentId("d"), "a.pdf", "completed", VersionId("v"), "pdf", "", 1, True)

    async def chunks(self, scope: Scope, version: StoredVersion, *, vectors: bool) -> AsyncGenerator[list[Any], None]:
        row = {"text": "x", "headings": [], "page_start": 1, "page_end": 1, "spans": [[1, 0, 1]], "boxes": []}
        row |= {"engine": "native", "confidence": None, "embedder": "fake", "embedding": self._vector}
        for first in range(0, self._chunks, 200):
            yield [row | {"id": str(first + at), "number": first + at} for at in range(200)]


async def test_vectors_count_in_a_row_group_so_that_memory_does_not_grow_with_them() -> None:
    content: Any = ManyVectors(2_000, 3_000)
    data = b"".join([piece async for piece in parquet_table(content, SCOPE, ExportTable.CHUNKS, vectors=True)])
    file = pq.ParquetFile(io.BytesIO(data))
    assert file.num_row_groups == 3, "24 MB of vectors in groups of 8 MiB"
    read = file.read()
    assert read.num_rows == 2_000 and read["embedding"][1_999].as_py() == [0.5] * 3_000


def test_resources_and_modes_that_are_no_such_things_end_no_export(tmp_path: Path) -> None:
    path = write_scan(tmp_path / "scan.pdf")
    with pikepdf.open(path, allow_overwriting_input=True) as pdf:
        page = pdf.pages[0]
        page.Resources.XObject.Odd = 7
        page.contents_add(pdf.make_stream(b"/Odd Tr"))
        pdf.save(path)
    worker = SearchablePdfWorker(ReadSettings(), OcrSettings())
    worker.open(path, Kind.PDF, tmp_path / "s")
    worker.add_pages([replace(scanned_page(["word"]), attempts=(replaced_layer(),))])
    assert worker.save(tmp_path / "out.pdf").layered == 1


def test_folders_that_a_killed_process_left_behind_go_after_a_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    now = time.time()
    old, young = make_export_folder(now), make_export_folder(now)
    (old / "searchable.pdf").write_bytes(b"x")
    os.utime(old, (0, now - ABANDONED_SECONDS - 1))
    (tmp_path / "other").mkdir()
    os.utime(tmp_path / "other", (0, 0))
    new = make_export_folder(now)
    assert sorted(tmp_path.iterdir()) == sorted([young, new, tmp_path / "other"])


@pytest.mark.parametrize("leaves", [True, False])
async def test_what_makes_a_file_is_closed_whether_its_reader_leaves_or_takes_nothing(
    leaves: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("serve_apps.http.routes.documents.exports.TAKEN_SECONDS", 0.2)
    closed = asyncio.Event()

    async def blocks() -> AsyncGenerator[bytes, None]:
        try:
            while True:
                yield b"block"
        finally:
            closed.set()

    async def receive() -> Any:
        await asyncio.sleep(0.05 if leaves else 60)
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            await asyncio.sleep(60)

    answer = ExportResponse(blocks(), "text/plain", {})
    if leaves:
        await answer({"type": "http"}, receive, send)
    else:
        with pytest.raises(ClientDisconnect):
            await answer({"type": "http"}, receive, send)
    assert closed.is_set()
