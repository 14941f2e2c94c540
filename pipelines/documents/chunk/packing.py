"""Putting pieces together: as full as allowed, cut at the best border, small ones merged, overlap in front."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from configs.sections import ChunkSettings
from pipelines.documents.chunk.blocks import Kind
from pipelines.documents.chunk.pieces import Piece


@dataclass(frozen=True, slots=True)
class Draft:
    """A chunk as indices of pieces: [lead, first) is repeated from the chunk before, [first, end) is new."""

    lead: int
    first: int
    end: int


def pack(pieces: Sequence[Piece], settings: ChunkSettings) -> list[Draft]:
    """Group pieces into chunks of at most `settings.size` characters, in linear time.

    A title starts a chunk. A paragraph border is preferred over a sentence border where at least half of the room is
    used. A chunk below `settings.minimum` joins a neighbour that has room for it, and else is kept as it is.
    """
    drafts: list[Draft] = []
    first = 0
    while first < len(pieces):
        after = first
        while after < len(pieces) and pieces[after].section == pieces[first].section:
            after += 1
        drafts += _section(pieces, first, after, settings)
        first = after
    return _merge_small(pieces, drafts, settings)


def length(pieces: Sequence[Piece], first: int, end: int) -> int:
    """Characters of the chunk that pieces [first, end) make, a repeated table header included."""
    header = pieces[first].header
    repeated = header[1] - header[0] + 1 if header else 0
    return pieces[end - 1].stop - pieces[first].place + repeated


def _section(pieces: Sequence[Piece], start: int, after: int, settings: ChunkSettings) -> list[Draft]:
    drafts: list[Draft] = []
    first = start
    while first < after:
        lead = _lead(pieces, start, first, settings)
        end = first + 1
        while end < after and length(pieces, lead, end + 1) <= settings.size:
            end += 1
        if end < after:
            end = _best_border(pieces, lead, first, end, settings.size)
        drafts.append(Draft(lead, first, end))
        first = end
    return drafts


def _best_border(pieces: Sequence[Piece], lead: int, first: int, end: int, size: int) -> int:
    """The last paragraph border that leaves the chunk at least half full, else the sentence border at `end`."""
    for border in range(end, first, -1):
        if 2 * length(pieces, lead, border) < size:
            break
        if pieces[border].opens and pieces[border - 1].kind is not Kind.TITLE:
            return border
    return end


def _lead(pieces: Sequence[Piece], start: int, first: int, settings: ChunkSettings) -> int:
    """The first piece of the overlap: whole sentences of the same section, at most half a chunk whatever is set.

    Rows and code are not repeated: a row is whole by itself, and its header travels with it.
    """
    room = min(settings.overlap, settings.size // 2)
    lead = first
    while (
        lead > start
        and pieces[lead - 1].kind is Kind.PROSE
        and pieces[first].kind is Kind.PROSE
        and pieces[first].place - pieces[lead - 1].place <= room
        and length(pieces, lead - 1, first + 1) <= settings.size
    ):
        lead -= 1
    return lead


def _merge_small(pieces: Sequence[Piece], drafts: Sequence[Draft], settings: ChunkSettings) -> list[Draft]:
    merged: list[Draft] = []
    for draft in drafts:
        if merged and _joins(pieces, merged[-1], draft, settings):
            merged[-1] = replace(merged[-1], end=draft.end)
        else:
            merged.append(draft)
    return merged


def _joins(pieces: Sequence[Piece], before: Draft, draft: Draft, settings: ChunkSettings) -> bool:
    """True if either chunk is too small to stand alone, and both fit into one."""
    smaller = min(length(pieces, d.lead, d.end) for d in (before, draft))
    return smaller < settings.minimum and length(pieces, before.lead, draft.end) <= settings.size
