"""A full disk: uploads are refused and leave nothing, jobs wait and say so, no page fails, and all goes on again."""

import asyncio
import errno
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from cluster.basics.disk import DiskRoom, DiskUsage
from cluster.basics.errors import DiskFull
from cluster.basics.scope import Role, Scope
from cluster.state.work.jobs import JobId, JobLane
from configs.sections import WorkerSettings
from pipelines.documents.document import Page, VersionId
from pipelines.documents.index.generations import IndexedVersion
from pipelines.documents.ingest.job_loop import JobLoop
from pipelines.documents.sources.sniff import Kind
from pipelines.documents.store.blobs import FolderBlobs
from tests.fakes.http import Office, make_parts, serve
from tests.fakes.ledger import Bench
from tests.fakes.reading import FormFeedReader
from tests.postgres.test_http_packages import package

FAST = WorkerSettings(lease_seconds=2, heartbeat_seconds=0.1, poll_seconds=0.001)
MIB = 2**20
NO_ROOM = "raise 'could not extend file' using errcode = 'disk_full';"


@dataclass
class Disk:
    """As full as a test wants it."""

    free: int = 1000 * MIB

    def room(self, path: Path) -> DiskRoom:
        return DiskRoom(path, 100 * MIB, usage=lambda _: DiskUsage(self.free, 2000 * MIB))


@dataclass
class Writing(FormFeedReader):
    """Needs temporary files for each second page; `full` says how often there is no room for them."""

    full: int = 0

    def read(self, path: Path, kind: Kind, numbers: Sequence[int], **text: str | None) -> Iterator[Page]:
        for page in super().read(path, kind, numbers, **text):
            if page.number == 2 and self.full:
                self.full -= 1
                raise OSError(errno.ENOSPC, "No space left on device")
            yield page


@dataclass
class FullIndex:
    """Stages whose index finds no room five times."""

    ledger: Bench
    left: int = 5
    survey: object = field(init=False)
    read: object = field(init=False)

    def __post_init__(self) -> None:
        here = self.ledger.here()
        self.survey, self.read = here.survey, here.read

    async def index(self, scope: Scope, versions: Sequence[VersionId]) -> AsyncIterator[list[IndexedVersion]]:
        if self.left:
            self.left -= 1
            raise DiskFull("Postgres has no room to write")
        async for some in self.ledger.here().index(scope, versions):
            yield some


def files(tmp_path: Path) -> dict[str, str | None]:
    folder = tmp_path / "in"
    folder.mkdir(exist_ok=True)
    (folder / "f.txt").write_text("\f".join(f"page {n} of something" for n in range(4)))
    return {"root": str(folder), "agent_id": None}


def kept(tmp_path: Path) -> list[str]:
    return [path.suffix for path in (tmp_path / "blobs").rglob("*") if path.is_file()]


async def until(ledger: Bench, scope: Scope, job: JobId, fact: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    async with asyncio.timeout(20):
        while True:
            if fact(shown := await ledger.desk.show(scope, job)):
                return shown
            await asyncio.sleep(0.02)


async def send(client: httpx.AsyncClient, name: str) -> httpx.Response:
    return await client.post("/api/documents/upload", files={"file": (name, f"what {name} says".encode())})


async def test_an_upload_without_room_is_507_and_leaves_nothing(app_dsn: str, office: Office, tmp_path: Path) -> None:
    """Searching and asking go on; with room the same upload is taken."""
    disk = Disk()
    parts = replace(make_parts(app_dsn, tmp_path), blobs=FolderBlobs(tmp_path / "blobs", disk.room(tmp_path)))
    async with serve(parts) as api:
        client = await api.sign_in(office.emails[Role.OPERATOR])
        assert (await send(client, "a.txt")).status_code == 202
        disk.free = 99 * MIB
        refused = await send(client, "b.txt")
        problem = refused.json()
        assert (refused.status_code, problem["code"]) == (507, "disk_full")
        assert refused.headers["content-type"] == "application/problem+json"
        assert f"99.0 MiB of 2.0 GiB are free at {tmp_path}" in problem["detail"]
        assert "AOS_DISK_FREE_BYTES" in problem["fix"] and "AOS_STATE_DIR" in problem["fix"]
        imported = await client.post("/api/skills/import-package", files={"file": ("p.skill", package())})
        assert (imported.status_code, imported.json()["code"]) == (507, "disk_full"), imported.text
        assert kept(tmp_path) == [""]
        assert (await client.get("/api/documents/")).json()["total"] == 1
        assert (await client.get("/api/jobs")).json()["total"] == 1
        assert (await client.post("/api/documents/search", json={"query": "lease"})).status_code == 200
        assert (await client.post("/api/ask", json={"question": "when?"})).status_code == 200
        disk.free = 100 * MIB
        assert (await send(client, "b.txt")).status_code == 202


async def test_a_full_disk_of_postgres_has_a_name(ledger: Bench, scope: Scope) -> None:
    with pytest.raises(DiskFull) as full:
        async with ledger.database.transaction(scope) as tx:
            await tx.run(f"do $$ begin {NO_ROOM} end $$")
    assert "could not extend file" in full.value.detail and full.value.status == 507


async def test_an_upload_that_postgres_cannot_write_leaves_no_bytes(
    app_dsn: str, admin_dsn: str, office: Office, tmp_path: Path
) -> None:
    with psycopg.connect(admin_dsn, autocommit=True) as admin:
        admin.execute(f"create function no_room() returns trigger language plpgsql as $$ begin {NO_ROOM} end $$")
        admin.execute("create trigger full_disk before insert on jobs execute function no_room()")
    async with serve(make_parts(app_dsn, tmp_path)) as api:
        client = await api.sign_in(office.emails[Role.OPERATOR])
        answer = await send(client, "a.txt")
        assert (answer.status_code, answer.json()["code"]) == (507, "disk_full")
        assert (await client.get("/api/documents/")).json()["total"] == 0
    assert kept(tmp_path) == []


async def test_without_room_no_job_begins_and_it_goes_on_by_itself(ledger: Bench, scope: Scope, tmp_path: Path) -> None:
    disk = Disk(free=MIB)
    job = await ledger.enqueue(scope, "scan", files(tmp_path))
    worker = JobLoop(ledger.jobs, ledger.runner(), ledger.recipe, FAST, "w", room=disk.room(tmp_path))
    working = asyncio.create_task(worker.work(JobLane.BULK))
    full = await until(ledger, scope, job, lambda row: [one.reason for one in row["waits"]][:1] == ["disk_full"])
    wait = full["waits"][0]
    assert "1.0 MiB of 2.0 GiB" in wait.detail and (await ledger.desk.show(scope, job))["attempts"] == 0
    disk.free = 1000 * MIB
    await until(ledger, scope, job, lambda row: row["state"] == "completed")
    worker.stop()
    await working
    assert (await ledger.desk.show(scope, job))["waits"] == []


@pytest.mark.parametrize("kind", ["scan", "reindex"])
async def test_a_job_that_meets_a_full_disk_waits_and_no_page_fails_for_it(
    ledger: Bench, scope: Scope, tmp_path: Path, kind: str
) -> None:
    """More often than a page may be tried, and than a re-index may be claimed in vain."""
    ledger.read = ledger.read.model_copy(update={"max_attempts": 2})
    if kind == "reindex":
        await ledger.scan(scope, Path(str(files(tmp_path)["root"])))
        ledger.stages = FullIndex(ledger)  # type: ignore[assignment]
        job = await ledger.enqueue(scope, "reindex", {"agent_id": None, "force": True})
    else:
        ledger.reader = Writing(full=5)
        job = await ledger.enqueue(scope, "scan", files(tmp_path))
    settings = FAST.model_copy(update={"vain_claims": 2})
    worker = JobLoop(ledger.jobs, ledger.runner(), ledger.recipe, settings, "w")
    for _ in range(5):
        assert await worker.once(JobLane.BULK)
        shown = await ledger.desk.show(scope, job)
        assert (shown["state"], shown["failures"]) == ("queued", {})
        assert "disk_full" in [one.reason for one in shown["waits"]]
    told = [e["payload"]["for"] for e in await ledger.desk.events_after(scope, job, 0) if e["type"] == "waiting"]
    assert told[0] == "disk_full"
    await worker.once(JobLane.BULK)
    shown = await ledger.desk.show(scope, job)
    assert (shown["state"], shown["failures"], shown["waits"]) == ("completed", {}, [])


async def test_attempts_are_given_back_once_postgres_can_write_again(
    ledger: Bench, scope: Scope, tmp_path: Path, admin_dsn: str
) -> None:
    """The disk is full for the refund, too: it is owed until there is room."""
    ledger.reader = Writing(full=1)
    job = await ledger.enqueue(scope, "scan", files(tmp_path))
    with psycopg.connect(admin_dsn, autocommit=True) as admin:
        admin.execute("create table disk (is_full bool)")
        admin.execute("insert into disk values (true)")
        admin.execute(
            "create function no_room() returns trigger language plpgsql security definer as $$ begin"
            f" if new.attempts < old.attempts and (select is_full from disk) then {NO_ROOM} end if; return new; end $$"
        )
        admin.execute("create trigger full_disk before update on units for each row execute function no_room()")
        working = asyncio.create_task(
            JobLoop(ledger.jobs, ledger.runner(), ledger.recipe, FAST, "w").once(JobLane.BULK)
        )
        await asyncio.sleep(1.0)
        assert not working.done()
        admin.execute("update disk set is_full = false")
        async with asyncio.timeout(20):
            await working
    units = await ledger.rows(scope, "select max(attempts) as most from units where status = 'pending'")
    assert units == [{"most": 0}] and (await ledger.desk.show(scope, job))["state"] == "queued"
