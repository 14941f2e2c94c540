"""The smallest parts a chunk is made of: sentences, table rows, paragraphs of code, titles."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pipelines.documents.chunk import blocks, headings
from pipelines.documents.chunk.blocks import BlockKind, TextBlock
from pipelines.documents.chunk.bounds import SizeBounds
from pipelines.documents.chunk.rulers import CharacterRuler, TextRuler
from pipelines.documents.chunk.sentences import line_spans, sentences, trim_span
from pipelines.documents.document import Page


@dataclass(frozen=True, slots=True)
class TextPiece:
    """Characters [start, end) of a page that stay together, without white space around."""

    page: int  # index into the readable pages
    start: int  # offset of the first character in the page's text
    end: int  # offset after the last one
    place: int  # `start` on one ruler for all pages, on which pages follow each other one unit apart
    length: int  # on that ruler
    kind: BlockKind  # what it was cut from
    section: int  # counts titles; pieces under the same title share it
    opens: bool  # whether a paragraph, table or block of code begins here
    fixed: bool = False  # cut by length, for want of a border
    header: tuple[int, int] | None = None  # [start, end) of the header of a table that began before this row
    repeated: int = 0  # what a chunk that begins here takes for that header

    @property
    def stop(self) -> int:
        """`end` on the ruler of `place`."""
        return self.place + self.length


@dataclass(frozen=True, slots=True)
class DocumentOutline:
    """A document's pieces in order, and for each section the titles above it, outermost first."""

    pieces: Sequence[TextPiece]
    titles: Sequence[tuple[str, ...]]


def build_outline(
    pages: Sequence[Page], bounds: SizeBounds, rule: Callable[[str], TextRuler] = CharacterRuler
) -> DocumentOutline:
    """Take pages apart; every piece has at most `bounds.size`, a row with its table's header included."""
    running = headings.find_running_lines([page.text for page in pages])
    pieces: list[TextPiece] = []
    titles: list[tuple[str, ...]] = [()]
    stack: list[tuple[int, str]] = []
    opened = 0  # the first piece of the section
    for index, page in enumerate(pages):
        ruler = rule(page.text)
        origin: int | None = None  # where the page's first piece starts
        base = pieces[-1].stop + 1 if pieces else 0  # and where on the ruler of all pages
        for block in blocks.find_blocks(page.text, running):
            if block.kind is BlockKind.TITLE:
                _push_title(stack, block.level, page.text[block.start : block.end])
                if not (pieces and pieces[-1].kind is BlockKind.TITLE):
                    titles.append(())
                    opened = len(pieces)
                titles[-1] = tuple(words for _, words in stack)
            opens = origin is not None or not _goes_on(pages, pieces, page, block)
            room = _room_below(pieces, opened, index, block, bounds.size, ruler)
            for cut in _cut_block(page.text, block, bounds, room, ruler):
                if origin is None:
                    origin = cut.start
                place, length = base + ruler.measure(origin, cut.start), ruler.measure(cut.start, cut.end)
                facts = (len(titles) - 1, opens, cut.fixed, cut.header, cut.repeated)
                pieces.append(TextPiece(index, cut.start, cut.end, place, length, block.kind, *facts))
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


def _room_below(
    pieces: Sequence[TextPiece], opened: int, page: int, block: TextBlock, size: int, ruler: TextRuler
) -> int:
    """The room for the first piece under the titles from `opened` on, so that all fit into one chunk."""
    if not pieces or pieces[-1].kind is not BlockKind.TITLE or block.kind is BlockKind.TITLE:
        return size
    used = pieces[-1].stop - pieces[opened].place
    used += ruler.measure(pieces[-1].end, block.start) if pieces[-1].page == page else 1
    return size - used if 2 * used <= size else size


@dataclass(frozen=True, slots=True)
class _Cut:
    start: int
    end: int
    fixed: bool
    header: tuple[int, int] | None
    repeated: int


def _cut_block(text: str, block: TextBlock, bounds: SizeBounds, first: int, ruler: TextRuler) -> Iterator[_Cut]:
    """The pieces of a block; `first` is the room for the first one."""
    size, room, header, repeated = bounds.size, first, None, 0
    for start, end in _block_borders(text, block):
        if block.kind is BlockKind.TABLE and start >= block.body > block.start:
            above = trim_span(text, block.start, block.body)
            used = ruler.measure(*above) + 1
            # A header that fills the chunk would leave no room for its rows.
            header, repeated, room = (above, used, size - used) if 2 * used <= size else (None, 0, size)
        start, end = trim_span(text, start, end)
        fixed = ruler.measure(start, end) > room
        fine = fixed and block.kind is BlockKind.PROSE
        for begin, stop in ruler.cut(start, end, min(room, bounds.fixed) if fine else room):
            begin, stop = trim_span(text, begin, stop)
            if begin < stop:
                yield _Cut(begin, stop, fixed, header, repeated)
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
