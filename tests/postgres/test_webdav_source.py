"""WebDAV as a source, over a real wsgidav: read once, then only what changed; faults and kills remove nothing."""

import json
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from cluster.basics.scope import Scope
from cluster.state.vault import Vault, VaultKey, secret_place
from pipelines.documents.sources.source_port import SourceItem, SourceRefused
from pipelines.documents.sync.source_sync import SyncCutOff
from tests.fakes.ledger import Bench
from tests.fakes.nextcloud_server import PASSWORD as APP_PASSWORD
from tests.fakes.nextcloud_server import FakeNextcloud, Lie, run_nextcloud
from tests.fakes.shelves import SyncBench, sync_bench
from tests.fakes.slapd import Authority
from tests.fakes.webdav_server import PASSWORD, USER, WebDavServer, run_webdav

KEYS = {"username": USER, "password": PASSWORD}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[WebDavServer]:
    with run_webdav(tmp_path / "dav") as one:
        yield one


@pytest.fixture
def cloud() -> Iterator[FakeNextcloud]:
    with run_nextcloud() as one:
        yield one


@pytest.fixture
def sources(ledger: Bench, scope: Scope) -> SyncBench:
    return sync_bench(ledger, scope, None, allow=("127.0.0.1", "localhost"))


async def credential(ledger: Bench, scope: Scope, fields: dict[str, str]) -> str:
    """One of the workspace's, sealed as the product seals it."""
    id_, name = str(uuid4()), f"key-{uuid4().hex[:6]}"
    place = secret_place(scope.tenant, scope.workspace, "credentials", id_)
    async with ledger.database.transaction(scope) as tx:
        await tx.run(
            "insert into credentials (id, tenant_id, workspace_id, name, type, sealed, fields)"
            " values (%(id)s, %(tenant)s, %(workspace)s, %(name)s, 'custom', %(sealed)s, %(fields)s)",
            **scope.keys,
            id=id_,
            name=name,
            sealed=Vault([VaultKey(b"k" * 32)]).seal(json.dumps(fields), place),
            fields=sorted(fields),
        )
    return name


async def fails(sources: SyncBench, source: str, error: type[Exception]) -> None:
    """A sync of it ends with this error, as its worker would write it."""
    await sources.start(source)
    with pytest.raises(error):
        await sources.ledger.run()
    async with sources.ledger.database.transaction(sources.scope) as tx:
        await tx.run("update jobs set state = 'failed' where state = 'running'")


def fill(root: Path, number: int) -> None:
    for n in range(number):
        one = root / f"p{n % 7}" / f"{n:03}.txt"
        one.parent.mkdir(parents=True, exist_ok=True)
        one.write_text(f"Paper {n} tells of harbour {n}.")


async def test_a_server_of_200_is_read_once_and_then_only_what_changed(
    sources: SyncBench, ledger: Bench, scope: Scope, server: WebDavServer
) -> None:
    fill(server.files, 200)
    (server.files / "~$lock.txt").write_text("A program's own.")
    source = await sources.add("webdav", {"url": server.url}, credential=await credential(ledger, scope, KEYS))
    assert await sources.sync(source) == {"listed": 200, "added": 200}
    before, read = await sources.ids(), server.requests("GET")
    assert len(await sources.documents("user:x@x")) == 200 and read == 200
    for n in range(5):
        (server.files / f"new{n}.txt").write_text(f"New paper {n}.")
        (server.files / f"p{n}" / f"{n:03}.txt").write_text(f"Paper {n} tells of another harbour.")
        (server.files / f"p{(n + 10) % 7}" / f"{n + 10:03}.txt").unlink()
        (server.files / f"p{(n + 20) % 7}" / f"{n + 20:03}.txt").rename(server.files / f"moved {n}#é%20.txt")
    counts = await sources.sync(source)
    assert counts == {"listed": 200, "added": 5, "changed": 5, "moved": 5, "unchanged": 185, "removed": 5}
    assert server.requests("GET") - read == 10
    now, found = await sources.ids(), await sources.documents("user:x@x")
    assert {now[f"moved {n}#é%20.txt"] for n in range(5)} == {before[f"{n + 20:03}.txt"] for n in range(5)}
    assert len(found) == 200 and found["000.txt"] == "Paper 0 tells of another harbour."
    assert await sources.sync(source) == {"listed": 200, "unchanged": 200} and server.requests("GET") - read == 10


async def test_a_file_is_read_in_ranges_and_never_as_another_version_than_was_listed(
    sources: SyncBench, ledger: Bench, scope: Scope, server: WebDavServer
) -> None:
    place = server.files / "a b.txt"
    place.write_text("0123456789")
    name = await credential(ledger, scope, KEYS)
    opened = await sources.parts.opener.open(scope, "webdav", {"url": server.url}, name)
    (item,) = [one async for page in opened.list_changes(None) for one in page.items]

    async def read(*span: int) -> bytes:
        return b"".join([block async for block in opened.read(item, *span)])

    assert [await read(), await read(4), await read(4, 3), await read(10)] == [b"0123456789", b"456789", b"456", b""]
    place.write_text("another length")
    with pytest.raises(SourceRefused, match="changed since"):
        await read(4)
    await opened.close()


async def test_nothing_leaves_while_a_server_is_killed_refuses_or_does_not_let_in(
    sources: SyncBench, ledger: Bench, scope: Scope, server: WebDavServer
) -> None:
    fill(server.files, 12)
    name = await credential(ledger, scope, KEYS)
    source = await sources.add("webdav", {"url": server.url}, credential=name)
    await sources.sync(source)
    there = await sources.documents("user:x@x")
    server.stop()
    await fails(sources, source, SyncCutOff)
    assert (await sources.show(source))["last_error"]["code"] == "source_away"
    assert await sources.documents("user:x@x") == there
    server.start()
    wrong = await credential(ledger, scope, KEYS | {"password": "wrong"})
    refused = await sources.parts.opener.open(scope, "webdav", {"url": server.url}, wrong)
    with pytest.raises(SourceRefused, match="401"):
        _ = [page async for page in refused.list_changes(None)]
    absent = await sources.parts.opener.open(scope, "webdav", {"url": f"{server.url}/absent"}, name)
    with pytest.raises(SourceRefused, match="404"):
        _ = [page async for page in absent.list_changes(None)]
    assert await sources.sync(source) == {"listed": 12, "unchanged": 12}
    for one in server.files.rglob("*.txt"):
        one.unlink()
    assert (await sources.sync(source))["waiting"] == 12
    assert await sources.documents("user:x@x") == there


async def test_a_certificate_of_a_private_authority_is_trusted_and_no_other(
    sources: SyncBench, ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    ours, other = Authority(), Authority("Another CA")
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    settings = {"authority": ours.pem(tmp_path).read_text()}
    name = await credential(ledger, scope, KEYS)
    with run_webdav(tmp_path / "dav", ours.issue(tmp_path / "a")) as server:
        (server.files / "a.txt").write_text("Over TLS.")
        settings["url"] = server.url
        source = await sources.add("webdav", settings, credential=name)
        assert await sources.sync(source) == {"listed": 1, "added": 1}
        server.stop()
        server.certificate = other.issue(tmp_path / "b")
        server.start()
        await fails(sources, source, SourceRefused)
        error = (await sources.show(source))["last_error"]
        assert error["code"] == "source_refused" and "not trusted" in error["detail"]
        assert await sources.documents("user:x@x") == {"a.txt": "Over TLS."}


CLOUD_KEYS = {"username": "aos", "password": APP_PASSWORD}


async def test_folders_that_did_not_change_are_not_asked_and_still_listed(
    sources: SyncBench, ledger: Bench, scope: Scope, cloud: FakeNextcloud
) -> None:
    for n in range(60):
        cloud.put(f"d{n % 10}/e{n % 3}/{n:02}.txt", f"Paper {n}.")
    source = await sources.add("webdav", {"url": cloud.url}, credential=await credential(ledger, scope, CLOUD_KEYS))
    assert await sources.sync(source) == {"listed": 60, "added": 60}
    before, _ = await sources.ids(), cloud.count("PROPFIND")
    assert await sources.sync(source) == {"listed": 60, "unchanged": 60}
    assert cloud.count("PROPFIND") == 1
    cloud.put("d1/e0/new.txt", "New.")
    cloud.drop("d2/e2/02.txt")
    cloud.move("d3", "d9/below")
    counts = await sources.sync(source)
    assert counts == {"listed": 60, "added": 1, "moved": 6, "unchanged": 53, "removed": 1}
    # The root, d1 and e0, d2 and e2, d9 and the moved folder with its three.
    assert cloud.count("PROPFIND") == 10
    now = await sources.ids()
    assert {one: id_ for one, id_ in before.items() if one != "02.txt"} == {
        one: id_ for one, id_ in now.items() if one not in ("new.txt", "02.txt")
    }
    # One folder that cannot be listed: what is behind it stays, and it is asked again.
    cloud.put("d4/e1/04.txt", "Paper 4 anew.")
    cloud.lie = lambda method, path: Lie(403) if path == "d4" else None
    assert (await sources.sync(source)).get("removed") is None
    cloud.lie = lambda method, path: None
    assert (await sources.sync(source))["changed"] == 1
    assert (await sources.documents("user:x@x"))["04.txt"] == "Paper 4 anew."


async def test_shares_become_readers_and_leave_with_the_share(
    ledger: Bench, scope: Scope, cloud: FakeNextcloud
) -> None:
    sources = sync_bench(ledger, scope, None, allow=("127.0.0.1",))
    settings = {"url": cloud.url, "mail_domain": "corp.example", "people": "bob=robert@corp.example"}
    opened = await sources.parts.opener.open(scope, "nextcloud", settings, await credential(ledger, scope, CLOUD_KEYS))
    cloud.put("team/plan.txt", "Plan.").users = ["bob", "eve@elsewhere.example"]
    cloud.put("own.txt", "Own.").owner = "anna"
    cloud.put("closed/in/a.txt", "A.").users = ["bob"]
    cloud.nodes["team"].groups, cloud.nodes["closed"].acl = ["legal"], True

    async def rights() -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
        pages = [page async for page in opened.list_changes(None)]
        items: list[SourceItem] = [one for page in pages for one in page.items]
        assert all(page.cursor is None for page in pages), "a share changes no etag: every folder is looked at"
        return {one.path: (one.rights.users, one.rights.groups) for one in items if one.rights is not None}

    assert await rights() == {
        "team/plan.txt": (("aos@corp.example", "eve@elsewhere.example", "robert@corp.example"), ("legal",)),
        "own.txt": (("anna@corp.example",), ()),
        "closed/in/a.txt": ((), ()),
    }
    cloud.nodes["team/plan.txt"].users = []
    cloud.nodes["team"].groups = []
    assert (await rights())["team/plan.txt"] == (("aos@corp.example",), ())
    await opened.close()


async def test_a_server_that_breaks_off_in_the_middle_of_a_sync_loses_and_doubles_nothing(
    sources: SyncBench, ledger: Bench, scope: Scope, cloud: FakeNextcloud
) -> None:
    for n in range(20):
        cloud.put(f"d/{n:02}.txt", f"Paper {n}.")
    source = await sources.add("webdav", {"url": cloud.url}, credential=await credential(ledger, scope, CLOUD_KEYS))
    left = iter(range(8))

    def away(method: str, path: str) -> Lie | None:
        return None if method == "PROPFIND" or next(left, None) is not None else Lie(200, b"x" * 20, cut=3)

    cloud.lie = away
    await sources.start(source)
    await ledger.run()
    cloud.lie = lambda method, path: Lie(503, headers={"Retry-After": "3600"})
    await fails(sources, source, SyncCutOff)
    cloud.lie = lambda method, path: None
    await sources.sync(source)
    assert await sources.documents("user:x@x") == {f"{n:02}.txt": f"Paper {n}." for n in range(20)}
