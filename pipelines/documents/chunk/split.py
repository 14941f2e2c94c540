"""Pages in, chunks out: the semantic chunker."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from configs.sections import ChunkSettings
from pipelines.documents import document
from pipelines.documents.chunk.packing import ChunkDraft, pack_pieces
from pipelines.documents.chunk.pieces import DocumentOutline, TextPiece, build_outline
from pipelines.documents.document import Box, Chunk, Page, PageBox, Span, Word

VERSION = 1


@dataclass(frozen=True, slots=True)
class PageGeometry:
    """A page's words in reading order, ready to be looked up by offset."""

    page: Page
    words: Sequence[Word]
    ends: Sequence[int]

    @classmethod
    def of(cls, page: Page) -> "PageGeometry":
        """Sort once: a page is looked up for every chunk on it."""
        words = sorted(page.words, key=lambda word: word.start)
        return cls(page, words, [word.start + len(word.text) for word in words])

    def lines(self, span: Span) -> Iterator[PageBox]:
        """A rectangle around the words of each line that the span touches."""
        first = bisect_left(self.ends, span.start + 1)
        line: list[Word] = []
        for at in range(first, len(self.words)):
            word = self.words[at]
            if word.start >= span.end:
                break
            if line and self._breaks_line(line[-1], word):
                yield PageBox(span.page, _bounding_box(line))
                line = []
            line.append(word)
        if line:
            yield PageBox(span.page, _bounding_box(line))

    def _breaks_line(self, last: Word, word: Word) -> bool:
        """A new line in the text, or a word that stands above or below."""
        if "\n" in self.page.text[last.start + len(last.text) : word.start]:
            return True
        middle = (word.box.y0 + word.box.y1) / 2
        return not last.box.y0 <= middle <= last.box.y1


def _bounding_box(words: Sequence[Word]) -> Box:
    boxes = [word.box for word in words]
    return Box(min(b.x0 for b in boxes), min(b.y0 for b in boxes), max(b.x1 for b in boxes), max(b.y1 for b in boxes))


def split_pages(pages: Sequence[Page], settings: ChunkSettings) -> list[Chunk]:
    """Cut a document where its meaning is cut: titles, paragraphs, tables between rows, code between blank lines.

    No text is lost: every non-space character of every readable page stands in at least one chunk. The same pages and
    settings give the same chunks. Time is linear in the text.

    Args:
        pages: in order; those with a failure are skipped. A chunk may go on over the end of a page.

    Returns:
        Chunks of at most `settings.size` characters. A chunk's text is its spans' texts joined by newlines. Where it
        begins inside a table, its first span is the table's header. `headings` are the titles that hold for all of
        the chunk, its own included. Overlap is whole sentences, at most `settings.overlap` characters and half a
        chunk, and never reaches over a title. `method` is `fixed` where text without any border was cut by length.
    """
    readable = [page for page in pages if page.failure is None]
    parts = build_outline(readable, settings)
    geometry = [PageGeometry.of(page) for page in readable]
    drafts = pack_pieces(parts.pieces, settings)
    return [_build_chunk(ordinal, draft, parts, geometry) for ordinal, draft in enumerate(drafts)]


def chunker_fingerprint(settings: ChunkSettings) -> str:
    """16 hex digits; a change means that chunks have to be made again."""
    return document.fingerprint_parts("chunk", VERSION, settings.model_dump())


def _build_chunk(ordinal: int, draft: ChunkDraft, parts: DocumentOutline, geometry: Sequence[PageGeometry]) -> Chunk:
    pieces = parts.pieces[draft.lead : draft.end]
    located = list(_piece_spans(pieces))
    levels = zip(*(parts.titles[piece.section] for piece in pieces), strict=False)
    spans = tuple(replace(span, page=geometry[span.page].page.number) for span in located)
    return Chunk(
        ordinal=ordinal,
        text="\n".join(geometry[span.page].page.text[span.start : span.end] for span in located),
        spans=spans,
        headings=tuple(titles[0] for titles in takewhile(lambda titles: len(set(titles)) == 1, levels)),
        method="fixed" if any(piece.fixed for piece in pieces) else "semantic",
        boxes=tuple(
            box for where, span in zip(located, spans, strict=True) for box in geometry[where.page].lines(span)
        ),
    )


def _piece_spans(pieces: Sequence[TextPiece]) -> Iterator[Span]:
    """One span a page, by index, and one for a repeated header."""
    if pieces[0].header:
        yield Span(pieces[0].page, *pieces[0].header)
    begin = pieces[0]
    for before, piece in zip(pieces, [*pieces[1:], None], strict=True):
        if piece is None or piece.page != before.page:
            yield Span(begin.page, begin.start, before.end)
            begin = piece or begin
