"""The smallest parts a chunk is made of: sentences, table rows, paragraphs of code, titles."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from configs.sections import ChunkSettings
from pipelines.documents.chunk import blocks, headings
from pipelines.documents.chunk.blocks import BlockKind, TextBlock
from pipelines.documents.chunk.sentences import cut_to_length, line_spans, sentences, trim_span
from pipelines.documents.document import Page


@dataclass(frozen=True, slots=True)
class TextPiece:
    """Characters [start, end) of a page that stay together, without white space around."""

    page: int  # index into the readable pages
    start: int  # offset of the first character in the page's text
    end: int  # offset after the last one
    place: int  # `start` on one ruler for all pages, on which pages follow each other one character apart
    kind: BlockKind  # what it was cut from
    section: int  # counts titles; pieces under the same title share it
    opens: bool  # whether a paragraph, table or block of code begins here
    fixed: bool = False  # cut by length, for want of a border
    header: tuple[int, int] | None = None  # [start, end) of the header of a table that began before this row

    @property
    def stop(self) -> int:
        """`end` on the ruler of `place`."""
        return self.place + self.end - self.start


@dataclass(frozen=True, slots=True)
class DocumentOutline:
    """A document's pieces in order, and for each section the titles above it, outermost first."""

    pieces: Sequence[TextPiece]
    titles: Sequence[tuple[str, ...]]


def build_outline(pages: Sequence[Page], settings: ChunkSettings) -> DocumentOutline:
    """Take pages apart; every piece has at most `settings.size` characters, a row with its table's header included."""
    running = headings.find_running_lines([page.text for page in pages])
    pieces: list[TextPiece] = []
    titles: list[tuple[str, ...]] = [()]
    stack: list[tuple[int, str]] = []
    opened = 0  # the first piece of the section
    for index, page in enumerate(pages):
        offset: int | None = None  # from the page's own offsets to the ruler
        for block in blocks.find_blocks(page.text, running):
            if block.kind is BlockKind.TITLE:
                _push_title(stack, block.level, page.text[block.start : block.end])
                if not (pieces and pieces[-1].kind is BlockKind.TITLE):
                    titles.append(())
                    opened = len(pieces)
                titles[-1] = tuple(words for _, words in stack)
            opens = offset is not None or not _goes_on(pages, pieces, page, block)
            for cut in _cut_block(page.text, block, settings, _room_below(pieces, opened, index, block, settings.size)):
                if offset is None:
                    offset = (pieces[-1].stop + 1 if pieces else 0) - cut.start
                place, section = offset + cut.start, len(titles) - 1
                facts = (place, block.kind, section, opens, cut.fixed, cut.header)
                pieces.append(TextPiece(index, cut.start, cut.end, *facts))
                opens = False
    return DocumentOutline(pieces, titles)


def _push_title(stack: list[tuple[int, str]], level: int, text: str) -> None:
    """Leave the titles that end here, and go under the new one."""
    while stack and stack[-1][0] >= level:
        stack.pop()
    stack.append((level, headings.title_text(text.strip().splitlines()[0].strip())))


def _goes_on(pages: Sequence[Page], pieces: Sequence[TextPiece], page: Page, block: TextBlock) -> bool:
    """A page that begins in lower case after an unfinished sentence continues the last page's paragraph."""
    if not pieces or pieces[-1].kind is not BlockKind.PROSE or block.kind is not BlockKind.PROSE:
        return False
    last = pages[pieces[-1].page].text[pieces[-1].end - 1]
    return last not in ".!?:…。！？" and page.text[block.start : block.end].lstrip()[:1].islower()


def _room_below(pieces: Sequence[TextPiece], opened: int, page: int, block: TextBlock, size: int) -> int:
    """The room for the first piece under the titles from `opened` on, so that all fit into one chunk."""
    if not pieces or pieces[-1].kind is not BlockKind.TITLE or block.kind is BlockKind.TITLE:
        return size
    used = pieces[-1].stop - pieces[opened].place
    used += block.start - pieces[-1].end if pieces[-1].page == page else 1
    return size - used if 2 * used <= size else size


@dataclass(frozen=True, slots=True)
class _Cut:
    start: int
    end: int
    fixed: bool
    header: tuple[int, int] | None


def _cut_block(text: str, block: TextBlock, settings: ChunkSettings, first: int) -> Iterator[_Cut]:
    """The pieces of a block; `first` is the room for the first one."""
    size, room, header = settings.size, first, None
    for start, end in _block_borders(text, block):
        if block.kind is BlockKind.TABLE and start >= block.body > block.start:
            above = trim_span(text, block.start, block.body)
            used = above[1] - above[0] + 1
            # A header that fills the chunk would leave no room for its rows.
            header, room = (above, size - used) if 2 * used <= size else (None, size)
        start, end = trim_span(text, start, end)
        fixed = end - start > room
        # Text without borders is cut fine enough for the overlap, which repeats whole pieces.
        fine = fixed and block.kind is BlockKind.PROSE and 8 * settings.overlap >= size
        for begin, stop in cut_to_length(text, start, end, min(room, settings.overlap) if fine else room):
            begin, stop = trim_span(text, begin, stop)
            if begin < stop:
                yield _Cut(begin, stop, fixed, header)
        if header is None and start < end:
            room = size


def _block_borders(text: str, block: TextBlock) -> Iterator[tuple[int, int]]:
    if block.kind is BlockKind.PROSE:
        yield from sentences(text, block.start, block.end)
    elif block.kind is BlockKind.TABLE:
        if block.body > block.start:
            yield block.start, block.body
        yield from line_spans(text, block.body, block.end)
    elif block.kind is BlockKind.CODE:
        yield from _paragraph_spans(text, block.start, block.end)
    else:
        yield block.start, block.end


def _paragraph_spans(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    begin = start
    for line, stop in line_spans(text, start, end):
        if not text[line:stop].strip():
            yield begin, stop
            begin = stop
    if begin < end:
        yield begin, end
