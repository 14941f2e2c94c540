"""What ends a token ends it at every door within five seconds, streams that are open included; keys made meanwhile."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import httpx
import psycopg
import pytest
from websockets.sync.client import connect

from cluster.basics.errors import Unavailable
from cluster.basics.scope import Role, Scope, TenantId, UserId, WorkspaceId
from cluster.state.db.postgres import Database, Row
from cluster.state.identity.identity import IdentityStore, WorkspaceMember, secret_hash
from serve_apps.http.auth.revocation import AuthenticatedCaller, CredentialEnded, RevocationWatch, revocation_event
from tests.fakes.http import PASSWORD, Api, Clock, Office, make_parts
from tests.fakes.listening import listening
from tests.fakes.token_ends import LIMIT_SECONDS, OF_GROUPS, PATIENCE, WAYS, parts_for, seconds_until_refused

MEMBER = WorkspaceMember(TenantId("t"), WorkspaceId("w"), UserId("u"), "a@b.example", Role.VIEWER, Role.VIEWER)


@pytest.fixture
def url(app_dsn: str, tmp_path: Path) -> Iterator[str]:
    with listening(parts_for(app_dsn, tmp_path, pause=0.2)) as found:
        yield found


async def test_every_way_to_end_a_token_shuts_every_door(url: str, admin_dsn: str) -> None:
    """HTTP, SSE, WebSocket, MCP and the console, new requests and open streams, for each way in which tokens end."""
    tables = await asyncio.gather(*(seconds_until_refused(way, url, admin_dsn, trusted=0.2) for way in WAYS))
    late = {
        (way, door): seconds
        for way, table in zip(WAYS, tables, strict=True)
        for door, seconds in table.items()
        if seconds is None or seconds > LIMIT_SECONDS
    }
    assert late == {}
    assert all(len(table) >= (6 if way in OF_GROUPS else 10) for way, table in zip(WAYS, tables, strict=True))


async def login(api: Api, email: str) -> dict[str, Any]:
    answer = await api.client.post("/api/auth/login", json={"email": email, "password": PASSWORD})
    return dict(answer.raise_for_status().json())


async def test_what_ends_at_one_replica_ends_at_the_other(
    app_dsn: str, admin_dsn: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Two gateways on one database: streams, sockets, MCP and the console at one, the end of the token at the other."""
    with listening(parts_for(app_dsn, tmp_path)) as here, listening(parts_for(app_dsn, tmp_path)) as there:
        tables = await asyncio.gather(
            *(seconds_until_refused(way, here, admin_dsn, trusted=2.0, ends_at=there) for way in WAYS)
        )
    found = {(way, door): seconds for way, table in zip(WAYS, tables, strict=True) for door, seconds in table.items()}
    slowest = max(PATIENCE if seconds is None else seconds for seconds in found.values())
    record_property("slowest refusal at another replica, s", round(slowest, 2))
    record_property("ways and doors at another replica", f"{len(WAYS)} ways, {len(found)} doors")
    assert slowest <= LIMIT_SECONDS, {name: seconds for name, seconds in found.items() if (seconds or 9) > 5}


async def test_other_sessions_of_the_same_user_go_on(api: Api, office: Office) -> None:
    """Signing out here is not signing out there, unless `everywhere` says so."""
    email = office.emails[Role.DEVELOPER]
    here, there = await login(api, email), await login(api, email)
    first, second = api.bearing(here["access_token"]), api.bearing(there["access_token"])
    await api.client.post("/api/auth/logout", json={"refresh_token": here["refresh_token"]})
    refused = await first.get("/api/agents")
    assert (refused.status_code, refused.json()["code"]) == (401, "credential_ended")
    assert (await second.get("/api/agents")).status_code == 200
    third = await login(api, email)
    body = {"refresh_token": third["refresh_token"], "everywhere": True}
    assert (await api.client.post("/api/auth/logout", json=body)).status_code == 204
    assert (await second.get("/api/agents")).status_code == 401
    renewed = await api.client.post("/api/auth/refresh", json={"refresh_token": there["refresh_token"]})
    assert renewed.status_code == 401


async def test_a_refresh_leaves_the_former_access_token_until_it_runs_out(api: Api, office: Office) -> None:
    """Requests that are on their way while a client renews its token are not refused."""
    session = await login(api, office.emails[Role.VIEWER])
    await api.client.post("/api/auth/refresh", json={"refresh_token": session["refresh_token"]})
    assert (await api.bearing(session["access_token"]).get("/api/agents")).status_code == 200


async def test_an_ended_token_is_refused_as_such_also_where_a_workspace_is_named(api: Api, office: Office) -> None:
    """A client that always names its workspace heard 404 and never renewed its token."""
    session = await login(api, office.emails[Role.OPERATOR])
    client = api.bearing(session["access_token"])
    named = {"X-Workspace": session["workspace_id"]}
    assert (await client.get("/api/agents", headers=named)).status_code == 200
    await api.client.post("/api/auth/logout", json={"refresh_token": session["refresh_token"]})
    assert (await client.get("/api/agents", headers=named)).status_code == 401


async def test_other_roles_want_a_new_token_and_a_refresh_gives_it(api: Api, office: Office, admin_dsn: str) -> None:
    """Also where a role is changed in the database by hand."""
    session = await login(api, office.emails[Role.OPERATOR])
    with psycopg.connect(admin_dsn) as owner:
        owner.execute("update memberships set role = 'viewer' where user_id = %s", (session["user_id"],))
    assert (await api.bearing(session["access_token"]).get("/api/agents")).status_code == 401
    answer = await api.client.post("/api/auth/refresh", json={"refresh_token": session["refresh_token"]})
    fresh = api.bearing(answer.json()["access_token"])
    assert answer.json()["role"] == "viewer" and (await fresh.get("/api/agents")).status_code == 200
    assert (await fresh.get("/api/approvals")).status_code == 403


async def key(client: httpx.AsyncClient, name: str) -> str:
    return str((await client.post("/api/api-keys", json={"name": name})).raise_for_status().json()["key"])


async def test_a_reset_revokes_the_keys_made_meanwhile_and_names_them(api: Api, office: Office, admin_dsn: str) -> None:
    """A stolen session left a key behind, which went on after the reset. Keys from before are named and go on."""
    email = office.emails[Role.DEVELOPER]
    old, ended, now = await login(api, email), await login(api, email), await login(api, email)
    ages_ago = await key(api.bearing(old["access_token"]), "ages ago")
    with psycopg.connect(admin_dsn) as owner:  # its session ran out long ago, and was forgotten with a later login
        owner.execute("delete from refresh_tokens where family = (select session from api_keys)")
    left = await key(api.bearing(ended["access_token"]), "left behind")
    await api.client.post("/api/auth/logout", json={"refresh_token": ended["refresh_token"]})
    mine = await key(api.bearing(now["access_token"]), "made today")
    admin = await api.sign_in(office.emails[Role.ADMIN])
    users = (await admin.get("/api/users", params={"q": email})).json()["items"]
    path = f"/api/users/{users[0]['id']}/password"
    kept = (await admin.post(path, json={"keep_keys": True})).json()
    assert kept["revoked_keys"] == [] and len(kept["kept_keys"]) == 3
    assert (await api.bearing(left).get("/api/agents")).status_code == 403, "the key lives; first the password"
    reset = (await admin.post(path, json={})).json()
    assert {one["name"] for one in reset["revoked_keys"]} == {"left behind", "made today"}
    assert [one["name"] for one in reset["kept_keys"]] == ["ages ago"] and "key" not in reset["kept_keys"][0]
    for text, status in ((left, 401), (mine, 401), (ages_ago, 403)):
        assert (await api.bearing(text).get("/api/agents")).status_code == status
    trail = (await admin.get("/api/audit", params={"action": "user.password"})).json()["items"]
    assert sorted(len(entry["detail"]["revoked_keys"]) for entry in trail) == [0, 2]


def test_a_socket_takes_a_newer_token_and_says_when_its_own_ran_out(
    admin_dsn: str, app_dsn: str, tmp_path: Path, office: Office
) -> None:
    """A socket outlives the hour of its token: it is told, shows a newer one, and goes on."""
    clock = Clock()
    with listening(make_parts(app_dsn, tmp_path, clock)) as url:

        def login(role: Role) -> str:
            body = {"email": office.emails[role], "password": PASSWORD}
            return str(httpx.post(f"{url}/api/auth/login", json=body).json()["access_token"])

        old = login(Role.VIEWER)
        address = url.replace("http", "ws", 1) + "/api/v1/ws/agent"
        with connect(address, additional_headers={"Authorization": f"Bearer {old}"}) as socket:

            def said(**message: str) -> dict[str, Any]:
                socket.send(json.dumps(message))
                while not (chunk := json.loads(socket.recv(timeout=10)))["is_final"]:
                    pass
                return dict(chunk)

            assert said(type="message", message="hi")["type"] == "done"
            clock.now += timedelta(minutes=61)
            assert said(type="message", message="hi")["data"]["code"] == "token_refused"
            assert said(type="auth", token=login(Role.ADMIN))["data"]["code"] == "conflict"
            socket.send(json.dumps({"type": "auth", "token": login(Role.VIEWER)}))
            assert said(type="message", message="hi")["type"] == "done"


async def test_many_streams_of_one_credential_cost_one_look() -> None:
    looked = 0

    async def look() -> WorkspaceMember | None:
        nonlocal looked
        looked += 1
        return MEMBER if looked < 3 else None

    watch = RevocationWatch(0.01)
    await asyncio.gather(*(watch.ended(AuthenticatedCaller(MEMBER, "token", look)) for _ in range(20)))
    assert looked == 3 and len(watch) == 0


async def test_a_database_that_is_away_ends_no_stream() -> None:
    """It is looked up again when it is back; a changed role counts as an end."""
    answers: list[Exception | WorkspaceMember] = [Unavailable("away"), MEMBER, replace(MEMBER, role=Role.ADMIN)]

    async def look() -> WorkspaceMember | None:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    await asyncio.wait_for(RevocationWatch(0.01).ended(AuthenticatedCaller(MEMBER, "token", look)), 5)
    assert answers == []


def test_the_last_words_of_a_stream_are_an_event_and_of_anything_else_nothing() -> None:
    told = revocation_event({"headers": [(b"Content-Type", b"text/event-stream; charset=utf-8")]}).decode()
    data = json.loads(told.partition("data: ")[2])
    assert told.startswith("event: error\n") and told.endswith("\n\n")
    assert data["data"]["code"] == data["error"]["code"] == CredentialEnded.code
    assert revocation_event({"headers": [(b"content-type", b"application/json")]}) == b""


class Counted:
    """A database that counts the statements sent through it."""

    def __init__(self, database: Database) -> None:
        self._database, self.asked = database, 0

    @asynccontextmanager
    async def transaction(self, scope: Scope | None = None) -> AsyncIterator["Counted"]:
        async with self._database.transaction(scope) as tx:
            self._tx = tx
            yield self

    async def one(self, query: str, **values: Any) -> Row | None:
        self.asked += 1
        return await self._tx.one(query, **values)


async def test_whether_a_token_has_ended_is_asked_in_the_query_that_finds_its_member(api: Api, office: Office) -> None:
    """It is asked with every request: one statement, as before there was anything to ask."""
    session = await login(api, office.emails[Role.VIEWER])
    claims = api.parts.tokens.verify(session["access_token"], api.parts.clock())
    counted = Counted(api.parts.database)
    found = await IdentityStore(cast(Database, counted)).member_by_token(
        claims.tenant, claims.user, claims.workspace, claims.session, claims.version
    )
    assert found is not None and found.session == claims.session and counted.asked == 1


async def test_a_session_that_is_renewed_while_it_is_ended_does_not_survive(api: Api, office: Office) -> None:
    """Who held a refresh token and was fast outlived a sign-out everywhere: the new row was in nobody's sight."""
    email = office.emails[Role.DEVELOPER]
    session, identity = await login(api, email), api.parts.identity
    known = await identity.credentials(email)
    assert known is not None
    named = {"user": known.user, "tenant": known.tenant}
    new = {"hash": "n" * 64, "expires": api.parts.clock() + timedelta(days=1), "workspace": session["workspace_id"]}
    ending: asyncio.Task[None]
    async with api.parts.database.transaction(known.scope) as renewing:  # as `rotate` does it
        await renewing.one(identity._sql["lock_user"], **named)
        old = secret_hash(session["refresh_token"])
        spent = await renewing.one(identity._sql["use_refresh"], hash=old, tenant=known.tenant, now=api.parts.clock())
        assert spent is not None

        async def end() -> None:
            async with api.parts.database.transaction(known.scope) as tx:
                await identity.end_all(tx, known.tenant, known.user)

        ending = asyncio.create_task(end())
        await asyncio.sleep(0.3)
        await renewing.run(identity._sql["keep_refresh"], **named, **new, family=spent["family"])
    await ending
    found = await identity.member_by_token(known.tenant, known.user, None, session=str(spent["family"]), version=0)
    assert found is None
