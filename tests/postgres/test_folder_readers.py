"""Readers that scanned documents inherit from their folder, over real scans."""

import asyncio
import os
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from cluster.basics.scope import Role
from tests.fakes.http import Api, Office
from tests.fakes.ledger import Bench, worker_scope
from tests.postgres.test_http_groups import group, seen

PATH = "/api/documents/folder-readers"


@pytest.fixture
async def admin(api: Api, office: Office) -> httpx.AsyncClient:
    return await api.sign_in(office.emails[Role.ADMIN])


@pytest.fixture
def place(tmp_path: Path) -> Path:
    base = tmp_path / "scans"
    for name in ("legal/a.txt", "legal/court/b.txt", "legality/c.txt", "d.txt"):
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).write_text(f"The toll of {name} is paid at noon.")
    return base


async def change(admin: httpx.AsyncClient, path: str, *readers: str, **more: Any) -> dict[str, Any]:
    answer = await admin.put(PATH, json={"path": path, "readers": list(readers), **more})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def scan(worker: Bench, office: Office, place: Path) -> None:
    scope = worker_scope(office.scope.tenant, office.scope.workspace)
    await worker.scan(scope, place)


def write_oddly_named(folder: Path) -> None:
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff.txt")).write_bytes(b"The toll of the odd name.")


async def copies_agree(worker: Bench, office: Office) -> bool:
    """Chunks and vectors have the readers of their documents."""
    scope = worker_scope(office.scope.tenant, office.scope.workspace)
    for table in ("document_chunks", "embeddings"):
        rows = f"{table} c join documents d on d.id = c.document_id where c.readers <> d.readers"
        if await worker.rows(scope, f"select c.document_id from {rows}"):
            return False
    return bool(await worker.rows(scope, "select id from document_chunks limit 1"))


async def test_what_a_scan_finds_has_the_readers_of_the_nearest_folder(
    api: Api, admin: httpx.AsyncClient, office: Office, worker: Bench, place: Path
) -> None:
    lawyer, other = office.emails[Role.VIEWER], office.emails[Role.DEVELOPER]
    await group(admin, "legal", lawyer)
    assert (await change(admin, "legal", "group:legal"))["documents_changed"] == 0
    await change(admin, "legal/court", f"user:{other}")
    await scan(worker, office, place)
    inside, outside = await api.sign_in(lawyer), await api.sign_in(other)
    assert await seen(inside) == ["a.txt", "c.txt", "d.txt"], "legality is another folder"
    assert await seen(outside) == ["b.txt", "c.txt", "d.txt"]
    items = (await admin.get(PATH)).json()["items"]
    assert [(Path(one["folder"]).name, one["documents"]) for one in items] == [("legal", 1), ("court", 1)]
    assert (await change(admin, "legal/court", dry_run=True))["documents_changed"] == 1
    assert await seen(outside) == ["b.txt", "c.txt", "d.txt"], "a dry run changes nothing"
    assert (await change(admin, "legal/court"))["documents_changed"] == 1
    assert await seen(inside) == ["a.txt", "b.txt", "c.txt", "d.txt"]
    assert await seen(outside) == ["c.txt", "d.txt"]
    assert await copies_agree(worker, office)
    found = (await outside.post("/api/documents/search", json={"query": "toll of court"})).json()
    assert all("court" not in hit["text"] for hit in found["results"])
    await change(admin, ".", f"user:{other}")
    assert await seen(inside) == ["a.txt", "b.txt"], "all others have readers now"
    trail = (await admin.get("/api/audit", params={"action": "folder.readers"})).json()["items"]
    assert len(trail) == 4 and trail[0]["detail"]["documents"] == 2


async def test_readers_given_by_hand_stay_and_scanning_again_changes_nothing(
    api: Api, admin: httpx.AsyncClient, office: Office, worker: Bench, place: Path
) -> None:
    viewer = office.emails[Role.VIEWER]
    await scan(worker, office, place)
    rows = (await admin.get("/api/documents/")).json()["items"]
    (mine,) = [one["id"] for one in rows if one["filename"] == "a.txt"]
    (await admin.put(f"/api/documents/{mine}/readers", json={"readers": [f"user:{viewer}"]})).raise_for_status()
    await group(admin, "legal")
    assert (await change(admin, "legal", "group:legal"))["documents_changed"] == 1
    client = await api.sign_in(viewer)
    assert await seen(client) == ["a.txt", "c.txt", "d.txt"]
    (place / "legal/a.txt").write_text("The toll is paid at midnight.")
    await scan(worker, office, place)
    assert await seen(client) == ["a.txt", "c.txt", "d.txt"]
    (place / "legal/new.txt").write_text("A new toll.")
    await scan(worker, office, place)
    assert await seen(client) == ["a.txt", "c.txt", "d.txt"], "what comes later has the folder's, too"
    assert await copies_agree(worker, office)


async def test_a_folder_whose_name_is_no_utf_8_has_readers_too(
    api: Api, admin: httpx.AsyncClient, office: Office, worker: Bench, place: Path
) -> None:
    write_oddly_named(place / "legal")
    await group(admin, "legal")
    await change(admin, "legal", "group:legal")
    await scan(worker, office, place)
    assert await seen(await api.sign_in(office.emails[Role.VIEWER])) == ["c.txt", "d.txt"]


async def test_only_administrators_change_them_and_only_below_the_base(
    api: Api, admin: httpx.AsyncClient, office: Office, place: Path
) -> None:
    for role in (Role.VIEWER, Role.DEVELOPER, Role.OPERATOR):
        client = await api.sign_in(office.emails[role])
        assert (await client.put(PATH, json={"path": "legal", "readers": []})).status_code == 403
        assert (await client.get(PATH)).status_code == 403
    for path in ("/etc", "../..", "legal/../../.."):
        assert (await admin.put(PATH, json={"path": path, "readers": []})).status_code == 403
    for readers in (["everybody"], ["group:unknown"], ["user:"]):
        assert (await admin.put(PATH, json={"path": "legal", "readers": readers})).status_code in (404, 422)
    assert (await admin.get(PATH)).json() == {"items": []}


MANY = """
insert into documents (id, tenant_id, workspace_id, origin, filename, file_type, source_type)
select 'd' || to_char(n, 'FM000000'), %s, %s, %s || n || '.txt', n || '.txt', 'text', 'folder'
from generate_series(1, 1200) n
"""


async def test_a_dry_run_waits_for_nobody_and_says_what_nested_rules_leave(
    admin: httpx.AsyncClient, office: Office, worker: Bench, place: Path, admin_dsn: str
) -> None:
    await group(admin, "legal")
    await scan(worker, office, place)
    await change(admin, "legal/court", "role:admin")
    with psycopg.connect(admin_dsn) as ingesting:
        ingesting.execute("select 1 from workspaces where id = %s for no key update", (office.scope.workspace,))
        async with asyncio.timeout(5):
            assert (await change(admin, ".", "group:legal", dry_run=True))["documents_changed"] == 3
            assert (await change(admin, "legal", "group:legal", dry_run=True))["documents_changed"] == 1
            assert (await change(admin, "legal/court", "role:admin", dry_run=True))["documents_changed"] == 0
            assert (await change(admin, "legal/court", dry_run=True))["documents_changed"] == 1
    assert [one["readers"] for one in (await admin.get(PATH)).json()["items"]] == [["role:admin"]]


async def test_many_documents_change_in_batches_and_a_change_that_is_cut_off_goes_on(
    admin: httpx.AsyncClient, office: Office, place: Path, admin_dsn: str
) -> None:
    """The last document is held by somebody: those before have changed, and the answer is not there."""

    def changed() -> int:
        with psycopg.connect(admin_dsn) as owner:
            row = owner.execute("select count(*) from documents where readers = '{role:admin}'").fetchone()
            return int(row[0]) if row else 0

    with psycopg.connect(admin_dsn) as owner:
        owner.execute(MANY, (office.scope.tenant, office.scope.workspace, f"file:{place}/legal/"))
    with psycopg.connect(admin_dsn) as other:
        other.execute("select 1 from documents where id = 'd001200' for update")
        changing = asyncio.create_task(change(admin, "legal", "role:admin"))
        async with asyncio.timeout(20):
            while changed() < 1_000:  # noqa: ASYNC110 -- the server works meanwhile
                await asyncio.sleep(0.05)
        assert not changing.done()
        changing.cancel()
        await asyncio.wait({changing})
    assert changed() == 1_000
    assert (await change(admin, "legal", "role:admin"))["documents_changed"] == 200
    assert changed() == 1_200
    trail = (await admin.get("/api/audit", params={"action": "folder.readers"})).json()["items"]
    assert [one["detail"]["documents"] for one in trail] == [200, 1_200]


async def test_a_folder_s_readers_hold_for_links_to_it_and_a_link_may_have_its_own(
    api: Api, admin: httpx.AsyncClient, office: Office, worker: Bench, place: Path
) -> None:
    (place / "alias").symlink_to(place / "legal")
    await scan(worker, office, place)
    inside = await api.sign_in(office.emails[Role.VIEWER])
    rows = (await admin.get("/api/documents/")).json()["items"]
    assert len(rows) == 4, "alias comes before legal, and is where its documents lie"
    assert (await change(admin, "legal", "role:admin", dry_run=True))["documents_changed"] == 2
    assert (await change(admin, "legal", "role:admin"))["documents_changed"] == 2
    assert await seen(inside) == ["c.txt", "d.txt"]
    (place / "legal/court/new.txt").write_text("A new toll.")
    await scan(worker, office, place)
    assert await seen(inside) == ["c.txt", "d.txt"], "what comes later by the link, too"
    told = await change(admin, "alias", "role:viewer")
    assert (Path(told["folder"]).name, told["documents_changed"]) == ("alias", 3)
    assert await seen(inside) == ["a.txt", "b.txt", "c.txt", "d.txt", "new.txt"]
    assert (await change(admin, "alias"))["documents_changed"] == 3
    assert await seen(inside) == ["c.txt", "d.txt"], "the folder's own again"
    assert await copies_agree(worker, office)


async def test_readers_of_a_link_hold_for_the_folder_that_it_leads_to(
    api: Api, admin: httpx.AsyncClient, office: Office, worker: Bench, place: Path
) -> None:
    """Also for what a scan of that folder finds, before it has any of its own."""
    (place / "way").symlink_to(place / "legal")
    await change(admin, str(place / "way"), "role:admin")
    await scan(worker, office, place)
    inside = await api.sign_in(office.emails[Role.VIEWER])
    assert await seen(inside) == ["c.txt", "d.txt"]
    assert (await change(admin, "legal", "role:viewer"))["documents_changed"] == 2
    (place / "out").symlink_to("/etc")
    for path in ("out", "out/ssl", "way/../../.."):
        assert (await admin.put(PATH, json={"path": path, "readers": []})).status_code == 403
