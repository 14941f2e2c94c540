"""`make eval-answers`: whether the answer holds the answer, on forms of one kind, alone and among other documents."""

import argparse
import contextlib
import json
import re
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

import httpx
import pypdfium2

from tests.evals import look_alikes, many_languages, model_answers, qa_data, table_questions
from tests.evals.look_alikes import FormQuestion
from tests.evals.qa_shelf import Shelf, copy_files, open_paragraphs, post
from tests.evals.report import ROOT, Report
from tests.evals.table_questions import TableQuestion
from tests.instance import Instance, instance

ABSENT = "Absent documents: ≥ 95 % refused, as today"
LOOK_ALIKES, FORMS = 60, 30  # generated reports; invoices, leases and inspection sheets each
ABSENT_QUESTIONS = 120
# Thresholds of the curve: what is kept where less support is no answer.
SUPPORTS = (0.38, 0.42, 0.44, 0.46, 0.50, 0.54, 0.58, 0.62, 0.66, 0.70)
PARTS = ("reports", "crowd", "forms", "tables", "squad2", "models", "xquad")
EDGE = 3  # lines at the top and at the bottom of a page where running lines stand
RUNNING = 3  # documents in which a line has to stand there

REPORTS = (
    "`../shared/evals/qa/reports` (10 form reports, 90 questions), extractive: truth in the answer ≥ 80 %, a sentence "
    'of a wrong document in ≤ 3 % of answers, running lines 0, false "not found" ≤ 8 %'
)
CROWD = (
    "with the other nine reports, 60 generated look-alikes of your own and the 108 other documents of `qa/` in the "
    "same workspace, no figure worse by more than 3 points"
)
TABLES = (
    "Tables: 60 questions of your own over `qa/reports`, the DOCX/XLSX/PDF of `ingest/` and generated ledgers (lookup, "
    "filter, sum, count, latest): ≥ 85 % right without a model, each with row and page; sums equal a reference "
    "computed by pandas."
)
SQUAD = (
    "squad2_dev paragraphs as documents: the answer holds the truth for ≥ 75 % of the answerable ones, of the "
    "unanswerable ≤ 35 % are answered"
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is right and wrong about an answer."""

    kind: str
    holds_truth: bool
    cites_truth: bool
    wrong_document: bool
    running_line: bool
    not_found: bool
    seconds: float


def report_questions(folder: Path) -> list[FormQuestion]:
    """All questions of a folder of reports."""
    rows = map(json.loads, (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines())
    return [FormQuestion(one["kind"], one["question"], one["file"], tuple(one["answers"])) for one in rows]


def squeezed(text: str) -> str:
    """Compared without case and blanks."""
    return "".join(text.casefold().split())


def running_lines(pages: Mapping[str, Sequence[str]]) -> set[str]:
    """Lines at the edges of pages that stand in several documents, numbers left out."""
    seen: dict[str, set[str]] = defaultdict(set)
    for name, texts in pages.items():
        for text in texts:
            lines = [line for line in text.splitlines() if line.strip()]
            for line in (*lines[:EDGE], *lines[-EDGE:]):
                seen[line_shape(line)].add(name)
    return {shape for shape, names in seen.items() if shape and len(names) >= RUNNING}


def line_shape(line: str) -> str:
    """A line without case, blanks and figures."""
    return re.sub(r"\d+", "#", squeezed(line))


def page_texts(folder: Path) -> dict[str, list[str]]:
    """The texts of the pages of each PDF, read without the product."""
    found = {}
    for path in sorted(folder.glob("*.pdf")):
        with pypdfium2.PdfDocument(path) as document:
            found[path.name] = [page.get_textpage().get_text_bounded() for page in document]
    return found


def judge(one: FormQuestion, answer: Mapping[str, Any], shelf: Shelf, running: set[str], seconds: float) -> Verdict:
    """An answer of `/api/ask` beside its question."""
    cited = answer["citations"]
    found = answer["mode"] != "not_found"

    def holds(text: str) -> bool:
        return any(squeezed(truth) in squeezed(text) for truth in one.answers)

    return Verdict(
        one.kind,
        found and holds(answer["answer"]),
        any(holds(quote["quote"]) for quote in cited),
        any(shelf.files[quote["document_id"]].name != one.file for quote in cited),
        any(line_shape(quote["quote"]) in running for quote in cited),
        not found,
        seconds,
    )


def ask_all(shelf: Shelf, asked: Sequence[FormQuestion], running: set[str]) -> list[Verdict]:
    """Every question, with its verdict."""

    def ask(client: httpx.Client, one: FormQuestion) -> Verdict:
        began = time.perf_counter()
        answer = post(client, "/api/ask", {"question": one.text})
        return judge(one, answer, shelf, running, time.perf_counter() - began)

    return shelf.each(asked, ask)


def figures_of(verdicts: Sequence[Verdict]) -> dict[str, float]:
    """Shares of the answers."""
    names = ("holds_truth", "cites_truth", "wrong_document", "running_line", "not_found")
    return {name: fmean(getattr(one, name) for one in verdicts) for name in names}


def reports(report: Report, made: Instance, folder: Path) -> dict[str, float]:
    """The ten reports alone in a workspace."""
    running = running_lines(page_texts(folder))
    with tempfile.TemporaryDirectory(prefix="aos-reports-") as place:
        copy_files(folder.glob("*.pdf"), Path(place))
        shelf = Shelf.open(made, "reports", [Path(place)])
        verdicts = ask_all(shelf, report_questions(folder), running)
        strange = list(look_alikes.all_questions(look_alikes.accident_reports(LOOK_ALIKES)))
        refused = fmean(one.not_found for one in ask_all(shelf, qa_data.spread(strange, ABSENT_QUESTIONS), running))
    report.figure("absent documents refused", refused, reference=0.95, goal=ABSENT, holds=refused >= 0.95)
    found = figures_of(verdicts)
    _tell_reports(report, found)
    for kind, count in sorted(Counter(one.kind for one in verdicts).items()):
        right = fmean(one.holds_truth for one in verdicts if one.kind == kind)
        report.figure(f"reports, {kind}: truth in the answer", right, reference=count)
    report.figure("reports: seconds an answer, median", median(one.seconds for one in verdicts), unit="s")
    return found


def _tell_reports(report: Report, found: Mapping[str, float]) -> None:
    rows = (
        ("holds_truth", "truth in the answer", 0.8, found["holds_truth"] >= 0.8),
        ("wrong_document", "answers that cite a wrong document", 0.03, found["wrong_document"] <= 0.03),
        ("running_line", "answers that cite a running line", 0, found["running_line"] == 0),
        ("not_found", 'false "not found"', 0.08, found["not_found"] <= 0.08),
    )
    for name, said, bound, holds in rows:
        report.figure(f"reports: {said}", found[name], reference=bound, goal=REPORTS, holds=holds)
    report.figure("reports: truth in a cited passage", found["cites_truth"])


def crowd(report: Report, made: Instance, folder: Path, alone: Mapping[str, float] | None) -> None:
    """The same questions in a workspace with other documents."""
    running = running_lines(page_texts(folder / "reports"))
    others = sorted((folder / "rag_multi_corpus" / "md").rglob("*.md"))
    with tempfile.TemporaryDirectory(prefix="aos-crowd-") as place:
        copy_files((folder / "reports").glob("*.pdf"), Path(place))
        copy_files(qa_data.spread(others, 108), Path(place))
        for one in look_alikes.accident_reports(LOOK_ALIKES):
            one.write(Path(place))
        shelf = Shelf.open(made, "crowd", [Path(place)])
        found = figures_of(ask_all(shelf, report_questions(folder / "reports"), running))
    for name, value in found.items():
        worse = None
        if alone is not None:
            worse = alone[name] - value if name in ("holds_truth", "cites_truth") else value - alone[name]
        before = None if alone is None else alone[name]
        holds = worse is not None and worse <= 0.03
        report.figure(f"crowd: {name.replace('_', ' ')}", value, reference=before, goal=CROWD, holds=holds)


def forms(report: Report, made: Instance) -> None:
    """Questions to generated forms among their like: accident reports, invoices, leases and inspection sheets."""
    written = [*look_alikes.accident_reports(LOOK_ALIKES), *look_alikes.other_forms(FORMS)]
    with tempfile.TemporaryDirectory(prefix="aos-forms-") as place:
        for one in written:
            one.write(Path(place))
        running = running_lines(page_texts(Path(place)))
        shelf = Shelf.open(made, "forms", [Path(place)])
        verdicts = ask_all(shelf, qa_data.spread(list(look_alikes.all_questions(written)), 600), running)
    for name, value in figures_of(verdicts).items():
        report.figure(f"generated forms: {name.replace('_', ' ')}", value, reference=len(verdicts))
    for kind, count in sorted(Counter(one.kind for one in verdicts).items()):
        right = fmean(one.holds_truth for one in verdicts if one.kind == kind)
        report.figure(f"generated forms, {kind}: truth in the answer", right, reference=count)


def tables(report: Report, made: Instance, evals: Path, wrong: Path | None = None) -> None:
    """Questions to ledgers, sheets and forms, all in one workspace; `wrong` takes what came out otherwise."""
    ledgers = table_questions.ledgers()
    invoices = [one for one in look_alikes.other_forms(FORMS) if one.name.startswith("I")]
    asked = [question for ledger in ledgers for question in ledger.questions()]
    asked += [*table_questions.SHEET_QUESTIONS, *table_questions.REPORT_QUESTIONS]
    asked += table_questions.invoice_questions(invoices)
    with tempfile.TemporaryDirectory(prefix="aos-tables-") as place:
        table_questions.write_ledgers(ledgers, Path(place))
        for one in invoices:
            one.write(Path(place))
        copy_files((evals / "ingest" / name for name in table_questions.SHEETS), Path(place))
        copy_files((evals / "qa" / "reports").glob("*.pdf"), Path(place))
        shelf = Shelf.open(made, "tables", [Path(place)])
        given = shelf.each(asked, lambda client, one: post(client, "/api/ask", {"question": one.text}))
    right = [holds_table_answer(one, answer, shelf) for one, answer in zip(asked, given, strict=True)]
    report.figure(
        "tables: right, with row and page", fmean(right), reference=len(asked), goal=TABLES, holds=fmean(right) >= 0.85
    )
    kinds = [one.kind for one in asked]
    for kind, count in sorted(Counter(kinds).items()):
        share = fmean(held for held, other in zip(right, kinds, strict=True) if other == kind)
        report.figure(f"tables, {kind}: right", share, reference=count)
    sums = fmean(held for held, other in zip(right, kinds, strict=True) if other == "sum")
    report.figure("tables: sums that equal the reference", sums, reference=1.0, goal=TABLES, holds=sums == 1.0)
    if wrong is not None:
        rows = zip(asked, given, right, strict=True)
        lines = [
            json.dumps([one.text, str(one.answer), answer["answer"], answer["calculation"], held])
            for one, answer, held in rows
        ]
        wrong.write_text("\n".join(lines) + "\n", encoding="utf-8")


def holds_table_answer(one: TableQuestion, answer: Mapping[str, Any], shelf: Shelf) -> bool:
    """True for the right number, or all that has to be said and nothing else, with the rows that it is from."""
    text, cited = answer["answer"], answer["citations"]
    names = [shelf.files[quote["document_id"]].name for quote in cited]
    placed = bool(cited) and all(quote["quote"].strip() and quote["page"] >= 1 for quote in cited)
    if answer["mode"] == "not_found" or not placed or (one.files and not set(names) <= set(one.files)):
        return False
    if isinstance(one.answer, tuple):
        said = squeezed(text)
        return all(squeezed(part) in said for part in one.answer) and not any(squeezed(no) in said for no in one.absent)
    return any(abs(number - one.answer) <= 0.0051 for number in _numbers(re.sub(r"\[\d+\]", "", text)))


def _numbers(text: str) -> Iterator[float]:
    """The numbers of a text, with a decimal point and with a decimal comma."""
    for found in re.findall(r"\d[\d.,]*\d|\d", re.sub(r"(?<=\d)['’\u202f\u00a0 ](?=\d{3})", "", text)):
        for thousands, point in ((",", "."), (".", ",")):
            with contextlib.suppress(ValueError):
                yield float(found.replace(thousands, "").replace(point, "."))


def paragraphs(report: Report, made: Instance, folder: Path, count: int) -> None:
    """Questions with and without an answer, to all paragraphs."""
    every = qa_data.squad(folder)
    chosen = qa_data.spread([one for one in every if one.answers], count // 2)
    chosen += qa_data.spread([one for one in every if not one.answers], count // 2)
    shelf = open_paragraphs(made, folder)
    given = shelf.each(chosen, lambda client, one: post(client, "/api/ask", {"question": one.text}))
    pairs = list(zip(chosen, given, strict=True))
    right, answered = _answerable_shares(pairs, 0.0)
    report.figure("squad2: truth in the answer", right, reference=0.75, goal=SQUAD, holds=right >= 0.75)
    report.figure("squad2: unanswerable answered", answered, reference=0.35, goal=SQUAD, holds=answered <= 0.35)
    reasons = Counter(_kind_of_reason(answer["abstained"]) for one, answer in pairs if not one.answers)
    for kind, count in sorted(reasons.items()):
        report.figure(f"squad2: unanswerable, {kind}", count, reference=sum(reasons.values()))
    for least in SUPPORTS:
        right, answered = _answerable_shares(pairs, least)
        report.figure(
            f"squad2: support {least:.2f} or more", f"truth {right:.3f}, unanswerable answered {answered:.3f}"
        )


def _answerable_shares(pairs: Sequence[tuple[qa_data.Squad, Mapping[str, Any]]], least: float) -> tuple[float, float]:
    """Truth among the answerable, and answers among the unanswerable, where only so much support makes an answer."""

    def is_given(answer: Mapping[str, Any]) -> bool:
        return answer["mode"] != "not_found" and (answer["support"] is None or answer["support"] >= least)

    right = fmean(
        is_given(answer) and any(squeezed(gold) in squeezed(answer["answer"]) for gold in one.answers)
        for one, answer in pairs
        if one.answers
    )
    return right, fmean(is_given(answer) for one, answer in pairs if not one.answers)


def _kind_of_reason(abstained: str | None) -> str:
    """Why there is no answer, without what is of the one question."""
    if abstained is None:
        return "answered"
    if "asks for what is not" in abstained:
        return "denied in the question only"
    if "has none" in abstained:
        return "no such value"
    if "where the question says" in abstained:
        return "contrary word"
    return "another time" if "and not of" in abstained else "too little evidence"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write `.reports/eval-answers.json`; 1 where a goal does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evals", type=Path, default=ROOT.parent / "shared" / "evals")
    parser.add_argument("--part", action="append", choices=PARTS, help="several times")
    parser.add_argument("--questions", type=int, default=600, help="of squad2_dev")
    parser.add_argument(
        "--multilingual", help="an embedder of many languages: a folder, a hub id, or URL#model of a server"
    )
    parser.add_argument("--xquad", type=int, default=200, help="questions of XQuAD in each language")
    parser.add_argument(
        "--wrong", type=Path, help="a file for what was asked of tables and what came out, as JSON lines"
    )
    chosen = parser.parse_args(arguments)
    folder: Path = chosen.evals / "qa"
    if not (folder / "reports" / "questions.jsonl").is_file():
        print(f"eval-answers: there is no {folder / 'reports'}; name the measuring data with --evals", file=sys.stderr)
        return 2
    parts = chosen.part or PARTS
    report, began = Report("eval-answers", part=chosen.part is not None), time.monotonic()
    alone: dict[str, float] = {}
    with instance() as made:
        work: dict[str, tuple[str, Callable[[], object]]] = {
            "reports": (REPORTS, lambda: alone.update(reports(report, made, folder / "reports"))),
            "crowd": (CROWD, lambda: crowd(report, made, folder, alone or None)),
            "forms": (CROWD, lambda: forms(report, made)),
            "tables": (TABLES, lambda: tables(report, made, chosen.evals, chosen.wrong)),
            "squad2": (SQUAD, lambda: paragraphs(report, made, folder / "squad2_dev", chosen.questions)),
            "models": (model_answers.CONNECTED, lambda: model_answers.measure(report, made)),
            "xquad": (
                many_languages.GOAL,
                lambda: many_languages.measure_languages(report, made, chosen.evals / "xquad", chosen.xquad),
            ),
        }
        for name in parts:
            goal, measure = work[name]
            try:
                measure()
            except (RuntimeError, httpx.HTTPError, TimeoutError) as error:  # the other parts took an hour, too
                print(f"eval-answers: {name} ended: {error!r}", file=sys.stderr)
                report.figure(f"{name}: ran to its end", str(error), goal=goal, holds=False)
    if "xquad" in parts:
        embedder = many_languages.open_multilingual(chosen.multilingual)
        many_languages.measure_multilingual(report, chosen.evals / "xquad", chosen.xquad, embedder)
    report.figure("time", round(time.monotonic() - began), unit="s")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
