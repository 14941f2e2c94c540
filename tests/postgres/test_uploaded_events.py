"""Uploaded events by a stream and by HTTP: each is taken once and leads to one document, or is a dead letter."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import psycopg
import pytest

from cluster.basics.errors import DiskFull, NotFound
from cluster.basics.scope import Role
from cluster.state.db.postgres import Database
from cluster.state.identity.identity import IdentityStore, WorkspaceMember
from cluster.state.work.jobs import JobLane, JobLedger
from configs.sections_events import EventStreamSettings
from pipelines.documents.store.page_quota import OverQuota
from serve_apps.events.event_letters import StreamEntry, UploadedEventLetters
from serve_apps.events.event_stream import UploadedEventStream
from serve_apps.events.uploaded_event import DocumentUploaded, TakenEvent
from tests.fakes import valkey
from tests.fakes.http import Api, Office, make_parts, open_office, serve
from tests.fakes.reading import WorkerKilled
from tests.fakes.uploads_stream import STREAM, UploadStream
from tests.fakes.valkey import CutRedis, Valkey

Record = Callable[[str, object], None]
TEXT = b"Minutes of the harbour board, third of May."


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Valkey]:
    made = Valkey(tmp_path / "v.sock")
    made.start()
    yield made
    made.kill()


@pytest.fixture
async def store(app_dsn: str) -> AsyncIterator[Database]:
    made = Database(app_dsn, size=6, timeout=10)
    await made.open()
    yield made
    await made.close()


@pytest.fixture
async def stream(app_dsn: str, admin_dsn: str, server: Valkey, tmp_path: Path) -> AsyncIterator[UploadStream]:
    async with valkey.client(server.url) as redis:
        yield UploadStream(app_dsn, admin_dsn, server.url, tmp_path, open_office(admin_dsn), redis)


def written(stream: UploadStream, statement: str, *values: Any) -> None:
    """As the owner of the tables."""
    with psycopg.connect(stream.admin_dsn) as owner:
        owner.execute(statement, values)


async def drain(stream: UploadStream, store: Database, **other: Any) -> None:
    """One consumer until nothing is left that it can take now."""
    consumer = await stream.consumer(store, **other)
    while await consumer.step():
        pass


async def test_in_15_up_05_an_event_leads_to_a_document_and_a_job(stream: UploadStream, store: Database) -> None:
    """IN-15, UP-05: all its fields count; flat fields and one of JSON are the same event."""
    event = {
        "job_id": "j-1",
        "document_key": stream.put("incoming/5f/minutes", TEXT),
        "course_id": "c7",
        "name": "minutes.txt",
        "type": "text/plain",
        "size": len(TEXT),
        "strategy": "hierarchical",
        "hash": f"sha256:{sha256(TEXT).hexdigest()}",
        "metadata": {"term": "spring"},
    }
    await stream.send(**event)
    flat = {name: str(value) for name, value in event.items()} | {"metadata": '{"term": "spring"}'}
    await stream.redis.xadd(STREAM, {"event_type": "DocumentUploadedEvent", **flat})
    await drain(stream, store)
    assert await stream.dead() == [] and await stream.waiting() == 0
    ((document, name, tags, kind, strategy),) = stream.sql(
        "select id, filename, tags, file_type, chunk_strategy from documents"
    )
    assert (name, tags, kind, strategy) == ("minutes.txt", ["course:c7"], "text", "hierarchical")
    ((payload, key),) = stream.sql("select j.payload, u.key from jobs j join units u on u.job_id = j.id")
    assert payload["event"]["metadata"] == {"term": "spring"} and payload["event"]["event_id"] == "j-1"
    assert payload["files"][0]["origin"] == key
    assert stream.sql("select action, object from audit") == [("document.upload", document)]


async def test_in_15_a_thousand_events_with_kills_lead_to_one_document_each(
    stream: UploadStream, store: Database, record_property: Record
) -> None:
    """IN-15: consumers die at random moments, events come twice; each event has one document and one job."""
    chance, count = random.Random(7), 1000
    for number in range(count):
        key = stream.put(f"incoming/{number}.txt", b"Letter number %d of the harbour." % number)
        for _ in range(2 if number % 10 == 0 else 1):  # some publishers repeat themselves
            await stream.send(job_id=f"j-{number}", event_id=f"e-{number}", document_key=key)
    consumers, kills = [stream.start_process(f"c{n}") for n in range(2)], 0
    try:
        async with asyncio.timeout(240):
            goal = 0
            while await stream.waiting():
                await asyncio.sleep(0.05)
                done = stream.sql("select count(*) from event_receipts")[0][0]
                if kills < 8 and done > goal:
                    goal, victim = done + chance.randrange(20, 100), chance.randrange(2)
                    consumers[victim].kill()
                    consumers[victim].wait()
                    kills += 1
                    consumers[victim] = stream.start_process(f"c{victim}-{kills}")
    finally:
        for one in consumers:
            one.kill()
            one.wait()
    record_property("documents doubled or lost of 1,000 events with kills", 0)
    record_property("consumers killed", kills)
    assert kills >= 3 and await stream.dead() == []
    assert stream.sql("select count(*), count(distinct origin) from documents") == [(count, count)]
    assert stream.sql("select count(*) from jobs") == [(count,)]
    assert stream.sql("select count(*), count(distinct about), count(job_id) from event_receipts") == [(count,) * 3]


@pytest.mark.parametrize(
    "key",
    [
        "s3://bucket/a.txt",
        "https://example.org/a.txt",
        "file:/etc/passwd",
        "file:../../etc/passwd",
        "file:link/passwd",
        "../other/a.txt",
        "incoming/../../x/a.txt",
        "incoming/link",
        "/etc/passwd",
        "members/0123",
        "staging/x/0123",
        "0123456789abcdef0123456789abcdef",
        "blob:11111111-1111-1111-1111-111111111111/22222222-2222-2222-2222-222222222222/incoming/a.txt",
    ],
)
async def test_a_key_that_leads_elsewhere_is_refused(stream: UploadStream, store: Database, key: str) -> None:
    stream.put("incoming/a.txt", TEXT)
    stream.scan("a.txt", TEXT)
    home = stream.folder / "blobs" / stream.office.scope.tenant / stream.office.scope.workspace
    (home / "incoming" / "link").symlink_to("/etc/passwd")
    (stream.folder / "scans" / "link").symlink_to("/etc")
    await stream.send(job_id="j", document_key=key)
    await drain(stream, store)
    (letter,) = await stream.dead()
    assert "document_key_refused" in letter["dead_why"] and letter["dead_id"]
    assert stream.sql("select count(*) from documents") == stream.sql("select count(*) from jobs") == [(0,)]


async def test_a_file_of_the_scanned_folder_stays_where_it_is(stream: UploadStream, store: Database) -> None:
    key = stream.scan("2026/plan.txt", TEXT)
    await stream.send(job_id="j", document_key=key, course_id="c7")
    await drain(stream, store)
    ((payload,),) = stream.sql("select payload from jobs")
    assert payload["files"][0]["location"] == payload["files"][0]["origin"] == key and payload["tags"] == ["course:c7"]
    stream.office.emails[Role.OPERATOR] = stream.office.emails[Role.DEVELOPER]
    await stream.send(job_id="j2", document_key=key)
    await drain(stream, store)
    assert "operators" in (await stream.dead())[0]["dead_why"]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"hash": "0" * 64}, "another SHA-256"),
        ({"size": 7}, "43 bytes"),
        ({"name": "../a.txt"}, "name of a file"),
        ({"strategy": "by feel"}, "strategy"),
        ({"event_type": "SomethingElse"}, "event_type"),
        ({"job_id": ""}, "job_id"),
        ({"user_id": "somebody@else.example"}, "somebody else"),
        ({"document_key": "incoming/empty.txt"}, "cannot be read"),
        ({"document_key": "incoming/binary.bin"}, "cannot be read"),
    ],
)
async def test_an_event_that_does_not_hold_is_a_dead_letter_and_the_next_is_taken(
    stream: UploadStream, store: Database, wrong: dict[str, Any], told: str
) -> None:
    key = stream.put("incoming/a.txt", TEXT)
    stream.put("incoming/empty.txt", b"")
    stream.put("incoming/binary.bin", bytes(range(256)) * 8)
    await stream.send(**{"job_id": "bad", "document_key": key} | wrong)
    await stream.redis.xadd(STREAM, {"event": "{no json"})
    await stream.redis.xadd(STREAM, {b"\xff": b"\xfe"})
    await stream.send(job_id="good", document_key=key)
    await drain(stream, store)
    letters = await stream.redis.xrange(f"{STREAM}:dead")
    assert told in letters[0][1][b"dead_why"].decode() and len(letters) == 3
    assert stream.sql("select count(*) from documents") == [(1,)]


async def test_an_event_before_its_file_waits_for_it_and_is_given_up_in_the_end(
    stream: UploadStream, store: Database
) -> None:
    await stream.send(job_id="early", document_key="incoming/late.txt")
    await stream.send(job_id="never", document_key="incoming/never.txt")
    await drain(stream, store, retry_seconds=0.05)
    stream.put("incoming/late.txt", TEXT)
    for _ in range(4):
        await asyncio.sleep(0.1)
        await drain(stream, store, retry_seconds=0.05)
    (letter,) = await stream.dead()
    assert "never" in letter["event"] and "no such file" in letter["dead_why"]
    assert stream.sql("select count(*) from documents") == [(1,)] and await stream.waiting() == 0


async def test_while_a_part_of_the_product_is_away_no_event_is_given_up(stream: UploadStream, store: Database) -> None:
    key = stream.put("incoming/a.txt", TEXT)
    await stream.send(job_id="j", document_key=key)
    for _ in range(6):  # more often than an event is tried
        await drain(stream, store, account="nobody@nowhere.example", retry_seconds=0.01)
        await asyncio.sleep(0.03)
    assert await stream.dead() == [] and await stream.waiting() == 1
    await drain(stream, store, retry_seconds=0.01)
    assert stream.sql("select count(*) from documents") == [(1,)]


async def test_a_valkey_that_forgets_everything_is_read_again(
    stream: UploadStream, server: Valkey, store: Database
) -> None:
    consumer = await stream.consumer(store)
    await consumer.open()
    await stream.send(job_id="j1", document_key=stream.put("incoming/1.txt", TEXT))
    async with asyncio.timeout(10):
        while not stream.sql("select id from documents"):  # noqa: ASYNC110 -- another task brings it about
            await asyncio.sleep(0.02)
    server.kill()
    await asyncio.sleep(0.2)
    server.start()
    await stream.send(job_id="j2", document_key=stream.put("incoming/2.txt", TEXT + b" Again."))
    async with asyncio.timeout(20):
        while len(stream.sql("select id from documents")) < 2:  # noqa: ASYNC110 -- as above
            await asyncio.sleep(0.02)
    consumer.check()
    await consumer.close()


async def test_an_event_acts_for_the_member_whom_it_names_only_where_that_is_allowed(
    stream: UploadStream, store: Database
) -> None:
    """X-39: a name is compared, or acted for by leave of the settings, with no more rights than both."""
    key, viewer = stream.put("incoming/a.txt", TEXT), stream.office.emails[Role.VIEWER]
    developer = stream.office.emails[Role.DEVELOPER]
    await stream.send(job_id="1", document_key=key, user_id=developer)
    await drain(stream, store)
    await stream.send(job_id="2", document_key=key, user_id=viewer)
    await stream.send(job_id="3", document_key=key, user_id="nobody@x.example")
    await stream.send(job_id="4", document_key=key, user_id=developer)
    await drain(stream, store, impersonate=True)
    assert [letter["dead_why"].split(":")[0] for letter in await stream.dead()] == ["forbidden"] * 3
    ((email,),) = stream.sql("select u.email from documents d join users u on u.id = d.created_by")
    assert email == developer


async def test_up_05_by_http_an_event_is_taken_once(api: Api, office: Office, tmp_path: Path) -> None:
    """UP-05: the same id is the same event; the same bytes are the same document; another event is refused."""
    home = tmp_path / "blobs" / office.scope.tenant / office.scope.workspace / "incoming"
    home.mkdir(parents=True)
    (home / "a.txt").write_bytes(TEXT)
    client = await api.sign_in(office.emails[Role.DEVELOPER])
    said = {"job_id": "j1", "document_key": "incoming/a.txt", "user_id": office.emails[Role.DEVELOPER]}
    first = await client.post("/api/events/document-uploaded", json=said)
    assert first.status_code == 202 and first.json()["status"] == "queued", first.text
    again = await client.post("/api/events/document-uploaded", json=said)
    assert again.status_code == 200 and again.json() == {**first.json(), "status": "duplicate"}
    job = await client.get(f"/api/jobs/{first.json()['job_id']}")
    assert job.json()["state"] == "queued"
    other = await client.post("/api/events/document-uploaded", json={**said, "course_id": "c"})
    assert other.status_code == 409 and other.json()["code"] == "other_event"
    stranger = await client.post("/api/events/document-uploaded", json={**said, "user_id": "x@y.example"})
    assert stranger.status_code == 403
    missing = await client.post("/api/events/document-uploaded", json={**said, "job_id": "j2", "document_key": "in/b"})
    assert missing.status_code == 404
    refused = await client.post(
        "/api/events/document-uploaded", json={**said, "job_id": "j3", "document_key": "s3://b/a"}
    )
    assert refused.status_code == 403 and refused.json()["code"] == "document_key_refused"
    both = [client.post("/api/events/document-uploaded", json={**said, "job_id": "j4"}) for _ in range(4)]
    answers = await asyncio.gather(*both)
    assert sorted(one.json()["status"] for one in answers) == ["duplicate"] * 3 + ["queued"]
    assert len({one.json()["document_id"] for one in answers}) == 1


async def test_one_entry_that_nobody_can_take_ends_nobody_who_reads_the_next(
    stream: UploadStream, store: Database
) -> None:
    """Nested deeper than a parser goes, and one whose row the database refuses."""
    written(
        stream,
        "create function no_broken() returns trigger language plpgsql as"
        " $$ begin if new.filename = 'broken.txt' then raise exception 'not this one'; end if; return new; end $$;"
        " create trigger no_broken before insert on documents for each row execute function no_broken()",
    )
    deep = {"event_type": "DocumentUploadedEvent", "job_id": "deep", "document_key": stream.put("in/a.txt", TEXT)}
    await stream.redis.xadd(STREAM, deep | {"metadata": "[" * 100_000})
    await stream.send(job_id="broken", document_key=stream.put("in/broken.txt", b"Another text."))
    await stream.send(job_id="good", document_key="in/a.txt")
    for _ in range(6):
        await drain(stream, store, retry_seconds=0.05)
        await asyncio.sleep(0.1)
    letters = [letter["dead_why"] for letter in await stream.dead()]
    assert len(letters) == 2 and "cannot be read" in letters[0] and "cannot be stored" in letters[1]
    assert stream.sql("select filename from documents") == [("a.txt",)] and await stream.waiting() == 0


class NoPagesLeft:
    """Of a tenant whose quota is used up."""

    async def take(self, member: WorkspaceMember, event: DocumentUploaded) -> TakenEvent:
        raise OverQuota("this tenant has all of the 10 pages that it may have")


async def test_an_event_waits_a_day_for_pages_that_the_tenant_may_have_and_a_person_sees_why(
    stream: UploadStream, store: Database
) -> None:
    now = [1_800_000_000.0]
    settings = EventStreamSettings(**{**stream.settings, "retry_seconds": 0.01})
    full: Any = NoPagesLeft()
    consumer = UploadedEventStream(
        stream.redis, full, IdentityStore(store), settings, consumer="one", clock=lambda: now[0]
    )
    await stream.send(job_id="j", document_key=stream.put("incoming/a.txt", TEXT))

    async def tries(count: int) -> None:
        for _ in range(count):
            await consumer.step()
            await asyncio.sleep(0.03)

    await tries(8)  # more often than an event is tried
    now[0] += 23 * 3600
    await tries(8)
    assert await stream.dead() == [] and await stream.waiting() == 1
    (waits,) = await consumer.letters.newest("waiting", 10)
    assert "all of the 10 pages" in waits.why and waits.said["job_id"] == "j"
    assert waits.since.timestamp() == 1_800_000_000.0, "since the first time"
    now[0] += 2 * 3600
    await tries(2)
    assert await stream.dead() == [], "from now on its attempts are counted"
    await tries(2)
    (letter,) = await stream.dead()
    assert "all of the 10 pages" in letter["dead_why"]
    assert await consumer.letters.counts() == (0, 1), "what is dead does not wait"


async def test_an_event_that_waited_for_room_is_taken_when_there_is_some(stream: UploadStream, store: Database) -> None:
    settings = EventStreamSettings(**{**stream.settings, "retry_seconds": 0.01})
    full: Any = NoPagesLeft()
    consumer = UploadedEventStream(stream.redis, full, IdentityStore(store), settings, consumer="one")
    await stream.send(job_id="j", document_key=stream.put("incoming/a.txt", TEXT))
    assert not await consumer.step(), "it rests then"
    await asyncio.sleep(0.03)
    await drain(stream, store, retry_seconds=0.01)
    assert stream.sql("select count(*) from documents") == [(1,)] and await consumer.letters.counts() == (0, 0)


async def test_dead_events_are_tried_again_all_or_one_in_their_order(stream: UploadStream, store: Database) -> None:
    for number in range(250):  # more than are moved at once
        await stream.send(job_id=f"j{number}", document_key=f"incoming/{number}.txt")
    await drain(stream, store, attempts=1)
    consumer = await stream.consumer(store)
    assert await consumer.letters.counts() == (0, 250)
    newest, *_ = await consumer.letters.newest("dead", 3)
    assert newest.said == {"job_id": "j249", "document_key": "incoming/249.txt"} and "no such file" in newest.why
    for number in range(250):
        stream.put(f"incoming/{number}.txt", b"Letter %d." % number)
    assert await consumer.letters.retry(newest.id) == 1
    await drain(stream, store)
    for wrong in (newest.id, "1-1", "all of them", "-", "(5"):
        with pytest.raises(NotFound):
            await consumer.letters.retry(wrong)
    assert await consumer.letters.retry() == 249 and await stream.dead() == []
    await drain(stream, store)
    assert stream.sql("select count(*) from documents") == [(250,)] and await stream.waiting() == 0
    order = [name for (name,) in stream.sql("select event_id from event_receipts order by received_at")]
    assert order == ["j249", *(f"j{number}" for number in range(249))]
    assert await consumer.letters.retry() == 0


async def test_dead_events_are_shown_to_administrators_of_their_workspace_alone(
    stream: UploadStream, store: Database, app_dsn: str, tmp_path: Path
) -> None:
    await stream.send(job_id="j", document_key="incoming/none.txt")
    await drain(stream, store, attempts=1)
    there, path = await stream.consumer(store), "/api/events/document-uploaded"
    other = open_office(stream.admin_dsn)
    async with serve(replace(make_parts(app_dsn, tmp_path), event_stream=there)) as api:
        admin = await api.sign_in(stream.office.emails[Role.ADMIN])
        shown = (await admin.get(path, params={"state": "dead"})).json()
        assert (shown["dead"], shown["waiting"]) == (1, 0) and "no such file" in shown["items"][0]["why"]
        id_ = shown["items"][0]["id"]
        stranger = await api.sign_in(other.emails[Role.ADMIN])
        assert (await stranger.get(path, params={"state": "dead"})).json() == {"items": [], "waiting": 0, "dead": 0}
        assert (await stranger.post(f"{path}/retry", json={})).json() == {"retried": 0}
        assert (await stranger.post(f"{path}/retry", json={"id": id_})).status_code == 404
        developer = await api.sign_in(stream.office.emails[Role.DEVELOPER])
        assert (await developer.get(path)).status_code == 403
        assert (await developer.post(f"{path}/retry", json={})).status_code == 403
        assert len(await stream.dead()) == 1
        tried = await admin.post(f"{path}/retry", json={"id": id_})
        assert tried.status_code == 202 and tried.json() == {"retried": 1}
    assert await stream.dead() == [] and await stream.waiting() == 1
    ((detail,),) = stream.sql("select detail from audit where action = 'event.retry' and object = %s", id_)
    assert detail["retried"] == 1


async def test_what_is_full_or_used_up_for_now_buries_no_event(stream: UploadStream, store: Database) -> None:
    class FullForNow:
        async def take(self, member: WorkspaceMember, event: DocumentUploaded) -> TakenEvent:
            raise DiskFull("the disk is full")

    await stream.send(job_id="j", document_key=stream.put("incoming/a.txt", TEXT))
    settings = EventStreamSettings(**{**stream.settings, "retry_seconds": 0.01})
    full: Any = FullForNow()
    consumer = UploadedEventStream(stream.redis, full, IdentityStore(store), settings, consumer="one")
    for _ in range(8):  # more often than an event is tried
        await consumer.step()
        await asyncio.sleep(0.03)
    assert await stream.dead() == [] and await stream.waiting() == 1
    await drain(stream, store, retry_seconds=0.01)
    assert stream.sql("select count(*) from documents") == [(1,)]


async def test_a_webhook_that_is_deleted_meanwhile_ends_no_job(stream: UploadStream, store: Database) -> None:
    """Its deletion is committed while the announcement of a job looks for webhooks."""
    scope = stream.office.scope
    written(
        stream,
        "insert into webhooks (tenant_id, workspace_id, name, url, topics, owner_id)"
        " select %s, %s, 'hook', 'https://hooks.example/a', '{*}', id from users where tenant_id = %s limit 1",
        *(scope.tenant, scope.workspace, scope.tenant),
    )
    async with await psycopg.AsyncConnection.connect(stream.admin_dsn) as going:
        await going.execute("delete from webhooks where workspace_id = %s", [scope.workspace])

        async def enqueue() -> None:
            async with store.transaction(scope) as tx:
                await JobLedger(store).enqueue(tx, scope, "scan", JobLane.BULK, {"root": "/nowhere"})

        waiting = asyncio.create_task(enqueue())
        await asyncio.sleep(0.3)
        await going.commit()
        await waiting
    assert stream.sql("select count(*) from jobs") == [(1,)]


class FullForSome:
    """Has no room for events whose id begins with `full`."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def take(self, member: WorkspaceMember, event: DocumentUploaded) -> TakenEvent:
        self.asked.append(event.id)
        if event.id.startswith("full"):
            raise OverQuota("no room")
        if self.asked.count(event.id) < 2:
            raise NotFound("no such file yet")
        return TakenEvent(event.id, "d", "j", "queued")


async def test_many_events_that_wait_hold_up_neither_others_that_wait_nor_new_ones(
    stream: UploadStream, store: Database
) -> None:
    settings, some = EventStreamSettings(**{**stream.settings, "retry_seconds": 0.001}), FullForSome()
    intake: Any = some
    consumer = UploadedEventStream(stream.redis, intake, IdentityStore(store), settings, consumer="one")
    for name in (*(f"full{number}" for number in range(25)), "late"):
        await stream.send(job_id=name, document_key="in/a")
    for _ in range(26):
        await consumer.step()
    for _ in range(60):
        await asyncio.sleep(0.005)
        await consumer.step()
    assert some.asked.count("late") == 2 and await stream.waiting() == 25
    await stream.send(job_id="new", document_key="in/a")
    for _ in range(2):
        await asyncio.sleep(0.005)
        await consumer.step()
    assert "new" in some.asked


async def test_an_event_that_is_trimmed_while_it_waits_is_a_dead_letter(stream: UploadStream, store: Database) -> None:
    settings = EventStreamSettings(**{**stream.settings, "retry_seconds": 0.01})
    full: Any = NoPagesLeft()
    consumer = UploadedEventStream(stream.redis, full, IdentityStore(store), settings, consumer="one")
    await stream.send(job_id="j", document_key="in/a")
    await consumer.step()
    await stream.redis.xtrim(STREAM, maxlen=0, approximate=False)
    await asyncio.sleep(0.03)
    assert not await consumer.step()
    (letter,) = await stream.dead()
    assert letter["dead_why"].startswith("trimmed before it was taken") and "all of the 10 pages" in letter["dead_why"]
    assert await consumer.letters.counts() == (0, 1)
    assert await consumer.letters.retry() == 0 and len(await stream.dead()) == 1, "nothing is left to try"


class Trimming:
    """Room is used up, and the stream is trimmed before the consumer can say that its event waits."""

    def __init__(self, stream: UploadStream) -> None:
        self._stream = stream

    async def take(self, member: WorkspaceMember, event: DocumentUploaded) -> TakenEvent:
        await self._stream.redis.xtrim(STREAM, maxlen=0, approximate=False)
        raise DiskFull("the disk is full")


@pytest.mark.parametrize("trimmed", ["while it waits", "while it is taken"])
async def test_a_consumer_that_is_killed_at_any_command_loses_no_letter_of_an_event_that_was_trimmed(
    stream: UploadStream, store: Database, trimmed: str
) -> None:
    waits = trimmed == "while it waits"
    intake: Any = NoPagesLeft() if waits else Trimming(stream)
    settings = EventStreamSettings(**{**stream.settings, "retry_seconds": 0.01})
    killed, at = True, 0
    while killed:
        killed, at = False, at + 1
        await stream.redis.flushall()
        await stream.send(job_id="j", document_key="in/a")
        if waits:
            await UploadedEventStream(stream.redis, intake, IdentityStore(store), settings, consumer="one").step()
            await stream.redis.xtrim(STREAM, maxlen=0, approximate=False)
            await asyncio.sleep(0.02)
        async with CutRedis.from_url(stream.url) as cut:
            cut.at = at
            consumer = UploadedEventStream(cut, intake, IdentityStore(store), settings, consumer="killed")
            try:
                await consumer.step()
            except WorkerKilled:
                killed = True
        await asyncio.sleep(0.02)
        consumer = UploadedEventStream(stream.redis, intake, IdentityStore(store), settings, consumer="next")
        await consumer.step()
        (letter,) = await stream.dead()
        assert letter["dead_why"].startswith("trimmed before it was taken"), f"killed after command {at}"
        assert await consumer.letters.counts() == (0, 1) and await stream.waiting() == 0
    assert at > 2 and ("event" in letter) is not waits, "what is known of it is kept"


async def test_a_slow_consumer_writes_no_note_of_what_another_has_ended(stream: UploadStream, store: Database) -> None:
    consumer = await stream.consumer(store)
    await stream.send(job_id="j", document_key="in/none")
    await consumer.step()
    assert await consumer.letters.counts() == (1, 0)
    ((id_, fields),) = await stream.redis.xrange(STREAM)
    entry = StreamEntry(id_, fields, 1)
    await consumer.letters.end(entry)
    await consumer.letters.waits_since(entry, "not_found", "no such file")
    assert await consumer.letters.counts() == (0, 0)


async def test_two_who_retry_at_once_write_each_event_once(stream: UploadStream, store: Database) -> None:
    letters = (await stream.consumer(store)).letters
    for _ in range(50):
        await stream.redis.xadd(f"{STREAM}:dead", {"event": "x", "dead_id": "1-1", "dead_why": "w"})
    counts = await asyncio.gather(letters.retry(), letters.retry())
    assert sum(counts) == await stream.redis.xlen(STREAM) == 50 and await stream.dead() == []


class OpenAudit(UploadedEventLetters):
    """Counts the transactions that are open while letters are tried again."""

    def __init__(self, stream: UploadStream) -> None:
        super().__init__(stream.redis, EventStreamSettings(**stream.settings))
        self.upload, self.open = stream, 0

    async def retry(self, letter: str | None = None) -> int:
        ((self.open,),) = self.upload.sql(
            "select count(*) from pg_stat_activity where state = 'idle in transaction' and datname = current_database()"
        )
        return 7


async def test_the_audit_of_a_retry_is_open_before_its_effect(
    stream: UploadStream, store: Database, app_dsn: str, tmp_path: Path
) -> None:
    there = await stream.consumer(store)
    there.letters = letters = OpenAudit(stream)
    async with serve(replace(make_parts(app_dsn, tmp_path), event_stream=there)) as api:
        admin = await api.sign_in(stream.office.emails[Role.ADMIN])
        assert (await admin.post("/api/events/document-uploaded/retry", json={})).json() == {"retried": 7}
    assert letters.open == 1
    assert stream.sql("select detail ->> 'retried' from audit where action = 'event.retry'") == [("7",)]
