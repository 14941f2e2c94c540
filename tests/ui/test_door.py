"""The console's door and its guard: a page acts where it was drawn, and signing out ends the session everywhere."""

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from serve_apps.ui import oauth_pages, provider_sign_in, sign_in
from serve_apps.ui.kit.api import SignInClient
from serve_apps.ui.kit.frame import frame_document
from serve_apps.ui.kit.page import COOKIE, ConsoleContext, ConsolePage
from serve_apps.ui.session_guard import PLACE, SessionGuard
from serve_apps.ui.sessions import ConsoleSession, Role, SessionStore, TokenGrant, WorkspaceMembership

GRANT = TokenGrant("access", "refresh", "user", "tenant", "w1", Role.OPERATOR, False)
HOME = ConsolePage("", "Now", Role.VIEWER, lambda desk, blocks: None, "")
JOIN = "/gradio_api/queue/join"


class Console:
    """The guard before `app`, and a session with two workspaces; `api` answers what the console asks."""

    def __init__(
        self, app: Any = None, api: Callable[[httpx.Request], httpx.Response] | None = None, host: str = "192.0.2.7"
    ) -> None:
        self.asked = list[httpx.Request]()
        answer = api or (lambda _: httpx.Response(204))

        def answering(request: httpx.Request) -> httpx.Response:
            self.asked.append(request)
            return answer(request)

        client = httpx.AsyncClient(transport=httpx.MockTransport(answering), base_url="http://api.test")
        self.knock = SignInClient(client, lambda address: f"our word for {address}")
        self.desk = ConsoleContext(SessionStore(60, lambda: 0.0), self.knock, [HOME])
        key, self.session = self.desk.sessions.begin("a@b.example", GRANT)
        self.session.asked_at = 0.0  # just now
        self.session.places = (
            WorkspaceMembership("w1", "Alpha", Role.OPERATOR),
            WorkspaceMembership("w2", "Beta <b>", Role.OPERATOR),
        )
        inside = FastAPI()
        inside.include_router(sign_in.sign_in_routes(self.desk, self.knock))
        inside.include_router(provider_sign_in.provider_routes(self.desk, self.knock))
        inside.include_router(oauth_pages.oauth_routes(self.desk))
        transport = httpx.ASGITransport(SessionGuard(app or inside, self.desk), client=(host, 4711))
        self.client = httpx.AsyncClient(
            transport=transport,
            base_url="http://aos.test",
            cookies={COOKIE: key},
            headers={"origin": "http://aos.test"},
        )


async def passed(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse("passed")(scope, receive, send)


@pytest.fixture
async def console() -> AsyncIterator[Console]:
    made = Console(passed)
    async with made.client:
        yield made


async def test_a_page_of_another_workspace_is_refused_and_says_why(console: Console) -> None:
    """A tab acted in the workspace that had been chosen in another one."""
    console.session.chosen = "w2"
    for path in (JOIN, "/gradio_api/upload", "/gradio_api/component_server"):
        refused = await console.client.post(path, headers={PLACE: "w1"})
        assert (refused.status_code, refused.json()["code"]) == (409, "other_workspace")
        assert refused.json()["title"] == "This page shows Alpha, but you have switched to Beta <b>: reload it."
    unknown = await console.client.post(JOIN, headers={PLACE: "<script>"})
    assert "another workspace" in unknown.json()["title"] and "script" not in unknown.text


async def test_a_page_of_the_workspace_that_is_chosen_acts(console: Console) -> None:
    assert (await console.client.post(JOIN, headers={PLACE: "w1"})).text == "passed"
    console.session.chosen = "w2"
    assert (await console.client.post(JOIN, headers={PLACE: "w2"})).text == "passed"
    ended = await console.client.post("/gradio_api/cancel", headers={PLACE: "w1"})
    assert ended.text == "passed", "what a page has begun it may end"
    heard = await console.client.get("/gradio_api/queue/data", headers={PLACE: "w1"})
    assert heard.text == "passed", "and hear to its end"


def test_a_page_says_for_whom_and_where_it_was_drawn() -> None:
    session = ConsoleSession("a@b.example", GRANT, 60)
    document = b"<html><head></head><body><gradio-app></gradio-app></body></html>"
    assert b'data-workspace="w1"' in frame_document(document, HOME, (HOME,), session)
    session.chosen = "w2"
    drawn = frame_document(document, HOME, (HOME,), session)
    assert b'data-workspace="w2"' in drawn
    assert b'href="/console/password?next=%2Fconsole%2F"' in drawn, "a password may be changed at any time"


async def test_signing_out_ends_the_session_at_the_api_too() -> None:
    """Only the console forgot it: its refresh token lived on."""
    console = Console()
    async with console.client:
        out = await console.client.post("/sign-out")
    assert out.status_code == 303 and console.session.over and len(console.desk.sessions) == 0
    asked = console.asked[0]
    assert asked.url.path == "/api/auth/logout" and b'"refresh"' in asked.content


async def test_signing_out_does_not_need_the_api() -> None:
    def away(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    console = Console(api=away)
    async with console.client:
        out = await console.client.post("/sign-out")
    assert out.status_code == 303 and out.headers["location"] == "/console/sign-in" and console.session.over


@pytest.mark.parametrize(("host", "told"), [("192.0.2.7", "192.0.2.7"), ("2001:db8::7", "2001:db8::7"), ("\xe4", None)])
async def test_the_api_counts_failed_attempts_for_who_signs_in(host: str, told: str | None) -> None:
    refused = httpx.Response(401, json={"title": "No.", "code": "wrong_credentials"})
    console = Console(api=lambda _: refused, host=host)
    async with console.client:
        await console.client.post("/sign-in", data={"email": "a@b.example", "password": "x"})
    asked = console.asked[0]
    assert asked.headers.get("x-console-client") == (told and f"our word for {told}")
    assert "x-forwarded-for" not in asked.headers, "anybody can write that"


async def test_a_password_is_changed_for_the_first_time_or_later() -> None:
    console = Console()
    async with console.client:
        later = (await console.client.get("/password?next=/console/runs")).text
        console.session.grant = replace(GRANT, must_change=True)
        first = (await console.client.get("/password")).text
    assert "Change your password" in later and 'href="/console/runs"' in later and "first password" not in later
    assert "Choose your password" in first and "first password" in first and "Keep the present one" not in first


PROVIDERS = {"items": [{"name": "corp", "title": "Corp <b>", "start": "/api/auth/oidc/corp/start"}]}
TOKENS = {
    "access_token": "a",
    "refresh_token": "r",
    "user_id": "u",
    "tenant_id": "t",
    "workspace_id": "w1",
    "role": "viewer",
    "must_change_password": False,
    "email": "ann@corp.example",
}


def by_provider(request: httpx.Request) -> httpx.Response:
    if request.url.path == "/api/auth/providers":
        return httpx.Response(200, json=PROVIDERS)
    if request.url.path == "/api/auth/oidc/redeem":
        known = b'"code":"c.1"' in request.content.replace(b": ", b":")
        return httpx.Response(200, json=TOKENS) if known else httpx.Response(401, json={"code": "sign_in_refused"})
    return httpx.Response(204)


async def test_the_door_offers_the_providers_and_comes_back_signed_in() -> None:
    console = Console(api=by_provider)
    console.client.cookies.clear()
    shown = await console.client.get("/sign-in?next=/console/runs")
    assert "Sign in with Corp &lt;b&gt;" in shown.text
    assert "/console/sso/start?provider=corp&amp;next=%2Fconsole%2Fruns" in shown.text
    sent = await console.client.get("/sso/start?provider=corp&next=/console/runs")
    assert sent.status_code == 303
    assert sent.headers["location"].startswith("/api/auth/oidc/corp/start?challenge=")
    assert sent.headers["location"].endswith("&return_to=console")
    cookie = sent.headers["set-cookie"]
    assert all(part in cookie for part in ("HttpOnly", "SameSite=lax", "Path=/console/sso", "Max-Age=600"))
    kept = cookie.partition(";")[0].partition("=")[2].strip('"')
    back = await console.client.get("/sso?code=c.1", headers={"cookie": f"aos_sso={kept}"})
    assert back.status_code == 200 and "0;url=/console/runs" in back.text
    assert "SameSite=strict" in back.headers["set-cookie"]
    redeemed = next(one for one in console.asked if one.url.path.endswith("/redeem"))
    assert kept.partition(":")[0].encode() in redeemed.content, "the verifier that this browser was given"


async def test_a_code_that_this_browser_has_not_asked_for_signs_nobody_in() -> None:
    """Somebody else's sign-in behind a link would have people work in a stranger's account."""
    console = Console(api=by_provider)
    console.client.cookies.clear()
    for path, cookie in (("/sso?code=c.1", ""), ("/sso?code=c.2", "aos_sso=v:%2Fconsole%2F"), ("/sso", "aos_sso=v:")):
        answer = await console.client.get(path, headers={"cookie": cookie} if cookie else {})
        assert answer.status_code in (401, 403) and COOKIE not in answer.headers.get("set-cookie", ""), path
    refused = await console.client.get("/sso?error=nothing_granted", headers={"cookie": "aos_sso=v:x"})
    assert refused.status_code == 403 and "nothing here is for you yet" in refused.text
    lost = await console.client.get("/sso?error=sign_in_not_begun")
    assert lost.status_code == 401 and "Begin again in this browser" in lost.text and "Sign in with Corp" in lost.text
    assert (await console.client.get("/sso/start?provider=nobody")).status_code == 404


async def test_the_door_offers_the_directories_and_takes_their_passwords() -> None:
    """AU-03: a choice of whose password it is; without directories the form is as it was."""
    directory = {"name": "ad", "title": "Corp <AD>", "kind": "directory", "start": "/api/auth/login/ad"}
    refused = list[bool]()

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/api/auth/providers":
            return httpx.Response(200, json={"items": [*PROVIDERS["items"], directory]})
        if refused:
            return httpx.Response(401, json={"title": "No.", "code": "wrong_credentials"})
        return httpx.Response(200, json=TOKENS)

    console = Console(api=answer)
    console.client.cookies.clear()
    shown = (await console.client.get("/sign-in")).text
    assert '<option value="ad" selected>Corp &lt;AD&gt;</option>' in shown and 'value=""' in shown
    assert "sso/start?provider=ad" not in shown and "sso/start?provider=corp" in shown
    assert (await console.client.get("/sso/start?provider=ad")).status_code == 404
    sent = await console.client.post("/sign-in", data={"email": "ann", "password": "x", "directory": "ad"})
    assert sent.status_code == 303 and COOKIE in sent.headers["set-cookie"]
    asked = next(one for one in console.asked if one.url.path == "/api/auth/login/ad")
    assert json.loads(asked.content) == {"username": "ann", "password": "x", "directory": "ad"}
    assert asked.headers["x-console-client"] == "our word for 192.0.2.7"
    refused.append(True)
    again = await console.client.post("/sign-in", data={"email": "ann", "password": "x", "directory": ""})
    assert again.status_code == 401 and '<option value="" selected>' in again.text, "what was chosen stays"
    assert console.asked[-2].url.path == "/api/auth/login"
    plain = (await Console(api=by_provider).client.get("/sign-in")).text
    assert "<select" not in plain and 'type="email"' in plain


async def test_without_an_api_the_door_still_takes_passwords() -> None:
    def broken(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("nobody there")

    console = Console(api=broken)
    console.client.cookies.clear()
    assert "Password" in (await console.client.get("/sign-in")).text


CONNECTION = {
    "id": "2b0c3f6e-55b1-4a0e-9d3f-0c2f7b1d9a11",
    "name": "notes <b>",
    "base_url": "https://notes.example/mcp",
}
UNUSED = {"state": "none", "scope": None, "expires_at": None, "connected_at": None, "redirect_uri": None}


def connecting(request: httpx.Request) -> httpx.Response:
    if request.url.path == "/api/workspaces":
        return httpx.Response(200, json={"items": [{"id": "w1", "name": "Alpha", "role": "operator"}]})
    if request.method == "GET":
        return httpx.Response(200, json={"items": [CONNECTION | UNUSED]})
    if request.url.path.endswith("/complete"):
        known = b"state-1" in request.content
        return httpx.Response(204) if known else httpx.Response(403, json={"code": "oauth_refused", "title": "No."})
    if request.method == "POST":
        return httpx.Response(201, json={"authorization_url": "https://login.example/authorize?state=state-1"})
    return httpx.Response(200, json={"revoked": True})


async def test_cv_06_an_account_is_connected_and_disconnected_in_the_console() -> None:
    """CV-06: away by a page that leads on, back by one too, and the code does not stay in the address."""
    console, id_ = Console(api=connecting), CONNECTION["id"]
    shown = (await console.client.get("/connections")).text
    assert "notes &lt;b&gt;" in shown and "not yet" in shown and "notes.example" in shown and "Disconnect" not in shown
    away = await console.client.get(f"/connections/away?id={id_}")
    assert (away.status_code, away.headers["location"]) == (303, "https://login.example/authorize?state=state-1")
    query = f"of={id_}&state=state-1&code=c"
    back = await console.client.get(f"/connections/back?{query}", headers={"cookie": ""})
    assert back.status_code == 200 and "/console/connections/finish?of=" in back.text
    done = await console.client.get(f"/connections/finish?{query}")
    assert (done.status_code, done.headers["location"]) == (303, "/console/connections")
    assert console.asked[-1].url.path == f"/api/oauth/connections/{id_}/complete"
    gone = await console.client.post("/connections/disconnect", data={"id": id_})
    assert gone.headers["location"] == "/console/connections" and console.asked[-1].method == "DELETE"


async def test_cv_06_a_connection_that_is_not_ones_own_is_refused_with_a_card() -> None:
    console, id_ = Console(api=connecting), CONNECTION["id"]
    stolen = await console.client.get(f"/connections/finish?of={id_}&state=other&code=c")
    assert stolen.status_code == 403 and "No." in stolen.text
    refused = await console.client.get(f"/connections/finish?of={id_}&state=state-1&error=access_denied")
    assert refused.status_code == 403 and "did not agree" in refused.text
    foreign = await console.client.post(
        "/connections/disconnect", data={"id": id_}, headers={"origin": "http://evil.ex"}
    )
    assert foreign.status_code == 403
    console.client.cookies.clear()
    for path in ("/connections", f"/connections/finish?of={id_}&state=state-1&code=c"):
        assert (await console.client.get(path)).status_code == 401
