"""Plain text, Markdown and source code: the bytes decoded, nothing else changed."""

import codecs
import re
from pathlib import Path

import charset_normalizer

from pipelines.documents.document import Reason, Unreadable
from pipelines.documents.extract.opened import Context, Opened, Parts, split_text, storable
from pipelines.documents.sources.sniff import wide_encoding

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_GUESS_BYTES = 1 << 18
_WESTERN_LETTERS = frozenset("äöüßéèêëàâáãåíìîïóòôõøúùûñçæœÄÖÜÉÈÊËÀÂÁÃÅÍÎÓÔÕØÚÛÑÇÆŒ")
_MAX_WESTERN_SHARE = 0.2
_FOREIGN_INSIDE = re.compile(r"[^\W\d_][^\w\s’'­·\x00-\x7f][^\W\d_]|[¹²³ªº][^\W\d_]")


def open_text(path: Path, context: Context) -> Opened:
    """The text in parts, cut at paragraphs and lines."""
    return Parts(split_text(storable(read_text(path, context)), context.read.part_chars))


def read_text(path: Path, context: Context) -> str:
    """The whole file as text.

    Raises:
        Unreadable: TOO_LARGE, when it is larger than `max_unpacked_bytes`.
    """
    if path.stat().st_size > context.read.max_unpacked_bytes:
        raise Unreadable(Reason.TOO_LARGE, f"a text of more than {context.read.max_unpacked_bytes} bytes")
    return decode(path.read_bytes())


def decode(data: bytes) -> str:
    """Bytes of a text in an unknown encoding.

    A byte order mark decides, then the zero bytes of UTF-16 and UTF-32, then UTF-8 if it fits without an error, then
    Western European if what comes out looks like it, then a guess by the letters' frequencies (which takes a short
    Western text for anything), at last Latin-1, which fits everything.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    wide = wide_encoding(data[:8192])
    if wide is not None:
        return data.decode(wide, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        if (western := _western(data)) is not None:
            return western
        best = charset_normalizer.from_bytes(data[:_GUESS_BYTES]).best()
    if best is None or best.encoding in ("ascii", "utf_8"):
        return data.decode("latin-1")
    return data.decode(best.encoding, "replace")


def _western(data: bytes) -> str | None:
    """Windows-1252 where its accents are few, are letters of Western languages, and its signs stand outside words.

    The letters of Polish, Czech or Turkish code pages come out as signs within words, those of Cyrillic or Greek ones
    are too many.
    """
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        return None
    beyond = [char for char in text[:_GUESS_BYTES] if char > "\x7f"]
    if len(beyond) > _MAX_WESTERN_SHARE * len(text[:_GUESS_BYTES]):
        return None
    if any(char.isalpha() and char not in _WESTERN_LETTERS and char not in "ªºµ" for char in beyond):
        return None
    return None if _FOREIGN_INSIDE.search(text[:_GUESS_BYTES]) else text
