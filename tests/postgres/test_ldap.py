"""Sign-in by a directory, against a real slapd: who gets what, loses it again, and what holds while it is away."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from cluster.basics.scope import Role
from tests.fakes.corp_directory import DIRECT, SECRET, corp, declared, house_of
from tests.fakes.http import PASSWORD, Office, open_office
from tests.fakes.scripted_directory import EXTENDED, ScriptedDirectory, running
from tests.fakes.slapd import BASE, MISSING, PLACES, SERVICE_PASSWORD, Slapd, find_slapd, group, person

CROWD = 10_000
MANY_GROUPS = 1_200  # more than the server gives at once


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slapd]:
    crowd = "".join(person(f"u{number}", SECRET) for number in range(CROWD))
    groups = "".join(group(f"g{number}", "guy") for number in range(MANY_GROUPS))
    with corp(tmp_path_factory.mktemp("corp"), crowd + groups) as running_:
        yield running_


def of(directory: Slapd, office: Office, **changed: Any) -> Any:
    url = changed.pop("url", directory.ldaps)
    return declared(url, directory.folder / "ca.pem", office.scope.tenant, **changed)


def test_without_slapd_the_tests_say_what_to_install() -> None:
    with pytest.raises(AssertionError, match="apt-get install"):
        find_slapd("/nowhere")
    assert find_slapd(PLACES).endswith("slapd") and "make slapd" in MISSING


@pytest.mark.parametrize("bind", [{}, DIRECT], ids=["search", "direct"])
@pytest.mark.parametrize("scheme", ["ldaps", "ldap"])
async def test_au_03_gw_01_the_directorys_password_begins_a_session(
    directory: Slapd, app_dsn: str, tmp_path: Path, office: Office, bind: dict[str, Any], scheme: str
) -> None:
    """AU-03, GW-01: over LDAPS and StartTLS, by a service account or at once; an account comes with the first time."""
    url = directory.ldaps if scheme == "ldaps" else directory.ldap
    async with house_of(app_dsn, tmp_path, office, of(directory, office, url=url, **bind)) as house:
        listed = (await house.api.client.get("/api/auth/providers")).json()["items"]
        assert listed == [{"name": "corp", "title": "Corp", "kind": "directory", "start": "/api/auth/login/ad"}]
        body = (await house.sign_in("ann")).raise_for_status().json()
        login = {"email": house.office.emails[Role.VIEWER], "password": PASSWORD}
        local = (await house.api.client.post("/api/auth/login", json=login)).json()
        assert body.keys() == local.keys(), "the same answer as by a password here"
        assert (body["role"], body["email"], body["must_change_password"]) == ("viewer", "ann@corp.example", False)
        assert (await house.api.bearing(body["access_token"]).get("/api/documents/")).status_code == 200
        renewed = {"refresh_token": body["refresh_token"]}
        assert (await house.api.client.post("/api/auth/refresh", json=renewed)).status_code == 200
        assert (await house.sign_in("ANN")).json()["user_id"] == body["user_id"], "the subject tells, not the login"
        boss = (await house.sign_in("ben")).json()
        assert boss["role"] == "operator", "a rule may name the whole DN, however it is written"
        admin = await house.admin()
        grants = (await admin.get("/api/audit", params={"action": "user.grant"})).json()["items"]
        assert [one["detail"]["groups"] for one in grants] == [[], ["finance-west"]]
        trail = (await admin.get("/api/audit", params={"action": "session.begin"})).json()["items"]
        assert [one["detail"] for one in trail if one["detail"]] == [{"provider": "corp"}] * 3
        login = {"email": "ann@corp.example", "password": SECRET}
        assert (await house.api.client.post("/api/auth/login", json=login)).status_code == 401, "it is not kept here"


async def test_a_login_may_be_an_address_and_one_of_several_directories_has_to_be_named(
    directory: Slapd, app_dsn: str, tmp_path: Path, office: Office
) -> None:
    both = (of(directory, office), of(directory, office, name="other", title="Other"))
    async with house_of(app_dsn, tmp_path, office, *both) as house:
        post = house.api.client.post
        body = {"email": "Ann@corp.example", "password": SECRET}
        assert (await post("/api/auth/login/ad", json=body | {"directory": "corp"})).status_code == 200
        unsaid = await post("/api/auth/login/ad", json=body)
        assert unsaid.status_code == 422 and "corp, other" in unsaid.json()["fix"]
        assert (await post("/api/auth/login/ad", json=body | {"directory": "nobody"})).status_code == 404
        for wrong in ({"username": "ann"}, {"email": None}, {"password": ""}, {"more": 1}):
            assert (await post("/api/auth/login/ad", json=body | {"directory": "corp"} | wrong)).status_code == 422
    async with house_of(app_dsn, tmp_path, office) as house:
        assert (await house.sign_in("ann")).status_code == 404, "none is declared"


async def test_groups_in_groups_count_to_any_depth_though_they_go_in_circles(
    directory: Slapd, app_dsn: str, tmp_path: Path, office: Office, record_property: Any
) -> None:
    async with house_of(app_dsn, tmp_path, office, of(directory, office, nested="none")) as house:
        refused = await house.sign_in("ann")
        assert (refused.status_code, refused.json()["code"]) == (403, "nothing_granted"), "she is three groups deep"
        admin = await house.admin()
        assert not (await admin.get("/api/users", params={"q": "ann@"})).json()["items"], "nothing of her stays"
    many = [{"value": f"g{MANY_GROUPS - 1}", "workspace": "w", "role": "developer"}]
    async with house_of(app_dsn, tmp_path, office, of(directory, office, rules=many, page_size=100)) as house:
        assert (await house.sign_in("guy")).json()["role"] == "developer"
        record_property("LDAP groups of one person, by pages", MANY_GROUPS)


async def test_who_is_moved_out_of_a_group_loses_what_it_gave(
    directory: Slapd, app_dsn: str, tmp_path: Path, office: Office
) -> None:
    async with house_of(app_dsn, tmp_path, office, of(directory, office)) as house:
        body = (await house.sign_in("mover")).raise_for_status().json()
        change = (
            f"dn: cn=staff,ou=groups,{BASE}\nchangetype: modify\n{{}}: member\nmember: uid=mover,ou=people,{BASE}\n"
        )
        directory.change(change.format("delete"))
        try:
            assert (await house.sign_in("mover")).json()["code"] == "nothing_granted"
            token = house.api.bearing(body["access_token"])
            assert (await token.get("/api/documents/")).status_code == 401, "what they had is gone"
        finally:
            directory.change(change.format("add"))
        assert (await house.sign_in("mover")).json()["user_id"] == body["user_id"]


@pytest.mark.parametrize("name", ["off", "late", "stuck", "stale"])
async def test_an_account_that_has_ended_there_is_none_here(
    directory: Slapd, app_dsn: str, tmp_path: Path, office: Office, name: str
) -> None:
    for bind in ({}, DIRECT):
        async with house_of(app_dsn, tmp_path, office, of(directory, office, **bind)) as house:
            refused = await house.sign_in(name)
            assert (refused.status_code, refused.json()["code"]) == (403, "account_disabled")
            assert (await house.refusals())[0][0] == "account_disabled"
            assert (await house.sign_in("shut")).status_code == 401, "the directory itself has locked that one"


async def test_no_directory_takes_an_account_that_is_somebodys_or_an_administrators(
    directory: Slapd, app_dsn: str, admin_dsn: str, tmp_path: Path, office: Office, record_property: Any
) -> None:
    """A directory must not be able to hand out the accounts that keep it in check."""
    other = of(directory, office, name="other", title="Other")
    async with house_of(app_dsn, tmp_path, office, of(directory, office), other) as house:
        refused = 0
        for role in (Role.ADMIN, Role.VIEWER):  # of the tenant; and of a workspace
            with psycopg.connect(admin_dsn) as connection:
                connection.execute("update users set email = 'old@x.example' where email = 'admin@office.example'")
                connection.execute(
                    "update memberships m set role = 'admin' from users u where u.id = m.user_id and u.email = %s",
                    (office.emails[role],),
                )
                connection.execute(
                    "update users set email = 'admin@office.example' where email = %s", (office.emails[role],)
                )
            answer = await house.sign_in("admin", directory="corp")
            refused += answer.json()["code"] == "account_not_linked" and answer.status_code == 403
        assert (await house.sign_in("ann", directory="corp")).status_code == 200
        refused += (await house.sign_in("ann", directory="other")).json()["code"] == "account_not_linked"
        anew = f"dn: uid=ann,ou=people,{BASE}\nchangetype: delete\n\n" + person("ann", SECRET).replace(
            "\n", "\nchangetype: add\n", 1
        )
        directory.change(anew)  # somebody new with the name and address of somebody who left
        refused += (await house.sign_in("ann", directory="corp")).status_code in (401, 403)
        assert refused == 4
        record_property("LDAP take-overs of accounts refused", f"{refused} of 4")


async def test_passwords_here_do_not_need_the_directory(
    app_dsn: str, tmp_path: Path, office: Office, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whoever administers gets in while it is away: before the first word, in the middle, or for ever silent."""
    with corp(tmp_path_factory.mktemp("dying")) as dying:
        async with house_of(app_dsn, tmp_path, office, of(dying, office)) as house:
            assert (await house.sign_in("ben")).status_code == 200
            dying.stop()
            away = await house.sign_in("ben")
            assert (away.status_code, away.json()["code"]) == (503, "provider_unavailable")
            assert (await house.admin()) is not None


async def test_the_second_server_is_asked_where_the_first_is_down(
    directory: Slapd, app_dsn: str, tmp_path: Path, office: Office
) -> None:
    silent = ScriptedDirectory(tls="stripped", on={EXTENDED: "hang"})
    with running(silent):
        urls = ["ldaps://localhost:1", silent.url, directory.ldaps]
        told = of(directory, office, url=urls, connect_seconds=1, answer_seconds=1)
        async with house_of(app_dsn, tmp_path, office, told) as house:
            assert (await house.sign_in("ben")).status_code == 200
            asked = silent.connections
            assert asked == 1 and (await house.sign_in("ben")).status_code == 200
            assert silent.connections == asked, "one that was silent a moment ago comes last"
            house.clock.seconds += 31
            assert (await house.sign_in("ben")).status_code == 200 and silent.connections > asked


async def test_a_directory_of_ten_thousand_is_listed_by_pages(
    directory: Slapd, app_dsn: str, admin_dsn: str, tmp_path: Path, office: Office, record_property: Any
) -> None:
    urls = ["ldaps://localhost:1", directory.ldaps, directory.ldap]
    broken = {"name": "broken", "title": "Broken", "service_password": "another"}
    direct = {"name": "direct", "title": "Direct", **DIRECT}
    told = (of(directory, office, url=urls), of(directory, office, **broken), of(directory, office, **direct))
    async with house_of(app_dsn, tmp_path, office, *told) as house:
        admin = await house.admin()
        found = (await admin.get("/api/auth/directories/corp/check")).raise_for_status().json()
        assert [(one["url"], one["problem"] == "") for one in found["servers"]] == list(
            zip(urls, (False, True, True), strict=True)
        )
        assert found["people"] >= CROWD and found["problem"] == "", "the server gives 500 at once"
        record_property("LDAP users paged", found["people"])
        found = (await admin.get("/api/auth/directories/broken/check")).json()
        assert "invalidCredentials" in found["problem"] and found["people"] is None
        found = (await admin.get("/api/auth/directories/direct/check")).text
        assert '"people":null' in found and SECRET not in found and SERVICE_PASSWORD not in found
        assert (await admin.get("/api/auth/directories/nobody/check")).status_code == 404
        stranger = open_office(admin_dsn)
        other = await house.api.sign_in(stranger.emails[Role.ADMIN])
        assert (await other.get("/api/auth/directories/corp/check")).status_code == 404, "another tenant's"
