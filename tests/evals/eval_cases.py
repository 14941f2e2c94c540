"""Small inputs that are easily read wrongly, and variants of their kinds (`python -m tests.evals.eval_cases`)."""

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue

from configs.sections import OcrSettings, ReadSettings
from pipelines.documents.document import Caveat, Page, Unreadable
from pipelines.documents.extract.containers.unpacked import CONTAINERS
from pipelines.documents.extract.reader import STAGE, DocumentReader
from pipelines.documents.sources.sniff import Kind
from tests.evals.cases.formats import format_cases
from tests.evals.cases.given import ingest_cases, read_cases
from tests.evals.cases.model import Case, Reading, Verdict, judge, kinds_of
from tests.evals.cases.office import office_cases
from tests.evals.cases.packed import packed_cases
from tests.evals.cases.pdfs import pdf_cases
from tests.evals.cases.texts import text_cases
from tests.evals.eval_ingest import Outcome, complaints
from tests.evals.eval_ingest import load as load_ingest
from tests.evals.report import ROOT, Report

WORKERS = 2
MOST_PAGES = 60  # of a file; the judged words stand on the first ones
READ = "every case of `../shared/cases/read` and `api` as its right column says"
INGEST = "`eval-cases`: all of `../shared/cases/ingest` as the right column says"
VARIANTS = "≥ 150 variants of their kinds ≥ 97 %"
GIVEN = {"read": READ, "ingest": INGEST}
WRITERS = (text_cases, office_cases, pdf_cases, packed_cases, format_cases)
SILENT = (
    "of these, of all of `../shared/cases/ingest` and of `../shared/evals/ingest` **0 wrong or incomplete and"
    " `completed` without a mark**"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Read all, judge all; the exit code is 1 where a goal does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    parser.add_argument("--only", help="kinds and names that hold this; the report is a part then")
    parser.add_argument("--without-api", action="store_true", help="leave out what needs the whole product")
    chosen = parser.parse_args(arguments)
    if not (chosen.shared / "cases").is_dir():
        print(
            f"eval-cases: no cases in {chosen.shared}; name the folder that holds them with --shared", file=sys.stderr
        )
        return 2
    report = Report("eval-cases", part=bool(chosen.only) or chosen.without_api)
    with tempfile.TemporaryDirectory(prefix="aos-cases-") as place:
        silent = _documents(Path(place), chosen.shared, chosen.only, report)
    if not chosen.only:
        silent += _odd_files(chosen.shared / "evals", report)
        if not chosen.without_api:
            from tests.evals.cases.api import api_cases

            results = api_cases(chosen.shared / "cases" / "api")
            for name, fault in results.items():
                if fault:
                    print(f"api: {name}: {fault}")
            right = sum(not fault for fault in results.values())
            report.figure("api cases right", right, reference=len(results), goal=READ, holds=right == len(results))
    report.figure("silent faults", len(silent), reference=0, goal=SILENT, holds=not silent)
    return report.finish()


def _documents(place: Path, shared: Path, only: str | None, report: Report) -> list[str]:
    given = [*read_cases(shared / "cases" / "read"), *ingest_cases(shared / "cases" / "ingest")]
    made = [case for write in WRITERS for case in write(place)]
    cases = [case for case in (*given, *made) if not only or only in f"{case.kind} {case.name}"]
    verdicts: dict[str, Counter[Verdict]] = {kind: Counter() for kind in kinds_of(cases)}
    silent = []
    with _readers() as read:
        for case, reading in zip(cases, read(cases), strict=True):
            verdict, why = judge(case, reading)
            verdicts[case.kind][verdict] += 1
            if why:
                marks = ", ".join(sorted(reading.all_marks)) or "none"
                print(f"{verdict}: {case.kind}: {case.name}: {why} (marks: {marks})")
            if verdict is Verdict.SILENT:
                silent.append(case.name)
    own = {case.kind for case in made}
    for kind, counts in verdicts.items():
        if kind in GIVEN:
            right, total = counts[Verdict.RIGHT], counts.total()
            report.figure(f"{kind} cases right", right, reference=total, goal=GIVEN[kind], holds=right == total)
        else:
            report.figure(f"right, {kind}", f"{counts[Verdict.RIGHT]}/{counts.total()}")
    right = sum(verdicts[kind][Verdict.RIGHT] for kind in verdicts if kind in own)
    total = sum(verdicts[kind].total() for kind in verdicts if kind in own)
    if total:
        holds = total >= 150 and right >= 0.97 * total
        report.figure("variants", total, reference=150)
        report.figure("variants right", right / total, reference=0.97, goal=VARIANTS, holds=holds)
    return silent


def _odd_files(evals: Path, report: Report) -> list[str]:
    """The odd files of other projects: each right by its manifest, or marked."""
    rows = load_ingest(evals / "ingest")
    silent = []
    with _readers() as read:
        readings = read([Case("odd", row.path.name, row.path) for row in rows])
        for row, reading in zip(rows, readings, strict=True):
            failures = tuple(page.failure for page in reading.pages if page.failure)
            reason = reading.failure.reason if reading.failure else None
            found = complaints(
                row, Outcome("\n".join(page.text for page in reading.pages), len(reading.pages), failures, reason)
            )
            if found:
                print(f"{'marked' if reading.marks else 'silent'}: odd file: {row.path.name}: {'; '.join(found)}")
            if found and not reading.marks:
                silent.append(row.path.name)
    report.figure("odd files, wrong and unmarked", len(silent), reference=0)
    return silent


@contextmanager
def _readers() -> Iterator["_Read"]:
    """Two readers side by side, with the default settings."""
    readers: SimpleQueue[DocumentReader] = SimpleQueue()
    for _ in range(WORKERS):
        readers.put(DocumentReader(ReadSettings(), OcrSettings()))
    try:
        yield _Read(readers)
    finally:
        for _ in range(WORKERS):
            readers.get().close()


class _Read:
    """Reads cases in order, two at a time."""

    def __init__(self, readers: "SimpleQueue[DocumentReader]") -> None:
        self._readers = readers

    def __call__(self, cases: Iterable[Case]) -> Iterator[Reading]:
        with ThreadPoolExecutor(WORKERS) as pool:
            yield from pool.map(self._one, cases)

    def _one(self, case: Case) -> Reading:
        reader = self._readers.get()
        started = time.monotonic()
        try:
            kind, pages = _read_pages(reader, case.path)
            members, said = _read_members(reader, case.path, kind)
            return Reading(pages, None, time.monotonic() - started, members, said)
        except Unreadable as error:
            return Reading((), error.as_failure(STAGE), time.monotonic() - started)
        finally:
            self._readers.put(reader)


def _read_pages(reader: DocumentReader, path: Path, name: str | None = None) -> tuple[Kind, tuple[Page, ...]]:
    survey = reader.survey(path, name)
    return survey.kind, tuple(reader.read(path, survey.kind, range(1, min(survey.pages, MOST_PAGES) + 1)))


def _read_members(reader: DocumentReader, path: Path, kind: Kind) -> tuple[dict[str, str], tuple[Caveat, ...]]:
    """The texts of what comes out of a container, each read as a file of its own."""
    texts: dict[str, str] = {}
    if kind not in CONTAINERS:
        return texts, ()
    with tempfile.TemporaryDirectory(prefix="aos-members-") as place:
        unpacked = reader.unpack(path, kind, Path(place) / "unpacked")
        for one in unpacked.members:
            try:
                _, pages = _read_pages(reader, Path(one.staged), one.filename)
            except Unreadable as error:
                texts[one.path] = f"failed: {error}"
            else:
                texts[one.path] = "\n".join(page.text for page in pages)
    return texts, unpacked.caveats


if __name__ == "__main__":
    sys.exit(main())
