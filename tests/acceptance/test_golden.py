"""The small golden set that guards every change, and a re-index of the running product with its way back."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.acceptance.conftest import Product

pytestmark = pytest.mark.acceptance
HERE = Path(__file__).resolve().parents[1]
GOLDEN = HERE / "evals" / "golden"
SAMPLES = ("control-room.md", "board-minutes-scan.pdf", "annual-report-2025.pdf", "turbine-maintenance.docx")


@pytest.fixture
def ingested(product: Product, signed_in: subprocess.CompletedProcess[str]) -> Product:
    assert signed_in.returncode == 0, signed_in.stderr
    folder = product.settings.state_dir / "golden"
    folder.mkdir(exist_ok=True)
    for name in SAMPLES:
        shutil.copy2(HERE / "samples" / name, folder / name)
    done = product.aos("ingest", str(folder), "--wait", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    return product


def test_the_samples_are_answered_as_well_as_ever_before_and_after_a_reindex(
    ingested: Product, http: httpx.Client
) -> None:
    """GW-15: the set guards the index; the next generation passes it, and one call goes back."""
    filled = ingested.aos("eval", "import", str(GOLDEN / "samples.yaml"), "--gate", "--json")
    assert filled.returncode == 0, filled.stderr
    assert json.loads(filled.stdout)["questions"] == 9
    run = ingested.aos("eval", "run", "samples", "--json")
    shown: dict[str, Any] = json.loads(run.stdout)
    assert run.returncode == 0, shown["failures"]
    gate = ingested.aos(
        "eval", "gate", shown["id"], "--baseline", str(GOLDEN / "samples_baseline.json"), "--tolerance", "0"
    )
    assert gate.returncode == 0, gate.stdout

    before = http.get("/api/generations").json()
    built = ingested.aos("generations", "build", "--wait", "--json")
    assert built.returncode == 0, built.stdout + built.stderr
    after = http.get("/api/generations").json()
    assert after["previous"] == before["live"] != after["live"]
    report = after["items"][0]["report"]
    assert report["verdict"] == "passed" and report["golden"][0]["name"] == "samples"
    assert report["golden"][0]["recall"] >= 0.9, report
    assert json.loads(ingested.aos("generations", "rollback", "--json").stdout)["generation"] == before["live"]
    again = json.loads(ingested.aos("eval", "run", "samples", "--no-answers", "--json").stdout)
    assert again["generation_id"] == before["live"]
    assert again["figures"]["recall@10"] == shown["figures"]["recall@10"]
