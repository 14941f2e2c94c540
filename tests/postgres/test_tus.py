"""tus 1.0 as its clients speak it: core, creation, expiration, checksum and termination."""

import base64
import hashlib
from collections.abc import AsyncIterator
from datetime import timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest

from cluster.basics.scope import Role
from cluster.state.work.jobs import JobLane
from pipelines.documents.store.uploads.upload_sweep import UploadSweeper
from tests.fakes.http import Api, Clock, Office, make_parts, serve
from tests.fakes.ledger import Bench

TEXT = "".join(f"Line {n} of the ferry's book says what toll {n * 7} was paid.\n" for n in range(60)).encode()
TUS = {"Tus-Resumable": "1.0.0"}
BODY = {**TUS, "Content-Type": "application/offset+octet-stream"}


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


def b64(text: str | bytes) -> str:
    return base64.b64encode(text.encode() if isinstance(text, str) else text).decode()


async def create(client: httpx.AsyncClient, length: int = len(TEXT), name: str = "ferry.txt", **more: str) -> str:
    told = {"filename": name, "filetype": "text/plain", **more}
    metadata = ",".join(f"{key} {b64(value)}" for key, value in told.items())
    headers = {**TUS, "Upload-Length": str(length), "Upload-Metadata": metadata}
    answer = await client.post("/api/uploads/tus", headers=headers)
    assert answer.status_code == 201, answer.text
    assert answer.headers["Tus-Resumable"] == "1.0.0"
    return answer.headers["Location"]


async def append(client: httpx.AsyncClient, url: str, offset: int, data: Any, **headers: str) -> httpx.Response:
    return await client.patch(url, content=data, headers={**BODY, "Upload-Offset": str(offset), **headers})


async def offset_of(client: httpx.AsyncClient, url: str) -> int:
    answer = await client.head(url, headers=TUS)
    assert answer.status_code == 200 and answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Upload-Length"] == str(len(TEXT))
    return int(answer.headers["Upload-Offset"])


def kept(tmp_path: Path) -> list[Path]:
    return [path for path in (tmp_path / "blobs").rglob("*") if path.is_file()]


async def test_the_server_says_what_it_can_to_anybody(api: Api) -> None:
    answer = await api.client.options("/api/uploads/tus")
    assert answer.status_code == 204
    assert answer.headers["Tus-Version"] == "1.0.0" and answer.headers["Tus-Max-Size"] == "1000000"
    assert answer.headers["Tus-Extension"] == "creation,expiration,checksum,termination"
    assert answer.headers["Tus-Checksum-Algorithm"] == "sha256"


async def test_bytes_that_come_in_order_become_a_document_with_the_last_of_them(
    client: httpx.AsyncClient, worker: Bench, tmp_path: Path
) -> None:
    url = await create(client, tags="toll,ferry")
    assert await offset_of(client, url) == 0
    first = await append(client, url, 0, TEXT[:1500])
    assert (first.status_code, first.headers["Upload-Offset"]) == (204, "1500")
    assert parsedate_to_datetime(first.headers["Upload-Expires"])
    last = await append(client, url, 1500, TEXT[1500:])
    assert last.status_code == 204, last.text
    assert last.headers["Upload-Offset"] == str(len(TEXT)) and last.headers["AOS-Job-Id"]
    again = await append(client, url, len(TEXT), b"")
    assert again.headers["AOS-Document-Id"] == last.headers["AOS-Document-Id"]
    assert await offset_of(client, url) == len(TEXT) and len(kept(tmp_path)) == 1
    await worker.run(JobLane.SMALL)
    shown = (await client.get(f"/api/documents/{last.headers['AOS-Document-Id']}")).json()
    assert (shown["filename"], shown["status"], shown["tags"]) == ("ferry.txt", "completed", ["toll", "ferry"])
    assert kept(tmp_path)[0].read_bytes() == TEXT


async def test_what_came_before_a_cut_is_kept_and_the_rest_goes_on_there(api: Api, client: httpx.AsyncClient) -> None:
    """The body ends as a connection does that breaks: what was announced does not come."""
    url = await create(client)
    messages = iter([{"type": "http.request", "body": TEXT[:1234], "more_body": True}, {"type": "http.disconnect"}])
    statuses: list[int] = []

    async def receive() -> Any:
        return next(messages)

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    headers = {**BODY, "Upload-Offset": "0", "Authorization": client.headers["Authorization"]}
    scope = {
        **{"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "PATCH", "path": url},
        **{"raw_path": url.encode(), "query_string": b"", "scheme": "http", "root_path": "", "app": api.app},
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
        **{"server": ("aos.test", 80), "client": ("127.0.0.1", 1)},
    }
    await api.app(scope, receive, send)
    assert statuses in ([], [400])
    assert await offset_of(client, url) == 1234
    done = await append(client, url, 1234, TEXT[1234:])
    assert done.status_code == 204 and done.headers["AOS-Document-Id"]


async def test_an_offset_that_is_not_where_it_stands_is_refused(client: httpx.AsyncClient) -> None:
    url = await create(client)
    await append(client, url, 0, TEXT[:500])
    for offset in (0, 499, 501, len(TEXT)):
        refused = await append(client, url, offset, TEXT[offset : offset + 10])
        assert (refused.status_code, refused.json()["code"]) == (409, "offset_mismatch")
    too_many = await append(client, url, 500, TEXT[500:] + b"x")
    assert too_many.status_code == 413
    assert await offset_of(client, url) >= 500
    plain = await client.patch(url, content=b"x", headers={**TUS, "Upload-Offset": "500"})
    assert plain.status_code == 415
    other = await client.patch(url, content=b"x", headers={**BODY, "Upload-Offset": "500", "Tus-Resumable": "0.2"})
    assert other.status_code == 412


async def test_bytes_of_another_checksum_are_not_kept(client: httpx.AsyncClient, tmp_path: Path) -> None:
    url = await create(client)
    wrong = await append(client, url, 0, TEXT[:2500], **{"Upload-Checksum": f"sha256 {b64(b'x' * 32)}"})
    assert (wrong.status_code, wrong.json()["code"]) == (460, "checksum_mismatch")
    assert await offset_of(client, url) == 0 and kept(tmp_path) == []
    odd = await append(client, url, 0, TEXT[:10], **{"Upload-Checksum": "md5 abc"})
    assert odd.status_code == 422
    digest = b64(hashlib.sha256(TEXT[:2500]).digest())
    right = await append(client, url, 0, TEXT[:2500], **{"Upload-Checksum": f"sha256 {digest}"})
    assert (right.status_code, right.headers["Upload-Offset"]) == (204, "2500")


async def test_an_upload_that_is_ended_or_runs_out_leaves_nothing(
    api: Api, client: httpx.AsyncClient, clock: Clock, tmp_path: Path, admin_dsn: str, office: Office
) -> None:
    url = await create(client)
    await append(client, url, 0, TEXT[:1500])
    ended = await client.delete(url, headers=TUS)
    assert ended.status_code == 204 and kept(tmp_path) == []
    assert (await client.head(url, headers=TUS)).status_code == 410
    with psycopg.connect(admin_dsn) as owner:
        lines = owner.execute(
            "select action from audit where tenant_id = %s order by seq", [office.scope.tenant]
        ).fetchall()
    assert [row[0] for row in lines if row[0].startswith("upload.")] == ["upload.initiate", "upload.abort"]
    other = await create(client)
    await append(client, other, 0, TEXT[:1500])
    clock.now += timedelta(days=3, seconds=1)
    client = await api.sign_in(office.emails[Role.DEVELOPER])
    assert (await append(client, other, 1500, TEXT[1500:])).status_code == 410
    parts = api.parts
    sweeper = UploadSweeper(parts.database, parts.blobs, parts.part_store, parts.uploads, clock)
    assert await sweeper.sweep() == 2 and kept(tmp_path) == []
    assert (await client.head(other, headers=TUS)).status_code == 404


async def test_one_that_has_all_its_bytes_but_whose_end_was_cut_off_is_completed_by_who_looks(
    api: Api, client: httpx.AsyncClient, admin_dsn: str, tmp_path: Path
) -> None:
    """As after a kill between the last byte and the document: the client believes that it is done."""
    url = await create(client)
    await append(client, url, 0, TEXT[:-1])
    blocked = "create function no_job() returns trigger language plpgsql as $$ begin raise 'could not write' using"
    with psycopg.connect(admin_dsn, autocommit=True) as owner:
        owner.execute(f"{blocked} errcode = 'disk_full'; end $$")
        owner.execute("create trigger no_job before insert on jobs execute function no_job()")
        cut = await append(client, url, len(TEXT) - 1, TEXT[-1:])
        assert cut.status_code == 507
        owner.execute("drop trigger no_job on jobs")
    assert all("uploads" in path.parts for path in kept(tmp_path)), "nothing of the whole is left"
    looked = await client.head(url, headers=TUS)
    assert looked.headers["Upload-Offset"] == str(len(TEXT)) and looked.headers["AOS-Document-Id"]
    assert [path.read_bytes() for path in kept(tmp_path)] == [TEXT]


async def test_another_persons_upload_and_one_of_the_other_protocol_are_not_there(
    api: Api, client: httpx.AsyncClient, office: Office
) -> None:
    url = await create(client)
    admin = await api.sign_in(office.emails[Role.ADMIN])
    body = {"document_name": "a.txt", "total_size_bytes": 5}
    other = (await client.post("/api/uploads", json=body)).json()["upload_session_id"]
    for who, where in ((admin, url), (client, f"/api/uploads/tus/{other}"), (client, f"/api/uploads/tus/{uuid4()}")):
        assert (await who.head(where, headers=TUS)).status_code == 404
        assert (await append(who, where, 0, b"x")).status_code == 404
        assert (await who.delete(where, headers=TUS)).status_code == 404
    mine = url.rpartition("/")[2]
    assert (await client.put(f"/api/uploads/{mine}/parts/1", content=b"x" * 1_000)).status_code == 404
    assert (await client.get(f"/api/uploads/{mine}/parts")).status_code == 404


async def test_what_cannot_be_taken_is_refused_before_a_byte(client: httpx.AsyncClient) -> None:
    for headers, code in (
        ({"Upload-Length": "1000001", "Upload-Metadata": f"filename {b64('a.txt')}"}, 413),
        ({"Upload-Length": "0", "Upload-Metadata": f"filename {b64('a.txt')}"}, 422),
        ({"Upload-Length": "5"}, 422),
        ({"Upload-Metadata": f"filename {b64('a.txt')}"}, 422),
        ({"Upload-Length": "5", "Upload-Metadata": "filename ???"}, 422),
        ({"Upload-Length": "5", "Upload-Metadata": f"filename {b64('a.txt')},agent_id {b64('nobody')}"}, 404),
    ):
        answer = await client.post("/api/uploads/tus", headers={**TUS, **headers})
        assert answer.status_code == code, f"{headers}: {answer.text}"
    unversioned = await client.post("/api/uploads/tus", headers={"Upload-Length": "5"})
    assert unversioned.status_code == 412
