"""Attachments of a letter as entries of a container: files, enclosed letters, pictures too large for a logo."""

import mimetypes
from collections.abc import Iterator
from email.generator import BytesGenerator
from email.message import Message
from functools import partial
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Final

from pipelines.documents.extract.containers.members import ContainerEntry, numbered_names
from pipelines.documents.extract.mail.eml import DAMAGED, not_readable
from pipelines.documents.extract.mail.headers import header_text
from pipelines.documents.extract.mail.letter import (
    ENCLOSED,
    SIGNATURES,
    SMALL_PICTURE,
    enclosed_message,
    name_of,
    parse_message,
    payload_of,
)
from pipelines.documents.extract.opened import ExtractionContext
from pipelines.documents.extract.text.plain_text import read_bounded

_LONGEST_SUBJECT: Final = 100  # characters of it that name an enclosed letter
_MOST_PARTS_WITHIN: Final = 100


def mail_entries(path: Path, context: ExtractionContext) -> Iterator[ContainerEntry]:
    """Everything attached, in order, with names of their own. Raises Unreadable: CORRUPT."""
    try:
        yield from numbered_names(_part_entries(parse_message(read_bounded(path, context)), context, 0))
    except DAMAGED as error:
        raise not_readable(error) from error


def _part_entries(part: Message, context: ExtractionContext, depth: int) -> Iterator[ContainerEntry]:
    kind, subtype = part.get_content_maintype(), part.get_content_subtype()
    attached = part.get_content_disposition() == "attachment"
    if kind == "message" and subtype in ENCLOSED and depth:
        yield _enclosed_entry(part, context)
    elif part.is_multipart():
        if kind != "message" and depth < _MOST_PARTS_WITHIN:
            for child in part.get_payload():
                if isinstance(child, Message):
                    yield from _part_entries(child, context, depth + 1)
    elif kind == "text" or (kind == "message" and subtype != "partial"):
        if attached and name_of(part, context):
            yield _file_entry(part, context)
    elif subtype == "ms-tnef":
        yield ContainerEntry(_label_of(part, context), 0, refusal="attachments in Outlook's own form (TNEF)")
    elif subtype not in SIGNATURES and (kind != "image" or attached or len(payload_of(part)) > SMALL_PICTURE):
        yield _file_entry(part, context)


def _file_entry(part: Message, context: ExtractionContext) -> ContainerEntry:
    return ContainerEntry(_label_of(part, context), 0, partial(_payload_blocks, part))


def _payload_blocks(part: Message) -> Iterator[bytes]:
    yield payload_of(part)


def _enclosed_entry(part: Message, context: ExtractionContext) -> ContainerEntry:
    letter = enclosed_message(part)
    subject = header_text(str(letter.get("Subject", "")), language=context.language)[:_LONGEST_SUBJECT].strip()
    name = name_of(part, context) or subject or "letter"
    name = name if name.lower().endswith(".eml") else f"{name}.eml"
    return ContainerEntry(name.replace("/", "_").replace("\\", "_"), 0, partial(_letter_blocks, letter))


def _letter_blocks(letter: Message) -> Iterator[bytes]:
    made = BytesIO()
    try:
        BytesGenerator(made, mangle_from_=False, maxheaderlen=0).flatten(letter)
    except DAMAGED as error:
        raise ValueError("a letter that cannot be written down by itself") from error
    yield made.getvalue()


def _label_of(part: Message, context: ExtractionContext) -> str:
    fallback = f"attachment{mimetypes.guess_extension(part.get_content_type()) or ''}"
    return file_label(name_of(part, context) or "", fallback)


def file_label(name: str, fallback: str) -> str:
    """A file's name without the folders of whoever sent it."""
    return PurePosixPath(name.replace("\\", "/")).name.strip(" .") or fallback
