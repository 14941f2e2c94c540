"""Unlinking: what a source gave lapses with it, logins by it end, the rest stays, and one line says so."""

from pathlib import Path
from typing import Any

import httpx
import psycopg

from cluster.basics.scope import Role
from tests.fakes.corp_directory import corp, declared, house_of
from tests.fakes.http import PASSWORD, Office, open_office
from tests.fakes.oidc_provider import landed
from tests.postgres.test_oidc import CHALLENGE, House, house, providers  # noqa: F401

Client = httpx.AsyncClient


async def the_admin(house: House) -> Client:  # noqa: F811
    return await house.api.sign_in(house.office.emails[Role.ADMIN])


async def links(admin: Client, user: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await admin.get(f"/api/users/{user}/links")).raise_for_status().json()["items"]
    return found


async def test_what_a_provider_gave_lapses_with_its_link_and_logins_by_it_end(house: House) -> None:  # noqa: F811
    house.corp.claims["groups"] = ["staff", "bosses", "finance-west"]
    body = (await house.sign_in()).raise_for_status().json()
    user, theirs = body["user_id"], house.api.bearing(body["access_token"])
    key = (await theirs.post("/api/api-keys", json={"name": "k"})).raise_for_status().json()
    admin = await the_admin(house)
    (link,) = await links(admin, user)
    assert (link["provider"], link["subject"], link["workspaces"]) == ("corp", "ann-1", ["w"])
    assert (link["groups"], link["tenant_role"]) == (["finance-west"], "operator")
    done = (await admin.delete(f"/api/users/{user}/links/corp")).raise_for_status().json()
    assert (done["workspaces"], done["groups"], done["ended_sessions"]) == (["w"], ["finance-west"], 1)
    assert [one["id"] for one in done["revoked_keys"]] == [key["id"]]
    for shown in (body["access_token"], key["key"]):
        assert (await house.api.bearing(shown).get("/api/documents/")).status_code == 401
    renewed = await house.api.client.post("/api/auth/refresh", json={"refresh_token": body["refresh_token"]})
    assert renewed.status_code == 401
    (after,) = (await admin.get("/api/users", params={"q": "ann@", "everywhere": True})).json()["items"]
    assert (after["role"], after["tenant_role"], after["provider"]) == (None, "viewer", None), "the account stays"
    assert {one["members"] for one in (await admin.get("/api/groups")).json()["items"]} == {0}
    assert await links(admin, user) == []
    lines = (await admin.get("/api/audit", params={"action": "user.unlink"})).json()["items"]
    assert [(one["object"], one["detail"]["provider"], one["detail"]["workspaces"]) for one in lines] == [
        (user, "corp", ["w"])
    ]
    assert (await admin.delete(f"/api/users/{user}/links/corp")).status_code == 404, "a second time there is none"
    house.corp.claims["sub"] = "ann-2"
    again = (await house.sign_in()).raise_for_status().json()
    assert again["user_id"] == user, "somebody new there with the address is linked anew, as the first one was"


async def test_what_was_given_by_hand_and_logins_by_password_stay(house: House) -> None:  # noqa: F811
    email = house.office.emails[Role.DEVELOPER]
    house.corp.claims |= {"email": email, "groups": ["bosses"]}
    login = {"email": email, "password": PASSWORD}
    local = (await house.api.client.post("/api/auth/login", json=login)).json()
    body = (await house.sign_in()).raise_for_status().json()
    admin = await the_admin(house)
    done = (await admin.delete(f"/api/users/{body['user_id']}/links/corp")).raise_for_status().json()
    assert (done["workspaces"], done["ended_sessions"], done["revoked_keys"]) == ([], 1, [])
    assert (await house.api.bearing(body["access_token"]).get("/api/documents/")).status_code == 401
    assert (await house.api.bearing(local["access_token"]).get("/api/documents/")).status_code == 200
    (after,) = (await admin.get("/api/users", params={"q": "developer"})).json()["items"]
    assert after["role"] == "developer"


async def test_a_sign_in_on_its_way_does_not_come_through_an_unlinking(house: House, admin_dsn: str) -> None:  # noqa: F811
    """Neither its code, nor one that was spent a moment before the link went."""
    user, admin = (await house.sign_in()).json()["user_id"], await the_admin(house)
    browser = house.browser()
    url = await browser.depart("corp", CHALLENGE)
    code = landed(await browser.come_back("corp", house.corp.consent(url)))["code"]
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("create table kept as select * from sign_in_handoffs")
    assert (await admin.delete(f"/api/users/{user}/links/corp")).json()["ended_sessions"] == 1
    assert (await house.redeem(code)).status_code == 401
    await admin.patch(f"/api/users/{user}", json={"role": "viewer"})  # by hand: they may sign in
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("insert into sign_in_handoffs select * from kept")
    late = await house.redeem(code)
    assert (late.status_code, late.json()["code"]) == (401, "no_longer_linked")


async def test_scim_is_unlinked_beside_a_provider_and_each_takes_its_own(house: House) -> None:  # noqa: F811
    admin = await the_admin(house)
    made = (await admin.post("/scim/v2/Users", json={"userName": "ann@corp.example", "externalId": "x-1"})).json()
    body = (await house.sign_in()).raise_for_status().json()
    group = {"displayName": "clerks", "members": [{"value": made["id"]}]}
    assert (await admin.post("/scim/v2/Groups", json=group)).status_code == 201
    found = await links(admin, made["id"])
    assert [(one["provider"], one["subject"], one["groups"]) for one in found] == [
        ("corp", "ann-1", ["finance-west"]),
        ("scim", "x-1", ["clerks"]),
    ]
    done = (await admin.delete(f"/api/users/{made['id']}/links/scim")).raise_for_status().json()
    assert (done["groups"], done["ended_sessions"]) == (["clerks"], 0)
    assert (await house.api.bearing(body["access_token"]).get("/api/documents/")).status_code == 200
    assert [one["provider"] for one in await links(admin, made["id"])] == ["corp"]


async def test_only_another_administrator_of_the_tenant_unlinks(house: House, admin_dsn: str) -> None:  # noqa: F811
    user = (await house.sign_in()).json()["user_id"]
    admin = await the_admin(house)
    stranger = await house.api.sign_in(open_office(admin_dsn).emails[Role.ADMIN])
    operator = await house.api.sign_in(house.office.emails[Role.OPERATOR])
    for client, status in ((stranger, 404), (operator, 403), (house.api.client, 401)):
        assert (await client.delete(f"/api/users/{user}/links/corp")).status_code == status
        assert (await client.get(f"/api/users/{user}/links")).status_code == status
    with psycopg.connect(admin_dsn) as connection:
        connection.execute(
            "update external_accounts set user_id = (select id from users where email = %s)",
            (house.office.emails[Role.ADMIN],),
        )
        (me,) = connection.execute("select user_id from external_accounts").fetchone() or ("",)
    assert (await admin.delete(f"/api/users/{me}/links/corp")).status_code == 409, "nobody locks themselves out"
    assert len(await links(admin, str(me))) == 1


async def test_a_directory_is_unlinked_like_a_provider(app_dsn: str, tmp_path: Path, office: Office) -> None:
    with corp(tmp_path) as directory:
        told = declared(directory.ldaps, directory.folder / "ca.pem", office.scope.tenant)
        async with house_of(app_dsn, tmp_path, office, told) as house:
            body = (await house.sign_in("ann")).raise_for_status().json()
            admin = await house.admin()
            (link,) = await links(admin, body["user_id"])
            assert (link["provider"], link["groups"]) == ("corp", ["finance-west"])
            done = (await admin.delete(f"/api/users/{body['user_id']}/links/corp")).raise_for_status().json()
            assert (done["ended_sessions"], done["workspaces"]) == (1, ["w"])
            renewed = {"refresh_token": body["refresh_token"]}
            assert (await house.api.client.post("/api/auth/refresh", json=renewed)).status_code == 401
            assert (await house.sign_in("ann")).json()["user_id"] == body["user_id"]
