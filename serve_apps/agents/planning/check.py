"""The check of a plan before anything of it runs: ok, adjusted, to be made again, or abandoned."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from serve_apps.agents.planning.shape import ACTIONS, Plan, PlanStep, StepExecutor
from skills.framework.contract import CallEffect

_RISKS: Mapping[CallEffect, str] = {
    CallEffect.WRITE: "changes something outside each time it is called; the approval list decides",
    CallEffect.KEYED: "changes something outside, once for each key; the approval list decides",
}


class PlanVerdict(StrEnum):
    """Verdict of the check of a plan."""

    OK = "ok"
    ADJUST = "adjust"
    REDO = "redo"
    ABORT = "abort"


@dataclass(frozen=True, slots=True)
class PlanCheck:
    """A plan that was looked at."""

    verdict: PlanVerdict
    plan: Plan  # as it is to be carried out, its steps in an order in which each follows what it depends on
    notes: tuple[str, ...] = ()  # what was changed or is odd, in words for people and for the model
    risks: tuple[tuple[str, str], ...] = ()  # step id and what its tool may change


def check_plan(
    plan: Plan,
    effects: Mapping[str, CallEffect],
    *,
    max_steps: int,
    grounded: bool,
    done: Collection[str] = (),
    attempt: str = "",
) -> PlanCheck:
    """Judge a plan by what each tool may change.

    `max_steps`: those beyond fall out. `grounded`: passages are there, so the plan retrieves and reasons (S2). `done`:
    ids of steps of earlier plans that new ones may depend on; `attempt` is put before new ids that are among them.
    """
    if not plan.steps:
        return PlanCheck(PlanVerdict.ABORT, plan, ("the plan has no steps",))
    faults = _find_faults(plan)
    if faults:
        return PlanCheck(PlanVerdict.REDO, plan, faults)
    notes: list[str] = []
    steps = _rename_steps(plan.steps, done, attempt)
    steps = _prune_dependencies(_pair_actions(steps, notes), done, notes)
    ordered = in_order(steps, done)
    if ordered is None:
        return PlanCheck(PlanVerdict.REDO, plan, ("steps depend on each other in a circle",))
    kept = _fit_steps(ordered, max_steps, grounded, notes)
    changed = bool(notes)
    notes += [f"{one.id}: there is no tool {one.tool!r}" for one in kept if one.tool and one.tool not in effects]
    risks = tuple((one.id, f"{one.tool} {_RISKS[effects[one.tool or '']]}") for one in kept if _is_risky(one, effects))
    return PlanCheck(PlanVerdict.ADJUST if changed else PlanVerdict.OK, Plan(kept), tuple(notes), risks)


def in_order(steps: tuple[PlanStep, ...], done: Collection[str] = ()) -> tuple[PlanStep, ...] | None:
    """Steps so that each follows what it depends on, otherwise as they were written; None where there is a circle."""
    left, placed, ordered = list(steps), set(done), list[PlanStep]()
    while left:
        following = next((one for one in left if placed.issuperset(one.depends_on)), None)
        if following is None:
            return None
        left.remove(following)
        placed.add(following.id)
        ordered.append(following)
    return tuple(ordered)


def _find_faults(plan: Plan) -> tuple[str, ...]:
    ids = [one.id for one in plan.steps]
    faults = [f"two steps have the id {one!r}" for one in dict.fromkeys(ids) if ids.count(one) > 1]
    faults += [
        f"{one.id}: there is no executor {one.executor!r}; there are {', '.join(StepExecutor)}"
        for one in plan.steps
        if one.executor not in set(StepExecutor)
    ]
    acting = [one for one in plan.steps if one.executor == StepExecutor.ACTION]
    faults += [f"{one.id}: an action needs a tool" for one in acting if not one.tool]
    return tuple(faults[:5])


def _rename_steps(steps: tuple[PlanStep, ...], done: Collection[str], attempt: str) -> tuple[PlanStep, ...]:
    """A later plan's steps do not take the names of results that are there."""
    names = {one.id: f"{attempt}{one.id}" if one.id in done else one.id for one in steps}
    return tuple(
        replace(one, id=names[one.id], depends_on=tuple(names.get(before, before) for before in one.depends_on))
        for one in steps
    )


def _pair_actions(steps: tuple[PlanStep, ...], notes: list[str]) -> tuple[PlanStep, ...]:
    paired = []
    for one in steps:
        allowed = ACTIONS[StepExecutor(one.executor)]
        if one.action not in allowed:
            if one.action:
                notes.append(f"{one.id}: {one.executor} cannot {one.action}, it does {allowed[0]}")
            one = replace(one, action=allowed[0])
        paired.append(one)
    return tuple(paired)


def _prune_dependencies(steps: tuple[PlanStep, ...], done: Collection[str], notes: list[str]) -> tuple[PlanStep, ...]:
    ids = {one.id for one in steps}.union(done)
    made = []
    for one in steps:
        wrong = [before for before in one.depends_on if before not in ids]
        if wrong:
            notes.append(f"{one.id}: it cannot depend on {', '.join(wrong)}")
            one = replace(one, depends_on=tuple(before for before in one.depends_on if before in ids))
        made.append(one)
    return tuple(made)


def _fit_steps(steps: tuple[PlanStep, ...], most: int, grounded: bool, notes: list[str]) -> tuple[PlanStep, ...]:
    """Rounded off and within the limit: a long plan loses its end, never its answer."""
    for room in (0, 1, 2):
        told: list[str] = []
        made = _rounded_off(_cut_steps(steps, max(0, most - room), told), grounded, told)
        if len(made) <= most:
            break
    notes += told
    return made


def _cut_steps(steps: tuple[PlanStep, ...], most: int, notes: list[str]) -> tuple[PlanStep, ...]:
    """The first steps; in this order none of them depends on one that fell out."""
    if len(steps) <= most:
        return steps
    notes.append(f"only the first {most} of {len(steps)} steps are carried out")
    return steps[:most]


def _rounded_off(steps: tuple[PlanStep, ...], grounded: bool, notes: list[str]) -> tuple[PlanStep, ...]:
    """With passages a plan retrieves and reasons; without, results of tools are still put into words."""
    kinds = [one.executor for one in steps]
    if grounded and StepExecutor.RETRIEVAL not in kinds:
        first = PlanStep(_free_id("retrieve", steps), "Search the documents", StepExecutor.RETRIEVAL, "search")
        steps = (first, *steps)
        notes.append("a search of the documents was put first")
    working = (StepExecutor.ACTION, StepExecutor.RETRIEVAL)
    last_work = max((at for at, one in enumerate(steps) if one.executor in working), default=-1)
    worded = any(one.executor == StepExecutor.REASONING for one in steps[last_work + 1 :])
    if not worded:
        before = tuple(one.id for one in steps)
        steps += (PlanStep(_free_id("answer", steps), "Answer", StepExecutor.REASONING, "answer", depends_on=before),)
        notes.append("an answer was put last")
    return steps


def _free_id(name: str, steps: tuple[PlanStep, ...]) -> str:
    taken = {one.id for one in steps}
    while name in taken:
        name = f"{name}_"
    return name


def _is_risky(step: PlanStep, effects: Mapping[str, CallEffect]) -> bool:
    return step.tool is not None and effects.get(step.tool, CallEffect.READ) is not CallEffect.READ
