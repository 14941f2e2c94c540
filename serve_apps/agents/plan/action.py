"""The action specialist: a planned tool call with the plan's arguments, through the one way that tools are run."""

import json
from typing import Any

from pydantic import RootModel

from cluster.models.routing.tasks import Task
from cluster.state.canonical_json import digest
from serve_apps.agents.inquiries.inquiry import NAME, NOBODY
from serve_apps.agents.plan import prompts
from serve_apps.agents.plan.shape import Step
from serve_apps.agents.plan.work import Result, Work
from serve_apps.agents.turn import prompt
from serve_apps.agents.turn.tool_call import Done, Wanted, flaw, not_run, run_tool
from skills.framework.contract import Effect, Tool
from skills.framework.skill_guard import searches

TIER = 2  # a plan is text that calls were read out of
SO_FAR = "arguments"  # how a model is told of those that do not fit


class Arguments(RootModel[dict[str, Any]]):
    """A JSON object."""


async def call(work: Work, step: Step) -> Result:
    """{tool_id, result, succeeded, error}. The plan supplies arguments; a model only where they do not fit (X-19).

    Raises:
        Waiting: a person has to decide first.
    """
    name = step.tool or ""
    work.calls += 1
    if name not in work.tools:
        wanted = Wanted(f"plan_{work.calls}_{name}", name, work.fill(step.args), TIER)
        known = ", ".join(one.spec.name for one in work.tools) or "none"
        why = NOBODY if name == NAME else f"tool_not_found: there is no {name!r}, only {known}"
        return _result(step, not_run(work.journal, wanted, why))
    tool = work.tools.get(name)
    wanted = Wanted(f"plan_{work.calls}_{name}", name, await _arguments(work, step, tool), TIER)
    key = digest([name, dict(wanted.arguments)])
    if key in work.wrote:  # a new plan repeats what an old one did: it is done
        return _result(step, work.wrote[key], repeatable=False)
    seconds = work.allowance.seconds(work.journal)
    done = await run_tool(work.turn, work.journal, work.crew.policy, tool, wanted, seconds)
    if done.error is None and tool.effect is not Effect.READ:
        work.wrote[key] = done
    result = _result(step, done, repeatable=tool.effect is Effect.READ)
    passages = done.result.get("passages") if isinstance(done.result, dict) else None
    if done.error is None and searches(tool) and isinstance(passages, list):
        found = work.sources.add(passages)  # what a search tool finds can be quoted
        result.text = prompt.passages(found, prompts.LONGEST_PASSAGE) or "No passage was found."
    return result


async def _arguments(work: Work, step: Step, tool: Tool) -> dict[str, Any]:
    """The plan's, with results in their places; filled in by a model if they do not fit the schema."""
    planned: dict[str, Any] = work.fill(step.args)
    wrong = flaw(tool.spec, planned)
    if wrong is None:
        return planned
    task = (
        f"{step.label}. {step.description}\nTool {tool.spec.name}: {tool.spec.description}\n"
        f"Schema: {json.dumps(tool.spec.parameters, ensure_ascii=False)[:2_000]}\n"
        f'What the arguments are so far, and what is wrong with them, stands in the result "{SO_FAR}".'
    )
    # They may hold what documents and tools said: data, like the results they were filled from.
    so_far = f"{json.dumps(planned, ensure_ascii=False)[:1_500]}\nwrong: {wrong}"
    results = [*work.earlier(step), (SO_FAR, so_far)]
    messages = prompts.step(prompts.ARGUMENTS, work.turn, task=task, results=results)
    found, _ = await work.ask_for(Arguments, Task.TOOL_CALL, messages)
    return planned if found is None else found.root


def _result(step: Step, done: Done, *, repeatable: bool = True) -> Result:
    output = {"tool_id": done.call.name, "result": done.result, "succeeded": done.error is None, "error": done.error}
    return Result(step, output, done.observation, done.error, repeatable=repeatable, rejected=not done.approved)
