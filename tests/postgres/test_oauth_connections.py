"""Connections of people by OAuth, against a server over real HTTP: connect, use, refresh, end, and those who cheat."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx
import psycopg
import pytest
from starlette.responses import JSONResponse, PlainTextResponse, Response

from cluster.basics.addresses import resolve_host
from cluster.basics.errors import AosError
from cluster.basics.scope import Role, Scope, UserId
from cluster.state.db.postgres import Database
from cluster.state.rotation import rotate_keys
from cluster.state.vault import Vault, VaultKey
from configs.sections_skills import SkillSettings
from skills.framework.builtin import build_tool
from skills.framework.contract import ToolInvocation
from skills.framework.manifest import CredentialType, Kind, Manifest
from skills.framework.mcp_connections import McpConnections
from skills.framework.open_credential import VaultOpener
from skills.framework.redaction import MARK
from skills.framework.skill_guard import SkillGuard
from skills.http_client.fetch import GuardedHttpClient
from skills.mcp.discover import discover_tools
from skills.mcp.options import McpServerSpec
from skills.oauth.oauth_connections import MOST_BYTES, NotConnected, OAuthConnections
from tests.fakes.ground import ground
from tests.fakes.http import Api, Clock, Office, make_parts, open_office, serve
from tests.fakes.oauth_server import CLIENT_ID, CLIENT_SECRET, OAuthServer, elsewhere, running_oauth

SECONDS = 2.0
PATH = "/api/oauth/connections"
KEY = VaultKey(b"k" * 32)


class NoAudit:
    async def called(self, call: Any, what: Any) -> None:
        """Not looked at here."""


@dataclass
class House:
    """The product with a workspace whose people may connect the server."""

    api: Api
    office: Office
    server: OAuthServer
    clock: Clock
    dsn: str
    credential: str
    me: httpx.AsyncClient  # a viewer

    @property
    def scope(self) -> Scope:
        return self.scope_of(Role.VIEWER)

    def scope_of(self, role: Role) -> Scope:
        with psycopg.connect(self.dsn) as owner:
            row = owner.execute("select id::text from users where email = %s", [self.office.emails[role]]).fetchone()
        assert row is not None
        return replace(self.office.scope, user=UserId(row[0]), role=role)

    async def begin(self, client: httpx.AsyncClient | None = None) -> str:
        answer = await (client or self.me).post(f"{PATH}/{self.credential}", json={})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["authorization_url"])

    async def come_back(self, brought: dict[str, str]) -> dict[str, str]:
        """What the callback hands on."""
        answer = await self.api.client.get(f"{PATH}/{self.credential}/callback?{urlencode(brought)}")
        assert answer.status_code == 303, answer.text
        assert answer.headers["location"].startswith("/console/connections/back?")
        return dict(parse_qsl(urlsplit(answer.headers["location"]).query))

    async def complete(self, told: dict[str, str], client: httpx.AsyncClient | None = None) -> httpx.Response:
        body = {name: told[name] for name in ("state", "code", "iss") if name in told}
        return await (client or self.me).post(f"{PATH}/{self.credential}/complete", json=body)

    async def connect(self) -> None:
        answer = await self.complete(await self.come_back(self.server.consent(await self.begin())))
        assert answer.status_code == 204, answer.text

    async def state(self, client: httpx.AsyncClient | None = None) -> str:
        (one,) = (await (client or self.me).get(PATH)).json()["items"]
        return str(one["state"])

    def opener(self, oauth: OAuthConnections | None = None) -> VaultOpener:
        parts, vault = self.api.parts, Vault([KEY])
        people = oauth or parts.oauth
        return VaultOpener(parts.database, parts.audit, vault, self.clock, lambda _: True, people)

    def guard(self) -> SkillGuard:
        settings, hosts = SkillSettings(off=()), (self.server.url.removeprefix("http://"),)
        remotes = McpConnections(connect=30.0)
        made = ground(credentials=self.opener(), hosts=hosts, settings=settings)
        return SkillGuard(replace(made, remotes=remotes, resolve=resolve_host), NoAudit())

    async def whoami(self, scope: Scope | None = None) -> Any:
        """The result of a REST skill."""
        options = {"url": f"{self.server.url}/whoami"}
        manifest = Manifest("whoami", "Who.", Kind.HTTP, options=options, credential=CredentialType.OAUTH)
        call = ToolInvocation(scope or self.scope, None, "k", {})
        return await build_tool(manifest, self.guard().ground).run(call)

    def rows(self, query: str) -> list[Any]:
        with psycopg.connect(self.dsn) as owner:
            return owner.execute(query).fetchall()

    def trail(self) -> list[tuple[str, str]]:
        query = f"select action, outcome from audit where tenant_id = '{self.office.scope.tenant}' and action like "
        return [(row[0], row[1]) for row in self.rows(query + "'oauth.%' order by seq")]


@pytest.fixture
def server() -> Iterator[OAuthServer]:
    with running_oauth(OAuthServer()) as made:
        yield made


@pytest.fixture
async def house(app_dsn: str, admin_dsn: str, tmp_path: Path, server: OAuthServer) -> AsyncIterator[House]:
    clock = Clock()
    parts = make_parts(app_dsn, tmp_path, clock)
    parts = replace(parts, oauth=connections_of(parts.database, parts.audit, server, clock))
    office = open_office(admin_dsn)
    async with serve(parts) as api:
        admin = await api.sign_in(office.emails[Role.ADMIN])
        values, extra = {"client_secret": CLIENT_SECRET}, {"client_id": CLIENT_ID, "base_url": server.mcp_url}
        wanted = {"name": "notes", "type": "oauth", "values": values, "extra": extra | {"scope": "read"}}
        answer = await admin.post("/api/credentials", json=wanted)
        assert answer.status_code == 201, answer.text
        me = await api.sign_in(office.emails[Role.VIEWER])
        yield House(api, office, server, clock, admin_dsn, answer.json()["id"], me)


def connections_of(database: Database, audit: Any, server: OAuthServer, clock: Clock) -> OAuthConnections:
    way = GuardedHttpClient((server.url.removeprefix("http://"),), resolve_host, SECONDS, MOST_BYTES)
    return OAuthConnections(database, audit, Vault([KEY]), way, clock)


async def test_cv_06_a_person_connects_an_mcp_server_and_its_tools_run_as_them(house: House) -> None:
    """CV-06, SK-18: discovery by the 401, PKCE, the resource named, tokens sealed, and none of them in a result."""
    url = await house.begin()
    asked = dict(parse_qsl(urlsplit(url).query))
    assert asked["resource"] == house.server.mcp_url and asked["scope"] == "read"
    assert asked["redirect_uri"] == f"http://aos.test{PATH}/{house.credential}/callback"
    assert (await house.complete(await house.come_back(house.server.consent(url)))).status_code == 204
    assert house.server.forms[0]["resource"] == house.server.mcp_url
    assert await house.state() == "connected"
    guard = house.guard()
    try:
        like = Manifest("any", "Any.", Kind.MCP, credential=CredentialType.OAUTH, seconds=30)
        call, place = ToolInvocation(house.scope, None, "k", {}), McpServerSpec(url=house.server.mcp_url)
        (found,) = await discover_tools(guard.ground, call, like, place, "notes")
        assert found.manifest is not None
        told = await guard.around(found.manifest).run(call)
    finally:
        await guard.ground.remotes.aclose()
    assert told["data"]["authorization"] == f"Bearer {MARK}"
    (row,) = house.rows("select sealed, row_to_json(o)::text from oauth_connections o")
    assert b"canary" not in bytes(row[0]) and "canary" not in row[1]
    assert house.rows("select 1 from oauth_attempts") == []
    assert house.trail() == [("oauth.begin", "done"), ("oauth.connect", "done")]


async def test_cv_06_tokens_are_in_no_table_that_can_be_read(house: House) -> None:
    """CV-06: neither journal, audit nor connection shows a token, a code or the client's secret."""
    await house.connect()
    assert (await house.whoami())["data"]["token"].startswith("Bearer access-canary-")
    for (table,) in house.rows("select tablename from pg_tables where schemaname = 'public'"):
        for (text,) in house.rows(f"select t::text from {table} t"):
            assert "canary" not in text, table
    assert "canary" not in (await house.me.get(PATH)).text


async def test_cv_06_nobody_uses_the_tokens_of_somebody_else(house: House) -> None:
    """CV-06: a run for a person without a connection, or for nobody, ends with a name, and says how to connect."""
    await house.connect()
    seen = len(house.server.seen)
    with pytest.raises(NotConnected) as none:
        await house.whoami(house.scope_of(Role.OPERATOR))
    assert "aos credentials connect notes" in (none.value.hint or none.value.fix or "")
    with pytest.raises(NotConnected):
        await house.whoami(replace(house.scope, user=None))
    with psycopg.connect(house.dsn) as owner:
        owner.execute("update users set disabled = true where email = %s", [house.office.emails[Role.VIEWER]])
    with pytest.raises(NotConnected):
        await house.whoami()
    assert len(house.server.seen) == seen, "the service heard nothing"


async def test_cv_06_a_token_is_refreshed_before_it_lapses_and_once_after_a_401(house: House) -> None:
    """CV-06: early by a minute; a 401 brings another one once, and then the refusal stands."""
    await house.connect()
    house.clock.now += timedelta(seconds=house.server.lifetime - 59)
    await house.whoami()
    assert [form["grant_type"] for form in house.server.forms] == ["authorization_code", "refresh_token"]
    assert house.server.forms[-1]["resource"] == house.server.mcp_url
    house.server.access.clear()  # the service forgets it before its time
    await house.whoami()
    assert len(house.server.forms) == 3
    house.server.reply = lambda: JSONResponse({"access_token": "no-good", "refresh_token": "r", "expires_in": 60})
    house.server.access.clear()
    with pytest.raises(AosError) as refused:
        await house.whoami()
    assert refused.value.code == "service_denied" and len(house.server.forms) == 4


async def test_cv_06_two_replicas_use_a_refresh_token_once(house: House, app_dsn: str) -> None:
    """CV-06: the second waits at the row and takes what the first has brought."""
    await house.connect()
    house.clock.now += timedelta(hours=2)
    house.server.delay = 0.3
    other = Database(app_dsn, size=4)
    await other.open()
    try:
        far = connections_of(other, house.api.parts.audit, house.server, house.clock)
        manifest = Manifest("whoami", "Who.", Kind.HTTP, credential=CredentialType.OAUTH)
        call = ToolInvocation(house.scope, None, "k", {})
        both = [house.opener().open(call, manifest) for _ in range(3)]
        both += [house.opener(far).open(call, manifest) for _ in range(3)]
        tokens = {(await one)["token"] for one in asyncio.as_completed(both)}
    finally:
        await other.close()
    assert len(tokens) == 1
    assert [form["grant_type"] for form in house.server.forms].count("refresh_token") == 1


async def test_cv_06_a_call_that_is_given_up_loses_no_refresh_token(house: House) -> None:
    """CV-06: the server has used the old one up: the new one is stored, whoever still waits for it."""
    await house.connect()
    house.clock.now += timedelta(hours=2)
    house.server.delay = 0.5
    manifest = Manifest("whoami", "Who.", Kind.HTTP, credential=CredentialType.OAUTH)
    call = ToolInvocation(house.scope, None, "k", {})
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(house.opener().open(call, manifest), 0.2)
    assert (await house.opener().open(call, manifest))["token"] in house.server.access
    assert [form["grant_type"] for form in house.server.forms].count("refresh_token") == 1


async def test_cv_06_without_a_refresh_token_it_lasts_until_it_lapses(house: House) -> None:
    given = {"access_token": "access-canary-0", "token_type": "Bearer", "expires_in": 90}
    house.server.access["access-canary-0"] = house.server.mcp_url
    house.server.reply = lambda: JSONResponse(given)
    await house.connect()
    house.clock.now += timedelta(seconds=89)
    assert (await house.whoami())["status"] == 200
    house.clock.now += timedelta(seconds=2)
    with pytest.raises(NotConnected, match="has ended"):
        await house.whoami()


async def test_cv_06_a_connection_that_the_server_has_ended_says_so(house: House) -> None:
    """CV-06: `invalid_grant` marks it; the tokens are gone, and it can be connected anew."""
    await house.connect()
    house.server.refreshes.clear()
    house.clock.now += timedelta(hours=2)
    for _ in range(2):
        with pytest.raises(NotConnected, match="has ended"):
            await house.whoami()
    house.me = await house.api.sign_in(house.office.emails[Role.VIEWER])
    assert await house.state() == "ended" and len(house.server.forms) == 2, "it is asked once"
    assert house.rows("select sealed from oauth_connections") == [(None,)]
    await house.connect()
    assert await house.state() == "connected"


async def test_cv_06_disconnecting_revokes_and_deletes(house: House) -> None:
    """CV-06: RFC 7009 where the server has it; else it is forgotten here all the same."""
    await house.connect()
    (refresh,) = house.server.refreshes
    answer = await house.me.delete(f"{PATH}/{house.credential}")
    assert answer.json() == {"revoked": True} and house.server.revoked == [refresh]
    assert await house.state() == "none" and house.rows("select 1 from oauth_connections") == []
    assert (await house.me.delete(f"{PATH}/{house.credential}")).status_code == 404
    house.server.metadata = {"revocation_endpoint": None}
    await house.connect()
    assert (await house.me.delete(f"{PATH}/{house.credential}")).json() == {"revoked": False}
    assert [action for action, _ in house.trail()][2::3] == ["oauth.disconnect", "oauth.disconnect"]


async def test_cv_06_a_state_is_good_once_and_for_one_person(house: House) -> None:
    """CV-06: stolen, replayed, too old, of another connection or made up: refused, and in the trail."""
    told = await house.come_back(house.server.consent(await house.begin()))
    thief = await house.api.sign_in(house.office.emails[Role.OPERATOR])
    assert (await house.complete(told, thief)).json()["code"] == "oauth_refused"
    assert await house.state(thief) == "none" and len(house.server.forms) == 0
    assert (await house.complete(told)).status_code == 204, "whoever begun it is not robbed of it"
    assert (await house.complete(told)).status_code == 403
    late = await house.come_back(house.server.consent(await house.begin()))
    house.clock.now += timedelta(seconds=601)
    house.me = await house.api.sign_in(house.office.emails[Role.VIEWER])
    assert (await house.complete(late)).status_code == 403
    assert (await house.complete({"state": "made up", "code": "c"})).status_code == 403
    for state in ("made up", late["state"]):
        query = urlencode({"state": state, "code": "c"})
        assert (await house.api.client.get(f"{PATH}/{house.credential}/callback?{query}")).status_code == 404
    assert house.trail().count(("oauth.connect", "denied")) == 4


async def test_cv_06_another_server_cannot_answer_in_its_place(house: House) -> None:
    """CV-06: RFC 9207: a wrong `iss`, and none where it is announced; the code goes to nobody."""
    house.server.metadata = {"authorization_response_iss_parameter_supported": True}
    for answer in ({"iss": "https://evil.example"}, {}):
        house.server.answer = answer
        told = await house.come_back(house.server.consent(await house.begin()))
        assert (await house.complete(told)).json()["code"] == "oauth_refused"
    assert house.server.forms == []
    house.server.answer = {"iss": house.server.url}
    await house.connect()


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("resource_metadata", {"resource": "https://evil.example/mcp"}),
        ("resource_metadata", {"resource": "/mcp/of/others"}),
        ("resource_metadata", {"authorization_servers": []}),
        ("metadata", {"issuer": "https://evil.example"}),
        ("metadata", {"code_challenge_methods_supported": ["plain"]}),
        ("metadata", {"token_endpoint": "http://evil.example/token"}),
        ("metadata", {"authorization_endpoint": 7}),
    ],
)
async def test_cv_06_metadata_that_leads_elsewhere_is_not_followed(house: House, field: str, said: Any) -> None:
    """CV-06: another audience, another issuer, no PKCE, no https: nobody is sent anywhere."""
    setattr(house.server, field, said)
    answer = await house.me.post(f"{PATH}/{house.credential}", json={})
    assert answer.json()["code"] == "oauth_no_server", answer.text
    assert house.trail() == []


def garbage() -> Response:
    return PlainTextResponse("<html>sign in</html>")


def huge() -> Response:
    return PlainTextResponse("x" * 1_000_000)


def other_type() -> Response:
    return JSONResponse({"access_token": "x", "token_type": "mac"})


def broken() -> Response:
    return JSONResponse({"error": "server_error"}, 500)


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (garbage, "service_garbled"),
        (huge, "too_large"),
        (elsewhere, "redirected"),
        (other_type, "service_garbled"),
        (broken, "service_failed"),
    ],
)
async def test_cv_06_a_token_endpoint_that_misbehaves_has_a_name(
    house: House, reply: Callable[[], Response], code: str
) -> None:
    """CV-06: at the first tokens nothing is stored; at a refresh the connection stays, for the server's better days."""
    house.server.reply = reply
    told = await house.come_back(house.server.consent(await house.begin()))
    assert (await house.complete(told)).json()["code"] == code
    assert await house.state() == "none"
    house.server.reply = None
    await house.connect()
    house.clock.now += timedelta(hours=2)
    house.server.reply = reply
    with pytest.raises(AosError) as failed:
        await house.whoami()
    assert failed.value.code == code
    house.server.reply = None
    assert (await house.whoami())["status"] == 200


async def test_cv_06_a_slow_token_endpoint_is_not_waited_for(house: House) -> None:
    told = await house.come_back(house.server.consent(await house.begin()))
    house.server.delay = SECONDS + 2
    assert (await house.complete(told)).json()["code"] == "unavailable"


async def test_cv_06_a_credential_that_changes_takes_no_tokens_along(house: House) -> None:
    """CV-06: an administrator who writes another address gets nobody's token there."""
    await house.connect()
    admin = await house.api.sign_in(house.office.emails[Role.ADMIN])
    values = {"values": {"client_secret": CLIENT_SECRET}, "extra": {"client_id": CLIENT_ID, "base_url": "https://e.ex"}}
    assert (await admin.patch(f"/api/credentials/{house.credential}", json=values)).status_code == 200
    with pytest.raises(NotConnected, match="another address"):
        await house.whoami()
    assert await house.state() == "ended"


async def test_cv_06_tokens_are_sealed_anew_when_the_key_is_rotated(house: House) -> None:
    """CV-06, CV-05: with all others; the old key opens nothing then."""
    await house.connect()
    new = VaultKey(b"n" * 32)
    found = await rotate_keys(house.dsn, Vault([new, KEY]), None, lambda *_: None)
    assert found["oauth_connections"].resealed == 1 and not found["oauth_connections"].failed
    parts = house.api.parts
    way = GuardedHttpClient((house.server.url.removeprefix("http://"),), resolve_host, SECONDS, MOST_BYTES)
    people = OAuthConnections(parts.database, parts.audit, Vault([new]), way, house.clock)
    opener = VaultOpener(parts.database, parts.audit, Vault([new]), house.clock, lambda _: True, people)
    manifest = Manifest("whoami", "Who.", Kind.HTTP, credential=CredentialType.OAUTH)
    secret = await opener.open(ToolInvocation(house.scope, None, "k", {}), manifest)
    assert secret["token"] in house.server.access


async def test_cv_06_explicit_addresses_need_no_discovery(house: House) -> None:
    """CV-06: authorize_url and token_url are taken as they are, and no resource is named."""
    admin = await house.api.sign_in(house.office.emails[Role.ADMIN])
    url = house.server.url
    extra = {"client_id": CLIENT_ID, "base_url": url, "authorize_url": f"{url}/authorize", "token_url": f"{url}/token"}
    change = {"values": {"client_secret": CLIENT_SECRET}, "extra": extra}
    assert (await admin.patch(f"/api/credentials/{house.credential}", json=change)).status_code == 200
    asked = await house.begin()
    assert "resource=" not in asked and asked.startswith(f"{url}/authorize?")
    assert (await house.complete(await house.come_back(house.server.consent(asked)))).status_code == 204
    assert house.server.forms[0].get("resource") is None
    assert (await house.whoami())["status"] == 200


async def test_cv_06_a_person_who_is_erased_takes_their_tokens_along(house: House) -> None:
    """CV-06: accounts go with their connections and attempts."""
    await house.connect()
    await house.begin()
    admin = await house.api.sign_in(house.office.emails[Role.ADMIN])
    wanted = {"kind": "person", "ids": [house.scope.user], "reason": "request 12"}
    answer = await admin.post("/api/erasures", json=wanted)
    assert answer.is_success, answer.text
    assert house.rows("select 1 from oauth_connections union all select 1 from oauth_attempts") == []


async def test_cv_06_whoever_is_no_member_any_more_has_no_tokens_there(house: House) -> None:
    """CV-06: however the membership went; a later one begins without."""
    await house.connect()
    await house.begin()
    with psycopg.connect(house.dsn) as owner:
        owner.execute("delete from memberships where user_id = %s", [house.scope.user])
    assert house.rows("select 1 from oauth_connections union all select 1 from oauth_attempts") == []


def quoting() -> Response:
    return JSONResponse(
        {"error": "server_error", "error_description": f"I was told {CLIENT_SECRET}, code-canary-1"}, 503
    )


async def test_cv_06_what_a_token_endpoint_repeats_is_not_told_on(house: House) -> None:
    """CV-06: neither in the answer nor in the trail."""
    house.server.reply = quoting
    answer = await house.complete(await house.come_back(house.server.consent(await house.begin())))
    assert answer.status_code >= 500 and "canary" not in answer.text and MARK in answer.text
    assert "canary" not in str(house.rows("select detail from audit where action = 'oauth.connect'"))


async def test_cv_06_a_token_that_still_lasts_is_used_where_it_cannot_be_refreshed(house: House) -> None:
    """CV-06: a server that is away for a moment stops nobody before their token lapses."""
    await house.connect()
    house.clock.now += timedelta(seconds=house.server.lifetime - 30)
    house.server.reply = broken
    assert (await house.whoami())["status"] == 200
    house.clock.now += timedelta(seconds=60)
    with pytest.raises(AosError):
        await house.whoami()
    house.server.reply = None
    assert (await house.whoami())["status"] == 200, "a renewal that failed keeps nobody waiting"


async def test_cv_06_no_connection_is_held_while_a_server_is_waited_for(house: House) -> None:
    """CV-06: as many people as there are connections wait for a slow server, and the database answers others."""
    await house.connect()
    house.clock.now += timedelta(hours=2)
    house.server.delay = 1.5
    manifest = Manifest("whoami", "Who.", Kind.HTTP, credential=CredentialType.OAUTH)
    waiting = asyncio.create_task(house.opener().open(ToolInvocation(house.scope, None, "k", {}), manifest))
    await asyncio.sleep(0.7)
    assert house.server.forms[-1]["grant_type"] == "refresh_token", "it is being asked"
    open_ones = (
        "select count(*) from pg_stat_activity where datname = current_database() and state = 'idle in transaction'"
    )
    assert house.rows(open_ones) == [(0,)]
    assert (await waiting)["token"] in house.server.access


async def test_cv_06_no_program_is_told_a_persons_token(house: House) -> None:
    """CV-06: a program could send it anywhere."""
    await house.connect()
    options = {"command": "env", "args": [], "tool": "t", "env": {"TOKEN": "token"}}
    manifest = Manifest("any", "Any.", Kind.MCP, options=options, credential=CredentialType.OAUTH)
    made = house.guard().ground
    around = replace(made, settings=made.settings.model_copy(update={"mcp_commands": ("env",)}))
    with pytest.raises(AosError) as refused:
        await build_tool(manifest, around).run(ToolInvocation(house.scope, None, "k", {}))
    assert refused.value.code == "credential_elsewhere"
