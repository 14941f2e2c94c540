"""Putting pieces together: as full as allowed, cut at the best border, small ones merged, overlap in front."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from configs.sections import ChunkSettings
from pipelines.documents.chunk.blocks import BlockKind
from pipelines.documents.chunk.pieces import TextPiece


@dataclass(frozen=True, slots=True)
class ChunkDraft:
    """A chunk as indices of pieces: [lead, first) is repeated from the chunk before, [first, end) is new."""

    lead: int
    first: int
    end: int


def pack_pieces(pieces: Sequence[TextPiece], settings: ChunkSettings) -> list[ChunkDraft]:
    """Group pieces into chunks of at most `settings.size` characters, in linear time.

    A title starts a chunk. A paragraph border is preferred over a sentence border where at least half of the room is
    used. A chunk below `settings.minimum` joins a neighbour that has room for it, and else is kept as it is.
    """
    merged: list[ChunkDraft] = []
    for _, section in groupby(range(len(pieces)), key=lambda at: pieces[at].section):
        first, *others = section
        for draft in _pack_section(pieces, first, first + 1 + len(others), settings):
            if merged and _can_merge(pieces, merged[-1], draft, settings):
                merged[-1] = replace(merged[-1], end=draft.end)
            else:
                merged.append(draft)
    return merged


def chunk_length(pieces: Sequence[TextPiece], first: int, end: int) -> int:
    """Characters of the chunk that pieces [first, end) make, a repeated table header included."""
    header = pieces[first].header
    repeated = header[1] - header[0] + 1 if header else 0
    return pieces[end - 1].stop - pieces[first].place + repeated


def _pack_section(pieces: Sequence[TextPiece], start: int, after: int, settings: ChunkSettings) -> list[ChunkDraft]:
    drafts: list[ChunkDraft] = []
    first = start
    while first < after:
        lead = _overlap_start(pieces, start, first, settings)
        end = first + 1
        while end < after and chunk_length(pieces, lead, end + 1) <= settings.size:
            end += 1
        if end < after:
            end = _best_border(pieces, lead, first, end, settings.size)
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


def _overlap_start(pieces: Sequence[TextPiece], start: int, first: int, settings: ChunkSettings) -> int:
    """The first piece of the overlap: whole sentences of the same section, at most half a chunk whatever is set.

    Rows and code are not repeated: a row is whole by itself, and its header travels with it.
    """
    room = min(settings.overlap, settings.size // 2)
    lead = first
    while (
        lead > start
        and pieces[lead - 1].kind is BlockKind.PROSE
        and pieces[first].kind is BlockKind.PROSE
        and pieces[first].place - pieces[lead - 1].place <= room
        and chunk_length(pieces, lead - 1, first + 1) <= settings.size
    ):
        lead -= 1
    return lead


def _can_merge(pieces: Sequence[TextPiece], before: ChunkDraft, draft: ChunkDraft, settings: ChunkSettings) -> bool:
    smaller = min(chunk_length(pieces, d.lead, d.end) for d in (before, draft))
    return smaller < settings.minimum and chunk_length(pieces, before.lead, draft.end) <= settings.size
