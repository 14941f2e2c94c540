"""A TrueType font of one box for all letters, for text that is found and copied but never seen."""

import struct
from collections.abc import Iterable, Sequence
from typing import Final

EM: Final = 1000  # units
ADVANCE: Final = 500  # of every letter, in units
NAME: Final = "AOS-Invisible"
_LARGEST_BLOCK = 100  # entries of one block (Adobe Technical Note 5014)
_ONE = 0x10000  # a fixed-point number
_MAGIC = 0x5F0F3CF5
_SURROGATES = range(0xD8, 0xE0)
_CHECKSUM: Final = 0xB1B0AFBA  # OpenType: `checkSumAdjustment` makes the whole file sum up to this


def glyphless_truetype(called: str = NAME) -> bytes:
    """The font: one glyph for all letters, half as wide as high, a box from the base of the line to its top.

    It has an outline, as what has no extent is no text to readers; only text render mode 3 keeps it out of sight.
    Tables are those that PDF 32000-1, 9.9.2 asks of an embedded TrueType font, and the name.

    Args:
        called: its PostScript name; programs take two fonts of one name for the same.
    """
    name = called.encode("utf-16-be")
    records = b"".join(struct.pack(">6H", 3, 1, 0x409, kind, len(name), 0) for kind in (1, 4, 6))
    extents = (0, 0, ADVANCE, EM)
    # A contour of four points on the curve, their flags, and the steps from one to the next along x and y.
    outline = struct.pack(">5hHH4B8h", 1, *extents, 3, 0, 1, 1, 1, 1, 0, 0, ADVANCE, 0, 0, EM, 0, -EM) + bytes(2)
    tables = {
        b"cmap": struct.pack(">2H2HI", 0, 1, 3, 1, 12)
        + struct.pack(">12H", 4, 24, 0, 2, 2, 0, 0, 0xFFFF, 0, 0xFFFF, 1, 0),
        b"glyf": outline,
        b"head": struct.pack(
            ">IIIIHH16s4hHHhhh", 0x10000, 0x10000, 0, 0x5F0F3CF5, 3, EM, bytes(16), *extents, 0, 8, 2, 0, 0
        ),
        b"hhea": struct.pack(">I3hH11hH", _ONE, EM, 0, 0, ADVANCE, 0, 0, ADVANCE, 1, *([0] * 7), 2),
        b"hmtx": struct.pack(">HhHh", ADVANCE, 0, ADVANCE, 0),
        b"loca": struct.pack(">3H", 0, 0, len(outline) // 2),
        b"maxp": struct.pack(">IH13H", _ONE, 2, 4, 1, 0, 0, 1, *([0] * 8)),
        b"name": struct.pack(">3H", 0, 3, 6 + len(records)) + records + name,
        b"post": struct.pack(">IIhhI4I", 0x30000, 0, 0, 0, 1, 0, 0, 0, 0),
    }
    return _with_directory(tables)


def _with_directory(tables: dict[bytes, bytes]) -> bytes:
    count = len(tables)
    power = 1 << (count.bit_length() - 1)
    head = struct.pack(">I4H", _ONE, count, power * 16, power.bit_length() - 1, (count - power) * 16)
    offset, directory, body = len(head) + 16 * count, b"", b""
    at_head = 0
    for tag, content in sorted(tables.items()):
        padded = content + bytes(-len(content) % 4)
        at_head = offset if tag == b"head" else at_head
        directory += struct.pack(">4sIII", tag, _checksum(padded), offset, len(content))
        body, offset = body + padded, offset + len(padded)
    whole = head + directory + body
    adjustment = struct.pack(">I", (_CHECKSUM - _checksum(whole)) & 0xFFFFFFFF)
    return whole[: at_head + 8] + adjustment + whole[at_head + 12 :]


def _checksum(data: bytes) -> int:
    return sum(struct.unpack(f">{len(data) // 4}I", data)) & 0xFFFFFFFF


def unicode_cmap(beyond: Sequence[str] = ()) -> bytes:
    """The ToUnicode CMap of 16-bit codes that are the UTF-16 of their letters.

    Args:
        beyond: letters outside of the basic plane; the code of each is its place in the list, from 1.
    """
    if beyond:
        chars = [f"<{code:04X}> <{char.encode('utf-16-be').hex().upper()}>" for code, char in enumerate(beyond, 1)]
        blocks = _mapping_blocks(chars, "bfchar")
    else:  # a range must not go over the last byte of its codes
        ranges = [f"<{high:02X}00> <{high:02X}FF> <{high:02X}00>" for high in range(256) if high not in _SURROGATES]
        blocks = _mapping_blocks(ranges, "bfrange")
    lines = [
        "/CIDInit /ProcSet findresource begin",
        "12 dict begin",
        "begincmap",
        "/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def",
        "/CMapName /Adobe-Identity-UCS def",
        "/CMapType 2 def",
        "1 begincodespacerange",
        "<0000> <FFFF>",
        "endcodespacerange",
        *blocks,
        "endcmap",
        "CMapName currentdict /CMap defineresource pop",
        "end",
        "end",
    ]
    return "\n".join(lines).encode("ascii")


def _mapping_blocks(entries: Sequence[str], kind: str) -> Iterable[str]:
    for first in range(0, len(entries), _LARGEST_BLOCK):
        block = entries[first : first + _LARGEST_BLOCK]
        yield f"{len(block)} begin{kind}"
        yield from block
        yield f"end{kind}"
