"""The action specialist: a planned tool call with the plan's arguments, through the one way that tools are run."""

import json
from typing import Any

from pydantic import RootModel

from cluster.models.routing.tasks import Task
from cluster.state.canonical_json import json_digest
from serve_apps.agents.inquiries.inquiry import NAME, NOBODY
from serve_apps.agents.planning import prompts
from serve_apps.agents.planning.shape import PlanStep
from serve_apps.agents.planning.work import PlannedTurn, StepResult
from serve_apps.agents.turn import prompt
from serve_apps.agents.turn.tool_call import ToolRequest, ToolResult, not_run, run_tool, schema_error
from skills.framework.contract import CallEffect, Tool
from skills.framework.skill_guard import is_search_tool

TIER = 2  # a plan is text that calls were read out of
SO_FAR = "arguments"  # how a model is told of those that do not fit


class ToolArguments(RootModel[dict[str, Any]]):
    """A JSON object."""


async def run_action(work: PlannedTurn, step: PlanStep) -> StepResult:
    """{tool_id, result, succeeded, error}. The plan supplies arguments; a model only where they do not fit.

    Raises ApprovalPending where a person has to decide first.
    """
    name = step.tool or ""
    work.calls += 1
    if name not in work.tools:
        wanted = ToolRequest(f"plan_{work.calls}_{name}", name, work.fill(step.args), TIER)
        known = ", ".join(one.spec.name for one in work.tools) or "none"
        why = NOBODY if name == NAME else f"tool_not_found: there is no {name!r}, only {known}"
        return _step_result(step, not_run(work.journal, wanted, why))
    tool = work.tools.get(name)
    wanted = ToolRequest(f"plan_{work.calls}_{name}", name, await _fill_arguments(work, step, tool), TIER)
    key = json_digest([name, dict(wanted.arguments)])
    if key in work.wrote:  # a new plan repeats what an old one did: it is done
        return _step_result(step, work.wrote[key], repeatable=False)
    seconds = work.allowance.seconds(work.journal)
    done = await run_tool(work.turn, work.journal, work.services.policy, tool, wanted, seconds)
    if done.error is None and tool.effect is not CallEffect.READ:
        work.wrote[key] = done
    result = _step_result(step, done, repeatable=tool.effect is CallEffect.READ)
    passages = done.result.get("passages") if isinstance(done.result, dict) else None
    if done.error is None and is_search_tool(tool) and isinstance(passages, list):
        found = work.sources.add(passages)  # what a search tool finds can be quoted
        result.text = prompt.frame_passages(found, prompts.LONGEST_PASSAGE) or "No passage was found."
    return result


async def _fill_arguments(work: PlannedTurn, step: PlanStep, tool: Tool) -> dict[str, Any]:
    """The plan's, with results in their places; filled in by a model if they do not fit the schema."""
    planned: dict[str, Any] = work.fill(step.args)
    wrong = schema_error(tool.spec, planned)
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
    messages = prompts.step_prompt(prompts.ARGUMENTS, work.turn, task=task, results=results)
    found, _ = await work.ask_for(ToolArguments, Task.TOOL_CALL, messages)
    return planned if found is None else found.root


def _step_result(step: PlanStep, done: ToolResult, *, repeatable: bool = True) -> StepResult:
    output = {"tool_id": done.call.name, "result": done.result, "succeeded": done.error is None, "error": done.error}
    return StepResult(step, output, done.observation, done.error, repeatable=repeatable, rejected=not done.approved)
