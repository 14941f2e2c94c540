"""Long conversations are summed up and searched for facts, beside the turns: nobody waits for it."""

import asyncio
import logging
from collections.abc import Set
from dataclasses import dataclass, replace

from cluster.basics.errors import Invalid, NotFound, Transient
from cluster.models.messages import ModelReply
from cluster.models.routing.tasks import Task
from configs.sections import MemorySettings
from serve_apps.agents.memory import facts
from serve_apps.agents.memory.remember import ConversationMemory
from serve_apps.agents.memory.session_tasks import SessionTasks
from serve_apps.agents.turn_errors import NoModel, OverBudget
from serve_apps.agents.turn_ports import ChatModels, Turn

log = logging.getLogger(__name__)

SECONDS = 90.0  # longest for one conversation
AT_ONCE = 2  # conversations of this process


@dataclass(frozen=True, slots=True)
class SummaryResult:
    """Result of a summary; `upto` is the last message that it covers now, 0 where nothing was done."""

    facts: int = 0
    upto: int = 0
    note: str = ""


class ConversationSummariser:
    """Due as soon as `summary_after` messages are in no summary, so it is done before they leave the prompt.

    It is begun behind a turn and writes nothing until the model has answered: whatever interrupts it, it is due again
    with the next message. Two replicas at once cost a call more and store nothing twice.
    """

    def __init__(self, memory: ConversationMemory, models: ChatModels, settings: MemorySettings) -> None:
        """Nothing is begun yet."""
        self._memory, self._models, self._settings = memory, models, settings
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._tasks = SessionTasks()

    @property
    def running(self) -> Set[str]:
        """Sessions that are being summed up."""
        return self._tasks.running

    def begin(self, turn: Turn, messages: int) -> None:
        """Start behind a turn, if it is likely to be due and not under way; returns at once.

        `messages`: how many the session has; whether it is due is looked up in Postgres.
        """
        if not self._settings.extract_facts or turn.depth or messages < self._settings.summary_after:
            return
        if turn.session in self._tasks.running:
            return
        self._tasks.start(turn.session, self._learn_in_background(turn))

    async def close(self) -> None:
        """Stop what runs; it is due again with the next message."""
        await self._tasks.close()

    async def learn(self, turn: Turn) -> SummaryResult:
        """Sum up and extract, where it is due: one call of a model, no database connection held meanwhile.

        Raises Transient, Invalid or OverBudget where the model did not answer, NotFound where the session is gone.
        """
        summary, messages = await self._memory.unsummarised(turn.scope, turn.session)
        if len(messages) < self._settings.summary_after:
            return SummaryResult(note="not due")
        reply = None
        request, upto = facts.extraction_request(summary.text, messages)
        try:
            async for said in self._models.stream(turn, Task.SUMMARIZE, request):
                if isinstance(said, ModelReply):
                    reply = said
        except NoModel:
            return SummaryResult(note="no model is configured")
        if reply is None:
            return SummaryResult(note="the model said nothing")
        found = facts.parse_extraction(reply.content)
        if not found.summary:  # what was said before stays; asking again with every message would cost a call each
            found = replace(found, summary=summary.text, note=found.note or "the reply had no summary")
        count = await self._memory.learn(turn.scope, turn.session, found, upto)
        return SummaryResult(count, upto, found.note)

    async def _learn_in_background(self, turn: Turn) -> None:
        try:
            async with self._turns, asyncio.timeout(SECONDS):
                learned = await self.learn(turn)
        except (Transient, Invalid, OverBudget, NotFound, TimeoutError) as error:
            log.warning("memory of session %s: put off, %s: %s", turn.session, type(error).__name__, error)
            return
        if learned.note != "not due":
            log.info("memory of session %s: %s", turn.session, learned)
