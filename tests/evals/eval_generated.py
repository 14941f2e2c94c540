"""Answers that a model writes, beside the same model with plain top-8 (`python -m tests.evals.eval_generated --llm`).

Run by hand: it needs a model's OpenAI-shaped endpoint, and on a laptop's processor an hour for fifty questions.
"""

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import httpx

from serve_apps.retrieval.answers import generate
from serve_apps.retrieval.answers.generate import NOTHING, NumberedSource
from tests.evals import qa_data
from tests.evals.eval_qa import followed
from tests.evals.qa_data import Asked
from tests.evals.qa_shelf import Shelf, post
from tests.evals.report import ROOT, Report
from tests.instance import instance

TOP = 8
PATIENCE = 600.0  # seconds for an answer
GOAL = (
    "By hand, once, with the 1.5B model of `environment.md`: 50 rag_multi_corpus questions, citation validity and"
    " evidence containment beside the same model with plain top-8; into README."
)


def plain(model: httpx.Client, name: str, question: str, hits: Sequence[Mapping[str, Any]]) -> tuple[str, list[bool]]:
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
    return " ".join(claim.text for claim in claims), good


def measure(report: Report, shelf: Shelf, asked: Sequence[Asked], model: httpx.Client, name: str) -> None:
    """Both ways for each question in turn, so that both meet the same machine."""
    ours: list[dict[str, Any]] = []
    theirs: list[tuple[str, list[bool]]] = []
    headers = {"Authorization": shelf.made.http.headers["Authorization"], "X-Workspace": shelf.workspace}
    with httpx.Client(base_url=shelf.made.http.base_url, headers=headers, timeout=PATIENCE) as client:
        for at, one in enumerate(asked, 1):
            began = time.monotonic()
            ours.append(post(client, "/api/ask", {"question": one.text}))
            hits = post(client, "/api/documents/search", {"query": one.text, "limit": TOP})["results"]
            theirs.append(plain(model, name, one.text, hits))
            print(f"{at} of {len(asked)}, {time.monotonic() - began:.0f} s, {ours[-1]['mode']}", file=sys.stderr)
    whole = [good for found in shelf.each(ours, partial(followed, shelf)) for good in found]
    quotes = [good for _, found in theirs for good in found]
    tell(report, "citation validity", _share(whole), _share(quotes), at_least=1.0)
    held = [_contained(answer["answer"], one) for answer, one in zip(ours, asked, strict=True) if _answered(answer)]
    heard = [
        _contained(said, one) for (said, _), one in zip(theirs, asked, strict=True) if said and NOTHING not in said
    ]
    tell(report, "evidence contained in answers that are given", _mean(held), _mean(heard))
    every = [_contained(answer["answer"], one) * _answered(answer) for answer, one in zip(ours, asked, strict=True)]
    each = [_contained(said, one) for (said, _), one in zip(theirs, asked, strict=True)]
    tell(report, "evidence contained, none where nothing is answered", fmean(every), fmean(each))
    uncited = sum(bool(said) and not found for said, found in theirs)
    report.figure(
        "answers without a citation", sum(_answered(one) and not one["citations"] for one in ours), reference=uncited
    )
    report.figure("answered", sum(map(_answered, ours)), reference=sum(bool(said) for said, _ in theirs))
    modes = sorted({one["mode"] for one in ours})
    report.figure("modes", ", ".join(f"{sum(one['mode'] == mode for one in ours)} {mode}" for mode in modes))


def tell(report: Report, name: str, ours: float | None, theirs: float | None, at_least: float | None = None) -> None:
    """One of the goal's figures beside the plain way's."""
    holds = ours is not None and (at_least is None or ours >= at_least)
    report.figure(name, ours, reference=theirs, goal=GOAL, holds=holds)


def _answered(answer: Mapping[str, Any]) -> bool:
    return answer["mode"] != "not_found"


def _contained(answer: str, one: Asked) -> float:
    return max(qa_data.contained(answer, text) for text in one.evidence)


def _share(found: Sequence[bool]) -> float | None:
    return sum(found) / len(found) if found else None


def _mean(found: Sequence[float]) -> float | None:
    return fmean(found) if found else None


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write `.reports/eval-generated.json`; 1 where a goal does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evals", type=Path, default=ROOT.parent / "shared" / "evals")
    parser.add_argument("--llm", required=True, help="base URL of the endpoint, such as http://127.0.0.1:8080/v1")
    parser.add_argument("--model", default="default", help="the name it knows the model by")
    parser.add_argument("--questions", type=int, default=50)
    chosen = parser.parse_args(arguments)
    corpus: Path = chosen.evals / "qa" / "rag_multi_corpus"
    asked = qa_data.spread(qa_data.questions(corpus), chosen.questions)
    report, began = Report("eval-generated"), time.monotonic()
    own = {"LLM_BASE_URL": chosen.llm, "LLM_DEFAULT_MODEL": chosen.model, "AOS_LLM_SECONDS": str(PATIENCE)}
    with instance(**own) as made, httpx.Client(base_url=chosen.llm.rstrip("/") + "/", timeout=PATIENCE) as model:
        measure(report, Shelf.open(made, "generated", [corpus / "md"]), asked, model, chosen.model)
    report.figure("time", round(time.monotonic() - began), unit="s")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
