"""Random corrections of scans under running questions: seconds until found, chunks embedded, stale citations."""

import argparse
import asyncio
import json
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import httpx

from tests.evals.correction_walk import CorrectionFigures, CorrectionWalk
from tests.evals.report import ROOT, Report
from tests.instance import Instance, instance
from tests.samples.make_samples import DPI, paper

GOAL = (
    "Corrections: 200 random ones under running questions: the corrected text is found in ≤ 5 s, ≤ 3 chunks re-embedded"
    " for each, 0 stale citations."
)
CORRECTIONS = 200
FILES, PAGES_A_FILE = 4, 3
CHARACTERS = 2_200  # of a page
MOST_SECONDS, MOST_CHUNKS = 5.0, 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure; the exit code is 1 where a goal does not hold, 2 where there is no data."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evals", type=Path, default=ROOT.parent / "shared" / "evals")
    parser.add_argument("--corrections", type=int, default=CORRECTIONS)
    parser.add_argument("--seed", type=int, default=11)
    chosen = parser.parse_args(arguments)
    corpus: Path = chosen.evals / "qa" / "squad2_dev" / "corpus.jsonl"
    if not corpus.is_file():
        print(f"eval-corrections: no {corpus}; name the measuring data with --evals", file=sys.stderr)
        return 2
    report = Report("eval-corrections", part=chosen.corrections < CORRECTIONS)
    with tempfile.TemporaryDirectory(prefix="aos-corrections-") as place, instance() as made:
        draw_scans(read_paragraphs(corpus), Path(place))
        job = made.ingest(Path(place))
        report.figure("the scan of the pages", job["state"])
        figures = asyncio.run(_walk(made, chosen.corrections, chosen.seed))
    tell_figures(report, figures, chosen.corrections)
    return report.finish()


async def _walk(made: Instance, corrections: int, seed: int) -> CorrectionFigures:
    headers = {"Authorization": made.http.headers["Authorization"]}
    async with httpx.AsyncClient(base_url=made.http.base_url, headers=headers, timeout=120) as client:
        return await CorrectionWalk(client, random.Random(seed)).run(corrections)


def tell_figures(report: Report, figures: CorrectionFigures, corrections: int) -> None:
    """The figures of a walk, judged against the goal."""
    made = len(figures.seconds)
    report.figure("corrections", made, reference=corrections, goal=GOAL, holds=made == corrections)
    slowest, most = figures.slowest, max(figures.reembedded, default=0)
    report.figure("found after, p50", figures.within(0.5), unit="s")
    report.figure("found after, p95", figures.within(0.95), unit="s")
    report.figure("found after, the slowest", slowest, unit="s", goal=GOAL, holds=slowest <= MOST_SECONDS)
    report.figure("chunks re-embedded, most", most, reference=MOST_CHUNKS, goal=GOAL, holds=most <= MOST_CHUNKS)
    report.figure("chunks re-embedded, mean", sum(figures.reembedded) / max(1, made))
    report.figure("answers looked at", figures.answers)
    report.figure("citations looked at", figures.citations)
    report.figure("citations that say that they were corrected", figures.corrected)
    stale = len(figures.stale)
    report.figure("stale citations", stale, reference=0, goal=GOAL, holds=stale == 0 and figures.citations > 0)
    report.figure("lost citations", figures.lost, reference=0, goal=GOAL, holds=figures.lost == 0)
    for quote in figures.stale[:5]:
        print(f"stale: {quote!r}", file=sys.stderr)


def read_paragraphs(corpus: Path) -> list[str]:
    """The texts of the set, in its order."""
    rows = (json.loads(line) for line in corpus.read_text(encoding="utf-8").splitlines())
    return [" ".join(str(row.get("text") or row.get("context") or "").split()) for row in rows]


def draw_scans(paragraphs: Sequence[str], folder: Path) -> None:
    """Pages as pictures in PDF files: real prose, paragraph after paragraph, each page about as full as paper is."""
    left = iter(paragraphs)
    for number in range(FILES):
        pages = []
        for _ in range(PAGES_A_FILE):
            text = ""
            while len(text) < CHARACTERS and (more := next(left, "")):
                text += more[: CHARACTERS - len(text)] + "\n\n"
            pages.append(paper(text, 26, 86))
        pages[0].save(folder / f"scan-{number}.pdf", "PDF", resolution=DPI, save_all=True, append_images=pages[1:])


if __name__ == "__main__":
    sys.exit(main())
