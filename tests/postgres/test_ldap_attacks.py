"""Attacks on the sign-in by a directory: none gets in, and no password leaves without TLS or to anybody else."""

import asyncio
import ssl
import time
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from cluster.basics.scope import Role
from configs.sign_in_directories import Directory
from serve_apps.http.auth.ldap.directory_client import AT_ONCE, DirectoryClient, PasswordRefused
from serve_apps.http.auth.throttle import FREE, SPRAYED
from tests.fakes.corp_directory import DIRECT, SECRET, corp, declared, house_of
from tests.fakes.http import PASSWORD, Clock, Office, open_office
from tests.fakes.scripted_directory import BIND, EXTENDED, SEARCH, ScriptedDirectory, running
from tests.fakes.slapd import BASE, SERVICE_DN, SERVICE_PASSWORD, Authority, Slapd, slapd

# What a login must not be able to say, in a filter, in a DN, or to whoever counts guesses.
INJECTIONS = (
    "*",
    "a*",
    "an*n",
    "*)(uid=*",
    "ann)(|(uid=*",
    "ann*)(userPassword=*",
    ")(cn=*))(|(cn=*",
    "*)(|(objectClass=*)",
    "(ann)",
    "ann)(!(uid=x",
    "ann\\2a",
    "\\61\\6e\\6e",
    "ann\\00",
    "ann,ou=people,dc=corp,dc=example",
    f"uid=ann,ou=people,{BASE}",
    "ann+mail=ann@corp.example",
    'ann"',
    "#616e6e",
    "ann;ou=people",
    "ann<x>",
    "ann\n\nben",
    "ann\r\ndn: x",
    "\u202eann",
    "&(uid=ann)",
    "ann=ann",
    ":1.2.840.113556.1.4.803:=2",
)
UPN = {"kind": "active_directory", "bind": "direct", "bind_name": "{login}@corp.example", "base_dn": "dc=corp"}
# RFC 4013 maps these to nothing: what is left of the password is empty, and an empty one is anybody's.
VANISHING = ("\u00ad", "\u200b", "\ufeff\u00ad", " ", "\t", "\u00a0")


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slapd]:
    with corp(tmp_path_factory.mktemp("corp")) as running_:
        yield running_


@pytest.fixture
def scripted(tmp_path: Path) -> Iterator[ScriptedDirectory]:
    """One whose certificate is right, and that knows ann."""
    with running(trusted(tmp_path)) as one:
        yield one


def trusted(folder: Path, authority: Authority | None = None, **issued: Any) -> ScriptedDirectory:
    """A scripted directory with a certificate of the CA whose file lies in the folder."""
    of = authority or Authority()
    if authority is None:
        of.pem(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*of.issue(folder, **issued))
    ann = {"objectGUID": bytes(range(16)), "mail": b"ann@corp.example", "sAMAccountName": b"ann"}
    ann |= {"msDS-PrincipalName": b"CORP\\ann", "userAccountControl": b"512"}
    found = [(b"sAMAccountName", "cn=ann,dc=corp", ann), (b"1.2.840.113556.1.4.1941", "cn=staff,dc=corp", {})]
    made = ScriptedDirectory(context, entries=found, who="u:CORP\\ann")
    made.entries[1] = (b"1.2.840.113556.1.4.1941", "cn=staff,dc=corp", {"cn": b"staff"})
    made.passwords = {"ann@corp.example": SECRET, SERVICE_DN: SERVICE_PASSWORD, "cn=ann,dc=corp": SECRET}
    return made


def of(directory: Slapd | ScriptedDirectory, folder: Path, office: Office, **changed: Any) -> Directory:
    url = changed.pop("url", directory.url if isinstance(directory, ScriptedDirectory) else directory.ldaps)
    return declared(url, folder / "ca.pem", office.scope.tenant, **changed)


@pytest.mark.parametrize("bind", [{}, DIRECT, UPN], ids=["search", "dn", "upn"])
async def test_no_login_says_more_than_a_name(
    directory: Slapd,
    scripted: ScriptedDirectory,
    app_dsn: str,
    tmp_path: Path,
    office: Office,
    bind: dict[str, Any],
    record_property: Any,
) -> None:
    """AU-03: filters and DNs have every byte of a login escaped."""
    told = of(scripted, tmp_path, office, **bind) if bind is UPN else of(directory, directory.folder, office, **bind)
    refused = 0
    async with house_of(app_dsn, tmp_path, office, told) as house:
        for login in INJECTIONS:
            answer = await house.sign_in(login)
            refused += answer.status_code == 401 and answer.json()["code"] == "wrong_credentials"
            house.clock.seconds += 3600  # as many as there are may be tried
        assert refused == len(INJECTIONS)
        assert (await house.sign_in("ann")).status_code == 200
    record_property("LDAP attacks refused: injection", f"{refused} of {len(INJECTIONS)}")


async def test_an_empty_password_is_nobodys_though_the_directory_takes_it(
    directory: Slapd, app_dsn: str, tmp_path: Path, office: Office, record_property: Any
) -> None:
    """RFC 4513, section 5.1.2. This slapd answers `success` to a name with an empty password."""
    refused = 0
    for bind in ({}, DIRECT):
        told = of(directory, directory.folder, office, **bind)
        async with house_of(app_dsn, tmp_path, office, told) as house:
            assert (await house.sign_in("ann", "")).status_code == 422
            for password in VANISHING:
                refused += (await house.sign_in("ann", password)).status_code == 401
                house.clock.seconds += 3600
        client = DirectoryClient(told, lambda: 0.0)
        with pytest.raises(PasswordRefused):
            await client.authenticate("ann", "", Clock()(), lambda subject: nullcontext())
        await client.close()
    assert refused == 2 * len(VANISHING)
    log = (directory.folder / "slapd.log").read_text()
    assert "method=128" in log and "RESULT tag=97 err=0 qtime" in log
    assert " mech=SIMPLE bind_ssf=0 ssf=0" not in log, "nobody has bound without TLS"
    record_property("LDAP attacks refused: empty passwords", f"{refused + 4} of {2 * len(VANISHING) + 4}")


@pytest.mark.parametrize("tls", ["stripped", "dropped", "ldaps"])
@pytest.mark.parametrize("bind", ["search", "direct"])
async def test_no_password_leaves_without_tls(
    app_dsn: str, tmp_path: Path, office: Office, tls: str, bind: str, record_property: Any
) -> None:
    """StartTLS refused; taken, and the connection hung up (ldap3 would open another to bind); LDAPS to a plain port."""
    one = trusted(tmp_path)
    one.tls = "stripped" if tls == "ldaps" else tls
    with running(one):
        url = f"{'ldaps' if tls == 'ldaps' else 'ldap'}://localhost:{one.port}"
        told = of(one, tmp_path, office, url=url, **(UPN if bind == "direct" else {}))
        async with house_of(app_dsn, tmp_path, office, told) as house:
            answer = await house.sign_in("ann")
            assert (answer.status_code, answer.json()["code"]) == (503, "provider_unavailable")
    assert one.plain and not one.binds, "it was reached, and nobody has bound"
    assert SECRET.encode() not in one.plain and SERVICE_PASSWORD.encode() not in one.plain
    record_property("LDAP attacks refused: plain text", "1 of 1")


async def test_after_starttls_nothing_is_plain(app_dsn: str, tmp_path: Path, office: Office) -> None:
    one = trusted(tmp_path)
    one.tls = "starttls"
    with running(one):
        async with house_of(app_dsn, tmp_path, office, of(one, tmp_path, office, **UPN)) as house:
            assert (await house.sign_in("ann")).status_code == 200
    assert one.binds == [("ann@corp.example", SECRET)]
    assert one.plain and SECRET.encode() not in one.plain and b"ann" not in one.plain


@pytest.mark.parametrize("wrong", ["authority", "host", "address", "expired", "common name"])
async def test_a_server_that_is_not_the_one_is_told_nothing(
    app_dsn: str, tmp_path: Path, office: Office, wrong: str, record_property: Any
) -> None:
    authority, folder = Authority(), tmp_path / "slapd"
    folder.mkdir()
    (Authority() if wrong == "authority" else authority).pem(tmp_path)
    authority.pem(folder)
    names = {"host": ["ldap.corp.example"], "address": ["127.0.0.2"], "common name": ["127.0.0.1"]}
    lasts = timedelta(days=-1) if wrong == "expired" else timedelta(days=1)
    authority.issue(folder, names.get(wrong, ["localhost"]), lasts)
    with slapd(folder, "dn: dc=corp,dc=example\nobjectClass: dcObject\nobjectClass: organization\no: x\n") as one:
        for url in (one.ldaps, one.ldap):
            told = of(one, tmp_path, office, url=url)
            async with house_of(app_dsn, tmp_path, office, told) as house:
                assert (await house.sign_in("ann")).status_code == 503
        log = (folder / "slapd.log").read_text()
    assert "ACCEPT" in log and "BIND" not in log
    record_property("LDAP attacks refused: certificates", "2 of 2")


async def test_referrals_are_followed_by_nobody(
    directory: Slapd, scripted: ScriptedDirectory, app_dsn: str, tmp_path: Path, office: Office, record_property: Any
) -> None:
    """Wherever they lead: whoever listens there would be told a password."""
    with running(ScriptedDirectory(tls="stripped")) as elsewhere, running(trusted(tmp_path)) as twin:
        scripted.passwords, scripted.context = twin.passwords, twin.context
        place = f"ldap://127.0.0.1:{elsewhere.port}/dc=corp"
        scripted.referral = place
        settled = 0
        for on, bind, status in (
            ({}, UPN, 200),  # a reference beside the entry
            ({SEARCH: "refer"}, UPN, 401),
            ({BIND: "refer"}, UPN, 503),
            ({SEARCH: "refer"}, {"kind": "active_directory"}, 401),
            ({BIND: "refer"}, {"kind": "active_directory"}, 503),
        ):
            scripted.on = on
            async with house_of(app_dsn, tmp_path, office, of(scripted, tmp_path, office, **bind)) as house:
                answer = await house.sign_in("ann")
                assert answer.status_code == status, (on, bind, answer.text)
                settled += 1
        change = f"dn: ou=elsewhere,{BASE}\ncontrol: 2.16.840.1.113730.3.4.2\nchangetype: modify\nreplace: ref\n"
        directory.change(change + f"ref: {place}\n")
        async with house_of(app_dsn, tmp_path, office, of(directory, directory.folder, office)) as house:
            settled += (await house.sign_in("ben")).status_code == 200
            settled += (await house.sign_in("nobody")).status_code == 401
        assert elsewhere.connections == 0 and settled == 7
    record_property("LDAP attacks refused: referrals", f"{settled} of 7")


@pytest.mark.parametrize("kind", [BIND, SEARCH, EXTENDED])
@pytest.mark.parametrize("what", ["die", "garbage", "hang"])
async def test_a_server_that_dies_raves_or_is_silent_costs_seconds(
    scripted: ScriptedDirectory, app_dsn: str, tmp_path: Path, office: Office, kind: int, what: str
) -> None:
    scripted.on = {kind: what}
    told = of(scripted, tmp_path, office, answer_seconds=1, seconds=2, **UPN)
    async with house_of(app_dsn, tmp_path, office, told) as house:
        began = time.monotonic()
        answer = await house.sign_in("ann")
        assert (answer.status_code, answer.json()["code"]) == (503, "provider_unavailable")
        assert time.monotonic() - began < 4
        assert (await house.admin()) is not None, "passwords here go on being good"


async def test_guesses_are_counted_for_a_person_by_whatever_login_and_for_who_sprays(
    directory: Slapd, app_dsn: str, tmp_path: Path, office: Office, record_property: Any
) -> None:
    async with house_of(app_dsn, tmp_path, office, of(directory, directory.folder, office)) as house:
        for login in ("ann", "ANN", "ann@corp.example", "Ann@Corp.Example", "aNn")[:FREE]:
            assert (await house.sign_in(login, "wrong")).status_code == 401
        for login in ("ann@corp.example", "ann", "aNN@corp.example"):
            assert (await house.sign_in(login)).status_code == 429, "by no other name, though it is right"
        assert (await house.sign_in("ben")).status_code == 200, "nobody else is held up"
        house.clock.seconds += 60
        assert (await house.sign_in("ann")).status_code == 200
        tried = 0
        while tried < 2 * SPRAYED * FREE and (await house.sign_in(f"u{tried}", "Winter2026!")).status_code == 401:
            tried += 1
        assert tried <= SPRAYED * FREE, "one password on each of many accounts"
        assert (await house.sign_in("ben")).status_code == 200, "who has signed in from there before goes on doing so"
        unknown = (await house.sign_in("mover")).json()
        assert unknown["code"] == "too_many_attempts"
        record_property("LDAP logins that one address may spray", tried)


@pytest.mark.parametrize("bind", [{}, DIRECT], ids=["search", "direct"])
async def test_guesses_that_come_together_are_counted_one_after_the_other(
    directory: Slapd, app_dsn: str, tmp_path: Path, office: Office, bind: dict[str, Any], record_property: Any
) -> None:
    async with house_of(app_dsn, tmp_path, office, of(directory, directory.folder, office, **bind)) as house:
        answers = await asyncio.gather(*(house.sign_in("ann", f"guess {number}") for number in range(40)))
        tried = [one.status_code for one in answers].count(401)
        assert tried == FREE and {one.status_code for one in answers} == {401, 429}
        answers = await asyncio.gather(*(house.sign_in(f"nobody{number}", "Winter2026!") for number in range(180)))
        sprayed = [one.status_code for one in answers].count(401)
        assert sprayed <= SPRAYED * FREE + AT_ONCE and {one.status_code for one in answers} == {401, 429}
        record_property("LDAP guesses of forty at once that were tried", tried)


async def test_unknown_and_wrong_are_answered_alike_and_take_as_long(
    directory: Slapd, app_dsn: str, tmp_path: Path, office: Office, record_property: Any
) -> None:
    async with house_of(app_dsn, tmp_path, office, of(directory, directory.folder, office)) as house:
        took: dict[str, list[float]] = {"ann": [], "nobody": []}
        bodies = set()
        for _ in range(8):
            for login, seconds in took.items():
                began = time.perf_counter()
                answer = await house.sign_in(login, "wrong")
                seconds.append(time.perf_counter() - began)
                bodies.add((answer.status_code, answer.json()["code"], answer.json()["title"]))
                house.clock.seconds += 3600
        assert len(bodies) == 1
        known, unknown = (sorted(one)[4] for one in took.values())
        assert 0.4 < known / unknown < 2.5
        record_property("LDAP wrong password over unknown login, times", round(known / unknown, 2))
        trail = await house.refusals()
        assert len(trail) == 8 and {why.partition(": ")[2] for _, why in trail} == {"invalidCredentials"}


async def test_an_unknown_login_costs_the_same_connections_and_tells_nobody_the_password(
    scripted: ScriptedDirectory, app_dsn: str, tmp_path: Path, office: Office
) -> None:
    told = of(scripted, tmp_path, office, kind="active_directory", base_dn="dc=corp")
    async with house_of(app_dsn, tmp_path, office, told) as house:
        assert (await house.sign_in("ann", "wrong")).status_code == 401
        known = (scripted.connections, len(scripted.binds))
        scripted.entries = []
        assert (await house.sign_in("nobody", SECRET)).status_code == 401
    assert (scripted.connections - known[0], len(scripted.binds) - known[1]) == known == (2, 2)
    assert scripted.binds[-1][0].endswith(",dc=corp") and scripted.binds[-1][1] != SECRET


async def test_active_directory_says_who_has_bound_and_why_not(
    scripted: ScriptedDirectory, app_dsn: str, tmp_path: Path, office: Office
) -> None:
    """AU-03: direct bind by UPN; scripted, as no Active Directory runs on Linux."""
    async with house_of(app_dsn, tmp_path, office, of(scripted, tmp_path, office, **UPN)) as house:
        body = (await house.sign_in("ann")).json()
        assert (body["email"], body["role"]) == ("ann@corp.example", "viewer")
        assert (await house.sign_in("Ann@CORP.example")).status_code == 401, "passed on as it was typed"
        assert scripted.binds[-1][0] == "Ann@corp.example"
        assert any(b"1.2.840.113556.1.4.1941" in one and b"cn=ann,dc=corp" in one for one in scripted.searches)
        for who in ("u:EU\\ann", "u:CORP\\ben", "u:ann", "", "x:ann", "u:"):
            scripted.who = who
            assert (await house.sign_in("ann")).status_code == 401, "somebody of the same name in another domain"
            house.clock.seconds += 3600
        scripted.who = "u:CORP\\ann"
    scripted.refused = "80090308: LdapErr: DSID-0C09044E, comment: AcceptSecurityContext error, data 533, v4563"
    told = of(scripted, tmp_path, office, kind="active_directory", base_dn="dc=corp")
    async with house_of(app_dsn, tmp_path, office, told) as house:
        assert (await house.sign_in("ann")).status_code == 200
        assert (await house.sign_in("ann", "wrong")).json()["code"] == "wrong_credentials"
        assert (await house.refusals())[0][1].endswith(": account disabled")


async def test_an_entry_of_which_several_are_meant_is_nobodys(
    directory: Slapd, app_dsn: str, tmp_path: Path, office: Office
) -> None:
    async with house_of(app_dsn, tmp_path, office, of(directory, directory.folder, office)) as house:
        refused = await house.sign_in("twin")
        assert (refused.status_code, refused.json()["code"]) == (401, "wrong_credentials")
        assert (await house.sign_in("guy")).json()["code"] == "nothing_granted"


async def test_a_silent_directory_holds_up_nobody_who_signs_in_otherwise(
    scripted: ScriptedDirectory, app_dsn: str, tmp_path: Path, office: Office, record_property: Any
) -> None:
    scripted.on = {BIND: "hang"}
    told = of(scripted, tmp_path, office, answer_seconds=10, seconds=3, **UPN)
    async with house_of(app_dsn, tmp_path, office, told) as house:
        began = time.monotonic()
        waiting = asyncio.gather(*(house.sign_in(f"ann{number}") for number in range(40)))
        await asyncio.sleep(0.5)
        moment = time.monotonic()
        assert (await house.admin()) is not None
        local = time.monotonic() - moment
        assert {one.status_code for one in await waiting} == {503}
        assert local < 2 and time.monotonic() - began < 8
        record_property("LDAP silent: seconds of a sign-in by password meanwhile", round(local, 2))
        scripted.on = {}
        assert (await house.sign_in("ann")).status_code == 200, "its threads are free again"


async def test_who_signs_in_six_times_at_once_is_one_account(
    directory: Slapd, app_dsn: str, tmp_path: Path, office: Office
) -> None:
    async with house_of(app_dsn, tmp_path, office, of(directory, directory.folder, office)) as house:
        answers = await asyncio.gather(*(house.sign_in("ben") for _ in range(6)))
        assert {one.status_code for one in answers} == {200} and len({one.json()["user_id"] for one in answers}) == 1


async def test_an_address_of_another_tenants_account_is_not_theirs(
    directory: Slapd, app_dsn: str, admin_dsn: str, tmp_path: Path, office: Office
) -> None:
    stranger = open_office(admin_dsn)
    with psycopg.connect(admin_dsn) as connection:
        taken = ("ann@corp.example", stranger.emails[Role.VIEWER])
        connection.execute("update users set email = %s where email = %s", taken)
    async with house_of(app_dsn, tmp_path, office, of(directory, directory.folder, office)) as house:
        assert (await house.sign_in("ann")).json()["code"] == "account_not_linked"
        login = {"email": "ann@corp.example", "password": PASSWORD}
        assert (await house.api.client.post("/api/auth/login", json=login)).status_code == 200, "it stays the other's"
    told = of(directory, directory.folder, office, domains=["other.example"])
    async with house_of(app_dsn, tmp_path, office, told) as house:
        assert (await house.sign_in("ben")).json()["code"] == "domain_refused"
