"""Who gets in over HTTP: passwords, tokens, keys, and what each of them stops being good for."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import jwt
import psycopg
import pytest

from cluster.basics.scope import Role
from cluster.state.identity.bootstrap import first_admin
from configs.sections_identity import AuthSettings
from tests.fakes.http import PASSWORD, Api, Clock, Office, make_parts, open_office, serve

NEW = "another quiet harbour"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def api(app_dsn: str, tmp_path: Path, clock: Clock) -> AsyncIterator[Api]:
    async with serve(make_parts(app_dsn, tmp_path, clock)) as made:
        yield made


@pytest.fixture
def office(admin_dsn: str) -> Office:
    return open_office(admin_dsn)


async def login(api: Api, email: str, password: str = PASSWORD) -> httpx.Response:
    return await api.client.post("/api/auth/login", json={"email": email, "password": password})


def audit(admin_dsn: str) -> list[tuple[str, str]]:
    with psycopg.connect(admin_dsn) as connection:
        rows = connection.execute("select action, outcome from audit order by tenant_id, seq").fetchall()
    return [(str(action), str(outcome)) for action, outcome in rows]


async def test_au_01_gw_01_login_gives_a_token_that_expires_and_a_refresh(
    api: Api, office: Office, clock: Clock
) -> None:
    """AU-01, GW-01: an HS256 bearer token for 60 minutes, renewed by a refresh token."""
    session = (await login(api, office.emails[Role.VIEWER].upper())).json()
    assert session["expires_in"] == 3600
    assert jwt.get_unverified_header(session["access_token"])["alg"] == "HS256"
    client = api.bearing(session["access_token"])
    assert (await client.get("/api/agents")).status_code == 200
    clock.now += timedelta(minutes=61)
    late = await client.get("/api/agents")
    assert (late.status_code, late.json()["code"]) == (401, "token_refused")
    fresh = await api.client.post("/api/auth/refresh", json={"refresh_token": session["refresh_token"]})
    assert (await api.bearing(fresh.json()["access_token"]).get("/api/agents")).status_code == 200


async def test_a_refresh_token_that_comes_twice_ends_every_session_of_its_login(
    api: Api, office: Office, admin_dsn: str
) -> None:
    first = (await login(api, office.emails[Role.VIEWER])).json()["refresh_token"]
    second = (await api.client.post("/api/auth/refresh", json={"refresh_token": first})).json()["refresh_token"]
    again = await api.client.post("/api/auth/refresh", json={"refresh_token": first})
    assert (again.status_code, again.json()["code"]) == (401, "refresh_reused")
    assert (await api.client.post("/api/auth/refresh", json={"refresh_token": second})).status_code == 401
    assert ("session.refresh", "denied") in audit(admin_dsn)


async def test_signing_out_ends_the_session_whatever_is_sent(api: Api, office: Office, admin_dsn: str) -> None:
    async def logout(token: str) -> int:
        return (await api.client.post("/api/auth/logout", json={"refresh_token": token})).status_code

    token = (await login(api, office.emails[Role.VIEWER])).json()["refresh_token"]
    other = (await login(api, office.emails[Role.VIEWER])).json()["refresh_token"]
    assert await logout(token) == 204
    assert ("session.end", "done") in audit(admin_dsn)
    assert await logout("unknown") == 204 and await logout("") in (204, 422)
    assert (await api.client.post("/api/auth/refresh", json={"refresh_token": other})).status_code == 200, "another one"
    assert await logout(token) == 204, "twice is as once, and on record"
    assert ("session.end", "denied") in audit(admin_dsn)
    assert (await api.client.post("/api/auth/refresh", json={"refresh_token": token})).status_code == 401


async def test_a_refresh_token_runs_out_and_is_stored_as_a_hash_only(
    api: Api, office: Office, clock: Clock, admin_dsn: str
) -> None:
    token = (await login(api, office.emails[Role.VIEWER])).json()["refresh_token"]
    with psycopg.connect(admin_dsn) as connection:
        assert connection.execute("select count(*) from refresh_tokens where hash = %s", (token,)).fetchone() == (0,)
    clock.now += timedelta(days=15)
    assert (await api.client.post("/api/auth/refresh", json={"refresh_token": token})).status_code == 401


@pytest.mark.parametrize(
    "change",
    [{"type": "refresh"}, {"iss": "elsewhere"}, {"aud": "elsewhere"}, {"exp": 1}, {"sub": "nobody"}, {"alg": "none"}],
    ids=str,
)
async def test_a_token_that_is_not_exactly_ours_is_refused(api: Api, office: Office, change: dict[str, Any]) -> None:
    token = (await login(api, office.emails[Role.ADMIN])).json()["access_token"]
    body = jwt.decode(token, options={"verify_signature": False})
    if change == {"alg": "none"}:
        forged = jwt.encode(body, "", algorithm="none")
    else:
        forged = jwt.encode(body | change, "test-secret-of-at-least-32-bytes!", algorithm="HS256")
    assert (await api.bearing(forged).get("/api/agents")).status_code == 401
    other = jwt.encode(body, "another-secret-of-at-least-32-bytes", algorithm="HS256")
    assert (await api.bearing(other).get("/api/agents")).status_code == 401


async def test_au_02_the_first_administrator_must_choose_a_password_before_anything_else(
    api: Api, admin_dsn: str
) -> None:
    """AU-02, "Default credentials: none": a made password is shown once and good for its change only."""
    made = await first_admin(admin_dsn, AuthSettings())
    assert made and made != "AOS@Admin2026!"
    session = (await login(api, "admin@orchestrator.local", made)).json()
    assert session["must_change_password"] is True
    client = api.bearing(session["access_token"])
    shut = await client.get("/api/documents/")
    assert (shut.status_code, shut.json()["code"]) == (403, "password_change_required")
    for easy in ("short", "AOS@Admin2026!", made):
        body = {"current_password": made, "new_password": easy}
        assert (await client.post("/api/auth/password", json=body)).status_code == 422
    changed = await client.post("/api/auth/password", json={"current_password": made, "new_password": NEW})
    assert changed.json()["must_change_password"] is False
    assert (await api.bearing(changed.json()["access_token"]).get("/api/documents/")).status_code == 200
    assert (await login(api, "admin@orchestrator.local", made)).status_code == 401
    old = await api.client.post("/api/auth/refresh", json={"refresh_token": session["refresh_token"]})
    assert old.status_code == 401


async def test_unknown_users_and_wrong_passwords_look_alike_and_guessing_gets_slower(
    api: Api, office: Office, clock: Clock, admin_dsn: str
) -> None:
    email = office.emails[Role.ADMIN]
    wrong, unknown = await login(api, email, "wrong"), await login(api, "nobody@x.example", "wrong")
    assert wrong.status_code == unknown.status_code == 401
    assert wrong.json() == unknown.json()
    for _ in range(4):
        await login(api, email, "wrong")
    blocked = await login(api, email)
    assert (blocked.status_code, blocked.json()["code"]) == (429, "too_many_attempts")
    assert int(blocked.headers["Retry-After"]) >= 1
    clock.seconds += 120
    assert (await login(api, email)).status_code == 200
    assert audit(admin_dsn).count(("session.begin", "denied")) == 5


async def test_a_disabled_user_is_out_at_once(api: Api, office: Office, admin_dsn: str) -> None:
    client = await api.sign_in(office.emails[Role.OPERATOR])
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("update users set disabled = true where email = %s", (office.emails[Role.OPERATOR],))
    assert (await client.get("/api/agents")).status_code == 401
    assert (await login(api, office.emails[Role.OPERATOR])).status_code == 401


async def test_an_api_key_is_shown_once_never_outranks_its_owner_and_dies_at_once(api: Api, office: Office) -> None:
    person = await api.sign_in(office.emails[Role.DEVELOPER])
    assert (await person.post("/api/api-keys", json={"name": "k", "role": "admin"})).status_code == 403
    made = (await person.post("/api/api-keys", json={"name": "robot", "role": "viewer"})).json()
    assert made["key"].startswith("aos_")
    listed = (await person.get("/api/api-keys")).json()["items"]
    assert [key["name"] for key in listed] == ["robot"] and "key" not in listed[0]
    robot = api.bearing(made["key"])
    assert (await robot.get("/api/documents/")).status_code == 200
    assert (await robot.post("/api/documents/reindex-all")).status_code == 403
    stolen = api.bearing((await person.post("/api/api-keys", json={"name": "second"})).json()["key"])
    again = await stolen.post("/api/api-keys", json={"name": "third"})
    assert again.status_code == 403 and "API key" in again.json()["detail"]
    stranger = await api.sign_in(office.emails[Role.OPERATOR])
    assert (await stranger.delete(f"/api/api-keys/{made['id']}")).status_code == 404
    assert (await person.delete(f"/api/api-keys/{made['id']}")).status_code == 204
    assert (await robot.get("/api/documents/")).status_code == 401


async def test_accounts_grow_from_an_administrator_down(api: Api, office: Office, admin_dsn: str) -> None:
    """MT-01: a new tenant's administrator sees their own tenant and nothing of the one that made it."""
    admin = await api.sign_in(office.emails[Role.ADMIN])
    tenant = await admin.post("/api/tenants", json={"name": "daughter", "admin_email": "Boss@Daughter.example"})
    assert tenant.status_code == 201
    session = (await login(api, "boss@daughter.example", tenant.json()["password"])).json()
    body = {"current_password": tenant.json()["password"], "new_password": NEW}
    changed = await api.bearing(session["access_token"]).post("/api/auth/password", json=body)
    boss = api.bearing(changed.json()["access_token"])
    assert [t["name"] for t in (await boss.get("/api/tenants")).json()["items"]] == ["daughter"]
    assert [u["email"] for u in (await boss.get("/api/users")).json()["items"]] == ["boss@daughter.example"]
    taken = await boss.post("/api/users", json={"email": office.emails[Role.VIEWER]})
    assert taken.status_code == 409
    user = await boss.post("/api/users", json={"email": "clerk@daughter.example", "role": "viewer"})
    assert (
        user.json()["fresh"] is True
        and (await login(api, "clerk@daughter.example", user.json()["password"])).json()["must_change_password"]
    )
    assert (
        await admin.post("/api/tenants", json={"name": "daughter", "admin_email": "a@b.example"})
    ).status_code == 409
    assert ("tenant.add", "done") in audit(admin_dsn)


async def test_an_administrator_cannot_take_their_own_rights_away(api: Api, office: Office) -> None:
    admin = await api.sign_in(office.emails[Role.ADMIN])
    own = {"email": office.emails[Role.ADMIN], "role": "viewer"}
    assert (await admin.post("/api/users", json=own)).status_code == 409
    assert (await admin.get("/api/users")).status_code == 200
    other = await admin.post("/api/users", json={"email": office.emails[Role.VIEWER], "role": "operator"})
    assert (other.status_code, other.json()["fresh"], other.json()["password"]) == (200, False, None)


async def test_another_workspace_is_chosen_by_header_among_ones_own(api: Api, office: Office, admin_dsn: str) -> None:
    """X-39: a workspace or tenant in header, query or body never widens what the token allows."""
    admin = await api.sign_in(office.emails[Role.ADMIN])
    second = (await admin.post("/api/workspaces", json={"name": "second"})).json()["id"]
    await admin.post("/api/agents", json={"name": "here"})
    there = await admin.get("/api/agents", headers={"X-Workspace": second})
    assert [one["name"] for one in there.json()["items"]] == ["assistant"]  # the one that every workspace has
    viewer = await api.sign_in(office.emails[Role.VIEWER])
    for strange in (second, open_office(admin_dsn).scope.workspace, "x", "urn:uuid:zz"):
        assert (await viewer.get("/api/agents", headers={"X-Workspace": strange})).status_code == 404
    foreign = await viewer.get("/api/agents", params={"workspace_id": second})
    assert (foreign.status_code, foreign.json()["code"]) == (403, "scope_mismatch")
    ask = {"question": "who?", "tenant_id": str(open_office(admin_dsn).scope.tenant)}
    assert (await viewer.post("/api/ask", json=ask)).json()["code"] == "scope_mismatch"
    mine = {"question": "who?", "tenant_id": office.scope.tenant, "workspace_id": office.scope.workspace}
    assert (await viewer.post("/api/ask", json=mine)).status_code == 200


async def test_two_refreshes_at_once_give_one_session(api: Api, office: Office) -> None:
    token = (await login(api, office.emails[Role.VIEWER])).json()["refresh_token"]
    both = await asyncio.gather(
        *(api.client.post("/api/auth/refresh", json={"refresh_token": token}) for _ in range(2))
    )
    assert sorted(answer.status_code for answer in both) == [200, 401]


async def test_guesses_count_for_who_is_connected_or_whom_the_console_vouches_for(api: Api, office: Office) -> None:
    """Headers that anybody may write change nothing; the console's word does."""
    email, tokens, now = office.emails[Role.VIEWER], api.parts.tokens, api.parts.clock()

    async def guess(password: str, **headers: str) -> int:
        body = {"email": email, "password": password}
        return (await api.client.post("/api/auth/login", json=body, headers=headers)).status_code

    def word(address: str) -> dict[str, str]:
        return {"X-Console-Client": tokens.vouch(address, now)}

    made_up = [{"X-Forwarded-For": f"10.0.0.{n}", "X-Console-Client": f"10.0.0.{n}"} for n in range(6)]
    assert [await guess("wrong", **headers) for headers in made_up] == [401] * 5 + [429]
    assert await guess(PASSWORD, **word("192.0.2.7")) == 200
    assert [await guess("wrong", **word("192.0.2.9")) for _ in range(6)] == [401] * 5 + [429]
    assert await guess(PASSWORD, **word("192.0.2.7")) == 200
