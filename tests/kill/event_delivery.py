"""Events out to a receiver that is away for minutes, and ten thousand events in while consumers are killed."""

import asyncio
import random
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from cluster.state.db import embedded
from cluster.state.db.migrate import apply_migrations
from cluster.state.db.postgres import Database
from configs.sections_events import WebhookSettings
from configs.settings import load_settings
from tests.evals.report import Report
from tests.fakes import valkey
from tests.fakes.event_parts import webhook_sender
from tests.fakes.http import open_office
from tests.fakes.uploads_stream import UploadStream
from tests.fakes.valkey import Valkey
from tests.fakes.webhook_desk import WebhookDesk
from tests.fakes.webhook_receiver import Receiver, receiving

GOAL = (
    "Webhook receiver down for 10 min: each event once, in order for each job, signature verified by the reference"
    " library; 10,000 events in."
)
JOBS, EVENTS, KILLS = 400, 10_000, 8
LONGEST_REST = 60.0  # seconds: a receiver that is back is asked within a minute


@contextmanager
def own_database(folder: Path) -> Iterator[tuple[str, str]]:
    """Connection strings of the application and of the owner, for servers of this block alone."""
    try:
        found = embedded.start_servers(load_settings({"AOS_STATE_DIR": str(folder / "state")}))
        with psycopg.connect(found.postgres_admin or "", autocommit=True) as connection:
            connection.execute("create database events")
        admin = make_conninfo(found.postgres_admin or "", dbname="events")
        asyncio.run(apply_migrations(admin))
        yield make_conninfo(found.postgres, dbname="events"), admin
    finally:
        embedded.stop_servers(folder / "state")
        shutil.rmtree(folder, ignore_errors=True)


def start_outage(report: Report, away: float) -> Callable[[], None]:
    """A receiver goes away now, beside whatever else is measured; what is returned waits for the end and judges it."""
    failed: list[BaseException] = []

    def run() -> None:
        folder = Path(tempfile.mkdtemp(prefix="aos-hooks-"))
        try:
            with own_database(folder) as (dsn, admin), receiving() as receiver:
                asyncio.run(_outage(report, dsn, admin, receiver, away))
        except (AssertionError, OSError, TimeoutError, RuntimeError, psycopg.Error) as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()

    def wait() -> None:
        thread.join()
        if failed:
            raise RuntimeError(f"{type(failed[0]).__name__}: {failed[0]}")

    return wait


async def _outage(report: Report, dsn: str, admin: str, receiver: Receiver, away: float) -> None:
    database = Database(dsn, size=8, timeout=30)
    await database.open()
    desk = WebhookDesk(dsn, admin, database, open_office(admin), receiver)
    hosts = (f"127.0.0.1:{receiver.port}",)
    sender = webhook_sender(database, WebhookSettings(hosts=hosts, longest_rest=LONGEST_REST), "one")
    try:
        await desk.add("job.*")
        await sender.open()
        before = await desk.jobs(JOBS // 4)
        await _delivered(desk, 120)
        receiver.stop()
        gone, jobs = time.monotonic(), list(before)
        while (left := away - (time.monotonic() - gone)) > 0:
            if len(jobs) < JOBS:
                jobs += await desk.jobs(JOBS // 8)
            await asyncio.sleep(min(left, away / 8))
        jobs += await desk.jobs(JOBS - len(jobs))
        receiver.start()
        back = time.monotonic()
        await _delivered(desk, 300 + LONGEST_REST)
        took = time.monotonic() - back
    finally:
        await sender.close()
        await database.close()
    expected, of = 2 * JOBS, f"{2 * JOBS} events of {JOBS} jobs"
    once = len(receiver.ids) == len(set(receiver.ids)) == expected
    ordered = receiver.by_subject("job_id") == {job: ["job.queued", "job.finished"] for job in jobs}
    lost, doubled = expected - len(set(receiver.ids)), len(receiver.ids) - len(set(receiver.ids))
    report.figure("webhooks: the receiver was away", away, unit="s", reference=of)
    report.figure("webhooks: events lost", lost, reference=of, goal=GOAL, holds=once)
    report.figure("webhooks: events doubled", doubled, reference=of, goal=GOAL, holds=once)
    report.figure("webhooks: jobs whose events came in their order", str(ordered), goal=GOAL, holds=ordered)
    refused = receiver.refused
    report.figure(
        "webhooks: signatures that standardwebhooks refused", refused, reference=0, goal=GOAL, holds=not refused
    )
    report.figure("webhooks: all delivered after it came back", took, unit="s")


async def _delivered(desk: WebhookDesk, seconds: float) -> None:
    """Every event that is written has been sent."""
    async with asyncio.timeout(seconds):
        while True:
            states = await asyncio.to_thread(desk.states)
            if states and set(states) == {"delivered"}:
                return
            await asyncio.sleep(0.5)


def measure_events(report: Report, seed: int) -> None:
    """Events by a stream, one in ten of them twice, to two consumers that are killed now and then."""
    folder = Path(tempfile.mkdtemp(prefix="aos-events-"))
    server = Valkey(folder / "v.sock")
    with own_database(folder) as (dsn, admin):
        server.start()
        try:
            asyncio.run(_take_events(report, dsn, admin, server.url, folder, random.Random(seed)))
        finally:
            server.kill()


async def _take_events(report: Report, dsn: str, admin: str, url: str, folder: Path, rng: random.Random) -> None:
    async with valkey.client(url) as redis:
        stream = UploadStream(dsn, admin, url, folder, open_office(admin), redis)
        began = time.monotonic()
        for number in range(EVENTS):
            key = stream.put(f"incoming/{number % 100}/{number}.txt", b"Letter number %d of the harbour." % number)
            for _ in range(2 if number % 10 == 0 else 1):
                await stream.send(job_id=f"j-{number}", event_id=f"e-{number}", document_key=key)
        consumers, kills, goal = [stream.start_process(f"c{n}") for n in range(2)], 0, 200
        try:
            async with asyncio.timeout(900):
                while await stream.waiting():
                    await asyncio.sleep(0.2)
                    done = stream.sql("select count(*) from event_receipts")[0][0]
                    if kills < KILLS and done > goal:
                        goal, victim = done + rng.randrange(200, EVENTS // KILLS), rng.randrange(2)
                        consumers[victim].kill()
                        consumers[victim].wait()
                        kills += 1
                        consumers[victim] = stream.start_process(f"c{victim}-{kills}")
        finally:
            for one in consumers:
                one.kill()
                one.wait()
        took = time.monotonic() - began
        dead = len(await stream.dead())
        ((documents, origins),) = stream.sql("select count(*), count(distinct origin) from documents")
        ((jobs,),) = stream.sql("select count(*) from jobs")
    of = f"{EVENTS} events, {EVENTS // 10} of them twice; {kills} consumers killed"
    report.figure("events in: documents", documents, reference=of, goal=GOAL, holds=documents == origins == EVENTS)
    report.figure("events in: jobs", jobs, reference=EVENTS, goal=GOAL, holds=jobs == EVENTS)
    report.figure("events in: dead letters", dead, reference=0, goal=GOAL, holds=not dead)
    report.figure("events in: each second", EVENTS / took)
