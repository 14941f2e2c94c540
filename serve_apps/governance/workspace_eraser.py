"""A workspace or a tenant goes with all that belongs to it: rows, uploaded bytes, what Redis remembers."""

import asyncio
import logging
from dataclasses import dataclass
from pathlib import Path

from redis.asyncio import Redis

from cluster.basics.errors import Conflict, NotFound
from cluster.basics.redis_link import RedisAway
from cluster.basics.scope import Scope, TenantId, WorkspaceId
from cluster.state.audit import AuditLog
from cluster.state.db.postgres import Database, Transaction, load_queries
from pipelines.documents.store.blobs import BlobStore
from serve_apps.governance.redis_places import RedisPlaces

log = logging.getLogger("aos.http")

# In this order: what no foreign key leads to first, then what a cascade would delete row by row.
# Webhooks first: without them nothing of what follows is announced.
_STEPS = ("webhooks", "events", "event_streams", "outbox", "vectors", "documents", "freed_blobs")


class StillWorking(Conflict):
    """Jobs or runs of this workspace have not ended."""

    code = "workspace_busy"
    fix = "Cancel its jobs (aos jobs cancel ID) and runs, or wait until they have ended."


class HasTenants(Conflict):
    """Tenants were made below this one."""

    code = "tenant_has_children"
    fix = "An administrator of that tenant deletes those first."


@dataclass(frozen=True, slots=True)
class WorkspaceInventory:
    """Counts of a workspace's contents."""

    id: str
    name: str
    documents: int
    pages: int
    chunks: int
    agents: int
    conversations: int
    open_jobs: int
    open_runs: int


class DataEraser:
    """Deletes for good. What is interrupted is done again with the same call; the audit trail is never part of it."""

    def __init__(self, database: Database, blobs: BlobStore, redis: Redis | None) -> None:
        """Queries are read from workspace_eraser.sql beside this file; without `redis` nothing is remembered there."""
        self._db, self._blobs, self._remembered = database, blobs, RedisPlaces(redis)
        self._sql, self._audit = load_queries(Path(__file__).with_suffix(".sql")), AuditLog(database)

    async def contents(self, scope: Scope, workspace: str) -> WorkspaceInventory:
        """Count the contents of a workspace of the scope's tenant, whoever may read them.

        Raises NotFound: no such workspace in this tenant.
        """
        inside = Scope.of_worker(scope.tenant, WorkspaceId(workspace))
        async with self._db.transaction(inside) as tx:
            row = await tx.one(self._sql["workspace"], workspace=workspace, tenant=scope.tenant)
        if row is None:
            raise NotFound(f"workspace {workspace}")
        return WorkspaceInventory(**{**row, "id": str(row["id"])})

    async def below(self, scope: Scope, tenant: str) -> tuple[str, list[WorkspaceInventory]]:
        """The name of a tenant that was made below the scope's, and what its workspaces hold.

        Raises:
            NotFound: no such tenant below this one.
            HasTenants: there are tenants below that one.
        """
        async with self._db.transaction(scope) as tx:
            child = await tx.one(self._sql["child"], child=tenant, tenant=scope.tenant)
        if child is None:
            raise NotFound(f"tenant {tenant}")
        inside = Scope(TenantId(tenant), scope.workspace)
        async with self._db.transaction(inside) as tx:
            below = await tx.one(self._sql["grandchildren"], tenant=tenant)
            rows = await tx.all(self._sql["workspaces"], tenant=tenant)
        if below and below["total"]:
            raise HasTenants(f"{below['total']} tenants are below {child['name']}")
        return str(child["name"]), [await self.contents(inside, str(row["id"])) for row in rows]

    async def erase_workspace(self, scope: Scope, contents: WorkspaceInventory) -> None:
        """Delete one workspace of the scope's tenant, and record it.

        Raises:
            StillWorking: jobs or runs have not ended.
            LegalHold: it is held, or something in it.
        """
        _require_idle([contents])
        async with self._db.transaction(_inside(scope.tenant, contents.id)) as tx:
            await self._delete_workspace(tx, scope.tenant, contents)
            detail = _audit_counts([contents])
            await self._audit.record(tx, scope, "workspace.delete", contents.id, detail=detail)
        await self.forget(scope.tenant, contents.id)

    async def erase_tenant(self, scope: Scope, tenant: str, name: str, workspaces: list[WorkspaceInventory]) -> None:
        """Delete a tenant below the scope's, workspace by workspace, then its people; recorded in the scope's trail.

        Raises:
            StillWorking: jobs or runs have not ended; nothing was deleted yet.
            LegalHold: something of it is held; where the hold is new, workspaces may have gone before.
        """
        _require_idle(workspaces)
        for contents in workspaces:
            async with self._db.transaction(_inside(tenant, contents.id)) as tx:
                await self._require_nothing_held(tx, tenant)
                await self._delete_workspace(tx, tenant, contents)
            await self.forget(tenant, contents.id)
        async with self._db.transaction(Scope(TenantId(tenant), WorkspaceId(tenant))) as tx:
            await self._require_nothing_held(tx, tenant)
            await tx.run(self._sql["delete_tenant"], tenant=tenant)
            await tx.one(self._sql["return_to"], **scope.keys)
            detail = {"name": name, **_audit_counts(workspaces)}
            await self._audit.record(tx, scope, "tenant.delete", tenant, detail=detail)

    async def _delete_workspace(self, tx: Transaction, tenant: str, contents: WorkspaceInventory) -> None:
        named = {"workspace": contents.id}
        await tx.one(self._sql["wait_for_holds"], tenant=tenant)
        await tx.one(self._sql["lock"], **named, tenant=tenant)
        await tx.run(self._sql["refuse_held"], **named, tenant=tenant)
        for step in _STEPS:
            await tx.run(self._sql[step], **named)
        await tx.run(self._sql["delete_workspace"], **named, tenant=tenant)
        # Before the rows are gone for good: where bytes stay, or the call dies, the same call begins again.
        await asyncio.to_thread(self._blobs.erase, tenant, contents.id)

    async def _require_nothing_held(self, tx: Transaction, tenant: str) -> None:
        await tx.one(self._sql["wait_for_holds"], tenant=tenant)
        await tx.run(self._sql["refuse_held_tenant"], tenant=tenant)

    async def forget(self, tenant: str, workspace: str) -> None:
        """Delete the Redis keys; where Redis is away they expire by themselves within hours."""
        try:
            await self._remembered.forget(tenant, workspace)
        except RedisAway as error:
            log.warning("workspace %s is gone; what Redis remembers of it expires by itself: %s", workspace, error)


def _inside(tenant: str, workspace: str) -> Scope:
    return Scope.of_worker(TenantId(tenant), WorkspaceId(workspace))


def _require_idle(workspaces: list[WorkspaceInventory]) -> None:
    for contents in workspaces:
        if contents.open_jobs or contents.open_runs:
            raise StillWorking(f"{contents.name}: {contents.open_jobs} jobs, {contents.open_runs} runs")


def _audit_counts(workspaces: list[WorkspaceInventory]) -> dict[str, object]:
    names = [one.name for one in workspaces]
    return {"workspaces": names[:100], "documents": sum(one.documents for one in workspaces)}
