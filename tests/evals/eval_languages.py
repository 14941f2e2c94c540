"""How well the language of a scan is told, and how well it is then read, beside the best engine that is told it."""

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from time import perf_counter

from PIL import Image

from configs.sections import OcrSettings
from pipelines.documents.document import CaveatKind, Page
from pipelines.documents.ocr.cascade import build_cascade
from pipelines.documents.ocr.languages.auto_reading import AutoLanguageReader, build_page_reader
from pipelines.documents.ocr.languages.installed import installed_languages, package_of
from pipelines.documents.ocr.picture import to_array
from pipelines.documents.ocr.tesseract import TesseractEngine
from tests.evals.qa_data import spread
from tests.evals.rendered_scans import DPI, SPACELESS, PrintedText, render_scan
from tests.evals.report import ROOT, Report

GOAL = (
    "Synthetic scans rendered from `../shared/evals/xquad` (de, es, ru, ar, zh; 150 dpi, noise, skew; fonts from "
    "Debian): word recall ≥ .95 of the best single engine's given the right language"
)
TOLD = "language told right on ≥ 98 % of pages"
THAI = "a Thai page without Thai data is `degraded` with the fix"
VERTICAL = "vertical Japanese no worse than Tesseract's"
ORDER = "right-to-left text in reading order"
SHARE, RIGHT = 0.95, 0.98
NAMES = {"de": "deu", "es": "spa", "ru": "rus", "ar": "ara", "zh": "chi_sim"}
BY_PADDLE = ("de", "es", "zh")  # that PP-OCR reads
PARAGRAPHS = {"zh": 6}  # of a page; of the other languages 3
FONTS = {
    "ar": "usr/share/fonts/opentype/fonts-hosny-amiri/Amiri-Regular.ttf",
    "zh": "usr/share/fonts/truetype/wqy/wqy-microhei.ttc",
    "th": "usr/share/fonts/truetype/tlwg/Loma.ttf",
    "ja": "usr/share/fonts/opentype/ipafont-mincho/ipam.ttf",
}
SERIF = "usr/share/fonts/truetype/dejavu/DejaVuSerif.ttf"
PACKAGES = (
    *(package_of(name) for name in (*NAMES.values(), "jpn", "jpn_vert")),
    *("fonts-dejavu-core", "fonts-hosny-amiri", "fonts-wqy-microhei", "fonts-tlwg-loma-ttf", "fonts-ipafont-mincho"),
)
JAPANESE = (
    "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。何でも薄暗いじめじめした所でニャーニャー泣いて"
    "いた事だけは記憶している。吾輩はここで始めて人間というものを見た。しかもあとで聞くとそれは書生という人間中で一番"
    "獰悪な種族であったそうだ。この書生というのは時々我々を捕えて煮て食うという話である。しかしその当時は何という考も"
    "なかったから別段恐しいとも思わなかった。"
)
THAI_TEXT = (
    "ประเทศไทยตั้งอยู่ในภูมิภาคเอเชียตะวันออกเฉียงใต้ มีกรุงเทพมหานครเป็นเมืองหลวงและเมืองที่ใหญ่ที่สุด "
    "ประชาชนส่วนใหญ่นับถือศาสนาพุทธ เศรษฐกิจของประเทศขึ้นอยู่กับการส่งออก การท่องเที่ยว และการเกษตร "
    "ข้าวเป็นพืชที่สำคัญที่สุดของประเทศ รัฐบาลประกาศแผนพัฒนาการศึกษาและสาธารณสุขสำหรับปีหน้า "
)

PageReader = Callable[[Image.Image], Page]


@dataclass(frozen=True, slots=True)
class Scan:
    """A page that was rendered, and what stands on it."""

    language: str
    picture: Image.Image
    truth: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What one reader made of one page."""

    recall: float
    order: float
    told: str
    seconds: float
    page: Page


def text_units(text: str, language: str) -> list[str]:
    """Words, or the signs of a language that is written without blanks."""
    return [char for char in text if char.isalnum()] if language in SPACELESS else text.split()


def unit_recall(truth: Sequence[object], read: Sequence[object]) -> float:
    """Share of the truth that was read, as bags."""
    return (Counter(truth) & Counter(read)).total() / max(len(truth), 1)


def read_scan(scan: Scan, read: PageReader) -> Reading:
    """One page by one reader; `order` is the share of neighbours in the truth that are neighbours as read."""
    began = perf_counter()
    page = read(scan.picture)
    truth, found = text_units(scan.truth, scan.language), text_units(page.text, scan.language)
    order = unit_recall(list(pairwise(truth)), list(pairwise(found)))
    told = next((one.languages for one in reversed(page.attempts) if one.kept), "")
    return Reading(unit_recall(truth, found), order, told, perf_counter() - began, page)


def rendered_scans(evals: Path, root: Path, language: str, pages: int) -> Iterator[Scan]:
    """Pages of a language, their paragraphs spread over its set."""
    file = evals / "xquad" / f"xquad.{language}.json"
    data = json.loads(file.read_text(encoding="utf-8"))["data"]
    texts = [one["context"].lstrip("\ufeff") for article in data for one in article["paragraphs"]]
    size = PARAGRAPHS.get(language, 3)
    font = find_font(root, language)
    for seed, first in enumerate(spread(range(0, len(texts) - size, size), pages)):
        printed = PrintedText("\n".join(texts[first : first + size]), language, font)
        yield Scan(language, *render_scan(printed, seed))


def find_font(root: Path, language: str) -> Path:
    """The font of a language, from the packages that were unpacked or else the machine's."""
    name = FONTS.get(language, SERIF)
    return next(path for path in (root / name, Path("/") / name) if path.exists())


def unpack_packages(folder: Path) -> tuple[Path, Path]:
    """Debian's packages of data and fonts, unpacked beside the machine's own and not installed: root, and its data."""
    if not (folder / "done").exists():
        (folder / "debs").mkdir(parents=True, exist_ok=True)
        subprocess.run(["apt-get", "download", *PACKAGES], cwd=folder / "debs", check=True)
        for package in (folder / "debs").glob("*.deb"):
            subprocess.run(["dpkg-deb", "-x", package, folder / "root"], check=True)
        (folder / "done").touch()
    data = next((folder / "root").rglob("deu.traineddata")).parent
    return folder / "root", data


def by_cascade(strategy: str, languages: Sequence[str], data: str) -> PageReader:
    """One engine that is told the language."""
    reader = build_cascade(OcrSettings(strategy=strategy, languages=tuple(languages), tesseract_data=data))
    return lambda picture: reader.read(to_array(picture), 1, DPI)


def by_itself(data: str | None, without: Sequence[str] = ()) -> PageReader:
    """Ours, which is told nothing; `without` the data of some languages."""
    settings = OcrSettings(languages=("auto",), tesseract_data=data)
    reader = build_page_reader(settings)
    if without:
        detector = TesseractEngine(("eng",), data=data)
        there = [name for name in installed_languages(own=data) if name not in without]
        reader = AutoLanguageReader(settings, detector, lambda: there, build_cascade)
    return lambda picture: reader.read(to_array(picture), 1, DPI)


def measure_language(
    report: Report, scans: Sequence[Scan], ours: PageReader, engines: dict[str, PageReader], verbose: bool
) -> tuple[int, int]:
    """Recall of a language's pages by ours and by each engine; how many were told right, and how many there are."""
    language = scans[0].language
    rows = {name: [read_scan(scan, read) for scan in scans] for name, read in {"ours": ours, **engines}.items()}
    means = {name: sum(one.recall for one in found) / len(found) for name, found in rows.items()}
    best = max((name for name in engines), key=lambda name: means[name])
    mine, goal = means["ours"], SHARE * means[best]
    label = f"{language}: word recall, beside {best} alone"
    report.figure(label, round(mine, 4), reference=round(means[best], 4), goal=GOAL, holds=mine >= goal)
    right = sum(NAMES[language] == one.told.split("+")[0] for one in rows["ours"])
    report.figure(f"{language}: pages whose language was told right", right, reference=len(scans))
    seconds = sum(one.seconds for one in rows["ours"]) / len(scans)
    report.figure(f"{language}: seconds a page", round(seconds, 2))
    if language == "ar":
        order, theirs = (sum(one.order for one in rows[name]) / len(scans) for name in ("ours", best))
        report.figure(
            "ar: neighbouring words",
            round(order, 4),
            reference=round(theirs, 4),
            goal=ORDER,
            holds=order >= theirs - 0.01,
        )
    if verbose:
        for name, found in rows.items():
            for one in found:
                print(
                    language, name, round(one.recall, 3), one.told, f"{one.seconds:.1f} s", one.page.engine, flush=True
                )
                if name == "ours" and one.told.split("+")[0] != NAMES[language]:
                    print(*one.page.attempts, *one.page.caveats, sep="\n  ")
    return right, len(scans)


def measure_vertical(report: Report, root: Path, data: str) -> None:
    """A Japanese page whose lines run downwards."""
    scan = Scan("ja", *render_scan(PrintedText(JAPANESE, "ja", find_font(root, "ja"), vertical=True), 1))
    ours, plain = read_scan(scan, by_itself(data)), read_scan(scan, by_cascade("tesseract", ("jpn", "jpn_vert"), data))
    for name, mine, theirs in (("signs", ours.recall, plain.recall), ("neighbours", ours.order, plain.order)):
        label = f"vertical Japanese: {name}"
        report.figure(label, round(mine, 4), reference=round(theirs, 4), goal=VERTICAL, holds=mine >= theirs)
    untrained = read_scan(scan, by_itself(data, without=("jpn", "jpn_vert")))
    report.figure("vertical Japanese without its data: signs", round(untrained.recall, 4))
    report.figure("vertical Japanese without its data: neighbours", round(untrained.order, 4))


def measure_thai(report: Report, root: Path, data: str) -> None:
    """A Thai page where there is no data for Thai."""
    scan = Scan("th", *render_scan(PrintedText(THAI_TEXT, "th", find_font(root, "th")), 1))
    page = read_scan(scan, by_itself(data, without=("tha",))).page
    caveats = [one.detail for one in page.caveats if one.kind is CaveatKind.LANGUAGE_MISSING]
    fixed = any("tesseract-ocr-tha" in detail for detail in caveats)
    report.figure("Thai without data: caveat with its package", int(fixed), goal=THAI, holds=fixed)
    report.figure("Thai without data: characters of text kept", len(page.text))


def main() -> int:
    """Measure, print, write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evals", type=Path, default=ROOT.parent / "shared" / "evals")
    parser.add_argument("--packages", type=Path, default=ROOT / ".reports" / "languages", help="where Debian's are put")
    parser.add_argument("--language", choices=NAMES, help="only this one")
    parser.add_argument("--pages", type=int, default=20, help="of each language")
    parser.add_argument("--verbose", action="store_true", help="a line for each page")
    options = parser.parse_args()
    if not (options.evals / "xquad").is_dir():
        print(f"eval-languages: no data under {options.evals / 'xquad'}; give its place with --evals", file=sys.stderr)
        return 1
    root, folder = unpack_packages(options.packages)
    data, part = str(folder), bool(options.language) or options.pages < 20
    report = Report("eval-languages", part=part)
    ours, right, pages = by_itself(data), 0, 0
    for language in [options.language] if options.language else NAMES:
        scans = list(rendered_scans(options.evals, root, language, options.pages))
        engines = {"tesseract": by_cascade("tesseract", (NAMES[language],), data)}
        if language in BY_PADDLE:
            engines["paddle"] = by_cascade("paddle", (NAMES[language],), data)
        told = measure_language(report, scans, ours, engines, options.verbose)
        right, pages = right + told[0], pages + told[1]
    share = right / pages
    report.figure("pages whose language was told right", round(share, 4), goal=TOLD, holds=share >= RIGHT)
    if not options.language:
        measure_thai(report, root, data)
        measure_vertical(report, root, data)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
