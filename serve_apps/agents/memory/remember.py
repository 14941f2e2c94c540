"""The memory of conversations: what was said goes in guarded, what is known comes out for the next turn."""

from collections.abc import Callable, Sequence

from redis.asyncio import Redis

from cluster.basics.scope import Scope
from cluster.models.messages import ModelMessage
from cluster.state.audit import AuditLog
from cluster.state.conversations import (
    ConversationSession,
    ConversationStore,
    ConversationSummary,
    NewMessage,
    SessionFact,
    Speaker,
    StoredMessage,
)
from cluster.state.db.postgres import Database, Transaction
from configs.sections import MemorySettings
from serve_apps.agents.memory.compliance import ComplianceCheck
from serve_apps.agents.memory.episodic import EpisodicMemory
from serve_apps.agents.memory.facts import FactExtraction, new_facts, promised, requested_facts
from serve_apps.agents.memory.memory_guard import GuardedText, guard_text, safe_memory_write
from serve_apps.agents.memory.recall import NOTHING, RecalledContext, build_recall, fit_history
from serve_apps.agents.memory.recent_messages import RecentMessages

READ_FACTS = 100  # known facts among which the most important are chosen
READ_MESSAGES = 200  # messages that one summary takes in


class ConversationMemory:
    """Reads and writes; the wall between users is `ConversationStore.open`, which is asked first."""

    def __init__(
        self,
        database: Database,
        conversations: ConversationStore,
        history: RecentMessages,
        compliance: ComplianceCheck,
        settings: MemorySettings,
        episodic: EpisodicMemory | None = None,
    ) -> None:
        """Parts that are used by nobody else; without `episodic` facts are chosen by words, and no episodes told."""
        self._episodic = episodic
        self._db, self._conversations, self._history = database, conversations, history
        self._compliance, self._settings = compliance, settings

    async def recall(
        self, scope: Scope, session: ConversationSession, message: str, offered: Sequence[ModelMessage] = ()
    ) -> RecalledContext:
        """Context for a model before `message`, which is not stored yet; what came since the session's opening is not
        told.

        `offered`: history that the client sent along; told only where the session has none of its own.
        """
        messages = await self._history.load(scope, session.id, session.messages)
        async with self._db.transaction(scope) as tx:
            summary = await self._conversations.summary(tx, scope, session.id)
            facts = await self._conversations.known(tx, scope, session, READ_FACTS)
        found = NOTHING if self._episodic is None else await self._episodic.recall(scope, session, message, facts)
        told = build_recall(messages, summary, facts, message, found)
        if messages or not offered:
            return told
        said = [one for one in offered if one.role in ("user", "assistant")][-self._settings.prompt_messages :]
        guarded = [
            ModelMessage(one.role, (await guard_text(one.content, scope.tenant, session.id)).sanitized_content)
            for one in said
        ]
        return RecalledContext(fit_history(guarded), told.memory, told.line)

    async def keep(
        self,
        tx: Transaction,
        scope: Scope,
        session: str,
        role: Speaker,
        guarded: GuardedText,
        run: str | None = None,
        asked: str = "",
        classification: str | None = None,
    ) -> list[StoredMessage]:
        """Store what was said, in the caller's transaction; hand the result to `kept` once it is committed.

        What a user asks to be remembered, and what an agent says that it will remember, is known from then on, to the
        next turn as to other conversations. `run`: what it begins or answers; `asked`: what an answer answers, guarded;
        `classification`: the class of what that cites.
        Raises NotFound, Conflict as `ConversationStore.append`.
        """
        said = NewMessage(role, guarded.sanitized_content, run, guarded.findings, classification)
        stored = await self._conversations.append(tx, scope, session, [said])
        await self._compliance.check_memory_policy_compliance(tx, scope, session, stored)
        text = guarded.sanitized_content
        if facts := requested_facts(text) if role == "user" else promised(text, asked):
            new = new_facts(facts, await self._conversations.facts(tx, scope, session))
            await self._conversations.learn(tx, scope, session, new)
        return stored

    async def kept(self, scope: Scope, session: str, stored: Sequence[StoredMessage]) -> None:
        """Put what was committed at hand in Redis; never fails because of Redis."""
        await self._history.refresh(scope, session, stored)

    async def forget(self, scope: Scope, session: str) -> None:
        """Take a deleted conversation out of Redis as well."""
        await self._history.forget(scope, session)

    async def unsummarised(self, scope: Scope, session: str) -> tuple[ConversationSummary, list[StoredMessage]]:
        """The summary so far, and the messages that it does not cover, oldest first."""
        async with self._db.transaction(scope) as tx:
            summary = await self._conversations.summary(tx, scope, session) or ConversationSummary(0, "")
        messages = await self._conversations.messages(scope, session, after=summary.upto, limit=READ_MESSAGES)
        return summary, messages

    async def learn(self, scope: Scope, session: str, found: FactExtraction, upto: int) -> int:
        """Keep facts and summary, guarded as everything that is stored; returns how many facts are new.

        Raises NotFound where the session is gone, or another user's.
        """
        facts = [
            SessionFact(f.category, f.importance, self._sanitize_text(scope, session, f.text, f.category))
            for f in found.facts
        ]
        summary = self._sanitize_text(scope, session, found.summary, "summary")
        async with self._db.transaction(scope) as tx:
            new = new_facts(facts, await self._conversations.facts(tx, scope, session))
            count = await self._conversations.learn(tx, scope, session, new)
            await self._conversations.summarise(tx, scope, session, ConversationSummary(upto, summary))
        return count

    @staticmethod
    def _sanitize_text(scope: Scope, session: str, text: str, kind: str) -> str:
        return safe_memory_write(text, scope.tenant, session, kind).sanitized_content


def memory_of(
    settings: MemorySettings,
    database: Database,
    redis: Redis | None,
    audit: AuditLog,
    episodic: EpisodicMemory,
    clock: Callable[[], float],
) -> ConversationMemory:
    """The memory of a process; `clock` as for `RecentMessages`."""
    conversations = ConversationStore(database)
    history = RecentMessages(database, conversations, redis, settings, clock)
    compliance = ComplianceCheck(conversations, audit, settings.compliance_every)
    return ConversationMemory(database, conversations, history, compliance, settings, episodic)
