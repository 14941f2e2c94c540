"""A letter's MIME parts as text: each that is text, enclosed letters in their place, the names of what is attached."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage, Message
from typing import Final

from pipelines.documents.document import Caveat, CaveatKind, FailureReason, Unreadable
from pipelines.documents.extract.mail.headers import header_text, on_behalf
from pipelines.documents.extract.opened import ExtractionContext
from pipelines.documents.extract.text.charset import DecodedText, decode_bytes
from pipelines.documents.extract.text.web_page import decode_html, html_parts, pictures_in

_HEADERS: Final = ("From", "To", "Cc", "Date", "Subject")
SIGNATURES: Final = ("pgp-signature", "pkcs7-signature", "x-pkcs7-signature")
ENCLOSED: Final = ("rfc822", "global", "news")
SMALL_PICTURE: Final = 20_000  # bytes; the logo below a signature
_MOST_ENCLOSED: Final = 20  # a letter in a letter in a letter
_NEARLY_ALL: Final = 0.9
_FEW_WORDS: Final = 3
_WORDS: Final = re.compile(r"\w+")


@dataclass(slots=True)
class LetterContent:
    """The content read from a letter, in order."""

    blocks: list[str] = field(default_factory=list)  # paragraphs, tables
    caveats: list[Caveat] = field(default_factory=list)  # doubts about what was read
    attached: list[str] = field(default_factory=list)  # names of what is not text: documents of their own
    small: list[str] = field(default_factory=list)

    def take(self, other: "LetterContent") -> None:
        """Add what was read of a part."""
        self.blocks += other.blocks
        self.caveats += other.caveats
        self.attached += other.attached
        self.small += other.small

    def names(self) -> list[str]:
        """Everything attached, a block of one line."""
        names = [*self.attached, *self.small]
        return ["Attachments: " + ", ".join(names)] if names else []

    def doubts(self) -> Iterator[Caveat]:
        """Caveats for what the text does not hold, or may have wrong."""
        yield from merge_caveats(self.caveats)


def merge_caveats(caveats: Sequence[Caveat]) -> Iterator[Caveat]:
    """One caveat a kind and detail, with how many there were."""
    counts: dict[tuple[CaveatKind, str], int] = {}
    for one in caveats:
        counts[one.kind, one.detail] = counts.get((one.kind, one.detail), 0) + one.count
    return (Caveat(kind, detail, count) for (kind, detail), count in counts.items())


def parse_message(data: bytes) -> Message:
    """A message with its headers as they are: the library's own reading of them fails on broken ones."""
    return message_from_bytes(data.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n"), policy=policy.compat32)


def read_letter(message: Message, context: ExtractionContext, depth: int = 0) -> LetterContent:
    """Headers and parts of a letter. Raises Unreadable: BOMB, letters enclosed in each other without end."""
    if depth > _MOST_ENCLOSED:
        raise Unreadable(FailureReason.BOMB, f"more than {_MOST_ENCLOSED} letters enclosed in each other")
    letter = LetterContent()
    charset = next((found for part in message.walk() if (found := charset_of(part))), None)
    said = {name: _header_value(message, name, charset, context, letter.caveats) for name in (*_HEADERS, "Sender")}
    said["From"] = on_behalf(said.pop("Sender"), said["From"])
    letter.blocks += ["\n".join(f"{name}: {value}" for name, value in said.items() if value)]
    letter.take(_read_part(message, context, depth))
    return letter


def charset_of(part: Message) -> str | None:
    """The encoding that a part of text claims."""
    if part.get_content_maintype() != "text":
        return None
    try:
        return part.get_content_charset()
    except (LookupError, ValueError, TypeError, AttributeError):  # a parameter that nobody can decode
        return None


def name_of(part: Message, context: ExtractionContext) -> str | None:
    """The file name of a part (RFC 2231, and 2047 where senders use it)."""
    try:
        name = part.get_filename()
    except (LookupError, ValueError, TypeError, AttributeError):
        return None
    return header_text(name, language=context.language) if name else None


def payload_of(part: Message) -> bytes:
    """The bytes of a part; where its transfer encoding is broken, as they stand."""
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _header_value(
    message: Message, name: str, charset: str | None, context: ExtractionContext, doubts: list[Caveat]
) -> str:
    values = [value for key, value in message.raw_items() if key.lower() == name.lower()]
    read = (header_text(str(one), charset=charset, language=context.language, doubts=doubts) for one in values)
    return ", ".join(read)


def _read_part(part: Message, context: ExtractionContext, depth: int) -> LetterContent:
    kind, subtype = part.get_content_maintype(), part.get_content_subtype()
    if kind == "message" and subtype in ENCLOSED:
        return _read_enclosed(part, context, depth)
    if part.is_multipart():
        children = [one for one in part.get_payload() if isinstance(one, Message)]
        if subtype == "alternative":
            return best_of([_read_part(child, context, depth) for child in children])
        if kind == "message":  # delivery-status: blocks of headers
            return LetterContent(["\n".join(f"{name}: {value}" for name, value in one.items()) for one in children])
        found = LetterContent()
        for child in children:
            found.take(_read_part(child, context, depth))
        return found
    if kind == "text" or (kind == "message" and subtype != "partial"):
        return _read_text(part, context)
    return _read_attachment(part, context, depth)


def enclosed_message(part: Message) -> Message:
    """The letter in a part of type message/rfc822."""
    inner = part.get_payload()
    enclosed = inner[0] if isinstance(inner, list) and inner else None
    if not isinstance(enclosed, Message):
        enclosed = parse_message(payload_of(part))
    elif str(part.get("Content-Transfer-Encoding", "")).strip().lower() in ("base64", "quoted-printable"):
        wrapped = EmailMessage()  # not allowed by RFC 2046, and done
        wrapped["Content-Transfer-Encoding"] = str(part["Content-Transfer-Encoding"])
        wrapped.set_payload(enclosed.as_string())
        enclosed = parse_message(payload_of(wrapped))
    return enclosed


def _read_enclosed(part: Message, context: ExtractionContext, depth: int) -> LetterContent:
    letter = read_letter(enclosed_message(part), context, depth + 1)
    letter.blocks.insert(0, "Enclosed letter:")
    letter.blocks += letter.names()
    return letter


def best_of(read: Sequence[LetterContent]) -> LetterContent:
    """Of alternatives the first that says what the others do; several where each says something of its own."""
    said = [one for one in read if any(block.strip() for block in one.blocks)]
    if not said:
        return read[0] if read else LetterContent()
    bags = [_letter_words(one) for one in said]
    best = next((at for at, bag in enumerate(bags) if all(_covers_words(bag, other) for other in bags)), None)
    if best is None:
        best = max(range(len(said)), key=lambda at: (len(bags[at]), at))
    found = said[best]
    for at, one in enumerate(said):
        if at != best and not _covers_words(bags[best], bags[at]):
            found.blocks += one.blocks
            found.caveats += one.caveats
    for one in read:
        if one is not found:
            found.attached += [name for name in one.attached if name not in found.attached]
            found.small += [name for name in one.small if name not in found.small]
    return found


def _letter_words(letter: LetterContent) -> set[str]:
    return {word.lower() for block in letter.blocks for word in _WORDS.findall(block)}


def _covers_words(bag: set[str], other: set[str]) -> bool:
    """True if a text holds nearly all words of another, and all of its numbers."""
    missing = other - bag
    few = len(missing) <= max(_FEW_WORDS, (1 - _NEARLY_ALL) * len(other))
    return few and not any(word[0].isdigit() for word in missing)


def _read_text(part: Message, context: ExtractionContext) -> LetterContent:
    data, subtype, charset = payload_of(part), part.get_content_subtype(), charset_of(part)
    if subtype == "html":
        read = decode_html(data, context, charset)
        blocks = html_parts(read.text, context.read.part_chars)
        caveats = (*read.caveats, *pictures_in(read.text))
    else:
        read = decode_text(data, context, charset)
        blocks, caveats = split_paragraphs(read.text), read.caveats
    if part.get_content_disposition() == "attachment" and (name := name_of(part, context)):
        blocks = [f"Attachment {name}:", *blocks]
    return LetterContent(blocks, list(caveats))


def decode_text(data: bytes, context: ExtractionContext, charset: str | None) -> DecodedText:
    """Plain text of a letter; `us-ascii` is what a sender says who knows nothing."""
    declared = None if charset in ("us-ascii", "ascii", "unknown-8bit", None) else charset
    return decode_bytes(data, chosen=context.encoding, language=context.language, declared=declared)


def split_paragraphs(text: str) -> list[str]:
    """Blocks of a plain text."""
    return text.replace("\r\n", "\n").strip().split("\n\n")


def _read_attachment(part: Message, context: ExtractionContext, depth: int) -> LetterContent:
    kind, subtype = part.get_content_maintype(), part.get_content_subtype()
    if subtype in SIGNATURES:
        return LetterContent()
    name = name_of(part, context) or part.get_content_type()
    if kind == "application" and name.lower().endswith(".eml"):
        letter = read_letter(parse_message(payload_of(part)), context, depth + 1)
        letter.blocks = [f"Enclosed letter {name}:", *letter.blocks, *letter.names()]
        return letter
    if kind == "image" and part.get_content_disposition() != "attachment":
        return LetterContent(small=[name])
    return LetterContent(attached=[name])
