"""Sign-in by an OpenID provider, scripted over real HTTP: who gets what, and thirty attacks of which none gets in."""

import asyncio
import base64
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit
from uuid import uuid4

import httpx
import psycopg
import pytest
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

from cluster.basics.scope import Role
from cluster.state.identity.external_accounts import SignedOutThere
from cluster.state.identity.identity import secret_hash
from configs.sign_in_providers import OidcProvider
from serve_apps.http.auth.oidc.provider_client import OidcProviderClient
from serve_apps.http.auth.oidc.sign_in_flow import SignInFlow
from serve_apps.http.auth.throttle import FREE, SPRAYED
from tests.fakes.http import PASSWORD, Api, Clock, Office, make_parts, serve
from tests.fakes.oidc_provider import (
    CLIENT_ID,
    CLIENT_SECRET,
    Browser,
    Claims,
    ScriptedProvider,
    key_set,
    landed,
    new_key,
    running,
    signed_by_secret,
    unsigned,
)

PUBLIC = "http://aos.test"
VERIFIER = "a" * 43
CHALLENGE = create_s256_code_challenge(VERIFIER)
RULES = [
    {"value": "staff", "workspace": "w"},
    {"value": "bosses", "workspace": "w", "role": "operator", "tenant_role": "operator"},
]


@dataclass
class House:
    """The product with two providers, `corp` and `other`, whose people belong to an office."""

    api: Api
    office: Office
    corp: ScriptedProvider
    other: ScriptedProvider
    clock: Clock

    def browser(self) -> Browser:
        return Browser(self.api._client({}))

    async def sign_in(self, name: str = "corp", **brought: str) -> httpx.Response:
        """The whole way with one browser; the answer to whoever redeems the code."""
        browser = self.browser()
        provider = self.corp if name == "corp" else self.other
        url = await browser.depart(name, CHALLENGE)
        told = landed(await browser.come_back(name, provider.consent(url) | brought))
        return await self.redeem(told.get("code", told.get("error", "")))

    async def redeem(self, code: str, verifier: str = VERIFIER) -> httpx.Response:
        return await self.api.client.post("/api/auth/oidc/redeem", json={"code": code, "verifier": verifier})

    async def refusals(self) -> list[tuple[str, str]]:
        """Code and reason of what the audit trail says was refused, newest first."""
        admin = await self.api.sign_in(self.office.emails[Role.ADMIN])
        found = (await admin.get("/api/audit", params={"action": "session.begin", "outcome": "denied"})).json()["items"]
        return [(one["detail"]["code"], one["detail"]["why"]) for one in found]


@pytest.fixture
def providers() -> Iterator[tuple[ScriptedProvider, ScriptedProvider]]:
    corp = ScriptedProvider()
    corp.claims["groups"] = ["staff", "finance-west", "Secret Club"]
    with running(corp), running(ScriptedProvider(key=new_key("other"))) as other:
        yield corp, other


@pytest.fixture
async def house(
    providers: tuple[ScriptedProvider, ScriptedProvider], app_dsn: str, tmp_path: Path, office: Office
) -> AsyncIterator[House]:
    corp, other = providers
    clock = Clock()
    (tmp_path / "scans").mkdir(exist_ok=True)
    parts = make_parts(app_dsn, tmp_path, clock)
    told: dict[str, Any] = {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET, "tenant": office.scope.tenant}
    told |= {"rules": RULES, "groups": ["finance-*"]}
    declared = [
        OidcProvider.model_validate({"name": name, "title": name.title(), "issuer": one.url, **told})
        for name, one in (("corp", corp), ("other", other))
    ]
    flow = SignInFlow([OidcProviderClient(one, clock.monotonic) for one in declared], PUBLIC, parts.tokens)
    async with serve(replace(parts, sign_in=flow)) as api:
        yield House(api, office, corp, other, clock)


async def test_somebody_new_gets_what_the_rules_say_and_loses_it_with_the_claim(house: House) -> None:
    body = (await house.sign_in()).raise_for_status().json()
    assert (body["role"], body["must_change_password"]) == ("viewer", False)
    client = house.api.bearing(body["access_token"])
    assert (await client.get("/api/documents/")).status_code == 200
    admin = await house.api.sign_in(house.office.emails[Role.ADMIN])
    assert [one["name"] for one in (await admin.get("/api/groups")).json()["items"]] == ["finance-west"]
    house.corp.claims["groups"] = ["staff", "bosses", "finance-east"]
    again = (await house.sign_in()).json()
    assert (again["user_id"], again["role"]) == (body["user_id"], "operator"), "the highest rule counts"
    assert (await client.get("/api/documents/")).status_code == 401, "another role ends older tokens"
    people = {one["name"]: one["members"] for one in (await admin.get("/api/groups")).json()["items"]}
    assert people == {"finance-west": 0, "finance-east": 1}
    (user,) = (await admin.get("/api/users", params={"q": "ann@"})).json()["items"]
    assert (user["role"], user["tenant_role"]) == ("operator", "operator")
    operator = house.api.bearing(again["access_token"])
    key = (await operator.post("/api/api-keys", json={"name": "k"})).raise_for_status().json()["key"]
    house.corp.claims["groups"] = ["guests"]
    refused = await house.sign_in()
    assert refused.status_code == 401 and (await house.refusals())[0][0] == "nothing_granted"
    for shown in (again["access_token"], key):
        assert (await house.api.bearing(shown).get("/api/documents/")).status_code == 401, "what they had is gone"
    assert {one["members"] for one in (await admin.get("/api/groups")).json()["items"]} == {0}
    grants = (await admin.get("/api/audit", params={"action": "user.grant"})).json()["items"]
    assert [(one["detail"]["fresh"], one["detail"]["groups"]) for one in grants] == [
        (False, []),
        (False, ["finance-east"]),
        (True, ["finance-west"]),
    ]
    trail = (await admin.get("/api/audit", params={"action": "session.begin"})).json()["items"]
    granted = [one["detail"] for one in trail if one["outcome"] != "denied" and one["detail"]]
    assert granted == [{"provider": "corp"}] * 2


async def test_who_was_provisioned_by_scim_signs_in_as_the_same_person(house: House) -> None:
    """Not as a second one; and who is deactivated by it does not come in again."""
    admin = await house.api.sign_in(house.office.emails[Role.ADMIN])
    made = await admin.post("/scim/v2/Users", json={"userName": "Ann@corp.example", "displayName": "Ann"})
    assert made.status_code == 201, made.text
    body = (await house.sign_in()).raise_for_status().json()
    assert body["user_id"] == made.json()["id"]
    people = (await admin.get("/api/users", params={"q": "ann@", "everywhere": True})).json()["items"]
    assert [(one["id"], one["provider"], one["must_change_password"]) for one in people] == [
        (body["user_id"], "scim", False)
    ]
    operation = {"op": "replace", "path": "active", "value": False}
    off = await admin.patch(f"/scim/v2/Users/{body['user_id']}", json={"Operations": [operation]})
    assert off.status_code == 200
    assert (await house.sign_in()).status_code == 401
    assert (await house.api.bearing(body["access_token"]).get("/api/documents/")).status_code == 401


async def test_what_was_given_by_hand_no_provider_takes_away(house: House) -> None:
    admin = await house.api.sign_in(house.office.emails[Role.ADMIN])
    house.corp.claims |= {"email": house.office.emails[Role.DEVELOPER].upper(), "groups": []}
    body = (await house.sign_in()).raise_for_status().json()
    assert body["role"] == "developer", "they are whom the provider vouches for, with the membership they have"
    login = {"email": house.office.emails[Role.DEVELOPER], "password": PASSWORD}
    assert (await house.api.client.post("/api/auth/login", json=login)).json()["user_id"] == body["user_id"]
    house.corp.claims |= {"email": "someone-else@corp.example"}
    assert (await house.sign_in()).json()["user_id"] == body["user_id"], "the subject tells, not the address"
    (user,) = (await admin.get("/api/users", params={"q": "developer"})).json()["items"]
    assert user["email"] == login["email"], "documents name their readers by it"
    await admin.patch(f"/api/users/{user['id']}", json={"disabled": True})
    assert (await house.sign_in()).status_code == 401 and (await house.refusals())[0][0] == "account_disabled"


async def test_what_an_administrator_changes_by_hand_stays(house: House) -> None:
    """Also of somebody whom the provider brought: a demotion must not come back with the next sign-in."""
    house.corp.claims["groups"] = ["bosses", "finance-west"]
    body = (await house.sign_in()).json()
    admin = await house.api.sign_in(house.office.emails[Role.ADMIN])
    changed = {"role": "viewer", "tenant_role": "developer"}
    await admin.patch(f"/api/users/{body['user_id']}", json=changed)
    (group,) = (await admin.get("/api/groups")).json()["items"]
    await admin.put(f"/api/groups/{group['id']}/members/{body['user_id']}")
    house.corp.claims["groups"] = ["bosses"]
    assert (await house.sign_in()).json()["role"] == "viewer"
    (user,) = (await admin.get("/api/users", params={"q": "ann@"})).json()["items"]
    assert (user["role"], user["tenant_role"]) == ("viewer", "developer")
    assert (await admin.get("/api/groups")).json()["items"][0]["members"] == 1


async def test_an_account_is_one_persons_whoever_has_the_address_later(house: House) -> None:
    first = (await house.sign_in()).json()
    house.corp.claims |= {"sub": "ann-2"}
    assert (await house.sign_in()).status_code == 401, "a new hire with the address of somebody who left"
    house.other.claims["groups"] = ["staff"]
    assert (await house.sign_in("other")).status_code == 401, "another provider, that vouches for the same address"
    assert [code for code, _ in await house.refusals()] == ["account_not_linked"] * 2
    house.corp.claims |= {"sub": "ann-1"}
    assert (await house.sign_in()).json()["user_id"] == first["user_id"]


async def test_who_was_invited_and_comes_by_the_provider_has_no_first_password(house: House) -> None:
    admin = await house.api.sign_in(house.office.emails[Role.ADMIN])
    invited = (await admin.post("/api/users", json={"email": "ann@corp.example", "role": "developer"})).json()
    body = (await house.sign_in()).json()
    assert (body["user_id"], body["must_change_password"]) == (invited["id"], False)
    login = {"email": "ann@corp.example", "password": invited["password"]}
    assert (await house.api.client.post("/api/auth/login", json=login)).status_code == 401, "nobody else knows it"


async def test_a_sign_in_that_begins_at_another_address_goes_to_the_public_one_first(house: House) -> None:
    query = {"challenge": CHALLENGE, "return_to": "console"}
    away = await house.api.client.get("/api/auth/oidc/corp/start", params=query, headers={"host": "10.0.0.7:8000"})
    assert away.headers["location"].startswith(f"{PUBLIC}/api/auth/oidc/corp/start?challenge=")
    assert "set-cookie" not in away.headers
    again = await house.api.client.get(away.headers["location"], headers={"host": "rewritten.internal"})
    assert again.headers["location"].startswith(house.corp.url), "once: a proxy may hide the address for ever"


async def test_many_answers_in_vain_from_one_address_are_held_up(house: House) -> None:
    """Of an office that has one address, a few who are refused kept everybody else out."""
    house.corp.tweak = lambda claims: claims | {"nonce": "n"}
    seen = []
    for _ in range(FREE * SPRAYED + 2):
        browser = house.browser()
        url = await browser.depart("corp", CHALLENGE)
        seen.append((await browser.come_back("corp", house.corp.consent(url))).status_code)
    assert set(seen[: FREE * SPRAYED]) == {303} and 429 in seen[FREE * SPRAYED :]
    assert len(await house.refusals()) == seen.count(303)


async def test_keys_that_rotate_are_fetched_again_and_not_for_every_token(house: House) -> None:
    assert (await house.sign_in()).status_code == 200
    house.corp.key = new_key("second")
    house.clock.seconds += 60
    assert (await house.sign_in()).status_code == 200
    assert house.corp.asked.count("/keys") == 2 and house.corp.asked.count("/.well-known/openid-configuration") == 1
    house.corp.sign = lambda claims: jwt.encode({"alg": "RS256", "kid": "x"}, claims, new_key("x"))
    for _ in range(3):
        assert (await house.sign_in()).status_code == 401
    assert house.corp.asked.count("/keys") == 2, "who names keys at random does not make us ask"


async def test_claims_that_the_token_leaves_out_are_asked_for_and_have_to_be_the_same_persons(house: House) -> None:
    """By the standard, code flows give e-mail and groups by UserInfo alone."""
    house.corp.metadata = {"userinfo_endpoint": f"{house.corp.url}/userinfo"}
    said, house.corp.claims = house.corp.claims, {"sub": "ann-1"}
    house.corp.userinfo = said | {"iss": "https://else.example", "sub": "ann-1"}
    assert (await house.sign_in()).json()["email"] == "ann@corp.example"
    house.corp.userinfo = said | {"sub": "ben-2"}
    assert (await house.sign_in()).status_code == 401
    assert (await house.refusals())[0] == ("sign_in_refused", "sub: the provider's userinfo is somebody else's")
    house.corp.claims = said
    assert (await house.sign_in()).status_code == 200 and house.corp.asked.count("/userinfo") == 2


@pytest.mark.parametrize(
    "odd", [[], "text", None, {"error": "x"}, {"id_token": 7}, {"id_token": {}, "access_token": []}]
)
async def test_odd_answers_for_a_code_let_nobody_in(house: House, odd: Any) -> None:
    house.corp.tokens = lambda body: odd
    assert (await house.sign_in()).status_code == 401


async def test_elliptic_keys_and_a_program_on_this_machine(house: House) -> None:
    house.corp.key = ECKey.generate_key("P-256", {"kid": "curve", "use": "sig"})
    browser = house.browser()
    url = await browser.depart("corp", CHALLENGE, "http://127.0.0.1:8400/back")
    answer = await browser.come_back("corp", house.corp.consent(url))
    assert answer.headers["location"].startswith("http://127.0.0.1:8400/back?code=")
    assert (await house.redeem(landed(answer)["code"])).status_code == 200


async def test_the_code_works_once_for_a_minute_and_for_whoever_asked(house: House) -> None:
    async def code() -> str:
        browser = house.browser()
        brought = house.corp.consent(await browser.depart("corp", CHALLENGE))
        return landed(await browser.come_back("corp", brought))["code"]

    first = await code()
    assert (await house.redeem(first, "b" * 43)).status_code == 401
    assert (await house.redeem(first)).status_code == 401, "it was shown with the wrong verifier: spent"
    second = await code()
    assert (await house.redeem(second)).status_code == 200
    assert (await house.redeem(second)).status_code == 401
    third = await code()
    house.clock.now += timedelta(seconds=61)
    assert (await house.redeem(third)).status_code == 401
    for wrong in ("", "x.y", f"{house.office.scope.tenant}.zzz", f"{'f' * 36}.zzz"):
        assert (await house.redeem(wrong)).status_code == 401


async def test_a_provider_that_is_away_or_odd_is_said_and_nothing_else_breaks(house: House) -> None:
    listed = (await house.api.client.get("/api/auth/providers")).json()["items"]
    assert [(one["name"], one["start"]) for one in listed] == [
        ("corp", "/api/auth/oidc/corp/start"),
        ("other", "/api/auth/oidc/other/start"),
    ]
    query = {"challenge": CHALLENGE, "return_to": "console"}
    for odd in ({"issuer": "https://else.example"}, {"token_endpoint": "http://corp.example/token"}, {"jwks_uri": ""}):
        house.corp.metadata = odd
        answer = await house.api.client.get("/api/auth/oidc/corp/start", params=query)
        assert landed(answer) == {"error": "provider_unavailable"}, odd
    assert (await house.api.client.get("/api/auth/oidc/nobody/start", params=query)).status_code == 404
    assert (await house.sign_in("other")).status_code == 401, "it gives no groups, and no rule names its people"
    login = {"email": house.office.emails[Role.VIEWER], "password": PASSWORD}
    assert (await house.api.client.post("/api/auth/login", json=login)).status_code == 200


def claim(**changed: Any) -> Callable[[House], None]:
    def attack(house: House) -> None:
        house.corp.tweak = lambda claims: {k: v for k, v in (claims | changed).items() if v is not ...}

    return attack


def signed(sign: Callable[[House], Callable[[Claims], str]]) -> Callable[[House], None]:
    def attack(house: House) -> None:
        house.corp.sign = sign(house)

    return attack


def _stranger(house: House) -> Callable[[Claims], str]:
    """Another key under the name of the right one."""
    mole = new_key("first")
    return lambda claims: jwt.encode({"alg": "RS256", "kid": "first"}, claims, mole)


def _embedded(house: House) -> Callable[[Claims], str]:
    """A key of its own in the header (CVE-2018-0114)."""
    mole = new_key("mine")
    header = {"alg": "RS256", "jwk": mole.as_dict(private=False)}
    return lambda claims: jwt.encode(header, claims, mole)


def _cut(house: House) -> Callable[[Claims], str]:
    def sign(claims: Claims) -> str:
        token = jwt.encode({"alg": "RS256", "kid": "first"}, claims, house.corp.key)
        return token.rpartition(".")[0] + "."

    return sign


def _swapped(house: House) -> Callable[[Claims], str]:
    """Other claims under a signature that is right for some."""

    def sign(claims: Claims) -> str:
        good = jwt.encode({"alg": "RS256", "kid": "first"}, claims, house.corp.key).split(".")
        other = jwt.encode({"alg": "RS256", "kid": "first"}, claims | {"sub": "root"}, house.corp.key).split(".")
        return f"{good[0]}.{other[1]}.{good[2]}"

    return sign


def _by_public_key(house: House) -> Callable[[Claims], str]:
    assert isinstance(house.corp.key, RSAKey)
    return signed_by_secret(house.corp.key.as_pem(private=False), "first")


def _retired(house: House) -> None:
    """A key that the provider does not publish any more signs on."""
    house.corp.published = key_set(new_key("second"))


def _for_encryption(house: House) -> None:
    house.corp.published = [house.corp.key.as_dict(private=False) | {"use": "enc"}]


def _no_token(house: House) -> None:
    house.corp.tokens = lambda body: {"access_token": "x", "token_type": "Bearer"}


ATTACKS: dict[str, Callable[[House], None]] = {
    "alg none": signed(lambda house: unsigned),
    "signed by the client's secret": signed(lambda house: signed_by_secret(CLIENT_SECRET.encode())),
    "signed by the public key's text": signed(_by_public_key),
    "another key of the same name": signed(_stranger),
    "a key in the header": signed(_embedded),
    "signature cut off": signed(_cut),
    "claims swapped under a signature": signed(_swapped),
    "a key that was retired": _retired,
    "a key for encryption": _for_encryption,
    "no ID token": _no_token,
    "no token at all": signed(lambda house: lambda claims: "not.a.token"),
    "a token of a megabyte": signed(lambda house: lambda claims: "a" * 1_000_000),
    "issued by another": claim(iss="https://else.example"),
    "issuer missing": claim(iss=...),
    "for another client": claim(aud="somebody"),
    "for nobody": claim(aud=...),
    "for many, and made for another": claim(aud=[CLIENT_ID, "somebody"], azp="somebody"),
    "for many, and no word for whom": claim(aud=[CLIENT_ID, "somebody"]),
    "another nonce": claim(nonce="n"),
    "nonce missing": claim(nonce=...),
    "run out": claim(exp=1_700_000_000),
    "without an end": claim(exp=...),
    "an end that is no time": claim(exp="tomorrow"),
    "made long ago": claim(iat=1_700_000_000),
    "made in the future": claim(iat=4_000_000_000),
    "not good yet": claim(nbf=4_000_000_000),
    "of nobody": claim(sub=...),
    "of a number": claim(sub=7),
    "of somebody with a long name": claim(sub="x" * 300),
    "of a name that cannot be stored": claim(sub="a\x00b"),
    "an address that is not verified": claim(sub="new", email_verified=False),
    "an address that is said to be verified": claim(sub="new", email_verified="true"),
}


@pytest.mark.parametrize("name", ATTACKS)
async def test_a_forged_answer_lets_nobody_in(house: House, name: str, admin_dsn: str) -> None:
    assert (await house.sign_in()).status_code == 200, "in good faith it works"
    with psycopg.connect(admin_dsn) as owner:
        before = owner.execute("select count(*) from users").fetchone()
    ATTACKS[name](house)
    house.clock.seconds += 700  # what is known of the provider's keys has run out
    assert (await house.sign_in()).status_code == 401
    with psycopg.connect(admin_dsn) as owner:
        assert owner.execute("select count(*) from users").fetchone() == before
    assert len(await house.refusals()) == 1


async def test_a_browser_that_has_begun_no_sign_in_is_told_so_on_a_page(house: House) -> None:
    """Its cookie ran out, or another browser has it; programs are told as ever, and no code is of use."""
    browser = house.browser()
    brought = house.corp.consent(await browser.depart("corp", CHALLENGE))
    query = f"/api/auth/oidc/corp/callback?code={brought['code']}&state={brought['state']}"
    page = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
    for headers, cookies in (({"accept": page}, {}), ({"accept": page}, {"aos_sign_in": "forged"})):
        answer = await house.api._client({}).get(query, headers=headers, cookies=cookies)
        where = "/console/sso?error=sign_in_not_begun"
        assert (answer.status_code, answer.headers["location"]) == (303, where)
        assert answer.headers["cache-control"] == "no-store" and "set-cookie" not in answer.headers
    for accept in ("*/*", "application/json", "text/html;q=0, */*"):
        answer = await house.api._client({}).get(query, headers={"accept": accept})
        assert (answer.status_code, answer.json()["code"]) == (401, "sign_in_refused")
    assert "code" in landed(await browser.come_back("corp", brought)), "the one that has begun it goes on"


async def test_a_codes_own_attacks(house: House) -> None:
    """Replayed, stolen, for another client, for another provider."""
    browser, thief = house.browser(), house.browser()
    brought = house.corp.consent(await browser.depart("corp", CHALLENGE))
    await thief.depart("corp", CHALLENGE)
    stolen = await thief.come_back("corp", brought)
    assert stolen.status_code == 401, "it answers the sign-in of another browser"
    assert (await house.browser().come_back("corp", brought)).status_code == 401, "without a cookie"
    cookies = dict(browser.client.cookies)
    assert "code" in landed(await browser.come_back("corp", brought))
    assert (await browser.come_back("corp", brought)).status_code == 401, "the cookie is spent"
    browser.client.cookies.update(cookies)
    assert landed(await browser.come_back("corp", brought)) == {"error": "sign_in_refused"}, "so is the code"
    forged = {"state": secrets.token_urlsafe(32), "code": "x"}
    await browser.depart("corp", CHALLENGE)
    assert (await browser.come_back("corp", forged)).status_code == 401


async def test_providers_are_not_mixed_up(house: House) -> None:
    """RFC 9207: what one provider answers is not taken for another's, by cookie, by path, or by what it says itself."""
    browser = house.browser()
    url = await browser.depart("corp", CHALLENGE)
    cookies = dict(browser.client.cookies)
    brought = house.corp.consent(url)
    swapped = house.browser()
    swapped.client.cookies.update(cookies)
    assert (await swapped.come_back("other", brought)).status_code == 401
    assert landed(await browser.come_back("corp", brought | {"iss": house.other.url})) == {"error": "sign_in_refused"}
    house.other.metadata = {"authorization_response_iss_parameter_supported": True}
    url = await browser.depart("other", CHALLENGE)
    assert landed(await browser.come_back("other", house.other.consent(url))) == {"error": "sign_in_refused"}
    assert [why for _, why in await house.refusals()] == ["iss: another provider answers (RFC 9207)"] * 2
    assert quote(f"{PUBLIC}/api/auth/oidc/other/callback", safe="") in url, "each has a place of its own"


@pytest.mark.parametrize(
    "where",
    [
        "https://evil.example/",
        "//evil.example",
        "http://127.0.0.1:80@evil.example/",
        "http://127.0.0.1.evil.example:80/",
        "http://127.0.0.1:80/?next=//evil",
        "http://localhost:80/",
        "javascript:alert(1)",
        "http://127.0.0.1:80/\r\nSet-Cookie: a=b",
    ],
)
async def test_a_browser_is_sent_nowhere_else(house: House, where: str) -> None:
    query = {"challenge": CHALLENGE, "return_to": where}
    answer = await house.api.client.get("/api/auth/oidc/corp/start", params=query)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
    assert "location" not in answer.headers


async def test_what_the_person_refuses_comes_back_as_an_error(house: House) -> None:
    house.corp.answer = {"error": "access_denied", "code": ""}
    browser = house.browser()
    url = await browser.depart("corp", CHALLENGE)
    answer = await browser.come_back("corp", house.corp.consent(url))
    assert (
        landed(answer) == {"error": "sign_in_refused"} and urlsplit(answer.headers["location"]).path == "/console/sso"
    )


async def test_accounts_that_keep_a_provider_in_check_are_not_given_away(house: House, admin_dsn: str) -> None:
    house.corp.claims |= {"sub": "mole", "email": house.office.emails[Role.ADMIN]}
    assert (await house.sign_in()).status_code == 401
    with psycopg.connect(admin_dsn) as owner:  # of the workspace alone
        owner.execute(
            "update memberships m set role = 'admin' from users u where u.id = m.user_id and u.email = %s",
            (house.office.emails[Role.DEVELOPER],),
        )
    house.corp.claims |= {"email": house.office.emails[Role.DEVELOPER]}
    assert (await house.sign_in()).status_code == 401
    assert [code for code, _ in await house.refusals()] == ["account_not_linked"] * 2
    with psycopg.connect(admin_dsn) as owner:
        assert owner.execute("select count(*) from external_accounts").fetchone() == (0,)


async def test_email_verified_is_said_of_the_address_and_of_nothing_else(house: House) -> None:
    """A name that people choose themselves is not verified because their address is."""
    client = house.api.parts.sign_in.clients["corp"]
    client.provider = client.provider.model_copy(update={"email_claim": "preferred_username"})
    house.corp.claims |= {"sub": "mole", "preferred_username": house.office.emails[Role.VIEWER]}
    assert (await house.sign_in()).status_code == 401
    assert (await house.refusals())[0] == ("account_not_linked", "the provider does not vouch for an e-mail address")
    for odd in ("a,b@corp.example", "a@b@corp.example", "a b@corp.example", "@corp.example", ["a@corp.example"]):
        house.other.claims |= {"sub": str(odd), "email": odd, "groups": ["staff"]}
        house.clock.seconds += 600  # nobody is held up for what came before
        status = (await house.sign_in("other")).status_code
        assert status == (200 if isinstance(odd, list) else 401), odd


async def test_the_cookie_goes_where_it_belongs(house: House) -> None:
    query = {"challenge": CHALLENGE, "return_to": "console"}
    cookie = (await house.api.client.get("/api/auth/oidc/corp/start", params=query)).headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=lax" in cookie and "Path=/api/auth/oidc/corp" in cookie
    assert (
        await house.api.client.get("/api/auth/oidc/corp/start", params=query | {"challenge": "x"})
    ).status_code == 422


async def test_who_signs_out_at_the_provider_is_signed_out_here(house: House) -> None:
    """By the provider's session, or by its subject; what begins later goes on, and so does everybody else."""
    house.corp.claims["sid"] = "there-1"
    first = (await house.sign_in()).raise_for_status().json()
    house.corp.claims["sid"] = "there-2"
    second = (await house.sign_in()).raise_for_status().json()
    house.corp.claims |= {"sub": "bob-1", "email": "bob@corp.example", "sid": "there-3"}
    other = (await house.sign_in()).raise_for_status().json()

    async def open_to(*bodies: dict[str, Any]) -> list[bool]:
        paths = [await house.api.bearing(one["access_token"]).get("/api/agents") for one in bodies]
        return [one.status_code == 200 for one in paths]

    async def log_out(**claims: Any) -> httpx.Response:
        sent = {"logout_token": house.corp.logout_token(**claims)}
        return await house.api.client.post("/api/auth/oidc/corp/backchannel-logout", data=sent)

    answer = await log_out(sid="there-1")
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    assert await open_to(first, second, other) == [False, True, True]
    renewed = await house.api.client.post("/api/auth/refresh", json={"refresh_token": first["refresh_token"]})
    assert renewed.status_code == 401
    assert (await log_out(sid="there-1", sub="bob-1")).status_code == 200, "another's session: nobody is meant"
    assert (await log_out(sid="nobody's")).status_code == 200
    house.clock.now += timedelta(seconds=120)  # beyond the leeway between two clocks
    house.corp.claims |= {"sub": "ann-1", "email": "ann@corp.example", "sid": "there-4"}
    third = (await house.sign_in()).raise_for_status().json()
    assert (await log_out(sub="ann-1")).status_code == 200
    assert await open_to(first, second, third, other) == [False, False, True, True], "a later login is not meant"
    admin = await house.api.sign_in(house.office.emails[Role.ADMIN])
    trail = (await admin.get("/api/audit", params={"action": "session.end"})).json()["items"]
    assert [(one["actor"], one["detail"]) for one in trail] == [(first["user_id"], {"provider": "corp"})] * 2


LOGOUTS: dict[str, dict[str, Any]] = {
    "no events": {"events": None},
    "another event": {"events": {"http://schemas.openid.net/event/other": {}}},
    "with a nonce, as an ID token": {"nonce": "n"},
    "of nobody": {"sub": None},
    "of an odd subject": {"sub": ["ann-1"]},
    "without a name": {"jti": None},
    "for somebody else": {"aud": "other"},
    "of somebody else": {"iss": "https://evil.example"},
    "of yesterday": {"iat": 1, "exp": 2},
    "without an end": {"exp": None},
}


@pytest.mark.parametrize("name", [*LOGOUTS, "unsigned", "signed by a stranger", "signed by the secret", "garbage"])
async def test_a_forged_logout_ends_nothing(house: House, name: str) -> None:
    body = (await house.sign_in()).raise_for_status().json()
    makers = {
        "unsigned": unsigned,
        "signed by a stranger": _stranger(house),
        "signed by the secret": signed_by_secret(CLIENT_SECRET.encode()),
        "garbage": lambda claims: "a.b.c",
    }
    house.corp.sign = makers.get(name)
    token = house.corp.logout_token(**{"sub": "ann-1"} | LOGOUTS.get(name, {}))
    path = "/api/auth/oidc/corp/backchannel-logout"
    answer = await house.api.client.post(path, data={"logout_token": token})
    assert (answer.status_code, answer.json()["code"]) == (400, "logout_refused")
    assert (await house.api.bearing(body["access_token"]).get("/api/agents")).status_code == 200
    assert (
        await house.api.client.post(path.replace("corp", "nobody"), data={"logout_token": token})
    ).status_code == 404


async def test_what_a_provider_gave_lapses_without_anybodys_hand(house: House, admin_dsn: str) -> None:
    """`rights_hours`: roles and groups of its giving count for so long; what was given by hand goes on."""
    client = house.api.parts.sign_in.clients["corp"]
    client.provider = client.provider.model_copy(update={"rights_hours": 8})
    house.corp.claims["groups"] = ["staff", "bosses", "finance-west"]
    body = (await house.sign_in()).raise_for_status().json()
    bearing = house.api.bearing(body["access_token"])
    assert (await bearing.get("/api/agents")).status_code == 200

    def lapse() -> None:
        with psycopg.connect(admin_dsn) as admin:
            changed = admin.execute("update external_accounts set rights_end_at = now() - interval '1 second'")
            assert changed.rowcount == 1

    with psycopg.connect(admin_dsn) as admin:
        row = admin.execute("select rights_end_at - signed_in_at from external_accounts").fetchone()
    assert row == (timedelta(hours=8),)
    lapse()
    assert (await bearing.get("/api/agents")).status_code == 401
    renewed = await house.api.client.post("/api/auth/refresh", json={"refresh_token": body["refresh_token"]})
    assert renewed.status_code == 401
    again = (await house.sign_in()).raise_for_status().json()
    assert (again["user_id"], again["role"]) == (body["user_id"], "operator")
    admin_client = await house.api.sign_in(house.office.emails[Role.ADMIN])
    body_by_hand = {"email": "ann@corp.example", "role": "viewer"}
    (await admin_client.post("/api/users", json=body_by_hand)).raise_for_status()
    lapse()
    token = (await house.api.client.post("/api/auth/refresh", json={"refresh_token": again["refresh_token"]})).json()
    assert token["role"] == "viewer", "what was given by hand"


def for_mcp(house: House) -> None:
    client = house.api.parts.sign_in.clients["corp"]
    client.provider = client.provider.model_copy(update={"mcp": True})


async def call_mcp(house: House, token: str) -> httpx.Response:
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "search", "arguments": {"query": "x"}},
    }
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
    return await house.api.bearing(token).post("/mcp", json=body, headers=headers)


async def test_an_mcp_client_is_told_where_it_gets_a_token_and_let_in_with_it(house: House) -> None:
    """RFC 9728: the challenge leads to the metadata, and that to the provider; its token is good for /mcp alone."""
    where = "/.well-known/oauth-protected-resource/mcp"
    assert (await house.api.client.get(where)).status_code == 404
    for_mcp(house)
    refused = await house.api.client.post("/mcp", json={})
    told = f'Bearer resource_metadata="{PUBLIC}{where}"'
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, told)
    assert (await house.api.client.get("/api/agents")).headers["www-authenticate"] == "Bearer"
    found = (await house.api.client.get(where)).json()
    assert (found["resource"], found["authorization_servers"]) == (f"{PUBLIC}/mcp", [house.corp.url])
    token = house.corp.access_token(f"{PUBLIC}/mcp")
    assert (await call_mcp(house, token)).status_code == 401, "nobody here yet"
    user = (await house.sign_in()).raise_for_status().json()["user_id"]
    assert (await call_mcp(house, token)).status_code == 200
    assert (await house.api.bearing(token).get("/api/agents")).status_code == 401, "it is for the MCP server"
    admin = await house.api.sign_in(house.office.emails[Role.ADMIN])
    (await admin.patch(f"/api/users/{user}", json={"disabled": True})).raise_for_status()
    assert (await call_mcp(house, token)).status_code == 401


TOKENS: dict[str, dict[str, Any]] = {
    "for another resource": {"aud": "https://other.example/mcp"},
    "for the client, as an ID token": {"aud": CLIENT_ID, "nonce": "n"},
    "for one that begins alike": {"aud": f"{PUBLIC}/mcp/evil"},
    "of somebody else": {"iss": "https://evil.example"},
    "run out": {"exp": 1},
    "without an end": {"exp": None},
    "for a year": {"exp": int(time.time()) + 31_536_000},
    "not good yet": {"nbf": 4_000_000_000},
    "of nobody": {"sub": None},
}


NESTED = base64.urlsafe_b64encode(b"[" * 3_000).decode().rstrip("=")


@pytest.mark.parametrize("name", [*TOKENS, "unsigned", "signed by a stranger", "garbage", "nested"])
async def test_no_other_token_lets_an_mcp_client_in(house: House, name: str) -> None:
    for_mcp(house)
    (await house.sign_in()).raise_for_status()
    makers = {"unsigned": unsigned, "signed by a stranger": _stranger(house)}
    makers |= {"garbage": lambda claims: "a.b.c", "nested": lambda claims: f"a.{NESTED}.c"}
    house.corp.sign = makers.get(name)
    token = house.corp.access_token(**{"aud": f"{PUBLIC}/mcp"} | TOKENS.get(name, {}))
    assert (await call_mcp(house, token)).status_code == 401


async def test_strangers_tokens_make_the_provider_answer_once_in_ten_seconds(house: House) -> None:
    """Whoever sends tokens that name unknown keys, or any while the provider is away, makes us ask no more often."""
    for_mcp(house)
    stranger = new_key("nobody's")
    claims = {"iss": house.corp.url, "aud": f"{PUBLIC}/mcp", "sub": "x", "exp": int(time.time()) + 60}
    token = jwt.encode({"alg": "RS256", "kid": stranger.kid}, claims, stranger, algorithms=["RS256"])
    house.clock.seconds += 1_000
    house.corp.asked.clear()
    answers = await asyncio.gather(*(call_mcp(house, token) for _ in range(20)))
    assert {one.status_code for one in answers} <= {401, 503}
    assert house.corp.asked.count("/keys") <= 1 and len(house.corp.asked) <= 2
    house.clock.seconds += 11
    await asyncio.gather(*(call_mcp(house, token) for _ in range(20)))
    assert house.corp.asked.count("/keys") <= 2


async def test_a_sign_in_on_its_way_ends_with_the_session_there(house: House) -> None:
    """Between the provider's answer and whoever redeems our code."""
    house.corp.claims["sid"] = "there-1"
    browser = house.browser()
    brought = house.corp.consent(await browser.depart("corp", CHALLENGE))
    code = landed(await browser.come_back("corp", brought))["code"]
    sent = {"logout_token": house.corp.logout_token(sid="there-1")}
    assert (await house.api.client.post("/api/auth/oidc/corp/backchannel-logout", data=sent)).status_code == 200
    assert (await house.redeem(code)).status_code == 401


async def test_a_sign_out_there_before_our_code_is_made_ends_the_sign_in(house: House) -> None:
    """Between the provider's token and our code: nothing of the sign-in is here yet that could end."""
    house.corp.claims["sid"] = "there-1"
    browser = house.browser()
    brought = house.corp.consent(await browser.depart("corp", CHALLENGE))
    path = "/api/auth/oidc/corp/backchannel-logout"
    for other in ({"sid": "there-2"}, {"sid": "there-1", "iat": int(time.time()) - 100}):
        sent = {"logout_token": house.corp.logout_token(**other)}
        assert (await house.api.client.post(path, data=sent)).status_code == 200
    sent = {"logout_token": house.corp.logout_token(sid="there-1", iat=int(time.time()) + 30)}
    assert (await house.api.client.post(path, data=sent)).status_code == 200
    assert landed(await browser.come_back("corp", brought)) == {"error": "signed_out_there"}
    house.corp.claims["sid"] = "there-3"
    assert (await house.sign_in()).status_code == 200, "another session there"


async def test_a_sign_out_there_between_our_code_and_its_session_ends_the_sign_in(house: House) -> None:
    house.corp.claims["sid"] = "there-1"
    browser = house.browser()
    brought = house.corp.consent(await browser.depart("corp", CHALLENGE))
    code = landed(await browser.come_back("corp", brought))["code"]
    parts, tenant = house.api.parts, house.office.scope.tenant
    handoff = await parts.external.spend(tenant, secret_hash(code))
    assert handoff is not None
    member = await parts.identity.member(tenant, handoff.user)
    assert member is not None
    member = replace(member, session=str(uuid4()))
    sent = {"logout_token": house.corp.logout_token(sid="there-1", iat=int(time.time()) + 30)}
    path = "/api/auth/oidc/corp/backchannel-logout"
    async with parts.database.transaction(member.scope) as tx:  # it has not seen the word, which waits for its end
        await parts.external.follow(tx, member, house.corp.url, handoff, parts.clock())
        telling = asyncio.create_task(house.api.client.post(path, data=sent))
        await asyncio.wait([telling], timeout=0.5)
        assert not telling.done()
    assert (await telling).status_code == 200
    with pytest.raises(SignedOutThere):
        async with parts.database.transaction(member.scope) as tx:
            await parts.external.follow(
                tx, replace(member, session=str(uuid4())), house.corp.url, handoff, parts.clock()
            )
