"""Sources as rows: what people define, what is known of their items, and what waits for a person."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal

from psycopg.types.json import Jsonb

from cluster.basics.errors import LegalHold, NotFound
from cluster.basics.scope import Scope
from cluster.state.db.postgres import Row, SqlStore, Transaction, field_values, unique_or_conflict
from pipelines.documents.sources.item_rights import ReaderRules
from pipelines.documents.sources.source_port import ItemRights
from pipelines.documents.sources.sync_plan import KnownItem, SyncPlan, WaitReason

ItemFilter = Literal["all", "failed", "gone", "waiting"]
SAMPLE: Final = 20  # paths that are shown of removals that wait
SYNC: Final = "sync"
"""The kind of a sync's job."""


@dataclass(frozen=True, slots=True)
class NewSource:
    """A source as somebody defines it; see the table."""

    name: str
    kind: str
    settings: Mapping[str, Any]
    has_rights: bool
    credential: str | None = None
    readers: Sequence[str] = ()
    group_names: Mapping[str, str] = field(default_factory=dict)
    every_minutes: int | None = None
    max_removed_percent: int = 20
    erase_after_days: int | None = None
    stale_after_hours: int = 72
    enabled: bool = True
    watch: bool = False
    tags: Sequence[str] = ()
    agent_id: str | None = None


@dataclass(frozen=True, slots=True)
class SourceDefinition:
    """What a sync needs of a source."""

    id: str
    name: str
    kind: str
    settings: Mapping[str, Any]
    credential: str | None
    readers: tuple[str, ...]
    group_names: Mapping[str, str]
    has_rights: bool
    max_removed_percent: int
    erase_after_days: int | None
    cursor: str | None
    job: str | None
    tags: tuple[str, ...] = ()
    agent_id: str | None = None
    waited_for: WaitReason | None = None

    @property
    def prefix(self) -> str:
        """What origins of its documents begin with: nothing else is ever hidden or deleted by its syncs."""
        return f"source:{self.id}/"


@dataclass(frozen=True, slots=True)
class KnownItems:
    """All of a source, and which of them wait for a person since when."""

    items: Sequence[KnownItem]
    awaiting: Mapping[str, datetime]


class SourceStore(SqlStore, queries="source_store.sql"):
    """One workspace's, but for `due` and `stale`, which tell ids across tenants."""

    async def add(self, tx: Transaction, scope: Scope, new: NewSource) -> str:
        """Store it and return its id; the first sync is due at once where it has a schedule. Raises Conflict."""
        values = field_values(new) | {"readers": list(new.readers), "tags": list(new.tags)}
        values |= {"settings": Jsonb(dict(new.settings)), "group_names": Jsonb(dict(new.group_names))}
        with unique_or_conflict(f"there is a source {new.name!r} already"):
            row = await tx.only(self._sql["add"], **scope.keys, **values, user=scope.user)
        return str(row["id"])

    async def page(
        self, scope: Scope, *, kind: str | None = None, skip: int = 0, limit: int = 100
    ) -> tuple[list[Row], int]:
        """Sources by name, all or those of a kind, and how many there are."""
        async with self._db.transaction(scope) as tx:
            named = {"workspace": scope.workspace, "source": None, "kind": kind}
            return await tx.page(self._sql["list"], self._sql["count"], **named, skip=skip, limit=limit)

    async def folders(self, tx: Transaction, scope: Scope, kind: str) -> list[Row]:
        """What sources of a kind with paths were added with."""
        return await tx.all(self._sql["folders"], workspace=scope.workspace, kind=kind)

    async def lock_paths(self, tx: Transaction, scope: Scope) -> None:
        """Nobody else registers a path in this workspace until the transaction ends."""
        await tx.run(self._sql["lock_paths"], workspace=str(scope.workspace))

    async def show(self, scope: Scope, source: str) -> Row:
        """One by its id or its name. Raises NotFound."""
        named = {"workspace": scope.workspace, "source": source, "kind": None}
        rows = await self._db.read(scope, self._sql["list"], **named, skip=0, limit=1)
        if not rows:
            raise NotFound(f"source {source}")
        return rows[0]

    async def remove_if_empty(self, tx: Transaction, scope: Scope, source: str, *, gone_only: bool = False) -> None:
        """End of a removal with all documents: a source of which something is held stays, with the reason.

        `gone_only`: with those alone that had left it; the others stay.
        """
        named = {"source": source, "workspace": scope.workspace}
        left = int((await tx.only(self._sql["count_gone" if gone_only else "count_left"], **named))["total"])
        if not left:
            await tx.run(self._sql["remove"], **named)
            return
        why = {"code": "legal_hold", "detail": f"{left} documents are held", "fix": LegalHold.fix}
        await tx.run(self._sql["set_error"], **named, error=Jsonb(why))

    async def items(
        self, scope: Scope, source: str, only: ItemFilter, *, skip: int, limit: int, q: str | None = None
    ) -> tuple[list[Row], int]:
        """A page of what is remembered of its items, by path, and how many there are; `q` is a part of the path."""
        named = {"workspace": scope.workspace, "source": source, "only": only, "q": q or None}
        async with self._db.transaction(scope) as tx:
            return await tx.page(self._sql["items"], self._sql["count_items"], **named, skip=skip, limit=limit)

    async def lock(self, tx: Transaction, scope: Scope, source: str) -> Row:
        """One by its id or its name, until the transaction ends; `busy` while a sync is under way. Raises NotFound."""
        named = {"workspace": scope.workspace, "source": source}
        return await tx.required(f"source {source}", self._sql["lock"], **named)

    async def set_job(self, tx: Transaction, scope: Scope, source: str, job: str, *, whole: bool = True) -> None:
        """The sync that counts from now on: an older one that is resumed changes nothing. A dry run is not `whole`."""
        await tx.run(self._sql["set_job"], source=source, workspace=scope.workspace, job=job, whole=whole)

    async def set_pass(self, tx: Transaction, scope: Scope, source: str, job: str) -> None:
        """The rights pass that counts from now on."""
        await tx.run(self._sql["set_pass"], source=source, workspace=scope.workspace, job=job)

    async def ask(self, tx: Transaction, scope: Scope, source: str, job: str) -> None:
        """A person was answered with a `job` that may have listed already what has changed: another sync follows."""
        await tx.run(self._sql["ask"], source=source, workspace=scope.workspace, job=job)

    async def begin_listing(self, tx: Transaction, scope: Scope, source: str, job: str) -> None:
        """Whoever asked until now is answered by the listing of `job`, if that counts."""
        await tx.run(self._sql["begin_listing"], source=source, workspace=scope.workspace, job=job)

    async def disable(self, tx: Transaction, scope: Scope, source: str) -> None:
        """No sync begins by itself any more."""
        await tx.run(self._sql["disable"], source=source, workspace=scope.workspace)

    async def enable(self, tx: Transaction, scope: Scope, source: str) -> None:
        """Syncs begin by themselves again, the first one now."""
        await tx.run(self._sql["enable"], source=source, workspace=scope.workspace)

    async def change(self, tx: Transaction, scope: Scope, source: str, values: Mapping[str, Any]) -> None:
        """Set some of its columns; its next sync is due at once where it has a period. Raises Conflict: its name."""
        named = {"source": source, "workspace": scope.workspace}
        wanted = {**await tx.only(self._sql["editable"], **named), **values}
        wanted |= {name: Jsonb(dict(wanted[name])) for name in ("settings", "group_names")}
        with unique_or_conflict(f"there is a source {wanted['name']!r} already"):
            await tx.run(self._sql["change"], **named, **wanted | {"readers": list(wanted["readers"])})

    async def decline(self, tx: Transaction, scope: Scope, source: str) -> None:
        """Removals wait no longer."""
        await tx.run(self._sql["decline"], source=source, workspace=scope.workspace)

    async def remove(self, tx: Transaction, scope: Scope, source: str) -> None:
        """Forget a source and its items; documents are not touched."""
        await tx.run(self._sql["remove"], source=source, workspace=scope.workspace)

    async def definition(self, scope: Scope, source: str) -> SourceDefinition:
        """Raises NotFound: it was removed."""
        rows = await self._db.read(scope, self._sql["definition"], source=source, workspace=scope.workspace)
        if not rows:
            raise NotFound(f"source {source}")
        (row,) = rows
        job, waits = row.pop("job_id"), row.pop("waits")
        waited_for = None if waits is None else WaitReason(waits)
        lists = {"readers": tuple(row["readers"]), "tags": tuple(row["tags"])}
        return SourceDefinition(**row | lists, job=job, waited_for=waited_for)

    async def known(self, scope: Scope, source: str) -> KnownItems:
        """All that is known of its items."""
        rows = await self._db.read(scope, self._sql["known"], source=source, workspace=scope.workspace)
        awaiting = {row["item_id"]: row["awaiting_since"] for row in rows if row["awaiting_since"] is not None}
        return KnownItems([_known_item(row) for row in rows], awaiting)

    async def rules(self, scope: Scope, source: SourceDefinition) -> ReaderRules:
        """How its rights become readers, with the people and groups of now."""
        return await self.reader_rules(scope, source.has_rights, source.readers, source.group_names)

    async def reader_rules(
        self, scope: Scope, has_rights: bool, readers: Sequence[str], group_names: Mapping[str, str]
    ) -> ReaderRules:
        """The same of a source that may not be defined yet."""
        if not has_rights:
            return ReaderRules(readers=tuple(readers))
        async with self._db.transaction(scope) as tx:
            people = await tx.all(self._sql["people"], tenant=scope.tenant)
            groups = await tx.all(self._sql["groups"], tenant=scope.tenant)
        names = frozenset(row["email"] for row in people), frozenset(row["name"].lower() for row in groups)
        return ReaderRules(True, tuple(readers), *names, group_names)

    async def rights(self, scope: Scope, source: str) -> list[tuple[ItemRights | None, int]]:
        """Rights of its items that are here, and how many items have them."""
        rows = await self._db.read(scope, self._sql["rights"], source=source, workspace=scope.workspace)
        return [(rights_from_json(row["rights"]), int(row["items"])) for row in rows]

    async def drop_units(self, tx: Transaction, scope: Scope, job: str) -> None:
        """Forget the units of a plan that was not written to its end."""
        await tx.run(self._sql["drop_units"], job=job, workspace=scope.workspace)

    async def set_waiting(
        self, tx: Transaction, scope: Scope, source: str, plan: SyncPlan, told: Mapping[str, Any], *, whole: bool = True
    ) -> None:
        """Keep what a plan came to, and which removals wait for a person; of one that is not `whole` only those."""
        named = {"source": source, "workspace": scope.workspace}
        waiting = None
        if plan.waiting:
            paths = sorted(one.path for one in plan.waiting)[:SAMPLE]
            waiting = {"reason": plan.reason, "removals": len(plan.waiting), "paths": paths, "job": told["job"]}
        await tx.run(self._sql["hold"], **named)
        await tx.run(self._sql["await"], **named, items=[one.id for one in plan.waiting])
        values = {"waiting": None if waiting is None else Jsonb(waiting), "plan": Jsonb(dict(told)) if whole else None}
        await tx.run(self._sql["set_waiting"], **named, **values)

    async def set_last_plan(self, tx: Transaction, scope: Scope, source: str, told: Mapping[str, Any]) -> None:
        """Keep what a dry run came to."""
        await tx.run(self._sql["set_last_plan"], source=source, workspace=scope.workspace, plan=Jsonb(dict(told)))

    async def set_error(self, scope: Scope, source: str, error: Mapping[str, Any]) -> None:
        """Why a sync could not be done."""
        async with self._db.transaction(scope) as tx:
            await tx.run(self._sql["set_error"], source=source, workspace=scope.workspace, error=Jsonb(dict(error)))

    async def close(
        self,
        tx: Transaction,
        scope: Scope,
        source: str,
        *,
        cursor: str | None,
        listed_at: str | None,
        error: Mapping[str, Any] | None,
    ) -> None:
        """A sync was done to its end; `listed_at` (ISO 8601) is when its listing began, None where it was not whole."""
        values = {"cursor": cursor, "listed_at": listed_at, "error": None if error is None else Jsonb(dict(error))}
        await tx.run(self._sql["close"], source=source, workspace=scope.workspace, **values)

    async def due_to_erase(self, scope: Scope, source: SourceDefinition, most: int) -> list[Row]:
        """Items that left longer ago than the source keeps them; none where it keeps them for good."""
        if source.erase_after_days is None:
            return []
        named = {"source": source.id, "workspace": scope.workspace, "days": source.erase_after_days, "most": most}
        return await self._db.read(scope, self._sql["due_to_erase"], **named)

    async def every_item(self, scope: Scope, source: str) -> list[Row]:
        """All items, for a source that is removed with its documents."""
        return await self._db.read(scope, self._sql["every_item"], source=source, workspace=scope.workspace)

    async def gone_items(self, scope: Scope, source: str) -> list[Row]:
        """Items that left, for a source that is removed while its other documents stay."""
        return await self._db.read(scope, self._sql["gone_items"], source=source, workspace=scope.workspace)

    async def count_gone(self, tx: Transaction, scope: Scope, source: str) -> int:
        """How many those are."""
        row = await tx.only(self._sql["count_gone"], source=source, workspace=scope.workspace)
        return int(row["total"])

    async def due(self, now: datetime, most: int) -> list[Row]:
        """Sources whose sync is due, as ids."""
        async with self._db.transaction() as tx:
            return await tx.all(self._sql["due"], now=now, most=most)

    async def take_due(self, tx: Transaction, scope: Scope, source: str, now: datetime) -> bool:
        """Whether its sync is due still; nobody else starts it until the transaction ends."""
        named = {"source": source, "workspace": scope.workspace, "now": now}
        return await tx.one(self._sql["take_due"], **named) is not None

    async def set_next(
        self, tx: Transaction, scope: Scope, source: str, now: datetime, within: float | None = None
    ) -> None:
        """Its next sync is due after its period, or `within` so many seconds."""
        named = {"source": source, "workspace": scope.workspace, "now": now}
        await tx.run(self._sql["set_next"], **named, within=within)

    async def stale(self, now: datetime, most: int) -> list[Row]:
        """Sources whose rights nobody has confirmed for too long, as ids."""
        async with self._db.transaction() as tx:
            return await tx.all(self._sql["stale"], now=now, most=most)

    async def still_stale(self, tx: Transaction, scope: Scope, source: str, now: datetime) -> bool:
        """Whether nobody has confirmed its rights meanwhile; nobody does until the transaction ends."""
        named = {"source": source, "workspace": scope.workspace, "now": now}
        return await tx.one(self._sql["is_stale"], **named) is not None

    async def set_hidden(self, tx: Transaction, scope: Scope, source: str) -> None:
        """All its documents are hidden until a sync has confirmed who may see them."""
        await tx.run(self._sql["set_hidden"], source=source, workspace=scope.workspace)


def rights_json(rights: ItemRights | None) -> Jsonb | None:
    """Rights as they are stored."""
    return None if rights is None else Jsonb({"users": list(rights.users), "groups": list(rights.groups)})


def rights_from_json(value: Mapping[str, Any] | None) -> ItemRights | None:
    """And back."""
    return None if value is None else ItemRights(tuple(value["users"]), tuple(value["groups"]))


def _known_item(row: Row) -> KnownItem:
    document = row["document_id"]
    missing = document is not None and not row["there"]
    return KnownItem(
        id=row["item_id"],
        path=row["path"],
        version=row["version"],
        fingerprint=row["fingerprint"],
        # What left and was erased since is new when it comes back; what a person has deleted stays away.
        document=None if missing and row["gone"] else document,
        rights=rights_from_json(row["rights"]),
        readers=tuple(row["readers"] or ()),
        by_hand=bool(row["own_readers"]),
        kept=None if row["kept_readers"] is None else tuple(row["kept_readers"]),
        gone=row["gone"],
        failed=row["failed"],
        excluded=missing and not row["gone"],
        awaiting=row["awaiting_since"] is not None,
        returning=row["gone"] and row["missed"],
    )
