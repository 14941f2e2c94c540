"""Archives (ZIP, TAR): a document that lists its files; each of them becomes a document of its own."""

import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Final

from pipelines.documents.document import Caveat, CaveatKind, FailureReason, Unreadable
from pipelines.documents.extract.containers.members import BLOCK, ContainerEntry, clean_member_path, is_housekeeping
from pipelines.documents.extract.office.zip_package import DAMAGED, classify_package_error
from pipelines.documents.extract.opened import (
    ExtractionContext,
    OpenedDocument,
    UnpagedDocument,
    markdown_table,
    table_parts,
)
from pipelines.documents.extract.text.charset import decode_bytes

MOST_RATIO: Final = 200  # a text shrinks to a third or a tenth, a log to a fiftieth; a bomb to a thousandth
RATIO_FROM: Final = 16 * 2**20  # bytes; what is smaller may be as empty as it likes
_LOCKED, _UTF8 = 0x1, 0x800
_BOMB: Final = f"it unpacks to more than {MOST_RATIO} times its size"


class _StrictHeader(tarfile.TarInfo):
    """Headers of a TAR of which none but the end mark ends it: `tarfile` takes a cut or damaged one for the end."""

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> "_StrictHeader":
        """The next header. Raises ReadError where there is none to be read."""
        try:
            return super().fromtarfile(archive)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(str(error)) from error


def open_zip(path: Path, context: ExtractionContext) -> OpenedDocument:
    """The list of the files in it."""
    return _listing(zip_entries(path, context), context)


def open_tar(path: Path, context: ExtractionContext) -> OpenedDocument:
    """The list of the files in it; a packed one is unpacked for that once, to nowhere."""
    return _listing(tar_entries(path, context), context)


def zip_entries(path: Path, _: ExtractionContext) -> Iterator[ContainerEntry]:
    """The files of a ZIP in its order; each is to be read before the next is asked for.

    Raises Unreadable: CORRUPT, or ENCRYPTED where all of it is locked.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            parts = [part for part in archive.infolist() if not part.is_dir()]
            if parts and all(part.flag_bits & _LOCKED for part in parts):
                raise Unreadable(FailureReason.ENCRYPTED, "the archive is locked with a password; unpack it first")
            for part in parts:
                read = partial(_read_blocks, partial(archive.open, part))
                yield ContainerEntry(_zip_name(part), part.file_size, read, _zip_refusal(part))
    except DAMAGED as error:
        raise classify_package_error(error) from error


def tar_entries(path: Path, context: ExtractionContext) -> Iterator[ContainerEntry]:
    """The files of a TAR, packed or not, read as a stream of which nothing is held, and ended where it grows too large.

    Each is to be read before the next is asked for. Raises Unreadable: CORRUPT.
    """
    most = min(context.read.max_unpacked_bytes, max(RATIO_FROM, MOST_RATIO * path.stat().st_size))
    seen = 0
    try:
        with tarfile.open(path, "r|*", errors="surrogateescape", tarinfo=_StrictHeader) as archive:
            for part in archive:
                seen += 1
                name = _shown_name(part.name)
                if part.offset_data + part.size > most:
                    why = "the archive unpacks to more than one file may, or is a bomb: neither it nor what follows"
                    yield ContainerEntry(name, part.size, refusal=why)
                    return
                if part.isreg():
                    yield ContainerEntry(name, part.size, partial(_read_blocks, partial(archive.extractfile, part)))
                elif not part.isdir():
                    yield ContainerEntry(name, 0, refusal="a link or a device")
                archive.members.clear()  # type: ignore[attr-defined]  # or it would keep every header
    except (tarfile.TarError, *DAMAGED) as error:
        if not seen:
            raise Unreadable(FailureReason.CORRUPT, "a damaged archive") from error
        yield ContainerEntry("the rest of the archive", 0, refusal="it is damaged")


def _listing(entries: Iterator[ContainerEntry], context: ExtractionContext) -> OpenedDocument:
    limit, rows, more = context.read.archive_members, [["File", "Bytes"]], 0
    for entry in entries:
        path = clean_member_path(entry.name)
        if path is None or is_housekeeping(path):
            continue
        if len(rows) > limit:
            more += 1
        else:
            rows.append([path, str(entry.size)])
    if len(rows) == 1:
        raise Unreadable(FailureReason.EMPTY, "the archive holds no files")
    parts = table_parts(markdown_table(rows), context.read.part_chars, "Files in this archive:")
    cut = [Caveat(CaveatKind.CUT_SHORT, f"{more} more files are not listed", more)] if more else []
    return UnpagedDocument(parts, cut)


def _zip_name(part: zipfile.ZipInfo) -> str:
    """Programs write names in UTF-8 or in a code page, and only some say which."""
    raw = part.orig_filename.encode("utf-8" if part.flag_bits & _UTF8 else "cp437", "surrogatepass")
    return _decode_name(raw)


def _shown_name(name: str) -> str:
    return _decode_name(name.encode("utf-8", "surrogateescape"))


def _decode_name(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return decode_bytes(raw).text


def _zip_refusal(part: zipfile.ZipInfo) -> str:
    kind = stat.S_IFMT(part.external_attr >> 16)
    if part.flag_bits & _LOCKED:
        return "it is locked with a password"
    if kind not in (0, stat.S_IFREG):
        return "a link or a device"
    return _BOMB if part.file_size > max(RATIO_FROM, MOST_RATIO * part.compress_size) else ""


def _read_blocks(open_file: Callable[[], IO[bytes] | None]) -> Iterator[bytes]:
    if (file := open_file()) is not None:
        with file:
            while block := file.read(BLOCK):
                yield block
