"""Large uploads through the console: what is passed on and what is not, and who may send anything there."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from serve_apps.ui.ingest.send import PIECES_FROM, resumable_uploads, too_large
from serve_apps.ui.ingest.upload_relay import upload_routes
from serve_apps.ui.kit.api import SignInClient
from serve_apps.ui.kit.page import COOKIE, ConsoleContext, UploadLimits
from serve_apps.ui.session_guard import PLACE, SessionGuard
from serve_apps.ui.sessions import Role, SessionStore, TokenGrant

ID = "0f8fad5b-d9cb-469f-a165-70867728950e"
TUS = {"Tus-Resumable": "1.0.0"}


class Relay:
    """The console before an API that `answers` in turn, and what that was asked."""

    def __init__(self, role: Role = Role.DEVELOPER) -> None:
        self.asked = list[httpx.Request]()
        self.answers = list[httpx.Response]()
        client = httpx.AsyncClient(transport=httpx.MockTransport(self._answer), base_url="http://api.test")
        door = SignInClient(client)
        console = ConsoleContext(SessionStore(60, lambda: 0.0), door, [])
        grant = TokenGrant("access", "refresh", "u", "t", "w1", role, False)
        key, session = console.sessions.begin("a@b.example", grant)
        session.asked_at = 0.0
        inside = FastAPI()
        inside.include_router(upload_routes(console))
        self.app = SessionGuard(inside, console)
        transport = httpx.ASGITransport(self.app)
        headers = {"origin": "http://aos.test", PLACE: "w1"}
        self.client = httpx.AsyncClient(
            transport=transport, base_url="http://aos.test", cookies={COOKIE: key}, headers=headers
        )

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        self.asked.append(request)
        return self.answers.pop(0) if self.answers else httpx.Response(204, headers=TUS)


@pytest.fixture
async def relay() -> AsyncIterator[Relay]:
    made = Relay()
    async with made.client:
        yield made


async def test_an_upload_is_created_and_its_place_is_the_consoles(relay: Relay) -> None:
    place = {"Location": f"/api/uploads/tus/{ID}", "Upload-Expires": "soon", "Set-Cookie": "no=1"}
    relay.answers = [httpx.Response(201, headers=TUS | place)]
    sent = TUS | {
        "Upload-Length": "9",
        "Upload-Metadata": "filename YQ==",
        "Authorization": "Bearer mine",
        "X-Workspace": "w9",
    }
    made = await relay.client.post("/uploads", headers=sent)
    assert (made.status_code, made.headers["location"]) == (201, f"/console/uploads/{ID}")
    assert made.headers["upload-expires"] == "soon" and "set-cookie" not in made.headers
    (asked,) = relay.asked
    assert (asked.url.path, asked.headers["upload-length"]) == ("/api/uploads/tus", "9")
    assert asked.headers["authorization"] == "Bearer access", "the session's token, and nobody else's"
    assert "x-workspace" not in asked.headers and "cookie" not in asked.headers


async def test_bytes_are_passed_on_with_where_they_belong(relay: Relay) -> None:
    done = {"Upload-Offset": "9", "AOS-Document-Id": "d1", "AOS-Job-Id": "j1", "AOS-Status": "queued"}
    relay.answers = [httpx.Response(200, headers=TUS | {"Upload-Offset": "4"}), httpx.Response(204, headers=TUS | done)]
    assert (await relay.client.head(f"/uploads/{ID}", headers=TUS)).headers["upload-offset"] == "4"
    headers = TUS | {"Upload-Offset": "4", "Content-Type": "application/offset+octet-stream"}
    after = await relay.client.patch(f"/uploads/{ID}", headers=headers, content=b"bytes")
    assert (after.status_code, after.headers["aos-document-id"], after.headers["aos-job-id"]) == (204, "d1", "j1")
    asked = relay.asked[-1]
    assert (asked.method, asked.content, asked.headers["content-length"]) == ("PATCH", b"bytes", "5")
    assert "transfer-encoding" not in asked.headers
    assert (await relay.client.delete(f"/uploads/{ID}", headers=TUS)).status_code == 204


async def test_what_the_api_refuses_is_told_in_its_words(relay: Relay) -> None:
    problem = {"title": "It stands at 4.", "code": "offset_mismatch"}
    relay.answers = [httpx.Response(409, json=problem, headers={"content-type": "application/problem+json"})]
    refused = await relay.client.patch(f"/uploads/{ID}", headers=TUS, content=b"x")
    assert (refused.status_code, refused.json()["code"]) == (409, "offset_mismatch")
    relay.answers = [httpx.Response(503, headers={"Retry-After": "7"})]
    assert (await relay.client.head(f"/uploads/{ID}")).headers["retry-after"] == "7"


async def test_a_token_that_runs_out_is_renewed_and_the_bytes_are_asked_for_again(relay: Relay) -> None:
    fresh: dict[str, Any] = {"access_token": "next", "refresh_token": "r2", "user_id": "u", "tenant_id": "t"}
    fresh |= {"workspace_id": "w1", "role": "developer", "must_change_password": False}
    relay.answers = [httpx.Response(401), httpx.Response(200, json=fresh)]
    again = await relay.client.patch(f"/uploads/{ID}", headers=TUS, content=b"x")
    assert (again.status_code, again.json()["code"]) == (503, "token_renewed")
    await relay.client.patch(f"/uploads/{ID}", headers=TUS, content=b"x")
    assert relay.asked[-1].headers["authorization"] == "Bearer next"


async def test_a_browser_that_goes_away_in_the_middle_sends_nothing_whole(relay: Relay) -> None:
    messages = [{"type": "http.request", "body": b"ab", "more_body": True}, {"type": "http.disconnect"}]
    told = list[dict[str, Any]]()

    async def receive() -> dict[str, Any]:
        return messages.pop(0)

    async def send(message: Any) -> None:
        told.append(message)

    (cookie,) = relay.client.cookies.jar
    headers = {"origin": "http://aos.test", "host": "aos.test", "cookie": f"{COOKIE}={cookie.value}"}
    headers |= {"content-length": "9", "upload-offset": "0"}
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "PATCH", "path": f"/uploads/{ID}", "query_string": b"", "headers": raw}
    await relay.app(scope | {"root_path": "", "http_version": "1.1"}, receive, send)
    assert told[0]["status"] == 499 and relay.asked == []


async def test_unfinished_uploads_are_listed_without_those_of_other_clients(relay: Relay) -> None:
    line = {"upload_session_id": ID, "protocol": "tus", "state": "open", "document_name": "a.pdf", "file_hash": None}
    line |= {"total_size_bytes": 9, "created_at": "2026-11-21T10:00:00Z", "expires_at": "2026-11-21T11:00:00Z"}
    others = [line | {"state": "completed"}, line | {"protocol": "parts"}]
    relay.answers = [httpx.Response(200, json={"items": [line, *others], "total": 3})]
    listed = (await relay.client.get("/uploads")).json()
    assert [one["document_name"] for one in listed] == ["a.pdf"] and "file_hash" not in listed[0]


async def test_nobody_else_sends_anything_there(relay: Relay) -> None:
    foreign = await relay.client.post("/uploads", headers={"origin": "http://evil.test"})
    assert (foreign.status_code, foreign.json()["code"]) == (403, "foreign_origin")
    for method in ("POST", "GET"):
        other = await relay.client.request(method, "/uploads", headers={PLACE: "w2"})
        assert (other.status_code, other.json()["code"]) == (409, "other_workspace")
    assert (await relay.client.head(f"/uploads/{ID}", headers={PLACE: "w2"})).status_code == 409
    assert (await relay.client.patch("/uploads/..%2F..%2Fusers", content=b"x")).status_code in (404, 422)
    relay.client.cookies.clear()
    assert (await relay.client.post("/uploads")).status_code == 401
    viewer = Relay(Role.VIEWER)
    async with viewer.client:
        assert (await viewer.client.post("/uploads")).status_code == 403
    assert relay.asked == [] and viewer.asked == []


def test_the_page_says_from_which_size_on_a_file_goes_in_pieces() -> None:
    both = too_large(UploadLimits(50 * 2**20, 2 * 2**30))
    assert f'data-at-once="{PIECES_FROM}"' in both and f'data-most="{2 * 2**30}"' in both and "2.0 GiB" in both
    small = too_large(UploadLimits(2**20, 2**30))
    assert f'data-at-once="{2**20}"' in small
    plain = too_large(UploadLimits(2**20))
    assert "data-at-once" not in plain and f'data-most="{2**20}"' in plain
    assert "data-most" not in too_large(UploadLimits())
    assert 'aria-label="Large files"' in resumable_uploads()
