"""File type detection: the content decides, the name only says which sort of text it is."""

import contextlib
import lzma
import mmap
import os
import shutil
import zipfile
import zlib
from enum import StrEnum
from pathlib import Path, PurePath

from pipelines.documents.document import FailureReason, Unreadable

_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_MOST_DIRECTORY = 16 * 2**20  # some 150,000 parts; beyond 100,000 no office file is read
_END_OF_ZIP = 22 + 65_535 + 76  # the last record with the longest remark, and those of ZIP64 before it
_HEAD = 8192


class Kind(StrEnum):
    """The families of formats that can be read."""

    PDF = "pdf"
    IMAGE = "image"
    TEXT = "text"
    MARKDOWN = "markdown"
    HTML = "html"
    DOCX = "docx"
    PPTX = "pptx"
    XLSX = "xlsx"
    CSV = "csv"
    CODE = "code"
    EMAIL = "email"
    ODT = "odt"
    ODS = "ods"
    ODP = "odp"
    EPUB = "epub"
    RTF = "rtf"
    XLS = "xls"
    MSG = "msg"
    MHTML = "mhtml"
    NOTEBOOK = "notebook"
    SVG = "svg"
    ZIP = "zip"
    TAR = "tar"
    DOC = "doc"
    PPT = "ppt"


_TEXT_BY_SUFFIX = {
    **dict.fromkeys((".md", ".markdown", ".mdown"), Kind.MARKDOWN),
    **dict.fromkeys((".html", ".htm", ".xhtml"), Kind.HTML),
    **dict.fromkeys((".csv", ".tsv", ".tab"), Kind.CSV),
    ".eml": Kind.EMAIL,
    **dict.fromkeys((".mht", ".mhtml"), Kind.MHTML),
    ".ipynb": Kind.NOTEBOOK,
    ".svg": Kind.SVG,
    **dict.fromkeys(
        (
            *(".py", ".js", ".ts", ".tsx", ".jsx", ".java", ".c", ".h", ".cc", ".cpp", ".hpp", ".cs", ".go", ".rs"),
            *(".rb", ".php", ".swift", ".kt", ".scala", ".sh", ".bash", ".ps1", ".sql", ".r", ".lua", ".pl", ".css"),
            *(".json", ".jsonl", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".xml", ".tf", ".proto", ".graphql"),
        ),
        Kind.CODE,
    ),
}
_PICTURES = (
    *(".png", ".jpg", ".jpeg", ".jpe", ".jfif", ".tif", ".tiff", ".bmp", ".webp", ".gif"),
    *(".heic", ".heif", ".hif", ".avif", ".jp2"),
)
_BINARY_BY_SUFFIX = {
    ".pdf": Kind.PDF,
    **dict.fromkeys(_PICTURES, Kind.IMAGE),
    **dict.fromkeys((".docx", ".docm", ".dotx"), Kind.DOCX),
    **dict.fromkeys((".pptx", ".pptm", ".ppsx", ".potx"), Kind.PPTX),
    **dict.fromkeys((".xlsx", ".xlsm", ".xltx"), Kind.XLSX),
    ".odt": Kind.ODT,
    **dict.fromkeys((".ods", ".ots"), Kind.ODS),
    **dict.fromkeys((".odp", ".otp"), Kind.ODP),
    ".epub": Kind.EPUB,
    ".rtf": Kind.RTF,
    ".xls": Kind.XLS,
    ".msg": Kind.MSG,
    **dict.fromkeys((".doc", ".dot"), Kind.DOC),
    **dict.fromkeys((".ppt", ".pps", ".pot"), Kind.PPT),
}
_IMAGES = (
    *(b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"),
    *(b"GIF87a", b"GIF89a", b"\0\0\0\x0cjP  \r\n"),
)
_PARTS = (
    ("word/document.xml", Kind.DOCX),
    ("ppt/presentation.xml", Kind.PPTX),
    ("xl/workbook.xml", Kind.XLSX),
    ("xl/workbook.bin", None),
)
_OPEN_DOCUMENT = b"application/vnd.oasis.opendocument."
_MIMETYPES = {
    _OPEN_DOCUMENT + b"text": Kind.ODT,
    _OPEN_DOCUMENT + b"spreadsheet": Kind.ODS,
    _OPEN_DOCUMENT + b"presentation": Kind.ODP,
    b"application/epub+zip": Kind.EPUB,
}
# NotImplementedError is a RuntimeError; what lzma raises is a plain Exception, unlike what bzip2 raises.
_DAMAGED = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, OSError, RuntimeError, ValueError, EOFError, LookupError)
_WORKBOOKS = (Kind.XLS, Kind.XLSX)
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_STREAMS = (
    *(("EncryptedPackage", None), ("__properties_version1.0", Kind.MSG), ("Workbook", Kind.XLS)),
    *(("WordDocument", Kind.DOC), ("PowerPoint Document", Kind.PPT)),
)
CONVERTER = "soffice"
"""LibreOffice's program, by which old office formats are read."""
_CONVERTED = {Kind.DOC: ("libreoffice-writer", "DOCX"), Kind.PPT: ("libreoffice-impress", "PPTX")}
_STILLS = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1", b"avif", b"avis")  # ISO 23008-12
_ARCHIVES = (b"\x1f\x8b", b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07", b"BZh", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd")
_GZIP, _PACKED = b"\x1f\x8b", (b"BZh", b"\xfd7zXZ\0")
_TAR_MARK = b"ustar"
_PACKED_TARS = (".tar.bz2", ".tbz", ".tbz2", ".tar.xz", ".txz")
_PACKAGE_PARTS = {"[Content_Types].xml", "mimetype", "AndroidManifest.xml", "META-INF/MANIFEST.MF"}
_UNPACK = "an archive; unpack it, and send or scan the files in it"
_UNICODE_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"\0\0\xfe\xff")


def sniff_kind(path: Path, filename: str | None = None) -> Kind:
    """The family of a file, from its first bytes and, for texts, from its name.

    `filename` is the name its owner gave it; the default is the path's own name.

    Raises:
        Unreadable: EMPTY (no bytes), ENCRYPTED (a locked office file), UNSUPPORTED (an unknown binary format, or
            one that its name denies), BOMB (a ZIP with a directory that is too large).
    """
    suffix = PurePath(filename or path.name).suffix.lower()
    named = _BINARY_BY_SUFFIX.get(suffix)
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if not head:
        raise Unreadable(FailureReason.EMPTY, "the file has no bytes")
    if head.startswith(_ZIP):
        _check_zip_directory(path)
    found = _by_magic(path, head, named) or _archive_kind(path, head, (filename or path.name).lower())
    if found is None and is_text(head):
        found = _TEXT_BY_SUFFIX.get(suffix) or (Kind.HTML if _looks_like_html(head) else Kind.TEXT)
    if found is None:
        raise _unsupported_file(path, head)
    if named in _WORKBOOKS and found in (*_WORKBOOKS, Kind.HTML, Kind.MHTML, Kind.TEXT) and found is not named:
        return Kind.XLS  # its opener tells workbooks and the tables that programs export under their name
    if named is not None and found is not named:
        raise Unreadable(FailureReason.UNSUPPORTED, f"the name says {named}, the content says {found}")
    return found


def _unsupported_file(path: Path, head: bytes) -> Unreadable:
    if not head.startswith(_ZIP):
        packed = head.startswith(_ARCHIVES)
        return Unreadable(FailureReason.UNSUPPORTED, _UNPACK if packed else "an unknown binary format")
    try:
        with zipfile.ZipFile(path) as archive:
            parts = [part for part in archive.infolist() if not part.is_dir()]
            if parts and all(part.flag_bits & 1 for part in parts):
                return Unreadable(FailureReason.ENCRYPTED, "the archive is locked with a password; unpack it first")
            if any(name.endswith(".iwa") for name in archive.namelist()):
                why = "an Apple iWork file; export it as PDF, DOCX, PPTX or XLSX"
                return Unreadable(FailureReason.UNSUPPORTED, why)
    except (zipfile.BadZipFile, OSError, ValueError, LookupError, EOFError, NotImplementedError):
        return Unreadable(FailureReason.CORRUPT, "a damaged archive")
    return Unreadable(FailureReason.UNSUPPORTED, _UNPACK)


def _archive_kind(path: Path, head: bytes, name: str) -> Kind | None:
    """An archive of files for people; None for packages of programs, whose parts are nobody's documents."""
    if head[257:262] == _TAR_MARK:
        return Kind.TAR
    if head.startswith(_GZIP):
        with contextlib.suppress(zlib.error):
            return Kind.TAR if zlib.decompressobj(31).decompress(head, 512)[257:262] == _TAR_MARK else None
    if head.startswith(_PACKED) and name.endswith(_PACKED_TARS):  # a block of these is too much to unpack for a look
        return Kind.TAR
    if not head.startswith(_ZIP):
        return None
    try:
        with zipfile.ZipFile(path) as archive:
            parts = [part for part in archive.infolist() if not part.is_dir()]
    except _DAMAGED:
        return None
    inside = {part.filename for part in parts}
    package = inside & _PACKAGE_PARTS or any(part.endswith(".iwa") for part in inside)
    locked = parts and all(part.flag_bits & 1 for part in parts)
    return None if package or locked else Kind.ZIP


def is_text(head: bytes) -> bool:
    """True if the beginning of a file reads as text in some encoding."""
    if head.startswith(_UNICODE_MARKS) or wide_encoding(head) is not None:
        return True
    control = sum(byte < 32 and byte not in b"\t\n\r\f\x1b\x08" for byte in head)
    return b"\0" not in head and control <= len(head) // 100


def wide_encoding(head: bytes) -> str | None:
    """UTF-16 or UTF-32 without a byte order mark, told by where the zero bytes of plain letters stand."""
    size = len(head) // 4 * 4
    if size < 4:
        return None
    zeros = [head[at:size:4].count(0) * 4 / size for at in range(4)]
    if min(zeros[:3]) > 0.9 and zeros[3] < 0.1:
        return "utf-32-be"
    if min(zeros[1:]) > 0.9 and zeros[0] < 0.1:
        return "utf-32-le"
    if min(zeros[0], zeros[2]) > 0.4 and max(zeros[1], zeros[3]) < 0.05:
        return "utf-16-be"
    if min(zeros[1], zeros[3]) > 0.4 and max(zeros[0], zeros[2]) < 0.05:
        return "utf-16-le"
    return None


def _by_magic(path: Path, head: bytes, named: Kind | None) -> Kind | None:
    """The kind that the signature tells; None for texts and for what has no signature."""
    if head[257:262] == _TAR_MARK:  # what comes before is its first file's name
        return None
    if b"%PDF-" in head[:1024] and not head.startswith(_ZIP):  # its first file is one
        return Kind.PDF
    if head.startswith(_IMAGES) or (head[4:8] == b"ftyp" and head[8:12] in _STILLS):
        return Kind.IMAGE
    if (head[:4] == b"RIFF" and head[8:12] == b"WEBP") or (head[:2] == b"BM" and head[6:10] == b"\0\0\0\0"):
        return Kind.IMAGE
    if head.startswith(b"PK\x03\x04"):
        return _zip_kind(path, named)
    if head.startswith(_OLE):
        return _ole_kind(path, named)
    return Kind.RTF if head.startswith(b"{\\rtf") else None


def _check_zip_directory(path: Path) -> None:
    """Refuse a ZIP whose directory alone would cost hundreds of megabytes, before whoever opens it fails of that.

    What stands in the records at the end is checked, as `zipfile` believes them, too (APPNOTE.TXT 4.3.14 to 4.3.16).

    Raises Unreadable: BOMB.
    """
    with path.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - _END_OF_ZIP))
        tail = file.read()
    at, far = tail.rfind(b"PK\x05\x06"), tail.rfind(b"PK\x06\x06")
    size = int.from_bytes(tail[at + 12 : at + 16], "little") if at >= 0 else 0
    if size == 0xFFFFFFFF:
        size = int.from_bytes(tail[far + 40 : far + 48], "little") if far >= 0 else size
    if size > _MOST_DIRECTORY:
        raise Unreadable(FailureReason.BOMB, f"an archive with a directory of {size >> 20} MiB")


def _zip_kind(path: Path, named: Kind | None) -> Kind | None:
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            for part, kind in _PARTS:
                if part in names:
                    return kind
            if "mimetype" in names:
                with archive.open("mimetype") as file:
                    return _MIMETYPES.get(file.read(200).strip().removesuffix(b"-template"))
            # Word lets the main part have another name; the declared content type is what counts.
            if "[Content_Types].xml" in names:
                with archive.open("[Content_Types].xml") as file:
                    return _declared_kind(file.read(1 << 20))
    except _DAMAGED:
        # A damaged package is what its name says; reading it will tell that it is corrupt.
        return named
    return None


def _declared_kind(content_types: bytes) -> Kind | None:
    marks = {b"wordprocessingml.document": Kind.DOCX, b"presentationml.presentation": Kind.PPTX}
    marks |= {b"spreadsheetml.sheet": Kind.XLSX}
    return next((kind for mark, kind in marks.items() if mark + b".main+xml" in content_types), None)


def _ole_kind(path: Path, named: Kind | None) -> Kind:
    """An OLE file is a locked modern office file or an old format, told by the names of its streams.

    One that holds another's streams, too, embeds it: then it is what its name says.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        found = [kind for stream, kind in _STREAMS if data.find(stream.encode("utf-16-le")) >= 0]
    if not found:
        raise Unreadable(FailureReason.UNSUPPORTED, "an old office format; save it as DOCX, PPTX or PDF")
    if found[0] is None:
        raise Unreadable(FailureReason.ENCRYPTED, "the office file is locked with a password")
    kind = named if named in found and named is not None else found[0]
    if kind in _CONVERTED and shutil.which(CONVERTER) is None:
        package, newer = _CONVERTED[kind]
        fix = f"an old office format; install {package} where files are read, or save it as {newer}"
        raise Unreadable(FailureReason.UNSUPPORTED, fix)
    return kind


def _looks_like_html(head: bytes) -> bool:
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return start.startswith((b"<!doctype html", b"<html"))
