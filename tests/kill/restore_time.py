"""How long a restore takes by the pages that there are: two sizes tell what grows with them from what does not."""

import asyncio
import shutil

import psycopg

from cluster.state.backup.backup_run import plan_backup, run_backup
from cluster.state.backup.log_shipping import LogShipping
from cluster.state.db import embedded
from cluster.state.db.migrate import apply_migrations
from cluster.state.db.postgres import Database
from tests.fakes import corpus
from tests.fakes.portable import Yard
from tests.kill.restore_stage import GOAL, Drill, change, owner_of

SIZES = 4_000, 24_000  # pages
PAGES = 4  # of a document
CHANGES = 500
MILLION = 1_000_000
PARTS = {
    "copy": "copy of base, increments and log",
    "combine": "combining them",
    "replay": "replay of the log",
    "blobs": "bytes of documents",
    "start": "start of the server",
    "all": "all of it",
}


async def measure_restore_time(drill: Drill) -> None:
    """Restores at both sizes, each from a full backup, 500 changes, an increment and 500 more in the log."""
    settings = drill.settings
    embedded.start_servers(settings)
    await apply_migrations(owner_of(settings))
    shipping = LogShipping(settings, drill.place)
    shipping.round()  # from now on the slot keeps the log
    app = embedded.postgres_endpoints(settings)[0]
    database = Database(app, size=2, timeout=60)
    await database.open()
    seconds, stored = [], []
    try:
        with psycopg.connect(owner_of(settings), autocommit=True) as connection:
            home = corpus.open_home(connection, "home")
            first, second = corpus.open_generation(connection, home), corpus.open_generation(connection)
            yard, filled = Yard(connection, app, database, settings.state_dir), 0
            for pages in SIZES:
                yard.fill(home, first, range(filled // PAGES, pages // PAGES), PAGES)
                filled = pages
                connection.execute(
                    "insert into embeddings select %s, chunk_id, document_id, tenant_id, workspace_id, readers,"
                    " embedding from embeddings where generation_id = %s on conflict do nothing",
                    (second, first),
                )
                for kind in ("full", "incremental"):
                    run_backup(settings, drill.place, plan_backup(settings, drill.place, kind), print)
                    for number in range(CHANGES):
                        change(connection, home, number)
                shipping.round()
                row = connection.execute("select pg_database_size(current_database())").fetchone()
                stored.append(int(row[0]) if row else 0)
                seconds.append(await asyncio.to_thread(drill.restore, "restored"))
                embedded.stop_servers(drill.folder / "restored")
                shutil.rmtree(drill.folder / "restored")
    finally:
        shipping.close()
        await database.close()
    _tell(drill, *seconds, stored)


def _tell(drill: Drill, small: dict[str, float], large: dict[str, float], stored: list[int]) -> None:
    fewer, more = SIZES
    for part, name in PARTS.items():
        told = f"{small.get(part, 0):.2f} s at {fewer:,}"
        drill.report.figure(f"RTO at {more:,} pages, {name}", large.get(part, 0), unit="s", reference=told)
    a_page = (stored[1] - stored[0]) / (more - fewer)
    drill.report.figure("database, a page", round(a_page), unit="bytes")
    a_second = (large["all"] - small["all"]) / (more - fewer)
    million = (large["all"] + a_second * (MILLION - more)) / 60
    told = f"10; {a_second * 1e3:.2f} ms a page, of which the database has {a_page:,.0f} bytes"
    drill.report.figure(
        "RTO of a million pages, extrapolated",
        million,
        unit="min",
        reference=told,
        goal=GOAL,
        holds=a_second > 0 and million <= 10,
    )
