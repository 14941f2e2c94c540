"""Retention: what is older than its class is kept for goes in batches, never what is held."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from cluster.basics.errors import LegalHold
from cluster.basics.scope import Scope, TenantId, WorkspaceId
from cluster.state.audit import AuditLog
from cluster.state.corpus import lock_corpus, mark_corpus_changed
from cluster.state.db.postgres import Database, Row, Transaction, load_queries
from configs.sections_retention import RetentionSettings
from pipelines.documents.store.blobs import BlobStore, Location
from pipelines.documents.store.members import MemberDocuments
from serve_apps.governance.tenant_turns import TenantTurns

log = logging.getLogger("aos.retention")

BATCH: Final = 200
LOOK_SECONDS: Final = 60.0
FREED_FOR: Final = timedelta(hours=1)  # who brings the same bytes at this moment has its row by then


class RetentionClass(StrEnum):
    """What has a period of its own."""

    DOCUMENTS = "documents"
    VERSIONS = "versions"
    PAGES = "pages"  # what their reading has kept beside them
    ANSWERS = "answers"
    CONVERSATIONS = "conversations"
    MESSAGES = "messages"
    MEMORY = "memory"
    RUNS = "runs"
    JOURNALS = "journals"
    TRACES = "traces"
    AUDIT = "audit"


@dataclass(frozen=True, slots=True)
class RetentionPeriod:
    """How long a class is kept, None for good, and what says so: `workspace`, `tenant` or `default`."""

    days: int | None
    source: str


@dataclass(frozen=True, slots=True)
class RetentionCount:
    """What of a class is older than its period: due, held, and deleted. The audit trail is of no workspace."""

    kind: RetentionClass
    workspace: str | None
    days: int
    due: int
    held: int
    deleted: int


class RetentionRules:
    """Rules as data: a workspace's own before its tenant's, and those before the settings."""

    def __init__(self, database: Database, settings: RetentionSettings) -> None:
        """Queries are read from retention.sql beside this file."""
        self._db, self._settings, self._sql = database, settings, load_queries(Path(__file__).with_suffix(".sql"))

    async def periods(self, scope: Scope, workspace: str | None) -> dict[RetentionClass, RetentionPeriod]:
        """Every class, as a workspace keeps it, or with None as the tenant does."""
        given = {kind: RetentionPeriod(getattr(self._settings, f"{kind}_days"), "default") for kind in RetentionClass}
        rows = await self._db.read(scope, self._sql["rules"], tenant=scope.tenant)
        for row in rows:  # the tenant's come first
            its = None if row["workspace_id"] is None else str(row["workspace_id"])
            if its is None or its == workspace:
                given[RetentionClass(row["class"])] = RetentionPeriod(row["days"], "workspace" if its else "tenant")
        return given

    async def set(
        self, tx: Transaction, scope: Scope, workspace: str | None, kind: RetentionClass, days: int | None
    ) -> None:
        """A rule; None keeps for good, whatever stands above. Raises NotFound: no such workspace."""
        named = {"tenant": scope.tenant, "workspace": workspace}
        if workspace is not None:
            await tx.required(f"workspace {workspace}", self._sql["workspace"], **named)
        await tx.run(self._sql["set_rule"], **named, **{"class": kind}, days=days, user=scope.user)

    async def drop(self, tx: Transaction, scope: Scope, workspace: str | None, kind: RetentionClass) -> None:
        """No rule any more: what stands above it counts."""
        await tx.run(self._sql["drop_rule"], tenant=scope.tenant, workspace=workspace, **{"class": kind})

    async def above(self, scope: Scope, workspace: str | None, kind: RetentionClass) -> int | None:
        """For how many days a class is kept by what stands above a rule of the workspace, or with None the tenant."""
        if workspace is None:
            days: int | None = getattr(self._settings, f"{kind}_days")
            return days
        return (await self.periods(scope, None))[kind].days


class RetentionProcess(TenantTurns):
    """Deletes what is due, one tenant at a time; of all replicas one takes a tenant."""

    def __init__(
        self,
        database: Database,
        rules: RetentionRules,
        blobs: BlobStore,
        clock: Callable[[], datetime],
        every: timedelta,
    ) -> None:
        """`clock` gives the moment, with a time zone; `every` is the time between two turns of a tenant."""
        super().__init__(log, LOOK_SECONDS)
        self._db, self._rules, self._blobs, self._clock, self._every = database, rules, blobs, clock, every
        self._sql, self._audit = load_queries(Path(__file__).with_suffix(".sql")), AuditLog(database)
        self._members = MemberDocuments()

    async def turn(self) -> str | None:
        """See `TenantTurns`; a batch that is not done is not deleted."""
        async with self._db.transaction() as tx:
            row = await tx.only(self._sql["claim"], now=self._clock(), every=self._every)
        if row["tenant"] is None:
            return None
        tenant = TenantId(row["tenant"])
        await self.run(Scope(tenant, WorkspaceId(tenant)))
        return str(tenant)

    async def run(self, scope: Scope, *, dry_run: bool = False) -> list[RetentionCount]:
        """Delete what is due in the scope's tenant, or only count it. The trail says what went, by class."""
        rows = await self._db.read(scope, self._sql["workspaces"], tenant=scope.tenant)
        counts = []
        for row in rows:
            inside = Scope.of_worker(scope.tenant, WorkspaceId(row["id"]))
            periods = await self._rules.periods(scope, row["id"])
            for kind in RetentionClass:
                if kind is not RetentionClass.AUDIT and (days := periods[kind].days) is not None:
                    counts.append(await self._one_class(inside, scope, kind, days, dry_run=dry_run))
            if not dry_run:
                await self._sweep_freed(inside)
        days = (await self._rules.periods(scope, None))[RetentionClass.AUDIT].days
        if days is not None:
            counts.append(await self._prune_audit_log(scope, days, dry_run=dry_run))
        return counts

    async def preview(
        self, scope: Scope, workspace: str | None, kind: RetentionClass, days: int | None
    ) -> list[RetentionCount]:
        """What of a class would be due at once under a rule of the workspace, or with None of the tenant.

        Workspaces that have a rule of their own follow no rule of the tenant. None is to keep for good: nothing is due.
        """
        if days is None:
            return []
        if kind is RetentionClass.AUDIT:
            return [await self._prune_audit_log(scope, days, dry_run=True)]
        counts = []
        for row in await self._db.read(scope, self._sql["workspaces"], tenant=scope.tenant):
            own = (await self._rules.periods(scope, row["id"]))[kind].source == "workspace"
            if row["id"] == workspace or (workspace is None and not own):
                inside = Scope.of_worker(scope.tenant, WorkspaceId(row["id"]))
                counts.append(await self._one_class(inside, scope, kind, days, dry_run=True))
        return counts

    async def _one_class(
        self, inside: Scope, scope: Scope, kind: RetentionClass, days: int, *, dry_run: bool
    ) -> RetentionCount:
        before = self._clock() - timedelta(days=days)
        named = {**inside.keys, "before": before}
        (found,) = await self._db.read(inside, self._counted(kind), **named)
        if kind is RetentionClass.PAGES:
            found = await self._with_staging(inside, found, before, dry_run=dry_run)
        deleted = 0 if dry_run or not found["due"] else await self._delete(inside, kind, named)
        if kind is RetentionClass.PAGES and not dry_run:
            deleted += found["staged"]
        if deleted:
            async with self._db.transaction(inside) as tx:
                detail = {"class": kind, "days": days, "deleted": deleted}
                await self._audit.record(tx, scope, "retention.delete", inside.workspace, detail=detail)
        return RetentionCount(kind, inside.workspace, days, found["due"], found["held"], deleted)

    def _counted(self, kind: RetentionClass) -> str:
        counts = "count(*) filter (where not a.held) as due, count(*) filter (where a.held) as held"
        return f"select {counts} {self._aged(kind)}"

    def _due(self, kind: RetentionClass) -> str:
        keys = _KEYS.get(kind, "id")
        return f"select {keys} {self._aged(kind)} where not a.held order by a.at, {keys} limit %(most)s"

    def _aged(self, kind: RetentionClass) -> str:
        """What of a class is old enough: the same is counted, and deleted in batches."""
        return f"from (\n{self._sql[f'aged_{kind}'].removesuffix(';')}\n) a"

    async def _with_staging(self, inside: Scope, found: Row, before: datetime, *, dry_run: bool) -> Row:
        """With staging folders that killed workers have left; any hold in the workspace keeps them all."""
        place = (inside.tenant, inside.workspace, before.timestamp())
        folders = await asyncio.to_thread(self._blobs.staged_before, *place)
        async with self._db.transaction(inside) as tx:
            await tx.one(self._sql["wait_for_holds"], tenant=inside.tenant)
            if (await tx.only(self._sql["any_held"], **inside.keys))["held"]:
                return {**found, "held": found["held"] + len(folders), "staged": 0}
            for folder in [] if dry_run else folders:
                await asyncio.to_thread(self._blobs.discard, folder)
        return {**found, "due": found["due"] + len(folders), "staged": len(folders)}

    async def _delete(self, inside: Scope, kind: RetentionClass, named: Mapping[str, Any]) -> int:
        deleted, refused = 0, set[str]()
        while True:
            named = {**named, "most": BATCH + len(refused)}
            rows = await self._db.read(inside, self._due(kind), **named)
            rows = [row for row in rows if _key_of(row) not in refused]
            if not rows:
                return deleted
            # Documents one by one: each takes its members along.
            batches = [[row] for row in rows] if kind is RetentionClass.DOCUMENTS else [rows]
            while batches:
                batch = batches.pop()
                try:
                    deleted += await self._delete_rows(inside, kind, batch, named)
                except LegalHold:  # of something that goes with one of them
                    if len(batch) > 1:
                        batches += [[row] for row in batch]
                    else:
                        refused.add(_key_of(batch[0]))

    async def _delete_rows(self, inside: Scope, kind: RetentionClass, rows: list[Row], asked: Mapping[str, Any]) -> int:
        if kind is RetentionClass.DOCUMENTS:
            for row in rows:
                await self._delete_document(inside, row["id"])
            return len(rows)
        query, named = self._sql[f"delete_{kind}"], {"workspace": inside.workspace}
        async with self._db.transaction(inside) as tx:
            await tx.one(self._sql["wait_for_holds"], tenant=inside.tenant)
            if kind in _RENEWED:  # no wall stands around what leaves a row: what is held by now is looked up again
                free = {_key_of(row) for row in await tx.all(self._due(kind), **asked)}
                rows = [row for row in rows if _key_of(row) in free]
                await tx.only(query, **_keys_of(kind, rows), **named)
                return len(rows)
            if kind is not RetentionClass.VERSIONS:
                return await tx.run(query, **_keys_of(kind, rows), **named)
            await lock_corpus(tx, inside)
            gone = [row["location"] for row in await tx.all(query, **_keys_of(kind, rows), **named)]
            used = await tx.all(self._sql["locations_in_use"], **named, locations=gone)
        await self._delete_bytes({*gone} - {row["location"] for row in used})
        return len(gone)

    async def _delete_document(self, inside: Scope, document: str) -> None:
        async with self._db.transaction(inside) as tx:
            await lock_corpus(tx, inside)
            locations = await self._members.delete(tx, inside, await self._members.family(tx, inside, [document]))
            await mark_corpus_changed(tx, inside)
        await self._delete_bytes(set(locations))

    async def _delete_bytes(self, locations: set[str]) -> None:
        for location in sorted(locations):
            await asyncio.to_thread(self._blobs.delete, Location(location))

    async def _sweep_freed(self, inside: Scope) -> None:
        """Delete files whose rows went without them, as whoever deleted those was killed.

        A row of the list goes after its file: cut off anywhere, the next turn does it again.
        """
        rows: list[Row] | None = None
        while rows is None or len(rows) == BATCH:
            async with self._db.transaction(inside) as tx:
                await lock_corpus(tx, inside)
                named = {**inside.keys, "before": self._clock() - FREED_FOR, "most": BATCH}
                rows = await tx.all(self._sql["freed_blobs"], **named)
                await self._delete_bytes({row["location"] for row in rows if not row["used"]})
                await tx.run(self._sql["forget_freed"], **inside.keys, locations=[row["location"] for row in rows])

    async def _prune_audit_log(self, scope: Scope, days: int, *, dry_run: bool) -> RetentionCount:
        before = self._clock() - timedelta(days=days)
        (found,) = await self._db.read(scope, self._sql["count_audit"], tenant=scope.tenant, before=before)
        deleted = 0
        while not dry_run and deleted < found["due"]:
            async with self._db.transaction(scope) as tx:
                named = {"before": before, "most": BATCH * 10, "actor": scope.user or "worker"}
                went = int((await tx.only(self._sql["prune_audit"], **named))["went"])
            deleted += went
            if not went:  # an older entry is younger by its clock: it ends the row that may go
                break
        return RetentionCount(RetentionClass.AUDIT, None, days, found["due"], found["held"], deleted)


_KEYS: Final = {RetentionClass.MESSAGES: "session_id, seq", RetentionClass.MEMORY: "kind, id"}  # columns; else `id`
# What is deleted of a row leaves the row: how many of them were due is what counts.
_RENEWED = frozenset({RetentionClass.JOURNALS, RetentionClass.PAGES, RetentionClass.MEMORY, RetentionClass.TRACES})


def _keys_of(kind: RetentionClass, rows: list[Row]) -> dict[str, list[Any]]:
    """What a class's query of deletion takes."""
    if kind is RetentionClass.MESSAGES:
        return {"ids": [row["session_id"] for row in rows], "seqs": [row["seq"] for row in rows]}
    if kind is RetentionClass.MEMORY:
        return {"ids": [row["id"] for row in rows], "kinds": [row["kind"] for row in rows]}
    return {"ids": [row["id"] for row in rows]}


def _key_of(row: Row) -> str:
    return ":".join(str(value) for value in row.values())
