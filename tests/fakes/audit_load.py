"""Entries written under load, and exporters of them in processes of their own, which may be killed."""

import asyncio
import json
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cluster.basics.scope import Scope
from cluster.state.audit import AuditLog
from cluster.state.audit_export.cursors import AuditCursors
from cluster.state.audit_export.exporter import AuditExporter, PlacedSink
from cluster.state.audit_export.syslog_sink import SyslogCollector
from cluster.state.audit_export.verify import ChainReport, verify_lines
from cluster.state.db.postgres import Database
from configs.audit_sinks import SyslogSink
from configs.sections_audit import AuditSettings
from tests.fakes.rsyslog import Rsyslog

SOON = AuditSettings(poll_seconds=0.05, batch=50, retry_seconds=1)
DETAIL = {"text": "Größe “x” \u2028 \x7f\n", "rate": 1.10, "deep": {"b": [None, True], "aa": {}}}


def syslog_sink(folder: Path, port: int, **other: Any) -> SyslogCollector:
    """A collector's client with the certificates of `Rsyslog`."""
    given: dict[str, Any] = {"name": "siem", "kind": "syslog", "host": "localhost", "port": port, "seconds": 3}
    given |= {"ca_file": folder / "ca.crt", "certificate_file": folder / "client.crt"}
    return SyslogCollector(SyslogSink(**given | {"key_file": folder / "client.key"} | other), "aos.test")


def exporter_to(database: Database, folder: Path, port: int, owner: str = "one") -> AuditExporter:
    sinks = {"siem": PlacedSink(syslog_sink(folder, port), "syslog")}
    return AuditExporter(AuditCursors(database), sinks, SOON, owner=owner)


def start_exporter(dsn: str, rsyslog: Rsyslog) -> subprocess.Popen[bytes]:
    """An exporter in a process of its own; whoever starts it ends it."""
    told = json.dumps([dsn, str(rsyslog.folder), rsyslog.port])
    return subprocess.Popen([sys.executable, "-m", "tests.fakes.audit_load", told], stderr=subprocess.DEVNULL)


@dataclass
class AuditLoad:
    """Writes entries of several tenants, and counts them."""

    database: Database
    scopes: list[Scope]
    written: Counter[str] = field(default_factory=Counter)

    async def write(self, count: int, pause: float = 0) -> None:
        log = AuditLog(self.database)
        for number in range(count):
            for scope in self.scopes:
                async with self.database.transaction(scope) as tx:
                    await log.record(tx, scope, "document.upload", f"d{number}", detail=DETAIL | {"n": number})
                self.written[scope.tenant] += 1
            await asyncio.sleep(pause)

    async def wait_sent(self, seconds: float = 60) -> None:
        """Returns when the collector has confirmed everything."""
        async with asyncio.timeout(seconds):
            while not await self._is_sent():  # noqa: ASYNC110 -- other processes send
                await asyncio.sleep(0.05)

    async def _is_sent(self) -> bool:
        cursors = AuditCursors(self.database)
        rows = [row for scope in self.scopes for row in await cursors.status(scope)]
        return len(rows) == len(self.scopes) and not any(row["lag_entries"] for row in rows)

    def assert_complete(self, lines: list[str]) -> ChainReport:
        """Every entry is there, in order, and the chain holds, by these lines alone."""
        report = verify_lines(lines)
        assert report.flaws == []
        assert {tenant: chain.last for tenant, chain in report.chains.items()} == dict(self.written)
        assert all(chain.first == 1 for chain in report.chains.values())
        assert report.entries == sum(self.written.values())
        return report


async def _export(dsn: str, folder: str, port: int) -> None:
    database = Database(dsn, size=4, timeout=10)
    await database.open()
    await exporter_to(database, Path(folder), port, "a process").open()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_export(*json.loads(sys.argv[1])))
