"""Mail (EML) and web archives (MHT): letters as a person reads them, and saved pages."""

import email.errors
from pathlib import Path

from pipelines.documents.document import Caveat, CaveatKind, FailureReason, Unreadable
from pipelines.documents.extract.mail.letter import (
    SMALL_PICTURE,
    charset_of,
    merge_caveats,
    parse_message,
    payload_of,
    read_letter,
)
from pipelines.documents.extract.opened import ExtractionContext, OpenedDocument, UnpagedDocument, join_blocks
from pipelines.documents.extract.text.plain_text import read_bounded
from pipelines.documents.extract.text.web_page import decode_html, html_parts, pictures_in

DAMAGED = (email.errors.MessageError, LookupError, ValueError, TypeError, AttributeError, RecursionError)
"""What the standard library raises on letters that nobody should have sent."""


def open_mail(path: Path, context: ExtractionContext) -> OpenedDocument:
    """The message as Markdown in parts."""
    try:
        letter = read_letter(parse_message(read_bounded(path, context)), context)
    except DAMAGED as error:
        raise not_readable(error) from error
    blocks = [block for block in [*letter.blocks, *letter.names()] if block.strip()]
    return UnpagedDocument(join_blocks(blocks, context.read.part_chars), letter.doubts())


def open_mhtml(path: Path, context: ExtractionContext) -> OpenedDocument:
    """A page that a browser has saved with all that belongs to it: the page, and the frames in it."""
    limit = context.read.part_chars
    blocks: list[str] = []
    caveats: list[Caveat] = []
    pictures = 0
    try:
        for part in parse_message(read_bounded(path, context)).walk():
            if part.get_content_type() in ("text/html", "application/xhtml+xml"):
                read = decode_html(payload_of(part), context, charset_of(part))
                blocks += html_parts(read.text, limit)
                caveats += [*read.caveats, *pictures_in(read.text)]
            elif part.get_content_maintype() == "image":
                pictures += len(payload_of(part)) > SMALL_PICTURE
    except DAMAGED as error:
        raise not_readable(error) from error
    if pictures:
        caveats.append(Caveat(CaveatKind.PICTURES_UNREAD, f"{pictures} pictures of the page were not read", pictures))
    return UnpagedDocument(join_blocks(blocks, limit), merge_caveats(caveats))


def not_readable(error: BaseException) -> Unreadable:
    """Unreadable (CORRUPT) for an error of the mail parsers."""
    return Unreadable(FailureReason.CORRUPT, f"not a readable mail: {error}"[:200])
