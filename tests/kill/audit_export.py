"""`python -m tests.kill.audit_export`: a collector of the audit trail away for ten minutes, and killed, under load."""

import argparse
import asyncio
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import psycopg

from cluster.state.db import embedded
from cluster.state.db.migrate import apply_migrations
from cluster.state.db.postgres import Database
from configs.settings import load_settings
from tests.evals.report import Report
from tests.fakes.audit_load import AuditLoad, start_exporter
from tests.fakes.http import open_office
from tests.fakes.rsyslog import Rsyslog

GOAL = (
    "A collector that is away for 10 minutes under load, or killed, lacks no line of the audit trail and has none twice"
)
TENANTS = 3


async def measure(report: Report, folder: Path, away: float, kills: int) -> None:
    """Fill the report: `away` in seconds, `kills` of the collector and of the exporter at random moments."""
    endpoints = embedded.start_servers(load_settings({"AOS_STATE_DIR": str(folder / "state")}))
    admin = endpoints.postgres_admin or ""
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute("create database trail")
    admin, app = (psycopg.conninfo.make_conninfo(dsn, dbname="trail") for dsn in (admin, endpoints.postgres))
    await apply_migrations(admin)
    database, rsyslog = Database(app, size=6, timeout=30), Rsyslog(folder / "rsyslog")
    rsyslog.prepare()
    await database.open()
    load = AuditLoad(database, [open_office(admin).scope for _ in range(TENANTS)])
    await rsyslog.start()
    sender = start_exporter(app, rsyslog)
    try:
        await load.write(200)
        rsyslog.end()
        began = time.monotonic()
        while time.monotonic() - began < away:
            await load.write(10, pause=0.02)
        await rsyslog.start()
        back = time.monotonic()
        await load.wait_sent(900)
        report.figure("collector away", away, unit="s", reference=f"{sum(load.written.values())} lines written")
        report.figure("all sent after it came back", time.monotonic() - back, unit="s")
        _judge(report, load, rsyslog, "away")
        writing = asyncio.create_task(load.write(40 * kills, pause=0.005))
        for number in range(kills):
            await asyncio.sleep(random.Random(number).uniform(0.2, 0.9))
            if number % 4 == 3:
                sender.kill()
                sender.wait()
                sender = start_exporter(app, rsyslog)  # goes on when the lease of the killed one has run out
            else:
                rsyslog.end(signal.SIGKILL)
                await rsyslog.start()
        await writing
        await load.wait_sent(900)
        _judge(report, load, rsyslog, f"{kills} kills")
    finally:
        sender.kill()
        sender.wait()
        rsyslog.clear()
        await database.close()
        embedded.stop_servers(folder / "state")


def _judge(report: Report, load: AuditLoad, rsyslog: Rsyslog, when: str) -> None:
    found, of = load.assert_complete(rsyslog.lines()), sum(load.written.values())
    lost = of - found.entries
    report.figure(f"lines lost or doubled by id, {when}", f"{lost} of {of}", goal=GOAL, holds=not lost)
    report.figure(f"lines that came again with the same id, {when}", found.repeated, reference=of)


def main() -> int:
    """Exit 0 where nothing was lost."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--away", type=float, default=600)
    asked.add_argument("--kills", type=int, default=60)
    given = asked.parse_args()
    report = Report("audit-export", part=given.away < 600)
    folder = Path(tempfile.mkdtemp(prefix="aos-"))
    os.umask(0o077)
    try:
        asyncio.run(measure(report, folder, given.away, given.kills))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
