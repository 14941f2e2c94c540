"""Parquet files of an export: written batch by batch and there once they are whole, read group by group."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from cluster.state.db.postgres import Row
from pipelines.documents.portable.datasets import DOCUMENT_DATASETS
from pipelines.documents.portable.export_manifest import BrokenExport, FileFacts, VerifiedExport, file_facts

GROUP_ROWS: Final = 10_000
GROUP_BYTES: Final = 8 << 20  # of texts and vectors, about; whichever is reached first ends a row group
BATCH_ROWS: Final = 500  # that a reader holds


class DatasetFile:
    """A file that is being written; without a row none comes of it."""

    def __init__(self, folder: Path, name: str, schema: pa.Schema) -> None:
        """`name`: relative to the folder."""
        self.name, self.rows = name, 0
        self._path, self._schema = folder / name, schema
        self._unfinished = self._path.with_name(f"{self._path.name}.part")
        self._writer: pq.ParquetWriter | None = None
        self._waiting: list[Row] = []
        self._bytes = 0

    def add(self, row: Row) -> None:
        """Write a row, at the latest with its group."""
        self._waiting.append(row)
        self.rows += 1
        self._bytes += sum(_size_of(value) for value in row.values())
        if len(self._waiting) >= GROUP_ROWS or self._bytes >= GROUP_BYTES:
            self._write_group()

    def finish(self) -> FileFacts | None:
        """Put it in its place; None where it has no rows, and then nothing is there."""
        self._write_group()
        if self._writer is None:
            self._path.unlink(missing_ok=True)
            return None
        self._writer.close()
        with self._unfinished.open("rb") as file:
            os.fsync(file.fileno())
        self._unfinished.replace(self._path)
        return file_facts(self._path, self.rows)

    def abandon(self) -> None:
        """Close what cannot be finished."""
        if self._writer is not None:
            self._writer.close()
        self._unfinished.unlink(missing_ok=True)

    def _write_group(self) -> None:
        if self._waiting:
            if self._writer is None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._writer = pq.ParquetWriter(self._unfinished, self._schema, compression="zstd")
            self._writer.write_table(pa.Table.from_pylist(self._waiting, schema=self._schema))
        self._waiting, self._bytes = [], 0


class GroupedRows:
    """Rows of a file that is sorted by document, taken document by document."""

    def __init__(self, path: Path | None, schema: pa.Schema) -> None:
        """`path`: None for no rows. Columns that a file of an earlier version lacks are None."""
        self._rows = iter(()) if path is None else read_rows(path, schema)
        self._next: Row | None = next(self._rows, None)

    def of(self, **key: Any) -> Iterator[Row]:
        """The rows that come next and have these values; they are to be taken before those of another key."""
        while self._next is not None and all(self._next[name] == value for name, value in key.items()):
            row, self._next = self._next, next(self._rows, None)
            yield row

    def require_end(self, name: str) -> None:
        """Raises BrokenExport: rows are left that belong to no document."""
        if self._next is not None:
            raise BrokenExport(f"{name} has rows of a document that is not there, or in another order")


def read_rows(path: Path, schema: pa.Schema, columns: list[str] | None = None) -> Iterator[Row]:
    """The rows of a file; `columns`: only these. Raises BrokenExport: it is no Parquet of this form."""
    wanted = [name for name in schema.names if columns is None or name in columns]
    try:
        with pq.ParquetFile(path) as file:
            there = [name for name in wanted if name in file.schema_arrow.names]
            lacking: Mapping[str, Any] = {name: None for name in wanted if name not in there}
            for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=there):
                for row in batch.to_pylist():
                    yield {**lacking, **row}
    except (pa.ArrowException, OSError) as error:
        raise BrokenExport(f"{path.name} cannot be read: {error}") from error


def part_rows(export: VerifiedExport, dataset: str, part: str, *columns: str) -> Iterator[Row]:
    """These columns of a dataset of documents in one part, row by row. Raises BrokenExport as `read_rows`."""
    if (path := export.file(dataset, part)) is not None:
        yield from read_rows(path, DOCUMENT_DATASETS[dataset], list(columns))


def _size_of(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    return int(getattr(value, "nbytes", 8))
