"""Wiring of skills in this process, built from settings: documents, secrets, a sandbox, the audit trail."""

from cluster.basics.addresses import resolve
from cluster.state.audit import Audit, Outcome
from cluster.state.db.postgres import Database
from configs.sections import Settings
from pipelines.documents.graph.browse import KnowledgeGraph
from pipelines.documents.graph.lexicon import Lexicon
from serve_apps.agents.turn.graph_context import GraphEntities
from serve_apps.agents.turn.knowledge import Knowledge, Searches
from skills.framework.builtin import BASE, named
from skills.framework.catalogue import Catalog
from skills.framework.contract import Call
from skills.framework.dependencies import Credentials, Ground, Scripts
from skills.framework.manifest import Kind
from skills.framework.skill_guard import Called, Fence, NotPermitted


class AuditTrail:
    """A `Trail` in the append-only one."""

    def __init__(self, database: Database, audit: Audit) -> None:
        """Each call is a transaction of its own."""
        self._db, self._audit = database, audit

    async def called(self, call: Call, what: Called) -> None:
        """See `Trail`."""
        skill, outcome = what.manifest, Outcome.FAILED
        if what.code in ("ok", NotPermitted.code):
            outcome = Outcome.DONE if what.code == "ok" else Outcome.DENIED
        detail = {
            "skill": skill.name,
            "kind": str(skill.kind),
            "version": skill.version,
            "code": what.code,
            "ms": what.ms,
            "agent": call.agent,
        }
        async with self._db.transaction(call.scope) as tx:
            await self._audit.record(tx, call.scope, "skill.call", skill.name, outcome, detail)


def fence(
    settings: Settings, database: Database, audit: Audit, search: Searches, credentials: Credentials, scripts: Scripts
) -> Fence:
    """The fence that all skills of this process are behind."""
    entities = GraphEntities(KnowledgeGraph(database, Lexicon.shipped()))
    ground = Ground(
        settings.skills, credentials, Knowledge(search), scripts, resolve, settings.agents.http_allow, entities=entities
    )
    return Fence(ground, AuditTrail(database, audit))


def base_tools(around: Fence) -> Catalog:
    """Base tools of every agent; delegation is bound to each turn."""
    found = map(named, BASE)
    return Catalog(around.around(one) for one in found if one.kind is not Kind.DELEGATE)
