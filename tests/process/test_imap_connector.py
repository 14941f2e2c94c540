"""The IMAP connector against a real dovecot, and through a relay that lies, breaks off, floods and falls silent."""

import asyncio
import re
import threading
import time
import tracemalloc
from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import pytest

from pipelines.documents.sources.imap.imap_connection import MailLine, MailServer
from pipelines.documents.sources.imap_source import KIND
from pipelines.documents.sources.source_port import (
    ItemGone,
    ListingFault,
    Source,
    SourceAway,
    SourceDependencies,
    SourceInvalid,
    SourceItem,
    SourceOpening,
    SourceRefused,
)
from pipelines.documents.sync.source_opener import EndpointGuard, EndpointRefused
from tests.fakes.imap_server import PASSWORD, USER, Dovecot, Relay, dovecot, letter, relay
from tests.fakes.slapd import Authority

SECRET = {"username": USER, "password": PASSWORD}
GUARD = EndpointGuard(("127.0.0.1", "localhost"))
GROUND = SourceDependencies(None, GUARD.check, GUARD.check_host)


@pytest.fixture
def server() -> Iterator[Dovecot]:
    with dovecot() as one:
        yield one


@pytest.fixture
def before(server: Dovecot) -> Iterator[Relay]:
    with relay(server.plain) as one:
        yield one


@asynccontextmanager
async def opened(
    port: int, secret: Mapping[str, str] = SECRET, dependencies: SourceDependencies = GROUND, **settings: str
) -> AsyncIterator[Source]:
    whole = {"host": "localhost", "port": str(port), **settings}
    source = await KIND.open(SourceOpening(whole, secret), dependencies)
    try:
        yield source
    finally:
        await source.close()


def plain(port: int, **settings: str) -> Any:
    return opened(port, security="none", **settings)


async def listed(source: Source) -> tuple[list[SourceItem], list[ListingFault]]:
    pages = [page async for page in source.list_changes(None)]
    assert all(page.full for page in pages)
    return [item for page in pages for item in page.items], [fault for page in pages for fault in page.faults]


async def read(source: Source, item: SourceItem, *span: int) -> bytes:
    return b"".join([block async for block in source.read(item, *span)])


def once(old: bytes, new: bytes | None, times: int = 1) -> Callable[[bytes], bytes | None]:
    """What the server says, with its next `times` words of this kind altered; None breaks off at them."""
    left = [times]

    def alter(block: bytes) -> bytes | None:
        if old not in block or not left[0]:
            return block
        left[0] -= 1
        return None if new is None else block.replace(old, new)

    return alter


async def test_over_tls_starttls_and_on_this_machine_it_reads_and_leaves_no_mark(
    server: Dovecot, before: Relay
) -> None:
    server.deliver([letter(n) for n in range(5)])
    server.deliver([letter(9)], "Archive")
    server.deliver([letter(10)], "Trash")
    found = []
    for port, how in ((server.secure, {"ca": server.ca}), (before.port, {"ca": server.ca, "security": "starttls"})):
        async with opened(port, **how) as source:
            found.append((await listed(source))[0])
    async with plain(before.port) as source:
        items, faults = await listed(source)
        assert items == found[0] == found[1] and not faults
        assert [one.path for one in items][:2] == [
            "Archive/Letter 9 2024-10-10 1009.eml",
            "INBOX/Letter 0 2024-10-01 1000.eml",
        ]
        raw = await read(source, items[1])
        assert raw == bytes(letter(0)).replace(b"\n", b"\r\n") and len(raw) == items[1].size
        assert await read(source, items[1], 5) == raw[5:] and await read(source, items[1], 5, 3) == raw[5:8]
    said = b"".join(before.said)
    assert b"EXAMINE" in said and b" SELECT" not in said and b"STORE" not in said
    assert server.flags() == {""} and b" BODY[" not in said


async def test_who_may_not_come_in_is_refused_by_name(server: Dovecot) -> None:
    with pytest.raises(SourceRefused, match="user name or the password"):
        async with opened(server.secure, {**SECRET, "password": "no"}, ca=server.ca):
            pass
    with pytest.raises(SourceRefused, match="certificate of localhost is not trusted"):
        async with opened(server.secure):
            pass
    with pytest.raises(SourceRefused, match="does not begin with TLS"):
        async with opened(server.plain, ca=server.ca):
            pass
    server.stop()
    server.reissue(Authority("Another"))
    server.start()
    for how in ({"port": server.secure}, {"port": server.plain, "security": "starttls"}):
        with pytest.raises(SourceRefused, match="not trusted"):
            async with opened(**how, ca=server.ca):
                pass
    server.authority.issue(server.folder, names=("other.example",))
    server.stop()
    server.start()
    with pytest.raises(SourceRefused, match=r"not trusted.*localhost"):
        async with opened(server.secure, ca=server.ca):
            pass
    with pytest.raises(EndpointRefused):
        async with opened(
            server.secure, dependencies=SourceDependencies(None, GUARD.check, EndpointGuard().check_host)
        ):
            pass


@pytest.mark.parametrize(
    ("without", "secret"),
    [(b"AUTH=OAUTHBEARER", "access_token"), (b"AUTH=XOAUTH2", "access_token"), (b"AUTH=PLAIN", "password")],
)
async def test_it_signs_in_by_what_the_server_offers(
    server: Dovecot, before: Relay, without: bytes, secret: str
) -> None:
    server.deliver([letter(1)])
    (server.folder / "users").write_text(f'{USER}:a "token" \\ of it\n')
    before.alter = lambda block: block.replace(without, b"AUTH=NOTHING")
    for value, works in (("no", False), ('a "token" \\ of it', True)):
        how = {"secret": {"username": USER, secret: value}, "security": "none"}
        if works:
            async with opened(before.port, **how) as source:
                assert len((await listed(source))[0]) == 1
        else:
            with pytest.raises(SourceRefused, match="user name or the password"):
                async with opened(before.port, **how):
                    pass
    with pytest.raises(SourceInvalid, match="end a command"):
        async with opened(before.port, {"username": "x\r\nA1 LOGOUT", "password": "y"}):
            pass


@pytest.mark.parametrize(
    "wrong",
    [
        {"security": "none", "host": "mail.example"},
        {"security": "ssl"},
        {"port": "0"},
        {"port": "99999"},
        {"port": "imaps"},
        {"host": "http://x"},
        {"since": "yesterday"},
        {"since": "2024-13-01"},
        {"participants": "maybe"},
        {"ca": "nothing"},
    ],
)
async def test_settings_that_cannot_be_are_refused_before_anybody_is_asked(wrong: dict[str, str]) -> None:
    async def there(host: str, port: int) -> str:
        return "93.184.216.34"

    with pytest.raises(SourceInvalid):
        await KIND.open(
            SourceOpening({"host": "localhost", **wrong}, SECRET), SourceDependencies(None, GUARD.check, there)
        )
    with pytest.raises(SourceInvalid, match="no username"):
        await KIND.open(SourceOpening({"host": "localhost"}, {"username": "x"}), GROUND)


@pytest.mark.parametrize("lie", [(b"STARTTLS", b"XTARTTLS"), (b"* OK ", b"* PREAUTH ")])
async def test_nobody_between_us_and_the_server_gets_a_password_by_leaving_tls_out(
    server: Dovecot, before: Relay, lie: tuple[bytes, bytes]
) -> None:
    before.alter = once(*lie, times=99)
    with pytest.raises((SourceRefused, SourceAway)):
        async with opened(before.port, ca=server.ca, security="starttls") as source:
            await listed(source)
    said = b"".join(before.said)
    assert b"pass" not in said and b64encode(PASSWORD.encode())[:8] not in said and b"AUTHENTICATE" not in said


async def test_folders_and_subjects_in_every_script_are_listed_and_read(server: Dovecot) -> None:
    with server.client() as client:
        for name in ("Entwürfe 2", "日本/Verträge & Co", "Trash/Old"):
            client.create_folder(name)
            client.append(name, bytes(letter(7, f"Grüße aus {name}")))
    async with opened(server.secure, ca=server.ca) as source:
        items, faults = await listed(source)
        assert not faults and {one.path.rpartition("/")[0] for one in items} == {"Entwürfe 2", "日本/Verträge & Co"}
        assert "Grüße aus 日本 Verträge & Co 2024-10-08 1007.eml" in {one.filename for one in items}
        assert all([b"Letter 7" in await read(source, one) for one in items])
    async with opened(server.secure, ca=server.ca, folders="日本/*") as source:
        assert len((await listed(source))[0]) == 1


async def test_only_what_came_since_is_listed(server: Dovecot) -> None:
    server.deliver([letter(n) for n in range(3)])  # in 2023
    with server.client() as client:
        client.append("INBOX", bytes(letter(4)))  # now
    for since, many in (("2023-11-14", 4), ("2023-11-15", 1), ("30", 1), ("99999", 4)):
        async with opened(server.secure, ca=server.ca, since=since) as source:
            items, faults = await listed(source)
            assert len(items) == many and not faults, since


async def test_a_folder_that_cannot_be_opened_is_a_fault_and_the_others_are_listed(server: Dovecot) -> None:
    server.deliver([letter(1)])
    server.deliver([letter(2)], "Locked")
    (server.box / ".Locked").chmod(0)
    try:
        async with opened(server.secure, ca=server.ca) as source:
            items, faults = await listed(source)
    finally:
        (server.box / ".Locked").chmod(0o755)
    assert len(items) == 1 and [one.path for one in faults] == ["Locked"]


async def test_a_server_that_says_once_that_a_folder_is_empty_is_asked_again(server: Dovecot, before: Relay) -> None:
    server.deliver([letter(n) for n in range(5)])
    async with plain(before.port) as source:
        before.alter = once(b"* 5 EXISTS", b"* 0 EXISTS")
        assert (len((await listed(source))[0]), (await listed(source))[1]) == (5, [])
        before.alter = once(b"* 5 EXISTS", b"* 0 EXISTS", times=99)
        items, (fault,) = await listed(source)
        assert not items and fault == ListingFault("INBOX", "the server says that it holds 5 messages, and shows 0")
        before.alter = once(b"UID 3 ", b"UIX 3 ")
        items, (fault,) = await listed(source)
        assert len(items) == 4 and fault.why == "it holds 5 messages, and 4 of them were listed"
        before.alter = once(b"UIDVALIDITY", b"UIDVALIDXXX", times=99)
        items, (fault,) = await listed(source)
        assert not items and "UIDVALIDITY" in fault.why


GARBAGE = {
    "noise": b"\x00\xff garbage \r\n",
    "no end": b"* " + b"x" * 3_000_000,
    "literal bomb": b'* LIST () "/" {4000000000}\r\n',
    "literal of digits": b'* LIST () "/" {' + b"9" * 5000 + b"}\r\n",
    "nested": b"* LIST " + b"(" * 100_000 + b"\r\n",
    "flood": b"* 1 FETCH (FLAGS ())\r\n" * 400_000,
    "hung up": None,
    "bye": b"* BYE enough\r\n",
    "half a list": b'* LIST () "/"\r\n',
}


@pytest.mark.parametrize("what", GARBAGE)
async def test_what_is_no_imap_ends_the_listing_with_an_error_and_costs_little_memory(
    server: Dovecot, before: Relay, what: str
) -> None:
    server.deliver([letter(1)])
    async with plain(before.port) as source:
        assert len((await listed(source))[0]) == 1
        before.alter = once(b"* LIST", GARBAGE[what] and GARBAGE[what] + b"* LIST", times=99)
        tracemalloc.start()
        try:
            with pytest.raises(SourceAway) as raised:
                await listed(source)
            assert tracemalloc.get_traced_memory()[1] < 64 << 20
        finally:
            tracemalloc.stop()
        assert len(str(raised.value)) < 400 and PASSWORD not in str(raised.value)
        before.alter = lambda block: block
        assert len((await listed(source))[0]) == 1, "and the next one goes well"


async def test_what_a_server_says_of_a_message_may_be_no_size_and_no_time(server: Dovecot, before: Relay) -> None:
    server.deliver([letter(1)])

    def odd(block: bytes) -> bytes:
        block = re.sub(rb"RFC822.SIZE \d+", b"RFC822.SIZE (1 2)", block)
        return re.sub(rb'INTERNALDATE "[^"]*"', b'INTERNALDATE "31-Dec-9999 23:00:00 -1400"', block)

    async with plain(before.port, since="2020-01-01") as source:
        before.alter = odd
        (item,), faults = await listed(source)
        assert item.size is None and not faults and b"Letter 1" in await read(source, item)


async def test_a_server_that_dies_in_a_listing_or_a_reading_is_away(server: Dovecot) -> None:
    server.deliver([letter(n) for n in range(500)])
    async with opened(server.secure, ca=server.ca) as source:
        with pytest.raises(SourceAway):
            async for page in source.list_changes(None):
                if page.items:
                    server.stop()
        server.start()
        items, _ = await listed(source)
        assert len(items) == 500
        server.stop()
        with pytest.raises(SourceAway):
            await read(source, items[0])
        server.start()
        assert await read(source, items[0])
        server.stop()
        server.start()
        assert await read(source, items[0]), "a connection that was closed meanwhile is opened again"
    server.stop()
    async with opened(server.secure, ca=server.ca) as source:
        with pytest.raises(SourceAway):
            await listed(source)


async def test_a_message_of_60_mb_comes_in_parts_and_over_a_line_that_breaks(server: Dovecot, before: Relay) -> None:
    line = b"0123456789abcdef" * 4 + b"\r\n"
    whole = bytes(letter(1, "Large")).replace(b"\n", b"\r\n") + line * (60_000_000 // len(line))
    server.deliver([whole])
    async with plain(before.port) as source:
        (item,), _ = await listed(source)
        assert item.size == len(whole)
        cuts = count()
        before.alter = lambda block: None if next(cuts) == 40 else block
        tracemalloc.start()
        at = peak = 0
        try:
            async for block in source.read(item):
                assert block == whole[at : at + len(block)]
                at += len(block)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        print(f"60 MB read with {peak / 1e6:.0f} MB of memory")
        assert at == len(whole) and peak < 24 << 20


async def test_what_is_gone_or_numbered_anew_by_now_is_gone(server: Dovecot) -> None:
    server.deliver([letter(n) for n in range(3)])
    async with opened(server.secure, ca=server.ca) as source:
        items, _ = await listed(source)
        with server.client() as client:
            client.select_folder("INBOX")
            client.delete_messages([1])
            client.expunge()
        with pytest.raises(ItemGone):
            await read(source, items[0])
        assert await read(source, items[1])
        server.stop()
        server.renumber()
        await asyncio.sleep(1.1)  # a UIDVALIDITY is a time in seconds
        server.start()
        with pytest.raises(ItemGone):
            await read(source, items[1])
        with pytest.raises(ItemGone):
            await read(source, SourceItem("no id", "1", "x"))


async def test_what_is_moved_into_a_folder_that_was_listed_already_is_found(server: Dovecot) -> None:
    server.deliver([letter(1)], "A")
    server.deliver([letter(n) for n in range(2, 5)], "B")
    async with opened(server.secure, ca=server.ca, folders="A,B") as source:
        found, moved = [], False
        async for page in source.list_changes(None):
            found += page.items
            if page.items and not moved:
                moved = True
                with server.client() as client:
                    client.select_folder("B")
                    client.move([1], "A")
                    client.append("A", bytes(letter(9)))
        assert sorted(one.filename.split(" 20")[0] for one in found) == [f"Letter {n}" for n in (1, 2, 3, 4, 9)]


async def test_2000_messages_are_listed_and_read_over_two_connections() -> None:
    with dovecot(connections=2) as narrow:
        narrow.deliver([letter(n) for n in range(2000)])
        async with opened(narrow.secure, ca=narrow.ca) as source:
            began = time.monotonic()
            items, faults = await listed(source)
            lasted = time.monotonic() - began
            assert len({one.id for one in items}) == 2000 and not faults
            raw = await asyncio.gather(*(read(source, one) for one in items[:200]))
            assert [len(one) for one in raw] == [one.size for one in items[:200]]
            print(f"2000 messages listed in {lasted:.2f} s, 200 read in {time.monotonic() - began - lasted:.2f} s")


async def test_a_server_that_falls_silent_is_given_up_and_keeps_no_thread(server: Dovecot, before: Relay) -> None:
    server.deliver([letter(1)])
    line = MailLine(MailServer("localhost", before.port, "127.0.0.1", None, False, SECRET))
    await line.connect()
    before.alter = lambda block: b"*"
    began = time.monotonic()
    with pytest.raises(SourceAway, match=r"did not answer within 0\.5 s"):
        await line.call(lambda client: client.noop(), seconds=0.5)
    with pytest.raises(SourceAway, match="closed"):
        await line.call(lambda client: client.noop())
    before.alter = lambda block: block
    async with plain(before.port) as source:
        before.alter = lambda block: b""
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(listed(source), 0.5)
    assert time.monotonic() - began < 5
    end = time.monotonic() + 5
    while any(one.name.startswith("imap") for one in threading.enumerate()):
        assert time.monotonic() < end, "a thread still waits"
        await asyncio.sleep(0.05)
