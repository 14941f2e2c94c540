"""Connections in Postgres: sealed keys, walls between tenants, the default, and endpoints that are remembered."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx2
import psycopg
import pytest

from cluster.basics.errors import Conflict, Invalid, NotFound
from cluster.models.connections.configured import ConfiguredConnections, derived_id, load_connections
from cluster.models.connections.connection_store import ConnectionStore
from cluster.models.connections.endpoint_connection import AuthMode, ConnectionId, ModelConnection, Provider
from cluster.models.connections.model_resolver import ModelResolver
from cluster.models.messages import ChatRequest, ModelMessage, ModelReply
from cluster.models.model_errors import Unusable
from cluster.state.db.postgres import Database
from cluster.state.vault import UnopenableSecret, Vault, VaultKey
from configs.sections import LlmSettings, ModelsSettings
from tests.fakes.http import Office, one_client, open_office
from tests.fakes.model_server import serve_model
from tests.fakes.model_wires import Say

KEY = VaultKey(b"k" * 32)
SECRET = "sk-a-secret-of-ours"
WANTED = ModelConnection(
    ConnectionId(""),
    "gpt",
    "https://api.openai.com/v1",
    "gpt-4o",
    Provider.OPENAI,
    price_in=2.5,
    price_out=10,
    tools=None,
)
ASK = ChatRequest((ModelMessage("user", "hi"),))


@pytest.fixture
async def pool(app_dsn: str) -> AsyncIterator[Database]:
    made = Database(app_dsn, size=2)
    await made.open()
    yield made
    await made.close()


@pytest.fixture
def office(admin_dsn: str) -> Office:
    return open_office(admin_dsn)


def store(
    pool: Database, *, declared: ConfiguredConnections = ConfiguredConnections(), keys: tuple[VaultKey, ...] = (KEY,)
) -> ConnectionStore:
    return ConnectionStore(pool, Vault(keys), declared)


async def add(
    pool: Database, office: Office, connections: ConnectionStore, key: str | None = SECRET, **other: Any
) -> ModelConnection:
    async with pool.transaction(office.scope) as tx:
        return await connections.add(tx, office.scope, replace(WANTED, **other), key)


@asynccontextmanager
async def board(connections: ConnectionStore, **other: Any) -> AsyncIterator[ModelResolver]:
    async with httpx2.AsyncClient(verify=False) as client:
        yield ModelResolver(connections, one_client(client), ModelsSettings(**other), _no_sleep, waits=())


async def _no_sleep(seconds: float) -> None:
    return None


async def said(switchboard: ModelResolver, office: Office, connection: ModelConnection) -> ModelReply:
    model = await switchboard.open(office.scope, connection)
    items = [item async for item in model.stream(ASK)]
    assert isinstance(items[-1], ModelReply)
    return items[-1]


async def test_x_05_keys_are_sealed_at_rest_and_shown_by_nothing(
    pool: Database, office: Office, admin_dsn: str, caplog: pytest.LogCaptureFixture
) -> None:
    """X-05, MR-09: ciphertext in the row, nothing in values, their repr and the log."""
    caplog.set_level(logging.DEBUG)
    connections = store(pool)
    made = await add(pool, office, connections)
    (known,) = await connections.known(office.scope)
    assert known == made and known.has_key and await connections.key(office.scope, known) == SECRET
    with psycopg.connect(admin_dsn) as owner:
        row = owner.execute("select to_jsonb(c)::text, sealed_key from llm_connections c").fetchone()
    assert row is not None and SECRET not in row[0] and SECRET.encode() not in bytes(row[1])
    assert SECRET not in f"{known!r} {connections!r} {vars(connections)!r}" and SECRET not in caplog.text


async def test_an_envelope_copied_to_another_row_or_tenant_does_not_open(
    pool: Database, office: Office, admin_dsn: str
) -> None:
    """X-05: the ciphertext is bound to tenant, workspace and row."""
    connections, other = store(pool), open_office(admin_dsn)
    await add(pool, office, connections)
    twin = await add(pool, office, connections, key="sk-twin", name="twin")
    foreign = await add(pool, other, connections, key="sk-foreign")
    with psycopg.connect(admin_dsn) as owner:
        owner.execute(
            "update llm_connections set sealed_key = (select sealed_key from llm_connections where tenant_id = %s "
            "and name = 'gpt') where id = any(%s::uuid[])",
            (office.scope.tenant, [twin.id, foreign.id]),
        )
    for scope, connection in ((office.scope, twin), (other.scope, foreign)):
        with pytest.raises(Unusable, match="cannot be opened"):
            await connections.key(scope, connection)


async def test_x_05_rotation(pool: Database, office: Office) -> None:
    """X-05: sealed anew under the new key; the old one is then no longer needed."""
    old, new = VaultKey(b"o" * 32), VaultKey(b"n" * 32)
    made = await add(pool, office, store(pool, keys=(old,)))
    await add(pool, office, store(pool, keys=(new,)), name="newer")
    both = store(pool, keys=(new, old))
    for count in (1, 0):
        async with pool.transaction(office.scope) as tx:
            assert await both.rotate(tx, office.scope) == count
    assert await store(pool, keys=(new,)).key(office.scope, made) == SECRET
    with pytest.raises(UnopenableSecret):
        async with pool.transaction(office.scope) as tx:
            await store(pool, keys=(old,)).rotate(tx, office.scope)


async def test_another_tenant_sees_and_changes_nothing(pool: Database, office: Office, admin_dsn: str) -> None:
    connections, other = store(pool), open_office(admin_dsn)
    made = await add(pool, office, connections)
    assert await connections.known(other.scope) == []
    assert await connections.key(other.scope, made) is None
    for act in ("change", "remove"):
        with pytest.raises(NotFound):
            async with pool.transaction(other.scope) as tx:
                arguments: tuple[Any, ...] = ({"name": "x"},) if act == "change" else ()
                await getattr(connections, act)(tx, other.scope, made.id, *arguments)
    # The queries name the tenant themselves: as a superuser, whom row-level security does not bind, it is the same.
    wide = Database(admin_dsn, size=1)
    await wide.open()
    try:
        assert await store(wide).known(other.scope) == []
        assert await store(wide).key(other.scope, made) is None
    finally:
        await wide.close()


async def test_a_key_does_not_move_to_another_address_by_itself(pool: Database, office: Office) -> None:
    """Whoever may edit a connection may not thereby send its key to a place of their own."""
    connections = store(pool)
    made = await add(pool, office, connections)
    for change in ({"base_url": "http://mine.example/v1"}, {"auth_mode": AuthMode.CUSTOM, "auth_header": "X-Mine"}):
        with pytest.raises(Invalid, match="needs its key again"):
            async with pool.transaction(office.scope) as tx:
                await connections.change(tx, office.scope, made.id, change)
    async with pool.transaction(office.scope) as tx:
        moved = await connections.change(tx, office.scope, made.id, {"base_url": "http://new.example/v1"}, "sk-new")
    assert await connections.key(office.scope, moved) == "sk-new"
    async with pool.transaction(office.scope) as tx:
        bare = await connections.change(tx, office.scope, made.id, {"model": "other"}, None)
    assert not bare.has_key and await connections.key(office.scope, bare) is None
    assert await connections.get(office.scope, "gpt") == bare


async def test_names_are_one_of_a_kind(pool: Database, office: Office) -> None:
    connections = store(pool)
    await add(pool, office, connections)
    second = await add(pool, office, connections, name="second")
    with pytest.raises(Conflict):
        await add(pool, office, connections)
    with pytest.raises(Conflict):
        async with pool.transaction(office.scope) as tx:
            await connections.change(tx, office.scope, second.id, {"name": "gpt"})
    for ref in ("nobody", "not-a-uuid", str(derived_id("x"))):
        with pytest.raises(NotFound):
            await connections.get(office.scope, ref)


async def test_mr_03_which_one_is_the_default(pool: Database, office: Office, admin_dsn: str) -> None:
    """MR-03: system_settings.default_llm_connection_id, the workspace's first; LLM_BASE_URL; the only one."""
    connections = store(pool)
    assert await connections.default(office.scope) is None
    only = await add(pool, office, connections)
    assert await connections.default(office.scope) == only.id
    second = await add(pool, office, connections, name="second")
    assert await connections.default(office.scope) is None, "nobody said which of two"
    from_settings = store(pool, declared=load_connections(None, LlmSettings(base_url="http://localhost:1/v1")))
    assert await from_settings.default(office.scope) == derived_id("default")
    with psycopg.connect(admin_dsn) as owner:
        owner.execute(
            "insert into system_settings values ('default_llm_connection_id', to_jsonb(%s::text))", (second.id,)
        )
    assert await from_settings.default(office.scope) == second.id
    async with pool.transaction(office.scope) as tx:
        await connections.make_default(tx, office.scope, only.id)
    assert await connections.default(office.scope) == only.id
    other = open_office(admin_dsn)
    assert await from_settings.default(other.scope) == derived_id("default"), "it is not theirs"
    async with pool.transaction(office.scope) as tx:
        await connections.remove(tx, office.scope, only.id)
    assert await connections.default(office.scope) == second.id


async def test_configured_ones_are_known_everywhere_and_changed_nowhere(pool: Database, office: Office) -> None:
    own = load_connections(None, LlmSettings(base_url="http://localhost:1/v1", api_key=SECRET))
    connections = store(pool, declared=own)
    made = await add(pool, office, connections)
    assert [c.name for c in await connections.known(office.scope)] == ["gpt", "default"]
    found = await connections.get(office.scope, "default")
    assert await connections.key(office.scope, found) == SECRET and found.origin == "settings"
    with pytest.raises(Conflict, match="configured"):
        async with pool.transaction(office.scope) as tx:
            await connections.remove(tx, office.scope, found.id)
    assert await connections.get(office.scope, made.id) == made


async def test_mr_10_the_address_that_answers_is_remembered(pool: Database, office: Office) -> None:
    """MR-10: probed once, kept in the row for other processes, forgotten when the address is another."""
    connections = store(pool)
    with serve_model(Say("hello"), key=SECRET) as server:
        made = await add(pool, office, connections, base_url=server.root, provider=Provider.CUSTOM)
        async with board(connections) as switchboard:
            assert (await said(switchboard, office, made)).content == "hello"
            probes = len(server.requests) - len(server.chats)
            assert (await said(switchboard, office, made)).content == "hello"
            assert len(server.requests) - len(server.chats) == probes == 1
        known = await connections.get(office.scope, made.id)
        assert known.endpoint == server.url
        async with board(connections) as another:
            await said(another, office, known)
        assert len(server.requests) - len(server.chats) == 1
        async with pool.transaction(office.scope) as tx:
            moved = await connections.change(tx, office.scope, made.id, {"base_url": "http://localhost:1"}, SECRET)
        assert moved.endpoint is None and (await connections.get(office.scope, made.id)).endpoint is None


async def test_what_an_endpoint_refuses_is_remembered_by_the_process(pool: Database, office: Office) -> None:
    connections = store(pool)
    with serve_model(Say("hello"), refuses=frozenset({"stream_options"})) as server:
        made = await add(pool, office, connections, base_url=server.url, key=None)
        async with board(connections) as switchboard:
            await said(switchboard, office, made)
            await said(switchboard, office, made)
        assert [("stream_options" in asked.body) for asked in server.chats] == [True, False, False]


async def test_a_model_that_is_away_is_still_opened(pool: Database, office: Office) -> None:
    """The probe fails, the call says why, and nothing false is remembered."""
    connections = store(pool)
    made = await add(pool, office, connections, base_url="http://127.0.0.1:9", provider=Provider.CUSTOM)
    async with board(connections, probe_seconds=0.5) as switchboard:
        result = await switchboard.test(office.scope, made)
        assert (result.ok, result.reason) == (False, "unreachable")
        with pytest.raises(Exception, match="cannot be reached"):
            await said(switchboard, office, made)
    assert (await connections.get(office.scope, made.id)).endpoint is None
