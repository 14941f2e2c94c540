"""`make test-restore`: a filled instance under load, backed up and put back on an empty machine as it was at a time."""

import argparse
import asyncio
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg

from cluster.basics.scope import Scope
from cluster.state.approvals import ApprovalStore, ReviewVerdict
from cluster.state.audit import AuditLog
from cluster.state.backup.backup_run import plan_backup, run_backup
from cluster.state.backup.backup_state import read_backup_state
from cluster.state.backup.catalog import list_backups
from cluster.state.backup.keeper import BackupKeeper
from cluster.state.backup.log_shipping import LogShipping
from cluster.state.backup.verification import verify_destination
from cluster.state.db import embedded
from cluster.state.db.migrate import apply_migrations
from cluster.state.db.postgres import Database
from cluster.state.work.run_queries import RunQueries
from cluster.state.work.runs import RunLedger
from configs.sections import Settings
from configs.sections_retrieval import RerankSettings, SearchSettings
from configs.settings import load_settings
from serve_apps.agents.turn_ports import Turn
from serve_apps.retrieval.search.pipeline import SearchPipeline
from serve_apps.retrieval.search.query import SearchQuery
from tests.evals.report import Report
from tests.fakes import corpus
from tests.fakes.models import FakeEmbedder
from tests.fakes.portable import Yard
from tests.fakes.runs import Outside, Stage, acting, stage
from tests.kill.restore_stage import GOAL, Drill, change, owner_of
from tests.kill.restore_time import measure_restore_time

TENANTS, DOCUMENTS, PAGES, CHANGES = 3, 1400, 4, 500
LEAST = 5_000  # pages that are left of them at that time
WAITING, QUESTIONS, MARKERS = 10, 20, 3
Hits = list[tuple[Any, ...]]


def all_rows(settings: Settings) -> dict[str, str]:
    """A digest of every row, by table; unlogged ones are empty after any crash."""
    with psycopg.connect(owner_of(settings)) as connection:
        names = connection.execute(
            "select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace"
            " where n.nspname = 'public' and c.relkind in ('r', 'p') and c.relpersistence = 'p' order by 1"
        ).fetchall()
        found = {}
        for (table,) in names:
            digest = f"select md5(coalesce(string_agg(md5(x::text), '' order by md5(x::text)), '')) from {table} x"
            row = connection.execute(digest.encode()).fetchone()
            found[table] = "" if row is None else str(row[0])
    return found


@contextmanager
def load(settings: Settings, scope: Scope) -> Iterator[list[int]]:
    """Somebody writes all the time; how many times so far."""
    stop, done = threading.Event(), [0]

    def write() -> None:
        with psycopg.connect(owner_of(settings), autocommit=True) as connection:
            while not stop.wait(0.01):
                change(connection, scope, done[0])
                done[0] += 1

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield done
    finally:
        stop.set()
        thread.join()


async def answers(settings: Settings, scopes: list[Scope]) -> list[Hits]:
    """The golden questions: every hit with its ids and scores."""
    with psycopg.connect(owner_of(settings), autocommit=True) as connection:
        connection.execute("select make_keyword_index()")  # a worker's work after each start of the server
    database = Database(embedded.postgres_endpoints(settings)[0], size=2, timeout=30)
    await database.open()
    try:
        search = SearchPipeline(database, FakeEmbedder(), None, SearchSettings(), RerankSettings())
        found = []
        for nth in range(QUESTIONS):
            number = nth * 13 % 200 * 100 + 1
            told = await search.run(scopes[nth % len(scopes)], SearchQuery(f"valve v{number} {number * 3} bar"))
            found.append([(told.keyword_engine, told.vector, told.fallback), *map(repr, told.hits)])
        return found
    finally:
        await database.close()


async def fill(drill: Drill, stages: AsyncExitStack) -> tuple[list[Scope], list[tuple[Stage, Turn]]]:
    """Tenants with documents in two generations, and turns that wait for a decision."""
    app, owner = embedded.postgres_endpoints(drill.settings)
    database = Database(app, size=2, timeout=60)
    await database.open()
    with psycopg.connect(owner or "", autocommit=True) as connection:
        homes = [corpus.open_home(connection, f"home{nth}") for nth in range(TENANTS)]
        first, second = corpus.open_generation(connection, *homes), corpus.open_generation(connection)
        yard = Yard(connection, app, database, drill.settings.state_dir)
        share = DOCUMENTS // TENANTS
        for nth, home in enumerate(homes):
            more = DOCUMENTS - share * TENANTS if nth == 0 else 0
            yard.fill(home, first, range(share + more), PAGES)
        connection.execute(
            "insert into embeddings select %s, chunk_id, document_id, tenant_id, workspace_id, readers, embedding"
            " from embeddings where generation_id = %s",
            (second, first),
        )
    await database.close()
    waiting = []
    for home in homes:
        made = await stages.enter_async_context(stage(app, owner or "", tenant=home.tenant))
        for _ in range(WAITING):
            turn = await made.begin()
            await made.carry(turn, acting(Outside()))
            waiting.append((made, turn))
    return homes, waiting


async def decide(drill: Drill, again: Settings, waiting: list[tuple[Stage, Turn]]) -> None:
    """On the restored machine: each waits as it did; approved, asked again and swept, it acts once."""
    outside, still = Outside(), 0
    database = Database(embedded.postgres_endpoints(again)[0], size=4, timeout=30)
    await database.open()
    try:
        audit = AuditLog(database)
        for made, turn in waiting:
            there = replace(
                made,
                database=database,
                runs=RunLedger(database),
                approvals=ApprovalStore(database, audit),
                desk=RunQueries(database),
                audit=audit,
            )
            rows = await there.pending(turn)
            still += len(rows) == 1
            for row in rows:
                await there.approvals.decide(there.scope, str(row["id"]), ReviewVerdict.APPROVED)
            async with there.sweeping(acting(outside), "one"), there.sweeping(acting(outside), "two"):
                await there.until(turn, "completed", seconds=30)
    finally:
        await database.close()
    runs = [run for run, _, _ in outside.acted]
    once = sorted(runs) == sorted(turn.run for _, turn in waiting)
    holds = once and still == len(waiting)
    drill.report.figure(
        "waiting approvals executed", len(runs), reference=len(waiting), unit="once each", goal=GOAL, holds=holds
    )


def measure_rpo(drill: Drill, scope: Scope) -> None:
    """The longest time from a commit until it is in the destination, the instance quiet and under load."""
    keeper, worst = (
        BackupKeeper(drill.settings, lambda line: print(line, flush=True)),
        {"quiet": 0.0, "under load": 0.0},
    )

    def shipped_after(moment: datetime) -> float:
        began = time.monotonic()
        while True:
            keeper.step()
            known = read_backup_state(drill.settings.state_dir).shipped
            if known and datetime.fromisoformat(known) > moment:
                return time.monotonic() - began
            assert time.monotonic() - began < 120
            time.sleep(0.5)

    def mark() -> datetime:
        with psycopg.connect(owner_of(drill.settings), autocommit=True) as connection:
            change(connection, scope, 0)
            row = connection.execute("select clock_timestamp()").fetchone()
        assert row is not None
        found: datetime = row[0]
        return found

    try:
        for _ in range(MARKERS):
            worst["quiet"] = max(worst["quiet"], shipped_after(mark()))
        with load(drill.settings, scope):
            for _ in range(MARKERS):
                worst["under load"] = max(worst["under load"], shipped_after(mark()))
    finally:
        keeper.close()
    for how, seconds in worst.items():
        drill.report.figure(f"RPO, {how}", seconds, unit="s", reference=60, goal=GOAL, holds=seconds <= 60)


async def measure(drill: Drill) -> None:
    """Fill the report."""
    settings = drill.settings
    embedded.start_servers(settings)
    await apply_migrations(owner_of(settings))
    shipping = LogShipping(settings, drill.place)
    shipping.round()  # from now on the slot keeps the log
    shipping.close()
    run_backup(settings, drill.place, plan_backup(settings, drill.place, "full"), print)
    async with AsyncExitStack() as stages:
        homes, waiting = await fill(drill, stages)
        with load(settings, homes[0]) as written:
            made = run_backup(settings, drill.place, plan_backup(settings, drill.place, "full"), print)
            run_backup(settings, drill.place, plan_backup(settings, drill.place, "incremental"), print)
        drill.report.figure("changes during the backups", written[0], reference=f"{made.size / 2**20:.0f} MiB")
        with psycopg.connect(owner_of(settings), autocommit=True) as connection:
            for number in range(CHANGES // 2):
                change(connection, homes[number % TENANTS], number)
            golden = await answers(settings, homes)
            row = connection.execute("select clock_timestamp()").fetchone()
            assert row is not None
            moment: datetime = row[0]
            before, pages = all_rows(settings), connection.execute("select count(*) from pages").fetchone()
            await asyncio.sleep(0.1)
            for number in range(CHANGES // 2, CHANGES):
                change(connection, homes[number % TENANTS], number)
        await asyncio.to_thread(measure_rpo, drill, homes[0])
        count = 0 if pages is None else int(pages[0])
        drill.report.figure("tenants, pages", f"{TENANTS}, {count}", goal=GOAL, reference=LEAST, holds=count >= LEAST)
        faults = await asyncio.to_thread(verify_destination, drill.place)
        drill.report.figure("faults that verify finds", len(faults), reference=0, holds=not faults)
        drill.report.figure("backups", len(list_backups(drill.place)))
        seconds = await asyncio.to_thread(drill.restore, "again", moment)
        again = drill.at("again")
        other = sorted(name for name, one in all_rows(again).items() if before[name] != one)
        drill.report.figure(
            "tables whose rows differ",
            len(other),
            reference=f"of {len(before)} {' '.join(other)}",
            goal=GOAL,
            holds=not other,
        )
        same = sum(a == b for a, b in zip(golden, await answers(again, homes), strict=True))
        found = sum(len(one) > 1 for one in golden)
        drill.report.figure(
            "golden questions with the same ids and scores",
            same,
            reference=f"{QUESTIONS}, {found} with hits",
            goal=GOAL,
            holds=same == found == QUESTIONS,
        )
        await decide(drill, again, waiting)
        told = f"backup, log of {MARKERS * 2} waits for it and {count:,} pages"
        drill.report.figure("RTO of that", seconds["all"], unit="s", reference=told)


def main() -> int:
    """In a folder of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("drill", "time"), help="that part alone")
    only = parser.parse_args().only
    report, folder = Report("test-restore", part=only is not None), Path(tempfile.mkdtemp(prefix="aos-"))
    for name in ("to", "sizes/to"):
        (folder / name).mkdir(parents=True)
    (folder / "pass").write_text("a long passphrase")
    (folder / "pass").chmod(0o600)
    given = {"AOS_STATE_DIR": str(folder / "a"), "AOS_BACKUP_URL": str(folder / "to")}
    os.environ.update(given | {"AOS_BACKUP_PASSPHRASE_FILE": str(folder / "pass")})
    drill = Drill(report, folder, load_settings())
    try:
        if only != "time":
            asyncio.run(measure(drill))
        if only != "drill":
            asyncio.run(measure_restore_time(drill.beside("sizes")))
    finally:
        for name in ("a", "again", "sizes/a", "sizes/restored"):
            embedded.stop_servers(folder / name)
        shutil.rmtree(folder, ignore_errors=True)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
