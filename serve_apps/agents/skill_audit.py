"""Records the calls of skills in the append-only audit log."""

from cluster.state.audit import AuditLog, Outcome
from cluster.state.db.postgres import Database
from skills.framework.contract import ToolInvocation
from skills.framework.skill_guard import CallRecord, NotPermitted


class SkillCallAudit:
    """A `CallAudit` that writes to the append-only log."""

    def __init__(self, database: Database, audit: AuditLog) -> None:
        """Each call is a transaction of its own."""
        self._db, self._audit = database, audit

    async def called(self, call: ToolInvocation, what: CallRecord) -> None:
        """See `CallAudit`."""
        skill, outcome = what.manifest, Outcome.FAILED
        if what.code in ("ok", NotPermitted.code):
            outcome = Outcome.DONE if what.code == "ok" else Outcome.DENIED
        detail = {"skill": skill.name, "kind": str(skill.kind), "version": skill.version, "agent": call.agent}
        detail |= {"code": what.code, "ms": what.ms}
        async with self._db.transaction(call.scope) as tx:
            await self._audit.record(tx, call.scope, "skill.call", skill.name, outcome, detail)
