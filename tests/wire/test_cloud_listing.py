"""Clouds that answer nonsense, never end, or lead elsewhere: nobody is hurt, and no worker ends."""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from cluster.basics.addresses import Resolve
from cluster.basics.errors import Unavailable
from pipelines.documents.sources.checked_http import checked_client
from pipelines.documents.sources.cloud.cloud_client import CloudClient
from pipelines.documents.sources.cloud.cloud_tokens import CloudTokens, TokenEndpoint
from pipelines.documents.sources.source_kinds import SOURCE_KINDS
from pipelines.documents.sources.source_port import (
    ItemGone,
    ItemRights,
    ListingPage,
    Source,
    SourceAway,
    SourceDependencies,
    SourceItem,
    SourceOpening,
    SourceRefused,
)
from pipelines.documents.sync.source_opener import EndpointGuard
from tests.fakes.cloud_server import PAGE, TOKEN, CloudDrive, run_clouds

KINDS = ("onedrive", "google_drive", "dropbox", "box")
BASES = {"onedrive": "graph/v1.0", "google_drive": "drive/v3", "dropbox": "dropbox/2", "box": "box/2.0"}
LISTS = {"onedrive": "delta", "google_drive": "files", "dropbox": "list_folder", "box": "items"}
ROWS = {"onedrive": "value", "google_drive": "files", "dropbox": "entries", "box": "entries"}
MAIL = "ann@corp.example"


@pytest.fixture
def drive() -> Iterator[CloudDrive]:
    with run_clouds() as made:
        made.put("folder", None, name="folder")
        for n in range(3):
            made.put(f"f{n}", f"Paper {n}.".encode(), parent="folder", users=(MAIL,))
        yield made


async def loopback(host: str, port: int) -> list[str]:
    return [host if host[0].isdigit() else "127.0.0.1"]


def dependencies_of(find: Resolve = loopback) -> SourceDependencies:
    guard = EndpointGuard(("127.0.0.1", "localhost", "cloud.test"), find)
    return SourceDependencies(None, guard.check, guard.check_host)


@asynccontextmanager
async def opened(
    drive: CloudDrive, kind: str, dependencies: SourceDependencies | None = None, host: str = "127.0.0.1", **secret: str
) -> AsyncIterator[Source]:
    url = drive.url.replace("127.0.0.1", host)
    settings = {"endpoint": f"{url}/{BASES[kind]}", "token_url": f"{url}/token"}
    settings |= {"drive": "b!d"} if kind == "onedrive" else {}
    opening = SourceOpening(settings, secret or {"token": TOKEN})
    source = await SOURCE_KINDS[kind].open(opening, dependencies or dependencies_of())
    try:
        yield source
    finally:
        await source.close()


async def pages_of(source: Source, cursor: str | None = None) -> list[ListingPage]:
    return [page async for page in source.list_changes(cursor)]


async def items_of(source: Source, cursor: str | None = None) -> dict[str, SourceItem]:
    return {one.id: one for page in await pages_of(source, cursor) for one in page.items}


async def bytes_of(source: Source, item: SourceItem, *span: int) -> bytes:
    return b"".join([block async for block in source.read(item, *span)])


def cursor_of(pages: list[ListingPage]) -> str:
    (cursor,) = [page.cursor for page in pages if page.cursor]
    return cursor


def instead(name: str, answer: Callable[[], Response]) -> Callable[[str, Request], Response | None]:
    return lambda path, request: answer() if name in path else None


def garbage(rows: str) -> dict[str, bytes]:
    some = {"id": "a", "name": "a", ".tag": "file", "type": "file", "file": {}, "mimeType": "text/plain"}
    some |= {"path_display": "/a", "size": 3, "modifiedTime": "t", "content_hash": "h"}
    wrong: dict[str, Any] = {
        "an id that is a number": {"id": 5},
        "an id that is a path": {"id": "../../about"},
        "an id with half a surrogate pair": {"id": "a\ud800"},
        "an id that no database takes": {"id": "a\0b"},
        "a name that is a list": {"name": ["a"], "path_display": ["a"]},
        "a size that is a word": {"size": "many"},
        "a size below nothing": {"size": -1},
        "a size beyond everything": {"size": 10**30},
    }
    return {
        "nothing": b"",
        "half": b'{"%s": [{"id": "a", ' % rows.encode(),
        "a list": b"[]",
        "a word": b'"fine"',
        "null": b"null",
        "no JSON": b"<html>Welcome to the hotel's network</html>",
        "no UTF-8": b'{"%s": "\xff\xfe"}' % rows.encode(),
        "deep": b'{"a":' * 200_000,
        "deep lists": b"[" * 200_000,
        "an endless number": b'{"%s": 1%s}' % (rows.encode(), b"0" * 100_000),
        "no rows": b"{}",
        "rows that are numbers": b'{"%s": [1, 2]}' % rows.encode(),
        "rows that are an object": b'{"%s": {"a": 1}}' % rows.encode(),
        "a size without end": b'{"%s": [{"id": "a", "size": Infinity}]}' % rows.encode(),
        "10 MB": b'{"%s": "%s"}' % (rows.encode(), b"x" * 10_000_000),
        "40 MB": b" " * 40_000_000,
        **{name: json.dumps({rows: [some | one]}).encode() for name, one in wrong.items()},
    }


@pytest.mark.parametrize("kind", KINDS)
async def test_a_listing_of_garbage_is_a_service_that_is_away(drive: CloudDrive, kind: str) -> None:
    for name, body in garbage(ROWS[kind]).items():
        drive.instead = instead(LISTS[kind], lambda body=body: Response(body, 200))
        async with opened(drive, kind) as source:
            with pytest.raises(SourceAway) as caught:
                await pages_of(source)
            assert type(caught.value).__module__.startswith("pipelines"), name
            assert "Paper" not in str(caught.value) and len(str(caught.value)) < 400, name


def mutate(found: Any, rng: random.Random) -> Any:
    """The same with one thing replaced."""
    if isinstance(found, dict | list) and found and rng.random() < 0.85:
        key: Any = rng.choice(list(found)) if isinstance(found, dict) else rng.randrange(len(found))
        found[key] = mutate(found[key], rng)
        return found
    return rng.choice([None, True, 7, -1, 1e308, "", "x", "\0", "\ud800", "..", "a/b", [], {}, [[]], [{}], {"id": {}}])


@pytest.mark.parametrize("kind", KINDS)
async def test_whatever_single_thing_is_wrong_there_is_a_listing_or_an_error_with_a_name(
    drive: CloudDrive, kind: str
) -> None:
    rng = random.Random(7)
    drive.alters = lambda path, found: mutate(found, rng) if rng.random() < 0.4 else found
    ended = {"listed": 0, "failed": 0}
    for _ in range(10):
        async with opened(drive, kind) as source:
            for _ in range(40):
                try:
                    async with asyncio.timeout(5):
                        items = (await items_of(source)).values()
                except (SourceAway, SourceRefused):
                    ended["failed"] += 1
                    continue
                ended["listed"] += 1
                for one in items:
                    told = [one.id, one.version, one.path, *(one.rights.users if one.rights else ())]
                    assert "\0" not in "".join(told) and json.dumps(told, ensure_ascii=False).encode(), one
                    assert all(part not in ("", ".", "..") for part in one.path.split("/")), one
    assert min(ended.values()) > 5, ended


@pytest.mark.parametrize("kind", KINDS)
async def test_a_listing_that_goes_round_in_circles_ends(drive: CloudDrive, kind: str) -> None:
    def again(path: str, found: Any) -> Any:
        if kind == "onedrive" and "value" in found:
            found.pop("@odata.deltaLink", None)
            found["@odata.nextLink"] = f"{drive.url}/graph/v1.0/drives/b!d/root/delta?token=0&skip=0"
        elif kind == "google_drive" and ("files" in found or "changes" in found):
            found["nextPageToken"] = "0"
        elif kind == "dropbox":
            found |= {"has_more": True, "cursor": "1"}
        elif kind == "box":
            found["next_marker"] = "0"
        return found

    drive.alters = again
    async with opened(drive, kind) as source:
        async with asyncio.timeout(10):
            with pytest.raises(SourceAway, match="round in circles"):
                await pages_of(source)
        assert len(drive.seen) < 12
        if kind == "google_drive":
            with pytest.raises(SourceAway, match="round in circles"):
                await pages_of(source, "1")


@pytest.mark.parametrize("kind", KINDS)
async def test_pages_are_given_as_they_come(drive: CloudDrive, kind: str) -> None:
    for n in range(4 * PAGE):
        drive.put(f"g{n}", b"x", users=(MAIL,))
    async with opened(drive, kind) as source:
        async for page in source.list_changes(None):
            if page.items:
                break
        assert 0 < len(page.items) <= PAGE and len(drive.seen) <= 5, drive.seen
        drive.seen.clear()
        assert len(await items_of(source)) == 4 * PAGE + 3
        assert max(len(page.items) for page in await pages_of(source)) <= PAGE


@pytest.mark.parametrize("bad", ["5 ", "nonsense", "-3 x", "99999999999999 x", "0 http://10.0.0.9/", "\0", "5"])
@pytest.mark.parametrize("kind", ["onedrive", "google_drive"])
@pytest.mark.parametrize("status", [400, 404, 410])
async def test_a_cursor_that_leads_nowhere_means_that_everything_is_listed(
    drive: CloudDrive, kind: str, status: int, bad: str
) -> None:
    async with opened(drive, kind) as source:
        good = cursor_of(await pages_of(source))
        word = {"onedrive": "token=", "google_drive": "changes"}[kind]

        def refuse(path: str, request: Request) -> Response | None:
            is_start = path.endswith("startPageToken") or "token=0" in str(request.url)
            return Response(status_code=status) if word in str(request.url) and not is_start else None

        drive.instead = refuse
        for cursor in (good, bad):
            pages = await pages_of(source, cursor)
            assert all(page.full for page in pages) and cursor_of(pages)
            assert {one.id for page in pages for one in page.items} == {"f0", "f1", "f2"}


async def test_a_whole_listing_takes_back_what_changes_named_before(drive: CloudDrive) -> None:
    """The first page of changes names a file, the second a folder; by then the file has gone."""
    for kind in ("onedrive", "google_drive"):
        async with opened(drive, kind) as source:
            cursor = cursor_of(await pages_of(source))

            def changes(path: str, request: Request) -> Response | None:
                asked = request.query_params
                if path == "changes":
                    file = {"id": "gone", "name": "gone", "mimeType": "text/plain", "modifiedTime": "t"}
                    if asked["pageToken"] == "second":
                        file |= {"id": "folder", "mimeType": "application/vnd.google-apps.folder"}
                    return JSONResponse({"changes": [{"fileId": file["id"], "file": file}], "nextPageToken": "second"})
                if "delta" not in path or asked.get("token") in (None, "0"):
                    return None
                kind = {"folder": {}} if asked["token"] == "second" else {"file": {}}
                link = f"{drive.url}/graph/v1.0/drives/b!d/root/delta?token=second"
                return JSONResponse({"value": [{"id": "gone", "name": "gone", **kind}], "@odata.nextLink": link})

            drive.instead = changes
            pages = await pages_of(source, cursor)
            assert [one.id for page in pages if not page.full for one in page.items] == ["gone"]
            first = next(page for page in pages if page.full)
            assert list(first.removed) == ["gone"] and not first.items
            assert [one.id for page in pages if page.full for one in page.items] == ["f0", "f1", "f2"]
            drive.instead = lambda path, request: None


async def test_a_drive_that_names_no_paths_has_them_from_its_folders(drive: CloudDrive) -> None:
    drive.put("inner", None, name="in/ner", parent="folder")
    drive.put("deep", b"x", parent="inner", users=(MAIL,))
    drive.put("top", b"x", users=(MAIL,))
    drive.bare = True
    async with opened(drive, "onedrive") as source:
        pages = await pages_of(source)
        paths = {one.id: one.path for page in pages for one in page.items}
        assert paths["deep"] == "folder/in∕ner/deep.txt" and paths["top"] == "top.txt"
    drive.put("later", b"x", parent="inner", users=(MAIL,))
    async with opened(drive, "onedrive") as source:  # it has to ask for the folders
        (item,) = (await items_of(source, cursor_of(pages))).values()
        assert item.path == "folder/in∕ner/later.txt"


async def test_a_folder_that_changes_while_everything_is_listed_means_the_next_time_everything_is_listed(
    drive: CloudDrive,
) -> None:
    def twice(path: str, found: Any) -> Any:
        found.get("value", []).append({"id": "folder", "name": "other", "folder": {}})
        return found

    async with opened(drive, "onedrive") as source:
        cursor = cursor_of(await pages_of(source))
        assert not cursor.startswith("0 ")
        drive.alters = twice
        cursor = cursor_of(await pages_of(source))
        drive.alters = None
        assert all(page.full for page in await pages_of(source, cursor))


async def test_permissions_of_which_some_come_later_and_on_several_pages(drive: CloudDrive) -> None:
    drive.throttled = 2

    def more(path: str, found: Any) -> Any:
        for one in found.get("responses", []):
            if one["status"] == 200:
                one["body"]["@odata.nextLink"] = f"{drive.url}/graph/v1.0/more?n={one['id']}"
        return found

    drive.alters = more
    told = {"value": [{"grantedToV2": {"group": {"displayName": "Harbour"}}}]}
    drive.instead = instead("more", lambda: JSONResponse(told))
    async with opened(drive, "onedrive") as source:
        items = await items_of(source)
        assert {one.rights for one in items.values()} == {ItemRights((MAIL,), ("Harbour",))}
        drive.throttled = 10_000
        with pytest.raises(SourceAway, match="busy"):
            await items_of(source)


def test_a_domain_is_a_group_only_where_its_people_find_the_file() -> None:
    """Where they need the link, whoever was not given it does not see the file (Drive API: allowFileDiscovery)."""

    async def rights() -> dict[str, ItemRights | None]:
        with run_clouds() as drive:
            for name, found in (("found", True), ("link", False), ("untold", None)):
                drive.put(name, b"x", users=(MAIL,), domains=(("corp.example", found),))
            async with opened(drive, "google_drive") as source:
                return {one.id: one.rights for one in (await items_of(source)).values()}

    told = asyncio.run(rights())
    assert told["found"] == ItemRights((MAIL,), ("corp.example",))
    assert told["link"] == told["untold"] == ItemRights((MAIL,))


@pytest.mark.parametrize("kind", KINDS)
async def test_bytes_that_lie_where_nobody_may_connect_are_the_fault_of_one_item(drive: CloudDrive, kind: str) -> None:
    async with opened(drive, kind) as source:
        items = list((await items_of(source)).values())

        def lead(path: str, request: Request) -> Response | None:
            arg = request.headers.get("dropbox-api-arg", "")
            is_first = f"{items[0].id}/content" in path or f"{items[0].id}?" in str(request.url) or items[0].id in arg
            return RedirectResponse("http://10.0.0.9/secret", 302) if is_first else None

        drive.instead = lead
        with pytest.raises(SourceRefused, match="not a public address"):
            await bytes_of(source, items[0])
        assert await bytes_of(source, items[1]) == b"Paper 1."
        for location in ("file:///etc/passwd", "http://[::1/x", "gopher://x/", ""):
            drive.instead = lambda path, request, to=location: Response(status_code=302, headers={"location": to})
            with pytest.raises((SourceRefused, SourceAway)):
                await bytes_of(source, items[0])
            with pytest.raises((SourceRefused, SourceAway)):
                await pages_of(source)
        for status, error in ((410, ItemGone), (404, ItemGone), (403, SourceRefused), (304, SourceRefused)):
            drive.instead = lambda path, request, code=status: Response(status_code=code)
            with pytest.raises(error):
                await bytes_of(source, items[0])
        drive.instead = lambda path, request: Response(status_code=416)
        assert await bytes_of(source, items[0], 900) == b""


@pytest.mark.parametrize("kind", KINDS)
async def test_a_name_that_means_an_inner_address_at_the_second_question_is_not_connected_to(
    drive: CloudDrive, kind: str
) -> None:
    left = [["127.0.0.1"], ["10.0.0.9"]]

    async def find(host: str, port: int) -> list[str]:
        return left.pop(0) if len(left) > 1 else left[0]

    guard = EndpointGuard(("127.0.0.1",), find)
    dependencies = SourceDependencies(None, guard.check, guard.check_host)
    with pytest.raises(Exception, match="not a public address"):
        async with opened(drive, kind, dependencies, "cloud.test") as source:
            await pages_of(source)
    assert drive.seen == []


@pytest.mark.parametrize("kind", KINDS)
async def test_a_name_that_has_no_address_for_a_while_is_a_service_that_is_away(drive: CloudDrive, kind: str) -> None:
    asked = [0]

    async def find(host: str, port: int) -> list[str]:
        asked[0] += 1
        if asked[0] > (2 if kind == "dropbox" else 1):  # whose bytes have a base URL of their own
            raise Unavailable(f"{host} cannot be resolved")
        return ["127.0.0.1"]

    async with opened(drive, kind, dependencies_of(find), "cloud.test") as source:
        with pytest.raises(SourceAway, match="cannot be resolved"):
            await pages_of(source)


@pytest.mark.parametrize(
    ("told", "waits"),
    [
        ("0", [0.25, 0.25, 0.25]),
        ("5", [5, 5, 5]),
        (None, [1, 2, 4]),
        ("-7", [1, 2, 4]),
        ("inf", [1, 2, 4]),
        ("tomorrow", [1, 2, 4]),
        ("259200", []),
        ("Fri, 01 Jan 2100 00:00:00 GMT", []),
        ("Mon, 01 Jan 2001 00:00:00 GMT", [1, 2, 4]),
    ],
)
@pytest.mark.parametrize("status", [429, 503])
async def test_nobody_is_asked_again_without_a_rest(
    drive: CloudDrive, told: str | None, waits: list[float], status: int
) -> None:
    slept: list[float] = []

    async def pause(seconds: float) -> None:
        slept.append(seconds)

    headers = {} if told is None else {"retry-after": told}
    drive.instead = lambda path, request: Response("x" * 1_000_000, status, headers=headers)
    dependencies = dependencies_of()
    http = checked_client(dependencies)
    tokens = CloudTokens(http, {"token": TOKEN}, TokenEndpoint(f"{drive.url}/token"))
    client = CloudClient(http, f"{drive.url}/box/2.0", tokens, dependencies.check_endpoint, pause)
    with pytest.raises(SourceAway, match=str(status)):
        await client.get("folders/0/items")
    assert slept == waits and len(drive.seen) == len(waits) + 1
    await client.close()


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (200, b"[" * 100_000, SourceAway),
        (200, b'{"access_token": ', SourceAway),
        (200, b'{"access_token": 5}', SourceAway),
        (200, b'{"access_token": "a\\nX-Evil: 1"}', SourceAway),
        (200, b'{"access_token": "t", "expires_in": "soon"}', SourceAway),
        (200, b"x" * 200_000, SourceAway),
        (429, b"", SourceAway),
        (500, b"", SourceAway),
        (400, b'{"error": "invalid_grant"}', SourceRefused),
        (302, b"", SourceRefused),
    ],
)
async def test_a_token_endpoint_that_gives_no_token(
    drive: CloudDrive, status: int, body: bytes, error: type[Exception]
) -> None:
    drive.token_answer = Response(body, status, headers={"location": f"{drive.url}/elsewhere/f0"})
    async with opened(drive, "box", client_id="c", client_secret="s") as source:
        with pytest.raises(error):
            await pages_of(source)
    assert drive.seen == [] and drive.read == []


async def test_a_token_that_is_said_to_end_at_once_is_not_asked_for_with_every_request(drive: CloudDrive) -> None:
    for seconds in ("0", "-5", '"nan"', "1e999"):
        body = b'{"access_token": "the-token", "expires_in": %s}' % seconds.encode()
        drive.tokens, drive.token_answer = 0, Response(body, 200)
        async with opened(drive, "box", client_id="c", client_secret="s") as source:
            await pages_of(source)
        assert drive.tokens == 1, seconds
