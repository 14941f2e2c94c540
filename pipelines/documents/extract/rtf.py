"""RTF: its text; what is set in bold or in tables is plain there."""

from pathlib import Path

from striprtf.striprtf import rtf_to_text

from pipelines.documents.document import Reason, Unreadable
from pipelines.documents.extract.opened import Context, Opened, Parts, split_text, storable


def open_rtf(path: Path, context: Context) -> Opened:
    """The text in parts.

    Raises:
        Unreadable: TOO_LARGE or CORRUPT.
    """
    if path.stat().st_size > context.read.max_unpacked_bytes:
        raise Unreadable(Reason.TOO_LARGE, f"more than {context.read.max_unpacked_bytes} bytes")
    try:
        # The format itself is ASCII; its letters beyond are escaped in the code page that it names.
        text = rtf_to_text(path.read_text(encoding="latin-1"), errors="replace")  # type: ignore[no-untyped-call]
    except (LookupError, ValueError, TypeError, AttributeError) as error:
        raise Unreadable(Reason.CORRUPT, f"not readable as RTF: {error}"[:200]) from error
    return Parts(split_text(storable(text), context.read.part_chars))
