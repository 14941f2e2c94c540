"""No way to the machines behind the wall: each web kind refuses spellings, redirects, rebinding names."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from cluster.basics.addresses import resolve_host
from cluster.basics.errors import AosError, Invalid
from skills.framework.builtin import build_tool, shipped_skill
from skills.framework.contract import OutcomeUnknown, ToolInvocation
from skills.framework.dependencies import SkillDependencies
from skills.framework.manifest import CredentialType, Manifest, manifest_of
from skills.http_client.fetch import GuardedHttpClient, OutboundRequest, ServiceRedirected
from skills.http_client.guard import AddressNotAllowed
from tests.fakes.agents import SCOPE
from tests.fakes.ground import KeptSecrets, ground
from tests.fakes.web import Asked, Says, as_json, here, web

KINDS = ("http_get", "http", "http_write", "oauth", "graphql", "scrape", "huggingface")
FOLLOWS = ("http_get", "http", "scrape")

# Addresses, each with the host as an administrator could have written it into the list by mistake, without its port:
# the name is allowed, the address behind it is not.
ADDRESSES = (
    # Clouds' metadata, in the spellings that the system's resolver takes for the same address.
    "http://169.254.169.254/latest/meta-data/", "https://169.254.169.254/", "http://2852039166/", "http://0xa9fea9fe/",
    "http://0251.0376.0251.0376/", "http://0xa9.0xfe.0xa9.0xfe/", "http://169.254.43518/", "http://169.16689662/",
    "http://[::ffff:169.254.169.254]/", "http://[::ffff:a9fe:a9fe]/", "http://[0:0:0:0:0:ffff:a9fe:a9fe]/",
    "http://[::169.254.169.254]/", "http://[64:ff9b::169.254.169.254]/", "http://[64:ff9b::a9fe:a9fe]/",
    "http://[64:ff9b:1::a9fe:a9fe]/", "http://[2002:a9fe:a9fe::]/", "http://[fd00:ec2::254]/",
    "http://168.63.129.16/", "http://192.0.0.192/", "http://100.100.100.200/", "http://169.254.170.2/",
    # This machine.
    "http://127.0.0.1/", "http://127.1/", "http://127.0.1/", "http://127.255.255.254/", "http://2130706433/",
    "http://0x7f000001/", "http://0x7f.1/", "http://0177.0.0.1/", "http://017700000001/", "http://0.0.0.0/",
    "http://0/", "http://0x0/", "http://[::1]/", "http://[::]/", "http://[0:0:0:0:0:0:0:1]/", "http://[::127.0.0.1]/",
    "http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/", "http://[64:ff9b::7f00:1]/", "http://[2002:7f00:1::]/",
    "http://[2001:0:4136:e378:8000:63bf:80ff:fffe]/", "http://localhost/", "http://localhost./", "http://LOCALHOST/",
    "http://127.0.0.1./", "https://localhost/",
    # Other people's machines behind the wall.
    "http://10.0.0.1/", "http://10.255.255.255/", "http://172.16.0.1/", "http://172.31.255.254/", "http://192.168.0.1/",
    "http://192.168.255.254/", "http://100.64.0.1/", "http://100.127.255.254/", "http://198.18.0.1/",
    "http://198.19.255.254/", "http://192.0.2.1/", "http://203.0.113.1/", "http://224.0.0.1/", "http://240.0.0.1/",
    "http://255.255.255.255/", "http://0xa000001/", "http://10.1/", "http://012.0.0.1/", "http://[fc00::1]/",
    "http://[fd12:3456::1]/", "http://[fe80::1]/", "http://[fec0::1]/", "http://[ff02::1]/", "http://[2001:db8::1]/",
    "http://[::ffff:10.0.0.1]/", "http://[::ffff:c0a8:1]/", "http://[64:ff9b::10.0.0.1]/", "http://[2002:a00:1::]/",
    "http://[100::1]/", "http://[::ffff:0:a00:1]/",
)  # fmt: skip

# What is no address of a service, or another one than it looks like.
SPELLINGS = (
    "http://service.test@169.254.169.254/", "http://user:pw@service.test/", "http://169.254.169.254#@service.test/",
    "http://169.254.169.254?@service.test/", "http://169.254.169.254\\@service.test/", "http://service.test\\.evil.test/",
    "http://service.test%00.evil.test/", "http://service.test%2eevil.test/", "http://service.test\t.evil.test/",
    "http://service.test\r\nHost: x/", "http://service.test .evil.test/", "http:// service.test/",
    "http://service.test.evil.test/", "http://service.test.nip.io/", "http://evilservice.test/",
    "http://①②⑦.⓪.⓪.①/", "http://⑯⑨.254.169.254/", "http://169。254。169。254/", "http://１２７.0.0.1/",
    "http://ⓛocalhost/", "http://ｌｏｃａｌｈｏｓｔ/", "http://loca\u200blhost/", "http://[::1%25lo]/", "http://[::1%lo]/",
    "http://[fe80::1%25eth0]/", "http://[::1/", "http://::1/", "http://[v1.a]/", "http://service.test:99999/",
    "http://service.test:0x50/", "http://service.test:22/", "http://service.test:-1/", "http:///x", "http://", "//x/",
    "http:service.test/", "http:/service.test/", "file:///etc/passwd", "file://service.test/etc/passwd",
    "ftp://service.test/", "gopher://service.test:6379/_INFO", "dict://service.test:11211/stats",
    "ldap://service.test/", "tftp://service.test/x", "sftp://service.test/x", "jar:http://service.test/!/x",
    "data:text/html,hello", "javascript:alert(1)", "unix:///var/run/docker.sock", "http+unix://%2Fvar%2Frun/x",
    "netdoc:///etc/passwd", "HTTP://127.0.0.1/", "hTTp://169.254.169.254/", "",
)  # fmt: skip

# What can stand in a header and is not a path of the host that says it.
_RELATIVE = {"http:service.test/", "http:/service.test/", "http:///x", "http://", ""}
LOCATIONS = tuple(one for one in SPELLINGS if one not in _RELATIVE and all(ord(sign) > 32 for sign in one))


async def behind(host: str, port: int) -> Sequence[str]:
    """A resolver for which every name is a machine behind the wall."""
    return ["10.0.0.1"]


def skill(kind: str, url: str) -> Manifest:
    """A skill of this kind whose address is the credential's, or an argument where the kind takes one."""
    if kind == "http_get":
        return shipped_skill("http_get")
    words = {name: {"type": "string"} for name in ("url", "text")}
    front: dict[str, Any] = {"name": "made", "description": "Made.", "timeout": 5, "credential": "custom"}
    whole = "{credential.url}"
    of: Mapping[str, Mapping[str, Any]] = {
        "http": {"type": "http", "options": {"url": whole}},
        "http_write": {"type": "http", "risk": "write", "options": {"url": whole, "method": "POST", "body": {}}},
        "oauth": {"type": "http", "options": {"url": "{credential.there}", "oauth": {"url": f"{url}t", "scope": "s"}}},
        "graphql": {"type": "graphql", "options": {"url": whole, "query": "{ a }"}},
        "huggingface": {
            "type": "huggingface",
            "options": {"url": whole, "task": "classify"},
            "parameters": {"type": "object", "properties": {"text": words["text"]}, "required": ["text"]},
        },
        "scrape": {
            "type": "scrape",
            "options": {"reads": "links"},
            "credential": None,
            "parameters": {"type": "object", "properties": {"url": words["url"]}, "required": ["url"]},
        },
    }
    return manifest_of({**front, **of[kind]})


async def call(kind: str, url: str, made: SkillDependencies) -> Any:
    """One call of a skill of this kind to this address."""
    arguments = {"url": url, "text": "x"}
    return await build_tool(skill(kind, url), made).run(ToolInvocation(SCOPE, None, "key", arguments))


def on(
    url: str, allowed: Sequence[str], find: Callable[[str, int], Awaitable[Sequence[str]]] = resolve_host
) -> SkillDependencies:
    values = {"url": url, "there": "http://service.test/", "client_id": "c", "client_secret": "s"}
    values["token_url"] = f"{url}t"
    return ground(hosts=tuple(allowed), resolve=find, credentials=KeptSecrets({CredentialType.CUSTOM: values}))


def host_of(url: str) -> str:
    """As somebody would write it into the list."""
    return url.partition("://")[2].partition("/")[0]


@pytest.mark.parametrize("kind", [one for one in KINDS if one != "oauth"])
@pytest.mark.parametrize("url", ADDRESSES)
async def test_an_address_behind_the_wall_is_refused(kind: str, url: str) -> None:
    """SK-02, SK-04: also where the list names the host; nothing is connected to, or the error would be another one."""
    for allowed in ([host_of(url)], ["service.test", "*.test"], []):
        with pytest.raises((AddressNotAllowed, Invalid)):
            await call(kind, url, on(url, allowed))


@pytest.mark.parametrize("kind", [one for one in KINDS if one != "oauth"])
@pytest.mark.parametrize("url", SPELLINGS)
async def test_a_spelling_leads_nowhere_else(kind: str, url: str) -> None:
    """SK-02, SK-04: what parsers read in two ways, other schemes, credentials in it, digits of other scripts."""
    for allowed in (["service.test"], ["service.test", "*.test", host_of(url).partition(":")[0]]):
        with pytest.raises((AddressNotAllowed, Invalid)):
            await call(kind, url, on(url, allowed, behind))


@pytest.mark.parametrize("url", ADDRESSES)
async def test_a_token_is_not_fetched_behind_the_wall(url: str) -> None:
    """SK-04: the endpoint that gives tokens goes the same way out."""
    with pytest.raises((AddressNotAllowed, Invalid)):
        await call("oauth", url, on(url, [host_of(url), "service.test"]))


@pytest.mark.parametrize("kind", [one for one in KINDS if one != "oauth"])
@pytest.mark.parametrize("to", ADDRESSES + LOCATIONS)
async def test_a_redirect_is_no_way_round(kind: str, to: str) -> None:
    """SK-02, SK-04: each hop is checked like the first; what changes something follows none."""
    async with web(lambda asked: Says(status=302, headers={"Location": to.encode().decode("latin-1")})) as site:

        async def find(host: str, port: int) -> Sequence[str]:
            return await (here if port == site.port else resolve_host if to in ADDRESSES else behind)(host, port)

        start = f"http://service.test:{site.port}/"
        listed = [host_of(to) if "[" in to else host_of(to).partition(":")[0]]
        with pytest.raises(AosError) as raised:
            await call(kind, start, on(start, [*listed, f"service.test:{site.port}", "service.test"], find))
        stays = OutcomeUnknown if kind == "http_write" else ServiceRedirected  # some services act, and then answer 302
        assert type(raised.value) in ((AddressNotAllowed, Invalid) if kind in FOLLOWS else (stays,))
        assert len(site.asked) == 1


@pytest.mark.parametrize("kind", [one for one in KINDS if one != "oauth"])
@pytest.mark.parametrize(
    "found",
    [
        ["127.0.0.1"],
        ["93.184.216.34", "127.0.0.1"],
        ["93.184.216.34", "169.254.169.254"],
        ["::1"],
        ["10.0.0.1"],
        ["2606:2800:220:1::1", "fe80::1%eth0"],
        ["::ffff:10.0.0.1"],
        ["64:ff9b::a9fe:a9fe"],
        ["not an address"],
        [],
    ],
)
async def test_a_name_that_leads_behind_the_wall_is_refused(kind: str, found: list[str]) -> None:
    """SK-02, SK-04: one bad address among good ones is enough."""

    async def find(host: str, port: int) -> Sequence[str]:
        return found

    with pytest.raises(AddressNotAllowed):
        await call(kind, "http://service.test/", on("http://service.test/", ["service.test"], find))


@dataclass
class Rebinding:
    """A resolver that changes its answer each time it is asked, and remembers how often."""

    answers: list[list[str]]
    asked: list[str] = field(default_factory=list)

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        return self.answers[min(len(self.asked), len(self.answers)) - 1]


@pytest.mark.parametrize("kind", [one for one in KINDS if one != "oauth"])
async def test_a_name_is_asked_for_once_and_what_was_checked_is_connected_to(kind: str) -> None:
    """SK-02, SK-04: DNS rebinding; the second answer is another machine, and nobody goes there."""
    says = as_json([{"label": "a", "score": 1.0}] if kind == "huggingface" else {"data": {"a": 1}})

    def checked(asked: Asked) -> Says:
        return says

    async with web(checked, "127.0.0.2") as good, web(checked, "127.0.0.1", good.port) as evil:
        find = Rebinding([["127.0.0.2"], ["127.0.0.1"]])
        url = f"http://service.test:{good.port}/"
        with nullcontext() if kind != "scrape" else pytest.raises(Invalid):  # this is no page
            await call(kind, url, on(url, [f"service.test:{good.port}"], find))
        assert find.asked == ["service.test"] and len(good.asked) == 1 and evil.asked == []


class Wire(httpx.AsyncBaseTransport):
    """Connects to nothing: remembers to where it was sent, and redirects to the same address."""

    def __init__(self) -> None:
        self.went: list[str] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.went.append(request.url.host)
        return httpx.Response(302, headers={"Location": "http://service.test/again"})


@pytest.mark.parametrize("then", ["127.0.0.1", "169.254.169.254", "10.0.0.1", "::1", "fd00:ec2::254", "::ffff:7f00:1"])
async def test_a_name_that_changes_between_two_hops_is_refused(then: str) -> None:
    """SK-04: public when it is asked for first, behind the wall at the redirect."""
    wire, find = Wire(), Rebinding([["93.184.216.34"], [then]])
    with pytest.raises(AddressNotAllowed):
        await GuardedHttpClient(("service.test",), find, 5, 1_000, wire).send(OutboundRequest("http://service.test/"))
    assert wire.went == ["93.184.216.34"] and len(find.asked) == 2


async def test_no_proxy_of_this_machine_is_used() -> None:
    """SK-04: it would resolve the name once more, and connect for us; see `trust_env` in skills/http_client/fetch."""
    wire = Wire()
    with pytest.raises(Invalid):  # too many redirects: each of them to the address that was found
        await GuardedHttpClient(("service.test",), Rebinding([["93.184.216.34"]]), 5, 1_000, wire).send(
            OutboundRequest("http://service.test/")
        )
    assert wire.went == ["93.184.216.34"] * 6


def counted() -> Iterator[int]:
    """How many attempts there are, by test."""
    kinds = len(KINDS) - 1
    yield kinds * len(ADDRESSES) * 3
    yield len(ADDRESSES)  # where a token comes from
    yield kinds * len(SPELLINGS) * 2
    yield kinds * (len(ADDRESSES) + len(LOCATIONS))


def test_the_suite_is_as_large_as_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    """SK-04: the number is shown, and a list that lost its entries is noticed."""
    with capsys.disabled():
        print(f" SSRF: {sum(counted()):,} attempts, {len(set(ADDRESSES + SPELLINGS))} addresses, {len(KINDS)} kinds ")
    assert len(set(ADDRESSES)) == len(ADDRESSES) >= 70 and len(set(SPELLINGS)) == len(SPELLINGS) >= 50
