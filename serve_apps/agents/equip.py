"""What skills stand on in this process, put together from settings: documents, secrets, a sandbox, the trail."""

from collections.abc import Mapping
from typing import Any

from cluster.basics.errors import Unavailable
from cluster.state.audit import Audit, Outcome
from cluster.state.postgres import Database
from configs.sections import Settings
from serve_apps.agents.knowledge import Knowledge
from serve_apps.retrieval.search import Search
from skills.catalog import Catalog
from skills.contract import Call
from skills.fence import Called, Fence, NotPermitted
from skills.ground import CredentialMissing, Ground, ScriptOutcome, Secret
from skills.http.tool import resolve
from skills.manifest import Manifest
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


class NoCredentials:
    """`Credentials` where no vault is connected."""

    async def open(self, call: Call, manifest: Manifest) -> Secret:
        """See `Credentials`."""
        raise CredentialMissing(f"{manifest.name} needs a credential of type {manifest.credential}")


class NoScripts:
    """`Scripts` where there is no sandbox: nothing runs outside of one."""

    async def run(self, source: str, payload: Mapping[str, Any], *, seconds: float | None = None) -> ScriptOutcome:
        """See `Scripts`."""
        raise Unavailable("there is no sandbox here, and no script runs without one")


def fence(settings: Settings, database: Database, audit: Audit, search: Search) -> Fence:
    """The fence that all skills of this process are behind."""
    ground = Ground(
        settings.skills, NoCredentials(), Knowledge(search), NoScripts(), resolve, settings.agents.http_allow
    )
    return Fence(ground, AuditTrail(database, audit))


def base_tools(around: Fence) -> Catalog:
    """What every agent has; delegation is bound to each turn."""
    return Catalog(around.around(named(name)) for name in BASE if name != "delegate")
