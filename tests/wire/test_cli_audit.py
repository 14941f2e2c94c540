"""`aos audit`: what it sends, what it writes, and what it says of a file."""

import json
from pathlib import Path

import pytest

from cluster.cli import run_command
from cluster.state.audit_export.chain import json_line
from cluster.state.audit_export.ocsf import ocsf_event
from tests.fakes.api_server import ApiServer
from tests.unit.test_audit_events import entries


@pytest.fixture
def lines() -> list[str]:
    return [json_line(ocsf_event(entry)) for entry in entries("agent.add", "agent.change", "agent.delete")]


def test_at_02_an_export_is_verified_without_a_server(
    api: ApiServer, lines: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """AT-02: exit 3 where the chain does not hold."""
    file = tmp_path / "trail.jsonl"
    api.answers |= {"GET /api/audit/export": "".join(f"{line}\n" for line in lines).encode()}
    asked = ["audit", "export", "--out", str(file), "--from", "2026-01-01", "--format", "ocsf"]
    assert run_command(asked) == 0 and "3 entries" in capsys.readouterr().out
    (sent,) = api.of("GET /api/audit/export")
    assert "format=ocsf" in sent.path and "from=2026-01-01T00%3A00%3A00" in sent.path
    calls = len(api.calls)
    assert run_command(["audit", "verify", str(file)]) == 0
    assert "The chain holds." in capsys.readouterr().out and len(api.calls) == calls
    file.write_text("\n".join([lines[0], lines[2]]))
    assert run_command(["audit", "verify", str(file), "--json"]) == 3
    told = json.loads(capsys.readouterr().out)
    assert (told["intact"], told["flaws"]) == (False, ["line 2: after entry 1 comes entry 3"])
    file.write_text("\n".join([lines[0], lines[1], lines[1], lines[2]]))
    assert run_command(["audit", "verify", str(file)]) == 0 and "repeat entries" in capsys.readouterr().out
    file.write_bytes(b"\xff\xfe\n")
    assert run_command(["audit", "verify", str(file)]) == 3
    assert run_command(["audit", "verify", str(tmp_path / "none")]) not in (0, 3)
    assert run_command(["audit", "export", "--out", str(file), "--format", "xml"]) not in (0, 3)


def test_at_02_the_servers_trail_is_verified_slice_by_slice(api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    first = {"checked": 20_000, "reached": 20_000, "intact": True, "first_broken": None, "next": 20_001}
    first |= {"newest": 30_000, "progress": 0.66}
    last = {"checked": 10_000, "reached": 30_000, "intact": True, "first_broken": None, "next": None}
    last |= {"newest": 30_000, "progress": 1.0}
    api.answers |= {"GET /api/audit/verify": [first, last]}
    assert run_command(["audit", "verify"]) == 0 and "30,000 entries" in capsys.readouterr().out
    assert [call.path.partition("?")[2].split("&")[0] for call in api.of("GET /api/audit/verify")] == [
        "from=1",
        "from=20001",
    ]
    api.answers |= {"GET /api/audit/verify": first | {"intact": False, "first_broken": 7}}
    assert run_command(["audit", "verify", "--from", "5"]) == 3
    assert "entry 7 was altered" in capsys.readouterr().out
