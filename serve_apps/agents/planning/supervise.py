"""Supervisor of finished steps: ruled by code where a rule knows, else by a model that must be clear."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, field_validator

REPLAN_WAITS = (0.5, 1.0, 2.0)  # seconds before the first, second, third new plan

# Codes and details, not classes: what is recorded has only those, and a resumed turn must decide as before.
_ANOTHER_WAY = frozenset(
    {"unauthenticated", "forbidden", "not_found", "tool_not_found", "refused", "bad_arguments", "too_deep", "cycle"}
)
_STATUS = re.compile(r"\b(?:401|403|404)\b")
_TIMEOUT = re.compile(r"\btime(?:d)?[\s_-]?out\b|\bout_of_time\b|\bdid not (?:answer|end) within\b", re.IGNORECASE)
_FOR_NOW = frozenset({"unavailable", "overloaded", "too_many_attempts", "recorded"})


class StepOutcome(StrEnum):
    """Outcome of a step. NOT_VERIFIED: its supervisor could not be understood, which is no success (B-17)."""

    SUCCESS = "SUCCESS"
    RETRY = "RETRY"
    REPLAN = "REPLAN"
    ABORT = "ABORT"
    NOT_VERIFIED = "NOT_VERIFIED"
    SKIPPED = "SKIPPED"


@dataclass(frozen=True, slots=True)
class StepRuling:
    """An outcome, why, and who says so."""

    outcome: StepOutcome
    why: str
    by: Literal["rule", "model"] = "rule"


class SupervisorReply(BaseModel):
    """A supervisor's reply."""

    outcome: Literal["SUCCESS", "RETRY", "REPLAN", "ABORT"]
    reason: str = ""

    @field_validator("outcome", mode="before")
    @classmethod
    def _upper_outcome(cls, value: object) -> object:
        return value.strip().upper() if isinstance(value, str) else value


def rule_step(
    error: str | None, *, rejected: bool = False, repeatable: bool = True, attempt: int = 1, passages: int | None = None
) -> StepRuling | None:
    """Ruling by rule, without a model; None where a model has to look.

    `error`: `code: detail` of a step that failed. `rejected`: a person said no. `repeatable`: the step may be carried
    out again without harm. `attempt`: from 1. `passages`: how many a search found.
    """
    if rejected:
        return StepRuling(StepOutcome.ABORT, "a person rejected it")
    if error is None:
        return StepRuling(StepOutcome.REPLAN, "nothing was found") if passages == 0 else None
    code, _, detail = error.partition(":")
    if code in _ANOTHER_WAY or _STATUS.search(error) or _TIMEOUT.search(error):
        return StepRuling(StepOutcome.REPLAN, error)
    if code in _FOR_NOW:
        return after_failure(detail.strip() or code, repeatable=repeatable, attempt=attempt)
    return None


def after_failure(why: str, *, repeatable: bool, attempt: int) -> StepRuling:
    """Once more, then another way; what changes something outside is not simply done again."""
    again = repeatable and attempt == 1
    return StepRuling(StepOutcome.RETRY if again else StepOutcome.REPLAN, why)


def from_model(read: SupervisorReply | None, *, failed: bool, repeatable: bool, attempt: int) -> StepRuling:
    """A supervisor's word, as far as it goes: it cannot make a failure a success or have a step done three times."""
    if read is None:
        if failed:
            return after_failure("the supervisor could not be understood", repeatable=repeatable, attempt=attempt)
        return StepRuling(StepOutcome.NOT_VERIFIED, "the supervisor could not be understood", "model")
    outcome = StepOutcome(read.outcome)
    if outcome is StepOutcome.RETRY or (failed and outcome is StepOutcome.SUCCESS):
        return StepRuling(after_failure("", repeatable=repeatable, attempt=attempt).outcome, read.reason, "model")
    return StepRuling(outcome, read.reason, "model")
