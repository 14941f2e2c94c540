"""Dataclasses as Arrow rows and back: what crosses a Dataset's stages."""

import os
from dataclasses import asdict
from json import dumps, loads
from typing import Any
from urllib.parse import quote_from_bytes, unquote_to_bytes

import numpy as np

from pipelines.documents.document import VersionId
from pipelines.documents.extract.containers.unpacked import UnpackedMember, UnpackedMembers
from pipelines.documents.facts.page_table import table_from_json, table_to_json
from pipelines.documents.index.generations import IndexedVersion
from pipelines.documents.ingest.slices import PageSlice, ReadPage
from pipelines.documents.ingest.stages import FileTask, SurveyResult
from pipelines.documents.store.page_codec import (
    caveats_from_json,
    caveats_to_json,
    chunk_head_to_json,
    chunk_of_head,
    chunk_to_json,
    decode_words,
    encode_boxes,
    encode_words,
    failure_from_json,
    failure_to_json,
    page_head_to_json,
    page_of_head,
)

Row = dict[str, Any]


def of_task(task: FileTask) -> Row:
    """A file to survey."""
    return asdict(task) | {"staging": os.fsencode(task.staging)} | _without_nulls(task)


def to_task(row: Row) -> FileTask:
    """The inverse."""
    return FileTask(**row | {"staging": os.fsdecode(row["staging"])} | _with_nulls(row))


def of_surveyed(surveyed: SurveyResult) -> Row:
    """A survey result."""
    unpacked = surveyed.unpacked
    members = [asdict(one) | {"staged": quote_from_bytes(os.fsencode(one.staged))} for one in unpacked.members]
    packed = {"members": members, "caveats": caveats_to_json(unpacked.caveats), "whole": unpacked.whole}
    return asdict(surveyed) | {"failure": dumps(failure_to_json(surveyed.failure)), "unpacked": dumps(packed)}


def to_surveyed(row: Row) -> SurveyResult:
    """The inverse."""
    packed = loads(row["unpacked"])
    staged = ({**one, "staged": os.fsdecode(unquote_to_bytes(one["staged"]))} for one in packed["members"])
    members = tuple(UnpackedMember(**one) for one in staged)
    unpacked = UnpackedMembers(members, caveats_from_json(packed["caveats"]), packed["whole"])
    return SurveyResult(**row | {"failure": failure_from_json(loads(row["failure"])), "unpacked": unpacked})


def of_slice(piece: PageSlice) -> Row:
    """Pages of one file that are read together."""
    lists = {"numbers": dumps(piece.numbers), "ocr": dumps(piece.ocr)}
    return asdict(piece) | lists | {"strategy": piece.strategy or ""} | _without_nulls(piece)


def to_slice(row: Row) -> PageSlice:
    """The inverse."""
    lists = {name: tuple(loads(row[name])) for name in ("numbers", "ocr")}
    return PageSlice(**row | lists | {"strategy": row["strategy"] or None} | _with_nulls(row))


def of_read(read: ReadPage) -> Row:
    """A page that was read."""
    head = dumps(page_head_to_json(read.page))
    return {"version": read.version, "page": head, "words": encode_words(read.page.words)}


def to_read(row: Row) -> ReadPage:
    """The inverse, with boxes and confidences to four decimals."""
    return ReadPage(VersionId(row["version"]), page_of_head(loads(row["page"]), decode_words(row["words"])))


def of_indexed(indexed: IndexedVersion, *, apart: bool = True) -> Row:
    """Chunks, vectors and tables of one version; vectors as raw little-endian float32.

    `apart`: the boxes are not among the chunks; a worker from before an update knows no others.
    """
    vectors, to_json = indexed.vectors, chunk_head_to_json if apart else chunk_to_json
    return {
        "version": indexed.version,
        "chunks": dumps([to_json(chunk) for chunk in indexed.chunks]),
        "boxes": dumps([encode_boxes(chunk.boxes) for chunk in indexed.chunks]) if apart else "",
        "dimension": -1 if vectors is None else int(vectors.shape[1]),
        "vectors": b"" if vectors is None else np.ascontiguousarray(vectors, "<f4").tobytes(),
        "reads": indexed.reads,
        "made": indexed.made,
        "tables": dumps([table_to_json(table) for table in indexed.tables]),
        "stemmers": dumps(list(indexed.stemmers)),
        "chunker": indexed.chunker,
    }


def to_indexed(row: Row) -> IndexedVersion:
    """The inverse."""
    heads = loads(row["chunks"])
    # Those of a process from before an update stand in the chunks themselves.
    boxes = loads(row["boxes"]) if row.get("boxes") else [dumps(head["boxes"]) for head in heads]
    chunks = tuple(chunk_of_head(head, some) for head, some in zip(heads, boxes, strict=True))
    flat, dimension = np.frombuffer(row["vectors"], "<f4"), row["dimension"]
    vectors = None if dimension < 0 else flat.reshape(len(chunks), dimension)
    tables = tuple(table_from_json(table) for table in loads(row.get("tables") or "[]"))
    stemmers = tuple(loads(row.get("stemmers") or "[]"))
    made = (row["reads"], row["made"], tables, stemmers, row.get("chunker") or "")
    return IndexedVersion(VersionId(row["version"]), chunks, vectors, *made)


def _without_nulls(one: FileTask | PageSlice) -> Row:
    """The path as bytes, and the hints as text: a column of nulls has no type."""
    return {"path": os.fsencode(one.path), "encoding": one.encoding or "", "language": one.language or ""}


def _with_nulls(row: Row) -> Row:
    return {"path": os.fsdecode(row["path"]), "encoding": row["encoding"] or None, "language": row["language"] or None}
