"""Messages that Outlook has saved (MSG), with the letters enclosed in them."""

import struct
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from olefile import OleFileIO
from oxmsg import Message
from oxmsg.attachment import Attachment
from oxmsg.domain import constants as c
from oxmsg.properties import Properties
from oxmsg.recipient import Recipient
from oxmsg.storage import Storage

from cluster.basics.disk import means_full
from pipelines.documents.document import Caveat, CaveatKind, FailureReason, Unreadable
from pipelines.documents.extract.containers.members import ContainerEntry, numbered_names
from pipelines.documents.extract.mail.attachments import file_label
from pipelines.documents.extract.mail.eml import DAMAGED, not_readable
from pipelines.documents.extract.mail.headers import header_text, on_behalf
from pipelines.documents.extract.mail.letter import SMALL_PICTURE, LetterContent, best_of, split_paragraphs
from pipelines.documents.extract.opened import ExtractionContext, OpenedDocument, UnpagedDocument, join_blocks
from pipelines.documents.extract.text.web_page import decode_html, html_parts

_ENCLOSED_HEADER: Final = 24  # [MS-OXMSG] 2.4.1.2
_PROPERTIES: Final = "__properties_version1.0"
_ENCLOSED: Final = "__substg1.0_3701000D"  # PidTagAttachDataObject
_MOST_ENCLOSED: Final = 20


class _Enclosed(Message):
    """A letter within a letter: its properties begin earlier."""

    @property
    def properties(self) -> Properties:
        return Properties(self._storage, properties_header_offset=_ENCLOSED_HEADER)


def open_msg(path: Path, context: ExtractionContext) -> OpenedDocument:
    """The message as Markdown in parts, in the form that other mail has."""
    try:
        with OleFileIO(str(path)) as ole:
            storage = Storage.from_ole(ole)
        letter = _read_message(storage, Message(storage), context, 0)
    except (*DAMAGED, OSError, struct.error, AssertionError) as error:
        raise not_readable(error) from error
    blocks = [block for block in [*letter.blocks, *letter.names()] if block.strip()]
    return UnpagedDocument(join_blocks(blocks, context.read.part_chars), letter.doubts())


def _read_message(storage: Storage, message: Message, context: ExtractionContext, depth: int) -> LetterContent:
    if depth > _MOST_ENCLOSED:
        raise Unreadable(FailureReason.BOMB, f"more than {_MOST_ENCLOSED} letters enclosed in each other")
    said = "\n".join(f"{name}: {value}" for name, value in _message_headers(storage, message, context) if value)
    letter = LetterContent([said])
    letter.take(_message_body(message, context))
    for one in storage.iter_attachment_storages():
        letter.take(_read_attachment(one, context, depth))
    return letter


def _message_headers(storage: Storage, message: Message, context: ExtractionContext) -> Iterator[tuple[str, str]]:
    recipients = [Recipient(one) for one in storage.iter_recipient_storages()]
    sent = message.sent_date
    values = message.properties
    sender = values.str_prop_value(c.PID_SENDER_SMTP_ADDRESS) or values.str_prop_value(c.PID_SENDER_EMAIL_ADDRESS) or ""
    yield "From", on_behalf(sender, header_text(message.sender or "", language=context.language))
    yield "To", ", ".join(_format_address(one.name, one.email_address) for one in recipients if one.email_address)
    yield "Date", sent.isoformat(" ") if sent else ""
    yield "Subject", message.subject


def _format_address(name: str, address: str) -> str:
    return f"{name} <{address}>" if name and name != address else address


def _message_body(message: Message, context: ExtractionContext) -> LetterContent:
    values, said = message.properties, []
    if text := message.body:
        said.append(LetterContent(split_paragraphs(text)))
    if data := values.binary_prop_value(c.PID_HTML):
        read = decode_html(data, context, values.body_encoding)
        said.append(LetterContent(html_parts(read.text, context.read.part_chars), list(read.caveats)))
    elif html := values.str_prop_value(c.PID_BODY_HTML):
        said.append(LetterContent(html_parts(html, context.read.part_chars)))
    if not said and values.binary_prop_value(c.PID_RTF_COMPRESSED):
        detail = "the letter's text is there as compressed RTF only; save it as EML or TXT from Outlook"
        return LetterContent(caveats=[Caveat(CaveatKind.PARTS_SKIPPED, detail)])
    return best_of(said)


def _enclosed_storage(storage: Storage) -> Storage | None:
    """The letter in an attachment, where it is one."""
    found = next((one for one in storage.storages if one.name == _ENCLOSED), None)
    return found if found is not None and any(one.name == _PROPERTIES for one in found.streams) else None


def _read_attachment(storage: Storage, context: ExtractionContext, depth: int) -> LetterContent:
    if (enclosed := _enclosed_storage(storage)) is not None:
        letter = _read_message(enclosed, _Enclosed(enclosed), context, depth + 1)
        letter.blocks = ["Enclosed letter:", *letter.blocks, *letter.names()]
        return letter
    one = Attachment(storage)
    name = one.file_name or one.properties.str_prop_value(c.PID_DISPLAY_NAME) or "an object"
    return LetterContent(small=[name]) if _is_inline_picture(one) else LetterContent(attached=[name])


def _is_inline_picture(one: Attachment) -> bool:
    return bool(one.properties.str_prop_value(c.PID_ATTACH_CONTENT_ID)) and str(one.mime_type).startswith("image/")


def msg_entries(path: Path, _: ExtractionContext) -> Iterator[ContainerEntry]:
    """Everything attached, also to letters enclosed in it, which are no files that could stand alone.

    Raises Unreadable: CORRUPT.
    """
    try:
        with OleFileIO(str(path)) as ole:
            storage = Storage.from_ole(ole)
        yield from numbered_names(_attached_entries(storage, 0))
    except (*DAMAGED, OSError, struct.error, AssertionError) as error:
        if means_full(error):
            raise
        raise not_readable(error) from error


def _attached_entries(storage: Storage, depth: int) -> Iterator[ContainerEntry]:
    for each in storage.iter_attachment_storages():
        if (enclosed := _enclosed_storage(each)) is not None:
            if depth < _MOST_ENCLOSED:
                yield from _attached_entries(enclosed, depth + 1)
            continue
        one = Attachment(each)
        if not _is_inline_picture(one) or one.size > SMALL_PICTURE:
            name = one.file_name or one.properties.str_prop_value(c.PID_DISPLAY_NAME) or ""
            yield ContainerEntry(file_label(name, "attachment"), 0, partial(_attached_blocks, one))


def _attached_blocks(one: Attachment) -> Iterator[bytes]:
    if (data := one.file_bytes) is None:
        raise ValueError("an object without bytes of its own")
    yield data
