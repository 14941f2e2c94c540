"""Package signatures: an Ed25519 signature (RFC 8032) beside a package's files, over the SHA-256 of each."""

import json
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Mapping
from hashlib import sha256
from typing import Literal

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cluster.basics.archive import FileBundle
from cluster.basics.errors import Invalid, Permanent

SIGNATURE = "SIGNATURE.json"
MOST_CHARACTERS = 4_000
_PURPOSE = b"aos skill package 1\n"  # what is signed for one purpose is worth nothing for another


class BadSignature(Permanent):
    """The package is not what its signer signed."""

    code = "bad_signature"
    fix = "Get it again from whoever signed it, or have it signed anew."


class _Written(BaseModel):
    model_config = ConfigDict(extra="forbid")
    algorithm: Literal["ed25519"]
    key: str = Field(max_length=64)
    signature: str = Field(max_length=128)


def new_key() -> tuple[bytes, str]:
    """A private key (PKCS 8 in PEM, not encrypted), and its public one in base64, as `skills.signers` lists them."""
    key = Ed25519PrivateKey.generate()
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), _encode_public_key(key.public_key())


def sign_bundle(bundle: FileBundle, pem: bytes) -> tuple[FileBundle, str]:
    """The bundle with a signature, in place of any that it had, and the public key.

    Raises Invalid: the PEM holds no Ed25519 key that can be read without a password.
    """
    try:
        key = load_pem_private_key(pem, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise Invalid("this is no Ed25519 key in PEM", fix="Make one: aos skills keygen")
    public = _encode_public_key(key.public_key())
    signature = b64encode(key.sign(_signed_message(bundle))).decode("ascii")
    written = {"algorithm": "ed25519", "key": public, "signature": signature}
    files = {**bundle.files, SIGNATURE: json.dumps(written, indent=1).encode() + b"\n"}
    return FileBundle(bundle.name, files), public


def signer_of(bundle: FileBundle) -> str | None:
    """The public key in base64 that all its files are signed with; None where there is no signature.

    Raises BadSignature: a file was changed, added or taken away, or the signature is none.
    """
    given = bundle.files.get(SIGNATURE)
    if given is None:
        return None
    try:
        written = _Written.model_validate_json(given if len(given) <= MOST_CHARACTERS else b"")
        key = Ed25519PublicKey.from_public_bytes(b64decode(written.key, validate=True))
        key.verify(b64decode(written.signature, validate=True), _signed_message(bundle))
    except (ValidationError, NotBase64, ValueError):
        raise BadSignature(f"{SIGNATURE} has another form") from None
    except InvalidSignature:
        raise BadSignature("its files are not those that were signed") from None
    return _encode_public_key(key)


def _signed_message(bundle: FileBundle) -> bytes:
    return _PURPOSE + json.dumps([bundle.name, _file_digests(bundle.files)], separators=(",", ":")).encode("ascii")


def _file_digests(files: Mapping[str, bytes]) -> list[list[str]]:
    return [[path, sha256(content).hexdigest()] for path, content in sorted(files.items()) if path != SIGNATURE]


def _encode_public_key(key: Ed25519PublicKey) -> str:
    return b64encode(key.public_bytes_raw()).decode("ascii")
