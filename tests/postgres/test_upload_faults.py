"""Uploads whose storage is slow, whose database does not confirm, or whose process ends at the wrong moment."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from cluster.basics.errors import Unavailable
from cluster.basics.scope import Role
from cluster.state.limits.limiter import Limiter
from cluster.state.metrics_store import MetricsStore
from cluster.state.work.jobs import JobLane
from configs.sections_blobs import UploadSettings
from configs.sections_limits import LimitSettings
from pipelines.documents.store.blobs import FolderBlobs, Location
from pipelines.documents.store.uploads.upload_sessions import UploadSessions
from tests.fakes.http import Api, Clock, Office, make_parts, serve
from tests.fakes.ledger import Bench
from tests.postgres.test_tus import TEXT as FERRY
from tests.postgres.test_tus import append, create, offset_of
from tests.postgres.test_uploads import PART, TEXT, begin, complete, kept, parts_kept, pieces, send_all, status, sweeper


class UnconfirmedSessions(UploadSessions):
    """Notes parts, and says once that it could not."""

    unconfirmed = 0

    async def append_part(self, *about: Any) -> None:
        await super().append_part(*about)
        self._lose()

    async def put_part(self, *about: Any) -> Location | None:
        former = await super().put_part(*about)
        self._lose()
        return former

    def _lose(self) -> None:
        if self.unconfirmed:
            self.unconfirmed -= 1
            raise Unavailable("Postgres went away: before it had answered")


class SlowBlobs(FolderBlobs):
    """Needs minutes for the last step of a whole, by a clock that a test has."""

    clock: Clock
    reached: asyncio.Event

    async def put(self, tenant: str, workspace: str, chunks: AsyncIterator[bytes], name: str | None = None) -> Location:
        where = await super().put(tenant, workspace, chunks, name)
        for _ in range(3):
            self.clock.now += timedelta(seconds=100)
            await asyncio.sleep(0.3)
        self.reached.set()
        await asyncio.sleep(0.5)
        return where


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def api(app_dsn: str, tmp_path: Path, clock: Clock) -> AsyncIterator[Api]:
    parts = make_parts(app_dsn, tmp_path, clock)
    async with serve(replace(parts, upload_sessions=UnconfirmedSessions(parts.database))) as made:
        yield made


@pytest.fixture
async def client(api: Api, office: Office) -> httpx.AsyncClient:
    return await api.sign_in(office.emails[Role.DEVELOPER])


def lose_one(api: Api) -> None:
    sessions = api.parts.upload_sessions
    assert isinstance(sessions, UnconfirmedSessions)
    sessions.unconfirmed = 1


async def test_bytes_whose_note_was_taken_but_not_confirmed_stay(
    api: Api, client: httpx.AsyncClient, tmp_path: Path
) -> None:
    made, url = await begin(client), await create(client)
    lose_one(api)
    assert (await client.put(made["part_urls"][0], content=pieces(TEXT)[0])).status_code == 503
    assert (await status(client, made))["received"] == [1] and len(parts_kept(tmp_path)) == 1
    for number, part in list(enumerate(pieces(TEXT)))[1:]:
        await client.put(made["part_urls"][number], content=part)
    assert (await complete(client, made)).status_code == 202
    lose_one(api)
    assert (await append(client, url, 0, FERRY[:1500])).status_code == 503
    assert await offset_of(client, url) == PART
    done = await append(client, url, PART, FERRY[PART:])
    assert done.status_code == 204 and done.headers["AOS-Document-Id"], done.text


async def test_a_hole_in_what_came_in_order_is_where_the_upload_stands_then(
    client: httpx.AsyncClient, tmp_path: Path
) -> None:
    """What follows it is of no use, and its bytes are removed; what comes again is numbered behind what is left."""
    url = await create(client)
    await append(client, url, 0, FERRY[:-1])
    second = next(path for path in parts_kept(tmp_path) if path.read_bytes() == FERRY[PART : 2 * PART])
    second.unlink()
    refused = await append(client, url, len(FERRY) - 1, FERRY[-1:])
    assert (refused.status_code, refused.json()["code"]) == (409, "missing_parts")
    assert await offset_of(client, url) == PART
    assert [path.read_bytes() for path in kept(tmp_path)] == [FERRY[:PART]]
    done = await append(client, url, PART, FERRY[PART:])
    assert done.status_code == 204 and done.headers["AOS-Document-Id"], done.text
    assert [path.read_bytes() for path in kept(tmp_path)] == [FERRY]


async def test_a_claim_is_kept_while_storage_is_slow_to_end_the_whole(
    app_dsn: str, office: Office, tmp_path: Path, clock: Clock
) -> None:
    blobs = SlowBlobs(tmp_path / "blobs")
    blobs.clock, blobs.reached = clock, asyncio.Event()
    settings = UploadSettings(part_bytes=PART, max_bytes=1_000_000, renew_seconds=0.05)
    async with serve(replace(make_parts(app_dsn, tmp_path, clock), blobs=blobs, uploads=settings)) as api:
        client = await api.sign_in(office.emails[Role.DEVELOPER])
        made = await begin(client)
        await send_all(client, made)
        first = asyncio.create_task(complete(client, made))
        await blobs.reached.wait()
        second = await complete(client, made)
        assert (second.status_code, second.json()["code"]) == (409, "upload_busy")
        done = await first
        assert done.status_code == 202, done.text
    assert [path.read_bytes() for path in kept(tmp_path)] == [TEXT]


async def test_a_whole_of_what_was_there_already_is_swept_where_its_process_ended(
    api: Api, client: httpx.AsyncClient, worker: Bench, clock: Clock, tmp_path: Path, office: Office
) -> None:
    first = await begin(client)
    await send_all(client, first)
    assert (await complete(client, first)).status_code == 202
    await worker.run(JobLane.SMALL)
    again = await begin(client, name="again.txt")
    await send_all(client, again)
    assert (await complete(client, again)).json()["status"] == "duplicate"
    scope = office.scope
    async with api.parts.database.transaction(scope) as tx:
        row = await tx.only(
            "select wholes from upload_sessions where id = %(id)s and tenant_id = %(tenant)s"
            " and workspace_id = %(workspace)s",
            id=again["upload_session_id"],
            **scope.keys,
        )
    (name,) = row["wholes"]
    left = tmp_path / "blobs" / scope.tenant / scope.workspace / name
    left.write_bytes(TEXT)  # as a kill leaves it between the commit and the removal
    clock.now += timedelta(days=8)
    assert await sweeper(api, clock).sweep() == 2
    assert len(kept(tmp_path)) == 1 and not left.exists(), "the document stays"


async def test_a_row_that_is_erased_leaves_word_of_its_wholes(
    api: Api, client: httpx.AsyncClient, admin_dsn: str, office: Office
) -> None:
    made = await begin(client)
    await client.put(made["part_urls"][0], content=pieces(TEXT)[0])
    place = f"blob:{office.scope.tenant}/{office.scope.workspace}"
    with psycopg.connect(admin_dsn) as owner:
        owner.execute("update upload_sessions set wholes = '{one,two}' where id = %s", [made["upload_session_id"]])
    async with api.parts.database.transaction(office.scope) as tx:
        await api.parts.upload_sessions.remove(tx, office.scope, made["upload_session_id"])
    with psycopg.connect(admin_dsn) as owner:
        listed = owner.execute("select location from freed_blobs order by location").fetchall()
    assert listed == [(f"{place}/one",), (f"{place}/two",)]


async def test_uploads_that_are_not_finished_count_against_the_bytes_that_are_left(
    app_dsn: str, office: Office, tmp_path: Path, clock: Clock
) -> None:
    parts = make_parts(app_dsn, tmp_path, clock)
    limits = Limiter.of(parts.database, None, LimitSettings(requests=0), MetricsStore(None), clock)
    async with serve(replace(parts, limits=limits)) as api:
        admin = await api.sign_in(office.emails[Role.ADMIN])
        client = await api.sign_in(office.emails[Role.DEVELOPER])
        rule = f"/api/limits/tenant/{office.scope.tenant}/upload_bytes"
        assert (await admin.put(rule, json={"amount": 10_000, "window": "day"})).status_code == 204
        body = {"document_name": "a.txt", "total_size_bytes": 4_000}
        answers = await asyncio.gather(*(client.post("/api/uploads", json=body) for _ in range(5)))
        assert sorted(answer.status_code for answer in answers) == [201, 201, 429, 429, 429]
        made = next(answer.json() for answer in answers if answer.status_code == 201)
        assert (await client.get("/api/uploads")).json()["total"] == 2, "what was refused was not begun"
        await client.delete(f"/api/uploads/{made['upload_session_id']}")
        assert (await client.post("/api/uploads", json=body)).status_code == 201


async def test_pieces_with_which_a_file_would_never_be_complete_are_refused_at_the_first(
    client: httpx.AsyncClient, tmp_path: Path
) -> None:
    url = await create(client, length=1_000_000)
    small = await append(client, url, 0, b"x" * 49)
    assert (small.status_code, small.json()["code"]) == (413, "pieces_too_small"), small.text
    assert "at least 50 bytes" in small.json()["fix"] and kept(tmp_path) == []
    assert (await append(client, url, 0, b"x" * 50)).status_code == 204


@pytest.mark.parametrize("digest", ["sha-512=:AAAA:", "sha-256=AAAA", "sha-256=:!!:", "sha-256=:AAAA:", "md5", ""])
async def test_a_content_digest_that_cannot_be_compared_is_refused(client: httpx.AsyncClient, digest: str) -> None:
    made = await begin(client)
    sent = await client.put(made["part_urls"][0], content=pieces(TEXT)[0], headers={"Content-Digest": digest})
    assert (sent.status_code, sent.json()["code"]) == (400, "content_digest"), sent.text


async def test_the_name_of_a_digest_may_be_in_any_case(client: httpx.AsyncClient) -> None:
    made = await begin(client)
    wrong = {"Content-Digest": "sha-512=:AAAA:, SHA-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:"}
    sent = await client.put(made["part_urls"][0], content=pieces(TEXT)[0], headers=wrong)
    assert (sent.status_code, sent.json()["code"]) == (422, "wrong_checksum"), sent.text
