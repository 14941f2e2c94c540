"""PDF files whose content unpacks to far more than they weigh: told before pdfium takes the memory for it."""

import mmap
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

from pipelines.documents.document import Reason, Unreadable

MOST_UNPACKED = 80 * 2**20
"""Bytes of one content stream; large drawings have a tenth of it."""

MOST_DRAWN = 700_000
"""Things that one stream draws. pdfium keeps some 500 bytes for each; detailed maps have a quarter of it."""

_MOST_PACKED = 1032  # times that deflate can shrink anything (RFC 1951: 258 bytes by two bits and a little)
_HEAD = 2048  # bytes before a stream, in which its dictionary stands
_STEP = 2**20
_DRAWING = (b"Tj", b"TJ", b" S\n", b"\nS\n", b" f\n", b"\nf\n", b" f*", b"\nf*", b" B\n", b" Do")
_LEAST_DRAWN = 12  # bytes that it takes to draw a thing
_STREAM = re.compile(rb"stream\r?\n")


def check_weight(path: Path) -> None:
    """Unpack, without keeping anything, those streams that are large enough to be too much.

    Pictures are left out: they are unpacked line by line. So are encrypted streams, which the limit of the process
    holds.

    Raises:
        Unreadable: BOMB.
    """
    if path.stat().st_size < _HEAD:
        return
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for start, end, twice in _packed(data):
            if _unpacks_to_too_much(data, start, end, twice):
                most = MOST_UNPACKED // 2**20
                raise Unreadable(
                    Reason.BOMB, f"what one page draws unpacks to more than {most} MiB or {MOST_DRAWN:,} things"
                )


def _packed(data: mmap.mmap) -> Iterator[tuple[int, int, bool]]:
    """Deflated streams [start, end) that are no pictures and large enough; True where they are deflated twice."""
    for found in _STREAM.finditer(data):
        start = found.end()
        if data[found.start() - 3 : found.start()] == b"end":
            continue
        head = data[max(0, found.start() - _HEAD) : found.start()]
        head = head[head.rfind(b" obj") + 1 :]
        packings = head.count(b"/FlateDecode") + head.count(b"/Fl ")
        if not packings or b"/Image" in head:
            continue
        end = data.find(b"endstream", start)
        end = len(data) if end < 0 else end
        least = MOST_DRAWN * _LEAST_DRAWN // (_MOST_PACKED ** min(packings, 2))
        if end - start >= least:
            yield start, end, packings > 1


def _unpacks_to_too_much(data: mmap.mmap, start: int, end: int, twice: bool) -> bool:
    first, second = zlib.decompressobj(), zlib.decompressobj()
    total = drawn = 0
    try:
        for at in range(start, end, _STEP):
            packed = data[at : min(end, at + _STEP)]
            while packed and not first.eof:
                piece = first.decompress(packed, _STEP)
                packed = first.unconsumed_tail
                total += _size(second, piece) if twice else len(piece)
                drawn += 0 if twice else sum(piece.count(operator) for operator in _DRAWING)
                if total > MOST_UNPACKED or drawn > MOST_DRAWN:
                    return True
    except zlib.error:
        return False  # damaged, encrypted, or packed in another way first
    return False


def _size(unpacker: "zlib._Decompress", piece: bytes) -> int:
    total = 0
    while piece and not unpacker.eof and total <= MOST_UNPACKED:
        total += len(unpacker.decompress(piece, _STEP))
        piece = unpacker.unconsumed_tail
    return total
