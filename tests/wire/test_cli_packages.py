"""`aos skills` for packages: build, sign, verify here; import and export over HTTP."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster.basics.archive import FileBundle, pack_zip, unpack_zip
from cluster.basics.signature import signer_of
from cluster.cli import run_command
from tests.fakes.api_server import ApiServer, serve_api

SKILL = "---\nname: s\ndescription: d\n---\nBe brief.\n"
IMPORTED: dict[str, Any] = {
    "skill": {"name": "s", "version": 2},
    "scripts": [{"name": "x", "version": 1}],
    "ignored": ["LICENSE"],
    "documents": [{"path": "a.md", "document_id": "0", "change": "new"}],
    "job_id": "j1",
    "trust": "unknown_key",
    "signed_by": "KEY",
}


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ApiServer]:
    with serve_api({"GET /api/agents": {"items": [{"id": "a1", "name": "clerk"}], "total": 1}}) as server:
        monkeypatch.setenv("AOS_URL", server.url)
        monkeypatch.setenv("AOS_TOKEN", server.token)
        monkeypatch.setenv("AOS_STATE_DIR", str(tmp_path))
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "s"
    (made / "references").mkdir(parents=True)
    (made / "SKILL.md").write_text(SKILL)
    (made / "references" / "a.md").write_text("One.")
    (made / ".git").mkdir()
    (made / ".git" / "config").write_text("secret")
    (made / "link").symlink_to("/etc/passwd")
    return made


def test_sk_06_a_folder_becomes_a_package_that_is_signed_and_verified(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """SK-06: neither hidden files nor links come along; the key is for its owner's eyes only."""
    file, key = tmp_path / "s.skill", tmp_path / "key.pem"
    assert run_command(["skills", "build", str(folder), "-o", str(file)]) == 0
    assert set(unpack_zip(file.read_bytes()).files) == {"SKILL.md", "references/a.md"}
    assert run_command(["skills", "verify", str(file)]) == 0 and "not signed" in capsys.readouterr().out
    assert run_command(["skills", "keygen", "-o", str(key), "--json"]) == 0
    public = json.loads(capsys.readouterr().out)["public_key"]
    assert key.stat().st_mode & 0o777 == 0o600
    assert run_command(["skills", "keygen", "-o", str(key)]) == 1, "a key is not written over"
    assert run_command(["skills", "sign", str(file), "--key", str(key)]) == 0
    assert signer_of(unpack_zip(file.read_bytes())) == public
    assert run_command(["skills", "verify", str(file), "--signer", public]) == 0
    assert run_command(["skills", "verify", str(file), "--signer", "another"]) == 1
    altered = unpack_zip(file.read_bytes())
    file.write_bytes(pack_zip(FileBundle(altered.name, {**altered.files, "references/a.md": b"Two."})))
    assert run_command(["skills", "verify", str(file)]) == 1
    assert "not those that were signed" in capsys.readouterr().err
    assert run_command(["skills", "build", str(tmp_path)]) == 1, "no SKILL.md"


def test_gw_07_a_package_is_sent_and_fetched(
    api: ApiServer, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """GW-07: to an agent by its name, or to the workspace; what came of it is told."""
    file = tmp_path / "s.skill"
    file.write_bytes(pack_zip(FileBundle("s", {"SKILL.md": SKILL.encode()})))
    api.answers["POST /api/agents/a1/import-skill-pack"] = api.answers["POST /api/skills/import-package"] = IMPORTED
    assert (
        run_command(["skills", "import", str(file), "--agent", "clerk"])
        == run_command(["skills", "import", str(file)])
        == 0
    )
    shown = capsys.readouterr().out
    for part in ("s, version 2", "KEY", "new: references/a.md", "script x", "not used: LICENSE", "aos jobs watch j1"):
        assert part in shown
    (sent,) = api.of("POST /api/agents/a1/import-skill-pack")
    assert file.read_bytes() in sent.body and b's.skill"' in sent.body
    api.answers["GET /api/skills/s/package"] = file.read_bytes()
    assert run_command(["skills", "export", "s", "-o", str(tmp_path / "out.skill")]) == 0
    assert (tmp_path / "out.skill").read_bytes() == file.read_bytes()
    assert run_command(["skills", "export", "nothing", "-o", str(tmp_path / "no.skill")]) == 1
    assert not (tmp_path / "no.skill").exists()


def test_sk_08_the_packages_that_ship_are_made_anywhere(tmp_path: Path) -> None:
    """SK-08: from the installed package, four files that are ready to import."""
    assert run_command(["skills", "packs", "-o", str(tmp_path / "out")]) == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "finance-agent.skill",
        "infra-agent.skill",
        "legal-agent.skill",
        "presales-agent.skill",
    ]
    assert unpack_zip((tmp_path / "out" / "legal-agent.skill").read_bytes()).name == "legal-agent"
