"""http_get: only what is allowed, and no way round; a real server on this machine where bytes matter."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from ipaddress import ip_address

import pytest

from cluster.basics.addresses import is_public, resolve_host
from cluster.basics.errors import AosError, Invalid, TooLarge, Unavailable
from skills.framework.builtin import shipped_skill
from skills.framework.contract import ToolInvocation
from skills.http.http_get.tool import HttpGet
from skills.http_client.guard import AddressNotAllowed, check_addresses, parse_target
from tests.fakes.agents import SCOPE

ALLOWED = ("docs.example.org", "*.example.net", "inside.test:8443", "127.0.0.1:9", "[::1]:9")


@pytest.mark.parametrize(
    ("url", "host", "port", "named"),
    [
        ("https://docs.example.org/a?b=c#d", "docs.example.org", 443, False),
        ("http://DOCS.example.org./", "docs.example.org", 80, False),
        ("https://a.b.example.net", "a.b.example.net", 443, False),
        ("https://inside.test:8443/x", "inside.test", 8443, True),
        ("http://127.0.0.1:9/", "127.0.0.1", 9, True),
        ("http://[::1]:9/", "::1", 9, True),
    ],
)
def test_what_is_allowed(url: str, host: str, port: int, named: bool) -> None:
    """EX-06: hosts with their usual ports, what is below a host, a host with a port."""
    aim = parse_target(url, ALLOWED)
    assert (aim.host, aim.port, aim.named) == (host, port, named)


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/",
        "https://example.net/",
        "https://evilexample.net/",
        "https://docs.example.org.evil.com/",
        "https://docs.example.org:8080/",
        "http://inside.test/",
        "http://127.0.0.1/",
        "http://127.0.0.1:90/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0177.0.0.1/",
        "http://127.1/",
        "http://[::ffff:127.0.0.1]:9/",
        "http://169.254.169.254/latest/meta-data",
        "http://localhost/",
        "file:///etc/passwd",
        "ftp://docs.example.org/",
        "gopher://docs.example.org/",
        "//docs.example.org/",
        "docs.example.org",
        "",
        "https://",
        "https:///x",
        "https://user@docs.example.org/",
        "https://docs.example.org:pass@evil.com/",
        "https://evil.com#@docs.example.org/",
        "https://evil.com\\@docs.example.org/",
        "https://docs.example.org\t.evil.com/",
        "https://docs.example.org%00.evil.com/",
        "https://docs.example.org:99999/",
        "https://[::1%25eth0]:9/",
        "https://[::1/",
        "https://ⓓocs.example.org.evil.com/",
        "https://docs.example.org\r\nHost: evil/",
        "javascript:alert(1)",
        "https://docs。evil.com/",
    ],
)
def test_what_is_not_allowed(url: str) -> None:
    """EX-06: another spelling is another address; what is no plain URL is none."""
    with pytest.raises((AddressNotAllowed, Invalid)):
        parse_target(url, ALLOWED)
    with pytest.raises((AddressNotAllowed, Invalid)):
        parse_target("https://docs.example.org/", ())


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1:248:1893:25c8:1946", True),
        ("::ffff:93.184.216.34", True),
        ("127.0.0.1", False),
        ("127.255.255.254", False),
        ("0.0.0.0", False),
        ("10.0.0.1", False),
        ("172.16.3.4", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("100.100.100.200", False),
        ("168.63.129.16", False),
        ("192.0.0.192", False),
        ("224.0.0.1", False),
        ("240.0.0.1", False),
        ("255.255.255.255", False),
        ("198.18.0.1", False),
        ("::1", False),
        ("::", False),
        ("fe80::1", False),
        ("fc00::1", False),
        ("fd00:ec2::254", False),
        ("ff02::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:169.254.169.254", False),
        ("::127.0.0.1", False),
        ("2002:7f00:1::", False),
        ("2002:a9fe:a9fe::", False),
        ("64:ff9b::7f00:1", False),
        ("64:ff9b::a9fe:a9fe", False),
        ("64:ff9b:1::a9fe:a9fe", False),
        ("2001:0:4136:e378:8000:63bf:3fff:fdd2", False),
        ("2001:db8::1", False),
    ],
)
def test_which_addresses_are_public(address: str, public: bool) -> None:
    """EX-06: private, loopback, link-local, metadata, and all of these inside IPv6."""
    assert is_public(ip_address(address)) is public


@pytest.mark.parametrize(
    "found", [["10.0.0.1"], ["93.184.216.34", "10.0.0.1"], ["::1"], [], ["nonsense"], ["fe80::1%eth0"]]
)
def test_every_address_of_a_name_has_to_be_public(found: list[str]) -> None:
    """EX-06: one bad address is enough, unless the list names this host and port."""
    with pytest.raises(AddressNotAllowed):
        check_addresses(found, parse_target("https://docs.example.org/", ALLOWED))


def test_a_named_host_and_port_may_be_private() -> None:
    """EX-06: an administrator has said so."""
    assert check_addresses(["10.0.0.1"], parse_target("https://inside.test:8443/", ALLOWED)) == "10.0.0.1"


Answer = Callable[[str, dict[str, str]], bytes]


@asynccontextmanager
async def server(answer: Answer, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[int]:
    """A server that gives raw bytes for a path."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        writer.write(answer(lines[0].split(" ")[1], headers))
        await writer.drain()
        if lines[0].split(" ")[1] == "/hang":
            await asyncio.sleep(5)
        writer.close()

    running = await asyncio.start_server(serve, host, port)
    try:
        yield running.sockets[0].getsockname()[1]
    finally:
        running.close()


def page(body: bytes, kind: str = "text/plain", status: str = "200 OK", more: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{more}\r\n".encode() + body


async def local(host: str, port: int) -> Sequence[str]:
    return ["127.0.0.1"]


async def get(
    port: int, path: str = "/", *, seconds: float = 5, find: Callable[[str, int], object] = local
) -> dict[str, object]:
    tool = HttpGet(shipped_skill("http_get").spec, (f"site.test:{port}",), find, seconds)  # type: ignore[arg-type]
    given: dict[str, object] = await tool.run(
        ToolInvocation(SCOPE, None, "k", {"url": f"http://site.test:{port}{path}"})
    )
    return given


async def test_a_text_is_read_from_the_checked_address() -> None:
    """EX-06: the connection goes to the address, the Host header keeps the name; nothing else is sent."""
    seen: list[dict[str, str]] = []

    def answer(path: str, headers: dict[str, str]) -> bytes:
        seen.append(headers)
        return page("Grüße".encode("latin-1"), "text/html; charset=iso-8859-1")

    async with server(answer) as port:
        given = await get(port, "/a?b=c")
        assert given == {
            "url": f"http://site.test:{port}/a?b=c",
            "status": 200,
            "content_type": "text/html",
            "text": "Grüße",
        }
        assert seen[0]["host"] == f"site.test:{port}" and "cookie" not in seen[0] and "authorization" not in seen[0]


async def test_a_name_is_resolved_once() -> None:
    """EX-06: DNS rebinding: what was checked is what is connected to, however the name answers the next time."""
    asked: list[str] = []

    async def rebinding(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return ["127.0.0.2"] if len(asked) == 1 else ["127.0.0.1"]

    async with (
        server(lambda path, _: page(b"rebound")) as port,
        server(lambda path, _: page(b"checked"), "127.0.0.2", port),
    ):
        assert (await get(port, find=rebinding))["text"] == "checked"
        assert asked == ["site.test"]


@pytest.mark.parametrize(
    "to",
    [
        "http://127.0.0.1:22/",
        "http://169.254.169.254/",
        "file:///etc/passwd",
        "//evil.test/",
        "http://site.test:1/",
        "/loop",
        "",
    ],
)
async def test_redirects_are_checked_like_the_first_address(to: str) -> None:
    """EX-06: to another place only where the list allows it, five times at most."""
    async with server(lambda path, _: page(b"", status="302 Found", more=f"Location: {to}\r\n")) as port:
        with pytest.raises((AddressNotAllowed, Invalid)):
            await get(port)


async def test_an_allowed_redirect_is_followed() -> None:
    """EX-06: relative ones too."""
    async with server(
        lambda path, _: page(b"there") if path == "/b" else page(b"", status="301 Moved", more="Location: b\r\n")
    ) as port:
        assert (await get(port, "/a"))["text"] == "there"


@pytest.mark.parametrize(
    ("raw", "error"),
    [
        (page(b"\x89PNG", "image/png"), Invalid),
        (page(b"MZ", "application/octet-stream"), Invalid),
        (page(gzip.compress(b"a" * 10_000_000), more="Content-Encoding: gzip\r\n"), Invalid),
        (page(b"a" * 1_000_001), TooLarge),
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n" + b"a" * 3_000_000, TooLarge),
        (b"garbage\r\n\r\n", Unavailable),
        (b"", Unavailable),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", Unavailable),
    ],
)
async def test_what_is_no_short_text_is_refused(raw: bytes, error: type[AosError]) -> None:
    """EX-18: pictures, packed bodies, floods and garbage have a name."""
    async with server(lambda path, _: raw) as port:
        with pytest.raises(error):
            await get(port)


async def test_an_error_page_is_a_result() -> None:
    """EX-06: the model reads the status; unknown charsets are read as UTF-8, NUL is dropped."""
    async with server(lambda path, _: page(b"g\x00one", "text/plain; charset=rot13", "404 Not Found")) as port:
        given = await get(port)
        assert (given["status"], given["text"]) == (404, "gone")


async def test_a_server_that_hangs_is_left() -> None:
    """EX-10: the time counts for all of it."""
    async with server(lambda path, _: b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nslow") as port:
        with pytest.raises(Unavailable):
            await get(port, "/hang", seconds=0.2)


async def test_a_name_that_does_not_exist_is_unavailable() -> None:
    """EX-06: the system's resolver; labels that are too long are no crash."""
    for name in ("no-such-name.invalid", "a" * 300):
        with pytest.raises(Unavailable):
            await resolve_host(name, 80)
