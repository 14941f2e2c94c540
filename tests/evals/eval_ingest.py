"""Every file of the ingest set in one job, judged by its manifest (`python -m tests.evals.eval_ingest`)."""

import argparse
import json
import re
import shutil
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from configs.sections import OcrSettings, ReadSettings
from pipelines.documents.document import Failure, FailureReason, Status, Unreadable
from pipelines.documents.extract.reader import DocumentReader
from pipelines.documents.store.page_codec import failure_from_json
from tests.evals.report import ROOT, Report
from tests.instance import Instance, instance

WORKERS = 2
JOB_SECONDS = 1500.0
NOT_CLEAN = (FailureReason.CRASHED, FailureReason.TIMEOUT)
ENDS = (
    "all 162 files of `../shared/evals/ingest` in one job: each ends as text, `partial`, or with a reason code;"
    " no crash, no hang"
)
# Headings that the converter whose output is expected adds by itself; the file does not hold them.
_ADDED = {"markitdown__test_outlook_msg.msg": ("Content",)}
_MARKS = dict.fromkeys(map(ord, "*[]"))
ALL = "`eval-ingest`: all 162 right or with a reason that you would defend to the file's owner"
RIGHT = "right = the outcome agrees with the manifest and every `must_include` is present; misses listed (aim ≥ 85 %)"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a file ended: its text page after page, why pages are missing, or why all of it is."""

    text: str = ""
    pages: int = 0
    failures: tuple[Failure, ...] = ()
    reason: FailureReason | None = None

    @property
    def reasons(self) -> set[FailureReason]:
        """The file's reason and those of its pages."""
        return {failure.reason for failure in self.failures} | ({self.reason} if self.reason else set())


@dataclass(frozen=True, slots=True)
class Case:
    """A line of the manifest."""

    path: Path
    category: str
    outcome: str
    must_include: tuple[str, ...]
    must_not_include: tuple[str, ...]
    expected: Path | None


Outcomes = Callable[[list[Path], Report], Mapping[Path, Outcome]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge what becomes of the files; the exit code is 1 where a goal does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evals", type=Path, default=ROOT.parent / "shared" / "evals")
    parser.add_argument(
        "--by", choices=WAYS, default="job", help="one scan job through the product, or its reader alone"
    )
    chosen = parser.parse_args(arguments)
    folder: Path = chosen.evals / "ingest"
    if not (folder / "manifest.jsonl").is_file():
        print(f"eval-ingest: no manifest in {folder}; name the measuring data with --evals", file=sys.stderr)
        return 2
    cases = load(folder)
    report = Report("eval-ingest" if chosen.by == "job" else f"eval-ingest-{chosen.by}")
    started = time.monotonic()
    ended = WAYS[chosen.by]([case.path for case in cases], report)
    return judge(cases, ended, report, time.monotonic() - started)


def load(folder: Path) -> list[Case]:
    """The manifest's cases."""
    cases = []
    for line in (folder / "manifest.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        expected = folder / row["expected_md"] if row["expected_md"] else None
        includes = tuple(row["must_include"]), tuple(row["must_not_include"])
        cases.append(Case(folder / row["file"], row["category"], row["outcome"], *includes, expected))
    return cases


def complaints(case: Case, outcome: Outcome | None) -> list[str]:
    """Why a case is not right; empty when it is. White space counts as one space: line breaks are layout."""
    if outcome is None:
        return ["no outcome"]
    found = []
    reasons = ", ".join(sorted(outcome.reasons))
    blank = not outcome.text.strip()
    if case.outcome == "text" and (blank or outcome.reasons):
        found.append(f"text expected, got {reasons or 'nothing'}")
    elif case.outcome == "either" and outcome.reasons & set(NOT_CLEAN):
        found.append(f"text or a clean reason expected, got {reasons}")
    elif case.outcome == "needs_password" and outcome.reason != FailureReason.ENCRYPTED:
        found.append(f"encrypted expected, got {reasons or 'text'}")
    elif case.outcome == "empty" and not (blank and outcome.reasons <= {FailureReason.EMPTY}):
        found.append(f"empty expected, got {reasons or 'text'}")
    elif case.outcome == "reject" and (outcome.reason is None or outcome.reasons & set(NOT_CLEAN)):
        found.append(f"a refusal expected, got {reasons or 'text'}")
    text = fold(outcome.text)
    added = _ADDED.get(case.path.name, ())
    wanted = [one for one in case.must_include if one not in added]
    found += [f"lacks {one[:60]!r}" for one in wanted if fold(one) not in text]
    found += [f"has {unwanted[:60]!r}" for unwanted in case.must_not_include if fold(unwanted) in text]
    return found


def judge(cases: Sequence[Case], ended: Mapping[Path, Outcome], report: Report, seconds: float) -> int:
    """Print the misses and the figures."""
    misses = {case: found for case in cases if (found := complaints(case, ended.get(case.path)))}
    for case, found in misses.items():
        print(f"miss: {case.path.name}: {'; '.join(found)}")
    all_ended = sum(case.path in ended for case in cases)
    report.figure("files that ended", all_ended, reference=len(cases), goal=ENDS, holds=all_ended == len(cases))
    for name, reason in (("crashed", FailureReason.CRASHED), ("hung", FailureReason.TIMEOUT)):
        count = sum(reason in outcome.reasons for outcome in ended.values())
        report.figure(f"files that {name}", count, reference=0, goal=ENDS, holds=count == 0)
    right = (len(cases) - len(misses)) / len(cases)
    report.figure("files that are right", right, reference=0.85, goal=RIGHT, holds=right >= 0.85)
    report.figure("right or defended", len(cases) - len(misses), reference=len(cases), goal=ALL, holds=not misses)
    for name, count in sorted(Counter(_ending(outcome) for outcome in ended.values()).items()):
        report.figure(f"ended as {name}", count)
    by_category: dict[str, list[bool]] = defaultdict(list)
    for case in cases:
        by_category[case.category].append(case not in misses)
    for category, verdicts in sorted(by_category.items()):
        report.figure(f"right, {category}", f"{sum(verdicts)}/{len(verdicts)}")
    recalls = [_recall(case.expected, ended[case.path]) for case in cases if case.expected and case.path in ended]
    if recalls:
        report.figure("words of the reference conversions found, mean", sum(recalls) / len(recalls))
    report.figure("pages", sum(outcome.pages for outcome in ended.values()))
    report.figure("time", seconds, unit="s")
    return report.finish()


def fold(text: str) -> str:
    """White space as single spaces, without the marks of Markdown, which differ by converter."""
    return " ".join(text.translate(_MARKS).split())


def _ending(outcome: Outcome) -> str:
    if outcome.reason is not None:
        return outcome.reason
    return "partial" if outcome.failures else "text" if outcome.text.strip() else "blank text"


def _recall(expected: Path, outcome: Outcome) -> float:
    wanted = set(re.findall(r"\w+", expected.read_text(encoding="utf-8").lower()))
    return len(wanted & set(re.findall(r"\w+", outcome.text.lower()))) / max(1, len(wanted))


def by_job(paths: list[Path], report: Report) -> Mapping[Path, Outcome]:
    """One scan job through a product of its own; what its database says of each file."""
    with tempfile.TemporaryDirectory(prefix="aos-ingest-") as place:
        for path in paths:
            shutil.copy(path, place)
        with instance() as made:
            try:
                job = made.ingest(Path(place), wait=JOB_SECONDS)
            except TimeoutError:
                job = {"state": f"still running after {JOB_SECONDS:g} s"}
            ended = job["state"] in ("completed", "partial")
            report.figure("the one job", job["state"], goal=ENDS, holds=ended)
            ((seconds,),) = made.rows("select extract(epoch from max(finished_at) - min(created_at))::float from jobs")
            report.figure("the one job took", seconds, unit="s")
            by_name = stored(made)
    return {path: by_name[path.name] for path in paths if path.name in by_name}


def stored(made: Instance) -> dict[str, Outcome]:
    """How each document ended, by filename; one that is still being worked on has no outcome."""
    pages: dict[str, list[tuple[str, Failure | None]]] = defaultdict(list)
    for document, text, failure in made.rows(
        "select p.document_id, p.text, p.failure from pages p join documents d on d.current_version = p.version_id"
        " order by p.document_id, p.number"
    ):
        pages[document].append((text, failure_from_json(failure)))
    found = {}
    for document, name, status, failure in made.rows("select id, filename, status, failure from documents"):
        if status in (Status.PENDING, Status.PROCESSING):
            continue
        whole = failure_from_json(failure) if status == Status.FAILED else None
        own = pages[document]
        failures = tuple(failed for _, failed in own if failed)
        text = "\n".join(text for text, _ in own)
        found[name] = Outcome(text, len(own), failures, whole.reason if whole else None)
    return found


def by_reader(paths: list[Path], report: Report) -> Mapping[Path, Outcome]:
    """Extraction alone: two readers side by side, with the default settings."""
    readers: SimpleQueue[DocumentReader] = SimpleQueue()
    for _ in range(WORKERS):
        readers.put(DocumentReader(ReadSettings(), OcrSettings()))

    def one(path: Path) -> Outcome:
        reader = readers.get()
        try:
            return read_file(reader, path)
        finally:
            readers.put(reader)

    with ThreadPoolExecutor(WORKERS) as pool:
        result = dict(zip(paths, pool.map(one, paths), strict=True))
    for _ in range(WORKERS):
        readers.get().close()
    return result


def read_file(reader: DocumentReader, path: Path) -> Outcome:
    """One file from survey to its last page."""
    try:
        survey = reader.survey(path)
    except Unreadable as error:
        return Outcome(reason=error.reason)
    pages = list(reader.read(path, survey.kind, range(1, survey.pages + 1)))
    failures = tuple(page.failure for page in pages if page.failure)
    # A document of which no page could be read has failed as a whole.
    reason = failures[0].reason if len(failures) == len(pages) else None
    return Outcome("\n".join(page.text for page in pages), len(pages), failures, reason)


WAYS: Mapping[str, Outcomes] = {"job": by_job, "reader": by_reader}

if __name__ == "__main__":
    sys.exit(main())
