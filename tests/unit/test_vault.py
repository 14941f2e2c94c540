"""Secrets at rest."""

import base64
import secrets
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cluster.basics.errors import InvalidSettings
from cluster.state.vault import UnopenableSecret, Vault, VaultKey, key_file, key_id, vault_of

HERE = "tenant/llm_connections/1"


def new_key() -> VaultKey:
    return VaultKey(secrets.token_bytes(32))


def test_a_secret_comes_back_and_its_envelope_tells_nothing() -> None:
    """X-05: AES-256-GCM; two seals of one secret differ."""
    vault = Vault([new_key()])
    first, second = vault.seal("sk-schlüssel", HERE), vault.seal("sk-schlüssel", HERE)
    assert first != second and b"sk-" not in first
    assert vault.open(first, HERE) == vault.open(second, HERE) == "sk-schlüssel"


def test_an_envelope_opens_in_its_own_place_only() -> None:
    """X-05: a row copied to another tenant does not give its key away."""
    vault = Vault([new_key()])
    with pytest.raises(UnopenableSecret, match="another row"):
        vault.open(vault.seal("sk-1", HERE), "other/llm_connections/1")


def test_every_changed_byte_is_noticed() -> None:
    vault = Vault([new_key()])
    envelope = vault.seal("sk-1", HERE)
    for position in range(len(envelope)):
        changed = bytearray(envelope)
        changed[position] ^= 1
        with pytest.raises(UnopenableSecret):
            vault.open(bytes(changed), HERE)
    for garbage in (b"", b"\x01", envelope[:-1], envelope[:20], b"x" * 100):
        with pytest.raises(UnopenableSecret):
            vault.open(garbage, HERE)


def test_rotation() -> None:
    """X-05: a new key seals, the old one still opens; after rotating, the old one may go."""
    old, new = new_key(), new_key()
    envelope = Vault([old]).seal("sk-1", HERE)
    both = Vault([new, old])
    assert both.open(envelope, HERE) == "sk-1"
    rotated = both.rotate(envelope, HERE)
    assert rotated is not None and both.rotate(rotated, HERE) is None
    assert Vault([new]).open(rotated, HERE) == "sk-1"
    with pytest.raises(UnopenableSecret, match="not configured"):
        Vault([new]).open(envelope, HERE)


def test_the_key_is_made_once_and_for_its_owner_only(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        vaults = list(threads.map(lambda _: vault_of(None, tmp_path / "state"), range(8)))
    envelope = vaults[0].seal("sk-1", HERE)
    assert {vault.open(envelope, HERE) for vault in vaults} == {"sk-1"}
    assert (tmp_path / "state" / "vault-key").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in (tmp_path / "state").iterdir()] == ["vault-key"]


def test_configured_keys(tmp_path: Path) -> None:
    """The first seals; those after it are older."""
    old, new = (base64.b64encode(secrets.token_bytes(32)).decode() for _ in range(2))
    envelope = vault_of(old, tmp_path).seal("sk-1", HERE)
    assert vault_of(f"{new}, {old}", tmp_path).open(envelope, HERE) == "sk-1"
    assert list(tmp_path.iterdir()) == []
    for wrong in ("", "!", "c2hvcnQ=", ",", "ключ"):
        with pytest.raises(InvalidSettings):
            vault_of(wrong, tmp_path)


def test_no_key_is_shown() -> None:
    key = VaultKey(b"k" * 32)
    assert "kkk" not in repr(key) and "kkk" not in repr(Vault([key]))


def test_x_05_a_kept_file_that_is_replaced_is_seen_by_whoever_runs(tmp_path: Path) -> None:
    """X-05: what was sealed before opens, what is sealed after has the new key; a file that is gone is no other."""
    vault, file = vault_of(None, tmp_path), key_file(tmp_path)
    before, old = vault.seal("sk-1", HERE), vault.current
    file.put_in_front()
    after = vault.seal("sk-1", HERE)
    assert key_id(before) == old and key_id(after) == vault.current != old
    assert vault.open(before, HERE) == vault_of(None, tmp_path).open(after, HERE) == "sk-1"
    other = vault_of(None, tmp_path)
    file.put_in_front()
    assert other.open(vault.seal("sk-2", HERE), HERE) == "sk-2", "a key that came after it was started"
    file.keep(1)
    assert len(file.keys()) == 1 and len(vault_of(None, tmp_path).seal("x", HERE)) > 0
    with pytest.raises(UnopenableSecret, match="not configured"):
        vault_of(None, tmp_path).open(before, HERE)
    (tmp_path / "vault-key").unlink()
    assert vault.open(vault.seal("sk-3", HERE), HERE) == "sk-3"


def test_cv_01_a_key_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    """CV-01: a key that anybody may have had is none."""
    vault_of(None, tmp_path)
    for mode in (0o640, 0o604, 0o620):
        (tmp_path / "vault-key").chmod(mode)
        with pytest.raises(InvalidSettings, match="read by others"):
            vault_of(None, tmp_path)
