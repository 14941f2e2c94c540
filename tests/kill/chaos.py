"""`make test-chaos`: `aos chaos` on an instance of its own, its approvals counted outside; and a soak for memory."""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.evals.report import Report
from tests.fakes.marks import Marks
from tests.fakes.model_server import serve_model
from tests.instance import AOS, Instance, instance
from tests.kill import soak
from tests.kill.approvals import configured, talk
from tests.kill.own_disk import own_disk

GOAL = (
    "`aos chaos` 50 faults of ten kinds in one 1,000-page job with chats beside it: identical result hash, approvals"
    " exactly once, back by itself ≤ 60 s each"
)
FAULTS, PAGES, KINDS = 50, 1000, 10
QUICK_FAULTS, QUICK_PAGES, QUICK_SOAK = 12, 180, 1000
QUICK_KINDS = (
    "kill-reader,kill-worker,kill-gateway,kill-embedder,kill-proxy,kill-raylet,kill-postgres,kill-valkey,"
    "stop-worker,slow-postgres,cut-postgres,fill-disk"
)
SOAKED = 5000
WITHIN = 60
PARTS = ("faults", "soak")
MODEL = {"LLM_DEFAULT_MODEL": "scripted-1", "LLM_API_KEY": "none"}
AGENTS = {
    "AOS_AGENTS_PLACEMENT": "serve",
    "AOS_AGENTS_LEASE_SECONDS": "5",
    "AOS_AGENTS_HEARTBEAT_SECONDS": "1",
    "AOS_AGENTS_PLANNING_ENABLED": "false",
    "AOS_MEMORY_EXTRACT_FACTS": "false",
}
WORK = {
    "AOS_WORKER_REPLICAS": "2",
    "AOS_WORKER_LEASE_SECONDS": "6",
    "AOS_WORKER_HEARTBEAT_SECONDS": "1",
    "AOS_READ_READERS": "2",
    "AOS_READ_PARTITION_FILES": "25",  # both workers are at work at the one job
    "OCR_STRATEGY": "tesseract",
    "AOS_DISK_FREE_BYTES": str(200 * 2**20),
}


def run_chaos(made: Instance, options: argparse.Namespace) -> tuple[int, dict[str, Any]]:
    """The command as an operator types it, with a progress line for each fault; its exit code and its report."""
    words = [AOS, "chaos", "--faults", str(options.faults), "--pages", str(options.pages), "--seed", str(options.seed)]
    words += ["--question", "Please act: keyed-{n} now.", "--approve", "record_*", "--within", str(WITHIN), "--yes"]
    words += ["--kinds", options.kinds] if options.kinds else []
    token = made.http.headers["Authorization"].removeprefix("Bearer ")
    done = subprocess.run(words, env={**made.env, "AOS_TOKEN": token}, check=False)
    kept = made.settings.state_dir / "chaos" / "report.json"
    return done.returncode, json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}


def judge(report: Report, code: int, told: dict[str, Any], marks: Marks, options: argparse.Namespace) -> None:
    """Every line of the command's own proof, and beside it what the world outside counts."""
    done = [one for one in told.get("faults", []) if one["hit"]]
    kinds = sorted({one["kind"] for one in done})
    report.figure("faults", len(done), reference=options.faults, goal=GOAL, holds=len(done) >= options.faults)
    report.figure("kinds of faults", len(kinds), reference=KINDS, goal=GOAL, holds=len(kinds) >= KINDS)
    for kind in kinds:
        backs = [one["back"] for one in done if one["kind"] == kind]
        slowest = None if None in backs else max(backs)
        holds = slowest is not None and slowest <= WITHIN
        report.figure(f"{kind}: seconds until all is well", slowest, unit="s", reference=WITHIN, goal=GOAL, holds=holds)
    for line in told.get("proof", []):
        report.figure(line["name"], line["found"], reference=line["wanted"], goal=GOAL, holds=line["holds"])
    approved = sum(one["approved"] for one in told.get("chats", []))
    effects = marks.effects()
    once = sum(count == 1 for count in effects.values())
    holds = approved == once == len(effects) > 0
    report.figure("approved calls, each with one effect outside", once, reference=approved, goal=GOAL, holds=holds)
    report.figure("calls of the tool, each with a key", sum(marks.calls().values()))
    for name, why in told.get("left_out", {}).items():
        report.figure(f"left out: {name}", why)
    report.figure("exit code", code, reference=0, goal=GOAL, holds=code == 0)


def measure_faults(report: Report, place: Path, options: argparse.Namespace) -> None:
    """An instance with two job workers, agents of their own and a tool that leaves marks, on a disk of its own."""
    marks = Marks(place / "outside")
    with (
        configured(place) as path,
        own_disk() as disk,
        serve_model(talk(marks.folder)) as model,
        instance(
            PYTHONPATH=path,
            LLM_BASE_URL=model.url,
            **({} if disk is None else {"AOS_STATE_DIR": str(disk)}),
            **MODEL,
            **AGENTS,
            **WORK,
            AOS_READ_IDLE=str(not options.eager).lower(),
        ) as made,
    ):
        code, told = run_chaos(made, options)
        judge(report, code, told, marks, options)


def main() -> int:
    """Both parts, each on an instance of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PARTS, action="append", help="leave the others out")
    parser.add_argument("--quick", action="store_true", help="twelve faults in 180 pages, a soak of 1,000")
    parser.add_argument("--eager", action="store_true", help="read also while others want the cores: a shared machine")
    parser.add_argument("--faults", type=int, default=FAULTS)
    parser.add_argument("--pages", type=int, default=PAGES)
    parser.add_argument("--kinds", default="")
    parser.add_argument("--soaked", type=int, default=SOAKED)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    if options.quick:
        options.faults, options.pages, options.soaked = QUICK_FAULTS, QUICK_PAGES, QUICK_SOAK
        options.kinds = options.kinds or QUICK_KINDS
    chosen = options.only or PARTS
    whole = (options.faults, options.pages, options.soaked, options.kinds) == (FAULTS, PAGES, SOAKED, "")
    report = Report("chaos", part=set(chosen) != set(PARTS) or not whole)
    began = time.monotonic()
    if "faults" in chosen:
        with tempfile.TemporaryDirectory(prefix="aos-chaos-") as place:
            measure_faults(report, Path(place), options)
    if "soak" in chosen:
        with tempfile.TemporaryDirectory(prefix="aos-soak-") as place, instance(**WORK) as made:
            soak.measure(made, report, Path(place) / "texts", options.soaked)
    report.figure("time", (time.monotonic() - began) / 60, unit="min")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
