"""Opening a credential for a call: for whom, in which conversation, by which key; and rotating the keys of all."""

import asyncio
import base64
import json
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from cluster.basics.errors import Conflict, InvalidSettings
from cluster.basics.scope import Role, Scope, UserId
from cluster.models.connections.configured import ConfiguredConnections
from cluster.models.connections.connection_store import ConnectionStore
from cluster.models.connections.endpoint_connection import AuthMode, ConnectionId, ModelConnection, Provider
from cluster.state.audit import AuditLog
from cluster.state.db.postgres import Database
from cluster.state.rotation import LOCK, rotate_keys
from cluster.state.settings.settings_rows import SettingsRows
from cluster.state.vault import UnopenableSecret, Vault, VaultKey, key_file, key_id, vault_of
from skills.framework.contract import ToolInvocation
from skills.framework.credential_store import CredentialGrant, CredentialReplacement, CredentialStore, NewCredential
from skills.framework.credentials import CredentialForbidden
from skills.framework.dependencies import AmbiguousCredential, CredentialMissing
from skills.framework.frozen_skill import freeze_skill, thaw_skill
from skills.framework.manifest import CredentialType, Kind, Manifest
from skills.framework.open_credential import VaultOpener
from skills.framework.redaction import MARK, watch_secrets
from skills.framework.skill_store import SkillStore
from tests.fakes.corpus import open_agent
from tests.fakes.ledger import new_workspace

NOW = datetime(2026, 11, 2, 12, tzinfo=UTC)
USER = "33333333-3333-4333-8333-333333333333"
SECRET = "kanarien-vogel-77"
PING = Manifest("ping", "Pings.", Kind.HTTP, credential=CredentialType.BEARER_TOKEN)
REBOOT = Manifest("reboot", "Reboots.", Kind.SSH, credential=CredentialType.SSH)
TOKEN = NewCredential(
    "site", CredentialType.BEARER_TOKEN, {"token": SECRET}, {"region": "eu", "port": 443, "tls": True}
)


def ours(manifest: Manifest) -> bool:
    """As if all came with the program."""
    return True


ROOT = NewCredential("root", CredentialType.SSH, {"username": "root", "password": SECRET})


@dataclass
class Desk:
    """What a test works with: a workspace with a vault, and who calls there."""

    database: Database
    keyring: CredentialStore
    vaulted: VaultOpener
    scope: Scope
    agent: str

    async def add(self, wanted: NewCredential, *grants: CredentialGrant) -> str:
        async with self.database.transaction(self.scope) as tx:
            id_ = str((await self.keyring.add(tx, self.scope, wanted))["id"])
            for grant in grants:
                await self.keyring.bind(tx, self.scope, id_, grant)
        return id_

    def call(self, agent: str | None = "", session: str | None = None) -> ToolInvocation:
        return ToolInvocation(self.scope, self.agent if agent == "" else agent, "k", {}, session)

    async def trail(self) -> list[tuple[str, str, dict[str, Any]]]:
        rows = await AuditLog(self.database).page(self.scope)
        return [(row["action"], row["outcome"], row["detail"]) for row in rows if row["action"] == "credential.open"]


@pytest.fixture
async def desk(app_dsn: str, admin_dsn: str) -> AsyncIterator[Desk]:
    scope = replace(await new_workspace(admin_dsn), user=UserId(USER), role=Role.DEVELOPER)
    with psycopg.connect(admin_dsn) as connection:
        agent = open_agent(connection, scope, "keeper")
    database, vault = Database(app_dsn, size=4), Vault([VaultKey(b"k" * 32)])
    await database.open()
    try:
        yield Desk(
            database,
            CredentialStore(database, vault),
            VaultOpener(database, AuditLog(database), vault, lambda: NOW, ours),
            scope,
            agent,
        )
    finally:
        await database.close()


async def test_cv_02_a_credential_is_opened_for_the_call_and_the_trail_says_so(desk: Desk) -> None:
    """CV-02, CV-04: values come to the tool only; the trail has who, for what and how it was found."""
    await desk.add(TOKEN)
    with watch_secrets() as watch:
        secret = await desk.vaulted.open(desk.call(), PING)
        assert watch.text(f"{SECRET} 443") == f"{MARK} 443", "what may be shown stays"
    assert dict(secret) == {"token": SECRET, "region": "eu", "port": "443", "tls": "true"}
    assert SECRET not in repr(secret) and secret.shown == {"region", "port", "tls"}
    (line,) = await desk.trail()
    assert line == (
        "credential.open",
        "done",
        {
            "skill": "ping",
            "type": "bearer_token",
            "agent": desk.agent,
            "role": "developer",
            "name": "site",
            "tier": "type",
        },
    )
    await desk.add(replace(TOKEN, name="other"))
    with pytest.raises(AmbiguousCredential, match="other, site"):
        await desk.vaulted.open(desk.call(), PING)


async def test_cv_04_the_agents_own_row_says_which(desk: Desk, admin_dsn: str) -> None:
    """CV-04: read when it is needed, so that a change holds from the next call on."""
    await desk.add(TOKEN)
    await desk.add(replace(TOKEN, name="other", values={"token": "another-word"}))
    with psycopg.connect(admin_dsn) as owner:
        config = json.dumps({"credentials": {"ping": "other"}})
        owner.execute("update agents set config = %s where id = %s", [config, desk.agent])
    assert (await desk.vaulted.open(desk.call(), PING))["token"] == "another-word"
    with pytest.raises(AmbiguousCredential):
        await desk.vaulted.open(desk.call(agent=None), PING)


async def test_au_05_au_07_bindings_are_checked_for_who_calls(desk: Desk) -> None:
    """AU-05, AU-07: ssh wants a binding, a binding may want a role; what is refused is in the trail."""
    await desk.add(ROOT)
    with pytest.raises(CredentialForbidden):
        await desk.vaulted.open(desk.call(), REBOOT)
    await desk.add(replace(ROOT, name="web"), CredentialGrant(desk.agent, "reboot", Role.OPERATOR))
    with pytest.raises(CredentialForbidden):
        await desk.vaulted.open(desk.call(), REBOOT)
    desk.scope = replace(desk.scope, role=Role.OPERATOR)
    assert (await desk.vaulted.open(desk.call(), REBOOT)).name == "web"
    with pytest.raises(CredentialForbidden):
        await desk.vaulted.open(desk.call(agent=None), REBOOT)
    with pytest.raises(CredentialForbidden):
        await desk.vaulted.open(desk.call(), replace(REBOOT, name="format"))
    assert [outcome for _, outcome, _ in await desk.trail()] == ["denied", "denied", "done", "denied", "denied"]
    with pytest.raises(CredentialMissing):
        await desk.vaulted.open(desk.call(), replace(REBOOT, credential=None))


async def test_cv_05_a_token_of_a_conversation_is_used_there_until_it_runs_out(desk: Desk, admin_dsn: str) -> None:
    """CV-05: scoped to its context, and only for its time."""
    await desk.add(TOKEN)
    with psycopg.connect(admin_dsn) as owner:
        row = owner.execute(
            "insert into sessions (tenant_id, workspace_id, agent_id, user_id) values (%s, %s, %s, %s) returning id",
            [desk.scope.tenant, desk.scope.workspace, desk.agent, USER],
        ).fetchone()
    assert row is not None
    session = str(row[0])
    own = replace(TOKEN, values={"token": "of-the-session"}, context=session)
    id_ = await desk.add(replace(own, expires=datetime.now(UTC) + timedelta(hours=1)))
    assert (await desk.vaulted.open(desk.call(session=session), PING))["token"] == "of-the-session"
    for other in (None, USER):
        assert (await desk.vaulted.open(desk.call(session=other), PING))["token"] == SECRET
    with psycopg.connect(admin_dsn) as owner:
        owner.execute("update credentials set expires_at = %s where id = %s", [NOW, id_])
    assert (await desk.vaulted.open(desk.call(session=session), PING))["token"] == SECRET


async def test_the_application_cannot_read_what_is_sealed_but_by_opening_it(desk: Desk, admin_dsn: str) -> None:
    """CV-01: a query that forgot itself, or an injection, gets no envelope of another tenant nor of what is off."""
    id_ = await desk.add(TOKEN)
    other = replace(await new_workspace(admin_dsn), user=UserId(USER))
    for statement in (
        "select sealed from credentials",
        "select * from credentials",
        "select credentials from credentials",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            async with desk.database.transaction(desk.scope) as tx:
                await tx.all(statement)
    for scope, found in ((desk.scope, True), (other, False)):
        async with desk.database.transaction(scope) as tx:
            row = await tx.one("select open_credential(%(id)s::uuid) as sealed", id=id_)
            assert row is not None and (row["sealed"] is not None) is found
    with psycopg.connect(admin_dsn) as owner:
        owner.execute("update credentials set is_active = false")
    async with desk.database.transaction(desk.scope) as tx:
        row = await tx.one("select open_credential(%(id)s::uuid) as sealed", id=id_)
        assert row is not None and row["sealed"] is None


async def test_x_05_an_envelope_opens_in_its_own_row_only(desk: Desk, admin_dsn: str) -> None:
    """X-05: whoever may write to the table, but has no key, cannot put one credential in the place of another."""
    first, second = await desk.add(TOKEN), await desk.add(replace(TOKEN, name="other"))
    with psycopg.connect(admin_dsn) as owner:
        owner.execute(
            "update credentials set sealed = (select sealed from credentials where id = %s) where id = %s",
            [first, second],
        )
        owner.execute("update credentials set is_active = false where id = %s", [first])
    with pytest.raises(UnopenableSecret, match="another row") as error:
        await desk.vaulted.open(desk.call(), PING)
    assert SECRET not in str(error.value) and await desk.trail() == []


def silent(table: str, done: int, total: int) -> None:
    assert table and 0 < done <= total


async def connection_with_key(desk: Desk, vault: Vault) -> ModelConnection:
    connections = ConnectionStore(desk.database, vault, ConfiguredConnections())
    wanted = ModelConnection(
        ConnectionId(""),
        "gpt",
        "http://127.0.0.1:9/v1",
        "m",
        Provider.CUSTOM,
        AuthMode.BEARER,
        None,
        None,
        0,
        0,
        60,
        True,
    )
    async with desk.database.transaction(desk.scope) as tx:
        return await connections.add(tx, desk.scope, wanted, SECRET)


async def envelopes(admin_dsn: str) -> list[bytes]:
    async with await psycopg.AsyncConnection.connect(admin_dsn) as owner:
        cursor = await owner.execute(
            "select sealed from credentials union all"
            " select sealed_key from llm_connections where sealed_key is not null"
        )
        return [bytes(row[0]) for row in await cursor.fetchall()]


async def test_x_05_keys_are_rotated_in_all_workspaces(desk: Desk, admin_dsn: str, tmp_path: Path) -> None:
    """X-05: credentials, connections, settings of every tenant; a dry run changes nothing, nor does a second."""
    old, new = (base64.b64encode(secrets.token_bytes(32)).decode() for _ in range(2))
    before, both = vault_of(old, tmp_path), vault_of(f"{new},{old}", tmp_path)
    desk.keyring = CredentialStore(desk.database, before)
    for number in range(3):
        await desk.add(replace(TOKEN, name=f"t{number}"))
    made = await connection_with_key(desk, before)
    first = desk.scope
    desk.scope = replace(await new_workspace(admin_dsn), user=UserId(USER))
    await desk.add(ROOT)
    async with desk.database.transaction(first) as tx:
        await SettingsRows(desk.database, before).write(tx, 1, {"llm.api_key": SECRET})
    sealed = await envelopes(admin_dsn)
    dry = await rotate_keys(admin_dsn, both, None, silent, dry_run=True)
    assert [(name, one.total, one.old, one.resealed) for name, one in dry.items()] == [
        ("credentials", 4, 4, 4),
        ("llm_connections", 1, 1, 1),
        ("run_secrets", 0, 0, 0),
        ("oauth_connections", 0, 0, 0),
        ("webhook_secrets", 0, 0, 0),
        ("system_settings", 1, 1, 1),
    ]
    assert await envelopes(admin_dsn) == sealed
    done = await rotate_keys(admin_dsn, both, None, silent)
    assert [(one.old, one.resealed, one.failed) for one in done.values()] == [
        (4, 4, {}),
        (1, 1, {}),
        (0, 0, {}),
        (0, 0, {}),
        (0, 0, {}),
        (1, 1, {}),
    ]
    assert {key_id(one) for one in await envelopes(admin_dsn)} == {both.current}
    again = await rotate_keys(admin_dsn, both, None, silent)
    assert [(one.total, one.old, one.resealed) for one in again.values()] == [
        (4, 0, 0),
        (1, 0, 0),
        (0, 0, 0),
        (0, 0, 0),
        (0, 0, 0),
        (1, 0, 0),
    ]
    after = vault_of(new, tmp_path)
    vaulted = VaultOpener(desk.database, AuditLog(desk.database), after, lambda: NOW, ours)
    desk.scope = replace(first, role=Role.DEVELOPER)
    config = json.dumps({"credentials": {"ping": "t1"}})
    async with await psycopg.AsyncConnection.connect(admin_dsn) as owner:
        await owner.execute("update agents set config = %s where id = %s", [config, desk.agent])
    assert (await vaulted.open(desk.call(), PING))["token"] == SECRET
    assert await ConnectionStore(desk.database, after, ConfiguredConnections()).key(first, made) == SECRET
    assert (await SettingsRows(desk.database, after).kept()).values == {"llm.api_key": SECRET}
    with pytest.raises(InvalidSettings):
        await rotate_keys(str(desk.database._pool.conninfo), both, None, silent)


async def test_x_05_a_rotation_goes_on_where_it_broke_off_and_names_what_it_cannot_open(
    desk: Desk, admin_dsn: str, tmp_path: Path
) -> None:
    """X-05: some rows done, one sealed with a key that is lost; two rotations at once do not run."""
    old, new, lost = (VaultKey(secrets.token_bytes(32)) for _ in range(3))
    ids = []
    for number, keys in enumerate(([old], [new, old], [lost], [old])):
        desk.keyring = CredentialStore(desk.database, Vault(keys))
        ids.append(await desk.add(replace(TOKEN, name=f"t{number}")))
    both = Vault([new, old])
    async with await psycopg.AsyncConnection.connect(admin_dsn, autocommit=True) as owner:
        await owner.execute("select pg_advisory_lock(%s)", [LOCK])
        with pytest.raises(Conflict, match="another rotation"):
            await rotate_keys(admin_dsn, both, None, silent)
    done = (await rotate_keys(admin_dsn, both, None, silent))["credentials"]
    assert (done.total, done.old, done.resealed, list(done.failed)) == (4, 3, 2, [ids[2]])
    assert sorted(key_id(one) == new.id for one in await envelopes(admin_dsn)) == [False, True, True, True]


async def test_x_05_a_kept_key_is_replaced_while_replicas_run(desk: Desk, admin_dsn: str, tmp_path: Path) -> None:
    """X-05: the file gets a new key in front, and whoever runs seals and opens with it without a restart."""
    replica, file = vault_of(None, tmp_path), key_file(tmp_path)
    desk.keyring = CredentialStore(desk.database, replica)
    desk.vaulted = VaultOpener(desk.database, AuditLog(desk.database), replica, lambda: NOW, ours)
    await desk.add(TOKEN)
    seen = {replica.current}
    for count in (2, 2, 2):
        done = (await rotate_keys(admin_dsn, Vault(file.keys(), file.newer), file, silent))["credentials"]
        assert (done.total, done.old, done.resealed) == (1, 1, 1)
        assert len(file.keys()) == count and (tmp_path / "vault-key").stat().st_mode & 0o777 == 0o600
        assert (await desk.vaulted.open(desk.call(), PING))["token"] == SECRET
        seen.add(replica.current)
    assert len(seen) == 4 and [path.name for path in tmp_path.iterdir()] == ["vault-key"]  # noqa: ASYNC240
    late = Vault(file.keys()[1:])  # somebody who sealed with the key before at this very moment
    desk.keyring = CredentialStore(desk.database, late)
    await desk.add(replace(TOKEN, name="late"))
    resumed = (await rotate_keys(admin_dsn, Vault(file.keys(), file.newer), file, silent))["credentials"]
    assert (resumed.old, resumed.resealed) == (1, 1) and file.keys()[0].id in seen, "ended first, without another key"


async def test_a_rotation_beside_writers_loses_nothing(desk: Desk, admin_dsn: str) -> None:
    """X-05: whoever replaces a secret meanwhile has the last word."""
    old, new = VaultKey(secrets.token_bytes(32)), VaultKey(secrets.token_bytes(32))
    both = Vault([new, old])
    desk.keyring = CredentialStore(desk.database, Vault([old]))
    ids = [await desk.add(replace(TOKEN, name=f"t{number}")) for number in range(20)]

    async def replacing() -> None:
        keyring = CredentialStore(desk.database, both)
        for id_ in ids:
            async with desk.database.transaction(desk.scope) as tx:
                await keyring.change(tx, desk.scope, id_, {}, CredentialReplacement({"token": f"fresh-{id_}"}, {}))

    await asyncio.gather(replacing(), rotate_keys(admin_dsn, both, None, silent))
    vaulted = VaultOpener(desk.database, AuditLog(desk.database), Vault([new]), lambda: NOW, ours)
    async with await psycopg.AsyncConnection.connect(admin_dsn) as owner:
        for number, id_ in enumerate(ids):
            config = json.dumps({"credentials": {"ping": f"t{number}"}})
            await owner.execute("update agents set config = %s where id = %s", [config, desk.agent])
            await owner.commit()
            assert (await vaulted.open(desk.call(), PING))["token"] == f"fresh-{id_}"


async def test_a_skill_that_the_workspace_wrote_needs_a_credential_of_its_own(desk: Desk) -> None:
    vaulted = VaultOpener(
        desk.database, AuditLog(desk.database), Vault([VaultKey(secrets.token_bytes(32))]), lambda: NOW
    )
    await desk.add(TOKEN)
    with pytest.raises(CredentialForbidden):
        await vaulted.open(ToolInvocation(desk.scope, desk.agent, "k", {}), PING)


async def test_au_05_the_next_version_of_a_skill_has_to_be_bound_again(desk: Desk) -> None:
    """AU-05: by its name alone whoever registered it would get the secret; bound again it does, as a turn keeps it."""
    skills = SkillStore(desk.database)
    vaulted = VaultOpener(desk.database, AuditLog(desk.database), Vault([VaultKey(b"k" * 32)]), lambda: NOW)

    async def registered(**other: Any) -> Manifest:
        async with desk.database.transaction(desk.scope) as tx:
            return (await skills.register(tx, desk.scope, replace(PING, **other)))[0].manifest

    early = await desk.add(TOKEN, CredentialGrant(skill="ping"))
    first = await registered(options={"url": "https://ours.example/"})
    with pytest.raises(CredentialForbidden, match="as it is now"):  # when it was bound there was no such skill
        await vaulted.open(desk.call(), first)
    async with desk.database.transaction(desk.scope) as tx:
        made = await desk.keyring.bind(tx, desk.scope, early, CredentialGrant(skill="ping"))
        assert [one["id"] for one in await desk.keyring.bindings(tx, desk.scope, early)] == [made["id"]]
    assert (await vaulted.open(desk.call(), thaw_skill(freeze_skill(first))))["token"] == SECRET
    second = await registered(options={"url": "https://evil.example/"})
    assert second.version == 2
    with pytest.raises(CredentialForbidden, match="as it is now"):
        await vaulted.open(desk.call(), second)
    assert (await vaulted.open(desk.call(), first))["token"] == SECRET
    async with desk.database.transaction(desk.scope) as tx:
        await desk.keyring.bind(tx, desk.scope, early, CredentialGrant(skill="ping"))
    assert (await vaulted.open(desk.call(), second))["token"] == SECRET
    with pytest.raises(Conflict):
        async with desk.database.transaction(desk.scope) as tx:
            await desk.keyring.bind(tx, desk.scope, early, CredentialGrant(skill="ping"))
