"""Dataclasses as Arrow rows and back: what crosses a Dataset's stages."""

import os
from json import dumps, loads
from typing import Any

import numpy as np

from pipelines.documents.document import VersionId
from pipelines.documents.index.generations import IndexedVersion
from pipelines.documents.ingest.slices import PageSlice, ReadPage
from pipelines.documents.ingest.stages import FileTask, SurveyResult
from pipelines.documents.store.page_codec import (
    chunk_from_json,
    chunk_to_json,
    failure_from_json,
    failure_to_json,
    page_from_json,
    page_to_json,
)

Row = dict[str, Any]


def of_task(task: FileTask) -> Row:
    """A file to survey."""
    told = {"encoding": task.encoding or "", "language": task.language or ""}  # a column of nulls has no type
    return {"key": task.key, "path": os.fsencode(task.path), "filename": task.filename, **told}


def to_task(row: Row) -> FileTask:
    """The inverse."""
    return FileTask(str(row["key"]), os.fsdecode(row["path"]), str(row["filename"]), *_text_hints(row))


def of_surveyed(surveyed: SurveyResult) -> Row:
    """A survey result."""
    plain = {name: getattr(surveyed, name) for name in ("key", "kind", "file_hash", "file_size", "mtime_ns", "pages")}
    return plain | {"failure": dumps(failure_to_json(surveyed.failure))}


def to_surveyed(row: Row) -> SurveyResult:
    """The inverse."""
    return SurveyResult(
        str(row["key"]),
        str(row["kind"]),
        str(row["file_hash"]),
        int(row["file_size"]),
        int(row["mtime_ns"]),
        int(row["pages"]),
        failure_from_json(loads(row["failure"])),
    )


def of_slice(piece: PageSlice) -> Row:
    """Pages of one file that are read together."""
    return {
        "version": piece.version,
        "path": os.fsencode(piece.path),
        "kind": piece.kind,
        "file_hash": piece.file_hash,
        "file_size": piece.file_size,
        "mtime_ns": piece.mtime_ns,
        "numbers": dumps(piece.numbers),
        "encoding": piece.encoding or "",
        "language": piece.language or "",
        "ocr": dumps(piece.ocr),
    }


def to_slice(row: Row) -> PageSlice:
    """The inverse."""
    return PageSlice(
        VersionId(str(row["version"])),
        os.fsdecode(row["path"]),
        str(row["kind"]),
        str(row["file_hash"]),
        int(row["file_size"]),
        int(row["mtime_ns"]),
        tuple(loads(row["numbers"])),
        *_text_hints(row),
        tuple(loads(row["ocr"])),
    )


def of_read(read: ReadPage) -> Row:
    """A page that was read."""
    return {"version": read.version, "page": dumps(page_to_json(read.page))}


def to_read(row: Row) -> ReadPage:
    """The inverse, with boxes and confidences to four decimals."""
    return ReadPage(VersionId(str(row["version"])), page_from_json(loads(row["page"])))


def of_indexed(indexed: IndexedVersion) -> Row:
    """Chunks and vectors of one version; vectors as raw little-endian float32."""
    vectors = indexed.vectors
    return {
        "version": indexed.version,
        "chunks": dumps([chunk_to_json(chunk) for chunk in indexed.chunks]),
        "dimension": -1 if vectors is None else int(vectors.shape[1]),
        "vectors": b"" if vectors is None else np.ascontiguousarray(vectors, "<f4").tobytes(),
        "reads": indexed.reads,
        "made": indexed.made,
    }


def to_indexed(row: Row) -> IndexedVersion:
    """The inverse."""
    chunks = tuple(chunk_from_json(chunk) for chunk in loads(row["chunks"]))
    dimension = int(row["dimension"])
    flat = np.frombuffer(row["vectors"], "<f4")
    vectors = None if dimension < 0 else flat.reshape(len(chunks), dimension)
    return IndexedVersion(VersionId(str(row["version"])), chunks, vectors, int(row["reads"]), str(row["made"]))


def _text_hints(row: Row) -> tuple[str | None, str | None]:
    return str(row["encoding"]) or None, str(row["language"]) or None
