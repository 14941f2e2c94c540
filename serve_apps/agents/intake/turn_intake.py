"""The single way in: who is spoken to, in which conversation, on which path; then a run on record is carried out."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol
from uuid import UUID

from cluster.basics.errors import Conflict
from cluster.basics.scope import Scope
from cluster.models.messages import ModelMessage
from cluster.state.agent_store import AgentStore
from cluster.state.approvals import ApprovalStore
from cluster.state.audit import AuditLog
from cluster.state.conversations import ConversationSession, ConversationStore
from cluster.state.db.postgres import Database, Transaction
from cluster.state.work.run_record import NewRun
from cluster.state.work.runs import RunLedger
from configs.sections import AgentSettings
from pipelines.documents.privacy.answer_rules import AnswerRule, rules_to_json
from serve_apps.agents.durable.run_loop import RECALLED, Kept, Remember, Say
from serve_apps.agents.events import Event
from serve_apps.agents.inquiries.inquiry import PERSON
from serve_apps.agents.inquiries.replies import Replies, Resumed
from serve_apps.agents.intake.assistant import ASSISTANT
from serve_apps.agents.intake.injected_context import CONTEXT, ContextInjector, named
from serve_apps.agents.intake.path_router import NO_RULE, command_of
from serve_apps.agents.intake.route_cache import CachedRouter
from serve_apps.agents.intake.turn import dump_turn, load_turn
from serve_apps.agents.memory.episodic import EpisodicMemory
from serve_apps.agents.memory.memory_guard import guard_text, masked, safe_memory_write
from serve_apps.agents.memory.recall import RecalledContext
from serve_apps.agents.memory.remember import ConversationMemory
from serve_apps.agents.memory.summary import ConversationSummariser
from serve_apps.agents.streams.cancellation import closing_stream
from serve_apps.agents.streams.masked_answer import ANSWERS
from serve_apps.agents.turn.delegation import StoredAgents
from serve_apps.agents.turn_ports import AgentSnapshot, IncomingMessage, RunId, SessionId, Turn, TurnOutcome, TurnPath
from serve_apps.retrieval.answers.follow_up import asks_further
from serve_apps.retrieval.overviews.overview_request import find_overview_request
from skills.framework.skill_store import SkillStore

AnswerPolicy = Callable[[Transaction, Scope], Awaitable[Sequence[AnswerRule]]]


class RunCarrier(Protocol):
    """Carries a run out, here or elsewhere."""

    def carry(self, turn: Turn) -> AsyncIterator[Event]:
        """Claim the turn's run and tell its events; closing the iterator interrupts it.

        Raises NotFound, Conflict: the run is gone, or cannot be claimed now.
        """
        ...


@dataclass(frozen=True, slots=True)
class TurnStores:
    """Stores that a message and its run are written to."""

    database: Database
    runs: RunLedger
    agents: AgentStore
    conversations: ConversationStore
    memory: ConversationMemory
    audit: AuditLog
    skills: SkillStore
    approvals: ApprovalStore


class TurnIntake:
    """An `Orchestrator`. It holds nothing between two calls; any replica can take the next one."""

    def __init__(
        self,
        records: TurnStores,
        router: CachedRouter,
        carriers: Mapping[TurnPath, RunCarrier],
        settings: AgentSettings,
        new_id: Callable[[], UUID],
        answer_rules: AnswerPolicy | None = None,
    ) -> None:
        """`new_id` makes the ids of runs; one is also the seed of all that is random in its run. `answer_rules`: what
        answers show of personal data; a turn keeps those that it began with.
        """
        self._records, self._router, self._carriers = records, router, carriers
        self._settings, self._new_id = settings, new_id
        self._answer_rules = answer_rules
        self._injector = ContextInjector(records.database)

    async def process(self, scope: Scope, incoming: IncomingMessage) -> AsyncIterator[Event]:
        """See `Orchestrator`."""
        incoming = await self._masked(incoming)
        resumed = await self._resumed(scope, incoming)
        told = 0 if resumed is None else resumed.told
        turn = await self.accept(scope, incoming) if resumed is None else resumed.turn
        async with closing_stream(self._carriers[turn.path].carry(turn)) as events:
            async for event in events:
                if event.seq > told or event.seq == 1:  # the first says which turn it is
                    yield event

    async def resume(self, scope: Scope, run: RunId) -> AsyncIterator[Event]:
        """See `Orchestrator`."""
        turn = load_turn((await self._records.runs.load(scope, run)).input)
        if turn.depth:
            raise Conflict(f"run {run} belongs to another", fix="Resume the run that delegated it.")
        async with closing_stream(self._carriers[turn.path].carry(turn)) as events:
            async for event in events:
                yield event

    async def cancel(self, scope: Scope, run: RunId) -> None:
        """See `Orchestrator`."""
        async with self._records.database.transaction(scope) as tx:
            state = await self._records.runs.cancel(tx, scope, run)
            await self._records.audit.record(tx, scope, "run.cancel", run, detail={"state": state})

    async def accept(
        self,
        scope: Scope,
        incoming: IncomingMessage,
        *,
        run: str | None = None,
        attended: bool = True,
        hold: Callable[[Transaction], Awaitable[None]] | None = None,
    ) -> Turn:
        """Store the message and the run that is to answer it, in one transaction.

        Args:
            scope: the user's.
            incoming: the message.
            run: its id, where somebody has one for it already.
            attended: somebody reads along; a run that nobody reads is carried out in the background.
            hold: looks, in the transaction that stores, whether it still may.

        Raises NotFound, Conflict: no such agent or session here; the session is closed or belongs to another agent.
        """
        incoming = await self._masked(incoming)
        agent = await self._find_agent(scope, incoming.agent)
        new_id = self._new_id() if run is None else UUID(run)
        records = self._records
        async with records.database.transaction(scope) as tx:
            # It gets its title from its first message as that is stored: guarded.
            session = await records.conversations.open(tx, scope, incoming.session, agent.id)
        if session.agent is not None and session.agent != agent.id:
            raise Conflict(f"session {session.id} is with another agent", fix="Begin a session of its own with each.")
        path, route = await self._choose_path(scope, session, incoming)
        context = await self._injector.inject(scope, named(incoming.options))
        recalled = await self._recall_history(scope, session, incoming)
        remembered = {} if recalled.line is None else {RECALLED: recalled.line}
        injected = {CONTEXT: context} if context else {}
        rules = await self._rules_now(scope)
        person = {PERSON: True} if incoming.person and attended else {}
        turn = Turn(
            run=RunId(str(new_id)),
            scope=scope,
            session=SessionId(session.id),
            agent=agent,
            message=incoming.message,
            history=recalled.history,
            memory=recalled.memory,
            path=path,
            options={**incoming.options, **person, **remembered, **injected, **rules, "route": route},
        )
        guarded = await guard_text(incoming.message, scope.tenant, session.id)
        async with records.database.transaction(scope) as tx:
            if hold is not None:
                await hold(tx)
            stored = await records.memory.keep(tx, scope, session.id, "user", guarded, turn.run)
            new = NewRun(turn.run, session.id, agent.id, str(path), dump_turn(turn), new_id.int >> 65, attended)
            await records.runs.create(tx, scope, new, self._settings.lease_seconds)
        await records.memory.kept(scope, session.id, stored)
        return turn

    async def _rules_now(self, scope: Scope) -> dict[str, Any]:
        """The turn's option with the rules of answers."""
        if self._answer_rules is None:
            return {}
        async with self._records.database.transaction(scope) as tx:
            rules = await self._answer_rules(tx, scope)
        return {ANSWERS: rules_to_json(rules)} if rules else {}

    async def _resumed(self, scope: Scope, incoming: IncomingMessage) -> Resumed | None:
        """The turn that a message goes on with, as it answers what was asked; None where it begins one."""
        records, lease = self._records, self._settings.lease_seconds
        replies = Replies(records.database, records.runs, records.approvals, records.memory, lease)
        question = await replies.pending(scope, incoming)
        if question is None:
            return None
        return await replies.take(scope, question, await self._find_agent(scope, incoming.agent), incoming)

    async def _masked(self, incoming: IncomingMessage) -> IncomingMessage:
        """The turn as the model sees it: with `mask_messages` on, without what stored messages do not show either."""
        if not self._settings.mask_messages:
            return incoming
        history = tuple([replace(one, content=await masked(one.content)) for one in incoming.history])
        options = dict(incoming.options)
        if trailing := options.get("trailing"):
            options["trailing"] = [{**one, "content": await masked(one["content"])} for one in trailing]
        return replace(incoming, message=await masked(incoming.message), history=history, options=options)

    async def _find_agent(self, scope: Scope, wanted: str) -> AgentSnapshot:
        """The agent as it is now; every workspace has a default one as soon as it is spoken to."""
        agents = StoredAgents(self._records.database, self._records.agents, self._records.skills)
        return await agents.find(scope, wanted or ASSISTANT.name)

    async def _choose_path(
        self, scope: Scope, session: ConversationSession, incoming: IncomingMessage
    ) -> tuple[TurnPath, Mapping[str, Any]]:
        """By rule; who brings tools of their own wants a model, whatever the words are.

        A question that leans on an answer from the documents goes where that came from.
        """
        if incoming.options.get("tools") or incoming.options.get("trailing"):
            rule = "client_tools"
        elif named(incoming.options) and not command_of(incoming.message)[0]:  # only a model reads what is named
            rule = "named_files"
        else:
            traced = await self._router.route(incoming.message)
            if traced.routed.rule != NO_RULE or not (rule := await self._own_rule(scope, session, incoming.message)):
                return traced.routed.path, traced.data
            return TurnPath.DOCUMENTS, {**traced.data, "path": str(TurnPath.DOCUMENTS), "rule": rule}
        return TurnPath.GENERAL, {"path": "general", "rule": rule, "words": [], "cached": "off: not asked"}

    async def _own_rule(self, scope: Scope, session: ConversationSession, message: str) -> str:
        """Rule that sends a message which no word routes to the documents; empty where none does."""
        overview = find_overview_request(message)
        if overview is not None and overview.names_document:
            return "overview"
        leans = asks_further(message) or (overview is not None and not overview.subject)
        return "follow_up" if leans and await self._follows_documents(scope, session) else ""

    async def _follows_documents(self, scope: Scope, session: ConversationSession) -> bool:
        """True where the documents have given the last answer of a conversation."""
        last = await self._records.runs.last_of_session(scope, session.id)
        answered = last is not None and last["path"] == str(TurnPath.DOCUMENTS)
        return answered and last is not None and "handed_to" not in (last["traced"] or {})

    async def _recall_history(
        self, scope: Scope, session: ConversationSession, incoming: IncomingMessage
    ) -> RecalledContext:
        """The past of the conversation: the client's own where it keeps one with calls of its tools, as it is."""
        offered = tuple(_demote_system_message(message) for message in incoming.history)
        if incoming.options.get("trailing") or any(one.role == "tool" or one.tool_calls for one in offered):
            return RecalledContext(offered, "")
        return await self._records.memory.recall(scope, session, incoming.message, offered)


def answer_recorder(memory: ConversationMemory, learning: ConversationSummariser, episodic: EpisodicMemory) -> Remember:
    """Callback that stores a runner's answer in its conversation and then summarises long conversations."""

    async def remember(tx: Transaction, turn: Turn, outcome: TurnOutcome) -> Kept:
        guarded = await guard_text(outcome.answer, turn.scope.tenant, turn.session)
        asked = (await guard_text(turn.message, turn.scope.tenant, turn.session)).sanitized_content
        more = (turn.run, asked, outcome.classification)
        stored = await memory.keep(tx, turn.scope, turn.session, "assistant", guarded, *more)

        async def kept() -> None:
            await memory.kept(turn.scope, turn.session, stored)
            learning.begin(turn, stored[-1].seq if stored else 0)
            episodic.begin(turn)

        return kept

    return remember


def asking(memory: ConversationMemory) -> Say:
    """Stores a runner's question in its conversation; Redis learns of it by the next reading."""

    async def say(turn: Turn, tx: Transaction, question: str) -> None:
        guarded = safe_memory_write(question, turn.scope.tenant, turn.session)  # short: see `inquiry`
        await memory.keep(tx, turn.scope, turn.session, "assistant", guarded, turn.run)

    return say


def _demote_system_message(message: ModelMessage) -> ModelMessage:
    """Demotes a client's system prompt to a user message: it is its user's word, not ours."""
    if message.role != "system":
        return message
    return ModelMessage("user", f"Instructions from the application I use:\n{message.content}")
