"""REST and GraphQL skills: what a manifest may say, where arguments may stand, where credentials go and where not."""

import datetime
import ipaddress
import json
import ssl
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from cluster.basics.errors import AosError, Invalid, TooLarge, Unavailable
from skills.framework.builtin import build_tool
from skills.framework.contract import CallEffect, OutcomeUnknown, ToolInvocation
from skills.framework.dependencies import SkillDependencies, SkillDisabled
from skills.framework.manifest import BadManifest, CredentialType, Manifest, manifest_of
from skills.http_client.fetch import ServiceRedirected
from skills.http_client.guard import AddressNotAllowed
from skills.http_client.http_answer import ServiceBusy, ServiceDenied, ServiceFailed, ServiceGarbled, ServiceRefused
from skills.http_client.login import CredentialElsewhere
from tests.fakes.agents import SCOPE
from tests.fakes.ground import KeptSecrets, ground
from tests.fakes.web import Asked, Says, Web, as_json, here, web

TOKEN = "tok-canary-1"
WORD = {"type": "string"}


def skill(
    options: Mapping[str, Any], arguments: Mapping[str, Any] | None = None, *, kind: str = "http", **front: Any
) -> Manifest:
    """A skill with these options, all of whose parameters are required."""
    properties = dict.fromkeys(arguments or {}, WORD)
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    given = {"name": "made", "description": "Made.", "type": kind, "parameters": schema, "options": dict(options)}
    return manifest_of({**given, **front})


def on(
    site: Web, credential: Mapping[str, str] | None = None, type_: str = "bearer_token", **other: Any
) -> SkillDependencies:
    """A ground from which `service.test` is this server."""
    kept = KeptSecrets({} if credential is None else {CredentialType(type_): credential})
    hosts = (f"service.test:{site.port}", f"other.test:{site.port}")
    return ground(hosts=hosts, resolve=here, credentials=kept, **other)


def near(site: Web, host: str = "service.test") -> str:
    return f"http://{host}:{site.port}"


async def run(manifest: Manifest, made: SkillDependencies, arguments: Mapping[str, Any] | None = None) -> Any:
    return await build_tool(manifest, made).run(ToolInvocation(SCOPE, None, "key-7", arguments or {}))


def fine(asked: Asked) -> Says:
    return as_json({"ok": True})


BASE = "https://service.test"


@pytest.mark.parametrize(
    ("options", "front"),
    [
        ({"url": f"{BASE}/a", "method": "POST"}, {}),
        ({"url": f"{BASE}/a", "method": "DELETE"}, {}),
        ({"url": f"{BASE}/a"}, {"risk": "write"}),
        ({"url": f"{BASE}/a", "method": "TRACE"}, {}),
        ({"url": f"{BASE}/a", "body": {"a": 1}}, {}),
        ({"url": f"{BASE}/a", "method": "POST", "body": 1, "form": {"a": 1}}, {"risk": "write"}),
        ({"url": "https://{a}/x"}, {}),
        ({"url": "https://{a}.service.test/x"}, {}),
        ({"url": "https://service.test{a}/x"}, {}),
        ({"url": "{a}"}, {}),
        ({"url": "{a}/x"}, {}),
        ({"url": f"{BASE}/a?b={{a}}"}, {}),
        ({"url": f"{BASE}/a#b"}, {}),
        ({"url": "https://user@service.test/a"}, {}),
        ({"url": "ftp://service.test/a"}, {}),
        ({"url": "file:///etc/passwd"}, {}),
        ({"url": "service.test/a"}, {}),
        ({"url": "{credential.base_url}/a"}, {}),
        ({"url": "{credential.base_url}.service.test/a"}, {"credential": "custom"}),
        ({"url": f"{BASE}/a", "login": {"X-Key": "{key}"}}, {}),
        ({"url": f"{BASE}/a", "query": {"k": "{credential.key}"}}, {}),
        ({"url": f"{BASE}/a", "query": {"k": "{other.key}"}}, {"credential": "custom"}),
        ({"url": f"{BASE}/a", "headers": {"X-Key": "{credential.key}"}}, {"credential": "custom"}),
        ({"url": f"{BASE}/{{missing}}"}, {}),
        ({"url": f"{BASE}/a", "select": "a[["}, {}),
        ({"url": f"{BASE}/a", "select": "nosuch(a)", "unknown": 1}, {}),
        ({"url": "{credential.base_url}/a", "base_url": "service.test"}, {"credential": "custom"}),
        ({"url": f"{BASE}/a", "oauth": {"url": "https://{credential.x}/t", "scope": "s"}}, {"credential": "custom"}),
        ({}, {}),
    ],
)
def test_a_wrong_manifest_is_refused(options: Mapping[str, Any], front: Mapping[str, Any]) -> None:
    """SK-03: a method beyond its risk, a host that an argument has a say in, a secret without a credential."""
    with pytest.raises(BadManifest):
        build_tool(skill(options, **front), ground())


@pytest.mark.parametrize("arguments", [{"a": "x", "unused": "y"}, {}])
def test_parameters_are_those_that_the_templates_use(arguments: dict[str, str]) -> None:
    """SK-03: what nobody uses misleads the model, what nobody gives cannot be filled in."""
    with pytest.raises(BadManifest):
        build_tool(skill({"url": f"{BASE}/{{a}}"}, arguments), ground())


def test_a_kind_that_is_off_is_refused() -> None:
    """SK-03: http_call can be switched off."""
    settings = ground().settings.model_copy(update={"off": ("http_call", "graphql", "scrape", "huggingface")})
    for kind in ("http", "graphql", "scrape", "huggingface"):
        with pytest.raises(SkillDisabled):
            build_tool(skill({"url": f"{BASE}/a"}, kind=kind), ground(settings=settings))


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("plain", "/a/plain/b"),
        ("x/y", "/a/x%2Fy/b"),
        ("a b?c#d&e", "/a/a%20b%3Fc%23d%26e/b"),
        ("%2e%2e%2f", "/a/%252e%252e%252f/b"),
        ("ü", "/a/%C3%BC/b"),
        ("@evil.test", "/a/%40evil.test/b"),
        ("{credential.token}", "/a/%7Bcredential.token%7D/b"),
        (7, "/a/7/b"),
        (True, "/a/true/b"),
    ],
)
async def test_an_argument_stays_in_its_segment(value: Any, sent: str) -> None:
    """SK-04: it is encoded, whatever it says."""
    async with web(fine) as site:
        await run(skill({"url": f"{near(site)}/a/{{x}}/b"}, {"x": ""}), on(site), {"x": value})
        assert site.asked[0].target == sent


@pytest.mark.parametrize("value", ["..", ".", "", "../x", "x/..", "a//b", "/", "..\\..", "a\nb", None, {}, []])
async def test_an_argument_that_leads_elsewhere_is_refused(value: Any) -> None:
    """SK-04: servers resolve dots and empty segments before they look who may see what."""
    async with web(fine) as site:
        with pytest.raises(Invalid):
            await run(skill({"url": f"{near(site)}/a/{{x}}/b"}, {"x": ""}), on(site), {"x": value})
        assert site.asked == []


async def test_several_segments_are_kept_and_each_is_encoded() -> None:
    """SK-04: `{+name}`."""
    manifest = skill({"url": "{credential.base_url}/a/{+x}"}, {"x": ""}, credential="bearer_token")
    async with web(fine) as site:
        made = on(site, {"token": TOKEN, "base_url": f"{near(site)}/deep/"})
        await run(manifest, made, {"x": "b/c d/%2e"})
        await run(manifest, made, {"x": ""})
        assert [one.target for one in site.asked] == ["/deep/a/b/c%20d/%252e", "/deep/a/"]
        for wrong in ("b/../c", "/b", "b/", "b//c"):
            with pytest.raises(Invalid):
                await run(manifest, made, {"x": wrong})


async def test_queries_and_bodies_leave_out_what_was_not_given() -> None:
    """SK-04: lists repeat in a query, values keep their types in JSON, texts are never parsed as templates again."""
    options = {
        "method": "POST",
        "query": {"a": "{a}", "b": "x {b}", "c": 1},
        "body": {"a": ["{a}", {"deep": {"b": "{b}"}}], "n": "{n}", "fixed": None, "all": {"o": "{b}"}},
    }
    schema = {"type": "object", "properties": {"a": {}, "b": {}, "n": {"default": 5}}}
    async with web(fine) as site:
        manifest = skill({"url": f"{near(site)}/p", **options}, risk="write", parameters=schema)
        await run(manifest, on(site), {"a": ["{n}", "&"]})
        await run(manifest, on(site), {"a": 1.5, "b": '"}', "n": {"x": [1]}})
        first, second = site.asked
        assert first.target == "/p?a=%7Bn%7D&a=%26&c=1"
        assert json.loads(first.body) == {"a": [["{n}", "&"]], "n": 5, "fixed": None}
        assert second.target == "/p?a=1.5&b=x+%22%7D&c=1"
        assert json.loads(second.body) == {
            "a": [1.5, {"deep": {"b": '"}'}}],
            "n": {"x": [1]},
            "fixed": None,
            "all": {"o": '"}'},
        }


async def test_a_form_is_sent_as_one() -> None:
    """SK-04: services of an older make."""
    async with web(fine) as site:
        options = {"url": f"{near(site)}/p", "method": "POST", "form": {"a": "{a}"}}
        await run(skill(options, {"a": ""}, risk="write"), on(site), {"a": "x&b=1"})
        assert site.asked[0].body == b"a=x%26b%3D1"
        assert site.asked[0].headers["content-type"] == "application/x-www-form-urlencoded"


async def test_a_keyed_skill_sends_its_key_each_time() -> None:
    """SK-03: a repetition is known by it, and only where the service takes such keys."""
    async with web(fine) as site:
        options = {"url": f"{near(site)}/p", "method": "POST", "body": {}}
        keyed, plain = skill(options, risk="write", keyed=True), skill(options, risk="write")
        assert (
            build_tool(keyed, on(site)).effect is CallEffect.KEYED
            and build_tool(plain, on(site)).effect is CallEffect.WRITE
        )
        await run(keyed, on(site))
        await run(keyed, on(site))
        await run(plain, on(site))
        assert [one.headers.get("idempotency-key") for one in site.asked] == ["key-7", "key-7", None]


@pytest.mark.parametrize(
    ("type_", "values", "login", "header"),
    [
        ("bearer_token", {"token": TOKEN}, None, ("authorization", f"Bearer {TOKEN}")),
        ("http_basic", {"username": "ü", "password": "p:w"}, None, ("authorization", "Basic w7w6cDp3")),
        ("api_key", {"key": "k-1"}, None, ("x-api-key", "k-1")),
        ("api_key", {"key": "k-1", "app": "a-2"}, {"X-A": "v={key}", "X-B": "{app}"}, ("x-b", "a-2")),
        ("custom", {"username": "a", "password": "b"}, {"X-A": "{token}"}, ("authorization", "Basic YTpi")),
        ("custom", {"other": "x"}, None, ("authorization", None)),
    ],
)
async def test_a_credential_lets_in(
    type_: str, values: Mapping[str, str], login: Any, header: tuple[str, str | None]
) -> None:
    """SK-04: as its type or the manifest says; opened for the call."""
    async with web(fine) as site:
        made = on(site, values, type_)
        await run(skill({"url": f"{near(site)}/a", "login": login}, credential=type_), made)
        assert site.asked[0].headers.get(header[0]) == header[1]
        assert isinstance(made.credentials, KeptSecrets) and len(made.credentials.opened) == 1


async def test_a_header_cannot_be_broken_out_of() -> None:
    """SK-04: and a value that cannot be sent is not quoted."""
    async with web(fine) as site:
        for wrong in ("a\r\nX-Evil: 1", "a\nb", "tok-ü", "\x00"):
            with pytest.raises(Invalid) as raised:
                await run(skill({"url": f"{near(site)}/a"}, credential="bearer_token"), on(site, {"token": wrong}))
            assert wrong not in str(raised.value)
        assert site.asked == []


async def test_a_credential_goes_only_to_where_it_belongs() -> None:
    """SK-04: its base_url names the origin; a skill that calls another one does not get it."""
    async with web(fine) as site:
        manifest = skill({"url": f"{near(site, 'other.test')}/a"}, credential="bearer_token")
        with pytest.raises(CredentialElsewhere):
            await run(manifest, on(site, {"token": TOKEN, "base_url": near(site)}))
        assert site.asked == []
        await run(manifest, on(site, {"token": TOKEN, "base_url": f"{near(site, 'other.test')}/x"}))
        assert site.asked[0].headers["authorization"] == f"Bearer {TOKEN}"


async def test_an_argument_cannot_play_a_field_of_the_credential() -> None:
    """SK-04: where the schema lets any argument through."""
    async with web(fine) as site:
        manifest = skill({"url": "{credential.base_url}/a"}, credential="custom")
        with pytest.raises(Invalid):
            await run(manifest, on(site, {"token": TOKEN}, "custom"), {"credential.base_url": near(site, "other.test")})
        assert site.asked == []


@pytest.mark.parametrize(
    ("to", "kept"), [("/b", True), ("http://service.test:{port}/b", True), ("http://other.test:{port}/b", False)]
)
async def test_a_redirect_to_another_host_gets_no_credential(to: str, kept: bool) -> None:
    """SK-04: nor any other header that was meant for the first one."""

    def answer(asked: Asked) -> Says:
        to_ = to.format(port=asked.headers["host"].rpartition(":")[2])
        return as_json({}) if asked.target == "/b" else Says(status=302, headers={"Location": to_})

    async with web(answer) as site:
        options = {"url": f"{near(site)}/a", "headers": {"X-Plain": "1"}, "login": {"X-Secret": "{token}"}}
        await run(skill(options, credential="bearer_token"), on(site, {"token": TOKEN}))
        last = site.asked[-1]
        assert last.target == "/b" and ("x-secret" in last.headers) is kept and ("x-plain" in last.headers) is kept
        assert (TOKEN in str(last.headers)) is kept


@pytest.mark.parametrize(
    ("status", "error"),
    [(301, ServiceRedirected), (302, OutcomeUnknown), (307, ServiceRedirected), (308, ServiceRedirected)],
)
async def test_what_changes_something_follows_no_redirect(status: int, error: type[AosError]) -> None:
    """SK-04: neither the body nor the secret goes to a place that nobody named; after a 302 it may have been done."""
    async with web(lambda asked: Says(status=status, headers={"Location": "http://other.test/b"})) as site:
        options = {"url": f"{near(site)}/a", "method": "POST", "body": {"a": 1}}
        with pytest.raises(error):
            await run(skill(options, risk="write", credential="bearer_token"), on(site, {"token": TOKEN}))
        assert len(site.asked) == 1


@pytest.mark.parametrize(
    ("says", "reads", "changes"),
    [
        (Says(status=429), ServiceBusy, ServiceBusy),
        (Says(status=503), ServiceFailed, ServiceFailed),
        (Says(status=502), ServiceFailed, OutcomeUnknown),
        (Says(status=409), ServiceRefused, ServiceRefused),
        (Says(status=304), ServiceRefused, ServiceRefused),
        (Says(b'{"a": 1', kind="application/json"), ServiceGarbled, OutcomeUnknown),
        (Says(b"[" * 200_000, kind="application/json"), ServiceGarbled, OutcomeUnknown),
        (Says(b"<html>", kind="text/html"), ServiceGarbled, OutcomeUnknown),
        (Says(b"\x89PNG", 502, kind="image/png"), ServiceFailed, OutcomeUnknown),
        (Says(b"{}", 502, "application/json", {"Content-Encoding": "gzip"}), Invalid, OutcomeUnknown),
        (Says(b" " * 5_000_001, 409, kind="text/plain"), TooLarge, ServiceRefused),
        (Says(b"{}", wait=3), Unavailable, OutcomeUnknown),
    ],
)
async def test_failures_are_told_apart(says: Says, reads: type[AosError], changes: type[AosError]) -> None:
    """SK-04: a request that was sent and may have changed something is not called one that can be repeated."""
    async with web(lambda _: says) as site:
        for method, risk, error in (("GET", "read", reads), ("POST", "write", changes)):
            with pytest.raises(AosError) as raised:
                sent = skill({"url": f"{near(site)}/a", "method": method}, risk=risk, timeout=0.2 if says.wait else 5)
                await run(sent, on(site))
            assert type(raised.value) is error


@pytest.mark.parametrize(
    ("says", "reads", "given"),
    [
        (Says(b"\x89PNG", kind="image/png"), Invalid, {"status": 200, "content_type": "image/png"}),
        (
            Says(b"%PDF", 201, "application/pdf", {"Location": "/a/7"}),
            Invalid,
            {"status": 201, "content_type": "application/pdf", "location": "/a/7"},
        ),
        (
            Says(b"{}", kind="application/json", headers={"Content-Encoding": "gzip"}),
            Invalid,
            {"status": 200, "content_type": "application/json"},
        ),
        (Says(b" " * 5_000_001, kind="text/plain"), TooLarge, {"status": 200, "content_type": "text/plain"}),
        (Says(status=303, headers={"Location": "/a"}), Invalid, {"status": 200, "location": "/a"}),
    ],
)
async def test_what_was_done_is_no_failure_though_its_answer_is_no_text(
    says: Says, reads: type[AosError], given: dict[str, Any]
) -> None:
    """SK-04: whoever is told of a failure does it again; a 303 says that it is done, and is not followed."""
    async with web(lambda _: says) as site:
        with pytest.raises(reads):
            await run(skill({"url": f"{near(site)}/a"}), on(site))
        before = len(site.asked)
        assert await run(skill({"url": f"{near(site)}/a", "method": "POST"}, risk="write"), on(site)) == given
        assert len(site.asked) == before + 1


async def test_what_was_never_sent_can_be_repeated() -> None:
    """SK-04: nobody listens there."""
    async with web(fine) as site:
        pass
    for method, risk in (("GET", "read"), ("POST", "write")):
        with pytest.raises(Unavailable):
            await run(skill({"url": f"{near(site)}/a", "method": method}, risk=risk), on(site))


async def test_a_long_text_is_cut() -> None:
    """SK-04: logs have no end."""
    async with web(lambda _: Says("ü".encode() * 2_000, kind="text/plain")) as site:
        settings = ground().settings.model_copy(update={"result_bytes": 1_001})
        given = await run(skill({"url": f"{near(site)}/a", "gives": "text"}), on(site, settings=settings))
        assert given == {"status": 200, "text": "ü" * 500, "cut": True}


async def test_a_client_gets_its_token_first() -> None:
    """SK-04: RFC 6749, 4.4; a refusal is told as one, and the secret stays out of it."""

    def answer(asked: Asked) -> Says:
        if asked.target != "/t/x/token":
            return as_json({"is": asked.headers["authorization"]})
        good = b"client_secret=good-canary" in asked.body
        told = {"error": "invalid_client", "error_description": f"wrong: {asked.body.decode()}"}
        return as_json({"access_token": "fresh"}) if good else as_json(told, 401)

    async with web(answer) as site:
        oauth = {"url": f"{near(site, 'other.test')}/t/{{credential.tenant}}/token", "scope": "s"}
        manifest = skill({"url": f"{near(site)}/a", "oauth": oauth}, credential="custom")
        client = {"tenant": "x", "client_id": "c", "client_secret": "good-canary"}
        for wrong in ({}, {"token_url": f"{near(site, 'other.test')}/t"}, {"base_url": near(site)}):
            with pytest.raises(CredentialElsewhere):
                await run(manifest, on(site, {**client, **wrong}, "custom"))
        assert site.asked == [], "who writes a skill does not say where a client's secret goes"
        client["token_url"] = f"{near(site, 'other.test')}/t/x/token"
        assert (await run(manifest, on(site, client, "custom")))["data"] == {"is": "Bearer fresh"}
        assert (await run(manifest, on(site, {"token": TOKEN}, "custom")))["data"] == {"is": f"Bearer {TOKEN}"}
        with pytest.raises(ServiceDenied) as raised:
            await run(manifest, on(site, {**client, "client_secret": "bad-canary"}, "custom"))
        assert "bad-canary" not in str(raised.value) and "invalid_client" in str(raised.value)
        with pytest.raises(Invalid):
            await run(manifest, on(site, {**client, "tenant": "../evil"}, "custom"))


def certificate(folder: Path, name: str) -> tuple[Path, str]:
    """A file with a certificate of a host and its key, and the certificate as PEM."""
    key, moment = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    called = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    made = (
        x509.CertificateBuilder()
        .subject_name(called)
        .issuer_name(called)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(moment - datetime.timedelta(days=1))
        .not_valid_after(moment + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    pem = made.public_bytes(serialization.Encoding.PEM)
    kept = folder / f"{name}.pem"
    kept.write_bytes(
        pem
        + key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return kept, pem.decode()


async def test_a_certificate_is_the_names_and_of_somebody_who_is_believed(tmp_path: Path) -> None:
    """SK-04: a cluster's own authority comes with the credential; the address that is connected to does not count."""
    assert ipaddress.ip_address((await here("service.test", 1))[0]).is_loopback
    kept, pem = certificate(tmp_path, "service.test")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(kept)
    async with web(fine, tls=tls) as site:
        manifest = skill({"url": "{credential.base_url}/a"}, credential="bearer_token")
        base = f"https://service.test:{site.port}"
        given = await run(manifest, on(site, {"token": TOKEN, "base_url": base, "ca_cert": pem}))
        assert given == {"status": 200, "data": {"ok": True}}
        other = {"token": TOKEN, "base_url": f"https://other.test:{site.port}", "ca_cert": pem}
        for wrong in ({"token": TOKEN, "base_url": base}, other):
            with pytest.raises(Unavailable):
                await run(manifest, on(site, wrong))
        with pytest.raises(Invalid):
            await run(manifest, on(site, {"token": TOKEN, "base_url": base, "ca_cert": "nonsense"}))
        assert len(site.asked) == 1


QUERY = "query ($n: String!, $m: Int) { thing(name: $n, most: $m) { id } }"
MUTATION = "mutation ($n: String!) { make(name: $n) { id } }"


@pytest.mark.parametrize(
    ("options", "arguments", "front"),
    [
        ({"query": MUTATION}, {"n": ""}, {}),
        ({"query": QUERY}, {"n": ""}, {"risk": "write"}),
        ({"query": "subscription { a }"}, {}, {}),
        ({"query": "{ a "}, {}, {}),
        ({"query": "{ a } query B { b }"}, {}, {}),
        ({"query": "fragment A on B { c }"}, {}, {}),
        ({"query": QUERY}, {}, {}),
        ({"query": QUERY, "variables": {"n": "{n}", "x": "{n}"}}, {"n": ""}, {}),
        ({"query": QUERY, "variables": {"n": "constant {n}"}}, {"n": ""}, {}),
        ({"query": QUERY, "variables": {"n": "{credential.token}"}}, {}, {"credential": "bearer_token"}),
        ({"query": QUERY}, {"n": "", "unused": ""}, {}),
        ({"query": "{" * 6_000}, {}, {}),
        ({}, {}, {}),
    ],
)
def test_a_wrong_graphql_manifest_is_refused(
    options: Mapping[str, Any], arguments: Mapping[str, str], front: Mapping[str, Any]
) -> None:
    """SK-02: the document is parsed; what changes something is no read, and arguments are variables."""
    with pytest.raises(BadManifest):
        build_tool(skill({"url": f"{BASE}/graphql", **options}, arguments, kind="graphql", **front), ground())


async def test_an_argument_of_graphql_is_a_variable() -> None:
    """SK-02: never a part of the document."""
    async with web(lambda _: as_json({"data": {"thing": {"id": 1}}})) as site:
        manifest = skill({"url": f"{near(site)}/graphql", "query": QUERY}, {"n": ""}, kind="graphql")
        given = await run(manifest, on(site), {"n": '") { id } evil(name: "'})
        assert given == {"data": {"thing": {"id": 1}}}
        assert json.loads(site.asked[0].body) == {"query": QUERY, "variables": {"n": '") { id } evil(name: "'}}


@pytest.mark.parametrize(
    ("says", "given"),
    [
        (as_json({"errors": [{"message": "no such field"}]}), ServiceRefused),
        (as_json({"data": None, "errors": [{"message": "no"}]}), ServiceRefused),
        (as_json({"data": {"thing": None}, "errors": [{"message": "no"}]}), ServiceRefused),
        (as_json({"data": {"a": 1, "thing": None}, "errors": [{"message": "part"}]}), "part"),
        (as_json({"data": {"thing": None}}), None),
        (as_json({"other": 1}), ServiceGarbled),
        (as_json([1]), ServiceGarbled),
        (as_json({"errors": [{"message": "bad"}]}, 400), ServiceRefused),
        (Says(status=500), ServiceFailed),
    ],
)
async def test_errors_of_graphql_are_read(says: Says, given: Any) -> None:
    """SK-02: they come with status 200; a part of an answer is given with what is missing."""
    async with web(lambda _: says) as site:
        manifest = skill({"url": f"{near(site)}/graphql", "query": QUERY}, {"n": ""}, kind="graphql")
        if isinstance(given, type):
            with pytest.raises(AosError) as raised:
                await run(manifest, on(site), {"n": "x"})
            assert type(raised.value) is given
        else:
            assert (await run(manifest, on(site), {"n": "x"})).get("errors") == given


@pytest.mark.parametrize(
    "says", [as_json({"other": 1}), Says(b"<html>"), Says(b"\x89PNG", kind="image/png"), Says(status=303)]
)
async def test_a_mutation_whose_answer_cannot_be_read_may_have_been_done(says: Says) -> None:
    """SK-02: it is not called a failure after which it can be asked for again."""
    async with web(lambda _: says) as site:
        options = {"url": f"{near(site)}/graphql", "query": MUTATION}
        with pytest.raises(OutcomeUnknown):
            await run(skill(options, {"n": ""}, kind="graphql", risk="write"), on(site), {"n": "x"})


async def test_a_host_that_is_not_allowed_is_not_asked() -> None:
    """SK-04: the list is the same as that of http_get."""
    async with web(fine) as site:
        made = replace(on(site), hosts=("service.test",))
        with pytest.raises(AddressNotAllowed):
            await run(skill({"url": f"{near(site)}/a"}), made)
        assert site.asked == []
