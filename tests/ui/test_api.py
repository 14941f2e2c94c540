"""The console's client of the API: a token is renewed once, and every failure is a Problem."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import httpx
import pytest

from serve_apps.ui.kit.api import SessionApi, SignInClient, parse_events
from serve_apps.ui.kit.problem import ApiProblem
from serve_apps.ui.sessions import ConsoleSession, Role, TokenGrant

Answer = Callable[[httpx.Request], httpx.Response]


@dataclass
class Server:
    """Knows one access and one refresh token at a time; ends the login when a used refresh token comes again."""

    number: int = 1
    ended: bool = False
    asked: list[str] = field(default_factory=list)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request.url.path)
        if request.url.path == "/api/auth/refresh":
            return self.refresh(request)
        if self.ended or request.headers["authorization"] != f"Bearer access{self.number}":
            return httpx.Response(401, json={"title": "No.", "code": "unauthenticated"})
        return httpx.Response(
            200, json={"workspace": request.headers.get("x-workspace"), "query": str(request.url.query)}
        )

    def refresh(self, request: httpx.Request) -> httpx.Response:
        if f"refresh{self.number}".encode() not in request.content or self.ended:
            self.ended = True
            return httpx.Response(401, json={"title": "Used.", "code": "token_reused"})
        self.number += 1
        return httpx.Response(200, json=told(self.number))


def told(number: int) -> dict[str, object]:
    return {
        "access_token": f"access{number}",
        "refresh_token": f"refresh{number}",
        "user_id": "u",
        "tenant_id": "t",
        "workspace_id": "w",
        "role": "viewer",
        "must_change_password": False,
    }


def api_of(answer: Answer, number: int = 1) -> SessionApi:
    client = httpx.AsyncClient(transport=httpx.MockTransport(answer), base_url="http://aos.test")
    return SignInClient(client).api(ConsoleSession("a@b.example", TokenGrant.of(told(number)), 60))


async def test_an_expired_token_is_renewed_once_for_all_that_wait() -> None:
    server = Server(number=1)
    api = api_of(server)
    api.session.grant = TokenGrant("old", "refresh1", "u", "t", "w", Role.VIEWER, False)
    await asyncio.gather(*(api.get("/api/jobs") for _ in range(5)))
    assert server.asked.count("/api/auth/refresh") == 1 and not server.ended
    assert api.session.grant.access == "access2"


async def test_a_session_that_cannot_be_renewed_is_over() -> None:
    server = Server(ended=True)
    api = api_of(server)
    with pytest.raises(ApiProblem) as caught:
        await api.get("/api/jobs")
    assert caught.value.told.code == "signed_out" and api.session.over
    assert server.asked == ["/api/jobs", "/api/auth/refresh"]


async def test_a_token_that_stays_refused_is_not_renewed_forever() -> None:
    def refusing(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        return httpx.Response(200, json=told(2)) if "refresh" in request.url.path else httpx.Response(401, text="no")

    asked: list[str] = []
    with pytest.raises(ApiProblem) as caught:
        await api_of(refusing).get("/api/jobs")
    assert caught.value.told.status == 401
    assert asked == ["/api/jobs", "/api/auth/refresh", "/api/jobs"]


async def test_empty_parameters_are_left_out_and_the_workspace_is_sent() -> None:
    client = httpx.AsyncClient(transport=httpx.MockTransport(Server()), base_url="http://aos.test")
    session = ConsoleSession("a@b.example", TokenGrant.of(told(1)), 60)
    session.chosen = "w2"
    api = SignInClient(client).api(session)
    found = await api.get("/api/jobs", state=None, q="", limit=5)
    assert found == {"workspace": "w2", "query": "b'limit=5'"}


async def test_what_has_begun_in_a_workspace_stays_there() -> None:
    api = api_of(Server())
    api.session.chosen = "w2"
    assert (await api.get("/api/jobs"))["workspace"] is None


@pytest.mark.parametrize("id_", ["..", "../../admin/config", ".", "", "a//b", "x" * 70_000])
async def test_an_id_that_cannot_be_one_is_a_problem(id_: str) -> None:
    """An odd id in a page's address ended in httpx.InvalidURL, or on another route."""
    server = Server()
    with pytest.raises(ApiProblem) as caught:
        await api_of(server).post(f"/api/jobs/{id_}/cancel")
    assert (caught.value.told.status, caught.value.told.code) == (404, "not_found") and server.asked == []


@pytest.mark.parametrize("id_", ["x?limit=9", "x#y", "\x00\x7f", "ü \\", "\ud800", "a%2Fb", "%zz"])
async def test_an_odd_id_stays_in_its_place(id_: str) -> None:
    def answering(request: httpx.Request) -> httpx.Response:
        raw.append(request.url.raw_path)
        return httpx.Response(200, json={})

    raw = list[bytes]()
    await api_of(answering).get(f"/api/jobs/{id_}/failures")
    (path,) = raw
    assert path.startswith(b"/api/jobs/") and path.endswith(b"/failures") and path.count(b"/") == 4
    assert b"?" not in path and b"#" not in path


async def test_the_api_is_told_who_signs_in_and_who_signs_out() -> None:
    """Everybody's failed attempts were counted for the console's address, and a session outlived its end here."""

    def answering(request: httpx.Request) -> httpx.Response:
        seen.append((request.url.path, request.headers.get("x-console-client"), request.content))
        return httpx.Response(204) if request.url.path.endswith("logout") else httpx.Response(200, json=told(1))

    seen = list[tuple[str, str | None, bytes]]()
    client = httpx.AsyncClient(transport=httpx.MockTransport(answering), base_url="http://aos.test")
    door = SignInClient(client, lambda address: f"our word for {address}")
    grant = await door.login("a@b.example", "secret", "192.0.2.7")
    await door.change_password(grant, "old", "new", "192.0.2.7")
    await door.refresh(grant)
    await door.logout(grant)
    assert [(path, client) for path, client, _ in seen] == [
        ("/api/auth/login", "our word for 192.0.2.7"),
        ("/api/auth/password", "our word for 192.0.2.7"),
        ("/api/auth/refresh", None),
        ("/api/auth/logout", None),
    ]
    assert b"refresh1" in seen[-1][2]


@pytest.mark.parametrize(
    ("answer", "title", "fix", "code"),
    [
        (
            httpx.Response(403, json={"title": "T", "detail": "D", "fix": "F", "code": "forbidden"}),
            "T",
            "F",
            "forbidden",
        ),
        (httpx.Response(502, text="<html>"), "Bad Gateway", "", "http_502"),
        (httpx.Response(500, json=["odd"]), "Internal Server Error", "", "http_500"),
    ],
)
async def test_any_refusal_is_a_problem(answer: httpx.Response, title: str, fix: str, code: str) -> None:
    with pytest.raises(ApiProblem) as caught:
        await api_of(lambda _: answer).get("/api/jobs")
    problem = caught.value.told
    assert (problem.title, problem.fix, problem.code, problem.status) == (title, fix, code, answer.status_code)


async def test_an_api_that_is_away_is_a_problem() -> None:
    def away(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    with pytest.raises(ApiProblem) as caught:
        await api_of(away).get("/api/jobs")
    assert (caught.value.told.code, caught.value.told.status) == ("unreachable", 0)


async def test_events_come_one_by_one() -> None:
    async def lines() -> AsyncIterator[str]:
        for line in (": pulse", "", "id: 7", "event: page", 'data: {"n":', "data: 1}", "", "data: [DONE]", ""):
            yield line

    found = [(one.id, one.name, one.data) async for one in parse_events(lines())]
    assert found == [("7", "page", {"n": 1}), ("7", "message", "[DONE]")]


async def test_a_stream_tells_where_it_goes_on() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, text=f'data: "{request.headers["last-event-id"]}"\n\n')

    assert [one.data async for one in api_of(answer).stream("GET", "/api/jobs/1/events", last="4")] == ["4"]


@dataclass
class Moving:
    """The workspace of the token is deleted: a refresh leads to another one. So may be the one that was chosen."""

    gone: str = "w"
    asked: list[tuple[str, str, str | None]] = field(default_factory=list)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        wanted = request.headers.get("x-workspace")
        self.asked.append((request.method, request.url.path, wanted))
        if request.url.path == "/api/auth/refresh":
            return httpx.Response(200, json={**told(2), "workspace_id": "other", "role": "operator"})
        if wanted is None and self.gone == "w" and request.headers["authorization"] == "Bearer access1":
            return httpx.Response(401, json={"title": "No.", "code": "credential_ended"})
        if wanted == self.gone:
            return httpx.Response(404, json={"title": "No.", "code": "not_found"})
        return httpx.Response(200, json={"items": [{"id": "other", "name": "Other", "role": "operator"}]})


async def test_a_session_whose_workspace_is_gone_goes_on_in_another() -> None:
    server = Moving()
    api = api_of(server)
    await api.look_around()
    assert (api.session.workspace, api.session.role, api.session.over) == ("other", Role.OPERATOR, False)


async def test_what_was_meant_for_a_workspace_that_is_gone_is_not_done_in_another() -> None:
    server = Moving()
    api = api_of(server)
    with pytest.raises(ApiProblem) as caught:
        await api.post("/api/agents", {"name": "x"})
    assert caught.value.told.code == "own_workspace" and "Reload" in caught.value.told.fix
    assert [(method, path) for method, path, _ in server.asked] == [
        ("POST", "/api/agents"),
        ("POST", "/api/auth/refresh"),
    ]
    assert not api.session.over
    await api.post("/api/agents", {"name": "x"})


async def test_a_chosen_workspace_that_is_gone_is_left() -> None:
    server = Moving(gone="chosen")
    session = api_of(server).session
    session.chosen = "chosen"
    client = httpx.AsyncClient(transport=httpx.MockTransport(server), base_url="http://aos.test")
    await SignInClient(client).api(session).look_around()
    assert session.chosen is None and session.workspace == "w" and session.places[0].name == "Other"
