"""The API of connections to models: keys go in and never come out, everything is in the trail."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import httpx
import httpx2
import psycopg
import pytest

from cluster.basics.scope import Role
from cluster.models.connections.configured import ConfiguredConnections
from cluster.models.connections.connection_store import ConnectionStore
from cluster.models.connections.model_resolver import ModelResolver
from cluster.state.vault import Vault, VaultKey
from configs.sections import ModelsSettings
from tests.fakes.http import Api, Office, make_parts, one_client, open_office, serve
from tests.fakes.model_server import serve_model
from tests.fakes.model_wires import Say, failing

PATH = "/api/llm-connections"
SECRET = "sk-a-secret-of-ours"


@pytest.fixture
async def api(app_dsn: str, tmp_path: Path) -> AsyncIterator[Api]:
    async with serve(make_parts(app_dsn, tmp_path)) as made:
        yield made


@pytest.fixture
def office(admin_dsn: str) -> Office:
    return open_office(admin_dsn)


async def add(client: httpx.AsyncClient, **other: object) -> dict[str, object]:
    body = {"name": "gpt", "base_url": "https://api.openai.com/v1", "model": "gpt-4o", "key": SECRET, **other}
    made = await client.post(PATH, json=body)
    assert made.status_code == 201, made.text
    assert SECRET not in made.text
    return dict(made.json())


async def test_a_connection_comes_and_goes_and_its_key_is_never_shown(api: Api, office: Office, admin_dsn: str) -> None:
    """MR-07, MR-08, MR-09: detected provider, its usual auth and tools; the key is write-only, also in the trail."""
    client = await api.sign_in(office.emails[Role.OPERATOR])
    made = await add(client, price_in=2.5, seconds=5e-324)
    assert (made["provider"], made["auth_mode"], made["supports_tools"], made["has_key"]) == (
        "openai",
        "bearer",
        True,
        True,
    )
    assert made["default"] is True and made["origin"] == "row", "the only one is the default"
    url = f"{PATH}/{made['id']}"
    changed = await client.patch(url, json={"supports_tools": False, "name": "gpt-4", "price_out": 10})
    assert changed.status_code == 200, changed.text
    assert (changed.json()["supports_tools"], changed.json()["name"], changed.json()["price_in"]) == (
        False,
        "gpt-4",
        2.5,
    )
    moved = await client.patch(url, json={"base_url": "http://127.0.0.1:11434"})
    assert moved.status_code == 422 and "key" in moved.json()["detail"]
    moved = await client.patch(url, json={"base_url": "http://127.0.0.1:11434", "key": None, "auth_mode": None})
    assert (moved.json()["provider"], moved.json()["auth_mode"], moved.json()["has_key"]) == ("ollama", "none", False)
    keyed = await client.patch(url, json={"key": SECRET, "auth_mode": "bearer"})
    assert keyed.json()["has_key"] is True
    listed = await client.get(PATH)
    assert [item["name"] for item in listed.json()["items"]] == ["gpt-4"]
    assert (await client.delete(url)).status_code == 204
    assert (await client.get(PATH)).json()["items"] == []
    for answer in (changed, moved, keyed, listed):
        assert SECRET not in answer.text
    with psycopg.connect(admin_dsn) as owner:
        trail = owner.execute(
            "select action, detail::text from audit where action like 'llm_connection%%' order by seq"
        ).fetchall()
    assert [action for action, _ in trail] == [
        "llm_connection.add",
        *["llm_connection.change"] * 3,
        "llm_connection.delete",
    ]
    assert SECRET not in str(trail) and '"key"' in trail[3][1]


async def test_what_is_wrong_is_refused_without_repeating_the_key(api: Api, office: Office) -> None:
    client = await api.sign_in(office.emails[Role.OPERATOR])
    good = {"name": "x", "base_url": "http://localhost:1/v1", "model": "m"}
    for wrong in (
        {"base_url": "localhost"},
        {"base_url": "http://u:p@h/v1"},
        {"base_url": "file:///etc/passwd"},
        {"model": ""},
        {"provider": "other"},
        {"auth_mode": "custom"},
        {"auth_mode": "custom", "auth_header": "Host", "key": "k"},
        {"key": f"{SECRET}\r\nX: y"},
        {"key": f"{SECRET} "},
        {"key": SECRET * 500},
        {"key": [SECRET]},
        {"auth_mode": "basic", "key": SECRET},
        {"price_in": -1},
        {"seconds": 0},
        {"seconds": "NaN"},
        {"sealed_key": "x"},
        {"name": "a\0b"},
    ):
        answer = await client.post(PATH, json=good | wrong)
        assert answer.status_code == 422, (wrong, answer.text)
        assert SECRET not in answer.text
    await add(client)
    again = await client.post(PATH, json={**good, "name": "gpt"})
    assert again.status_code == 409
    for method, path in (
        ("PATCH", f"{PATH}/{uuid4()}"),
        ("DELETE", f"{PATH}/{uuid4()}"),
        ("POST", f"{PATH}/{uuid4()}/test"),
    ):
        assert (await client.request(method, path, json={} if method == "PATCH" else None)).status_code == 404


async def test_a_key_is_rotated_without_touching_anything_else(app_dsn: str, admin_dsn: str, tmp_path: Path) -> None:
    """MR-09: the next call is signed with the new key; it is sealed with the vault's current one, and never shown."""
    old, new = VaultKey(b"o" * 32), VaultKey(b"n" * 32)
    office, parts = open_office(admin_dsn), make_parts(app_dsn, tmp_path)
    database, switches = parts.database, (one_client(httpx2.AsyncClient(verify=False)), ModelsSettings(), asyncio.sleep)
    before = ConnectionStore(database, Vault([old]), ConfiguredConnections())
    after = ConnectionStore(database, Vault([new, old]), ConfiguredConnections())

    def envelopes() -> list[bytes]:
        with psycopg.connect(admin_dsn) as owner:
            return [bytes(row[0]) for row in owner.execute("select sealed_key from llm_connections").fetchall()]

    async with serve(replace(parts, connections=before, switchboard=ModelResolver(before, *switches))) as api:
        client = await api.sign_in(office.emails[Role.OPERATOR])
        with serve_model(key="sk-new") as server:
            made = await add(client, base_url=server.url, model="scripted-1", price_in=2)
            api.app.state.parts = replace(parts, connections=after, switchboard=ModelResolver(after, *switches))
            url = f"{PATH}/{made['id']}"
            assert (await client.post(f"{url}/test")).json()["reason"] == "unauthorized"
            assert envelopes()[0][1:9] == old.id
            answer = await client.put(f"{url}/key", json={"key": "sk-new"})
            assert answer.status_code == 200 and "sk-" not in answer.text, answer.text
            assert {**answer.json(), "endpoint": None} == {**made, "endpoint": None}
            assert envelopes()[0][1:9] == new.id
            assert (await client.post(f"{url}/test")).json()["ok"] is True
            assert server.requests[-1].headers["authorization"] == "Bearer sk-new"
        for wrong in ({}, {"key": None}, {"key": " "}, {"key": "sk new\n"}, {"key": "x", "name": "y"}):
            refused = await client.put(f"{url}/key", json=wrong)
            assert refused.status_code == 422 and "sk new" not in refused.text
        assert (await client.put(f"{PATH}/{uuid4()}/key", json={"key": "x"})).status_code == 404
        stranger = await api.sign_in(open_office(admin_dsn).emails[Role.ADMIN])
        assert (await stranger.put(f"{url}/key", json={"key": "x"})).status_code == 404
        developer = await api.sign_in(office.emails[Role.DEVELOPER])
        assert (await developer.put(f"{url}/key", json={"key": "x"})).status_code == 403
        assert envelopes()[0][1:9] == new.id
    with psycopg.connect(admin_dsn) as owner:
        trail = owner.execute("select object, detail::text from audit where action = 'llm_connection.key'").fetchall()
    assert [object_ for object_, _ in trail] == [made["id"]] and "sk-new" not in str(trail)


async def test_a_foreign_connection_is_none(api: Api, office: Office, admin_dsn: str) -> None:
    mine = await add(await api.sign_in(office.emails[Role.OPERATOR]))
    stranger = await api.sign_in(open_office(admin_dsn).emails[Role.ADMIN])
    assert (await stranger.get(PATH)).json()["items"] == []
    for method, path in (("PATCH", ""), ("DELETE", ""), ("POST", "/test")):
        answer = await stranger.request(method, f"{PATH}/{mine['id']}{path}", json={"name": "x"} if not path else None)
        assert answer.status_code == 404


async def test_the_default_is_chosen_by_workspace(api: Api, office: Office) -> None:
    """MR-03: of several, the one that somebody chose."""
    client = await api.sign_in(office.emails[Role.OPERATOR])
    first, second = await add(client), await add(client, name="second", default=True)
    assert (first["default"], second["default"]) == (True, True)

    async def defaults() -> list[bool]:
        return [item["default"] for item in (await client.get(PATH)).json()["items"]]

    assert await defaults() == [False, True]
    await client.patch(f"{PATH}/{first['id']}", json={"default": True})
    assert await defaults() == [True, False]
    await client.patch(f"{PATH}/{first['id']}", json={"default": False})
    assert await defaults() == [False, False]


async def test_mr_10_a_connection_is_tested(api: Api, office: Office) -> None:
    """MR-10: models, latency, the address that answered; or a clear reason, without the key."""
    client = await api.sign_in(office.emails[Role.OPERATOR])
    with serve_model(key=SECRET, models=("m1", "m2")) as server:
        made = await add(client, base_url=server.root, model="m1")
        result = (await client.post(f"{PATH}/{made['id']}/test")).json()
        assert (result["ok"], result["endpoint"], result["models"]) == (True, server.url, ["m1", "m2"])
        assert result["model_listed"] is True and result["latency_ms"] > 0
        assert (await client.get(PATH)).json()["items"][0]["endpoint"] == server.url
    gone = (await client.post(f"{PATH}/{made['id']}/test")).json()
    assert (gone["ok"], gone["reason"]) == (False, "unreachable")
    with serve_model(everything=failing(401, f"bad key {SECRET}")) as server:
        made = await add(client, name="refused", base_url=server.root)
        answer = await client.post(f"{PATH}/{made['id']}/test")
        assert answer.json()["reason"] == "unauthorized" and SECRET not in answer.text
    with serve_model(everything=Say(status=307, headers={"Location": "http://127.0.0.1:1/"}, body={})) as server:
        made = await add(client, name="elsewhere", base_url=server.url)
        assert (await client.post(f"{PATH}/{made['id']}/test")).json()["reason"] == "redirected"


async def test_mr_07_the_table_of_providers(api: Api, office: Office) -> None:
    """MR-07, MR-08: ten rows in the order in which they are tried."""
    client = await api.sign_in(office.emails[Role.OPERATOR])
    items = (await client.get(f"{PATH}/providers")).json()["items"]
    assert [item["provider"] for item in items] == [
        "openai",
        "azure",
        "anthropic",
        "cohere",
        "vllm",
        "ollama",
        "textgen",
        "llamacpp",
        "huggingface",
        "custom",
    ]
    assert [item["provider"] for item in items if item["supports_tools"]] == ["openai", "azure", "anthropic", "cohere"]


async def test_where_a_model_may_live_is_decided_when_it_is_stored_and_on_record(
    api: Api, office: Office, admin_dsn: str
) -> None:
    """A tenant's people pointed a connection at the machines behind the wall, and its test told what answered there."""
    daughter = open_office(admin_dsn)
    with psycopg.connect(admin_dsn) as owner:
        owner.execute("update tenants set parent_id = %s where id = %s", (office.scope.tenant, daughter.scope.tenant))
    first, theirs = [await api.sign_in(place.emails[Role.ADMIN]) for place in (office, daughter)]
    body = {"name": "inner", "base_url": "http://127.0.0.1:8265/v1", "model": "m"}
    refused = await theirs.post(PATH, json=body)
    assert (refused.status_code, refused.json()["code"]) == (422, "address_not_allowed")
    assert "AOS_MODELS_ALLOW" in refused.json()["fix"]
    metadata = await first.post(PATH, json=body | {"base_url": "http://169.254.169.254/latest"})
    assert metadata.json()["code"] == "address_not_allowed"
    assert (await first.post(PATH, json=body)).status_code == 201, "a laptop's own"
    stored = (await theirs.post(PATH, json=body | {"base_url": "https://93.184.215.14/v1"})).json()
    moved = await theirs.patch(f"{PATH}/{stored['id']}", json={"base_url": "http://[::1]:8265"})
    assert moved.json()["code"] == "address_not_allowed"
    trail = (await theirs.get("/api/audit", params={"action": "llm_connection.address"})).json()["items"]
    assert [entry["outcome"] for entry in trail] == ["denied", "denied"]
