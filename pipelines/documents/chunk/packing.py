"""Putting pieces together: as full as allowed, cut at the best border, small ones merged, overlap in front."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Protocol

from pipelines.documents.chunk.blocks import BlockKind
from pipelines.documents.chunk.bounds import SizeBounds
from pipelines.documents.chunk.pieces import TextPiece


@dataclass(frozen=True, slots=True)
class ChunkDraft:
    """A chunk as indices of pieces: [lead, first) is repeated from the chunk before, [first, end) is new."""

    lead: int
    first: int
    end: int


class BorderRule(Protocol):
    """Decides where a chunk ends; it is told of every piece once, so that it may keep sums."""

    def open_chunk(self, at: int) -> None:
        """A chunk begins with piece `at`."""

    def grow_chunk(self, at: int) -> None:
        """The chunk takes piece `at`."""

    def closes_before(self, at: int, length: int) -> bool:
        """The chunk, which has `length` by now, is complete without piece `at`."""


def pack_pieces(
    pieces: Sequence[TextPiece], bounds: SizeBounds, span: range | None = None, *, merged_size: int | None = None
) -> list[ChunkDraft]:
    """Group pieces into chunks of at most `bounds.size`, in linear time; `span` of them, all unless given.

    A title starts a chunk. A paragraph border is preferred over a sentence border where at least half of the room is
    used. A chunk below `bounds.minimum` joins a neighbour where both have at most `merged_size`, `bounds.size` unless
    given, and else is kept as it is.
    """
    return _merge_small(
        pieces,
        bounds,
        (
            draft
            for start, after in _sections(pieces, span or range(len(pieces)))
            for draft in _pack_section(pieces, start, after, bounds)
        ),
        merged_size or bounds.size,
    )


def pack_by_rule(pieces: Sequence[TextPiece], bounds: SizeBounds, rule: BorderRule) -> list[ChunkDraft]:
    """Group pieces into chunks that end where a rule says, between `bounds.minimum` and `bounds.size`.

    A title starts a chunk and is never left alone by the rule; small chunks are merged as by `pack_pieces`.
    """
    drafts = (
        draft
        for start, after in _sections(pieces, range(len(pieces)))
        for draft in _pack_section_by_rule(pieces, start, after, bounds, rule)
    )
    return _merge_small(pieces, bounds, drafts, bounds.size)


def _sections(pieces: Sequence[TextPiece], span: range) -> Iterator[tuple[int, int]]:
    for _, section in groupby(span, key=lambda at: pieces[at].section):
        first, *others = section
        yield first, first + 1 + len(others)


def _merge_small(
    pieces: Sequence[TextPiece], bounds: SizeBounds, drafts: Iterable[ChunkDraft], most: int
) -> list[ChunkDraft]:
    merged: list[ChunkDraft] = []
    for draft in drafts:
        if merged and _can_merge(pieces, merged[-1], draft, bounds.minimum, most):
            merged[-1] = replace(merged[-1], end=draft.end)
        else:
            merged.append(draft)
    return merged


def _pack_section_by_rule(
    pieces: Sequence[TextPiece], start: int, after: int, bounds: SizeBounds, rule: BorderRule
) -> Iterator[ChunkDraft]:
    first = lead = start
    rule.open_chunk(first)
    for at in range(start + 1, after):
        length = chunk_length(pieces, first, at)
        ripe = length >= bounds.minimum and pieces[at - 1].kind is not BlockKind.TITLE
        if (ripe and rule.closes_before(at, length)) or chunk_length(pieces, lead, at + 1) > bounds.size:
            yield ChunkDraft(lead, first, at)
            first, lead = at, _overlap_start(pieces, start, at, bounds)
            rule.open_chunk(at)
        else:
            rule.grow_chunk(at)
    yield ChunkDraft(lead, first, after)


def chunk_length(pieces: Sequence[TextPiece], first: int, end: int) -> int:
    """Length of the chunk that pieces [first, end) make, a repeated table header included."""
    return pieces[end - 1].stop - pieces[first].place + pieces[first].repeated


def _pack_section(pieces: Sequence[TextPiece], start: int, after: int, bounds: SizeBounds) -> list[ChunkDraft]:
    drafts: list[ChunkDraft] = []
    first = start
    while first < after:
        lead = _overlap_start(pieces, start, first, bounds)
        end = first + 1
        while end < after and chunk_length(pieces, lead, end + 1) <= bounds.size:
            end += 1
        if end < after:
            end = _best_border(pieces, lead, first, end, bounds.size)
        drafts.append(ChunkDraft(lead, first, end))
        first = end
    return drafts


def _best_border(pieces: Sequence[TextPiece], lead: int, first: int, end: int, size: int) -> int:
    """The last paragraph border that leaves the chunk at least half full, else the sentence border at `end`."""
    for border in range(end, first, -1):
        if 2 * chunk_length(pieces, lead, border) < size:
            break
        if pieces[border].opens and pieces[border - 1].kind is not BlockKind.TITLE:
            return border
    return end


def _overlap_start(pieces: Sequence[TextPiece], start: int, first: int, bounds: SizeBounds) -> int:
    """The first piece of the overlap: whole sentences of the same section, at most half a chunk whatever is set.

    Rows and code are not repeated: a row is whole by itself, and its header travels with it.
    """
    room = min(bounds.overlap, bounds.size // 2)
    lead = first
    while (
        lead > start
        and pieces[lead - 1].kind is BlockKind.PROSE
        and pieces[first].kind is BlockKind.PROSE
        and pieces[first].place - pieces[lead - 1].place <= room
        and chunk_length(pieces, lead - 1, first + 1) <= bounds.size
    ):
        lead -= 1
    return lead


def _can_merge(pieces: Sequence[TextPiece], before: ChunkDraft, draft: ChunkDraft, minimum: int, most: int) -> bool:
    smaller = min(chunk_length(pieces, d.lead, d.end) for d in (before, draft))
    return smaller < minimum and chunk_length(pieces, before.lead, draft.end) <= most
