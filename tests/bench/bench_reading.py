"""Reading against named peers: scans in bulk beside Tesseract, PDFs with text beside two converters, large files."""

import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pdfplumber
import psutil
import pypdfium2
from markitdown import MarkItDown, MarkItDownException
from pdfplumber.utils.exceptions import PdfminerException
from PIL import Image
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from cluster import connect
from configs.sections import OcrSettings, ReadSettings
from pipelines.documents.extract.reader import DocumentReader
from tests.bench.bench_product import run_tesseract, seconds_of_reading
from tests.evals.eval_ocr import Entry, Score, entries, score
from tests.evals.report import Report
from tests.instance import Instance, instance
from tests.kill.scans import WORDS, make_scans

BULK = (
    "Bulk OCR pages/s ≥ 1.0 × bare `tesseract` by `xargs -P2` on the same pages with recall ≥ Tesseract's on every set"
)
BORN_DIGITAL = (
    "born-digital PDF pages/s ≥ 3 × markitdown and ≥ 1 × pypdfium2's own text + pdfplumber's tables, in one run"
)
LARGE = "peak memory ≤ 1 GiB a reader, a 1,000-page scan and a 600-page text PDF in one job each"
SCAN_PAGES, TEXT_PAGES = 1000, 600
MOST_BYTES = 2**30
ROUNDS = 3
READER = "reader"  # the last word of a reader's command line
LEAST_TEXT = 40  # characters on each page of a PDF that is called born-digital
LARGEST_PICTURE = 0.02  # of its page: a logo
JOB_SECONDS = 3600.0


def measure(report: Report, evals: Path) -> None:
    """All three; the scans go through the product as it is set up."""
    born_digital(report, evals)
    with instance() as made:
        bulk(report, made, evals / "ocr")
        large(report, made)


def bulk(report: Report, made: Instance, folder: Path) -> None:
    """Pictures of every set in one job, from its claim to its last page; then plain Tesseract on the same files."""
    with tempfile.TemporaryDirectory(prefix="aos-bulk-") as place:
        images, texts = Path(place) / "images", Path(place) / "texts"
        images.mkdir()
        chosen: dict[str, Entry] = {}
        for rows in entries(folder, None).values():
            for entry in rows:
                if entry.image.suffix != ".pdf":  # which Tesseract does not open
                    name = f"{entry.set}-{entry.id}".replace("/", "-").replace(" ", "-")
                    chosen[name] = entry
                    with Image.open(entry.image) as picture:
                        picture.save(images / f"{name}.png", dpi=picture.info.get("dpi"), compress_level=1)
        job = made.ingest(images, wait=JOB_SECONDS)
        ours = len(chosen) / seconds_of_reading(made, job["id"])
        read = dict(
            made.rows(
                "select d.filename, p.text from documents d join pages p on p.version_id = d.current_version"
                " where p.failure is null and d.filename = any(%s)",
                [f"{name}.png" for name in chosen],
            )
        )
        report.figure("bulk: pages read", len(read), reference=len(chosen), goal=BULK, holds=len(read) == len(chosen))
        plain = len(chosen) / run_tesseract(images, texts)
        sets: dict[str, list[Score]] = defaultdict(lambda: [Score(), Score()])
        for name, entry in chosen.items():
            both = sets[entry.set]
            both[0] += score(read.get(f"{name}.png", ""), entry, 1, 0)
            both[1] += score((texts / f"{name}.png.txt").read_text(encoding="utf-8"), entry, 1, 0)
    report.figure("bulk: pages", round(ours, 3), unit="pages/s", reference=round(plain, 3))
    report.figure("bulk: ratio", round(ours / plain, 3), reference=1.0, goal=BULK, holds=ours >= plain)
    for name, (mine, theirs) in sorted(sets.items()):
        recalls = round(mine.word_recall, 5), round(theirs.word_recall, 5)
        holds = mine.word_recall >= theirs.word_recall - 0.0005
        report.figure(f"bulk, {name}: word recall", recalls[0], reference=recalls[1], goal=BULK, holds=holds)


def born_digital(report: Report, evals: Path) -> None:
    """Pages a second of a process each, by turns: the best of three rounds, each by a reader that knows no file yet."""
    files = list(born_digital_files([evals / "qa" / "reports", evals / "ingest"]))
    receipt = entries(evals / "ocr", "sroie")["sroie"][0].image
    ways: dict[str, Callable[[Path], object]] = {"peers": _text_and_tables, "markitdown": MarkItDown().convert}
    took: dict[str, list[float]] = {name: [] for name in ("ours", *ways)}
    # Once before the clock runs: imports and models, and what a peer cannot open at all.
    with DocumentReader(ReadSettings(), OcrSettings()) as reader:
        every = (partial(_read_all, reader), *ways.values())
        read_by_all = [path for path in files if all(_opens(read, path) for read in every)]
    pages = sum(map(_pages, read_by_all))
    for _ in range(ROUNDS):
        with DocumentReader(ReadSettings(), OcrSettings()) as reader:
            _read_all(reader, receipt)
            for name, read in {"ours": partial(_read_all, reader), **ways}.items():
                began = time.perf_counter()
                for path in read_by_all:
                    read(path)
                took[name].append(time.perf_counter() - began)
    speed = {name: pages / min(seconds) for name, seconds in took.items()}
    report.figure("born-digital: files that every way reads", len(read_by_all), reference=len(files))
    report.figure("born-digital: pages", pages)
    report.figure("born-digital", round(speed["ours"], 2), unit="pages/s", reference=round(speed["peers"], 2))
    for peer, said, least in (
        ("peers", "pypdfium2's text and pdfplumber's tables", 1),
        ("markitdown", "markitdown", 3),
    ):
        ratio = speed["ours"] / speed[peer]
        name = f"born-digital: of {said}"
        report.figure(name, round(ratio, 2), reference=least, goal=BORN_DIGITAL, holds=ratio >= least)


def _read_all(reader: DocumentReader, path: Path) -> None:
    found = reader.survey(path)
    for page in reader.read(path, found.kind, range(1, found.pages + 1)):
        assert page.failure is None, (path, page.failure)


def born_digital_files(folders: Sequence[Path]) -> Iterator[Path]:
    """PDFs that open without a password, whose every page has text and no picture worth reading.

    Pictures are left out as only we read them: the peers would be credited with leaving text out.
    """
    for folder in folders:
        for path in sorted(folder.glob("*.pdf")):
            try:
                with pypdfium2.PdfDocument(path) as document:
                    if all(map(_is_text_page, document)):
                        yield path
            except pypdfium2.PdfiumError:
                continue


def _is_text_page(page: pypdfium2.PdfPage) -> bool:
    width, height = page.get_size()
    for one in page.get_objects([pypdfium2.raw.FPDF_PAGEOBJ_IMAGE]):
        x0, y0, x1, y1 = one.get_bounds()
        if (x1 - x0) * (y1 - y0) > LARGEST_PICTURE * width * height:
            return False
    return len(page.get_textpage().get_text_bounded()) >= LEAST_TEXT


def _opens(read: Callable[[Path], object], path: Path) -> bool:
    try:
        read(path)
    except (PdfminerException, pypdfium2.PdfiumError, MarkItDownException) as error:
        print(f"bench: {path.name}: {type(error).__name__}", file=sys.stderr)
        return False
    return True


def _pages(path: Path) -> int:
    with pypdfium2.PdfDocument(path) as document:
        return len(document)


def _text_and_tables(path: Path) -> None:
    with pypdfium2.PdfDocument(path) as document, pdfplumber.open(path) as tables:
        for page, other in zip(document, tables.pages, strict=True):
            page.get_textpage().get_text_bounded()
            other.extract_tables()
            other.close()


def large(report: Report, made: Instance) -> None:
    """A scan of 1,000 pages and a text of 600, a job each, while the memory of the readers is watched."""
    with tempfile.TemporaryDirectory(prefix="aos-large-") as place:
        scans, texts = Path(place) / "scans", Path(place) / "texts"
        make_scans(scans, 1, SCAN_PAGES)
        texts.mkdir()
        write_text_pdf(texts / "text.pdf", TEXT_PAGES)
        for name, folder, pages in (("scan", scans, SCAN_PAGES), ("text", texts, TEXT_PAGES)):
            with watched_readers(made) as memory:
                began = time.monotonic()
                job = made.ingest(folder, wait=JOB_SECONDS)
                seconds = time.monotonic() - began
            ((found, twice),) = made.rows(
                "select count(*) filter (where p.failure is null), count(*) - count(distinct p.number) from pages p"
                " where p.version_id in (select subject from units where job_id = %s)",
                job["id"],
            )
            holds = (job["state"], found, twice) == ("completed", pages, 0)
            said = f"large, {name}: pages read by one job that is {job['state']}"
            report.figure(said, found, reference=pages, goal=LARGE, holds=holds)
            report.figure(f"large, {name}: pages a second", round(pages / seconds, 2), unit="pages/s")
            peak = memory.peak / 2**20
            report.figure(
                f"large, {name}: most that a reader and its engines held",
                round(peak),
                unit="MiB",
                reference=1024,
                goal=LARGE,
                holds=0 < memory.peak <= MOST_BYTES,
            )


def write_text_pdf(path: Path, pages: int) -> None:
    """A PDF of pages full of text, each of which says its number."""
    canvas = Canvas(str(path), pagesize=A4)
    for page in range(1, pages + 1):
        canvas.drawString(72, 780, f"Page {page} of the large text")
        for line in range(45):
            words = " ".join(WORDS[(page * 3 + line * 7 + n) % len(WORDS)] for n in range(9))
            canvas.drawString(72, 750 - 15 * line, f"{words} {page * 100 + line}")
        canvas.showPage()
    canvas.save()


@dataclass
class ReaderMemory:
    """The most that one reader of an instance held together with the engines that it started, in bytes (PSS)."""

    peak: int = 0
    done: threading.Event = field(default_factory=threading.Event)

    def watch(self, state_dir: Path) -> None:
        """Look twice a second until it is done."""
        while not self.done.wait(0.5):
            for process in connect.ray_processes(state_dir):
                try:
                    line = process.cmdline()
                    if line[-1:] == [READER] and "guarded_child" in " ".join(line):
                        tree = [process, *process.children(recursive=True)]
                        self.peak = max(self.peak, sum(one.memory_full_info().pss for one in tree))
                except psutil.Error:
                    continue  # it has just ended


@contextmanager
def watched_readers(made: Instance) -> Iterator[ReaderMemory]:
    """Watch the readers of an instance by a thread of its own."""
    memory = ReaderMemory()
    thread = threading.Thread(target=memory.watch, args=(made.settings.state_dir,), daemon=True)
    thread.start()
    try:
        yield memory
    finally:
        memory.done.set()
        thread.join()
