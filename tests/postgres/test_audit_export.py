"""The audit trail at a collector: rsyslogd away or killed, exporters killed; nothing lost, nothing out of order."""

import asyncio
import json
import signal
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cluster.basics.scope import Scope
from cluster.state.audit import AuditLog
from cluster.state.audit_export.chain import ChainedEntry
from cluster.state.audit_export.cursors import AuditCursors
from cluster.state.audit_export.exporter import AuditExporter, PlacedSink
from cluster.state.audit_export.sinks import CollectorAway
from cluster.state.audit_export.verify import verify_lines
from cluster.state.db.postgres import Database
from tests.fakes.audit_load import SOON, AuditLoad, exporter_to, start_exporter, syslog_sink
from tests.fakes.http import open_office
from tests.fakes.rsyslog import Rsyslog, issue_certificates

Record = Callable[[str, object], None]


@pytest.fixture
def rsyslog(tmp_path: Path) -> Iterator[Rsyslog]:
    made = Rsyslog(tmp_path / "rsyslog")
    made.prepare()
    yield made
    made.clear()


@pytest.fixture
async def store(app_dsn: str) -> AsyncIterator[Database]:
    made = Database(app_dsn, size=8, timeout=10)
    await made.open()
    yield made
    await made.close()


@pytest.fixture
def scopes(admin_dsn: str) -> list[Scope]:
    return [open_office(admin_dsn).scope for _ in range(2)]


async def test_at_01_a_collector_that_was_away_under_load_has_everything_in_order(
    store: Database, rsyslog: Rsyslog, scopes: list[Scope], record_property: Record
) -> None:
    """AT-01: a collector that is stopped while entries are written, and comes back, lacks nothing."""
    load, running = AuditLoad(store, scopes), exporter_to(store, rsyslog.folder, rsyslog.port)
    await rsyslog.start()
    await running.open()
    await load.write(60)
    rsyslog.end()
    await load.write(200)
    status = (await AuditCursors(store).status(scopes[0]))[0]
    assert status["failures"] >= 1 and status["error"] and status["next_at"]
    assert status["lag_entries"] > 100 and status["lag_seconds"] > 0
    await rsyslog.start()
    await load.write(60)
    await load.wait_sent()
    await running.close()
    report = load.assert_complete(rsyslog.lines())
    record_property("audit lines lost or doubled", f"0 of {report.entries}")
    record_property("audit lines of an unconfirmed batch, sent again with the same id", report.repeated)
    assert report.repeated <= 2 * SOON.batch
    event = json.loads(rsyslog.lines()[0])
    assert (event["class_uid"], event["metadata"]["uid"]) == (3004, f"{event['metadata']['tenant_uid']}:1")
    assert (await AuditCursors(store).status(scopes[0]))[0]["error"] is None


async def test_at_01_nothing_is_lost_when_collector_and_exporter_are_killed(
    store: Database, app_dsn: str, rsyslog: Rsyslog, scopes: list[Scope], record_property: Record
) -> None:
    """AT-01: SIGKILL to either in the middle: nothing is lost, and what comes again is known by its id."""
    load = AuditLoad(store, scopes)
    await rsyslog.start()
    # The second stands by: what a killed one was sending is its to send when the lease has run out.
    senders = [start_exporter(app_dsn, rsyslog)]
    try:
        writing = asyncio.create_task(load.write(400, pause=0.005))
        for _ in range(5):
            await asyncio.sleep(0.4)
            rsyslog.end(signal.SIGKILL)
            await asyncio.sleep(0.1)
            await rsyslog.start()
        await writing
        senders[0].kill()
        senders[0].wait()
        async with store.transaction() as tx:
            await tx.one("select 1")
        for scope in scopes:  # a minute passes
            async with store.transaction(scope) as tx:
                await tx.run("update audit_cursors set lease_until = clock_timestamp()")
        senders.append(start_exporter(app_dsn, rsyslog))
        await load.write(100)
        await load.wait_sent()
    finally:
        for sender in senders:
            sender.kill()
            sender.wait()
    report = load.assert_complete(rsyslog.lines())
    record_property("audit lines lost or doubled, collector and exporter killed", f"0 of {report.entries}")
    record_property("audit lines of unconfirmed batches after kills, sent again with the same id", report.repeated)


async def test_a_batch_is_confirmed_only_by_a_collector_that_we_trust_and_that_trusts_us(
    store: Database, rsyslog: Rsyslog, scopes: list[Scope], tmp_path: Path
) -> None:
    """Certificates are checked both ways, by name too."""
    await AuditLoad(store, scopes[:1]).write(1)
    entries = await AuditCursors(store).entries(scopes[0], after=0, limit=10)
    await rsyslog.start()
    (tmp_path / "other").mkdir()
    issue_certificates(tmp_path / "other", ("client",))
    stranger = {"certificate_file": tmp_path / "other/client.crt", "key_file": tmp_path / "other/client.key"}
    for wrong in (
        {"ca_file": tmp_path / "other/ca.crt"},
        {"server_name": "elsewhere.example"},
        stranger,
        {"certificate_file": None, "key_file": None},
    ):
        with pytest.raises(CollectorAway):
            await syslog_sink(rsyslog.folder, rsyslog.port, **wrong).send(scopes[0].tenant, entries)
    assert rsyslog.lines() == []
    await syslog_sink(rsyslog.folder, rsyslog.port).send(scopes[0].tenant, entries)
    assert len(rsyslog.lines()) == 1


@pytest.mark.parametrize("records", [0, 1, 3])
@pytest.mark.parametrize("how", ["closes at once", "closes later", "stays silent"])
async def test_a_collector_that_has_not_read_everything_confirms_nothing(
    store: Database, rsyslog: Rsyslog, scopes: list[Scope], records: int, how: str
) -> None:
    """It reads some of the batch and closes, before or after the rest is in its queue, or does not answer at all."""
    await AuditLoad(store, scopes[:1]).write(3)
    entries = await AuditCursors(store).entries(scopes[0], after=0, limit=10)
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        answering = asyncio.create_task(asyncio.to_thread(_read_some, server, rsyslog.folder, records, how, over))
        with pytest.raises(CollectorAway):
            sink = syslog_sink(rsyslog.folder, port, seconds=1)
            await sink.send(scopes[0].tenant, entries * 40)
        over.set()
        await answering


def _read_some(server: socket.socket, folder: Path, records: int, how: str, over: threading.Event) -> None:
    """Of a batch that is more than what is read."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(folder / "server.crt", folder / "server.key")
    plain, _ = server.accept()
    with tls.wrap_socket(plain, server_side=True) as secured:
        for _ in range(records):
            secured.recv(16_384)
        over.wait({"closes at once": 0, "closes later": 0.3, "stays silent": 5}[how])


async def test_details_that_the_collector_would_cut_are_left_out_and_the_chain_still_holds(
    store: Database, rsyslog: Rsyslog, scopes: list[Scope]
) -> None:
    scope = scopes[0]
    async with store.transaction(scope) as tx:
        for size in (1, 9_000, 1):
            await AuditLog(store).record(tx, scope, "run.cancel", "r", detail={"text": "é" * size})
    await rsyslog.start()
    sink = syslog_sink(rsyslog.folder, rsyslog.port, max_bytes=4_096)
    await sink.send(scope.tenant, await AuditCursors(store).entries(scope, after=0, limit=10))
    report = verify_lines(rsyslog.lines())
    assert (report.intact, report.entries, report.unhashed) == (True, 3, 1)
    assert max(map(len, rsyslog.lines())) < 4_096


@dataclass
class FarCollector:
    """Takes its time, and then is away; or has everything at once."""

    away: float = 0
    tenants: set[str] = field(default_factory=set)

    async def send(self, tenant: str, entries: Sequence[ChainedEntry]) -> None:
        if self.away:
            await asyncio.sleep(self.away)
            raise CollectorAway("nobody answers")
        self.tenants.add(tenant)


async def test_a_collector_that_is_away_for_many_tenants_does_not_keep_the_next_one_waiting(
    store: Database, admin_dsn: str
) -> None:
    """Each failure waits a second, so that there is always a tenant whose turn at the first it is."""
    offices = [open_office(admin_dsn).scope for _ in range(12)]
    away, there = FarCollector(0.8), FarCollector()
    sinks = {"first": PlacedSink(away, "otlp"), "second": PlacedSink(there, "otlp")}
    running = AuditExporter(AuditCursors(store), sinks, SOON, owner="one")
    await AuditLoad(store, offices[:8]).write(1)
    await running.open()
    await asyncio.sleep(1)
    await AuditLoad(store, offices[8:]).write(1)
    try:
        async with asyncio.timeout(8):
            while len(there.tenants) < len(offices):  # noqa: ASYNC110 -- the exporter sends meanwhile
                await asyncio.sleep(0.05)
    finally:
        await running.close()
    assert there.tenants == {office.tenant for office in offices} and not away.tenants
