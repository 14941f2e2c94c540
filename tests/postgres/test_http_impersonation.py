"""Front ends that show one key for all of their people (AU-06): whom the headers name counts with such a key alone."""

from collections.abc import Mapping
from typing import Any, cast

import httpx
import psycopg
import pytest

from cluster.basics.scope import Role
from serve_apps.http.auth.impersonation import START
from tests.fakes.http import Api, Office
from tests.fakes.orchestrator import ScriptedOrchestrator

EMAIL = "X-OpenWebUI-User-Email"


@pytest.fixture
async def admin(api: Api, office: Office) -> httpx.AsyncClient:
    return await api.sign_in(office.emails[Role.ADMIN])


def scripted(api: Api) -> ScriptedOrchestrator:
    return cast(ScriptedOrchestrator, api.parts.orchestrator)


async def made_key(admin: httpx.AsyncClient, **more: Any) -> str:
    body = {"name": "front end", "role": "operator", "may_impersonate": True, **more}
    answer = (await admin.post("/api/api-keys", json=body)).raise_for_status().json()
    assert answer["may_impersonate"] is body["may_impersonate"]
    return str(answer["key"])


def acting(api: Api, key: str, email: str, **more: str) -> httpx.AsyncClient:
    client = api.bearing(key)
    client.headers.update({EMAIL: email, "X-OpenWebUI-User-Name": "Somebody", "X-OpenWebUI-User-Role": "admin", **more})
    return client


async def test_au_06_each_person_behind_a_front_end_has_their_own_conversations_rights_and_lines_in_the_trail(
    api: Api, admin: httpx.AsyncClient, office: Office, admin_dsn: str
) -> None:
    """AU-06: the address chooses the person, X-OpenWebUI-Chat-Id the conversation among theirs."""
    key = await made_key(admin)
    viewer, developer = office.emails[Role.VIEWER], office.emails[Role.DEVELOPER]
    first = acting(api, key, viewer.upper(), **{"X-OpenWebUI-Chat-Id": "chat-1"})
    second = acting(api, key, developer, **{"X-OpenWebUI-Chat-Id": "chat-1"})
    asked = {"model": "assistant", "messages": [{"role": "user", "content": "Hello, what is there?"}]}
    for client in (first, second):
        assert (await client.post("/v1/chat/completions", json=asked)).status_code == 200
    told = [(scope.user, scope.principals[0], one.session) for scope, one in scripted(api).asked]
    ids = {one["email"]: one["id"] for one in (await admin.get("/api/users")).json()["items"]}
    assert told == [(ids[email], f"user:{email}", "chat-1") for email in (viewer, developer)]
    # Rights are the person's, and no more than the key's; nothing across the tenant.
    assert (await first.post("/api/agents", json={"name": "x", "system_prompt": "y"})).status_code == 403
    boss = acting(api, key, office.emails[Role.ADMIN])
    assert (await boss.get("/api/users")).status_code == 403
    assert (await boss.post("/api/groups", json={"name": "g"})).status_code == 403
    assert (await second.post("/api/api-keys", json={"name": "mine"})).status_code == 403, "that outlives the request"
    refused = (await admin.get("/api/audit", params={"actor": viewer, "outcome": "denied"})).json()["items"]
    with psycopg.connect(admin_dsn) as owner:
        row = owner.execute("select id::text from api_keys where may_impersonate").fetchone()
    assert row is not None and refused and all(one["detail"]["service_key"] == row[0] for one in refused)


@pytest.mark.parametrize(
    "headers",
    [
        {EMAIL: "VIEWER"},
        {"X-OpenWebUI-User-Id": "1"},
        {"X-OpenWebUI-User-Role": "admin"},
        {"X-OpenWebUI-User-Name": "Root"},
        {"x-openwebui-user-anything": ""},
    ],
)
async def test_the_headers_are_refused_and_not_ignored_where_the_key_may_not(
    api: Api, admin: httpx.AsyncClient, office: Office, headers: Mapping[str, str]
) -> None:
    """Neither a plain key nor an administrator's own token makes anybody somebody else."""
    sent = {name: office.emails[Role.VIEWER] if value == "VIEWER" else value for name, value in headers.items()}
    plain = api.bearing(await made_key(admin, may_impersonate=False))
    for client in (plain, admin):
        answer = await client.get("/api/agents", headers=sent)
        assert (answer.status_code, answer.json()["code"]) == (403, "impersonation_refused")
    trail = (await admin.get("/api/audit", params={"outcome": "denied"})).json()["items"]
    assert [one["action"] for one in trail] == ["GET /api/agents"] * 2
    assert (await api.client.get("/api/agents", headers=sent)).status_code == 401


async def test_nobody_is_acted_for_who_is_no_member_or_disabled_or_elsewhere(
    api: Api, admin: httpx.AsyncClient, office: Office, admin_dsn: str
) -> None:
    key = await made_key(admin)
    stranger = acting(api, key, "nobody@aos.example")
    for client in (stranger, api.bearing(key)):
        client.headers.setdefault("X-OpenWebUI-User-Id", "7")
        answer = await client.get("/api/agents")
        assert (answer.status_code, answer.json()["code"]) == (403, "unknown_person")
    viewer = acting(api, key, office.emails[Role.VIEWER])
    assert (await viewer.get("/api/agents")).status_code == 200
    twice = await api.bearing(key).get(
        "/api/agents", headers=[(EMAIL, office.emails[Role.VIEWER]), (EMAIL, office.emails[Role.ADMIN])]
    )
    assert twice.json()["code"] == "unknown_person"
    with psycopg.connect(admin_dsn) as owner:
        owner.execute("update users set disabled = true where email = %s", (office.emails[Role.VIEWER],))
    assert (await viewer.get("/api/agents")).status_code == 403
    with psycopg.connect(admin_dsn) as owner:
        owner.execute("update users set disabled = false")
        owner.execute("update api_keys set revoked_at = now()")
    assert (await viewer.get("/api/agents")).status_code == 401


async def test_only_an_administrator_of_the_tenant_makes_such_a_key(
    api: Api, admin: httpx.AsyncClient, office: Office
) -> None:
    body = {"name": "front end", "may_impersonate": True}
    for role in (Role.DEVELOPER, Role.OPERATOR):
        client = await api.sign_in(office.emails[role])
        assert (await client.post("/api/api-keys", json=body)).status_code == 403
    await made_key(admin)
    (listed,) = (await admin.get("/api/api-keys")).json()["items"]
    assert listed["may_impersonate"] is True
    (line,) = (await admin.get("/api/audit", params={"action": "api_key.add"})).json()["items"]
    assert line["detail"] == {"role": "operator", "may_impersonate": True}


def test_every_header_of_the_front_end_begins_alike() -> None:
    assert EMAIL.lower().startswith(START)


async def test_a_run_behind_a_service_key_has_no_more_than_its_owner_has_now(
    api: Api, admin: httpx.AsyncClient, office: Office, admin_dsn: str
) -> None:
    """Also one that is resumed days later, when the key's owner may less, or nothing."""
    key = await made_key(admin)
    operator = office.emails[Role.OPERATOR]
    member = await api.parts.identity.member_by_service(key, operator)
    assert member is not None and member.role is Role.OPERATOR
    standing = await api.parts.identity.standing(member.scope)
    assert standing.member is not None and (standing.member.role, standing.ended) == (Role.OPERATOR, False)
    with psycopg.connect(admin_dsn) as owner:
        owner.execute(
            "update memberships set role = 'viewer' where user_id = (select id from users where email = %s)",
            (office.emails[Role.ADMIN],),
        )
    standing = await api.parts.identity.standing(member.scope)
    assert standing.member is not None and (standing.member.role, standing.ended) == (Role.VIEWER, False)
    with psycopg.connect(admin_dsn) as owner:
        owner.execute("update users set disabled = true where email = %s", (office.emails[Role.ADMIN],))
    assert (await api.parts.identity.standing(member.scope)).ended
