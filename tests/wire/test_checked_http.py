"""Sources over HTTP connect to the address that was checked, by the name on the certificate, and in their turn."""

from pathlib import Path

import pytest

from pipelines.documents.sources.checked_http import CheckedHost, check_host_of
from pipelines.documents.sources.git_source import KIND as GIT
from pipelines.documents.sources.site.site_client import SiteClient
from pipelines.documents.sources.source_port import Source, SourceBounds, SourceGround, SourceOpening, SourceRefused
from pipelines.documents.sources.web_source import KIND as WEB
from pipelines.documents.sync.source_opener import EndpointGuard
from tests.fakes.rsyslog import issue_certificates
from tests.fakes.web_server import web_server


@pytest.fixture
def ground(tmp_path: Path) -> SourceGround:
    async def find(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    guard = EndpointGuard(("127.0.0.0/8",), find)
    return SourceGround(
        None, guard.check, guard.check_host, cache=tmp_path / "cache", bounds=SourceBounds(web_rate=1000)
    )


async def listed(source: Source) -> list[str]:
    try:
        return [item.id async for page in source.list_changes(None) for item in page.items]
    finally:
        await source.close()


async def test_a_certificate_is_for_the_name_and_one_that_changed_is_refused(
    tmp_path: Path, ground: SourceGround, monkeypatch: pytest.MonkeyPatch
) -> None:
    for authority in ("first", "second"):
        (tmp_path / authority).mkdir()
        issue_certificates(tmp_path / authority, ("site",))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "first" / "ca.crt"))
    with web_server(tmp_path / "first" / "site.crt") as site:
        site.put("/", "Home.")
        opened = await WEB.open(SourceOpening({"url": site.url, "requests_per_second": "1000"}), ground)
        assert await listed(opened) == [f"{site.url}/"], "reached at 127.0.0.1 as localhost"
        host = await check_host_of(site.url, ground)
        assert host.base.startswith("https://127.0.0.1:") and host.extensions == {"sni_hostname": "localhost"}
        other = site.url.replace("localhost", "elsewhere.test")
        with pytest.raises(SourceRefused, match="certificate"):
            await listed(await WEB.open(SourceOpening({"url": other, "requests_per_second": "1000"}), ground))
    with web_server(tmp_path / "second" / "site.crt") as site:
        for kind in (WEB, GIT):
            opened = await kind.open(SourceOpening({"url": f"{site.url}/x"}), ground)
            with pytest.raises(SourceRefused, match="certificate"):
                await listed(opened)


async def test_requests_keep_their_pace_and_robots_may_slow_it() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    with web_server() as site:
        client = SiteClient(CheckedHost(site.url, site.url, {}), 2.0, None, sleep)
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
        client = SiteClient(CheckedHost(site.url, site.url, {}), 1000, None, sleep)
        site.put("/x", "Busy.", status=429, headers={"Retry-After": "30"})
        assert (await client.get(f"{site.url}/x")).failed and len(site.asked) == 3 and 29 < slept[-1] <= 30
        site.pages["/x"].headers["Retry-After"] = "86400"
        site.asked.clear()
        assert (await client.get(f"{site.url}/x")).failed and len(site.asked) == 1
        await client.close()
    assert (await client_away(site.url)).startswith("it does not answer")


async def client_away(url: str) -> str:
    client = SiteClient(CheckedHost(url, url, {}), 1000, None)
    answer = await client.get(f"{url}/x")
    await client.close()
    assert answer.failed
    return answer.why
