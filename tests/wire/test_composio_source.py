"""Four clouds through Composio's tools, over a recorded server: layers of a download, lies, limits, and its key."""

import base64
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from starlette.responses import JSONResponse, RedirectResponse, Response

from pipelines.documents.sources.cloud.composio_content import from_base64, urls_in
from pipelines.documents.sources.source_kinds import SOURCE_KINDS
from pipelines.documents.sources.source_port import (
    BrowsableSource,
    Source,
    SourceAway,
    SourceFolder,
    SourceInvalid,
    SourceItem,
    SourceOpening,
    SourceRefused,
)
from tests.fakes.cloud_server import DOC
from tests.fakes.composio_server import ACCOUNT, APPS, INLINE, KEY, ComposioDrive, done, failed, garbage, run_composio
from tests.wire.test_cloud_listing import bytes_of, dependencies_of, items_of, pages_of

LONG = b"The toll of the harbour is paid at noon. " * 600


@pytest.fixture
def drive() -> Iterator[ComposioDrive]:
    with run_composio() as made:
        made.put("folder", None, name="folder")
        for n in range(3):
            made.put(f"f{n}", f"Paper {n}.".encode() + LONG, parent="folder")
        yield made


@asynccontextmanager
async def opened(drive: ComposioDrive, app: str, key: str = KEY, **more: str) -> AsyncIterator[Source]:
    settings = {"endpoint": f"{drive.url}/api/v3", "app": app, "account": ACCOUNT, **more}
    source = await SOURCE_KINDS["composio"].open(SourceOpening(settings, {"api_key": key}), dependencies_of())
    try:
        yield source
    finally:
        await source.close()


async def first(source: Source, id_: str = "f0") -> SourceItem:
    return (await items_of(source))[id_]


@pytest.mark.parametrize("app", APPS)
async def test_cs_01_every_cloud_is_listed_in_pages_and_read_whole(drive: ComposioDrive, app: str) -> None:
    """CS-01, CS-02: by links to a host that fails the test where it is given the key."""
    drive.put("inner", None, name="in/ner", parent="folder")
    for n in range(120):
        drive.put(f"g{n:03}", f"Paper {n}.".encode() + LONG, parent="inner")
    drive.put("lock", b"A program's own.", name="~$lock.docx", parent="inner")
    async with opened(drive, app) as source:
        items = await items_of(source)
        assert len(items) == 123 and items["f0"].path == "folder/f0.txt"
        inner = "folder/in/ner" if app == "dropbox" else "folder/in∕ner"
        assert items["g001"].path == f"{inner}/g001.txt" and items["g001"].size == len(b"Paper 1.") + len(LONG)
        spans: list[tuple[int, ...]] = [(), (6,), (6, 2)]
        got = [await bytes_of(source, items["g007"], *span) for span in spans]
        assert got == [b"Paper 7." + LONG, b"7." + LONG, b"7."]
    assert {body["connected_account_id"] for body in drive.bodies} == {ACCOUNT}
    assert {body["version"] for body in drive.bodies} == {"latest"}


@pytest.mark.parametrize("app", APPS)
async def test_cs_02_a_link_comes_before_what_is_inline_and_inline_where_a_link_gives_nothing(
    drive: ComposioDrive, app: str
) -> None:
    """CS-02: URL keys, then content keys, then base64."""
    body = drive.files["f0"].data or b""
    inline = base64.b64encode(body).decode()
    async with opened(drive, app) as source:
        item = await first(source)
        drive.instead = lambda tool, asked: done({INLINE[app]: "a piece", "meta": {"downloadUrl": drive.link("f0")}})
        assert await bytes_of(source, item) == body
        for link in ("", "http://10.0.0.9/secret", "file:///etc/passwd", "http://[::1/x", drive.link("f0")):
            drive.bytes_instead = lambda id_: Response(b"<Error><Code>AccessDenied</Code></Error>", 403)
            drive.instead = lambda tool, asked, link=link: done({"s3url": link, INLINE[app]: inline})
            assert await bytes_of(source, item) == body, link
            assert await bytes_of(source, item, 6, 2) == b"0.", link
        plain = body.decode()
        drive.instead = lambda tool, asked: done({INLINE[app]: plain})
        assert await bytes_of(source, item) == body
        for answer in (done({}), done({"file_path": "/tmp/f0.txt"}), done({"content": {"uri": "/tmp/f0"}})):
            drive.instead = lambda tool, asked, answer=answer: answer
            with pytest.raises(SourceRefused, match="without the bytes"):
                await bytes_of(source, item)


@pytest.mark.parametrize("app", APPS)
async def test_cs_02_a_piece_is_never_the_file(drive: ComposioDrive, app: str) -> None:
    """CS-02: an inline answer that is shorter than its listing says, or below 2048 bytes of Google Drive."""
    drive.linked, drive.pieces = False, 500
    drive.put("small", b"A small paper.", parent="folder")
    async with opened(drive, app) as source:
        items = await items_of(source)
        with pytest.raises(SourceRefused, match="truncated: 500 bytes of"):
            await bytes_of(source, items["f0"])
        drive.pieces = None
        assert await bytes_of(source, items["f0"]) == drive.files["f0"].data
        assert await bytes_of(source, items["small"]) == b"A small paper.", "its digest or its size says it is whole"
        if app == "googledrive":
            drive.instead = lambda tool, asked: done({"content": "A small papyr."})
            with pytest.raises(SourceRefused, match="truncated: Google Drive gives 14 bytes inline"):
                await bytes_of(source, items["small"])
        drive.instead = lambda tool, asked: done({"s3url": drive.link("f0")})
        drive.bytes_instead = lambda id_: Response(LONG[:9000])
        if app == "onedrive":  # SharePoint counts otherwise than it gives
            assert len(await bytes_of(source, items["f0"])) == 9000
        else:
            for part in ((), (8_990, 20)):
                with pytest.raises(SourceRefused, match="truncated: 9000 bytes of"):
                    await bytes_of(source, items["f0"], *part)
        drive.bytes_instead = lambda id_: None
        for start, length in ((0, 5), (16_380, 10), (20_000, 100), (24_000, None)):
            end = None if length is None else start + length
            whole = drive.files["f0"].data or b""
            assert b"".join([b async for b in source.read(items["f0"], start, length)]) == whole[start:end]


RECEIPTS = {
    "a link": b"https://r2.example/abc?X-Amz-Signature=1\n",
    "a status": b'{"successful": true, "message": "File downloaded", "s3url": ""}',
    "a link in JSON": b'{"webContentLink": "https://drive.example/x", "id": "f0", "name": "f0"}',
    "an error of S3": b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>',
    "a page": b"<!DOCTYPE html><html><title>Sign in</title></html>",
    "a long page": b"<html><title>Sign in</title>" + b"<p>please</p>" * 9000 + b"</html>",
}


@pytest.mark.parametrize("receipt", RECEIPTS)
@pytest.mark.parametrize("app", ["googledrive", "onedrive"])
async def test_cs_02_a_receipt_is_refused(drive: ComposioDrive, app: str, receipt: str) -> None:
    """CS-02: also where no size can tell it: of Google's own documents, and of SharePoint's, that counts otherwise."""
    drive.put("memo", LONG, name="memo.docx", google=DOC if app == "googledrive" else "")
    body = RECEIPTS[receipt]
    async with opened(drive, app) as source:
        item = await first(source, "memo")
        drive.bytes_instead = lambda id_: Response(body)
        parts: list[tuple[int, ...]] = [(), (2,), (2, 4), (20_000, 5)]
        for part in parts:
            with pytest.raises(SourceRefused, match="instead of the file"):
                await bytes_of(source, item, *part)
        drive.instead = lambda tool, asked: done({INLINE[app]: body.decode()})
        with pytest.raises(SourceRefused, match="instead of the file"):
            await bytes_of(source, item)


@pytest.mark.parametrize("app", APPS)
async def test_cs_02_a_small_file_that_looks_like_a_receipt_is_a_file(drive: ComposioDrive, app: str) -> None:
    """Its size is the one that the listing says."""
    bodies = {"config.json": b'{"url": "https://example.com", "name": "a"}', "page.txt": b"<html>hello</html>"}
    for name, body in bodies.items():
        drive.put(name, body, name=name)
    async with opened(drive, app) as source:
        items = await items_of(source)
        for drive.linked in (True, False):
            assert {name: await bytes_of(source, items[name]) for name in bodies} == bodies
            for name, body in bodies.items():
                assert await bytes_of(source, items[name], 2, 4) == body[2:6]


async def test_documents_of_googles_own_are_asked_for_as_office_files(drive: ComposioDrive) -> None:
    drive.put("memo", LONG, name="Memo", google=DOC)
    drive.put("form", b"", name="Form", google="application/vnd.google-apps.form")
    async with opened(drive, "googledrive") as source:
        items = await items_of(source)
        assert "form" not in items and (items["memo"].path, items["memo"].size) == ("Memo.docx", None)
        assert await bytes_of(source, items["memo"]) == b"exported: " + LONG
        tool, asked = drive.calls[-1]
        assert tool == "GOOGLEDRIVE_DOWNLOAD_FILE" and "wordprocessingml" in asked["mime_type"]
        drive.linked, drive.pieces = False, 500
        with pytest.raises(SourceRefused, match="truncated"):
            await bytes_of(source, items["memo"])


@pytest.mark.parametrize("app", APPS)
async def test_half_a_listing_is_no_listing(drive: ComposioDrive, app: str) -> None:
    for n in range(60):
        drive.put(f"g{n}", b"x" * 3000)
    drive.cut = True
    async with opened(drive, app) as source:
        with pytest.raises(SourceAway, match=r"breaks its listing off|look everywhere"):
            await pages_of(source)
    drive.cut = False
    tokens: dict[str, Any] = {"nextPageToken": "0", "next_page_token": "0", "next_marker": "0"}
    rows: dict[str, Any] = {"files": [], "value": [], "entries": [], "has_more": True, "cursor": "0"}
    drive.instead = lambda tool, asked: done(rows | tokens)
    async with opened(drive, app) as source:
        with pytest.raises(SourceAway, match="round in circles"):
            await pages_of(source)


@pytest.mark.parametrize("body", garbage().values(), ids=garbage().keys())
@pytest.mark.parametrize("app", APPS)
async def test_nonsense_is_a_service_that_is_away(drive: ComposioDrive, app: str, body: bytes) -> None:
    async with opened(drive, app) as source:
        item = await first(source)
        drive.instead = lambda tool, asked: Response(body)
        with pytest.raises(SourceAway):
            await pages_of(source)
        with pytest.raises((SourceAway, SourceRefused)):
            await bytes_of(source, item)


@pytest.mark.parametrize("app", APPS)
async def test_patience_and_what_a_tool_that_failed_means(drive: ComposioDrive, app: str) -> None:
    drive.busy = 2
    async with opened(drive, app) as source:
        item = await first(source)
        drive.instead = lambda tool, asked: Response("slow down", 429, headers={"retry-after": "259200"})
        with pytest.raises(SourceAway, match="429"):
            await pages_of(source)
        drive.instead = lambda tool, asked: failed(f"429 Too Many Requests for key {KEY}")
        with pytest.raises(SourceAway, match="429") as told:
            await bytes_of(source, item)
        assert KEY not in str(told.value)
        drive.instead = lambda tool, asked: failed("Forbidden: see https://cloud.example/?token=s3cr3t\n\0")
        with pytest.raises(SourceRefused, match="Forbidden") as refused:
            await pages_of(source)
        assert "s3cr3t" not in str(refused.value) and "\0" not in str(refused.value)
        drive.instead = lambda tool, asked: JSONResponse({"error": {"message": "no such tool"}}, 404)
        with pytest.raises(SourceRefused, match="no such tool or connected account"):
            await bytes_of(source, item)
    async with opened(drive, app, "ak_wrong") as source:
        with pytest.raises(SourceRefused, match="401"):
            await pages_of(source)
    async with opened(drive, app, account="ca_other") as source:
        drive.instead = lambda tool, asked: None
        with pytest.raises(SourceRefused, match="connected account"):
            await pages_of(source)


@pytest.mark.parametrize("app", [one for one in APPS if one != "dropbox"])
async def test_a_folder_that_is_closed_is_a_fault_and_the_root_is_an_error(drive: ComposioDrive, app: str) -> None:
    drive.put("top", LONG)
    drive.refused.add("folder")
    async with opened(drive, app) as source:
        pages = await pages_of(source)
        assert [fault.path for page in pages for fault in page.faults] == ["folder"]
        assert [one.id for page in pages for one in page.items] == ["top"]
    async with opened(drive, app, folder="folder") as source:
        with pytest.raises(SourceRefused, match="folder folder"):
            await pages_of(source)


@pytest.mark.parametrize("app", APPS)
async def test_a_link_leads_to_no_inner_address_at_once_or_by_a_redirect(drive: ComposioDrive, app: str) -> None:
    async with opened(drive, app) as source:
        item = await first(source)
        drive.instead = lambda tool, asked: done({"s3url": "http://169.254.169.254/latest/meta-data"})
        with pytest.raises(SourceRefused, match="not a public address"):
            await bytes_of(source, item)
        drive.instead = lambda tool, asked: done({"s3url": drive.link("f0")})
        for there in ("http://10.0.0.9/secret", "https://192.168.0.1/", "file:///etc/passwd"):
            drive.bytes_instead = lambda id_, there=there: RedirectResponse(there, 302)
            with pytest.raises(SourceRefused):
                await bytes_of(source, item)
        drive.bytes_instead = lambda id_: None if id_ != "f0" else RedirectResponse(f"{drive.url}/r2/f1", 302)
        assert await bytes_of(source, item) == drive.files["f1"].data, "one to a host that may be reached is followed"
        drive.bytes_instead = lambda id_: Response(status_code=404)
        with pytest.raises(SourceRefused, match="leads nowhere"):
            await bytes_of(source, item)


@pytest.mark.parametrize("app", APPS)
async def test_folders_are_browsed_one_level_at_a_time(drive: ComposioDrive, app: str) -> None:
    drive.put("inner", None, name="inner", parent="folder")
    drive.put("bin", None, name="$RECYCLE.BIN")
    async with opened(drive, app) as source:
        assert isinstance(source, BrowsableSource)
        (top,) = await source.list_folders(None)
        assert top == SourceFolder("/folder" if app == "dropbox" else "folder", "folder")
        assert [one.name for one in await source.list_folders(top.id)] == ["inner"]


@pytest.mark.parametrize(
    ("settings", "secret", "told"),
    [
        ({"app": "icloud"}, {"api_key": KEY}, "there is no app"),
        ({"endpoint": ""}, {"api_key": KEY}, "neither endpoint nor public"),
        ({"endpoint": "", "public": "no"}, {"api_key": KEY}, "neither endpoint nor public"),
        ({"public": "perhaps"}, {"api_key": KEY}, "yes or no"),
        ({}, {}, "no api_key"),
        ({}, {"api_key": "a\nb: c"}, "no api_key"),
        ({"list_tool": "../../auth_configs"}, {"api_key": KEY}, "no name of a tool"),
    ],
)
async def test_nothing_leaves_unless_somebody_has_said_where(
    drive: ComposioDrive, settings: dict[str, str], secret: dict[str, str], told: str
) -> None:
    base = {"endpoint": f"{drive.url}/api/v3", "app": "box", "account": ACCOUNT}
    with pytest.raises(SourceInvalid, match=told):
        await SOURCE_KINDS["composio"].open(SourceOpening(base | settings, secret), dependencies_of())
    assert drive.calls == []


def test_only_what_can_be_nothing_else_is_base64() -> None:
    packed = base64.b64encode(LONG).decode()
    assert from_base64(packed) == LONG == from_base64("\n".join(packed[n : n + 76] for n in range(0, len(packed), 76)))
    for text in (
        "",
        "=",
        "abc",
        "two words",
        "A small paper.",
        f"{packed}=",
        packed[:-5],
        "QQ=",
        "QR==",
        "Q\x00==",
        "é===",
    ):
        assert from_base64(text) is None, text


def test_links_are_found_in_their_order_and_not_too_deep() -> None:
    deep: dict[str, Any] = {"s3url": "https://deep"}
    for _ in range(9):
        deep = {"a": deep}
    data = {"webContentLink": "https://last", "content": {"s3url": " https://first ", "downloadUrl": ""}, "b": deep}
    assert urls_in(data) == ["https://first", "https://last"]
