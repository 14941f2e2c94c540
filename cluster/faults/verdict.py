"""The proof after the faults: what was measured beside what has to be, line by line."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from cluster.faults.chats import ChatOutcome
from cluster.faults.plan import PlannedFault
from cluster.faults.workspace_result import WorkspaceResult

Shown = int | float | str | None


@dataclass(frozen=True, slots=True)
class FaultOutcome:
    """A fault that was done, or could not be.

    Attributes:
        hit: the processes, or in words what was hit.
        at: pages of the job that were done.
        back: seconds until all was well again; None where that did not come, or nothing was hit.
        why: what was not well at last, or why nothing was hit.
    """

    number: int
    kind: str
    hit: str
    at: int
    back: float | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """The end of a job as the API tells it: pages that were expected, and those of them that are done."""

    id: str
    state: str
    expected: int
    done: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that the verdict is drawn from; of a campaign that was broken off some of it is missing."""

    planned: Sequence[PlannedFault]
    within: float
    faults: Sequence[FaultOutcome] = ()
    reference: tuple[JobOutcome, WorkspaceResult] | None = None
    faulted: tuple[JobOutcome, WorkspaceResult] | None = None
    chats: Sequence[ChatOutcome] = ()
    generated: int | None = None  # pages, where we made them ourselves
    approves: bool = False  # whether calls of some tools were to be approved: then there have to be some


@dataclass(frozen=True, slots=True)
class ProofLine:
    """One thing that was to be proved."""

    name: str
    found: Shown
    wanted: Shown
    holds: bool


def prove(evidence: Evidence) -> list[ProofLine]:
    """Every line; what was not measured does not hold."""
    return [*_of_faults(evidence), *_of_job(evidence), *_of_chats(evidence.chats, approves=evidence.approves)]


def is_proved(lines: Sequence[ProofLine]) -> bool:
    """True where every line holds, and there are some."""
    return bool(lines) and all(line.holds for line in lines)


def as_body(evidence: Evidence, left_out: Mapping[str, str], seed: int) -> dict[str, Any]:
    """For scripts, and for the report that is kept."""
    lines = prove(evidence)
    results = {
        name: None if found is None else {"job": asdict(found[0]), "result": asdict(found[1])}
        for name, found in (("reference", evidence.reference), ("faulted", evidence.faulted))
    }
    return {
        "proved": is_proved(lines),
        "seed": seed,
        "proof": [asdict(line) for line in lines],
        "faults": [asdict(one) for one in evidence.faults],
        "left_out": dict(left_out),
        "chats": [asdict(one) for one in evidence.chats],
        **results,
    }


def _of_faults(evidence: Evidence) -> list[ProofLine]:
    done, planned = [one for one in evidence.faults if one.hit], len(evidence.planned)
    kinds, wanted = {one.kind for one in done}, {one.kind.name for one in evidence.planned}
    slowest = max((one.back for one in done if one.back is not None), default=None)
    late = [one for one in done if one.back is None or one.back > evidence.within]
    return [
        ProofLine("faults done while the job ran", len(done), planned, len(done) == planned > 0),
        ProofLine("kinds of faults", len(kinds), len(wanted), kinds == wanted),
        ProofLine("faults after which all was well in time", len(done) - len(late), len(done), bool(done) and not late),
        ProofLine("seconds until all was well, at most", slowest, evidence.within, slowest is not None and not late),
    ]


def _of_job(evidence: Evidence) -> list[ProofLine]:
    if evidence.reference is None or evidence.faulted is None:
        return [ProofLine("the same folder read twice, once under faults", None, "both ended", False)]
    (calm, before), (job, after) = evidence.reference, evidence.faulted
    is_same = (job.done, job.expected) == (calm.done, calm.expected)
    expected = before.pages if evidence.generated is None else evidence.generated
    return [
        ProofLine("job", job.state, calm.state, job.state == calm.state),
        ProofLine("pages", after.pages, expected, after.pages == before.pages == expected),
        ProofLine("pages that the job counts as done", job.done, calm.done, is_same),
        ProofLine("pages doubled", after.pages_twice, 0, after.pages_twice == 0),
        ProofLine("chunks", after.chunks, before.chunks, after.chunks == before.chunks > 0),
        ProofLine("chunks doubled", after.chunks_twice, 0, after.chunks_twice == 0),
        ProofLine("chunks with a vector", after.vectors, after.chunks, after.vectors == after.chunks),
        ProofLine("hash of all pages and chunks", after.hash, before.hash, after.hash == before.hash),
    ]


def _of_chats(chats: Sequence[ChatOutcome], *, approves: bool) -> list[ProofLine]:
    """An approval is executed once where each that was given has one execution in its run's journal.

    Where approvals were wanted and none was given, nothing is proved of them.
    """
    completed = sum(one.state == "completed" for one in chats)
    approved, doubts = sum(one.approved for one in chats), sum(one.doubts for one in chats)
    once = sum(one.executions == one.approved for one in chats if one.approved)
    given = sum(bool(one.approved) for one in chats)
    lines = [ProofLine("chats answered", completed, len(chats), completed == len(chats) > 0)]
    if approves or approved or doubts:
        lines += [
            ProofLine("chats whose approvals were executed exactly once", once, given, once == given > 0),
            ProofLine("approved actions in doubt", doubts, 0, doubts == 0),
        ]
    return lines
