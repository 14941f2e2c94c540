"""Report and verdict of the gate on the next index: plain values and rules."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any, Literal

from configs.sections_retrieval import GateSettings

LEAST_ITEMS = 5  # passages below which known items prove nothing
SHORTEST = 8  # words of a passage whose part is still a part
LONGEST = 16  # words of a question made of a passage
SHARE = 0.6  # of a passage: the whole would be found by any function of its text

Verdict = Literal["passed", "refused", "forced"]


@dataclass(frozen=True, slots=True)
class ChunkNeighbour:
    """A passage near a question: cosine similarity, not a number where the vectors are broken."""

    chunk: str
    document: str
    score: float
    text: str


@dataclass(frozen=True, slots=True)
class RecallMeasure:
    """Recall of the expected passages or documents, in the next generation and in the live one."""

    name: str  # `known items`, or the golden set's name
    asked: int  # questions
    recall: float  # mean share of the expected among the first, 0 to 1
    mrr: float  # mean reciprocal rank of the first that is right
    # The same recall in the generation that readers use; None where what embedded that is not there.
    before: float | None = None
    # What the generation that readers use reached when it was built; None where nobody knows.
    baseline: float | None = None
    least: float | None = None  # what is demanded in any case; None where nothing is
    skipped: int = 0  # questions whose documents are not there
    digest: str = ""  # of the questions; only equal ones can be compared
    # Keys of golden questions of which less is found than before; where nobody knows that, or a least recall is
    # demanded, not everything.
    fell: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GateReport:
    """The findings of the gate."""

    generation: int  # the next one
    live: int | None  # the one that readers use
    expected: int  # documents that the live one has vectors of
    held: int  # and how many the next one has
    at: int  # a passage is found when it is among that many
    items: RecallMeasure | None  # parts of its own passages; None where there are too few
    golden: tuple[RecallMeasure, ...]  # each set that guards the index
    alone: str | None = None  # why nothing was asked of the live one beside it; None where it was, or there is none

    def as_json(self, reasons: Sequence[str], verdict: Verdict, ms: float) -> dict[str, Any]:
        """As it is stored and shown; it names no document and quotes none."""
        return asdict(self) | {"reasons": list(reasons), "verdict": verdict, "ms": round(ms)}


def judge_report(report: GateReport, settings: GateSettings) -> list[str]:
    """Reasons to keep readers from this index; empty where it passes."""
    reasons = []
    if report.held < report.expected * (1 - settings.tolerance):
        reasons.append(f"{report.held} of {report.expected} documents have vectors")
    for one in [*([report.items] if report.items else []), *report.golden]:
        least = [("demanded", one.least, 0.0), ("before", one.before, settings.tolerance)]
        if one.before is None:
            least.append(("when the live index was built", one.baseline, settings.tolerance))
        if report.live is not None and all(wanted is None for _, wanted, _ in least):
            # Another embedder than the live one's, and nobody measured this set when that was built.
            reasons.append(f"{one.name}: {one.recall:.3f} has nothing to be compared with; give the set a least recall")
        for what, wanted, slack in least:
            if wanted is not None and not one.recall >= wanted - slack - 1e-9:
                reasons.append(f"{one.name}: {one.recall:.3f} of {one.asked} questions found, {what} {wanted:.3f}")
    return reasons


def part_of(text: str) -> str | None:
    """A question that only this passage, or its equals, should answer: its middle; None where it is too short."""
    words = text.split()
    if len(words) < SHORTEST:
        return None
    count = min(LONGEST, int(len(words) * SHARE))
    start = (len(words) - count) // 2
    return " ".join(words[start : start + count])


def depth_of(chunks: int) -> int:
    """Among how many a passage has to be: ten, or an eighth of few, so that chance finds far less than the floor."""
    return min(10, max(1, (chunks + 4) // 8))


def rank_of(own: float | None, chunk: str, part: str, near: Sequence[ChunkNeighbour]) -> int | None:
    """The place of the passage, from 1; another passage that says the same is as right.

    Equals count as before it: an embedder that gives every text the same vector finds nothing. None where the passage
    has no vector, or a broken one.
    """
    rights = [one.score for one in near if one.chunk == chunk or part in " ".join(one.text.split())]
    best = max(
        (score for score in [*rights, *([own] if own is not None else [])] if not math.isnan(score)), default=None
    )
    if best is None:
        return None
    wrong = [one for one in near if one.chunk != chunk and part not in " ".join(one.text.split())]
    return 1 + sum(not one.score < best - 1e-6 for one in wrong)


def documents_found(near: Sequence[ChunkNeighbour], expected: Sequence[str], at: int = 10) -> tuple[float, float]:
    """The share of the expected documents among the first ones, and the reciprocal rank of the first of them."""
    order = list(dict.fromkeys(one.document for one in near if not math.isnan(one.score)))
    places = [order.index(one) + 1 for one in expected if one in order]
    return sum(place <= at for place in places) / len(expected), 1 / min(places) if places else 0.0


def digest_of(questions: Sequence[Mapping[str, Any]]) -> str:
    """Changes when a question, or what it expects, changes."""
    told = sorted(f"{one['key']}\0{one['question']}\0{sorted(one['documents'])}" for one in questions)
    return sha256("\n".join(told).encode("utf-8", "surrogatepass")).hexdigest()[:16]
