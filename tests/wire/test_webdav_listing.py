"""Answers of WebDAV servers, and what is believed of them: broken and hostile ones, references that lead elsewhere."""

from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from pipelines.documents.sources.dav.dav_snapshot import FULL_EVERY, snapshot_from
from pipelines.documents.sources.dav.multistatus import (
    BrokenAnswer,
    HrefRefused,
    MultistatusParser,
    child_name,
    path_of_segments,
    segments_of,
)
from pipelines.documents.sources.source_port import (
    ItemGone,
    Source,
    SourceAway,
    SourceDependencies,
    SourceInvalid,
    SourceItem,
    SourceOpening,
    SourceRefused,
)
from pipelines.documents.sources.webdav_source import KIND, NEXTCLOUD
from tests.fakes.nextcloud_server import PASSWORD, ROOT, FakeNextcloud, Lie, multistatus, run_nextcloud

KEYS = {"username": "aos", "password": PASSWORD}


@pytest.fixture
def cloud() -> Iterator[FakeNextcloud]:
    with run_nextcloud() as one:
        for n in range(4):
            one.put(f"d{n}/{n}.txt", f"Paper {n}.")
        yield one


async def as_it_is(url: str) -> str:
    return url


async def opened(cloud: FakeNextcloud, secret: Mapping[str, str] = KEYS, **settings: str) -> Source:
    return await KIND.open(SourceOpening({"url": cloud.url, **settings}, secret), SourceDependencies(None, as_it_is))


@pytest.fixture
async def source(cloud: FakeNextcloud) -> AsyncIterator[Source]:
    one = await opened(cloud)
    yield one
    await one.close()


async def listed(source: Source, cursor: str | None = None) -> tuple[set[str], dict[str, str], str | None]:
    """Paths, faults by path, the cursor."""
    pages = [page async for page in source.list_changes(cursor)]
    faults = {one.path: one.why for page in pages for one in page.faults}
    return {one.path for page in pages for one in page.items}, faults, pages[-1].cursor


BOMB = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><x>&b;</x>'
OUTSIDE = b'<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><d:multistatus xmlns:d="DAV:">&f;</d:multistatus>'
WHOLE = multistatus("<d:response><d:href>/a</d:href></d:response>")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (BOMB, "document type"),
        (OUTSIDE, "document type"),
        (WHOLE[:-9], "no whole XML"),
        (b"", "no whole XML"),
        (b'<?xml version="1.0" encoding="none"?><a/>', "in no charset"),
        (b'<?xml version="1.0" encoding="gbk"?><a/>', "in no charset"),
        (multistatus(f"<d:response><d:status>HTTP/1.1 {'9' * 5000}</d:status></d:response>"), "numbers"),
        (b"<html>Sign in</html>", "no multistatus"),
        (multistatus("<d:x>" * 40), "too deep"),
        (multistatus(f"<d:response><d:href>{'a' * 9000}</d:href></d:response>"), "too long"),
        (multistatus("&nbsp;"), "no whole XML"),
        (multistatus("<d:response/>" * 100_001), "more than"),
    ],
)
def test_an_answer_that_is_broken_or_a_bomb_is_not_believed(answer: bytes, why: str) -> None:
    parser = MultistatusParser()
    with pytest.raises(BrokenAnswer, match=why):
        parser.feed(answer)
        parser.close()


def test_only_properties_that_the_server_gives_count() -> None:
    prop = "<d:propstat><d:prop>{}</d:prop><d:status>HTTP/1.1 {}</d:status></d:propstat>"
    given = prop.format("<d:resourcetype><d:collection/></d:resourcetype><d:getetag>x</d:getetag>", "200 OK")
    denied = prop.format("<d:getlastmodified>now</d:getlastmodified>", "403 Forbidden")
    parser = MultistatusParser()
    one, two = parser.feed(
        multistatus(
            f"<d:response><d:href>/a</d:href>{given}{denied}</d:response>"
            "<d:response><d:href>/b</d:href><d:status>HTTP/1.1 403 Forbidden</d:status></d:response>"
        )
    )
    assert (one.known, one.is_folder, one.props) == (True, True, {"getetag": "x"})
    assert (two.known, two.status) == (False, 403)


@pytest.mark.parametrize(
    "href",
    [
        "/dav/elsewhere/a.txt",
        "/dav/papers/../secret.txt",
        "/dav/papers/%2e%2e/secret.txt",
        "/dav/papers/%2E%2E",
        "/dav/papers/..%2fsecret.txt",
        "/dav/papers/a%5cb.txt",
        "/dav/papers/a%00.txt",
        "/dav/papers/a/b.txt",
        "/dav/papers/a.txt?x=1",
        "/dav/papers/a.txt#x",
        "/dav",
        "a.txt",
        "",
        "//evil.example/dav/papers/a.txt",
        "http://evil.example/dav/papers/a.txt",
        "http://dav.example@evil.example/dav/papers/a.txt",
        "file:///dav/papers/a.txt",
        "http://[/dav/papers/a.txt",
    ],
)
def test_a_reference_that_leads_elsewhere_is_refused(href: str) -> None:
    with pytest.raises(HrefRefused):
        child_name(href, ("dav", "papers"), frozenset({"dav.example"}))


def test_a_reference_in_the_folder_is_a_name_decoded_once() -> None:
    names = {
        "/dav/papers/": None,
        "/dav//papers": None,
        "https://dav.example:8443/dav/papers/a.txt": "a.txt",
        "/dav/papers/%252e%252e": "%2e%2e",
        "/d%61v/papers/%C3%BC%20x": "ü x",
        "/dav/papers/%FF": "\udcff",
    }
    assert {one: child_name(one, ("dav", "papers"), frozenset({"dav.example"})) for one in names} == names
    assert path_of_segments(segments_of("/a%20b/%FF/%2520/ü")) == "/a%20b/%FF/%2520/%C3%BC"


@pytest.mark.parametrize(
    "lie",
    [
        Lie(403),
        Lie(404),
        Lie(500),
        Lie(423),
        Lie(200, b"<html>Sign in</html>"),
        Lie(207, BOMB),
        Lie(207, multistatus("")),
        Lie(207, WHOLE[:-20]),
        Lie(207, b"\x1f\x8b" + bytes(30)),
    ],
)
async def test_a_folder_that_cannot_be_listed_is_a_fault_of_that_folder(
    cloud: FakeNextcloud, source: Source, lie: Lie
) -> None:
    cloud.lie = lambda method, path: lie if path == "d2" else None
    paths, faults, cursor = await listed(source)
    assert paths == {"d0/0.txt", "d1/1.txt", "d3/3.txt"} and set(faults) == {"d2"}
    cloud.lie = lambda method, path: None
    assert (await listed(source, cursor))[:2] == (paths | {"d2/2.txt"}, {}), "it is not taken to be as it was"


@pytest.mark.parametrize(
    ("lie", "error"),
    [
        (Lie(401), SourceRefused),
        (Lie(502), SourceAway),
        (Lie(503, headers={"Retry-After": "3600"}), SourceAway),
        (Lie(429, headers={"Retry-After": "3600"}), SourceAway),
        (Lie(207, WHOLE, cut=20), SourceAway),
        (Lie(302, headers={"Location": "http://127.0.0.1:1/dav"}), SourceRefused),
        (Lie(302, headers={"Location": "https://evil.example/"}), SourceRefused),
        (Lie(301, headers={"Location": f"{ROOT}/%2e%2e%2f"}), SourceRefused),
        (Lie(307, headers={"Location": f"{ROOT}/d2"}), SourceRefused),
    ],
)
async def test_what_is_wrong_with_the_whole_server_ends_the_listing(
    cloud: FakeNextcloud, source: Source, lie: Lie, error: type[Exception]
) -> None:
    cloud.lie = lambda method, path: lie if path == "d2" else None
    with pytest.raises(error):
        await listed(source)


@pytest.mark.parametrize(
    ("lie", "error"),
    [(Lie(403), SourceRefused), (Lie(404), SourceRefused), (Lie(500), SourceAway), (Lie(207, WHOLE), SourceAway)],
)
async def test_without_the_folder_itself_there_is_no_listing(
    cloud: FakeNextcloud, source: Source, lie: Lie, error: type[Exception]
) -> None:
    cloud.lie = lambda method, path: lie
    with pytest.raises(error):
        await listed(source)


async def test_a_busy_server_is_asked_again_after_the_time_that_it_names(cloud: FakeNextcloud, source: Source) -> None:
    busy = [Lie(429, headers={"Retry-After": "0"}), Lie(503, headers={"Retry-After": "0"})]
    cloud.lie = lambda method, path: busy.pop() if busy and path == "d1" else None
    assert len((await listed(source))[0]) == 4 and not busy


async def test_redirects_on_the_origin_are_followed_with_the_credential(cloud: FakeNextcloud) -> None:
    short = cloud.url.replace(ROOT, f"{ROOT}/short")
    cloud.lie = lambda method, path: Lie(301, headers={"Location": f"{ROOT}/d1"}) if path == "short" else None
    one = await KIND.open(SourceOpening({"url": short}, KEYS), SourceDependencies(None, as_it_is))
    assert (await listed(one))[0] == {"1.txt"}
    await one.close()


async def test_folders_without_end_are_a_fault_and_not_followed(cloud: FakeNextcloud, source: Source) -> None:
    def nested(method: str, path: str) -> Lie | None:
        if not path.startswith("d0"):
            return None
        cloud.nodes[f"{path}/again"] = replace(cloud.nodes["d0"])
        return Lie(207, cloud.listing(path)) if path in cloud.nodes else None

    cloud.lie = nested
    paths, faults, _ = await listed(source)
    assert len(paths) == 4 and len(faults) == 1 and "folders deep" in next(iter(faults.values()))


async def test_a_child_at_another_place_is_a_fault_and_its_siblings_are_listed(
    cloud: FakeNextcloud, source: Source
) -> None:
    stranger = cloud.response("d1/1.txt").replace(f"{ROOT}/d1/", "http://evil.example/")
    cloud.lie = lambda method, path: (
        Lie(207, multistatus(cloud.response("d2") + stranger + cloud.response("d2/2.txt"))) if path == "d2" else None
    )
    paths, faults, _ = await listed(source)
    assert paths == {f"d{n}/{n}.txt" for n in range(4)} and "another host" in faults["d2"]


async def test_a_server_whose_etags_lie_is_looked_at_as_a_whole_from_then_on(
    cloud: FakeNextcloud, source: Source
) -> None:
    _, _, cursor = await listed(source)
    etags = {path: node.etag for path, node in cloud.nodes.items()}
    cloud.put("d1/hidden.txt", "Nobody above tells.")
    for path, etag in etags.items():
        cloud.nodes[path].etag = etag
    seen = []
    for _ in range(FULL_EVERY):
        paths, _, cursor = await listed(source, cursor)
        seen.append("d1/hidden.txt" in paths)
    assert not seen[0] and seen[-1], "each so many listings look everywhere"
    assert snapshot_from(cursor, f"aos {cloud.url}").distrusted
    cloud.count("PROPFIND")
    await listed(source, cursor)
    assert cloud.count("PROPFIND") == 5


async def test_a_mount_of_other_storage_and_a_foreign_cursor_are_always_looked_at(
    cloud: FakeNextcloud, source: Source
) -> None:
    cloud.nodes["d1"].mount = "external"
    _, _, cursor = await listed(source)
    cloud.count("PROPFIND")
    await listed(source, cursor)
    assert [path for _, path, _ in cloud.asked] == ["", "d1"]
    for other in ("nonsense", "", snapshot_from(None, "another place").to_cursor()):
        cloud.count("PROPFIND")
        assert len((await listed(source, other))[0]) == 4 and cloud.count("PROPFIND") == 5


async def test_plain_servers_are_looked_at_as_a_whole_whatever_their_etags_are(cloud: FakeNextcloud) -> None:
    """Without ids of Nextcloud's: many servers' folders have etags that never change."""
    before = cloud.listing
    strip = ("fileid", "id")

    def plain(path: str) -> bytes:
        text = before(path).decode()
        for name in strip:
            text = text.replace(f"<oc:{name}>", f"<oc:x{name}>").replace(f"</oc:{name}>", f"</oc:x{name}>")
        return text.encode()

    cloud.listing = plain  # type: ignore[method-assign]
    one = await opened(cloud)
    _, _, cursor = await listed(one)
    cloud.count("PROPFIND")
    await listed(one, cursor)
    assert cloud.count("PROPFIND") == 5
    ids = [item.id async for page in one.list_changes(None) for item in page.items]
    assert sorted(ids) == [f"d{n}/{n}.txt" for n in range(4)]
    await one.close()


async def test_a_file_that_went_changed_or_may_not_be_read_is_told_apart(cloud: FakeNextcloud, source: Source) -> None:
    items = {item.path: item async for page in source.list_changes(None) for item in page.items}

    async def read(path: str, *span: Any) -> bytes:
        return b"".join([block async for block in source.read(items[path], *span)])

    assert [await read("d0/0.txt", 2, 3), await read("d0/0.txt", 6)] == [b"per", b"0."], "it knows no ranges"
    cloud.put("d1/1.txt", "Anew.")
    cloud.drop("d2/2.txt")
    with pytest.raises(SourceRefused, match="changed since"):
        await read("d1/1.txt")
    with pytest.raises(ItemGone):
        await read("d2/2.txt")
    for lie, error in (
        (Lie(200, b"Other.", {"ETag": '"other"'}), SourceRefused),
        (Lie(206, b"Other.", {"Content-Range": "bytes 0-5/6"}), SourceRefused),
        (Lie(403), SourceRefused),
        (Lie(500), SourceAway),
        (Lie(200, b"x" * 30, cut=5), SourceAway),
    ):
        cloud.lie = lambda method, path, lie=lie: lie  # type: ignore[misc]
        with pytest.raises(error):
            await read("d3/3.txt", 1)


async def test_a_token_or_a_name_and_password_are_taken_and_nothing_else(cloud: FakeNextcloud) -> None:
    cloud.login = "Bearer one-token"
    one = await opened(cloud, {"token": "one-token"})
    assert len((await listed(one))[0]) == 4
    await one.close()
    wrong: list[dict[str, str]] = [{"token": "a\r\nX: y"}, {"username": "a"}, {"username": "a:b", "password": "c"}]
    for secret in wrong:
        with pytest.raises(SourceInvalid):
            await opened(cloud, secret)
    for url in (f"{cloud.url}/%2e%2e/x", f"{cloud.url}?a=1"):
        with pytest.raises(SourceInvalid):
            await opened(cloud, url=url)
    with pytest.raises(SourceInvalid, match="PEM"):
        await opened(cloud, authority="none")
    dependencies = SourceDependencies(None, as_it_is)
    with pytest.raises(SourceInvalid, match="people"):
        await NEXTCLOUD.open(SourceOpening({"url": cloud.url, "people": "anna"}, KEYS), dependencies)


async def test_one_that_is_shared_twice_is_one_item(cloud: FakeNextcloud, source: Source) -> None:
    cloud.nodes["d3/again.txt"] = replace(cloud.nodes["d0/0.txt"])
    items: list[SourceItem] = [item async for page in source.list_changes(None) for item in page.items]
    assert len(items) == 5 and len({item.id for item in items}) == 4


async def test_what_makes_no_sense_is_the_servers_fault_and_no_other_error(
    cloud: FakeNextcloud, source: Source
) -> None:
    cloud.lie = lambda method, path: Lie(207, b'<?xml version="1.0" encoding="idna"?><a/>') if path == "d1" else None
    paths, faults, _ = await listed(source)
    assert "d1/1.txt" not in paths and len(paths) == 3 and "in no charset" in faults["d1"]
    for place in ("http://[", "//[", "http://ex\u2100mple/", "http://" + "a" * 70 + ".example/"):
        headers = {"Location": place.encode().decode("latin-1")}
        cloud.lie = lambda method, path, sent=headers: Lie(302, headers=sent)  # type: ignore[misc]
        with pytest.raises((SourceAway, SourceRefused)):
            await listed(source)
    item = SourceItem("d1/1.txt", '"x"||', "d1/1.txt")
    cloud.lie = lambda method, path: Lie(206, b"x", {"Content-Range": f"bytes {'1' * 5000}-9/9"})
    with pytest.raises(SourceRefused, match="another range"):
        _ = [block async for block in source.read(item, 1, 1)]
