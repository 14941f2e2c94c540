"""A turn as a conversation with a model: ask, read the reply, act, observe, until there is an answer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

from cluster.basics.errors import AosError
from cluster.models.messages import ModelMessage, ModelReply
from cluster.models.routing.tasks import classify_task
from configs.sections import AgentSettings
from serve_apps.agents.approval import ApprovalPolicy
from serve_apps.agents.events import EventKind
from serve_apps.agents.inquiries.inquiry import inquiring
from serve_apps.agents.intake.tool_offer import offer_tools
from serve_apps.agents.intake.toolset import DELEGATE, add_delegation, add_skills
from serve_apps.agents.parsing.parse_reply import parse_reply
from serve_apps.agents.parsing.parsed_reply import ParsedReply
from serve_apps.agents.parsing.prompt import react_instructions, stop_sequences
from serve_apps.agents.turn import prompt
from serve_apps.agents.turn.delegation import AgentFinder, CarryOut, TurnDelegations
from serve_apps.agents.turn.dispatch import dispatch_tool
from serve_apps.agents.turn.knowledge import AgentKnowledge, SourceList
from serve_apps.agents.turn.limits import ENDINGS, TurnAllowance
from serve_apps.agents.turn.model_call import SamplingOptions, choose_connection, stream_reply, told_usage, turn_option
from serve_apps.agents.turn.quotes import QuoteChecker, QuotePlaces, emit_citations
from serve_apps.agents.turn.recovery import REPROMPT, needs_reprompt
from serve_apps.agents.turn.stream_filter import StreamFilter, StreamGuard
from serve_apps.agents.turn.tool_call import ToolRequest
from serve_apps.agents.turn.tool_runner import ToolRunner, as_messages, native_reply, react_reply
from serve_apps.agents.turn_errors import NoReply
from serve_apps.agents.turn_ports import ChatModels, Journal, Turn, TurnOutcome
from skills.framework.catalogue import ToolCatalog
from skills.framework.skill_guard import SkillGuard, is_search_tool

LAST = "This is the last round of this turn: answer now with what you have, and call no tools."
UNDONE = "(No tool ran in this turn: nothing of this was carried out.)"
PARTED = "\n\n"  # texts of one answer
MOST_STEPS = 50  # of a plan
REFUTED = 0.6  # confidence in an answer of which a quote was removed, as in one that a critique objects to (EX-14)
LONGEST_NAME = 100  # of a tool, as a model may write it
REPROMPTED, DISPATCHED = 3, 4  # the tiers of recovery
_SPENT = {
    "rounds": "I stopped here: the rounds of this turn are used up.",
    "out_of_time": "I stopped here: the time of this turn is used up.",
    "over_budget": "I stopped here: the budget for this month is spent.",
}


@dataclass(frozen=True, slots=True)
class TurnServices:
    """Services that a turn runs with.

    Attributes:
        agents: for delegation; None where there is none.
        clock: seconds; decides only how text is cut into pieces.
        skills: makes tools of those that an agent was given.
    """

    models: ChatModels
    tools: ToolCatalog
    knowledge: AgentKnowledge
    places: QuotePlaces
    policy: ApprovalPolicy
    settings: AgentSettings
    agents: AgentFinder | None = None
    clock: Callable[[], float] = monotonic
    skills: SkillGuard | None = None


class Conversation:
    """State of one turn: its messages, sources, texts and trace so far."""

    def __init__(
        self, turn: Turn, journal: Journal, crew: TurnServices, allowance: TurnAllowance, carry_out: CarryOut
    ) -> None:
        """`allowance` is used up; `carry_out` does what is delegated."""
        self._turn, self._journal, self._crew, self._allowance = turn, journal, crew, allowance
        self._task = str(classify_task(turn.message).task)
        self._sources = SourceList()
        self._quotes = QuoteChecker(self._sources)
        self._texts: list[str] = []
        self._trace: list[dict[str, Any]] = []
        self._offer = offer_tools(turn, self._build_catalog(carry_out))
        self._doing = ToolRunner(turn, journal, crew.policy, self._offer, self._sources, allowance)
        self._manner = SamplingOptions.of(turn, crew.settings)
        self._messages: list[ModelMessage] = []
        self._react = False  # calls are written as text
        self._tier = 0  # of the recovery that was tried last
        self._ids: set[str] = set()
        self._round = 0

    def _build_catalog(self, carry_out: CarryOut) -> ToolCatalog:
        crew = self._crew
        tools = add_skills(crew.tools, crew.skills, self._turn.agent.config)
        tools = inquiring(tools, self._turn, self._journal)
        if crew.agents is None or DELEGATE in tools:
            return tools

        bound = TurnDelegations(
            self._turn, self._journal, crew.agents, carry_out, self._allowance, crew.settings.max_depth
        )
        return add_delegation(tools, self._turn.agent.config, bound)

    async def run(self) -> TurnOutcome:
        """To the end, or until a person has to decide."""
        await self._begin()
        while True:
            spent = self._spent_limit()
            if spent is not None:
                return await self._stop_early(spent)
            try:
                reply, parsed, release = await self._next()
            except ENDINGS:
                raise
            except AosError as error:
                # Recorded errors keep their code, not their class. In the first round nothing was done: it is an error.
                if error.code == "out_of_time" or (error.code == "over_budget" and self._round > 1):
                    return await self._stop_early(error.code)
                raise
            ended = await self._take(reply, parsed, release)
            if ended is not None:
                return ended

    async def _begin(self) -> None:
        turn, journal, crew = self._turn, self._journal, self._crew
        journal.emit(EventKind.STATUS, state="thinking")
        choice = await choose_connection(turn, journal, crew.models, self._task)
        self._trace.append({"step": "model", "connection": choice.connection, "task": choice.task})
        if turn.options.get("use_rag", True):
            limit = int(turn_option(turn, "rag_top_k", crew.settings.rag_top_k))
            found = await crew.knowledge.recall(turn, journal, limit, self._sources)
            self._trace.append({"step": "retrieval", "sources": len(found)})
        specs = self._offer.specs
        self._react = bool(specs) and not choice.supports_tools
        self._manner = replace(
            self._manner, tools=() if self._react else specs, stop=stop_sequences() if self._react else ()
        )
        rules = prompt.build_system_prompt(
            turn.agent,
            grounded=len(self._sources) > 0 or any(is_search_tool(tool) for tool in self._offer.own),
            plan=self._planning_section() if specs else "",
            react=react_instructions(specs) if self._react else "",
        )
        self._messages = prompt.build_messages(turn, rules, self._sources.all())

    def _planning_section(self) -> str:
        settings, config = self._crew.settings, self._turn.agent.config
        if config.get("deep_planning_enabled", settings.planning_enabled) is False:
            return ""
        own = config.get("deep_planning_max_steps")
        steps = own if type(own) is int and 1 <= own <= MOST_STEPS else settings.max_plan_steps
        return prompt.planning_section(str(config.get("deep_planning_style") or settings.plan_style), steps)

    def _spent_limit(self) -> str | None:
        if self._allowance.rounds < 1:
            return "rounds"
        return None if self._allowance.seconds(self._journal) else "out_of_time"

    async def _next(self) -> tuple[ModelReply, ParsedReply, StreamFilter]:
        """The next reply, read."""
        turn, crew, specs = self._turn, self._crew, self._offer.specs
        self._allowance.rounds -= 1
        self._round += 1
        messages = self._messages
        if self._is_last and self._round > 1 and specs:
            messages = [*messages, ModelMessage("user", LAST)]
        lead = PARTED if self._texts else ""
        release = StreamFilter(self._journal.piece, crew.clock, self._quotes, self._guard(), lead)
        request = self._manner.request(messages)
        reply = await stream_reply(turn, self._journal, crew.models, self._task, request, release, self._allowance)
        return reply, parse_reply(reply, specs, f"{turn.run}/{self._round}"), release

    @property
    def _is_last(self) -> bool:
        return self._allowance.rounds == 0

    @property
    def _has_run_tool(self) -> bool:
        """True if a tool ran for this question, be it one of the client's."""
        return self._doing.ran > 0 or any(one.role == "tool" for one in prompt.trailing_messages(self._turn))

    def _guard(self) -> StreamGuard:
        specs = self._offer.specs
        if not specs:
            return StreamGuard(everything=False)

        def is_call(text: str) -> bool:
            found = parse_reply(ModelReply(text), specs, "")
            return bool(found.calls or found.unknown)

        return StreamGuard(self._react, True, is_call, None if self._has_run_tool else self._is_claim)

    async def _take(self, reply: ModelReply, parsed: ParsedReply, release: StreamFilter) -> TurnOutcome | None:
        """Acts on a reply: runs its calls, recovers from a false claim, or ends the turn."""
        calls = self._calls(parsed)
        answer = parsed.answer or ""
        false = not calls and not self._has_run_tool and len(self._offer.own) > 0 and self._is_claim(answer)
        intent = self._find_intent() if false and self._tier == REPROMPTED else None
        undone = false and self._tier == REPROMPTED and intent is None
        if undone:
            answer = f"{answer}{PARTED}{UNDONE}"
        goes_on = bool(calls) or (false and not undone)
        await self._tell(release.settle() if goes_on else release.finish(answer), reply, parsed)
        theirs = [wanted for wanted, problem in calls if problem is None and wanted.name in self._offer.client_names]
        if theirs:
            given = [{"id": one.id, "name": one.name, "arguments": dict(one.arguments)} for one in theirs]
            return self._outcome("tool_calls", 0.9, given)
        if goes_on:
            if self._is_last:
                return await self._stop_early("rounds")
            await (self._run_calls(reply, parsed, calls) if calls else self._recover_claim(answer, intent))
            return None
        if not self._texts:
            spent = reply.finish_reason == "length"
            raise NoReply("its tokens were used up before it said anything; raise max_tokens" if spent else "")
        return self._outcome("length" if reply.finish_reason == "length" else "stop", 0.5 if undone else 0.9)

    def _calls(self, parsed: ParsedReply) -> list[tuple[ToolRequest, str | None]]:
        """Calls with what is wrong with them; a name that no tool has is a call that cannot be carried out."""
        recovered = self._tier == REPROMPTED and self._doing.ran == 0
        made: list[tuple[ToolRequest, str | None]] = []
        for call in parsed.calls:
            id_ = call.id if call.id not in self._ids else f"{call.id}.{self._round}"
            self._ids.add(id_)
            tier = REPROMPTED if recovered else call.tier
            made.append((ToolRequest(id_, call.name[:LONGEST_NAME], call.arguments, tier), call.problem))
        if not made and self._offer.specs:
            known = ", ".join(spec.name for spec in self._offer.specs)
            for at, name in enumerate(parsed.unknown):
                wanted = ToolRequest(f"unknown_{self._round}_{at}", name[:LONGEST_NAME], {}, 2)
                made.append((wanted, f"There is no tool named {wanted.name!r}; there are: {known}"))
        return made

    async def _run_calls(
        self, reply: ModelReply, parsed: ParsedReply, calls: list[tuple[ToolRequest, str | None]]
    ) -> None:
        observed = await self._doing.each(calls)
        wanted = [one for one, _ in calls]
        said = native_reply(reply.content, wanted) if reply.tool_calls else react_reply(parsed.thought, wanted)
        self._messages += as_messages(said, observed)

    async def _recover_claim(self, answer: str, intent: ToolRequest | None) -> None:
        """Tier 3: say that nothing was done, and how to do it. Tier 4: do what was meant, where that only reads."""
        self._messages.append(ModelMessage("assistant", answer))
        if intent is None:
            self._tier, self._react = REPROMPTED, True
            self._manner = replace(self._manner, stop=stop_sequences())
            self._messages.append(ModelMessage("user", f"{REPROMPT}\n\n{react_instructions(self._offer.specs)}"))
            self._trace.append({"step": "recovery", "tier": REPROMPTED})
            return
        self._tier = DISPATCHED
        self._trace.append({"step": "recovery", "tier": DISPATCHED, "tool": intent.name})
        observed = await self._doing.each([(intent, None)])
        self._messages += as_messages(react_reply("", [intent]), observed)

    def _find_intent(self) -> ToolRequest | None:
        """The reading tool that the message means, if one clearly is."""
        found = dispatch_tool(self._turn.message, list(self._offer.own), self._crew.settings.dispatch_threshold)
        return None if found is None else ToolRequest(f"intent_{self._round}", found.tool, found.arguments, DISPATCHED)

    def _is_claim(self, text: str) -> bool:
        """True if it claims or announces what did not happen, where a deed was asked for."""
        return needs_reprompt(self._turn.message, text) is not None

    async def _tell(self, text: str, reply: ModelReply, parsed: ParsedReply) -> None:
        """Tell what was said, thought, spent and cited."""
        self._emit_text(text)
        thought = parsed.thought.replace(text.strip(), "", 1).strip() if text.strip() else parsed.thought
        if thought:
            self._journal.emit(EventKind.THINKING, text=thought)
        told_usage(self._journal, reply)
        await emit_citations(self._turn, self._journal, self._crew.places, self._quotes)

    def _emit_text(self, text: str) -> None:
        if text:
            self._journal.emit(EventKind.TEXT, text=text)
            self._texts.append(text)

    async def _stop_early(self, why: str) -> TurnOutcome:
        """The end of what is allowed. Pieces of a reply that broke off are no part of the answer."""
        if why != "rounds":
            self._journal.emit(EventKind.THINKING, text=f"The reply broke off: {why}.")
        self._emit_text((PARTED if self._texts else "") + _SPENT[why])
        return self._outcome("length", 0.5)

    def _outcome(self, reason: str, confidence: float, calls: Sequence[Mapping[str, Any]] = ()) -> TurnOutcome:
        removed = [{"step": "quote_removed", **one} for one in self._quotes.removed]
        if self._quotes.refuted:
            confidence = min(confidence, REFUTED)
        trace = (*self._trace, *self._doing.trace, *removed, {"step": "rounds", "count": self._round})
        return TurnOutcome("".join(self._texts), reason, confidence, tuple(self._quotes.citations), trace, tuple(calls))
