"""Makes plans: one model call, two chances to mend its JSON, a plan of its own where the model gives none."""

from dataclasses import dataclass
from typing import Literal

from cluster.basics.errors import AosError
from cluster.models.messages import Message
from cluster.models.routing.tasks import Task
from serve_apps.agents.events import EventKind
from serve_apps.agents.plan import prompts
from serve_apps.agents.plan.check import Checked, Verdict, check
from serve_apps.agents.plan.shape import Executor, Plan, Step, Unread, read_plan
from serve_apps.agents.plan.work import REPAIRS, Work
from serve_apps.agents.turn.limits import ENDINGS, OutOfTime
from serve_apps.agents.turn_errors import NoModel, OverBudget

# What no plan can do anything about.
HOPELESS = (*ENDINGS, OutOfTime, NoModel, OverBudget)


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan that may be carried out. `by` is `model`, or `fallback` with `why`."""

    checked: Checked
    by: Literal["model", "fallback"]
    why: str = ""


async def make(work: Work, more: str = "") -> Planned:
    """Ask for a plan; `more` tells what was tried before.

    Raises:
        OutOfTime, NoModel, OverBudget: nothing can be asked.
    """
    turn, limits = work.turn, work.limits
    messages = (
        Message("system", prompts.planner(limits.style, limits.steps, work.tools, work.grounded)),
        Message("user", prompts.request(turn, more)),
    )
    try:
        reply = await work.ask(Task.PLANNING, messages)
    except HOPELESS:
        raise
    except AosError as error:
        return fallback(work, f"{error.code}: {error.detail}")
    return await settle(work, messages, reply.content)


async def settle(work: Work, messages: tuple[Message, ...], said: str) -> Planned:
    """Read and check a reply; what cannot be used is sent back with the reason, twice at most.

    Raises:
        OutOfTime, NoModel, OverBudget: nothing can be asked.
    """
    why = ""
    for attempt in range(REPAIRS + 1):
        found = read_plan(said)
        if isinstance(found, Unread):
            why = found.why
        else:
            checked = look(work, found)
            if checked.verdict in (Verdict.OK, Verdict.ADJUST):
                return Planned(checked, "model")
            why = "; ".join(checked.notes)
            if checked.verdict is Verdict.ABORT:
                break
        if attempt == REPAIRS:
            break
        again = (Message("assistant", said[: prompts.LONGEST_PROMPT]), Message("user", prompts.again(why)))
        try:
            said = (await work.ask(Task.PLANNING, (*messages, *again))).content
        except HOPELESS:
            raise
        except AosError as error:
            why = f"{error.code}: {error.detail}"
            break
    return fallback(work, why)


def look(work: Work, plan: Plan) -> Checked:
    """Check a plan against what this turn may use and has done."""
    return check(
        plan,
        {one.spec.name: one.effect for one in work.tools},
        max_steps=work.limits.steps,
        grounded=work.grounded,
        done=work.results,
        attempt=f"r{work.replans}_" if work.replans else "",
    )


def fallback(work: Work, why: str) -> Planned:
    """One step that answers; with passages it is preceded by the search that `check` puts first."""
    plan = Plan((Step("answer", "Answer", Executor.REASONING, "answer"),))
    return Planned(look(work, plan), "fallback", why)


def tell(work: Work, planned: Planned) -> None:
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
