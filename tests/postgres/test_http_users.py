"""People: changed, disabled, removed, given a new first password; and the trail of it, page by page."""

from datetime import UTC, datetime, timedelta

import httpx
import psycopg
import pytest

from cluster.basics.scope import Role
from tests.fakes.http import PASSWORD, Api, Office, open_office


@pytest.fixture
async def admin(api: Api, office: Office) -> httpx.AsyncClient:
    return await api.sign_in(office.emails[Role.ADMIN])


async def ids(client: httpx.AsyncClient) -> dict[str, str]:
    items = (await client.get("/api/users")).json()["items"]
    return {one["email"].partition("@")[0]: one["id"] for one in items}


async def test_people_are_listed_searched_and_changed(
    api: Api, admin: httpx.AsyncClient, office: Office, admin_dsn: str
) -> None:
    """What the page of users does: list with a total, search, roles in the workspace and in the tenant."""
    body = (await admin.get("/api/users", params={"limit": 2})).json()
    assert (len(body["items"]), body["total"]) == (2, 4)
    (found,) = (await admin.get("/api/users", params={"q": "VIEW"})).json()["items"]
    assert (found["role"], found["tenant_role"], found["disabled"]) == ("viewer", "viewer", False)
    known = await ids(admin)
    changed = await admin.patch(f"/api/users/{known['viewer']}", json={"role": "operator"})
    assert (changed.json()["role"], changed.json()["tenant_role"]) == ("operator", "viewer")
    client = await api.sign_in(office.emails[Role.VIEWER])
    assert (await client.get("/api/approvals")).status_code == 200, "an operator now"
    assert (await admin.delete(f"/api/users/{known['developer']}")).status_code == 204
    assert (await admin.get("/api/users")).json()["total"] == 3
    everybody = (await admin.get("/api/users", params={"everywhere": True})).json()
    assert everybody["total"] == 4
    assert [one["role"] for one in everybody["items"] if one["email"].startswith("developer")] == [None]
    back = await admin.patch(f"/api/users/{known['developer']}", json={"role": "developer", "tenant_role": "operator"})
    assert (back.json()["role"], back.json()["tenant_role"]) == ("developer", "operator")
    with psycopg.connect(admin_dsn) as owner:
        owner.execute("update users set role = 'viewer' where email = %s", (office.emails[Role.ADMIN],))
    assert (await admin.get("/api/users")).status_code == 401, "another role ends the token, by whatever way it came"
    admin = await api.sign_in(office.emails[Role.ADMIN])
    assert (await admin.get("/api/users")).status_code == 200
    assert (await admin.get("/api/users", params={"everywhere": True})).status_code == 403, "of the workspace alone"


async def test_who_is_disabled_is_out_at_once_and_may_come_back(
    api: Api, admin: httpx.AsyncClient, office: Office
) -> None:
    """Tokens, keys and refresh tokens end in the same moment."""
    known, email = await ids(admin), office.emails[Role.OPERATOR]
    login = (await api.client.post("/api/auth/login", json={"email": email, "password": PASSWORD})).json()
    client = api.bearing(login["access_token"])
    key = api.bearing((await client.post("/api/api-keys", json={"name": "k"})).json()["key"])
    assert (await key.get("/api/jobs")).status_code == 200
    assert (await admin.patch(f"/api/users/{known['operator']}", json={"disabled": True})).json()["disabled"] is True
    assert [(await one.get("/api/jobs")).status_code for one in (client, key)] == [401, 401]
    refresh = {"refresh_token": login["refresh_token"]}
    assert (await api.client.post("/api/auth/refresh", json=refresh)).status_code == 401
    sign_in = {"email": email, "password": PASSWORD}
    assert (await api.client.post("/api/auth/login", json=sign_in)).status_code == 401
    await admin.patch(f"/api/users/{known['operator']}", json={"disabled": False})
    assert (await api.client.post("/api/auth/login", json=sign_in)).status_code == 200


async def test_a_new_first_password_is_shown_once_and_has_to_be_changed(
    api: Api, admin: httpx.AsyncClient, office: Office
) -> None:
    known, email = await ids(admin), office.emails[Role.VIEWER]
    client = await api.sign_in(email)
    made = (await admin.post(f"/api/users/{known['viewer']}/password", json={})).json()
    assert made["email"] == email and len(made["password"]) >= 12
    assert (await client.get("/api/jobs")).status_code == 401, "every session has ended"
    assert (await api.client.post("/api/auth/login", json={"email": email, "password": PASSWORD})).status_code == 401
    again = await api.client.post("/api/auth/login", json={"email": email, "password": made["password"]})
    assert again.json()["must_change_password"] is True
    easy = await admin.post(f"/api/users/{known['viewer']}/password", json={"password": "short"})
    assert easy.status_code == 422
    given = await admin.post(f"/api/users/{known['viewer']}/password", json={"password": "a quiet lagoon 12"})
    assert given.json()["password"] is None, "whoever chose it knows it"


async def test_nobody_changes_themselves_or_people_of_other_tenants(
    api: Api, admin: httpx.AsyncClient, office: Office, admin_dsn: str
) -> None:
    other = open_office(admin_dsn)
    stranger = await ids(await api.sign_in(other.emails[Role.ADMIN]))
    known = await ids(admin)
    for path, method, body in (("", "PATCH", {"disabled": True}), ("/password", "POST", {}), ("", "DELETE", None)):
        own = await admin.request(method, f"/api/users/{known['admin']}{path}", json=body)
        assert own.status_code == 409, "the last administrator would lock everybody out"
        theirs = await admin.request(method, f"/api/users/{stranger['viewer']}{path}", json=body)
        assert theirs.status_code == 404
        operator = await api.sign_in(office.emails[Role.OPERATOR])
        assert (await operator.request(method, f"/api/users/{known['viewer']}{path}", json=body)).status_code == 403
    assert (await api.sign_in(other.emails[Role.VIEWER])).headers


async def test_gw_17_the_trail_is_filtered_and_paged_and_a_page_checks_its_own_links(
    admin: httpx.AsyncClient, office: Office, admin_dsn: str
) -> None:
    """GW-17, AT-02: by actor, action, outcome and time; a page of some entries does not walk the whole chain."""
    known = await ids(admin)
    for role in ("operator", "developer", "viewer"):
        await admin.patch(f"/api/users/{known['viewer']}", json={"role": role})
    await admin.post("/api/agents", json={"name": "Clerk"})

    async def asked(**params: object) -> list[str]:
        body = (await admin.get("/api/audit", params=params)).json()  # type: ignore[arg-type]
        return [entry["action"] for entry in body["items"]]

    assert await asked(action="user") == ["user.change"] * 3 and await asked(action="agent.add") == ["agent.add"]
    assert await asked(action="use") == []
    assert len(await asked(actor=office.emails[Role.ADMIN].upper())) == 5
    assert await asked(actor="worker") == [] and await asked(object=known["viewer"], limit=1) == ["user.change"]
    assert await asked(outcome="denied") == []
    soon = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    assert await asked(**{"from": soon}) == [] and len(await asked(to=soon)) == 5
    first = (await admin.get("/api/audit", params={"limit": 2})).json()
    assert (first["newest"], first["next_before"], first["items"][0]["seq"]) == (5, 4, 5)
    assert first["items"][0]["actor_email"] == office.emails[Role.ADMIN]
    second = (await admin.get("/api/audit", params={"limit": 3, "before": first["next_before"]})).json()
    assert [entry["seq"] for entry in second["items"]] == [3, 2, 1]
    with psycopg.connect(admin_dsn) as owner:
        owner.execute("alter table audit disable trigger audit_is_append_only")
        owner.execute("delete from audit where tenant_id = %s and seq = 3", (office.scope.tenant,))
    fine = (await admin.get("/api/audit", params={"limit": 1})).json()
    assert (fine["verified"], fine["intact"]) == ("page", True), "entry 5 follows entry 4"
    gap = (await admin.get("/api/audit", params={"limit": 2})).json()
    assert (gap["intact"], gap["first_broken"]) == (False, 4), "the one before it is missing"
    assert [entry["intact"] for entry in gap["items"]] == [True, False]
    whole = (await admin.get("/api/audit", params={"limit": 1, "verify": "chain"})).json()
    assert (whole["verified"], whole["intact"], whole["first_broken"]) == ("chain", False, 4)
