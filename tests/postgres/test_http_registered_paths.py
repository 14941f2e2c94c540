"""Registered paths over HTTP (IN-14, GW-14): sources of folders, each registered once, with its readers."""

import asyncio
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from cluster.basics.scope import Role, Scope
from pipelines.documents.sync.source_opener import SourceOpener
from tests.fakes.http import Api, Office, open_office
from tests.fakes.ledger import Bench, worker_scope
from tests.fakes.shelves import use_sync

PATH = "/api/documents/register-path"
LISTED = "/api/documents/registered-paths"


@pytest.fixture
async def admin(api: Api, office: Office) -> httpx.AsyncClient:
    return await api.sign_in(office.emails[Role.ADMIN])


@pytest.fixture
def place(tmp_path: Path) -> Path:
    base = tmp_path / "scans" / "papers"
    (base / "deep").mkdir(parents=True)
    for n in range(3):
        (base / f"{n}.txt").write_text(f"The toll of {n} is paid at noon.")
    return base


@pytest.fixture
def worker(ledger: Bench, api: Api) -> Bench:
    assert isinstance(api.parts.sources.opener, SourceOpener)
    use_sync(ledger, api.parts.sources.opener)
    return ledger


def whole(office: Office) -> Scope:
    """What a worker sees of its workspace."""
    return worker_scope(office.scope.tenant, office.scope.workspace)


async def register(client: httpx.AsyncClient, status: int = 201, **body: Any) -> dict[str, Any]:
    answer = await client.post(PATH, json={"path": "papers"} | body)
    assert answer.status_code == status, answer.text
    return dict(answer.json())


async def test_in_14_a_path_is_a_source_whose_documents_have_its_readers_tags_and_agent(
    api: Api, admin: httpx.AsyncClient, office: Office, worker: Bench, place: Path
) -> None:
    agent = (await admin.post("/api/agents", json={"name": "keeper"})).json()["id"]
    viewer = office.emails[Role.VIEWER]
    asked = {"readers": [f"user:{viewer}"], "tags": ["toll", "toll"], "agent_id": "keeper"}
    made = await register(admin, **asked)
    assert (made["path"], made["name"], made["every_minutes"]) == ("papers", "papers", 15)
    assert (made["tags"], made["agent_id"], made["watching"]["mode"]) == (["toll"], agent, "nobody")
    source = (await admin.get(f"/api/sources/{made['id']}")).json()
    assert (source["kind"], source["watch"], source["settings"]) == ("folder", True, {"path": "papers"})
    assert (await admin.post(f"/api/sources/{made['id']}/sync")).status_code == 202
    await worker.run()
    seen = (await (await api.sign_in(viewer)).get("/api/documents/")).json()["items"]
    assert sorted(one["filename"] for one in seen) == ["0.txt", "1.txt", "2.txt"]
    assert {tuple(one["tags"]) for one in seen} == {("toll",)}
    links = await worker.rows(whole(office), "select agent_id::text from document_agent_links")
    assert [row["agent_id"] for row in links] == [agent] * 3
    assert (await admin.get("/api/documents/")).json()["items"] == []
    gone = await admin.delete(f"{LISTED}/{made['id']}")
    assert (gone.status_code, gone.json()["status"]) == (200, "removed")
    assert (await admin.get(LISTED)).json() == {"items": [], "total": 0}
    assert len(await worker.rows(whole(office), "select id from documents")) == 3, "its documents stay"
    trail = (await admin.get("/api/audit")).json()["items"]
    lines = [(one["action"], one["detail"]) for one in trail if one["action"].startswith("path.")][::-1]
    assert [action for action, _ in lines] == ["path.register", "path.remove"] and lines[0][1]["path"] == "papers"


async def test_the_same_folder_twice_is_the_same_path_however_it_is_written(
    admin: httpx.AsyncClient, place: Path
) -> None:
    first = await register(admin)
    for spelled in ("papers", "./papers/", "papers/deep/..", str(place)):
        assert (await register(admin, 200, path=spelled))["id"] == first["id"]
    link = place.parent / "link"
    link.symlink_to(place)
    assert (await register(admin, 200, path="link"))["id"] == first["id"], "and through a link"
    other = await register(admin, 409, tags=["new"])
    assert other["code"] == "registered_otherwise" and "tags" in other["detail"]
    assert (await register(admin, 409, name="else"))["code"] == "registered_otherwise"
    deep = await register(admin, path="papers/deep", name="deep papers", every_minutes=60)
    assert deep["id"] != first["id"] and (await admin.get(LISTED)).json()["total"] == 2
    trail = (await admin.get("/api/audit")).json()["items"]
    assert len([one for one in trail if one["action"] == "path.register"]) == 2, "what changes nothing is not told"
    at_once = await asyncio.gather(*(admin.post(PATH, json={"path": "."}) for _ in range(6)))
    assert sorted(one.status_code for one in at_once) == [200] * 5 + [201]


async def test_a_folder_that_was_added_as_a_source_is_a_registered_path(admin: httpx.AsyncClient, place: Path) -> None:
    body = {"name": "archive", "kind": "folder", "settings": {"path": str(place)}, "every_minutes": 15}
    source = (await admin.post("/api/sources", json=body)).json()["id"]
    assert (await register(admin, 200))["id"] == source
    assert [one["name"] for one in (await admin.get(LISTED)).json()["items"]] == ["archive"]


async def test_what_cannot_be_registered_is_refused(
    api: Api, admin: httpx.AsyncClient, operator: httpx.AsyncClient, office: Office, place: Path
) -> None:
    assert (await register(admin, 403, path="/etc"))["code"] == "forbidden"
    await register(admin, 403, path="../..")
    await register(admin, 404, path="not-there")
    await register(admin, 422, path="papers/0.txt")
    await register(admin, 422, every_minutes=0)
    await register(admin, 422, readers=["nobody"])
    await register(admin, 404, agent_id="no such agent")
    await register(await api.sign_in(office.emails[Role.DEVELOPER]), 403)
    (place.parent / "round").symlink_to("round")
    await register(admin, 404, path="round")
    assert (await operator.get(LISTED)).json()["total"] == 0


async def test_a_foreign_path_and_a_source_of_another_kind_are_404(
    api: Api, admin: httpx.AsyncClient, admin_dsn: str, office: Office, ledger: Bench, place: Path
) -> None:
    made = await register(admin)
    stranger = await api.sign_in(open_office(admin_dsn).emails[Role.ADMIN])
    for id_ in (made["id"], str(uuid4())):
        assert (await stranger.delete(f"{LISTED}/{id_}")).status_code == 404
    assert (await stranger.get(LISTED)).json()["total"] == 0
    async with ledger.database.transaction(whole(office)) as tx:
        await tx.run("update sources set kind = 's3'")
    assert (await admin.delete(f"{LISTED}/{made['id']}")).status_code == 404
    assert (await admin.get(LISTED)).json()["total"] == 0


async def test_a_path_is_removed_with_its_documents_where_that_is_asked(
    admin: httpx.AsyncClient, office: Office, worker: Bench, place: Path
) -> None:
    made = await register(admin)
    await admin.post(f"/api/sources/{made['id']}/sync")
    await worker.run()
    gone = await admin.delete(f"{LISTED}/{made['id']}", params={"documents": "delete"})
    assert (gone.status_code, gone.json()["status"]) == (202, "removing")
    await worker.run()
    assert await worker.rows(whole(office), "select id from documents") == []
    assert (await admin.get(LISTED)).json()["total"] == 0
