"""Imported parts of a DOCX (altChunk): HTML, text or web archives that a program left to Word to convert."""

import email
import email.errors
import email.policy
from email.message import EmailMessage

from pipelines.documents.document import Caveat
from pipelines.documents.extract.opened import ExtractionContext
from pipelines.documents.extract.text.charset import DecodedText, decode_bytes
from pipelines.documents.extract.text.web_page import decode_html, html_parts

BEFORE_MARKUP = b"\xef\xbb\xbf \t\r\n"  # a byte order mark and blanks
_MIME_STARTS = (b"mime-version:", b"content-type:", b"from:", b"subject:", b"date:")
IMPORT_DAMAGED = (email.errors.MessageError, LookupError, ValueError, TypeError, AttributeError, RecursionError)
"""What the converters raise; beside these, `Unreadable` of HTML that is nested without end."""


def imported_blocks(data: bytes, context: ExtractionContext) -> tuple[list[str], tuple[Caveat, ...]]:
    """The blocks of an imported part that is no package, by what its bytes are, and what is in doubt about them."""
    head = data.lstrip(BEFORE_MARKUP)[:2048].lower()
    if head.startswith(_MIME_STARTS):
        return _of_archive(data, context)
    if head.startswith(b"<") or b"<html" in head or b"<body" in head or b"</p>" in head:
        return _of_html(decode_html(data, context), context)
    return _of_text(decode_bytes(data, chosen=context.encoding, language=context.language))


def _of_html(page: DecodedText, context: ExtractionContext) -> tuple[list[str], tuple[Caveat, ...]]:
    return html_parts(page.text, context.read.part_chars), page.caveats


def _of_text(text: DecodedText) -> tuple[list[str], tuple[Caveat, ...]]:
    return _text_paragraphs(text.text), text.caveats


def _of_archive(data: bytes, context: ExtractionContext) -> tuple[list[str], tuple[Caveat, ...]]:
    """The page in a web archive (MHT): its first part that is HTML, else text."""
    message = email.message_from_bytes(data, policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    body = message.get_body(preferencelist=("related", "html", "plain")) or message
    payload = body.get_payload(decode=True)
    content = payload if isinstance(payload, bytes) else b""
    charset = body.get_content_charset()
    if body.get_content_subtype() == "html":
        return _of_html(decode_html(content, context, charset), context)
    return _of_text(decode_bytes(content, chosen=context.encoding, language=context.language, declared=charset))


def _text_paragraphs(text: str) -> list[str]:
    return [block.strip() for block in text.replace("\r\n", "\n").split("\n\n") if block.strip()]
