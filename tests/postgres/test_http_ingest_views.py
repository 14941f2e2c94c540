"""What is shown of documents and jobs over HTTP: versions, how pages were read, pace, dry runs of scans."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from cluster.basics.scope import Role
from cluster.state.work.jobs import JobLane
from serve_apps.http.routes.scans.folder_surveys import FolderSurveys
from tests.fakes.http import Api, Office, make_parts
from tests.fakes.ledger import Bench
from tests.fakes.listening import listening, token
from tests.fakes.slow_look import SlowLook


def write(folder: Path, names: Sequence[str], pages: int = 3) -> None:
    for name in names:
        text = "\f".join(f"{name}, page {n}. It tells of the {name[:1] * 5} matter." for n in range(1, pages + 1))
        (folder / name).write_text(text)


async def scan(client: httpx.AsyncClient, path: str = ".", **more: Any) -> Any:
    answer = await client.post("/api/documents/batch-scan", json={"path": path, **more})
    assert answer.is_success, answer.text
    return answer.json()


async def test_in_13_a_dry_run_counts_files_and_pages_and_starts_nothing(
    operator: httpx.AsyncClient, worker: Bench, tmp_path: Path
) -> None:
    """IN-13: files, kinds and pages as the scan will find them; no time before anything was read; no job."""
    folder = tmp_path / "scans"
    write(folder, ["a.txt", "b.md"])
    (folder / "empty.pdf").write_bytes(b"")
    (folder / ".hidden.txt").write_text("not counted")
    found = await scan(operator, dry_run=True)
    assert (found["files"], found["looked_at"], found["exact"]) == (3, 3, True)
    assert found["kinds"] == {"text": 1, "markdown": 1} and found["reasons"] == {"empty": 1}
    assert (found["pages"], found["unchanged"], found["seconds"], found["jobs"]) == (2, 0, None, 0)
    assert (await operator.get("/api/jobs")).json()["total"] == 0

    await scan(operator)
    await worker.run(JobLane.BULK)
    (folder / "b.md").write_text("It is another one now.")
    again = await scan(operator, dry_run=True)
    assert (again["files"], again["unchanged"], again["pages"]) == (3, 1, 1)
    assert again["jobs"] == 1 and again["seconds"] > 0
    assert again["seconds"] == again["pages"] / again["pages_per_second"]
    refused = await operator.post("/api/documents/batch-scan", json={"path": "/etc", "dry_run": True})
    assert refused.status_code == 403


async def test_in_13_a_dry_run_too_many_is_told_when_to_come_back_and_one_whose_client_left_stops(
    app_dsn: str, office: Office, tmp_path: Path
) -> None:
    """A folder that takes seconds, in threads that others wait for."""
    (tmp_path / "scans").mkdir()
    look = SlowLook()
    with listening(replace(make_parts(app_dsn, tmp_path), surveys=FolderSurveys(look, most=1))) as url:
        bearer = {"Authorization": f"Bearer {token(url, office.emails[Role.OPERATOR])}"}

        async def dry_run(seconds: float) -> httpx.Response:
            async with httpx.AsyncClient(base_url=url, headers=bearer, timeout=seconds) as client:
                return await client.post("/api/documents/batch-scan", json={"path": ".", "dry_run": True})

        leaving = asyncio.create_task(dry_run(1.0))
        assert await asyncio.to_thread(look.begun.acquire, timeout=5)
        refused = await dry_run(10)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "20")
        with pytest.raises(httpx.ReadTimeout):
            await leaving
        assert await asyncio.to_thread(look.stopped.wait, 5)


async def test_in_13_what_systems_keep_on_a_share_is_passed_over_and_said(
    operator: httpx.AsyncClient, worker: Bench, tmp_path: Path
) -> None:
    """A folder with a document that is open in an office program ended each scan `partial`."""
    folder = tmp_path / "scans"
    write(folder, ["plan.txt"])
    for name in ("~$plan.docx", ".~lock.plan.odt#", "desktop.ini", "Thumbs.db"):
        (folder / name).write_bytes(b"\x08owner")
    passed = {"lock_files": 2, "system_files": 2}
    found = await scan(operator, dry_run=True)
    assert (found["files"], found["reasons"], found["passed_over"]) == (1, {}, passed)
    started = await scan(operator)
    await worker.run(JobLane.BULK)
    job = (await operator.get(f"/api/jobs/{started['job_id']}")).json()
    assert (job["state"], job["documents"]["expected"], job["passed_over"]) == ("completed", 1, passed)


async def test_in_13_folders_are_listed_below_the_base_only(
    api: Api, office: Office, operator: httpx.AsyncClient, tmp_path: Path
) -> None:
    """IN-13: what may be scanned can be chosen; nothing outside is told, and only operators may look."""
    for name in ("b/inner", "a", ".git"):
        (tmp_path / "scans" / name).mkdir(parents=True)
    write(tmp_path / "scans", ["x.txt"])
    top = (await operator.get("/api/documents/folders")).json()
    assert top == {"base": str(tmp_path / "scans"), "path": "", "folders": ["a", "b"], "files": 1, "more": False}
    assert (await operator.get("/api/documents/folders", params={"at": "b"})).json()["folders"] == ["inner"]
    for outside in ("..", "/etc", "b/../../.."):
        assert (await operator.get("/api/documents/folders", params={"at": outside})).status_code == 403, outside
    assert (await operator.get("/api/documents/folders", params={"at": "none"})).status_code == 404
    assert (await operator.get("/api/documents/folders", params={"at": "x.txt"})).status_code == 422
    developer = await api.sign_in(office.emails[Role.DEVELOPER])
    assert (await developer.get("/api/documents/folders")).status_code == 403


async def test_a_job_tells_its_pace_stages_engines_and_what_mends_its_failures(
    operator: httpx.AsyncClient, worker: Bench, tmp_path: Path, admin_dsn: str
) -> None:
    write(tmp_path / "scans", ["a.txt", "b.txt"])
    (tmp_path / "scans" / "c.txt").write_bytes(b"")
    job = (await scan(operator))["job_id"]
    waiting = (await operator.get(f"/api/jobs/{job}/progress")).json()
    assert (waiting["pages_per_second"], waiting["seconds_left"], waiting["stages"]) == (None, None, [])
    await worker.run(JobLane.BULK)
    told = (await operator.get(f"/api/jobs/{job}/progress")).json()
    assert told["about"] == str(tmp_path / "scans")
    assert [(one["stage"], one["expected"], one["done"]) for one in told["stages"]] == [
        ("survey", 3, 2),
        ("read", 6, 6),
        ("index", 2, 2),
    ]
    assert [(one["engine"], one["pages"]) for one in told["engines"]] == [("native", 6)]
    assert told["pages_per_second"] == 6 / told["elapsed_seconds"] and told["seconds_left"] is None
    (failed,) = told["failures"]
    assert (failed["stage"], failed["reason"], failed["count"]) == ("survey", "empty", 1) and failed["fix"]
    plain = (await operator.get(f"/api/jobs/{job}/progress", params={"engines": False})).json()
    assert plain["engines"] is None

    # As if it ran: the pages of the last minute count, and what is left is reckoned with them.
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("update jobs set state = 'running', finished_at = null, started_at = now() - interval '1h'")
        connection.execute("update job_progress set expected = 16 where stage = 'read'")
    running = (await operator.get(f"/api/jobs/{job}/progress")).json()
    assert (running["pages_per_second"], running["seconds_left"]) == (0.1, 100)


async def test_what_jobs_are_about_is_told_of_documents_one_may_see(
    api: Api, office: Office, operator: httpx.AsyncClient
) -> None:
    secret = {"file": ("salaries.txt", b"one")}
    sent = await operator.post("/api/documents/upload", files=secret, data={"readers": "role:admin"})
    open_ = await operator.post("/api/documents/upload", files={"file": ("lunch.txt", b"two")})
    ids = [sent.json()["job_id"], open_.json()["job_id"]]
    viewer = await api.sign_in(office.emails[Role.VIEWER])
    asked = [("job", id_) for id_ in ids]
    assert (await viewer.get("/api/jobs/about", params=asked)).json()["items"] == {ids[0]: None, ids[1]: "lunch.txt"}
    mine = (await operator.get("/api/jobs/about", params=asked)).json()["items"]
    assert mine == {ids[0]: "salaries.txt", ids[1]: "lunch.txt"}
    assert (await viewer.get(f"/api/jobs/{ids[0]}/progress")).json()["about"] is None


async def test_versions_and_their_pages_are_kept_apart(
    api: Api, office: Office, operator: httpx.AsyncClient, worker: Bench, tmp_path: Path
) -> None:
    """CITE: what an answer quoted of an earlier version can still be looked at."""
    path = tmp_path / "scans" / "a.txt"
    for text in ("The old one.", "The new one.\fIts second page."):
        path.write_text(text)
        await scan(operator)
        await worker.run(JobLane.BULK)
    (document,) = (await operator.get("/api/documents/")).json()["items"]
    at = f"/api/documents/{document['id']}/versions"
    new, old = (await operator.get(at)).json()["items"]
    assert [(one["current"], one["page_count"], one["stored"], one["failed"]) for one in (new, old)] == [
        (True, 2, 2, 0),
        (False, 1, 1, 0),
    ]
    page = (await operator.get(f"{at}/{old['id']}/pages/1")).json()
    assert (page["text"], page["version_id"], page["page_count"]) == ("The old one.", old["id"], 1)
    assert page["image"] == f"{at}/{old['id']}/pages/1/image"
    lines = (await operator.get(f"{at}/{new['id']}/pages", params={"skip": 1})).json()
    assert (lines["total"], [one["number"] for one in lines["items"]]) == (2, [2])
    assert (await operator.get(f"{at}/{new['id']}/pages", params={"failed": True})).json()["total"] == 0
    assert (await operator.get(page["image"])).status_code == 409, "the file holds the newer bytes now"
    assert (await operator.get(f"{at}/{new['id']}/pages/1/image")).status_code == 200
    for nothing in (f"{at}/{'0' * 32}/pages", f"{at}/{old['id']}/pages/2", f"{at}/{old['id']}/pages/2/image"):
        assert (await operator.get(nothing)).status_code == 404, nothing
    other = f"/api/documents/{'0' * 32}/versions"
    assert (await operator.get(other)).status_code == 404
    assert (await operator.get(f"{other}/{old['id']}/pages/1")).status_code == 404


async def test_gw_10_the_list_is_filtered_by_when_documents_came(operator: httpx.AsyncClient, admin_dsn: str) -> None:
    """GW-10: `since` and `before`, which need a zone."""
    for name in ("old.txt", "new.txt"):
        await operator.post("/api/documents/upload", files={"file": (name, name.encode())})
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("update documents set upload_date = '2026-01-31T23:30:00Z' where filename = 'old.txt'")

    async def names(**params: str) -> list[str]:
        body = (await operator.get("/api/documents/", params=params)).json()
        assert body["total"] == len(body["items"])
        return [item["filename"] for item in body["items"]]

    assert await names(before="2026-02-01T00:00:00Z") == ["old.txt"]
    assert await names(since="2026-02-01T00:00:00+01:00", before="2026-02-01T01:00:00+01:00") == ["old.txt"]
    assert await names(since="2026-02-01T00:00:00Z") == ["new.txt"]
    assert (await operator.get("/api/documents/", params={"since": "2026-02-01T00:00:00"})).status_code == 422
