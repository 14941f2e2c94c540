"""Checksums as clients send them: RFC 9530's Content-Digest, and the Upload-Checksum of tus."""

import re
from base64 import b64decode
from binascii import Error as NoBase64
from typing import Final

from cluster.basics.errors import Invalid, Permanent

_SHA256: Final = re.compile(r"(?:^|,)\s*(?i:sha-256)=:([A-Za-z0-9+/=]+):")
_LENGTH: Final = 32


class NoContentDigest(Permanent):
    """The Content-Digest has no SHA-256 that could be compared."""

    code, status = "content_digest", 400
    fix = "Send it as `sha-256=:<base64>:`, or leave it out."


def digest_of(header: str) -> str:
    """The SHA-256 of a Content-Digest in hex. Raises NoContentDigest: it has only others, or none that can be read."""
    found = _SHA256.search(header)
    if found is None:
        raise NoContentDigest(f"it is {header[:80]!r}")
    try:
        return _hex_of(found.group(1), "Content-Digest")
    except Invalid as error:
        raise NoContentDigest(error.detail) from error


def tus_checksum_of(header: str) -> str:
    """The SHA-256 of an Upload-Checksum in hex. Raises Invalid: of another algorithm, or none."""
    name, _, value = header.strip().partition(" ")
    if name != "sha256":
        raise Invalid(f"Upload-Checksum of {name[:20]!r}", fix="Send it as `sha256 <base64>`.")
    return _hex_of(value.strip(), "Upload-Checksum")


def _hex_of(text: str, what: str) -> str:
    try:
        raw = b64decode(text, validate=True)
    except NoBase64 as error:
        raise Invalid(f"{what} is no base64") from error
    if len(raw) != _LENGTH:
        raise Invalid(f"{what} is no SHA-256")
    return raw.hex()
