"""Named errors that end or pause a turn."""

from collections.abc import Iterator

from cluster.basics.errors import AosError, Permanent, Transient
from cluster.models.model_errors import NoModel as NoModel
from cluster.models.model_errors import OverBudget as OverBudget


class ApprovalPending(Permanent):
    """A person has to decide first."""

    code, status = "waiting", 409

    def __init__(self, approval: str, detail: str = "") -> None:
        """`approval` is the id of what is to be decided."""
        super().__init__(detail or f"approval {approval}")
        self.approval = approval


class ActionRejected(Permanent):
    """Action rejected."""

    code, status = "rejected", 409


class ToolRefused(Permanent):
    """The approval list does not allow this tool."""

    code, status = "refused", 403
    fix = "Add a pattern for it to configs/approvals.yaml."


class NoReply(Permanent):
    """The model gave no answer."""

    code, status = "no_reply", 502
    fix = "Ask again, or give the agent another model."


class ReplayDiverged(Permanent):
    """The replay asks for something else than the recorded run."""

    code, status = "diverged", 409


class RecordedPermanent(Permanent):
    """A recorded step failed."""

    code = "recorded"


class RecordedTransient(Transient):
    """A recorded step failed for the time being."""

    code = "recorded"


def error_from_record(code: str, detail: str, transient: bool) -> AosError:
    """The error of a recorded step: of the class it had where that is known, its code and detail as they were."""
    family: type[AosError] = RecordedTransient if transient else RecordedPermanent
    known = (kind for kind in _error_classes(Transient if transient else Permanent) if kind.code == code)
    error = family.__new__(next(known, family))
    AosError.__init__(error, detail)
    error.__dict__["code"] = code
    return error


def _error_classes(root: type[AosError]) -> Iterator[type[AosError]]:
    yield root
    for kind in root.__subclasses__():
        yield from _error_classes(kind)
