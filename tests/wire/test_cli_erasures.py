"""`aos erasures`, `aos holds`, `aos retention`: what they send and say; a receipt is checked without a server."""

import json
from pathlib import Path

import pytest

from cluster.cli import run_command
from cluster.state.signed_receipts import ReceiptSigner
from tests.fakes.api_server import ApiServer

ERASURE = {"id": "e1", "kind": "document", "counts": {"pages": 3}, "done": True, "finds": 0}
HOLD = {"id": "h1", "kind": "document", "object_id": "d1", "name": "case 7", "released_at": None}
PERIODS = {"periods": {"messages": {"days": 30, "source": "tenant"}}}
DUE = {"kind": "messages", "workspace": "w", "days": 30, "due": 2, "held": 1, "deleted": 0}


@pytest.fixture
def known(api: ApiServer) -> ApiServer:
    api.answers |= {
        "POST /api/erasures": ERASURE,
        "GET /api/erasures/key": {"id": "k", "algorithm": "Ed25519", "public": "p"},
        "POST /api/erasures/e1/probe": {"finds": 1, "places": {"agents": 1}, "searched": {}},
        "POST /api/erasures/replay": {"items": [{"earlier": "e1", "again": None, "subjects": 0}]},
        "GET /api/legal-holds": {"items": [HOLD], "total": 1},
        "POST /api/legal-holds": (201, HOLD),
        "POST /api/legal-holds/h1/release": HOLD,
        "GET /api/retention": PERIODS,
        "PUT /api/retention": PERIODS,
        "POST /api/retention/run": {"dry_run": True, "items": [DUE]},
    }
    return api


def test_an_erasure_says_what_went_and_that_nothing_is_found(
    known: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["erasures", "run", "document", "d1", "d2", "--reason", "request 12"]) == 0
    said = capsys.readouterr().out
    assert "pages" in said and "the probe found 0" in said and "aos erasures receipt e1" in said
    (sent,) = known.of("POST /api/erasures")
    assert sent.body == {"kind": "document", "ids": ["d1", "d2"], "reason": "request 12"}
    assert run_command(["erasures", "run", "person", "u1", "--reason", "left", "--dry-run"]) == 0
    assert "Nothing was erased." in capsys.readouterr().out
    known.answers["POST /api/erasures"] = ERASURE | {"finds": 2}
    assert run_command(["erasures", "run", "document", "d1", "--reason", "r"]) == 1
    assert run_command(["erasures", "probe", "e1"]) == 1
    assert "agents" in capsys.readouterr().out


def test_a_receipt_is_checked_without_a_server(
    known: ApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    signer, file = ReceiptSigner.kept_in(tmp_path), tmp_path / "receipt.json"
    assert (tmp_path / "receipt-key").stat().st_mode & 0o777 == 0o600
    receipt = signer.sign({"id": "e1", "erased": {"pages": 3}})
    file.write_text(json.dumps(receipt, indent=2))
    assert run_command(["erasures", "verify", str(file)]) == 0
    assert run_command(["erasures", "verify", str(file), "--key", signer.public]) == 0
    assert run_command(["erasures", "verify", str(file), "--key", ReceiptSigner.kept_in(tmp_path / "b").public]) != 0
    file.write_text(json.dumps(receipt | {"erased": {"pages": 2}}))
    assert run_command(["erasures", "verify", str(file)]) != 0
    assert "the signature is not of this text" in capsys.readouterr().err
    for garbage in ("", "[]", "{}", "\x00"):
        file.write_text(garbage)
        assert run_command(["erasures", "verify", str(file)]) != 0
    assert known.of("GET /api/erasures/key") == []
    file.write_text(json.dumps(receipt))
    assert run_command(["erasures", "replay", str(file)]) == 0
    assert known.of("POST /api/erasures/replay")[0].body == {"receipts": [receipt]}


def test_holds_are_put_and_released(known: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["holds", "list"]) == 0 and "case 7" in capsys.readouterr().out
    assert run_command(["holds", "put", "document", "d1", "--name", "case 7", "--reason", "lawsuit"]) == 0
    body = {"kind": "document", "object_id": "d1", "name": "case 7", "reason": "lawsuit"}
    assert known.of("POST /api/legal-holds")[0].body == body
    assert run_command(["holds", "release", "h1", "--reason", "settled"]) == 0
    assert known.of("POST /api/legal-holds/h1/release")[0].body == {"reason": "settled"}


def test_periods_are_shown_set_and_run(known: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["retention", "show"]) == 0 and "messages" in capsys.readouterr().out
    for days, level in (("30", []), ("keep", ["--workspace"]), ("inherit", [])):
        assert run_command(["retention", "set", "messages", days, *level]) == 0
    sent = [call.body for call in known.of("PUT /api/retention")]
    assert [(one["days"], one["level"], one["inherit"]) for one in sent] == [
        (30, "tenant", False),
        (None, "workspace", False),
        (None, "tenant", True),
    ]
    assert run_command(["retention", "set", "messages", "soon"]) != 0
    known.answers |= {"POST /api/retention/preview": {"dry_run": True, "items": [DUE]}}
    assert run_command(["retention", "set", "messages", "30", "--dry-run"]) == 0
    assert "messages" in capsys.readouterr().out
    (tried,) = known.of("POST /api/retention/preview")
    assert tried.body == {"class": "messages", "level": "tenant", "inherit": False, "days": 30}
    assert run_command(["retention", "run"]) == 0 and "messages" in capsys.readouterr().out
    assert run_command(["retention", "run", "--delete"]) == 0
