"""The ledger: nothing lost, nothing doubled, whoever dies."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cluster.basics.errors import Conflict, LeaseLost, Unavailable
from cluster.basics.scope import Scope
from cluster.state.work.jobs import JobId, JobLane, JobState, UnitOutcome, UnitStatus, WorkUnit
from pipelines.documents.ingest.job_plan import READ
from tests.fakes.ledger import AwayEmbedder, Bench, LetterEmbedder, new_workspace
from tests.fakes.reading import WorkerKilled


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "scans"
    root.mkdir()
    for name in "abc":
        text = "\f".join(f"Document {name}, page {n}. It tells of the {name * 5} matter." for n in range(1, 11))
        (root / f"{name}.txt").write_text(text)
    return root


async def page_rows(ledger: Bench, scope: Scope) -> list[tuple[str, int]]:
    rows = await ledger.rows(
        scope, "select d.filename, p.number from pages p join documents d on d.id = p.document_id order by 1, 2"
    )
    return [(row["filename"], row["number"]) for row in rows]


async def chunk_ids(ledger: Bench, scope: Scope) -> set[str]:
    return {row["id"] for row in await ledger.rows(scope, "select id from document_chunks")}


async def test_in_16_every_page_of_a_folder_is_read_once_and_its_documents_are_completed(
    ledger: Bench, scope: Scope, folder: Path
) -> None:
    job = await ledger.scan(scope, folder)
    shown = await ledger.desk.show(scope, job)
    assert shown["state"] == "completed"
    assert shown["progress"][READ] == {"expected": 30, "done": 30, "failed": 0, "unchanged": 0}
    assert await page_rows(ledger, scope) == [(f"{name}.txt", n) for name in "abc" for n in range(1, 11)]
    documents = await ledger.rows(scope, "select status, has_embeddings, chunk_count from documents")
    assert all(d["status"] == "completed" and d["has_embeddings"] and d["chunk_count"] > 0 for d in documents)


async def test_ch_05_chunks_carry_their_metadata(ledger: Bench, scope: Scope, folder: Path) -> None:
    await ledger.scan(scope, folder)
    (row,) = await ledger.rows(
        scope, "select metadata, document_id from document_chunks where metadata->>'source_file' = 'a.txt' limit 1"
    )
    metadata = row["metadata"]
    assert metadata["doc_id"] == row["document_id"]
    assert metadata.keys() == {
        "doc_id",
        "doc_type",
        "source_file",
        "upload_date",
        "page_number",
        "chunk_index",
        "chunking_method",
        "metrics",
    }


async def test_the_same_folder_again_reads_nothing(ledger: Bench, scope: Scope, folder: Path) -> None:
    await ledger.scan(scope, folder)
    before = dict(ledger.reader.readings)
    job = await ledger.scan(scope, folder)
    shown = await ledger.desk.show(scope, job)
    assert ledger.reader.readings == before
    assert shown["progress"]["survey"]["unchanged"] == 3
    assert READ not in shown["progress"]


async def test_a_killed_worker_loses_nothing_and_doubles_nothing(
    ledger: Bench, scope: Scope, folder: Path, admin_dsn: str, tmp_path: Path
) -> None:
    await ledger.enqueue(scope, "scan", {"root": str(folder), "agent_id": None})
    ledger.reader.die_before = lambda name, number: (name, number) == ("b.txt", 6)
    job = await ledger.claim(lease=0.05)
    with pytest.raises(WorkerKilled):
        await ledger.runner().turn(job, await ledger.recipe(), lambda: False)
    ledger.reader.die_before = lambda name, number: False
    await asyncio.sleep(0.1)
    await ledger.run(owner="worker-2")
    assert len(await page_rows(ledger, scope)) == 30
    assert max(ledger.reader.readings.values()) == 1  # pages are written as they come: none was read again
    other = await new_workspace(admin_dsn)
    await ledger.scan(other, folder)
    assert len(await chunk_ids(ledger, scope)) == len(await chunk_ids(ledger, other))
    assert not await chunk_ids(ledger, scope) & await chunk_ids(ledger, other)  # no id crosses a workspace


async def test_a_worker_that_wakes_after_its_lease_is_refused(ledger: Bench, scope: Scope, folder: Path) -> None:
    await ledger.enqueue(scope, "scan", {"root": str(folder), "agent_id": None})
    asleep = await ledger.claim("sleeper", lease=0.01)
    await asyncio.sleep(0.05)
    awake = await ledger.claim("other")
    assert awake.lease.job == asleep.lease.job
    with pytest.raises(LeaseLost):
        async with ledger.jobs.writing(asleep.lease) as tx:
            await ledger.jobs.expect(tx, asleep.lease, READ, [WorkUnit("k", "s")])
    with pytest.raises(LeaseLost):
        await ledger.jobs.heartbeat(asleep.lease, 10)
    assert await ledger.jobs.pending(awake.lease, READ, 10) == []


async def test_a_page_that_fails_leaves_its_document_partial(ledger: Bench, scope: Scope, tmp_path: Path) -> None:
    folder = tmp_path / "some"
    folder.mkdir()
    (folder / "half.txt").write_text("A good page about bridges.\fFAIL\fAnother good page.")
    (folder / "none.txt").write_text("")
    job = await ledger.scan(scope, folder)
    shown = await ledger.desk.show(scope, job)
    assert shown["state"] == "partial"
    assert shown["failures"] == {"corrupt": 1, "empty": 1}
    statuses = {r["filename"]: r["status"] for r in await ledger.rows(scope, "select filename, status from documents")}
    assert statuses == {"half.txt": "partial", "none.txt": "failed"}
    assert any("bridges" in r["text"] for r in await ledger.rows(scope, "select text from document_chunks"))


async def test_a_failure_that_may_pass_is_tried_again(ledger: Bench, scope: Scope, tmp_path: Path) -> None:
    folder = tmp_path / "flaky"
    folder.mkdir()
    (folder / "f.txt").write_text("one\fFLAKY two\fthree")
    job = await ledger.scan(scope, folder)
    assert (await ledger.desk.show(scope, job))["state"] == "completed"
    assert ledger.reader.readings["f.txt", 2] == 2


async def test_a_page_that_ends_its_worker_every_time_is_given_up(ledger: Bench, scope: Scope, folder: Path) -> None:
    job = await ledger.enqueue(scope, "scan", {"root": str(folder), "agent_id": None})
    ledger.reader.die_before = lambda name, number: (name, number) == ("c.txt", 10)
    for _ in range(2 * ledger.read.max_attempts - 1):  # the last ones alone
        claimed = await ledger.claim(lease=0.01)
        with pytest.raises(WorkerKilled):
            await ledger.runner().turn(claimed, await ledger.recipe(), lambda: False)
        await asyncio.sleep(0.05)
    await ledger.run()
    shown = await ledger.desk.show(scope, job)
    assert (shown["state"], shown["failures"]) == ("partial", {"crashed": 1})
    assert len(await page_rows(ledger, scope)) == 30


async def test_retry_reads_only_what_failed(ledger: Bench, scope: Scope, tmp_path: Path) -> None:
    folder = tmp_path / "again"
    folder.mkdir()
    path = folder / "f.txt"
    path.write_text("one FAIL\ftwo")
    job = await ledger.scan(scope, folder)
    before = ledger.reader.readings["f.txt", 2]
    async with ledger.database.transaction(scope) as tx:
        assert await ledger.desk.retry(tx, scope, job, last_stage="index") == 1
    await ledger.run()
    assert ledger.reader.readings["f.txt", 1] == 2
    assert ledger.reader.readings["f.txt", 2] == before


async def test_a_changed_file_is_a_new_version_and_the_old_chunks_go(ledger: Bench, scope: Scope, folder: Path) -> None:
    await ledger.scan(scope, folder)
    (folder / "a.txt").write_text("Entirely new text about lighthouses.")
    job = await ledger.scan(scope, folder)
    assert (await ledger.desk.show(scope, job))["progress"][READ]["expected"] == 1
    texts = await ledger.rows(
        scope, "select c.text from document_chunks c join documents d on d.id = c.document_id where filename = 'a.txt'"
    )
    assert [r["text"] for r in texts] == ["Entirely new text about lighthouses."]


async def test_a_setting_that_matters_reads_again_and_only_then(ledger: Bench, scope: Scope, folder: Path) -> None:
    await ledger.scan(scope, folder)
    ledger.read_fingerprint = "reader-2"
    job = await ledger.scan(scope, folder)
    assert (await ledger.desk.show(scope, job))["progress"][READ]["done"] == 30


async def test_chunks_say_how_their_pages_were_read_the_last_time(ledger: Bench, scope: Scope, folder: Path) -> None:
    """Text that another engine reads the same keeps its chunk, which then names that engine."""
    await ledger.scan(scope, folder)
    ids = await chunk_ids(ledger, scope)
    async with ledger.database.transaction(scope) as tx:
        await tx.run("update document_chunks set engine = 'another', confidence = 0.5")
    ledger.read_fingerprint = "reader-2"
    await ledger.scan(scope, folder)
    assert await chunk_ids(ledger, scope) == ids
    assert await ledger.rows(scope, "select distinct engine, confidence from document_chunks") == await ledger.rows(
        scope, "select distinct engine, confidence from pages"
    )


async def test_gw_15_a_reindex_reads_no_file_and_switches_at_the_end(ledger: Bench, scope: Scope, folder: Path) -> None:
    await ledger.scan(scope, folder)
    before, readings = await ledger.rows(scope, "select generation_id from workspaces"), dict(ledger.reader.readings)
    ids = await chunk_ids(ledger, scope)
    await ledger.enqueue(scope, "reindex", {"agent_id": None})
    await ledger.run()
    after = await ledger.rows(scope, "select generation_id, previous_generation_id from workspaces")
    assert ledger.reader.readings == readings
    assert after[0]["generation_id"] != before[0]["generation_id"] == after[0]["previous_generation_id"]
    assert await chunk_ids(ledger, scope) == ids
    counts = await ledger.rows(scope, "select generation_id, count(*) as n from embeddings group by 1")
    assert {c["n"] for c in counts} == {len(ids)}


async def test_x_04_another_embedder_is_refused_until_a_reindex(
    ledger: Bench, scope: Scope, folder: Path, tmp_path: Path
) -> None:
    await ledger.scan(scope, folder)
    ledger.embedder.name = "other letters"
    job = await ledger.enqueue(scope, "scan", {"root": str(folder), "agent_id": None})
    with pytest.raises(Conflict, match="another embedder"):
        await ledger.run()
    async with ledger.database.transaction(scope) as tx:
        await ledger.desk.cancel(tx, scope, job)
    await ledger.enqueue(scope, "reindex", {"agent_id": None}, JobLane.SMALL)
    await ledger.run(JobLane.SMALL)
    (row,) = await ledger.rows(
        scope, "select g.embedder from workspaces w join generations g on g.id = w.generation_id"
    )
    assert row["embedder"] == "other letters"


async def test_a_document_that_arrives_during_a_reindex_is_in_the_next_generation(
    ledger: Bench, scope: Scope, folder: Path, tmp_path: Path
) -> None:
    await ledger.scan(scope, folder)
    await ledger.enqueue(scope, "reindex", {"agent_id": None})
    rebuilding = await ledger.claim()
    stop_after_plan = iter([False, True])
    turn = await ledger.runner().turn(rebuilding, await ledger.recipe(), lambda: next(stop_after_plan, True))
    assert not turn.ended
    late = tmp_path / "late"
    late.mkdir()
    (late / "late.txt").write_text("A late arrival about harbours.")
    await ledger.enqueue(scope, "scan", {"root": str(late), "agent_id": None}, JobLane.SMALL)
    await ledger.run(JobLane.SMALL)
    job = await ledger.jobs.reload(rebuilding)
    while not (await ledger.runner().turn(job, await ledger.recipe(), lambda: False)).ended:
        job = await ledger.jobs.reload(job)
    (row,) = await ledger.rows(
        scope,
        "select count(*) as n from embeddings e join workspaces w on w.generation_id = e.generation_id"
        " join documents d on d.id = e.document_id where d.filename = 'late.txt'",
    )
    assert row["n"] == 1


async def test_tenants_take_turns(ledger: Bench, scope: Scope, admin_dsn: str) -> None:
    other = await new_workspace(admin_dsn)
    for owner in (scope, scope, scope, other):
        await ledger.enqueue(owner, "scan", {"root": "/nowhere", "agent_id": None})
    first = await ledger.claim()
    assert first.lease.scope.tenant == scope.tenant
    assert await ledger.jobs.end_turn(first, 100)  # somebody else waits
    second = await ledger.claim()
    assert second.lease.scope.tenant == other.tenant


async def test_an_idempotency_key_names_one_request(ledger: Bench, scope: Scope) -> None:
    async with ledger.database.transaction(scope) as tx:
        first = await ledger.jobs.enqueue(tx, scope, "scan", JobLane.BULK, {"root": "/a"}, "key")
        again = await ledger.jobs.enqueue(tx, scope, "scan", JobLane.BULK, {"root": "/a"}, "key")
        assert (again.job, first.fresh, again.fresh) == (first.job, True, False)
        with pytest.raises(Conflict):
            await ledger.jobs.enqueue(tx, scope, "scan", JobLane.BULK, {"root": "/b"}, "key")


async def test_events_of_a_job_have_no_gap(ledger: Bench, scope: Scope, folder: Path) -> None:
    job = await ledger.scan(scope, folder)
    events = await ledger.desk.events_after(scope, job, 0)
    assert [e["seq"] for e in events] == list(range(1, len(events) + 1))
    assert (events[0]["type"], events[-1]["type"]) == ("queued", "completed")


async def test_settling_twice_counts_once(ledger: Bench, scope: Scope) -> None:
    await ledger.enqueue(scope, "scan", {"root": "/nowhere", "agent_id": None})
    job = await ledger.claim()
    for _ in range(2):
        async with ledger.jobs.writing(job.lease) as tx:
            await ledger.jobs.expect(tx, job.lease, READ, [WorkUnit("k", "s")])
            await ledger.jobs.settle(tx, job.lease, READ, [UnitOutcome("k", UnitStatus.DONE)])
    progress = (await ledger.jobs.tally(job.lease)).progress
    assert progress[READ] == {"expected": 1, "done": 1, "failed": 0, "unchanged": 0}


async def test_a_cancelled_job_can_be_resumed(ledger: Bench, scope: Scope, folder: Path) -> None:
    job = await ledger.enqueue(scope, "scan", {"root": str(folder), "agent_id": None})
    async with ledger.database.transaction(scope) as tx:
        await ledger.desk.cancel(tx, scope, job)
    assert await ledger.jobs.claim("w", JobLane.BULK, 1) is None
    async with ledger.database.transaction(scope) as tx:
        await ledger.desk.resume(tx, scope, job)
    assert await ledger.run() == job
    assert (await ledger.desk.show(scope, JobId(job)))["state"] == "completed"


async def test_bytes_that_come_back_are_found_again(ledger: Bench, scope: Scope, tmp_path: Path) -> None:
    folder = tmp_path / "back"
    folder.mkdir()
    for text in ("First text about anchors.", "Second text about beacons.", "First text about anchors."):
        (folder / "f.txt").write_text(text)
        await ledger.scan(scope, folder)
        rows = await ledger.rows(scope, "select c.text, d.status from document_chunks c join documents d on true")
        assert [(row["text"], row["status"]) for row in rows] == [(text, "completed")]


async def test_restarts_do_not_make_good_pages_look_bad(ledger: Bench, scope: Scope, folder: Path) -> None:
    await ledger.enqueue(scope, "scan", {"root": str(folder), "agent_id": None})
    for deaths in range(1, 3 * ledger.read.max_attempts):
        ledger.reader.die_before = lambda name, number, at=deaths: sum(ledger.reader.readings.values()) >= at
        job = await ledger.claim(lease=0.01)
        with contextlib.suppress(WorkerKilled):
            await ledger.runner().turn(job, await ledger.recipe(), lambda: False)
        await asyncio.sleep(0.03)
    ledger.reader.die_before = lambda name, number: False
    shown = await ledger.desk.show(scope, await ledger.run())
    assert (shown["state"], shown["failures"]) == ("completed", {})


async def test_a_page_that_is_alone_when_ray_dies_is_no_page_that_ends_its_worker(
    ledger: Bench, scope: Scope, folder: Path
) -> None:
    """Raylet and GCS die one after the other, and a page is in flight each time."""
    job = await ledger.enqueue(scope, "scan", {"root": str(folder), "agent_id": None})
    ledger.reader.die_before = lambda name, number: (name, number) == ("c.txt", 10)
    for _ in range(2 * ledger.read.max_attempts - 2):
        with pytest.raises(WorkerKilled):
            await ledger.runner().turn(await ledger.claim(lease=0.01), await ledger.recipe(), lambda: False)
        await asyncio.sleep(0.05)
    ledger.reader.die_before = lambda name, number: False
    await ledger.run()
    shown = await ledger.desk.show(scope, job)
    assert (shown["state"], shown["failures"]) == ("completed", {})


async def test_a_stop_in_good_order_uses_up_no_attempt(ledger: Bench, scope: Scope, folder: Path) -> None:
    await ledger.enqueue(scope, "scan", {"root": str(folder), "agent_id": None})
    job = await ledger.claim()
    while not await ledger.rows(scope, "select 1 from pages"):
        asked = iter([False] * 4)
        await ledger.runner().turn(job, await ledger.recipe(), lambda asked=asked: next(asked, True))
        job = await ledger.jobs.reload(job)
    rows = await ledger.rows(
        scope, "select max(attempts) as most from units where stage = 'read' and status = 'pending'"
    )
    assert rows[0]["most"] == 0


async def test_hostile_names_are_failures_and_the_rest_is_read(ledger: Bench, scope: Scope, tmp_path: Path) -> None:
    root = tmp_path / "odd"
    root.mkdir()
    (root / "good.txt").write_text("A good page about orchards.")
    (root / "loop").symlink_to("loop")
    latin = root / os.fsdecode(b"caf\xe9.txt")  # no UTF-8
    latin.write_text("A page under a strange name.")
    job = await ledger.scan(scope, root)
    shown = await ledger.desk.show(scope, job)
    assert (shown["state"], shown["progress"]["survey"]["expected"]) == ("partial", 3)
    texts = {row["text"] for row in await ledger.rows(scope, "select text from document_chunks")}
    assert texts == {"A good page about orchards.", "A page under a strange name."}


async def test_em_07_without_its_embedder_a_document_is_found_by_its_words_and_embedded_later(
    ledger: Bench, scope: Scope, folder: Path
) -> None:
    ledger.embedder = AwayEmbedder()
    with pytest.raises(Unavailable):
        await ledger.scan(scope, folder)
    rows = await ledger.rows(scope, "select status, chunk_count from documents")
    assert rows and all(row["status"] == "embedding_pending" and row["chunk_count"] for row in rows)
    await ledger.rows(scope, "update jobs set state = 'cancelled' returning id")
    ledger.embedder = LetterEmbedder()
    await ledger.enqueue(scope, "embed", {"agent_id": None})
    await ledger.run()
    assert {row["status"] for row in await ledger.rows(scope, "select status from documents")} == {"completed"}


async def test_a_reindex_without_its_embedder_leaves_readers_where_they_are(
    ledger: Bench, scope: Scope, folder: Path
) -> None:
    await ledger.scan(scope, folder)
    (before,) = await ledger.rows(scope, "select generation_id from workspaces")
    ledger.embedder = AwayEmbedder()
    await ledger.enqueue(scope, "reindex", {"agent_id": None})
    job = await ledger.claim()
    with pytest.raises(Unavailable):
        await ledger.runner().turn(job, await ledger.recipe(), lambda: False)
    assert await ledger.rows(scope, "select generation_id from workspaces") == [before]
    await ledger.jobs.release(job.lease)
    ledger.embedder = LetterEmbedder()
    await ledger.run()
    (after,) = await ledger.rows(scope, "select generation_id from workspaces")
    (held,) = await ledger.rows(
        scope, "select count(*) as n from embeddings where generation_id = %(g)s", g=after["generation_id"]
    )
    assert after != before and held["n"] == len(await chunk_ids(ledger, scope))


async def test_text_that_is_read_during_a_reindex_is_in_the_next_generation(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    folder = tmp_path / "late-page"
    folder.mkdir()
    (folder / "f.txt").write_text("An early page about mills.\fFAIL until retried, then about quarries")
    first = await ledger.scan(scope, folder)
    await ledger.enqueue(scope, "reindex", {"agent_id": None})
    rebuilding = await ledger.claim()
    answers = iter([False])
    await ledger.runner().turn(rebuilding, await ledger.recipe(), lambda: next(answers, True))
    ledger.reader.readings.clear()
    ledger.reader.fail_word = "NEVER"
    async with ledger.database.transaction(scope) as tx:
        await ledger.desk.retry(tx, scope, first, last_stage="index")
    await ledger.run(owner="worker-2")
    job = await ledger.jobs.reload(rebuilding)
    while not (await ledger.runner().turn(job, await ledger.recipe(), lambda: False)).ended:
        job = await ledger.jobs.reload(job)
    rows = await ledger.rows(
        scope,
        "select string_agg(c.text, ' ') as text from embeddings e"
        " join workspaces w on w.generation_id = e.generation_id join document_chunks c on c.id = e.chunk_id",
    )
    assert "quarries" in rows[0]["text"]


async def test_an_older_reindex_that_is_resumed_loses_nothing(ledger: Bench, scope: Scope, folder: Path) -> None:
    await ledger.scan(scope, folder)
    old = await ledger.enqueue(scope, "reindex", {"agent_id": None})
    job = await ledger.claim()
    answers = iter([False])
    await ledger.runner().turn(job, await ledger.recipe(), lambda: next(answers, True))
    await ledger.jobs.finish(job.lease, JobState.CANCELLED)
    for _ in range(2):
        await ledger.enqueue(scope, "reindex", {"agent_id": None})
        await ledger.run()
    async with ledger.database.transaction(scope) as tx:
        await ledger.desk.resume(tx, scope, old)
    await ledger.run()
    (held,) = await ledger.rows(
        scope, "select count(*) as n from embeddings e join workspaces w on w.generation_id = e.generation_id"
    )
    assert held["n"] == len(await chunk_ids(ledger, scope)) > 0


async def test_an_upload_that_is_deleted_before_it_is_read_stays_deleted(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    async def bytes_of() -> AsyncIterator[bytes]:
        yield b"Never to be seen."

    location = await ledger.blobs.put(scope.tenant, scope.workspace, bytes_of())
    payload = {"files": [{"origin": "upload:f.txt", "filename": "f.txt", "location": location}], "agent_id": None}
    await ledger.enqueue(scope, "upload", payload, JobLane.SMALL)
    async with ledger.database.transaction(scope) as tx:
        await tx.run("delete from documents")
    await ledger.run(JobLane.SMALL)
    assert await ledger.rows(scope, "select 1 from documents") == []
    assert not ledger.blobs.path(location).exists()
