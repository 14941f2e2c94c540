"""Pages, words, blocks, cells and chunks as Parquet: their columns, and a file written row group by row group.

- `pages`: document_id, version_id, filename, page, text, engine, confidence, words, failure, failure_detail, caveats.
- `words`: document_id, version_id, page, ordinal, start, text, x0, y0, x1, y1, confidence.
- `blocks`: document_id, version_id, page, ordinal, kind, level, text, start, end, x0, y0, x1, y1.
- `cells`: document_id, version_id, page, table, kind, section, row, column, heading, text, start, end, x0, y0, x1, y1.
- `chunks`: document_id, version_id, chunk_id, ordinal, text, headings, page_start, page_end, spans, boxes, engine,
  confidence, embedder, embedding.

Pages are counted from 1; ordinals, rows and columns from 0. `start` and `end` are characters of the page's text, those
of a cell are its row's. Boxes are fractions of the page's width and height from its top left corner.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cluster.basics.scope import Scope
from cluster.state.db.postgres import Row
from pipelines.documents.chunk.headings import find_running_lines
from pipelines.documents.document import Box, Page
from pipelines.documents.export.export_table import ExportTable as ExportTable
from pipelines.documents.export.stored_content import StoredContent, StoredVersion
from pipelines.documents.facts.page_blocks import edge_lines, page_blocks
from pipelines.documents.facts.page_table import PageTable, TableKind

GROUP_ROWS: Final = 20_000
GROUP_BYTES: Final = 8 * 2**20  # of texts and vectors, about; whichever of the two is reached first ends a row group


_KEYS: Final = [("document_id", pa.string()), ("version_id", pa.string())]
_EDGES: Final = [(edge, pa.float32()) for edge in ("x0", "y0", "x1", "y1")]
_SPAN = pa.struct([("page", pa.int32()), ("start", pa.int32()), ("end", pa.int32())])
_CAVEAT = pa.struct([("kind", pa.string()), ("weight", pa.string()), ("detail", pa.string()), ("count", pa.int32())])

SCHEMAS: Final[Mapping[ExportTable, pa.Schema]] = {
    ExportTable.PAGES: pa.schema(
        [
            *_KEYS,
            ("filename", pa.string()),
            ("page", pa.int32()),
            ("text", pa.string()),
            ("engine", pa.string()),
            ("confidence", pa.float32()),
            ("words", pa.int32()),
            ("failure", pa.string()),
            ("failure_detail", pa.string()),
            ("caveats", pa.list_(_CAVEAT)),
        ]
    ),
    ExportTable.WORDS: pa.schema(
        [
            *_KEYS,
            ("page", pa.int32()),
            ("ordinal", pa.int32()),
            ("start", pa.int32()),
            ("text", pa.string()),
            *_EDGES,
            ("confidence", pa.float32()),
        ]
    ),
    ExportTable.BLOCKS: pa.schema(
        [
            *_KEYS,
            ("page", pa.int32()),
            ("ordinal", pa.int32()),
            ("kind", pa.string()),
            ("level", pa.int32()),
            ("text", pa.string()),
            ("start", pa.int32()),
            ("end", pa.int32()),
            *_EDGES,
        ]
    ),
    ExportTable.CELLS: pa.schema(
        [
            *_KEYS,
            ("page", pa.int32()),
            ("table", pa.int32()),
            ("kind", pa.string()),
            ("section", pa.string()),
            ("row", pa.int32()),
            ("column", pa.int32()),
            ("heading", pa.string()),
            ("text", pa.string()),
            ("start", pa.int32()),
            ("end", pa.int32()),
            *_EDGES,
        ]
    ),
    ExportTable.CHUNKS: pa.schema(
        [
            *_KEYS,
            ("chunk_id", pa.string()),
            ("ordinal", pa.int32()),
            ("text", pa.string()),
            ("headings", pa.list_(pa.string())),
            ("page_start", pa.int32()),
            ("page_end", pa.int32()),
            ("spans", pa.list_(_SPAN)),
            ("boxes", pa.list_(pa.struct([("page", pa.int32()), *_EDGES]))),
            ("engine", pa.string()),
            ("confidence", pa.float32()),
            ("embedder", pa.string()),
            ("embedding", pa.list_(pa.float32())),
        ]
    ),
}


async def parquet_table(
    content: StoredContent, scope: Scope, table: ExportTable, document: str | None = None, *, vectors: bool = False
) -> AsyncGenerator[bytes, None]:
    """A Parquet file, piece by piece as its row groups are filled.

    Args:
        document: the one that it is of; None for all that the scope may see.
        vectors: with those of chunks.
    """
    file = _ParquetFile(SCHEMAS[table])
    async for version in content.versions(scope, document):
        async for rows in _version_rows(content, scope, version, table, vectors):
            if piece := await asyncio.to_thread(file.add_rows, rows):
                yield piece
    yield await asyncio.to_thread(file.finish)


async def _version_rows(
    content: StoredContent, scope: Scope, version: StoredVersion, table: ExportTable, vectors: bool
) -> AsyncIterator[Iterator[Row]]:
    """Rows in batches; each is made as it is iterated, which is work for a thread."""
    keys = {"document_id": version.document_id, "version_id": version.version_id}
    match table:
        case ExportTable.PAGES:
            async for pages in content.pages(scope, version):
                yield (keys | {"filename": version.filename} | _page_row(page) for page in pages)
        case ExportTable.WORDS:
            async for pages in content.pages(scope, version):
                yield (keys | row for page in pages for row in _word_rows(page))
        case ExportTable.BLOCKS:
            edges = [edge_lines(page) async for pages in content.pages(scope, version) for page in pages]
            running = find_running_lines(edges)
            async for pages in content.pages(scope, version):
                yield (keys | row for page in pages for row in _block_rows(page, running))
        case ExportTable.CELLS:
            ordinal = 0
            async for tables in content.tables(scope, version):
                yield (keys | row for at, one in enumerate(tables, ordinal) for row in cell_rows(one, at))
                ordinal += len(tables)
        case ExportTable.CHUNKS:
            async for chunks in content.chunks(scope, version, vectors=vectors):
                yield (keys | _chunk_row(chunk) for chunk in chunks)


def _page_row(page: Page) -> Row:
    failure = page.failure
    return {
        "page": page.number,
        "text": page.text,
        "engine": page.engine,
        "confidence": page.confidence,
        "words": len(page.words),
        "failure": failure and str(failure.reason),
        "failure_detail": failure and failure.detail,
        "caveats": [
            {"kind": str(one.kind), "weight": str(one.kind.weight), "detail": one.detail, "count": one.count}
            for one in page.caveats
        ],
    }


def _word_rows(page: Page) -> Iterator[Row]:
    for ordinal, word in enumerate(page.words):
        told = {"page": page.number, "ordinal": ordinal, "start": word.start, "text": word.text}
        yield {**told, **_box_edges(word.box), "confidence": word.confidence}


def _block_rows(page: Page, running: frozenset[str]) -> Iterator[Row]:
    for ordinal, block in enumerate(page_blocks(page, running)):
        place = {"page": page.number, "ordinal": ordinal, "start": block.start, "end": block.end}
        told = {"kind": str(block.kind), "level": block.level, "text": page.text[block.start : block.end]}
        yield {**place, **told, **_box_edges(block.box)}


def _box_edges(box: Box | None) -> Row:
    return {"x0": box.x0, "y0": box.y0, "x1": box.x1, "y1": box.y1} if box else {}


def cell_rows(table: PageTable, ordinal: int) -> Iterator[Row]:
    """Cells under the head of a grid; of a form each field is a row of its label and its value."""
    heads = table.columns
    known = {"page": table.page, "table": ordinal, "kind": str(table.kind)}
    for at, row in enumerate(table.rows):
        for column, text in enumerate(row.cells):
            heading = row.cells[0] if table.kind is TableKind.FORM else heads[column] if column < len(heads) else ""
            place = {"section": row.section, "row": at, "column": column, "start": row.start, "end": row.end}
            edges = _box_edges(row.boxes[column] if column < len(row.boxes) else None)
            yield {**known, **place, **edges, "heading": heading, "text": text}


def _chunk_row(chunk: Row) -> Row:
    spans = [dict(zip(("page", "start", "end"), span, strict=True)) for span in chunk["spans"]]
    boxes = [dict(zip(("page", "x0", "y0", "x1", "y1"), box, strict=True)) for box in chunk["boxes"]]
    same = ("text", "headings", "page_start", "page_end", "engine", "confidence", "embedder")
    vector = chunk["embedding"]
    return {name: chunk[name] for name in same} | {
        "chunk_id": chunk["id"],
        "ordinal": chunk["number"],
        "spans": spans,
        "boxes": boxes,
        "embedding": vector and np.fromstring(vector.strip("[]"), np.float32, sep=","),
    }


class _ByteQueue:
    """A file to write to, of which is taken what is there."""

    closed = False

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._written = 0

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self._parts.append(piece)
        self._written += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self._written

    def flush(self) -> None:
        """Nothing waits anywhere else."""

    def close(self) -> None:
        """What was written stays to be taken."""

    def take(self) -> bytes:
        """What was written since the last time."""
        taken, self._parts = b"".join(self._parts), []
        return taken


class _ParquetFile:
    """Rows that wait for their row group, and the bytes of those that are full."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema, self._queue = schema, _ByteQueue()
        self._writer = pq.ParquetWriter(self._queue, schema, compression="zstd")
        self._rows: list[Row] = []
        self._bytes = 0

    def add_rows(self, rows: Iterable[Row]) -> bytes:
        """Bytes that are ready by now, often none."""
        for row in rows:
            self._rows.append(row)
            self._bytes += len(row["text"]) + getattr(row.get("embedding"), "nbytes", 0)
            if len(self._rows) >= GROUP_ROWS or self._bytes >= GROUP_BYTES:
                self._write_group()
        return self._queue.take()

    def finish(self) -> bytes:
        """The last group and the footer."""
        self._write_group()
        self._writer.close()
        return self._queue.take()

    def _write_group(self) -> None:
        if self._rows:
            self._writer.write_table(pa.Table.from_pylist(self._rows, schema=self._schema))
        self._rows, self._bytes = [], 0
