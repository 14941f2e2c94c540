"""Uploads in parts: any order, twice, by two replicas, after cuts; compared at the end, swept when nothing comes."""

import asyncio
import base64
import hashlib
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from cluster.basics.disk import DiskRoom, DiskUsage
from cluster.basics.scope import Role
from cluster.state.limits.limiter import Limiter
from cluster.state.metrics_store import MetricsStore
from cluster.state.work.jobs import JobLane
from configs.sections import ReadSettings
from configs.sections_blobs import UploadSettings
from configs.sections_limits import LimitSettings
from pipelines.documents.store.blobs import FolderBlobs
from pipelines.documents.store.uploads.part_store import FolderParts
from pipelines.documents.store.uploads.upload_sweep import UploadSweeper
from tests.fakes.http import Api, Clock, Office, make_parts, open_office, serve
from tests.fakes.ledger import Bench

PART = 1_000
TEXT = "".join(f"Line {n} of the harbour's book says what ship {n * 7} carried.\n" for n in range(60)).encode()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def api(app_dsn: str, tmp_path: Path, clock: Clock) -> AsyncIterator[Api]:
    async with serve(make_parts(app_dsn, tmp_path, clock)) as made:
        yield made


@pytest.fixture
async def client(api: Api, office: Office) -> httpx.AsyncClient:
    return await api.sign_in(office.emails[Role.DEVELOPER])


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def pieces(data: bytes, size: int = PART) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


async def begin(client: httpx.AsyncClient, data: bytes = TEXT, name: str = "book.txt", **more: Any) -> dict[str, Any]:
    body = {"document_name": name, "content_type": "text/plain", "total_size_bytes": len(data), **more}
    answer = await client.post("/v1/documents/initiate-upload", json=body)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


async def send_all(client: httpx.AsyncClient, made: dict[str, Any], data: bytes = TEXT) -> None:
    for url, part in zip(made["part_urls"], pieces(data), strict=True):
        answer = await client.put(url, content=part)
        assert answer.status_code == 200, answer.text


async def complete(client: httpx.AsyncClient, made: dict[str, Any], **more: Any) -> httpx.Response:
    body = {"upload_session_id": made["upload_session_id"], **more}
    return await client.post("/v1/documents/complete-upload", json=body)


async def status(client: httpx.AsyncClient, made: dict[str, Any]) -> dict[str, Any]:
    answer = await client.get(f"/api/uploads/{made['upload_session_id']}")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def sweeper(api: Api, clock: Clock) -> UploadSweeper:
    return UploadSweeper(api.parts.database, api.parts.blobs, api.parts.part_store, api.parts.uploads, clock)


def kept(tmp_path: Path) -> list[Path]:
    return [path for path in (tmp_path / "blobs").rglob("*") if path.is_file()]


def parts_kept(tmp_path: Path) -> list[Path]:
    return [path for path in kept(tmp_path) if "uploads" in path.parts]


async def test_up_01_an_upload_begins_with_addresses_of_its_parts_and_an_end(client: httpx.AsyncClient) -> None:
    """UP-01, GW-20: parts of one size, three days to send them, as many addresses as there are parts."""
    made = await begin(client)
    count = -(-len(TEXT) // PART)
    assert (made["chunk_size"], made["total_chunks"], made["expires_in"]) == (PART, count, 3 * 86_400)
    id_ = made["upload_session_id"]
    assert made["part_urls"] == [f"/api/uploads/{id_}/parts/{n}" for n in range(1, count + 1)]
    assert made["next_part"] is None and not made["signed"]
    assert UploadSettings().part_bytes == 5 * 2**20 and UploadSettings().session_seconds == 3 * 86_400


async def test_up_04_an_upload_of_any_size_begins_with_few_addresses(api: Api, client: httpx.AsyncClient) -> None:
    """UP-04: it takes no longer for a large file; the other addresses are asked for."""
    huge = replace(api.parts, uploads=UploadSettings(max_bytes=2**40), read=ReadSettings(max_file_bytes=2**40))
    api.app.state.parts = huge
    made = (await client.post("/api/uploads", json={"document_name": "a.pdf", "total_size_bytes": 2**40})).json()
    assert made["total_chunks"] <= 10_000 and made["chunk_size"] * made["total_chunks"] >= 2**40
    assert len(made["part_urls"]) == 1000 and made["next_part"] == 1001
    more = (await client.get(f"/api/uploads/{made['upload_session_id']}/parts", params={"first": 1001})).json()
    assert more["first_part"] == 1001 and more["part_urls"][0].endswith("/1001")


async def test_up_03_parts_in_any_order_and_twice_become_one_document_that_is_read(
    api: Api, client: httpx.AsyncClient, worker: Bench, office: Office, tmp_path: Path
) -> None:
    """UP-02, UP-03: notified, compared as a set, completed once; the document is what an upload in one piece makes."""
    made = await begin(client, file_hash=sha(TEXT), tags=["log"], description="of the harbour")
    numbered = list(enumerate(pieces(TEXT), 1))
    for number, part in [*reversed(numbered), *numbered[:2]]:
        digest = base64.b64encode(hashlib.sha256(part).digest()).decode()
        start = (number - 1) * PART
        headers = {"Content-Digest": f"sha-256=:{digest}:"}
        headers |= {"Content-Range": f"bytes {start}-{start + len(part) - 1}/{len(TEXT)}"}
        sent = await client.put(made["part_urls"][number - 1], content=part, headers=headers)
        assert (sent.status_code, sent.json()["chunk_hash"]) == (200, sha(part)), sent.text
        told = {"upload_session_id": made["upload_session_id"], "chunk_number": number}
        heard = await client.post(
            "/v1/documents/chunk-received", json={**told, "chunk_hash": sha(part), "size": len(part)}
        )
        assert heard.status_code == 200, heard.text
    assert len(parts_kept(tmp_path)) == len(numbered), "who sends it twice leaves nothing of the first"
    done = await complete(client, made, total_chunks=len(numbered), file_hash=sha(TEXT))
    assert done.status_code == 202, done.text
    body = done.json()
    assert body["status"] == "queued" and body["document_key"].startswith(str(office.scope.tenant))
    again = (await complete(client, made)).json()
    assert (again["document_id"], again["ingestion_job_id"]) == (body["document_id"], body["ingestion_job_id"])
    assert parts_kept(tmp_path) == [] and len(kept(tmp_path)) == 1
    await worker.run(JobLane.SMALL)
    shown = (await client.get(f"/api/documents/{body['document_id']}")).json()
    assert (shown["filename"], shown["status"], shown["tags"]) == ("book.txt", "completed", ["log"])
    text = (await client.get(f"/api/documents/{body['document_id']}/content")).json()["content"]
    assert "what ship 413 carried" in text


async def test_up_05_whoever_follows_the_job_is_told_of_the_file(
    api: Api, client: httpx.AsyncClient, admin_dsn: str, office: Office
) -> None:
    """UP-05: the event has the job, the document's key, who, and what the file is."""
    made = await begin(client, chunking_strategy="hierarchical")
    await send_all(client, made)
    done = (await complete(client, made)).json()
    with psycopg.connect(admin_dsn) as owner:
        row = owner.execute(
            "select payload from events where stream = %s and type = 'uploaded'", [f"job:{done['ingestion_job_id']}"]
        ).fetchone()
    assert row is not None
    event = row[0]
    assert event["event_type"] == "DocumentUploadedEvent" and event["job_id"] == done["ingestion_job_id"]
    assert (event["document_key"], event["name"]) == (done["document_key"], "book.txt")
    assert (event["type"], event["size"]) == ("text/plain", len(TEXT))
    assert (event["strategy"], event["hash"]) == ("hierarchical", f"sha256:{sha(TEXT)}")
    assert event["user_id"] and event["metadata"]["upload_session_id"] == made["upload_session_id"]


async def test_up_06_the_status_says_what_is_missing_and_until_when(client: httpx.AsyncClient, clock: Clock) -> None:
    """UP-06: received, missing, expires; each part that comes gives the upload another while."""
    made = await begin(client)
    before = await status(client, made)
    assert before["received"] == [] and before["missing"] == list(range(1, made["total_chunks"] + 1))
    clock.now += timedelta(minutes=30)
    await client.put(made["part_urls"][1], content=pieces(TEXT)[1])
    after = await status(client, made)
    assert after["received"] == [2] and 2 not in after["missing"] and after["received_bytes"] == PART
    assert after["expires_at"] > before["expires_at"] and after["state"] == "open"
    listed = (await client.get("/api/uploads")).json()
    assert [one["upload_session_id"] for one in listed["items"]] == [made["upload_session_id"]]


async def test_up_03_missing_chunks_are_named_and_the_upload_goes_on(client: httpx.AsyncClient, tmp_path: Path) -> None:
    """UP-03, B-09: the set is compared, not the count; what is there stays, and the rest may come."""
    made = await begin(client)
    for number in (1, 2):
        await client.put(made["part_urls"][number - 1], content=pieces(TEXT)[number - 1])
    refused = await complete(client, made, total_chunks=made["total_chunks"])
    assert refused.status_code == 409, refused.text
    wanted = list(range(3, made["total_chunks"] + 1))
    assert f"Missing chunks: {wanted}" in refused.json()["detail"]
    told = await status(client, made)
    assert told["state"] == "failed" and told["reason"] == f"Missing chunks: {wanted}"
    other = await complete(client, made, total_chunks=1)
    assert other.status_code == 422
    assert len(kept(tmp_path)) == 2, "nothing was put together"
    await send_all(client, made)
    assert (await status(client, made))["state"] == "open"
    assert (await complete(client, made)).status_code == 202


async def test_a_part_that_is_cut_too_long_or_of_another_checksum_leaves_what_was_there(
    api: Api, client: httpx.AsyncClient, tmp_path: Path
) -> None:
    made = await begin(client)
    url, good = made["part_urls"][0], pieces(TEXT)[0]
    assert (await client.put(url, content=good)).status_code == 200
    short = await client.put(url, content=good[:400])
    assert (short.status_code, short.json()["code"]) == (400, "part_cut")
    long = await client.put(url, content=good + b"x")
    assert long.status_code == 413
    headers = {"Content-Digest": f"sha-256=:{base64.b64encode(hashlib.sha256(b'other').digest()).decode()}:"}
    wrong = await client.put(url, content=b"y" * PART, headers=headers)
    assert (wrong.status_code, wrong.json()["code"]) == (422, "wrong_checksum")
    elsewhere = await client.put(url, content=good, headers={"Content-Range": f"bytes 5-1004/{len(TEXT)}"})
    assert elsewhere.status_code == 422
    assert (await client.put(f"{url}99", content=b"x")).status_code == 404

    async def breaking() -> AsyncIterator[bytes]:
        yield good[:100]
        raise RuntimeError("the line is dead")

    assert (await client.put(url, content=breaking())).status_code == 500
    assert [path.read_bytes() for path in parts_kept(tmp_path)] == [good]
    wrong_told = {"upload_session_id": made["upload_session_id"], "chunk_number": 1, "chunk_hash": sha(b"z")}
    heard = await client.post("/v1/documents/chunk-received", json={**wrong_told, "size": PART})
    assert heard.status_code == 422, heard.text
    unseen = await client.post("/v1/documents/chunk-received", json={**wrong_told, "chunk_number": 2, "size": PART})
    assert unseen.status_code == 409, "nobody takes a word for bytes that are not there"


async def test_b_10_bytes_that_changed_in_the_store_are_found_at_the_end(
    client: httpx.AsyncClient, tmp_path: Path
) -> None:
    """B-10: checksums are compared again when the whole is put together."""
    made = await begin(client)
    await send_all(client, made)
    second = next(path for path in parts_kept(tmp_path) if path.read_bytes() == pieces(TEXT)[1])
    second.write_bytes(b"!" * PART)
    refused = await complete(client, made)
    assert refused.status_code == 409 and "Missing chunks: [2]" in refused.text
    assert [path for path in kept(tmp_path) if "uploads" not in path.parts] == []
    lost = next(path for path in parts_kept(tmp_path) if path.read_bytes() == pieces(TEXT)[2])
    await client.put(made["part_urls"][1], content=pieces(TEXT)[1])
    lost.unlink()
    assert "Missing chunks: [3]" in (await complete(client, made)).text
    await client.put(made["part_urls"][2], content=pieces(TEXT)[2])
    assert (await complete(client, made)).status_code == 202


async def test_a_file_that_changed_while_it_was_sent_is_refused(client: httpx.AsyncClient, tmp_path: Path) -> None:
    made = await begin(client)
    await send_all(client, made)
    refused = await complete(client, made, file_hash=sha(b"what it was"))
    assert refused.status_code == 422 and sha(TEXT) in refused.text
    assert (await status(client, made))["state"] == "failed"
    assert [path for path in kept(tmp_path) if "uploads" not in path.parts] == []
    gone = await client.delete(f"/api/uploads/{made['upload_session_id']}")
    assert gone.status_code == 204 and kept(tmp_path) == []
    assert (await client.put(made["part_urls"][0], content=pieces(TEXT)[0])).status_code == 410
    assert (await complete(client, made)).status_code == 410


async def test_two_replicas_take_parts_and_complete_and_there_is_one_document(
    api: Api, app_dsn: str, office: Office, tmp_path: Path, clock: Clock, admin_dsn: str
) -> None:
    first = await api.sign_in(office.emails[Role.DEVELOPER])
    async with serve(make_parts(app_dsn, tmp_path, clock)) as other:
        second = await other.sign_in(office.emails[Role.DEVELOPER])
        made = await begin(first)
        sent = [
            client.put(url, content=part)
            for client in (first, second)
            for url, part in zip(made["part_urls"], pieces(TEXT), strict=True)
        ]
        assert {answer.status_code for answer in await asyncio.gather(*sent)} == {200}
        assert len(parts_kept(tmp_path)) == made["total_chunks"]
        ends = await asyncio.gather(*(complete(client, made) for client in (first, second, first, second)))
    done = [end.json() for end in ends if end.status_code == 202]
    assert done and len({one["ingestion_job_id"] for one in done}) == 1
    assert {end.status_code for end in ends} <= {202, 409}
    with psycopg.connect(admin_dsn) as owner:
        jobs = owner.execute("select count(*) from jobs where tenant_id = %s", [office.scope.tenant]).fetchone()
    assert jobs == (1,) and len(kept(tmp_path)) == 1


async def test_another_persons_upload_is_not_there(api: Api, client: httpx.AsyncClient, office: Office) -> None:
    """Not even for an administrator of the same workspace, nor for whoever is asked to tell that a part came."""
    made = await begin(client)
    admin = await api.sign_in(office.emails[Role.ADMIN])
    id_ = made["upload_session_id"]
    told = {"upload_session_id": id_, "chunk_number": 1, "chunk_hash": sha(b"x"), "size": PART}
    answers = [
        await admin.get(f"/api/uploads/{id_}"),
        await admin.get(f"/api/uploads/{id_}/parts"),
        await admin.put(made["part_urls"][0], content=pieces(TEXT)[0]),
        await admin.delete(f"/api/uploads/{id_}"),
        await admin.post(f"/api/uploads/{id_}/complete", json={}),
        await admin.post("/v1/documents/chunk-received", json=told),
        await complete(admin, made),
    ]
    assert {answer.status_code for answer in answers} == {404}
    assert (await admin.get("/api/uploads")).json()["total"] == 0
    viewer = await api.sign_in(office.emails[Role.VIEWER])
    assert (await viewer.post("/api/uploads", json={"document_name": "a", "total_size_bytes": 1})).status_code == 403


async def test_what_nobody_goes_on_with_is_swept_with_its_parts(
    api: Api, client: httpx.AsyncClient, clock: Clock, tmp_path: Path, admin_dsn: str, office: Office
) -> None:
    """A kill between parts, or in the middle of one, leaves nothing once the upload has run out."""
    abandoned, alive = await begin(client), await begin(client, name="other.txt")
    await client.put(abandoned["part_urls"][0], content=pieces(TEXT)[0])
    folder = parts_kept(tmp_path)[0].parent
    (folder / "unnoted").write_bytes(b"stored, and its process was killed")
    (folder / "x.part").write_bytes(b"half of one")
    sweep = sweeper(api, clock)
    clock.now += timedelta(days=3, seconds=-1)
    client = await api.sign_in(office.emails[Role.DEVELOPER])
    await client.put(alive["part_urls"][0], content=pieces(TEXT)[0])
    assert await sweep.sweep() == 0
    clock.now += timedelta(seconds=2)
    client = await api.sign_in(office.emails[Role.DEVELOPER])
    refused = await client.put(abandoned["part_urls"][1], content=pieces(TEXT)[1])
    assert (refused.status_code, refused.json()["code"]) == (410, "upload_ended")
    assert await sweep.sweep() == 1
    assert not folder.exists() and len(parts_kept(tmp_path)) == 1
    assert (await client.get(f"/api/uploads/{abandoned['upload_session_id']}")).status_code == 404
    with psycopg.connect(admin_dsn) as owner:
        owner.execute("delete from upload_sessions")  # as an erasure does
    moment = clock.now.timestamp()
    os.utime(parts_kept(tmp_path)[0].parent, (moment, moment))
    assert await sweep.sweep_lost() == 0, "something came a moment ago"
    clock.now += timedelta(days=4)
    assert await sweep.sweep_lost() == 1 and kept(tmp_path) == []


async def test_a_process_that_was_killed_while_it_put_the_whole_together_keeps_nobody_from_it(
    api: Api, client: httpx.AsyncClient, clock: Clock, office: Office, tmp_path: Path
) -> None:
    made = await begin(client)
    await send_all(client, made)
    id_, sessions = made["upload_session_id"], api.parts.upload_sessions
    scope = replace(office.scope, user=await user_of(api, office))
    claim = await sessions.claim(scope, id_, clock())
    where = api.parts.blobs.location(scope.tenant, scope.workspace, claim.whole)
    api.parts.blobs.path(where).parent.mkdir(parents=True, exist_ok=True)  # type: ignore[attr-defined]
    api.parts.blobs.path(where).write_bytes(b"all of it, and no document")  # type: ignore[attr-defined]
    assert (await complete(client, made)).status_code == 409
    assert (await client.put(made["part_urls"][0], content=pieces(TEXT)[0])).status_code == 409
    assert (await client.delete(f"/api/uploads/{id_}")).status_code == 409
    clock.now += timedelta(seconds=121)
    assert (await complete(client, made)).status_code == 202
    assert len(kept(tmp_path)) == 2
    clock.now += timedelta(days=4)
    assert await sweeper(api, clock).sweep() == 1
    assert [path.read_bytes() for path in kept(tmp_path)] == [TEXT], "the document stays, what was left goes"


async def user_of(api: Api, office: Office) -> Any:
    async with api.parts.database.transaction(office.scope) as tx:
        return str((await tx.only("select user_id from upload_sessions"))["user_id"])


async def test_a_quota_that_is_used_up_in_the_middle_keeps_what_has_arrived(
    app_dsn: str, office: Office, tmp_path: Path, clock: Clock
) -> None:
    parts = make_parts(app_dsn, tmp_path, clock)
    limits = Limiter.of(parts.database, None, LimitSettings(requests=0), MetricsStore(None), clock)
    async with serve(replace(parts, limits=limits)) as api:
        admin = await api.sign_in(office.emails[Role.ADMIN])
        client = await api.sign_in(office.emails[Role.DEVELOPER])
        amount = len(TEXT) + 2_000
        rule = f"/api/limits/tenant/{office.scope.tenant}/upload_bytes"
        assert (await admin.put(rule, json={"amount": amount, "window": "day"})).status_code == 204
        made = await begin(client)
        too_large = {"document_name": "a.txt", "total_size_bytes": amount + 1}
        assert (await client.post("/api/uploads", json=too_large)).status_code == 429
        await client.put(made["part_urls"][0], content=pieces(TEXT)[0])
        other = b"Another file has the rest of the day. " * 53
        sent = await admin.post("/api/documents/upload", files={"file": ("rest.txt", other + TEXT[:1400])})
        assert sent.status_code == 202, sent.text
        await client.put(made["part_urls"][1], content=pieces(TEXT)[1])
        for url, part in zip(made["part_urls"][2:], pieces(TEXT)[2:], strict=True):
            await client.put(url, content=part)
        refused = await complete(client, made)
        assert refused.status_code == 429, refused.text
        assert (await status(client, made))["state"] == "open"
        assert [
            path for path in kept(tmp_path) if "uploads" not in path.parts and path.stat().st_size == len(TEXT)
        ] == []
        clock.now += timedelta(days=1)
        async with parts.database.transaction(replace(office.scope)) as tx:
            await tx.run("update upload_sessions set expires_at = %(at)s", at=clock() + timedelta(hours=1))
        client = await api.sign_in(office.emails[Role.DEVELOPER])
        assert (await complete(client, made)).status_code == 202


async def test_a_disk_that_is_full_refuses_parts_and_the_end_and_leaves_nothing_half(
    app_dsn: str, office: Office, tmp_path: Path
) -> None:
    free = [1_000 * 2**20]
    room = DiskRoom(tmp_path, 100 * 2**20, usage=lambda _: DiskUsage(free[0], 2_000 * 2**20))
    parts = make_parts(app_dsn, tmp_path)
    folder = tmp_path / "blobs"
    full = replace(parts, part_store=FolderParts(folder, room), blobs=FolderBlobs(folder, room))
    async with serve(full) as api:
        client = await api.sign_in(office.emails[Role.DEVELOPER])
        made = await begin(client)
        await client.put(made["part_urls"][0], content=pieces(TEXT)[0])
        free[0] = 0
        refused = await client.put(made["part_urls"][1], content=pieces(TEXT)[1])
        assert (refused.status_code, refused.json()["code"]) == (507, "disk_full")
        assert len(kept(tmp_path)) == 1 and (await status(client, made))["received"] == [1]
        free[0] = 1_000 * 2**20
        await send_all(client, made)
        free[0] = 0
        assert (await complete(client, made)).status_code == 507
        assert len(kept(tmp_path)) == made["total_chunks"] and (await status(client, made))["state"] == "open"
        free[0] = 1_000 * 2**20
        assert (await complete(client, made)).status_code == 202


async def test_what_would_be_refused_at_the_end_is_refused_at_the_beginning(
    api: Api, client: httpx.AsyncClient
) -> None:
    for body, code in (
        ({"document_name": "a.txt", "total_size_bytes": 1_000_001}, 413),
        ({"document_name": "a.txt", "total_size_bytes": 0}, 422),
        ({"document_name": "..", "total_size_bytes": 5}, 422),
        ({"document_name": "a.txt", "total_size_bytes": 5, "readers": ["somebody"]}, 422),
        ({"document_name": "a.txt", "total_size_bytes": 5, "readers": ["group:nobody"]}, 422),
        ({"document_name": "a.txt", "total_size_bytes": 5, "agent_id": "nobody"}, 404),
        ({"document_name": "a.txt", "total_size_bytes": 5, "file_hash": "abc"}, 422),
    ):
        answer = await client.post("/api/uploads", json=body)
        assert answer.status_code == code, f"{body}: {answer.text}"
    api.app.state.parts = replace(api.parts, uploads=UploadSettings(part_bytes=PART, sessions=1))
    await begin(client)
    full = await client.post("/api/uploads", json={"document_name": "a.txt", "total_size_bytes": 5})
    assert (full.status_code, full.json()["code"]) == (429, "too_many_uploads")


async def test_a_file_of_no_supported_kind_and_one_that_is_there_leave_no_bytes(
    client: httpx.AsyncClient, worker: Bench, tmp_path: Path
) -> None:
    odd = bytes(range(256)) * 5
    made = await begin(client, odd, "odd.bin")
    await send_all(client, made, odd)
    refused = await complete(client, made)
    assert refused.status_code == 415, refused.text
    assert (await status(client, made))["state"] == "failed"
    await client.delete(f"/api/uploads/{made['upload_session_id']}")
    assert kept(tmp_path) == []
    first = await client.post("/api/documents/upload", files={"file": ("book.txt", TEXT)})
    await worker.run(JobLane.SMALL)
    again = await begin(client, name="again.txt")
    await send_all(client, again)
    done = (await complete(client, again)).json()
    assert (done["status"], done["document_id"]) == ("duplicate", first.json()["document_id"])
    assert done["ingestion_job_id"] is None and len(kept(tmp_path)) == 1


async def test_a_workspace_that_goes_takes_its_uploads_along(
    api: Api, client: httpx.AsyncClient, office: Office, tmp_path: Path, admin_dsn: str
) -> None:
    made = await begin(client)
    await client.put(made["part_urls"][0], content=pieces(TEXT)[0])
    stranger = open_office(admin_dsn)
    theirs = await begin(await api.sign_in(stranger.emails[Role.DEVELOPER]))
    await (await api.sign_in(stranger.emails[Role.DEVELOPER])).put(theirs["part_urls"][0], content=pieces(TEXT)[0])
    await asyncio.to_thread(api.parts.blobs.erase, office.scope.tenant, office.scope.workspace)
    assert len(kept(tmp_path)) == 1 and str(stranger.scope.tenant) in str(kept(tmp_path)[0])
