"""Imported parts of a DOCX (altChunk): HTML, text, RTF or web archives that a program left to Word to convert."""

import email
import email.errors
import email.policy
from email.message import EmailMessage

from striprtf.striprtf import rtf_to_text

from pipelines.documents.extract.html import html_parts
from pipelines.documents.extract.text import decode

_MIME_STARTS = (b"mime-version:", b"content-type:", b"from:", b"subject:", b"date:")
IMPORT_DAMAGED = (email.errors.MessageError, LookupError, ValueError, TypeError, AttributeError, RecursionError)
"""What the converters raise; beside these, `Unreadable` of HTML that is nested without end."""


def imported_blocks(data: bytes, limit: int) -> list[str]:
    """The blocks of an imported part that is no package, by what its bytes are."""
    head = data.lstrip(b"\xef\xbb\xbf \t\r\n")[:2048].lower()
    if head.startswith(b"{\\rtf"):
        text = rtf_to_text(data.decode("latin-1"), errors="replace")  # type: ignore[no-untyped-call]
        return _paragraphs(text)
    if head.startswith(_MIME_STARTS):
        return _archived(data, limit)
    if head.startswith(b"<") or b"<html" in head or b"<body" in head or b"</p>" in head:
        return html_parts(data, limit)
    return _paragraphs(decode(data))


def _archived(data: bytes, limit: int) -> list[str]:
    """The page in a web archive (MHT): its first part that is HTML, else text."""
    message = email.message_from_bytes(data, policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    body = message.get_body(preferencelist=("related", "html", "plain")) or message
    payload = body.get_payload(decode=True)
    content = payload if isinstance(payload, bytes) else b""
    charset = body.get_content_charset()
    text = content.decode(charset, "replace") if charset else decode(content)
    return html_parts(text, limit) if body.get_content_subtype() == "html" else _paragraphs(text)


def _paragraphs(text: str) -> list[str]:
    return [block.strip() for block in text.replace("\r\n", "\n").split("\n\n") if block.strip()]
