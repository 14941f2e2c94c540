"""The agent loop: ask the model, parse its reply, act on it, observe, recover, until there is an answer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
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
from serve_apps.agents.turn.knowledge import AgentKnowledge, SourceList
from serve_apps.agents.turn.limits import ENDINGS, TurnAllowance
from serve_apps.agents.turn.model_call import SamplingOptions, choose_connection, stream_reply, told_usage, turn_option
from serve_apps.agents.turn.quotes import QuoteChecker, QuotePlaces, emit_citations
from serve_apps.agents.turn.recovery import REPROMPTED, FalseClaimRecovery, is_false_claim
from serve_apps.agents.turn.reply_policy import ReplyPolicy
from serve_apps.agents.turn.stream_filter import StreamFilter, StreamGuard
from serve_apps.agents.turn.tool_call import ToolRequest
from serve_apps.agents.turn.tool_runner import ToolRunner, as_messages, native_reply, react_reply
from serve_apps.agents.turn_errors import NoReply
from serve_apps.agents.turn_ports import ChatModels, Journal, Turn, TurnOutcome
from skills.framework.catalogue import ToolCatalog
from skills.framework.skill_guard import SkillGuard, is_search_tool

LAST = "This is the last round of this turn: answer now with what you have, and call no tools."
PARTED = "\n\n"  # texts of one answer
MOST_STEPS = 50  # of a plan
REFUTED = 0.6  # confidence in an answer of which a quote was removed, as in one that a critique objects to
LONGEST_NAME = 100  # of a tool, as a model may write it
_SPENT = {
    "rounds": "I stopped here: the rounds of this turn are used up.",
    "out_of_time": "I stopped here: the time of this turn is used up.",
    "over_budget": "I stopped here: the budget for this month is spent.",
}


@dataclass(frozen=True, slots=True)
class TurnServices:
    """Services that a turn runs with."""

    models: ChatModels
    tools: ToolCatalog
    knowledge: AgentKnowledge
    places: QuotePlaces
    policy: ApprovalPolicy
    settings: AgentSettings
    agents: AgentFinder | None = None  # for delegation; None where there is none
    clock: Callable[[], float] = monotonic  # seconds; decides only how text is cut into pieces
    skills: SkillGuard | None = None  # makes tools of those that an agent was given


class Conversation:
    """One turn: the loop, and the state that its policies see.

    Attributes:
        messages: of the next request, without the tools.
        react: calls are written as text.
        recovery_tier: of the recovery that was tried last; 0 before any.
        confidence: of an answer that ends here.
    """

    def __init__(
        self,
        turn: Turn,
        journal: Journal,
        services: TurnServices,
        allowance: TurnAllowance,
        carry_out: CarryOut,
        policies: Sequence[ReplyPolicy] = (),
    ) -> None:
        """`allowance` is used up; `carry_out` does what is delegated; `policies` come before those of every turn."""
        self.turn, self.journal, self.services, self.allowance = turn, journal, services, allowance
        self.messages: list[ModelMessage] = []
        self.sampling = SamplingOptions.of(turn, services.settings)
        self.react, self.recovery_tier, self.confidence = False, 0, 0.9
        self.trace: list[dict[str, Any]] = []
        self._policies = (*policies, FalseClaimRecovery())
        self._task = str(classify_task(turn.message).task)
        self._sources = SourceList()
        self._quotes = QuoteChecker(self._sources)
        self._texts: list[str] = []
        self.offer = offer_tools(turn, self._build_catalog(carry_out))
        self.runner = ToolRunner(turn, journal, services.policy, self.offer, self._sources, allowance)
        self._ids: set[str] = set()
        self.round = 0

    async def run(self) -> TurnOutcome:
        """To the end, or until a person has to decide."""
        await self._begin()
        while True:
            if spent := self._spent_limit():
                return await self.stop_early(spent)
            try:
                reply, release = await self._ask()
            except ENDINGS:
                raise
            except AosError as error:
                # Recorded errors keep their code, not their class. In the first round nothing was done: it is an error.
                if error.code == "out_of_time" or (error.code == "over_budget" and self.round > 1):
                    return await self.stop_early(error.code)
                raise
            parsed = parse_reply(reply, self.offer.specs, f"{self.turn.run}/{self.round}")
            ended = await self._review(reply, parsed, release)
            if isinstance(ended, ParsedReply):
                ended = await self._act(reply, ended, release)
            if ended is not None:
                return ended

    async def _begin(self) -> None:
        """Choose the model, retrieve, and write the first request."""
        turn, journal, services = self.turn, self.journal, self.services
        journal.emit(EventKind.STATUS, state="thinking")
        choice = await choose_connection(turn, journal, services.models, self._task)
        self.trace.append({"step": "model", "connection": choice.connection, "task": choice.task})
        if turn.options.get("use_rag", True):
            limit = int(turn_option(turn, "rag_top_k", services.settings.rag_top_k))
            found = await services.knowledge.recall(turn, journal, limit, self._sources)
            self.trace.append({"step": "retrieval", "sources": len(found)})
        specs = self.offer.specs
        self.react = bool(specs) and not choice.supports_tools
        stop = stop_sequences() if self.react else ()
        self.sampling = replace(self.sampling, tools=() if self.react else specs, stop=stop)
        rules = prompt.build_system_prompt(
            turn.agent,
            grounded=len(self._sources) > 0 or any(is_search_tool(tool) for tool in self.offer.own),
            plan=self._planning_section() if specs else "",
            react=react_instructions(specs) if self.react else "",
        )
        self.messages = prompt.build_messages(turn, rules, self._sources.all())
        for policy in self._policies:
            policy.prepare(self)

    async def _ask(self) -> tuple[ModelReply, StreamFilter]:
        """The next reply, shown as it comes as far as it may be."""
        self.allowance.rounds -= 1
        self.round += 1
        for policy in self._policies:
            policy.before_round(self)
        messages = self.messages
        owed = any(policy.owes_call(self) for policy in self._policies)
        if self.is_last and self.round > 1 and self.offer.specs and not owed:
            messages = [*messages, ModelMessage("user", LAST)]
        lead = PARTED if self._texts else ""
        release = StreamFilter(self.journal.emit_delta, self.services.clock, self._quotes, self._guard(), lead)
        request = self.sampling.request(messages)
        reply = await stream_reply(
            self.turn, self.journal, self.services.models, self._task, request, release, self.allowance
        )
        return reply, release

    async def _review(
        self, reply: ModelReply, parsed: ParsedReply, release: StreamFilter
    ) -> ParsedReply | TurnOutcome | None:
        """The reply as all policies leave it; the first that ends the turn or asks again has the last word."""
        for policy in self._policies:
            reviewed = await policy.review(self, reply, parsed, release)
            if not isinstance(reviewed, ParsedReply):
                return reviewed
            parsed = reviewed
        return parsed

    async def _act(self, reply: ModelReply, parsed: ParsedReply, release: StreamFilter) -> TurnOutcome | None:
        """Run the calls of a reply, or end the turn with it."""
        calls = self.calls(parsed)
        await self.tell(release.settle() if calls else release.finish(parsed.answer or ""), reply, parsed)
        theirs = [wanted for wanted, problem in calls if problem is None and wanted.name in self.offer.client_names]
        if theirs:
            most = 1 if self.turn.options.get("parallel_tool_calls") is False else None
            given = [{"id": one.id, "name": one.name, "arguments": dict(one.arguments)} for one in theirs[:most]]
            return self.outcome("tool_calls", given)
        if calls and self.is_last:
            return await self.stop_early("rounds")
        if calls:
            observed = await self.runner.each(calls)
            wanted = [one for one, _ in calls]
            said = native_reply(reply.content, wanted) if reply.tool_calls else react_reply(parsed.thought, wanted)
            self.messages += as_messages(said, observed)
            return None
        if not self._texts:
            spent = reply.finish_reason == "length"
            raise NoReply("its tokens were used up before it said anything; raise max_tokens" if spent else "")
        return self.outcome("length" if reply.finish_reason == "length" else "stop")

    @property
    def is_last(self) -> bool:
        """No round is left behind this one."""
        return self.allowance.rounds == 0

    @property
    def has_run_tool(self) -> bool:
        """True if a tool ran for this question, be it one of the client's."""
        return self.runner.ran > 0 or any(one.role == "tool" for one in prompt.trailing_messages(self.turn))

    def calls(self, parsed: ParsedReply) -> list[tuple[ToolRequest, str | None]]:
        """Calls with what is wrong with them; a name that no tool has is a call that cannot be carried out."""
        recovered = self.recovery_tier == REPROMPTED and self.runner.ran == 0
        made: list[tuple[ToolRequest, str | None]] = []
        for call in parsed.calls:
            id_ = call.id if call.id not in self._ids else f"{call.id}.{self.round}"
            self._ids.add(id_)
            tier = REPROMPTED if recovered else call.tier
            made.append((ToolRequest(id_, call.name[:LONGEST_NAME], call.arguments, tier), call.problem))
        if not made and self.offer.specs:
            known = ", ".join(spec.name for spec in self.offer.specs)
            for at, name in enumerate(parsed.unknown):
                wanted = ToolRequest(f"unknown_{self.round}_{at}", name[:LONGEST_NAME], {}, 2)
                made.append((wanted, f"There is no tool named {wanted.name!r}; there are: {known}"))
        return made

    async def tell(self, text: str, reply: ModelReply, parsed: ParsedReply) -> None:
        """Tell what was said, thought, spent and cited."""
        self._emit_text(text)
        thought = parsed.thought.replace(text.strip(), "", 1).strip() if text.strip() else parsed.thought
        if thought:
            self.journal.emit(EventKind.THINKING, text=thought)
        told_usage(self.journal, reply)
        await emit_citations(self.turn, self.journal, self.services.places, self._quotes)

    async def stop_early(self, why: str) -> TurnOutcome:
        """The end of what is allowed. Pieces of a reply that broke off are no part of the answer."""
        if why != "rounds":
            self.journal.emit(EventKind.THINKING, text=f"The reply broke off: {why}.")
        self._emit_text((PARTED if self._texts else "") + _SPENT[why])
        self.confidence = 0.5
        return self.outcome("length")

    def outcome(self, reason: str, calls: Sequence[Mapping[str, Any]] = ()) -> TurnOutcome:
        """The turn as it ends now."""
        removed = [{"step": "quote_removed", **one} for one in self._quotes.removed]
        sure = min(self.confidence, REFUTED) if self._quotes.refuted else self.confidence
        trace = (*self.trace, *self.runner.trace, *removed, {"step": "rounds", "count": self.round})
        return TurnOutcome("".join(self._texts), reason, sure, tuple(self._quotes.citations), trace, tuple(calls))

    def _build_catalog(self, carry_out: CarryOut) -> ToolCatalog:
        services = self.services
        tools = add_skills(services.tools, services.skills, self.turn.agent.config)
        tools = inquiring(tools, self.turn, self.journal)
        if services.agents is None or DELEGATE in tools:
            return tools
        deepest = services.settings.max_depth
        bound = TurnDelegations(self.turn, self.journal, services.agents, carry_out, self.allowance, deepest)
        return add_delegation(tools, self.turn.agent.config, bound)

    def _planning_section(self) -> str:
        settings, config = self.services.settings, self.turn.agent.config
        if config.get("deep_planning_enabled", settings.planning_enabled) is False:
            return ""
        own = config.get("deep_planning_max_steps")
        steps = own if type(own) is int and 1 <= own <= MOST_STEPS else settings.max_plan_steps
        return prompt.planning_section(str(config.get("deep_planning_style") or settings.plan_style), steps)

    def _spent_limit(self) -> str | None:
        if self.allowance.rounds < 1:
            return "rounds"
        return None if self.allowance.seconds(self.journal) else "out_of_time"

    def _guard(self) -> StreamGuard:
        specs = self.offer.specs
        if any(policy.withholds(self) for policy in self._policies):
            return StreamGuard(everything=True)
        if not specs:
            return StreamGuard(everything=False)

        def is_call(text: str) -> bool:
            found = parse_reply(ModelReply(text), specs, "")
            return bool(found.calls or found.unknown)

        watched = None if self.has_run_tool else partial(is_false_claim, self.turn.message)
        return StreamGuard(self.react, True, is_call, watched)

    def _emit_text(self, text: str) -> None:
        if text:
            self.journal.emit(EventKind.TEXT, text=text)
            self._texts.append(text)
