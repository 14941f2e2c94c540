"""Chunks after an edit of a page: their borders stay at the words they were at, so few of them change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pipelines.documents.chunk.headings import title_text
from pipelines.documents.chunk.split import PageGeometry
from pipelines.documents.corrections.line_edit import LineEdit
from pipelines.documents.document import Box, Chunk, ChunkId, Page, PageBox, Span, VersionId, chunk_id
from pipelines.documents.store.page_codec import chunk_to_json, search_text


class OutOfStep(Exception):
    """The chunks are not of the text of this page; the document is to be indexed as a whole."""


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk as it is stored; `metadata` has a parent where its strategy has some."""

    id: ChunkId
    chunk: Chunk
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PatchedChunk:
    """A chunk after the edit; `former` is the id it had. Its vector stays unless its text is another."""

    former: ChunkId
    id: ChunkId
    chunk: Chunk
    metadata: Mapping[str, Any]

    @property
    def is_new(self) -> bool:
        """Its text is another, so it is to be embedded."""
        return self.id != self.former


def stored_chunk(row: Mapping[str, Any]) -> StoredChunk:
    """From a row of `document_chunks`."""
    spans = tuple(Span(*span) for span in row["spans"])
    boxes = tuple(PageBox(page, Box(*edges)) for page, *edges in row["boxes"])
    chunk = Chunk(row["chunk_index"], row["text"], spans, tuple(row["headings"]), boxes=boxes)
    return StoredChunk(ChunkId(row["id"]), chunk, row["metadata"])


def heading_of(edit: LineEdit) -> str:
    """What the line is called above chunks where it is a title."""
    return title_text(edit.before)


def patch_chunks(
    stored: Sequence[StoredChunk], version: VersionId, chunker: str, before: Page, after: Page, edit: LineEdit
) -> list[PatchedChunk]:
    """The chunks that are others after the edit of a page, each with its new id, text and places.

    Args:
        stored: in order, all that stand on the page and all that stand under its line as a title.

    Raises OutOfStep: one does not say what the page says, or has no text left.
    """
    geometry = PageGeometry.of(after)
    under = _chunks_under(stored, before.number, edit)
    patched = []
    for one in stored:
        chunk = _moved_chunk(one.chunk, before, geometry, edit)
        if one.id in under:
            old, new = heading_of(edit), title_text(edit.after)
            chunk = replace(chunk, headings=tuple(new if title == old else title for title in chunk.headings))
        metadata = _moved_parent(one.metadata, before.number, edit)
        key = chunk_id(version, chunker, chunk.ordinal, chunk.text)
        # Also chunks that stay as they are: how their page was read is another by now.
        patched.append(PatchedChunk(one.id, key if chunk.text != one.chunk.text else one.id, chunk, metadata))
    return patched


def _moved_chunk(chunk: Chunk, before: Page, geometry: PageGeometry, edit: LineEdit) -> Chunk:
    """Its text and places; those on other pages stay."""
    texts, spans, at = [], [], 0
    for span in chunk.spans:
        text = chunk.text[at : at + span.end - span.start]
        at += len(text) + 1
        if span.page == before.number:
            if text != before.text[span.start : span.end]:
                raise OutOfStep
            span = _moved_span(span, edit)
            text = geometry.page.text[span.start : span.end]
        texts.append(text)
        spans.append(span)
    if at != len(chunk.text) + 1 or not all(text.strip() for text in texts):
        raise OutOfStep
    boxes = _moved_boxes(chunk, spans, geometry)
    return replace(chunk, text="\n".join(texts), spans=tuple(spans), boxes=boxes)


def _moved_boxes(chunk: Chunk, spans: Sequence[Span], geometry: PageGeometry) -> tuple[PageBox, ...]:
    found: list[PageBox] = []
    others = {box.page for box in chunk.boxes}
    for span in spans:
        if span.page == geometry.page.number:
            found += geometry.lines(span)
        elif span.page in others:
            others.discard(span.page)
            found += [box for box in chunk.boxes if box.page == span.page]
    return tuple(found)


def _moved_span(span: Span, edit: LineEdit) -> Span:
    return Span(span.page, edit.map_start(span.start), edit.map_end(span.end))


def _moved_parent(metadata: Mapping[str, Any], page: int, edit: LineEdit) -> Mapping[str, Any]:
    """The metadata with the places of the chunk's parent, where it has one."""
    parent = metadata.get("parent")
    if not parent:
        return metadata
    spans = [Span(*span) for span in parent["spans"]]
    moved = [_moved_span(span, edit) if span.page == page else span for span in spans]
    return {**metadata, "parent": {**parent, "spans": [[one.page, one.start, one.end] for one in moved]}}


def _chunks_under(stored: Sequence[StoredChunk], page: int, edit: LineEdit) -> frozenset[ChunkId]:
    """Chunks from the line on that stand under it as their title, up to the first that does not."""
    title, ordinal = heading_of(edit), -1
    under: set[ChunkId] = set()
    for one in stored:
        last = one.chunk.spans[-1]
        if last.page < page or (last.page == page and last.end <= edit.start):
            continue
        # What is missing in between stands under no such title.
        if title not in one.chunk.headings or (under and one.chunk.ordinal != ordinal + 1):
            break
        under.add(one.id)
        ordinal = one.chunk.ordinal
    return frozenset(under)


def patch_columns(patched: Sequence[PatchedChunk]) -> dict[str, list[Any]]:
    """Chunks as columns for SQL; JSON values are plain."""
    stored = [chunk_to_json(one.chunk) for one in patched]
    return {
        "formers": [one.former for one in patched],
        "ids": [one.id for one in patched],
        "texts": [one.chunk.text for one in patched],
        "search_texts": [search_text(one.chunk) for one in patched],
        **{name: [row[name] for row in stored] for name in ("spans", "boxes", "headings")},
        "metadata": [dict(one.metadata) for one in patched],
    }
