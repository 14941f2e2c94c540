"""The calls of a reply, carried out in order; what they give becomes observations, never instructions."""

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from cluster.models.messages import Message, ToolCall
from cluster.state.canonical_json import canonical
from serve_apps.agents.approval import Policy
from serve_apps.agents.events import EventKind
from serve_apps.agents.inquiries.inquiry import NAME, NOBODY
from serve_apps.agents.intake.tool_offer import Offer
from serve_apps.agents.intake.toolset import CALLS
from serve_apps.agents.turn import prompt
from serve_apps.agents.turn.knowledge import Sources
from serve_apps.agents.turn.limits import Allowance
from serve_apps.agents.turn.tool_call import OUTPUT, Done, Wanted, cut, not_run, run_tool
from serve_apps.agents.turn_ports import Journal, Turn
from skills.framework.catalogue import ToolNotFound

_NO_NAME = re.compile(r"[^A-Za-z0-9_-]")
LEAST_PASSAGE = 200  # characters of a passage that a tool found


class Doing:
    """Runs the tool calls of a turn: `ran` counts calls that were carried out, whatever came of them."""

    def __init__(
        self, turn: Turn, journal: Journal, policy: Policy, offered: Offer, sources: Sources, allowance: Allowance
    ) -> None:
        """`sources` takes in what search tools find, so that it can be quoted."""
        self._turn, self._journal, self._policy, self._offer = turn, journal, policy, offered
        self._sources, self._allowance = sources, allowance
        self._failed: dict[str, tuple[str, bool]] = {}
        self._made: dict[str, list[str]] = defaultdict(list)  # calls that were carried out, by tool
        self.ran = 0
        self.trace: list[dict[str, Any]] = []

    async def each(self, calls: Sequence[tuple[Wanted, str | None]]) -> list[tuple[Wanted, str]]:
        """Carry calls out, each with what is wrong with it beforehand or None; gives each with its observation.

        Raises:
            Waiting: a person has to decide; what came before is recorded.
        """
        self._journal.emit(EventKind.STATUS, state="executing")
        return [(wanted, self._observed(await self._one(wanted, problem))) for wanted, problem in calls]

    async def _one(self, wanted: Wanted, problem: str | None) -> Done:
        key = f"{wanted.name} {canonical(wanted.arguments)}"
        known, for_good = self._failed.get(key, ("", False))
        if problem is None and for_good:
            problem = f"this exact call failed already ({known[:300]}); change the arguments, or do without it."
        problem = problem or self._beyond(wanted.name, key)
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
            done = await run_tool(
                self._turn, self._journal, self._policy, tool, wanted, self._allowance.seconds(self._journal)
            )
            if done.error is not None:
                self._failed[key] = (done.error, done.final or key in self._failed)
        self._note(done)
        return done

    def _beyond(self, name: str, key: str) -> str | None:
        """Reason why a delegated skill may not make this call any more; None for other turns."""
        most = self._turn.agent.config.get(CALLS)
        if most is None:
            return None
        if key in self._made[name]:
            return "this exact call was made already; its result stands above."
        if len(self._made[name]) >= most:
            return f"{name} was called {most} times already, and that is the most here; go on with what you have."
        return None

    def _note(self, done: Done) -> None:
        line: dict[str, Any] = {"step": "tool", "name": done.call.name, "tier": done.call.tier}
        self.trace.append({**line, "ok": True} if done.error is None else {**line, "error": done.error[:300]})

    def _observed(self, done: Done) -> str:
        """Observation for the model; passages get numbers to be quoted by."""
        found = done.result.get("passages") if isinstance(done.result, dict) else None
        if done.error is not None or not isinstance(found, list):
            return prompt.neutral(done.observation)
        if not found:
            return "No passage was found."
        numbered = self._sources.add(found)
        return cut(prompt.passages(numbered, max(LEAST_PASSAGE, OUTPUT // len(numbered) - 80)))


def native(content: str, calls: Sequence[Wanted]) -> Message:
    """Assistant message with native calls; arguments and names as every provider takes them back."""
    made = (
        ToolCall(call.id, _NO_NAME.sub("_", call.name)[:64] or "unknown", canonical(call.arguments)) for call in calls
    )
    return Message("assistant", content, tuple(made))


def written(thought: str, calls: Sequence[Wanted]) -> Message:
    """Assistant message with calls written as text, in the form that was asked for."""
    lines = [f"THOUGHT: {thought}"] if thought else []
    for call in calls:
        lines += [f"ACTION: {call.name}", f"ACTION_INPUT: {canonical(call.arguments)}"]
    return Message("assistant", "\n".join(lines))


def as_messages(said: Message, observed: Sequence[tuple[Wanted, str]]) -> list[Message]:
    """A reply with its calls and what they gave, as the model is told: natively where it called natively."""
    if said.tool_calls:
        return [said, *(Message("tool", text, tool_call_id=wanted.id) for wanted, text in observed)]
    told = "\n\n".join(prompt.observation(text) for _, text in observed)
    return [said, Message("user", told)]
