"""`make eval-tokens`: each way in which a token ends against each door that it opens, on a real server."""

import asyncio
import shutil
import sys
import tempfile
from pathlib import Path

from cluster.state.db import embedded
from cluster.state.db.migrate import apply_migrations
from configs.settings import load_settings
from tests.evals.report import Report
from tests.fakes.listening import listening
from tests.fakes.token_ends import LIMIT_SECONDS, WAYS, parts_for, seconds_until_refused

GOAL = "Tokens: 8 ways to end them × HTTP, SSE, WebSocket, MCP, console: refused ≤ 5 s."


async def measured(report: Report, url: str, admin_dsn: str) -> None:
    """Every way at once: the table is a server's that has other things to do, too."""
    tables = await asyncio.gather(*(seconds_until_refused(way, url, admin_dsn) for way in WAYS))
    for way, table in zip(WAYS, tables, strict=True):
        for door, seconds in table.items():
            shown = None if seconds is None else round(seconds, 2)
            holds = seconds is not None and seconds <= LIMIT_SECONDS
            report.figure(f"{way}: {door}", shown, unit="s", reference=LIMIT_SECONDS, goal=GOAL, holds=holds)
    report.figure("ways to end a token", len(WAYS), reference=8, goal=GOAL, holds=len(WAYS) >= 8)


def main() -> int:
    """Measure and print."""
    report = Report("eval-tokens")
    folder = Path(tempfile.mkdtemp(prefix="aos-"))
    try:
        ends = embedded.start_servers(load_settings({"AOS_STATE_DIR": str(folder)}))
        assert ends.postgres_admin is not None
        asyncio.run(apply_migrations(ends.postgres_admin))
        with listening(parts_for(ends.postgres, folder)) as url:
            asyncio.run(measured(report, url, ends.postgres_admin))
    finally:
        embedded.stop_servers(folder)
        shutil.rmtree(folder, ignore_errors=True)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
