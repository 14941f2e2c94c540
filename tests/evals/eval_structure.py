"""The structure of pages: cells of tables, sheets, and the order of columns, on generated pages of known structure."""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean

from rapidfuzz.distance import Levenshtein

from configs.sections import OcrSettings, ReadSettings
from pipelines.documents.chunk.blocks import BlockKind, find_blocks
from pipelines.documents.document import Page
from pipelines.documents.extract.reader import DocumentReader
from pipelines.documents.facts.table_cells import table_rows
from pipelines.documents.ocr.cascade import build_cascade
from tests.evals import structure_columns, structure_tables
from tests.evals.eval_ocr import normalised
from tests.evals.kept_readings import make_kept
from tests.evals.report import Report
from tests.evals.structure_columns import ColumnPage
from tests.evals.structure_drawing import DrawnPage, Scanner, register_faces, write_native, write_scan
from tests.evals.structure_layout import TrueTable
from tests.evals.structure_sheets import TrueSheet, write_sheets
from tests.evals.structure_tables import TablePage, table_pages

SEED = 20_271
CELLS = "Tables: cell precision and recall >= .94 on 40 generated scanned and ruleless tables"
RULED = "Tables: cell precision and recall >= .97 on ruled PDFs"
SHEETS = "sheets exact"
ORDER = "on two-column pages of your own making (20) CER with order <= .03"
SCANNERS = (
    Scanner(200, 5.0, 0.3),
    Scanner(150, 6.0, -0.4),
    Scanner(200, 9.0, 0.7, 0.6),
    Scanner(170, 4.0, 0.0, 0.3),
    Scanner(200, 6.0, -0.8),
)
"""Ways in which pages are scanned, in turn."""

Cells = Mapping[tuple[int, int], str]


@dataclass(frozen=True, slots=True)
class CellScore:
    """Shares of the cells that were found that are right, and of the right ones that were found."""

    precision: float
    recall: float


def read_pages(reader: DocumentReader, path: Path) -> tuple[Page, ...]:
    """All pages of a file."""
    survey = reader.survey(path)
    return tuple(reader.read(path, survey.kind, range(1, survey.pages + 1)))


def found_tables(text: str) -> list[list[list[str]]]:
    """The cells of the tables in a page's text."""
    return [
        [[plain(cell.text) for cell in row] for row in table_rows(text, block)]
        for block in find_blocks(text)
        if block.kind is BlockKind.TABLE
    ]


def plain(text: str) -> str:
    """As cells are compared: white space folded, quotes and dashes alike, no marks of Markdown."""
    return normalised(text.replace("**", ""), caseless=False)


def filled_cells(rows: Sequence[Sequence[str]]) -> dict[tuple[int, int], str]:
    """The cells that hold something, by row and column."""
    return {(at, column): plain(text) for at, row in enumerate(rows) for column, text in enumerate(row) if text.strip()}


def count_right(found: Cells, true: TrueTable) -> int:
    """How many cells are found where they are; one over several columns may stand in any of them."""
    spans = {(row, first): range(first, last + 1) for row, first, last in true.spans}
    return sum(
        any(found.get((at, column)) == text for column in spans.get((at, first), (first,)))
        for (at, first), text in filled_cells(true.rows).items()
    )


def score_cells(text: str, tables: Sequence[TrueTable]) -> CellScore:
    """Of a page: each table against the found one that has most of its cells, each of those once."""
    found = [filled_cells(rows) for rows in found_tables(text)]
    total = sum(map(len, found))
    right = 0
    for table in tables:
        best = max(found, key=lambda one: count_right(one, table), default=None)
        if best is not None and count_right(best, table):
            right += count_right(best, table)
            found.remove(best)
    return CellScore(right / total if total else 0.0, right / sum(len(filled_cells(one.rows)) for one in tables))


def order_errors(text: str, page: ColumnPage) -> float:
    """Character errors against the nearest of the orders in which the page may be read."""
    read = normalised("".join(line.lstrip("#") + "\n" for line in text.splitlines()), caseless=False)
    orders = {normalised(order, caseless=False) for order in page.orders()}
    return min(Levenshtein.distance(read, order) / len(order) for order in orders)


def write_page(folder: Path, name: str, page: DrawnPage, at: int, scanned: bool) -> Path:
    """The page as a scan, every third in a PDF, or as a PDF of its own text."""
    if not scanned:
        return write_native(folder / f"{name}.pdf", [page])
    suffix = "pdf" if at % 3 == 2 else "png"
    return write_scan(folder / f"{name}-scan.{suffix}", [page], SCANNERS[at % len(SCANNERS)], SEED + at)


def _table_sets(developing: bool) -> Iterator[tuple[str, list[TablePage], bool]]:
    """Names of the sets, their pages, and whether they are scanned."""
    seed, makes = (7, structure_tables.DEVELOPED) if developing else (SEED, structure_tables.JUDGED)
    yield "scanned, ruled", table_pages(seed, makes, 12, ("all", "all", "box"), True), True
    yield "scanned, ruleless", table_pages(seed, makes, 14, ("none", "head", "rows"), True), True
    yield "PDF, ruleless", table_pages(seed, makes, 14, ("none", "head", "rows"), False), False
    yield "PDF, ruled", table_pages(seed, makes, 20, ("all", "all", "box"), False), False


def judge_tables(reader: DocumentReader, folder: Path, developing: bool, verbose: bool) -> dict[str, list[CellScore]]:
    """The scores of each set's pages."""
    scores: dict[str, list[CellScore]] = {}
    for name, pages, scanned in _table_sets(developing):
        for at, page in enumerate(pages):
            path = write_page(folder, f"{page.name}-{'s' if scanned else 'p'}", page.page, at, scanned)
            text = "\n\n".join(one.text for one in read_pages(reader, path))
            scores.setdefault(name, []).append(score_cells(text, page.tables))
            if verbose:
                last = scores[name][-1]
                print(f"{name} {path.name}: {last.precision:.3f} {last.recall:.3f}", flush=True)
    return scores


def judge_columns(reader: DocumentReader, folder: Path, developing: bool, verbose: bool) -> list[float]:
    """The errors of each page, half of them scanned; every second native one is drawn line by line over all columns."""
    makes = structure_columns.DEVELOPED if developing else structure_columns.JUDGED
    errors = []
    for at, page in enumerate(structure_columns.column_pages(7 if developing else SEED, makes, 20)):
        scanned = at % 4 < 2
        if at % 4 == 3:
            page.page.texts.sort(key=lambda text: (round(text[1]), text[0]))
        path = write_page(folder, f"columns-{page.name}", page.page, at, scanned)
        text = "\n".join(one.text for one in read_pages(reader, path))
        errors.append(order_errors(text, page))
        if verbose:
            print(f"columns {path.name}: {errors[-1]:.4f}", flush=True)
    return errors


def judge_sheet(reader: DocumentReader, sheet: TrueSheet, verbose: bool) -> bool:
    """True if every cell of a sheet's table is what it should be, and its title is there."""
    text = "\n\n".join(page.text for page in read_pages(reader, sheet.path))
    found = [filled_cells(rows) for rows in found_tables(text)]
    exact = found == [filled_cells(sheet.rows)] and sheet.title in text
    if verbose and not exact:
        print(f"sheet {sheet.path.name}: {text}\n{sheet.rows}", flush=True)
    return exact


def main() -> int:
    """Measure, print, write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--development", action="store_true", help="the pages that rules are chosen on")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the files and what OCR reads of them")
    parser.add_argument("--only", choices=("tables", "columns", "sheets"), help="one part")
    parser.add_argument("--verbose", action="store_true", help="a line for each file")
    options = parser.parse_args()
    register_faces()
    report = Report("eval-structure", part=options.development or bool(options.only))
    with tempfile.TemporaryDirectory() as made:
        folder = options.keep or Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        engine = partial(make_kept, folder) if options.keep else build_cascade
        with DocumentReader(ReadSettings(), OcrSettings(), engine) as reader:
            if options.only in (None, "tables"):
                _report_tables(report, judge_tables(reader, folder, options.development, options.verbose))
            if options.only in (None, "columns"):
                errors = judge_columns(reader, folder, options.development, options.verbose)
                mean = round(fmean(errors), 4)
                report.figure("two-column pages: character errors with order", mean, goal=ORDER, holds=mean <= 0.03)
                report.figure("two-column pages: the worst of them", round(max(errors), 4))
            if options.only in (None, "sheets"):
                exact = [judge_sheet(reader, sheet, options.verbose) for sheet in write_sheets(folder, SEED)]
                held = all(exact)
                report.figure("sheets that are exact", sum(exact), reference=len(exact), goal=SHEETS, holds=held)
    return report.finish()


def _report_tables(report: Report, scores: Mapping[str, Sequence[CellScore]]) -> None:
    """Each set by itself, and those that a goal is of together."""
    ruled = "PDF, ruled"
    loose = [score for name, of in scores.items() if name != ruled for score in of]
    for name, of, goal, least in (
        *((name, of, "", 0.0) for name, of in scores.items() if name != ruled),
        ("scanned and ruleless", loose, CELLS, 0.94),
        (ruled, scores[ruled], RULED, 0.97),
    ):
        for kind in ("precision", "recall"):
            value = round(fmean(getattr(score, kind) for score in of), 4)
            report.figure(f"{name}: cell {kind}", value, goal=goal, holds=value >= least if goal else None)
        report.figure(f"{name}: pages", len(of))


if __name__ == "__main__":
    sys.exit(main())
