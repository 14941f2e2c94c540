"""The only way from the console to the product: its HTTP API, with the token of whoever is signed in."""

import json
import re
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

import httpx

from serve_apps.ui.kit.problem import (
    MISSING,
    UNAUTHENTICATED,
    ApiProblem,
    ProblemReport,
    no_such_thing,
    problem_from_answer,
    problem_from_transport,
    signed_out,
    workspace_gone,
)
from serve_apps.ui.sessions import ConsoleSession, Role, TokenGrant, WorkspaceMembership

ANSWER_SECONDS = 60.0
RELAY_SECONDS = 300.0  # the last bytes of a large file wait until it is put together
SIGN_OUT_SECONDS = 5.0  # nobody waits longer to be signed out
SILENCE_SECONDS = 60.0  # the server's streams are never silent for longer than 15 s
MOST_CONNECTIONS = 64
JSON = Any
READING: Final = frozenset({"GET", "HEAD"})
# Dots alone would lead out of their place, and nothing between two slashes is the id of nothing.
_ELSEWHERE: Final = re.compile(r"/\.{1,2}(/|$)|//")


def open_client(url: str) -> httpx.AsyncClient:
    """One pool for all sessions. It keeps no cookies and follows no redirects, and no proxy stands between."""
    limits = httpx.Limits(max_connections=MOST_CONNECTIONS, max_keepalive_connections=16)
    return httpx.AsyncClient(base_url=url, timeout=ANSWER_SECONDS, limits=limits, trust_env=False)


@dataclass(frozen=True, slots=True)
class SignInProvider:
    """A provider or directory by which people may sign in.

    `start` is the API's address that sends a browser to a provider (`oidc`), or takes a directory's password.
    """

    name: str
    title: str
    start: str
    kind: str = "oidc"


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One server-sent event; `id` is what to come back with."""

    id: str | None
    name: str
    data: JSON


class SignInClient:
    """Sign-in client: the calls of the API that need no session."""

    def __init__(self, client: httpx.AsyncClient, vouch: Callable[[str], str] | None = None) -> None:
        """`client` is shared and knows the address; `vouch` makes the console's word for a browser's address."""
        self._client, self._vouch = client, vouch

    async def login(self, email: str, password: str, client: str | None = None) -> TokenGrant:
        """Tokens for a password; raises Problem.

        Args:
            client: the address of who signs in. The console vouches for it, so that failed attempts are counted for
                that address and not for the console's, which is everybody's; what anybody may write is not believed.
        """
        return await self._request_grant("/api/auth/login", {"email": email, "password": password}, None, client)

    async def login_by_directory(
        self, login: str, password: str, directory: str, client: str | None = None
    ) -> tuple[str, TokenGrant]:
        """E-mail address and tokens of who has this login in a directory; `client` as for `login`; raises Problem."""
        body = {"username": login, "password": password, "directory": directory}
        answer = await self._post_json("/api/auth/login/ad", body, self._vouched(client))
        return answer.json()["email"], TokenGrant.of(answer.json())

    async def providers(self) -> tuple[SignInProvider, ...]:
        """Those that the API has; none where it cannot be asked, as passwords go on being good."""
        with suppress(ApiProblem), _transport_problems():
            answer = await self._client.get("/api/auth/providers", timeout=SIGN_OUT_SECONDS)
            if answer.status_code == 200:
                items = answer.json()["items"]
                return tuple(
                    SignInProvider(one["name"], one["title"], one["start"], one.get("kind", "oidc")) for one in items
                )
        return ()

    async def redeem(self, code: str, verifier: str) -> tuple[str, TokenGrant]:
        """E-mail address and tokens of who has signed in by a provider; raises Problem."""
        answer = await self._post_json("/api/auth/oidc/redeem", {"code": code, "verifier": verifier}, {})
        return answer.json()["email"], TokenGrant.of(answer.json())

    async def refresh(self, grant: TokenGrant) -> TokenGrant:
        """Tokens for a refresh token, which then is used up; raises Problem."""
        return await self._request_grant("/api/auth/refresh", {"refresh_token": grant.refresh}, None)

    async def change_password(self, grant: TokenGrant, old: str, new: str, client: str | None = None) -> TokenGrant:
        """Tokens of the session that begins with the new password; `client` as for `login`; raises Problem."""
        body = {"current_password": old, "new_password": new}
        return await self._request_grant("/api/auth/password", body, grant.access, client)

    async def logout(self, grant: TokenGrant) -> None:
        """End the login at the API, too, where its refresh token would live on for days; raises Problem."""
        await self._post_json("/api/auth/logout", {"refresh_token": grant.refresh}, {}, SIGN_OUT_SECONDS)

    def api(self, session: ConsoleSession) -> "SessionApi":
        """The API as somebody who is signed in has it."""
        return SessionApi(self._client, self, session)

    async def _request_grant(self, path: str, body: JSON, token: str | None, client: str | None = None) -> TokenGrant:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return TokenGrant.of((await self._post_json(path, body, headers | self._vouched(client))).json())

    def _vouched(self, client: str | None) -> dict[str, str]:
        return {"X-Console-Client": self._vouch(client)} if client and self._vouch else {}

    async def _post_json(
        self, path: str, body: JSON, headers: dict[str, str], seconds: float = ANSWER_SECONDS
    ) -> httpx.Response:
        with _transport_problems():
            answer = await self._client.post(path, json=body, headers=headers, timeout=seconds)
        if not answer.is_success:
            raise problem_from_answer(answer)
        return answer


class SessionApi:
    """The API with a session's token and workspace. Every method raises Problem, and nothing else.

    It stays in the workspace in which it was made: what has begun there does not go on in one that is chosen meanwhile.
    """

    def __init__(self, client: httpx.AsyncClient, door: SignInClient, session: ConsoleSession) -> None:
        """Cheap: pages make one for each event."""
        self._client, self._door, self.session = client, door, session
        self._workspace = session.chosen

    async def get(self, path: str, **query: Any) -> JSON:
        """JSON; parameters that are None or empty are left out."""
        return await self._request_json("GET", path, params=_drop_empty(query))

    async def post(self, path: str, body: JSON = None, **more: Any) -> JSON:
        """JSON, None where there is none; `files`, `data` and `params` as httpx has them."""
        return await self._request_json("POST", path, **({"json": body} if body is not None else {}), **more)

    async def put(self, path: str, body: JSON) -> JSON:
        """JSON."""
        return await self._request_json("PUT", path, json=body)

    async def patch(self, path: str, body: JSON) -> JSON:
        """JSON."""
        return await self._request_json("PATCH", path, json=body)

    async def delete(self, path: str, **query: Any) -> JSON:
        """JSON, None where there is none."""
        return await self._request_json("DELETE", path, params=_drop_empty(query))

    async def download(self, path: str, **query: Any) -> tuple[bytes, str]:
        """Bytes and their media type."""
        async with self._open_answer("GET", path, params=_drop_empty(query)) as answer:
            return answer.content, answer.headers.get("content-type", "application/octet-stream")

    async def stream(
        self, method: str, path: str, last: str | None = None, **options: Any
    ) -> AsyncIterator[StreamEvent]:
        """Server-sent events as they come; `last` is the id of the one that is known already."""
        headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": last} if last else {})
        silence = httpx.Timeout(SILENCE_SECONDS, connect=10)
        async with self._open_answer(method, path, whole=False, headers=headers, timeout=silence, **options) as answer:
            with _transport_problems():
                async for told in parse_events(answer.aiter_lines()):
                    yield told

    async def relay(
        self, method: str, path: str, headers: Mapping[str, str], content: AsyncIterable[bytes] | None = None
    ) -> httpx.Response:
        """An answer whatever its status, with its body read. Raises Problem: 503 where the token had just run out.

        The content comes once and is not kept, so that it cannot be sent again with the new token.
        """
        used = self.session.grant
        options = {"headers": dict(headers), "content": content, "timeout": httpx.Timeout(RELAY_SECONDS, connect=10)}
        answer = await self._send_request(method, path, used, options)
        try:
            with _transport_problems():
                await answer.aread()
        finally:
            await answer.aclose()
        if answer.status_code == UNAUTHENTICATED:
            await self._renew_grant(used)
            raise ApiProblem(ProblemReport("Send it again.", "The token was renewed.", "", 503, "token_renewed"))
        return answer

    async def look_around(self) -> None:
        """Ask which workspaces there are, and the role in each; one that is gone is no longer the chosen one."""
        try:
            body = await self.get("/api/workspaces", limit=100)
        except ApiProblem as problem:
            if self._workspace is None or problem.told.status != MISSING:
                raise
            if self.session.chosen == self._workspace:
                self.session.chosen = None
            self._workspace = None
            body = await self.get("/api/workspaces", limit=100)
        places = (WorkspaceMembership(one["id"], one["name"], Role(one["role"])) for one in body["items"])
        self.session.places = tuple(places)

    async def _request_json(self, method: str, path: str, **options: Any) -> JSON:
        async with self._open_answer(method, path, **options) as answer:
            return answer.json() if answer.content else None

    @asynccontextmanager
    async def _open_answer(
        self, method: str, path: str, whole: bool = True, **options: Any
    ) -> AsyncIterator[httpx.Response]:
        """A successful answer; a token that ran out is renewed once."""
        for attempt in (1, 2):
            used = self.session.grant
            answer = await self._send_request(method, path, used, options)
            try:
                if answer.status_code == UNAUTHENTICATED and attempt == 1:
                    await self._renew_grant(used)
                    moved = self._workspace is None and self.session.grant.workspace != used.workspace
                    if moved and method not in READING:  # it was meant for the workspace that is gone
                        raise workspace_gone()
                    continue
                if whole or not answer.is_success:
                    with _transport_problems():
                        await answer.aread()
                if not answer.is_success:
                    raise problem_from_answer(answer)
                yield answer
                return
            finally:
                await answer.aclose()

    async def _send_request(self, method: str, path: str, grant: TokenGrant, options: dict[str, Any]) -> httpx.Response:
        headers = {**options.get("headers", {}), "Authorization": f"Bearer {grant.access}"}
        if self._workspace is not None:
            headers["X-Workspace"] = self._workspace
        try:
            request = self._client.build_request(method, _quote_path(path), **{**options, "headers": headers})
        except httpx.InvalidURL as error:  # it is too long
            raise no_such_thing() from error
        with _transport_problems():
            return await self._client.send(request, stream=True)

    async def _renew_grant(self, used: TokenGrant) -> None:
        """New tokens, once for all that wait for them: a refresh token that comes twice ends the whole login."""
        session = self.session
        async with session.refreshing:
            if session.over:
                raise signed_out()
            if session.grant is not used:
                return
            try:
                session.grant = await self._door.refresh(used)
            except ApiProblem as problem:
                if problem.told.status == UNAUTHENTICATED:
                    session.over = True
                    raise signed_out() from problem
                raise


async def parse_events(lines: AsyncIterable[str]) -> AsyncIterator[StreamEvent]:
    """Events of a stream (WHATWG): an empty line ends each, a line that begins with a colon is its pulse."""
    id_: str | None = None
    name, data = "message", list[str]()
    async for line in lines:
        if not line:
            if data:
                yield StreamEvent(id_, name, _parse_value("\n".join(data)))
            name, data = "message", []
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            data.append(value)
        elif field == "event":
            name = value
        elif field == "id":
            id_ = value


def _quote_path(path: str) -> str:
    """The path of a route, what is quoted already as it is. Raises Problem where an id would lead elsewhere."""
    if _ELSEWHERE.search(path):
        raise no_such_thing()
    return quote(path, safe="/:@%", errors="replace")


def _parse_value(data: str) -> JSON:
    """JSON, or the text itself: OpenAI's dialect ends with [DONE]."""
    try:
        return json.loads(data)
    except ValueError:
        return data


def _drop_empty(query: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in query.items() if value is not None and value != ""}


@contextmanager
def _transport_problems() -> Iterator[None]:
    try:
        yield
    except httpx.TransportError as error:
        raise problem_from_transport(error) from error
