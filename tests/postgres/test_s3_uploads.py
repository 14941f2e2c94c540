"""Uploads over S3-compatible storage: parts go straight to the bucket by signed addresses, and are read out of it."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from cluster.basics.scope import Role
from cluster.state.objects.bucket import Bucket
from cluster.state.work.jobs import JobLane
from configs.sections_blobs import BlobSettings
from configs.settings import load_settings
from pipelines.documents.repair.orphan import OrphanKind
from pipelines.documents.repair.storage_repair import places_of, repair_storage
from pipelines.documents.store.uploads.oversized_parts import OversizedParts
from pipelines.documents.store.uploads.part_store import BucketParts
from pipelines.documents.store.uploads.upload_sweep import UploadSweeper
from tests.fakes.containers import OpeningReader, zip_bytes
from tests.fakes.http import Api, Clock, Office, make_parts, serve
from tests.fakes.ledger import bench
from tests.fakes.s3 import S3Server, bucket_blobs, run_s3
from tests.postgres.test_uploads import TEXT, begin, complete, pieces, sha, status

MIB = 2**20


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    with run_s3() as server:
        yield server


@pytest.fixture
def storage(s3: S3Server) -> BlobSettings:
    return s3.settings()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def api(app_dsn: str, tmp_path: Path, storage: BlobSettings, clock: Clock) -> AsyncIterator[Api]:
    parts = make_parts(app_dsn, tmp_path, clock)
    stores = {"blobs": bucket_blobs(storage, tmp_path), "part_store": BucketParts(Bucket.of(storage))}
    async with serve(replace(parts, **stores)) as made:
        yield made


@pytest.fixture
async def client(api: Api, office: Office) -> httpx.AsyncClient:
    return await api.sign_in(office.emails[Role.DEVELOPER])


def keys(storage: BlobSettings) -> list[str]:
    return [one.key for one in Bucket.of(storage).below()]


async def notify(client: httpx.AsyncClient, made: dict[str, Any], number: int, data: bytes) -> httpx.Response:
    told = {"upload_session_id": made["upload_session_id"], "chunk_number": number}
    body = {**told, "chunk_hash": sha(data), "size": len(data)}
    return await client.post("/v1/documents/chunk-received", json=body)


async def test_up_02_parts_go_to_signed_addresses_and_their_arrival_is_told(
    client: httpx.AsyncClient, storage: BlobSettings, office: Office
) -> None:
    """UP-02: the bytes never come through the API; a word for what is not there is not taken."""
    made = await begin(client)
    assert made["expires_in"] == 3600, "an address is whoever's has it; the upload itself waits for days"
    assert all("X-Amz-Expires=3600" in url for url in made["part_urls"])
    assert made["signed"] and all(url.startswith("http://127.0.0.1") for url in made["part_urls"])
    numbered = list(enumerate(pieces(TEXT), 1))
    assert (await notify(client, made, 1, pieces(TEXT)[0])).status_code == 409
    async with httpx.AsyncClient() as plain:
        for number, part in reversed(numbered):
            sent = await plain.put(made["part_urls"][number - 1], content=part)
            assert sent.status_code == 200, sent.text
    half = pieces(TEXT)[0][:10]
    assert (await notify(client, made, 1, half)).status_code == 422
    for number, part in numbered:
        assert (await notify(client, made, number, part)).status_code == 200
    done = await complete(client, made, total_chunks=len(numbered), file_hash=sha(TEXT))
    assert done.status_code == 202, done.text
    assert keys(storage) == [done.json()["document_key"]]
    assert done.json()["document_key"].startswith(f"{office.scope.tenant}/{office.scope.workspace}/")


async def test_b_10_other_bytes_than_were_told_are_found_at_the_end(client: httpx.AsyncClient) -> None:
    """B-10: whoever has the address can send anything; what counts is the checksum that was told."""
    made = await begin(client)
    async with httpx.AsyncClient() as plain:
        for number, part in enumerate(pieces(TEXT), 1):
            await plain.put(made["part_urls"][number - 1], content=b"!" * len(part) if number == 2 else part)
            assert (await notify(client, made, number, part)).status_code == 200
        refused = await complete(client, made)
        assert refused.status_code == 409 and "Missing chunks: [2]" in refused.text
        assert (await status(client, made))["missing"] == [2]
        fresh = await client.get(f"/api/uploads/{made['upload_session_id']}/parts", params={"first": 2, "count": 1})
        await plain.put(fresh.json()["part_urls"][0], content=pieces(TEXT)[1])
    await notify(client, made, 2, pieces(TEXT)[1])
    assert (await complete(client, made)).status_code == 202


async def test_a_part_of_another_length_than_announced_is_refused_and_does_not_stay(
    client: httpx.AsyncClient, storage: BlobSettings
) -> None:
    """A signed address bounds no length: it is compared where the part is told of, and where the whole is made."""
    made = await begin(client)
    parts = pieces(TEXT)
    async with httpx.AsyncClient() as plain:
        for wrong in (parts[0] + b"!" * 3 * MIB, parts[0][:-1]):
            assert (await plain.put(made["part_urls"][0], content=wrong)).status_code == 200
            told = await notify(client, made, 1, parts[0])
            assert told.status_code == 409 and f"{len(wrong)} bytes" in told.text and keys(storage) == []
        for number, part in enumerate(parts, 1):
            await plain.put(made["part_urls"][number - 1], content=part)
            assert (await notify(client, made, number, part)).status_code == 200
        await plain.put(made["part_urls"][1], content=parts[1] + b"!" * 3 * MIB)  # after it was told of
    refused = await complete(client, made)
    assert refused.status_code == 409 and "Missing chunks: [2]" in refused.text
    assert len(keys(storage)) == len(parts) - 1, "what was too long is gone"


async def test_parts_that_are_too_long_and_that_nobody_tells_of_go_with_the_sweep_and_the_repair(
    api: Api, client: httpx.AsyncClient, storage: BlobSettings, tmp_path: Path, clock: Clock
) -> None:
    made = await begin(client)
    parts, settings = pieces(TEXT), load_settings({"AOS_STATE_DIR": str(tmp_path)})
    settings = settings.model_copy(update={"blobs": storage})
    sweeper = UploadSweeper(api.parts.database, api.parts.blobs, api.parts.part_store, api.parts.uploads, clock)
    urls = made["part_urls"]
    async with httpx.AsyncClient() as plain:
        for way in ("sweep", "repair"):
            await plain.put(urls[0], content=parts[0])
            await plain.put(urls[1], content=parts[1] + b"!")
            await plain.put(urls[-1], content=parts[-1] + b"!")  # the last one is shorter than the others
            assert len(keys(storage)) == 3
            if way == "sweep":
                assert await sweeper.sweep_oversized() == 2
            else:
                with httpx.Client() as other:
                    places, _ = places_of(settings, api.parts.database, other, datetime.now(UTC))
                    report = await repair_storage(places, datetime.now(UTC) - timedelta(days=3), apply=True)
                assert [one.kind for one in report.orphans] == [OrphanKind.OVERSIZED_PART] * 2
                assert report.removed == 2 and report.failed == []
            assert [key.split("/")[-1] for key in keys(storage)] == ["1"], "what fits stays, told of or not"


async def test_a_part_that_is_mended_after_it_was_listed_stays(
    api: Api, client: httpx.AsyncClient, storage: BlobSettings
) -> None:
    made = await begin(client)
    (first, *_), large = pieces(TEXT), OversizedParts(api.parts.database, api.parts.part_store)
    async with httpx.AsyncClient() as plain:
        await plain.put(made["part_urls"][0], content=first + b"!")
        (found,) = await large.find()
        await plain.put(made["part_urls"][0], content=first)
        await large.remove(found)
        assert len(keys(storage)) == 1
        await plain.put(made["part_urls"][0], content=first + b"!")
        await large.remove(found)
    assert not keys(storage)


async def test_parts_may_come_through_the_api_too_and_what_ends_leaves_nothing(
    api: Api, client: httpx.AsyncClient, storage: BlobSettings, clock: Clock
) -> None:
    made, other = await begin(client), await begin(client, name="other.txt")
    for one in (made, other):
        for number, part in enumerate(pieces(TEXT), 1):
            sent = await client.put(f"/api/uploads/{one['upload_session_id']}/parts/{number}", content=part)
            assert sent.status_code == 200, sent.text
    assert (await client.delete(f"/api/uploads/{other['upload_session_id']}")).status_code == 204
    async with httpx.AsyncClient() as plain:  # the address is good for a while yet
        assert (await plain.put(other["part_urls"][0], content=pieces(TEXT)[0])).status_code == 200
    assert len(keys(storage)) == made["total_chunks"] + 1
    parts = api.parts
    sweeper = UploadSweeper(parts.database, parts.blobs, parts.part_store, parts.uploads, clock)
    clock.now += timedelta(days=4)
    assert await sweeper.sweep() == 2 and keys(storage) == []


async def test_an_upload_and_an_archive_are_read_out_of_the_bucket(
    api: Api, client: httpx.AsyncClient, app_dsn: str, storage: BlobSettings, tmp_path: Path
) -> None:
    """The document, the members of an archive, their pictures and their deletion, as with a folder."""
    data = zip_bytes({"a.txt": b"first of two", "in/b.txt": b"second of two"})
    sent = await client.post("/api/documents/upload", files={"file": ("docs.zip", data)})
    assert sent.status_code == 202, sent.text
    async with bench(app_dsn, tmp_path / "node") as node:
        node.blobs, node.reader = bucket_blobs(storage, tmp_path / "node"), OpeningReader()
        await node.run(JobLane.SMALL)
    listed = (await client.get("/api/documents/")).json()["items"]
    assert sorted((one["filename"], one["status"]) for one in listed) == [
        ("a.txt", "completed"),
        ("b.txt", "completed"),
        ("docs.zip", "completed"),
    ]
    assert len(keys(storage)) == 3, "nothing staged is left"
    ids = {one["filename"]: one["id"] for one in listed}
    picture = await client.get(f"/api/documents/{ids['a.txt']}/pages/1/image")
    assert picture.status_code == 200, picture.text
    again = await client.post(f"/api/documents/{ids['docs.zip']}/process", json={})
    assert again.status_code == 202, again.text


async def test_a_storage_that_goes_away_is_named_and_the_upload_waits(
    app_dsn: str, tmp_path: Path, office: Office
) -> None:
    with run_s3() as server:
        settings = server.settings()
        stores = {"blobs": bucket_blobs(settings, tmp_path), "part_store": BucketParts(Bucket.of(settings))}
    async with serve(replace(make_parts(app_dsn, tmp_path), **stores)) as api:  # it has ended by now
        client = await api.sign_in(office.emails[Role.DEVELOPER])
        client.timeout = httpx.Timeout(60)
        made = await begin(client)
        sent = await client.put(f"/api/uploads/{made['upload_session_id']}/parts/1", content=pieces(TEXT)[0])
        assert (sent.status_code, sent.json()["code"]) == (503, "storage_unavailable"), sent.text
        assert "AOS_BLOBS_URL" in sent.json()["fix"] and "test-secret" not in sent.text
        whole = await client.post("/api/documents/upload", files={"file": ("a.txt", b"some text")})
        assert whole.status_code == 503, whole.text
        assert (await status(client, made))["state"] == "open"
        assert (await client.get("/api/documents/")).json()["total"] == 0
