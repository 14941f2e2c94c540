"""Mail (EML, MSG): the headers a person sees, the text, and the names of what is attached."""

import email
import email.errors
import email.policy
import struct
from email.header import decode_header, make_header
from email.message import EmailMessage
from pathlib import Path

import oxmsg

from pipelines.documents.document import Reason, Unreadable
from pipelines.documents.extract.html import html_parts
from pipelines.documents.extract.opened import Context, Opened, Parts, join_blocks
from pipelines.documents.extract.text import decode

_HEADERS = ("From", "To", "Cc", "Date", "Subject")
_DAMAGED = (email.errors.MessageError, LookupError, ValueError, TypeError, AttributeError, RecursionError)


def open_mail(path: Path, context: Context) -> Opened:
    """The message as Markdown in parts."""
    if path.stat().st_size > context.read.max_unpacked_bytes:
        raise Unreadable(Reason.TOO_LARGE, f"more than {context.read.max_unpacked_bytes} bytes")
    try:
        message = email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
        blocks = ["\n".join(f"{name}: {value}" for name in _HEADERS if (value := message[name]))]
        blocks += _body(message, context.read.part_chars)
        names = [str(part.get_filename() or part.get_content_type()) for part in message.iter_attachments()]
    except _DAMAGED as error:
        raise Unreadable(Reason.CORRUPT, f"not a readable mail: {error}"[:200]) from error
    return _parts(blocks, names, context.read.part_chars)


def open_msg(path: Path, context: Context) -> Opened:
    """A message that Outlook has saved, in the same form."""
    try:
        message = oxmsg.Message.load(str(path))
        values = (
            ("From", str(make_header(decode_header(message.sender or "")))),
            ("To", ", ".join(_address(one.name, one.email_address) for one in message.recipients if one.email_address)),
            ("Date", message.sent_date.isoformat(" ") if message.sent_date else ""),
            ("Subject", message.subject or ""),
        )
        blocks = ["\n".join(f"{name}: {value}" for name, value in values if value)]
        limit = context.read.part_chars
        if message.body or not message.html_body:
            blocks += _paragraphs(message.body or "")
        else:
            blocks += html_parts(message.html_body, limit)
        names = [str(one.file_name) for one in message.attachments if one.file_name]
    except (*_DAMAGED, OSError, struct.error) as error:
        raise Unreadable(Reason.CORRUPT, f"not a readable mail: {error}"[:200]) from error
    return _parts(blocks, names, limit)


def _parts(blocks: list[str], attachments: list[str], limit: int) -> Parts:
    names = ["Attachments: " + ", ".join(attachments)] if attachments else []
    return Parts(join_blocks([block for block in [*blocks, *names] if block.strip()], limit))


def _address(name: str | None, address: str) -> str:
    return f"{name} <{address}>" if name and name != address else address


def _paragraphs(text: str) -> list[str]:
    return text.replace("\r\n", "\n").strip().split("\n\n")


def _body(message: EmailMessage, limit: int) -> list[str]:
    part = message.get_body(preferencelist=("plain", "html"))
    if part is None:
        return []
    payload = part.get_payload(decode=True)
    data = payload if isinstance(payload, bytes) else b""
    charset = part.get_content_charset()
    try:
        text = data.decode(charset) if charset else decode(data)
    except (LookupError, UnicodeDecodeError):
        text = decode(data)
    return html_parts(text, limit) if part.get_content_subtype() == "html" else _paragraphs(text)
