"""A pack is looked at before it is taken, and a pointer of LFS is told from text."""

import hashlib
import struct
import tempfile
import zlib
from collections.abc import Sequence

import pytest

from pipelines.documents.sources.git_source import TreeFilter
from pipelines.documents.sources.repositories.git_lfs import LfsPointer, lfs_pointer
from pipelines.documents.sources.repositories.git_pack import PackDamaged, PackTooLarge, check_pack

BLOB, REF_DELTA = 3, 7


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def entry(kind: int, data: bytes, said: int | None = None) -> bytes:
    size = len(data) if said is None else said
    rest = size >> 4
    head = bytes([kind << 4 | size & 15 | (0x80 if rest else 0)]) + (varint(rest) if rest else b"")
    return head + (b"b" * 20 if kind == REF_DELTA else b"") + zlib.compress(data)


def check(
    entries: Sequence[bytes], count: int | None = None, object_bytes: int = 1 << 20, total: int = 1 << 22
) -> None:
    body = b"PACK" + struct.pack(">LL", 2, len(entries) if count is None else count) + b"".join(entries)
    with tempfile.TemporaryFile() as file:
        file.write(body + hashlib.sha1(body, usedforsecurity=False).digest())
        check_pack(file, object_bytes, total)


def test_a_pack_within_its_bounds_passes() -> None:
    check([entry(BLOB, b"x" * 200_000), entry(REF_DELTA, varint(9) + varint(9) + b"\x09123456789"), entry(BLOB, b"")])


@pytest.mark.parametrize(
    ("entries", "error"),
    [
        ([entry(BLOB, bytes(2 << 20))], PackTooLarge),
        ([entry(BLOB, b"x", 5 << 30)], PackTooLarge),
        ([entry(REF_DELTA, varint(9) + varint(9 << 30) + b"\x80")], PackTooLarge),
        ([entry(BLOB, bytes(1 << 20))] * 5, PackTooLarge),
        ([entry(BLOB, bytes(1 << 20), 10)], PackDamaged),
        ([entry(BLOB, b"x", 10)], PackDamaged),
        ([entry(BLOB, b"x" * 99)[:-9]], PackDamaged),
    ],
)
def test_what_inflates_without_end_or_lies_is_refused(entries: list[bytes], error: type[Exception]) -> None:
    with pytest.raises(error):
        check(entries)
    with pytest.raises(PackDamaged):
        check([entry(BLOB, b"x")], count=1_000_000)


def test_a_pointer_is_one_only_as_a_whole() -> None:
    text = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'a' * 64}\nsize 12\n"
    assert lfs_pointer(text.encode()) == LfsPointer("a" * 64, 12)
    for other in ("", text + "and more text", text.replace("oid", "old"), "Read: " + text, text * 20):
        assert lfs_pointer(other.encode()) is None


def test_patterns_and_a_folder_choose_files() -> None:
    chosen = TreeFilter("docs", ("*.md", "docs/raw/*"), ("*/draft*",))
    names = ["docs/a.md", "docs/deep/b.md", "docs/raw/c.bin", "docs/draft.md", "docs/.git/x.md", "docs/c.txt", "a.md"]
    assert [name for name in names if chosen.takes(name)] == ["docs/a.md", "docs/deep/b.md", "docs/raw/c.bin"]
    assert TreeFilter("a/b").enters("a") and TreeFilter("a/b").enters("a/b/c") and not TreeFilter("a/b").enters("ab")
