"""Plain text, Markdown and source code: the bytes decoded, nothing else changed."""

from pathlib import Path

from pipelines.documents.document import Reason, Unreadable
from pipelines.documents.extract.opened import Context, Opened, Parts, split_text, storable
from pipelines.documents.extract.text.charset import Decoded, decode


def open_text(path: Path, context: Context) -> Opened:
    """The text in parts, cut at paragraphs and lines."""
    read = read_text(path, context)
    return Parts(split_text(storable(read.text), context.read.part_chars), read.caveats)


def read_text(path: Path, context: Context) -> Decoded:
    """The whole file as text.

    Raises:
        Unreadable: TOO_LARGE, when it is larger than `max_unpacked_bytes`.
    """
    return decode(bounded(path, context), chosen=context.encoding, language=context.language)


def bounded(path: Path, context: Context) -> bytes:
    """The bytes of a file that is parsed as a whole. Raises as `read_text` does."""
    if path.stat().st_size > context.read.max_unpacked_bytes:
        raise Unreadable(Reason.TOO_LARGE, f"more than {context.read.max_unpacked_bytes} bytes")
    return path.read_bytes()
