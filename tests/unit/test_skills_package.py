"""Hostile `.skill` files: each is refused by name, and memory stays as small as what is taken."""

import struct
import tracemalloc
import zlib
from collections.abc import Callable
from io import BytesIO
from time import perf_counter
from typing import Any
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import pytest

from cluster.basics.archive import MOST_ENTRIES, BadPackage, FileBundle, PackageTooLarge, pack_zip, unpack_zip
from skills.framework.manifest import BadManifest
from skills.framework.package import read_package

SKILL = b"---\nname: s\ndescription: d\n---\nBe brief.\n"
SHELL = b"---\nname: x\ndescription: d\ntype: shell\n---\n"
GOOD = {"s/SKILL.md": SKILL, "s/references/a.md": b"One two three."}


def zipped(files: dict[str, bytes], *, method: int = ZIP_DEFLATED, comment: bytes = b"", **how: Any) -> bytes:
    """As any tool would write it, with what the test wants to be odd in every entry's `how`."""
    made = BytesIO()
    with ZipFile(made, "w") as archive:
        for name, content in files.items():
            entry = ZipInfo(name)
            for key, value in how.items():
                setattr(entry, key, value)
            archive.writestr(entry, content, method, 1)  # nobody keeps it: quickly, not small
        archive.comment = comment
    return made.getvalue()


def plus(name: str, content: bytes = b"x", **how: Any) -> bytes:
    """A good package, and one more entry."""
    made = BytesIO()
    with ZipFile(made, "w") as archive:
        for path, data in GOOD.items():
            archive.writestr(path, data)
        entry = ZipInfo("placeholder")
        for key, value in how.items():
            setattr(entry, key, value)
        entry.filename = name  # past ZipInfo's own tidying up
        archive.writestr(entry, content, ZIP_DEFLATED)
    return made.getvalue()


def raw(old: bytes, new: bytes, data: bytes, times: int = -1) -> bytes:
    assert old in data and len(old) == len(new)
    return data.replace(old, new, times)


def directory_says(data: bytes, offset: int, form: str, value: int, entry: int = 1) -> bytes:
    """One field of an entry in the central directory is another."""
    at = -1
    for _ in range(entry + 1):
        at = data.index(b"PK\x01\x02", at + 1)
    changed = bytearray(data)
    struct.pack_into(form, changed, at + offset, value)
    return bytes(changed)


def lying(claimed: int) -> bytes:
    """60 MiB behind a header that claims a few bytes, in both places."""
    data = plus("s/references/b.md", b"\0" * (60 << 20))
    local = data.index(b"s/references/b.md") - 30
    changed = bytearray(data)
    struct.pack_into("<L", changed, local + 22, claimed)
    return directory_says(bytes(changed), 24, "<L", claimed, 2)


def quine() -> bytes:
    """Forty directory entries that all point at one body (Fifield 2019)."""
    data = zipped({"s/SKILL.md": SKILL, "s/references/a": b"\0" * 50_000})
    end = len(data) - 22
    _, _, _, _, total, size, offset, _ = struct.unpack("<4s4H2LH", data[end:])
    last = data[data.index(b"PK\x01\x02", offset + 4) : end]
    more = b"".join(last.replace(b"references/a", f"references/{chr(98 + n % 20)}".encode()) for n in range(40))
    body = data[:end] + more
    return body + struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, total + 40, total + 40, size + len(more), offset, 0)


def many(count: int) -> bytes:
    return zipped({f"s/references/{n}": b"" for n in range(count)}, method=ZIP_STORED)


def few_says_the_end() -> bytes:
    data = bytearray(many(3_000))
    struct.pack_into("<2H", data, len(data) - 14, 2, 2)
    return bytes(data)


def more(text: str) -> bytes:
    return front(f"name: s\ndescription: d\n{text}")


def front(text: str) -> bytes:
    return zipped({"s/SKILL.md": f"---\n{text}\n---\nBody.".encode()})


ATTACKS: dict[str, tuple[Callable[[], bytes], type[Exception]]] = {
    "no ZIP": (lambda: b"#!/bin/sh\necho hello\n" * 10, BadPackage),
    "empty": (lambda: b"", BadPackage),
    "an empty ZIP": (lambda: zipped({}), BadPackage),
    "cut in half": (lambda: zipped(GOOD)[:150], BadPackage),
    "a program in front of the ZIP": (lambda: b"\x7fELF" + zipped(GOOD), BadPackage),
    "bytes in front that look like a ZIP": (lambda: b"PK\x03\x04" + zipped(GOOD), BadPackage),
    "a comment that holds another ZIP": (lambda: zipped(GOOD, comment=zipped(GOOD)), BadPackage),
    "up": (lambda: plus("../../etc/cron.d/x"), BadPackage),
    "up from inside": (lambda: plus("s/references/../../../x"), BadPackage),
    "absolute": (lambda: plus("/etc/passwd"), BadPackage),
    "a drive": (lambda: plus("C:/windows/x"), BadPackage),
    "a drive inside": (lambda: plus("s/references/c:x"), BadPackage),
    "backslashes": (lambda: plus("s\\..\\..\\x"), BadPackage),
    "a share": (lambda: plus("//server/share/x"), BadPackage),
    "a dot": (lambda: plus("s/./x"), BadPackage),
    "nothing between two slashes": (lambda: plus("s//x"), BadPackage),
    "a NUL in a name": (lambda: raw(b"s/references/a.md", b"s/references/a\0md", zipped(GOOD)), BadPackage),
    "a line break in a name": (lambda: plus("s/references/a\nb.md"), BadPackage),
    "a name that reads backwards": (lambda: plus("s/references/a\u202edm.exe"), BadPackage),
    "a name without a width": (lambda: plus("s/references/a\u200b.md"), BadPackage),
    "a device of Windows": (lambda: plus("s/references/CON.md"), BadPackage),
    "a dot at the end": (lambda: plus("s/references/a.md."), BadPackage),
    "a blank at the end": (lambda: plus("s/references/a.md "), BadPackage),
    "a name of 300": (lambda: plus("s/references/" + "n" * 300), BadPackage),
    "deep": (lambda: plus("s/" + "d/" * 20 + "x"), BadPackage),
    "not marked as UTF-8": (lambda: raw(b"s/references/a.md", b"s/references/\x82.md", zipped(GOOD)), BadPackage),
    "twice": (lambda: plus("s/references/a.md"), BadPackage),
    "twice but for case": (lambda: plus("s/References/A.MD"), BadPackage),
    "twice but for its form": (
        lambda: zipped({**GOOD, "s/references/é": b"1", "s/references/e\u0301": b"2"}),
        BadPackage,
    ),
    "twice but for a ligature": (lambda: zipped({**GOOD, "s/references/ﬁ": b"1", "s/references/fi": b"2"}), BadPackage),
    "a file that is a folder": (lambda: plus("s/references/a.md/x"), BadPackage),
    "a folder that is a file": (lambda: zipped({**GOOD, "s/x/y": b"", "s/x": b"1"}), BadPackage),
    "a folder with bytes": (lambda: plus("s/references/sub/", b"bytes"), BadPackage),
    "two folders": (lambda: plus("other/SKILL.md"), BadPackage),
    "a file at the top": (lambda: plus("SKILL.md"), BadPackage),
    "a symbolic link": (lambda: plus("s/references/l", b"/etc/passwd", external_attr=0o120777 << 16), BadPackage),
    "a link, said by another system": (
        lambda: plus("s/references/l", b"/etc", external_attr=0o120777 << 16, create_system=0),
        BadPackage,
    ),
    "a device": (lambda: plus("s/references/d", b"", external_attr=0o060666 << 16), BadPackage),
    "a pipe": (lambda: plus("s/references/p", b"", external_attr=0o010666 << 16), BadPackage),
    "a socket": (lambda: plus("s/references/k", b"", external_attr=0o140666 << 16), BadPackage),
    "a folder by its mode, a file by its name": (
        lambda: plus("s/references/f", b"", external_attr=0o040755 << 16),
        BadPackage,
    ),
    "encrypted": (lambda: directory_says(zipped(GOOD), 8, "<H", 1), BadPackage),
    "encrypted where it stands": (
        lambda: raw(b"PK\x03\x04\x14\0\0\0", b"PK\x03\x04\x14\0\1\0", zipped(GOOD), 1),
        BadPackage,
    ),
    "another name where it stands": (lambda: raw(b"references/a.md", b"references/b.md", zipped(GOOD), 1), BadPackage),
    "another method": (lambda: zipped(GOOD, method=ZIP_BZIP2), BadPackage),
    "an unknown method": (lambda: directory_says(zipped(GOOD), 10, "<H", 97), BadPackage),
    "another checksum": (lambda: directory_says(zipped(GOOD), 16, "<L", 1), BadPackage),
    "larger than it says": (lambda: directory_says(zipped(GOOD), 24, "<L", 3), BadPackage),
    "smaller than it says": (lambda: directory_says(zipped(GOOD), 24, "<L", 3_000), BadPackage),
    "beyond the end": (lambda: directory_says(zipped(GOOD), 42, "<L", 2**31), BadPackage),
    "longer than there is": (lambda: directory_says(zipped(GOOD), 20, "<L", 2**31), BadPackage),
    "entries that share bytes": (quine, BadPackage),
    "the same place twice": (lambda: directory_says(zipped(GOOD), 42, "<L", 0), BadPackage),
    "a bomb": (lambda: plus("s/references/b.md", b"\0" * (30 << 20)), PackageTooLarge),
    "a bomb that lies": (lambda: lying(100), PackageTooLarge),
    "a flat bomb": (
        lambda: zipped({**GOOD, **{f"s/references/{n}": b"\0" * 9_000_000 for n in range(20)}}),
        PackageTooLarge,
    ),
    "unfolds 500 times": (lambda: plus("s/references/b.md", b"ab" * 1_000_000), PackageTooLarge),
    "one large file": (lambda: big(21 << 20), PackageTooLarge),
    "1,001 entries": (lambda: many(MOST_ENTRIES + 1), PackageTooLarge),
    "100,000 entries": (lambda: hundred_thousand(), PackageTooLarge),
    "many entries, and few says the end": (few_says_the_end, PackageTooLarge),
    "no SKILL.md": (lambda: zipped({"s/readme.md": b"x"}), BadPackage),
    "a SKILL.md in other bytes": (lambda: zipped({"s/SKILL.md": SKILL.decode().encode("utf-16")}), BadPackage),
    "a NUL in SKILL.md": (lambda: zipped({"s/SKILL.md": SKILL + b"\0"}), BadPackage),
    "a folder that is called otherwise": (lambda: zipped({"t/SKILL.md": SKILL}), BadPackage),
    "no front matter": (lambda: zipped({"s/SKILL.md": b"Be brief."}), BadManifest),
    "YAML that makes an object": (
        lambda: front("name: !!python/object/apply:os.system [id]\ndescription: d"),
        BadManifest,
    ),
    "YAML that laughs": (lambda: more("options:\n  a: &a [x, x]\n  b: &b [*a, *a]\n  c: [*b, *b]"), BadManifest),
    "an anchor in a flow": (lambda: front("{name: s, description: d, options: {a: &x 1}}"), BadManifest),
    "a merge": (lambda: more("<<: {risk: read}\nrisk: destructive"), BadManifest),
    "a key twice": (lambda: more("risk: destructive\nrisk: read"), BadManifest),
    "a key twice, inside": (lambda: more("options: {a: 1, a: 2}"), BadManifest),
    "a key that is no text": (lambda: more("options: {1: 2}"), BadManifest),
    "brackets": (lambda: more("options: " + "[" * 10_000), BadManifest),
    "a hundred levels": (lambda: more("options: {a: " + "[" * 100 + "]" * 100 + "}"), BadManifest),
    "a huge text": (lambda: front("name: s\ndescription: " + "x" * 49_000), BadManifest),
    "a huge number": (lambda: more("options: {a: " + "9" * 4_000 + "}"), BadManifest),
    "a number of base 60": (lambda: more("options: {a: 1" + ":59" * 5_000 + "}"), BadManifest),
    "no number": (lambda: more("options: {a: .nan}"), BadManifest),
    "a day": (lambda: more("options: {a: 2026-01-01}"), BadManifest),
    "bytes": (lambda: more("options: {a: !!binary aGk=}"), BadManifest),
    "a tag of truth": (lambda: more("keyed: !!bool foo"), BadManifest),
    "a tag of numbers": (lambda: more('options: {a: !!int ""}'), BadManifest),
    "a tag of other numbers": (lambda: more('options: {a: !!float ""}'), BadManifest),
    "a tag of days": (lambda: more("options: {a: !!timestamp foo}"), BadManifest),
    "a tag of a key": (lambda: more("options: {!!bool foo: 1}"), BadManifest),
    "a tag of a list": (lambda: more("options: {a: !!set {b}}"), BadManifest),
    "a NUL in YAML": (lambda: front('name: s\ndescription: "a\\0b"'), BadManifest),
    "half a character": (lambda: front('name: s\ndescription: "a\\ud800"'), BadManifest),
    "an unknown key": (lambda: more("sandbox: false"), BadManifest),
    "a name that leads elsewhere": (lambda: front("name: ../s\ndescription: d"), BadManifest),
    "a script of another type": (lambda: zipped({**GOOD, "s/scripts/x.py": b"", "s/scripts/x.md": SHELL}), BadManifest),
    "a script with the skill's name": (
        lambda: zipped({**GOOD, "s/scripts/x.py": b"a=1", "s/scripts/x.md": SKILL}),
        BadPackage,
    ),
}


def big(size: int) -> bytes:
    return zipped({**GOOD, "s/references/b": bytes(range(256)) * (size // 256)}, method=ZIP_STORED)


def hundred_thousand() -> bytes:
    """Written by hand: the library would take ten seconds for it, or use ZIP64."""
    name, count = b"s/references/000000", 100_000
    local = struct.pack("<4s5H3L2H", b"PK\x03\x04", 20, 0, 0, 0, 33, 0, 0, 0, len(name), 0) + name
    one = struct.pack("<4s6H3L5H2L", b"PK\x01\x02", 20, 20, 0, 0, 0, 33, 0, 0, 0, len(name), 0, 0, 0, 0, 0, 0) + name
    directory = one * count
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 900, 900, len(directory), len(local), 0)
    return local + directory + end


@pytest.mark.parametrize("name", ATTACKS)
def test_sk_06_a_hostile_package_is_refused_by_name(name: str) -> None:
    """SK-06: zip-slip, bombs, links, counts, overlaps, hostile YAML; never another error, never much memory or time."""
    make, error = ATTACKS[name]
    data = make()
    tracemalloc.start()
    begun = perf_counter()
    try:
        with pytest.raises((BadPackage, PackageTooLarge, BadManifest)) as caught:
            read_package(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert type(caught.value) is error, caught.value
    assert perf_counter() - begun < 20, "on a machine under load; alone the slowest takes a second"
    assert peak < 64 << 20, "what unfolds is stopped where it is too much"


def test_sk_06_a_count_that_is_too_high_is_told_from_the_end_alone() -> None:
    """SK-06: 100,000 entries cost what one look at 22 bytes costs."""
    data = hundred_thousand()
    begun = perf_counter()
    with pytest.raises(PackageTooLarge):
        unpack_zip(data)
    assert perf_counter() - begun < 0.2


def test_what_is_just_within_the_limits_is_taken() -> None:
    files = {"SKILL.md": SKILL, **{f"references/{n}.md": b"x" for n in range(MOST_ENTRIES - 2)}}
    files["references/nested.zip"] = pack_zip(FileBundle("in", {"x": b"y"}))
    assert len(read_package(pack_zip(FileBundle("s", files))).references) == MOST_ENTRIES - 1
    assert len(unpack_zip(big(20 << 20)).files["references/b"]) == 20 << 20
    empty = zipped({**GOOD, "s/references/blank.md": b" " * 60_000})
    assert len(unpack_zip(empty).files["references/blank.md"]) == 60_000, "a small file may be as empty as it likes"


def test_what_common_tools_write_is_taken() -> None:
    """Folders as entries, what macOS leaves behind, names in another Unicode form, sizes behind the bytes."""
    made = BytesIO()

    class Stream:
        def write(self, data: bytes) -> int:
            return made.write(data)

        def flush(self) -> None:
            made.flush()

    with ZipFile(Stream(), "w", ZIP_DEFLATED) as archive:  # type: ignore[arg-type]  # cannot seek: data descriptors
        archive.writestr("s/", b"")
        archive.writestr("s/SKILL.md", SKILL)
        archive.writestr("s/references/e\u0301.md", b"accent")
        archive.writestr("s/.DS_Store", b"x")
        archive.writestr("__MACOSX/s/._SKILL.md", b"x")
    package = read_package(made.getvalue())
    assert dict(package.references) == {"é.md": b"accent"} and package.ignored == ()
    assert zlib.crc32(package.manifest.text.encode()) == zlib.crc32(b"Be brief.")
