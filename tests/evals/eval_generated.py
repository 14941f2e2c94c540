"""Answers that a model writes, beside the same model with plain top-8 (`python -m tests.evals.eval_generated --llm`).

Run by hand: it needs a model's OpenAI-shaped endpoint, and on a laptop's processor over an hour for all questions.
With `--state` a run goes on where another one was ended.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import httpx

from serve_apps.retrieval.answers import generate
from serve_apps.retrieval.answers.generate import NOTHING, NumberedSource
from tests.evals import qa_data
from tests.evals.eval_answers import report_questions, squeezed
from tests.evals.eval_qa import followed
from tests.evals.qa_shelf import Shelf, copy_files, post
from tests.evals.report import ROOT, Report
from tests.instance import Instance, instance

TOP = 8
PATIENCE = 600.0  # seconds for an answer
PARTS = ("corpus", "reports")
GOAL = (
    "With the 1.5B model of `environment.md`, by hand once: 50 questions of rag_multi_corpus and the 90 of reports: "
    "truth contained ≥ the same model with plain top-8, every citation valid."
)


@dataclass(frozen=True, slots=True)
class TrueAnswer:
    """A question and its truths: all words of one of them, or the whole of one (`literally`), belong in the answer."""

    question: str
    truths: tuple[str, ...]
    literally: bool

    def contained_in(self, answer: str) -> float:
        """The share of a truth's words that the answer has, of the truth that it has most of; 0 or 1 literally."""
        if self.literally:
            return float(any(squeezed(truth) in squeezed(answer) for truth in self.truths))
        return max(qa_data.contained(answer, truth) for truth in self.truths)


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """What one way said: nothing where it answers nothing, and whether each of its citations is valid."""

    text: str
    citations: tuple[bool, ...]
    mode: str = "plain"


class AnswerStore:
    """What both ways said to each question, a line each in a file, so that an ended run is not lost."""

    def __init__(self, path: Path | None) -> None:
        """Nothing is kept without a path."""
        self._path = path
        lines = path.read_text(encoding="utf-8").splitlines() if path is not None and path.exists() else []
        self._known = {(row["part"], row["question"]): row["answers"] for row in map(json.loads, lines)}

    def read(self, part: str, question: str) -> list[GivenAnswer] | None:
        """Ours and the plain one; None where it was not asked yet."""
        answers = self._known.get((part, question))
        return answers and [GivenAnswer(one["text"], tuple(one["citations"]), one["mode"]) for one in answers]

    def write(self, part: str, question: str, answers: Sequence[GivenAnswer]) -> None:
        """Keep both."""
        if self._path is not None:
            row = {"part": part, "question": question, "answers": [asdict(one) for one in answers]}
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")


def answer_plainly(model: httpx.Client, name: str, question: str, hits: Sequence[Mapping[str, Any]]) -> GivenAnswer:
    """The model's own words about the first passages, and whether each quote stands in the passage that it names."""
    sources = [NumberedSource(hit["filename"], hit["text"]) for hit in hits]
    asked = [{"role": one.role, "content": one.content} for one in generate.answer_messages(question, sources)]
    body = {"model": name, "messages": asked, "temperature": 0}
    said: str = post(model, "chat/completions", body)["choices"][0]["message"]["content"]
    claims = generate.parse_claims(said)
    good = [
        0 < n <= len(sources) and " ".join(quote.split()) in " ".join(sources[n - 1].text.split())
        for claim in claims
        for n, quote in claim.evidence
    ]
    return GivenAnswer("" if NOTHING in said else " ".join(claim.text for claim in claims), tuple(good))


def answer_ours(client: httpx.Client, shelf: Shelf, question: str) -> GivenAnswer:
    """The product's answer, each of its citations followed to the page and to the file."""
    answer = post(client, "/api/ask", {"question": question})
    text = "" if answer["mode"] == "not_found" else answer["answer"]
    return GivenAnswer(text, tuple(followed(shelf, client, answer)), answer["mode"])


def measure_both(
    report: Report,
    part: str,
    shelf: Shelf,
    asked: Sequence[TrueAnswer],
    ask_plainly: Callable[[str, Sequence[Mapping[str, Any]]], GivenAnswer],
    store: AnswerStore,
) -> None:
    """Both ways for each question in turn, so that both meet the same machine."""
    ours: list[GivenAnswer] = []
    theirs: list[GivenAnswer] = []
    headers = {"Authorization": shelf.made.http.headers["Authorization"], "X-Workspace": shelf.workspace}
    with httpx.Client(base_url=shelf.made.http.base_url, headers=headers, timeout=PATIENCE) as client:
        for at, one in enumerate(asked, 1):
            began = time.monotonic()
            both = store.read(part, one.question)
            if both is None:
                hits = post(client, "/api/documents/search", {"query": one.question, "limit": TOP})["results"]
                both = [answer_ours(client, shelf, one.question), ask_plainly(one.question, hits)]
                store.write(part, one.question, both)
            ours.append(both[0])
            theirs.append(both[1])
            held = f"{one.contained_in(ours[-1].text):.2f} {one.contained_in(theirs[-1].text):.2f}"
            took = time.monotonic() - began
            print(f"{part}: {at} of {len(asked)}, {took:.0f} s, {ours[-1].mode}, {held}", file=sys.stderr)
    tell_both(report, part, asked, ours, theirs)


def tell_both(
    report: Report, part: str, asked: Sequence[TrueAnswer], ours: Sequence[GivenAnswer], theirs: Sequence[GivenAnswer]
) -> None:
    """The goal's two figures of a part, and what explains them."""
    held, heard = (
        fmean(one.contained_in(given.text) for one, given in zip(asked, way, strict=True)) for way in (ours, theirs)
    )
    report.figure(f"{part}: truth contained", held, reference=heard, goal=GOAL, holds=held >= heard)
    valid, plain = (_share([good for given in way for good in given.citations]) for way in (ours, theirs))
    report.figure(f"{part}: citations valid", valid, reference=plain, goal=GOAL, holds=valid == 1.0)
    answered, spoken = (sum(bool(given.text) for given in way) for way in (ours, theirs))
    report.figure(f"{part}: answered", answered, reference=spoken)
    bare, uncited = (sum(bool(given.text) and not given.citations for given in way) for way in (ours, theirs))
    report.figure(f"{part}: answers without a citation", bare, reference=uncited)
    modes = sorted({given.mode for given in ours})
    report.figure(f"{part}: modes", ", ".join(f"{sum(given.mode == mode for given in ours)} {mode}" for mode in modes))


def _share(found: Sequence[bool]) -> float | None:
    return sum(found) / len(found) if found else None


def open_part(made: Instance, part: str, folder: Path, count: int | None) -> tuple[Shelf, list[TrueAnswer]]:
    """The documents of a part in a workspace, and its questions (`count`: so many at even distances)."""
    if part == "corpus":
        rows = qa_data.spread(qa_data.questions(folder / "rag_multi_corpus"), count or 50)
        shelf = Shelf.open(made, "generated", [folder / "rag_multi_corpus" / "md"])
        return shelf, [TrueAnswer(one.text, one.evidence, literally=False) for one in rows]
    forms = report_questions(folder / "reports")
    with tempfile.TemporaryDirectory(prefix="aos-generated-") as place:
        copy_files((folder / "reports").glob("*.pdf"), Path(place))
        shelf = Shelf.open(made, "reports", [Path(place)])
    kept = {id_: folder / "reports" / path.name for id_, path in shelf.files.items()}
    true = [TrueAnswer(one.text, one.answers, literally=True) for one in qa_data.spread(forms, count or len(forms))]
    return Shelf(made, shelf.workspace, kept), true


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write `.reports/eval-generated.json`; 1 where a goal does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evals", type=Path, default=ROOT.parent / "shared" / "evals")
    parser.add_argument("--llm", required=True, help="base URL of the endpoint, such as http://127.0.0.1:8080/v1")
    parser.add_argument("--model", default="default", help="the name it knows the model by")
    parser.add_argument("--state", type=Path, help="keep answers in this file, and go on with those that are there")
    parser.add_argument("--part", action="append", choices=PARTS, help="several times")
    parser.add_argument(
        "--questions", type=int, help="of each part; 50 of the corpus and all of the reports unless given"
    )
    chosen = parser.parse_args(arguments)
    parts = chosen.part or PARTS
    partly = chosen.part is not None or chosen.questions is not None
    report, began = Report("eval-generated", part=partly), time.monotonic()
    own = {"LLM_BASE_URL": chosen.llm, "LLM_DEFAULT_MODEL": chosen.model, "AOS_LLM_SECONDS": str(PATIENCE)}
    with instance(**own) as made, httpx.Client(base_url=chosen.llm.rstrip("/") + "/", timeout=PATIENCE) as model:
        for part in parts:
            shelf, asked = open_part(made, part, chosen.evals / "qa", chosen.questions)
            plainly = partial(answer_plainly, model, chosen.model)
            measure_both(report, part, shelf, asked, plainly, AnswerStore(chosen.state))
    report.figure("time", round(time.monotonic() - began), unit="s")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
