"""Receipts that anybody can check: JSON, signed with the instance's Ed25519 key."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import BLAKE2s, Hash

from cluster.basics.errors import Invalid, InvalidSettings
from cluster.state.canonical_json import dump_canonical
from cluster.state.secret_file import kept_secret

FILE = "receipt-key"
_LENGTH = 32  # bytes of an Ed25519 key


class ForgedReceipt(Invalid):
    """This receipt was not signed like this: it was changed, or another instance signed it."""

    code = "forged_receipt"
    fix = "Fetch it again with `aos erasures receipt ID`, and compare its key with `aos erasures key`."


@dataclass(frozen=True, slots=True)
class ReceiptSigner:
    """Signs with one key; `marks_key` is derived from it, for hashes that only this instance can make."""

    private: Ed25519PrivateKey

    @classmethod
    def kept_in(cls, state_dir: Path) -> "ReceiptSigner":
        """The key of the state directory, made where there is none.

        Raises InvalidSettings: the file holds no key.
        """
        path = state_dir / FILE
        text = kept_secret(path, lambda: _encode(Ed25519PrivateKey.generate().private_bytes_raw()))
        try:
            return cls(Ed25519PrivateKey.from_private_bytes(_decode(text.strip())))
        except (ValueError, binascii.Error) as error:
            raise InvalidSettings(f"{path} holds no Ed25519 key", fix="Put the file back from a backup.") from error

    @property
    def public(self) -> str:
        """The public key, as text."""
        return _encode(self.private.public_key().public_bytes_raw())

    @property
    def marks_key(self) -> bytes:
        """32 bytes that nobody has who has not the key."""
        made = Hash(BLAKE2s(32))
        made.update(b"aos erasure marks\0" + self.private.private_bytes_raw())
        return made.finalize()

    def sign(self, receipt: Mapping[str, Any]) -> dict[str, Any]:
        """The receipt with `key` and `signature`; the signature covers everything but itself."""
        key = {"id": key_id(self.public), "algorithm": "Ed25519", "public": self.public}
        signed = {**receipt, "key": key}
        return {**signed, "signature": _encode(self.private.sign(dump_canonical(signed).encode()))}


def key_id(public: str) -> str:
    """A short name of a public key: 16 hexadecimal digits."""
    return sha256(public.encode()).hexdigest()[:16]


def verify_receipt(receipt: Mapping[str, Any], public: str | None = None) -> str:
    """The id of the key that signed it; with `public`, only that key may have.

    Raises ForgedReceipt: the signature is not of this text, or of another key.
    """
    try:
        key, signature = receipt["key"]["public"], _decode(receipt["signature"])
        if (public is not None and key != public) or receipt["key"]["id"] != key_id(key):
            raise ForgedReceipt("it names another key")
        text = dump_canonical({name: value for name, value in receipt.items() if name != "signature"})
        Ed25519PublicKey.from_public_bytes(_decode(key)).verify(signature, text.encode())
    except (KeyError, TypeError, ValueError, AttributeError, binascii.Error, InvalidSignature) as error:
        raise ForgedReceipt("the signature is not of this text") from error
    return key_id(key)


def _encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _decode(text: str) -> bytes:
    raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    if _encode(raw) != text:  # the last digit has bits that count for nothing: one spelling alone is right
        raise ValueError("not the one way to write these bytes")
    return raw
