"""The API of credentials: administrators write, operators see what there is, and no answer holds a secret."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest

from cluster.basics.scope import Role
from tests.fakes.corpus import open_agent
from tests.fakes.http import Api, Office, make_parts, open_office, serve

PATH = "/api/credentials"
SECRET = "kanarien-vogel-77"
SSH = {"name": "web", "type": "ssh", "values": {"username": "root", "host": "10.0.0.7", "password": SECRET}}


@pytest.fixture
async def api(app_dsn: str, tmp_path: Path) -> AsyncIterator[Api]:
    async with serve(make_parts(app_dsn, tmp_path)) as made:
        yield made


@pytest.fixture
def office(admin_dsn: str) -> Office:
    return open_office(admin_dsn)


async def add(client: httpx.AsyncClient, **other: Any) -> dict[str, Any]:
    made = await client.post(PATH, json={**SSH, **other})
    assert made.status_code == 201, made.text
    assert SECRET not in made.text
    return dict(made.json())


async def test_gw_08_a_credential_comes_and_goes_and_its_secret_is_never_shown(
    api: Api, office: Office, admin_dsn: str
) -> None:
    """GW-08, CV-01, CV-03: metadata only, in every answer, in the table and in the trail."""
    admin = await api.sign_in(office.emails[Role.ADMIN])
    made = await add(admin, extra={"rack": 7, "db_password": SECRET})
    assert (made["fields"], made["extra"]) == (
        ["db_password", "password"],
        {"username": "root", "host": "10.0.0.7", "rack": 7},
    )
    assert (made["is_active"], made["bound"], made["bindings"], made["context_id"]) == (True, False, 0, None)
    url = f"{PATH}/{made['id']}"
    said = [
        await admin.patch(url, json={"name": "web-1", "is_active": False}),
        await admin.patch(url, json={"expires_at": "2030-01-01T00:00:00Z", "is_active": True}),
        await admin.patch(url, json={"values": {"username": "ann", "private_key": SECRET}}),
        await admin.patch(url, json={"expires_at": None}),
        await admin.get(PATH),
        await admin.get(f"{PATH}/types"),
    ]
    for answer in said:
        assert answer.status_code == 200 and SECRET not in answer.text, answer.text
    (listed,) = said[4].json()["items"]
    assert (listed["name"], listed["fields"], listed["extra"]) == ("web-1", ["private_key"], {"username": "ann"})
    assert listed["is_active"] is True and listed["expires_at"] is None and said[4].json()["total"] == 1
    with psycopg.connect(admin_dsn) as owner:
        row = owner.execute("select sealed, credentials::text from credentials").fetchone()
        assert row is not None and SECRET.encode() not in bytes(row[0]) and SECRET not in row[1]
        assert bytes(row[0])[:1] == b"\x01"
    assert (await admin.delete(url)).status_code == 204
    assert (await admin.get(PATH)).json() == {"items": [], "total": 0}
    with psycopg.connect(admin_dsn) as owner:
        trail = owner.execute(
            "select action, detail::text from audit where action like 'credential%%' order by seq"
        ).fetchall()
    assert [action for action, _ in trail] == ["credential.add", *["credential.change"] * 4, "credential.delete"]
    assert SECRET not in str(trail) and '"values"' in trail[3][1]


async def test_what_is_wrong_is_refused_without_repeating_the_secret(
    api: Api, office: Office, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """CV-02: not by validation either, which usually quotes its input."""
    admin = await api.sign_in(office.emails[Role.ADMIN])
    values = SSH["values"]
    for wrong in (
        {"type": SECRET},
        {"values": SECRET},
        {"values": [SECRET]},
        {"values": {"password": SECRET}},
        {"values": {**values, "password": [SECRET]}},
        {"values": {**values, "password": SECRET * 1_000}},
        {"values": {**values, "password": f"{SECRET}\0"}},
        {"values": {**values, SECRET + " ": "x"}},
        {"values": {f"f{n}": SECRET for n in range(40)}},
        {"extra": {"password": SECRET}},
        {"extra": {"a": {"b": SECRET}}},
        {"is_active": SECRET},
        {"expires_at": SECRET},
        {"expires_at": "2030-01-01T00:00:00"},
        {"context_id": SECRET},
        {"sealed": SECRET},
        {"name": ""},
        {"type": "api_key", "values": {}},
        {"name": SECRET * 20},
    ):
        answer = await admin.post(PATH, json={**SSH, **wrong})
        assert answer.status_code == 422, (wrong, answer.text)
        assert SECRET not in answer.text
    broken = await admin.post(PATH, content=json.dumps(SSH)[:-3], headers={"content-type": "application/json"})
    assert broken.status_code == 422 and SECRET not in broken.text
    lone = json.dumps({**SSH, "values": {**values, "password": f"{SECRET}\ud800"}})
    answer = await admin.post(PATH, content=lone, headers={"content-type": "application/json"})
    assert answer.status_code == 422 and SECRET not in answer.text
    assert (await admin.post(PATH, json={**SSH, "x": "y" * 200_000})).status_code == 413
    made = await add(admin)
    again = await admin.post(PATH, json=SSH)
    assert again.status_code == 409 and SECRET not in again.text
    alone = await admin.patch(f"{PATH}/{made['id']}", json={"extra": {"host": "evil.example"}})
    assert alone.status_code == 422 and "again" in alone.json()["fix"], "a stored secret is not sent to a new host"
    said = capfd.readouterr()
    assert SECRET not in caplog.text + said.out + said.err


async def test_au_05_the_matrix_of_roles_and_foreign_ones_are_none(api: Api, office: Office, admin_dsn: str) -> None:
    """AU-05: administrators write, operators list, others do not; of another tenant there is nothing."""
    admin = await api.sign_in(office.emails[Role.ADMIN])
    id_ = (await add(admin))["id"]
    binding = (await admin.post(f"{PATH}/{id_}/bindings", json={"skill": "s"})).json()["id"]
    lists = [("GET", PATH), ("GET", f"{PATH}/types"), ("GET", f"{PATH}/{id_}/bindings")]
    writes = [
        ("POST", PATH),
        ("PATCH", f"{PATH}/{id_}"),
        ("POST", f"{PATH}/{id_}/bindings"),
        ("DELETE", f"{PATH}/{id_}/bindings/{binding}"),
        ("DELETE", f"{PATH}/{id_}"),
    ]
    for role in (Role.VIEWER, Role.DEVELOPER, Role.OPERATOR):
        client = await api.sign_in(office.emails[role])
        for method, path in lists:
            answer = await client.request(method, path)
            assert answer.status_code == (200 if role is Role.OPERATOR else 403), (role, path)
        for method, path in writes:
            body = None if method == "DELETE" else {}
            assert (await client.request(method, path, json=body)).status_code == 403, (role, path)
    stranger = await api.sign_in(open_office(admin_dsn).emails[Role.ADMIN])
    assert (await stranger.get(PATH)).json()["items"] == []
    for method, path in [*lists[2:], *writes[1:]]:
        body = None if method in ("DELETE", "GET") else {"skill": "x"} if path.endswith("bindings") else {"name": "x"}
        assert (await stranger.request(method, path, json=body)).status_code == 404, path
    mine = (await add(stranger))["id"]
    agent, session = await foreign(api, office, admin_dsn)
    assert (await stranger.post(f"{PATH}/{mine}/bindings", json={"agent_id": agent})).status_code == 404
    assert (await stranger.post(PATH, json={**SSH, "name": "s", "context_id": session})).status_code == 404
    assert (await stranger.delete(f"{PATH}/{mine}/bindings/{binding}")).status_code == 404
    assert len((await admin.get(f"{PATH}/{id_}/bindings")).json()["items"]) == 1


async def foreign(api: Api, office: Office, admin_dsn: str) -> tuple[str, str]:
    with psycopg.connect(admin_dsn) as connection:
        agent = open_agent(connection, office.scope, "keeper")
    owner = await api.sign_in(office.emails[Role.ADMIN])
    return agent, (await owner.post("/v1/agent/sessions", json={"session_id": "diary"})).json()["id"]


async def test_au_05_who_may_use_it(api: Api, office: Office, admin_dsn: str) -> None:
    """AU-05: bindings; what was kept for one agent is not open to all when that agent goes."""
    admin = await api.sign_in(office.emails[Role.ADMIN])
    agent, session = await foreign(api, office, admin_dsn)
    url = f"{PATH}/{(await add(admin))['id']}"
    assert (await admin.post(f"{url}/bindings", json={})).status_code == 422
    for grant in ({"agent_id": agent, "skill": "reboot", "role": "operator"}, {"role": "developer"}):
        assert (await admin.post(f"{url}/bindings", json=grant)).status_code == 201
        assert (await admin.post(f"{url}/bindings", json=grant)).status_code == 409
    items = (await admin.get(f"{url}/bindings")).json()["items"]
    assert [(one["agent"], one["skill"], one["role"]) for one in items] == [
        ("keeper", "reboot", "operator"),
        (None, None, "developer"),
    ]
    assert (await admin.delete(f"{url}/bindings/{items[1]['id']}")).status_code == 204
    assert (await admin.delete(f"{url}/bindings/{items[1]['id']}")).status_code == 404
    assert (await admin.delete(f"{url}/bindings/{uuid4()}")).status_code == 404
    assert (await admin.delete(f"/api/agents/{agent}")).status_code == 204
    (left,) = (await admin.get(PATH)).json()["items"]
    assert (left["bindings"], left["bound"]) == (0, True)
    assert (await admin.patch(url, json={"bound": False})).json()["bound"] is False
    soon = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    own = await add(admin, name="web", context_id=session, expires_at=soon)
    assert own["context_id"] == session, "CV-05: a conversation has its own of the name"
    await admin.delete("/v1/agent/sessions/diary")
    with psycopg.connect(admin_dsn) as owner:
        owner.execute("delete from sessions where id = %s", [session])
    assert [one["name"] for one in (await admin.get(PATH)).json()["items"]] == ["web"]


async def test_an_agent_names_its_credentials(api: Api, office: Office) -> None:
    """CV-04: the first tier is written with the agent."""
    operator = await api.sign_in(office.emails[Role.OPERATOR])
    config = {"credentials": {"ssh": "web"}}
    made = await operator.post("/api/agents", json={"name": "a", "config": config})
    assert made.status_code == 201 and made.json()["config"] == config, made.text
    for wrong in ({"ssh": ""}, {"ssh": 7}, ["web"], {"ssh": {"password": "x"}}):
        answer = await operator.post("/api/agents", json={"name": "b", "config": {"credentials": wrong}})
        assert answer.status_code == 422
