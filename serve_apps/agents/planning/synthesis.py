"""The answer of a planned turn, by priority and never by chance."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from serve_apps.agents.planning.shape import StepExecutor
from serve_apps.agents.planning.supervise import StepOutcome
from serve_apps.agents.planning.work import StepResult

DEFAULT, CRITICISED, FALLBACK = 0.9, 0.6, 0.5  # confidence

NO_INFORMATION = "I found no information about that in the documents."
NOTHING_DONE = "I could not carry this out."


@dataclass(frozen=True, slots=True)
class AnswerSynthesis:
    """An answer, where it comes from, how sure it is, and whose words it is: a reasoning step's, or nobody's."""

    text: str
    source: Literal["documents", "tools", "conversation", "none"]
    confidence: float
    step: str = ""


def synthesise_answer(results: Sequence[StepResult], *, grounded: bool) -> AnswerSynthesis:
    """Reasoning that documents suffice for, else what tools gave, else reasoning from the conversation, else nothing.

    `results` in the order of the steps; `grounded`: there are passages, and reasoning that they do not suffice for is
    not given (B: no guessing).
    """
    reasoned = [one for one in results if one.step.executor == StepExecutor.REASONING and one.usable]
    acted = [one for one in results if one.step.executor == StepExecutor.ACTION and one.usable]
    sufficient = [one for one in reasoned if one.output["context_adequacy"] == "sufficient"]
    if sufficient and grounded:
        return _of(sufficient[-1], "documents", results)
    if acted:
        worded = sufficient or reasoned if not grounded else sufficient
        if worded:
            return _of(worded[-1], "tools", results)
        told = "\n".join(f"{one.step.label}: {one.text}" for one in acted)
        return AnswerSynthesis(told, "tools", min(DEFAULT, _confidence_limit(results)))
    if reasoned and not grounded:
        return _of(reasoned[-1], "conversation", results)
    # That the documents do not say it, only somebody can say who has read them.
    return AnswerSynthesis(NO_INFORMATION if grounded and reasoned else NOTHING_DONE, "none", FALLBACK)


def _of(
    answer: StepResult, source: Literal["documents", "tools", "conversation"], results: Sequence[StepResult]
) -> AnswerSynthesis:
    confidence = min(float(answer.output["confidence"]), _confidence_limit(results))
    return AnswerSynthesis(answer.text, source, confidence, answer.step.id)


def _confidence_limit(results: Sequence[StepResult]) -> float:
    """No answer is surer than its weakest witness."""
    criticised = any(
        one.step.executor == StepExecutor.CRITIQUE and one.usable and one.output["verdict"] != "approved"
        for one in results
    )
    shaky = any(one.outcome is not StepOutcome.SUCCESS for one in results)
    return CRITICISED if criticised or shaky else 1.0
