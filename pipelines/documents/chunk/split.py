"""Pages in, chunks out, by the strategy that is set."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Final

import numpy as np
from numpy.typing import NDArray

from configs.sections import ChunkSettings, ChunkStrategy
from pipelines.documents import document
from pipelines.documents.chunk.bounds import size_bounds
from pipelines.documents.chunk.chunk_metrics import measure_chunks
from pipelines.documents.chunk.packing import ChunkDraft
from pipelines.documents.chunk.pieces import DocumentOutline, TextPiece, build_outline
from pipelines.documents.chunk.rulers import TokenEnds, choose_ruler
from pipelines.documents.chunk.strategies import NEEDING_VECTORS, STRATEGIES, Chunking, ChunkingInput
from pipelines.documents.document import Chunk, Page, PageBox, ParentPassage, Span, Word, bounding_box

VERSION = 1
_COMMON = ("strategy", "size")
# Settings that a strategy uses beside those of all.
_USED: Final[dict[ChunkStrategy, tuple[str, ...]]] = {
    "semantic_similarity": ("similarity", "coherence"),
    "information_density": ("entropy_factor",),
    "topic_coherence": ("coherence",),
    "adaptive": ("similarity", "entropy_factor", "coherence"),
}


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
                yield PageBox(span.page, bounding_box([word.box for word in line]))
                line = []
            line.append(word)
        if line:
            yield PageBox(span.page, bounding_box([word.box for word in line]))

    def _breaks_line(self, last: Word, word: Word) -> bool:
        """A new line in the text, or a word that stands above or below."""
        if "\n" in self.page.text[last.start + len(last.text) : word.start]:
            return True
        middle = (word.box.y0 + word.box.y1) / 2
        return not last.box.y0 <= middle <= last.box.y1


def split_pages(
    pages: Sequence[Page],
    settings: ChunkSettings,
    vectors: NDArray[np.float32] | None = None,
    tokens: TokenEnds | None = None,
) -> list[Chunk]:
    """Cut a document where its meaning is cut: titles, paragraphs, tables between rows, code between blank lines.

    No text is lost: every non-space character of every readable page stands in at least one chunk. The same pages,
    settings and vectors give the same chunks. Time is linear in the text.

    Args:
        pages: in order; those with a failure are skipped. A chunk may go on over the end of a page.
        vectors: one unit row for each of `sentence_texts`; without them strategies that need some go by keywords.
        tokens: where tokens end, for sizes in tokens.

    Returns:
        Chunks of at most `settings.size`. A chunk's text is its spans' texts joined by newlines. Where it
        begins inside a table, its first span is the table's header. `headings` are the titles that hold for all of
        the chunk, its own included. Overlap is whole sentences of the same section, at most half a chunk. `method` is
        `fixed` where text without any border was cut by length, else the strategy.

    Raises ValueError: another number of vectors than of texts, or sizes in tokens and nobody who counts them.
    """
    readable, parts = _build_parts(pages, settings, tokens)
    texts = _piece_texts(readable, parts)
    if vectors is not None and len(vectors) != len(texts):
        raise ValueError(f"{len(vectors)} vectors for {len(texts)} texts")
    given = ChunkingInput(parts.pieces, texts, size_bounds(settings), settings, vectors)
    made = STRATEGIES[settings.strategy](given)
    geometry = [PageGeometry.of(page) for page in readable]
    chunks = [_build_chunk(ordinal, draft, made.method, parts, geometry) for ordinal, draft in enumerate(made.drafts)]
    metrics = measure_chunks([chunk.text for chunk in chunks], made.drafts, vectors)
    parents = _place_parents(made, parts, readable)
    return [
        replace(chunk, metrics=measured, parent=parents[chunk.ordinal] if parents else None)
        for chunk, measured in zip(chunks, metrics, strict=True)
    ]


def needs_vectors(settings: ChunkSettings) -> bool:
    """True where the strategy compares the vectors of `sentence_texts`."""
    return settings.strategy in NEEDING_VECTORS


def follows_embedder(settings: ChunkSettings) -> bool:
    """True where another embedder cuts otherwise: its vectors are compared, or its tokens are counted."""
    return needs_vectors(settings) or settings.unit == "tokens"


def sentence_texts(pages: Sequence[Page], settings: ChunkSettings, tokens: TokenEnds | None = None) -> list[str]:
    """The texts that a strategy compares: sentences, rows of tables, paragraphs of code, titles, in their order."""
    return _piece_texts(*_build_parts(pages, settings, tokens))


def chunker_fingerprint(settings: ChunkSettings, embedder: str = "") -> str:
    """16 hex digits; a change means that chunks have to be made again. What the strategy does not use is no change.

    `embedder` is the fingerprint of what makes vectors, which counts where the cut follows it: generations of one
    chunker share their chunks.
    """
    named = [*_COMMON, "overlap" if settings.strategy == "semantic" else "overlap_ratio", "minimum"]
    named += [] if settings.strategy == "semantic" else ["target", *_USED.get(settings.strategy, ())]
    used = {name: getattr(settings, name) for name in named}
    # As before there were other units: an index of characters is not to be made again.
    used |= {} if settings.unit == "characters" else {"unit": settings.unit}
    used |= {"embedder": embedder} if follows_embedder(settings) else {}
    return document.fingerprint_parts("chunk", VERSION, used)


def _build_parts(
    pages: Sequence[Page], settings: ChunkSettings, tokens: TokenEnds | None
) -> tuple[list[Page], DocumentOutline]:
    readable = [page for page in pages if page.failure is None]
    return readable, build_outline(readable, size_bounds(settings), choose_ruler(settings.unit, tokens))


def _piece_texts(pages: Sequence[Page], parts: DocumentOutline) -> list[str]:
    return [pages[piece.page].text[piece.start : piece.end] for piece in parts.pieces]


def _place_parents(made: Chunking, parts: DocumentOutline, pages: Sequence[Page]) -> list[ParentPassage]:
    """The parent of each chunk; none where the strategy has none."""
    found: list[ParentPassage] = []
    first = 0
    for ordinal, parent in enumerate(made.parents):
        last = first
        while last + 1 < len(made.drafts) and made.drafts[last + 1].end <= parent.end:
            last += 1
        located = _piece_spans(parts.pieces[parent.first : parent.end])
        spans = tuple(replace(span, page=pages[span.page].number) for span in located)
        found += [ParentPassage(ordinal, first, last, spans)] * (last + 1 - first)
        first = last + 1
    return found


def _build_chunk(
    ordinal: int, draft: ChunkDraft, method: str, parts: DocumentOutline, geometry: Sequence[PageGeometry]
) -> Chunk:
    pieces = parts.pieces[draft.lead : draft.end]
    located = list(_piece_spans(pieces))
    levels = zip(*(parts.titles[piece.section] for piece in pieces), strict=False)
    spans = tuple(replace(span, page=geometry[span.page].page.number) for span in located)
    return Chunk(
        ordinal=ordinal,
        text="\n".join(geometry[span.page].page.text[span.start : span.end] for span in located),
        spans=spans,
        headings=tuple(titles[0] for titles in takewhile(lambda titles: len(set(titles)) == 1, levels)),
        method="fixed" if any(piece.fixed for piece in pieces) else method,
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
