"""A source in memory that can lie, break off, be away, and say who may see what; and syncs of it over a ledger."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cluster.basics.scope import Scope
from cluster.state.db.postgres import Transaction
from cluster.state.vault import Vault, VaultKey
from cluster.state.work.jobs import JobId, JobLease, JobLedger
from configs.sections_sources import SourceSettings
from pipelines.documents.sources.source_kinds import SOURCE_KINDS
from pipelines.documents.sources.source_port import (
    ItemGone,
    ItemRights,
    ListingFault,
    ListingPage,
    Source,
    SourceAway,
    SourceBounds,
    SourceDependencies,
    SourceItem,
    SourceKind,
    SourceOpening,
)
from pipelines.documents.sync.source_clock import SourceClock
from pipelines.documents.sync.source_opener import EndpointGuard, SourceOpener
from pipelines.documents.sync.source_parts import SourceParts
from pipelines.documents.sync.source_store import NewSource
from pipelines.documents.sync.sync_wiring import build_sync
from pipelines.documents.sync.synced_documents import SyncedDocuments
from tests.fakes.http import Clock
from tests.fakes.ledger import Bench
from tests.fakes.reading import WorkerKilled


@dataclass
class Shelf:
    """Items by id with their bytes; everything a test may do to a source.

    `away` counts listings or readings that find nobody; `read` are ids whose bytes were given, `asked` ids and versions
    that were asked for; `before_read` is called with each id; `changes` makes it list
    what changed since its cursor instead of everything.
    """

    items: dict[str, SourceItem] = field(default_factory=dict)
    bytes: dict[str, bytes] = field(default_factory=dict)
    faults: list[ListingFault] = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    asked: list[tuple[str, str]] = field(default_factory=list)
    away: bool = False
    away_items: set[str] = field(default_factory=set)
    before_read: Callable[[str], None] = lambda id_: None
    changes: list[tuple[str, SourceItem | None]] | None = None
    cursors: list[str | None] = field(default_factory=list)

    def put(self, id_: str, text: str, path: str = "", rights: ItemRights | None = None) -> None:
        """A new item, or a new version of one."""
        before = self.items.get(id_)
        version = str(int(before.version) + 1) if before else "1"
        one = SourceItem(id_, version, path or (before.path if before else f"{id_}.txt"), len(text), None, rights)
        self.items[id_], self.bytes[id_] = one, text.encode()
        if self.changes is not None:
            self.changes.append((id_, one))

    def change(self, id_: str, **fields: Any) -> None:
        """Its path or its rights, and no byte."""
        self.items[id_] = replace(self.items[id_], **fields)
        if self.changes is not None:
            self.changes.append((id_, self.items[id_]))

    def drop(self, *ids: str) -> None:
        """They leave."""
        for id_ in ids:
            del self.items[id_], self.bytes[id_]
            if self.changes is not None:
                self.changes.append((id_, None))

    async def list_changes(self, cursor: str | None) -> AsyncIterator[ListingPage]:
        self.cursors.append(cursor)
        if self.away:
            raise SourceAway("nobody answers")
        if self.changes is None or cursor is None:
            rows, now = list(self.items.values()), str(len(self.changes or ()))
            for start in range(0, max(1, len(rows)), 3):
                yield ListingPage(rows[start : start + 3], faults=self.faults, cursor=now)
            return
        since = dict(self.changes[int(cursor) :])
        listed, removed = [i for i in since.values() if i], [id_ for id_, i in since.items() if i is None]
        yield ListingPage(listed, removed, self.faults, str(len(self.changes)), full=False)

    async def read_item(self, item: SourceItem, start: int = 0, length: int | None = None) -> AsyncIterator[bytes]:
        self.before_read(item.id)
        self.asked.append((item.id, item.version))
        if self.away or item.id in self.away_items:
            raise SourceAway("nobody answers")
        if item.id not in self.bytes:
            raise ItemGone(item.path)
        self.read.append(item.id)
        yield self.bytes[item.id][start : None if length is None else start + length]


class _OpenShelf:
    def __init__(self, shelf: Shelf) -> None:
        self.list_changes, self.read = shelf.list_changes, shelf.read_item

    def local_path(self, item: SourceItem) -> None:
        return None

    async def close(self) -> None:
        pass


def shelf_kind(shelf: Shelf, *, has_rights: bool = False) -> SourceKind:
    async def open_shelf(opening: SourceOpening, dependencies: SourceDependencies) -> Source:
        return _OpenShelf(shelf)

    return SourceKind("shelf", "Shelf", {}, open_shelf, has_rights)


class CutLedger(JobLedger):
    """Ends the worker at the nth transaction that its job writes: before that is committed, or right after."""

    at, after = 0, False
    written = 0

    @asynccontextmanager
    async def writing(self, lease: JobLease) -> AsyncIterator[Transaction]:
        self.written += 1
        cut = self.written == self.at
        async with super().writing(lease) as tx:
            yield tx
            if cut and not self.after:
                raise WorkerKilled
        if cut:
            raise WorkerKilled


@dataclass
class SyncBench:
    """Syncs of one workspace, each to its end."""

    ledger: Bench
    scope: Scope
    parts: SourceParts
    clock: SourceClock
    time: Clock

    async def add(self, kind: str = "shelf", settings: Mapping[str, Any] | None = None, **more: Any) -> str:
        known = self.parts.opener.kind(kind)
        more.setdefault("listing_reads", known.listing_reads)
        new = NewSource(more.pop("name", "one"), kind, settings or {}, known.says_rights(settings or {}), **more)
        async with self.ledger.database.transaction(self.scope) as tx:
            return await self.parts.store.add(tx, self.scope, new)

    async def start(self, source: str, **how: Any) -> JobId:
        async with self.ledger.database.transaction(self.scope) as tx:
            return (await self.parts.starter.sync(tx, self.scope, source, **how)).job

    async def sync(self, source: str, **how: Any) -> dict[str, Any]:
        """Counts of the plan, without those that are 0."""
        await self.start(source, **how)
        await self.ledger.run()
        plan = (await self.parts.store.show(self.scope, source))["last_plan"]
        return {name: count for name, count in plan["counts"].items() if count}

    async def show(self, source: str) -> dict[str, Any]:
        return await self.parts.store.show(self.scope, source)

    async def documents(self, *principals: str) -> dict[str, str]:
        """Texts by filename that somebody with these principals finds, or everybody (`*`)."""
        scope = replace(self.scope, principals=principals or ("*",))
        rows = await self.ledger.rows(
            scope,
            "select d.filename, string_agg(c.text, ' ' order by c.chunk_index) as text from documents d"
            " join document_chunks c on c.version_id = d.current_version group by d.id",
        )
        assert len({row["filename"] for row in rows}) == len(rows), "a document is there twice"
        return {row["filename"]: row["text"] for row in rows}

    async def ids(self) -> dict[str, str]:
        rows = await self.ledger.rows(self.scope, "select id, filename from documents order by filename")
        return {row["filename"]: row["id"] for row in rows}

    async def lapse(self) -> None:
        """The lease of a worker that was killed runs out."""
        await self.ledger.rows(
            self.scope,
            "update jobs set lease_until = clock_timestamp() - interval '1 hour' where state = 'running' returning id",
        )


def sync_bench(
    ledger: Bench,
    scope: Scope,
    base: str | None,
    *kinds: SourceKind,
    allow: tuple[str, ...] = (),
    cache: Path | None = None,
    bounds: SourceBounds = SourceBounds(),
) -> SyncBench:
    """A bench whose workers synchronise sources of these kinds beside the product's own."""
    known = {**SOURCE_KINDS, **{kind.name: kind for kind in kinds}}
    vault = Vault([VaultKey(b"k" * 32)])
    opener = SourceOpener(ledger.database, vault, base, EndpointGuard(allow), known, cache=cache, bounds=bounds)
    use_sync(ledger, opener)
    parts, time = SourceParts.over(ledger.database, opener), Clock()
    documents = SyncedDocuments(ledger.database)
    clock = SourceClock(ledger.database, parts.store, documents, parts.starter, time)
    return SyncBench(ledger, scope, parts, clock, time)


def use_sync(ledger: Bench, opener: SourceOpener) -> None:
    """With the ledger that the bench has now."""
    ledger.sync = build_sync(ledger.database, opener, ledger.blobs, ledger.read, SourceSettings(), ledger.jobs)
