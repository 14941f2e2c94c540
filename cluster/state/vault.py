"""Secrets sealed at rest: an AES-256-GCM envelope that knows its key and where it belongs."""

import base64
import binascii
import hashlib
import os
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from cluster.basics.errors import InvalidSettings, Permanent
from cluster.state.secret_file import kept_secret

KEY_BYTES = 32
_MARK = b"\x01"  # the envelope's version: mark, key id (8), nonce (12), ciphertext with its tag
_ID_BYTES, _NONCE_BYTES = 8, 12
_HEAD = len(_MARK) + _ID_BYTES + _NONCE_BYTES


class UnopenableSecret(Permanent):
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

    def __init__(self, keys: Sequence[VaultKey], newer: Callable[[], Sequence[VaultKey] | None] | None = None) -> None:
        """The first is the current one; older ones stay until everything is rotated.

        `newer` tells other keys in their place, None while they are the same: a kept file is rotated while we run.
        """
        self._newer = newer
        self._set_keys(keys)

    def __repr__(self) -> str:
        return f"Vault({len(self._keys)} keys)"

    @property
    def current(self) -> bytes:
        """Id of the key that seals."""
        self._refresh_keys()
        return self._current.id

    def seal(self, secret: str, place: str) -> bytes:
        """The envelope. `place` binds it to where it is stored: copied to another row or tenant it does not open."""
        self._refresh_keys()
        nonce = secrets.token_bytes(_NONCE_BYTES)  # random: 2^32 seals under one key before it should be rotated
        head = _MARK + self._current.id + nonce
        return head + AESGCM(self._current.secret).encrypt(nonce, secret.encode(), head + place.encode())

    def open(self, envelope: bytes, place: str) -> str:
        """The secret.

        Raises UnopenableSecret where it was sealed with a key that is not here, for another place, or changed since.
        """
        head = envelope[:_HEAD]
        if len(head) < _HEAD or head[:1] != _MARK:
            raise UnopenableSecret("this is no envelope of the vault")
        key = self._keys.get(key_id(head))
        if key is None:
            self._refresh_keys()
            key = self._keys.get(key_id(head))
        if key is None:
            raise UnopenableSecret("it was sealed with a key that is not configured")
        nonce = head[-_NONCE_BYTES:]
        try:
            return AESGCM(key.secret).decrypt(nonce, envelope[_HEAD:], head + place.encode()).decode()
        except InvalidTag:
            raise UnopenableSecret("it was changed, or it belongs to another row") from None

    def rotate(self, envelope: bytes, place: str) -> bytes | None:
        """The same secret under the current key; None where it already is. Raises UnopenableSecret as `open`."""
        if key_id(envelope) == self.current:
            return None
        return self.seal(self.open(envelope, place), place)

    def _refresh_keys(self) -> None:
        """At the keys, if they may have changed: sealed with one that is no longer kept, a secret would be lost."""
        keys = None if self._newer is None else self._newer()
        if keys is not None:
            self._set_keys(keys)

    def _set_keys(self, keys: Sequence[VaultKey]) -> None:
        self._current = keys[0]
        self._keys = {key.id: key for key in keys}


def key_id(envelope: bytes) -> bytes:
    """The id of the key that an envelope was sealed with."""
    return envelope[len(_MARK) : len(_MARK) + _ID_BYTES]


def secret_place(tenant: str, workspace: str, table: str, id_: str) -> str:
    """The place of a stored secret, which its envelope is bound to."""
    return f"{tenant}/{workspace}/{table}/{id_}"


class KeyFile:
    """Keys that are made and kept beside the state, for their owner only; the first is the current one."""

    def __init__(self, path: Path) -> None:
        """Nothing is read yet."""
        self._path = path
        self._seen: tuple[int, int, int] | None = None

    def keys(self) -> list[VaultKey]:
        """The keys of the file; where there is none, a new one becomes it.

        Raises InvalidSettings where it can be read by others, or what is in it are no keys.
        """
        kept_secret(self._path, _new_key)
        found = self._path.stat()  # before it is read: what replaces it meanwhile is then seen the next time
        if found.st_mode & 0o077:
            raise InvalidSettings(f"{self._path} can be read by others", fix=f"chmod 600 {self._path}")
        self._seen = _file_version(found)
        return _parse_keys(self._path.read_text(encoding="utf-8"))

    def newer(self) -> list[VaultKey] | None:
        """The keys, if the file is another than the one that was read last; one that is gone is no other."""
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return None
        return None if _file_version(found) == self._seen else self.keys()

    def put_in_front(self) -> None:
        """A new key seals from now on; those that are there still open."""
        self._write_texts([_new_key(), *self._read_texts()])

    def keep(self, count: int) -> None:
        """Only the newest stay."""
        if len(texts := self._read_texts()) > count:
            self._write_texts(texts[:count])

    def _read_texts(self) -> list[str]:
        self.keys()
        return [text.strip() for text in self._path.read_text(encoding="utf-8").split(",") if text.strip()]

    def _write_texts(self, texts: Sequence[str]) -> None:
        """At once, and on the disk before anything is sealed with it: a key that is lost opens nothing."""
        unfinished = self._path.with_name(f"{self._path.name}.{secrets.token_hex(4)}")
        with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(",".join(texts))
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(self._path)
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def key_file(state_dir: Path) -> KeyFile:
    """The keys that are kept where none are configured."""
    return KeyFile(state_dir / "vault-key")


def vault_of(configured: str | None, state_dir: Path) -> Vault:
    """A vault with the configured keys, else with those of the file beside the state.

    `configured` is 32 bytes in base64; older keys may follow, separated by commas. Every node that opens secrets needs
    the same key. Raises InvalidSettings where a key is no base64, or has not 32 bytes, or others can read the file.
    """
    if configured is not None:
        return Vault(_parse_keys(configured))
    file = key_file(state_dir)
    return Vault(file.keys(), file.newer)


def _parse_keys(texts: str) -> list[VaultKey]:
    return [_decode_key(text.strip()) for text in texts.split(",") if text.strip()] or [_decode_key("")]


def _file_version(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_ino, found.st_mtime_ns, found.st_size


def _decode_key(text: str) -> VaultKey:
    try:
        return VaultKey(base64.b64decode(text, altchars=b"-_" if "-" in text or "_" in text else None, validate=True))
    except (binascii.Error, ValueError):
        raise InvalidSettings("models.vault_key is no base64", fix="openssl rand -base64 32") from None


def _new_key() -> str:
    return base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()
