"""Cloud sync row by row: four clouds through Composio, three downloads at once, and what is counted and browsed."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis
from starlette.responses import Response

from cluster.basics.scope import Role, Scope
from cluster.state.vault import Vault, VaultKey
from pipelines.documents.sources.source_port import Source, SourceDependencies, SourceItem, SourceOpening
from pipelines.documents.sync.source_opener import EndpointGuard, SourceOpener
from pipelines.documents.sync.source_parts import SourceParts
from tests.fakes.composio_server import ACCOUNT, APPS, KEY, ComposioDrive, run_composio
from tests.fakes.http import Api, Office
from tests.fakes.ledger import Bench
from tests.fakes.shelves import Shelf, SyncBench, shelf_kind, sync_bench, use_sync
from tests.postgres.test_s3_source import credential

BODY = "The toll of the harbour is paid at noon. " * 60


@pytest.fixture
def drive() -> Iterator[ComposioDrive]:
    with run_composio() as made:
        yield made


@pytest.fixture
def sources(ledger: Bench, scope: Scope) -> SyncBench:
    return sync_bench(ledger, scope, None, allow=("127.0.0.1", "localhost"))


async def added(sources: SyncBench, ledger: Bench, scope: Scope, drive: ComposioDrive, app: str, **more: Any) -> str:
    name = await credential(ledger, scope, {"api_key": KEY})
    settings = {"endpoint": f"{drive.url}/api/v3", "app": app, "account": ACCOUNT}
    return await sources.add("composio", settings, credential=name, **more)


def fill(drive: ComposioDrive, count: int) -> None:
    drive.put("folder", None, name="folder")
    for n in range(count):
        drive.put(f"f{n:03}", f"Paper {n}. {BODY}".encode(), parent="folder" if n % 2 else "root")


@pytest.mark.parametrize("app", APPS)
async def test_cs_07_a_cloud_is_read_once_and_then_only_what_changed(
    sources: SyncBench, ledger: Bench, scope: Scope, drive: ComposioDrive, app: str
) -> None:
    """CS-01, CS-07: what is unmodified is counted, and not downloaded. Nobody named may see it: the workspace may."""
    fill(drive, 60)
    source = await added(sources, ledger, scope, drive, app)
    assert await sources.sync(source) == {"listed": 60, "added": 60}
    assert len(await sources.documents("user:x@x")) == 60 == len(drive.read)
    drive.read.clear()
    assert await sources.sync(source) == {"listed": 60, "unchanged": 60} and drive.read == []
    drive.put("f000", f"Another paper. {BODY}".encode())
    drive.put("new", f"A new paper. {BODY}".encode())
    drive.put("f002", drive.files["f002"].data, name="moved.txt")
    del drive.files["f004"]
    counts = await sources.sync(source)
    assert counts == {"listed": 60, "added": 1, "changed": 1, "moved": 1, "unchanged": 57, "removed": 1}
    assert sorted(drive.read) == ["f000", "new"]
    found = await sources.documents("user:x@x")
    assert len(found) == 60 and found["f000.txt"].startswith("Another paper.") and "moved.txt" in found


@pytest.mark.parametrize("app", APPS)
async def test_cs_02_a_piece_is_an_error_of_its_file_and_no_document(
    sources: SyncBench, ledger: Bench, scope: Scope, drive: ComposioDrive, app: str
) -> None:
    """CS-02, CS-07: synced, skipped and errored are counted; what was not fetched is asked for by the next sync."""
    fill(drive, 6)
    source = await added(sources, ledger, scope, drive, app)
    drive.linked, drive.pieces = False, 500
    await sources.sync(source)
    shown = await sources.show(source)
    assert (shown["items"], shown["failed"], await sources.documents("user:x@x")) == (0, 6, {})
    rows = await ledger.rows(scope, "select error->>'detail' as why from source_items")
    assert all("truncated: 500 bytes of" in row["why"] for row in rows) and len(rows) == 6
    drive.pieces = None
    await sources.sync(source)
    assert (await sources.show(source))["failed"] == 0 and len(await sources.documents("user:x@x")) == 6


@pytest.mark.parametrize("app", APPS)
async def test_a_cloud_that_lies_deletes_nothing(
    sources: SyncBench, ledger: Bench, scope: Scope, drive: ComposioDrive, app: str
) -> None:
    fill(drive, 120)
    source = await added(sources, ledger, scope, drive, app)
    await sources.sync(source)
    whole = dict(drive.files)

    async def away() -> None:
        await sources.start(source)
        with pytest.raises(Exception) as caught:
            await ledger.run()
        assert getattr(caught.value, "code", "") == "source_away", caught.value
        async with ledger.database.transaction(scope) as tx:
            await tx.run("update jobs set state = 'cancelled' where state in ('queued', 'running')")

    drive.cut = True
    await away()
    drive.cut = False
    drive.instead = lambda tool, asked: Response('{"successful": true, "data": {"data_preview": "..."}}')
    await away()
    drive.instead = lambda tool, asked: None
    drive.files.clear()
    await sources.sync(source)
    assert (await sources.show(source))["waiting"]["reason"] == "empty"
    drive.files.update(whole)
    await sources.sync(source)
    assert len(await sources.documents("user:x@x")) == 120


async def test_cs_03_three_files_of_a_source_are_fetched_at_once(ledger: Bench, scope: Scope) -> None:
    """CS-03: three, neither more nor one after another."""
    shelf, now, most = Shelf(), 0, 0
    for n in range(20):
        shelf.put(f"f{n:02}", f"Paper {n}.")

    class Slow:
        list_changes = shelf.list_changes

        async def read(self, item: SourceItem, start: int = 0, length: int | None = None) -> AsyncIterator[bytes]:
            nonlocal now, most
            now, most = now + 1, max(most, now + 1)
            await asyncio.sleep(0.02)
            now -= 1
            async for block in shelf.read_item(item, start, length):
                yield block

        def local_path(self, item: SourceItem) -> None:
            return None

        async def close(self) -> None:
            pass

    async def open_slow(opening: SourceOpening, dependencies: SourceDependencies) -> Source:
        return Slow()

    sources = sync_bench(ledger, scope, None, replace(shelf_kind(shelf), open=open_slow))
    assert await sources.sync(await sources.add()) == {"listed": 20, "added": 20}
    assert most == 3 and len(await sources.documents()) == 20


async def test_cs_05_cs_08_browsing_asks_no_cloud_and_a_connection_is_tested_synchronised_and_removed(
    api: Api, office: Office, operator: httpx.AsyncClient, ledger: Bench, drive: ComposioDrive, redis_url: str
) -> None:
    """CS-05, CS-08, GW-19: folders are listed once in five minutes. Better than that: what the last sync has listed is
    in Postgres, so that a file browser never calls Composio; only a test, a dry run and a sync do.
    """
    fill(drive, 12)
    admin = await api.sign_in(office.emails[Role.ADMIN])
    redis = Redis.from_url(redis_url)
    guard = EndpointGuard(("127.0.0.1", "localhost"))
    opener = SourceOpener(api.parts.database, Vault([VaultKey(b"k" * 32)]), None, guard)
    api.app.state.parts = replace(api.parts, sources=SourceParts.over(api.parts.database, opener, redis))
    use_sync(ledger, opener)
    key = {"name": "composio", "type": "custom", "values": {"api_key": KEY}}
    stored = await admin.post("/api/credentials", json=key)
    assert stored.is_success, stored.text
    settings = {"endpoint": f"{drive.url}/api/v3", "app": "googledrive", "account": ACCOUNT}
    wanted = {"kind": "composio", "settings": settings, "credential": "composio"}
    tried = (await admin.post("/api/sources/test", json=wanted)).json()
    assert tried["ok"] and "f000.txt" in tried["paths"]
    made = await admin.post("/api/sources", json=wanted | {"name": "drive"})
    source = made.json()["id"]
    assert (await operator.post("/api/cloud-sync/sync", json={"folder_id": source})).status_code == 202
    await ledger.run()
    drive.calls.clear()
    for _ in range(3):
        folders = (await operator.get("/api/cloud-sync/folders")).json()["items"]
        files = (await operator.get("/api/cloud-sync/files", params={"folder_id": source, "limit": 5})).json()
        jobs = (await operator.get("/api/cloud-sync/jobs")).json()
        assert ([one["name"] for one in folders], files["total"], jobs["total"]) == (["drive"], 12, 1)
        assert {one["status"] for one in files["items"]} == {"completed"}
    assert drive.calls == []
    place = f"/api/cloud-sync/folders/{source}"
    browsed = [(await operator.get(place)).json() for _ in range(3)]
    assert [one["remembered"] for one in browsed] == [False, True, True] and len(drive.calls) == 1
    assert all(one["items"] == [{"id": "folder", "name": "folder"}] for one in browsed)
    deeper = (await operator.get(place, params={"parent": "folder"})).json()
    assert (deeper["items"], deeper["remembered"], len(drive.calls)) == ([], False, 2)
    keys = [key async for key in redis.scan_iter(match=f"aos:folders:{office.scope.tenant}:{office.scope.workspace}:*")]
    assert len(keys) == 2 and all([0 < await redis.ttl(key) <= 300 for key in keys])
    await redis.set(keys[0], "garbage")
    await redis.set(keys[1], "[5]")
    assert not (await operator.get(place)).json()["remembered"], "what is no list of ours is asked again"
    await redis.aclose()
    assert (await operator.post(f"/api/sources/{source}/test")).json()["ok"] and drive.calls
    assert (await admin.delete(f"/api/sources/{source}")).json()["status"] == "removed"
    assert (await operator.get("/api/cloud-sync/folders")).json()["items"] == []


async def test_cs_06_every_file_and_every_sync_has_its_row(
    sources: SyncBench, ledger: Bench, scope: Scope, drive: ComposioDrive
) -> None:
    """CS-06: `source_items` for `cloud_documents`, `jobs` and `sources` for `cloud_sync_jobs`, under our names."""
    fill(drive, 3)
    drive.refused.add("f001")
    source = await added(sources, ledger, scope, drive, "box")
    await sources.sync(source)
    rows = await ledger.rows(
        scope,
        "select s.settings->>'app' as app, s.settings->>'account' as connection, i.item_id, i.path, i.version,"
        " i.seen_at is not null as seen, i.error->>'detail' as error, d.filename, d.status"
        " from source_items i join sources s on s.id = i.source_id left join documents d on d.id = i.document_id"
        " order by i.item_id",
    )
    assert [(row["item_id"], row["path"], row["filename"], row["status"]) for row in rows] == [
        ("f000", "f000.txt", "f000.txt", "completed"),
        ("f001", "folder/f001.txt", None, None),
        ("f002", "f002.txt", "f002.txt", "completed"),
    ]
    assert all((row["app"], row["connection"], row["seen"]) == ("box", ACCOUNT, True) for row in rows)
    assert [row["error"] is None for row in rows] == [True, False, True] and all(row["version"] for row in rows)
    (job,) = await ledger.rows(
        scope, "select kind, state, started_at, finished_at, payload->>'source' as source from jobs"
    )
    assert (job["kind"], job["source"]) == ("sync", source) and job["started_at"] <= job["finished_at"]
    plan = (await sources.show(source))["last_plan"]
    assert (plan["counts"]["added"], (await sources.show(source))["failed"]) == (3, 1)
