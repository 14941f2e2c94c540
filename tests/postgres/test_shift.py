"""A shift: leases kept alive, turns given up, errors with a name ending the job and not the worker."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg

from cluster.basics.errors import Unavailable
from cluster.basics.scope import Scope
from cluster.models.model_errors import Unusable
from cluster.models.ports import EmbeddingLane as ModelLane
from cluster.state.settings.restart_requests import RestartRequests
from cluster.state.work.jobs import JobLane
from configs.keys import Part
from configs.sections import WorkerSettings
from pipelines.documents.document import Page
from pipelines.documents.index.chunk_and_embed import VersionIndexer
from pipelines.documents.index.generations import IndexRecipe
from pipelines.documents.ingest.job_loop import JobLoop
from pipelines.documents.ingest.stages import HereStages
from pipelines.documents.sources.sniff import Kind
from tests.fakes.bent import WordEmbedder
from tests.fakes.ledger import Bench, new_workspace
from tests.fakes.models import MovingEmbedder
from tests.fakes.reading import FormFeedReader

FAST = WorkerSettings(lease_seconds=0.6, heartbeat_seconds=0.1, poll_seconds=0.02)


def shift(ledger: Bench, owner: str = "w") -> JobLoop:
    return JobLoop(ledger.jobs, ledger.runner(), ledger.recipe, FAST, owner)


class SlowReader(FormFeedReader):
    """Takes longer for a page than a lease lasts."""

    def read(
        self,
        path: Path,
        kind: Kind,
        numbers: Sequence[int],
        *,
        encoding: str | None = None,
        language: str | None = None,
    ) -> Iterator[Page]:
        import time

        for page in super().read(path, kind, numbers):
            time.sleep(0.25)
            yield page


def files(tmp_path: Path, pages: int = 6) -> str:
    folder = tmp_path / "in"
    folder.mkdir(exist_ok=True)
    (folder / "f.txt").write_text("\f".join(f"page {n} of something" for n in range(pages)))
    return str(folder)


async def test_slow_progress_keeps_its_lease(ledger: Bench, scope: Scope, tmp_path: Path) -> None:
    ledger.reader = SlowReader()
    job = await ledger.enqueue(scope, "scan", {"root": files(tmp_path), "agent_id": None})
    one, two = shift(ledger, "one"), shift(ledger, "two")
    first = asyncio.create_task(one.once(JobLane.BULK))
    await asyncio.sleep(1.0)  # longer than the lease
    assert await two.once(JobLane.BULK) is False
    await first
    assert (await ledger.desk.show(scope, job))["state"] == "completed"


async def test_a_job_that_cannot_be_done_ends_with_its_reason(ledger: Bench, scope: Scope) -> None:
    job = await ledger.enqueue(scope, "scan", {"root": "/no/such/folder", "agent_id": None})
    assert await shift(ledger).once(JobLane.BULK)
    shown = await ledger.desk.show(scope, job)
    assert shown["state"] == "failed"
    assert "/no/such/folder" in shown["error"]


async def test_a_lane_waits_for_an_embedding_server_that_refuses_the_key(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    """The worker stays, and the job is done once the key is right again."""
    refusals = iter([Unusable("the key is refused"), Unavailable("it is restarted")])

    async def recipe(anew: bool) -> IndexRecipe:
        for why in refusals:
            raise why
        return await ledger.recipe()

    job = await ledger.enqueue(scope, "scan", {"root": files(tmp_path, 1), "agent_id": None})
    one = JobLoop(ledger.jobs, ledger.runner(), recipe, FAST, "w")
    work = asyncio.create_task(one.work(JobLane.BULK))
    async with asyncio.timeout(20):
        while (await ledger.desk.show(scope, job))["state"] != "completed":
            assert not work.done()
            await asyncio.sleep(0.05)
    one.stop()
    await work


async def test_a_worker_that_remembers_the_former_embedder_asks_it_anew_at_every_job(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    """The embedder was changed by settings while its replicas and the worker's were replaced side by side."""
    await ledger.scan(scope, Path(files(tmp_path, 3)))
    before, after = ledger.embedder, WordEmbedder("next")
    worker = MovingEmbedder(before, after, remembers=True)
    ledger.embedder = worker  # type: ignore[assignment]
    assert (await ledger.recipe()).embedder.name == "letters"
    worker.move()
    # Bulk work is done in processes of its own: they know what the embedder is, whatever this one remembers.
    ledger.stages = HereStages(ledger.reader, VersionIndexer(ledger.store, after, ledger.chunk, ModelLane.BULK))
    assert (await ledger.recipe()).embedder.name == "letters", "it still tells of the former one"
    job = await ledger.enqueue(scope, "reindex", {"agent_id": None, "force": True})
    await shift(ledger).once(JobLane.BULK)
    shown = await ledger.desk.show(scope, job)
    assert (shown["state"], shown["error"]) == ("completed", None)
    live = await ledger.rows(
        scope,
        "select g.embedder from workspaces w join generations g on g.id = w.generation_id where w.id = %(w)s",
        w=scope.workspace,
    )
    assert [row["embedder"] for row in live] == ["next"]


def away() -> None:
    raise Unavailable("away")


async def test_a_reindex_without_progress_ends_with_its_reason(ledger: Bench, scope: Scope, tmp_path: Path) -> None:
    """What settles something begins the count anew; other kinds of jobs wait for ever, as before."""
    await ledger.scan(scope, Path(files(tmp_path, 3)))
    ledger.embedder = WordEmbedder("next", before=away)  # type: ignore[assignment]
    job = await ledger.enqueue(scope, "reindex", {"agent_id": None})
    settings = FAST.model_copy(update={"vain_claims": 3})
    worker = JobLoop(ledger.jobs, ledger.runner(), ledger.recipe, settings, "w")
    states = []
    for _ in range(4):
        await worker.once(JobLane.BULK)
        states.append((await ledger.desk.show(scope, job))["state"])
    assert states == ["queued", "queued", "failed", "failed"]
    error = (await ledger.desk.show(scope, job))["error"]
    assert "no progress in 3 claims" in error and "readers keep the index they have" in error
    async with ledger.database.transaction(scope) as tx:
        await ledger.desk.resume(tx, scope, job)
    await worker.once(JobLane.BULK)
    assert (await ledger.desk.show(scope, job))["state"] == "queued", "whoever resumes it gives it new claims"


async def test_a_scan_waits_as_long_as_the_embedder_is_away(ledger: Bench, scope: Scope, tmp_path: Path) -> None:
    """Only a re-index ends for want of progress: what people sent in is not given up."""
    job = await ledger.enqueue(scope, "scan", {"root": files(tmp_path, 1), "agent_id": None})
    asked = 0

    async def recipe(anew: bool) -> IndexRecipe:
        nonlocal asked
        asked += anew
        if anew:
            raise Unusable("the key is refused since the last look")
        return await ledger.recipe()

    worker = JobLoop(ledger.jobs, ledger.runner(), recipe, FAST.model_copy(update={"vain_claims": 2}), "w")
    for _ in range(5):
        await worker.once(JobLane.BULK)
    assert (await ledger.desk.show(scope, job))["state"] == "queued" and asked == 5


async def test_who_cancels_a_job_does_not_wait_until_what_it_needs_is_back(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    job = await ledger.enqueue(scope, "scan", {"root": files(tmp_path, 1), "agent_id": None})

    async def recipe(anew: bool) -> IndexRecipe:
        if not anew:
            return await ledger.recipe()
        async with ledger.database.transaction(scope) as tx:
            await ledger.desk.cancel(tx, scope, job)
        await asyncio.sleep(3 * FAST.heartbeat_seconds)
        raise Unavailable("away")

    await JobLoop(ledger.jobs, ledger.runner(), recipe, FAST, "w").once(JobLane.BULK)
    assert (await ledger.desk.show(scope, job))["state"] == "cancelled"


async def test_a_worker_that_must_go_gives_its_job_back_at_once(ledger: Bench, scope: Scope, tmp_path: Path) -> None:
    """It is in the middle of something long: the next one neither waits for the lease nor takes it for a crash."""
    ledger.reader = SlowReader()
    job = await ledger.enqueue(scope, "scan", {"root": files(tmp_path, 12), "agent_id": None})
    settings = FAST.model_copy(update={"lease_seconds": 600})
    going = JobLoop(ledger.jobs, ledger.runner(), ledger.recipe, settings, "going")
    working = asyncio.create_task(going.once(JobLane.BULK))
    await asyncio.sleep(0.6)
    await going.give_back()
    attempts = await ledger.rows(scope, "select max(attempts) as most from units where status = 'pending'")
    assert (await ledger.desk.show(scope, job))["state"] == "queued" and attempts == [{"most": 0}]
    ledger.reader = FormFeedReader()
    assert await shift(ledger, "next").once(JobLane.BULK)
    assert (await ledger.desk.show(scope, job))["state"] == "completed"
    await working
    assert (await ledger.desk.show(scope, job))["progress"]["read"]["done"] == 12


async def test_a_reindex_begins_after_a_restart_that_is_under_way(
    ledger: Bench, scope: Scope, tmp_path: Path, admin_dsn: str
) -> None:
    """What it did meanwhile would be done again. Others do not wait; a restart that nobody takes up holds nobody."""
    restarts, parts = RestartRequests(ledger.database), (Part.EMBEDDING, Part.WORKER)
    worker = JobLoop(ledger.jobs, ledger.runner(), ledger.recipe, FAST, "w", lambda: restarts.under_way(parts))
    with psycopg.connect(admin_dsn, autocommit=True) as admin:
        admin.execute("insert into restarts (parts, taken_at) values ('{embedding,gateway}', clock_timestamp())")
        admin.execute("insert into restarts (parts) values ('{gateway}')")
        await ledger.enqueue(scope, "scan", {"root": files(tmp_path, 2), "agent_id": None})
        async with asyncio.timeout(20):
            await worker.once(JobLane.BULK)
        job = await ledger.enqueue(scope, "reindex", {"agent_id": None, "force": True})
        working = asyncio.create_task(worker.once(JobLane.BULK))
        await asyncio.sleep(1.5)
        assert (await ledger.desk.show(scope, job))["progress"] == {}, "nothing is planned yet"
        assert [e["payload"] for e in await ledger.desk.events_after(scope, job, 0) if e["type"] == "waiting"] == [
            {"for": "a restart that is under way"}
        ]
        admin.execute("update restarts set done_at = clock_timestamp() where taken_at is not null")
        await working
        assert (await ledger.desk.show(scope, job))["state"] == "completed"
        admin.execute(
            "insert into restarts (parts, asked_at) values ('{worker}', clock_timestamp() - interval '1 min')"
        )
        assert not await restarts.under_way(parts)


async def test_a_cancelled_job_stops_between_pages(ledger: Bench, scope: Scope, tmp_path: Path) -> None:
    ledger.reader = SlowReader()
    job = await ledger.enqueue(scope, "scan", {"root": files(tmp_path, 100), "agent_id": None})
    working = asyncio.create_task(shift(ledger).once(JobLane.BULK))
    shown: dict[str, Any] = {"progress": {}}
    async with asyncio.timeout(60):
        while not shown["progress"].get("read", {}).get("done"):
            await asyncio.sleep(0.02)
            shown = await ledger.desk.show(scope, job)
    async with ledger.database.transaction(scope) as tx:
        await ledger.desk.cancel(tx, scope, job)
    await working
    shown = await ledger.desk.show(scope, job)
    assert shown["state"] == "cancelled"
    assert 0 < shown["progress"]["read"]["done"] < 100, "to read all of them takes 25 s"


async def test_in_01_a_large_upload_moves_to_the_bulk_lane(ledger: Bench, scope: Scope, tmp_path: Path) -> None:
    """IN-01: small uploads are served before bulk, and a large one does not block them."""
    ledger.bulk_seconds = 2
    folder = Path(files(tmp_path, 60))
    payload = {"files": [{"origin": "upload:f.txt", "filename": "f.txt", "location": f"file:{folder / 'f.txt'}"}]}
    job = await ledger.enqueue(scope, "upload", payload, JobLane.SMALL)
    await shift(ledger).once(JobLane.SMALL)
    assert (await ledger.desk.show(scope, job))["lane"] == "bulk"
    (moved,) = [one["payload"] for one in await ledger.desk.events_after(scope, job, 0) if one["type"] == "moved"]
    assert moved == {"lane": "bulk", "why": "about 3 s of work are left (60 pages), more than 2 s"}
    await shift(ledger).once(JobLane.BULK)
    assert (await ledger.desk.show(scope, job))["state"] == "completed"


async def test_two_tenants_share_a_worker(ledger: Bench, scope: Scope, admin_dsn: str, tmp_path: Path) -> None:
    ledger.read = ledger.read.model_copy(update={"batch_pages": 2})
    other = await new_workspace(admin_dsn)
    big = await ledger.enqueue(scope, "scan", {"root": files(tmp_path, 20), "agent_id": None})
    small = await ledger.enqueue(other, "scan", {"root": files(tmp_path, 20), "agent_id": None})
    worker = shift(ledger)
    served = []
    for _ in range(6):
        await worker.once(JobLane.BULK)
        shown = [await ledger.desk.show(scope, big), await ledger.desk.show(other, small)]
        served.append([s["progress"].get("read", {}).get("done", 0) for s in shown])
    assert all(abs(a - b) <= 2 for a, b in served)


async def test_a_worker_that_comes_back_too_late_writes_nothing_and_its_readers_see_it(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    ledger.reader = SlowReader()
    job = await ledger.enqueue(scope, "scan", {"root": files(tmp_path), "agent_id": None})
    late = asyncio.create_task(shift(ledger, "late").once(JobLane.BULK))
    await asyncio.sleep(0.4)
    await ledger.rows(scope, "update jobs set fence = fence + 1, owner = 'other' returning id")  # it was taken over
    await late
    events = await ledger.desk.events_after(scope, job, 0)
    refused = [e["payload"] for e in events if e["type"] == "write_refused"]
    assert refused and all(payload["owner"] == "late" for payload in refused)
    assert (await ledger.desk.show(scope, job))["state"] == "running"
