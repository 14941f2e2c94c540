"""Headers of mail as a person sees them: encoded words of every kind, broken ones too, and raw bytes."""

import base64
import binascii
import quopri
import re
from collections.abc import Iterator
from email.utils import parseaddr
from typing import Final

from pipelines.documents.document import Caveat
from pipelines.documents.extract.text.charset import DecodedText, decode_bytes

_WORD: Final = re.compile(r"=\?([^?\s]+)\?([BbQq])\?(.*?)\?=(?![0-9A-Fa-f]{2})", re.DOTALL)
_BETWEEN_WORDS: Final = re.compile(r"(\?=)\s+(?==\?[^?\s]+\?[BbQq]\?)")


def header_text(
    value: str, *, charset: str | None = None, language: str | None = None, doubts: list[Caveat] | None = None
) -> str:
    """A header's value.

    Args:
        value: as `email` hands it out: bytes beyond ASCII as surrogates, encoded words (RFC 2047) as they are.
        charset: that of the letter's text: headers that hold raw bytes are mostly written in it.
        language: that of the workspace.
        doubts: where to put what is unsure about it.
    """
    unfolded = re.sub(r"\r?\n[ \t]*", " ", value)
    joined = _BETWEEN_WORDS.sub(r"\1", unfolded)
    read = list(_decode_pieces(joined, charset, language))
    if doubts is not None:
        doubts += [caveat for piece in read for caveat in piece.caveats]
    return " ".join("".join(piece.text for piece in read).split())


def on_behalf(sender: str, stated: str) -> str:
    """The sender as mail programs show it where another has sent the letter (RFC 5322, 3.6.2)."""
    address = parseaddr(sender)[1].casefold()
    return f"{sender} on behalf of {stated}" if "@" in address and address not in stated.casefold() else stated


def _decode_pieces(value: str, charset: str | None, language: str | None) -> Iterator[DecodedText]:
    """Texts between encoded words and the words, those that follow each other in one charset decoded together: senders
    cut them within characters."""
    at, data, named = 0, b"", ""
    for word in _WORD.finditer(value):
        name = word[1].split("*")[0].lower()
        if data and (word.start() > at or name != named):
            yield decode_bytes(data, declared=named, language=language)
            data = b""
        yield _decode_raw(value[at : word.start()], charset, language)
        named, at = name, word.end()
        data += _bytes_of(word[2], word[3])
    if data:
        yield decode_bytes(data, declared=named, language=language)
    yield _decode_raw(value[at:], charset, language)


def _bytes_of(way: str, text: str) -> bytes:
    raw = text.encode("utf-8", "surrogateescape")
    if way in "Qq":
        return quopri.decodestring(raw.replace(b"_", b"=20").replace(b" ", b"=20"))
    try:
        whole = re.sub(rb"[^A-Za-z0-9+/]", b"", raw)
        return base64.b64decode(whole + b"=" * (-len(whole) % 4))
    except binascii.Error:
        return raw


def _decode_raw(value: str, charset: str | None, language: str | None) -> DecodedText:
    """Decode the part of a header that is no encoded word: text, or bytes in whatever encoding."""
    if value.isascii():
        return DecodedText(value, "ascii")
    return decode_bytes(value.encode("utf-8", "surrogateescape"), declared=charset, language=language)
