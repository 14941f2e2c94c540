"""Sources over HTTP: who may define them, what a person is shown, and what a sync comes to in the end."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from cluster.basics.scope import Role
from pipelines.documents.sync.source_opener import SourceOpener
from tests.fakes.http import Api, Office
from tests.fakes.ledger import Bench, worker_scope
from tests.fakes.shelves import use_sync
from tests.postgres.test_http_groups import seen


@pytest.fixture
async def admin(api: Api, office: Office) -> httpx.AsyncClient:
    return await api.sign_in(office.emails[Role.ADMIN])


@pytest.fixture
def place(tmp_path: Path) -> Path:
    base = tmp_path / "scans" / "papers"
    base.mkdir(parents=True)
    for n in range(5):
        (base / f"{n}.txt").write_text(f"The toll of {n} is paid at noon.")
    return base


@pytest.fixture
def worker(ledger: Bench, api: Api) -> Bench:
    assert isinstance(api.parts.sources.opener, SourceOpener)
    use_sync(ledger, api.parts.sources.opener)
    return ledger


async def add(admin: httpx.AsyncClient, **more: Any) -> str:
    body = {"name": "papers", "kind": "folder", "settings": {"path": "papers"}} | more
    made = await admin.post("/api/sources", json=body)
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


async def sync(client: httpx.AsyncClient, worker: Bench, source: str, **params: Any) -> dict[str, Any]:
    started = await client.post(f"/api/sources/{source}/sync", params=params)
    assert started.status_code == 202 and started.json()["fresh"], started.text
    await worker.run()
    return dict((await client.get(f"/api/sources/{source}")).json())


async def test_a_source_is_added_tried_synchronised_and_removed(
    api: Api, admin: httpx.AsyncClient, operator: httpx.AsyncClient, office: Office, worker: Bench, place: Path
) -> None:
    """CS-07, CS-08: listed, connected, tested, synchronised with counts, and removed."""
    source = await add(admin, readers=[f"user:{office.emails[Role.VIEWER]}"])
    tried = (await operator.post(f"/api/sources/{source}/test")).json()
    assert tried == {"ok": True, "paths": [f"{n}.txt" for n in range(5)], "more": False, "faults": []}
    shown = await sync(operator, worker, source, dry_run=True)
    assert (shown["items"], shown["last_plan"]["counts"]["added"], shown["last_plan"]["dry_run"]) == (0, 5, True)
    shown = await sync(operator, worker, source)
    assert (shown["items"], shown["job_state"], shown["last_error"], shown["waiting"]) == (5, "completed", None, None)
    viewer = await api.sign_in(office.emails[Role.VIEWER])
    assert await seen(viewer) == [f"{n}.txt" for n in range(5)]
    assert await seen(admin) == [], "its readers are not those who run it"
    for n in range(3):
        (place / f"{n}.txt").unlink()
    shown = await sync(operator, worker, source)
    assert (shown["waiting"]["removals"], shown["waiting"]["reason"]) == (3, "many")
    waiting = (await operator.get(f"/api/sources/{source}/items", params={"only": "waiting"})).json()
    assert [one["path"] for one in waiting["items"]] == ["0.txt", "1.txt", "2.txt"] and waiting["total"] == 3
    assert (await operator.post(f"/api/sources/{source}/approve", json={"removals": 2})).status_code == 409
    approved = await operator.post(f"/api/sources/{source}/approve", json={"removals": 3})
    assert approved.status_code == 202, approved.text
    await worker.run()
    assert await seen(viewer) == ["3.txt", "4.txt"]
    gone = (await admin.delete(f"/api/sources/{source}", params={"documents": "delete"})).json()
    assert gone["status"] == "removing" and gone["job_id"]
    await worker.run()
    assert await seen(viewer) == [] and (await admin.get("/api/sources")).json()["total"] == 0
    trail = (await admin.get("/api/audit")).json()["items"]
    assert [one["action"] for one in trail if one["action"].startswith("source.")][::-1] == [
        *("source.add", "source.sync", "source.sync", "source.sync", "source.approve", "source.remove")
    ]


async def test_what_cannot_work_is_refused_before_it_is_stored(
    admin: httpx.AsyncClient, operator: httpx.AsyncClient, place: Path
) -> None:
    async def refused(status: int, code: str, **body: Any) -> None:
        answer = await admin.post("/api/sources", json={"name": "x", "kind": "folder", "settings": {}} | body)
        assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text

    await refused(422, "source_invalid", kind="drive")
    await refused(422, "source_invalid")
    await refused(422, "source_invalid", settings={"path": "../.."})
    await refused(409, "source_refused", settings={"path": "not-there"})
    await refused(422, "source_invalid", settings={"path": "papers"}, credential="key")
    await refused(403, "address_not_allowed", kind="s3", settings={"bucket": "b", "endpoint": "http://10.0.0.1"})
    await refused(409, "source_refused", kind="s3", settings={"bucket": "b"}, credential="none")
    assert (await operator.post("/api/sources", json={"name": "x", "kind": "folder"})).status_code == 403
    await add(admin)
    await refused(409, "conflict", name="papers", settings={"path": "papers"})
    kinds = (await operator.get("/api/sources/kinds")).json()["items"]
    required = {one["name"]: one["required"] for one in kinds}
    assert (required["folder"], required["s3"]) == (["path"], ["bucket"])
    assert required["git"] == required["web"] == ["url"]


async def test_a_person_who_is_erased_is_no_reader_of_a_source_any_more(
    admin: httpx.AsyncClient, operator: httpx.AsyncClient, office: Office, worker: Bench, place: Path
) -> None:
    """The next sync would name them again on every document."""
    viewer = office.emails[Role.VIEWER]
    source = await add(admin, readers=[f"user:{viewer}"])
    await sync(operator, worker, source)
    people = (await admin.get("/api/users", params={"q": viewer})).json()["items"]
    wanted = {"kind": "person", "ids": [people[0]["id"]], "reason": "asked for"}
    assert (await admin.post("/api/erasures", json=wanted)).is_success
    assert (await operator.get(f"/api/sources/{source}")).json()["readers"] == ["user:erased"]
    await sync(operator, worker, source)
    scope = worker_scope(office.scope.tenant, office.scope.workspace)
    rows = await worker.rows(scope, "select distinct readers from documents")
    assert [row["readers"] for row in rows] == [["user:erased"]]


async def test_gw_19_older_clients_find_sources_as_a_cloud_sync(
    admin: httpx.AsyncClient, operator: httpx.AsyncClient, worker: Bench, place: Path
) -> None:
    """GW-19: folders, files, jobs and sync."""
    source = await add(admin)
    folders = (await operator.get("/api/cloud-sync/folders")).json()
    assert [one["id"] for one in folders["items"]] == [source]
    started = (await operator.post("/api/cloud-sync/sync", json={"folder_id": source})).json()
    again = (await operator.post("/api/cloud-sync/sync", json={"folder_id": source})).json()
    assert again["job_id"] == started["job_id"] and not again["fresh"]
    await worker.run()
    files = (await operator.get("/api/cloud-sync/files", params={"folder_id": source})).json()
    assert [(one["path"], one["state"], one["status"]) for one in files["items"]] == [
        (f"{n}.txt", "here", "completed") for n in range(5)
    ]
    about = (await operator.get("/api/jobs/about", params={"job": started["job_id"]})).json()["items"]
    assert about == {started["job_id"]: "papers"}
    jobs = (await operator.get("/api/cloud-sync/jobs")).json()
    assert [one["id"] for one in jobs["items"]] == [started["job_id"]] and jobs["total"] == 1
