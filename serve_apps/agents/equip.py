"""What skills stand on in this process, put together from settings: documents, secrets, a sandbox, the trail."""

from cluster.basics.addresses import resolve
from cluster.state.audit import Audit, Outcome
from cluster.state.postgres import Database
from configs.sections import Settings
from pipelines.documents.graph.browse import KnowledgeGraph
from pipelines.documents.graph.lexicon import Lexicon
from serve_apps.agents.graph import GraphEntities
from serve_apps.agents.knowledge import Knowledge, Searches
from skills.catalog import Catalog
from skills.contract import Call
from skills.fence import Called, Fence, NotPermitted
from skills.ground import Credentials, Ground, Scripts
from skills.manifest import Kind
from skills.shelf import BASE, named


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
            "skill": skill.name, "kind": str(skill.kind), "version": skill.version, "code": what.code, "ms": what.ms,
            "agent": call.agent,
        }  # fmt: skip
        async with self._db.transaction(call.scope) as tx:
            await self._audit.record(tx, call.scope, "skill.call", skill.name, outcome, detail)


def fence(
    settings: Settings, database: Database, audit: Audit, search: Searches, credentials: Credentials, scripts: Scripts
) -> Fence:
    """The fence that all skills of this process are behind."""
    entities = GraphEntities(KnowledgeGraph(database, Lexicon.shipped()))
    ground = Ground(
        settings.skills, credentials, Knowledge(search), scripts, resolve, settings.agents.http_allow,
        entities=entities,
    )  # fmt: skip
    return Fence(ground, AuditTrail(database, audit))


def base_tools(around: Fence) -> Catalog:
    """What every agent has; delegation and questions are bound to each turn."""
    found = map(named, BASE)
    return Catalog(around.around(one) for one in found if one.kind is not Kind.DELEGATE)
