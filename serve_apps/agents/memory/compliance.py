"""Every so many messages what a conversation has stored is looked at again; what should not be there is escalated."""

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cluster.basics.scope import Scope
from cluster.state.audit import AuditLog, Outcome
from cluster.state.conversations import ConversationStore, StoredMessage
from cluster.state.db.postgres import Transaction
from serve_apps.agents.memory.memory_guard import INJECTION, find_violations

log = logging.getLogger(__name__)

ESCALATION = "memory_compliance_escalation"
MOST_ATTEMPTS = 3  # injections among the messages of one check; the first two may be a curious person


@dataclass(frozen=True, slots=True)
class ComplianceVerdict:
    """Findings of a compliance check."""

    checked: int  # messages that were looked at
    # kinds that stand in them unmasked or unmarked, and in how many: somebody wrote past the guard
    violations: Mapping[str, int]
    attempts: int  # injections that the guard marked in them

    @property
    def escalation_needed(self) -> bool:
        """True if a person should review the conversation."""
        return bool(self.violations) or self.attempts >= MOST_ATTEMPTS


def check_messages(messages: Sequence[StoredMessage]) -> ComplianceVerdict:
    """Look at stored messages."""
    kinds = Counter(kind for message in messages for kind in find_violations(message.text))
    return ComplianceVerdict(len(messages), dict(kinds), sum(one.findings.get(INJECTION, 0) for one in messages))


class ComplianceCheck:
    """Counts in Postgres, by the messages' own numbers: replicas and restarts miss no check and make none twice."""

    def __init__(self, conversations: ConversationStore, audit: AuditLog, every: int) -> None:
        """`every`: messages of one session from one check to the next."""
        self._conversations, self._audit, self._every = conversations, audit, every

    async def check_memory_policy_compliance(
        self, tx: Transaction, scope: Scope, session: str, stored: Sequence[StoredMessage]
    ) -> ComplianceVerdict | None:
        """Check where the messages just stored complete another `every`; None where they do not.

        An escalation is logged as a warning and written to the audit trail, in the transaction of the messages.
        """
        last = stored[-1].seq
        if last // self._every == (stored[0].seq - 1) // self._every:
            return None
        upto = last - last % self._every
        messages = await self._conversations.last(tx, scope, session, upto=upto, limit=self._every)
        verdict = await asyncio.to_thread(check_messages, messages)  # they may be long, and others are served meanwhile
        if verdict.escalation_needed:
            log.warning("%s: tenant %s, session %s: %s", ESCALATION, scope.tenant, session, verdict)
            detail = {"upto": upto, "violations": dict(verdict.violations), "attempts": verdict.attempts}
            await self._audit.record(tx, scope, ESCALATION, session, Outcome.FAILED, detail)
        return verdict
