"""The GENERAL path: a direct answer, the tool loop, or a plan that is carried out under supervision."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from cluster.models.routing.tasks import Task
from serve_apps.agents.events import EventKind
from serve_apps.agents.inquiries.inquiry import inquiring
from serve_apps.agents.intake.path_router import command_of
from serve_apps.agents.intake.tool_offer import offer_tools
from serve_apps.agents.intake.toolset import DELEGATE, add_delegation, add_skills
from serve_apps.agents.planning import choose, execute, planner
from serve_apps.agents.planning.choose import ModeChoice, TurnMode
from serve_apps.agents.planning.planner import CheckedPlan
from serve_apps.agents.planning.synthesis import CRITICISED, DEFAULT, FALLBACK, AnswerSynthesis, synthesise_answer
from serve_apps.agents.planning.work import PlanLimits, PlannedTurn
from serve_apps.agents.turn.agent_loop import TurnServices
from serve_apps.agents.turn.delegation import TurnDelegations
from serve_apps.agents.turn.general_path import run_conversation
from serve_apps.agents.turn.limits import OutOfTime, TurnAllowance, agent_limit
from serve_apps.agents.turn.model_call import choose_connection as choose_model
from serve_apps.agents.turn.model_call import told_usage, turn_option
from serve_apps.agents.turn.quotes import emit_citations
from serve_apps.agents.turn_errors import NoReply
from serve_apps.agents.turn_ports import Journal, Json, Turn, TurnOutcome
from skills.framework.catalogue import ToolCatalog

COMMANDS = frozenset({"chat", "agent", "plan"})
PARTED = "\n\n"  # texts of one answer
OUT_OF_TIME = "I stopped here: the time of this turn is used up."


class GeneralHandler:
    """A `Handler`; without planning, and for turns that their client's tools take part in, it is the loop alone."""

    def __init__(self, services: TurnServices, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        """`services` is shared by all turns; `sleep` waits between plans, in seconds."""
        self._services, self._sleep = services, sleep

    async def __call__(self, turn: Turn, journal: Journal) -> TurnOutcome:
        """Carry a turn out; raises ApprovalPending where a person has to decide first, NoModel, OverBudget,
        Unavailable, Overloaded or Invalid where there is no model to ask, or none that answers.
        """
        command, message = command_of(turn.message)
        if command in COMMANDS and message.strip():
            turn = replace(turn, message=message)
        limits = PlanLimits.of(turn, self._services.settings)
        at_once = choose.choose_by_rule(command, turn.message)
        if not limits.enabled or turn.options.get("tools"):
            return await run_conversation(turn, journal, self._services)
        if at_once and at_once.mode is TurnMode.CHAT:
            outcome = await run_conversation(turn, journal, self._services)
            return replace(outcome, trace=(_mode_line(at_once), *outcome.trace))
        work = self._begin_work(turn, journal, limits)
        if len(work.tools) == 0:  # nothing that a plan could use
            return await run_conversation(turn, journal, self._services)
        return await self._carry_out(work, at_once)

    def _begin_work(self, turn: Turn, journal: Journal, limits: PlanLimits) -> PlannedTurn:
        settings = self._services.settings
        rounds = int(agent_limit(turn.agent.config, "max_iterations", settings.max_rounds))
        seconds = agent_limit(turn.agent.config, "timeout_seconds", settings.seconds)
        allowance = TurnAllowance(rounds, journal.spent_ms + round(seconds * 1000), turn.agent)
        tools = offer_tools(turn, self._build_catalog(turn, journal, allowance)).own
        return PlannedTurn(turn, journal, self._services, tools, allowance, limits, self._sleep)

    def _build_catalog(self, turn: Turn, journal: Journal, allowance: TurnAllowance) -> ToolCatalog:
        """All tools; delegation, where there are agents, is bound to this turn."""
        services = self._services
        tools = inquiring(add_skills(services.tools, services.skills, turn.agent.config), turn, journal)
        if services.agents is None or DELEGATE in tools:
            return tools

        async def carry_out(inner: Turn, inside: Journal, left: TurnAllowance) -> TurnOutcome:
            return await run_conversation(inner, inside, services, left)

        bound = TurnDelegations(turn, journal, services.agents, carry_out, allowance, services.settings.max_depth)
        return add_delegation(tools, turn.agent.config, bound)

    async def _carry_out(self, work: PlannedTurn, at_once: ModeChoice | None) -> TurnOutcome:
        turn, journal, services = work.turn, work.journal, self._services
        journal.emit(EventKind.STATUS, state="thinking")
        await choose_model(turn, journal, services.models, str(Task.PLANNING))
        if turn.options.get("use_rag", True):
            limit = int(turn_option(turn, "rag_top_k", services.settings.rag_top_k))
            work.grounded = bool(await services.knowledge.recall(turn, journal, limit, work.sources))
        shown = ""
        try:
            chosen = at_once or await choose.choose_by_model(work)
            shown = await self._emit_choice(work, chosen)
            work.lead = PARTED if shown else ""
            if chosen.mode is TurnMode.CHAT:
                return await self._answer_chat(work, chosen)
            work.mode = _mode_line(chosen)
            planned = await self._make_plan(work, chosen)
            journal.emit(EventKind.STATUS, state="executing")
            await execute.execute_plan(work, planned)
        except OutOfTime:
            return await self._answer_from_steps(work, shown, out_of_time=True)
        return await self._answer_from_steps(work, shown, unplanned=planned.by == "fallback")

    async def _emit_choice(self, work: PlannedTurn, chosen: ModeChoice) -> str:
        """Emits a mode choice's text, usage and citations; returns the text that it has shown."""
        if chosen.shown:
            work.journal.emit(EventKind.TEXT, text=chosen.shown)
        if chosen.reply is not None:
            told_usage(work.journal, chosen.reply)
        await emit_citations(work.turn, work.journal, self._services.places, work.quotes)
        return chosen.shown

    async def _answer_chat(self, work: PlannedTurn, chosen: ModeChoice) -> TurnOutcome:
        line = _mode_line(chosen)
        if chosen.answer is not None:
            finish = "length" if chosen.reply and chosen.reply.finish_reason == "length" else "stop"
            return TurnOutcome(chosen.answer, finish, DEFAULT, tuple(work.quotes.citations), (line,))
        after = await run_conversation(work.turn, work.journal, self._services, work.allowance)
        answer = f"{chosen.shown}{PARTED}{after.answer}" if chosen.shown else after.answer
        return replace(after, answer=answer, trace=(line, *after.trace))

    async def _make_plan(self, work: PlannedTurn, chosen: ModeChoice) -> CheckedPlan:
        if chosen.said is not None:
            return await planner.settle_plan(work, chosen.asked, chosen.said)
        if chosen.by == "fallback":
            return planner.fallback_plan(work, chosen.why)
        return await planner.make_plan(work)

    async def _answer_from_steps(
        self, work: PlannedTurn, shown: str, *, out_of_time: bool = False, unplanned: bool = False
    ) -> TurnOutcome:
        """Answer from the steps' results: quotes checked, notices under it, emitted as one TEXT.

        Raises NoReply, or as the model failed that never said a word: what there is are the fallback plan's leavings.
        """
        found = synthesise_answer(list(work.results.values()), grounded=work.grounded)
        if not work.heard:
            raise work.unheard or NoReply()
        streamed = "" if work.streamed is None or work.streamed.step != found.step else work.streamed.text
        if not streamed:
            text = work.quotes.checked(found.text).strip() or found.text
        told = "\n".join(f"Note: {notice}" for notice in (*work.notices, *((OUT_OF_TIME,) if out_of_time else ())))
        parts = filter(None, ("" if streamed else text, told))
        said = PARTED.join(parts)
        if said:
            said = f"{PARTED}{said}" if streamed or shown else said
            work.journal.emit(EventKind.TEXT, text=said)
        await emit_citations(work.turn, work.journal, self._services.places, work.quotes)
        removed = [{"step": "quote_removed", **one} for one in work.quotes.removed]
        line = {**work.mode, "source": found.source, "replans": work.replans}
        return TurnOutcome(
            f"{shown}{streamed}{said}",
            "length" if out_of_time else "stop",
            _answer_confidence(found, work, unsure=out_of_time or unplanned),
            tuple(work.quotes.citations),
            (line, *work.trace(), *removed),
        )


def _mode_line(chosen: ModeChoice) -> Mapping[str, Json]:
    """For the trace: how the turn was carried out, and who chose so."""
    return {"step": "mode", "mode": str(chosen.mode), "by": chosen.by, "why": chosen.why}


def _answer_confidence(found: AnswerSynthesis, work: PlannedTurn, *, unsure: bool) -> float:
    """As synthesis says; less for a fallback, and for an answer from documents that quotes none."""
    if unsure:
        return min(found.confidence, FALLBACK)
    uncited = found.source == "documents" and not work.quotes.citations
    doubtful = uncited or work.notices or work.quotes.refuted
    return min(found.confidence, CRITICISED) if doubtful else found.confidence
