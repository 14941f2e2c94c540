"""The calls of a reply, carried out in order; what they give becomes observations, never instructions."""

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from cluster.models.messages import ModelMessage, ToolCall
from cluster.state.canonical_json import dump_canonical
from serve_apps.agents.approval import ApprovalPolicy
from serve_apps.agents.events import EventKind
from serve_apps.agents.inquiries.inquiry import NAME, NOBODY
from serve_apps.agents.intake.tool_offer import ToolOffer
from serve_apps.agents.intake.toolset import CALLS
from serve_apps.agents.turn import prompt
from serve_apps.agents.turn.knowledge import SourceList
from serve_apps.agents.turn.limits import TurnAllowance
from serve_apps.agents.turn.tool_call import OUTPUT, ToolRequest, ToolResult, as_text, cut_output, not_run, run_tool
from serve_apps.agents.turn_ports import Journal, Turn
from skills.framework.catalogue import ToolNotFound

_NO_NAME = re.compile(r"[^A-Za-z0-9_-]")
LEAST_PASSAGE = 200  # characters of a passage that a tool found
# Of a result that is passages and nothing else.
_OF_SEARCH = frozenset(("passages", "generation", "fallback", "classification"))


class ToolRunner:
    """Runs the tool calls of a turn: `ran` counts calls that were carried out, whatever came of them."""

    def __init__(
        self,
        turn: Turn,
        journal: Journal,
        policy: ApprovalPolicy,
        offered: ToolOffer,
        sources: SourceList,
        allowance: TurnAllowance,
    ) -> None:
        """`sources` takes in what search tools find, so that it can be quoted."""
        self._turn, self._journal, self._policy, self._offer = turn, journal, policy, offered
        self._sources, self._allowance = sources, allowance
        self._failed: dict[str, tuple[str, bool]] = {}
        self._made: dict[str, list[str]] = defaultdict(list)  # calls that were carried out, by tool
        self.ran = 0
        self.trace: list[dict[str, Any]] = []

    async def each(self, calls: Sequence[tuple[ToolRequest, str | None]]) -> list[tuple[ToolRequest, str]]:
        """Carry calls out, each with what is wrong with it beforehand or None; gives each with its observation.

        Raises ApprovalPending: a person has to decide; what came before is recorded.
        """
        self._journal.emit(EventKind.STATUS, state="executing")
        return [(wanted, self._observation_text(await self._run_call(wanted, problem))) for wanted, problem in calls]

    async def _run_call(self, wanted: ToolRequest, problem: str | None) -> ToolResult:
        key = f"{wanted.name} {dump_canonical(wanted.arguments)}"
        known, for_good = self._failed.get(key, ("", False))
        if problem is None and for_good:
            problem = f"this exact call failed already ({known[:300]}); change the arguments, or do without it."
        problem = problem or self._call_limit_reason(wanted.name, key)
        if problem is None:
            try:
                tool = self._offer.own.get(wanted.name)
            except ToolNotFound as error:
                problem = error.detail
        if problem is not None:
            if wanted.name == NAME and NAME not in self._offer.own and NAME not in self._offer.client_names:
                problem = NOBODY
            done = not_run(self._journal, wanted, problem)
        else:
            self.ran += 1
            self._made[wanted.name].append(key)
            left = self._allowance.seconds(self._journal)
            done = await run_tool(self._turn, self._journal, self._policy, tool, wanted, left)
            if done.error is not None:
                self._failed[key] = (done.error, done.final or key in self._failed)
        self._trace_call(done)
        return done

    def _call_limit_reason(self, name: str, key: str) -> str | None:
        """Reason why a delegated skill may not make this call any more; None for other turns."""
        most = self._turn.agent.config.get(CALLS)
        if most is None:
            return None
        if key in self._made[name]:
            return "this exact call was made already; its result stands above."
        if len(self._made[name]) >= most:
            return f"{name} was called {most} times already, and that is the most here; go on with what you have."
        return None

    def _trace_call(self, done: ToolResult) -> None:
        line: dict[str, Any] = {"step": "tool", "name": done.call.name, "tier": done.call.tier}
        self.trace.append({**line, "ok": True} if done.error is None else {**line, "error": done.error[:300]})

    def _observation_text(self, done: ToolResult) -> str:
        """Observation for the model; passages get numbers to be quoted by."""
        found = done.result.get("passages") if isinstance(done.result, dict) else None
        if done.error is not None or not isinstance(found, list):
            return prompt.neutral(done.observation)
        told = {name: value for name, value in done.result.items() if name not in _OF_SEARCH}
        figures = [prompt.neutral(cut_output(as_text(told)))] if told else []  # what was calculated from the passages
        if not found:
            return figures[0] if figures else "No passage was found."
        numbered = self._sources.add(found)
        framed = cut_output(prompt.frame_passages(numbered, max(LEAST_PASSAGE, OUTPUT // len(numbered) - 80)))
        return "\n\n".join((*figures, framed))


def native_reply(content: str, calls: Sequence[ToolRequest]) -> ModelMessage:
    """Assistant message with native calls; arguments and names as every provider takes them back."""
    names = (_NO_NAME.sub("_", call.name)[:64] or "unknown" for call in calls)
    made = (ToolCall(call.id, name, dump_canonical(call.arguments)) for call, name in zip(calls, names, strict=True))
    return ModelMessage("assistant", content, tuple(made))


def react_reply(thought: str, calls: Sequence[ToolRequest]) -> ModelMessage:
    """Assistant message with calls written as text, in the form that was asked for."""
    lines = [f"THOUGHT: {thought}"] if thought else []
    for call in calls:
        lines += [f"ACTION: {call.name}", f"ACTION_INPUT: {dump_canonical(call.arguments)}"]
    return ModelMessage("assistant", "\n".join(lines))


def as_messages(said: ModelMessage, observed: Sequence[tuple[ToolRequest, str]]) -> list[ModelMessage]:
    """A reply with its calls and what they gave, as the model is told: natively where it called natively."""
    if said.tool_calls:
        return [said, *(ModelMessage("tool", text, tool_call_id=wanted.id) for wanted, text in observed)]
    told = "\n\n".join(prompt.frame_observation(text) for _, text in observed)
    return [said, ModelMessage("user", told)]
