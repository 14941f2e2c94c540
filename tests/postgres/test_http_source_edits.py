"""Sources over HTTP: tried before they are there, changed, paused, kept from removing, and their rights understood."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from cluster.basics.scope import Role
from cluster.state.vault import Vault, VaultKey
from pipelines.documents.sources.source_kinds import SOURCE_KINDS
from pipelines.documents.sources.source_port import ItemRights
from pipelines.documents.sync.source_opener import SourceOpener
from pipelines.documents.sync.source_parts import SourceParts
from tests.fakes.http import Api, Office
from tests.fakes.ledger import Bench
from tests.fakes.shelves import Shelf, shelf_kind, use_sync
from tests.postgres.test_http_groups import seen


@pytest.fixture
async def admin(api: Api, office: Office) -> httpx.AsyncClient:
    return await api.sign_in(office.emails[Role.ADMIN])


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def worker(ledger: Bench, api: Api, shelf: Shelf, tmp_path: Path) -> Bench:
    """The API and its worker also know shelves, which say who may see what."""
    kinds = {**SOURCE_KINDS, "shelf": shelf_kind(shelf, has_rights=True)}
    opener = SourceOpener(api.parts.database, Vault([VaultKey(b"k" * 32)]), str(tmp_path / "scans"), kinds=kinds)
    api.app.state.parts = replace(api.parts, sources=SourceParts.over(api.parts.database, opener))
    use_sync(ledger, opener)
    return ledger


@pytest.fixture
def place(tmp_path: Path) -> Path:
    base = tmp_path / "scans" / "papers"
    base.mkdir(parents=True)
    for n in range(12):
        (base / f"{n:02}.txt").write_text(f"The toll of {n} is paid at noon.")
    return base


async def add(admin: httpx.AsyncClient, kind: str = "folder", **more: Any) -> str:
    settings = {"path": "papers"} if kind == "folder" else {}
    made = await admin.post("/api/sources", json={"name": kind, "kind": kind, "settings": settings} | more)
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


async def sync(client: httpx.AsyncClient, worker: Bench, source: str) -> dict[str, Any]:
    started = await client.post(f"/api/sources/{source}/sync")
    assert started.status_code == 202, started.text
    await worker.run()
    return dict((await client.get(f"/api/sources/{source}")).json())


async def test_a_source_is_tried_before_it_is_there(
    admin: httpx.AsyncClient, operator: httpx.AsyncClient, worker: Bench, place: Path
) -> None:
    wanted = {"kind": "folder", "settings": {"path": "papers"}}
    tried = (await admin.post("/api/sources/test", json=wanted)).json()
    assert tried["ok"] and tried["more"] and tried["paths"] == [f"{n:02}.txt" for n in range(10)]
    (place / "note.PDF").write_bytes(b"%PDF")
    seen_ = (await admin.post("/api/sources/dry-run", json=wanted | {"readers": ["role:viewer"]})).json()
    assert (seen_["items"], seen_["more"], seen_["endings"]) == (13, False, {".txt": 12, ".pdf": 1})
    texts = sum(len(f"The toll of {n} is paid at noon.") for n in range(12))
    assert (seen_["bytes"], seen_["unsized"]) == (texts + len(b"%PDF"), 0)
    assert seen_["rights"]["readers"] == [{"name": "role:viewer", "items": 13}] and not seen_["rights"]["has_rights"]
    refused = await admin.post("/api/sources/test", json={"kind": "folder", "settings": {"path": "elsewhere"}})
    assert (refused.status_code, refused.json()["code"]) == (409, "source_refused")
    assert (await admin.post("/api/sources/dry-run", json=wanted | {"readers": ["somebody"]})).status_code == 422
    assert (await admin.post("/api/sources/test", json={"kind": "attic"})).status_code == 422
    for path in ("test", "dry-run"):
        assert (await operator.post(f"/api/sources/{path}", json=wanted)).status_code == 403
    assert (await admin.get("/api/sources")).json()["total"] == 0


async def test_rights_are_told_as_they_are_understood(
    admin: httpx.AsyncClient, operator: httpx.AsyncClient, office: Office, worker: Bench, shelf: Shelf
) -> None:
    viewer, boss = office.emails[Role.VIEWER], office.emails[Role.ADMIN]
    assert (await admin.post("/api/groups", json={"name": "legal"})).is_success
    shelf.put("a", "anchors", "deeds/a.txt", rights=ItemRights((viewer.upper(), "ghost@far.example"), ()))
    shelf.put("b", "buoys", "deeds/b.txt", rights=ItemRights((), ("Recht", "Pilots")))
    shelf.put("c", "cranes", "c.txt", rights=ItemRights(("ghost@far.example",), ()))
    shelf.put("d", "docks", "d.txt")
    body = {"kind": "shelf", "settings": {}, "group_names": {"Recht": "legal"}}
    before = (await admin.post("/api/sources/dry-run", json=body)).json()["rights"]
    source = await add(admin, "shelf", group_names={"Recht": "legal"})
    shown = await sync(operator, worker, source)
    assert shown["items"] == 4
    rights = (await operator.get(f"/api/sources/{source}/rights")).json()
    assert rights == before, "a dry run tells what comes"
    assert (rights["items"], rights["unsaid"], rights["nobody"]) == (4, 1, 2)
    assert {one["name"]: one["items"] for one in rights["readers"]} == {f"user:{viewer}": 1, "group:legal": 1}
    assert rights["unknown_users"] == [{"name": "ghost@far.example", "items": 2}]
    assert rights["unknown_groups"] == [{"name": "pilots", "items": 1}] and rights["unknown_groups_total"] == 1
    items = (await operator.get(f"/api/sources/{source}/items", params={"q": "DEEDS"})).json()
    assert items["total"] == 2
    first, second = items["items"]
    assert (first["readers"], first["unknown"]) == ([f"user:{viewer}"], ["user:ghost@far.example"])
    assert (second["groups"], second["readers"], second["nobody"]) == (["Recht", "Pilots"], ["group:legal"], False)
    (lost,) = (await operator.get(f"/api/sources/{source}/items", params={"q": "c.txt"})).json()["items"]
    assert lost["nobody"] and lost["readers"] == []
    await admin.patch(f"/api/sources/{source}", json={"group_names": {"Pilots": "legal"}})
    again = (await operator.get(f"/api/sources/{source}/rights")).json()
    assert [one["name"] for one in again["unknown_groups"]] == ["recht"] and boss


async def test_a_source_is_changed_and_its_readers_follow(
    api: Api, admin: httpx.AsyncClient, operator: httpx.AsyncClient, office: Office, worker: Bench, place: Path
) -> None:
    source = await add(admin)
    await sync(operator, worker, source)
    viewer = await api.sign_in(office.emails[Role.VIEWER])
    assert len(await seen(viewer)) == 12
    body = {"readers": [f"user:{office.emails[Role.OPERATOR]}"], "every_minutes": 30, "erase_after_days": 7}
    assert (await operator.patch(f"/api/sources/{source}", json=body)).status_code == 403
    changed = (await admin.patch(f"/api/sources/{source}", json=body)).json()
    assert (changed["every_minutes"], changed["erase_after_days"], changed["name"]) == (30, 7, "folder")
    assert changed["next_at"] is not None, "it is due at once, so that readers follow"
    await sync(operator, worker, source)
    assert await seen(viewer) == [] and len(await seen(operator)) == 12
    off = (await admin.patch(f"/api/sources/{source}", json={"every_minutes": None, "erase_after_days": None})).json()
    assert (off["every_minutes"], off["erase_after_days"], off["next_at"]) == (None, None, None)
    for wrong in ({"name": None}, {"settings": {"path": "nowhere"}}, {"credential": "x"}, {"readers": ["x"]}):
        assert (await admin.patch(f"/api/sources/{source}", json=wrong)).status_code in (409, 422), wrong
    await add(admin, name="other")
    assert (await admin.patch(f"/api/sources/{source}", json={"name": "other"})).status_code == 409
    assert (await operator.post(f"/api/sources/{source}/sync")).status_code == 202
    busy = await admin.patch(f"/api/sources/{source}", json={"readers": []})
    assert (busy.status_code, busy.json()["code"]) == (409, "source_busy")
    assert (await admin.patch(f"/api/sources/{source}", json={"max_removed_percent": 5})).is_success


async def test_a_source_is_paused_and_goes_on(
    admin: httpx.AsyncClient, operator: httpx.AsyncClient, worker: Bench, place: Path
) -> None:
    source = await add(admin, every_minutes=60)
    paused = (await operator.post(f"/api/sources/{source}/pause")).json()
    assert (paused["enabled"], paused["next_at"]) == (False, None)
    await sync(operator, worker, source)
    changed = (await admin.patch(f"/api/sources/{source}", json={"every_minutes": 5})).json()
    assert changed["next_at"] is None, "another period does not wake it"
    on = (await operator.post(f"/api/sources/{source}/resume")).json()
    assert on["enabled"] and on["next_at"] is not None
    missing = "00000000-0000-4000-8000-000000000000"
    assert (await operator.post(f"/api/sources/{missing}/pause")).status_code == 404
    assert (await admin.delete(f"/api/sources/{source}", params={"documents": "delete"})).status_code == 202
    assert (await operator.post(f"/api/sources/{source}/resume")).status_code == 409, "it is on its way out"
    syncs = (await operator.get(f"/api/sources/{source}/jobs")).json()
    assert syncs["total"] == 2 and {one["kind"] for one in syncs["items"]} == {"sync"}
    other = await add(admin, name="other")
    assert (await operator.get(f"/api/sources/{other}/jobs")).json()["total"] == 0


async def test_removals_that_are_declined_stay_and_are_asked_again(
    admin: httpx.AsyncClient, operator: httpx.AsyncClient, worker: Bench, place: Path
) -> None:
    source = await add(admin)
    await sync(operator, worker, source)
    for n in range(6):
        (place / f"{n:02}.txt").unlink()
    assert (await sync(operator, worker, source))["waiting"]["removals"] == 6
    assert (await operator.post(f"/api/sources/{source}/decline", json={"removals": 5})).status_code == 409
    kept = (await operator.post(f"/api/sources/{source}/decline", json={"removals": 6})).json()
    assert kept["waiting"] is None and len(await seen(operator)) == 12
    waiting = await operator.get(f"/api/sources/{source}/items", params={"only": "waiting"})
    assert waiting.json()["total"] == 0
    assert (await operator.post(f"/api/sources/{source}/decline", json={"removals": 6})).status_code == 409
    assert (await operator.post(f"/api/sources/{source}/approve", json={"removals": 6})).status_code == 409
    assert (await sync(operator, worker, source))["waiting"]["removals"] == 6
    trail = (await admin.get("/api/audit")).json()["items"]
    assert [one["action"] for one in trail].count("source.decline") == 1


async def test_a_setting_that_makes_a_source_say_its_rights_closes_what_was_open(
    admin: httpx.AsyncClient, worker: Bench, api: Api, shelf: Shelf, tmp_path: Path
) -> None:
    """Its items are for whom the source names from the next sync on, and not for the readers of before."""
    talking = replace(
        shelf_kind(shelf), settings={"participants": "Who is named sees it."}, rights_setting="participants"
    )
    opener = SourceOpener(api.parts.database, Vault([VaultKey(b"k" * 32)]), None, kinds={"shelf": talking})
    api.app.state.parts = replace(api.parts, sources=SourceParts.over(api.parts.database, opener))
    use_sync(worker, opener)
    shelf.put("a", "A letter to Eve.", rights=ItemRights(("eve@elsewhere.example",)))
    source = await add(admin, "shelf", readers=["role:viewer"])
    shown = await sync(admin, worker, source)
    assert not shown["has_rights"]
    (item,) = (await admin.get(f"/api/sources/{source}/items")).json()["items"]
    assert item["readers"] == ["role:viewer"]
    changed = await admin.patch(f"/api/sources/{source}", json={"settings": {"participants": "yes"}})
    assert changed.status_code == 200 and changed.json()["has_rights"]
    assert (await sync(admin, worker, source))["last_plan"]["counts"]["rights"] == 1
    (item,) = (await admin.get(f"/api/sources/{source}/items")).json()["items"]
    assert (item["readers"], item["unknown"]) == ([], ["user:eve@elsewhere.example"])
    wanted = {"kind": "shelf", "settings": {"participants": "yes"}, "readers": ["role:viewer"]}
    assert (await admin.post("/api/sources/dry-run", json=wanted)).json()["rights"]["has_rights"]
