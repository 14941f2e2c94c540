"""Retrieval test sets: documents, questions, which document answers which; and how a ranking is scored."""

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DEFAULT = ROOT.parent / "shared" / "evals"


@dataclass(frozen=True, slots=True)
class Text:
    """A document of a set."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Set:
    """A test collection; `answers` is question id to document id to grade, above 0 only."""

    name: str
    documents: Sequence[Text]
    questions: Mapping[str, str]
    answers: Mapping[str, Mapping[str, int]]


def load(folder: Path) -> Set:
    """Read `corpus*.jsonl`, `queries.jsonl` and `qrels.tsv`; questions nobody answers are left out."""
    documents = [
        Text(row["_id"], row.get("title") or "", row["text"])
        for path in sorted(folder.glob("corpus*.jsonl"))
        for row in _lines(path)
    ]
    answers: dict[str, dict[str, int]] = defaultdict(dict)
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        question, document, grade = line.split("\t")
        if int(grade) > 0:
            answers[question][document] = int(grade)
    questions = {row["_id"]: row["text"] for row in _lines(folder / "queries.jsonl") if row["_id"] in answers}
    return Set(folder.name, documents, questions, answers)


def ndcg(ranked: Sequence[str], grades: Mapping[str, int], at: int = 10) -> float:
    """Normalised discounted cumulative gain: linear gains, discount log2(rank + 1)."""
    gain = sum(grades.get(document, 0) / math.log2(rank + 1) for rank, document in enumerate(ranked[:at], 1))
    ideal = sorted(grades.values(), reverse=True)[:at]
    return gain / sum(grade / math.log2(rank + 1) for rank, grade in enumerate(ideal, 1))


def recall(ranked: Sequence[str], grades: Mapping[str, int], at: int = 100) -> float:
    """The share of answering documents among the first."""
    return len(set(ranked[:at]) & set(grades)) / len(grades)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
