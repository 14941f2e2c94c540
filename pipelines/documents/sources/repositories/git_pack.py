"""A look at a pack before it is taken: what it would inflate to is bounded, whatever its own headers claim."""

import mmap
import zlib
from typing import IO, Final

_OFS_DELTA: Final = 6
_REF_DELTA: Final = 7
_HASH: Final = 20
_BLOCK: Final = 1 << 16
_SIZES: Final = 20  # bytes that the two sizes at a delta's beginning have at most


class PackDamaged(Exception):
    """It is no whole pack."""


class PackTooLarge(Exception):
    """An object, or all of them together, would take more memory than they may."""


def check_pack(file: IO[bytes], object_bytes: int, total_bytes: int) -> None:
    """Walk over a pack's objects without keeping any. Raises PackDamaged, PackTooLarge."""
    file.flush()
    try:
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            if len(data) < 12 + _HASH or data[:4] != b"PACK":
                raise PackDamaged("it is no pack")
            place, left, total = 12, int.from_bytes(data[8:12], "big"), 0
            while left:
                place, size = _skip_object(data, place, object_bytes)
                left, total = left - 1, total + size
                if total > total_bytes:
                    raise PackTooLarge(f"its objects have more than {total_bytes} bytes")
    except (IndexError, ValueError, zlib.error) as error:
        raise PackDamaged(str(error)) from error


def _skip_object(data: mmap.mmap, place: int, most: int) -> tuple[int, int]:
    """Where the next one begins, and how large this one is or becomes."""
    first = data[place]
    kind, size, shift = (first >> 4) & 7, first & 15, 4
    while data[place] & 0x80:
        place += 1
        size |= (data[place] & 0x7F) << shift
        shift += 7
    place += 1
    if kind == _REF_DELTA:
        place += _HASH
    elif kind == _OFS_DELTA:
        while data[place] & 0x80:
            place += 1
        place += 1
    _keep_bound(size, most)
    place, head = _inflate(data, place, size)
    if kind in (_OFS_DELTA, _REF_DELTA):
        size = _result_size(head)
        _keep_bound(size, most)
    return place, size


def _keep_bound(size: int, most: int) -> None:
    if size > most:
        raise PackTooLarge(f"one of its objects has {size} bytes")


def _inflate(data: mmap.mmap, place: int, size: int) -> tuple[int, bytes]:
    """Where the stream ends, and its first bytes. Raises PackDamaged: it is longer or shorter than it says."""
    stream, done, head = zlib.decompressobj(), 0, b""
    while not stream.eof:
        block = data[place : place + _BLOCK]
        if not block:
            raise PackDamaged("it ends within an object")
        while True:
            out = stream.decompress(block, _BLOCK)
            done += len(out)
            if len(head) < _SIZES:
                head += out[:_SIZES]
            if done > size:
                raise PackDamaged("an object is longer than it says")
            if stream.eof or not stream.unconsumed_tail:
                break
            place += len(block) - len(stream.unconsumed_tail)
            block = stream.unconsumed_tail
        place += len(block) - len(stream.unused_data)
    if done != size:
        raise PackDamaged("an object is shorter than it says")
    return place, head


def _result_size(head: bytes) -> int:
    """The second of the two sizes that a delta begins with."""
    place = size = 0
    for _ in range(2):
        size = shift = 0
        while True:
            byte = head[place]
            place += 1
            size |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                break
    return size
