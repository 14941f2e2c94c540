"""The check of a plan before anything of it runs: ok, adjusted, to be made again, or abandoned."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from serve_apps.agents.plan.shape import ACTIONS, Executor, Plan, Step
from skills.framework.contract import Effect

_RISKS: Mapping[Effect, str] = {
    Effect.WRITE: "changes something outside each time it is called; the approval list decides",
    Effect.KEYED: "changes something outside, once for each key; the approval list decides",
}


class Verdict(StrEnum):
    """Verdict of the check of a plan."""

    OK = "ok"
    ADJUST = "adjust"
    REDO = "redo"
    ABORT = "abort"


@dataclass(frozen=True, slots=True)
class Checked:
    """A plan that was looked at.

    Attributes:
        plan: as it is to be carried out, its steps in an order in which each follows what it depends on.
        notes: what was changed or is odd, in words for people and for the model.
        risks: step id and what its tool may change.
    """

    verdict: Verdict
    plan: Plan
    notes: tuple[str, ...] = ()
    risks: tuple[tuple[str, str], ...] = ()


def check(
    plan: Plan,
    effects: Mapping[str, Effect],
    *,
    max_steps: int,
    grounded: bool,
    done: Collection[str] = (),
    attempt: str = "",
) -> Checked:
    """Judge a plan.

    Args:
        plan: as it was read.
        effects: what each tool that there is may change.
        max_steps: most steps; those beyond fall out.
        grounded: passages are there, so the plan retrieves and reasons (S2).
        done: ids of steps of earlier plans that new ones may depend on.
        attempt: put before new ids that are already `done`.
    """
    if not plan.steps:
        return Checked(Verdict.ABORT, plan, ("the plan has no steps",))
    faults = _faults(plan)
    if faults:
        return Checked(Verdict.REDO, plan, faults)
    notes: list[str] = []
    steps = _renamed(plan.steps, done, attempt)
    steps = _known(_paired(steps, notes), done, notes)
    ordered = in_order(steps, done)
    if ordered is None:
        return Checked(Verdict.REDO, plan, ("steps depend on each other in a circle",))
    kept = _fitted(ordered, max_steps, grounded, notes)
    changed = bool(notes)
    notes += [f"{one.id}: there is no tool {one.tool!r}" for one in kept if one.tool and one.tool not in effects]
    risks = tuple((one.id, f"{one.tool} {_RISKS[effects[one.tool or '']]}") for one in kept if _is_risky(one, effects))
    return Checked(Verdict.ADJUST if changed else Verdict.OK, Plan(kept), tuple(notes), risks)


def in_order(steps: tuple[Step, ...], done: Collection[str] = ()) -> tuple[Step, ...] | None:
    """Steps so that each follows what it depends on, otherwise as they were written; None where there is a circle."""
    left, placed, ordered = list(steps), set(done), list[Step]()
    while left:
        following = next((one for one in left if placed.issuperset(one.depends_on)), None)
        if following is None:
            return None
        left.remove(following)
        placed.add(following.id)
        ordered.append(following)
    return tuple(ordered)


def _faults(plan: Plan) -> tuple[str, ...]:
    ids = [one.id for one in plan.steps]
    faults = [f"two steps have the id {one!r}" for one in dict.fromkeys(ids) if ids.count(one) > 1]
    faults += [
        f"{one.id}: there is no executor {one.executor!r}; there are {', '.join(Executor)}"
        for one in plan.steps
        if one.executor not in set(Executor)
    ]
    faults += [
        f"{one.id}: an action needs a tool" for one in plan.steps if one.executor == Executor.ACTION and not one.tool
    ]
    return tuple(faults[:5])


def _renamed(steps: tuple[Step, ...], done: Collection[str], attempt: str) -> tuple[Step, ...]:
    """A later plan's steps do not take the names of results that are there."""
    names = {one.id: f"{attempt}{one.id}" if one.id in done else one.id for one in steps}
    return tuple(
        replace(one, id=names[one.id], depends_on=tuple(names.get(before, before) for before in one.depends_on))
        for one in steps
    )


def _paired(steps: tuple[Step, ...], notes: list[str]) -> tuple[Step, ...]:
    paired = []
    for one in steps:
        allowed = ACTIONS[Executor(one.executor)]
        if one.action not in allowed:
            if one.action:
                notes.append(f"{one.id}: {one.executor} cannot {one.action}, it does {allowed[0]}")
            one = replace(one, action=allowed[0])
        paired.append(one)
    return tuple(paired)


def _known(steps: tuple[Step, ...], done: Collection[str], notes: list[str]) -> tuple[Step, ...]:
    ids = {one.id for one in steps}.union(done)
    made = []
    for one in steps:
        wrong = [before for before in one.depends_on if before not in ids]
        if wrong:
            notes.append(f"{one.id}: it cannot depend on {', '.join(wrong)}")
            one = replace(one, depends_on=tuple(before for before in one.depends_on if before in ids))
        made.append(one)
    return tuple(made)


def _fitted(steps: tuple[Step, ...], most: int, grounded: bool, notes: list[str]) -> tuple[Step, ...]:
    """Rounded off and within the limit: a long plan loses its end, never its answer."""
    for room in (0, 1, 2):
        told: list[str] = []
        made = _rounded_off(_cut(steps, max(0, most - room), told), grounded, told)
        if len(made) <= most:
            break
    notes += told
    return made


def _cut(steps: tuple[Step, ...], most: int, notes: list[str]) -> tuple[Step, ...]:
    """The first steps; in this order none of them depends on one that fell out."""
    if len(steps) <= most:
        return steps
    notes.append(f"only the first {most} of {len(steps)} steps are carried out")
    return steps[:most]


def _rounded_off(steps: tuple[Step, ...], grounded: bool, notes: list[str]) -> tuple[Step, ...]:
    """With passages a plan retrieves and reasons; without, results of tools are still put into words."""
    kinds = [one.executor for one in steps]
    if grounded and Executor.RETRIEVAL not in kinds:
        first = Step(_free("retrieve", steps), "Search the documents", Executor.RETRIEVAL, "search")
        steps = (first, *steps)
        notes.append("a search of the documents was put first")
    last_work = max(
        (at for at, one in enumerate(steps) if one.executor in (Executor.ACTION, Executor.RETRIEVAL)), default=-1
    )
    worded = any(one.executor == Executor.REASONING for one in steps[last_work + 1 :])
    if not worded:
        before = tuple(one.id for one in steps)
        steps += (Step(_free("answer", steps), "Answer", Executor.REASONING, "answer", depends_on=before),)
        notes.append("an answer was put last")
    return steps


def _free(name: str, steps: tuple[Step, ...]) -> str:
    taken = {one.id for one in steps}
    while name in taken:
        name = f"{name}_"
    return name


def _is_risky(step: Step, effects: Mapping[str, Effect]) -> bool:
    return step.tool is not None and effects.get(step.tool, Effect.READ) is not Effect.READ
