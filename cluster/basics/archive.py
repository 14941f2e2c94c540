"""A ZIP from outside, unpacked in memory: no name that leads elsewhere, nothing that unfolds without end."""

import re
import struct
import unicodedata
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from cluster.basics.errors import Permanent, TooLarge

MOST_ENTRIES = 1_000
MOST_BYTES = 20 * 2**20  # of one file
MOST_TOTAL = 100 * 2**20
MOST_RATIO = 100  # a text shrinks to a third or a tenth
RATIO_FROM = 64 * 2**10  # bytes; what is smaller may be as empty as it likes
MOST_DIRECTORY = MOST_ENTRIES * 600  # bytes of the central directory
MOST_NAME, MOST_DEPTH = 240, 8

_END = struct.Struct("<4s4H2LH")  # APPNOTE 4.3.16
_LOCAL = struct.Struct("<4s5H3L2H")  # APPNOTE 4.3.7
_END64 = b"PK\x06\x07"
_ENCRYPTED = 0x1 | 0x40 | 0x2000
_UTF8 = 0x800
_REGULAR, _FOLDER, _ANY = 0o100000, 0o040000, 0o170000
_DEVICES = re.compile(r"(?i)(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(\..*)?")
_LEFT_BY_SYSTEMS = ("__MACOSX", ".DS_Store")


class BadPackage(Permanent):
    """This is no package that could be taken."""

    code = "bad_package"


class PackageTooLarge(TooLarge):
    """This package holds more than is taken."""

    code = "package_too_large"


@dataclass(frozen=True, slots=True)
class FileBundle:
    """One folder of files; paths are below it, with `/`."""

    name: str
    files: Mapping[str, bytes]


def unpack_zip(data: bytes) -> FileBundle:
    """The one folder that a ZIP holds; nothing is written anywhere.

    Sizes are counted while bytes come out, whatever the ZIP says of them. Folders and what systems leave behind
    (`__MACOSX`, `.DS_Store`) are dropped.

    Raises:
        BadPackage: no ZIP, broken, encrypted, links or devices in it, names that lead elsewhere or fall together.
        PackageTooLarge: too many entries, or too many bytes.
    """
    end = _end_of(data)
    try:
        entries = ZipFile(BytesIO(data)).infolist()
    except (BadZipFile, ValueError, struct.error, NotImplementedError, OverflowError, EOFError) as error:
        raise BadPackage(f"not a ZIP that can be read: {error}"[:300]) from None
    if len(entries) > MOST_ENTRIES:
        raise PackageTooLarge(f"{len(entries):,} entries; {MOST_ENTRIES:,} are taken")
    if sum(entry.file_size for entry in entries) > MOST_TOTAL:
        raise PackageTooLarge(f"it unfolds to more than {MOST_TOTAL:,} bytes")
    spans = _entry_spans(data, entries, end)
    found: dict[str, bytes] = {}
    taken: dict[str, str] = {}
    room = MOST_TOTAL
    for entry, start in spans:
        path, folder = _entry_path(entry)
        _check_unique(path, folder, taken)
        content = _entry_content(data, entry, start, room)
        room -= len(content)
        if folder and content:
            raise BadPackage(f"the folder {path} has bytes")
        if not folder:
            found[path] = content
    return _one_folder(found)


def pack_zip(bundle: FileBundle) -> bytes:
    """A ZIP of the folder; the same files give the same bytes."""
    made = BytesIO()
    with ZipFile(made, "w") as archive:
        for path, content in sorted(bundle.files.items()):
            entry = ZipInfo(f"{bundle.name}/{path}", (1980, 1, 1, 0, 0, 0))
            entry.external_attr, entry.create_system = (_REGULAR | 0o644) << 16, 3
            archive.writestr(entry, content, ZIP_DEFLATED, 9)
    return made.getvalue()


def _end_of(data: bytes) -> int:
    """The offset where the central directory ends; its end record is read first, as it tells what reading costs."""
    if not data.startswith(b"PK\x03\x04") or len(data) < _LOCAL.size + _END.size:
        raise BadPackage("not a ZIP", fix="A .skill file is a ZIP of one folder that has a SKILL.md.")
    end = len(data) - _END.size
    mark, disk, first_disk, here, total, size, offset, comment = _END.unpack_from(data, end)
    if mark != b"PK\x05\x06" or comment:
        raise BadPackage("its end is not that of a ZIP without a comment")
    if total > MOST_ENTRIES or size > MOST_DIRECTORY:
        raise PackageTooLarge(f"{total:,} entries; {MOST_ENTRIES:,} are taken")
    if disk or first_disk or here != total or offset + size != end or data[max(0, end - 20) :][:4] == _END64:
        raise BadPackage("it is in several parts, in ZIP64, or has bytes beside its entries")
    return int(offset)


def _entry_spans(data: bytes, entries: Iterable[ZipInfo], end: int) -> list[tuple[ZipInfo, int]]:
    """Each entry with where its bytes begin; two entries that share bytes unfold more than there is (Fifield 2019)."""
    found: list[tuple[ZipInfo, int]] = []
    last = 0
    for entry in sorted(entries, key=lambda one: one.header_offset):
        at = entry.header_offset
        if at < last or at + _LOCAL.size > end:
            raise BadPackage("entries overlap")
        mark, _, flags, method, *_, named, extra = _LOCAL.unpack_from(data, at)
        start = at + _LOCAL.size + named + extra
        last = start + entry.compress_size
        if mark != b"PK\x03\x04" or last > end:
            raise BadPackage("entries overlap, or lie where there is nothing")
        if (flags | entry.flag_bits) & _ENCRYPTED:
            raise BadPackage("it is encrypted")
        raw = entry.orig_filename.encode("utf-8" if entry.flag_bits & _UTF8 else "cp437", "replace")
        if data[at + _LOCAL.size : start - extra] != raw or method != entry.compress_type:
            raise BadPackage("an entry is one thing in the directory and another where it stands")
        found.append((entry, start))
    return found


def _entry_path(entry: ZipInfo) -> tuple[str, bool]:
    """The name in its one form, and whether it is a folder."""
    given = entry.orig_filename
    shown = repr(given[:80])
    if not entry.flag_bits & _UTF8 and not given.isascii():
        raise BadPackage(f"the name {shown} is not marked as UTF-8")
    if any(unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") for char in given):
        raise BadPackage(f"the name {shown} has signs that no name has")
    kind = (entry.external_attr >> 16) & _ANY
    folder = given.endswith("/")
    if kind not in (0, _FOLDER if folder else _REGULAR):
        raise BadPackage(f"{shown} is a link or a device")
    path = unicodedata.normalize("NFC", given.removesuffix("/"))
    parts = path.split("/")
    if "\\" in path or ":" in path or len(path.encode()) > MOST_NAME or len(parts) > MOST_DEPTH:
        raise BadPackage(f"the name {shown} is not one of every system, or too long")
    for part in parts:
        if part in ("", ".", "..") or part != part.strip() or part.endswith(".") or _DEVICES.fullmatch(part):
            raise BadPackage(f"the name {shown} leads elsewhere")
    return path, folder


def _check_unique(path: str, folder: bool, taken: dict[str, str]) -> None:
    """Refuse a path that would be the same file as another entry's on any system; a file is no folder as well."""
    parts = path.split("/")
    for depth in range(1, len(parts) + 1):
        part = "/".join(parts[:depth])
        key = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", part).casefold())
        if depth < len(parts) or folder:
            twice = taken.setdefault(key, part) != part  # a file is kept as ""
        else:
            twice = key in taken
            taken[key] = ""
        if twice:
            raise BadPackage(f"{path[:80]!r} is there twice, as far as some systems can tell")


def _entry_content(data: bytes, entry: ZipInfo, start: int, room: int) -> bytes:
    raw = memoryview(data)[start : start + entry.compress_size]
    shown = repr(entry.orig_filename[:80])
    unfolded = max(RATIO_FROM, MOST_RATIO * len(raw))
    most = min(MOST_BYTES, room, unfolded)
    whole = True
    if entry.compress_type == ZIP_STORED:
        content = bytes(raw[: most + 1])
    elif entry.compress_type == ZIP_DEFLATED:
        engine = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            content = engine.decompress(raw, most + 1)
        except zlib.error as error:
            raise BadPackage(f"{shown} is broken: {error}") from None
        whole = engine.eof and not engine.unused_data
    else:
        raise BadPackage(f"{shown} is compressed otherwise than by deflate")
    if len(content) > most:
        why = f"unfolds to more than {MOST_RATIO} times its size" if most == unfolded else "is larger than is taken"
        raise PackageTooLarge(f"{shown} {why}")
    if not whole or len(content) != entry.file_size or zlib.crc32(content) != entry.CRC:
        raise BadPackage(f"{shown} is not what the ZIP says of it")
    return content


def _one_folder(found: Mapping[str, bytes]) -> FileBundle:
    kept = {path: content for path, content in found.items() if not _is_system_leftover(path)}
    tops = sorted({path.partition("/")[0] for path in kept})
    if len(tops) != 1 or any("/" not in path for path in kept):
        fix = "ZIP the folder itself: <name>/SKILL.md."
        raise BadPackage(f"{len(tops)} names at its top; a package is one folder", fix=fix)
    return FileBundle(tops[0], {path.partition("/")[2]: content for path, content in sorted(kept.items())})


def _is_system_leftover(path: str) -> bool:
    parts = path.split("/")
    return parts[0] == _LEFT_BY_SYSTEMS[0] or parts[-1] == _LEFT_BY_SYSTEMS[1]
