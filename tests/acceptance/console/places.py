"""Every address of the console that shows something of its own, and what has to be there for it."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import uuid4

import httpx

from serve_apps.ui.system.page import SECTIONS
from tests.acceptance.conftest import ROOT, Product

PAPER: Final = ROOT / "tests" / "samples" / "control-room.md"
SCAN: Final = ROOT / "tests" / "samples" / "board-minutes-scan.pdf"
ENDS: Final = ("partial", "failed", "completed", "cancelled")
CODE: Final = 'def run(payload):\n    return {"short": payload["text"][:9]}\n'


@dataclass(frozen=True, slots=True)
class Stock:
    """Ids of things to look at.

    Attributes:
        document: a scan of two pages.
        job: one of whose files could not be read.
        source: a folder that is paused.
        run: of whoever was named.
        skill: the name of one that was registered, not shipped.
    """

    document: str
    job: str
    run: str
    agent: str
    skill: str
    schedule: str
    source: str


def stocked(http: httpx.Client, asker: httpx.Client, product: Product) -> Stock:
    """Made by the administrator; the run is `asker`'s."""
    some = uuid4().hex[:6]
    upload(http, PAPER)
    agent = made(http, "/api/agents", {"name": f"looked at {some}"})["id"]
    skill = f"looked_at_{some}"
    given = {"name": skill, "description": "Cuts a text.", "code": CODE, "timeout": 5}
    made(http, f"/api/agents/{agent}/skills:create_and_attach", given)
    wanted = {
        "name": f"looked at {some}",
        "agent": "assistant",
        "cron": "0 2 1 1 *",
        "timezone": "UTC",
        "action": "message",
        "payload": {"message": "Say what is new."},
    }
    schedule = made(http, "/api/scheduler/jobs", wanted)["id"]
    said = made(asker, "/api/chat/assistant", {"message": "Who is called below 49.8 hertz?", "stream": False})
    job = _scanned(http, Path(product.settings.read.nfs_base_path or "") / f"looked-at-{some}")
    folder = {"name": f"looked at {some}", "kind": "folder", "settings": {"path": f"looked-at-{some}"}}
    source = made(http, "/api/sources", folder | {"enabled": False})["id"]
    return Stock(upload(http, SCAN), job, said["run_id"], agent, skill, schedule, source)


def made(http: httpx.Client, path: str, body: object) -> dict[str, str]:
    """What the API gives for a POST that it takes."""
    answer = http.post(path, json=body)
    assert answer.is_success, answer.text
    found: dict[str, str] = answer.json()
    return found


def upload(http: httpx.Client, path: Path) -> str:
    """The id of a document that was read and can be found."""
    files = {"file": (path.name, path.read_bytes())}
    answer = http.post("/api/documents/upload", params={"wait": 60}, files=files)
    assert answer.is_success, answer.text
    return str(answer.json()["document_id"])


def _scanned(http: httpx.Client, folder: Path) -> str:
    """The id of a job that is over, with one file read and one that cannot be."""
    folder.mkdir()
    (folder / "note.txt").write_text(f"The gate of {folder.name} is painted green.")
    (folder / "nothing.pdf").write_bytes(b"")
    job = made(http, "/api/documents/batch-scan", {"path": folder.name})["job_id"]
    until = time.monotonic() + 90
    while http.get(f"/api/jobs/{job}").json()["state"] not in ENDS:
        assert time.monotonic() < until, "the scan does not end"
        time.sleep(0.5)
    return job


def addresses(stock: Stock) -> Mapping[str, tuple[str, ...]]:
    """By the path of a page: what is to be looked at of it, as it stands behind /console/."""
    return {
        "": ("",),
        "ingest": ("ingest", f"ingest?job={stock.job}"),
        "documents": ("documents", f"documents?id={stock.document}"),
        "review": ("review", f"review?document={stock.document}&page=1"),
        "chat": ("chat",),
        "search": ("search",),
        "index": ("index",),
        "runs": ("runs", f"runs?id={stock.run}"),
        "agents": ("agents", "agents?new=1", f"agents?id={stock.agent}"),
        "skills": ("skills", f"skills?skill={stock.skill}"),
        "system": (
            *(f"system?part={one.id}" for one in SECTIONS),
            f"system?part=schedules&id={stock.schedule}",
            "system?part=sources&new=folder",
            f"system?part=sources&id={stock.source}",
        ),
    }
