"""`aos vault rotate` on a real database: counts, exit codes, and the key file."""

import base64
import json
import secrets
from pathlib import Path

import psycopg
import pytest

from cluster.cli import run_command
from cluster.state.vault import Vault, key_file, key_id, secret_place, vault_of
from tests.fakes.http import Office, open_office


@pytest.fixture
def office(admin_dsn: str, app_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Office:
    for name, value in {
        "AOS_STATE_DIR": str(tmp_path),
        "DATABASE_URL": app_dsn,
        "DATABASE_ADMIN_URL": admin_dsn,
        "AOS_TOKEN": "x",
    }.items():
        monkeypatch.setenv(name, value)
    return open_office(admin_dsn)


def store(admin_dsn: str, office: Office, vault: Vault, count: int) -> None:
    with psycopg.connect(admin_dsn) as owner:
        for number in range(count):
            id_ = f"00000000-0000-4000-8000-{secrets.token_hex(6)}"
            sealed = vault.seal("{}", secret_place(office.scope.tenant, office.scope.workspace, "credentials", id_))
            owner.execute(
                "insert into credentials (id, tenant_id, workspace_id, name, type, sealed, fields)"
                " values (%s, %s, %s, %s, 'custom', %s, '{}')",
                [id_, office.scope.tenant, office.scope.workspace, f"{id_}-{number}", sealed],
            )


def keys(admin_dsn: str) -> set[bytes]:
    with psycopg.connect(admin_dsn) as owner:
        return {key_id(bytes(row[0])) for row in owner.execute("select sealed from credentials").fetchall()}


def test_x_05_the_kept_key_is_rotated(
    office: Office, admin_dsn: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """X-05: in batches, with progress; a dry run changes neither rows nor the file."""
    vault = vault_of(None, tmp_path)
    first = vault.current
    store(admin_dsn, office, vault, 450)
    before = (tmp_path / "vault-key").read_text()
    assert run_command(["vault", "rotate", "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["dry_run"] is True and told["credentials"] == {"total": 450, "old": 0, "resealed": 0, "failed": {}}
    assert (tmp_path / "vault-key").read_text() == before and keys(admin_dsn) == {first}
    assert run_command(["vault", "rotate"]) == 0
    shown = capsys.readouterr().out
    assert "credentials: 200 of 450" in shown and "credentials: 450 sealed anew, of 450" in shown
    assert keys(admin_dsn) == {vault.current} != {first}
    assert before not in shown and before in (tmp_path / "vault-key").read_text()
    (tmp_path / "vault-key").chmod(0o640)
    assert run_command(["vault", "rotate"]) == 1
    assert "can be read by others" in capsys.readouterr().err


def test_x_05_configured_keys_are_rotated(
    office: Office, admin_dsn: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """X-05: the new one first, the old one behind a comma; what no key opens is named, and the exit code says so."""
    old, new, lost = (base64.b64encode(secrets.token_bytes(32)).decode() for _ in range(3))
    store(admin_dsn, office, vault_of(old, tmp_path), 2)
    monkeypatch.setenv("AOS_MODELS_VAULT_KEY", f"{new},{old}")
    assert run_command(["vault", "rotate", "--dry-run"]) == 0
    assert "credentials: 2 would be sealed anew, of 2" in capsys.readouterr().out
    assert run_command(["vault", "rotate", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["credentials"]["resealed"] == 2
    assert keys(admin_dsn) == {vault_of(new, tmp_path).current}
    store(admin_dsn, office, vault_of(lost, tmp_path), 1)
    assert run_command(["vault", "rotate"]) == 3
    assert "cannot be opened: it was sealed with a key that is not configured" in capsys.readouterr().out
    assert not (tmp_path / "vault-key").exists() and key_file(tmp_path).keys()
