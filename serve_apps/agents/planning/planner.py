"""Makes plans: one model call, two chances to mend its JSON, a plan of its own where the model gives none."""

from dataclasses import dataclass
from typing import Literal

from cluster.basics.errors import AosError
from cluster.models.messages import ModelMessage
from cluster.models.routing.tasks import Task
from serve_apps.agents.events import EventKind
from serve_apps.agents.planning import prompts
from serve_apps.agents.planning.check import PlanCheck, PlanVerdict, check_plan
from serve_apps.agents.planning.shape import Plan, PlanStep, StepExecutor, UnreadableReply, read_plan
from serve_apps.agents.planning.work import REPAIRS, PlannedTurn
from serve_apps.agents.turn.limits import ENDINGS, OutOfTime
from serve_apps.agents.turn_errors import NoModel, OverBudget

# What no plan can do anything about.
HOPELESS = (*ENDINGS, OutOfTime, NoModel, OverBudget)


@dataclass(frozen=True, slots=True)
class CheckedPlan:
    """A plan that may be carried out. `by` is `model`, or `fallback` with `why`."""

    checked: PlanCheck
    by: Literal["model", "fallback"]
    why: str = ""


async def make_plan(work: PlannedTurn, more: str = "") -> CheckedPlan:
    """Ask for a plan; `more`: what was tried before. Raises OutOfTime, NoModel, OverBudget: nothing can be asked."""
    turn, limits = work.turn, work.limits
    messages = (
        ModelMessage("system", prompts.planner_rules(limits.style, limits.steps, work.tools, work.grounded)),
        ModelMessage("user", prompts.planner_request(turn, more)),
    )
    try:
        reply = await work.ask(Task.PLANNING, messages)
    except HOPELESS:
        raise
    except AosError as error:
        return fallback_plan(work, f"{error.code}: {error.detail}")
    return await settle_plan(work, messages, reply.content)


async def settle_plan(work: PlannedTurn, messages: tuple[ModelMessage, ...], said: str) -> CheckedPlan:
    """Read and check a reply; what cannot be used is sent back with the reason, twice at most.

    Raises OutOfTime, NoModel, OverBudget where nothing can be asked.
    """
    why = ""
    for attempt in range(REPAIRS + 1):
        found = read_plan(said)
        if isinstance(found, UnreadableReply):
            why = found.why
        else:
            checked = check_against_turn(work, found)
            if checked.verdict in (PlanVerdict.OK, PlanVerdict.ADJUST):
                return CheckedPlan(checked, "model")
            why = "; ".join(checked.notes)
            if checked.verdict is PlanVerdict.ABORT:
                break
        if attempt == REPAIRS:
            break
        before = ModelMessage("assistant", said[: prompts.LONGEST_PROMPT])
        try:
            again = (*messages, before, ModelMessage("user", prompts.retry_prompt(why)))
            said = (await work.ask(Task.PLANNING, again)).content
        except HOPELESS:
            raise
        except AosError as error:
            why = f"{error.code}: {error.detail}"
            break
    return fallback_plan(work, why)


def check_against_turn(work: PlannedTurn, plan: Plan) -> PlanCheck:
    """Check a plan against what this turn may use and has done."""
    return check_plan(
        plan,
        {one.spec.name: one.effect for one in work.tools},
        max_steps=work.limits.steps,
        grounded=work.grounded,
        done=work.results,
        attempt=f"r{work.replans}_" if work.replans else "",
    )


def fallback_plan(work: PlannedTurn, why: str) -> CheckedPlan:
    """One step that answers; with passages it is preceded by the search that `check` puts first."""
    plan = Plan((PlanStep("answer", "Answer", StepExecutor.REASONING, "answer"),))
    return CheckedPlan(check_against_turn(work, plan), "fallback", why)


def emit_plan(work: PlannedTurn, planned: CheckedPlan) -> None:
    """The PLAN event: numbered steps with what they depend on, notes and risks, before anything runs."""
    steps = [{"number": number, **one.data} for number, one in enumerate(planned.checked.plan.steps, 1)]
    work.journal.emit(
        EventKind.PLAN,
        steps=steps,
        verdict=str(planned.checked.verdict),
        by=planned.by,
        why=planned.why,
        notes=list(planned.checked.notes),
        risks=[{"id": name, "risk": risk} for name, risk in planned.checked.risks],
    )
