"""`aos graph` against a real HTTP server."""

import json
from typing import Any

import pytest

from cluster.cli import run_command
from tests.fakes.api_server import ApiServer

BANK: dict[str, Any] = {
    "id": "e" * 32,
    "name": "ZX Bank",
    "type": "organization",
    "aliases": ["ZXB"],
    "confidence": 0.6,
    "occurrences": 9,
    "documents": 3,
}
INDIA = BANK | {"id": "f" * 32, "name": "India", "type": "location", "aliases": []}
SAID = {"filename": "[bold]about.md", "page": 4, "quote": "ZX Bank\nis based in India."}
RELATION = {"source": BANK, "type": "is_part_of", "target": INDIA, "evidence": [SAID]}


def test_kg_05_a_name_is_shown_with_what_it_is_related_to_and_the_page_that_says_so(
    api: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """KG-05: evidence with its file and page; what documents say is no markup."""
    api.answers |= {
        "GET /api/graph": {"items": [BANK, INDIA], "total": 2},
        f"GET /api/graph/entities/{BANK['id']}": BANK | {"mentions": [], "relations": [RELATION]},
    }
    assert run_command(["graph", "zx bank", "--type", "organization"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "ZX Bank, also ZXB organization, in 3 documents" in shown
    assert "ZX Bank is_part_of India" in shown and "[bold]about.md, page 4: “ZX Bank is based in India.”" in shown
    assert "Also: India (location)" in shown
    (call,) = api.of("GET /api/graph")
    assert "search=zx+bank" in call.path and "type=organization" in call.path


def test_without_a_name_it_lists_and_scripts_get_json(api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    api.answers["GET /api/graph"] = {"items": [BANK], "total": 1}
    assert run_command(["graph"]) == 0
    assert "ZX Bank" in capsys.readouterr().out
    assert run_command(["graph", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["items"] == [BANK]
    api.answers["GET /api/graph"] = {"items": [], "total": 0}
    assert run_command(["graph", "nobody", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"items": [], "total": 0}
