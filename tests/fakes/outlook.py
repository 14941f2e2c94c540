"""Messages as Outlook saves them (MSG in a compound file, [MS-CFB] and [MS-OXMSG]), made by tests."""

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Tree = Mapping[str, "bytes | Tree"]
"""Streams and storages by name."""

_SECTOR, _SMALL, _END, _FREE, _FAT = 512, 4096, 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD


def message(subject: str, body: str, *attachments: Tree, enclosed: bool = False) -> Tree:
    """The root storage of a message, or the one of a message within another."""
    made = _properties({0x0037: subject, 0x1000: body}, 24 if enclosed else 32)
    return {**made, **{f"__attach_version1.0_#{at:08X}": one for at, one in enumerate(attachments)}}


def attached_file(name: str, data: bytes, mime: str = "application/octet-stream", content_id: str = "") -> Tree:
    """The storage of a file that is attached, in the text where it has a content id."""
    values: dict[int, str | bytes | int] = {0x3701: data, 0x3707: name, 0x370E: mime, 0x3705: 1, 0x0E20: len(data)}
    return _properties(values | ({0x3712: content_id} if content_id else {}), 8)


def attached_message(inner: Tree) -> Tree:
    """The storage of a message that is enclosed."""
    return {**_properties({0x3705: 5}, 8), "__substg1.0_3701000D": inner}


def _properties(values: Mapping[int, str | bytes | int], header: int) -> dict[str, bytes | Tree]:
    rows, streams = b"", dict[str, bytes | Tree]()
    for pid, value in values.items():
        if isinstance(value, int):
            rows += struct.pack("<HHIq", 0x0003, pid, 6, value)
            continue
        data, kind = (value.encode("utf-16-le"), 0x001F) if isinstance(value, str) else (value, 0x0102)
        rows += struct.pack("<HHIII", kind, pid, 6, len(data) + 2 * (kind == 0x001F), 0)
        streams[f"__substg1.0_{pid:04X}{kind:04X}"] = data
    return {"__properties_version1.0": bytes(header) + rows, **streams}


class _Sectors:
    """Sectors of one size, with the table that chains them."""

    def __init__(self, size: int) -> None:
        self.size, self.data, self.chain = size, b"", list[int]()

    def store(self, data: bytes) -> int:
        """Add a stream; the number of its first sector."""
        first, count = len(self.chain), -(-len(data) // self.size)
        self.data += data.ljust(count * self.size, b"\0")
        self.chain += [first + at + 1 if at < count - 1 else _END for at in range(count)]
        return first if count else _END

    def table(self, more: int = 0) -> bytes:
        """The chain as sectors of the file; `more` sectors are the table itself."""
        rows = [*self.chain, *[_FAT] * more]
        return struct.pack(f"<{len(rows)}I", *rows).ljust(-(-len(rows) // 128) * _SECTOR, b"\xff")


def write_compound(path: Path, tree: Tree) -> Path:
    """A compound file of a tree."""
    entries: list[list[Any]] = [["Root Entry", 5, _FREE, _FREE, _END, 0]]  # name, type, right, child, start, size
    whole, mini = _Sectors(_SECTOR), _Sectors(64)

    def add(parent: int, inside: Tree) -> None:
        before = 0
        for name, content in inside.items():
            sid = len(entries)
            entries.append([name, 1, _FREE, _FREE, 0, 0])
            entries[before or parent][2 if before else 3] = sid
            before = sid
            if isinstance(content, bytes):
                start = (mini if len(content) < _SMALL else whole).store(content)
                entries[sid][1], entries[sid][4:] = 2, [start, len(content)]
            else:
                add(sid, content)

    add(0, tree)
    entries[0][4:] = [whole.store(mini.data), len(mini.data)]
    mini_table = mini.table()
    first_mini = whole.store(mini_table)
    first = whole.store(b"".join(_directory_entry(*one) for one in entries))
    count = 1
    while count * 128 < len(whole.chain) + count:
        count += 1
    head = struct.pack(
        "<8s16sHHHHH6xIIIIIIIII",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        bytes(16),
        *(0x3E, 3, 0xFFFE, 9, 6),
        *(0, count, first, 0, _SMALL, first_mini, len(mini_table) // _SECTOR, _END, 0),
    )
    head += struct.pack(f"<{count}I", *(len(whole.chain) + at for at in range(count)))
    path.write_bytes(head.ljust(_SECTOR, b"\xff") + whole.data + whole.table(count))
    return path


def _directory_entry(name: str, kind: int, right: int, child: int, start: int, size: int) -> bytes:
    raw = name.encode("utf-16-le") + b"\0\0"
    tail = struct.pack("<BBIII16xI8x8xIQ", kind, 1, _FREE, right, child, 0, start, size)
    return raw.ljust(64, b"\0") + struct.pack("<H", len(raw)) + tail
