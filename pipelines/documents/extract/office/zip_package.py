"""Zipped XML packages (OOXML, ODF, EPUB): checked for bombs before anything unpacks them."""

import lzma
import re
import zipfile
import zlib
from pathlib import Path
from typing import BinaryIO

from lxml import etree

from pipelines.documents.document import FailureReason, Unreadable

Source = Path | BinaryIO
"""A document as a file, or the bytes of one that stands in another."""

_MAX_PARTS = 100_000
_DECLARATION = re.compile(rb"<!(DOCTYPE|ENTITY)", re.IGNORECASE)
_PROLOG_BYTES = 4096

DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    etree.LxmlError,
    EOFError,
    OSError,
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    AssertionError,
    RecursionError,
    NotImplementedError,
    RuntimeError,
    SyntaxError,  # the standard library's XML ParseError is one
)
"""What the office libraries raise on a damaged package: none of them has one class for it."""


def check_package(source: Source, max_unpacked_bytes: int) -> None:
    """Refuse a package that would unpack to more than allowed, or whose XML declares entities.

    The sizes come from the directory at its end; the reader stops at them, so a directory that lies is caught too.

    Raises Unreadable: BOMB, ENCRYPTED or CORRUPT.
    """
    try:
        with zipfile.ZipFile(source) as archive:
            parts = archive.infolist()
            if len(parts) > _MAX_PARTS:
                raise Unreadable(FailureReason.BOMB, f"a package of {len(parts)} parts")
            if (total := sum(part.file_size for part in parts)) > max_unpacked_bytes:
                raise Unreadable(FailureReason.BOMB, f"it unpacks to {total} bytes, more than {max_unpacked_bytes}")
            if any(part.flag_bits & 0x1 for part in parts):
                raise Unreadable(FailureReason.ENCRYPTED, "parts of the package are encrypted")
            for part in parts:
                if part.filename.endswith((".xml", ".rels")):
                    _check_prolog(archive, part)
    except DAMAGED as error:
        raise classify_package_error(error) from error


def _check_prolog(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> None:
    """Office XML never declares a document type; one that does is made to blow a parser up."""
    try:
        with archive.open(part) as file:
            if _DECLARATION.search(file.read(_PROLOG_BYTES)):
                raise Unreadable(FailureReason.BOMB, f"{part.filename} declares XML entities")
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError):
        return  # One damaged part is the format's own business: it may not need it.


def classify_package_error(error: BaseException) -> Unreadable:
    """Classify an exception of an office library: BOMB, ENCRYPTED or CORRUPT."""
    text = " ".join(str(error).split())[:200]
    if isinstance(error, RecursionError):
        return Unreadable(FailureReason.BOMB, "its parts are nested without end")
    if isinstance(error, RuntimeError) and "encrypt" in text:
        return Unreadable(FailureReason.ENCRYPTED, "parts of the package are encrypted")
    return Unreadable(FailureReason.CORRUPT, f"{type(error).__name__}: {text}" if text else type(error).__name__)


def parse_part(archive: zipfile.ZipFile, name: str) -> etree._Element:
    """An XML part, with neither entities nor anything fetched. Raises what `DAMAGED` names."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    return etree.fromstring(archive.read(name), parser)
