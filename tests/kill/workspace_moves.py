"""`make test-portable`: a workspace exported, imported and merged, each killed on the way."""

import argparse
import asyncio
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from cluster.basics.scope import Scope
from cluster.state.db import embedded
from cluster.state.db.migrate import apply_migrations
from cluster.state.db.postgres import Database
from configs.sections_retrieval import RerankSettings, SearchSettings
from configs.settings import load_settings
from serve_apps.retrieval.answers.answerer import DocumentAnswerer
from serve_apps.retrieval.search.pipeline import SearchPipeline
from tests.evals.report import Report
from tests.fakes import corpus
from tests.fakes.models import FakeEmbedder
from tests.fakes.portable import Yard

GOAL = (
    "Export → import into another tenant and a merge: 0 pages read again, answers equal, citations resolve; killed"
    " three times on the way."
)
PAGES = 4
QUESTIONS = 20


@dataclass
class Mover:
    """Runs the program as the commands do, and ends it with SIGKILL where somebody wants that."""

    state: Path
    app_dsn: str
    admin_dsn: str
    rng: random.Random

    def run(self, *words: str) -> tuple[dict[str, Any], float]:
        """To its end: what it tells, and how many seconds it took."""
        began = time.monotonic()
        done = self._start(words)
        told, _ = done.communicate()
        body = json.loads(told)
        assert "error" not in body, body
        return body, time.monotonic() - began

    def kill(self, kills: int, seconds: float, *words: str) -> int:
        """Begin it and end it at random moments; how often it was not through already."""
        killed = 0
        for _ in range(kills):
            program = self._start(words)
            time.sleep(self.rng.uniform(0.25, 0.9) * seconds)
            killed += program.poll() is None
            program.send_signal(signal.SIGKILL)
            program.communicate()
        return killed

    def _start(self, words: tuple[str, ...]) -> subprocess.Popen[bytes]:
        own = {"AOS_STATE_DIR": str(self.state), "DATABASE_URL": self.app_dsn, "DATABASE_ADMIN_URL": self.admin_dsn}
        command = [sys.executable, "-m", "pipelines.documents.portable.move_program", *words]
        return subprocess.Popen(command, env=os.environ | own, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


async def measure(report: Report, folder: Path, documents: int, kills: int, seed: int = 7) -> None:
    """Fill the report: how a workspace of so many documents moves, with `kills` of each move."""
    endpoints = embedded.start_servers(load_settings({"AOS_STATE_DIR": str(folder / "state")}))
    try:
        with psycopg.connect(endpoints.postgres_admin or "", autocommit=True) as connection:
            connection.execute("create database moves")
        dsns = (endpoints.postgres, endpoints.postgres_admin or "")
        app, admin = (psycopg.conninfo.make_conninfo(dsn, dbname="moves") for dsn in dsns)
        await apply_migrations(admin)
        database = Database(app, size=4, timeout=30)
        await database.open()
        with psycopg.connect(admin, autocommit=True) as connection:
            yard = Yard(connection, app, database, folder)
            await _moves(report, yard, Mover(folder, app, admin, random.Random(seed)), documents, kills)
        await database.close()
    finally:
        embedded.stop_servers(folder / "state")


async def _moves(report: Report, yard: Yard, mover: Mover, documents: int, kills: int) -> None:
    names = ("archive", "probe", "arrival", "other")
    mine, probe, target, other = (corpus.open_home(yard.admin, name) for name in names)
    generation = corpus.open_generation(yard.admin, mine, probe, target, other)
    yard.fill(mine, generation, range(documents), PAGES)
    yard.fill(other, generation, range(documents // 2, documents + documents // 2), PAGES)
    first, out = str(yard.folder / "first"), str(yard.folder / "moved")
    told, seconds = mover.run("export", first, "--workspace", "archive")  # how long one takes that nobody ends
    cut = mover.kill(kills, seconds, "export", out, "--workspace", "archive")
    told, _ = mover.run("export", out, "--workspace", "archive")
    size = _bytes_below(yard.folder / "moved")
    report.figure("documents, pages", f"{told['counts']['documents']}, {told['counts']['pages']}")
    report.figure(
        "export", told["counts"]["pages"] / seconds, unit="pages/s", reference=f"{seconds:.1f} s, {size:,} bytes"
    )
    _, seconds = mover.run("import", first, "--workspace", "probe")
    report.figure("import", documents * PAGES / seconds, unit="pages/s", reference=f"{seconds:.1f} s")
    cut_in = mover.kill(kills, seconds, "import", out, "--workspace", "arrival")
    arrived, _ = mover.run("import", out, "--workspace", "arrival")
    cut_merge = mover.kill(kills, seconds * 0.6, "merge", out, "--workspace", "other")
    merged, _ = mover.run("merge", out, "--workspace", "other")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    report.figure("largest program", peak / 2**20, unit="MiB")
    report.figure("killed on the way", f"{cut} + {cut_in} + {cut_merge}", reference=f"of {kills} each")
    _judge_rows(report, yard, (mine, target, other), documents, (arrived, merged))
    same = [await _same_answer(yard, mine, (target, other), number * 7 % documents) for number in range(QUESTIONS)]
    report.figure(
        "answers equal", sum(one for one, _ in same), reference=QUESTIONS, goal=GOAL, holds=all(a for a, _ in same)
    )
    report.figure(
        "citations resolve", sum(c for _, c in same), reference=QUESTIONS, goal=GOAL, holds=all(c for _, c in same)
    )


def _bytes_below(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _judge_rows(
    report: Report, yard: Yard, scopes: tuple[Scope, Scope, Scope], documents: int, told: tuple[dict[str, Any], ...]
) -> None:
    mine, target, other = scopes
    read = yard.counted("select count(*) from units") + yard.counted("select count(*) from jobs")
    report.figure("pages read again", read, goal=GOAL, holds=read == 0)
    equal = yard.contents(target) == yard.contents(mine)
    report.figure(
        "texts, words, chunks and vectors of the import", "equal" if equal else "other", goal=GOAL, holds=equal
    )
    found = yard.contents(other)
    once = len({row[0] for row in found["versions"]}) == len(found["documents"]) == documents + documents // 2
    pages = len(found["pages"]) == len(found["chunks"]) == len(found["vectors"]) == (documents + documents // 2) * PAGES
    report.figure(
        "documents of the merge",
        len(found["documents"]),
        reference=documents + documents // 2,
        goal=GOAL,
        holds=once and pages and not told[1]["conflicts"],
    )
    lines = yard.counted("select count(*) from audit where action in ('workspace.import', 'workspace.merge')")
    report.figure("lines in the audit trail", lines, reference=3, holds=lines == 3)


async def _same_answer(yard: Yard, mine: Scope, others: tuple[Scope, ...], number: int) -> tuple[bool, bool]:
    """Whether one question is answered alike everywhere, and whether every citation leads to what it quotes."""
    question = f"v{number * 100 + 1} {(number * 100 + 1) * 3}"
    told, resolve = [], True
    for scope in (mine, *others):
        search = SearchPipeline(yard.database, FakeEmbedder(), None, SearchSettings(), RerankSettings())
        answer = await DocumentAnswerer(search, yard.database, FakeEmbedder(), None).ask(scope, question)
        cited = [(c.filename, c.page, c.start, c.end, c.quote, c.boxes, c.ocr_confidence) for c in answer.citations]
        told.append((answer.mode, answer.text, cited))
        for one in answer.citations:
            row = yard.admin.execute(
                "select substr(p.text, %s + 1, %s - %s) from pages p where p.version_id = %s and p.number = %s"
                " and p.workspace_id = %s",
                (one.start, one.end, one.start, one.version_id, one.page, scope.workspace),
            ).fetchone()
            resolve = resolve and row is not None and row[0] == one.quote and bool(one.boxes)
        resolve = resolve and bool(answer.citations)
    return told[0] == told[1] == told[2], resolve


def main() -> int:
    """Measure in a folder of its own."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", type=int, default=240)
    parser.add_argument("--kills", type=int, default=3)
    given = parser.parse_args()
    report = Report("test-portable", part=(given.documents, given.kills) != (240, 3))
    folder = Path(tempfile.mkdtemp(prefix="aos-"))
    try:
        asyncio.run(measure(report, folder, given.documents, given.kills))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
