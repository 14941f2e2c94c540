"""A network share as a source, over a real smbd on loopback: read once, refused by name, and never half believed."""

import asyncio
import contextlib
import os
import socket
import struct
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from cluster.basics.scope import Scope
from pipelines.documents.sources.smb_source import KIND
from pipelines.documents.sources.source_port import (
    ItemGone,
    ListingPage,
    Source,
    SourceAway,
    SourceDependencies,
    SourceInvalid,
    SourceItem,
    SourceOpening,
    SourceRefused,
)
from pipelines.documents.sync.source_opener import EndpointGuard, EndpointRefused
from pipelines.documents.sync.source_sync import SyncCutOff
from tests.fakes.ledger import Bench
from tests.fakes.reading import WorkerKilled
from tests.fakes.shelves import CutLedger, SyncBench, sync_bench, use_sync
from tests.fakes.smb_server import Samba, lying_network, samba, without_signature
from tests.postgres.test_s3_source import credential

ECHO = 13  # [MS-SMB2] 2.2.1.2


@pytest.fixture
def server() -> Iterator[Samba]:
    with samba() as running:
        yield running


@pytest.fixture
def sources(ledger: Bench, scope: Scope) -> SyncBench:
    return sync_bench(ledger, scope, None, allow=("127.0.0.1",))


async def anywhere(url: str) -> str:
    return url


GROUND = SourceDependencies(None, anywhere, EndpointGuard(("127.0.0.1",)).check_host)


@asynccontextmanager
async def opened(server: Samba, secret: dict[str, str] | None = None, **settings: str) -> AsyncIterator[Any]:
    source = await KIND.open(SourceOpening(server.settings | settings, secret or server.secret), GROUND)
    try:
        yield source
    finally:
        await source.close()


async def pages(source: Source) -> list[ListingPage]:
    return [page async for page in source.list_changes(None)]


async def listed(source: Source) -> dict[str, SourceItem]:
    return {item.path: item for page in await pages(source) for item in page.items}


async def content(source: Source, item: SourceItem, *span: int) -> bytes:
    return b"".join([block async for block in source.read(item, *span)])


def write(folder: Path, name: str, text: str) -> Path:
    """A file that the account may change."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o666)
    return path


async def add(sources: SyncBench, server: Samba, **more: Any) -> str:
    """The share as a source of the workspace."""
    name = await credential(sources.ledger, sources.scope, server.secret)
    return await sources.add("smb", server.settings, credential=name, **more)


async def test_a_share_of_200_is_read_once_and_then_only_what_changed(
    sources: SyncBench, ledger: Bench, server: Samba
) -> None:
    for n in range(200):
        write(server.folder, f"p{n % 7}/{n:03}.txt", f"Paper {n} tells of harbour {n}.")
    for name in ("~$p.docx", "Thumbs.db", "$RECYCLE.BIN/x.txt", ".hidden", "desktop.ini", "~wrd0001.tmp"):
        write(server.folder, name, "A program's own.")
    source = await add(sources, server, readers=("user:ann@x",))
    assert await sources.sync(source) == {"listed": 200, "added": 200}
    assert len(ledger.reader.readings) == 200 and len(await sources.documents("user:ann@x")) == 200
    assert not await sources.documents("user:eve@x"), "a share says not who may see what, so its readers do"
    before = await sources.ids()
    ledger.reader.readings.clear()
    with server.client() as other:
        for n in range(5):
            write(server.folder, f"new{n}.txt", f"New paper {n}.")
            other.write(f"p{n}/{n:03}.txt", f"Paper {n} tells of another harbour.")
            (server.folder / f"p{(n + 10) % 7}" / f"{n + 10:03}.txt").unlink()
            (server.folder / f"p{(n + 20) % 7}" / f"{n + 20:03}.txt").rename(server.folder / f"moved{n}.txt")
            edited = server.folder / f"p{(n + 30) % 7}" / f"{n + 30:03}.txt"
            edited.rename(server.folder / f"edited{n}.txt").write_text(f"Paper {n + 30}, renamed and edited.")
            (server.folder / f"p{(n + 40) % 7}" / f"{n + 40:03}.txt").chmod(0o644)
    counts = await sources.sync(source)
    assert counts == {"listed": 200, "added": 10, "changed": 5, "moved": 5, "unchanged": 180, "removed": 10}
    assert len(ledger.reader.readings) == 15, "nothing that was only renamed, or has other rights, is read"
    now, found = await sources.ids(), await sources.documents("user:ann@x")
    assert {now[f"moved{n}.txt"] for n in range(5)} == {before[f"{n + 20:03}.txt"] for n in range(5)}
    assert not {now[f"edited{n}.txt"] for n in range(5)} & set(before.values()), "nothing tells that it is the same"
    assert {now[f"{n:03}.txt"] for n in range(5)} == {before[f"{n:03}.txt"] for n in range(5)}
    assert len(found) == 200 and found["000.txt"] == "Paper 0 tells of another harbour."
    ledger.reader.readings.clear()
    (server.folder / "p0").rename(server.folder / "archive")
    assert (await sources.sync(source)).keys() == {"listed", "moved", "unchanged"}, "a folder that is renamed, too"
    assert await sources.ids() == now and not ledger.reader.readings


async def test_a_program_that_saves_by_renaming_keeps_the_document_and_a_number_given_again_is_another(
    sources: SyncBench, server: Samba
) -> None:
    """Office writes a new file, puts the old one aside and renames: each save has another number."""
    report, old = write(server.folder, "report.docx.txt", "First."), write(server.folder, "old.txt", "Old.")
    number = old.stat().st_ino
    source = await add(sources, server, max_removed_percent=100)
    await sources.sync(source)
    before = await sources.ids()
    write(server.folder, "~wrd0001.tmp", "Second.")
    report.rename(server.folder / "~wrl0001.tmp")
    (server.folder / "~wrd0001.tmp").rename(report)
    (server.folder / "~wrl0001.tmp").unlink()
    old.unlink()
    for n in range(50):  # until the file system gives the number again, or goes on to others
        fresh = write(server.folder, f"fresh{n}.txt", f"Fresh {n}.")
        if fresh.stat().st_ino == number:
            break
    counts = await sources.sync(source)
    now = await sources.ids()
    assert (counts["changed"], counts["removed"]) == (1, 1) and "moved" not in counts
    assert now["report.docx.txt"] == before["report.docx.txt"]
    assert (await sources.documents("user:x@x"))["report.docx.txt"] == "Second."
    assert not {id_ for name, id_ in now.items() if name.startswith("fresh")} & set(before.values())


async def test_2000_files_are_listed_by_number_and_read_within_seconds(server: Samba) -> None:
    for n in range(2000):
        write(server.folder, f"d{n % 20}/{n:04}.txt", f"Paper {n}.")
    async with opened(server) as source:
        began = time.monotonic()
        items = await listed(source)
        assert len(items) == 2000 and len({item.fingerprint for item in items.values()}) == 2000
        assert None not in {item.fingerprint for item in items.values()}
        places = asyncio.Semaphore(4)

        async def one(item: SourceItem) -> bytes:
            async with places:
                return await content(source, item)

        found = await asyncio.gather(*(one(item) for item in items.values()))
        assert sorted(found) == sorted(f"Paper {n}.".encode() for n in range(2000))
        assert time.monotonic() - began < 60
        assert await listed(source) == items


async def test_a_file_is_read_in_ranges_and_a_large_one_in_blocks(server: Samba) -> None:
    write(server.folder, "a.txt", "0123456789")
    large = os.urandom(1 << 20) * 20 + b"end"
    (server.folder / "large.bin").write_bytes(large)
    for encrypt in ("offered", "off"):
        async with opened(server, encrypt=encrypt) as source:
            items = await listed(source)
            one, big = items["a.txt"], items["large.bin"]
            spans = [await content(source, one), await content(source, one, 4), await content(source, one, 4, 3)]
            assert spans == [b"0123456789", b"456789", b"456"] and await content(source, one, 20) == b""
            blocks = [block async for block in source.read(big)]
            assert b"".join(blocks) == large and max(map(len, blocks)) <= 1 << 20
            assert await content(source, big, (20 << 20) - 1, 3) == large[-4:-1]
            (server.folder / "a.txt").unlink()
            with pytest.raises(ItemGone):
                await content(source, one)
            write(server.folder, "a.txt", "0123456789")


async def test_names_with_odd_characters_are_listed_and_read(server: Samba) -> None:
    names = [
        "ünïcode ☃ 😀.txt",
        "a & b; 'c' %20 #.txt",
        "日本語/資料.txt",
        "e\u0301.txt",
        "[x]{y}^~`!@,=+.txt",
        "x" * 240,
    ]
    for name in names:
        write(server.folder, name, f"Text of {name}.")
    for name in ("colon: ?.txt", "dot.", "back\\slash.txt", "new\nline.txt"):  # no names for Windows: smbd gives others
        write(server.folder, name, "Odd.")
    async with opened(server) as source:
        items = await listed(source)
        assert set(names) <= items.keys() and len(items) == len(names) + 4
        for name in names:
            assert await content(source, items[name]) == f"Text of {name}.".encode()
        others = [items[name] for name in items.keys() - set(names)]
        assert [await content(source, one) for one in others] == [b"Odd."] * 4
    async with opened(server, folder="\\日本語/") as source:
        assert list(await listed(source)) == ["資料.txt"]


async def test_wrong_passwords_shares_folders_and_settings_are_refused_by_name(server: Samba) -> None:
    async def refused(why: str, secret: dict[str, str] | None = None, **settings: str) -> None:
        with pytest.raises(SourceRefused, match=why):
            async with opened(server, secret, **settings) as source:
                await pages(source)

    await refused("the user name or the password is wrong", server.secret | {"password": "wrong"})
    await refused("the user name or the password is wrong", server.secret | {"username": "nosuch"})
    await refused("no such share", share="nosuch")
    await refused("no folder not/there", folder="not/there")
    write(server.folder, "file.txt", "A file.")
    await refused("no folder file.txt", folder="file.txt")
    invalid: list[dict[str, str]] = [
        {"port": "0"},
        {"port": "x"},
        {"encrypt": "maybe"},
        {"share": "a\\b"},
        {"host": "a/b"},
        {"folder": "../x"},
    ]
    for settings in invalid:
        with pytest.raises(SourceInvalid):
            async with opened(server, **settings):
                pass
    for secret in ({"username": "x"}, {"password": "x"}, {"username": "", "password": ""}):
        with pytest.raises(SourceInvalid, match="username and password"):
            await KIND.open(SourceOpening(server.settings, secret), GROUND)
    async with opened(server, domain="CORP") as source:
        assert list(await listed(source)) == ["file.txt"]


async def test_only_addresses_that_are_allowed_are_reached(
    sources: SyncBench, ledger: Bench, scope: Scope, server: Samba
) -> None:
    closed = sync_bench(ledger, scope, None)
    name = await credential(ledger, scope, server.secret)
    with pytest.raises(EndpointRefused, match="not a public address"):
        await closed.parts.opener.open(scope, "smb", server.settings, name)
    with pytest.raises(SourceInvalid, match="username and password"):
        await sources.parts.opener.open(scope, "smb", server.settings, None)


async def test_a_name_that_leads_elsewhere_by_now_refuses_the_item_and_no_more(server: Samba) -> None:
    (server.folder / "a.txt").write_text("A.")
    allowed = ["127.0.0.1"]
    dependencies = SourceDependencies(
        None, anywhere, lambda host, port: EndpointGuard(tuple(allowed)).check_host(host, port)
    )
    source = await KIND.open(SourceOpening(server.settings, server.secret), dependencies)
    item = (await listed(source))["a.txt"]
    (await source.connect()).cut()  # type: ignore[attr-defined]
    allowed.clear()
    for _ in range(2):
        with pytest.raises(SourceRefused, match="not a public address"):
            await content(source, item)
    await source.close()


async def test_nobody_is_signed_in_as_a_guest() -> None:
    with samba("map to guest = bad password\nguest account = nobody", "guest ok = yes") as server:
        for secret in ({"password": "wrong"}, {"username": "nosuch"}):
            with pytest.raises(SourceRefused, match=r"guest|password is wrong"):
                async with opened(server, server.secret | secret):
                    pass


async def test_encryption_is_used_where_it_is_offered_and_refused_where_it_is_required_in_vain() -> None:
    with samba("server smb encrypt = off") as plain:
        write(plain.folder, "a.txt", "Signed.")
        with pytest.raises(SourceRefused, match="encryption is required"):
            async with opened(plain, encrypt="required"):
                pass
        async with opened(plain) as source:
            assert not (await source.connect()).is_encrypted and list(await listed(source)) == ["a.txt"]
    with samba("server smb encrypt = required") as strict:
        write(strict.folder, "a.txt", "Encrypted.")
        async with opened(strict) as source:
            assert (await source.connect()).is_encrypted and list(await listed(source)) == ["a.txt"]
    for oldest in ("SMB2_02", "SMB2_10", "SMB3_00"):
        with samba(f"server max protocol = {oldest}") as old:
            write(old.folder, "a.txt", "Signed.")
            async with opened(old) as source:
                assert await content(source, (await listed(source))["a.txt"]) == b"Signed."
                assert (await source.connect()).is_encrypted == (oldest == "SMB3_00")


@pytest.mark.parametrize("encrypt", ["offered", "off"])
async def test_an_answer_that_somebody_in_between_has_changed_is_not_believed(server: Samba, encrypt: str) -> None:
    """Nor is one without a signature, which the library would take as it is."""
    write(server.folder, "a.txt", "Pay 100 to Ann.")

    def plain(frame: bytes) -> bytes:
        return frame.replace(b"Pay 100 to Ann.", b"Pay 999 to Eve.")

    def unsigned(frame: bytes) -> bytes:
        return plain(without_signature(frame))

    def flipped(frame: bytes) -> bytes:
        return frame if len(frame) < 300 else frame[:-1] + bytes([frame[-1] ^ 1])

    lies = [flipped] if encrypt == "offered" else [plain, unsigned, flipped]
    for lie in lies:
        with lying_network(server.port, lie) as port, pytest.raises((SourceAway, SourceRefused)):
            async with opened(server, port=str(port), encrypt=encrypt) as source:
                await content(source, (await listed(source))["a.txt"])


async def test_in_an_encrypted_session_an_answer_in_clear_is_not_believed(server: Samba) -> None:
    def clear(frame: bytes) -> bytes:
        """The answer to the first encrypted question, an echo, as anybody could send it."""
        if frame[:4] != b"\xfdSMB":
            return frame
        session = frame[44:52]
        head = struct.pack("<4sHHIHHIIQII", b"\xfeSMB", 64, 1, 0, ECHO, 1, 1, 0, 3, 0, 0)
        return head + session + bytes(16) + b"\4\0\0\0"

    with lying_network(server.port, clear) as port, pytest.raises(SourceRefused, match="is not encrypted"):
        async with opened(server, port=str(port)):
            pass


NO_SHARES = [b"\xff\xff\xff\xff", b"\0\0\0\0", b"\0\0\0\x40" + b"x" * 64, b"HTTP/1.1 400\r\n\r\n", b""]


@pytest.mark.parametrize("answer", NO_SHARES)
async def test_what_is_no_server_of_shares_is_away_and_holds_nobody_up(server: Samba, answer: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:

        def reply() -> None:
            with contextlib.suppress(OSError), other.accept()[0] as client:
                client.recv(1000)
                client.sendall(answer)
                client.recv(1000)

        threading.Thread(target=reply, daemon=True).start()
        with pytest.raises((SourceAway, SourceRefused)):
            async with asyncio.timeout(30):
                async with opened(server, port=str(other.getsockname()[1])):
                    pass


def kill_server(server: Samba) -> None:
    server.kill()


def restart_server(server: Samba) -> None:
    server.restart()


@pytest.mark.parametrize("harm", [kill_server, restart_server])
async def test_a_server_that_is_killed_in_the_middle_of_a_listing_lists_nothing_to_its_end(
    server: Samba, harm: Callable[[Samba], None]
) -> None:
    for n in range(1000):
        write(server.folder, f"d{n % 10}/{n:04}.txt", f"Paper {n}.")
    async with opened(server) as source:
        with pytest.raises(SourceAway):
            async for _ in source.list_changes(None):
                harm(server)


async def test_a_server_that_is_killed_in_the_middle_of_a_read_is_gone_on_with_once_it_is_back(server: Samba) -> None:
    (server.folder / "large.bin").write_bytes(os.urandom(8 << 20))
    async with opened(server) as source:
        item = (await listed(source))["large.bin"]
        with pytest.raises(SourceAway):
            async for _ in source.read(item):
                server.restart()
        assert len(await content(source, item)) == 8 << 20, "connected again"
        with pytest.raises(SourceAway):
            async for _ in source.read(item):
                server.kill()
        with pytest.raises(SourceAway):
            await content(source, item)
        with pytest.raises(SourceAway):
            await pages(source)


async def test_a_sync_whose_server_dies_or_loses_its_share_removes_nothing_and_the_next_one_goes_on(
    sources: SyncBench, ledger: Bench, server: Samba
) -> None:
    for n in range(40):
        write(server.folder, f"{n:02}.txt", f"Paper {n}.")
    source = await add(sources, server, max_removed_percent=100)
    await sources.sync(source)
    for n in range(40, 80):
        write(server.folder, f"{n:02}.txt", f"Paper {n}.")
    server.kill()
    await sources.start(source)
    with pytest.raises(SyncCutOff):
        await ledger.run()
    assert len(await sources.documents("user:x@x")) == 40
    assert (await sources.show(source))["last_error"]["code"] == "source_away"
    async with ledger.database.transaction(sources.scope) as tx:
        await tx.run("update jobs set state = 'failed'")
    server.has_share = False
    server.start()
    await sources.start(source)
    with pytest.raises(SourceRefused, match="no such share"):
        await ledger.run()
    assert len(await sources.documents("user:x@x")) == 40
    async with ledger.database.transaction(sources.scope) as tx:
        await tx.run("update jobs set state = 'failed'")
    server.has_share = True
    server.restart()
    assert await sources.sync(source) == {"listed": 80, "added": 40, "unchanged": 40}
    assert len(await sources.documents("user:x@x")) == 80


@pytest.mark.parametrize("harm", [kill_server, restart_server])
async def test_a_server_that_dies_while_files_are_fetched_loses_and_doubles_none(
    sources: SyncBench, ledger: Bench, server: Samba, harm: Callable[[Samba], None]
) -> None:
    for n in range(100):
        write(server.folder, f"{n:02}.txt", f"Paper {n}.")
    frames = 0

    def dies(frame: bytes) -> bytes:
        nonlocal frames
        frames += 1
        if frames == 120:
            harm(server)
        return frame

    with lying_network(server.port, dies) as port:
        name = await credential(ledger, sources.scope, server.secret)
        source = await sources.add("smb", server.settings | {"port": str(port)}, credential=name)
        await sources.start(source)
        with contextlib.suppress(SyncCutOff, SourceAway):
            await ledger.run()
        assert frames >= 120 and len(await sources.documents("user:x@x")) <= 100
        before = await sources.ids()
        async with ledger.database.transaction(sources.scope) as tx:
            await tx.run("update jobs set state = 'failed'")
        server.restart()
        await sources.sync(source)
    assert await sources.documents("user:x@x") == {f"{n:02}.txt": f"Paper {n}." for n in range(100)}
    assert before.items() <= (await sources.ids()).items()


async def test_a_worker_that_is_killed_at_any_write_loses_and_doubles_nothing(
    sources: SyncBench, ledger: Bench, server: Samba
) -> None:
    plain, opener, killed = ledger.jobs, sources.parts.opener, 0
    for name in "abcd":
        write(server.folder, f"{name}.txt", f"{name} as it was")
    source = await add(sources, server, max_removed_percent=100)
    await sources.sync(source)
    ids = await sources.ids()
    for at in range(2, 12, 2):
        write(server.folder, "a.txt", f"a anew, {at}")
        next(server.folder.glob("b*.txt")).rename(server.folder / f"b{at}.txt")
        write(server.folder, f"new{at}.txt", "new")
        (server.folder / f"new{at - 2}.txt").unlink(missing_ok=True)
        ledger.jobs = CutLedger(ledger.database)
        ledger.jobs.at, ledger.jobs.after = at, at % 4 == 0
        use_sync(ledger, opener)
        await sources.start(source)
        with contextlib.suppress(WorkerKilled):
            await ledger.run(owner="killed")
        ledger.jobs = plain
        use_sync(ledger, opener)
        if (await sources.show(source))["job_state"] == "running":
            killed += 1
            await sources.lapse()
            await ledger.run(owner="next")
        assert await sources.documents("user:x@x") == {
            "a.txt": f"a anew, {at}",
            f"b{at}.txt": "b as it was",
            "c.txt": "c as it was",
            "d.txt": "d as it was",
            f"new{at}.txt": "new",
        }
        now = await sources.ids()
        assert now["a.txt"] == ids["a.txt"] and now[f"b{at}.txt"] == ids["b.txt"]
    assert killed > 2


async def test_a_file_that_another_program_has_locked_fails_alone_and_is_taken_by_the_next_sync(
    sources: SyncBench, server: Samba
) -> None:
    for name in "abc":
        write(server.folder, f"{name}.txt", f"Text of {name}.")
    source = await add(sources, server)
    with server.client() as other:
        other.open_exclusively("b.txt")
        await sources.sync(source)
    assert sorted(await sources.documents("user:x@x")) == ["a.txt", "c.txt"]
    assert (await sources.show(source))["failed"] == 1
    assert await sources.sync(source) == {"listed": 3, "added": 1, "unchanged": 2}
    assert (await sources.documents("user:x@x"))["b.txt"] == "Text of b."
    with server.client() as other:
        other.write("b.txt", "Text of b, changed.")
        other.open_exclusively("b.txt")
        await sources.sync(source)
    assert (await sources.documents("user:x@x"))["b.txt"] == "Text of b.", "what is there stays"
    assert (await sources.sync(source))["changed"] == 1
    assert (await sources.documents("user:x@x"))["b.txt"] == "Text of b, changed."


async def test_nobody_is_kept_from_their_file_while_it_is_read(server: Samba) -> None:
    write(server.folder, "large.bin", "x" * (4 << 20))
    async with opened(server) as source:
        item = (await listed(source))["large.bin"]
        with server.client() as other:
            async for _ in source.read(item):
                other.write("large.bin", "Somebody saves.")
                (server.folder / "large.bin").rename(server.folder / "renamed.bin")
                break
        assert list(await listed(source)) == ["renamed.bin"]


async def test_a_folder_that_cannot_be_entered_removes_nothing(sources: SyncBench, server: Samba) -> None:
    for name in ("open/a.txt", "shut/b.txt"):
        write(server.folder, name, f"Text of {name}.")
    source = await add(sources, server, max_removed_percent=100)
    await sources.sync(source)
    (server.folder / "shut").chmod(0)
    try:
        assert await sources.sync(source) == {"listed": 1, "unchanged": 1, "waiting": 1, "faults": 1}
        shown = await sources.show(source)
        assert shown["last_plan"]["samples"]["faults"] == ["shut: this folder cannot be entered"]
        assert shown["waiting"]["reason"] == "incomplete" and len(await sources.documents("user:x@x")) == 2
    finally:
        (server.folder / "shut").chmod(0o755)
    assert await sources.sync(source) == {"listed": 2, "unchanged": 2}


async def test_links_lead_nowhere_else_and_in_no_circle() -> None:
    with samba(of_share="msdfs root = yes") as server:
        write(server.folder, "a/b/x.txt", "X.")
        write(server.folder, "y.txt", "Y.")
        write(server.folder.parent, "elsewhere/z.txt", "Z.")
        (server.folder / "a/b/top").symlink_to("../..")
        (server.folder / "a/b/self").symlink_to(".")
        (server.folder / "out").symlink_to(server.folder.parent / "elsewhere")
        (server.folder / "nowhere").symlink_to("not-there")
        (server.folder / "dfs").symlink_to("msdfs:10.0.0.1\\share")
        async with opened(server) as source:
            found = await pages(source)
            assert sorted(item.path for page in found for item in page.items) == ["a/b/x.txt", "y.txt"]
            assert not any(page.faults for page in found)
            items = await listed(source)
            assert await content(source, items["a/b/x.txt"]) == b"X."
        with pytest.raises(SourceRefused, match="another server"):
            async with opened(server, folder="dfs/papers") as source:
                await pages(source)
