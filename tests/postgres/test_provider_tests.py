"""The test of a provider or directory: it really asks, tells what is wrong and what to do, and has no secret in it."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from cluster.basics.scope import Role
from configs.sign_in_providers import OidcProvider
from serve_apps.http.auth.oidc.provider_client import OidcProviderClient
from serve_apps.http.auth.oidc.sign_in_flow import SignInFlow
from tests.fakes.corp_directory import DIRECT, corp, declared, house_of
from tests.fakes.http import Api, Clock, Office, make_parts, open_office, serve
from tests.fakes.oidc_provider import CLIENT_ID, CLIENT_SECRET, ScriptedProvider, new_key, running
from tests.fakes.scripted_directory import EXTENDED, ScriptedDirectory
from tests.fakes.scripted_directory import running as directory_running
from tests.fakes.slapd import BASE, SERVICE_DN, SERVICE_PASSWORD, Authority, Slapd

RULES = [{"value": "staff", "workspace": "w"}]
WELL = {
    "id_token_signing_alg_values_supported": ["RS256"],
    "code_challenge_methods_supported": ["plain", "S256"],
    "token_endpoint_auth_methods_supported": ["client_secret_basic"],
}
PUBLIC = "https://aos.test"
Answer = dict[str, Any]


@pytest.fixture
def provider() -> Iterator[ScriptedProvider]:
    with running(ScriptedProvider(metadata=dict(WELL))) as one:
        yield one


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slapd]:
    with corp(tmp_path_factory.mktemp("corp")) as one:
        yield one


@asynccontextmanager
async def product(
    provider: ScriptedProvider,
    dsn: str,
    folder: Path,
    office: Office,
    *,
    public: str | None = "https://aos.test",
    **more: Any,
) -> AsyncIterator[tuple[Api, Clock]]:
    """The product with one provider, whose people belong to the office."""
    clock = Clock()
    (folder / "scans").mkdir(exist_ok=True)
    told: Answer = {"name": "corp", "title": "Corp", "issuer": provider.url, "client_id": CLIENT_ID, "rules": RULES}
    told |= {"client_secret": CLIENT_SECRET, "tenant": office.scope.tenant} | more
    parts = make_parts(dsn, folder, clock)
    client = OidcProviderClient(OidcProvider.model_validate(told), clock.monotonic)
    async with serve(replace(parts, sign_in=SignInFlow([client], public, parts.tokens))) as api:
        yield api, clock


async def asked_of(api: Api, office: Office, name: str = "corp", **body: Any) -> Answer:
    admin = await api.sign_in(office.emails[Role.ADMIN])
    answer = await admin.post(f"/api/auth/providers/{name}/test", json=body)
    assert answer.status_code == 200, answer.text
    assert CLIENT_SECRET not in answer.text and SERVICE_PASSWORD not in answer.text
    found: Answer = answer.json()
    assert all(bool(one["fix"]) != one["ok"] for one in found["checks"]), "what is wrong says what to do"
    return found


def wrong(found: Answer) -> dict[str, str]:
    """Detail of each check that failed."""
    return {one["name"]: one["detail"] for one in found["checks"] if not one["ok"]}


async def test_a_provider_that_is_well_passes_every_check_and_the_trail_has_one_line(
    provider: ScriptedProvider, app_dsn: str, tmp_path: Path, office: Office
) -> None:
    async with product(provider, app_dsn, tmp_path, office) as (api, _):
        found = await asked_of(api, office)
        assert (found["ok"], found["kind"], found["person"], wrong(found)) == (True, "oidc", None, {})
        assert [one["name"] for one in found["checks"]] == [
            *("tenant", "rules", "redirect_uri", "discovery", "issuer", "endpoints", "keys", "algorithms", "pkce"),
            *("client_authentication", "clock"),
        ]
        asked = len(provider.asked)
        await asked_of(api, office)
        assert len(provider.asked) == asked * 2, "nothing that was known before is believed"
        admin = await api.sign_in(office.emails[Role.ADMIN])
        lines = (await admin.get("/api/audit", params={"action": "provider.test"})).json()["items"]
        assert [(one["object"], one["detail"]) for one in lines] == [("provider corp", {"ok": True, "failed": []})] * 2
        (one,) = (await admin.get("/api/auth/providers/declared")).json()["items"]
        assert (one["kind"], one["account"], one["addresses"]) == ("oidc", CLIENT_ID, [provider.url])
        assert one["redirect_uri"] == "https://aos.test/api/auth/oidc/corp/callback"


@pytest.mark.parametrize(
    ("metadata", "expected", "word"),
    [
        ({"issuer": "https://evil.example"}, {"issuer"}, "evil.example"),
        ({"token_endpoint": "http://corp.example/token"}, {"endpoints"}, "token_endpoint"),
        ({"jwks_uri": "http://169.254.169.254/keys"}, {"endpoints", "keys"}, "not https"),
        ({"jwks_uri": "http://127.0.0.1:1/keys"}, {"keys"}, "1/keys: cannot be read"),
        ({"id_token_signing_alg_values_supported": ["HS256"]}, {"algorithms"}, "HS256"),
        ({"code_challenge_methods_supported": ["plain"]}, {"pkce"}, "S256"),
        ({"token_endpoint_auth_methods_supported": ["private_key_jwt"]}, {"client_authentication"}, "private_key_jwt"),
    ],
)
async def test_each_fault_of_a_provider_is_told_by_its_name(
    provider: ScriptedProvider,
    app_dsn: str,
    tmp_path: Path,
    office: Office,
    metadata: Answer,
    expected: set[str],
    word: str,
) -> None:
    provider.metadata |= metadata
    async with product(provider, app_dsn, tmp_path, office) as (api, _):
        found = await asked_of(api, office)
        assert set(wrong(found)) == expected and not found["ok"]
        assert word in " ".join(wrong(found).values())


async def test_keys_clock_rules_and_the_public_address_are_looked_at(
    provider: ScriptedProvider, app_dsn: str, tmp_path: Path, office: Office
) -> None:
    del provider.metadata["code_challenge_methods_supported"]
    provider.published = [{"kty": "oct", "k": "c2VjcmV0"}, {"kty": "RSA", "n": "!", "e": "AQAB"}]
    rules = [{"value": "x", "workspace": "nowhere"}]
    async with product(provider, app_dsn, tmp_path, office, public=None, rules=rules) as (api, clock):
        clock.now += timedelta(minutes=5)
        found = await asked_of(api, office)
        assert set(wrong(found)) == {"rules", "redirect_uri", "keys", "clock", "pkce"} and not found["ok"]
        assert "nowhere" in wrong(found)["rules"] and "0 of 0" in wrong(found)["keys"]
        advice = {one["name"] for one in found["checks"] if not one["ok"] and not one["required"]}
        assert advice == {"pkce"}, "some providers know it and do not say so"
    provider.published, provider.key = None, new_key("fresh")
    async with product(provider, app_dsn, tmp_path, office, algorithms=["ES256"]) as (api, _):
        assert "0 of 1" in wrong(await asked_of(api, office))["keys"], "an RSA key makes no ES256"


async def test_a_provider_that_is_away_is_said_to_be(app_dsn: str, tmp_path: Path, office: Office) -> None:
    away = ScriptedProvider(url="http://127.0.0.1:1")
    async with product(away, app_dsn, tmp_path, office) as (api, _):
        found = await asked_of(api, office)
        assert set(wrong(found)) == {"discovery"} and "127.0.0.1:1" in wrong(found)["discovery"]


async def test_only_an_administrator_of_its_tenant_tests_a_provider(
    provider: ScriptedProvider, app_dsn: str, admin_dsn: str, tmp_path: Path, office: Office
) -> None:
    async with product(provider, app_dsn, tmp_path, office) as (api, _):
        stranger = await api.sign_in(open_office(admin_dsn).emails[Role.ADMIN])
        operator = await api.sign_in(office.emails[Role.OPERATOR])
        for client, status in ((stranger, 404), (operator, 403), (api.client, 401)):
            assert (await client.post("/api/auth/providers/corp/test", json={})).status_code == status
        assert (await stranger.get("/api/auth/providers/declared")).json()["items"] == []
        admin = await api.sign_in(office.emails[Role.ADMIN])
        assert (await admin.post("/api/auth/providers/corp/test", json={"login": "ann"})).status_code == 422
        assert provider.asked == [], "nobody of these made it ask"


async def test_a_directory_that_is_well_tells_what_somebody_would_get(
    directory: Slapd, app_dsn: str, admin_dsn: str, tmp_path: Path, office: Office
) -> None:
    told = declared(directory.ldaps, directory.folder / "ca.pem", office.scope.tenant, groups_dn=f"ou=groups,{BASE}")
    async with house_of(app_dsn, tmp_path, office, told) as house:
        found = await asked_of(house.api, office, login="ann")
        assert found["ok"] and [one["name"] for one in found["checks"]] == [
            *("tenant", "rules", "server", "certificate", "service_account", "base", "groups_base", "people", "person")
        ]
        assert set(wrong(found)) == {"certificate"}, "one that ends tomorrow is advice"
        assert "good until" in wrong(found)["certificate"]
        person = found["person"] | {"subject": ""}
        assert person == {
            **{"subject": "", "email": "ann@corp.example", "account": "new", "workspaces": {"w": "viewer"}},
            **{"tenant_role": "viewer", "groups": ["finance-west"], "enters": True},
        }
        admin = await house.admin()
        assert not (await admin.get("/api/users", params={"q": "ann@"})).json()["items"], "nothing was made"
        assert (await house.sign_in("ann")).status_code == 200
        assert (await asked_of(house.api, office, login="ann"))["person"]["account"] == "linked"
        for login, word in (("nobody", "nobody"), ("twin", "several"), ("off", "disabled"), ("guy", "no rule")):
            refused = await asked_of(house.api, office, login=login)
            assert not refused["ok"] and word in wrong(refused)["person"], login
        assert "*" not in str((await asked_of(house.api, office, login="*"))["person"]), "what is typed is no filter"
        with psycopg.connect(admin_dsn) as connection:
            connection.execute(
                "update users set email = 'admin@office.example' where email = %s", (office.emails[Role.ADMIN],)
            )
        api, office.emails[Role.ADMIN] = house.api, "admin@office.example"
        refused = await asked_of(api, office, login="admin")
        assert refused["person"]["account"] == "not_linked" and not refused["person"]["enters"]
        lines = (await (await house.admin()).get("/api/audit", params={"action": "provider.test"})).json()["items"]
        assert lines[0]["detail"] == {"ok": False, "failed": ["person"], "login": "admin"}


async def test_each_fault_of_a_directory_is_told_by_its_name(
    directory: Slapd, app_dsn: str, tmp_path: Path, office: Office
) -> None:
    authority = tmp_path / "other"
    authority.mkdir()
    Authority("Another CA").pem(authority)
    silent = ScriptedDirectory(tls="stripped", on={EXTENDED: "hang"})
    known = directory.folder / "ca.pem"

    def of(name: str, ca_file: Path = known, url: Any = directory.ldaps, **changed: Any) -> Any:
        return declared(url, ca_file, office.scope.tenant, name=name, title=name, **changed)

    with directory_running(silent):
        told = (
            of("ca", authority / "ca.pem"),
            of("away", url=["ldaps://localhost:1", directory.ldap], connect_seconds=1),
            of("silent", url=silent.url, connect_seconds=1, answer_seconds=1, seconds=2),
            of("secret", service_password="another"),
            of("base", base_dn=f"dc=gone,{BASE}"),
            of("filter", user_filter="(&(objectClass=device)(uid={login}))"),
            of("domain", domains=["else.example"]),
            of("direct", **DIRECT),
        )
        async with house_of(app_dsn, tmp_path, office, *told) as house:

            async def faults(name: str, **body: Any) -> dict[str, str]:
                found = await asked_of(house.api, office, name, **body)
                required = {one["name"] for one in found["checks"] if one["required"]}
                return {key: said for key, said in wrong(found).items() if key in required}

            assert set(await faults("ca")) == {"certificate", "service_account"}
            assert set(await faults("away")) == {"server"}, "the second server does for the rest"
            assert set(await faults("silent")) == {"server", "service_account"}
            refused = await faults("secret")
            assert "invalidCredentials" in refused["service_account"] and len(refused) == 1
            assert "noSuchObject" in (await faults("base"))["base"]
            assert set(await faults("filter", login="ann")) == {"people", "person"}
            assert "corp.example" in (await faults("domain", login="ann"))["person"]
            assert await faults("direct", login="ann") == {}
            assert SERVICE_DN in str((await (await house.admin()).get("/api/auth/providers/declared")).json())
