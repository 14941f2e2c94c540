"""Retrieval and answer metrics (recall, nDCG, MRR, token F1): pure functions of found and expected."""

import math
import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from json import dumps
from typing import Any

import numpy as np

AT = (1, 5, 10)
MOST_FAILURES = 20  # that are named
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_MARKS = str.maketrans("", "", string.punctuation + "“”‘’«»–—…")
_CITED = re.compile(r"\[\d+(?:\s*,\s*\d+)*\]")


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """A passage that was found."""

    document: str
    filename: str
    text: str


def of_documents(found: Sequence[FoundPassage], expected: Sequence[str]) -> dict[str, float]:
    """recall@1, @5, @10, ndcg@10 (each expected document gains 1, discount log2(rank + 1)) and mrr.

    `found`: passages, best first; a document stands where its first passage does. `expected`: ids or filenames in any
    case; one or more.
    """
    gains = _document_gains(found, expected)
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(len(expected), 10) + 1))
    first = next((rank for rank, gain in enumerate(gains, 1) if gain), None)
    scores = {f"recall@{at}": sum(gains[:at]) / len(expected) for at in AT}
    scores["ndcg@10"] = sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains[:10], 1)) / ideal
    return scores | {"mrr": 1 / first if first else 0.0}


def of_passages(found: Sequence[FoundPassage], expected: Sequence[str]) -> dict[str, float]:
    """passage_recall@10: the share of the expected texts that stand in one of the first ten passages."""
    texts = [" ".join(answer_tokens(place.text)) for place in found[:10]]
    wanted = [" ".join(answer_tokens(text)) for text in expected]
    return {"passage_recall@10": sum(any(text in one for one in texts) for text in wanted) / len(wanted)}


def of_answer(said: str, expected: Sequence[str]) -> dict[str, float]:
    """answer_f1 and answer_contained, 0 or 1, against what fits best of the expected (Rajpurkar and others 2016)."""
    return {
        "answer_f1": max(token_f1(said, one) for one in expected),
        "answer_contained": float(any(contains_answer(said, one) for one in expected)),
    }


def token_f1(said: str, expected: str) -> float:
    """Harmonic mean of precision and recall over tokens, each as often as it stands there."""
    ours, theirs = Counter(answer_tokens(said)), Counter(answer_tokens(expected))
    shared = sum((ours & theirs).values())
    if not ours or not theirs:
        return float(ours == theirs)
    return 2 * shared / (sum(ours.values()) + sum(theirs.values()))


def contains_answer(said: str, expected: str) -> bool:
    """True where the expected tokens stand in the answer, next to each other and in their order."""
    wanted = answer_tokens(expected)
    return bool(wanted) and f" {' '.join(wanted)} " in f" {' '.join(answer_tokens(said))} "


def answer_tokens(text: str) -> list[str]:
    """Words in lower case, without articles, punctuation and citation numbers."""
    return _ARTICLES.sub(" ", _CITED.sub(" ", text).lower().translate(_MARKS)).split()


def summarise_measures(measured: Sequence[Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Each measure over the questions that have it: `mean` and `n`; of times in milliseconds `p50`, `p95` and `n`."""
    names = list(dict.fromkeys(name for one in measured for name in one))
    found: dict[str, dict[str, float]] = {}
    for name in names:
        values = [one[name] for one in measured if name in one]
        if name.endswith("_ms"):
            low, high = (float(value) for value in np.percentile(values, (50, 95)))
            found[name] = {"p50": low, "p95": high, "n": len(values)}
        else:
            found[name] = {"mean": math.fsum(values) / len(values), "n": len(values)}
    return found


def count_failures(each: Sequence[Sequence[str]], engines: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
    """Failures, and at how many questions; a stage that ran for some questions only (`engines`) is one of them."""
    counted = Counter(failure for failures in each for failure in failures)
    by_stage: dict[str, dict[str, int]] = {}
    for (stage, engine), count in Counter(used for question in engines for used in question.items()).items():
        by_stage.setdefault(stage, {})[engine] = count
    for stage, used in by_stage.items():
        if len(used) > 1:
            counted[f"{stage}: not the same for all questions: {dumps(used, sort_keys=True)}"] = min(used.values())
    return [{"what": what, "questions": count} for what, count in counted.most_common(MOST_FAILURES)]


def _document_gains(found: Sequence[FoundPassage], expected: Sequence[str]) -> list[int]:
    """1 for each document, in order, that is the first to be one of those expected."""
    order = dict.fromkeys((place.document, place.filename.lower()) for place in found)
    open_ = {one: one.lower() for one in expected}
    gains = []
    for document, filename in order:
        match = next((one for one, lower in open_.items() if document == one or filename == lower), None)
        if match is not None:
            del open_[match]
        gains.append(int(match is not None))
    return gains
