"""The sizes that chunks of a strategy are held to, in the unit of the settings."""

from dataclasses import dataclass

from configs.sections import ChunkSettings


@dataclass(frozen=True, slots=True)
class SizeBounds:
    """Sizes of chunks and of what they are made of."""

    size: int  # most of a chunk
    minimum: int  # below, a chunk joins a neighbour that has room for it
    overlap: int  # most that is repeated of the chunk before
    target: int  # about which a chunk is closed
    fixed: int  # most of a piece that is cut by length, for want of a border


def size_bounds(settings: ChunkSettings) -> SizeBounds:
    """Bounds of the strategy that is set.

    Text without borders is cut fine enough for an overlap, which repeats whole pieces, or for the target.
    """
    size = settings.size
    if settings.strategy == "semantic":
        fixed = settings.overlap if 8 * settings.overlap >= size else size
        return SizeBounds(size, settings.minimum, settings.overlap, size, fixed)
    target = min(settings.target, size)
    if settings.strategy == "hierarchical":
        return SizeBounds(size, min(settings.minimum, target // 2), 0, target, target // 2)
    return SizeBounds(size, min(settings.minimum, target), int(settings.overlap_ratio * target), target, target)
