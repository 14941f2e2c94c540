"""What crosses a Dataset comes back as it went in."""

import pickle
from dataclasses import replace
from json import dumps, loads

import numpy as np
import pyarrow as pa

from pipelines import rows
from pipelines.documents.document import (
    Box,
    Caveat,
    CaveatKind,
    Chunk,
    ChunkMetrics,
    EngineAttempt,
    Failure,
    FailureReason,
    Page,
    PageBox,
    ParentPassage,
    Span,
    VersionId,
    Word,
)
from pipelines.documents.index.generations import IndexedVersion
from pipelines.documents.ingest.slices import PageSlice, ReadPage
from pipelines.documents.ingest.stages import FileTask, SurveyResult
from pipelines.documents.store.page_codec import chunk_to_json, encode_boxes, encode_words, page_to_json

PAGE = Page(
    number=3,
    text="Grüße “quoted”",
    words=(Word("Grüße", 0, Box(0.1, 0.2, 0.3, 0.4), 0.87),),
    engine="tesseract+easyocr",
    confidence=0.87,
    attempts=(EngineAttempt("tesseract", 0.5, 12, False, "weak"), EngineAttempt("easyocr", 0.87, 900, True)),
    ms=912,
)
FAILED = Page(4, "", engine="none", failure=Failure("read", FailureReason.TIMEOUT, "too slow", True))
CHUNK = Chunk(
    0,
    "text",
    (Span(1, 0, 4), Span(2, 0, 2)),
    ("Title",),
    "semantic",
    (PageBox(1, Box(0, 0, 1, 0.5)),),
    ChunkMetrics(4.25, 0.5, None, 0.75),
    ParentPassage(0, 0, 2, (Span(1, 0, 9),)),
)
VECTORS = np.array([[0.6, 0.8]], np.float32)


def through_arrow(row: rows.Row) -> rows.Row:
    return dict(pa.Table.from_pylist([row]).to_pylist()[0])


def test_tasks_and_surveys_come_back() -> None:
    for task in (FileTask("k", "/a/b.pdf", "b.pdf"), FileTask("k", "/a/b.txt", "b.txt", "cp1250", "cs")):
        assert rows.to_task(through_arrow(rows.of_task(task))) == task
    for surveyed in (SurveyResult("k", "pdf", "ab" * 32, 10, 2**60 + 1, 7), SurveyResult("k", failure=FAILED.failure)):
        assert rows.to_surveyed(through_arrow(rows.of_surveyed(surveyed))) == surveyed


def test_slices_and_pages_come_back() -> None:
    piece = PageSlice(VersionId("v"), "/a", "pdf", "hash", 12, 2**60 + 1, (1, 2, 9))
    scan = replace(piece, ocr=("deu", "eng"), strategy="tesseract")
    for one in (piece, replace(piece, encoding="cp1250", language="cs"), scan):
        assert rows.to_slice(through_arrow(rows.of_slice(one))) == one
    caveats = (Caveat(CaveatKind.PICTURES_UNREAD, "two pictures", 2), Caveat(CaveatKind.READ_AS, whole=True))
    for page in (PAGE, FAILED, Page(5, "text", caveats=caveats)):
        assert rows.to_read(through_arrow(rows.of_read(ReadPage(VersionId("v"), page)))) == ReadPage(
            VersionId("v"), page
        )


def test_words_are_decoded_when_somebody_looks_and_are_as_good_as_a_tuple() -> None:
    """Whatever passes through a worker untouched is stored as it came."""
    sent = ReadPage(VersionId("v"), PAGE)
    row = through_arrow(rows.of_read(sent))
    words = rows.to_read(row).page.words
    assert encode_words(words) is row["words"] and encode_words(PAGE.words) == row["words"]
    assert words == PAGE.words and PAGE.words == words and hash(words) == hash(PAGE.words)
    assert (words[0], words[:1], len(words), [*words]) == (PAGE.words[0], PAGE.words[:1], 1, [*PAGE.words])
    assert words + PAGE.words == PAGE.words + words == PAGE.words * 2
    assert words and not rows.to_read(rows.of_read(ReadPage(VersionId("v"), FAILED))).page.words
    assert pickle.loads(pickle.dumps(rows.to_read(row).page)) == PAGE
    assert page_to_json(rows.to_read(row).page) == page_to_json(PAGE)


def test_a_caveat_says_how_grave_it_is_and_whether_it_is_of_the_whole_document() -> None:
    caveats = (Caveat(CaveatKind.TABLE_UNSURE, "\ud800", 3), Caveat(CaveatKind.CUT_SHORT, "at 10 MB", whole=True))
    row = rows.of_read(ReadPage(VersionId("v"), Page(1, "text", caveats=caveats)))
    assert loads(row["page"])["caveats"] == [
        {"kind": "table_unsure", "weight": "unsure", "detail": "?", "count": 3},
        {"kind": "cut_short", "weight": "unread", "detail": "at 10 MB", "count": 1, "whole": True},
    ]
    assert [one.whole for one in rows.to_read(row).page.caveats] == [False, True]


def test_chunks_and_vectors_come_back() -> None:
    sent = IndexedVersion(VersionId("v"), (CHUNK,), VECTORS, stemmers=("german",), chunker="c1")
    back = rows.to_indexed(through_arrow(rows.of_indexed(sent)))
    assert back.chunks == (CHUNK,) and (back.stemmers, back.chunker) == (("german",), "c1")
    assert back.vectors is not None
    np.testing.assert_array_equal(back.vectors, VECTORS)
    assert (
        rows.to_indexed(through_arrow(rows.of_indexed(IndexedVersion(VersionId("v"), (CHUNK,), None)))).vectors is None
    )


def test_boxes_are_decoded_when_somebody_looks_and_are_as_good_as_a_tuple() -> None:
    """As words: they are stored as they came."""
    row = through_arrow(rows.of_indexed(IndexedVersion(VersionId("v"), (CHUNK,), VECTORS)))
    (back,) = rows.to_indexed(row).chunks
    assert encode_boxes(back.boxes) == loads(row["boxes"])[0] == "[[1, 0, 0, 1, 0.5]]"
    assert back.boxes == CHUNK.boxes and CHUNK.boxes == back.boxes and back.boxes[0].box == Box(0, 0, 1, 0.5)
    assert chunk_to_json(back) == chunk_to_json(CHUNK) and pickle.loads(pickle.dumps(back)) == CHUNK


def test_chunks_of_a_process_from_before_an_update_come_back() -> None:
    """It names no chunker, and its chunks have neither metrics nor a parent, but their boxes."""
    row = rows.of_indexed(IndexedVersion(VersionId("v"), (CHUNK,), VECTORS), apart=False)
    assert loads(row["chunks"]) == [chunk_to_json(CHUNK)], "as a worker from before an update takes them"
    del row["chunker"], row["boxes"]
    new = {"metrics", "parent"}
    row["chunks"] = dumps([{key: one[key] for key in one.keys() - new} for one in loads(row["chunks"])])
    back = rows.to_indexed(through_arrow(row))
    assert back.chunks[0].boxes == CHUNK.boxes
    assert (back.chunks, back.chunker) == ((replace(CHUNK, metrics=None, parent=None),), "")


def test_text_that_postgres_refuses_is_replaced_without_moving_offsets() -> None:
    strange = Page(1, "a\x00b\ud800c")
    back = rows.to_read(rows.of_read(ReadPage(VersionId("v"), strange))).page
    assert (len(back.text), back.text[0], back.text[2], back.text[4]) == (5, "a", "b", "c")
    assert "\x00" not in back.text
