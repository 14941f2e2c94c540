"""A rights pass: while a sync reads what it listed, who may see that, and what of it is gone, is brought up to date."""

from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from psycopg.types.json import Jsonb

from cluster.basics.scope import Scope
from cluster.state.corpus import lock_corpus
from cluster.state.db.postgres import Database, SqlStore, Transaction
from cluster.state.work.jobs import JobLease, WorkUnit
from pipelines.documents.sources.item_rights import ReaderRules
from pipelines.documents.sources.source_port import SourceItem
from pipelines.documents.sources.sync_plan import Listing
from pipelines.documents.sync.source_store import SourceDefinition, rights_json
from pipelines.documents.sync.start_sync import SyncStarter
from pipelines.documents.sync.sync_units import item_from_json, item_to_json
from pipelines.documents.sync.synced_documents import SyncedDocuments

AMEND: Final = "amend"
"""An item that a sync is still to fetch has other readers, another place, or is gone."""
UNREAD_A_PAGE: Final = 5_000


@dataclass(frozen=True, slots=True)
class PassBasis:
    """What a pass goes on from.

    Attributes:
        sync: the job that reads meanwhile.
        cursor: where its listing ended, if that is told: all before that is in its units, or in what is known.
        since: a moment before the pass looked at what is known.
    """

    sync: str | None
    cursor: str | None
    since: datetime


@dataclass(frozen=True, slots=True)
class UnreadItem:
    """An item that a sync is still to fetch, as its unit says.

    Attributes:
        left: a pass before this one found it gone.
        taken: it was fetched about when the pass looked at what is known, with the readers of its unit.
    """

    item: SourceItem
    readers: tuple[str, ...]
    left: bool = False
    taken: bool = False


class Amendments:
    """What a listing means for items that are still to be fetched, page by page of those. Pure.

    Attributes:
        gone: of those looked at, the ids that are not there any more.
    """

    def __init__(
        self,
        listing: Listing,
        rules: ReaderRules,
        planned: Mapping[str, tuple[str, ...]],
        sync: str | None,
        known: Collection[str] = (),
    ) -> None:
        """`planned`: readers of items by id, where the plan of the listing names them; `sync` has their units; `known`:
        ids of documents whose removal the plan decides on.
        """
        self._listing, self._rules, self._planned, self._sync = listing, rules, planned, sync
        self._known = frozenset(known)
        self._listed = {item.id: item for item in listing.items}
        self._removed = set(listing.removed)
        self._looked_at = 0
        self.gone: list[str] = []

    def of(self, unread: Iterable[UnreadItem]) -> list[WorkUnit]:
        """Units for those of them that are another than their sync believes."""
        return [unit for one in unread if (unit := self._unit_of(one)) is not None]

    def removals(self, here: int, share: float) -> list[WorkUnit]:
        """Units for those that are gone; none where that is more than may go without a question, or may be a mistake.

        `here`: documents of the source that can be seen.
        """
        listing = self._listing
        empty = listing.full and not listing.items
        if not listing.complete or empty or len(self.gone) > share * (here + self._looked_at):
            return []
        return [WorkUnit(id_, id_, payload={"sync": self._sync, "left": True}) for id_ in self.gone]

    def _unit_of(self, one: UnreadItem) -> WorkUnit | None:
        listed = self._listed.get(one.item.id)
        counted = not one.left and not (one.taken and one.item.id in self._known)
        self._looked_at += counted
        if listed is None:
            if self._listing.full or one.item.id in self._removed:
                self.gone += [one.item.id] if counted else []
                return None
            if one.left:
                return None
            listed = one.item  # as it was, but for who is who by now
        if not listed.settled:
            return None
        readers = self._readers_of(one, listed)
        same = not one.left and (listed.path, listed.rights, readers) == (one.item.path, one.item.rights, one.readers)
        if same:
            return None
        told = {"item": item_to_json(listed), "readers": list(readers), "left": False, "sync": self._sync}
        return WorkUnit(one.item.id, one.item.id, payload=told)

    def _readers_of(self, one: UnreadItem, listed: SourceItem) -> tuple[str, ...]:
        if not self._rules.has_rights:  # nothing in a listing changes them
            return one.readers
        return self._planned.get(listed.id, self._rules.readers_of(listed.rights))


class RightsPasses(SqlStore, queries="rights_pass.sql"):
    """What passes need to know of the sync beside them, and what they write."""

    def __init__(self, database: Database, documents: SyncedDocuments) -> None:
        """Nothing is asked yet."""
        super().__init__(database)
        self._documents = documents

    async def basis(self, lease: JobLease, source: str) -> PassBasis | None:
        """None where it is not the newest pass of its source any more."""
        named = {"source": source, "workspace": lease.scope.workspace, "job": lease.job}
        rows = await self._db.read(lease.scope, self._sql["basis"], **named)
        return PassBasis(**rows[0]) if rows else None

    async def unread(self, scope: Scope, basis: PassBasis) -> AsyncIterator[list[UnreadItem]]:
        """Items that the sync is still to fetch, or has fetched since, some at a time."""
        after, sync = "", basis.sync
        while sync is not None:
            named = {"sync": sync, "workspace": scope.workspace, "after": after, "most": UNREAD_A_PAGE}
            named["since"] = basis.since
            rows = await self._db.read(scope, self._sql["unread"], **named)
            if not rows:
                return
            after = rows[-1]["key"]
            yield [UnreadItem(item_from_json(r["item"]), tuple(r["readers"]), r["left"], r["taken"]) for r in rows]

    async def amend(
        self, tx: Transaction, scope: Scope, source: SourceDefinition, units: Sequence[WorkUnit]
    ) -> Collection[str]:
        """Let items be fetched as they were listed last, or not at all; what came meanwhile is altered, or leaves.

        The keys of units that led to anything.
        """
        await lock_corpus(tx, scope)
        of = {"source": source.id, "workspace": scope.workspace}
        by_sync: dict[str, list[WorkUnit]] = {}
        for unit in units:
            by_sync.setdefault(unit.payload["sync"], []).append(unit)
        done = set[str]()
        for sync, some in by_sync.items():
            payloads = [Jsonb({name: value for name, value in u.payload.items() if name != "sync"}) for u in some]
            values = {"keys": [unit.key for unit in some], "payloads": payloads, "sync": sync}
            rows = await tx.all(self._sql["amend"], workspace=scope.workspace, **values)
            done.update(row["key"] for row in rows)
        late = {unit.key: unit.payload for unit in units if unit.key not in done}
        taken = {row["item_id"]: row["document_id"] for row in await tx.all(self._sql["taken"], **of, items=list(late))}
        if left := {key: document for key, document in taken.items() if late[key].get("left")}:
            await self._documents.leave(tx, scope, source, left)
        stays = {
            key: {**late[key], "document": document, "locations": None}
            for key, document in taken.items()
            if key not in left and source.has_rights
        }
        if stays:
            await self._documents.alter(tx, scope, source, stays)
        for unit in units:
            if unit.key in done and "item" in unit.payload:
                item = item_from_json(unit.payload["item"])
                told = {"item": item.id, "path": item.path, "rights": rights_json(item.rights)}
                await tx.run(self._sql["recall"], **of, **told)
        return done | left.keys() | stays.keys()

    async def fetch_now(self, tx: Transaction, lease: JobLease, key: str) -> Mapping[str, Any]:
        """What a unit that is being fetched says by now; no pass changes that until the transaction ends.

        It says that the item has `left` where it is not to be taken any more.
        """
        await lock_corpus(tx, lease.scope)
        named = {"job": lease.job, "workspace": lease.scope.workspace, "key": key}
        row = await tx.one(self._sql["fetch_now"], **named)
        return {"left": True} if row is None else row["payload"]

    async def is_used(self, tx: Transaction, scope: Scope, document: str | None, location: str) -> bool:
        """Whether a document has bytes there."""
        named = {"document": document, "workspace": scope.workspace, "location": location}
        return document is not None and await tx.one(self._sql["in_use"], **named) is not None

    async def follow(self, scope: Scope, source: str, starter: SyncStarter) -> None:
        """See `SyncStarter.follow`."""
        async with self._db.transaction(scope) as tx:
            await starter.follow(tx, scope, source)

    async def confirm(
        self, tx: Transaction, lease: JobLease, source: str, listed_at: str | None, error: Mapping[str, Any] | None
    ) -> None:
        """A pass was done to its end; `listed_at` as in `SourceStore.close`."""
        named = {"source": source, "workspace": lease.scope.workspace, "job": lease.job}
        values = {"listed_at": listed_at, "error": None if error is None else Jsonb(dict(error))}
        await tx.run(self._sql["confirm"], **named, **values)
