"""A mailbox as a source, over a real dovecot: read once, followed through moves, and believed only where it adds up."""

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from cluster.basics.scope import Scope
from cluster.state.work.jobs import JobLane
from pipelines.documents.sources.source_port import SourceRefused
from pipelines.documents.sync.source_sync import SyncCutOff
from tests.fakes.imap_server import PASSWORD, USER, Dovecot, Relay, dovecot, letter, relay
from tests.fakes.ledger import Bench
from tests.fakes.reading import WorkerKilled
from tests.fakes.shelves import CutLedger, SyncBench, sync_bench, use_sync
from tests.fakes.slapd import Authority
from tests.postgres.test_rights_pass import settle
from tests.postgres.test_s3_source import credential
from tests.postgres.test_shift import shift
from tests.postgres.test_source_sync import person

SECRET = {"username": USER, "password": PASSWORD}


@pytest.fixture
def server() -> Iterator[Dovecot]:
    with dovecot() as one:
        yield one


@pytest.fixture
def before(server: Dovecot) -> Iterator[Relay]:
    with relay(server.plain) as one:
        yield one


@pytest.fixture
def sources(ledger: Bench, scope: Scope) -> SyncBench:
    return sync_bench(ledger, scope, None, allow=("localhost",))


async def mailbox(sources: SyncBench, server: Dovecot, port: int = 0, **settings: str) -> str:
    """A source of it, over TLS; or without, through a relay's port."""
    how = {"security": "none", "port": str(port)} if port else {"ca": server.ca, "port": str(server.secure)}
    name = await credential(sources.ledger, sources.scope, SECRET)
    return await sources.add("imap", {"host": "localhost", **how, **settings}, credential=name, name=f"mail{port}")


async def test_a_mailbox_of_200_is_read_once_and_then_only_what_changed(
    sources: SyncBench, ledger: Bench, server: Dovecot
) -> None:
    server.deliver([letter(n) for n in range(150)])
    server.deliver([letter(n) for n in range(150, 200)], "Archive")
    server.deliver([letter(300)], "Spam")
    source = await mailbox(sources, server)
    assert await sources.sync(source) == {"listed": 200, "added": 200}
    found = await sources.documents("user:x@x")
    assert len(found) == 200 and "Letter 7 tells of harbour 7." in found["Letter 7 2024-10-08 1007.eml"]
    ids = await sources.ids()
    ledger.reader.readings.clear()
    server.deliver([letter(n) for n in range(400, 405)])
    with server.client() as client:
        client.select_folder("INBOX")
        client.add_flags(list(range(50, 60)), ["\\Flagged", "\\Answered"])
        client.create_folder("Done")
        client.move(list(range(1, 11)), "Done")
        client.delete_messages(list(range(21, 26)))
        client.expunge()
        client.rename_folder("Archive", "Archiv für alles")
    counts = await sources.sync(source)
    assert counts == {"listed": 200, "added": 5, "moved": 60, "unchanged": 135, "removed": 5}
    assert sum(ledger.reader.readings.values()) == 5, "what was moved is not read again"
    now = await sources.ids()
    assert {name: ids[name] for name in now if name in ids} == {name: now[name] for name in now if name in ids}
    assert len(await sources.documents("user:x@x")) == 200
    assert await sources.sync(source) == {"listed": 200, "unchanged": 200}
    assert not any("S" in one for one in server.flags()), "nothing was marked as read"


async def test_a_folder_that_is_numbered_anew_doubles_nothing(
    sources: SyncBench, ledger: Bench, server: Dovecot
) -> None:
    server.deliver([letter(n) for n in range(20)])
    server.deliver([letter(3), letter(3)], "Copies")
    source = await mailbox(sources, server, folders="INBOX")
    copies = await mailbox(sources, server, port=server.plain, folders="Copies")
    await sources.sync(source)
    assert await sources.sync(copies) == {"listed": 2, "added": 2}
    ledger.reader.readings.clear()
    ids = sorted(row["id"] for row in await ledger.rows(sources.scope, "select id from documents"))
    server.stop()
    server.renumber()
    server.renumber("Copies")
    (server.box / "dovecot-uidvalidity").unlink(missing_ok=True)
    server.start()
    assert await sources.sync(source) == {"listed": 20, "moved": 20}
    assert await sources.sync(copies) == {"listed": 2, "moved": 2}
    assert sorted(row["id"] for row in await ledger.rows(sources.scope, "select id from documents")) == ids
    assert not ledger.reader.readings and (await sources.show(source))["waiting"] is None


async def test_participants_alone_see_a_message_where_that_was_asked_for(
    sources: SyncBench, server: Dovecot, admin_dsn: str
) -> None:
    server.deliver([letter(1, Cc="ann@corp.example"), letter(2)])
    for mail in ("ann@corp.example", "sender2@corp.example"):
        await person(sources.ledger, sources.scope, admin_dsn, mail)
    source = await mailbox(sources, server, participants="yes")
    assert (await sources.show(source))["has_rights"]
    await sources.sync(source)
    assert len(await sources.documents("*")) == 2
    assert list(await sources.documents("user:ann@corp.example")) == ["Letter 1 2024-10-02 1001.eml"]
    assert list(await sources.documents("user:sender2@corp.example")) == ["Letter 2 2024-10-03 1002.eml"]
    assert not await sources.documents("user:x@x")
    open_to_all = await mailbox(sources, server, port=server.plain)
    assert not (await sources.show(open_to_all))["has_rights"]


def hang_up(server: Dovecot, before: Relay) -> None:
    before.alter = lambda block: None if b"FETCH (UID" in block else block


def empty(server: Dovecot, before: Relay) -> None:
    before.alter = lambda block: block.replace(b"EXISTS", b"EXISTED").replace(b"* 20 EXISTED", b"* 0 EXISTS")


def no_folders(server: Dovecot, before: Relay) -> None:
    before.alter = lambda block: block.replace(b"* LIST", b"* LOST")


def halved(server: Dovecot, before: Relay) -> None:
    """Half of what it should list is left out, and nothing is said of why."""
    before.alter = lambda block: block.replace(b"(UID 1", b"(UIX 1")


def locked(server: Dovecot, before: Relay) -> None:
    (server.box / ".Archive").chmod(0)


def emptied(server: Dovecot, before: Relay) -> None:
    """The disk of its mail is away, and it makes a new mailbox."""
    server.stop()
    server.box.rename(server.folder / "away")
    server.start()


def password(server: Dovecot, before: Relay) -> None:
    (server.folder / "users").write_text(f"{USER}:another\n")


def dead(server: Dovecot, before: Relay) -> None:
    server.stop()


LIES = {"faults": (empty, halved, locked), "waits": (emptied,), "fails": (hang_up, no_folders, password, dead)}


@pytest.mark.parametrize("lie", [one for lies in LIES.values() for one in lies])
async def test_a_mailbox_that_lies_or_is_away_loses_no_document(
    sources: SyncBench, server: Dovecot, before: Relay, lie: Callable[[Dovecot, Relay], None]
) -> None:
    server.deliver([letter(n) for n in range(20)])
    server.deliver([letter(n) for n in range(20, 25)], "Archive")
    source = await mailbox(sources, server, before.port)
    await sources.sync(source)
    assert len(await sources.documents("user:x@x")) == 25
    lie(server, before)
    if lie in LIES["fails"]:
        with pytest.raises((SyncCutOff, SourceRefused)):
            await sources.sync(source)
        assert (await sources.show(source))["last_error"]["code"] in ("source_away", "source_refused")
    else:
        counts = await sources.sync(source)
        assert ("faults" in counts) == (lie in LIES["faults"]) and "removed" not in counts
        assert (await sources.show(source))["waiting"] is not None
    assert len(await sources.documents("user:x@x")) == 25


async def test_another_certificate_stops_a_sync_that_ran(sources: SyncBench, server: Dovecot) -> None:
    server.deliver([letter(n) for n in range(5)])
    source = await mailbox(sources, server)
    await sources.sync(source)
    server.stop()
    server.reissue(Authority("Another"))
    server.start()
    with pytest.raises(SourceRefused, match="not trusted"):
        await sources.sync(source)
    assert len(await sources.documents("user:x@x")) == 5


async def test_killed_or_cut_off_in_the_middle_the_next_sync_ends_equal(
    sources: SyncBench, ledger: Bench, server: Dovecot, before: Relay
) -> None:
    server.deliver([letter(n) for n in range(40)])
    source = await mailbox(sources, server, before.port)
    told = count()
    dead: list[bool] = []

    def die(block: bytes) -> bytes | None:
        if b"BODY[]" in block and next(told) > 20:
            dead.append(True)
        return None if dead else block

    before.alter = die
    await sources.start(source)
    assert await shift(ledger).once(JobLane.SYNC) and await shift(ledger).once(JobLane.BULK)
    assert (await sources.show(source))["job_state"] == "queued", "it waits for the server"
    assert 15 < len(await sources.ids()) < 40
    before.alter = lambda block: block
    await sources.sync(source)
    await settle(sources)  # it was asked for while another one read: a whole one follows
    assert len(await sources.ids()) == 40
    plain, opener = ledger.jobs, sources.parts.opener
    for n, at in enumerate((2, 5, 8, 9)):
        server.deliver([letter(100 + n)])
        ledger.jobs = CutLedger(ledger.database)
        ledger.jobs.at, ledger.jobs.after = at, bool(at % 2)
        use_sync(ledger, opener)
        await sources.start(source)
        with pytest.raises(WorkerKilled):
            await ledger.run(owner="killed")
        ledger.jobs = plain
        use_sync(ledger, opener)
        await sources.lapse()
        await ledger.run(owner="next")
        found = await sources.documents("user:x@x")
        assert len(found) == len(await sources.ids()) == 41 + n
    assert (await sources.show(source))["failed"] == 0
