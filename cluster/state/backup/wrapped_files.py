"""Files of secrets beside the state, wrapped by a passphrase: Scrypt (RFC 7914) and AES-256-GCM."""

import base64
import json
import os
import stat
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from cluster.basics.errors import InvalidSettings
from cluster.state.backup.destination import DamagedBackup

SECRET_FILES: Final = ("vault-key", "auth-secret", "receipt-key")
ENV_FILE: Final = "restored.env"  # a copy of what `.env` was; nothing reads it by itself
_N, _R, _P = 2**15, 8, 1


def read_passphrase(path: Path | None) -> bytes | None:
    """The passphrase of a file; None where none is configured. Raises InvalidSettings: it is not there, or empty."""
    if path is None:
        return None
    try:
        found = path.read_bytes().strip()
        mode = path.stat().st_mode
    except OSError as error:
        raise InvalidSettings(f"AOS_BACKUP_PASSPHRASE_FILE: {error}") from error
    if not found:
        raise InvalidSettings(f"{path} is empty", fix="openssl rand -base64 32")
    if stat.S_IMODE(mode) & 0o077:
        raise InvalidSettings(f"{path} holds the passphrase and is open to others", fix=f"chmod 600 {path}")
    return found


def wrap_files(state_dir: Path, passphrase: bytes, env_file: Path | None) -> bytes:
    """The secret files that are there and the file of settings, sealed."""
    paths = {name: state_dir / name for name in SECRET_FILES}
    paths |= {} if env_file is None else {ENV_FILE: env_file}
    files = {name: path.read_text(encoding="utf-8") for name, path in paths.items() if path.exists()}
    salt, nonce = os.urandom(16), os.urandom(12)
    sealed = AESGCM(_key(passphrase, salt)).encrypt(nonce, json.dumps(files).encode(), b"aos-backup")
    return base64.b64encode(salt + nonce + sealed)


def unwrap_files(wrapped: bytes, passphrase: bytes) -> dict[str, str]:
    """The files by name. Raises InvalidSettings: another passphrase, or it was changed. DamagedBackup."""
    try:
        raw = base64.b64decode(wrapped, validate=True)
        text = AESGCM(_key(passphrase, raw[:16])).decrypt(raw[16:28], raw[28:], b"aos-backup")
    except InvalidTag:
        raise InvalidSettings("the passphrase does not open this backup's secrets") from None
    except ValueError as error:
        raise DamagedBackup(f"its secrets cannot be read: {error}") from error
    files = json.loads(text)
    return {name: str(files[name]) for name in (*SECRET_FILES, ENV_FILE) if name in files}


def _key(passphrase: bytes, salt: bytes) -> bytes:
    return Scrypt(salt=salt, length=32, n=_N, r=_R, p=_P).derive(passphrase)
