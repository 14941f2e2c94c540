"""Clouds as sources, over servers that answer as their APIs are described: SharePoint, Google Drive, Dropbox, Box."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from cluster.basics.scope import Scope
from pipelines.documents.sources.source_port import SourceRefused
from pipelines.documents.sync.source_sync import SyncCutOff
from tests.fakes.cloud_server import DOC, TOKEN, CloudDrive, run_clouds
from tests.fakes.ledger import Bench
from tests.fakes.shelves import SyncBench, sync_bench
from tests.postgres.test_s3_source import credential
from tests.postgres.test_source_sync import person

KINDS = ("onedrive", "google_drive", "dropbox", "box")
BASES = {"onedrive": "graph/v1.0", "google_drive": "drive/v3", "dropbox": "dropbox/2", "box": "box/2.0"}
RIGHTS = ("onedrive", "google_drive")


@pytest.fixture
def drive() -> Iterator[CloudDrive]:
    with run_clouds() as made:
        yield made


@pytest.fixture
def sources(ledger: Bench, scope: Scope) -> SyncBench:
    return sync_bench(ledger, scope, None, allow=("127.0.0.1", "localhost"))


@pytest.fixture
async def ann(ledger: Bench, scope: Scope, admin_dsn: str) -> str:
    """Somebody whom the clouds know by the same address."""
    mail = f"ann-{uuid4().hex[:8]}@corp.example"
    await person(ledger, scope, admin_dsn, mail)
    return mail


def settings_of(drive: CloudDrive, kind: str) -> dict[str, str]:
    more = {"drive": "b!d"} if kind == "onedrive" else {}
    return {"endpoint": f"{drive.url}/{BASES[kind]}", "token_url": f"{drive.url}/token", **more}


async def added(sources: SyncBench, ledger: Bench, scope: Scope, drive: CloudDrive, kind: str, **more: Any) -> str:
    name = await credential(ledger, scope, more.pop("secret", {"token": TOKEN}))
    settings = settings_of(drive, kind) | more.pop("settings", {})
    return await sources.add(kind, settings, credential=name, **more)


def fill(drive: CloudDrive, ann: str, count: int = 200) -> None:
    for n in range(7):
        drive.put(f"folder{n}", None, name=f"folder {n}")
    for n in range(count):
        parent = "root" if n % 8 == 7 else f"folder{n % 8}"
        drive.put(f"f{n:03}", f"Paper {n} tells of harbour {n}.".encode(), parent=parent, users=(ann,))


def reader_of(kind: str, ann: str) -> str:
    return f"user:{ann}" if kind in RIGHTS else "user:x@x"


@pytest.mark.parametrize("kind", KINDS)
async def test_a_cloud_of_200_is_read_once_and_then_only_what_changed(
    sources: SyncBench, ledger: Bench, scope: Scope, drive: CloudDrive, ann: str, kind: str
) -> None:
    """CS-01, CS-07: also by their own APIs, without anybody between; what is unmodified is not read."""
    fill(drive, ann)
    drive.put("lock", b"A program's own.", name="~$lock.docx")
    source = await added(sources, ledger, scope, drive, kind)
    assert await sources.sync(source) == {"listed": 200, "added": 200}
    assert len(await sources.documents(reader_of(kind, ann))) == 200 == len(drive.read)
    before = await sources.ids()
    drive.read.clear()
    for n in range(5):
        drive.put(f"new{n}", f"New paper {n}.".encode(), users=(ann,))
        drive.put(f"f{n:03}", f"Paper {n} tells of another harbour.".encode())
        drive.drop(f"f{n + 10:03}")
        drive.put(f"f{n + 20:03}", drive.files[f"f{n + 20:03}"].data, name=f"moved{n}.txt", parent="folder3")
    counts = await sources.sync(source)
    counts.pop("listed")
    assert counts == {"added": 5, "changed": 5, "moved": 5, "unchanged": 185, "removed": 5}
    assert sorted(drive.read) == sorted([f"new{n}" for n in range(5)] + [f"f{n:03}" for n in range(5)])
    now = await sources.ids()
    assert {now[f"moved{n}.txt"] for n in range(5)} == {before[f"f{n + 20:03}.txt"] for n in range(5)}
    found = await sources.documents(reader_of(kind, ann))
    assert len(found) == 200 and found["f000.txt"] == "Paper 0 tells of another harbour."


@pytest.mark.parametrize("kind", KINDS)
async def test_a_folder_that_is_renamed_moves_what_is_below_it_and_nothing_is_read(
    sources: SyncBench, ledger: Bench, scope: Scope, drive: CloudDrive, ann: str, kind: str
) -> None:
    fill(drive, ann, 20)
    source = await added(sources, ledger, scope, drive, kind)
    await sources.sync(source)
    drive.read.clear()
    drive.put("folder1", None, name="another name")
    counts = await sources.sync(source)
    assert counts["moved"] == 3 and drive.read == []
    rows = await ledger.rows(scope, "select path from source_items where path like 'another name/%%'")
    assert len(rows) == 3


@pytest.mark.parametrize("kind", RIGHTS)
async def test_rights_follow_and_links_and_strangers_are_nobody(
    sources: SyncBench, ledger: Bench, scope: Scope, drive: CloudDrive, ann: str, kind: str
) -> None:
    drive.put("a", b"For Ann.", users=(ann.upper(), "eve@elsewhere.example"))
    drive.put("b", b"For whoever has the link.", links=("anonymous", "organization"))
    drive.put("c", b"For some group.", groups=("people of nowhere",))
    drive.put("d", b"Nobody knows whose.", users=(ann,))
    drive.refused.add("d")
    source = await added(sources, ledger, scope, drive, kind)
    await sources.sync(source)
    everybody = (f"user:{ann}", "role:admin", "role:viewer")
    assert list(await sources.documents(*everybody)) == ["a.txt"]
    drive.refused.clear()
    drive.put("a", b"For Ann.", users=())
    drive.put("b", drive.files["b"].data, users=(ann,))
    read = len(drive.read)
    await sources.sync(source)
    assert list(await sources.documents(*everybody)) == ["b.txt"]
    assert len(drive.read) == read


@pytest.mark.parametrize("kind", KINDS)
async def test_a_cloud_that_lies_deletes_nothing(
    sources: SyncBench, ledger: Bench, scope: Scope, drive: CloudDrive, ann: str, kind: str
) -> None:
    fill(drive, ann, 120)
    source = await added(sources, ledger, scope, drive, kind)
    await sources.sync(source)
    whole = dict(drive.files)

    async def told(expected: str) -> None:
        await sources.start(source)
        with pytest.raises(Exception) as caught:
            await ledger.run()
        assert getattr(caught.value, "code", "") == expected, caught.value
        async with ledger.database.transaction(scope) as tx:
            await tx.run("update jobs set state = 'cancelled' where state in ('queued', 'running')")
        assert len(await sources.documents(reader_of(kind, ann))) == 120

    drive.forgets = kind in RIGHTS  # then everything is listed again, and that breaks off
    drive.cut = True
    await told("source_away")
    drive.forgets = drive.cut = False
    drive.broken = {"onedrive": "delta", "google_drive": "changes", "dropbox": "list_folder", "box": "folders"}[kind]
    await told("source_away")
    drive.broken = ""
    drive.files.clear()
    drive.forgets = kind in RIGHTS
    await sources.sync(source)
    assert len(await sources.documents(reader_of(kind, ann))) == 120
    assert (await sources.show(source))["waiting"]["reason"] == "empty"
    drive.files.update(whole)
    await sources.sync(source)
    assert len(await sources.documents(reader_of(kind, ann))) == 120


async def test_a_folder_of_box_that_is_closed_keeps_what_is_known_of_it(
    sources: SyncBench, ledger: Bench, scope: Scope, drive: CloudDrive, ann: str
) -> None:
    fill(drive, ann, 40)
    source = await added(sources, ledger, scope, drive, "box")
    await sources.sync(source)
    drive.refused.add("folder2")
    counts = await sources.sync(source)
    assert counts["waiting"] == 5 and counts["faults"] == 1
    assert len(await sources.documents("user:x@x")) == 40


@pytest.mark.parametrize("kind", KINDS)
async def test_patience_tokens_that_end_and_bytes_from_elsewhere_without_the_token(
    sources: SyncBench, ledger: Bench, scope: Scope, drive: CloudDrive, ann: str, kind: str
) -> None:
    """The host of the bytes fails the test where it is given the token."""
    drive.put("a", b"0123456789", users=(ann,))
    keys = {"client_id": "c", "client_secret": "s"}
    opener = sources.parts.opener
    name = await credential(ledger, scope, keys)
    opened = await opener.open(scope, kind, settings_of(drive, kind), name)
    drive.busy = 2
    (item,) = [one async for page in opened.list_changes(None) for one in page.items]
    drive.tokens += 1  # somebody has ended the token that it has
    spans: list[tuple[int, ...]] = [(), (4,), (4, 3)]
    got = [b"".join([block async for block in opened.read(item, *span)]) for span in spans]
    assert got == [b"0123456789", b"456789", b"456"]
    await opened.close()
    wrong = await credential(ledger, scope, keys | {"client_secret": "no"})
    with pytest.raises(SourceRefused) as caught:
        other = await opener.open(scope, kind, settings_of(drive, kind), wrong)
        [page async for page in other.list_changes(None)]
    assert "invalid_client" in str(caught.value) and "s3cr3t" not in str(caught.value)


async def test_documents_of_googles_own_come_as_office_files(
    sources: SyncBench, ledger: Bench, scope: Scope, drive: CloudDrive, ann: str
) -> None:
    drive.put("memo", b"of the harbour", name="Memo", google=DOC, users=(ann,))
    drive.put("form", b"", name="Form", google="application/vnd.google-apps.form", users=(ann,))
    name = await credential(ledger, scope, {"token": TOKEN})
    opened = await sources.parts.opener.open(scope, "google_drive", settings_of(drive, "google_drive"), name)
    (item,) = [one async for page in opened.list_changes(None) for one in page.items]
    assert (item.path, item.size) == ("Memo.docx", None)
    assert b"".join([block async for block in opened.read(item)]) == b"exported: of the harbour"
    plain = [block async for block in opened.read(replace(item, version="text/plain"))]
    assert b"".join(plain) == b"of the harbour"
    await opened.close()


async def test_a_file_that_is_deleted_while_everything_is_listed_is_not_there(
    sources: SyncBench, ledger: Bench, scope: Scope, drive: CloudDrive, ann: str
) -> None:
    """The service names it twice; no later list of changes tells of it again."""
    drive.put("stays", b"It stays.", users=(ann,))
    drive.put("goes", b"It goes.", users=(ann,))
    source = await added(sources, ledger, scope, drive, "onedrive")
    await sources.sync(source)
    base = f"{drive.url}/graph/v1.0/drives/b!d/root/delta"

    def pages(path: str, request: Request) -> Response | None:
        token = request.query_params.get("token")
        if "delta" not in path or token == "last":
            return None
        if token != "second":
            rows = [{"id": one, "name": f"{one}.txt", "file": {}, "cTag": "c1"} for one in ("stays", "goes", "never")]
            return JSONResponse({"value": rows, "@odata.nextLink": f"{base}?token=second"})
        gone = [{"id": one, "deleted": {}} for one in ("goes", "never")]
        return JSONResponse({"value": gone, "@odata.deltaLink": f"{base}?token=last"})

    drive.instead = pages
    drive.read.clear()
    await ledger.rows(scope, "update sources set cursor = null returning id")
    counts = await sources.sync(source)
    assert counts["listed"] == 1 and drive.read == []
    assert (await sources.show(source))["waiting"]["reason"] == "many"


@pytest.mark.parametrize("kind", KINDS)
async def test_an_item_that_lies_where_nobody_may_connect_keeps_no_other(
    sources: SyncBench, ledger: Bench, scope: Scope, drive: CloudDrive, ann: str, kind: str
) -> None:
    for name in ("a", "b", "c"):
        drive.put(name, f"Paper {name}.".encode(), users=(ann,))

    def lead(path: str, request: Request) -> Response | None:
        told = f"{request.url} {request.headers.get('dropbox-api-arg')}"
        is_it = any(word in told for word in ("/b/content", "/b?alt=media", '"b"'))
        return RedirectResponse("http://10.0.0.9/secret") if is_it else None

    drive.instead = lead
    source = await added(sources, ledger, scope, drive, kind)
    await sources.sync(source)
    assert sorted(await sources.documents(reader_of(kind, ann))) == ["a.txt", "c.txt"]


@pytest.mark.parametrize("kind", KINDS)
async def test_nonsense_is_told_at_the_source_and_its_job_rests(
    sources: SyncBench, ledger: Bench, scope: Scope, drive: CloudDrive, ann: str, kind: str
) -> None:
    fill(drive, ann, 10)
    source = await added(sources, ledger, scope, drive, kind)
    await sources.sync(source)
    for body in (b"[" * 100_000, b'{"value": [5], "files": [5], "changes": [5], "entries": [5]}', b"[]", b""):
        drive.instead = lambda path, request, body=body: Response(body)
        await sources.start(source)
        with pytest.raises(SyncCutOff):
            await ledger.run()
        assert (await sources.show(source))["last_error"]["code"] == "source_away"
        async with ledger.database.transaction(scope) as tx:
            await tx.run("update jobs set state = 'cancelled' where state in ('queued', 'running')")
    assert len(await sources.documents(reader_of(kind, ann))) == 10
