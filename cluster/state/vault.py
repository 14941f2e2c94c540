"""Secrets sealed at rest: an AES-256-GCM envelope that knows its key and where it belongs."""

import base64
import binascii
import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from cluster.basics.errors import InvalidSettings, Permanent
from cluster.state.kept import kept_secret

KEY_BYTES = 32
_MARK = b"\x01"  # the envelope's version: mark, key id (8), nonce (12), ciphertext with its tag
_ID_BYTES, _NONCE_BYTES = 8, 12
_HEAD = len(_MARK) + _ID_BYTES + _NONCE_BYTES


class Sealed(Permanent):
    """A stored secret cannot be opened."""

    code, status = "sealed", 409
    fix = "Give the vault the key it was sealed with (models.vault_key), or store the secret again."


@dataclass(frozen=True, slots=True)
class VaultKey:
    """32 random bytes and the id that envelopes name them by."""

    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.secret) != KEY_BYTES:
            raise InvalidSettings(
                f"a vault key has {KEY_BYTES} bytes; this one has {len(self.secret)}", fix="openssl rand -base64 32"
            )

    @property
    def id(self) -> bytes:
        """Eight bytes derived from the key; they tell nothing of it."""
        return hashlib.sha256(b"aos-vault-key-id" + self.secret).digest()[:_ID_BYTES]


class Vault:
    """Seals with its first key, and opens with any."""

    def __init__(self, keys: Sequence[VaultKey]) -> None:
        """The first is the current one; older ones stay until everything is rotated."""
        self._current = keys[0]
        self._keys = {key.id: key for key in keys}

    def __repr__(self) -> str:
        return f"Vault({len(self._keys)} keys)"

    def seal(self, secret: str, place: str) -> bytes:
        """The envelope. `place` binds it to where it is stored: copied to another row or tenant it does not open."""
        nonce = secrets.token_bytes(_NONCE_BYTES)  # random: 2^32 seals under one key before it should be rotated
        head = _MARK + self._current.id + nonce
        return head + AESGCM(self._current.secret).encrypt(nonce, secret.encode(), _bound(head, place))

    def open(self, envelope: bytes, place: str) -> str:
        """The secret.

        Raises:
            Sealed: sealed with a key that is not here, for another place, or changed since.
        """
        head = envelope[:_HEAD]
        if len(head) < _HEAD or head[:1] != _MARK:
            raise Sealed("this is no envelope of the vault")
        key = self._keys.get(head[1 : 1 + _ID_BYTES])
        if key is None:
            raise Sealed("it was sealed with a key that is not configured")
        nonce = head[-_NONCE_BYTES:]
        try:
            return AESGCM(key.secret).decrypt(nonce, envelope[_HEAD:], _bound(head, place)).decode()
        except InvalidTag:
            raise Sealed("it was changed, or it belongs to another row") from None

    def rotate(self, envelope: bytes, place: str) -> bytes | None:
        """The same secret under the current key; None where it already is.

        Raises:
            Sealed: as `open`.
        """
        if envelope[1 : 1 + _ID_BYTES] == self._current.id:
            return None
        return self.seal(self.open(envelope, place), place)


def vault_of(configured: str | None, state_dir: Path) -> Vault:
    """A vault with the configured keys, else with one that is made once and kept beside the state, for its owner only.

    Args:
        configured: 32 bytes in base64; older keys may follow, separated by commas.
        state_dir: where `vault-key` is kept. Every node that opens secrets needs the same key.

    Raises:
        InvalidSettings: a key is no base64, or has not 32 bytes.
    """
    texts = configured if configured is not None else kept_secret(state_dir / "vault-key", _new_key)
    return Vault([_decoded(text.strip()) for text in texts.split(",") if text.strip()] or [_decoded("")])


def _bound(head: bytes, place: str) -> bytes:
    return head + place.encode()


def _decoded(text: str) -> VaultKey:
    try:
        return VaultKey(base64.b64decode(text, altchars=b"-_" if "-" in text or "_" in text else None, validate=True))
    except (binascii.Error, ValueError):
        raise InvalidSettings("models.vault_key is no base64", fix="openssl rand -base64 32") from None


def _new_key() -> str:
    return base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()
