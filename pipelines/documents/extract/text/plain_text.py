"""Plain text, Markdown and source code: the bytes decoded, nothing else changed."""

from pathlib import Path

from pipelines.documents.document import FailureReason, Unreadable
from pipelines.documents.extract.opened import (
    ExtractionContext,
    OpenedDocument,
    UnpagedDocument,
    split_text,
    storable_text,
)
from pipelines.documents.extract.text.charset import DecodedText, decode_bytes


def open_text(path: Path, context: ExtractionContext) -> OpenedDocument:
    """The text in parts, cut at paragraphs and lines."""
    read = read_text(path, context)
    return UnpagedDocument(split_text(storable_text(read.text), context.read.part_chars), read.caveats)


def read_text(path: Path, context: ExtractionContext) -> DecodedText:
    """The whole file as text. Raises Unreadable: TOO_LARGE, when it is larger than `max_unpacked_bytes`."""
    return decode_bytes(read_bounded(path, context), chosen=context.encoding, language=context.language)


def read_bounded(path: Path, context: ExtractionContext) -> bytes:
    """The bytes of a file that is parsed as a whole. Raises as `read_text` does."""
    if path.stat().st_size > context.read.max_unpacked_bytes:
        raise Unreadable(FailureReason.TOO_LARGE, f"more than {context.read.max_unpacked_bytes} bytes")
    return path.read_bytes()
