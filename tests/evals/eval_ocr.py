"""How well pages are read: character errors and word recall per set, ours beside plain Tesseract in the same run."""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from time import perf_counter

import pypdfium2
from PIL import Image
from rapidfuzz.distance import Levenshtein

from configs.sections import OcrSettings
from pipelines.documents.document import Page, Unreadable
from pipelines.documents.extract.opened import PageImageReader
from pipelines.documents.ocr.languages.auto_reading import build_page_reader
from pipelines.documents.ocr.picture import dpi_of, to_array
from tests.evals.report import ROOT, Report
from tests.instance import AOS, instance

READ = "`aos ingest ../shared/evals/ocr/... --wait` reads every page of the dev scans"
GOAL = "character error rate per set no worse than plain `tesseract --psm 3` on the same images"
RECEIPTS = "Receipts: CER ≤ .55 of `tesseract --psm 3` in the same run, word recall ≥ .92"
RECALL = "recall ≥ Tesseract's on every set"
BOOKS = "old books CER ≤ Tesseract's + .0005"
WHOLE = """
    select count(*), count(*) filter (where v.page_count = p.read), sum(p.read)::int
    from documents d join document_versions v on v.id = d.current_version,
         lateral (select count(*) as read from pages where version_id = v.id and failure is null) p
    where d.file_type in ('image', 'pdf')"""
CASELESS = {"sroie"}  # its truth is upper case
QUOTES_AND_DASHES = str.maketrans("‘’‚‛“”„‟–—―−", "''''\"\"\"\"----")
DPI = 300
WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the manifest."""

    set: str
    id: str
    image: Path
    truth: str


@dataclass(frozen=True, slots=True)
class Score:
    """Errors against the truth of one entry, or of many added up."""

    edits: int = 0
    characters: int = 0
    found: int = 0
    words: int = 0
    seconds: float = 0.0
    found_plain: int = 0
    plain_words: int = 0

    def __add__(self, other: "Score") -> "Score":
        return Score(
            self.edits + other.edits,
            self.characters + other.characters,
            self.found + other.found,
            self.words + other.words,
            self.seconds + other.seconds,
            self.found_plain + other.found_plain,
            self.plain_words + other.plain_words,
        )

    @property
    def error_rate(self) -> float:
        return self.edits / max(self.characters, 1)

    @property
    def word_recall(self) -> float:
        """Of words of letters and digits: marks and the blanks beside them do not count."""
        return self.found_plain / max(self.plain_words, 1)

    @property
    def token_recall(self) -> float:
        """Of words with the marks that touch them, as blanks part them."""
        return self.found / max(self.words, 1)


def normalised(text: str, caseless: bool) -> str:
    """White space folded, quotes and dashes alike."""
    folded = " ".join(text.translate(QUOTES_AND_DASHES).split())
    return folded.upper() if caseless else folded


def score(text: str, entry: Entry, pages: int, seconds: float) -> Score:
    """Edit distance over characters, and how many of the truth's words (as bags) were read."""
    caseless = entry.set in CASELESS
    # A file of several pages holds the same page again: its truth is given once.
    truth = normalised(" ".join([entry.truth] * pages), caseless)
    read = normalised(text, caseless)
    tokens, words = (
        ((wanted & Counter(cut(read))).total(), wanted.total())
        for cut in (str.split, WORD.findall)
        for wanted in [Counter(cut(truth))]
    )
    return Score(Levenshtein.distance(read, truth), len(truth), *tokens, seconds, *words)


def pictures(entry: Entry) -> Iterator[Image.Image]:
    """The entry's pages; a PDF is rendered at 300 dpi."""
    if entry.image.suffix != ".pdf":
        with Image.open(entry.image) as picture:
            yield picture
        return
    pdf = pypdfium2.PdfDocument(entry.image)
    try:
        for page in pdf:
            picture = page.render(scale=DPI / 72).to_pil()
            picture.info["dpi"] = (DPI, DPI)
            yield picture
    finally:
        pdf.close()


def plain(path: Path) -> str:
    """What `tesseract --psm 3` prints for a picture."""
    command = ["env", "OMP_THREAD_LIMIT=1", "tesseract", str(path), "stdout", "--psm", "3"]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=True).stdout


def read_text(page: Page) -> str:
    """The words of a page in their order, without the marks of its tables."""
    return " ".join(word.text.replace("\\|", "|") for word in page.words) or page.text


def measure(entry: Entry, cascade: PageImageReader) -> tuple[Score, Score, str]:
    """Ours, plain Tesseract's, and which engines read it."""
    ours, theirs, pages = "", "", 0
    engines: list[str] = []
    spent = [0.0, 0.0]
    with tempfile.TemporaryDirectory() as folder:
        for number, picture in enumerate(pictures(entry), start=1):
            pages = number
            began = perf_counter()
            try:
                page = cascade.read(to_array(picture), number, dpi_of(picture))
                ours, engines = f"{ours}\n{read_text(page)}", [*engines, page.engine]
            except Unreadable as error:
                engines.append(str(error))
            spent[0] += perf_counter() - began
            path = entry.image
            if path.suffix == ".pdf":
                path = Path(folder) / f"{number}.png"
                picture.save(path, dpi=(DPI, DPI), compress_level=1)
            began = perf_counter()
            theirs += plain(path)
            spent[1] += perf_counter() - began
    return score(ours, entry, pages, spent[0]), score(theirs, entry, pages, spent[1]), " ".join(engines)


def entries(folder: Path, only: str | None) -> dict[str, list[Entry]]:
    """The manifest by set."""
    sets: dict[str, list[Entry]] = {}
    for row in json.loads((folder / "manifest.json").read_text(encoding="utf-8")):
        if only in (None, row["set"]):
            truth = (folder / row["gt"]).read_text(encoding="utf-8")
            sets.setdefault(row["set"], []).append(Entry(row["set"], row["id"], folder / row["image"], truth))
    return sets


def main() -> int:
    """Measure, print, write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evals", type=Path, default=ROOT.parent / "shared" / "evals")
    parser.add_argument("--set", help="only this set of the manifest")
    parser.add_argument("--sample", type=int, metavar="N", help="about N entries of each set, evenly spread")
    parser.add_argument("--strategy", choices=("cascade", "tesseract", "paddle", "easyocr"), default="cascade")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--verbose", action="store_true", help="a line for each entry")
    options = parser.parse_args()
    if not (options.evals / "ocr" / "manifest.json").exists():
        print(f"eval-ocr: no data under {options.evals / 'ocr'}; give its place with --evals", file=sys.stderr)
        return 1
    sets = entries(options.evals / "ocr", options.set)
    part = bool(options.set or options.sample)
    report = Report("eval-ocr" if options.strategy == "cascade" else f"eval-ocr-{options.strategy}", part=part)
    readers: SimpleQueue[PageImageReader] = SimpleQueue()
    for _ in range(options.workers):
        readers.put(build_page_reader(OcrSettings(strategy=options.strategy)))

    def measure_one(entry: Entry) -> tuple[Score, Score, str]:
        reader = readers.get()
        try:
            return measure(entry, reader)
        finally:
            readers.put(reader)

    for name, rows in sets.items():
        chosen = rows[:: max(1, len(rows) // options.sample)] if options.sample else rows
        ours = theirs = Score()
        with ThreadPoolExecutor(options.workers) as pool:
            results = pool.map(measure_one, chosen)
            for entry, (mine, other, engines) in zip(chosen, results, strict=True):
                ours, theirs = ours + mine, theirs + other
                if options.verbose:
                    rates = f"{mine.error_rate:.3f} {other.error_rate:.3f}  {mine.seconds:.1f} s {other.seconds:.1f} s"
                    print(f"{name} {entry.id}: {rates}  {engines}", flush=True)
        _report(report, name, ours, theirs, len(chosen))
    if not part:
        ingested(report, options.evals / "ocr", options.strategy)
    return report.finish()


def ingested(report: Report, folder: Path, strategy: str) -> None:
    """The same scans through the product, from the command line: is every page of theirs read?"""
    scans_of = [path for path in folder.rglob("*") if path.suffix in (".png", ".jpg", ".pdf")]
    with tempfile.TemporaryDirectory(prefix="aos-scans-") as place, instance(OCR_STRATEGY=strategy) as made:
        for path in scans_of:  # beside them lie texts and tables of what is true of them
            shutil.copy(path, Path(place) / f"{path.parent.name}-{path.name}")
        token = made.http.headers["Authorization"].removeprefix("Bearer ")
        command = [AOS, "ingest", place, "--wait", "--json"]
        done = subprocess.run(
            command, env={**made.env, "AOS_TOKEN": token}, capture_output=True, text=True, check=False
        )
        ((scans, whole, pages),) = made.rows(WHOLE)
    wanted = len(scans_of)
    holds = done.returncode == 0 and wanted == scans == whole
    report.figure("scans whose every page is read by the product", whole, reference=wanted, goal=READ, holds=holds)
    report.figure("exit code of `aos ingest`", done.returncode)
    report.figure("their pages", pages)


def _report(report: Report, name: str, ours: Score, theirs: Score, files: int) -> None:
    mine, other = round(ours.error_rate, 5), round(theirs.error_rate, 5)
    report.figure(f"{name}: character error rate", mine, reference=other, goal=GOAL, holds=mine <= other)
    if name == "sroie":
        goal, reached = RECEIPTS, ours.word_recall >= 0.92
        rate = round(mine / max(other, 1e-9), 4)
        report.figure(f"{name}: of the character error rate of Tesseract", rate, goal=goal, holds=rate <= 0.55)
    else:
        goal, reached = RECALL, ours.word_recall >= theirs.word_recall - 0.0005
    if name == "old_books":
        report.figure(
            f"{name}: errors beside Tesseract's", mine, reference=other, goal=BOOKS, holds=mine <= other + 0.0005
        )
    recalls = round(ours.word_recall, 5), round(theirs.word_recall, 5)
    report.figure(f"{name}: word recall", recalls[0], reference=recalls[1], goal=goal, holds=reached)
    report.figure(
        f"{name}: recall of words with their marks",
        round(ours.token_recall, 5),
        reference=round(theirs.token_recall, 5),
    )
    report.figure(f"{name}: seconds a file", round(ours.seconds / files, 3), reference=round(theirs.seconds / files, 3))
    report.figure(f"{name}: files", files)


if __name__ == "__main__":
    sys.exit(main())
