"""Carries a plan out: steps in order, each looked at by its supervisor, a new plan where one does not get further."""

from cluster.basics.errors import AosError
from cluster.models.routing.tasks import Task
from serve_apps.agents.events import EventKind
from serve_apps.agents.planning import planner, prompts, supervise
from serve_apps.agents.planning.check import in_order
from serve_apps.agents.planning.planner import HOPELESS, CheckedPlan
from serve_apps.agents.planning.shape import PlanStep, StepExecutor
from serve_apps.agents.planning.specialists import carry_out
from serve_apps.agents.planning.supervise import REPLAN_WAITS, StepOutcome, StepRuling, SupervisorReply
from serve_apps.agents.planning.work import PlannedTurn, StepResult
from serve_apps.agents.turn_ports import Json

# Whose results a model looks at. The others check themselves: a search by what it found, a formula by algebra, a
# critique by being one.
_REVIEWED = frozenset({StepExecutor.ACTION})


async def execute_plan(work: PlannedTurn, planned: CheckedPlan) -> bool:
    """Carry out a plan and those that replace it; whether it was not aborted. Raises ApprovalPending where a person has
    to decide first, OutOfTime, NoModel, OverBudget where there is nothing more to ask.
    """
    planner.emit_plan(work, planned)
    todo = list(planned.checked.plan.steps)
    while todo:
        work.in_time()
        step = todo.pop(0)
        missing = _missing_results(work, step)
        if missing:
            work.results[step.id] = StepResult(step, error=f"skipped: {missing}", outcome=StepOutcome.SKIPPED)
            work.journal.emit(EventKind.STEP_END, id=step.id, outcome=str(StepOutcome.SKIPPED), note=missing)
            continue
        work.last = not todo
        ruling = await _execute_step(work, step)
        if ruling.outcome is StepOutcome.ABORT:
            work.notice(f"The plan was ended at “{step.label}”: {ruling.why}.")
            return False
        if ruling.outcome is StepOutcome.REPLAN:
            another = await _replan_rest(work, step, ruling)
            if another is not None:
                todo = list(in_order(another.checked.plan.steps, work.results) or ())
    return True


async def _execute_step(work: PlannedTurn, step: PlanStep) -> StepRuling:
    """Carry a step out, once more if that may help, and say what comes next."""
    attempt = 0
    while True:
        attempt += 1
        work.journal.emit(EventKind.STEP_START, id=step.id, label=step.label, attempt=attempt)
        result = await _attempt_step(work, step)
        ruling = await _judge_step(work, result, attempt)
        result.outcome = ruling.outcome
        work.results[step.id] = result
        outcome, note = str(ruling.outcome), ruling.why[:500]
        work.journal.emit(EventKind.STEP_END, id=step.id, outcome=outcome, note=note, by=ruling.by)
        if ruling.outcome is not StepOutcome.RETRY:
            return ruling


async def _attempt_step(work: PlannedTurn, step: PlanStep) -> StepResult:
    try:
        return await carry_out(work, step)
    except HOPELESS:
        raise
    except AosError as error:
        return StepResult(step, error=f"{error.code}: {error.detail or error.title}")


async def _judge_step(work: PlannedTurn, result: StepResult, attempt: int) -> StepRuling:
    """By rule; else by a model for what tools gave and for failures that no rule knows."""
    chunks = result.output["chunks"] if result.step.executor == StepExecutor.RETRIEVAL and result.output else None
    known = supervise.rule_step(
        result.error,
        rejected=result.rejected,
        repeatable=result.repeatable,
        attempt=attempt,
        passages=None if chunks is None else len(chunks),
    )
    if known is not None:
        return known
    if result.error is None and StepExecutor(result.step.executor) not in _REVIEWED:
        output = result.output if isinstance(result.output, dict) else {}
        unread = output.get("unread") or output.get("verdict") == "not_verified"
        return StepRuling(StepOutcome.NOT_VERIFIED if unread else StepOutcome.SUCCESS, "")
    return await _review_step(work, result, attempt)


async def _review_step(work: PlannedTurn, result: StepResult, attempt: int) -> StepRuling:
    failed, repeatable, step = result.error is not None, result.repeatable, result.step
    told = f"ERROR: {result.error}" if failed else result.text
    task = f"Review the step {step.id}: {step.label}. {step.description}"
    messages = prompts.step_prompt(prompts.SUPERVISOR, work.turn, task=task, results=[(step.id, told)], history=0)
    try:
        read, _ = await work.ask_for(SupervisorReply, Task.CLASSIFY, messages, repairs=0)
    except HOPELESS:
        raise
    except AosError:  # nobody looked: that is no success either, and the outcome says so
        read = None
    return supervise.from_model(read, failed=failed, repeatable=repeatable, attempt=attempt)


async def _replan_rest(work: PlannedTurn, step: PlanStep, ruling: StepRuling) -> CheckedPlan | None:
    """A plan for the rest, after a wait; None when there have been enough, or none is better than the old one."""
    if work.replans >= work.limits.replans:
        work.notice(f"“{step.label}” did not succeed ({ruling.why[:200]}); the rest was done without it.")
        return None
    seconds = REPLAN_WAITS[min(work.replans, len(REPLAN_WAITS) - 1)]
    work.replans += 1

    async def wait(_: str) -> Json:
        await work.sleep(seconds)
        return seconds

    await work.journal.step("clock", "wait", {"seconds": seconds, "replan": work.replans}, wait)
    planned = await planner.make_plan(work, _so_far(work, step, ruling))
    planner.emit_plan(work, planned)
    return planned


def _so_far(work: PlannedTurn, step: PlanStep, ruling: StepRuling) -> str:
    done = [f"{one.step.id} ({one.step.label}): done" for one in work.results.values() if one.usable]
    return "\n".join(
        [
            "Plan only what is left. Steps so far, whose results may be used by their ids:",
            *done,
            f"{step.id} ({step.label}): failed, {ruling.why[:400]}. Do not plan it again in the same way.",
        ]
    )


def _missing_results(work: PlannedTurn, step: PlanStep) -> str:
    """An action does not run on results that are not there; whoever reasons says what is missing."""
    if step.executor != StepExecutor.ACTION:
        return ""
    lost = [one for one in step.depends_on if one in work.results and not work.results[one].usable]
    return f"it needs {', '.join(lost)}" if lost else ""
