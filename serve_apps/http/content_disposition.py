"""The name of an uploaded file as its sender meant it, in every form that senders write it."""

import re
from contextlib import aclosing
from email.message import Message
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from pipelines.documents.extract.mail.headers import header_text
from pipelines.documents.extract.text.charset import decode_bytes

_PLAIN: Final = re.compile(rb';\s*filename\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s]+))', re.IGNORECASE | re.DOTALL)
_EXTENDED: Final = re.compile(rb";\s*filename\s*\*", re.IGNORECASE)
_ESCAPES: Final = re.compile(r"%(?:[89A-Fa-f][0-9A-Fa-f]|2[02])")


def sent_name(disposition: bytes) -> str | None:
    """The name in a part's Content-Disposition, None where there is none.

    `filename*` (RFC 5987, RFC 2231) wins, although RFC 7578 forbids it: those who send it put an encoded stand-in
    beside it. In `filename` are read: encoded words (RFC 2047), which .NET sends; raw UTF-8 (HTML), or bytes of
    another encoding; percent escapes of UTF-8.
    """
    if _EXTENDED.search(disposition) and (name := _extended_filename(disposition)):
        return name
    found = _PLAIN.search(disposition)
    if found is None:
        return None
    raw = found[1].replace(b'\\"', b'"') if found[1] is not None else found[2]
    text = decode_bytes(raw).text
    return _unescape_percents(header_text(text) if "=?" in text else text)


def _extended_filename(disposition: bytes) -> str | None:
    message = Message()
    message["content-disposition"] = disposition.decode("ascii", "replace")
    try:
        values = message.get_params(failobj=[], header="content-disposition")
    except (ValueError, LookupError, TypeError):  # a part of it that is no part of any standard
        return None
    for key, value in values:
        if key.lower() == "filename" and isinstance(value, tuple):
            charset, _, text = value
            return decode_bytes(str(text).encode("latin-1", "replace"), declared=charset or "utf-8").text
    return None


def _unescape_percents(name: str) -> str:
    """Without percent escapes, where they are escapes: each followed by two digits, and UTF-8 together."""
    if not _ESCAPES.search(name) or re.search("%(?![0-9A-Fa-f]{2})", name):
        return name
    try:
        return unquote_to_bytes(name).decode()
    except UnicodeDecodeError:
        return name


class NamedParts(MultiPartParser):
    """Starlette's parser, with the names that senders meant; its own reads `filename` as it stands, and takes a file
    that has `filename*` alone for a field."""

    def on_headers_finished(self) -> None:
        """A part begins."""
        part = self._current_part
        disposition = part.content_disposition or b""
        name = sent_name(disposition)
        if name is not None and _PLAIN.search(disposition) is None:
            part.content_disposition = disposition + b'; filename="?"'
        super().on_headers_finished()
        if name is not None and part.file is not None:
            part.file.filename = name


class FormRequest(Request):
    """A request whose forms are read by `NamedParts`."""

    def form(self, **limits: Any) -> Any:
        """The form; see Starlette's."""
        if self.headers.get("content-type", "").lower().startswith("multipart/form-data"):
            return self._parse_form(limits)
        return super().form(**limits)

    async def _parse_form(self, limits: dict[str, Any]) -> FormData:
        try:
            async with aclosing(self.stream()) as stream:
                return await NamedParts(self.headers, stream, **limits).parse()
        except MultiPartException as error:
            raise HTTPException(400, error.message) from error
