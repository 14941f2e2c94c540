"""Plans and their steps, and the parser of a model's JSON plan."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator

from cluster.models.reply_json import find_json_values

LONGEST_REPLY = 60_000  # characters; a longer one is not read
MOST_LISTED = 200  # steps that are read at all; the limit of an agent is far lower

Shape = TypeVar("Shape", bound=BaseModel)
_STEPS = re.compile(r'["\']steps["\']\s*:|["\']executor["\']\s*:')


class StepExecutor(StrEnum):
    """Specialist that carries a step out."""

    RETRIEVAL = "retrieval"
    REASONING = "reasoning"
    CRITIQUE = "critique"
    MEMORY = "memory"
    FORMULA = "formula"
    ACTION = "action"


# What each can do; the first is what it does where a plan asks for something else of it.
ACTIONS: Mapping[StepExecutor, tuple[str, ...]] = {
    StepExecutor.RETRIEVAL: ("search",),
    StepExecutor.REASONING: ("answer", "analyse", "compare", "summarise"),
    StepExecutor.CRITIQUE: ("review",),
    StepExecutor.MEMORY: ("extract",),
    StepExecutor.FORMULA: ("verify",),
    StepExecutor.ACTION: ("call",),
}


_OTHER_NAMES = {"formulaverification": "formula", "formula_verification": "formula", "tool": "action"}


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One step of a plan."""

    id: str
    label: str
    executor: str  # as the model wrote it; `check` makes sure that it is an `StepExecutor`
    action: str
    tool: str | None = None  # of an action
    args: Mapping[str, Any] = field(default_factory=dict)  # may hold `{{id}}`, which stands for the result of that step
    description: str = ""
    depends_on: tuple[str, ...] = ()  # ids of steps that come before

    @property
    def data(self) -> Mapping[str, Any]:
        """As in a PLAN event."""
        return asdict(self) | {"depends_on": list(self.depends_on)}


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps in the order in which the model wrote them."""

    steps: tuple[PlanStep, ...]


@dataclass(frozen=True, slots=True)
class UnreadableReply:
    """A text that should hold a plan and does not, and why: told to the model when it is asked again."""

    why: str


class _Step(BaseModel):
    id: str = Field("", max_length=60)
    label: str = Field("", max_length=2_000)
    executor: str = Field(min_length=1, max_length=60)
    action: str = Field("", max_length=60)
    tool: str | None = Field(None, max_length=100)
    args: dict[str, Any] = {}
    description: str = Field("", max_length=8_000)
    depends_on: list[str] = Field([], max_length=MOST_LISTED)

    @model_validator(mode="before")
    @classmethod
    def _accept_aliases(cls, value: Any) -> Any:
        """Models leave parts out, write null for nothing and numbers for ids."""
        if not isinstance(value, Mapping):
            return value
        made = {str(key): part for key, part in value.items() if part is not None}
        made["args"] = made.get("args", made.pop("arguments", made.pop("input", {})))
        made["executor"] = made.get("executor", made.pop("agent", "action" if made.get("tool") else ""))
        before = made.get("depends_on", [])
        made["depends_on"] = [str(one) for one in before] if isinstance(before, list) else [str(before)]
        return made

    @field_validator("id", mode="before")
    @classmethod
    def _id_as_text(cls, value: Any) -> Any:
        return str(value) if isinstance(value, int) else value


class _Plan(BaseModel):
    steps: list[_Step] = Field(max_length=MOST_LISTED)


def wants_to_be_plan(text: str) -> bool:
    """True if a reply looks like a plan rather than an answer, well formed or not."""
    begins = text.lstrip()[:40].lower()
    return bool(_STEPS.search(text[:LONGEST_REPLY])) and (begins.startswith(("{", "[", "```")) or "{" in text)


def read_plan(text: str) -> Plan | UnreadableReply:
    """The first plan in a text; never raises, whatever the text is."""
    why = "it holds no JSON object with steps"
    for found in find_json_values(text, LONGEST_REPLY):
        inner = found.get("plan", found) if isinstance(found, dict) else found
        if isinstance(inner, list):
            inner = {"steps": inner}
        if not isinstance(inner, dict) or "steps" not in inner:
            continue
        try:
            return _build_plan(_Plan.model_validate(inner))
        except ValidationError as error:
            why = validation_problems(error)
    return UnreadableReply(why)


def read_as(shape: type[Shape], text: str) -> Shape | UnreadableReply:
    """The first JSON object in a text that has the shape."""
    why = "it holds no JSON object"
    for found in find_json_values(text, LONGEST_REPLY):
        if isinstance(found, dict):
            try:
                return shape.model_validate(found)
            except ValidationError as error:
                why = validation_problems(error)
    return UnreadableReply(why)


def validation_problems(error: ValidationError) -> str:
    """The first few, with their places."""
    told = [f"{'.'.join(map(str, one['loc'])) or 'it'}: {one['msg']}" for one in error.errors()[:3]]
    return "; ".join(told)[:500]


def _build_plan(read: _Plan) -> Plan:
    steps = []
    for number, one in enumerate(read.steps, 1):
        executor = one.executor.strip().lower().removesuffix("agent").removesuffix("_").strip()
        executor = _OTHER_NAMES.get(executor, executor)
        steps.append(
            PlanStep(
                id=one.id.strip() or f"s{number}",
                label=" ".join((one.label or one.description or executor).split())[:120],
                executor=executor,
                action=one.action.strip().lower(),
                tool=(one.tool or "").strip() or None,
                args=one.args,
                description=one.description.strip(),
                depends_on=tuple(dict.fromkeys(before.strip() for before in one.depends_on)),
            )
        )
    return Plan(tuple(steps))
