"""Sources over HTTP connect to the address that was checked, by the name on the certificate, and in their turn."""

import asyncio
import gzip
import tracemalloc
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from pipelines.documents.sources.checked_http import (
    CHECK_SECONDS,
    CheckedTransport,
    check_host_of,
    checked_client,
    network_fault,
    part_headers,
    read_part,
    read_whole,
    send_checked,
    wanted_wait,
)
from pipelines.documents.sources.git_source import KIND as GIT
from pipelines.documents.sources.site.site_client import SiteClient
from pipelines.documents.sources.source_port import (
    Source,
    SourceAway,
    SourceBounds,
    SourceDependencies,
    SourceInvalid,
    SourceOpening,
    SourceRefused,
)
from pipelines.documents.sources.web_source import KIND as WEB
from pipelines.documents.sources.webdav_source import KIND as WEBDAV
from pipelines.documents.sync.source_opener import EndpointGuard, EndpointRefused
from tests.fakes.nextcloud_server import PASSWORD, run_nextcloud
from tests.fakes.rsyslog import issue_certificates
from tests.fakes.web_server import WebPage, WebServer, web_server


@pytest.fixture
def dependencies(tmp_path: Path) -> SourceDependencies:
    async def find(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    guard = EndpointGuard(("127.0.0.0/8",), find)
    return SourceDependencies(
        None, guard.check, guard.check_host, cache=tmp_path / "cache", bounds=SourceBounds(web_rate=1000)
    )


async def listed(source: Source) -> list[str]:
    try:
        return [item.id async for page in source.list_changes(None) for item in page.items]
    finally:
        await source.close()


async def test_a_certificate_is_for_the_name_and_one_that_changed_is_refused(
    tmp_path: Path, dependencies: SourceDependencies, monkeypatch: pytest.MonkeyPatch
) -> None:
    for authority in ("first", "second"):
        (tmp_path / authority).mkdir()
        issue_certificates(tmp_path / authority, ("site",))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "first" / "ca.crt"))
    with web_server(tmp_path / "first" / "site.crt") as site:
        site.put("/", "Home.")
        opened = await WEB.open(SourceOpening({"url": site.url, "requests_per_second": "1000"}), dependencies)
        assert await listed(opened) == [f"{site.url}/"], "reached at 127.0.0.1 as localhost"
        host = await check_host_of(site.url, dependencies)
        assert host.base.startswith("https://127.0.0.1:") and host.extensions == {"sni_hostname": "localhost"}
        other = site.url.replace("localhost", "elsewhere.test")
        with pytest.raises(SourceRefused, match="certificate"):
            await listed(await WEB.open(SourceOpening({"url": other, "requests_per_second": "1000"}), dependencies))
    with web_server(tmp_path / "second" / "site.crt") as site:
        for kind in (WEB, GIT):
            opened = await kind.open(SourceOpening({"url": f"{site.url}/x"}), dependencies)
            with pytest.raises(SourceRefused, match="certificate"):
                await listed(opened)


async def test_requests_keep_their_pace_and_robots_may_slow_it() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    with web_server() as site:
        client = site_client(site.url, 2.0, sleep)
        for _ in range(2):
            assert (await client.get(f"{site.url}/x")).status == 404
        assert slept[0] == 0 and 0.3 < slept[1] <= 0.5
        site.put("/robots.txt", "", kind="text/plain")
        site.pages["/robots.txt"].body = b"User-agent: AOS\nCrawl-delay: 7\nDisallow: /a"
        assert not (await client.robots()).allows(f"{site.url}/a")
        await client.get(f"{site.url}/x")
        await client.get(f"{site.url}/x")
        assert 6 < slept[-1] <= 7
        await client.close()


async def test_a_site_in_trouble_is_asked_again_when_it_says() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    with web_server() as site:
        client = site_client(site.url, 1000, sleep)
        site.put("/x", "Busy.", status=429, headers={"Retry-After": "30"})
        assert (await client.get(f"{site.url}/x")).failed and len(site.asked) == 3 and 29 < slept[-1] <= 30
        site.pages["/x"].headers["Retry-After"] = "86400"
        site.asked.clear()
        assert (await client.get(f"{site.url}/x")).failed and len(site.asked) == 1
        await client.close()
    assert (await client_away(site.url)).startswith("it does not answer")


def site_client(url: str, rate: float, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> SiteClient:
    return SiteClient(checked_client(dependencies_of("127.0.0.1")), url, rate, sleep)


async def client_away(url: str) -> str:
    client = site_client(url, 1000)
    answer = await client.get(f"{url}/x")
    await client.close()
    assert answer.failed
    return answer.why


def dependencies_of(
    *answers: str, allow: tuple[str, ...] = ("127.0.0.1",), looked: list[int] | None = None
) -> SourceDependencies:
    """Names have these addresses one after the other, and then the last one for ever; `looked` counts."""
    left = list(answers)

    async def find(host: str, port: int) -> list[str]:
        if looked is not None:
            looked[0] += 1
        return [left.pop(0) if len(left) > 1 else left[0]]

    guard = EndpointGuard(allow, find)
    return SourceDependencies(None, guard.check, guard.check_host)


def named(site: WebServer, host: str) -> str:
    return f"{site.url.partition(':')[0]}://{host}:{site.url.rsplit(':', 1)[1]}"


async def body_of(client: httpx.AsyncClient, url: str, **how: object) -> bytes:
    answer = await send_checked(client, "GET", url, **how)  # type: ignore[arg-type]
    try:
        return await answer.aread()
    finally:
        await answer.aclose()


async def test_a_name_that_means_another_address_a_moment_later_is_connected_to_where_the_check_looked() -> None:
    """Nobody but the check knows the name: whoever asked for it again would reach nothing."""
    times = [0.0]
    with web_server() as site:
        site.put("/x", "Here.")
        dependencies = dependencies_of("127.0.0.1", "10.0.0.9")
        client = httpx.AsyncClient(transport=CheckedTransport(dependencies, lambda: times[0]), trust_env=False)
        url = f"{named(site, 'cloud.test')}/x"
        for _ in range(3):
            assert b"Here." in await body_of(client, url)
        assert site.hosts == {url.split("/")[2]}
        times[0] = CHECK_SECONDS
        with pytest.raises(EndpointRefused):
            await body_of(client, url)
        assert len(site.asked) == 3
        await client.aclose()


async def test_a_site_is_asked_at_the_checked_address_by_its_name_and_is_checked_again_later(tmp_path: Path) -> None:
    with web_server() as site:
        site.put("/", "Home.", "/x")
        site.put("/x", "There.")
        url = named(site, "site.test")
        moved = [0]
        dependencies = dependencies_of(*["127.0.0.1"] * 2, "10.0.0.9", looked=moved)
        opened = await WEB.open(SourceOpening({"url": f"{url}/", "requests_per_second": "1000"}), dependencies)
        assert await listed(opened) == [f"{url}/", f"{url}/x"], "nobody but the check knows the name"
        assert site.hosts == {url.split("/")[2]} and moved[0] == 2
        again = await WEB.open(SourceOpening({"url": f"{url}/"}), dependencies_of("127.0.0.1", "10.0.0.9"))
        site.asked.clear()
        with pytest.raises(SourceRefused, match=r"10\.0\.0\.9"):
            await listed(again)
        assert site.asked == []


async def test_webdav_is_asked_at_the_checked_address_by_its_name_on_few_connections() -> None:
    with run_nextcloud() as cloud:
        for n in range(9):
            cloud.put(f"d{n}/a.txt", "Paper.")
        url = cloud.url.replace("127.0.0.1", "cloud.test")
        keys = {"username": "aos", "password": PASSWORD}
        looked = [0]
        dependencies = dependencies_of(*["127.0.0.1"] * 2, "10.0.0.9", looked=looked)
        opened = await WEBDAV.open(SourceOpening({"url": url}, keys), dependencies)
        pages = [page async for page in opened.list_changes(None)]
        items = [one for page in pages for one in page.items]
        assert len(items) == 9 and not [one for page in pages for one in page.faults]
        for item in items:
            assert b"".join([block async for block in opened.read(item)]) == b"Paper."
        await opened.close()
        assert cloud.hosts == {url.split("/")[2]} and looked[0] == 2
        assert len(cloud.lines) <= 8, "of some twenty requests"
        cloud.count("PROPFIND")
        again = await WEBDAV.open(SourceOpening({"url": url}, keys), dependencies_of("127.0.0.1", "10.0.0.9"))
        with pytest.raises(SourceRefused, match=r"10\.0\.0\.9"):
            await listed(again)
        assert cloud.asked == []


async def test_webdav_verifies_the_name_by_the_authority_that_was_given(tmp_path: Path) -> None:
    issue_certificates(tmp_path, ("site",))
    with web_server(tmp_path / "site.crt") as site:
        told = {"authority": (tmp_path / "ca.crt").read_text()}
        for url, why in (
            (site.url, "may not|no folder|answers"),
            (named(site, "elsewhere.test"), "certificate is not"),
        ):
            opened = await WEBDAV.open(SourceOpening({"url": f"{url}/x", **told}), dependencies_of("127.0.0.1"))
            with pytest.raises((SourceRefused, SourceAway), match=why):
                await listed(opened)
        opened = await WEBDAV.open(SourceOpening({"url": f"{site.url}/x"}), dependencies_of("127.0.0.1"))
        with pytest.raises(SourceRefused, match="certificate is not trusted"):
            await listed(opened)


async def test_with_tls_the_second_question_is_checked_too_and_names_share_no_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    issue_certificates(tmp_path, ("site",))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.crt"))
    with web_server(tmp_path / "site.crt") as site:
        site.put("/x", "Here.")
        async with checked_client(dependencies_of("127.0.0.1", "169.254.169.254")) as client:
            with pytest.raises(EndpointRefused):
                await body_of(client, f"{site.url}/x")
        assert site.asked == []
        async with checked_client(dependencies_of("127.0.0.1")) as client:
            assert b"Here." in await body_of(client, f"{site.url}/x")
            with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
                await body_of(client, f"{named(site, 'elsewhere.test')}/x")
            site.put("/away", "", status=302, headers={"Location": f"http://{site.url.split('/')[2]}/x"})
            with pytest.raises(SourceRefused, match="without TLS"):
                await body_of(client, f"{site.url}/away")


async def test_redirects_are_checked_and_secrets_stay_with_their_host() -> None:
    told: list[dict[str, str]] = []

    def every(path: str, headers: dict[str, str]) -> WebPage | None:
        told.append(headers)
        return None

    with web_server() as site:
        site.every = every
        site.put("/x", "Here.")
        elsewhere = named(site, "elsewhere.test")
        site.put("/out?q=1", "", status=307, headers={"Location": f"{elsewhere}/back"})
        site.put("/back", "", status=302, headers={"Location": f"{named(site, 'cloud.test')}/x"})
        site.put("/round", "", status=302, headers={"Location": "/round"})
        site.put("/inner", "", status=302, headers={"Location": "http://10.0.0.9/x"})
        site.put("/odd", "", status=302, headers={"Location": "http://[::1/x"})
        site.put("/file", "", status=302, headers={"Location": "file:///etc/passwd"})
        site.put("/nowhere", "", status=302)
        async with checked_client(dependencies_of("127.0.0.1", allow=("cloud.test", "elsewhere.test"))) as client:
            url = named(site, "cloud.test")
            how = {"headers": {"X-Kept": "1"}, "secret": {"Authorization": "Bearer t"}, "params": {"q": "1"}}
            assert b"Here." in await body_of(client, f"{url}/out", **how)
            assert [one.get("authorization") for one in told] == ["Bearer t", None, None]
            assert all(one["x-kept"] == "1" and one["user-agent"] == "AOS" for one in told)
            assert [path for path, _ in site.asked] == ["/out?q=1", "/back", "/x"]
            with pytest.raises(SourceAway, match="on and on"):
                await body_of(client, f"{url}/round")
            with pytest.raises(EndpointRefused):
                await body_of(client, f"{url}/inner")
            with pytest.raises(httpx.RemoteProtocolError):
                await body_of(client, f"{url}/odd")
            with pytest.raises(SourceRefused, match="no URL"):
                await body_of(client, f"{url}/file")
            answer = await send_checked(client, "GET", f"{url}/nowhere")
            assert answer.status_code == 302
            await answer.aclose()


@pytest.mark.parametrize("ranges", [True, False])
async def test_a_part_of_a_body_whether_a_server_knows_ranges_or_not(ranges: bool) -> None:
    data = bytes(range(256)) * 20_000

    def answer(request: httpx.Request) -> httpx.Response:
        assert request.headers["accept-encoding"] == "identity"
        span = request.headers.get("range")
        if not span or not ranges:
            return httpx.Response(200, stream=httpx.ByteStream(data))
        first, last = span.removeprefix("bytes=").split("-")
        if int(first) >= len(data):
            return httpx.Response(416)
        told = {"Content-Range": f"bytes {first}-{last or len(data) - 1}/{len(data)}"}
        some = data[int(first) : int(last) + 1 if last else None]
        return httpx.Response(206, stream=httpx.ByteStream(some), headers=told)

    async def part(start: int, length: int | None) -> bytes:
        async with (
            httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client,
            client.stream("GET", "http://x/", headers=part_headers(start, length)) as found,
        ):
            return b"".join([block async for block in read_part(found, start, length)])

    for start, length in ((0, None), (3, None), (3, 5), (0, 2_000_000), (4_000_001, 1_000_000), (9_000_000, None)):
        assert await part(start, length) == data[start : None if length is None else start + length]
    other = httpx.Response(206, stream=httpx.ByteStream(b"x"), headers={"Content-Range": "bytes 0-0/9"})
    with pytest.raises(SourceAway):
        [block async for block in read_part(other, 4, 1)]


@pytest.mark.parametrize(
    ("told", "wait"),
    [(None, 2), ("0", 0.25), ("1", 1), ("7", 7), ("-5", 2), ("soon", 2), ("Thu, 01 Jan 2026 00:00:30 GMT", 30)],
)
def test_what_a_server_asks_to_wait_is_a_number_or_a_date_and_never_nothing(told: str | None, wait: float) -> None:
    assert wanted_wait(told, 2.0, lambda: datetime(2026, 1, 1, tzinfo=UTC)) == wait


def test_faults_of_the_network_have_names_and_others_are_none() -> None:
    faults: list[tuple[BaseException, Callable[..., Exception] | None]] = [
        (httpx.ReadTimeout("x"), SourceAway),
        (httpx.ConnectError("CERTIFICATE_VERIFY_FAILED"), SourceRefused),
        (httpx.InvalidURL("x"), SourceRefused),
        (TimeoutError(), SourceAway),
        (EndpointRefused("10.0.0.9 is not public"), SourceRefused),
        (SourceInvalid("x"), SourceRefused),
        (KeyError("x"), None),
    ]
    for error, kind in faults:
        found = network_fault(error, "the server")
        assert (None if found is None else type(found)) is kind, error


def packed(body: bytes, how: str) -> httpx.Response:
    return httpx.Response(200, stream=httpx.ByteStream(body), headers={"Content-Encoding": how})


async def test_a_small_packed_answer_takes_no_more_memory_than_may_be_read() -> None:
    made = gzip.compress(bytes(1 << 28))
    tracemalloc.start()
    try:
        assert await read_whole(packed(made, "gzip"), 1 << 20) is None
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


async def test_what_is_packed_as_asked_for_is_read_and_all_else_is_a_fault_of_the_server() -> None:
    data = bytes(range(256)) * 20_000
    made = gzip.compress(data)
    assert await read_whole(packed(made, "GZIP"), len(data)) == data
    assert await read_whole(packed(gzip.compress(b""), "gzip"), 9) == b""
    for body, how in ((made, "br"), (made, "gzip, gzip"), (made[:-1], "gzip"), (b"no", "gzip"), (b"", "gzip")):
        with pytest.raises(SourceAway):
            await read_whole(packed(body, how), 1 << 30)
