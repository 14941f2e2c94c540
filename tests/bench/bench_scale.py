"""`make bench-1m`: hybrid search at 10,000, 100,000 and a million chunks, one server that grows."""

import argparse
import asyncio
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import psycopg
import uvloop

from cluster.basics.scope import Scope
from cluster.state.db import embedded
from cluster.state.db.migrate import apply_migrations
from cluster.state.db.postgres import Database
from configs.settings import load_settings
from tests.bench import bench_search
from tests.bench.bench_search import Asked, Maker
from tests.evals import irdata
from tests.evals.report import Report
from tests.fakes import corpus

SIZES = {"10k": 10_000, "100k": 100_000, "1M": 1_000_000}
LOAD = 50_000  # chunks copied at once
GROWTH_GOAL = "growth ≤ 2.5× per decade"
GROWTH = 2.5
# Rows are loaded without these and the indexes made afterwards: ten times quicker than keeping them up.
LATER = ("document_chunks_bm25", "document_chunks_lexemes", "document_chunks_atoms")


async def run(
    state: Path, texts: Sequence[str], questions: Sequence[str], sizes: Sequence[str], report: Report
) -> None:
    """Grow, measure, grow."""
    found = embedded.start_servers(load_settings({"AOS_STATE_DIR": str(state)}))
    admin = found.postgres_admin or ""
    await apply_migrations(admin)
    maker = Maker(texts)
    asked = [(text, maker.vector()) for text in questions]
    with psycopg.connect(admin, autocommit=True) as connection:
        big, small = corpus.open_home(connection, "big"), corpus.open_home(connection, "small")
        generation = corpus.open_generation(connection, big, small, dimension=bench_search.DIMENSION)
    database = Database(found.postgres)
    await database.open()
    try:
        before, slowest = 0, None
        for size in sizes:
            await asyncio.to_thread(grow, admin, maker, (big, small, generation), (before, SIZES[size]), report, size)
            before = SIZES[size]
            times = await measure(report, (admin, found.postgres), database, (big, small, generation), asked, size)
            memory(report, state, size)
            if slowest is not None:
                for share in (50, 95):
                    ratio = times.at("hybrid", share) / slowest.at("hybrid", share)
                    name = f"{size}: hybrid against a tenth of the chunks, p{share}"
                    report.figure(name, ratio, unit="×", goal=GROWTH_GOAL, holds=ratio <= GROWTH)
            slowest = times
    finally:
        await database.close()


async def measure(
    report: Report, servers: tuple[str, str], database: Database, homes: bench_search.Homes, asked: Asked, size: str
) -> bench_search.Times:
    """Times and recall at one size; `servers` are the superuser's way in and the application's."""
    times = await bench_search.compare(*servers, database, homes, asked)
    bench_search.tell(report, times, size)
    await bench_search.recall(report, database, homes, asked[:50], size)
    return times


def grow(
    admin: str, maker: Maker, homes: bench_search.Homes, sizes: tuple[int, int], report: Report, size: str
) -> None:
    """Load what is missing, a thousandth of it for the small tenant, and make the indexes anew."""
    big, small, generation = homes
    missing = sizes[1] - sizes[0]
    with psycopg.connect(admin, autocommit=True) as connection:
        with timed(report, f"{size}: {missing} chunks loaded"), later(connection, report, size):
            connection.execute(f"drop index if exists embeddings_{generation}_hnsw")
            share = max(missing // 1000, 10)
            _load(connection, small, generation, maker, share)
            for start in range(0, missing - share, LOAD):
                _load(connection, big, generation, maker, min(LOAD, missing - share - start))
        with timed(report, f"{size}: HNSW built"):
            connection.execute("select index_generation(%s, 1)", (generation,))
        connection.execute("vacuum analyze")


def _load(connection: psycopg.Connection[Any], scope: Scope, generation: int, maker: Maker, chunks: int) -> None:
    corpus.load(connection, scope, generation, bench_search.renamed(maker.books(chunks)))


@contextmanager
def later(connection: psycopg.Connection[Any], report: Report, size: str) -> Iterator[None]:
    """Without the indexes over words while rows are loaded; made as they were afterwards."""
    query = "select relname, pg_get_indexdef(oid) from pg_class where relname = any(%s)"
    made = connection.execute(query, (list(LATER),)).fetchall()
    for name, _ in made:
        connection.execute(f"drop index {name}")
    yield
    connection.execute("set maintenance_work_mem = '1GB'")
    for name, definition in made:
        with timed(report, f"{size}: {name} built"):
            connection.execute(definition)


@contextmanager
def timed(report: Report, what: str) -> Iterator[None]:
    """A figure of how long it took."""
    start = time.perf_counter()
    yield
    report.figure(what, round(time.perf_counter() - start, 1), unit="s")
    print(f"{what}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)


def memory(report: Report, state: Path, size: str) -> None:
    """Proportional memory of the server with its sessions."""
    servers = [process for process in embedded.server_processes(state) if process.name() == "postgres"]
    family = [one for server in servers for one in (server, *server.children(recursive=True))]
    mib = sum(one.memory_full_info().pss for one in family if one.is_running()) / 2**20
    report.figure(f"{size}: memory of Postgres (PSS)", round(mib), unit="MiB")
    report.figure(f"{size}: memory of the machine in use", round(psutil.virtual_memory().used / 2**20), unit="MiB")


def main() -> int:
    """Measure, print, write `.reports/bench-1m.json`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evals", type=Path, default=irdata.DEFAULT)
    parser.add_argument("--size", choices=list(SIZES), action="append", help="only these; in this order")
    parser.add_argument("--questions", type=int, default=100)
    options = parser.parse_args()
    folder = options.evals / "ir"
    if not folder.is_dir():
        print(f"bench-1m: there is no {folder}; give the folder of the evaluation data with --evals", file=sys.stderr)
        return 2
    sets = [irdata.load(path) for path in sorted(folder.iterdir()) if path.is_dir()]
    texts = [f"{text.title}\n{text.text}" for data in sets for text in data.documents]
    pool = [text for data in sets for text in data.questions.values()]
    report = Report("bench-1m")
    state = Path(tempfile.mkdtemp(prefix="aos-"))
    try:
        questions = random.Random(11).sample(pool, options.questions)
        uvloop.run(run(state, texts, questions, options.size or list(SIZES), report))
    finally:
        embedded.stop_servers(state)
        shutil.rmtree(state, ignore_errors=True)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
